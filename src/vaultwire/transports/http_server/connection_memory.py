"""The memory of one connection: bytes its client has not taken yet, and bytes of a message that is still coming."""

from __future__ import annotations

from vaultwire.transports import call_on_loop
from vaultwire.vault.caller import MEMORY_BUDGET, UNCOUNTED_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio


class ConnectionMemory:
    """Tells the account of memory how many bytes one connection holds. Fills its ``MemoryHolder``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self.is_blocked = False
        """Whether the client takes no more bytes for now."""
        self.body_size = 0
        """Bytes of the body that is coming."""
        self._loop = loop
        self._transport = transport
        self._is_counted = False
        self._written = 0
        self._unsent = 0
        self._unsent_since = 0.0

    def write(self, data: bytes) -> None:
        """Send bytes. Until the client has taken the last of them, the transport keeps them all, also those that are gone."""
        if not self._transport.get_write_buffer_size():
            self._written = 0
        self._written += len(data)
        self._transport.write(data)
        if self.is_blocked:
            self.count()

    def count(self) -> None:
        """Tell the account how many bytes there are."""
        size = self.body_size + (self._written if self.is_blocked else 0)
        if self._is_counted or size > UNCOUNTED_BYTES:
            self._is_counted = size > UNCOUNTED_BYTES
            MEMORY_BUDGET.record(self, size if self._is_counted else 0)

    def stalled_seconds(self, now: float) -> float:
        """Return for how long the client has taken no byte of those that wait for it. Called once a second."""
        unsent = self._transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent or self._unsent == 0:
            self._unsent_since = now
            if unsent != self._unsent:
                self.count()
        self._unsent = unsent
        return now - self._unsent_since

    def evict(self) -> int:
        """Close the connection: others need the memory, and this client has read and sent nothing for longer than they."""
        self._is_counted = False
        call_on_loop(self._loop, self._transport.abort)
        return 0
