"""Summaries of a vault from its catalog: properties and their values, tasks, statistics; notes that may have faults."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from vaultwire.markdown.inline import line_tags, read_inline
from vaultwire.markdown.parse import has_tag
from vaultwire.markdown.task_fields import first_fields
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import CANVAS_SUFFIX, fold, is_note, stem
from vaultwire.vault.index.catalog import IN_LIST, KIND, UNREAD, Catalog
from vaultwire.vault.index.catalog_queries import below, count_notes, from_stored, targets, tasks_with
from vaultwire.vault.index.link_graph import LinkGraph
from vaultwire.vault.index.search_plan import BODY
from vaultwire.vault.index.text_index import TextIndex
from vaultwire.vault.index.words import is_break, words_of
from vaultwire.vault.links.link_resolver import linkpath_of
from vaultwire.vault.links.sections import parts_of
from vaultwire.vault.listed import Keys, Pairs, size_of
from vaultwire.vault.search.filters import TaskFilter, scalar_texts
from vaultwire.vault.search.terms import fold_case, strip_diacritics
from vaultwire.vault.value_types import (
    FileKind,
    FolderSize,
    NoteStat,
    Problem,
    Progress,
    PropertyKinds,
    TaskPlace,
    ValueUse,
    VaultPath,
    VaultStats,
)

Misfits: TypeAlias = Mapping[str, Callable[[PropertyValue], bool]]
"""By folded name of a property: tells whether a value is of the wrong type."""

_VISIBLE = "note NOT IN (SELECT id FROM files WHERE is_excluded)"
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
        return (_VISIBLE if catalog.rows("SELECT 1 FROM files WHERE is_excluded LIMIT 1") else "1"), []
    condition, values = below(folder)
    return f"note IN (SELECT id FROM files WHERE is_note AND NOT is_excluded AND {condition})", values


# ---------------------------------------------------------------------- tasks


def tasks(catalog: Catalog, conditions: TaskFilter, path: VaultPath | None, folder: VaultPath | None) -> Keys:
    """Return the places of the tasks that meet the conditions, in path and line order.

    With a ``path``, only those of that note, even if it is excluded.
    """
    of_notes = "NOT is_excluded" if path is None else "path = ?"
    values: list[Any] = [] if path is None else [path]
    if folder is not None:
        test, of_test = below(folder)
        of_notes = f"{of_notes} AND {test}"
        values += of_test
    if conditions.not_below:
        test, of_test = below(VaultPath(conditions.not_below))
        of_notes = f"{of_notes} AND NOT {test}"
        values += of_test
    tag, text = conditions.tag.removeprefix("#").strip("/"), strip_diacritics(fold_case(conditions.text))
    if not (tag or text or conditions.by_due) and conditions.mark is None and conditions.has_due is None:
        return _task_lines(catalog, conditions.is_done, of_notes, values)
    tests = [of_notes]
    if conditions.mark is not None:
        tests.append("mark = ?")
        values.append(conditions.mark)
    if conditions.is_done is not None:
        tests.append("is_open = ?")
        values.append(not conditions.is_done)
    if tag and path is None:  # ``tagged`` lacks excluded notes, and one note needs no index
        tests.append("note IN (SELECT note FROM tagged WHERE tag = ?)")
        values.append(fold(tag))
    for part in (text, strip_diacritics(fold_case(f"#{tag}")) if tag else ""):
        if part:
            test, of_test = tasks_with(part)
            tests.append(test)
            values += of_test
    if conditions.has_due:
        tests.append(_MAY_HAVE_DATE)
    rows = catalog.rows(
        "SELECT id, line, tasks.text FROM files JOIN tasks ON note = id"
        f" WHERE {' AND '.join(tests)} ORDER BY path, line",
        values,
    )
    if tag:
        rows = [row for row in rows if has_tag(line_tags(read_inline(row[2])[0]), tag)]
    return _by_due(rows, conditions)


def _by_due(rows: list[tuple[int, int, str]], conditions: TaskFilter) -> list[tuple[int, int]]:
    """Return the places of the tasks with the due dates that are wanted, and in that order.

    Due dates are read here and not stored: a task takes 5 µs, and only those with a sign of a date are read.
    """
    if conditions.has_due is None and not conditions.by_due:
        return [(note_id, line) for note_id, line, _ in rows]
    dated = [(first_fields(text).get("due", ""), note_id, line) for note_id, line, text in rows]
    places = [each for each in dated if conditions.accepts_due(each[0])]
    if conditions.by_due:
        places.sort(key=lambda each: (not each[0], each[0]))
    return [(note_id, line) for _, note_id, line in places]


def _task_lines(catalog: Catalog, is_done: bool | None, of_notes: str, values: Sequence[Any]) -> Pairs[int]:
    """Return the places of the tasks that are done or not, or of all, by what the notes' rows say of them."""
    lines = {
        True: "done_tasks",
        False: "open_tasks",
        None: "ifnull(open_tasks || ',' || done_tasks, ifnull(open_tasks, done_tasks))",
    }[is_done]
    # Joined to one JSON text: with a row for each note, or each task, SQLite takes three times as long.
    ((joined,),) = catalog.rows(
        "SELECT group_concat('[' || id || ',' || lines || ']') FROM"
        f" (SELECT id, {lines} AS lines FROM files WHERE {of_notes} AND {lines} IS NOT NULL ORDER BY path)",
        values,
    )
    ids: list[int] = []
    numbers: list[int] = []
    for note_id, *its_lines in json.loads(f"[{joined or ''}]"):
        its_lines.sort()
        ids += [note_id] * len(its_lines)
        numbers += its_lines
    return Pairs(array("q", ids), array("l", numbers))


