"""Finds notes by conditions: SQL for tags, properties, folders and times, one text in memory for names.

What a condition means is in ``vault.search.filters``, how names match in ``vault.links.suggestions``.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Collection, Sequence
from itertools import repeat
from typing import Any

from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.catalog_queries import below, joined_ids, stats_of, tags_of
from vaultwire.vault.index.store.schema import IN_LIST
from vaultwire.vault.links.suggestions import FuzzyNames
from vaultwire.vault.listed import IdKeys, PairedKeys
from vaultwire.vault.search.filters import Condition, NoteFilter
from vaultwire.vault.search.text_forms import strip_diacritics
from vaultwire.vault.value_types import NamedNote, VaultPath

_ORDER = {
    "relevance": "path",
    "path": "path",
    "name": "name, path",
    "modified": "modified DESC, path",
    "size": "size DESC, path",
}
_DIGITS = frozenset("0123456789")
_IS_NAME = -1
_NO_NOTE = -1
# No file has a longer name. An alias may be a page of text, but nobody types so much of it.
_MAX_NAME = 255


class NoteNames:
    """The names and aliases of all notes that are not hidden: 4 MB for 50,000 notes. They follow the catalog.

    Safe to use from several threads: one reads and matches at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._catalog: Catalog | None = None
        self._changes: int | None = None  # of the catalog, when it was read last
        self._ids = array("q")  # the note of each name
        self._places = array("l")
        self._names = FuzzyNames("")
        self._gone = 0  # how many names are no longer a note's name

    def __len__(self) -> int:
        """Return how many names are in memory, those that are gone included."""
        return len(self._ids)

    def match(self, catalog: Catalog, typed: str, allowed: Collection[int] | None) -> dict[int, tuple[int, int]]:
        """Return the ids of the notes that match, each with how well, and the place of the matching alias, or -1.

        How well: the best have 0. Only the notes in ``allowed``, if it is given.
        """
        with self._lock:
            self._follow(catalog)
            ids, places = self._ids, self._places
            ranked = self._names.ranked(typed, None if allowed is None else lambda entry: ids[entry] in allowed)
            # Names before aliases: once some names were added, their numbers do not tell any more.
            matches = sorted(
                ((quality, places[entry] != _IS_NAME), places[entry], ids[entry]) for quality, entry in ranked
            )
            ranks = {key: rank for rank, key in enumerate(dict.fromkeys(key for key, _, _ in matches))}
            found: dict[int, tuple[int, int]] = {}
            for key, place, note_id in matches:
                found.setdefault(note_id, (ranks[key], place))
            return found

    def _follow(self, catalog: Catalog) -> None:
        """Read the names again of the notes that have changed; all names, if it is not known which have."""
        changes = catalog.changes()  # read first: the next call sees a change that comes in between
        is_same = catalog is self._catalog  # a call in which the index is rebuilt goes on with another one
        if is_same and changes == self._changes:
            return
        changed = None if self._changes is None or not is_same else catalog.changed_ids_since(self._changes)
        if changed is None or self._gone > len(self._ids) // 2:
            ids, places, lines = _read_names(catalog, None)
            self._names = FuzzyNames("")
            if ids:
                self._names.add(lines)
            self._ids, self._places, self._gone = ids, places, 0
        elif changed:
            self._replace(changed, *_read_names(catalog, changed))
        self._catalog, self._changes = catalog, changes

    def _replace(self, changed: set[int], ids: array[int], places: array[int], lines: str) -> None:
        """Put these names in place of those that the changed notes had. Most changes of a note change no name."""
        old = [entry for entry, note_id in enumerate(self._ids) if note_id in changed]
        names = self._names
        now = zip(ids, places, strip_diacritics(lines).split("\n"), strict=True) if ids else ()
        if {(self._ids[entry], self._places[entry], names[entry]) for entry in old} == set(now):
            return
        names.remove(old)
        for entry in old:
            self._ids[entry] = _NO_NOTE
        self._gone += len(old)
        if ids:
            names.add(lines)
            self._ids.extend(ids)
            self._places.extend(places)


def _read_names(catalog: Catalog, wanted: Collection[int] | None) -> tuple[array[int], array[int], str]:
    """Return the names and aliases of the notes with these ids, or of all: ids, places of aliases or -1, folded lines."""
    test, values = ("1", []) if wanted is None else (f"id {IN_LIST}", [json.dumps([*wanted])])
    # SQLite joins them: a row for each would take ten times as long and 20 MB.
    found = [
        rows[0]
        for rows in (
            catalog.rows(
                f"SELECT group_concat(id), NULL, group_concat({_line('name')}, char(10)) FROM (SELECT id,"
                f" substr(name, 1, length(name) - {len(NOTE_SUFFIX)}) AS name FROM files"
                f" WHERE is_note AND NOT hidden AND {test})",
                values,
            ),
            catalog.rows(
                f"SELECT group_concat(id), group_concat(place), group_concat({_line('alias')}, char(10))"
                " FROM (SELECT id, place, alias FROM aliases JOIN files ON id = note"
                f" WHERE is_note AND NOT hidden AND {test})",
                values,
            ),
        )
        if rows[0][0] is not None
    ]
    ids, alias_places = array("q"), array("l")
    for its_ids, joined_places, _ in found:
        ids.extend(map(int, its_ids.split(",")))
        alias_places.extend(map(int, joined_places.split(",")) if joined_places else repeat(_IS_NAME, len(ids)))
    return ids, alias_places, "\n".join(lines for _, _, lines in found)


