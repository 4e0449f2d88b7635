"""What server, connections and exchanges know of one another. For the type checker only."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from vaultwire.transports import App


class Patience(Protocol):
    """The part of ``server.Limits`` that a connection is held to, in seconds."""

    @property
    def head(self) -> float:
        """From the first byte of a request to the end of its head."""

    @property
    def body(self) -> float:
        """For the body after that."""

    @property
    def idle(self) -> float:
        """Between two requests."""

    @property
    def stalled(self) -> float:
        """With bytes waiting for a client that takes none of them."""


class Owner(Protocol):
    """What a connection sees of the server it belongs to (``server.Server``)."""

    app: App
    refusal_lines: bytes
    scheme: str
    connections: set[Any]
    tasks: set[asyncio.Task[None]]
    is_ending: bool
    date: bytes
    loop: asyncio.AbstractEventLoop

    @property
    def limits(self) -> Patience:
        """How patient the server is with its clients."""

    def see_through(self, left: Coroutine[Any, Any, None]) -> None:
        """Let a task end that nobody waits for."""

    def look_for_end(self) -> None:
        """End the server if it is ending and nothing is left to do."""


class Line(Protocol):
    """What an exchange sees of its connection (``connection.Connection``)."""

    server: Owner
    transport: Any
    blocked: asyncio.Future[None] | None
    is_gone: bool

    def on_answered(self, exchange: Any) -> None:
        """Go on to the next request, or let the connection go."""

    def pause_reading(self) -> None:
        """Read no more for now."""

    def resume_reading(self) -> None:
        """Read on, if that was paused and no request waits."""
