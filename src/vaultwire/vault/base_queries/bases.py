"""The bases of a vault, for one caller: what there are, their views, and what a view gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from vaultwire.bases.base import Base, NotABaseError, View, read_base
from vaultwire.bases.base_blocks import base_blocks
from vaultwire.bases.base_edits import NewNoteInView, new_note_in
from vaultwire.bases.values import TooMuchMemoryError
from vaultwire.vault.base_queries import sources
from vaultwire.vault.base_queries.explaining import explain
from vaultwire.vault.base_queries.failures import Failures
from vaultwire.vault.base_queries.host import VaultHost
from vaultwire.vault.base_queries.lazy_rows import LazyRows
from vaultwire.vault.base_queries.one_property import OneProperty
from vaultwire.vault.base_queries.remembered_results import RememberedResults
from vaultwire.vault.base_queries.results import BaseBlock, BaseResult, BaseSource, Explanation
from vaultwire.vault.base_queries.running import ViewQuery
from vaultwire.vault.base_queries.uses import asks_for_creation, depends_on_time
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.note_text import plain_text
from vaultwire.vault.errors import INVALID_ARGUMENTS, TOO_LARGE, VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.index.rows import Rows
from vaultwire.vault.links.note_lookup import locate, locate_file
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath

_ONLY_VIEW = View("Table")
"""What a base without views shows."""

# An error that names more views helps nobody.
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class _LocalZone(tzinfo):
    """This computer's time zone, with the offset that it has at each date. ``names``: tells it from another one."""

    names: tuple[str, str]

    def utcoffset(self, at: datetime | None) -> timedelta:
        """Return the offset at a time of this zone."""
        return _offset(datetime.now(UTC) if at is None else at.replace(tzinfo=None))

    def dst(self, at: datetime | None) -> None:  # noqa: ARG002
        """Return nothing: nobody asks for it."""
        return

    def tzname(self, at: datetime | None) -> str:
        """Return the offset as a text."""
        return f"UTC{self.utcoffset(at)}"

    def fromutc(self, at: datetime) -> datetime:
        """Return a time of UTC in this zone."""
        offset = _offset(at.replace(tzinfo=UTC))
        local = at + offset
        return local if _offset(local.replace(tzinfo=None)) == offset else local.replace(fold=1)


def _offset(at: datetime) -> timedelta:
    try:
        return at.astimezone().utcoffset() or timedelta(0)
    except (OSError, OverflowError, ValueError):  # a time that the system does not know
        return timedelta(seconds=-time.timezone)


def _in_zone(now: datetime) -> datetime:
    """Return the time with a zone that knows the offset of every date; a local time has none."""
    return now if now.tzinfo else now.replace(tzinfo=_LocalZone(time.tzname))


