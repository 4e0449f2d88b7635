"""The bases of a vault, for one caller: what there are, their views, and what a view gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from vaultwire.bases.base import (
    Base,
    Broken,
    Condition,
    Expression,
    Filter,
    NotABaseError,
    View,
    place_of_name,
    read_base,
)
from vaultwire.bases.base_blocks import base_blocks, no_block
from vaultwire.bases.base_edits import NewNoteInView, new_note_in
from vaultwire.bases.evaluation import evaluate
from vaultwire.bases.parser import to_text
from vaultwire.bases.row import Row
from vaultwire.bases.values import ErrorValue, TooMuchMemoryError, Value, text_of
from vaultwire.vault.base_queries.host import HostWithNote, NoteToBe, VaultHost
from vaultwire.vault.base_queries.narrowing import asks_for_creation, depends_on_time, lasting_formulas
from vaultwire.vault.base_queries.running import (
    BaseBlock,
    BaseResult,
    BaseSource,
    Explanation,
    Failures,
    FilterVerdict,
    FormulaResult,
    ResultRows,
    ViewQuery,
)
from vaultwire.vault.caller import RememberedResults
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import BASE_SUFFIX, is_base
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, TOO_LARGE, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.rows import NameEndsWith, Rows
from vaultwire.vault.links.note_lookup import locate, locate_file, subpath_of
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath
from vaultwire.vault.visibility.excludes import CachedExcludes

# Finds bases: ``.base`` files, ```` ```base ```` blocks of notes, and the text of one that a caller names.


class Place(NamedTuple):
    """A base that was found: the file that holds it ("" for a text without a place), its text, and the view in its name."""

    path: str
    text: str
    view: str = ""


def read_source(files: Files, index: Index, source: BaseSource, progress: Progress) -> Place:
    """Return the base that a caller means. ``Name.base#View`` names a view, too.

    Raises VaultError: FILE_NOT_FOUND, AMBIGUOUS_NAME, TOO_LARGE, INVALID_ARGUMENTS for a file that is no base, and for a
    block that the note does not have.
    """
    if source.text:
        return Place(_place_of(files, index, source.path, progress) if source.path else "", source.text)
    if not source.path.strip():
        raise VaultError(INVALID_ARGUMENTS, "Name a .base file, or give the text of a base.", argument="path")
    if source.block:
        return _read_block(files, index, source, progress)
    path = locate_base(files, index, source.path, progress)
    view = subpath_of(source.path, path) if "#" in source.path else ""
    return Place(path, plain_text(files.read(path).data), view)


def locate_base(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the ``.base`` file that ``name`` means, with its extension or without.

    Raises VaultError: FILE_NOT_FOUND, AMBIGUOUS_NAME, INVALID_ARGUMENTS for another file.
    """
    try:
        path = locate_file(files, index, name, progress)
        if is_base(path):
            return path
    except VaultError as error:
        if error.code != FILE_NOT_FOUND or BASE_SUFFIX in name.casefold():
            raise
        path = None
    stem, mark, view = name.strip().strip("[]!").partition("#")
    if not stem.strip().casefold().endswith((BASE_SUFFIX, ".md", ".canvas")):
        try:
            with_suffix = locate_file(files, index, f"{stem.strip()}{BASE_SUFFIX}{mark}{view}", progress)
        except VaultError as error:
            if error.code != FILE_NOT_FOUND:
                raise
        else:
            if is_base(with_suffix):
                return with_suffix
    if path is None:
        raise VaultError(FILE_NOT_FOUND, f"There is no base {name!r} in the vault.", path=name)
    hint = " Say which of its base blocks is meant (block=1 is the first)." if path.endswith(".md") else ""
    raise VaultError(INVALID_ARGUMENTS, f"{path!r} is no base. Bases end in {BASE_SUFFIX!r}.{hint}", path=path)


