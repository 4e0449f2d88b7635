"""What the guard is told: the doors, who has access to them, and the observer of requests. Not the checks themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple, Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports import App

READING = frozenset(("GET", "HEAD", "OPTIONS"))
EVERYTHING = READING | {"POST"}
"""Methods, for ``Door.for_any_page``."""

KEY_NAME = "vaultwire.key"
"""Where the scope holds the principal of the key a request came with, its name and id; empty for none."""


class Door(NamedTuple):
    """One door: its path, with all paths below it, and what the guard passes on to it."""

    name: str
    path: str
    app: App
    max_body_bytes: int
    needs_key: bool = True
    # Methods that every page in a browser may use: it sees what everybody sees, and changes nothing.
    for_any_page: Collection[str] = ()
    # Headers of the guard's refusals before this door, so that a page which may not come in can read why.
    refusal_headers: Sequence[tuple[bytes, bytes]] = ()


class Rules(NamedTuple):
    """Who has access. ``owner`` returns a key's principal, None if it is not a key of this server."""

    names: Collection[str]  # of the server, without port, in small letters
    any_address: bool  # it also answers to every address
    origins: Collection[str]  # pages from elsewhere that may call, such as https://example.org
    key_required: bool
    owner: Callable[[str], str | None]
    # Returns the name of the owner of an access token. Raises TokenRefused, IssuerUnreachable.
    token_owner: Callable[[str], Awaitable[str]] | None = None
    challenge: str = ""  # for WWW-Authenticate, so that clients find who issues tokens


class Observer(Protocol):
    """Is told of each request."""

    listens: bool
    """Whether ``ended`` is to be called."""

    @property
    def began(self) -> Callable[[bytes], object]:
        """Notes the id of the request that the current task works on."""

    def ended(self, *, id: str, door: str, method: str, path: str, status: int, seconds: float, key: str) -> None:  # noqa: A002
        """Note that a request is over. ``status`` 499: the client left before there was an answer."""

    def crashed(self, *, id: bytes, what: str) -> None:  # noqa: A002
        """Log the current exception."""
