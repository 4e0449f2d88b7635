"""What the modules of the server hand one another. For the type checker only."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from vaultwire.protocol.messages import JsonObject
    from vaultwire.protocol.revisions import Revision
    from vaultwire.toolkit.registry import Client


class Locked(Protocol):
    """Whoever orders what is sent, by its lock (``workers.Workers``)."""

    lock: threading.Lock


class Outlet(Protocol):
    """Where the frames of one exchange go. Called while the workers' lock is held: it must not wait for long."""

    can_ask: bool
    """Whether a question of ours would reach the client."""

    def send(self, frame: bytes) -> None:
        """Send a frame that is not the last. A peer that is gone is no error."""

    def answer(self, frame: bytes, code: int | None) -> None:
        """Send the answer; ``code`` is its error's, None if it is none."""

    def abandon(self) -> None:
        """Take note that there will be no answer: the request was cancelled."""

    def hang_up(self) -> None:
        """Let the client ask for the rest later, where it can (2025-11-25, "Sending Messages to the Server")."""


class Features(Protocol):
    """What a server offers besides tools: resources, prompts, completions."""

    def answer(self, method: str, params: JsonObject, revision: Revision, client: Client) -> JsonObject:
        """Return the result of a request. Raises VaultError, ``Stopped``, and what nobody foresaw."""
