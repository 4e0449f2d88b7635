"""What the views of bases give: rows, columns, order, groups, limits, summaries, ``this``, and the reasons."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.bases.values import Date, ErrorValue, File, Link, text_of
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.base_queries.running import BaseResult, BaseSource, Column
from vaultwire.vault.errors import Stopped, VaultError
from vaultwire.vault.value_types import NoProgress
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_files import PrivacyRules

_VAULT = """
=== Books.base
filters: file.hasTag("book")
formulas:
  double: price * 2
  twice: formula.double * 2
  loop: formula.pool
  pool: formula.loop
  bad: price.nothing()
properties:
  status: {displayName: Status}
  formula.double: {displayName: Doubled}
summaries:
  most: values.max()
views:
  - type: table
    name: All
    order: [file.name, status, formula.double]
    sort:
      - {property: status, direction: ASC}
      - {property: price, direction: DESC}
    summaries: {price: Sum, formula.double: most, status: Filled}
  - type: cards
    name: By status
    groupBy: {property: status, direction: DESC}
    order: [file.name]
    summaries: {price: Sum}
  - type: kanban
    name: Two
    limit: 2
    filters: price > 1
    groupBy: status
  - type: of a plugin
    name: Errors
    order: [formula.twice, formula.loop, formula.bad, formula.missing, missing]
