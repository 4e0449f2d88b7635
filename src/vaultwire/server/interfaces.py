"""Interfaces (protocol classes) between the modules of the server. For the type checker only."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from vaultwire.protocol.json_types import JsonObject
    from vaultwire.protocol.revisions import Revision
    from vaultwire.toolkit.registry import Client


class Locked(Protocol):
    """Has the lock that orders what is sent (``workers.Workers``)."""

    lock: threading.Lock


class Outlet(Protocol):
    """Takes the frames of one exchange. It is called while the workers' lock is held: it must not wait for long."""

    can_ask: bool
    """Whether a request of ours would reach the client."""

    def send(self, frame: bytes) -> None:
        """Send a frame that is not the last. A peer that is gone is no error."""

    def answer(self, frame: bytes, code: int | None) -> None:
        """Send the answer; ``code`` is that of a JSON-RPC error, None for a result."""

    def abandon(self) -> None:
        """Note that there will be no answer: the request was cancelled."""

    def hang_up(self) -> None:
        """Let the client fetch the rest later, where it can (2025-11-25, "Sending Messages to the Server")."""


class Features(Protocol):
    """Server features other than tools: resources, prompts, completions."""

    def answer(self, method: str, params: JsonObject, revision: Revision, client: Client) -> JsonObject:
        """Return the result of a request. Raises VaultError, ``Stopped``, and what only a bug raises."""
