"""The files of a vault that one run may see. For its callers, hidden files do not exist.

All code that reads, lists or looks at files uses ``Files``; this is a ``Files`` that leaves out. The rules say which paths are
hidden, ``private_notes`` which texts. The code that carries changes out uses absolute paths and sees everything, so that it
overwrites nothing; ``check_change`` decides beforehand whether it may begin.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from vaultwire.vault.disk.files import FileBytes, Files
from vaultwire.vault.disk.paths import TRASH, fold, lies_in
from vaultwire.vault.disk.walk import has_entry, is_dataless, walk_folders
from vaultwire.vault.errors import FILE_NOT_FOUND, POLICY_DENIED, TOO_LARGE, VaultError
from vaultwire.vault.value_types import NoteStat, Problem, VaultPath
from vaultwire.vault.visibility.private_notes import PrivacyRules, can_be_private

# A file changed this recently may change again and keep its time: clocks of file systems tick every 4 ms (ext4) to 2 s
# (FAT). Whether such a note is private is found out again each time.
_CLOCK_TICK_NS = 2_000_000_000


class VisibilityRules(Protocol):
    """What a run may see and change, by path.

    ``stamp`` is a text that is equal for equal rules about seeing, in any process. ``follows_links``: the files that links
    lead to can be seen. ``privacy`` is None where no text makes a note private.
    """

    stamp: str
    follows_links: bool
    privacy: PrivacyRules | None

    def sees(self, path: str) -> bool:
        """Tell whether a file of this path may be seen."""

    def sees_folder(self, folder: str) -> bool | None:
        """Tell whether the folder may be seen; None if that depends on the files in it."""

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

    def __init__(self, root: str, max_bytes: int, rules: VisibilityRules) -> None:
        super().__init__(root, max_bytes)
        self._rules = rules
        self._privacy = rules.privacy
        # To read every note at each walk would take seconds.
        self._verdicts: dict[str, _Verdict] = {}
        self.stamp = rules.stamp
        self.hides_private_notes = rules.privacy is not None

    # ------------------------------------------------------------------ looking

    def walk_folders(
        self, folder: VaultPath | None = None, problems: list[Problem] | None = None, *, attachments: bool = True
    ) -> Iterator[tuple[str, list[NoteStat]]]:
        """See ``Files.walk_folders``. It does not enter folders that may not be seen."""
        if folder and not (self.may_enter(folder) and not self._has_hidden_link(folder)):
            return
        found = walk_folders(
            self._root,
            folder,
            [] if problems is None else problems,
            attachments=attachments,
            visible=self,
        )
        for parent, files in found:
            yield parent, [file for file in files if self._rules.sees(file.path) and not self._is_private_now(file)]

    def may_enter(self, folder: str) -> bool:
        """See ``Files.may_enter``."""
        if self._rules.sees_folder(folder) is False:
            return False
        # A junction of Windows looks like a folder, so the walk has not skipped it.
        return os.name != "nt" or not self._has_hidden_link(VaultPath(folder))

    def may_follow(self, path: str) -> bool:
        """Tell whether the link leads to a file that may be seen; the link's own path may be."""
        return self._rules.follows_links and self._sees_target(VaultPath(path))

    def look_at(self, path: VaultPath) -> NoteStat | None:
        """See ``Files.look_at``."""
        if not self._sees_path(path):
            return None
        found = super().look_at(path)
        return None if found is None or self._is_private_now(found) else found

    def created_ns(self, path: VaultPath) -> int | None:
        """See ``Files.created_ns``."""
        return None if self.look_at(path) is None else super().created_ns(path)

    def is_folder(self, path: VaultPath) -> bool:
        """See ``Files.is_folder``."""
        if self._has_hidden_link(path) or not super().is_folder(path):
            return False
        seen = self._rules.sees_folder(path)
        return any(files for _, files in self.walk_folders(path)) if seen is None else seen

    def is_taken(self, path: VaultPath) -> bool:
        """See ``Files.is_taken``. Anything in the trash counts."""
        if not super().is_taken(path):
            return False
        return lies_in(path, TRASH) or self.look_at(path) is not None or self.is_folder(path)

    def _entry_like(self, folder: str, part: str) -> str | None:
        path = f"{folder}/{part}" if folder else part
        if has_entry(os.path.join(self.root, folder), part) and self._sees_entry(path):
            return part
        return self._only_entry_like(folder, part)

    def _visible_names(self, folder: str, names: list[str]) -> list[str]:
        return [name for name in names if self._sees_entry(f"{folder}/{name}" if folder else name)]

    def _sees_entry(self, path: str) -> bool:
        """Tell whether the path, in a folder that may be seen, is a file or folder that may be seen too."""
        found = VaultPath(path)
        try:
            mode = os.lstat(os.path.join(self.root, path)).st_mode
        except OSError:
            return False
        if stat.S_ISDIR(mode):
            seen = self._rules.sees_folder(path)
            return self.is_folder(found) if seen is None else seen
        return self.look_at(found) is not None or (stat.S_ISLNK(mode) and self.is_folder(found))

    # ------------------------------------------------------------------ reading

    def read(self, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        """See ``Files.read``. A file that may not be seen is not there."""
        if self._sees_path(path):
            if self._privacy is None or not can_be_private(path):
                return super().read(path, max_bytes)
            try:
                file = super().read(path, max_bytes)
            except VaultError as error:
                # Nobody can tell whether it is private, so it is not listed either.
                if error.code == TOO_LARGE:
                    raise _not_there(path) from None
                raise
            if not self.is_private(path, file.data):
                return file
        raise _not_there(path)

    # ------------------------------------------------------------------ what this run may do

    def may_be_seen(self, path: VaultPath) -> bool:
        """See ``Files.may_be_seen``."""
        return self._rules.sees(path)

    def is_private(self, path: VaultPath, data: bytes) -> bool:
        """See ``Files.is_private``."""
        return self._privacy is not None and self._privacy.is_private_file(path, data)

    def check_change(self, path: VaultPath) -> None:
        """See ``Files.check_change``. The message is the same whether something is there or not."""
        if lies_in(path, TRASH):
            return
        if self._rules.may_change(path) and not self._has_hidden_link(path) and not self._is_hidden_file(path):
            return
        raise VaultError(POLICY_DENIED, f"The policy of this server does not allow to change {path!r}.", path=path)

    def _is_hidden_file(self, path: VaultPath) -> bool:
        """Tell whether a path that may be seen is a folder, or a file that may not be seen."""
        entry = self.entry_path(path)
        if not os.path.lexists(entry):
            return False
        # A change of a folder is a change of all that is in it, visible or not.
        return os.path.isdir(entry) or self.look_at(path) is None

    # ------------------------------------------------------------------ what the rules say

    def _sees_path(self, path: VaultPath) -> bool:
        """Tell whether a file may be seen, as far as its path and the links in it decide."""
        return self._rules.sees(path) and not self._has_hidden_link(path)

    def _has_hidden_link(self, path: VaultPath) -> bool:
        """Tell whether the path has a link that may not be followed, or leads to what may not be seen."""
        if not self._root.has_links(path) or (os.name == "nt" and not self._leads_elsewhere(path)):
            return False
        return not (self._rules.follows_links and self._sees_target(path))

    def _leads_elsewhere(self, path: VaultPath) -> bool:
        try:
            return fold(self._target_path(path)) != fold(path)
        except (VaultError, OSError):
            return True

    def _sees_target(self, path: VaultPath) -> bool:
        """Tell whether the path, all links followed, leads to a path that may be seen."""
        try:
            target = self._target_path(path)
        except (VaultError, OSError):
            return False
        is_folder = os.path.isdir(os.path.join(self.root, target))
        return self._rules.sees_folder(target) is not False if is_folder else self._rules.sees(target)

    def _target_path(self, path: VaultPath) -> str:
        """Return the vault path with all links followed. Raises VaultError if that is outside the vault."""
        return os.path.relpath(self._root.real_path(path), self.root).replace(os.sep, "/")

    # ------------------------------------------------------------------ what the notes say

    def _is_private_now(self, file: NoteStat) -> bool:
        """Tell whether a file is a note or canvas that its text makes private, or that cannot be read to find out."""
        privacy = self._privacy
        if privacy is None or not can_be_private(file.path):
            return False
        verdict = self._verdicts.get(file.path)
        if verdict is not None and verdict[:3] == file[1:]:
            return verdict.is_private
        now = time.time_ns()
        try:
            # A file that is only in a cloud would take seconds to fetch.
            if is_dataless(self._root, file.path):
                return True
            data, modified_ns, stamp = super().read(file.path)
        except VaultError:
            return True
        is_private = privacy.is_private_file(file.path, data)
        if now - modified_ns > _CLOCK_TICK_NS:
            self._verdicts[file.path] = _Verdict(len(data), modified_ns, stamp, is_private)
        return is_private


def _not_there(path: VaultPath) -> VaultError:
    return VaultError(FILE_NOT_FOUND, f"No note {path!r} is there to read.", path=path)
