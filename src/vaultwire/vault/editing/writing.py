"""Writing and deleting whole notes: each write is made from the bytes that were read under the vault's lock."""

from __future__ import annotations

from collections.abc import Callable

from vaultwire.markdown import edits
from vaultwire.markdown.links import linkpath_written
from vaultwire.vault.changes.change import Move, Step, Write
from vaultwire.vault.disk.etags import etag_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.note_text import to_bytes
from vaultwire.vault.disk.paths import MAX_NAME_BYTES, TRASH, fold, is_rooted, parse_note_path, says_folder
from vaultwire.vault.editing.confirmation import confirmation_of_removal
from vaultwire.vault.editing.workbench import OTHER_LINKS, Asked, Workbench
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    INVALID_ARGUMENTS,
    NOTE_EXISTS,
    STALE_EDIT,
    VaultError,
)
from vaultwire.vault.links.note_lookup import candidate_paths, find
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.plans.moving import plan_arrival
from vaultwire.vault.plans.new_names import check_name_is_free, place_of_note
from vaultwire.vault.plans.note_text import BOM, decode_note, with_bom
from vaultwire.vault.value_types import NO_PROGRESS, Deleted, Progress, VaultPath, WriteMode, Written

_EDITS: dict[str, Callable[[str, str], str]] = {
    "overwrite": edits.rewrite,
    "append": edits.append,
    "prepend": edits.prepend,
}


class Writing:
    """What one caller writes and deletes in one vault."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._files = bench.files

    def write(
        self, name: str, content: str, mode: WriteMode, if_match: str | None = None, progress: Progress = NO_PROGRESS
    ) -> Written:
        """Write a note. ``create`` makes a new one; ``overwrite`` makes it or replaces its text; the others add lines.

        Outside what changes, the file keeps its bytes: BOM, line ends, final line end, mode. With ``if_match`` (an etag)
        the write happens only if the note still is what the caller read.

        Raises VaultError: NOTE_EXISTS, FILE_NOT_FOUND, STALE_EDIT, NOT_UTF8, TOO_LARGE, and those of naming a path.
        """
        to_bytes(content)  # refuses bad text before anything waits for the lock
        with self._bench.locked(progress) as context:
            if mode in ("append", "prepend"):
                return self._edit(context.locate(name), content, mode, if_match, progress)
            path, exists = self._place(context, name, mode)
            if not exists:
                return self._create(context, path, name, content, mode, if_match)
            if mode == "create":
                raise VaultError(
                    NOTE_EXISTS,
                    f"{path!r} exists already. Use mode 'append' or 'prepend' to add to it, 'overwrite' to replace its text.",
                    path=path,
                )
            return self._edit(path, content, mode, if_match, progress)

    def delete(
        self, name: str, *, permanent: bool, if_match: str | None = None, progress: Progress = NO_PROGRESS
    ) -> Deleted:
        """Move the note to the vault's ``.trash``, or delete it permanently. Raises VaultError as ``locate`` does."""
        with self._bench.locked(progress) as context:
            path = context.locate(name)
            if permanent and fold(path) not in {fold(each) for each in candidate_paths(name)}:
                raise VaultError(
                    INVALID_ARGUMENTS,
                    f"To delete a note permanently, give its whole path: {name!r} means {path!r}.",
                    path=path,
                )
            data = self._bench.read(path, if_match)
            if permanent:
                asked = Asked(confirmation=confirmation_of_removal(self._files.name, path, data))
                return Deleted(path, None, self._finish([Write(path, data, None)], progress, asked)[0])
            trash_path = free_trash_path(self._files, path)
            return Deleted(path, trash_path, self._finish([Move(path, trash_path)], progress)[0])

    def _finish(self, steps: list[Step], progress: Progress, asked: Asked | None = None) -> tuple[int, list[str]]:
        """Execute the steps; return the change's number and what the caller should know."""
        done = self._bench.finish(steps, [], progress, dry_run=False, asked=asked or Asked())
        return 0 if done.change is None else done.change.id, done.notices

    def _place(self, context: PlanContext, name: str, mode: WriteMode) -> tuple[VaultPath, bool]:
        """Return the path of the note to write, and whether it exists: one at exactly this path, else a new note's place."""
        written = linkpath_written(name)
        is_exact = is_rooted(written)
        if not is_exact:
            path, exists = self._files.spell(parse_note_path(written))
            if exists:
                return path, True
        path, exists = self._files.spell(place_of_note(context, name))
        if mode == "overwrite" and not is_exact:
            _check_not_elsewhere(context, path, name)
        return path, exists

    def _create(
        self, context: PlanContext, path: VaultPath, name: str, content: str, mode: WriteMode, if_match: str | None
    ) -> Written:
        is_bare = mode == "create" and not says_folder(linkpath_written(name))
        if is_bare:
            check_name_is_free(context, name, path)
        if if_match is not None:
            raise VaultError(STALE_EDIT, f"There is no note {path!r} any more, so if_match cannot hold.", path=path)
        data = to_bytes(content)
        relinked = [] if is_bare else plan_arrival(context, path)  # no other file has a bare name
        change, notices = self._finish(
            [Write(path, None, data), *relinked], context.progress, Asked(f"Making {path!r}", OTHER_LINKS)
        )
        also = [write.path for write in relinked]
        return Written(
            path, etag_of(data), len(data), created=True, changed=True, change=change, also=also, notices=notices
        )

    def _edit(
        self, path: VaultPath, content: str, mode: WriteMode, if_match: str | None, progress: Progress
    ) -> Written:
        before = self._bench.read(path, if_match, is_overwritten=mode == "overwrite")
        had_bom = before.startswith(BOM.encode())
        new = _EDITS[mode](decode_note(path, before), content.removeprefix(BOM) if had_bom else content)
        data = with_bom(to_bytes(new, before), before)
        change, notices = self._finish([Write(path, before, data)], progress)
        return Written(
            path,
            etag_of(data),
            len(data),
            created=False,
            changed=data != before,
            change=change,
            also=[],
            notices=notices,
        )


def _check_not_elsewhere(context: PlanContext, path: VaultPath, name: str) -> None:
    """Refuse to overwrite a note by a part of its path: the caller may mean that note, or a new one."""
    elsewhere = find(context.files, context.index, name, context.progress)
    if elsewhere is None or elsewhere == path:
        return
    raise VaultError(
        AMBIGUOUS_NAME,
        f"There is no {path!r}, but a note of that name is {elsewhere!r}. Give that path to overwrite it, "
        "or use mode 'create' to make a new note.",
        name=name,
        candidates=[elsewhere],
    )


def free_trash_path(files: Files, path: VaultPath) -> VaultPath:
    """Return a free path in the vault's ``.trash`` for a file. Like Obsidian, number a name that is taken, from 2."""
    name, dot, ending = path.rpartition("/")[2].rpartition(".")
    name, suffix = (name, dot + ending) if name else (ending, "")
    number = 1
    while True:
        numbered = suffix if number == 1 else f" {number}{suffix}"
        while len(name.encode()) + len(numbered.encode()) > MAX_NAME_BYTES:
            name = name[:-1]
        free = VaultPath(f"{TRASH}/{name}{numbered}")
        if not files.is_taken(free):
            return free
        number += 1
