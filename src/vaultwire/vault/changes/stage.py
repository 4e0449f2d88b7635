"""One change on its way to the disk, and back: temporaries, steps, and what the disk says of how far it came.

Which changes there are, and when each is carried out or taken back, is ``changes.changing``'s business.
"""

from __future__ import annotations

import os

from vaultwire.vault.changes.change import Intent, Move, Site, Step, Write, follow, paths_of
from vaultwire.vault.changes.foresight import is_same_entry
from vaultwire.vault.changes.hidden import AGAIN, HiddenFiles, folder_of
from vaultwire.vault.disk.atomic_rename import try_rename_no_replace, try_swap
from vaultwire.vault.disk.file_operations import (
    StaleFileError,
    has_hard_links,
    is_open_for_writing,
    remove_empty_folders,
    remove_quietly,
    rename_entry,
    rename_no_replace,
    replace_file,
)
from vaultwire.vault.disk.files import Files, cannot
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import NOTE_EXISTS, STALE_EDIT, VaultError
from vaultwire.vault.value_types import VaultPath

_CHANGED = "was changed by another program meanwhile; read it again, then edit."
_OPEN = "is open for writing in another program, and what that writes next would be lost. Try again when it is closed there."


class Stage:
    """One change. Whether a step was taken is read from the disk, so a killed change can be settled by anybody."""

    def __init__(self, files: Files, intent: Intent) -> None:
        self._files = files
        self._steps = intent.steps
        self._sites = intent.sites
        self._intent = intent
        self._hidden = HiddenFiles(files, intent)
        self._moves = [(number, step) for number, step in enumerate(intent.steps) if isinstance(step, Move)]
        # Of files that were empty before: only these could be taken for half-made ones.
        self._empty = {
            site.inode
            for step, site in zip(intent.steps, intent.sites, strict=True)
            if not (site.content if isinstance(step, Move) else step.before)
        }

    # ------------------------------------------------------------------ there

    def prepare(self) -> None:
        """Make the folders and write the new bytes, synced, under hidden names: what can fail, fails here."""
        self._files.check_root()
        self._make_folders()
        for number, step in enumerate(self._steps):
            if isinstance(step, Write) and step.after is not None:
                place = self._sites[number].place
                origin, folder = self._hidden.back(number, place), self._hidden.back(number, folder_of(place))
                like = None if step.before is None else self._files.real_path(origin)
                if like is not None and not os.path.exists(like):  # an earlier step of this change makes it
                    like = None
                try:
                    self._files.write_new(self._hidden.name(number, folder), step.after, like)
                except OSError as error:
                    raise cannot("write", step.path, error) from error

    def take(self, number: int) -> None:
        """Take a step: one rename. Raises VaultError if the disk is not, or no longer, as the step expects it."""
        step = self._steps[number]
        self._hidden.is_begun = True
        try:
            if isinstance(step, Move):
                self._move(step.source, step.target, is_folder=self._sites[number].is_folder)
                self._check_trashed(number, step)
            else:
                self._write(number, step)
        except StaleFileError as error:
            raise _stale(step) from error
        except FileExistsError as error:
            path = step.target if isinstance(step, Move) else step.path
            raise VaultError(NOTE_EXISTS, f"{path!r} exists already.", path=path) from error
        except OSError as error:
            if isinstance(step, Move):
                raise cannot("move", step.source, error) from error
            raise cannot("delete" if step.after is None else "write", step.path, error) from error

    def finish(self) -> None:
        """Remove what is left behind the last step: the bytes from before, and folders that are to go if empty.

        Raises VaultError if another program has written to a file that was replaced or removed, or if its bytes cannot be
        removed; nothing is lost then that the change did not take there, and it can still be taken back.
        """
        found = sorted(self._hidden.displaced(), key=lambda pair: pair[0].after is not None)
        for act in (self._check_displaced, _unlink):
            for step, place in found:
                try:
                    act(step, place)
                except OSError as error:
                    raise cannot("delete" if step.after is None else "write", step.path, error) from error
        remove_empty_folders([self._absolute(folder) for folder in self._intent.emptied])

    def _check_displaced(self, step: Write, place: str) -> None:
        if is_open_for_writing(place):
            raise _stale(step, _OPEN)
        if self._hidden.is_foreign(step, place):
            raise _stale(step)

    def _write(self, number: int, step: Write) -> None:
        place = (
            self._files.entry_path(step.path)
            if step.after is None
            else self._files.real_path(self._sites[number].place)
        )
        temporary = self._hidden.name(number, folder_of(self._sites[number].place))
        if step.before is None:
            rename_no_replace(temporary, place)
            return
        if not self._files.holds(place, step.before):
            raise _stale(step)
        if step.after is None:
            replace_file(place, temporary)  # gone for all to see, and still there to be put back
        elif not try_swap(temporary, place):
            replace_file(temporary, place)  # what is saved between the look above and this is lost
            return
        # What came out of the place may not be what was seen there a moment ago: another program has saved it then.
        is_open = is_open_for_writing(temporary)
        if is_open or not self._files.holds(temporary, step.before):
            self._write_back(number, step)
            raise _stale(step, _OPEN if is_open else _CHANGED)

    def _check_trashed(self, number: int, move: Move) -> None:
        """Take a deletion back if another program has saved the file right before it."""
        content, there = self._sites[number].content, self._files.entry_path(move.target)
        if content is None or not lies_in(move.target, TRASH) or os.path.islink(there):
            return
        if not self._files.holds(there, content):
            self._move_back(number, move)
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

    # ------------------------------------------------------------------ and back

    def is_complete(self) -> bool:
        """Tell whether the disk is as it is behind the last step.

        A file that is neither as before nor as after counts as somebody's later edit, unless its new bytes still lie
        beside it, or nothing shows that a step was taken.
        """
        if any(self._hidden.is_foreign(step, place) for step, place in self._hidden.displaced()):
            return False  # a program was quicker than the step that replaced what it saved
        verdicts = [self._is_as_after(path, number) for path, number in self._final().items()]
        return False not in verdicts and (self._intent.is_ready or True in verdicts)

    def roll_back(self, begun: int | None = None) -> tuple[VaultPath, ...]:
        """Put back what was there before, step by step, last first. Returns the files that somebody has changed since.

        ``begun`` is how many steps may have been taken, if that is known. May be killed and begun again. Raises OSError,
        VaultError where the disk does not let it.
        """
        left = []
        for number in reversed(range(len(self._steps) if begun is None else begun)):
            step = self._steps[number]
            is_back = self._move_back(number, step) if isinstance(step, Move) else self._write_back(number, step)
            # Before all temporaries were there, a file that is as it never was has been changed by somebody else alone.
            if not is_back and (begun or self._intent.is_ready):
                left.append(step.source if isinstance(step, Move) else step.path)
        return tuple(left[::-1])

    def clean_up(self) -> None:
        """Remove what is left behind a roll-back: temporaries, and folders that are empty and were not there before."""
        self.remove_temporaries()
        remove_empty_folders([self._absolute(folder) for folder in self._intent.made])

    def remove_temporaries(self) -> None:
        """Remove every hidden file that this change may have made."""
        self._hidden.remove()

    def _write_back(self, number: int, step: Write) -> bool:
        """Take a write back; False if the file is neither as it was nor as we wrote it."""
        temporary = next((place for place in self._hidden.of_step(number) if os.path.lexists(place)), None)
        if step.after is None:
            return self._return_removed(number, step, temporary)
        place = self._files.real_path(self._sites[number].place)
        if step.before is None:
            return self._unmake(number, step.after, place, temporary)
        is_taken = temporary is None or self._hidden.came_out(step, temporary)
        if not self._files.holds(place, step.after):
            return self._files.holds(place, step.before) or not is_taken or not self._is_moved_to(number)
        if not is_taken:  # somebody else has written the very same
            return True
        if temporary is None:
            temporary = self._again(number)
            self._files.write_new(temporary, step.before, like=place)
        # With what was there before, or what another program had saved right before the step.
        if not try_swap(temporary, place):
            if not self._files.holds(place, step.after):
                return False
            replace_file(temporary, place)
        elif is_open_for_writing(temporary) or not self._files.holds(temporary, step.after):  # that is the later one
            try_swap(temporary, place)
            return False
        return True

    def _unmake(self, number: int, data: bytes, place: str, temporary: str | None) -> bool:
        """Take the making of a file back."""
        if temporary is not None:
            # Not taken, so what has the name is ours only if it is a half-made note of ours.
            if self._is_half_made(temporary, place, is_fresh=self._sites[number].is_fresh):
                remove_quietly(place)
            return True
        if not self._files.holds(place, data):
            return not os.path.lexists(place) or not self._is_moved_to(number)
        # Out of sight first: what is removed is what was looked at, whoever saves it meanwhile.
        again = self._again(number)
        replace_file(place, again)
        if not is_open_for_writing(again) and self._files.holds(again, data):
            os.unlink(again)
            return True
        rename_no_replace(again, place)
        return False

    def _again(self, number: int) -> str:
        """Return the name of a hidden file for the way back, free: a torn one is there if this was killed before."""
        again = self._hidden.name(number, folder_of(self._sites[number].place), AGAIN)
        remove_quietly(again)
        return again

    def _return_removed(self, number: int, step: Write, temporary: str | None) -> bool:
        place = self._files.entry_path(step.path)
        if temporary is None:
            # What an earlier step of this change makes, by having no number before it, need not come back either.
            if os.path.lexists(place) or not self._sites[number].inode or not self._is_moved_to(number):
                return True
            # A power cut has kept the removal and lost that it was to be the last step.
            temporary = self._again(number)
            self._files.write_new(temporary, step.before or b"", like=None)
        # Where the hidden file is: its folder may have gone back already, if this was killed before.
        place = os.path.join(os.path.dirname(temporary), os.path.basename(place))
        try:
            rename_no_replace(temporary, place)
        except FileExistsError:
            if not self._is_half_made(temporary, place, is_fresh=True):  # what was there is in the hidden file
                return False
            replace_file(temporary, place)
            remove_quietly(temporary)  # of two names of one file, renaming leaves both
        return True

    def _is_moved_to(self, number: int) -> bool:
        """Tell whether the moves before a write are in effect, so that its path means its file and not another or none."""
        path = self._sites[number].place
        for at, move in reversed(self._moves):
            if at >= number:
                continue
            if lies_in(path, move.target):
                path = follow(path, move.target, move.source)
                if os.path.lexists(self._files.entry_path(path)):
                    return False
            elif lies_in(path, move.source) and os.path.lexists(self._files.entry_path(move.source)):
                return False
        return True

    def _move_back(self, number: int, step: Move) -> bool:
        site = self._sites[number]
        here, there = self._files.entry_path(step.source), self._files.entry_path(step.target)
        is_here, is_there = os.path.lexists(here), os.path.lexists(there)
        if is_here and is_there:
            return self._part(here, there, site)
        if not is_there or is_here or not (site.is_fresh or self._is_moved(there, site)):
            # What an earlier step writes or brings there is not there as long as that step is not taken.
            return is_here or not site.inode or self._hidden.back(number, step.source) != step.source
        try:
            self._move(step.target, step.source, is_folder=site.is_folder)
        except FileExistsError:
            return False
        return True

    def _part(self, here: str, there: str, site: Site) -> bool:
        """Leave only ``here`` of a moved thing's two names, if a kill between two calls has left both."""
        if is_same_entry(here, there):
            if os.path.basename(there) in os.listdir(os.path.dirname(there)):
                rename_entry(there, here)
        elif not site.is_folder:
            if os.path.samestat(os.lstat(here), os.lstat(there)):
                if os.lstat(here).st_nlink > site.names:
                    remove_quietly(there)
            elif self._is_half_made(here, there, is_fresh=site.is_fresh):
                remove_quietly(there)
            elif self._is_moved(there, site) and self._is_half_made(there, here, is_fresh=True):
                replace_file(there, here)
        return True

    def _is_half_made(self, source: str, place: str, *, is_fresh: bool) -> bool:
        """Tell whether a kill between two calls left ``place``: a second name of ``source``, or, where the file system
        has no hard links, an empty file that holds the name. ``is_fresh`` says that nothing was there before the change.
        """
        try:
            status = os.lstat(place)
            is_second_name = os.path.samestat(os.lstat(source), status)
        except FileNotFoundError:
            return False
        if is_second_name:
            return True
        if status.st_size or (not is_fresh and status.st_ino in self._empty):
            return False
        return not has_hard_links(source, self._hidden.name(0, folder_of(self._sites[0].place), "links"))

    def _is_moved(self, place: str, site: Site) -> bool:
        """Tell whether what is at a place is what the move took there."""
        try:
            if site.inode and os.lstat(place).st_ino == site.inode:
                return True
        except FileNotFoundError:
            return False
        return site.content is not None and self._files.holds(place, site.content)

    def _final(self) -> dict[VaultPath, int | None]:
        """Return for each path the step that says what is there behind the last one, None for nothing."""
        final: dict[VaultPath, int | None] = {}
        for number, (step, site) in enumerate(zip(self._steps, self._sites, strict=True)):
            if isinstance(step, Write):
                final[site.place] = None if step.after is None else number
                continue
            below = [path for path in final if lies_in(path, step.source)]
            for path in below:
                final[VaultPath(step.target + path[len(step.source) :])] = final.pop(path)
            final.setdefault(step.target, number)
            final[step.source] = None
        return final

    def _is_as_after(self, path: VaultPath, number: int | None) -> bool | None:
        """Tell whether a path is as it is behind the last step; None if it is neither so nor as it was."""
        entry = self._files.entry_path(path)
        if number is None:
            if any(
                each.source == path and is_same_entry(entry, self._files.entry_path(each.target))
                for _, each in self._moves
            ):
                return os.path.basename(entry) not in os.listdir(os.path.dirname(entry))
            return not os.path.lexists(entry)
        step, site = self._steps[number], self._sites[number]
        if isinstance(step, Move):
            return self._is_moved(entry, site) or (None if site.is_fresh and os.path.lexists(entry) else False)
        place = self._files.real_path(path)
        if step.after is not None and self._files.holds(place, step.after):
            return True
        is_unwritten = step.before is None or self._files.holds(place, step.before)
        is_untaken = any(
            os.path.lexists(each) and not (step.before is not None and self._files.holds(each, step.before))
            for each in self._hidden.of_step(number)
        )
        return False if is_unwritten or is_untaken else None

    # ------------------------------------------------------------------ names

    def _make_folders(self) -> None:
        for folder in self._intent.made:
            try:
                os.mkdir(self._absolute(folder))
            except FileExistsError:
                continue  # by somebody since; if it is a file, the write into it fails
            except OSError as error:
                raise cannot("write", VaultPath(folder), error) from error

    def _absolute(self, folder: str) -> str:
        return os.path.join(self._files.root, folder)


def _unlink(_: Write, place: str) -> None:
    os.unlink(place)


def _stale(step: Step, reason: str = _CHANGED) -> VaultError:
    path = paths_of(step)[0]
    return VaultError(STALE_EDIT, f"{path!r} {reason}", path=path)
