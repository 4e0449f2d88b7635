"""What queries of bases ask of an index: which files meet conditions, and facts of many files at once.

No answer has files that the vault's own rules exclude.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.caller import RememberedFacts
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.index.catalog import FIRST_INLINE_FIELD, IN_LIST, Catalog
from vaultwire.vault.index.catalog_queries import below, from_stored, incoming, tags_of, targets
from vaultwire.vault.links.link_resolver import LinkResolver, link_name, link_names_to, linkpath_of
from vaultwire.vault.listed import size_of
from vaultwire.vault.value_types import Progress, VaultPath


class RowFile(NamedTuple):
    """A file: its number in the index, its path, size and time of the last change in nanoseconds since 1970."""

    id: int
    path: VaultPath
    size: int
    modified_ns: int


class StoredLink(NamedTuple):
    """A link of a note. ``display`` is empty where the link has no text of its own."""

    linktext: str
    display: str
    is_embed: bool


@dataclass(frozen=True, slots=True)
class Tagged:
    """Notes with the tag or a tag below it, in any case."""

    tag: str


@dataclass(frozen=True, slots=True)
class Below:
    """Files anywhere below the folder, in exactly this case; "" means all files."""

    folder: str


@dataclass(frozen=True, slots=True)
class DirectlyIn:
    """Files right in the folder, in exactly this case; "" is the vault's root."""

    folder: str


@dataclass(frozen=True, slots=True)
class AtPath:
    """The file of exactly this path."""

    path: str


@dataclass(frozen=True, slots=True)
class NameEndsWith:
    """Files whose name ends so, in any case."""

    ending: str


@dataclass(frozen=True, slots=True)
class HasExtension:
    """Files with exactly this extension, in this case; it has no dot."""

    extension: str


@dataclass(frozen=True, slots=True)
class HasProperty:
    """Notes that have the property, also without a value; its name in any case."""

    name: str


@dataclass(frozen=True, slots=True)
class HasValue:
    """Notes whose property has one of these values, as ``Rows.values`` gives them; ``or_none``: or files without it."""

    name: str
    values: tuple[str, ...]
    or_none: bool


