"""What a guard is told: the doors, who may come to them, and who hears of it."""

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
"""Where doors find in the scope whose key a request came with; an empty text for none."""


class Door(NamedTuple):
    """One door: the path it is found under, with all below, and what the guard lets through to it."""

    name: str
    path: str
    app: App
    max_body_bytes: int
    needs_key: bool = True
    # Which methods any page in a browser may use: it sees what everybody sees, and changes nothing.
    for_any_page: Collection[str] = ()
    # What its answers carry that the guard gives for it, so that a page which may not come in can read why.
    refusal_headers: Sequence[tuple[bytes, bytes]] = ()


class Rules(NamedTuple):
    """Who may come. ``owner`` returns the name of the key's owner, None for no key of ours."""

    names: Collection[str]  # that the server answers to, without port, in small letters
    any_address: bool  # answers to whatever address it was reached at, too
    origins: Collection[str]  # pages from elsewhere that may call, such as https://example.org
    key_required: bool
    owner: Callable[[str], str | None]
    # Returns the name of the owner of an access token, which is no key of ours. Raises TokenRefused, IssuerUnreachable.
    token_owner: Callable[[str], Awaitable[str]] | None = None
    challenge: str = ""  # what WWW-Authenticate says besides, so that clients find who gives out tokens


class Observer(Protocol):
    """Hears of what happened."""

    listens: bool
    """Whether it has any use for what ``ended`` says."""

    @property
    def began(self) -> Callable[[bytes], object]:
        """Takes note of the exchange that is worked on from here on, by its id."""

    def ended(self, *, id: str, door: str, method: str, path: str, status: int, seconds: float, key: str) -> None:  # noqa: A002
        """Take note of an exchange that is over. ``status`` 499: the client left before there was an answer."""

    def crashed(self, *, id: bytes, what: str) -> None:  # noqa: A002
        """Take note of the exception at hand."""