def _place_of(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    return locate_base(files, index, name, progress) if is_base(name) else locate_file(files, index, name, progress)


def _read_block(files: Files, index: Index, source: BaseSource, progress: Progress) -> Place:
    path = locate(files, index, source.path, progress)
    blocks = base_blocks(plain_text(files.read(path).data))
    if not 1 <= source.block <= len(blocks):
        raise VaultError(INVALID_ARGUMENTS, f"{path!r} {no_block(len(blocks), source.block)}.", path=path)
    return Place(path, blocks[source.block - 1].text)


# Explains a view: why one file is in it or not, filter by filter, and what each formula gives for it.

_WHY = {"or": "no filter of an “or” holds", "not": "a filter of a “not” holds"}


def explain(query: ViewQuery, path: VaultPath) -> Explanation:
    """Return what each filter and each formula of a view gives for a file."""
    row = query.row(path)
    filters: list[FilterVerdict] = []
    dropped: list[str] = []
    for of, condition in (("base", query.base.filter), ("view", query.view.filter)):
        if condition is None:
            continue
        filters += _verdicts(query, row, of, condition, 0)
        if query.holds(condition, row) is not True:
            dropped += [f"{of}: {why}" for why in _reasons(query, row, condition)]
    formulas = [
        FormulaResult(name, _written(formula), evaluate(formula, row)) for name, formula in query.base.formulas.items()
    ]
    return Explanation(path, query.view, not dropped, filters, formulas, dropped, query.failures.all)


def _verdicts(query: ViewQuery, row: Row, of: str, condition: Filter, depth: int) -> Iterator[FilterVerdict]:
    holds = query.holds(condition, row) is True
    if isinstance(condition, Condition):
        yield FilterVerdict(of, depth, condition.text, evaluate(condition.expression, row), holds)
        return
    yield FilterVerdict(of, depth, condition.kind, holds, holds)
    for each in condition.filters:
        yield from _verdicts(query, row, of, each, depth + 1)


def _reasons(query: ViewQuery, row: Row, condition: Filter) -> Iterator[str]:
    """Yield, for a filter that does not hold, the filters that are the reason."""
    if isinstance(condition, Condition):
        yield f"{condition.text} gave {_shown(evaluate(condition.expression, row))}"
    elif condition.kind == "and":
        for each in condition.filters:
            if query.holds(each, row) is not True:
                yield from _reasons(query, row, each)
    else:
        inner = [each for each in condition.filters if condition.kind == "or" or query.holds(each, row) is not False]
        said = [
            f"{each.text} gave {_shown(evaluate(each.expression, row))}" if isinstance(each, Condition) else each.kind
            for each in inner
        ]
        yield f"{_WHY[condition.kind]}: {'; '.join(said) or 'it has none'}"


def _shown(value: Value) -> str:
    if isinstance(value, ErrorValue):
        return f"the error “{value.message}”"
    if value is None:
        return "nothing"
    return text_of(value) or "an empty text"


def _written(expression: Expression) -> str:
    return expression.text if isinstance(expression, Broken) else to_text(expression)


_ONLY_VIEW = View("Table")
"""What a base without views shows."""

_IS_EXCLUDED = "The vault's own rules exclude this file."
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


def in_zone(now: datetime) -> datetime:
    """Return the time with a zone that knows the offset of every date; a local time has none."""
    return now if now.tzinfo else now.replace(tzinfo=_LocalZone(time.tzname))


class _Shared(NamedTuple):
    """What the views of a base share while nothing in the vault changes: what its text says, and values of its formulas."""

    base: Base
    formulas: Mapping[str, dict[str, Value]]

    @classmethod
    def of(cls, place: Place) -> _Shared:
        base = _read(place)
        return cls(base, {name: {} for name in lasting_formulas(base)})


class Bases:
    """The bases of one vault. Safe to use from several threads."""

    def __init__(
        self,
        files: Files,
        index: Index,
        settings: CachedSettings,
        now: Callable[[], datetime],
        remembered: RememberedResults[BaseResult],
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
        return [file.path for file in self._index.rows(progress).find(NameEndsWith(BASE_SUFFIX), progress)]

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
        place = read_source(self._files, self._index, source, progress)
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
        place = read_source(self._files, self._index, source, progress)
        around = self._this(place, this, progress)
        name = view or place.view
        types = self._settings.get().property_types
        rows = self._index.rows(progress)
        version = rows.version(progress)
        now = in_zone(self._now())
        of_base = (place.text, place.path, around, tuple(types.items()), now.tzinfo)
        question = (name, *of_base)
        known = self._remembered.get(question, version)
        if known is not None:
            return known
        shared = self._remembered.shared(of_base, version, lambda: _Shared.of(place))
        query = self._query(rows, shared.base, name, around, now, progress, shared.formulas)
        result = self._run(query, place.path, progress)
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
        place = read_source(self._files, self._index, source, progress)
        around = self._this(place, this, progress)
        path = locate_file(self._files, self._index, note, progress)
        rows = self._index.rows(progress)
        query = self._query(rows, _read(place), view or place.view, around, in_zone(self._now()), progress)
        files = rows.at([path], progress)
        if not files:
            return Explanation(path, query.view, False, [], [], [_IS_EXCLUDED])
        query.host.list_files(files)
        return explain(query, path)

    def missing_from(
        self, source: BaseSource, view: str, path: VaultPath, text: str, progress: Progress = NO_PROGRESS
    ) -> list[str]:
        """Return why a note that is not there yet would not be in a view; nothing if it would be. Raises as ``query``."""
        place = read_source(self._files, self._index, source, progress)
        base = _read(place)
        view_asked = find_view(base, view or place.view)
        if CachedExcludes(self._files.root, self._settings).get().is_excluded(path):
            return [_IS_EXCLUDED]
        now = in_zone(self._now())
        rows = self._index.rows(progress)
        types = self._settings.get().property_types
        note = NoteToBe(path, text, now.timestamp() * 1000)
        host = HostWithNote(self._index, rows, self._files, types, progress, note)
        return explain(ViewQuery(rows, host, base, view_asked, this=place.path, now=now), path).dropped_by

    def _query(
        self,
        rows: Rows,
        base: Base,
        view: str,
        this: str,
        now: datetime,
        progress: Progress,
        known: Mapping[str, dict[str, Value]] | None = None,
    ) -> ViewQuery:
        shown = find_view(base, view)
        host = self._host(rows, progress, reads_creation=asks_for_creation(base, shown))
        return ViewQuery(rows, host, base, shown, this=this, now=now, known=known)

    def _run(self, query: ViewQuery, path: str, progress: Progress) -> BaseResult:
        try:
            outcome = query.outcome(progress, by_index=self._by_index)
        except TooMuchMemoryError as error:
            hint = "Filter more files away, or shorten the values."
            raise VaultError(TOO_LARGE, f"{error}. {hint}") from None
        query.end()
        return BaseResult(
            query.base,
            query.view,
            query.columns,
            ResultRows(query, outcome),
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
        place = read_source(self._files, self._index, source, progress)
        base = _read(place)
        shown = find_view(base, view or place.view)
        check_understood(Failures(base, shown).of_rows)
        return new_note_in(base, shown)

    def host(self, progress: Progress = NO_PROGRESS) -> VaultHost:
        """Return what tells where the links in cells lead."""
        return self._host(self._index.rows(progress), progress, reads_creation=False)

    def _host(self, rows: Rows, progress: Progress, *, reads_creation: bool) -> VaultHost:
        types = self._settings.get().property_types
        return VaultHost(self._index, rows, self._files, types, progress, reads_creation=reads_creation)

    def _this(self, place: Place, this: str, progress: Progress) -> str:
        return locate_file(self._files, self._index, this, progress) if this.strip() else place.path


def check_understood(problems: Sequence[str]) -> None:
    """Raise VaultError (INVALID_ARGUMENTS) for a view of which it is open what it shows: nothing is written by such a view."""
    if problems:
        more = f" There are {len(problems) - 1} more problems." if len(problems) > 1 else ""
        what = f"Nothing was changed: it is open which files the view shows. {problems[0].rstrip('.')}.{more}"
        raise VaultError(INVALID_ARGUMENTS, f"{what} Repair the base first.", argument="base")


def _read(place: Place) -> Base:
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
    place = place_of_name([view.name for view in views], name) if name else 0
    if place is not None:
        return views[place]
    names = [repr(view.name) for view in views]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    known = f"It has {', '.join(names[:_MOST_NAMED])}{more}."
    raise VaultError(INVALID_ARGUMENTS, f"The base has no view {name!r}. {known}", argument="view")


def _view_names(text: str) -> list[str]:
    try:
        return [view.name for view in _views(read_base(text))]
    except NotABaseError:
        return []
