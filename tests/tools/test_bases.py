"""``query_base``: a base as a model and a program see it, and who may see what in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.calls import call, refusal
from support.vaults import open_vault, write_vault
from vaultwire.tools.base_views import made_rows
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.errors import Stopped
from vaultwire.vault.value_types import NoProgress
from vaultwire.vault.vault import Vault

VAULT = """=== Books/Dune.md
---
status: read
rating: 5
author: "[[People/Frank Herbert|Herbert]]"
finished: 2024-03-01
tags: [novel/space]
---
=== Books/Emma.md
---
status: to read
rating: 3
---
See [[Dune]].
=== Books/Ulysses.md
---
status: to read
rating: many
---
=== People/Frank Herbert.md
=== Secret/Diary.md
---
status: read
rating: 9
---
=== Books.base
filters: file.inFolder("Books") || file.inFolder("Secret")
formulas:
  stars: '"*".repeat(rating)'
  twice: rating * 2
properties:
  note.rating: {displayName: Rating}
views:
  - type: table
    name: All
    order: [file.name, rating, author, finished, formula.stars]
    sort: [{property: file.name, direction: ASC}]
    summaries: {rating: Average}
  - type: cards
    name: To read
    filters: status == "to read"
    limit: 1
  - type: table
    name: By status
    groupBy: {property: status, direction: ASC}
    order: [file.name]
=== Note.md
# Shelf

```base
filters: file.hasLink(this)
views: [{type: list, name: Linked}]
```
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_vault(tmp_path, VAULT)
    return tmp_path


@pytest.fixture
def vault(root: Path) -> Vault:
    return open_vault(root)


def text(vault: Vault, **arguments: Any) -> str:
    said: str = call(vault, "query_base", **arguments).texts[0]
    return said


def test_a_view_is_a_table_with_the_path_in_place_of_the_name(vault: Vault) -> None:
    assert text(vault, base="Books") == (
        "View 'All' (table): 4 rows:\n"
        "| path | Rating | author | finished | stars |\n"
        "|---|---|---|---|---|\n"
        "| Secret/Diary.md | 9 |  |  | ********* |\n"
        "| Books/Dune.md | 5 | Herbert | 2024-03-01 | ***** |\n"
        "| Books/Emma.md | 3 |  |  | *** |\n"
        "| Books/Ulysses.md | many |  |  | Error: repeat needs a number, not String |\n"
        "Rating: 5.666666666666667"
    )


def test_the_data_keeps_types(vault: Vault) -> None:
    data = call(vault, "query_base", base="Books.base").data
    assert data["views"] == ["All", "To read", "By status"]
    assert [column["name"] for column in data["columns"]] == ["file name", "Rating", "author", "finished", "stars"]
    [dune] = [row for row in data["rows"] if row["path"] == "Books/Dune.md"]
    assert dune["values"] == {
        "file.name": "Dune",
        "note.rating": 5,
        "note.author": {"path": "People/Frank Herbert.md", "link": "People/Frank Herbert", "display": "Herbert"},
        "note.finished": "2024-03-01",
        "formula.stars": "*****",
    }
    assert data["rows"][-1]["values"]["formula.stars"] == {"error": "repeat needs a number, not String"}


def test_limits_groups_and_pages(vault: Vault) -> None:
    assert text(vault, base="Books", view="to read").startswith("View 'To read' (cards): 1 row of 2 files:\n| path |")
    first = call(vault, "query_base", base="Books", view="By status", limit=3)
    assert first.texts[0].splitlines()[1:4] == ["## read (2)", "| path |", "|---|"]
    assert "## to read (2)" in first.texts[0]
    rest = call(vault, "query_base", base="Books", view="By status", cursor=first.data["next_cursor"])
    assert [row["group"] for row in rest.data["rows"]] == ["to read"]
    long = "formulas: {x: '\"x\".repeat(150)'}\nviews: [{type: table, name: T, order: [formula.x]}]"
    few = call(vault, "query_base", yaml=long, max_tokens=100)
    assert [len(few.data["rows"]), few.data["total"]] == [2, 7]
    assert few.texts[0].endswith(f"5 more: pass cursor {few.data['next_cursor']!r}.")


def test_a_base_in_a_note_or_in_the_call(vault: Vault) -> None:
    assert "Books/Emma.md" in text(vault, base="Note", block=1, this="Books/Dune")
    assert "0 rows" in text(vault, base="Note", block=1)
    given = "filters: rating > 4\nviews: [{type: table, name: Best}]"
    assert [row["path"] for row in call(vault, "query_base", yaml=given).data["rows"]] == [
        "Books/Dune.md",
        "Secret/Diary.md",
    ]


def test_a_note_that_is_missing_is_explained(vault: Vault) -> None:
    said = text(vault, base="Books", view="To read", explain="Dune")
    assert said.startswith("Books/Dune.md is not in the view 'To read'.")
    assert 'status == "to read"' in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "either base, a file, or yaml"),
        ({"base": "Books", "yaml": "views: []"}, "either base, a file, or yaml"),
        ({"base": "Books", "view": "Nothing"}, "It has 'All', 'To read', 'By status'"),
        ({"base": "Nothing"}, "There is no"),
        ({"base": "Note"}, "Say which of its base blocks"),
        ({"base": "Note", "block": 2}, "one base block"),
        ({"yaml": "views: [a: b: c]"}, "not YAML: line 1"),
        ({"base": "Books", "cursor": "12345678.4"}, "cursor"),
    ],
)
def test_what_is_wrong_is_said(vault: Vault, arguments: dict[str, Any], words: str) -> None:
    assert words in refusal(vault, "query_base", **arguments)[1]


def test_a_hidden_note_is_in_no_row_count_link_or_error(root: Path) -> None:
    (root / "Books" / "Emma.md").write_text("See [[Diary]] and [[Secret/Diary]].\n")
    vault = open_vault(root, rules=PathRules(deny=(Rule("deny", "Secret/", 1),)))
    base = "filters: file.inFolder('Secret') || file.hasLink('Diary')\nviews: [{type: table, name: T, order: [file.links]}]"
    for arguments in (
        {"base": "Books"},
        {"base": "Books", "view": "By status"},
        {"yaml": base},
        {"yaml": "views: [{type: table, name: T, order: [file.backlinks, 'file(\"Secret/Diary\").size']}]"},
    ):
        outcome = call(vault, "query_base", **arguments)
        assert not any("Secret/Diary.md" in str(row) for row in outcome.data["rows"])
        assert "Secret/Diary.md" not in outcome.texts[0]
    assert refusal(vault, "query_base", base="Books", explain="Diary")[0] == "FILE_NOT_FOUND"


def test_a_caller_who_no_longer_waits_gets_no_more_rows(vault: Vault) -> None:
    class Impatient(NoProgress):
        checks = 0

        def check(self) -> None:
            self.checks += 1
            if self.checks > 2:
                raise Stopped

    result = vault.bases.query(BaseSource("Books"))
    impatient = Impatient()
    with pytest.raises(Stopped):
        made_rows(result, range(len(result.rows)), impatient)
    assert impatient.checks == 3
