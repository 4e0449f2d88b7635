"""Staging: one change on its way to the disk and back, and how far it has come. ``changes.executor`` decides when it goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vaultwire.vault.changes.change import Intent, Move, PriorState, Step, Write, follow, paths_of
from vaultwire.vault.changes.projected_tree import MovePaths, is_same_entry
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.file_operations import (
    StaleFileError,
    has_hard_links,
    is_open_for_writing,
    remove_empty_folders,
    remove_file,
    remove_quietly,
    rename_entry,
    rename_no_replace,
    replace_file,
    try_rename_no_replace,
    try_swap,
)
from vaultwire.vault.disk.files import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Files, UnsyncedFiles, cannot
from vaultwire.vault.disk.paths import TRASH, lies_in, rescued_name
from vaultwire.vault.errors import NOTE_EXISTS, STALE_EDIT, VaultError
from vaultwire.vault.value_types import Stages, VaultPath

# The temporary files of one change, under hidden names beside the notes.
#
# Before an edit's step, its temporary file holds the new bytes. Where the system can swap two names, it
# holds the old bytes after the step; elsewhere it is gone then. The temporary file of a removal holds the removed bytes.

_EMPTY = Content(b"")
ROLLBACK = "b"  # marks a file with the bytes from before, written for a roll-back


class TemporaryFiles:
    """The temporary files of one change, on the disk."""

    def __init__(self, files: Files, intent: Intent) -> None:
        self.is_begun = intent.is_ready
        """Whether steps may have been taken: only then can a temporary file hold what another program saved."""
        self._files = files
        self._intent = intent
        self._moves = MovePaths((number, step) for number, step in enumerate(intent.steps) if isinstance(step, Move))

    # ------------------------------------------------------------------ what they hold

    def displaced(self) -> Iterator[tuple[Write, str]]:
        """Yield each edit or removal whose temporary file is there, and the place of that file."""
        for number, step in enumerate(self._intent.steps):
            if isinstance(step, Write) and step.old is not None:
                for place in self.of_step(number):
                    if os.path.lexists(place):
                        yield step, place

    def is_displaced(self, step: Write, place: str) -> bool:
        """Tell whether the temporary file of an edit holds the bytes that its step took out of the note."""
        if self._files.holds(place, step.old or _EMPTY):
            return True
        return self.is_begun and not self._files.holds(place, step.new or _EMPTY)

    def is_foreign(self, step: Write, place: str) -> bool:
        """Tell whether a temporary file is there with bytes that are not on record: another program saved them."""
        if not (self.is_begun and os.path.lexists(place)):
            return False
        return not any(each is not None and self._files.holds(place, each) for each in (step.old, step.new))

    def remove(self) -> None:
        """Remove every temporary file that this change may have made.

        One with neither the bytes from before nor those from after is what another program saved in the middle of the
        change. The note has newer bytes by now, so that file gets a name of its own beside the note.
        """
        for number, step in enumerate(self._intent.steps):
            if isinstance(step, Write):
                for place in self.of_step(number):
                    self._remove(number, step, place)
                for place in self.of_step(number, ROLLBACK):
                    is_torn = step.old is not None and self._files.holds(place, step.old, cut=True)
                    self._remove(number, step, place, is_ours=is_torn)

    def _remove(self, number: int, step: Write, place: str, *, is_ours: bool = False) -> None:
        if is_ours or not self.is_foreign(step, place):
            remove_quietly(place)
            return
        name = rescued_name(os.path.basename(step.path), f"{self._intent.id}-{number}")
        rename_no_replace(place, os.path.join(os.path.dirname(place), name))

    # ------------------------------------------------------------------ names

    def name(self, number: int, folder: VaultPath, mark: str = "") -> str:
        """Return the place of a step's temporary file in a folder."""
        name = f"{TEMPORARY_PREFIX}{self._intent.id}-{self._intent.token}-{number}{mark}{TEMPORARY_SUFFIX}"
        return os.path.join(self._files.real_path(folder) if folder else self._files.root, name)

    def of_step(self, number: int, mark: str = "") -> Iterator[str]:
        """Yield the places where a step's temporary files may be: folders that move take them along."""
        folder = folder_of(self._intent.priors[number].place)
        folders = {folder}
        if self._moves:
            folders.update(before for _, before in self._moves.places_before(folder, number))
            folders.update(after for _, after in self._moves.places_after(folder, number + 1))
        for each in folders:
            yield self.name(number, each, mark)

    def original_path(self, number: int, path: VaultPath) -> VaultPath:
        """Return the path, before the change, of the file that is at ``path`` right before a step."""
        return self._moves.before(path, number)