@dataclass(frozen=True, slots=True)
class AsksFor:
    """Notes with a link that asks for one of these names (``link_name``)."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """Files whose last change is in this time, in nanoseconds since 1970; ``end`` is left out, None is no bound."""

    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Every:
    """Files that meet every one of the conditions; all files if there is none."""

    of: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Files that meet one of the conditions; no file if there is none."""

    of: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Files that do not meet the condition."""

    of: Condition


Condition: TypeAlias = (
    Tagged
    | Below
    | DirectlyIn
    | AtPath
    | NameEndsWith
    | HasExtension
    | HasProperty
    | HasValue
    | AsksFor
    | Changed
    | Every
    | AnyOf
    | Not
)
"""A condition on files that an index can answer."""


ResolveLink: TypeAlias = Callable[[VaultPath, str], VaultPath | None]
"""Returns the file that a link path in a note leads to."""


# Queries of the catalog for bases: SQL for conditions on files, and facts of many files at once.

_Answer = TypeVar("_Answer")

# A model asks a few questions again and again. All that is remembered takes so much memory at most, except the latest answer.
_MOST_BYTES = 16_000_000
_MOST = 64


def new_memory() -> RememberedFacts:
    """Return what remembers answers that are true until the catalog changes: lists are read by pages."""
    return RememberedFacts(_MOST_BYTES, _MOST)


def remembered(memory: RememberedFacts, question: Hashable, catalog: Catalog, make: Callable[[], _Answer]) -> _Answer:
    """Return what ``make`` gives, made again only after the catalog has changed. Two threads may make the same at once."""
    # With the catalog itself: a call in which the index is rebuilt goes on with another one. Its version is read first: the
    # next call sees a change that comes in between.
    state = catalog, catalog.version()
    answer: _Answer | None = memory.get(question, state)
    if answer is None:
        answer = make()
        memory.keep(question, state, answer, size_of(answer))
    return answer


# The parts of a resolver of all links in memory: about so many bytes for each file.
_BYTES_PER_FILE = 600
_BYTES_PER_VALUE = 150
_Test = tuple[str, list[Any]]


class Ask(Protocol):
    """Asks the catalog of an index a question."""

    def __call__(self, question: Callable[[Catalog], _Answer], progress: Progress) -> _Answer:
        """Return the answer."""


class Rows:
    """Answers for queries of bases, without a look for changes: one query asks hundreds of questions (``Index.rows``).

    Facts are by the file's number; files that have none are not in an answer.
    """

    def __init__(self, ask: Ask, memory: RememberedFacts, *, has_inline_fields: bool = True) -> None:
        """``has_inline_fields``: those that the index has are among the properties of a note."""
        self._ask = ask
        self._memory = memory
        self._end = 2 * FIRST_INLINE_FIELD if has_inline_fields else FIRST_INLINE_FIELD

    def version(self, progress: Progress) -> Hashable:
        """Return a value that differs once anything has changed that an answer depends on."""
        # The name of the text index tells catalogs apart: one that is built again counts from the start.
        return self._ask(lambda catalog: (catalog.meta("text"), *catalog.version()), progress)

    def find(self, condition: Condition, progress: Progress) -> list[RowFile]:
        """Return the files that meet the condition, notes and attachments, in path order."""
        return self._ask(lambda catalog: _find(catalog, condition, self._memory), progress)

    def at(self, paths: Collection[str], progress: Progress) -> list[RowFile]:
        """Return the files of exactly these paths, without those that are not there."""
        select = f"SELECT id, path, size, modified FROM files WHERE NOT is_excluded AND path {IN_LIST}"
        rows = self._ask(lambda catalog: catalog.rows(select, [json.dumps([*paths])]), progress)
        return [RowFile(*row) for row in rows]

    def values(self, name: str, most: int, progress: Progress) -> dict[str, PropertyValue] | None:
        """Return the values that a property has in any note, by their stored form; None if there are more than ``most``."""
        key = fold(name)
        select = "SELECT DISTINCT value FROM properties WHERE name = ? LIMIT ?"

        def answer(catalog: Catalog) -> list[tuple[str]]:
            return remembered(
                self._memory, ("values", key, most), catalog, lambda: catalog.rows(select, [key, most + 1])
            )

        rows = self._ask(answer, progress)
        return None if len(rows) > most else {stored: from_stored(stored) for (stored,) in rows}

    def column(self, name: str, ids: Collection[int] | None, progress: Progress) -> Mapping[int, PropertyValue]:
        """Return the values of a property (its name in any case) in these notes, or in all.

        Those of all are remembered: the views of a base ask for the same ones.
        """
        key = fold(name)
        if ids is None:
            return self._ask(
                lambda catalog: remembered(
                    self._memory, ("column", key, self._end), catalog, lambda: _Column(catalog, key, self._end)
                ),
                progress,
            ).values
        select = f"SELECT note, value FROM properties WHERE name = ? AND place < ? AND note {IN_LIST}"
        rows = self._ask(lambda catalog: catalog.rows(select, [key, self._end, json.dumps([*ids])]), progress)
        return {note: from_stored(stored) for note, stored in rows}

    def properties(self, ids: Collection[int], progress: Progress) -> dict[int, dict[str, PropertyValue]]:
        """Return all properties of these notes, in their order, with names as written."""
        select = f"SELECT note, spelling, value FROM properties WHERE place < ? AND note {IN_LIST} ORDER BY note, place"
        asked = [self._end, json.dumps([*ids])]
        properties: dict[int, dict[str, PropertyValue]] = {}
        for note, name, stored in self._ask(lambda catalog: catalog.rows(select, asked), progress):
            properties.setdefault(note, {})[name] = from_stored(stored)
        return properties

    def tags(self, ids: Collection[int], progress: Progress) -> dict[int, list[str]]:
        """Return the tags of these notes, without ``#``, in the order of the note."""
        return self._ask(lambda catalog: tags_of(catalog, [*ids]), progress)

    def links(self, ids: Collection[int], progress: Progress) -> Mapping[int, list[StoredLink]]:
        """Return the links of these notes, in the order of the note, without those to files that the rules exclude."""
        return self._ask(lambda catalog: _links(catalog, ids), progress)

    def backlinks(self, path: VaultPath, progress: Progress) -> list[VaultPath]:
        """Return the notes and canvases with a link to the file, in path order."""
        return self._ask(lambda catalog: sorted({source for source, _ in incoming(catalog, path)}), progress)

    def resolve(self, source: VaultPath, linkpath: str, progress: Progress) -> VaultPath | None:
        """Return the file that a link leads to; None if it leads nowhere, or to a file that the rules exclude."""

        def answer(catalog: Catalog) -> VaultPath | None:
            target = targets(catalog, [link_name(source, linkpath)]).resolve(source, linkpath)
            is_excluded = target and catalog.rows("SELECT 1 FROM files WHERE is_excluded AND path = ?", [target])
            return None if is_excluded else target

        return self._ask(answer, progress)

    def resolver(self, progress: Progress) -> ResolveLink:
        """Return what resolves very many links as ``resolve`` does, of the files as they are now."""
        return self._ask(
            lambda catalog: remembered(self._memory, "resolver", catalog, lambda: _resolver(catalog)), progress
        ).resolve


