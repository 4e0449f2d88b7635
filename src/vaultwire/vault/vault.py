"""The façade of the engine: one vault, read and changed. What a tool, door or command wants of notes, it asks here."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from vaultwire.markdown import edits
from vaultwire.markdown.links import parse_linktext
from vaultwire.markdown.model import Span
from vaultwire.markdown.parse import has_tag, parse_note
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault import graph
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
from vaultwire.vault.model import (
    NO_PROGRESS,
    Backlink,
    Deleted,
    Found,
    Listing,
    Note,
    OutgoingLink,
    Progress,
    Structure,
    TagCount,
    Tagged,
    VaultPath,
    Written,
)
from vaultwire.vault.paths import check_new_names, fold, is_note, parse_folder, parse_note_path
from vaultwire.vault.query import parse_query
from vaultwire.vault.resolve import resolve, wanted_paths
from vaultwire.vault.sections import line_count, line_span, section_span

WriteMode: TypeAlias = Literal["create", "overwrite", "append", "prepend"]

_BOM = "\ufeff"
_EDITS: dict[str, Callable[[str, str], str]] = {
    "overwrite": edits.rewrite,
    "append": edits.append,
    "prepend": edits.prepend,
}


class Vault:
    """One vault: a folder of notes and the index over them. Safe to call from several threads."""

    def __init__(self, files: Files, index: Index) -> None:
        self._files = files
        self._index = index
        # Edits read, decide and write: one at a time, or two of them would work from the same old text.
        self._edit_lock = threading.Lock()

    # ------------------------------------------------------------------ reading

    def locate(self, name: str, progress: Progress = NO_PROGRESS) -> VaultPath:
        """Return the path of the note that ``name`` means: a path, a name without ``.md``, or wikilink text.

        Raises VaultError: FILE_NOT_FOUND (with near names), AMBIGUOUS_NAME (with the candidates), PATH_OUTSIDE_VAULT,
        PERMISSION_DENIED.
        """
        for wanted in wanted_paths(name):
            path, exists = self._files.spell(wanted)
            if exists and is_note(path):
                return path
        return resolve(name, (note.path for note in self._index.notes(None, progress)))

    def read(self, name: str, progress: Progress = NO_PROGRESS) -> Note:
        """Return the note that ``name`` means. Raises VaultError as ``locate`` does, and TOO_LARGE."""
        path = self.locate(name, progress)
        file = self._files.read(path)
        problems: list[str] = []
        try:
            text = file.data.decode("utf-8")
        except UnicodeDecodeError as error:
            text = file.data.decode("utf-8", "replace")
            problems.append(f"not UTF-8 (first at byte {error.start}); what could not be read is shown as \ufffd")
        text = edits.to_plain(text.removeprefix(_BOM))
        problems += parse_frontmatter(text).problems
        return Note(path, text, _etag(file.data), len(file.data), file.modified_ns, problems)

    def read_part(
        self, name: str, section: str | None, lines: str | None, progress: Progress = NO_PROGRESS
    ) -> tuple[Note, Span]:
        """Return the note that ``name`` means, and the lines that a section or range names: all, if neither is given.

        Raises VaultError as ``read`` does, SECTION_NOT_FOUND, and INVALID_ARGUMENTS for a range that is none.
        """
        note = self.read(name, progress)
        if section:
            return note, section_span(graph.structure(note.path, note.text), section)
        total = line_count(note.text)
        return note, line_span(note.path, total, lines) if lines else Span(1, total)

    def list_notes(self, folder: str, after: str | None, limit: int, progress: Progress = NO_PROGRESS) -> Listing:
        """Return the notes below ``folder`` in path order, beginning behind the path ``after``.

        Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        notes = sorted(self._index.notes(self._folder(folder), progress))
        later = [note for note in notes if after is None or note.path > after]
        return Listing(later[:limit], len(notes), len(later) > limit)

    def search(self, query: str, folder: str, offset: int, limit: int, progress: Progress = NO_PROGRESS) -> Found:
        """Return one page of the notes that match. Raises VaultError for a query or folder that makes no sense."""
        return self._index.search(parse_query(query), self._folder(folder), offset, limit, progress)

    def tagged(self, tags: list[str], *, every: bool, folder: str, progress: Progress = NO_PROGRESS) -> list[Tagged]:
        """Return the notes, in path order, that have every one of ``tags``, or any of them. ``a`` is there in ``a/b``."""
        quantifier = all if every else any
        found = self._index.tagged(self._folder(folder), progress)
        return sorted(note for note in found if quantifier(has_tag(note.tags, tag) for tag in tags))

    def links(self, name: str, progress: Progress = NO_PROGRESS) -> tuple[VaultPath, list[OutgoingLink]]:
        """Return the path of the note that ``name`` means, and its links. Raises VaultError as ``read`` does."""
        note = self.read(name, progress)
        return note.path, graph.outgoing(self._index, note.path, parse_note(note.text).links, progress)

    def backlinks(self, name: str, progress: Progress = NO_PROGRESS) -> tuple[VaultPath, list[Backlink]]:
        """Return the path of the note that ``name`` means, and the links of other notes that lead to it.

        Raises VaultError as ``locate`` does.
        """
        path = self.locate(name, progress)
        found: list[Backlink] = []
        lines: list[str] = []
        latest: VaultPath | None = None
        for source, link in graph.incoming(self._index, path, progress):
            if source != latest:
                latest, lines = source, self.read(source, progress).text.split("\n")
            if link.line <= len(lines):
                found.append(Backlink(source, link.line, lines[link.line - 1].strip(), link.is_embed))
        return path, found

    def structure(self, name: str, progress: Progress = NO_PROGRESS) -> Structure:
        """Return how the note that ``name`` means is built. Raises VaultError as ``read`` does."""
        note = self.read(name, progress)
        return graph.structure(note.path, note.text)

    def count_tags(self, folder: str, progress: Progress = NO_PROGRESS) -> list[TagCount]:
        """Return the tags in use below ``folder``, most used first."""
        return graph.count_tags(self._index.tagged(self._folder(folder), progress))

    def recent(self, folder: str, limit: int, progress: Progress = NO_PROGRESS) -> Listing:
        """Return the notes below ``folder`` that were changed last, the latest first."""
        notes = sorted(
            self._index.notes(self._folder(folder), progress), key=lambda note: (-note.modified_ns, note.path)
        )
        return Listing(notes[:limit], len(notes), len(notes) > limit)

    def _folder(self, folder: str) -> VaultPath | None:
        wanted = parse_folder(folder)
        if wanted is None:
            return None
        path, _ = self._files.spell(wanted)
        if not self._files.is_folder(path):
            raise VaultError(FILE_NOT_FOUND, f"There is no folder {folder!r} in the vault.", folder=folder)
        return path

    # ------------------------------------------------------------------ changing

    def write(
        self, name: str, content: str, mode: WriteMode, if_match: str | None = None, progress: Progress = NO_PROGRESS
    ) -> Written:
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
        with self._edit_lock:
            if mode in ("append", "prepend"):
                return self._edit(self.locate(name, progress), content, mode, if_match, progress)
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
        with self._edit_lock:
            path = self.locate(name, progress)
            if permanent and fold(path) not in {fold(wanted) for wanted in wanted_paths(name)}:
                raise VaultError(
                    INVALID_ARGUMENTS,
                    f"To delete a note for good, give its whole path: {path!r} is the one named {name!r}.",
                    path=path,
                )
            if if_match is not None:
                _check_etag(path, self._files.read(path), if_match)
            progress.check()
            if permanent:
                self._files.remove(path)
                return Deleted(path, None)
            return Deleted(path, self._files.trash(path))

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
        return Written(path, _etag(data), len(data), created=True, changed=True)

    def _check_nowhere_else(self, path: VaultPath, name: str, progress: Progress) -> None:
        """Refuse to overwrite a note that is only *called* so: neither it nor a new one beside it may be what is meant."""
        try:
            elsewhere = self.locate(name, progress)
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
        return Written(path, _etag(data), len(data), created=False, changed=data != file.data)


def _unlinked(name: str) -> str:
    """Return the path in wikilink text, any other name as it stands."""
    return parse_linktext(name).linkpath if name.strip().startswith(("[[", "![[")) else name


def _etag(data: bytes) -> str:
    """Return a short fingerprint of a file's bytes; 96 bits, so two texts of one note never share it by chance."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _check_etag(path: VaultPath, file: FileBytes, if_match: str) -> None:
    now = _etag(file.data)
    if now != if_match:
        raise VaultError(
            STALE_EDIT,
            f"{path!r} is not what was read any more (its etag is {now!r}, not {if_match!r}). Read it again, then edit.",
            path=path,
            etag=now,
        )
