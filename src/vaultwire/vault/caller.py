"""Whoever asks, as one session knows it: what it calls itself, and which notes it has read as they were by then."""

from __future__ import annotations

from vaultwire.vault.memory_budget import MEMORY_BUDGET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.vault.model import VaultPath

# Texts are kept to say what has changed since they were read; more than this much helps nobody, and a session is long.
_MAX_KEPT_BYTES = 4_000_000
# Fingerprints are kept longer: they say *that* a note was read. So many notes are read in no session.
_MAX_READ = 20_000
# What a note that was read costs besides its text: a path, a fingerprint, places in two dictionaries.
_NOTE_BYTES = 400


class Caller:
    """One client in one session. Safe to use from several threads.

    What it remembers is forgotten when all clients together have too much remembered: then a text about a conflict has no
    difference in it, and where notes must be read before they are edited, they must be read again.
    """

    __slots__ = ("__weakref__", "_etags", "_read_bytes", "_text_bytes", "_texts", "client")

    def __init__(self, client: str = "") -> None:
        """``client``: who it is, in words for the record of changes; empty if nobody knows."""
        self.client = client
        self._etags: dict[VaultPath, str] = {}  # as last read, the note read longest ago first
        self._texts: dict[tuple[VaultPath, str], bytes] = {}
        self._read_bytes = 0
        self._text_bytes = 0

    def saw(self, path: VaultPath, etag: str, data: bytes) -> None:
        """Remember that the note was read, and what it held by then."""
        with MEMORY_BUDGET.lock:
            if self._etags.pop(path, None) is None:
                self._read_bytes += _cost(path)
            self._etags[path] = etag
            if len(self._etags) > _MAX_READ:
                self._forget(next(iter(self._etags)))
            if (path, etag) not in self._texts and len(data) <= _MAX_KEPT_BYTES:
                self._texts[path, etag] = data
                self._text_bytes += _cost(path) + len(data)
                while self._text_bytes > _MAX_KEPT_BYTES:
                    oldest = next(iter(self._texts))
                    self._text_bytes -= _cost(oldest[0]) + len(self._texts.pop(oldest))
            MEMORY_BUDGET.record(self, self._read_bytes + self._text_bytes)

    def has_read(self, path: VaultPath) -> bool:
        """Tell whether the note was read, or written, in this session."""
        return path in self._etags

    def moved(self, source: VaultPath, target: VaultPath) -> None:
        """Know the note by its new path."""
        with MEMORY_BUDGET.lock:
            etag = self._forget(source)
            if etag is not None:
                self._forget(target)
                self._etags[target] = etag
                self._read_bytes += _cost(target)

    def text_of(self, path: VaultPath, etag: str) -> bytes | None:
        """Return the bytes the note had when it was read under this etag, None if they are not kept."""
        return self._texts.get((path, etag))

    def evict(self) -> int:
        """Forget it all. See ``MemoryHolder``."""
        self._etags, self._texts = {}, {}
        self._read_bytes = self._text_bytes = 0
        return 0

    def _forget(self, path: VaultPath) -> str | None:
        etag = self._etags.pop(path, None)
        if etag is not None:
            self._read_bytes -= _cost(path)
        return etag


def _cost(path: VaultPath) -> int:
    return _NOTE_BYTES + 4 * len(path)
