"""The executor: carries planned steps out, all or none. Each change is checked against the disk and journaled first.

What the steps are is decided elsewhere (``vault.plans``, ``undo``), under the lock held here. A change that a killed process
left open is finished or rolled back before anything else happens.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from vaultwire.vault.changes.change import (
    UNKNOWN,
    Author,
    Change,
    DetailedChange,
    Intent,
    JournalReport,
    PriorState,
    Step,
    Write,
    files_of,
    paths_of,
)
from vaultwire.vault.changes.journal import KEEP, Ending, Journal, Retention
from vaultwire.vault.changes.old_journal import count_old_changes, has_old_files, take_over
from vaultwire.vault.changes.preconditions import PreconditionCheck
from vaultwire.vault.changes.projected_tree import simplified, without_aliases
from vaultwire.vault.changes.record_store import RecordStore
from vaultwire.vault.changes.staging import StagedChange
from vaultwire.vault.changes.visible_changes import VisibleChanges
from vaultwire.vault.disk.file_operations import make_private
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import lies_in
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import FILE_NOT_FOUND, JOURNAL_FAILED, STALE_EDIT, WRITE_FAILED, Stopped, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.value_types import NO_PROGRESS, Progress, Stages, VaultPath

# How often a thread that waits for another one's change asks whether its caller still waits.
_PATIENCE = 0.2


class Changes:
    """The changes of one vault: the lock they are made under, their execution, and the record of them.

    Safe to call from several threads, and beside other processes that change the same vault.
    """

    def __init__(
        self, files: Files, index: Index, home: str, retention: Retention = KEEP, *, recovers: bool = True
    ) -> None:
        """``home`` is the folder for state that must outlast the process.

        With ``recovers`` off, a change that a killed process left open waits for the next change.
        """
        self._files = files
        self._index = index
        self._recovers = recovers
        key = hashlib.blake2b(os.fsencode(files.root), digest_size=12).hexdigest()
        self._folder = os.path.join(home, f"journal-{key}")
        self.store = RecordStore(self._folder, files.root, self._take_over_old)
        self._journal = Journal(self.store, retention)
        self._visible: VisibleChanges | None = VisibleChanges(self._journal, files) if files.hides_some else None
        path = os.path.join(self._folder, "lock")
        self._process_lock = ProcessLock(path, "another process is changing the vault", needed=True)
        self._lock = threading.Lock()
        self._holder: int | None = None

    @property
    def files(self) -> Files:
        """The files that it changes."""
        return self._files

    # ------------------------------------------------------------------ changing

    @contextmanager
    def locked(self, progress: Progress = NO_PROGRESS) -> Iterator[None]:
        """Hold the vault's lock: no other thread or process changes the vault. Recover first.

        A caller reads, decides and writes inside one such block. Not reentrant. Raises VaultError (JOURNAL_FAILED) if
        changes cannot be recorded, and ``Stopped`` while waiting.
        """
        with ExitStack() as held:
            with self._journal_errors():
                held.enter_context(self._locked(progress))
            self._recover(Stages(progress))
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = None

    def recover(self) -> None:
        """Finish or roll back what a killed process left open, if there can be such and this run may. For the start."""
        if self._recovers and os.path.isdir(self._folder):
            try:
                with self.locked():
                    pass
            except (VaultError, Stopped):  # the next change reports it
                pass

    def execute(
        self,
        steps: Iterable[Step],
        author: Author = UNKNOWN,
        progress: Progress = NO_PROGRESS,
        undoes: tuple[int, ...] = (),
        proposal: int = 0,
        folders_of: int = 0,
    ) -> Change:
        """Take all the steps, in order, or none; inside ``locked`` only.

        Steps that change nothing are left out; if none remain, nothing is recorded and the change has the id 0.
        ``progress`` is asked for the last time right before the first step that becomes visible. ``proposal`` is recorded
        with the change. The folders that ``undoes`` made go if they are empty then; so do those that the change
        ``folders_of`` made, of which these steps undo a part.

        Raises VaultError, and then nothing has changed: STALE_EDIT if a file is not as a step expects it, NOTE_EXISTS,
        FILE_NOT_FOUND, PERMISSION_DENIED, PATH_OUTSIDE_VAULT, TOO_LARGE, WRITE_FAILED, JOURNAL_FAILED.
        """
        assert self._holder == threading.get_ident(), "execute outside of locked"
        planned = simplified(list(steps))
        needed = without_aliases(self._files, planned)
        now = time.time_ns()
        if not needed:
            return Change(0, now, author, (), undoes)
        partly = (*undoes, folders_of) if folders_of else undoes
        made = {folder for undone in self._journal.load_all(partly) for folder in undone.new_folders}
        removed_folders = tuple(sorted(made, key=lambda folder: (folder.count("/"), folder)))
        number = self._journal.next_id()
        draft = Intent(number, "", now, author, undoes, tuple(needed), (), (), removed_folders, proposal=proposal)
        stages = Stages(progress)
        intent = PreconditionCheck(self._files).check(draft, stages)
        progress.check()
        with self._journal_errors():
            self._journal.begin(intent, stages)
        with self._index.hold_changes():
            self._take(intent, stages, progress)
        try:
            self._journal.end(number, Ending(is_undone=False))
        except OSError:  # a full disk: the next process sees from the files that the change is done
            pass
        self._tell_index(intent)
        if len(needed) != len(planned):
            self._index.queue_changes(path for step in planned for path in paths_of(step))
        return Change(number, now, author, files_of(intent.steps), undoes, proposal=proposal)

    def record(self, steps: Sequence[Write], author: Author, proposal: int = 0) -> Change:
        """Record writes that another program has made already; inside ``locked`` only. No file is written.

        Raises VaultError: STALE_EDIT if a file does not hold what a step has written, JOURNAL_FAILED. A kill at any moment
        leaves the files as they are: a recovery that finds the record without its end sees that they are as after the change.
        """
        assert self._holder == threading.get_ident(), "record outside of locked"
        for step in steps:
            if self.bytes_at(step.path) != step.after:
                raise VaultError(STALE_EDIT, f"{step.path!r} was changed by another program meanwhile.", path=step.path)
        number, now = self._journal.next_id(), time.time_ns()
        priors = tuple(PriorState(step.path, was_free=step.old is None) for step in steps)
        # With a token of its own, so that no other change's temporary files are taken for those of this one.
        intent = Intent(number, os.urandom(4).hex(), now, author, (), tuple(steps), priors, (), (), proposal=proposal)
        with self._journal_errors():
            self._journal.add_made(intent, Stages(NO_PROGRESS))
        self._tell_index(intent)
        return Change(number, now, author, files_of(intent.steps), proposal=proposal)

    def bytes_at(self, path: VaultPath) -> bytes | None:
        """Return the file's bytes, None for no file. Raises VaultError as ``Files.read`` does."""
        try:
            return self._files.read(path).data
        except VaultError as error:
            if error.code == FILE_NOT_FOUND:
                return None
            raise

    def _take(self, intent: Intent, stages: Stages, progress: Progress) -> None:
        """Take the steps of a recorded change, or none of them."""
        staged = StagedChange(self._files, intent)
        count = len(intent.steps)
        begun = 0
        try:
            staged.prepare(stages)
            progress.check()
            with self._journal_errors():
                self._journal.mark_ready(intent.id)
            for begun in stages.each(stages.RENAMING, "renamed", range(1, count + 1), may_stop=False):
                staged.take(begun - 1)
            begun = count + 1
            staged.finish(stages)
        except BaseException as error:
            # A step that raises VaultError was not taken; any other exception may come in the middle of one.
            taken = begun - 1 if begun and isinstance(error, VaultError) else begun
            self._try_to_roll_back(intent, staged, stages, min(taken, count))
            raise

    def _try_to_roll_back(self, intent: Intent, staged: StagedChange, stages: Stages, begun: int) -> None:
        try:
            self._roll_back(intent, staged, stages, begun)
        except (OSError, VaultError):  # the change stays open; the next one tries again
            return
        self._tell_index(intent)

    def _roll_back(self, intent: Intent, staged: StagedChange, stages: Stages, begun: int | None = None) -> None:
        unrestored = intent.unrestored
        if unrestored is None:
            unrestored = staged.roll_back(stages, begun)
            self._journal.mark_rolled_back(intent.id, unrestored)
        staged.clean_up()
        self._journal.end(intent.id, Ending(is_undone=True, unrestored=unrestored))

    def _recover(self, stages: Stages) -> None:
        with self._journal_errors():
            intent = self._journal.catch_up()
        if intent is None:
            return
        self._files.check_root()
        staged = StagedChange(self._files, intent)
        try:
            if intent.unrestored is None and staged.is_complete() and _can_finish(staged, stages):
                staged.remove_temporaries()
                self._journal.end(intent.id, Ending(is_undone=False))
            else:
                self._roll_back(intent, staged, stages)
        except OSError as error:
            raise VaultError(
                WRITE_FAILED,
                f"Change {intent.id} was interrupted and cannot be rolled back: {error.strerror}. Nothing else is changed "
                "until it can. Check the disk's free space and the permissions of the vault's files.",
                id=intent.id,
            ) from error
        self._tell_index(intent)

    @contextmanager
    def _locked(self, progress: Progress) -> Iterator[None]:
        """Hold the lock, without recovery; take over what an older version has recorded. Raises OSError."""
        while not self._lock.acquire(timeout=_PATIENCE):
            progress.check()
        try:
            make_private(self._folder)  # it holds the text of notes, so only its owner may read it
            with self._process_lock.held(progress):
                self.store.prepare = None
                try:
                    take_over(self._folder, self.store)
                except BaseException:
                    self.store.prepare = self._take_over_old
                    raise
                yield
        finally:
            self._lock.release()

    def _take_over_old(self) -> None:
        """Take over what an older version has recorded, before the first look at the records. Raises OSError."""
        if has_old_files(self._folder):
            with self._locked(NO_PROGRESS):
                pass
        self.store.prepare = None

    def _tell_index(self, intent: Intent) -> None:
        paths: set[str] = set()
        folders: set[str] = set()
        for step, prior in zip(intent.steps, intent.priors, strict=True):
            named = [path for path in (*paths_of(step), prior.place) if not path.startswith(".")]
            (folders if prior.is_folder else paths).update(named)
        self._index.queue_changes(sorted(paths), sorted(folders))

    # ------------------------------------------------------------------ reading the record

    def stamp(self) -> Hashable:
        """Return a value that differs once a change was recorded, by any process. Costs a look at the disk.

        Raises VaultError (JOURNAL_FAILED).
        """
        with self._journal_errors():
            return self._journal.stamp()

    def latest(
        self, path: str | None = None, limit: int = 100, before: int | None = None, since_ns: int | None = None
    ) -> list[Change]:
        """Return the changes on record, the latest first; only those of a file or folder, as it was or is named.

        ``before`` is the id of a change: only earlier ones are returned. ``since_ns``: only those made then or later, in
        nanoseconds since the epoch. Raises VaultError (JOURNAL_FAILED).
        """
        found = [
            change
            for change in reversed(self._all())
            if (before is None or change.id < before)
            and (since_ns is None or change.time_ns >= since_ns)
            and (path is None or any(_concerns(path, file.path, file.target) for file in change.files))
        ]
        return found[:limit]

    def since(self, number: int) -> list[Change]:
        """Return the changes after one, in the order in which they were made. Raises VaultError (JOURNAL_FAILED)."""
        return [change for change in self._all() if change.id > number]

    def is_made_of(self, proposal: int) -> bool:
        """Tell whether a change on record was made of a proposal, hidden or not. Raises VaultError (JOURNAL_FAILED)."""
        with self._journal_errors():
            return self._journal.is_made_of(proposal)

    def show(self, number: int) -> DetailedChange:
        """Return one change with the bytes before and after. Raises VaultError: FILE_NOT_FOUND, JOURNAL_FAILED."""
        return next(self.show_all([number]))

    def show_all(self, numbers: Sequence[int]) -> Iterator[DetailedChange]:
        """Yield changes with the bytes before and after, in the order given. Raises VaultError as ``show`` does."""
        with self._journal_errors():
            may_be_seen = None if self._visible is None else {change.id for change in self._visible.all()}
            loaded = self._journal.load_all([each for each in numbers if may_be_seen is None or each in may_be_seen])
            for number in numbers:
                detailed = next(loaded, None)
                if detailed is None or detailed.change.id != number:
                    raise VaultError(
                        FILE_NOT_FOUND,
                        f"There is no change {number} on record; list_changes shows those there are.",
                        id=number,
                    )
                yield detailed

    def report(self) -> JournalReport:
        """Return how the journal is kept. Changes nothing, also not what a killed process left open."""
        nearest = self._folder
        while not os.path.isdir(nearest) and os.path.dirname(nearest) != nearest:
            nearest = os.path.dirname(nearest)
        problem = "" if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} cannot be written to"
        try:
            self.store.prepare = None
            number = count_old_changes(self._folder) + len(self._journal.changes())
            return JournalReport(self._folder, number, problem)
        except OSError as error:
            return JournalReport(self._folder, 0, error.strerror or str(error))

    def _all(self) -> list[Change]:
        with self._journal_errors():
            return self._journal.changes() if self._visible is None else self._visible.all()

    @contextmanager
    def _journal_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise VaultError(
                JOURNAL_FAILED,
                f"Nothing was changed, because the change cannot be recorded in the journal, {self._folder} "
                f"({error.strerror or error}). Free space there, or set VAULTWIRE_STATE "
                "to a folder on a local disk that can be written to.",
            ) from error


def _concerns(asked: str, path: VaultPath, target: VaultPath | None) -> bool:
    return any(lies_in(each, asked) or lies_in(asked, each) for each in (path, target) if each is not None)


def _can_finish(staged: StagedChange, stages: Stages) -> bool:
    try:
        staged.finish(stages)
    except VaultError:  # another program has saved a file, or bytes cannot be removed: the change is rolled back
        return False
    return True
