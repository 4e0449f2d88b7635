"""Queries of the catalog for bases: SQL for conditions on files, and facts of many files at once. Implements ``index.rows``."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.index.rows import (
    AnyOf,
    AsksFor,
    AtPath,
    Below,
    Condition,
    DirectlyIn,
    Every,
    HasExtension,
    HasProperty,
    HasValue,
    NameEndsWith,
    Not,
    ResolveLink,
    RowFile,
    StoredLink,
    Tagged,
)
from vaultwire.vault.index.store.catalog import IN_LIST, Catalog
from vaultwire.vault.index.store.catalog_queries import below, from_stored, incoming, tags_of, targets
from vaultwire.vault.links.link_resolver import LinkResolver, link_name, link_names_to, linkpath_of
from vaultwire.vault.listed import Keys, Listed, size_of
from vaultwire.vault.value_types import Progress, VaultPath

# Answers that are true until the catalog changes: the last few of them are remembered, and lists are read by pages.

_Answer = TypeVar("_Answer")

# A model asks a few questions again and again. All that is remembered takes so much memory at most, except the latest answer.
_MOST_BYTES = 16_000_000
_MOST = 64


class Remembered:
    """What one index remembers of its catalog. Safe to use from several threads: two may make the same answer at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # With the catalog that each is of: a call in which the index is rebuilt goes on with another one. The least recently
        # used first.
        self._answers: dict[Hashable, tuple[Catalog, tuple[int, int], Any, int]] = {}

    def get(self, question: Hashable, catalog: Catalog, make: Callable[[], _Answer]) -> _Answer:
        """Return what ``make`` gives, made again only after the catalog has changed."""
        version = catalog.version()  # read first: the next call sees a change that comes in between
        with self._lock:
            known = self._answers.pop(question, None)
            if known is not None and known[0] is catalog and known[1] == version:
                self._answers[question] = known
                answer: _Answer = known[2]
                return answer
        answer = make()
        with self._lock:
            self._answers[question] = (catalog, version, answer, size_of(answer))
            size = sum(each[3] for each in self._answers.values())
            for oldest in list(self._answers)[:-1]:
                if size <= _MOST_BYTES and len(self._answers) <= _MOST:
                    break
                size -= self._answers.pop(oldest)[3]
        return answer


class Ask(Protocol):
    """Brings an index up to date, and asks its catalog a question (``StoredIndex``)."""

    def __call__(self, question: Callable[[Catalog], _Answer], progress: Progress, *, text: bool = False) -> _Answer:
        """Return the answer. ``text``: it needs the text index, too."""


