"""What the server, its connections and its request cycles know of one another. For the type checker only."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from vaultwire.transports.http_server.settings import Limits


class OwningServer(Protocol):
    """What a connection sees of its server (``server.Server``)."""

    connections: set[Any]
    tasks: set[asyncio.Task[None]]
    is_ending: bool
    date: bytes
    loop: asyncio.AbstractEventLoop

    @property
    def limits(self) -> Limits:
        """How long a client may take."""

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task that the end of the server waits for."""

    def look_for_end(self) -> None:
        """End the server if it is ending and nothing is left to do."""


class ClientConnection(Protocol):
    """What a request cycle sees of its connection (``connection.Connection``)."""

    server: OwningServer
    transport: Any
    blocked: asyncio.Future[None] | None
    is_gone: bool
    memory: Any

    def on_answered(self, cycle: Any) -> None:
        """Go on to the next request, or close the connection."""

    def pause_reading(self) -> None:
        """Read no more for now."""

    def resume_reading(self) -> None:
        """Read on if reading was paused and no request waits."""