class _Column:
    """The values of one property in all notes."""

    def __init__(self, catalog: Catalog, name: str, end: int) -> None:
        rows = catalog.rows("SELECT note, value FROM properties WHERE name = ? AND place < ?", [name, end])
        self.values = {note: from_stored(stored) for note, stored in rows}
        self.size = 1 + sum(_BYTES_PER_VALUE + 2 * len(stored) for _, stored in rows)


class _NotesByValue:
    """The notes that have a property, by its value as stored: the views of a base ask for several values of one."""

    def __init__(self, catalog: Catalog, name: str) -> None:
        rows = catalog.rows(
            "SELECT value, json_group_array(note) FROM properties WHERE name = ? GROUP BY value", [name]
        )
        self.notes = {value: array("q", json.loads(notes)) for value, notes in rows}
        self.size = 1 + sum(_BYTES_PER_VALUE + 2 * len(value) + size_of(notes) for value, notes in self.notes.items())


def _find(catalog: Catalog, condition: Condition, memory: RememberedFacts) -> list[RowFile]:
    conditions: Sequence[Condition] = condition.of if isinstance(condition, Every) else [condition]
    among, chosen = "1", []
    listed = {each: select for each in conditions if (select := _notes_with(each)) is not None}
    if len(listed) > 1:
        # SQLite would make each list of notes for every view of a base.
        ids = set.intersection(*(_listed(catalog, each, select, memory) for each, select in listed.items()))
        among, chosen = f"id {IN_LIST}", [json.dumps([*ids])]
        conditions = [each for each in conditions if each not in listed]
    test, values = _joined(" AND ", conditions, "1")
    select_files = (
        f"SELECT id, path, size, modified FROM files WHERE NOT is_excluded AND {among} AND {test} ORDER BY path"
    )
    return [*map(RowFile._make, catalog.rows(select_files, chosen + values))]


def _listed(catalog: Catalog, condition: Condition, select: _Test, memory: RememberedFacts) -> set[int]:
    """Return the notes that meet a condition. ``select``: its ``_notes_with``."""
    if isinstance(condition, HasValue):
        name = fold(condition.name)
        by_value = remembered(memory, ("notes by value", name), catalog, lambda: _NotesByValue(catalog, name)).notes
        return {note for value in condition.values for note in by_value.get(value, ())}
    return {*remembered(memory, condition, catalog, lambda: array("q", (note for (note,) in catalog.rows(*select))))}


class _VisibleResolver:
    """Resolves links to all files; links to excluded ones lead nowhere."""

    def __init__(self, paths: Collection[VaultPath], excluded: Collection[VaultPath]) -> None:
        self.size = _BYTES_PER_FILE * len(paths)
        self._excluded = frozenset(excluded)
        self._resolve = LinkResolver(paths).resolve

    def resolve(self, source: VaultPath, linkpath: str) -> VaultPath | None:
        target = self._resolve(source, linkpath)
        return None if target in self._excluded else target


