"""The memory budget: how many bytes this process keeps for its clients, with eviction of the least recently used.

It keeps nothing itself. Holders keep: the texts that a caller has read, frames that a client has not fetched or may ask for
again, messages in progress, bytes that a connection has not sent. Each holder records how many bytes it has. When the sum
is over the budget, the holders that were used longest ago drop what they can. A holder that is garbage-collected no longer
counts.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class MemoryHolder(Protocol):
        """Keeps bytes for a client. Weak references to it must be possible."""

        def evict(self) -> int:
            """Drop what can be dropped; return how many bytes are still kept.

            Called on any thread, with the budget's lock held. So it may take no other lock, and may not wait.
            """


# Sixteen messages of the largest size. Ten people at work need a tenth of it, and a computer that runs an assistant and an
# editor has that much to spare.
MAX_MEMORY_BYTES = 256 * 1024 * 1024
# Eviction goes down to this share, because each eviction looks through all holders.
_EVICT_TO = 7 / 8
# A holder with no more than this is never evicted: that would free little and could end a session in use. A session that
# keeps nothing for its client has less; there are a few thousand holders at most.
SMALL_HOLDER_BYTES = 16 * 1024
# What is at most this large is not recorded: there are 1200 calls in progress at most.
UNCOUNTED_BYTES = 16 * 1024


class MemoryBudget:
    """Counts the bytes of all holders. Safe to use from several threads.

    Its lock also guards what the holders keep, so that any thread can evict them. A thread that holds it takes no other lock.
    """

    def __init__(self, max_bytes: int = MAX_MEMORY_BYTES, small_bytes: int = SMALL_HOLDER_BYTES) -> None:
        self.lock = threading.RLock()
        self.max_bytes = max_bytes
        self._small_bytes = small_bytes
        self._total = 0
        self._sizes: dict[weakref.ref[MemoryHolder], int] = {}  # the least recently used first
        # A holder can be collected at any moment, also while the lock is held. So its end is only noted here.
        self._collected: deque[weakref.ref[MemoryHolder]] = deque()

    @property
    def total(self) -> int:
        """How many bytes are kept."""
        with self.lock:
            self._remove_collected()
            return self._total

    def record(self, holder: MemoryHolder, size: int, *, is_used: bool = True) -> None:
        """Record that the holder keeps so many bytes; others may be evicted.

        ``is_used``: its client has just used it. What the server does by itself must not make a holder look used: clients
        that have left would then outlast one at work.
        """
        with self.lock:
            reference = weakref.ref(holder, self._collected.append)
            self._total += size - self._sizes.get(reference, 0)
            if is_used or not size:
                self._sizes.pop(reference, None)
            if size:
                self._sizes[reference] = size
            if self._total > self.max_bytes:
                self._make_room(0, holder)

    def has_room(self, size: int) -> bool:
        """Tell whether so many more bytes fit, after evicting others if necessary."""
        if self._total + size <= self.max_bytes:
            return True
        with self.lock:
            self._make_room(size, None)
            return self._total + size <= self.max_bytes

    def _make_room(self, size: int, latest: MemoryHolder | None) -> None:
        """Evict holders, the least recently used first, but not ``latest``, whose bytes are about to be used."""
        self._remove_collected()
        goal = int(self.max_bytes * _EVICT_TO) - size
        for reference in list(self._sizes):
            if self._total <= goal:
                break
            holder = reference()
            if holder is None or holder is latest or self._sizes.get(reference, 0) <= self._small_bytes:
                continue
            left = holder.evict()
            self._total += left - self._sizes[reference]
            if left:
                self._sizes[reference] = left
            else:
                del self._sizes[reference]

    def _remove_collected(self) -> None:
        while self._collected:
            self._total -= self._sizes.pop(self._collected.popleft(), 0)


MEMORY_BUDGET = MemoryBudget()
"""The one budget of this process, for the clients of all doors."""


class Reservation:
    """Bytes that are in use until ``end`` and cannot be evicted, for example a message in progress."""

    __slots__ = ("__weakref__", "_budget", "_size")

    def __init__(self, size: int, budget: MemoryBudget = MEMORY_BUDGET) -> None:
        self._budget = budget
        self._size = size if size > UNCOUNTED_BYTES else 0
        if self._size:
            budget.record(self, size)

    def evict(self) -> int:
        """See ``MemoryHolder``."""
        return self._size

    def end(self) -> None:
        """Free the bytes."""
        if self._size:
            self._size = 0
            self._budget.record(self, 0)


def estimated_bytes(message: bytes) -> int:
    """Return how many bytes a message's text may take in memory: one a character, four if it is not all ASCII."""
    length = len(message)
    if length <= UNCOUNTED_BYTES or (message.isascii() and b"\\u" not in message):
        return length
    return 4 * length
