"""Runs queries of Dataview over the vault: a text, or the ```` ```dataview ```` blocks of a note.

Properties, tags and links come from the index. Inline fields and list items are read from the files, and remembered until a
file changes. Notes that this run may not see are in no answer: the index does not have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from vaultwire.bases.values import TooMuchMemoryError
from vaultwire.dataview.fields import NO_FIELDS, NoteFields, inline_queries, note_fields
from vaultwire.dataview.functions import FUNCTION_NAMES, Shared
from vaultwire.dataview.pages import Page
from vaultwire.dataview.pages import Vault as PageVault
from vaultwire.dataview.parser import (
    BothSources,
    Call,
    FolderSource,
    LinkSource,
    Literal,
    Name,
    NotSource,
    Query,
    QueryProblem,
    Source,
    TagSource,
    nodes_of,
    parse_query,
)
from vaultwire.dataview.parser import Index as IndexNode
from vaultwire.dataview.running import Result, check_calls, run
from vaultwire.dataview.values import DEFAULT_TEXTS, TextSettings
from vaultwire.vault.base_queries.bases import in_zone
from vaultwire.vault.base_queries.host import VaultHost
from vaultwire.vault.caller import RememberedFacts
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import NOTE_SUFFIX, is_note
from vaultwire.vault.errors import INVALID_ARGUMENTS, TOO_LARGE, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.rows import Below, NameEndsWith, RowFile, Rows, Tagged
from vaultwire.vault.links.note_lookup import locate
from vaultwire.vault.settings.obsidian_settings import CachedSettings, Settings
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath

# What the facts of one note take beside its texts.
_FACT_BYTES = 400
_ITEM_BYTES = 400
_ITEM_NAMES = frozenset(("tasks", "lists"))
_CREATION_NAMES = frozenset(("ctime", "cday"))


class NotesHost(VaultHost):
    """The vault as a query of Dataview sees it: with the inline fields and list items of notes."""

    def __init__(
        self, index: Index, rows: Rows, files: Files, progress: Progress, known: RememberedFacts, names: set[str]
    ) -> None:
        """``known``: what was read of notes before. ``names``: all names that the query has; they say what is read."""
        super().__init__(index, rows, files, {}, progress, reads_creation=bool(names & _CREATION_NAMES))
        # As they are on the disk: what waits for the person is of one session, and what is known is of all.
        self._disk = files.with_pending(None)
        self._known = known
        self._reads_items = bool(names & _ITEM_NAMES)
        self._latest = "", NO_FIELDS

    def fields(self, path: str) -> NoteFields:
        """See ``dataview.pages.Notes``."""
        if path != self._latest[0]:  # an expression asks for several fields of a note
            file = self._file(path)
            self._latest = path, NO_FIELDS if file is None or not is_note(path) else self._fields_of(file)
        return self._latest[1]

    def _fields_of(self, file: RowFile) -> NoteFields:
        stamp = (file.size, file.modified_ns)
        known: tuple[bool, NoteFields] | None = self._known.get(file.path, stamp)
        if known and (known[0] or not self._reads_items):
            return known[1]
        try:
            data = self._disk.read(file.path).data
        except VaultError:  # it is gone, or too large
            return NO_FIELDS
        has_items = self._reads_items or b"::" in data
        fields = note_fields(plain_text(data)) if has_items else NO_FIELDS
        size = _FACT_BYTES + sum(len(name) + len(value) + _FACT_BYTES for name, value in fields.fields)
        size += sum(_ITEM_BYTES + 2 * len(item.text) for item in fields.items)
        self._known.keep(file.path, stamp, (has_items, fields), size)
        return fields


class DataviewQueries:
    """The queries of Dataview over one vault. Safe to use from several threads."""

    def __init__(
        self,
        files: Files,
        index: Index,
        settings: CachedSettings,
        now: Callable[[], datetime],
        known: RememberedFacts,
    ) -> None:
        """``now`` gives the person's local time."""
        self._files = files
        self._index = index
        self._settings = settings
        self._now = now
        self._known = known

    def inline(self, text: str, this: str, progress: Progress = NO_PROGRESS) -> Iterator[tuple[int, str, Result]]:
        """Yield the inline queries of a note's text: line (from 1), expression and result, a list with one row and column.

        ``this``: the path of the note. Raises VaultError as ``query`` only for the note itself: a query that cannot be read
        gives a result with a problem and no row.
        """
        source = this.replace("\\", r"\\").replace('"', r"\"")
        for line, expression in inline_queries(text, self._settings.get().dataview_inline or "="):
            try:
                result = self.query(f'LIST WITHOUT ID {expression}\nFROM "{source}"', this, progress)
            except VaultError as error:
                if error.details.get("argument") != "query":
                    raise
                result = Result("list", [], [], [re.sub(r" Line \d+, column \d+:", "", error.message)])
            yield line, expression, result

    def query(self, text: str, this: str = "", progress: Progress = NO_PROGRESS) -> Result:
        """Return what a query gives. ``this``: the note that it stands in, as people name notes; "" for none.

        Raises VaultError: INVALID_ARGUMENTS for a text that is no query (with line and column) and for a source that is not
        there, TOO_LARGE for a result of too much memory, and as ``Vault.locate`` for ``this``.
        """
        try:
            query = parse_query(text)
            check_calls(nodes_of(query), text)
        except QueryProblem as problem:
            raise VaultError(
                INVALID_ARGUMENTS, f"The query cannot be read. {problem}", argument="query", line=problem.line
            ) from None
        around = locate(self._files, self._index, this, progress) if this.strip() else VaultPath("")
        rows = self._index.rows(
            progress, has_inline_fields=False
        )  # they are read with the text, typed as Dataview does
        host = NotesHost(self._index, rows, self._files, progress, self._known, names_in(query))
        now = in_zone(self._now())
        zone = now.tzinfo
        assert zone is not None, "in_zone gives one"
        vault = PageVault(host, zone, _texts(self._settings.get()))
        shared = Shared(vault, now, Page(vault, around) if around else None)
        notes = _Sources(rows, host, around, progress).notes(query.source)
        host.list_files(notes)
        try:
            return run(query, (note.path for note in notes), shared, progress.check)
        except TooMuchMemoryError as error:
            hint = "Leave more notes out with FROM or WHERE, or use LIMIT."
            raise VaultError(TOO_LARGE, f"{error}. {hint}", argument="query") from None
        finally:
            host.release()


