"""Changing notes: one edit at a time, each made from the bytes it read, each told to the index."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from vaultwire.markdown import edits
from vaultwire.markdown.links import parse_linktext
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NOT_UTF8,
    NOTE_EXISTS,
    STALE_EDIT,
    VaultError,
)
from vaultwire.vault.files import FileBytes, Files
from vaultwire.vault.index import Index
from vaultwire.vault.model import Deleted, Progress, VaultPath, Written
from vaultwire.vault.naming import locate
from vaultwire.vault.paths import check_new_names, fold, parse_note_path
from vaultwire.vault.resolve import wanted_paths

WriteMode: TypeAlias = Literal["create", "overwrite", "append", "prepend"]

_BOM = "\ufeff"
_EDITS: dict[str, Callable[[str, str], str]] = {
    "overwrite": edits.rewrite,
    "append": edits.append,
    "prepend": edits.prepend,
}


class Editing:
    """The edits of one vault. Safe to call from several threads."""

    def __init__(self, files: Files, index: Index) -> None:
        self._files = files
        self._index = index
        # Edits read, decide and write: one at a time, or two of them would work from the same old text.
        self._lock = threading.Lock()

    def write(self, name: str, content: str, mode: WriteMode, if_match: str | None, progress: Progress) -> Written:
        """Write a note. ``create`` makes a new one; ``overwrite`` makes it or replaces its text; the others add lines.

        Outside what changes, the file keeps its bytes: BOM, line ends, final line end, mode. With ``if_match`` (an etag)
        the write happens only if the note still is what the caller read.

        Raises VaultError: NOTE_EXISTS, FILE_NOT_FOUND, STALE_EDIT, NOT_UTF8, TOO_LARGE, and those of naming a path.
        """
        try:
            content.encode("utf-8")
        except UnicodeEncodeError as error:
            raise VaultError(
                INVALID_ARGUMENTS,
                f"content: character {error.start + 1} is half of a surrogate pair, which no file can hold.",
            ) from None
        with self._lock:
            if mode in ("append", "prepend"):
                return self._edit(locate(self._files, self._index, name, progress), content, mode, if_match, progress)
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

    def delete(self, name: str, *, permanent: bool, if_match: str | None, progress: Progress) -> Deleted:
        """Move the note to the vault's ``.trash``, or delete it for good. Raises VaultError as ``locate`` does."""
        with self._lock:
            path = locate(self._files, self._index, name, progress)
            if permanent and fold(path) not in {fold(wanted) for wanted in wanted_paths(name)}:
                raise VaultError(
                    INVALID_ARGUMENTS,
                    f"To delete a note for good, give its whole path: {path!r} is the one named {name!r}.",
                    path=path,
                )
            if if_match is not None:
                _check_etag(path, self._files.read(path), if_match)
            progress.check()
            trash_path = None
            if permanent:
                self._files.remove(path)
            else:
                trash_path = self._files.trash(path)
            self._index.take_up([path])
            return Deleted(path, trash_path)

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
        data = content.encode("utf-8")
        progress.check()
        self._files.create(path, data)
        self._index.take_up([path])
        return Written(path, etag_of(data), len(data), created=True, changed=True)

    def _check_nowhere_else(self, path: VaultPath, name: str, progress: Progress) -> None:
        """Refuse to overwrite a note that is only *called* so: neither it nor a new one beside it may be what is meant."""
        try:
            elsewhere = locate(self._files, self._index, name, progress)
        except VaultError as error:
            if error.code == FILE_NOT_FOUND:
                return
            raise
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
        file = self._files.read(path)
        if if_match is not None:
            _check_etag(path, file, if_match)
        try:
            old = file.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise VaultError(
                NOT_UTF8,
                f"{path!r} is not UTF-8 (byte {error.start}), so an edit could destroy text. Convert it to UTF-8 first.",
                path=path,
            ) from None
        bom = _BOM if old.startswith(_BOM) else ""
        new = bom + _EDITS[mode](old.removeprefix(_BOM), content.removeprefix(bom) if bom else content)
        data = new.encode("utf-8")
        if data != file.data:
            progress.check()
            self._files.replace(path, data, file)
            self._index.take_up([path])
        return Written(path, etag_of(data), len(data), created=False, changed=data != file.data)


def _unlinked(name: str) -> str:
    """Return the path in wikilink text, any other name as it stands."""
    return parse_linktext(name).linkpath if name.strip().startswith(("[[", "![[")) else name


def etag_of(data: bytes) -> str:
    """Return a short fingerprint of a file's bytes; 96 bits, so two texts of one note never share it by chance."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _check_etag(path: VaultPath, file: FileBytes, if_match: str) -> None:
    now = etag_of(file.data)
    if now != if_match:
        raise VaultError(
            STALE_EDIT,
            f"{path!r} is not what was read any more (its etag is {now!r}, not {if_match!r}). Read it again, then edit.",
            path=path,
            etag=now,
        )
