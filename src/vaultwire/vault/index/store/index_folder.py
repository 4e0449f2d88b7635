"""Where one vault's index is kept, and how it is opened: what cannot be opened is made anew, what cannot be kept is not."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable
from typing import NamedTuple

from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.schema import FORMAT, INDEXED, UNREAD
from vaultwire.vault.index.store.search_plan import MatchAll
from vaultwire.vault.index.store.text_index import BrokenTextIndexError, TextIndex
from vaultwire.vault.index.store.vocabulary_store import VocabularyStore

_CATALOG = "catalog.sqlite3"
# One for what is there, one for what was begun anew, one for another process that did so at the same time.
_MAX_TRIES = 3
# Each set of rules about what may be seen has an index of its own. One that no run has opened for a month is left over;
# a run that goes on for longer keeps the files it has open, or makes them anew.
_UNUSED_SECONDS = 30 * 24 * 3600
_WHAT_TO_DO = "Make room there, or set VAULTWIRE_CACHE to a folder on another disk."
_INDEXED = f"SELECT count(*) FROM files WHERE NOT hidden AND state = {INDEXED} AND digest <> {UNREAD}"


class IndexParts(NamedTuple):
    """An open index."""

    catalog: Catalog
    text: TextIndex
    words: VocabularyStore
    process_lock: ProcessLock


class IndexFolder:
    """The folder of one vault's index below the cache folder; in memory where there is none."""

    def __init__(
        self, vault: str, cache: str | None, open_text: Callable[[str | None], TextIndex], stamp: str = ""
    ) -> None:
        """``vault`` is the vault's resolved path; ``open_text`` opens a text index in a folder, None being memory.

        ``stamp`` says what of the vault is hidden in this run (``Files.stamp``): what another run may see is not in its index.
        """
        self._open_text = open_text
        self.problem = ""  # why the index is not kept
        self.folder: str | None = None
        self._generation = 1  # the index in use: each has a folder of its own, the last is the one to open
        if cache is not None:
            key = hashlib.blake2b(os.fsencode(vault), digest_size=12).hexdigest()
            self.folder = os.path.join(cache, f"v{FORMAT}-{key}{'-' * bool(stamp)}{stamp}")

    def open(self) -> IndexParts:
        """Open what is there, or begin anew."""
        if self.folder is not None:
            try:
                # What was read from notes is nobody else's business.
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
                for _ in range(_MAX_TRIES):
                    try:
                        parts = self._open(self.folder)
                    except Exception as error:
                        if not is_broken(error):
                            raise
                        self.problem = self._not_kept(error)
                        self._begin_anew()
                    else:
                        self._remove_older()
                        return parts
            except (OSError, sqlite3.Error) as error:
                self.problem = self._not_kept(error)
            self.folder = None
        return self._open(None)

    def _open(self, folder: str | None) -> IndexParts:
        place = None
        if folder is not None:
            self._generation = max([1, *self._generations()])
            place = os.path.join(folder, str(self._generation))
            os.makedirs(place, mode=0o700, exist_ok=True)
        catalog = Catalog(None if place is None else os.path.join(place, _CATALOG))
        try:
            text = self._open_text(None if place is None else os.path.join(place, str(catalog.meta("text"))))
            _check(catalog, text)
            if folder is not None:
                self.problem = ""
            path = None if folder is None else os.path.join(folder, "lock")
            lock = ProcessLock(path, "another process is indexing the vault")
            return IndexParts(catalog, text, VocabularyStore(catalog), lock)
        except BaseException:
            catalog.close()
            raise

    def _remove_older(self) -> None:
        """Remove what earlier versions kept of this vault, and what runs with other rules did that nobody uses any more."""
        assert self.folder is not None
        cache, name = os.path.split(self.folder)
        os.utime(self.folder)
        older = [f"v{number}-{name.partition('-')[2]}" for number in range(1, FORMAT)]
        alike = "-".join([*name.split("-")[:2], ""])
        for there in os.listdir(cache):
            place = os.path.join(cache, there)
            if there in older or (there.startswith(alike) and time.time() - os.stat(place).st_mtime > _UNUSED_SECONDS):
                _remove(place)

    def wipe(self, parts: IndexParts) -> None:
        """Close a broken index, to begin anew. Other processes that have it open find it broken in turn, or keep theirs."""
        parts.text.close()
        parts.catalog.close()
        self._begin_anew()

    def keep_in_memory(self, reason: Exception) -> None:
        """Have the next ``open`` open an index in memory."""
        self.problem = self._not_kept(reason)
        self.folder = None

    def _not_kept(self, reason: Exception) -> str:
        return f"the index cannot be kept in {self.folder}: {reason}. {_WHAT_TO_DO}"

    def _begin_anew(self) -> None:
        """Have the next ``open`` begin anew, or take what another process has begun since.

        In a folder of another name: SQLite deletes its log by name when it closes a file, also one that is gone, and would
        take the new one's.
        """
        if self.folder is None:
            return
        there = [*self._generations(), self._generation]
        if max(there) == self._generation:
            os.makedirs(os.path.join(self.folder, str(self._generation + 1)), mode=0o700, exist_ok=True)
        for generation in there:
            if generation <= self._generation:
                _remove(os.path.join(self.folder, str(generation)))

    def _generations(self) -> list[int]:
        try:
            return [int(name) for name in os.listdir(self.folder) if name.isdecimal()] if self.folder else []
        except FileNotFoundError:
            return []


def _remove(folder: str) -> None:
    import shutil  # noqa: PLC0415 - 2 ms, for what hardly any start has to do

    shutil.rmtree(folder, ignore_errors=True)


def _check(catalog: Catalog, text: TextIndex) -> None:
    """Raise BrokenTextIndexError if the text index has more or fewer notes than the catalog says.

    That shows files that are gone and would be made anew, empty, and what a power cut leaves of two indexes that were
    written one after the other.
    """
    for _ in range(_MAX_TRIES):
        version = catalog.version()
        (settled,) = catalog.rows(_INDEXED)[0]
        left_out = [*(row.id for row in catalog.not_indexed()), *catalog.gone()]
        text.refresh()
        total = text.search(MatchAll(), left_out, 0, 1).total
        if catalog.version() == version:  # else another process was at it meanwhile
            if total != settled:
                raise BrokenTextIndexError(f"the text index has {total} notes, the catalog {settled}")
            return


def is_broken(error: Exception) -> bool:
    """Tell whether an error says that the index cannot be used, not that it is busy."""
    if isinstance(error, sqlite3.OperationalError):
        return not ("locked" in str(error) or "busy" in str(error))
    return isinstance(error, (sqlite3.DatabaseError, BrokenTextIndexError))
