"""Server-sent events: lines to events (WHATWG HTML, "Server-sent events"). Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Cursor:
    """Where in a stream a client is: what it would say and how long it would wait to hear the rest."""

    __slots__ = ("last_id", "retry_seconds")

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_seconds: float | None = None


def read_events(lines: Iterable[bytes], cursor: Cursor) -> Iterator[bytes]:
    """Yield the data of each event, lines joined by ``\\n``; the cursor moves on before it is yielded.

    An event that ends with the stream instead of a blank line is none; nor is one without data, but its id counts.
    """
    data: list[bytes] = []
    last_id = cursor.last_id
    for line in _broken_at_any_end(lines):
        if not line:
            cursor.last_id = last_id
            whole, data = b"\n".join(data), []
            if whole:
                yield whole
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"id" and b"\0" not in value:
            last_id = value.decode("latin-1")
        elif name == b"retry" and value.isdigit():
            cursor.retry_seconds = int(value) / 1000


def _broken_at_any_end(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without their ends; a lone ``\\r``, which no server we know sends, is one, too."""
    for line in lines:
        bare = line.removesuffix(b"\n").removesuffix(b"\r")
        if b"\r" in bare:
            yield from bare.split(b"\r")
        else:
            yield bare