def _line(column: str) -> str:
    return f"replace(substr({column}, 1, {_MAX_NAME}), char(10), ' ')"


def find(catalog: Catalog, names: NoteNames, wanted: NoteFilter, folder: VaultPath | None) -> PairedKeys:
    """Return the ids of the notes that meet the conditions, in the order asked for, each with the place of an alias.

    It is the alias that matches, or -1.
    """
    tests, values = _tests(catalog, wanted, folder)
    where = " AND ".join(["is_note AND NOT hidden", *tests])
    if not wanted.name:
        found = joined_ids(catalog, where, values, _ORDER[wanted.sort])
        return PairedKeys(found, array("l", [_IS_NAME]) * len(found))
    allowed = None
    if tests:
        allowed = {note_id for (note_id,) in catalog.rows(f"SELECT id FROM files WHERE {where}", values)}
    matches = names.match(catalog, wanted.name, allowed)
    order = "rank, path" if wanted.sort == "relevance" else _ORDER[wanted.sort]
    # Not right from ``json_each``: it has columns ``id`` and ``path`` of its own.
    given = (
        "SELECT json_extract(given.value, '$[1]') AS rank, files.* FROM json_each(?) AS given"
        " CROSS JOIN files ON files.id = json_extract(given.value, '$[0]')"
    )
    ((ids,),) = catalog.rows(
        f"SELECT group_concat(id) FROM (SELECT id FROM ({given}) ORDER BY {order})",
        [json.dumps([(note_id, rank) for note_id, (rank, _) in matches.items()])],
    )
    numbers = array("l", (matches[note_id][1] for note_id in map(int, ids.split(",")))) if ids else array("l")
    return PairedKeys(IdKeys(ids), numbers)


def _tests(catalog: Catalog, wanted: NoteFilter, folder: VaultPath | None) -> tuple[list[str], list[Any]]:
    """Return SQL conditions on files, and their values."""
    tests: list[str] = []
    values: list[Any] = []
    for tag in {fold(tag.removeprefix("#").strip("/")) for tag in wanted.tags}:
        tests.append("id IN (SELECT note FROM tagged WHERE tag = ?)")
        values.append(tag)
    if wanted.alias:
        tests.append("id IN (SELECT note FROM aliases WHERE alias = ?)")
        values.append(fold(wanted.alias.strip()))
    for condition in wanted.conditions:
        test, of_test = _property_test(catalog, condition)
        tests.append(test)
        values += of_test
    for sign, moment in ((">=", wanted.modified_from), ("<", wanted.modified_until)):
        if moment is not None:
            tests.append(f"modified {sign} ?")
            values.append(moment)
    if folder is not None:
        test, of_test = below(folder)
        tests.append(test)
        values += of_test
    return tests, values


def _property_test(catalog: Catalog, condition: Condition) -> tuple[str, list[Any]]:
    having, values = "SELECT note FROM properties WHERE name = ?", [condition.name]
    if condition.sign not in ("", "!"):
        accepted = [value for value in _values(catalog, condition.name) if condition.accepts(from_stored(value))]
        having += f" AND value {IN_LIST}"
        values.append(json.dumps(accepted))
    return f"id {'NOT ' if condition.is_negated else ''}IN ({having})", values


def _values(catalog: Catalog, name: str) -> list[str]:
    """Return the stored values of a property, each once."""
    return [value for (value,) in catalog.rows("SELECT DISTINCT value FROM properties WHERE name = ?", [name])]


def from_stored(value: str) -> PropertyValue:
    """Return the value of a property from its stored form, which is JSON."""
    # Most are plain texts. 10,000 different ones take 1 ms this way, 10 ms as JSON.
    if value[0] == '"' and "\\" not in value:
        return value[1:-1]
    if value[0] in _DIGITS:  # numbers: 1 ms instead of 30
        if value.isdecimal():
            return int(value)
        if "." in value:
            return float(value)
    found: PropertyValue = json.loads(value)
    return found


def to_notes(catalog: Catalog, page: Sequence[tuple[int, int]]) -> list[NamedNote]:
    """Return the notes of a page with names, aliases and tags, without those that are gone."""
    ids = [note_id for note_id, _ in page]
    found, tags = stats_of(catalog, ids), tags_of(catalog, ids)
    aliases = {
        (note_id, place): spelling
        for note_id, place, spelling in catalog.rows(
            f"SELECT note, place, spelling FROM aliases WHERE note {IN_LIST}", [json.dumps(ids)]
        )
    }
    return [
        NamedNote(found[note_id], aliases.get((note_id, place)), tags.get(note_id, []))
        for note_id, place in page
        if note_id in found
    ]