def folder_of(path: VaultPath) -> VaultPath:
    """Return the folder of a path, "" for the vault's own."""
    return VaultPath(path.rpartition("/")[0])


_CHANGED = "was changed by another program meanwhile; read it again, then edit."
_OPEN = "is open for writing in another program, and what that writes next would be lost. Try again when it is closed there."


class StagedChange:
    """One change. Whether a step was taken is read from the disk, so any process can recover a killed change."""

    def __init__(self, files: Files, intent: Intent, check: Callable[[], None]) -> None:
        """``check`` raises VaultError once this process may not change the vault any more. It is called before each change of a
        name, and of a file, so that little is left to be done after it.
        """
        self._files = files
        self._check = check
        self._steps = intent.steps
        self._priors = intent.priors
        self._intent = intent
        self._temporaries = TemporaryFiles(files, intent)
        self._moves = MovePaths((number, step) for number, step in enumerate(intent.steps) if isinstance(step, Move))
        # Files that were empty before: only these could look like half-made ones.
        self._empty = {
            prior.inode
            for step, prior in zip(intent.steps, intent.priors, strict=True)
            if not _size(prior.content if isinstance(step, Move) else step.old)
        }

    # ------------------------------------------------------------------ forward

    def prepare(self, stages: Stages) -> None:
        """Make the folders, and write and sync the new bytes to temporary files. A full disk shows here."""
        self._files.check_root()
        self._make_folders()
        with UnsyncedFiles() as unsynced:
            for number, step in enumerate(stages.each(stages.STAGING, "wrote the new text of", self._steps)):
                if isinstance(step, Write) and step.new is not None:
                    with _cannot_write(step.path):
                        self._stage(number, step.old, step.new, unsynced)
            with _cannot_write(paths_of(self._steps[-1])[0]):
                unsynced.sync()

    def _stage(self, number: int, old: Content | None, new: Content, unsynced: UnsyncedFiles) -> None:
        self._check()
        place = self._priors[number].place
        origin = self._temporaries.original_path(number, place)
        folder = self._temporaries.original_path(number, folder_of(place))
        like = None if old is None else self._files.real_path(origin)
        if like is not None and not os.path.exists(like):  # an earlier step of this change makes it
            like = None
        self._files.write_new(self._temporaries.name(number, folder), new.data, like, unsynced)

    def take(self, number: int) -> None:
        """Take a step: one rename. Raises VaultError if the disk is not, or no longer, as the step expects it."""
        step = self._steps[number]
        self._check()
        self._temporaries.is_begun = True
        try:
            if isinstance(step, Move):
                self._move(step.source, step.target, is_folder=self._priors[number].is_folder)
                self._check_trashed(number, step)
            else:
                self._write(number, step)
        except StaleFileError as error:
            raise _stale(step) from error
        except FileExistsError as error:
            path = paths_of(step)[-1]
            raise VaultError(NOTE_EXISTS, f"{path!r} exists already.", path=path) from error
        except OSError as error:
            if isinstance(step, Move):
                raise cannot("move", step.source, error) from error
            raise cannot("delete" if step.new is None else "write", step.path, error) from error

    def finish(self, stages: Stages) -> None:
        """Remove what remains after the last step: the bytes from before, and folders that are removed if empty.

        Raises VaultError if another program has written to a file that was replaced or removed, or if its bytes cannot be
        removed. The change can still be rolled back then, and the other program's bytes are kept.
        """
        displaced = sorted(self._temporaries.displaced(), key=lambda pair: pair[0].new is not None)
        try:
            for step, place in stages.each(stages.FINISHING, "checked the old text of", displaced, may_stop=False):
                self._check_displaced(step, place)
            for step, place in stages.each(stages.CLEANING, "removed", displaced, may_stop=False):  # noqa: B007 - see below
                self._check()
                remove_file(place)
        except OSError as error:
            raise cannot("delete" if step.new is None else "write", step.path, error) from error
        remove_empty_folders([self._absolute(folder) for folder in self._intent.removed_folders])

    def _check_displaced(self, step: Write, place: str) -> None:
        if is_open_for_writing(place):
            raise _stale(step, _OPEN)
        if self._temporaries.is_foreign(step, place):
            raise _stale(step)

    def _write(self, number: int, step: Write) -> None:
        prior = self._priors[number].place
        place = self._files.entry_path(step.path) if step.new is None else self._files.real_path(prior)
        temporary = self._temporaries.name(number, folder_of(prior))
        if step.old is None:
            rename_no_replace(temporary, place)
            return
        if not self._files.holds(place, step.old):
            raise _stale(step)
        if step.new is None:
            replace_file(place, temporary)  # gone for every program, and kept for a roll-back
        elif not try_swap(temporary, place):
            replace_file(temporary, place)  # what another program saves between the check above and this is lost
            return
        # If the bytes that came out are not those checked a moment ago, another program has saved the note in between.
        is_open = is_open_for_writing(temporary)
        if is_open or not self._files.holds(temporary, step.old):
            self._undo_write(number, step)
            raise _stale(step, _OPEN if is_open else _CHANGED)

    def _check_trashed(self, number: int, move: Move) -> None:
        """Undo a move to the trash if another program has saved the file right before it."""
        content, there = self._priors[number].content, self._files.entry_path(move.target)
        if content is None or not lies_in(move.target, TRASH) or os.path.islink(there):
            return
        if not self._files.holds(there, content):
            self._undo_move(number, move)
            raise _stale(move)

    def _move(self, source: VaultPath, target: VaultPath, *, is_folder: bool) -> None:
        here, there = self._files.entry_path(source), self._files.entry_path(target)
        if is_same_entry(here, there):
            rename_entry(here, there)
        elif not is_folder:
            rename_no_replace(here, there)
        elif os.path.lexists(there):
            raise FileExistsError
        elif not try_rename_no_replace(here, there):
            rename_entry(here, there)

    # ------------------------------------------------------------------ back

    def is_complete(self) -> bool:
        """Tell whether the disk is as after the last step.

        A file that is neither as before nor as after counts as another program's later edit, unless its new bytes are
        still in the temporary file, or nothing shows that any step was taken.
        """
        if any(self._temporaries.is_foreign(step, place) for step, place in self._temporaries.displaced()):
            return False  # a program saved the file right before the step that replaced it
        verdicts = [self._is_as_after(path, number) for path, number in self._expected().items()]
        return False not in verdicts and (self._intent.is_ready or True in verdicts)

    def roll_back(self, stages: Stages, begun: int | None = None) -> tuple[VaultPath, ...]:
        """Undo the steps, last first. Returns the files that another program has changed since, which stay as they are.

        ``begun`` is how many steps may have been taken, if that is known. A roll-back may be killed and begun again.
        Raises OSError and VaultError if the disk refuses.
        """
        unrestored = []
        for number in stages.each(stages.ROLLING_BACK, "rolled back", range(len(self._steps))[::-1], may_stop=False):
            if begun is not None and number >= begun:
                continue
            self._check()
            step = self._steps[number]
            is_back = self._undo_move(number, step) if isinstance(step, Move) else self._undo_write(number, step)
            # Before the first step, only another program can have changed a file.
            if not is_back and (begun or self._intent.is_ready):
                unrestored.append(paths_of(step)[0])
        return tuple(unrestored[::-1])

    def clean_up(self) -> None:
        """Remove what remains after a roll-back: temporary files, and the folders the change made, if they are empty."""
        self.remove_temporaries()
        remove_empty_folders([self._absolute(folder) for folder in self._intent.new_folders])

    def remove_temporaries(self) -> None:
        """Remove every temporary file that this change may have made."""
        self._check()
        self._temporaries.remove()

    def _undo_write(self, number: int, step: Write) -> bool:
        """Undo a write; return False if the file is neither as before nor as the change wrote it."""
        temporary = next((place for place in self._temporaries.of_step(number) if os.path.lexists(place)), None)
        if step.new is None:
            return self._undo_removal(number, step, temporary)
        place = self._files.real_path(self._priors[number].place)
        if step.old is None:
            return self._undo_creation(number, step.new, place, temporary)
        is_taken = temporary is None or self._temporaries.is_displaced(step, temporary)
        if not self._files.holds(place, step.new):
            return self._files.holds(place, step.old) or not is_taken or not self._is_moved_to(number)
        if not is_taken:  # another program has written the same bytes
            return True
        if temporary is None:
            temporary = self._rollback_file(number)
            self._files.write_new(temporary, step.old.data, like=place)
        # Restores the bytes from before, or those that another program had saved right before the step.
        if not try_swap(temporary, place):
            if not self._files.holds(place, step.new):
                return False
            replace_file(temporary, place)
        elif is_open_for_writing(temporary) or not self._files.holds(temporary, step.new):  # a later save
            try_swap(temporary, place)
            return False
        return True

    def _undo_creation(self, number: int, content: Content, place: str, temporary: str | None) -> bool:
        """Undo the creation of a file."""
        if temporary is not None:
            # The step was not taken, so a file of that name is ours only if it is half-made.
            if self._is_half_made(temporary, place, was_free=self._priors[number].was_free):
                remove_quietly(place)
            return True
        if not self._files.holds(place, content):
            return not os.path.lexists(place) or not self._is_moved_to(number)
        # Renamed first: then the file that is checked is the one that is removed, also if a program saves the note now.
        renamed = self._rollback_file(number)
        replace_file(place, renamed)
        if not is_open_for_writing(renamed) and self._files.holds(renamed, content):
            remove_file(renamed)
            return True
        rename_no_replace(renamed, place)
        return False

    def _rollback_file(self, number: int) -> str:
        """Return the place of a temporary file for the roll-back; remove what a killed roll-back has left there."""
        place = self._temporaries.name(number, folder_of(self._priors[number].place), ROLLBACK)
        remove_quietly(place)
        return place

    def _undo_removal(self, number: int, step: Write, temporary: str | None) -> bool:
        place = self._files.entry_path(step.path)
        if temporary is None:
            # A file without an inode was made by an earlier step of this change: it need not come back.
            if os.path.lexists(place) or not self._priors[number].inode or not self._is_moved_to(number):
                return True
            # A power cut has kept the removal of the temporary file and lost another step; the journal has the bytes.
            temporary = self._rollback_file(number)
            self._files.write_new(temporary, b"" if step.old is None else step.old.data, like=None)
        # Beside the temporary file: its folder may have moved back already, if a roll-back was killed before.
        place = os.path.join(os.path.dirname(temporary), os.path.basename(place))
        try:
            rename_no_replace(temporary, place)
        except FileExistsError:
            if not self._is_half_made(temporary, place, was_free=True):  # whose bytes are in the temporary file
                return False
            replace_file(temporary, place)
            remove_quietly(temporary)  # renaming one name of a file over another of its names leaves both
        return True

    def _is_moved_to(self, number: int) -> bool:
        """Tell whether the moves before a write are in effect, so that its path means its file, not another or none."""
        path = self._priors[number].place
        while (at := self._moves.last_at(path, number)) is not None:
            move = self._moves[at]
            if lies_in(path, move.target):
                path = follow(path, move.target, move.source)
                if os.path.lexists(self._files.entry_path(path)):
                    return False
            elif os.path.lexists(self._files.entry_path(move.source)):
                return False
            number = at
        return True

    def _undo_move(self, number: int, step: Move) -> bool:
        prior = self._priors[number]
        here, there = self._files.entry_path(step.source), self._files.entry_path(step.target)
        is_here, is_there = os.path.lexists(here), os.path.lexists(there)
        if is_here and is_there:
            return self._remove_second_name(here, there, prior)
        if not is_there or is_here or not (prior.was_free or self._is_moved(there, prior)):
            # A file that an earlier step writes or moves there is missing if that step was not taken.
            return is_here or not prior.inode or self._temporaries.original_path(number, step.source) != step.source
        try:
            self._move(step.target, step.source, is_folder=prior.is_folder)
        except FileExistsError:
            return False
        return True

    def _remove_second_name(self, here: str, there: str, prior: PriorState) -> bool:
        """Keep only ``here`` of the two names of a moved file, if a kill between two system calls has left both."""
        if is_same_entry(here, there):
            if os.path.basename(there) in os.listdir(os.path.dirname(there)):
                rename_entry(there, here)
        elif not prior.is_folder:
            if os.path.samestat(os.lstat(here), os.lstat(there)):
                if os.lstat(here).st_nlink > prior.hard_links:
                    remove_quietly(there)
            elif self._is_half_made(here, there, was_free=prior.was_free):
                remove_quietly(there)
            elif self._is_moved(there, prior) and self._is_half_made(there, here, was_free=True):
                replace_file(there, here)
        return True

    def _is_half_made(self, source: str, place: str, *, was_free: bool) -> bool:
        """Tell whether a kill between two system calls left ``place``: a second name of ``source``, or, on a file system
        without hard links, an empty file that reserves the name. ``was_free``: nothing was there before the change.
        """
        try:
            status = os.lstat(place)
            is_second_name = os.path.samestat(os.lstat(source), status)
        except FileNotFoundError:
            return False
        if is_second_name:
            return True
        if status.st_size or (not was_free and status.st_ino in self._empty):
            return False
        return not has_hard_links(source, self._temporaries.name(0, folder_of(self._priors[0].place), "links"))

    def _is_moved(self, place: str, prior: PriorState) -> bool:
        """Tell whether the file at a place is the one that the move took there."""
        try:
            if prior.inode and os.lstat(place).st_ino == prior.inode:
                return True
        except FileNotFoundError:
            return False
        return prior.content is not None and self._files.holds(place, prior.content)

    def _expected(self) -> dict[VaultPath, int | None]:
        """Return, for each path, the number of the step that determines what is there in the end; None for nothing."""
        expected: dict[VaultPath, int | None] = {}
        for number, (step, prior) in enumerate(zip(self._steps, self._priors, strict=True)):
            if isinstance(step, Write):
                expected[prior.place] = None if step.new is None else number
                continue
            # Of thousands of files that move by themselves, none is looked for below another.
            below = [path for path in expected if lies_in(path, step.source)] if prior.is_folder else [step.source]
            for path in filter(expected.__contains__, below):
                expected[VaultPath(step.target + path[len(step.source) :])] = expected.pop(path)
            if (
                expected.get(step.target) is None
            ):  # also where an earlier step moved something away: names may be swapped
                expected[step.target] = number
            expected[step.source] = None
        return expected

    def _is_as_after(self, path: VaultPath, number: int | None) -> bool | None:
        """Tell whether a path is as after the last step; None if it is neither so nor as before."""
        entry = self._files.entry_path(path)
        if number is None:
            if any(is_same_entry(entry, self._files.entry_path(each.target)) for each in self._moves.away_from(path)):
                return os.path.basename(entry) not in os.listdir(os.path.dirname(entry))
            return not os.path.lexists(entry)
        step, prior = self._steps[number], self._priors[number]
        if isinstance(step, Move):
            return self._is_moved(entry, prior) or (None if prior.was_free and os.path.lexists(entry) else False)
        place = self._files.real_path(path)
        if step.new is not None and self._files.holds(place, step.new):
            return True
        is_unwritten = step.old is None or self._files.holds(place, step.old)
        is_untaken = any(
            os.path.lexists(each) and not (step.old is not None and self._files.holds(each, step.old))
            for each in self._temporaries.of_step(number)
        )
        return False if is_unwritten or is_untaken else None

    # ------------------------------------------------------------------ folders

    def _make_folders(self) -> None:
        for folder in self._intent.new_folders:
            self._check()
            try:
                os.mkdir(self._absolute(folder))
            except FileExistsError:
                continue  # made by another program since; if it is a file, the write into it fails
            except OSError as error:
                raise cannot("write", VaultPath(folder), error) from error

    def _absolute(self, folder: str) -> str:
        return os.path.join(self._files.root, folder)


@contextmanager
def _cannot_write(path: VaultPath) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot("write", path, error) from error


def _size(content: Content | None) -> int:
    return 0 if content is None else content.size


def _stale(step: Step, reason: str = _CHANGED) -> VaultError:
    path = paths_of(step)[0]
    return VaultError(STALE_EDIT, f"{path!r} {reason}", path=path)
