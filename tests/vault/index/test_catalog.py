"""What the catalog says of files and keeps of its indexes, where the index's own answers would not show it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.stores import open_stored
from vaultwire.vault.index import catalog_queries, summaries
from vaultwire.vault.index.catalog import INDEXES, UNREAD, Catalog, Facts, Record
from vaultwire.vault.index.catalog_queries import NoteNames
from vaultwire.vault.index.updater import must_be_read
from vaultwire.vault.search.filters import NoteFilter, TaskFilter
from vaultwire.vault.search.note_parts import is_searchable
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat, VaultPath
from vaultwire.vault.visibility.excludes import Excludes


def stat_of(path: str, size: int = 1) -> NoteStat:
    return NoteStat(VaultPath(path), size, 20, 300)


def record_of(path: str, *, is_excluded: bool = False, digest: int = 5, is_racy: bool = False) -> Record:
    return Record(stat_of(path), is_note=path.endswith(".md"), is_excluded=is_excluded, digest=digest, is_racy=is_racy)


def indexes_of(catalog: Catalog) -> set[str]:
    return {name for (name,) in catalog.rows("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")}


A, B, PICTURE = record_of("f/A.md"), record_of("f/B.md"), record_of("f/P.png", digest=UNREAD)


@pytest.mark.parametrize(
    ("known", "seen", "is_as_seen"),
    [
        ([], [], True),
        ([A, B], ["f/A.md", "f/B.md"], True),
        ([B, A], ["f/A.md", "f/B.md"], True),  # indexed in another order
        ([A, PICTURE, record_of("g/C.md")], ["f/A.md", "f/P.png"], True),
        ([A], [], False),
        ([A], ["f/A.md", "f/B.md"], False),
        ([A, B], ["f/B.md"], False),
        ([A, record_of("f/B.md", is_racy=True)], ["f/A.md", "f/B.md"], False),
        ([A, record_of("f/B.md", is_racy=True)], ["f/A.md"], False),
        ([record_of("f/A.md", is_excluded=True)], ["f/A.md"], False),
        ([record_of("f/A.md", digest=UNREAD)], ["f/A.md"], False),
    ],
)
def test_a_folder_is_as_seen_only_if_nothing_of_it_is_open(
    known: list[Record], seen: list[str], is_as_seen: bool
) -> None:
    catalog = Catalog(None)
    catalog.store(known)
    assert catalog.is_folder_unchanged("f", [stat_of(path) for path in seen]) is is_as_seen
    catalog.close()


@given(st.data())
def test_a_folder_is_unchanged_only_if_none_of_its_files_must_be_read(data: st.DataObject) -> None:
    """The quick way and the plain way agree; excluded files are left to the plain way."""
    paths = data.draw(st.lists(st.sampled_from(["f/A.md", "f/b.md", "f/C.canvas", "f/d.png"]), unique=True))
    records = []
    for path in paths:
        is_unread, is_excluded, is_racy = (data.draw(st.integers(0, 9)) == 0 for _ in range(3))
        record = record_of(path, is_excluded=is_excluded, digest=UNREAD if is_unread else 5, is_racy=is_racy)
        records.append(record._replace(problem="cannot be read" if is_unread and is_searchable(path) else None))
    changed = [
        stat_of(path, data.draw(st.sampled_from([1, 1, 1, 2]))) for path in paths if data.draw(st.integers(0, 9))
    ]
    catalog = Catalog(None)
    catalog.store(records)
    is_unchanged = catalog.is_folder_unchanged("f", sorted(changed))
    known = catalog.folder("f")
    catalog.close()
    plainly = {stat.path for stat in changed} == set(known) and not any(
        must_be_read(stat, known[stat.path], Excludes()) for stat in changed
    )
    assert is_unchanged == (plainly and not any(record.is_excluded for record in records))


@pytest.mark.parametrize("other", [(2, 20, 300), (1, 21, 300), (1, 20, 301)])
def test_a_file_of_another_size_time_or_stamp_is_not_as_seen(other: tuple[int, int, int]) -> None:
    catalog = Catalog(None)
    catalog.store([A])
    assert not catalog.is_folder_unchanged("f", [NoteStat(VaultPath("f/A.md"), *other)])
    catalog.close()


def test_only_an_empty_catalog_does_without_indexes_and_only_meanwhile() -> None:
    catalog = Catalog(None)
    for expected in (set(), set(INDEXES)):
        with catalog.without_sql_indexes():
            assert indexes_of(catalog) == expected
            catalog.store([A])
        assert indexes_of(catalog) == set(INDEXES)
    catalog.close()


def test_a_first_build_that_was_cut_short_has_its_indexes_at_the_next_start(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path / "catalog"))
    with catalog.without_sql_indexes():
        killed = shutil.copytree(tmp_path, tmp_path / "killed")  # what a process leaves that ends here
    catalog.close()
    with sqlite3.connect(killed / "catalog") as connection:
        assert not connection.execute("SELECT * FROM sqlite_master WHERE name = 'links_name'").fetchall()
    connection.close()
    catalog = Catalog(str(killed / "catalog"))
    assert indexes_of(catalog) == set(INDEXES)
    catalog.close()


class _CountingCatalog(Catalog):
    """A catalog that counts the names it was asked for, one a line."""

    names_read = 0

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        rows = super().rows(statement, values)
        if "group_concat" in statement:
            self.names_read += sum(lines.count("\n") + 1 for *_, lines in rows if lines is not None)
        return rows


def test_after_a_change_only_the_names_of_the_changed_notes_are_read() -> None:
    catalog, names = _CountingCatalog(None), NoteNames()
    catalog.store(record_of(f"f/number {number}.md") for number in range(300))
    assert len(names.match(catalog, "nubmer", None)) == 300
    assert catalog.names_read == 300
    catalog.store([record_of("f/number 7.md", digest=6), record_of("f/number 8.md", is_excluded=True)])
    assert len(names.match(catalog, "nubmer", None)) == 299
    catalog.store([record_of("f/orange.md")])
    catalog.forget(["f/number 9.md"])
    assert len(names.match(catalog, "nubmer", None)) == 298
    assert len(names.match(catalog, "ornage", None)) == 1
    assert catalog.names_read == 300 + 1 + 1
    catalog.close()


class _ExplainingCatalog(Catalog):
    """A catalog that says which tables and indexes its queries went through from end to end, and what they sorted."""

    def __init__(self) -> None:
        self.scans: list[str] = []
        self.sorts: list[str] = []
        super().__init__(None)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        plan = super().rows(f"EXPLAIN QUERY PLAN {statement}", values)
        self.scans += [step[3] for step in plan if step[3].startswith("SCAN")]
        self.sorts += [step[3] for step in plan if "TEMP B-TREE" in step[3]]
        return super().rows(statement, values)


def test_properties_tasks_and_links_are_counted_when_notes_are_written_not_when_somebody_asks() -> None:
    catalog = _ExplainingCatalog()
    colour, tasks = (
        (0, "colour", "Colour", '"red"', None),
        [(3, " ", "", "pick", None, True), (4, "x", "", "sow", None, False)],
    )
    facts: Facts = ([(0, 1, "other", "Other", "", 0)], [], [], [], [colour], tasks)
    catalog.store(record_of(f"{number}.md")._replace(facts=facts) for number in range(5))
    catalog.forget(["0.md"])
    catalog.store([record_of("1.md", is_excluded=True)._replace(facts=facts)])
    catalog.scans.clear()
    assert summaries.properties(catalog, "", None) == [("Colour", ["red"], 3)]
    found = summaries.stats(catalog, 5)
    assert (found.properties, found.tasks_open, found.tasks_done, found.links) == (1, 3, 3, 3)
    assert not [scan for scan in catalog.scans if scan.split()[1] in ("properties", "tasks", "links")]
    catalog.close()


@pytest.mark.parametrize("sort", ["path", "name", "modified", "size"])
def test_a_list_of_all_notes_is_read_from_an_index_in_its_order(
    sort: Literal["path", "name", "modified", "size"],
) -> None:
    catalog = _ExplainingCatalog()
    catalog.store(record_of(f"{number % 3}/{number % 4}.md") for number in range(12))
    catalog.scans.clear()
    found = catalog_queries.find(catalog, NoteNames(), NoteFilter(sort=sort), None)
    assert len(catalog_queries.to_notes(catalog, found[0:12])) == 12
    if sort == "path":
        assert [*catalog_queries.notes(catalog, None)] == [note_id for note_id, _ in found[0:12]]
    assert all("INDEX files_" in scan for scan in catalog.scans if scan.startswith("SCAN files"))
    assert not [each for each in catalog.sorts if "ORDER BY" in each]
    catalog.close()


@pytest.mark.parametrize("is_done", [True, False])
def test_a_list_of_tasks_reads_no_row_of_a_task_before_its_page(is_done: bool) -> None:
    catalog = _ExplainingCatalog()
    facts: Facts = (
        [],
        [],
        [],
        [],
        [],
        [(3, " ", "", "pick", None, True), (4, "x", "", "sow", None, False), (9, " ", "", "eat", None, True)],
    )
    catalog.store(record_of(f"{number}.md")._replace(facts=facts) for number in range(5))
    catalog.store([record_of("1.md", is_excluded=True)._replace(facts=facts), record_of("2.md")])
    catalog.scans.clear()
    found = summaries.tasks(catalog, TaskFilter(is_done=is_done), None, None)
    assert [scan for scan in catalog.scans if scan.startswith("SCAN tasks")] == []
    assert [scan for scan in catalog.scans if scan.startswith("SCAN files") and "_tasks" not in scan] == []
    assert catalog.sorts == []
    lines = [4] if is_done else [3, 9]
    assert len(found) == 3 * len(lines)
    places = [(task.path, task.line) for task in summaries.to_tasks(catalog, found[0 : len(found)])]
    assert places == [(f"{name}.md", line) for name in (0, 3, 4) for line in lines]
    assert found[1:2] == found[0 : len(found)][1:2]
    catalog.close()


def test_names_that_are_gone_take_no_more_memory_than_those_that_are_there() -> None:
    catalog, names = _CountingCatalog(None), NoteNames()
    assert names.match(catalog, "nubmer", None) == {}
    for number in range(100):
        catalog.store([record_of(f"f/number {number}.md")])
        assert len(names.match(catalog, "nubmer", None)) == 1
        catalog.forget([f"f/number {number}.md"])
        assert names.match(catalog, "nubmer", None) == {}
        assert len(names) <= 4
    catalog.close()


def test_the_names_of_a_replaced_catalog_are_not_taken_for_those_of_the_next() -> None:
    one, other, names = Catalog(None), Catalog(None), NoteNames()
    one.store([record_of("apple.md")])
    other.store([record_of("orange.md")])
    assert len(names.match(one, "apple", None)) == 1
    assert names.match(other, "apple", None) == {}
    assert len(names.match(other, "orange", None)) == 1
    one.close()
    other.close()


def test_what_is_remembered_follows_files_whose_time_alone_has_changed(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.md").write_text("one")
        os.utime(tmp_path / f"{number}.md", (1_000_000_000 + number, 1_000_000_000 + number))
    vault, index, _ = open_stored(tmp_path, tmp_path / ".cache")
    by_time = NoteFilter(sort="modified")
    assert [note.stat.path for note in index.find(by_time, None, NO_PROGRESS).all()] == ["2.md", "1.md", "0.md"]
    assert index.stats(5, NO_PROGRESS).modified_ns == 1_000_000_002 * 10**9
    os.utime(tmp_path / "0.md", (1_000_000_009, 1_000_000_009))
    index.queue_changes(["0.md"])
    assert [note.stat.path for note in index.find(by_time, None, NO_PROGRESS).all()] == ["0.md", "2.md", "1.md"]
    assert vault.overview.stats(5).modified_ns == 1_000_000_009 * 10**9
