"""The executor: checks planned steps against the disk, records them, and carries them out, all or none.

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
    Move,
    PriorState,
    Step,
    Write,
    files_of,
    paths_of,
)
from vaultwire.vault.changes.journal import KEEP, Ending, Journal, Retention, VisibleChanges
from vaultwire.vault.changes.old_journal import count_old_changes, has_old_files, take_over
from vaultwire.vault.changes.projected_tree import ProjectedTree, simplified, without_aliases
from vaultwire.vault.changes.record_store import RecordsAwayError, RecordStore, SqliteRecords, busy
from vaultwire.vault.changes.staging import StagedChange
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.file_operations import make_private
from vaultwire.vault.disk.files import Files, cannot, check_size
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    JOURNAL_FAILED,
    NOTE_EXISTS,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    STALE_EDIT,
    WRITE_FAILED,
    Stopped,
    VaultError,
)
from vaultwire.vault.index.index import Index
from vaultwire.vault.value_types import NO_PROGRESS, Progress, Stages, VaultPath
from vaultwire.vault.visibility.visible_files import can_be_private

# The precondition check: compares a change with the disk before it begins, and notes what a roll-back will need.
#
# Nothing is changed here. ``changes.staging`` takes the steps.


class PreconditionCheck:
    """The check of one change."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._tree = ProjectedTree(files)
        self._new_folders: dict[str, None] = {}  # in this order

    def check(self, draft: Intent, stages: Stages) -> Intent:
        """Return the draft with prior states, new folders and a token. Raises VaultError if the disk is not as a step says."""
        priors = []
        for step in stages.each(stages.CHECKING, "checked", draft.steps):
            for path in paths_of(step):
                self._check_path(path)
            try:
                priors.append(self._before_move(step) if isinstance(step, Move) else self._before_write(step))
            except OSError as error:
                raise cannot("read", paths_of(step)[0], error) from error
            self._tree.add(step)
        return draft._replace(token=os.urandom(4).hex(), priors=tuple(priors), new_folders=tuple(self._new_folders))

    def _check_path(self, path: VaultPath) -> None:
        """Refuse a path that this run may not change, or that no step may name. Plans check this too; this catches mistakes."""
        self._files.check_change(path)
        parts = path.split("/")
        hidden = [part for part in parts[1:] if part.startswith(".")] or (
            parts[0].startswith(".") and parts[0] != TRASH
        )
        if hidden or not all(parts):
            raise VaultError(PERMISSION_DENIED, f"{path!r} is hidden, and hidden files are not changed.", path=path)
        second = self._files.second_name(path)
        if second is not None:  # the file would have another name than the record of this change says
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{second!r} in {path!r} is a second name for something else. Use the name that its folder lists.",
                path=path,
            )
        trash = os.path.join(self._files.root, TRASH)
        # On Windows, realpath returns the case that the disk has.
        if parts[0] == TRASH and os.path.normcase(os.path.realpath(trash)) != os.path.normcase(trash):
            raise VaultError(
                PATH_OUTSIDE_VAULT, f"The vault's {TRASH} is a link; refusing to move notes through it.", path=path
            )

    def _before_write(self, step: Write) -> PriorState:
        path, before = step.path, step.old
        origin = self._tree.origin(path)
        if before is None:
            if self._tree.exists(path):
                raise VaultError(NOTE_EXISTS, f"{path!r} exists already.", path=path)
        elif not self._tree.exists(path):
            verb = "write" if step.new is not None else "delete"
            raise VaultError(FILE_NOT_FOUND, f"No note {path!r} is there to {verb}.", path=path)
        elif not self._tree.holds(path, before):
            raise VaultError(
                STALE_EDIT, f"{path!r} was changed by another program meanwhile; read it again, then edit.", path=path
            )
        was_free = not os.path.lexists(self._files.entry_path(path))
        inode = 0 if origin is None or before is None else os.lstat(self._files.entry_path(origin)).st_ino
        if step.new is None:
            return PriorState(path, None, inode)
        check_size(path, step.new.size, self._files.max_bytes)
        self._note_missing_folders(path)
        if origin is None:
            return PriorState(path, was_free=was_free)
        place = self._files.real_path(origin)
        if before is not None and not os.access(place, os.W_OK):
            raise VaultError(PERMISSION_DENIED, f"{path!r} is write-protected.", path=path)
        real = VaultPath(os.path.relpath(place, self._files.root).replace(os.sep, "/"))
        return PriorState(path if real == origin else self._tree.later(real), None, inode, was_free=was_free)

    def _before_move(self, step: Move) -> PriorState:
        tree = self._tree
        if not tree.exists(step.source):
            raise VaultError(FILE_NOT_FOUND, f"No file {step.source!r} is there to move.", path=step.source)
        if lies_in(step.target, step.source):
            raise VaultError(INVALID_ARGUMENTS, f"{step.source!r} cannot be moved into itself.", path=step.source)
        if tree.exists(step.target) and not tree.is_respelling(step):
            raise VaultError(NOTE_EXISTS, f"{step.target!r} exists already.", path=step.target)
        self._note_missing_folders(step.target)
        was_free = not os.path.lexists(self._files.entry_path(step.target))
        self._check_links(step)
        if tree.is_folder(step.source):
            status = os.lstat(self._files.entry_path(tree.origin(step.source) or step.source))
            return PriorState(step.source, None, status.st_ino, is_folder=True, was_free=was_free)
        origin, content = tree.origin(step.source), self._content(step)
        if origin is None:  # an earlier step writes it, so it has no inode yet
            return PriorState(step.source, content, was_free=was_free)
        status = os.lstat(self._files.entry_path(origin))
        return PriorState(step.source, content, status.st_ino, status.st_nlink, was_free=was_free)

    def _check_links(self, step: Move) -> None:
        """Refuse to move a relative symbolic link, or a folder with one, if it would lead elsewhere then; not to the trash."""
        origin = self._tree.origin(step.source)
        if origin is None or lies_in(step.target, TRASH):
            return
        here, there = self._files.entry_path(origin), os.path.join(self._files.root, step.target)
        for link in _links_in(here):
            text, leads_to = os.readlink(link), os.path.realpath(link)
            is_inside = leads_to.startswith(os.path.join(os.path.realpath(here), "")) and not os.path.islink(here)
            if os.path.isabs(text) or is_inside or not os.path.exists(link):
                continue
            moved = there + link[len(here) :]
            if os.path.realpath(os.path.join(os.path.dirname(moved), text)) != leads_to:
                path = origin + link[len(here) :].replace(os.sep, "/")
                raise VaultError(
                    INVALID_ARGUMENTS,
                    f"{path!r} is a relative symbolic link. At its new place it would not lead to the same file, so nothing "
                    "was moved. Move the file it leads to instead, or make a new link there and delete this one.",
                    path=path,
                )

    def _content(self, step: Move) -> Content | None:
        """Return the content of a moved file for the journal: of notes, canvases, and all that goes to the trash; else None."""
        if not (can_be_private(step.source) or lies_in(step.target, TRASH)):
            return None
        try:
            return self._tree.content(step.source)
        except VaultError:  # too large to read, or a link out of the vault: it may move all the same
            return None

    def _note_missing_folders(self, path: VaultPath) -> None:
        """Add the missing folders above a path, at the paths they need before any move: they are made before the first step."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = VaultPath("/".join(parts[:depth]))
            origin = self._tree.origin(folder)
            if origin is None:
                raise VaultError(
                    INVALID_ARGUMENTS, f"{folder!r} is moved away and made again; that takes two changes.", path=folder
                )
            if origin not in self._new_folders and not os.path.isdir(self._files.real_path(origin)):
                if os.path.lexists(self._files.entry_path(origin)):
                    raise VaultError(
                        WRITE_FAILED,
                        f"{path!r} cannot be written: a part of its path is a file, not a folder.",
                        path=path,
                    )
                self._new_folders[origin] = None


def _links_in(place: str) -> Iterator[str]:
    """Yield every symbolic link at a place or below it."""
    if os.path.islink(place):
        yield place
        return
    for folder, folders, names in os.walk(place):
        for name in (*folders, *names):
            link = os.path.join(folder, name)
            if os.path.islink(link):
                yield link


# How often a thread that waits for another one's change asks whether its caller still waits.
_PATIENCE = 0.2


class Changes:
    """The changes of one vault: the lock they are made under, their execution, and the record of them.

    Safe to call from several threads, and beside other processes that change the same vault.
    """

    def __init__(
        self,
        files: Files,
        index: Index,
        home: str,
        retention: Retention = KEEP,
        *,
        recovers: bool = True,
        store: RecordStore | None = None,
    ) -> None:
        """``home`` is the folder for state that must outlast the process. ``store``: keeps the records instead of a file there.

        With ``recovers`` off, a change that a killed process left open waits for the next change.
        """
        self._files = files
        self._index = index
        self.recovers = recovers
        key = hashlib.blake2b(os.fsencode(files.root), digest_size=12).hexdigest()
        self._folder = os.path.join(home, f"journal-{key}")
        self._is_shared = store is not None
        self.store: RecordStore = store or SqliteRecords(self._folder, files.root, self._take_over_old)
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
                self.store.verify()
            self._recover(Stages(progress))
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = None

    def recover(self) -> None:
        """Finish or roll back what a killed process left open, if there can be such and this run may. For the start."""
        if self.recovers and (self._is_shared or os.path.isdir(self._folder)):
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
        FILE_NOT_FOUND, PERMISSION_DENIED, PATH_OUTSIDE_VAULT, TOO_LARGE, WRITE_FAILED, JOURNAL_FAILED. One WRITE_FAILED
        is not so: the right to change the vault was lost after the first step, and the message says that it is not known.
        """
        assert self._holder == threading.get_ident(), "execute outside of locked"
        planned = simplified(list(steps))
        needed = without_aliases(self._files, planned)
        now = time.time_ns()
        if not needed:
            return Change(0, now, author, (), undoes)
        partly = (*undoes, folders_of) if folders_of else undoes
        with self._journal_errors():
            made = {folder for undone in self._journal.load_all(partly) for folder in undone.new_folders}
            number = self._journal.next_id()
        removed_folders = tuple(sorted(made, key=lambda folder: (folder.count("/"), folder)))
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
        with self._journal_errors():
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
        staged = StagedChange(self._files, intent, self._check)
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
            is_back = self._try_to_roll_back(intent, staged, stages, min(taken, count))
            if taken and not is_back and isinstance(error.__cause__, RecordsAwayError):
                # The next owner finishes it if all steps are taken. No retryAfter: a second try may double it.
                message = (
                    f"Change {intent.id} was interrupted, and perhaps it is made: {error.__cause__.strerror}. "
                    "Look at the notes before you repeat it."
                )
                raise VaultError(WRITE_FAILED, message, id=intent.id) from error
            raise

    def _try_to_roll_back(self, intent: Intent, staged: StagedChange, stages: Stages, begun: int) -> bool:
        try:
            self._roll_back(intent, staged, stages, begun)
        except (OSError, VaultError):  # the change stays open; the next one tries again
            return False
        self._tell_index(intent)
        return True

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
        staged = StagedChange(self._files, intent, self._check)
        try:
            if intent.unrestored is None and staged.is_complete() and _can_finish(staged, stages):
                staged.remove_temporaries()
                self._journal.end(intent.id, Ending(is_undone=False))
            else:
                self._roll_back(intent, staged, stages)
        except RecordsAwayError as error:
            raise busy(error) from error
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
                if self._is_shared:  # what an older version has recorded is a file of this computer
                    yield
                    return
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

    def _check(self) -> None:
        """Raise VaultError (SERVER_BUSY) if this process may not change the vault any more."""
        try:
            self.store.check()
        except RecordsAwayError as error:
            raise busy(error) from error

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
        changes = [
            change
            for change in reversed(self._all())
            if (before is None or change.id < before)
            and (since_ns is None or change.time_ns >= since_ns)
            and (path is None or any(_concerns(path, file.path, file.target) for file in change.files))
        ]
        return changes[:limit]

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
        except RecordsAwayError as error:
            raise busy(error) from error
        except OSError as error:
            raise VaultError(
                JOURNAL_FAILED,
                f"Nothing was changed, because the change cannot be recorded in the journal, {self.store.place} "
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
