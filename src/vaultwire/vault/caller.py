"""Whoever asks, as one session knows it: what it calls itself, and which notes it has read as they were by then."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.vault.model import VaultPath

# Texts are kept to say what has changed since they were read; more than this much helps nobody, and a session is long.
_MAX_KEPT_BYTES = 4_000_000
# Fingerprints are kept longer: they say *that* a note was read. So many notes are read in no session.
_MAX_READ = 20_000


class Caller:
    """One client in one session. Safe to use from several threads."""

    def __init__(self, client: str = "") -> None:
        """``client``: who it is, in words for the record of changes; empty if nobody knows."""
        self.client = client
        self._lock = threading.Lock()
        self._etags: dict[VaultPath, str] = {}  # as last read, the note read longest ago first
        self._texts: dict[tuple[VaultPath, str], bytes] = {}
        self._kept = 0

    def saw(self, path: VaultPath, etag: str, data: bytes) -> None:
        """Remember that the note was read, and what it held by then."""
        with self._lock:
            self._etags.pop(path, None)
            self._etags[path] = etag
            if len(self._etags) > _MAX_READ:
                del self._etags[next(iter(self._etags))]
            if (path, etag) in self._texts or len(data) > _MAX_KEPT_BYTES:
                return
            self._texts[path, etag] = data
            self._kept += len(data)
            while self._kept > _MAX_KEPT_BYTES:
                self._kept -= len(self._texts.pop(next(iter(self._texts))))

    def has_read(self, path: VaultPath) -> bool:
        """Tell whether the note was read, or written, in this session."""
        return path in self._etags

    def moved(self, source: VaultPath, target: VaultPath) -> None:
        """Know the note by its new path."""
        with self._lock:
            etag = self._etags.pop(source, None)
            if etag is not None:
                self._etags[target] = etag

    def text_of(self, path: VaultPath, etag: str) -> bytes | None:
        """Return the bytes the note had when it was read under this etag, None if they are not kept."""
        return self._texts.get((path, etag))