def to_tasks(catalog: Catalog, page: Sequence[tuple[int, int]]) -> list[TaskPlace]:
    """Return the tasks at the places of a page, without those that are gone."""
    rows = catalog.rows(
        f"SELECT id, path, line, mark, tasks.text, heading FROM files JOIN tasks ON note = id WHERE id {IN_LIST}",
        [json.dumps([*{note_id for note_id, _ in page}])],
    )
    tasks = {(note_id, task[1]): TaskPlace(*task) for note_id, *task in rows}
    return [tasks[place] for place in page if place in tasks]


# ---------------------------------------------------------------------- statistics


def stats(catalog: Catalog, limit: int) -> VaultStats:
    """Return statistics of the vault, with ``limit`` of the largest folders and of the problems."""

    def one(statement: str) -> Any:
        return catalog.rows(f"SELECT {statement}")[0][0]

    # The index ``files_folder`` has all these columns, so no row is read.
    folders = catalog.rows(
        "SELECT folder, count(*), sum(size) FROM files WHERE is_note AND NOT is_excluded"
        " GROUP BY folder ORDER BY 2 DESC, folder"
    )
    odd = "count(*) FROM files WHERE problem IS NOT NULL AND NOT is_excluded"
    unreadable = one(f"{odd} AND digest = {UNREAD}")
    counts = Counter(dict(catalog.rows("SELECT what, number FROM counts")))
    return VaultStats(
        notes=sum(notes for _, notes, _ in folders),
        size=sum(size for *_, size in folders),
        excluded=one("count(*) FROM files WHERE is_excluded AND is_note"),
        unreadable=unreadable,
        odd=one(odd) - unreadable,
        links=counts["links"],
        tags=one("count(*) FROM tag_counts"),
        properties=one("count(DISTINCT name) FROM property_counts"),
        tasks_open=counts["open"],
        tasks_done=counts["done"],
        modified_ns=one("max(modified) FROM files WHERE is_note AND NOT is_excluded"),
        attachments=_attachments(catalog),
        folders=[FolderSize(*row) for row in folders[: max(limit, 0)]],
        problems=[
            Problem(*row)
            for row in catalog.rows(
                "SELECT path, problem FROM files WHERE problem IS NOT NULL AND NOT is_excluded"
                f" ORDER BY digest <> {UNREAD}, path LIMIT ?",
                [limit],
            )
        ],
    )


def _attachments(catalog: Catalog) -> list[FileKind]:
    """Return the attachments by extension, most first."""
    kinds: dict[str, tuple[int, int]] = {}
    for name, size in catalog.rows("SELECT name, size FROM files WHERE NOT is_note AND NOT is_excluded"):
        stem, _, extension = name.rpartition(".")
        extension = extension if stem else ""
        files, bytes_so_far = kinds.get(extension, (0, 0))
        kinds[extension] = files + 1, bytes_so_far + size
    attachments = [FileKind(extension, *counts) for extension, counts in kinds.items()]
    return sorted(attachments, key=lambda kind: (-kind.files, kind.extension))


