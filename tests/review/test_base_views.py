"""The bases of a vault for a page, as plain dicts: tabs, rows, groups, pictures, and why a note is in a view."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from support.vaults import open_vault, snapshot, write_vault
from vaultwire.review.base_views import MOST_COLUMNS, MOST_ROWS, Asked, BaseViews, Wanted
from vaultwire.review.glance import Glance
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.vault import Vault

NOTES = """
=== Books.base
filters: file.inFolder("Books")
formulas:
  double: pages * 2
  broken: pages.nope()
properties:
  note.pages: {displayName: Length}
views:
  - type: table
    name: All
    order: [file.name, pages, author, done, formula.broken]
    sort: [{property: file.name, direction: ASC}]
    summaries: {pages: Sum}
  - type: cards
    name: Covers
    order: [status]
    image: note.cover
  - type: kanban
    name: By status
    groupBy: {property: status, direction: ASC}
    order: [file.name, pages]
    summaries: {pages: Average}
  - type: calendar
    name: Of a plugin
  - {type: kanban, name: No groups}
  - {type: list, name: Around, filters: 'author == this.file'}
=== Broken.base
views: [
=== Books/Dune.md
---
pages: 412
author: "[[Herbert]]"
status: read
done: true
cover: "[[dune.png]]"
---
=== Books/Emma.md
---
pages: 90
author: "[[Nobody|Jane]]"
status: open
cover: pictures/emma.jpg
tags: [old, love]
---
=== Books/Zorba.md
---
author: ["[[Herbert]]", "https://example.org/"]
cover: https://evil.example/x.png
---
=== Herbert.md
# Books
![[Books.base#Around]] [[Books.base]]

```base
filters: author == this.file
views: [{type: table, name: Mine, order: [file.name]}]
```

> ```base
> filters: file.name == "Emma"
> ```
=== dune.png
x
=== pictures/emma.jpg
x
"""
BOOKS = Asked("Books.base")


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path / "Notes", NOTES))


@pytest.fixture
def bases(vault: Vault) -> BaseViews:
    return Glance(vault).bases


def names(shown: dict[str, Any]) -> list[str]:
    assert shown["problem"] == ""
    return [row["name"] for row in shown["rows"]]


def test_bases_are_listed_with_their_views_and_what_is_wrong_with_one(bases: BaseViews) -> None:
    told = bases.all()
    assert told["total"] == 2
    books, broken = told["bases"]
    assert [tab["name"] for tab in books["views"]] == [
        "All",
        "Covers",
        "By status",
        "Of a plugin",
        "No groups",
        "Around",
    ]
    assert books["views"][2]["href"] == "#/Notes/base/Books.base?view=By%2520status"
    assert books["name"] == "Books"
    assert (broken["views"], "Broken.base" in broken["problem"]) == ([], True)


def test_a_table_has_cells_as_parts_and_leads_to_notes(bases: BaseViews) -> None:
    shown = bases.rows(BOOKS)
    assert names(shown) == ["Dune", "Emma", "Zorba"]
    assert [column["name"] for column in shown["columns"]] == ["file name", "Length", "author", "done", "broken"]
    name, pages, author, done, broken = shown["rows"][0]["cells"]
    assert (name["kind"], name["href"]) == ("link", "#/Notes/note/Books/Dune.md")
    assert pages == {"kind": "number", "text": "412"}
    assert author["href"] == "#/Notes/note/Herbert.md"
    assert done["checked"] is True
    assert broken["kind"] == "error"
    assert "nope" in broken["text"]
    assert shown["rows"][1]["cells"][2] == {"kind": "link", "text": "Jane", "href": None, "path": None}
    assert [item["href"] for item in shown["rows"][2]["cells"][2]["items"]] == [
        "#/Notes/note/Herbert.md",
        "https://example.org/",
    ]
    assert shown["rows"][2]["cells"][1] is None
    assert shown["columns"][1]["summary"] == {"name": "Sum", "value": {"kind": "number", "text": "502"}}
    assert (shown["layout"], shown["total"], shown["in_view"], shown["next"]) == ("table", 3, 3, None)
    json.dumps(shown)


def test_cards_have_pictures_of_the_vault_and_none_from_outside(bases: BaseViews) -> None:
    shown = bases.rows(BOOKS._replace(view="Covers"))
    assert (shown["layout"], shown["names_files"]) == ("cards", False)
    pictures = {row["name"]: row["image"] and row["image"]["path"] for row in shown["rows"]}
    assert pictures == {"Dune": "dune.png", "Emma": "pictures/emma.jpg", "Zorba": None}


def test_groups_have_counts_and_summaries_and_the_person_s_filter_counts_again(bases: BaseViews) -> None:
    shown = bases.rows(BOOKS._replace(view="by STATUS"))
    assert (shown["view"], shown["layout"]) == ("By status", "board")
    assert [(group["text"], group["count"]) for group in shown["groups"]] == [("open", 1), ("read", 1), ("None", 1)]
    assert shown["groups"][1]["summaries"][0]["value"]["text"] == "412"
    fewer = bases.rows(BOOKS._replace(view="By status"), Wanted(text="dUn"))
    assert [(group["text"], group["count"]) for group in fewer["groups"]] == [("read", 1)]
    assert (fewer["total"], fewer["in_view"]) == (1, 3)


@pytest.mark.parametrize(("view", "layout"), [("Of a plugin", "table"), ("No groups", "table"), ("Around", "list")])
def test_other_types_are_tables(bases: BaseViews, view: str, layout: str) -> None:
    assert bases.rows(BOOKS._replace(view=view))["layout"] == layout


def test_a_click_on_a_column_sorts_and_empty_cells_stay_last(bases: BaseViews) -> None:
    assert names(bases.rows(BOOKS, Wanted(sort="note.pages"))) == ["Emma", "Dune", "Zorba"]
    assert names(bases.rows(BOOKS, Wanted(sort="-note.pages"))) == ["Dune", "Emma", "Zorba"]
    assert names(bases.rows(BOOKS, Wanted(sort="-file.name", text="herB"))) == ["Zorba", "Dune"]
    assert "no column 'note.gone'" in bases.rows(BOOKS, Wanted(sort="note.gone"))["problem"]


def test_pages_of_any_size_give_each_row_once_in_order(tmp_path: Path) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    text = "=== N.base\nviews: [{type: table, name: T, order: [file.name, n, t]}]\nfilters: file.ext == 'md'\n"
    values = [(chance.choice(["", "x", "Yz"]), chance.choice([None, *range(5)])) for _ in range(40)]
    for number, (word, value) in enumerate(values):
        text += f"=== {number:02}.md\n---\nn: {'' if value is None else value}\nt: {word}\n---\n"
    bases = Glance(open_vault(write_vault(tmp_path / "V", text))).bases
    for sort in ("", "note.n", "-note.n", "note.t"):
        for typed in ("", "y", "X"):
            whole = names(bases.rows(Asked("N"), Wanted(limit=500, sort=sort, text=typed)))
            found: list[str] = []
            offset: int | None = 0
            while offset is not None:
                page = bases.rows(Asked("N"), Wanted(offset, chance.randint(1, 9), sort, typed))
                found += names(page)
                offset = page["next"]
            assert found == whole
            kept = [number for number, (word, _) in enumerate(values) if typed.casefold() in word.casefold()]
            assert sorted(whole) == [f"{number:02}" for number in kept]
            if sort.endswith("note.n"):
                given = [values[int(name)][1] for name in whole if values[int(name)][1] is not None]
                assert given == sorted(given, reverse=sort[0] == "-")
                assert all(values[int(name)][1] is None for name in whole[len(given) :])


def test_no_answer_has_more_rows_columns_or_text_than_fit(tmp_path: Path) -> None:
    columns = ", ".join(f"c{number}" for number in range(MOST_COLUMNS + 20))
    text = f"=== N.base\nviews: [{{type: table, name: T, order: [{columns}]}}]\nfilters: file.ext == 'md'\n"
    text += "".join(f"=== {number}.md\n---\nc0: {'x' * 9_000}\nc1: {[1] * 500}\n---\n" for number in range(600))
    bases = Glance(open_vault(write_vault(tmp_path / "V", text))).bases
    shown = bases.rows(Asked("N.base"), Wanted(limit=10_000))
    assert len(shown["columns"]) == len(shown["rows"][0]["cells"]) == MOST_COLUMNS
    assert "20 more columns are not shown." in shown["problems"]
    assert 0 < len(shown["rows"]) <= MOST_ROWS
    assert shown["next"] == len(shown["rows"])
    assert len(json.dumps(shown)) < 4_000_000
    assert shown["rows"][0]["cells"][1]["more"] > 400
    assert bases.rows(Asked("N.base"), Wanted(offset=599))["total"] == 600
    assert bases.rows(Asked("N.base"), Wanted(offset=10**9))["rows"] == []


@pytest.mark.parametrize(
    ("asked", "wanted", "words"),
    [
        (Asked("Nope.base"), Wanted(), "Nope.base"),
        (Asked(""), Wanted(), "Name a .base file"),
        (Asked("Broken.base"), Wanted(), "Broken.base"),
        (Asked("Books.base", view="Gone"), Wanted(), "no view 'Gone'"),
        (Asked("Herbert.md", block=7), Wanted(), "2 base blocks"),
        (Asked("Books.base", this="Nope"), Wanted(), "Nope"),
        (Asked("../../etc/passwd.base"), Wanted(), "passwd"),
        (BOOKS, Wanted(text="x" * 2_000), "at most 1,000 characters"),
    ],
)
def test_what_cannot_be_shown_is_said_in_words(bases: BaseViews, asked: Asked, wanted: Wanted, words: str) -> None:
    shown = bases.rows(asked, wanted)
    assert words in shown["problem"]
    assert shown["rows"] == []
    assert len(shown["views"]) == (6 if asked.view or wanted.text or asked.this else 0)


def test_a_block_of_a_note_has_the_note_as_this(bases: BaseViews) -> None:
    shown = bases.rows(Asked("Herbert.md", block=1))
    assert (shown["name"], shown["view"], names(shown)) == ("Herbert, base 1", "Mine", ["Dune"])
    assert shown["href"] == "#/Notes/note/Herbert.md"
    assert shown["views"][0]["href"] == "#/Notes/base/Herbert.md?view=Mine&block=1"
    assert names(bases.rows(Asked("Herbert.md", block=2))) == ["Emma"]


def test_a_rendered_note_leads_to_its_bases(vault: Vault) -> None:
    note = Glance(vault).note("Herbert.md")
    found = json.dumps(note["tree"])
    assert '"#/Notes/base/Books.base?view=Around&this=Herbert.md", "class": "embed"' in found
    assert '"#/Notes/base/Books.base", "class": "note"' in found
    assert '"#/Notes/base/Herbert.md?block=1"' in found
    assert '"#/Notes/base/Herbert.md?block=2"' in found
    around = Glance(vault).bases.rows(Asked("Books.base", view="Around", this="Herbert.md"))
    assert names(around) == ["Dune"]
    assert around["this"]["href"] == "#/Notes/note/Herbert.md"
    assert [link["href"] for link in note["links"]][:2] == ["#/Notes/base/Books.base"] * 2


def test_why_says_what_each_filter_gave(bases: BaseViews) -> None:
    told = bases.why(BOOKS, "Dune")
    assert (told["note"], told["is_in"], told["dropped_by"]) == ("Books/Dune.md", True, [])
    assert told["filters"][0]["text"] == 'file.inFolder("Books")'
    assert {each["name"]: each["value"]["kind"] for each in told["formulas"]} == {"double": "number", "broken": "error"}
    out = bases.why(BOOKS, "Herbert")
    assert not out["is_in"]
    assert "inFolder" in out["dropped_by"][0]
    assert "Type the name" in bases.why(BOOKS, " ")["problem"]
    assert "Nope" in bases.why(BOOKS, "Nope")["problem"]


def test_pictures_are_given_and_nothing_else(vault: Vault, bases: BaseViews) -> None:
    assert bases.picture("pictures/emma.jpg") == ("pictures/emma.jpg", b"x\n")
    for path, code in (
        ("Herbert.md", INVALID_ARGUMENTS),
        ("Books.base", INVALID_ARGUMENTS),
        ("no.png", FILE_NOT_FOUND),
    ):
        with pytest.raises(VaultError) as raised:
            bases.picture(path)
        assert raised.value.code == code
    for path in ("../x.png", "/etc/x.png", ".obsidian/x.png"):
        with pytest.raises(VaultError):
            bases.picture(path)


def test_nothing_hidden_is_in_a_row_count_link_picture_or_reason(tmp_path: Path) -> None:
    hidden = NOTES + '=== Books/Secret.md\n---\nauthor: "[[Herbert]]"\nstatus: hush\ncover: "[[hush.png]]"\n---\n'
    hidden = hidden.replace('author: "[[Nobody|Jane]]"', 'author: "[[Secret]]"')
    hidden = (
        hidden.replace('"[[dune.png]]"', '"[[hush.png]]"') + "=== Private/hush.png\nx\n=== Private/H.base\nviews: []\n"
    )
    rules = PathRules(deny=(Rule("deny", "Private/", 1), Rule("deny", "Books/Secret.md", 2)))
    bases = Glance(open_vault(write_vault(tmp_path / "Notes", hidden), rules=rules)).bases
    answers = [bases.all(), bases.why(BOOKS, "Dune")]
    for view in ("All", "Covers", "By status", "Around"):
        answers.append(bases.rows(Asked("Books.base", view=view, this="Herbert")))
        assert answers[-1]["problem"] == ""
    told = json.dumps(answers)
    for word in ("Books/Secret.md", "Private", "hush", "H.base"):
        assert word not in told
    assert bases.rows(BOOKS)["total"] == 3
    assert bases.rows(BOOKS)["rows"][1]["cells"][2]["href"] is None
    assert bases.why(BOOKS, "Secret")["problem"].replace("Secret", "X") == bases.why(BOOKS, "Nope")["problem"].replace(
        "Nope", "X"
    )
    with pytest.raises(VaultError) as raised:
        bases.picture("Private/hush.png")
    with pytest.raises(VaultError) as absent:
        bases.picture("Private/none.png")
    assert str(raised.value).replace("hush", "none") == str(absent.value)


def test_an_answer_that_takes_too_long_ends_with_its_reason(vault: Vault) -> None:
    bases = BaseViews(vault, seconds=0)
    for wanted in (Wanted(), Wanted(sort="file.name"), Wanted(text="x")):
        told = bases.rows(BOOKS, wanted)
        assert "take more than 0 seconds" in told["problem"]
        assert told["rows"] == []
        assert told["views"]
    assert vault.bases.query(BOOKS.source).rows[0].cells  # a result that is kept has no end of its own
    assert BaseViews(vault).rows(BOOKS)["problem"] == ""


def test_looking_changes_nothing(vault: Vault, bases: BaseViews, tmp_path: Path) -> None:
    before = snapshot(tmp_path / "Notes")
    bases.all()
    bases.rows(BOOKS, Wanted(sort="note.pages"))
    bases.why(BOOKS, "Dune")
    assert snapshot(tmp_path / "Notes") == before
