"""The head of a request: its headers by name, with bounds on their number and size; the key in it; the length of the body."""

from __future__ import annotations

from itertools import chain

from vaultwire.transports.guard.responses import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from vaultwire.transports import Message, Receive, Scope

# Clients send a few hundred bytes; a token or a cookie of 4 KiB still fits (nginx and Apache allow 8 KiB a line).
MAX_HEAD_BYTES = 16 * 1024
# Twice what a browser sends.
MAX_HEADERS = 64

# Headers that decide something. If there are two of one, another program could read the other one.
_ONCE = frozenset((b"host", b"origin", b"authorization", b"x-api-key", b"content-length"))


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers by name, the last of each. Raises Refusal if they are too many or too long, or twice there."""
    lines: list[tuple[bytes, bytes]] = scope["headers"]
    size = len(scope["raw_path"]) + len(scope["query_string"])
    if size + sum(map(len, chain.from_iterable(lines))) > MAX_HEAD_BYTES or len(lines) > MAX_HEADERS:
        raise Refusal(
            431,
            "Request headers too large",
            f"Path and headers may have {MAX_HEAD_BYTES} bytes and {MAX_HEADERS} lines together",
        )
    by_name = dict(lines)
    if len(by_name) != len(lines):
        names = [name for name, _ in lines]
        for name in _ONCE:
            if names.count(name) > 1:
                raise Refusal(400, "Invalid request", f"There may be one {name.decode()} header, not several")
    return by_name


def key_of(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the key or token that the request came with, None for none."""
    given = headers.get(b"authorization")
    if given is not None:
        scheme, _, credentials = given.partition(b" ")
        if scheme.lower() == b"bearer":
            return credentials.strip().decode("latin-1")
    key = headers.get(b"x-api-key")
    return None if key is None else key.decode("latin-1")


def limited(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> Receive:
    """Return ``receive`` for a body of at most ``limit`` bytes. Raises Refusal, also later while the body is read."""
    length = headers.get(b"content-length")
    if length is not None and b"transfer-encoding" not in headers:  # the server passes on no more than it says
        if int(length) > limit:
            raise _too_large(limit)
        return receive
    received = 0

    async def count() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise _too_large(limit)
        return message

    return count


def _too_large(limit: int) -> Refusal:
    return Refusal(413, "Request body too large", f"The body of a request may have at most {limit} bytes here")
