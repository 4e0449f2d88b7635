"""One change on its way to the disk, and back: temporaries, steps, and what the disk says of how far it came.

Which changes there are, and when each is carried out or taken back, is ``changes.changing``'s business.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vaultwire.vault.changes.change import Intent, Move, Site, Write, follow, lies_in
from vaultwire.vault.changes.foresight import is_same_entry
from vaultwire.vault.errors import NOTE_EXISTS, STALE_EDIT, VaultError
from vaultwire.vault.files import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Files, cannot
from vaultwire.vault.model import VaultPath
from vaultwire.vault.publish import (
    has_hard_links,
    publish_new,
    remove_folders_quietly,
    remove_quietly,
    rename_entry,
    replace_file,
)

_AGAIN = "b"  # marks temporaries with the bytes from before: they say nothing of how far the change came


class Stage:
    """One change. Whether a step was taken is read from the disk, so a killed change can be settled by anybody."""

    def __init__(self, files: Files, intent: Intent) -> None:
        self._files = files
        self._steps = intent.steps
        self._sites = intent.sites
        self._intent = intent
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
                origin, folder = self._back(number, place), self._back(number, _folder_of(place))
                like = None if step.before is None else self._files.place(origin)
                if like is not None and not os.path.exists(like):  # an earlier step of this change makes it
                    like = None
                try:
                    self._files.write_new(self._temporary(number, folder), step.after, like)
                except OSError as error:
                    raise cannot("write", step.path, error) from error

    def take(self, number: int) -> None:
        """Take a step: one rename. Raises VaultError if the disk is not, or no longer, as the step expects it."""
        step = self._steps[number]
        try:
            if isinstance(step, Move):
                self._move(step.source, step.target, is_folder=self._sites[number].is_folder)
            else:
                self._write(number, step)
        except FileExistsError as error:
            path = step.target if isinstance(step, Move) else step.path
            raise VaultError(NOTE_EXISTS, f"{path!r} exists already.", path=path) from error
        except OSError as error:
            if isinstance(step, Move):
                raise cannot("move", step.source, error) from error
            raise cannot("delete" if step.after is None else "write", step.path, error) from error

    def finish(self) -> None:
        """Remove what is left behind the last step: removed files' bytes, and folders that are to go if empty."""
        for number, step in enumerate(self._steps):
            if isinstance(step, Write) and step.after is None:
                for place in self._temporaries(number):
                    remove_quietly(place)
        remove_folders_quietly([self._absolute(folder) for folder in self._intent.emptied])

    def _write(self, number: int, step: Write) -> None:
        place = self._files.entry(step.path) if step.after is None else self._files.place(self._sites[number].place)
        temporary = self._temporary(number, _folder_of(self._sites[number].place))
        if step.before is None:
            publish_new(temporary, place)
            return
        if not self._files.holds(place, step.before):
            raise VaultError(
                STALE_EDIT,
                f"{step.path!r} was changed by another program meanwhile; read it again, then edit.",
                path=step.path,
            )
        if step.after is None:
            replace_file(place, temporary)  # gone for all to see, and still there to be put back
        else:
            replace_file(temporary, place)

    def _move(self, source: VaultPath, target: VaultPath, *, is_folder: bool) -> None:
        here, there = self._files.entry(source), self._files.entry(target)
        if is_same_entry(here, there):
            rename_entry(here, there)
        elif not is_folder:
            publish_new(here, there)
        elif os.path.lexists(there):
            raise FileExistsError
        else:
            rename_entry(here, there)

    # ------------------------------------------------------------------ and back

    def is_complete(self) -> bool:
        """Tell whether the disk is as it is behind the last step.

        A file that is neither as before nor as after counts as somebody's later edit, unless its new bytes still lie
        beside it, or nothing shows that a step was taken.
        """
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
        remove_folders_quietly([self._absolute(folder) for folder in self._intent.made])

    def remove_temporaries(self) -> None:
        """Remove every hidden file that this change may have made."""
        for number, step in enumerate(self._steps):
            for place in self._temporaries(number, ("", _AGAIN)) if isinstance(step, Write) else ():
                remove_quietly(place)

    def _write_back(self, number: int, step: Write) -> bool:
        """Take a write back; False if the file is neither as it was nor as we wrote it."""
        temporary = next((place for place in self._temporaries(number) if os.path.lexists(place)), None)
        if step.after is None:
            return self._return_removed(number, step, temporary)
        place = self._files.place(self._sites[number].place)
        if temporary is not None:  # not taken, so what has the name is ours only if it is a half-made note of ours
            if step.before is None and self._is_half_made(temporary, place, is_fresh=self._sites[number].is_fresh):
                remove_quietly(place)
            return True
        if not self._files.holds(place, step.after):
            is_before = not os.path.lexists(place) if step.before is None else self._files.holds(place, step.before)
            return is_before or not self._is_moved_to(number)
        if step.before is None:
            os.unlink(place)
            return True
        again = self._write_again(number, step.before, like=place)
        if not self._files.holds(place, step.after):  # somebody was quicker
            remove_quietly(again)
            return False
        replace_file(again, place)
        return True

    def _return_removed(self, number: int, step: Write, temporary: str | None) -> bool:
        place = self._files.entry(step.path)
        if temporary is None:
            # What an earlier step of this change makes, by having no number before it, need not come back either.
            if os.path.lexists(place) or not self._sites[number].inode or not self._is_moved_to(number):
                return True
            # A power cut has kept the removal and lost that it was to be the last step.
            temporary = self._write_again(number, step.before or b"", like=None)
        # Where the hidden file is: its folder may have gone back already, if this was killed before.
        place = os.path.join(os.path.dirname(temporary), os.path.basename(place))
        try:
            publish_new(temporary, place)
        except FileExistsError:
            if not self._is_half_made(temporary, place, is_fresh=True):  # what was there is in the hidden file
                return False
            replace_file(temporary, place)
            remove_quietly(temporary)  # of two names of one file, renaming leaves both
        return True

    def _write_again(self, number: int, data: bytes, like: str | None) -> str:
        temporary = self._temporary(number, _folder_of(self._sites[number].place), _AGAIN)
        remove_quietly(temporary)  # a torn one, if this was killed before
        self._files.write_new(temporary, data, like)
        return temporary

    def _is_moved_to(self, number: int) -> bool:
        """Tell whether the moves before a write are in effect, so that its path means its file and not another or none."""
        path = self._sites[number].place
        for at, move in reversed(self._moves):
            if at >= number:
                continue
            if lies_in(path, move.target):
                path = follow(path, move.target, move.source)
                if os.path.lexists(self._files.entry(path)):
                    return False
            elif lies_in(path, move.source) and os.path.lexists(self._files.entry(move.source)):
                return False
        return True

    def _move_back(self, number: int, step: Move) -> bool:
        site = self._sites[number]
        here, there = self._files.entry(step.source), self._files.entry(step.target)
        is_here, is_there = os.path.lexists(here), os.path.lexists(there)
        if is_here and is_there:
            return self._part(here, there, site)
        if not is_there or is_here or not (site.is_fresh or self._is_moved(there, site)):
            # What an earlier step writes or brings there is not there as long as that step is not taken.
            return is_here or not site.inode or self._back(number, step.source) != step.source
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
        return not has_hard_links(source, self._temporary(0, _folder_of(self._sites[0].place), "links"))

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
        entry = self._files.entry(path)
        if number is None:
            if any(
                each.source == path and is_same_entry(entry, self._files.entry(each.target)) for _, each in self._moves
            ):
                return os.path.basename(entry) not in os.listdir(os.path.dirname(entry))
            return not os.path.lexists(entry)
        step, site = self._steps[number], self._sites[number]
        if isinstance(step, Move):
            return self._is_moved(entry, site) or (None if site.is_fresh and os.path.lexists(entry) else False)
        place = self._files.place(path)
        if step.after is not None and self._files.holds(place, step.after):
            return True
        is_unwritten = step.before is None or self._files.holds(place, step.before)
        return False if is_unwritten or any(map(os.path.lexists, self._temporaries(number))) else None

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

    def _temporary(self, number: int, folder: VaultPath, mark: str = "") -> str:
        name = f"{TEMPORARY_PREFIX}{self._intent.id}-{self._intent.token}-{number}{mark}{TEMPORARY_SUFFIX}"
        return os.path.join(self._files.place(folder) if folder else self._files.root, name)

    def _temporaries(self, number: int, marks: tuple[str, ...] = ("",)) -> Iterator[str]:
        """Yield where the temporaries of a step may be: folders move, and take them along."""
        folder = _folder_of(self._sites[number].place)
        folders = {folder}
        for at, move in reversed(self._moves):
            if at < number:
                folder = follow(folder, move.target, move.source)
                folders.add(folder)
        folder = _folder_of(self._sites[number].place)
        for at, move in self._moves:
            if at > number:
                folder = follow(folder, move.source, move.target)
                folders.add(folder)
        for each in folders:
            for mark in marks:
                yield self._temporary(number, each, mark)

    def _back(self, number: int, path: VaultPath) -> VaultPath:
        """Return where on the disk, before the change, was what is at a path right before a step."""
        for at, move in reversed(self._moves):
            if at < number:
                path = follow(path, move.target, move.source)
        return path


def _folder_of(path: VaultPath) -> VaultPath:
    return VaultPath(path.rpartition("/")[0])