# Answers about many notes at once, from the catalog and the text index.

# Shorter words are rarely about anything; single characters of scripts without spaces are not.
_LEAST_LETTERS = 3
# A word in more notes than these is not rare: a tenth of the vault, but never many hundreds.
_RARE_SHARE, _FEW, _MANY = 10, 5, 200
# So many of the rarest words are enough, and this much of a very long note.
_MOST_WORDS = 60
_MOST_TEXT = 200_000


class FolderFiles(NamedTuple):
    """The number of notes and attachments right in a folder (``""`` is the vault's root)."""

    folder: str
    notes: int
    attachments: int


class SharedWords(NamedTuple):
    """The rarest words of a text that other notes have too, rarest first, each with all these notes.

    ``sizes``: the stats of these notes. ``total``: how many notes there are.
    """

    words: list[tuple[str, list[VaultPath]]]
    sizes: dict[VaultPath, NoteStat]
    total: int


def folders(catalog: Catalog, folder: VaultPath | None) -> list[FolderFiles]:
    """Return the folders that hold files, in path order."""
    condition, values = below(folder)
    rows = catalog.rows(
        f"SELECT folder, sum(is_note), sum(NOT is_note) FROM files WHERE NOT is_excluded AND {condition}"
        " GROUP BY folder ORDER BY folder",
        values,
    )
    return [FolderFiles(*row) for row in rows]


def searched(catalog: Catalog) -> frozenset[VaultPath]:
    """Return the paths of the notes that are not excluded."""
    rows = catalog.rows("SELECT path FROM files WHERE is_note AND NOT is_excluded")
    return frozenset(VaultPath(path) for (path,) in rows)


def names_and_aliases(catalog: Catalog) -> list[tuple[str, VaultPath]]:
    """Return all names and aliases, each with its file's path."""
    names = [(stem(path), VaultPath(path)) for (path,) in catalog.rows("SELECT path FROM files WHERE NOT is_excluded")]
    aliases = catalog.rows("SELECT spelling, path FROM aliases JOIN files ON id = note WHERE NOT is_excluded")
    return [*names, *((alias, VaultPath(path)) for alias, path in aliases)]


