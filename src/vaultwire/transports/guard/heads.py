"""What the head of a request says, taken apart and bounded; how long its body is, and that it is no longer."""

from __future__ import annotations

from vaultwire.transports.guard.answers import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vaultwire.transports import App, Receive, Scope
    from vaultwire.transports.guard.rules import Door

# Clients send a few hundred bytes; a token or a cookie of 4 KiB still fits (nginx and Apache allow 8 KiB a line).
MAX_HEAD_BYTES = 16 * 1024
# Twice what a browser sends.
MAX_HEADERS = 64

# Header lines that decide something below: two of a kind could be read one way here and another way there.
_ONCE = frozenset((b"host", b"origin", b"authorization", b"x-api-key", b"content-length"))


class Passed:
    """What the head of a request says that may pass, but for the key, which may be taken back at any time.

    One for all requests with this head, so what can be found out once is found out here.
    """

    __slots__ = ("app", "door", "headers", "is_open", "is_preflight", "is_usual", "length", "lines", "origin", "secret")

    def __init__(
        self,
        door: Door,
        lines: list[tuple[bytes, bytes]],
        headers: dict[bytes, bytes],
        origin: bytes | None,
        *,
        is_preflight: bool,
        key_required: bool,
    ) -> None:
        """``origin`` is the page that may read the answer."""
        self.door = door
        self.app: App = door.app
        self.lines = lines
        self.headers = headers
        self.origin = origin
        self.is_preflight = is_preflight
        self.secret = _secret_of(headers)
        # A browser asks for leave to send a key before it sends one.
        self.is_open = not door.needs_key or is_preflight or (self.secret is None and not key_required)
        """Whether it needs no key and has none that tells whose it is."""
        self.length = _length_of(headers)
        """How long the body is, if it says so."""
        self.is_usual = origin is None and self.length is not None and self.length <= door.max_body_bytes
        """Whether nothing is left to be looked at but the key: from no page, and with a body that is not too long."""


def checked_headers(lines: list[tuple[bytes, bytes]], scope: Scope) -> dict[bytes, bytes]:
    """Return the headers by name, the last of each."""
    by_name = dict(lines)
    if len(by_name) != len(lines):
        for once in _ONCE:
            if sum(name == once for name, _ in lines) > 1:
                raise Refusal(400, "Invalid request", f"There may be one {once.decode()} header, not several")
    size = len(scope["raw_path"]) + len(scope["query_string"])
    for name, value in lines:
        size += len(name) + len(value)
    if size > MAX_HEAD_BYTES or len(lines) > MAX_HEADERS:
        raise Refusal(
            431,
            "Request headers too large",
            f"Path and headers may have {MAX_HEAD_BYTES} bytes and {MAX_HEADERS} lines together",
        )
    return by_name


def _secret_of(headers: dict[bytes, bytes]) -> str | None:
    """Return the key a request came with."""
    given = headers.get(b"authorization")
    if given is not None:
        scheme, _, credentials = given.partition(b" ")
        if scheme.lower() == b"bearer":
            return credentials.strip().decode("latin-1")
    key = headers.get(b"x-api-key")
    return None if key is None else key.decode("latin-1")


def _length_of(headers: dict[bytes, bytes]) -> int | None:
    """Return how long the body is, None if it does not say so. The parser has made sure of it, and hands over no more."""
    length = headers.get(b"content-length")
    return None if length is None or b"transfer-encoding" in headers else int(length)


def counted(receive: Receive, limit: int) -> Receive:
    """Return ``receive``, which raises a refusal once the body is longer than ``limit``."""
    received = 0

    async def counting() -> Any:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise too_large(limit)
        return message

    return counting


def too_large(limit: int) -> Refusal:
    """Return the refusal of a body beyond so many bytes."""
    return Refusal(413, "Request body too large", f"The body of a request may have at most {limit} bytes here")