class Answers:
    """The answers of one index that are worth remembering."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._remembered = Remembered()

    def asked_by(self, ask: Ask) -> Answers:
        """Return the same answers, asked in another way."""
        others = Answers(ask)
        others._remembered = self._remembered
        return others

    def remember(
        self, name: str, query: Callable[..., _Answer], arguments: tuple[Any, ...], progress: Progress
    ) -> _Answer:
        """Return the answer of a query. ``name`` tells its question from those of other queries."""
        return self._ask(
            lambda catalog: self._remembered.get((name, *arguments), catalog, lambda: query(catalog, *arguments)),
            progress,
        )

    def listed(
        self,
        question: tuple[Hashable, ...],
        find: Callable[[Catalog], Keys],
        read: Callable[[Catalog, Sequence[Any]], list[_Answer]],
        progress: Progress,
    ) -> Listed[_Answer]:
        """Return the results that ``find`` names. ``read`` reads a page of them."""
        keys = self._ask(lambda catalog: self._remembered.get(question, catalog, lambda: find(catalog)), progress)
        return Listed(keys, lambda part, reader: self._ask(lambda catalog: read(catalog, part), reader))


# The parts of a resolver of all links in memory: about so many bytes for each file.
_BYTES_PER_FILE = 600
_Test = tuple[str, list[Any]]


class StoredRows:
    """For what each answer is see the port."""

    def __init__(self, ask: Ask, answers: Answers, ask_as_it_is: Ask) -> None:
        """``ask_as_it_is`` asks without looking for changes first."""
        self._ask = ask
        self._answers = answers
        self._ask_as_it_is = ask_as_it_is

    def checked(self, progress: Progress) -> StoredRows:
        """See the port."""
        self._ask(lambda _: None, progress)
        ask = self._ask_as_it_is
        return StoredRows(ask, self._answers.asked_by(ask), ask)

    def version(self, progress: Progress) -> Hashable:
        """See the port. The name of the text index tells catalogs apart: one that is built again counts from the start."""
        return self._ask(lambda catalog: (catalog.meta("text"), *catalog.version()), progress)

    def find(self, wanted: Condition, progress: Progress) -> list[RowFile]:
        """See the port."""
        return self._ask(lambda catalog: _find(catalog, wanted), progress)

    def at(self, paths: Collection[str], progress: Progress) -> list[RowFile]:
        """See the port."""
        select = f"SELECT id, path, size, modified FROM files WHERE NOT hidden AND path {IN_LIST}"
        rows = self._ask(lambda catalog: catalog.rows(select, [json.dumps([*paths])]), progress)
        return [RowFile(*row) for row in rows]

    def values(self, name: str, most: int, progress: Progress) -> dict[str, PropertyValue] | None:
        """See the port."""
        select = "SELECT DISTINCT value FROM properties WHERE name = ? LIMIT ?"
        rows = self._ask(lambda catalog: catalog.rows(select, [fold(name), most + 1]), progress)
        return None if len(rows) > most else {stored: from_stored(stored) for (stored,) in rows}

    def column(self, name: str, ids: Collection[int] | None, progress: Progress) -> dict[int, PropertyValue]:
        """See the port."""
        test, values = ("", []) if ids is None else (f" AND note {IN_LIST}", [json.dumps([*ids])])
        select = f"SELECT note, value FROM properties WHERE name = ?{test}"
        rows = self._ask(lambda catalog: catalog.rows(select, [fold(name), *values]), progress)
        return {note: from_stored(stored) for note, stored in rows}

    def properties(self, ids: Collection[int], progress: Progress) -> dict[int, dict[str, PropertyValue]]:
        """See the port."""
        select = f"SELECT note, spelling, value FROM properties WHERE note {IN_LIST} ORDER BY note, place"
        found: dict[int, dict[str, PropertyValue]] = {}
        for note, name, stored in self._ask(lambda catalog: catalog.rows(select, [json.dumps([*ids])]), progress):
            found.setdefault(note, {})[name] = from_stored(stored)
        return found

    def tags(self, ids: Collection[int], progress: Progress) -> dict[int, list[str]]:
        """See the port."""
        return self._ask(lambda catalog: tags_of(catalog, [*ids]), progress)

    def links(self, ids: Collection[int], progress: Progress) -> Mapping[int, list[StoredLink]]:
        """See the port."""
        return self._ask(lambda catalog: _links(catalog, ids), progress)

    def backlinks(self, path: VaultPath, progress: Progress) -> list[VaultPath]:
        """See the port."""
        return self._ask(lambda catalog: sorted({source for source, _ in incoming(catalog, path)}), progress)

    def resolve(self, source: VaultPath, linkpath: str, progress: Progress) -> VaultPath | None:
        """See the port."""

        def answer(catalog: Catalog) -> VaultPath | None:
            found = targets(catalog, [link_name(source, linkpath)]).resolve(source, linkpath)
            hidden = found and catalog.rows("SELECT 1 FROM files WHERE hidden AND path = ?", [found])
            return None if hidden else found

        return self._ask(answer, progress)

    def resolver(self, progress: Progress) -> ResolveLink:
        """See the port."""
        return self._answers.remember("resolver", _resolver, (), progress).resolve


def _find(catalog: Catalog, wanted: Condition) -> list[RowFile]:
    test, values = _test(wanted)
    rows = catalog.rows(f"SELECT id, path, size, modified FROM files WHERE NOT hidden AND {test} ORDER BY path", values)
    return [*map(RowFile._make, rows)]


class _VisibleResolver:
    """Resolves links to all files; links to hidden ones lead nowhere."""

    def __init__(self, paths: Collection[VaultPath], hidden: Collection[VaultPath]) -> None:
        self.size = _BYTES_PER_FILE * len(paths)
        self._hidden = frozenset(hidden)
        self._resolve = LinkResolver(paths).resolve

    def resolve(self, source: VaultPath, linkpath: str) -> VaultPath | None:
        found = self._resolve(source, linkpath)
        return None if found in self._hidden else found


def _resolver(catalog: Catalog) -> _VisibleResolver:
    rows = catalog.rows("SELECT path, hidden FROM files")
    return _VisibleResolver([path for path, _ in rows], [path for path, hidden in rows if hidden])


def _links(catalog: Catalog, ids: Collection[int]) -> dict[int, list[StoredLink]]:
    rows = catalog.rows(
        f"SELECT note, linktext, display, kind & 1 FROM links WHERE note {IN_LIST} ORDER BY note, place",
        [json.dumps([*ids])],
    )
    lost = _hidden_links(catalog, ids)
    found: dict[int, list[StoredLink]] = {}
    for note, linktext, display, is_embed in rows:
        if (note, linktext) not in lost:
            found.setdefault(note, []).append(StoredLink(linktext, display, bool(is_embed)))
    return found


def _hidden_links(catalog: Catalog, ids: Collection[int]) -> set[tuple[int, str]]:
    """Return note and linktext of each link to a file that is hidden."""
    hidden = {path for (path,) in catalog.rows("SELECT path FROM files WHERE hidden")}
    if not hidden:
        return set()
    names = {name for path in hidden for name in link_names_to(path)}
    rows = catalog.rows(
        "SELECT DISTINCT note, path, linktext FROM links JOIN files ON id = note"
        f" WHERE note {IN_LIST} AND links.name {IN_LIST}",
        [json.dumps([*ids]), json.dumps([*names])],
    )
    leads_to = targets(catalog, {link_name(source, linktext) for _, source, linktext in rows})
    return {
        (note, linktext) for note, source, linktext in rows if leads_to.resolve(source, linkpath_of(linktext)) in hidden
    }


# ---------------------------------------------------------------------- conditions


def _test(wanted: Condition) -> _Test:
    """Return a condition as SQL on a row of ``files``, and its values."""
    match wanted:
        case Every(of):
            return _joined(" AND ", of, "1")
        case AnyOf(of):
            return _joined(" OR ", of, "0")
        case Not(of):
            test, values = _test(of)
            return f"NOT {test}", values
        case _:
            return _TESTS[type(wanted)](wanted)


def _joined(word: str, conditions: Iterable[Condition], empty: str) -> _Test:
    tests = [_test(condition) for condition in conditions]
    if not tests:
        return empty, []
    return f"({word.join(test for test, _ in tests)})", [value for _, values in tests for value in values]


def _with_value(wanted: HasValue) -> _Test:
    name = fold(wanted.name)
    test = f"id IN (SELECT note FROM properties WHERE name = ? AND value {IN_LIST})"
    values = [name, json.dumps(wanted.values)]
    if not wanted.or_none:
        return test, values
    return f"({test} OR id NOT IN (SELECT note FROM properties WHERE name = ?))", [*values, name]


def _ends(wanted: NameEndsWith) -> _Test:
    ending = fold(wanted.ending)
    return "substr(name, ?) = ?", [-len(ending), ending]


_TESTS: dict[type, Callable[[Any], _Test]] = {
    Tagged: lambda wanted: ("id IN (SELECT note FROM tagged WHERE tag = ?)", [fold(wanted.tag)]),
    Below: lambda wanted: below(wanted.folder or None),
    DirectlyIn: lambda wanted: ("folder = ?", [wanted.folder]),
    AtPath: lambda wanted: ("path = ?", [wanted.path]),
    NameEndsWith: _ends,
    HasExtension: lambda wanted: ("substr(path, ?) = ?", [-len(wanted.extension) - 1, f".{wanted.extension}"]),
    HasProperty: lambda wanted: ("id IN (SELECT note FROM properties WHERE name = ?)", [fold(wanted.name)]),
    HasValue: _with_value,
    AsksFor: lambda wanted: (
        f"id IN (SELECT note FROM links WHERE name {IN_LIST})",
        [json.dumps(wanted.names)],
    ),
}
