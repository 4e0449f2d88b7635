"""Looking at the disk before a change begins: whether each step can be taken there, and what must be known to take it back.

Changes nothing. ``changes.stage`` takes the steps.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vaultwire.vault.changes.change import Intent, Move, Site, Write, paths_of
from vaultwire.vault.changes.foresight import Foresight
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
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.visibility.private_notes import can_be_private


class Preflight:
    """The checks of one change."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._foresight = Foresight(files)
        self._made: list[str] = []

    def check(self, draft: Intent) -> Intent:
        """Return the draft with its sites, its folders and a token. Raises VaultError if the disk is not as a step says."""
        sites = []
        for step in draft.steps:
            for path in paths_of(step):
                self._check_path(path)
            try:
                sites.append(self._site_of_move(step) if isinstance(step, Move) else self._site_of_write(step))
            except OSError as error:
                raise cannot("read", step.source if isinstance(step, Move) else step.path, error) from error
            self._foresight.add(step)
        return draft._replace(token=os.urandom(4).hex(), sites=tuple(sites), made=tuple(self._made))

    def _check_path(self, path: VaultPath) -> None:
        """Refuse what this run may not change, and what no step may name: planners check that, this is for mistakes."""
        self._files.check_change(path)
        parts = path.split("/")
        hidden = [part for part in parts[1:] if part.startswith(".")] or (
            parts[0].startswith(".") and parts[0] != TRASH
        )
        if hidden or not all(parts):
            raise VaultError(PERMISSION_DENIED, f"{path!r} is hidden, and hidden files are not changed.", path=path)
        trash = os.path.join(self._files.root, TRASH)
        if parts[0] == TRASH and os.path.realpath(trash) != trash:
            raise VaultError(
                PATH_OUTSIDE_VAULT, f"The vault's {TRASH} is a link; refusing to move notes through it.", path=path
            )

    def _site_of_write(self, step: Write) -> Site:
        path, before = step.path, step.before
        origin = self._foresight.origin(path)
        if before is None:
            if self._foresight.exists(path):
                raise VaultError(NOTE_EXISTS, f"{path!r} exists already.", path=path)
        elif not self._foresight.exists(path):
            verb = "write" if step.after is not None else "delete"
            raise VaultError(FILE_NOT_FOUND, f"No note {path!r} is there to {verb}.", path=path)
        elif not self._foresight.holds(path, before):
            raise VaultError(
                STALE_EDIT, f"{path!r} was changed by another program meanwhile; read it again, then edit.", path=path
            )
        is_fresh = not os.path.lexists(self._files.entry_path(path))
        inode = 0 if origin is None or before is None else os.lstat(self._files.entry_path(origin)).st_ino
        if step.after is None:
            return Site(path, None, inode)
        check_size(path, len(step.after), self._files.max_bytes)
        self._make_folder_of(path)
        if origin is None:
            return Site(path, is_fresh=is_fresh)
        place = self._files.real_path(origin)
        if before is not None and not os.access(place, os.W_OK):
            raise VaultError(PERMISSION_DENIED, f"{path!r} is write-protected.", path=path)
        real = VaultPath(os.path.relpath(place, self._files.root).replace(os.sep, "/"))
        return Site(path if real == origin else self._foresight.later(real), None, inode, is_fresh=is_fresh)

    def _site_of_move(self, step: Move) -> Site:
        foresight = self._foresight
        if not foresight.exists(step.source):
            raise VaultError(FILE_NOT_FOUND, f"No file {step.source!r} is there to move.", path=step.source)
        if lies_in(step.target, step.source):
            raise VaultError(INVALID_ARGUMENTS, f"{step.source!r} cannot be moved into itself.", path=step.source)
        if foresight.exists(step.target) and not foresight.is_respelling(step):
            raise VaultError(NOTE_EXISTS, f"{step.target!r} exists already.", path=step.target)
        self._make_folder_of(step.target)
        is_fresh = not os.path.lexists(self._files.entry_path(step.target))
        self._check_links(step)
        if foresight.is_folder(step.source):
            status = os.lstat(self._files.entry_path(foresight.origin(step.source) or step.source))
            return Site(step.source, None, status.st_ino, is_folder=True, is_fresh=is_fresh)
        origin, content = foresight.origin(step.source), self._content(step)
        if origin is None:  # what an earlier step writes has no number yet
            return Site(step.source, content, is_fresh=is_fresh)
        status = os.lstat(self._files.entry_path(origin))
        return Site(step.source, content, status.st_ino, status.st_nlink, is_fresh=is_fresh)

    def _check_links(self, step: Move) -> None:
        """Refuse to move a relative link, or a folder with one, so that it would lead elsewhere. To the trash it may go."""
        origin = self._foresight.origin(step.source)
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

    def _content(self, step: Move) -> bytes | None:
        """Return what a moved file holds, if that is kept: of notes, canvases, and whatever may be cleared from the trash."""
        if not (can_be_private(step.source) or lies_in(step.target, TRASH)):
            return None
        try:
            return self._foresight.read(step.source)
        except VaultError:  # larger than is read, or a link that leads out: it is moved all the same
            return None

    def _make_folder_of(self, path: VaultPath) -> None:
        """Note which folders above a path are missing. Before any move, they are made where what goes into them will pass."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = VaultPath("/".join(parts[:depth]))
            origin = self._foresight.origin(folder)
            if origin is None:
                raise VaultError(
                    INVALID_ARGUMENTS, f"{folder!r} is moved away and made anew; that takes two changes.", path=folder
                )
            if origin not in self._made and not os.path.isdir(self._files.real_path(origin)):
                if os.path.lexists(self._files.entry_path(origin)):
                    raise VaultError(
                        WRITE_FAILED,
                        f"{path!r} cannot be written: a part of its path is a file, not a folder.",
                        path=path,
                    )
                self._made.append(origin)


def _links_in(place: str) -> Iterator[str]:
    """Yield what is a symbolic link at a place or anywhere below it."""
    if os.path.islink(place):
        yield place
        return
    for folder, folders, names in os.walk(place):
        for name in (*folders, *names):
            link = os.path.join(folder, name)
            if os.path.islink(link):
                yield link
