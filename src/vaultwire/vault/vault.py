"""The façade of the engine: one vault, read and changed. What a tool, door or command wants of notes, it asks here.

What changes notes is imported where it is first asked for: it is more code than all that reads them, and every conversation
would wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vaultwire.markdown import edits
from vaultwire.markdown.model import Span
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault import graph
from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.etags import etag_of
from vaultwire.vault.files import FileBytes
from vaultwire.vault.finding import Asked, WantedTasks, property_types, to_wanted
from vaultwire.vault.linkgraph import LinkGraph
from vaultwire.vault.model import (
    NO_PROGRESS,
    Backlink,
    DailyNote,
    Deleted,
    Found,
    Listing,
    NamedNote,
    Note,
    NoteStat,
    OutgoingLink,
    Progress,
    PropertyUse,
    Structure,
    TagCount,
    Tagged,
    TaskPlace,
    ValueUse,
    VaultPath,
    VaultStats,
    WriteMode,
    Written,
)
from vaultwire.vault.naming import locate, locate_file, locate_readable
from vaultwire.vault.paths import is_note, parse_folder, parse_note_path, parse_path
from vaultwire.vault.query import parse_query
from vaultwire.vault.sections import line_count, line_span, section_span
from vaultwire.vault.settings import Settings
from vaultwire.vault.workbench import Workbench

if TYPE_CHECKING:
    from vaultwire.vault.arranging import Arranging
    from vaultwire.vault.checks import Checked, Finding
    from vaultwire.vault.history import History
    from vaultwire.vault.making import Making
    from vaultwire.vault.revising import Revising

_BOM = "\ufeff"


class Vault:
    """One vault: a folder of notes and the index over them. Safe to call from several threads."""

    def __init__(self, bench: Workbench, name: str = "", others: Sequence[str] = ()) -> None:
        """``bench`` says when it is where the person is: by this computer's local time.

        ``name`` is what the person calls the vault, if not as its folder; ``others`` are the names of those beside it.
        """
        self._bench = bench
        self._files = bench.files
        self._index = bench.index
        self._settings = bench.settings
        self._name = name
        self.others = others

    def used_by(self, caller: Caller, tool: str) -> Vault:
        """Return the same vault in the hands of a caller that uses a tool: its changes say so, and its reads count."""
        mine = object.__new__(Vault)  # part by part, at every call: a copy of all at once takes longer than most reads
        mine._files = self._files
        mine._index = self._index
        mine._settings = self._settings
        mine._name = self._name
        mine.others = self.others
        mine._bench = self._bench.used_by(caller, tool)
        return mine

    @property
    def name(self) -> str:
        """The vault's name: the one it was given, or its folder's, as in Obsidian."""
        return self._name or self._files.name

    @property
    def root(self) -> str:
        """The vault's folder, for those who speak of it to other programs."""
        return self._files.root

    @property
    def hides_some(self) -> bool:
        """Whether some of its notes may not be seen in this run."""
        return self._files.hides_some

    @property
    def settings(self) -> Settings:
        """What the person has set in Obsidian."""
        return self._settings.get()

    def tend(self, on_true: Callable[[], None] | None = None) -> None:
        """Settle what a killed process left half-way, then keep the index true of the files, until ``close``.

        On the caller's thread. See ``Changes.settle``, ``Index.tend``.
        """
        self._bench.changes.settle()
        self._index.tend(on_true)

    def close(self) -> None:
        """End ``tend``. Safe from any thread."""
        self._index.close()

    # ------------------------------------------------------------------ reading

    def locate(self, name: str, progress: Progress = NO_PROGRESS) -> VaultPath:
        """Return the path of the note that ``name`` means: a path, a name without ``.md``, or wikilink text.

        Raises VaultError: FILE_NOT_FOUND (with near names), AMBIGUOUS_NAME (with the candidates), PATH_OUTSIDE_VAULT,
        PERMISSION_DENIED.
        """
        return locate(self._files, self._index, name, progress)

    def read(self, name: str, progress: Progress = NO_PROGRESS) -> Note:
        """Return the note or canvas that ``name`` means. Raises VaultError as ``locate`` does, and TOO_LARGE."""
        path = locate_readable(self._files, self._index, name, progress)
        file = self._files.read(path)
        etag = etag_of(file.data)
        self._bench.caller.saw(path, etag, file.data)
        problems: list[str] = []
        try:
            text = file.data.decode("utf-8")
        except UnicodeDecodeError as error:
            text = file.data.decode("utf-8", "replace")
            problems.append(f"not UTF-8 (first at byte {error.start}); what could not be read is shown as \ufffd")
        text = edits.to_plain(text.removeprefix(_BOM))
        problems += parse_frontmatter(text).problems
        return Note(path, text, etag, len(file.data), file.modified_ns, problems)

    def read_part(
        self, name: str, section: str | None, lines: str | None, progress: Progress = NO_PROGRESS
    ) -> tuple[Note, Span]:
        """Return the note that ``name`` means, and the lines that a section or range names: all, if neither is given.

        Raises VaultError as ``read`` does, SECTION_NOT_FOUND, and INVALID_ARGUMENTS for a range that is none.
        """
        note = self.read(name, progress)
        if section:
            return note, section_span(graph.structure(note.path, note.text), section, note.text)
        total = line_count(note.text)
        return note, line_span(note.path, total, lines) if lines else Span(1, total)

    def list_notes(self, folder: str, after: str | None, limit: int, progress: Progress = NO_PROGRESS) -> Listing:
        """Return the notes below ``folder`` in path order, beginning behind the path ``after``.

        Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        notes = sorted(self._index.notes(self._folder(folder), progress))
        later = [note for note in notes if after is None or note.path > after]
        return Listing(later[:limit], len(notes), len(later) > limit)

    def notes_now(self, folder: str, limit: int, progress: Progress = NO_PROGRESS) -> list[NoteStat]:
        """Return the first notes below a small folder, in path order, as they are on the disk at this moment.

        Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        found = []
        for note in self._files.walk(self._folder(folder)):
            progress.check()
            found.append(note)
        return sorted(found)[:limit]

    def list_files(self, after: str | None, limit: int, progress: Progress = NO_PROGRESS) -> Listing:
        """Return notes and attachments in path order, beginning behind the path ``after``."""
        files = []
        for file in self._files.walk(attachments=True):
            progress.check()
            files.append(file)
        later = sorted(file for file in files if after is None or file.path > after)
        return Listing(later[:limit], len(files), len(later) > limit)

    def read_file(self, path: str, max_attachment_bytes: int) -> tuple[VaultPath, FileBytes]:
        """Return the path, as spelt on disk, and the bytes of exactly this note or attachment.

        Raises VaultError: FILE_NOT_FOUND, TOO_LARGE, PATH_OUTSIDE_VAULT, PERMISSION_DENIED, AMBIGUOUS_NAME.
        """
        found, exists = self._files.spell(parse_path(path))
        if not exists:
            raise VaultError(FILE_NOT_FOUND, f"There is no file {path!r} in the vault.", path=path)
        most = min(max_attachment_bytes, self._bench.max_attachment_bytes)
        return found, self._files.read(found, None if is_note(found) else most)

    def has_file(self, path: str) -> bool:
        """Tell whether exactly this note or attachment is there, and may be seen."""
        try:
            return self._files.spell(parse_path(path))[1]
        except VaultError:
            return False

    def paths(self, progress: Progress = NO_PROGRESS) -> list[VaultPath]:
        """Return the path of every note and attachment, in path order."""
        return self._index.paths(progress)

    def property_names(self, progress: Progress = NO_PROGRESS) -> list[str]:
        """Return the names of the properties in use, most used first."""
        return [found.name for found in self._index.properties("", None, progress)]

    def properties(self, name: str, folder: str, progress: Progress = NO_PROGRESS) -> list[PropertyUse]:
        """Return the properties in use below ``folder``, most used first, with the types that Obsidian gives them.

        With a ``name`` only that one. Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        declared = self._settings.get().property_types
        return [
            PropertyUse(used.name, property_types(used.name, used.values, declared), used.notes)
            for used in self._index.properties(name, self._folder(folder), progress)
        ]

    def property_values(self, name: str, folder: str, progress: Progress = NO_PROGRESS) -> list[ValueUse]:
        """Return the values of a property below ``folder``, most used first; those of a list one by one."""
        return self._index.property_values(name, self._folder(folder), progress)

    def find(
        self, asked: Asked, folder: str, offset: int, limit: int, progress: Progress = NO_PROGRESS
    ) -> tuple[list[NamedNote], int]:
        """Return ``limit`` notes below ``folder`` that are as asked for, and how many are in all.

        Raises VaultError: INVALID_ARGUMENTS for a condition or time that is none, FILE_NOT_FOUND for the folder.
        """
        wanted = to_wanted(asked, self._bench.now().date())
        return self._index.find(wanted, self._folder(folder), offset, limit, progress)

    def tasks(
        self, wanted: WantedTasks, path: str, folder: str, offset: int, limit: int, progress: Progress = NO_PROGRESS
    ) -> tuple[list[TaskPlace], int]:
        """Return ``limit`` tasks that are as wanted, in path and line order, and how many are in all.

        ``path`` means one note, as for ``locate``, or with ``""`` all. Raises VaultError as ``locate`` does.
        """
        note = self.locate(path, progress) if path else None
        return self._index.tasks(wanted, note, self._folder(folder), offset, limit, progress)

    def stats(self, limit: int, progress: Progress = NO_PROGRESS) -> VaultStats:
        """Return the vault in numbers, with ``limit`` of the largest folders and of the problems."""
        return self._index.stats(limit, progress)

    def search(self, query: str, folder: str, offset: int, limit: int, progress: Progress = NO_PROGRESS) -> Found:
        """Return one page of the notes that match. Raises VaultError for a query or folder that makes no sense."""
        return self._index.search(parse_query(query), self._folder(folder), offset, limit, progress)

    def tagged(self, tags: list[str], *, every: bool, folder: str, progress: Progress = NO_PROGRESS) -> list[Tagged]:
        """Return the notes, in path order, that have every one of ``tags``, or any of them. ``a`` is there in ``a/b``."""
        return self._index.tagged(tags, self._folder(folder), progress, every=every)

    def links(self, name: str, progress: Progress = NO_PROGRESS) -> tuple[VaultPath, list[OutgoingLink]]:
        """Return the path of the note that ``name`` means, and its links. Raises VaultError as ``read`` does."""
        note = self.read(self.locate(name, progress), progress)
        return note.path, graph.outgoing(self._index, note.path, parse_note(note.text).links, progress)

    def backlinks(
        self, name: str, offset: int, limit: int, progress: Progress = NO_PROGRESS
    ) -> tuple[VaultPath, list[Backlink], list[VaultPath]]:
        """Return the path of the file that ``name`` means, a page of the links to it, and of each of all the note it is in.

        Links of a note to itself do not count. Raises VaultError as ``naming.locate_file`` does.
        """
        path = locate_file(self._files, self._index, name, progress)
        links = self._index.incoming(path, progress)
        return path, graph.with_lines(self._files, links[offset : offset + limit]), [source for source, _ in links]

    def check(
        self, name: str, progress: Progress = NO_PROGRESS, *, exactly: bool = False
    ) -> tuple[VaultPath, list[Finding]]:
        """Return the path of the note or canvas that ``name`` means, and what is wrong with it.

        ``exactly``: it is the file's own path. Raises VaultError as ``locate`` does.
        """
        from vaultwire.vault.checks import Checking  # noqa: PLC0415 - see the head

        if exactly or name.lower().endswith(".canvas"):
            path, exists = self._files.spell(parse_path(name))
            if not exists:
                raise VaultError(FILE_NOT_FOUND, f"There is no file {name!r} in the vault.", path=name)
        else:
            path = self.locate(name, progress)
        return path, Checking(self._bench).one(path, progress)

    def check_all(self, folder: str, offset: int, limit: int, progress: Progress = NO_PROGRESS) -> Checked:
        """Look through the notes and canvases below ``folder``. See ``Checking.many``."""
        from vaultwire.vault.checks import Checking  # noqa: PLC0415 - see the head

        return Checking(self._bench).many(self._folder(folder), offset, limit, progress)

    def link_graph(self, progress: Progress = NO_PROGRESS) -> LinkGraph:
        """Return how all notes are linked with each other and with attachments."""
        return self._index.link_graph(progress)

    def daily_note(self, day: str, progress: Progress = NO_PROGRESS) -> DailyNote:
        """Return which note is the day's by Obsidian's settings, whether it is there or not, and those before and after it.

        ``day`` is what ``periodic.parse_day`` takes. Raises VaultError: INVALID_ARGUMENTS for a day that is none, and
        ``daily_note_path``'s if the settings are at fault.
        """
        from vaultwire.vault.periodic import daily_note_day, daily_note_path, parse_day  # noqa: PLC0415 - see the head

        settings = self._settings.get()
        wanted = parse_day(day, self._bench.now().date())
        path, exists = self._files.spell(daily_note_path(settings, wanted))
        days = [
            (its_day, note.path)
            for note in self._index.notes(None, progress)
            # Every day's note lies equally deep; asking for the day of each note of a large vault would take a second.
            if note.path.count("/") == path.count("/") and (its_day := daily_note_day(settings, note.path))
        ]
        previous = max((each for each in days if each[0] < wanted), default=(None, None))
        following = min((each for each in days if each[0] > wanted), default=(None, None))
        return DailyNote(wanted, path, exists, previous[1], following[1], self._daily_template(settings))

    def _daily_template(self, settings: Settings) -> VaultPath | None:
        try:
            path, exists = self._files.spell(parse_note_path(settings.daily_template.strip().strip("/")))
        except VaultError:  # none is set, or what is set is no note of the vault
            return None
        return path if exists else None

    def structure(self, name: str, progress: Progress = NO_PROGRESS) -> Structure:
        """Return how the note that ``name`` means is built. Raises VaultError as ``read`` does."""
        note = self.read(self.locate(name, progress), progress)
        return graph.structure(note.path, note.text)

    def count_tags(self, folder: str, progress: Progress = NO_PROGRESS) -> list[TagCount]:
        """Return the tags in use below ``folder``, most used first."""
        return self._index.count_tags(self._folder(folder), progress)

    def recent(self, folder: str, limit: int, progress: Progress = NO_PROGRESS) -> Listing:
        """Return the notes below ``folder`` that were changed last, the latest first."""
        notes, total = self._index.recent(self._folder(folder), limit, progress)
        return Listing(notes, total, total > len(notes))

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
        """Write a note. See ``Editing.write``."""
        from vaultwire.vault.editing import Editing  # noqa: PLC0415 - see the head

        return Editing(self._bench).write(name, content, mode, if_match, progress)

    def delete(
        self, name: str, *, permanent: bool, if_match: str | None = None, progress: Progress = NO_PROGRESS
    ) -> Deleted:
        """Move a note to the vault's ``.trash``, or delete it for good. See ``Editing.delete``."""
        from vaultwire.vault.editing import Editing  # noqa: PLC0415 - see the head

        return Editing(self._bench).delete(name, permanent=permanent, if_match=if_match, progress=progress)

    @property
    def revising(self) -> Revising:
        """Surgical edits, diffs and properties."""
        from vaultwire.vault.revising import Revising  # noqa: PLC0415 - see the head

        return Revising(self._bench)

    @property
    def arranging(self) -> Arranging:
        """Moving, renaming, merging, dividing."""
        from vaultwire.vault.arranging import Arranging  # noqa: PLC0415 - see the head

        return Arranging(self._bench)

    @property
    def making(self) -> Making:
        """New notes, daily notes, templates, attachments."""
        from vaultwire.vault.making import Making  # noqa: PLC0415 - see the head

        return Making(self._bench)

    @property
    def history(self) -> History:
        """What was changed, and taking it back."""
        from vaultwire.vault.history import History  # noqa: PLC0415 - see the head

        return History(self._bench)
