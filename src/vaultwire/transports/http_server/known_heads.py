"""Heads of one connection that came before and need not be parsed again: a client calls a few tools in turn, and says the
same each time but for a name and a length.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# How many are kept, and how long they may be.
_MOST_HEADS = 16
_MOST_BYTES = 4096
_END = b"\r\n\r\n"


class Head(NamedTuple):
    """A head that came before, and what it says."""

    data: bytes
    end: int  # how long it is
    scope: dict[str, Any]
    length: int  # of the body


class KnownHeads:
    """The heads of one connection."""

    def __init__(self) -> None:
        self._heads: dict[bytes, Head] = {}
        self._latest: Head | None = None  # of those, the one that came last

    def learn(self, data: bytes, scope: dict[str, Any]) -> None:
        """Keep the head of a request, if ``data`` is that and so far as it is here its body. The connection stays behind it."""
        end = data.find(_END) + 4
        head = data[:end]
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        if (
            len(lengths) == 1
            and len(data) <= end + int(lengths[0])
            and end <= _MOST_BYTES
            and data.startswith(b"POST ")  # no line before it
            and head.count(b"\n") == head.count(b"\r\n")  # so it ends where the parser ends it, too
            and not any(name in (b"transfer-encoding", b"expect", b"upgrade") for name, _ in scope["headers"])
        ):
            if len(self._heads) >= _MOST_HEADS:
                self._heads.clear()
            self._heads[head] = self._latest = Head(head, end, {**scope}, int(lengths[0]))

    def find(self, data: bytes) -> Head | None:
        """Return the head that ``data`` begins with, if it came before and there is nothing behind its body."""
        known = self._latest
        if known is None or not data.startswith(known.data):
            known = self._latest = self._heads.get(data[: data.find(_END) + 4])
            if known is None:
                return None
        return known if len(data) <= known.end + known.length else None
