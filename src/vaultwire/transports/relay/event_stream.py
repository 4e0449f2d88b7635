"""Server-sent events: lines to events (WHATWG HTML, "Server-sent events"). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vaultwire.transports.relay.http_client import ResponseTooLarge

# What a line costs in memory beyond its bytes: one event may have very many lines.
_LINE_BYTES = 40
# Bytes without any event between two events. Servers keep a stream open with some bytes every few seconds: 60 days of them.
_MAX_IDLE_BYTES = 1 << 20
# The id goes back to the server in a header. A longer one is ignored.
_MAX_ID_BYTES = 1024
# The longest pause before a new attempt that a server may ask for.
_MAX_RETRY_SECONDS = 300.0
_MAX_DIGITS = 9


class Cursor:
    """A client's place in a stream: the id of the last event, and how long to wait before asking for the rest."""

    last_id = ""
    retry_seconds: float | None = None


def read_events(lines: Iterable[bytes], cursor: Cursor, most_bytes: int) -> Iterator[bytes]:
    """Yield the data of each event, lines joined by ``\\n``. The cursor moves on before the event is yielded.

    An event without an empty line at its end is dropped, as the standard says. An event without data is not yielded, but
    its id counts. Raises ResponseTooLarge.
    """
    data: list[bytes] = []
    size = idle = 0
    last_id = cursor.last_id
    for line in _split_at_carriage_returns(lines):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            size += len(value) + _LINE_BYTES
            if size > most_bytes:
                raise ResponseTooLarge(f"an event of its answer has more than {most_bytes} bytes")
            data.append(value)
            continue
        idle += len(line) + 1
        if idle > _MAX_IDLE_BYTES:
            raise ResponseTooLarge(f"it sent {_MAX_IDLE_BYTES} bytes without an event")
        if not line:
            cursor.last_id = last_id
            whole, data, size = b"\n".join(data), [], 0
            if whole:
                idle = 0
                yield whole
        elif name == b"id" and b"\0" not in value and len(value) <= _MAX_ID_BYTES:
            last_id = value.decode("latin-1")
        elif name == b"retry" and value.isdigit() and len(value) <= _MAX_DIGITS:
            cursor.retry_seconds = min(int(value) / 1000, _MAX_RETRY_SECONDS)


def _split_at_carriage_returns(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without their line ends. A ``\\r`` alone ends a line, too; no server we know sends one."""
    for line in lines:
        bare = line.removesuffix(b"\n").removesuffix(b"\r")
        start = 0
        while (end := bare.find(b"\r", start)) >= 0:  # one by one: there may be millions
            yield bare[start:end]
            start = end + 1
        yield bare[start:] if start else bare
