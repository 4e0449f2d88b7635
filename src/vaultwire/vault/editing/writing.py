"""Changing notes: one edit at a time, each made from the bytes it read. What it comes to is carried out by ``changing``."""

from __future__ import annotations

from collections.abc import Callable

from vaultwire.markdown import edits
from vaultwire.markdown.links import parse_linktext
from vaultwire.vault.changes.change import Move, Step, Write
from vaultwire.vault.disk.etags import etag_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import MAX_NAME_BYTES, TRASH, check_new_names, fold, parse_note_path
from vaultwire.vault.disk.plain import to_bytes
from vaultwire.vault.editing.confirmation import confirmation_of_removal
from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    INVALID_ARGUMENTS,
    NOT_UTF8,
    NOTE_EXISTS,
    STALE_EDIT,
    VaultError,
)
from vaultwire.vault.links.naming import find, locate
from vaultwire.vault.links.resolve import wanted_paths
from vaultwire.vault.model import NO_PROGRESS, Confirmation, Deleted, Progress, VaultPath, WriteMode, Written
from vaultwire.vault.plans.moving import check_no_namesake, is_path, plan_arrival

_BOM = "\ufeff"
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
        to_bytes(content)  # before anything waits for the vault
        with self._bench.held(progress):
            if mode in ("append", "prepend"):
                return self._edit(self._locate(name, progress), content, mode, if_match, progress)
            path, exists = self._files.spell(parse_note_path(_unlinked(name)))
            if not exists:
                return self._create(path, name, content, mode, if_match, progress)
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
        """Move the note to the vault's ``.trash``, or delete it for good. Raises VaultError as ``locate`` does."""
        with self._bench.held(progress):
            path = self._locate(name, progress)
            if permanent and fold(path) not in {fold(wanted) for wanted in wanted_paths(name)}:
                raise VaultError(
                    INVALID_ARGUMENTS,
                    f"To delete a note for good, give its whole path: {path!r} is the one named {name!r}.",
                    path=path,
                )
            data = self._files.read(path).data
            self._bench.check(path, data, if_match)
            if permanent:
                question = confirmation_of_removal(self._files.name, path, data)
                return Deleted(path, None, self._carry_out([Write(path, data, None)], progress, question))
            trash_path = free_trash_path(self._files, path)
            return Deleted(path, trash_path, self._carry_out([Move(path, trash_path)], progress))

    def _carry_out(self, steps: list[Step], progress: Progress, confirmation: Confirmation | None = None) -> int:
        """Take the steps and return the change's number."""
        change = self._bench.finish(steps, [], progress, dry_run=False, confirmation=confirmation).change
        return 0 if change is None else change.id

    def _locate(self, name: str, progress: Progress) -> VaultPath:
        return locate(self._files, self._bench.index, name, progress)

    def _create(
        self, path: VaultPath, name: str, content: str, mode: WriteMode, if_match: str | None, progress: Progress
    ) -> Written:
        if mode == "overwrite":
            self._check_nowhere_else(path, name, progress)
        if if_match is not None:
            raise VaultError(STALE_EDIT, f"There is no note {path!r} any more, so if_match cannot hold.", path=path)
        folder, _, new_name = path.rpartition("/")
        in_old_folder = not folder or self._files.is_folder(VaultPath(folder))
        check_new_names([new_name] if in_old_folder else path.split("/"))
        data = to_bytes(content)
        bench, settings = self._bench, self._bench.settings.get()
        if not is_path(_unlinked(name)):
            check_no_namesake(bench.files, bench.index, settings, path, progress)
        relinked = plan_arrival(bench.files, bench.index, settings, path, progress)
        change = self._carry_out([Write(path, None, data), *relinked], progress)
        also = [write.path for write in relinked]
        return Written(path, etag_of(data), len(data), created=True, changed=True, change=change, also=also)

    def _check_nowhere_else(self, path: VaultPath, name: str, progress: Progress) -> None:
        """Refuse to overwrite a note that is only *called* so: neither it nor a new one beside it may be what is meant."""
        elsewhere = find(self._files, self._bench.index, name, progress)
        if elsewhere is None:
            return
        raise VaultError(
            AMBIGUOUS_NAME,
            f"There is no {path!r}, but a note of that name is {elsewhere!r}. Give that path to overwrite it, "
            "or use mode 'create' to make a new note.",
            name=name,
            candidates=[elsewhere],
        )

    def _edit(
        self, path: VaultPath, content: str, mode: WriteMode, if_match: str | None, progress: Progress
    ) -> Written:
        before = self._files.read(path).data
        self._bench.check(path, before, if_match, is_overwritten=mode == "overwrite")
        try:
            old = before.decode("utf-8")
        except UnicodeDecodeError as error:
            raise VaultError(
                NOT_UTF8,
                f"{path!r} is not UTF-8 (byte {error.start}), so an edit could destroy text. Convert it to UTF-8 first.",
                path=path,
            ) from None
        bom = _BOM if old.startswith(_BOM) else ""
        new = bom + _EDITS[mode](old.removeprefix(_BOM), content.removeprefix(bom) if bom else content)
        data = to_bytes(new, before)
        change = self._carry_out([Write(path, before, data)], progress)
        return Written(path, etag_of(data), len(data), created=False, changed=data != before, change=change, also=[])


def _unlinked(name: str) -> str:
    """Return the path in wikilink text, any other name as it stands."""
    return parse_linktext(name).linkpath if name.strip().startswith(("[[", "![[")) else name


def free_trash_path(files: Files, path: VaultPath) -> VaultPath:
    """Return where in the vault's ``.trash`` a file of this name can go: Obsidian numbers a name that is taken, from 2."""
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
