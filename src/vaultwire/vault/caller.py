"""The client of one session: its name, the notes that it has read with their text at that time, and its lists in pages."""

from __future__ import annotations

import hashlib
import secrets

from vaultwire.vault.memory_budget import MEMORY_BUDGET
from vaultwire.vault.paged_results import PagedResults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.vault.value_types import VaultPath

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