=== A.md
---
tags: [book]
status: open
price: 1
up: "[[Series]]"
---
[[Series]]
=== B.md
---
tags: [book]
status: done
price: 3
---
=== C.md
---
Tags: [book/novel]
status: open
PRICE: 2
---
=== D.md
---
tags: [book]
status:
price: 5
---
=== Shelf/Series.md
---
tags: [list]
---
```base
filters: file.hasLink(this)
views:
  - {type: list, name: In series}
```
=== pic.png
"""


def _vault(root: Path, **given: Any) -> Vault:
    return open_vault(write_vault(root, _VAULT), **given)


def _paths(result: BaseResult) -> list[str]:
    return [row.path for row in result.rows]


def test_a_view_gives_columns_rows_and_summaries(tmp_path: Path) -> None:
    result = _vault(tmp_path).bases.query(BaseSource("Books"))
    assert result.columns == [
        Column("file.name", "file name"),
        Column("note.status", "Status"),
        Column("formula.double", "Doubled"),
    ]
    assert [row.cells for row in result.rows] == [("B", "done", 6), ("C", "open", 4), ("A", "open", 2), ("D", None, 10)]
    assert result.summaries == {"note.price": 11, "formula.double": 10, "note.status": 3}
    assert (result.total, result.groups, result.problems, result.path) == (4, [], [], "Books.base")
    assert {row.group for row in result.rows} == {-1}


def test_groups_come_in_their_order_with_none_last(tmp_path: Path) -> None:
    result = _vault(tmp_path).bases.query(BaseSource("Books"), "By status")
    assert [(group.text, group.value, group.count) for group in result.groups] == [
        ("open", "open", 2), ("done", "done", 1), ("None", None, 1),
    ]  # fmt: skip
    assert [(row.path, row.group) for row in result.rows] == [("A.md", 0), ("C.md", 0), ("B.md", 1), ("D.md", 2)]
    assert [group.summaries for group in result.groups] == [{"note.price": 3}, {"note.price": 3}, {"note.price": 5}]


def test_a_limit_leaves_the_first_rows_and_their_groups(tmp_path: Path) -> None:
    result = _vault(tmp_path).bases.query(BaseSource("Books"), "two")
    assert _paths(result) == ["B.md", "C.md"]
    assert [(group.text, group.count) for group in result.groups] == [("done", 1), ("open", 1)]
    assert result.total == 3
    assert result.columns == [Column("file.name", "file name")]


def test_an_error_in_a_cell_stays_in_the_cell(tmp_path: Path) -> None:
    result = _vault(tmp_path).bases.query(BaseSource("Books"), "Errors")
    twice, loop, bad, nothing, missing = result.rows[0].cells
    assert (twice, nothing, missing) == (4, None, None)
    assert isinstance(loop, ErrorValue)
    assert "refers to itself" in loop.message
    assert isinstance(bad, ErrorValue)


def test_without_filters_every_file_is_a_row(tmp_path: Path) -> None:
    result = _vault(tmp_path).bases.query(BaseSource(text="views: []"))
    assert _paths(result) == ["A.md", "B.md", "Books.base", "C.md", "D.md", "Shelf/Series.md", "pic.png"]


def _sorted(tmp_path: Path, direction: str) -> list[str]:
    write_vault(
        tmp_path,
        "=== 1.md\n---\nv: b\n---\n=== 2.md\n---\nv:\n---\n=== 3.md\n---\nv: 10\n---\n=== 4.md\n---\nv: 9\n---\n"
        "=== 5.md\n---\nv: B\n---\n=== 6.md\n---\nv: a\n---\n=== 7.md\ntext\n=== 8.md\n---\nv: 9\n---\n",
    )
    text = f"views: [{{name: V, sort: [{{property: v, direction: {direction}}}]}}]"
    return [path.removesuffix(".md") for path in _paths(open_vault(tmp_path).bases.query(BaseSource(text=text)))]


def test_a_sort_is_stable_and_has_empty_cells_last(tmp_path: Path) -> None:
    assert _sorted(tmp_path, "ASC") == ["4", "8", "3", "6", "5", "1", "2", "7"]
    assert _sorted(tmp_path, "DESC") == ["1", "5", "6", "3", "4", "8", "2", "7"]


@pytest.mark.parametrize("types", ["{}", '{"types": {"done": "checkbox"}}'])
def test_checkboxes_without_a_value_sort_with_those_that_are_not_checked(tmp_path: Path, types: str) -> None:
    values = {"A": "done: true", "B": "done:", "C": "done: false", "D": "other: 1", "E": "done: true"}
    text = f"=== .obsidian/types.json\n{types}\n" + "".join(f"=== {a}.md\n---\n{b}\n---\n" for a, b in values.items())
    vault = open_vault(write_vault(tmp_path, text))
    for direction, names in (("ASC", ["B", "C", "D", "A", "E"]), ("DESC", ["A", "E", "B", "C", "D"])):
        base = f"filters: file.ext == 'md'\nviews: [{{name: A, sort: [{{property: done, direction: {direction}}}]}}]"
        rows = vault.bases.query(BaseSource(text=base)).rows
        assert [row.path[0] for row in rows] == names


def test_texts_sort_as_in_the_person_s_language(tmp_path: Path) -> None:
    names = ["apfel", "Apfel 2", "Apfel 10", "äpfel", "Bär", "maße", "masse 2", "oe", "øre", "œuvre", "łza", "zebra"]
    wanted = ["apfel", "äpfel", "Apfel 2", "Apfel 10", "Bär", "łza", "maße", "masse 2", "oe", "œuvre", "øre", "zebra"]
    text = "".join(f"=== {number}.md\n---\nt: {name}\n---\n" for number, name in enumerate(names))
    vault = open_vault(write_vault(tmp_path, text))
    for view in ("sort: [{property: t}]", "groupBy: t"):
        result = vault.bases.query(BaseSource(text=f"formulas: {{a: 1}}\nviews: [{{name: A, order: [t], {view}}}]"))
        assert [row.cells[0] for row in result.rows] == wanted


def test_files_may_be_grouped_by_lists_and_tags(tmp_path: Path) -> None:
    result = _vault(tmp_path).bases.query(BaseSource(text="views: [{name: V, groupBy: file.tags}]"))
    assert [group.text for group in result.groups] == ["book", "book/novel", "list", "None"]
    assert result.groups[-1].count == 2


# ---------------------------------------------------------------------- this


def test_this_is_the_file_of_the_base_or_the_note_of_the_block_or_the_note_around(tmp_path: Path) -> None:
    bases = _vault(tmp_path).bases
    by_name = "filters: file.path == this.file.path\nviews: []"
    assert _paths(bases.query(BaseSource("Books.base", text=by_name))) == ["Books.base"]
    assert _paths(bases.query(BaseSource(text=by_name))) == []
    assert _paths(bases.query(BaseSource("Series", block=1))) == ["A.md"]
    assert _paths(bases.query(BaseSource(text=by_name), this="[[series]]")) == ["Shelf/Series.md"]
    assert _paths(bases.query(BaseSource(text="filters: list(up).contains(this)"), this="Series")) == ["A.md"]


def test_an_embed_names_a_view_and_the_note_around_it(tmp_path: Path) -> None:
    result = _vault(tmp_path).bases.query(BaseSource("![[Books.base#By status]]"), this="Series")
    assert result.view.name == "By status"


def test_there_are_links_backlinks_and_times(tmp_path: Path) -> None:
    vault = _vault(tmp_path)
    os.utime(tmp_path / "Shelf/Series.md", (1_700_000_000, 1_700_000_000))
    columns = "[file.backlinks, file.mtime, file.size, file.file, file.ctime]"
    text = f"filters: file.name == 'Series'\nviews: [{{name: V, order: {columns}}}]"
    (row,) = vault.bases.query(BaseSource(text=text)).rows
    backlinks, modified, size, file, created = row.cells
    assert [text_of(each) for each in backlinks] == ["[[A.md|A]]"]  # type: ignore[union-attr]
    assert isinstance(modified, Date)
    assert modified.at.timestamp() == 1_700_000_000
    assert size == (tmp_path / "Shelf/Series.md").stat().st_size
    assert file == File("Shelf/Series.md")
    assert isinstance(created, Date)
    assert created.at.timestamp() > 1_700_000_000


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("view", "says"), [("Nothing", "no view 'Nothing'. It has 'All', 'By status', 'Two', 'Errors'")]
)
def test_a_view_that_is_not_there_names_those_that_are(tmp_path: Path, view: str, says: str) -> None:
    with pytest.raises(VaultError, match=says) as error:
        _vault(tmp_path).bases.query(BaseSource("Books"), view)
    assert error.value.code == "INVALID_ARGUMENTS"


def test_what_is_passed_over_is_said(tmp_path: Path) -> None:
    result = _vault(tmp_path).bases.query(BaseSource(text="views: [{name: V, limit: many}]"))
    assert len(result.problems) == 1
    assert "limit" in result.problems[0]


@pytest.mark.parametrize(
    ("base", "says"),
    [
        (
            "filters: n == 1 or n == 3",
            "The filter 'n == 1 or n == 3' cannot be read: Unable to parse formula. (position 0)",
        ),
        ("filters: n >", "The filter 'n >' cannot be read: Unable to parse formula. (position 0)"),
        ("filters: nosuch(n)", "The filter 'nosuch(n)' fails: Cannot find function \"nosuch\""),
        ("filters: {and: [false, nosuch(n)]}", "The filter 'nosuch(n)' fails: Cannot find function \"nosuch\""),
        ("filters: [n == 1]", '"filters" may only have one of an "and", "or", or "not" keys.'),
        ("filters: file.name.year", "failed for 7 files, first 'A.md': Cannot find \"year\" on type String"),
        ("filters: '!file.name.year'", "failed for 7 files, first 'A.md': Cannot find \"year\" on type String"),
        (
            "formulas: {x: 1 +}\nviews: [{order: [formula.x]}]",
            "The formula 'x' cannot be read: Unable to parse formula.",
        ),
        ("views: [{order: [formula.x]}]", "The formula 'x' is not there."),
        (
            "views: [{sort: [{property: formula.y}]}]\nformulas: {y: file.name.year}",
            "Sorting by 'formula.y' failed for",
        ),
        ("views: [{groupBy: formula.y}]\nformulas: {y: file.name.year}", "Grouping by 'formula.y' failed for"),
        (
            "views: [{summaries: {formula.y: Sum}}]\nformulas: {y: file.name.year}",
            "The summary of 'formula.y' failed for",
        ),
        ("views: [{summaries: {price: Total}}]", "The summary of 'note.price' is 'Total', which there is not."),
        ("views: [{summaries: {price: own}}]\nsummaries: {own: values.nosuch()}", 'Cannot find function "nosuch"'),
        ("views: [{summaries: {file.name: own}}]\nsummaries: {own: values.sum()}", "sum needs a number, not String"),
    ],
)
def test_what_fails_is_named_whether_or_not_there_are_rows(tmp_path: Path, base: str, says: str) -> None:
    problems = _vault(tmp_path).bases.query(BaseSource(text=base)).problems
    assert len(problems) == 1
    assert says in problems[0]


def test_a_failure_of_what_the_view_does_not_use_is_not_named(tmp_path: Path) -> None:
    text = "formulas: {x: 1 +}\nsummaries: {y: 1 +}\nviews: [{name: A}, {name: B, filters: 1 +}]"
    assert _vault(tmp_path).bases.query(BaseSource(text=text)).problems == []


# ---------------------------------------------------------------------- what may not be seen


def test_excluded_notes_are_in_no_row_link_or_backlink(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        '=== Old/E.md\n---\ntags: [book]\n---\n[[A]]\n=== .obsidian/app.json\n{"userIgnoreFilters": ["Old/"]}\n',
    )
    write_vault(tmp_path, "=== F.md\n[[E]] [[A]]\n")
    vault = _vault(tmp_path)
    assert "Old/E.md" not in _paths(vault.bases.query(BaseSource(text="views: []")))
    text = "filters: file.name == 'F' || file.name == 'A'\nviews: [{name: V, order: [file.links, file.backlinks]}]"
    cells = [[text_of(cell) for cell in row.cells] for row in vault.bases.query(BaseSource(text=text)).rows]
    assert cells == [["[[Series|Series]], [[Series|Series]]", "[[F.md|F]]"], ["[[A|A]]", ""]]
    assert vault.bases.explain(BaseSource("Books"), "All", "Old/E.md").is_in is False


@pytest.mark.parametrize("kind", ["deny", "private"])
def test_notes_that_a_policy_hides_do_not_exist(tmp_path: Path, kind: str) -> None:
    write_vault(tmp_path, "=== Secret.md\n---\ntags: [book, hush]\nprice: 99\n---\n[[A]]\n")
    rules = PathRules(privacy=PrivacyRules(["hush"])) if kind == "private" else PathRules(deny=_deny("Secret.md"))
    bases = _vault(tmp_path, rules=rules).bases
    result = bases.query(BaseSource("Books"))
    assert _paths(result) == ["B.md", "C.md", "A.md", "D.md"]
    assert result.summaries["note.price"] == 11
    links = bases.query(BaseSource(text="filters: file.name == 'A'\nviews: [{name: V, order: [file.backlinks]}]"))
    assert links.rows[0].cells == ([],)
    for call in (
        lambda: bases.query(BaseSource("Books"), this="Secret"),
        lambda: bases.explain(BaseSource("Books"), "", "Secret"),
    ):
        with pytest.raises(VaultError) as error:
            call()
        assert error.value.code == "FILE_NOT_FOUND"


def _deny(pattern: str) -> Any:
    return (Rule("deny", pattern, 1),)


# ---------------------------------------------------------------------- remembered results


def test_a_result_is_remembered_until_something_changes(tmp_path: Path) -> None:
    vault = _vault(tmp_path)
    first = vault.bases.query(BaseSource("Books"))
    assert vault.bases.query(BaseSource("Books")) is first
    assert vault.bases.query(BaseSource("Books"), "Two") is not first
    assert vault.bases.query(BaseSource("Books"), this="A") is not first
    (tmp_path / "A.md").write_text("---\ntags: [book]\nstatus: zzz\n---\n")
    assert _paths(vault.bases.query(BaseSource("Books"))) == ["B.md", "C.md", "A.md", "D.md"]
    assert vault.bases.query(BaseSource("Books")).rows[2].cells == ("A", "zzz", None)
    (tmp_path / "Books.base").write_text("views: [{name: New}]")
    assert vault.bases.query(BaseSource("Books")).view.name == "New"


def test_a_declared_type_counts_at_once(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== A.md\n---\ndue: 2026-01-02\n---\n"))
    source = BaseSource(text="filters: file.name == 'A'\nviews: [{name: V, order: [due]}]")
    assert isinstance(vault.bases.query(source).rows[0].cells[0], Date)
    write_vault(tmp_path, '=== .obsidian/types.json\n{"types": {"due": "text"}}\n')
    assert vault.bases.query(source).rows[0].cells == ("2026-01-02",)


def test_a_result_that_depends_on_the_time_is_not_remembered(tmp_path: Path) -> None:
    day = [date(2026, 1, 1)]
    vault = open_vault(write_vault(tmp_path, "=== A.md\n---\ndue: 2026-01-02\n---\n"), today=lambda: day[0])
    source = BaseSource(text="filters: due < today()")
    assert _paths(vault.bases.query(source)) == []
    day[0] = date(2026, 1, 3)
    assert _paths(vault.bases.query(source)) == ["A.md"]


def test_runs_that_see_other_notes_share_no_results(tmp_path: Path) -> None:
    everything, some = _vault(tmp_path), _vault(tmp_path, rules=PathRules(deny=_deny("A.md")))
    assert "A.md" in _paths(everything.bases.query(BaseSource("Books")))
    assert "A.md" not in _paths(some.bases.query(BaseSource("Books")))


# ---------------------------------------------------------------------- long queries


class _Recorded(NoProgress):
    def __init__(self, stop_at: int) -> None:
        self.checks = 0
        self.reports: list[str] = []
        self._stop_at = stop_at

    def check(self) -> None:
        self.checks += 1
        if self.checks >= self._stop_at:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        self.reports.append(message)


def _many(root: Path) -> Vault:
    return open_vault(write_vault(root, "".join(f"=== N{number}.md\n---\nn: {number}\n---\n" for number in range(700))))


def test_a_long_query_reports_and_can_be_stopped(tmp_path: Path) -> None:
    vault = _many(tmp_path)
    source = BaseSource(text="filters: file.size > 1\nviews: [{name: V, sort: [n], groupBy: n, summaries: {n: Sum}}]")
    listening = _Recorded(10**9)
    assert vault.bases.query(source, progress=listening).total == 700
    assert {"200 of 700 files filtered", "200 of 700 files grouped", "200 of 700 values summed up"} <= {
        *listening.reports
    }
    for stop_at in range(1, 8):
        (tmp_path / "N1.md").write_text(f"---\nn: {stop_at}\n---\n")  # nothing is remembered
        vault.bases.files()
        with pytest.raises(Stopped):
            vault.bases.query(source, progress=_Recorded(stop_at))


def test_a_query_looks_for_changes_as_often_for_many_links_as_for_one(tmp_path: Path) -> None:
    text = "filters: file.ext == 'md'\nviews: [{name: V, order: [file.links, file.backlinks, formula.to]}]\n"
    text += "formulas: {to: file.links.map(value.asFile().path)}"
    counts = []
    for notes in (1, 60):
        root = tmp_path / str(notes)
        links = "".join(f"[[Note {number}]] " for number in range(notes))
        write_vault(root, "".join(f"=== Note {number}.md\n{links}\n" for number in range(notes)))
        vault = open_vault(root)
        scans = _scans_of(root)
        for row in vault.bases.query(BaseSource(text=text)).rows:
            assert len(row.cells[2]) == notes  # type: ignore[arg-type]
        counts.append(len(scans))
    assert counts[0] == counts[1] > 0


def _scans_of(folder: Path) -> list[str]:
    """Return a list that gets an item each time the folder is listed. No watch runs: each check of all files lists it."""
    scans: list[str] = []
    known = folder.stat()

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.scandir", "os.listdir") and arguments[0] is not None:
            with suppress(OSError):
                if os.path.samestat(os.stat(arguments[0]), known):
                    scans.append(event)

    sys.addaudithook(hear)
    return scans


def test_several_threads_may_ask_for_rows_of_one_result(tmp_path: Path) -> None:
    result = _many(tmp_path).bases.query(BaseSource(text="views: [{name: V, order: [file.name, n, file.tags]}]"))
    found: list[list[Any]] = []
    threads = [threading.Thread(target=lambda: found.append([row.cells for row in result.rows])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == found[0] for each in found)
    assert len(found[0]) == 700


# ---------------------------------------------------------------------- explaining


def test_explain_says_which_filter_dropped_a_note_and_what_formulas_gave(tmp_path: Path) -> None:
    explained = _vault(tmp_path).bases.explain(BaseSource("Books"), "Two", "A")
    assert not explained.is_in
    assert explained.dropped_by == ["view: price > 1 gave false"]
    assert [(each.of, each.text, each.value) for each in explained.filters] == [
        ("base", 'file.hasTag("book")', True), ("view", "price > 1", False),
    ]  # fmt: skip
    assert {each.name: each.value for each in explained.formulas}["twice"] == 4


def test_explain_names_the_filters_of_groups(tmp_path: Path) -> None:
    text = "filters: {and: [{not: [price > 2, 'true == false']}, {or: [status == 'x', missing]}, price.nothing()]}"
    explained = _vault(tmp_path).bases.explain(BaseSource(text=text), "", "B")
    assert explained.dropped_by == [
        "base: a filter of a “not” holds: price > 2 gave true",
        "base: no filter of an “or” holds: status == 'x' gave false; missing gave nothing",
        'base: price.nothing() gave the error “Cannot find function "nothing" on type Number”',
    ]
    assert [each.depth for each in explained.filters] == [0, 1, 2, 2, 1, 2, 2, 1]


def test_a_link_cell_is_a_link(tmp_path: Path) -> None:
    text = "filters: file.name == 'A'\nviews: [{name: V, order: [up, note.UP]}]"
    (row,) = _vault(tmp_path).bases.query(BaseSource(text=text)).rows
    assert row.cells == (Link("Series", None, "A.md"), Link("Series", None, "A.md"))