class Bases:
    """The bases of one vault. Safe to use from several threads."""

    def __init__(
        self,
        files: Files,
        index: Index,
        settings: CachedSettings,
        now: Callable[[], datetime],
        remembered: RememberedResults,
        *,
        by_index: bool = True,
    ) -> None:
        """``now`` gives the person's local time. ``by_index``: what the index can answer of a filter is asked of it."""
        self._files = files
        self._index = index
        self._settings = settings
        self._now = now
        self._remembered = remembered
        self._by_index = by_index

    def files(self, progress: Progress = NO_PROGRESS) -> list[VaultPath]:
        """Return every ``.base`` file, in path order, without those that the vault's own rules exclude."""
        return sources.base_files(self._index, progress)

    def blocks(self, note: str, progress: Progress = NO_PROGRESS) -> list[BaseBlock]:
        """Return the ```` ```base ```` blocks of the note that ``note`` means. Raises VaultError as ``Vault.read`` does."""
        path = locate(self._files, self._index, note, progress)
        blocks = base_blocks(plain_text(self._files.read(path).data))
        return [
            BaseBlock(number, block.line, block.text, _view_names(block.text)) for number, block in enumerate(blocks, 1)
        ]

    def read(self, source: BaseSource, progress: Progress = NO_PROGRESS) -> tuple[str, Base]:
        """Return the path of the file that holds a base ("" for a text without a place), and what the base says.

        Raises VaultError: FILE_NOT_FOUND and others of ``Vault.read``, INVALID_ARGUMENTS for what is no base.
        """
        place = sources.read_source(self._files, self._index, source, progress)
        return place.path, _read(place)

    def views(self, source: BaseSource, progress: Progress = NO_PROGRESS) -> list[View]:
        """Return the views of a base, at least one. Raises VaultError as ``read`` does."""
        return [*_views(self.read(source, progress)[1])]

    def query(
        self, source: BaseSource, view: str = "", *, this: str = "", progress: Progress = NO_PROGRESS
    ) -> BaseResult:
        """Return what a view gives; without a name the first view, or the one in the source's path (``File.base#View``).

        ``this``: the file that the base is shown in, as people name files; by default the base's own file, or the note
        that its block is in. Raises VaultError as ``read`` does, and INVALID_ARGUMENTS for a view that there is not.
        """
        place = sources.read_source(self._files, self._index, source, progress)
        around = self._this(place, this, progress)
        name = view or place.view
        types = self._settings.get().property_types
        rows = self._index.rows.checked(progress)
        version = rows.version(progress)
        question = (place.text, place.path, name, around, tuple(types.items()))
        known = self._remembered.get(question, version)
        if known is not None:
            return known
        query = self._query(rows, _read(place), name, around, progress)
        result = self._run(query, rows, place.path, progress)
        if not depends_on_time(query.base, query.view):
            self._remembered.keep(question, version, result)
        return result

    def explain(
        self,
        source: BaseSource,
        view: str,
        note: str,
        *,
        this: str = "",
        progress: Progress = NO_PROGRESS,
    ) -> Explanation:
        """Return why a file is in a view or not: what each filter and each formula gave for it.

        Raises VaultError as ``query`` does, and as ``Vault.locate`` for the note.
        """
        place = sources.read_source(self._files, self._index, source, progress)
        around = self._this(place, this, progress)
        path = locate_file(self._files, self._index, note, progress)
        rows = self._index.rows.checked(progress)
        query = self._query(rows, _read(place), view or place.view, around, progress)
        found = rows.at([path], progress)
        if not found:
            return Explanation(path, query.view, False, [], [], ["The vault's own rules exclude this file."])
        query.host.list_files(found)
        return explain(query, path)

    def _query(self, rows: Rows, base: Base, view: str, this: str, progress: Progress) -> ViewQuery:
        shown = find_view(base, view)
        host = self._host(rows, progress, reads_creation=asks_for_creation(base, shown))
        return ViewQuery(rows, host, base, shown, this=this, now=_in_zone(self._now()))

    def _run(self, query: ViewQuery, rows: Rows, path: str, progress: Progress) -> BaseResult:
        judge = OneProperty(query, rows, progress) if self._by_index else None
        try:
            outcome = query.outcome(judge, progress)
        except TooMuchMemoryError as error:
            hint = "Filter more files away, or shorten the values."
            raise VaultError(TOO_LARGE, f"{error}. {hint}") from None
        query.end()
        return BaseResult(
            query.base,
            query.view,
            query.columns,
            LazyRows(query, outcome),
            outcome.groups,
            outcome.summaries,
            outcome.total,
            query.failures.all,
            query.failures.of_rows,
            path,
            query.shared.memory.kept,
        )

    def new_note(self, source: BaseSource, view: str, progress: Progress = NO_PROGRESS) -> NewNoteInView:
        """Return what a new note needs to be in a view. Raises VaultError as ``query`` and ``check_understood`` do."""
        place = sources.read_source(self._files, self._index, source, progress)
        base = _read(place)
        shown = find_view(base, view or place.view)
        check_understood(Failures(base, shown).of_rows)
        return new_note_in(base, shown)

    def host(self, progress: Progress = NO_PROGRESS) -> VaultHost:
        """Return what tells where the links in cells lead."""
        return self._host(self._index.rows.checked(progress), progress, reads_creation=False)

    def _host(self, rows: Rows, progress: Progress, *, reads_creation: bool) -> VaultHost:
        types = self._settings.get().property_types
        return VaultHost(self._index, rows, self._files, types, progress, reads_creation=reads_creation)

    def _this(self, place: sources.Place, this: str, progress: Progress) -> str:
        return locate_file(self._files, self._index, this, progress) if this.strip() else place.path


def check_understood(problems: Sequence[str]) -> None:
    """Raise VaultError (INVALID_ARGUMENTS) for a view of which it is open what it shows: nothing is written by such a view."""
    if problems:
        more = f" There are {len(problems) - 1} more problems." if len(problems) > 1 else ""
        what = f"Nothing was changed: it is open which files the view shows. {problems[0].rstrip('.')}.{more}"
        raise VaultError(INVALID_ARGUMENTS, f"{what} Repair the base first.", argument="base")


def _read(place: sources.Place) -> Base:
    try:
        return read_base(place.text)
    except NotABaseError as error:
        where = f"{place.path!r}: " if place.path else ""
        raise VaultError(INVALID_ARGUMENTS, f"{where}{error}", path=place.path) from None


def _views(base: Base) -> tuple[View, ...]:
    return base.views or (_ONLY_VIEW,)


def find_view(base: Base, name: str) -> View:
    """Return the view of a name: exactly so, else in any case; the first one for no name. Raises VaultError."""
    views = _views(base)
    if not name:
        return views[0]
    for wanted in (name, name.strip()):
        for view in views:
            if view.name == wanted:
                return view
    folded = name.strip().casefold()
    for view in views:
        if view.name.strip().casefold() == folded:
            return view
    names = [repr(view.name) for view in views]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    known = f"It has {', '.join(names[:_MOST_NAMED])}{more}."
    raise VaultError(INVALID_ARGUMENTS, f"The base has no view {name!r}. {known}", argument="view")


def _view_names(text: str) -> list[str]:
    try:
        return [view.name for view in _views(read_base(text))]
    except NotABaseError:
        return []
