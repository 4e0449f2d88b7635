"""The precondition check: compares a change with the disk before it begins, and notes what a roll-back will need.

Nothing is changed here. ``changes.staging`` takes the steps.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vaultwire.vault.changes.change import Intent, Move, PriorState, Write, paths_of
from vaultwire.vault.changes.projected_tree import ProjectedTree
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.files import Files, cannot, check_size
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NOTE_EXISTS,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    STALE_EDIT,
    WRITE_FAILED,
    VaultError,
)
from vaultwire.vault.value_types import Stages, VaultPath
from vaultwire.vault.visibility.visible_files import can_be_private


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
