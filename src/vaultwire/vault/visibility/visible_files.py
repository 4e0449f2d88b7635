"""A vault's files as one run may see them: what its rules hide does not exist for whoever asks here.

Everything that reads, lists or looks at files goes through ``Files``; this is a ``Files`` that leaves out. Which paths
are hidden is asked of the rules, which private text of ``privacy``. What carries changes out uses absolute places and
sees all there is, so that it overwrites nothing; whether it may begin is asked here first (``check_change``).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from vaultwire.vault.disk.files import NAMES_ARE_EXACT, FileBytes, Files
from vaultwire.vault.disk.paths import TRASH, fold, lies_in
from vaultwire.vault.disk.walk import Oddity, is_dataless, walk_folders
from vaultwire.vault.errors import FILE_NOT_FOUND, POLICY_DENIED, TOO_LARGE, VaultError
from vaultwire.vault.model import NoteStat, VaultPath
from vaultwire.vault.visibility.privacy import Privacy, may_say_so

# A file changed this recently may change again without a new time: clocks of file systems tick every 4 ms (ext4) to 2 s
# (FAT). Whether such a note is private is found out anew each time.
_SETTLED_NS = 2_000_000_000


class Rules(Protocol):
    """What a run may see and change, by path. ``stamp`` is the same text for the same rules about seeing, in any process.

    ``follows_links``: files that links lead to are there; ``privacy`` is None where no note is private by its text.
    """

    stamp: str
    follows_links: bool
    privacy: Privacy | None

    def sees(self, path: str) -> bool:
        """Tell whether a file of this path may be seen."""

    def sees_folder(self, folder: str) -> bool | None:
        """Tell whether the folder may be seen; None if that depends on what is in it."""

    def may_change(self, path: str) -> bool:
        """Tell whether a file of this path may be made, changed, moved or deleted."""


class _Verdict(NamedTuple):
    """Whether a note of this size, time and stamp was private."""

    size: int
    modified_ns: int
    stamp: int
    is_private: bool


class VisibleFiles(Files):
    """The files of one vault that a run may see."""

    hides_some = True

    def __init__(self, root: str, max_bytes: int, rules: Rules) -> None:
        super().__init__(root, max_bytes)
        self._rules = rules
        self._privacy = rules.privacy
        self._verdicts: dict[str, _Verdict] = {}
        self.stamp = rules.stamp
        self.private_marks = "" if rules.privacy is None else rules.privacy.dumped()

    # ------------------------------------------------------------------ looking

    def walk_folders(
        self, folder: VaultPath | None = None, oddities: list[Oddity] | None = None, *, attachments: bool = True
    ) -> Iterator[tuple[str, list[NoteStat]]]:
        """See ``Files.walk_folders``. Folders that may not be seen are not entered."""
        if folder and not self._enters_from_root(folder):
            return
        found = walk_folders(
            self._places,
            folder,
            [] if oddities is None else oddities,
            attachments=attachments,
            sight=self,
        )
        sees, privacy = self._rules.sees, self._privacy
        for prefix, files in found:
            shown = [file for file in files if sees(file.path)]
            yield prefix, shown if privacy is None else [file for file in shown if not self._is_private(file)]

    def enters(self, folder: str) -> bool:
        """Tell whether a walk looks into the folder."""
        if self._rules.sees_folder(folder) is False:
            return False
        # A junction does not look like a link, so the walk has not passed it over.
        return os.name != "nt" or not self._has_hidden_link(VaultPath(folder))

    def follows(self, path: str) -> bool:
        """Tell whether the link, of a file that may be seen by its own path, leads to one that may be."""
        return self._rules.follows_links and self._shows_target(VaultPath(path))

    def look_at(self, path: VaultPath) -> NoteStat | None:
        """See ``Files.look_at``."""
        if not self._may_see(path):
            return None
        found = super().look_at(path)
        return None if found is None or self._is_private(found) else found

    def is_folder(self, path: VaultPath) -> bool:
        """See ``Files.is_folder``."""
        if self._has_hidden_link(path) or not super().is_folder(path):
            return False
        shown = self._rules.sees_folder(path)
        return any(files for _, files in self.walk_folders(path)) if shown is None else shown

    def is_taken(self, path: VaultPath) -> bool:
        """See ``Files.is_taken``. What is in the trash counts, whatever its name."""
        if not super().is_taken(path):
            return False
        return lies_in(path, TRASH) or self.look_at(path) is not None or self.is_folder(path)

    def _entry_like(self, folder: str, part: str) -> str | None:
        path = f"{folder}/{part}" if folder else part
        if NAMES_ARE_EXACT and self._shows_entry(path):
            return part
        return self._only_entry_like(folder, part)

    def _shown(self, folder: str, names: list[str]) -> list[str]:
        return [name for name in names if self._shows_entry(f"{folder}/{name}" if folder else name)]

    def _shows_entry(self, path: str) -> bool:
        """Tell whether what is at the path, in a folder that may be seen, is a file or folder that may be, too."""
        found = VaultPath(path)
        try:
            mode = os.lstat(os.path.join(self.root, path)).st_mode
        except OSError:
            return False
        if stat.S_ISDIR(mode):
            shown = self._rules.sees_folder(path)
            return self.is_folder(found) if shown is None else shown
        return self.look_at(found) is not None or (stat.S_ISLNK(mode) and self.is_folder(found))

    # ------------------------------------------------------------------ reading

    def read(self, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        """See ``Files.read``. What may not be seen is not there."""
        if self._may_see(path):
            privacy = self._privacy
            if privacy is None or not may_say_so(path):
                return super().read(path, max_bytes)
            try:
                file = super().read(path, max_bytes)
            except VaultError as error:
                # Nobody can tell whether it is private: it is not listed either.
                if error.code == TOO_LARGE:
                    raise _not_there(path) from None
                raise
            if not self.is_private(path, file.data):
                return file
        raise _not_there(path)

    # ------------------------------------------------------------------ what this run may

    def may_be_seen(self, path: VaultPath) -> bool:
        """See ``Files.may_be_seen``."""
        return self._rules.sees(path)

    def may_be_entered(self, folder: VaultPath) -> bool:
        """See ``Files.may_be_entered``."""
        return self.enters(folder)

    def is_private(self, path: VaultPath, data: bytes) -> bool:
        """See ``Files.is_private``."""
        return self._privacy is not None and self._privacy.covers_file(path, data)

    def check_change(self, path: VaultPath) -> None:
        """See ``Files.check_change``. The text is the same whether something is there or not."""
        if path == TRASH or path.startswith(f"{TRASH}/"):
            return
        if self._rules.may_change(path) and not self._has_hidden_link(path) and not self._is_hidden_file(path):
            return
        raise VaultError(POLICY_DENIED, f"The policy of this server does not allow to change {path!r}.", path=path)

    def _is_hidden_file(self, path: VaultPath) -> bool:
        """Tell whether there is something at a path that by itself may be seen, which may not be, or is a folder."""
        entry = self.entry(path)
        if not os.path.lexists(entry):
            return False
        # A folder goes with all that is in it, seen or not.
        return os.path.isdir(entry) or self.look_at(path) is None

    # ------------------------------------------------------------------ what the rules say

    def _may_see(self, path: VaultPath) -> bool:
        """Tell whether a file may be seen, as far as its path and the links in it say."""
        return self._rules.sees(path) and not self._has_hidden_link(path)

    def _has_hidden_link(self, path: VaultPath) -> bool:
        """Tell whether there is a link in the path that is not to be followed, or that leads to what may not be seen."""
        if not self._places.may_hold_links(path) or (os.name == "nt" and not self._leads_elsewhere(path)):
            return False
        return not (self._rules.follows_links and self._shows_target(path))

    def _leads_elsewhere(self, path: VaultPath) -> bool:
        try:
            return fold(self._own_path(path)) != fold(path)
        except (VaultError, OSError):
            return True

    def _shows_target(self, path: VaultPath) -> bool:
        """Tell whether what a path leads to, links followed, may be seen by the path it has itself."""
        try:
            own = self._own_path(path)
        except (VaultError, OSError):
            return False
        is_folder = os.path.isdir(os.path.join(self.root, own))
        return self._rules.sees_folder(own) is not False if is_folder else self._rules.sees(own)

    def _own_path(self, path: VaultPath) -> str:
        """Return the path of what a path leads to, links followed. Raises VaultError if that is not in the vault."""
        return os.path.relpath(self._places.real(path), self.root).replace(os.sep, "/")

    def _enters_from_root(self, folder: VaultPath) -> bool:
        return self.enters(folder) and not self._has_hidden_link(folder)

    # ------------------------------------------------------------------ what notes say of themselves

    def _is_private(self, file: NoteStat) -> bool:
        """Tell whether a file is a note or canvas that says it is private. One that cannot be read may say so, too."""
        privacy = self._privacy
        if privacy is None or not may_say_so(file.path):
            return False
        verdict = self._verdicts.get(file.path)
        if verdict is not None and verdict[:3] == file[1:]:
            return verdict.is_private
        now = time.time_ns()
        try:
            # What is only in a cloud would take seconds to fetch, each.
            if is_dataless(self._places, file.path):
                return True
            data, modified_ns, stamp = super().read(file.path)
        except VaultError:
            return True
        is_private = privacy.covers_file(file.path, data)
        if now - modified_ns > _SETTLED_NS:
            self._verdicts[file.path] = _Verdict(len(data), modified_ns, stamp, is_private)
        return is_private


def _not_there(path: VaultPath) -> VaultError:
    return VaultError(FILE_NOT_FOUND, f"No note {path!r} is there to read.", path=path)
