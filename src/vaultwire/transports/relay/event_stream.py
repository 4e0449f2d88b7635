"""Server-sent events: lines to events (WHATWG HTML, "Server-sent events"). Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What a line costs besides its bytes: an event may come in very many.
_LINE_BYTES = 40
# An id goes back to the server in a header; longer ones are nobody's.
_MAX_ID_BYTES = 1024
# A server that asks to be left alone for longer would be forgotten.
_MAX_RETRY_SECONDS = 300.0
_MAX_DIGITS = 9


class Cursor:
    """Where in a stream a client is: what it would say and how long it would wait to hear the rest."""

    __slots__ = ("last_id", "retry_seconds")

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_seconds: float | None = None


class EventTooLong(Exception):  # noqa: N818 - says what is the matter
    """An event has more bytes than were said to be taken."""


def read_events(lines: Iterable[bytes], cursor: Cursor, most_bytes: int) -> Iterator[bytes]:
    """Yield the data of each event, lines joined by ``\\n``; the cursor moves on before it is yielded.

    An event that ends with the stream instead of an empty line is none; nor is one without data, but its id counts.
    Raises EventTooLong.
    """
    data: list[bytes] = []
    size = 0
    last_id = cursor.last_id
    for line in _broken_at_any_end(lines):
        if not line:
            cursor.last_id = last_id
            whole, data, size = b"\n".join(data), [], 0
            if whole:
                yield whole
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            size += len(value) + _LINE_BYTES
            if size > most_bytes:
                raise EventTooLong
            data.append(value)
        elif name == b"id" and b"\0" not in value and len(value) <= _MAX_ID_BYTES:
            last_id = value.decode("latin-1")
        elif name == b"retry" and value.isdigit() and len(value) <= _MAX_DIGITS:
            cursor.retry_seconds = min(int(value) / 1000, _MAX_RETRY_SECONDS)


def _broken_at_any_end(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without their ends; a lone ``\\r``, which no server we know sends, is one, too."""
    for line in lines:
        bare = line.removesuffix(b"\n").removesuffix(b"\r")
        start = 0
        while (end := bare.find(b"\r", start)) >= 0:  # one by one: there may be millions
            yield bare[start:end]
            start = end + 1
        yield bare[start:] if start else bare
