"""How much memory clients have this process keep for them: one account in bytes, and who is let go when it is full.

Kept are: what a caller has read, frames that a client has not taken yet or may ask for again, messages that are worked on,
bytes that a connection has not sent. Each keeper says how many bytes it has. When all together are too many, those that were
used longest ago drop what they can. A keeper that nobody has any more counts no more.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Keeper(Protocol):
        """What keeps bytes for a client. Weak references to it must be possible."""

        def let_go(self) -> int:
            """Drop what can be dropped; return how many bytes are still kept.

            On any thread, with the account's lock held. So it may take no other lock, and may not wait.
            """


# Sixteen messages of the largest size. Ten people at work need a tenth of it, and a computer that runs an assistant and an
# editor beside this program has that much to spare.
MOST_KEPT_BYTES = 256 * 1024 * 1024
# Once it is too much, so much is dropped that the next look comes later: each look goes through all keepers.
_DROPPED_TO = 7 / 8
# Of the whole, a keeper with less than this part is let be: it gives no room, and who is at work would lose a session for
# nothing. 16 KB of 256 MB; there are a few thousand keepers at most.
_SMALL_SHARE = 16 * 1024
# What passes by with an answer at once is not written down: of calls under way there are 1200 at most.
SMALL = 16 * 1024


class Kept:
    """The account. Safe to use from several threads.

    Its lock also guards what the keepers keep, so that they can be told to drop it whichever thread they work on. Whoever
    holds it takes no other lock.
    """

    def __init__(self, most: int = MOST_KEPT_BYTES) -> None:
        self.lock = threading.RLock()
        self.most = most
        self._total = 0
        self._sizes: dict[weakref.ref[Keeper], int] = {}  # the one used longest ago first
        # A keeper can end at any moment, also while the lock is held: appending is all that is done then.
        self._ended: deque[weakref.ref[Keeper]] = deque()

    @property
    def total(self) -> int:
        """How many bytes are kept."""
        with self.lock:
            self._strike_ended()
            return self._total

    def use(self, keeper: Keeper, size: int) -> None:
        """Take note that the keeper was used just now and keeps so many bytes; others may have to drop theirs."""
        with self.lock:
            reference = weakref.ref(keeper, self._ended.append)
            self._total += size - self._sizes.pop(reference, 0)
            if size:
                self._sizes[reference] = size
            if self._total > self.most:
                self._make_room(0, keeper)

    def has_room(self, size: int) -> bool:
        """Tell whether so many bytes more could be kept, once others have dropped theirs if need be."""
        if self._total + size <= self.most:
            return True
        with self.lock:
            self._make_room(size, None)
            return self._total + size <= self.most

    def _make_room(self, size: int, latest: Keeper | None) -> None:
        """Have the keepers drop what they can, the one used longest ago first; not the latest, which is about to be taken."""
        self._strike_ended()
        wanted = int(self.most * _DROPPED_TO) - size
        for reference in list(self._sizes):
            if self._total <= wanted:
                break
            keeper = reference()
            if keeper is None or keeper is latest or self._sizes.get(reference, 0) <= self.most // _SMALL_SHARE:
                continue
            left = keeper.let_go()
            self._total += left - self._sizes[reference]
            if left:
                self._sizes[reference] = left
            else:
                del self._sizes[reference]

    def _strike_ended(self) -> None:
        while self._ended:
            self._total -= self._sizes.pop(self._ended.popleft(), 0)


KEPT = Kept()
"""The account of this process: its memory is one, whatever doors its clients came in by."""


class Held:
    """Bytes that are in use until ``end`` and cannot be dropped, such as a message that is worked on."""

    __slots__ = ("__weakref__", "_kept", "_size")

    def __init__(self, size: int, kept: Kept = KEPT) -> None:
        self._kept = kept
        self._size = size if size > SMALL else 0
        if self._size:
            kept.use(self, size)

    def let_go(self) -> int:
        """As ``Keeper``."""
        return self._size

    def end(self) -> None:
        """Count no more."""
        if self._size:
            self._size = 0
            self._kept.use(self, 0)


def weight(message: bytes) -> int:
    """Return how many bytes the text of a message may take: one for each, or four where it has other characters than ASCII."""
    length = len(message)
    if length <= SMALL or (message.isascii() and b"\\u" not in message):
        return length
    return 4 * length