def shared_words(
    catalog: Catalog, text_index: TextIndex, path: VaultPath, text: str, progress: Progress
) -> SharedWords:
    """Return the rare words that the note shares with others."""
    total = count_notes(catalog, None)
    most = max(_FEW, min(total // _RARE_SHARE, _MANY))
    words = {word for word in words_of(fold_case(text[:_MOST_TEXT])) if _says_something(word)}
    holders = text_index.holders(BODY, sorted(words), most + 1)
    progress.check()
    rarest = sorted(((len(ids), word) for word, ids in holders.items() if len(ids) > 1))[:_MOST_WORDS]
    ids = sorted({note_id for _, word in rarest for note_id in holders[word]})
    rows = catalog.rows(
        f"SELECT id, path, size, modified, stamp FROM files WHERE is_note AND NOT is_excluded AND id {IN_LIST}",
        [json.dumps(ids)],
    )
    stats = {note_id: NoteStat(*stat) for note_id, *stat in rows if stat[0] != path}
    words_and_notes = []
    for _, word in rarest:
        paths = sorted(stats[note_id].path for note_id in holders[word] if note_id in stats)
        if paths:
            words_and_notes.append((word, paths))
    return SharedWords(words_and_notes, {stat.path: stat for stat in stats.values()}, total)


def _says_something(word: str) -> bool:
    return len(word) >= _LEAST_LETTERS and not is_break(word) and not word.isdecimal()


def same_content(catalog: Catalog) -> list[list[NoteStat]]:
    """Return the groups of notes with the same bytes."""
    visible = f"is_note AND NOT is_excluded AND digest <> {UNREAD} AND size > 0"
    rows = catalog.rows(
        f"SELECT digest, path, size, modified, stamp FROM files WHERE {visible} AND digest IN"
        f" (SELECT digest FROM files WHERE {visible} GROUP BY digest HAVING count(*) > 1) ORDER BY path"
    )
    groups: dict[tuple[int, int], list[NoteStat]] = {}
    for digest, *stat in rows:
        groups.setdefault((digest, stat[1]), []).append(NoteStat(*stat))
    return [group for group in groups.values() if len(group) > 1]


# Which files may have faults, by what the catalog and the link graph know: the others need not be read to check a vault.
#
# What a fault is decide ``vault.links.checks`` and ``faults``. Every file with a fault is among these; most of these have one.


class Suspects(NamedTuple):
    """The notes and canvases of a folder that may have a fault, in path order.

    ``total``: how many notes and canvases there are; ``numbers``: the place of each suspect among them.
    """

    total: int
    numbers: array[int]
    paths: list[VaultPath]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return size_of(self.numbers) + size_of(self.paths)


# The links of so many notes are followed at a time: little memory for 100,000 notes.
_BATCH = 5000


def with_lost_parts(catalog: Catalog) -> array[int]:
    """Return the ids of the notes with a link to a heading or block that the note it leads to does not have."""
    lost: set[int] = set()
    for first in range(0, catalog.rows("SELECT ifnull(max(id), 0) FROM files")[0][0] + 1, _BATCH):
        links = catalog.rows(
            "SELECT note, path, links.name, linktext FROM links JOIN files ON id = note"
            " WHERE note BETWEEN ? AND ? AND instr(linktext, '#') AND NOT is_excluded",
            (first, first + _BATCH - 1),
        )
        leads_to = targets(catalog, {name for _, _, name, _ in links})
        asked: dict[VaultPath, dict[str, list[int]]] = {}  # by note, then by the part of it, who links there
        for note_id, path, _, linktext in links:
            target = leads_to.resolve(path, linkpath_of(linktext))
            if target is not None and is_note(target):
                subpath = linktext.partition("#")[2]
                asked.setdefault(target, {}).setdefault(subpath, []).append(note_id)
        rows = catalog.rows(
            f"SELECT path, headings, block_ids FROM files LEFT JOIN outlines ON note = id WHERE path {IN_LIST}",
            (json.dumps([*asked]),),
        )
        for target, headings, block_ids in rows:
            parts = parts_of(target, json.loads(headings or "[]"), json.loads(block_ids or "[]"))
            for subpath, note_ids in asked[target].items():
                if not parts.has(subpath):
                    lost.update(note_ids)
    return array("L", sorted(lost))


def suspects(
    catalog: Catalog, graph: LinkGraph, lost_parts: array[int], folder: VaultPath | None, misfits: Misfits
) -> Suspects:
    """Return the notes and canvases below the folder that may have a fault.

    ``lost_parts``: the ids that ``with_lost_parts`` returned.
    """
    condition, values = below(folder)
    canvas = f"(NOT is_note AND name GLOB '*{CANVAS_SUFFIX}')"
    checked = catalog.rows(
        f"SELECT path FROM files WHERE ({canvas} OR (is_note AND NOT is_excluded)) AND {condition} ORDER BY path",
        values,
    )
    suspected = graph.with_lost_links()
    suspected.update(
        path
        for (path,) in catalog.rows(
            f"SELECT path FROM files WHERE (suspect OR problem IS NOT NULL OR {canvas} OR (is_note AND digest = {UNREAD})"
            f" OR id {IN_LIST}) AND {condition}",
            [json.dumps([*lost_parts]), *values],
        )
    )
    for name, is_misfit in misfits.items():
        rows = catalog.rows("SELECT DISTINCT value FROM properties WHERE name = ?", (name,))
        wrong = [value for (value,) in rows if is_misfit(from_stored(value))]
        suspected.update(
            path
            for (path,) in catalog.rows(
                f"SELECT path FROM files WHERE id IN (SELECT note FROM properties WHERE name = ? AND value {IN_LIST})",
                (name, json.dumps(wrong)),
            )
        )
    numbered = [(number, path) for number, (path,) in enumerate(checked) if path in suspected]
    return Suspects(len(checked), array("L", [number for number, _ in numbered]), [path for _, path in numbered])
