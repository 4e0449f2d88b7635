"""Where the frames of an answer go. The base of what each door puts there, which is all that the workers know of a door."""

from __future__ import annotations


class Outlet:
    """Takes the frames of one exchange. It is called while the workers' lock is held: it must not wait for long."""

    __slots__ = ()

    can_ask: bool
    """Whether a request of ours would reach the client."""

    def send(self, frame: bytes) -> None:
        """Send a frame that is not the last. A peer that is gone is no error."""
        raise NotImplementedError

    def answer(self, frame: bytes, code: int | None) -> None:  # noqa: ARG002 - for doors that need it
        """Send the answer; ``code`` is that of a JSON-RPC error, None for a result."""
        self.send(frame)

    def abandon(self) -> None:
        """Note that there will be no answer: the request was cancelled. Nothing to do where the connection goes on."""

    def hang_up(self) -> None:
        """Let the client fetch the rest later, where it can (2025-11-25, "Sending Messages to the Server")."""