def _resolver(catalog: Catalog) -> _VisibleResolver:
    rows = catalog.rows("SELECT path, is_excluded FROM files")
    return _VisibleResolver([path for path, _ in rows], [path for path, is_excluded in rows if is_excluded])


def _links(catalog: Catalog, ids: Collection[int]) -> dict[int, list[StoredLink]]:
    rows = catalog.rows(
        f"SELECT note, linktext, display, kind & 1 FROM links WHERE note {IN_LIST} ORDER BY note, place",
        [json.dumps([*ids])],
    )
    lost = _excluded_links(catalog, ids)
    links: dict[int, list[StoredLink]] = {}
    for note, linktext, display, is_embed in rows:
        if (note, linktext) not in lost:
            links.setdefault(note, []).append(StoredLink(linktext, display, bool(is_embed)))
    return links


def _excluded_links(catalog: Catalog, ids: Collection[int]) -> set[tuple[int, str]]:
    """Return note and linktext of each link to a file that is excluded."""
    excluded = {path for (path,) in catalog.rows("SELECT path FROM files WHERE is_excluded")}
    if not excluded:
        return set()
    names = {name for path in excluded for name in link_names_to(path)}
    rows = catalog.rows(
        "SELECT DISTINCT note, path, linktext FROM links JOIN files ON id = note"
        f" WHERE note {IN_LIST} AND links.name {IN_LIST}",
        [json.dumps([*ids]), json.dumps([*names])],
    )
    leads_to = targets(catalog, {link_name(source, linktext) for _, source, linktext in rows})
    return {
        (note, linktext)
        for note, source, linktext in rows
        if leads_to.resolve(source, linkpath_of(linktext)) in excluded
    }


# ---------------------------------------------------------------------- conditions


def _test(condition: Condition) -> _Test:
    """Return a condition as SQL on a row of ``files``, and its values."""
    match condition:
        case Every(of):
            return _joined(" AND ", of, "1")
        case AnyOf(of):
            return _joined(" OR ", of, "0")
        case Not(of):
            test, values = _test(of)
            return f"NOT {test}", values
        case HasValue(name, values, or_none=True):
            return _test(AnyOf((HasValue(name, values, or_none=False), Not(HasProperty(name)))))
    notes = _notes_with(condition)
    return _TESTS[type(condition)](condition) if notes is None else (f"id IN ({notes[0]})", notes[1])


def _joined(word: str, conditions: Iterable[Condition], empty: str) -> _Test:
    tests = [_test(condition) for condition in conditions]
    if not tests:
        return empty, []
    return f"({word.join(test for test, _ in tests)})", [value for _, values in tests for value in values]


def _notes_with(condition: Condition) -> _Test | None:
    """Return a SELECT of the notes that meet a condition, and its values; None for a condition on files."""
    match condition:
        case Tagged(tag):
            return "SELECT note FROM tagged WHERE tag = ?", [fold(tag)]
        case HasProperty(name):
            return "SELECT note FROM properties WHERE name = ?", [fold(name)]
        case HasValue(name, values, or_none=False):
            return f"SELECT note FROM properties WHERE name = ? AND value {IN_LIST}", [fold(name), json.dumps(values)]
        case AsksFor(names):
            return f"SELECT note FROM links WHERE name {IN_LIST}", [json.dumps(names)]
    return None


def _ends(condition: NameEndsWith) -> _Test:
    ending = fold(condition.ending)
    return "substr(name, ?) = ?", [-len(ending), ending]


def _changed(condition: Changed) -> _Test:
    bounds = [("modified >= ?", condition.start), ("modified < ?", condition.end)]
    tests = [(test, bound) for test, bound in bounds if bound is not None]
    return f"({' AND '.join(test for test, _ in tests) or '1'})", [bound for _, bound in tests]


_TESTS: dict[type, Callable[[Any], _Test]] = {
    Below: lambda wanted: below(wanted.folder or None),
    DirectlyIn: lambda wanted: ("folder = ?", [wanted.folder]),
    AtPath: lambda wanted: ("path = ?", [wanted.path]),
    NameEndsWith: _ends,
    HasExtension: lambda wanted: ("substr(path, ?) = ?", [-len(wanted.extension) - 1, f".{wanted.extension}"]),
    Changed: _changed,
}
