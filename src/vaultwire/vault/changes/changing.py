"""The one way in which a vault is changed: planned steps, checked against the disk, journaled, taken, or all taken back.

What the steps are is decided elsewhere, under the lock held here. What killed processes left open is settled before
anything else happens.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from vaultwire.vault.changes.change import (
    UNKNOWN,
    Author,
    Change,
    Detailed,
    Intent,
    JournalReport,
    Step,
    files_of,
    paths_of,
)
from vaultwire.vault.changes.foresight import tidied, without_aliases
from vaultwire.vault.changes.journal import Ending, FolderJournal, Journal, MemoryJournal
from vaultwire.vault.changes.preflight import Preflight
from vaultwire.vault.changes.segments import KEEP, Retention
from vaultwire.vault.changes.shown import ShownChanges
from vaultwire.vault.changes.stage import Stage
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import lies_in
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import FILE_NOT_FOUND, JOURNAL_FAILED, WRITE_FAILED, Stopped, VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.model import NO_PROGRESS, Progress, VaultPath

# How often somebody who waits for another call of this process hears whether to go on.
_PATIENCE = 0.2


class Changes:
    """The changes of one vault: the lock they are made under, the executor, and the record of them.

    Safe to call from several threads, and beside other processes that change the same vault.
    """

    def __init__(
        self, files: Files, index: Index, home: str | None, retention: Retention = KEEP, *, settles: bool = True
    ) -> None:
        """``home`` is the folder for state that must outlast the process; None, for tests, keeps it in memory.

        With ``settles`` off, what killed processes left open waits for the next change.
        """
        self._files = files
        self._index = index
        self._settles = settles
        self._folder: str | None = None
        self._journal: Journal = MemoryJournal()
        if home is not None:
            key = hashlib.blake2b(os.fsencode(files.root), digest_size=12).hexdigest()
            self._folder = os.path.join(home, f"journal-{key}")
            self._journal = FolderJournal(self._folder, files.root, retention)
        self._shown: ShownChanges | None = ShownChanges(self._journal, files) if files.hides_some else None
        path = None if self._folder is None else os.path.join(self._folder, "lock")
        self._process_lock = ProcessLock(path, "another process is changing the vault", needed=True)
        self._lock = threading.Lock()
        self._holder: int | None = None

    # ------------------------------------------------------------------ changing

    @contextmanager
    def held(self, progress: Progress = NO_PROGRESS) -> Iterator[None]:
        """Be the only one who changes the vault, in this process and any other; what was left open is settled first.

        Whoever reads, decides and writes does all three in here. Not to be entered twice. Raises VaultError
        (JOURNAL_FAILED) if changes cannot be recorded, and ``Stopped`` while waiting.
        """
        while not self._lock.acquire(timeout=_PATIENCE):
            progress.check()
        try:
            with self._process_lock_held(progress):
                self._settle()
                self._holder = threading.get_ident()
                try:
                    yield
                finally:
                    self._holder = None
        finally:
            self._lock.release()

    def settle(self) -> None:
        """Finish or take back what a killed process left open, if there can be such and this run may. For the start."""
        if self._settles and self._folder is not None and os.path.isdir(self._folder):
            try:
                with self.held():
                    pass
            except (VaultError, Stopped):  # the next change says what is wrong
                pass

    def carry_out(
        self,
        steps: Iterable[Step],
        author: Author = UNKNOWN,
        progress: Progress = NO_PROGRESS,
        undoes: int | None = None,
    ) -> Change:
        """Take all the steps, in order, or none; inside ``held`` only.

        Steps that change nothing are left out; if all are, nothing is recorded and the change has the id 0. ``progress``
        is asked for the last time right before the first step that anybody can see.

        Raises VaultError, and then nothing has changed: STALE_EDIT if a file is not as a step expects it, NOTE_EXISTS,
        FILE_NOT_FOUND, PERMISSION_DENIED, PATH_OUTSIDE_VAULT, TOO_LARGE, WRITE_FAILED, JOURNAL_FAILED.
        """
        assert self._holder == threading.get_ident(), "carry_out outside of held"
        planned = tidied(list(steps))
        wanted = without_aliases(self._files, planned)
        now = time.time_ns()
        if not wanted:
            return Change(0, now, author, (), undoes)
        emptied = self._made_by(undoes) if undoes is not None else ()
        number = self._journal.next_id()
        intent = Preflight(self._files).check(Intent(number, "", now, author, undoes, tuple(wanted), (), (), emptied))
        progress.check()
        try:
            self._journal.begin(intent)
        except OSError as error:
            raise _no_journal(error, self._folder) from error
        stage = Stage(self._files, intent)
        begun = 0
        try:
            stage.prepare()
            progress.check()
            self._ready(number)
            for begun in range(1, len(wanted) + 1):
                stage.take(begun - 1)
            begun = len(wanted) + 1
            stage.finish()
        except BaseException as error:
            # A step that was refused has not been taken; whatever else ends one may come in the middle of it.
            taken = begun - 1 if begun and isinstance(error, VaultError) else begun
            self._take_back(intent, stage, min(taken, len(wanted)))
            raise
        try:
            self._journal.end(number, Ending(is_undone=False))
        except OSError:  # a full disk: whoever comes next sees by the files what became of it
            pass
        self._tell_index(intent)
        if len(wanted) != len(planned):
            self._index.queue_changes(path for step in planned for path in paths_of(step))
        return Change(number, now, author, files_of(intent.steps), undoes)

    def _ready(self, number: int) -> None:
        try:
            self._journal.ready(number)
        except OSError as error:
            raise _no_journal(error, self._folder) from error

    def _take_back(self, intent: Intent, stage: Stage, begun: int) -> None:
        try:
            self._roll_back(intent, stage, begun)
        except (OSError, VaultError):  # it stays open, and whoever comes next tries again
            return
        self._tell_index(intent)

    def _roll_back(self, intent: Intent, stage: Stage, begun: int | None = None) -> None:
        left = intent.left
        if left is None:
            left = stage.roll_back(begun)
            self._journal.back(intent.id, left)
        stage.clean_up()
        self._journal.end(intent.id, Ending(is_undone=True, left=left))

    def _settle(self) -> None:
        try:
            intent = self._journal.catch_up()
        except OSError as error:
            raise _no_journal(error, self._folder) from error
        if intent is None:
            return
        self._files.check_root()
        stage = Stage(self._files, intent)
        try:
            if intent.left is None and stage.is_complete() and _is_finished(stage):
                stage.remove_temporaries()
                self._journal.end(intent.id, Ending(is_undone=False))
            else:
                self._roll_back(intent, stage)
        except OSError as error:
            raise VaultError(
                WRITE_FAILED,
                f"Change {intent.id} was cut off half-way and cannot be taken back: {error.strerror}. Until it can, "
                "nothing else is changed: see to the disk's free space and the permissions of the vault's files.",
                id=intent.id,
            ) from error
        self._tell_index(intent)

    @contextmanager
    def _process_lock_held(self, progress: Progress) -> Iterator[None]:
        lock = self._process_lock.held(progress)
        try:
            if self._folder is not None:
                # What notes held is nobody else's business.
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
            lock.__enter__()
        except OSError as error:
            raise _no_journal(error, self._folder) from error
        try:
            yield
        finally:
            lock.__exit__(None, None, None)

    def _tell_index(self, intent: Intent) -> None:
        paths: set[str] = set()
        folders: set[str] = set()
        for step, site in zip(intent.steps, intent.sites, strict=True):
            named = [path for path in (*paths_of(step), site.place) if not path.startswith(".")]
            (folders if site.is_folder else paths).update(named)
        self._index.queue_changes(sorted(paths), sorted(folders))

    def _made_by(self, number: int) -> tuple[str, ...]:
        """Return the folders that a change made."""
        detailed = self._journal.load(number)
        return () if detailed is None else detailed.made

    # ------------------------------------------------------------------ looking

    def latest(self, path: str | None = None, limit: int = 100, before: int | None = None) -> list[Change]:
        """Return the changes on record, the latest first; only those of a file or folder, as it was or is named.

        ``before`` is the id of a change: only earlier ones are returned. Raises VaultError (JOURNAL_FAILED).
        """
        found = [
            change
            for change in reversed(self._all())
            if (before is None or change.id < before)
            and (path is None or any(_concerns(path, file.path, file.target) for file in change.files))
        ]
        return found[:limit]

    def since(self, number: int) -> list[Change]:
        """Return the changes behind one, in the order in which they were made. Raises VaultError (JOURNAL_FAILED)."""
        return [change for change in self._all() if change.id > number]

    def show(self, number: int) -> Detailed:
        """Return one change with the bytes before and after. Raises VaultError: FILE_NOT_FOUND, JOURNAL_FAILED."""
        try:
            is_shown = self._shown is None or any(change.id == number for change in self._shown.all())
            detailed = self._journal.load(number) if is_shown else None
        except OSError as error:
            raise _no_journal(error, self._folder) from error
        if detailed is None:
            raise VaultError(
                FILE_NOT_FOUND, f"There is no change {number} on record; list_changes shows those there are.", id=number
            )
        return detailed

    def report(self) -> JournalReport:
        """Return how the journal is kept. Changes nothing: what a killed process left open stays so."""
        folder = self._folder or ""
        nearest = folder
        while nearest and not os.path.isdir(nearest) and os.path.dirname(nearest) != nearest:
            nearest = os.path.dirname(nearest)
        problem = "" if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} cannot be written to"
        try:
            return JournalReport(folder, len(self._journal.changes()), problem)
        except OSError as error:
            return JournalReport(folder, 0, error.strerror or str(error))

    def _all(self) -> list[Change]:
        try:
            return self._journal.changes() if self._shown is None else self._shown.all()
        except OSError as error:
            raise _no_journal(error, self._folder) from error


def _concerns(asked: str, path: VaultPath, target: VaultPath | None) -> bool:
    return any(lies_in(each, asked) or lies_in(asked, each) for each in (path, target) if each is not None)


def _is_finished(stage: Stage) -> bool:
    try:
        stage.finish()
    except VaultError:  # another program's save has come to light, or bytes cannot be removed: it is taken back
        return False
    return True


def _no_journal(error: OSError, folder: str | None) -> VaultError:
    return VaultError(
        JOURNAL_FAILED,
        f"Nothing was changed: the journal of changes, without which nothing is changed, cannot be kept in {folder} "
        f"({error.strerror or error}). Make room for it or set VAULTWIRE_STATE to a folder that can be written to.",
    )
