"""The client of one session: its name, the notes that it has read with their text at that time, and its lists in pages.

Also the bytes that all clients may keep together.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Sized
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from vaultwire.vault.errors import CURSOR_EXPIRED, INVALID_ARGUMENTS, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.vault.value_types import VaultPath


# Results that one caller reads page by page. A cursor names them, so that all pages show one state of the vault.
#
# It keeps the results of the first page's call; it does not make them.

# A model reads a few lists at the same time, and seldom comes back to an old one.
_MOST = 16


class _Kept(NamedTuple):
    question: Hashable
    results: Any
    size: int
    lost: int


def expired() -> VaultError:
    """Return the error for a cursor whose results are not kept any more."""
    message = "cursor: its results are not kept any more. Ask for the first page again, without a cursor."
    return VaultError(CURSOR_EXPIRED, message, argument="cursor")


class PagedResults:
    """The results behind one caller's cursors. Safe to use from several threads.

    The oldest are dropped when there are many, and all of them when all clients together use too much memory.
    """

    __slots__ = ("__weakref__", "_kept")

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}  # the least recently used first

    def keep(self, question: Hashable, results: Any, size: int, lost: int = 0) -> str:
        """Keep the results of a question, about ``size`` bytes; return the key that the cursor names them by.

        ``lost``: see ``get``.
        """
        key = secrets.token_hex(4)
        with MEMORY_BUDGET.lock:
            self._kept[key] = _Kept(question, results, size, lost)
            while len(self._kept) > _MOST:
                del self._kept[next(iter(self._kept))]
            self._record()
        return key

    def get(self, key: str, question: Hashable, lost: int = 0) -> Any:
        """Return the results. Raises VaultError: CURSOR_EXPIRED, INVALID_ARGUMENTS for a cursor of another question.

        ``lost``: a count of files that may not be seen any more. Results kept with another count have expired: they may tell
        of such a file.
        """
        with MEMORY_BUDGET.lock:
            kept = self._kept.pop(key, None)
            if kept is None or kept.lost != lost:
                self._record()
                raise expired()
            self._kept[key] = kept
            self._record()
        if kept.question != question:
            message = "cursor: it belongs to a call with other arguments. Repeat these, or leave the cursor out."
            raise VaultError(INVALID_ARGUMENTS, message, argument="cursor")
        return kept.results

    def _record(self) -> None:
        MEMORY_BUDGET.record(self, sum(kept.size for kept in self._kept.values()))

    def evict(self) -> int:
        """Drop everything. See ``MemoryHolder``."""
        self._kept = {}
        return 0


# The memory budget: how many bytes this process keeps for its clients, with eviction of the least recently used.
#
# It keeps nothing itself. Holders keep: the texts that a caller has read, frames that a client has not fetched or may ask for
# again, messages in progress, bytes that a connection has not sent. Each holder records how many bytes it has. When the sum
# is over the budget, the holders that were used longest ago drop what they can. A holder that is garbage-collected no longer
# counts.

if TYPE_CHECKING:

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


# Texts are remembered to show what has changed since a note was read. A session is long, so their size is bounded.
_MAX_TEXT_BYTES = 4_000_000
# Etags are remembered longer: they say *that* a note was read. No session reads this many notes.
_MAX_READ = 20_000
# Folders in which it is remembered that the client has changed something. No session changes so many.
_MAX_FOLDERS = 500
# Changes that a dry run has shown. Nobody looks at so many before making them.
_MAX_SHOWN = 500
# The memory of a note that was read, without its text: a path, an etag, entries in two dictionaries.
_NOTE_BYTES = 400


class Caller:
    """One client in one session. Safe to use from several threads.

    It forgets everything when all clients together use too much memory. Then a message about a conflict shows no
    difference, and where notes must be read before they are edited, they must be read again.
    """

    __slots__ = (
        "__weakref__",
        "_etags",
        "_folders",
        "_read_bytes",
        "_shown",
        "_text_bytes",
        "_texts",
        "client",
        "is_person",
        "lasting",
        "may_read_notes",
        "names",
        "owner",
        "paged",
        "session",
        "told",
    )

    def __init__(self, client: str = "", owner: str = "", *, is_lasting: bool = False) -> None:
        """``client``: its name for the journal of changes; empty if it is unknown.

        ``owner``: what it is known by when it comes again, also after a restart; empty if nothing is certain.
        ``is_lasting``: whether it has no sessions, so that all its requests belong together.
        """
        self.client = client
        self.names = (client, "")  # the name that it gives itself, and the owner of its key, for the rules of a policy
        # The position in the log of decisions up to which it was told of them; None while it has changed nothing.
        self.told: int | None = None
        # The start of all its sessions, so that its proposals are its own also where a later key has the name of its key. The
        # rest is new with each start: the person may undo a session, which must not be all that the client ever did.
        self.owner = f"{hashlib.sha256(owner.encode()).hexdigest()[:16]}-" if owner else ""
        self.lasting = self.owner if is_lasting else ""  # set if it hears what was decided before it came again
        self.session = self.owner + secrets.token_hex(4)  # tells the sessions of one client apart
        self.is_person = (
            False  # whether the person makes its changes themselves, so that none of them waits for the person
        )
        self.may_read_notes = True  # else nothing of a note's text is told unasked
        self.paged = PagedResults()
        self._etags: dict[VaultPath, str] = {}  # as last read, the note read longest ago first
        self._folders: set[str] = set()
        self._shown: set[str] = set()
        self._texts: dict[tuple[VaultPath, str], bytes] = {}
        self._read_bytes = 0
        self._text_bytes = 0

    def is_author(self, client: str, session: str) -> bool:
        """Tell whether it is the client of this session, which may be an earlier one."""
        return client == self.client and session.startswith(self.owner)

    def saw(self, path: VaultPath, etag: str, data: bytes | None) -> None:
        """Remember that the note was read, and its content at that time, unless that is None."""
        with MEMORY_BUDGET.lock:
            if self._etags.pop(path, None) is None:
                self._read_bytes += _cost(path)
            self._etags[path] = etag
            if len(self._etags) > _MAX_READ:
                self._forget(next(iter(self._etags)))
            if data is not None and (path, etag) not in self._texts and len(data) <= _MAX_TEXT_BYTES:
                self._texts[path, etag] = data
                self._text_bytes += _cost(path) + len(data)
                while self._text_bytes > _MAX_TEXT_BYTES:
                    oldest = next(iter(self._texts))
                    self._text_bytes -= _cost(oldest[0]) + len(self._texts.pop(oldest))
            MEMORY_BUDGET.record(self, self._read_bytes + self._text_bytes)

    def has_read(self, path: VaultPath) -> bool:
        """Tell whether the note was read, or written, in this session."""
        return path in self._etags

    def etag_read(self, path: VaultPath) -> str | None:
        """Return the etag that the note had when it was last read or written in this session, None if it was not."""
        return self._etags.get(path)

    def moved(self, source: VaultPath, target: VaultPath) -> None:
        """Remember the note under its new path."""
        with MEMORY_BUDGET.lock:
            etag = self._forget(source)
            if etag is not None:
                self._forget(target)
                self._etags[target] = etag
                self._read_bytes += _cost(target)

    def begins_in(self, folder: str) -> bool:
        """Remember that something was changed in the folder. Return whether that is the first time."""
        with MEMORY_BUDGET.lock:
            if folder in self._folders:
                return False
            if len(self._folders) < _MAX_FOLDERS:
                self._folders.add(folder)
                self._read_bytes += _cost(folder)
                MEMORY_BUDGET.record(self, self._read_bytes + self._text_bytes)
            return True

    def was_shown(self, what: str) -> bool:
        """Tell whether a dry run has shown the client what this change would do to other notes."""
        return what in self._shown

    def show(self, what: str) -> None:
        """Remember that a dry run has shown the client this change."""
        with MEMORY_BUDGET.lock:
            if what not in self._shown and len(self._shown) < _MAX_SHOWN:
                self._shown.add(what)
                self._read_bytes += _cost(what)
                MEMORY_BUDGET.record(self, self._read_bytes + self._text_bytes)

    def text_of(self, path: VaultPath, etag: str) -> bytes | None:
        """Return the bytes that the note had with this etag, None if they are not remembered."""
        return self._texts.get((path, etag))

    def evict(self) -> int:
        """Forget everything. See ``MemoryHolder``."""
        self._etags, self._texts, self._folders, self._shown = {}, {}, set(), set()
        self._read_bytes = self._text_bytes = 0
        return 0

    def _forget(self, path: VaultPath) -> str | None:
        etag = self._etags.pop(path, None)
        if etag is not None:
            self._read_bytes -= _cost(path)
        return etag


def _cost(path: str) -> int:
    return _NOTE_BYTES + 4 * len(path)


# ---------------------------------------------------------------------- what was found out of an index


class RememberedFacts:
    """What was found out, each true while the state that it was found in is the same. Safe to use from several threads.

    It belongs to one index, so to what one run may see. The least recently used is dropped where there is too much of it.
    """

    def __init__(self, most_bytes: int = 16_000_000, most: int = 1_000_000) -> None:
        self._lock = threading.Lock()
        self._most_bytes, self._most = most_bytes, most
        self._bytes = 0
        self._facts: dict[Hashable, tuple[Hashable, Any, int]] = {}  # the least recently used first

    def get(self, name: Hashable, state: Hashable) -> Any:
        """Return what is known in this state; None if nothing is."""
        with self._lock:
            known = self._facts.pop(name, None)
            if known is None:
                return None
            self._facts[name] = known
            return known[1] if known[0] == state else None

    def keep(self, name: Hashable, state: Hashable, fact: object, size: int) -> None:
        """Keep what was found out in this state; ``size``: the bytes that it takes. The latest is always kept."""
        with self._lock:
            old = self._facts.pop(name, None)
            self._facts[name] = (state, fact, size)
            self._bytes += size - (old[2] if old is not None else 0)
            while len(self._facts) > 1 and (self._bytes > self._most_bytes or len(self._facts) > self._most):
                self._bytes -= self._facts.pop(next(iter(self._facts)))[2]

    def facts(self) -> list[Any]:
        """Return all that is kept, of any state."""
        with self._lock:
            return [fact for _, fact, _ in self._facts.values()]


# A result in memory is its list of files, its groups and summaries, and a megabyte of rows at most.
_BYTES_PER_FILE = 600
_MOST_BYTES = 12_000_000
_MOST_RESULTS = 16


class _Rows(Sized, Protocol):
    def release(self) -> None: ...


class _Result(Protocol):
    """What is asked of a result: the language of bases is not loaded for a caller that has none."""

    @property
    def rows(self) -> _Rows: ...

    @property
    def kept_bytes(self) -> int: ...


_R = TypeVar("_R", bound=_Result)
_S = TypeVar("_S")


class RememberedResults(Generic[_R]):
    """The last few results of bases by what they were asked with, true until anything in the vault changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: Hashable = None
        self._results = RememberedFacts(_MOST_BYTES, _MOST_RESULTS)
        self._shared: tuple[Hashable, Any] | None = None

    def shared(self, question: Hashable, version: Hashable, make: Callable[[], _S]) -> _S:
        """Return what several results share, such as the views of one base: the last one, made again for another question."""
        with self._lock:
            self._begin(version)
            known = self._shared
        if known is None or known[0] != question:
            known = question, make()
            with self._lock:
                if version == self._version:
                    self._shared = known
        shared: _S = known[1]
        return shared

    def _begin(self, version: Hashable) -> None:
        if version != self._version:
            self._results = RememberedFacts(_MOST_BYTES, _MOST_RESULTS)
            self._shared = None
            self._version = version

    def get(self, question: Hashable, version: Hashable) -> _R | None:
        """Return the result of a question, if nothing has changed since."""
        with self._lock:
            self._begin(version)
            result: _R | None = self._results.get(question, version)
            return result

    def keep(self, question: Hashable, version: Hashable, result: _R) -> None:
        """Keep a result that was made while the vault had this version. Those before it give back what they can read again."""
        size = len(result.rows) * _BYTES_PER_FILE + result.kept_bytes
        with self._lock:
            self._begin(version)
            for other in self._results.facts():
                other.rows.release()
            if size <= _MOST_BYTES:
                self._results.keep(question, version, result, size)