def _texts(settings: Settings) -> TextSettings:
    own = {
        "day": settings.dataview_date,
        "moment": settings.dataview_time,
        "file_column": settings.dataview_file,
        "group_column": settings.dataview_group,
    }
    texts = DEFAULT_TEXTS._replace(**{name: text for name, text in own.items() if text})
    nothing = settings.dataview_nothing
    # It is written as Markdown, with a backslash before a hyphen by default.
    return texts if nothing is None else texts._replace(nothing=re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", nothing))


class _Sources:
    """Finds the notes that FROM names."""

    def __init__(self, rows: Rows, host: NotesHost, this: VaultPath, progress: Progress) -> None:
        self._rows = rows
        self._host = host
        self._this = this
        self._progress = progress

    def notes(self, source: Source | None) -> list[RowFile]:
        """Return the notes of a source, in path order."""
        found = self._all() if source is None else self._of(source)
        return sorted(found.values(), key=lambda file: file.path)

    def _of(self, source: Source) -> Mapping[str, RowFile]:
        if isinstance(source, BothSources):
            left, right = self._of(source.left), self._of(source.right)
            return {**left, **right} if source.operator == "|" else {path: left[path] for path in left if path in right}
        if isinstance(source, NotSource):
            without = self._of(source.of)
            return {path: file for path, file in self._all().items() if path not in without}
        if isinstance(source, TagSource):
            return _by_path(self._rows.find(Tagged(source.tag.removeprefix("#")), self._progress))
        if isinstance(source, FolderSource):
            return self._in_folder(source.path)
        return self._linked(source)

    def _all(self) -> dict[str, RowFile]:
        return _by_path(self._rows.find(NameEndsWith(NOTE_SUFFIX), self._progress))

    def _in_folder(self, path: str) -> dict[str, RowFile]:
        folder = path.strip("/")
        below = _by_path(self._rows.find(Below(folder), self._progress))
        return below or _by_path(self._rows.at([folder, folder + NOTE_SUFFIX], self._progress))

    def _linked(self, source: LinkSource) -> dict[str, RowFile]:
        linktext = source.linktext.strip("# ")
        target = self._host.resolve(linktext, self._this) if linktext else self._this
        if not target and not linktext:
            message = "[[]] means the note that the query stands in: say which one it is with “this”."
            raise VaultError(INVALID_ARGUMENTS, message, argument="this")
        if not target:
            raise VaultError(INVALID_ARGUMENTS, f"FROM: there is no note {linktext!r}.", argument="query")
        if not source.is_outgoing:
            return _by_path(self._rows.at(self._host.backlinks(target), self._progress))
        targets = {self._host.resolve(link.linktext, target) for link in self._host.links(target)}
        return _by_path(self._rows.at([path for path in targets if path is not None], self._progress))


def _by_path(files: Iterable[RowFile]) -> dict[str, RowFile]:
    return {file.path: file for file in files if is_note(file.path)}


def names_in(query: Query) -> set[str]:
    """Return all names of fields and functions in a query; ``tasks`` for a query of tasks, too."""
    names = {"tasks"} if query.type == "task" else set()
    for node in nodes_of(query):
        if isinstance(node, Name):
            names.add(node.name)
        elif isinstance(node, IndexNode) and isinstance(node.index, Literal) and isinstance(node.index.value, str):
            names.add(node.index.value)
        elif isinstance(node, IndexNode) or (
            isinstance(node, Call) and node.name in FUNCTION_NAMES & {"extract", "contains"}
        ):
            names |= _ITEM_NAMES | _CREATION_NAMES  # a name may be computed
    return names
