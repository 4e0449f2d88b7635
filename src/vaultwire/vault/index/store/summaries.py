"""Summaries of a vault from its catalog: properties and their values, tasks, statistics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from vaultwire.markdown.inline import line_tags, read_inline
from vaultwire.markdown.parse import has_tag
from vaultwire.markdown.task_fields import first_fields
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.catalog_queries import below
from vaultwire.vault.index.store.note_finder import from_stored
from vaultwire.vault.index.store.schema import IN_LIST, IS_ASCII, KIND, UNREAD
from vaultwire.vault.listed import ItemKeys, Keys, LineKeys
from vaultwire.vault.search.filters import TaskFilter, scalar_texts
from vaultwire.vault.search.text_forms import fold_case, strip_diacritics
from vaultwire.vault.value_types import (
    FileKind,
    FolderSize,
    Problem,
    PropertyKinds,
    TaskPlace,
    ValueUse,
    VaultPath,
    VaultStats,
)

_VISIBLE = "note NOT IN (SELECT id FROM files WHERE hidden)"
# A due date has a sign that is not ASCII, or is an inline field (``markdown.task_fields``).
_MAY_HAVE_DATE = (
    "(instr(tasks.text, '::') OR instr(tasks.text, '📅') OR instr(tasks.text, '📆') OR instr(tasks.text, '🗓'))"
)


def properties(catalog: Catalog, name: str, folder: VaultPath | None) -> list[PropertyKinds]:
    """Return the properties in use below the folder, most used first; with a ``name`` only that one."""
    used, values = "SELECT * FROM property_counts", list[Any]()
    if folder is not None:
        within, values = _within(catalog, folder)
        # Grouped by value first: that is the order of an index, and many notes have the same value.
        used = (
            f"SELECT name, {KIND} AS kind, min(value) AS example, sum(uses) AS notes FROM (SELECT name, value,"
            f" count(*) AS uses FROM properties WHERE {within} GROUP BY name, value) GROUP BY name, kind"
        )
    named, name_values = ("name = ?", [fold(name)]) if name else ("1", [])
    kinds: dict[str, list[PropertyValue]] = {}
    notes: Counter[str] = Counter()
    for folded, value, uses in catalog.rows(
        f"SELECT name, example, notes FROM ({used}) WHERE {named} ORDER BY name, notes DESC, kind",
        [*values, *name_values],
    ):
        kinds.setdefault(folded, []).append(from_stored(value))
        notes[folded] += uses
    return [
        PropertyKinds(_spelling(catalog, folded), kinds[folded], notes[folded])
        for folded in sorted(kinds, key=lambda folded: (-notes[folded], folded))
    ]


def _spelling(catalog: Catalog, name: str) -> str:
    ((spelling,),) = catalog.rows(f"SELECT spelling FROM properties WHERE name = ? AND {_VISIBLE} LIMIT 1", [name])
    return str(spelling)


def property_values(catalog: Catalog, name: str, folder: VaultPath | None) -> list[ValueUse]:
    """Return the values of a property below the folder, most used first; the items of a list one by one."""
    within, values = _within(catalog, folder)
    uses: Counter[str] = Counter()
    for value, notes in catalog.rows(
        f"SELECT value, count(*) FROM properties WHERE name = ? AND {within} GROUP BY value", [fold(name), *values]
    ):
        for text in dict.fromkeys(scalar_texts(_as_shown(from_stored(value)))):
            uses[text] += notes
    return [ValueUse(text, notes) for text, notes in sorted(uses.items(), key=lambda use: (-use[1], use[0]))]


def _as_shown(value: PropertyValue) -> PropertyValue:
    """Return a value with its whole numbers as such: YAML's 8.0 is 8."""
    if isinstance(value, list):
        return [_as_shown(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _within(catalog: Catalog, folder: VaultPath | None) -> tuple[str, list[Any]]:
    """Return an SQL condition on facts of visible notes below the folder, and its values."""
    if folder is None:
        return (_VISIBLE if catalog.rows("SELECT 1 FROM files WHERE hidden LIMIT 1") else "1"), []
    condition, values = below(folder)
    return f"note IN (SELECT id FROM files WHERE is_note AND NOT hidden AND {condition})", values


# ---------------------------------------------------------------------- tasks


def tasks(catalog: Catalog, wanted: TaskFilter, path: VaultPath | None, folder: VaultPath | None) -> Keys:
    """Return the places of the tasks that meet the conditions, in path and line order.

    With a ``path``, only those of that note, even if it is hidden.
    """
    of_notes = "NOT hidden" if path is None else "path = ?"
    values: list[Any] = [] if path is None else [path]
    if folder is not None:
        test, of_test = below(folder)
        of_notes = f"{of_notes} AND {test}"
        values += of_test
    if wanted.not_below:
        test, of_test = below(VaultPath(wanted.not_below))
        of_notes = f"{of_notes} AND NOT {test}"
        values += of_test
    tag, text = wanted.tag.removeprefix("#").strip("/"), strip_diacritics(fold_case(wanted.text))
    if not (tag or text or wanted.by_due) and wanted.mark is None and wanted.has_due is None:
        return _task_lines(catalog, wanted.is_done, of_notes, values)
    tests = [of_notes]
    if wanted.mark is not None:
        tests.append("mark = ?")
        values.append(wanted.mark)
    if wanted.is_done is not None:
        tests.append("is_open = ?")
        values.append(not wanted.is_done)
    if tag and path is None:  # ``tagged`` lacks hidden notes, and one note needs no index
        tests.append("note IN (SELECT note FROM tagged WHERE tag = ?)")
        values.append(fold(tag))
    for part in (text, f"#{tag.lower()}" if tag else ""):
        if part and part.isascii():
            # SQLite folds the case of ASCII only; tasks with other characters are compared below.
            tests.append(f"(instr(lower(tasks.text), ?) OR NOT {IS_ASCII.format('tasks.text')})")
            values.append(part)
    if wanted.has_due:
        tests.append(_MAY_HAVE_DATE)
    rows = catalog.rows(
        "SELECT id, line, tasks.text FROM files JOIN tasks ON note = id"
        f" WHERE {' AND '.join(tests)} ORDER BY path, line",
        values,
    )
    held = [row for row in rows if _holds(row[2], tag, text)] if tag or text else rows
    return ItemKeys(_by_due(held, wanted))


def _by_due(rows: list[tuple[int, int, str]], wanted: TaskFilter) -> list[tuple[int, int]]:
    """Return the places of the tasks with the due dates that are wanted, and in that order.

    Due dates are read here and not stored: a task takes 5 µs, and only those with a sign of a date are read.
    """
    if wanted.has_due is None and not wanted.by_due:
        return [(note_id, line) for note_id, line, _ in rows]
    dated = [(first_fields(text).get("due", ""), note_id, line) for note_id, line, text in rows]
    found = [each for each in dated if wanted.accepts_due(each[0])]
    if wanted.by_due:
        found.sort(key=lambda each: (not each[0], each[0]))
    return [(note_id, line) for _, note_id, line in found]


def _task_lines(catalog: Catalog, is_done: bool | None, of_notes: str, values: Sequence[Any]) -> LineKeys:
    """Return the places of the tasks that are done or not, or of all, by what the notes' rows say of them."""
    lines = {
        True: "done_tasks",
        False: "open_tasks",
        None: "ifnull(open_tasks || ',' || done_tasks, ifnull(open_tasks, done_tasks))",
    }[is_done]
    ((places,),) = catalog.rows(
        "SELECT group_concat(id || ':' || lines, ';') FROM"
        f" (SELECT id, {lines} AS lines FROM files WHERE {of_notes} AND {lines} IS NOT NULL ORDER BY path)",
        values,
    )
    return LineKeys(places)


def to_tasks(catalog: Catalog, page: Sequence[tuple[int, int]]) -> list[TaskPlace]:
    """Return the tasks at the places of a page, without those that are gone."""
    rows = catalog.rows(
        f"SELECT id, path, line, mark, tasks.text, heading FROM files JOIN tasks ON note = id WHERE id {IN_LIST}",
        [json.dumps([*{note_id for note_id, _ in page}])],
    )
    found = {(note_id, task[1]): TaskPlace(*task) for note_id, *task in rows}
    return [found[place] for place in page if place in found]


def _holds(task: str, tag: str, text: str) -> bool:
    return (not tag or has_tag(line_tags(read_inline(task)[0]), tag)) and (
        not text or text in strip_diacritics(fold_case(task))
    )


# ---------------------------------------------------------------------- statistics


def stats(catalog: Catalog, limit: int) -> VaultStats:
    """Return statistics of the vault, with ``limit`` of the largest folders and of the problems."""

    def one(statement: str) -> Any:
        return catalog.rows(f"SELECT {statement}")[0][0]

    # The index ``files_folder`` has all these columns, so no row is read.
    folders = catalog.rows(
        "SELECT folder, count(*), sum(size) FROM files WHERE is_note AND NOT hidden GROUP BY folder ORDER BY 2 DESC, folder"
    )
    odd = "count(*) FROM files WHERE problem IS NOT NULL AND NOT hidden"
    unreadable = one(f"{odd} AND digest = {UNREAD}")
    counts = Counter(dict(catalog.rows("SELECT what, number FROM counts")))
    return VaultStats(
        notes=sum(notes for _, notes, _ in folders),
        size=sum(size for *_, size in folders),
        excluded=one("count(*) FROM files WHERE hidden AND is_note"),
        unreadable=unreadable,
        odd=one(odd) - unreadable,
        links=counts["links"],
        tags=one("count(*) FROM tag_counts"),
        properties=one("count(DISTINCT name) FROM property_counts"),
        tasks_open=counts["open"],
        tasks_done=counts["done"],
        modified_ns=one("max(modified) FROM files WHERE is_note AND NOT hidden"),
        attachments=_attachments(catalog),
        folders=[FolderSize(*row) for row in folders[: max(limit, 0)]],
        problems=[
            Problem(*row)
            for row in catalog.rows(
                "SELECT path, problem FROM files WHERE problem IS NOT NULL AND NOT hidden"
                f" ORDER BY digest <> {UNREAD}, path LIMIT ?",
                [limit],
            )
        ],
    )


def _attachments(catalog: Catalog) -> list[FileKind]:
    """Return the attachments by extension, most first."""
    kinds: dict[str, tuple[int, int]] = {}
    for name, size in catalog.rows("SELECT name, size FROM files WHERE NOT is_note AND NOT hidden"):
        stem, _, extension = name.rpartition(".")
        extension = extension if stem else ""
        files, bytes_so_far = kinds.get(extension, (0, 0))
        kinds[extension] = files + 1, bytes_so_far + size
    found = [FileKind(extension, *counts) for extension, counts in kinds.items()]
    return sorted(found, key=lambda kind: (-kind.files, kind.extension))
