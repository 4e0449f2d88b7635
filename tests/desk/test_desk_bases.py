"""Bases on the desk in a real browser: tabs, tables, cards, boards, the person's order and filter, and why a note is there."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from support.chromium import Tab, in_browser, open_tab
from support.desk_door import DeskDoor
from support.pictures import picture

pytestmark = in_browser

NOTES = """
=== Lists/Books & more.base
filters: file.inFolder("Books")
formulas:
  broken: pages.nope()
properties:
  note.pages: {displayName: Length}
views:
  - type: table
    name: All
    order: [file.name, pages, author, done, site, tags, formula.broken]
    sort: [{property: file.name, direction: ASC}]
    summaries: {pages: Sum}
  - type: cards
    name: Covers / by 50%
    order: [pages, author]
    image: note.cover
  - type: kanban
    name: Board
    groupBy: {property: status, direction: ASC}
    order: [file.name, pages]
    summaries: {pages: Average}
  - {type: table, name: Groups, groupBy: {property: status, direction: DESC}, order: [pages], summaries: {pages: Average}}
  - {type: calendar, name: Of a plugin}
  - {type: list, name: Around, filters: 'author == this.file', order: [file.name, pages]}
  - {type: table, name: Nothing, filters: 'pages > 10000'}
  - {type: table, name: Limited, limit: 1}
=== Broken.base
views: [
=== Books/Dune.md
---
pages: 412
author: "[[Herbert]]"
status: read
done: true
cover: "[[dune.png]]"
site: https://example.org/dune
---
=== Books/Emma.md
---
pages: 90
author: "[[Nobody|Jane <b>Austen</b>]]"
status: open
done: false
cover: pictures/emma.png
tags: [old, love]
---
=== Books/Zorba.md
---
author: "[[Herbert]]"
cover: https://evil.example/x.png
---
=== Herbert.md
# Herbert
![[Books & more.base#Around]]

```base
filters: author == this.file
views: [{type: table, name: Mine, order: [file.name]}]
```
"""
BASE = "Lists/Books%20%26%20more.base"


class Stage(NamedTuple):
    tab: Tab
    door: DeskDoor

    def show(self, where: str, shown: str = "#g-base-title") -> None:
        """Open a view of the desk, from another one."""
        self.tab.evaluate("location.hash = '#/vault/since'")
        self.tab.wait_for("!document.querySelector('.glance')")
        self.tab.evaluate(f"location.hash = {json.dumps(f'#/vault/{where}')}")
        self.tab.wait_for(f"document.querySelector({json.dumps(shown)})")

    def names(self) -> list[str]:
        return self.tab.texts(".g-scroll tbody td:first-child")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("bases")
    with closing(DeskDoor(folder, NOTES)) as door, open_tab() as tab:
        (door.root / "pictures").mkdir()
        (door.root / "pictures" / "emma.png").write_bytes(picture((0, 120, 60)))
        (door.root / "dune.png").write_bytes(picture((200, 120, 0)))
        tab.resize(1400, 900)
        tab.go(door.link())
        tab.wait_for("document.querySelector('nav a')")
        yield Stage(tab, door)
        hosts = {urlsplit(each).hostname for each in tab.requested}
        assert hosts <= {"127.0.0.1", None}, "no outside address is asked for"


def test_the_list_leads_to_each_view(stage: Stage) -> None:
    stage.show("search", "#g-query")
    stage.tab.click("nav a", "Bases")
    stage.tab.wait_for("document.querySelector('.g-base-list')")
    assert stage.tab.texts(".g-base-name") == ["Broken", "Books & more"]
    assert "Broken.base" in stage.tab.texts(".g-base-list .g-error")[0]
    stage.tab.shoot("bases")
    stage.tab.click(".g-base-list a", "Covers / by 50%")
    stage.tab.wait_for("document.querySelector('.g-cards')")
    assert stage.tab.texts(".g-tabs a[aria-current]") == ["Covers / by 50%"]


def test_a_table_shows_typed_cells_and_a_summary(stage: Stage) -> None:
    stage.show(f"base/{BASE}")
    assert stage.names() == ["Dune", "Emma", "Zorba"]
    row = stage.tab.texts(".g-scroll tbody tr:nth-child(2) td")
    assert row[1:3] == ["90", "Jane <b>Austen</b>"]
    assert row[5] == "#old, #love"
    assert "Error: " in row[6]
    marks = "[...document.querySelectorAll('[role=img]')].map((e) => e.getAttribute('aria-label'))"
    assert stage.tab.evaluate(marks) == ["yes", "no"]
    assert stage.tab.texts("tfoot td")[1] == "Sum 502"
    assert stage.tab.evaluate("document.querySelector('.g-scroll a[rel]').href") == "https://example.org/dune"
    stage.tab.shoot("bases-table")
    stage.tab.click(".g-scroll td a", "Herbert")
    stage.tab.wait_for("document.querySelector('#g-note-title').textContent === 'Herbert'")


def test_a_heading_sorts_also_with_the_keyboard_and_keeps_the_focus(stage: Stage) -> None:
    stage.show(f"base/{BASE}")
    stage.tab.click("thead button", "Length")
    for direction, names in (
        ("ascending", ["Emma", "Dune", "Zorba"]),
        ("descending", ["Dune", "Emma", "Zorba"]),
        ("none", ["Dune", "Emma", "Zorba"]),
    ):
        held = "document.activeElement.closest('th').getAttribute('aria-sort')"
        stage.tab.wait_for(f"{held} === {json.dumps(direction)}")
        assert stage.names() == names
        stage.tab.press("Enter")


def test_the_filter_follows_what_is_typed_and_views_are_tabs(stage: Stage) -> None:
    stage.show(f"base/{BASE}")
    stage.tab.click("#g-filter-rows")
    stage.tab.type("HERB")
    stage.tab.wait_for("document.querySelectorAll('.g-scroll tbody tr').length === 2")
    assert "2 of 3 rows." in stage.tab.texts("[role=status]")
    assert "The summaries are of all 3 rows." in stage.tab.texts(".glance p")
    stage.tab.type("zzz")
    stage.tab.wait_for("document.querySelector('.glance [role=status]').textContent.startsWith('No row has “HERBzzz”')")
    stage.tab.click(".g-tabs a", "Groups")
    stage.tab.wait_for("document.querySelector('.g-group')")
    assert stage.tab.evaluate("document.querySelector('#g-filter-rows').value") == ""
    assert stage.tab.evaluate("document.activeElement.textContent") == "Groups"
    assert stage.tab.texts(".g-group th") == [
        "read (1) Length: Average 412",
        "open (1) Length: Average 90",
        "None (1) Length: Average ",
    ]
    assert stage.tab.texts("tbody th[scope=row]") == ["Dune", "Emma", "Zorba"]
    stage.tab.shoot("bases-groups")


def test_cards_have_pictures_of_the_vault_only(stage: Stage) -> None:
    stage.show(f"base/{BASE}?view=Covers%2520%252F%2520by%252050%2525")
    stage.tab.wait_for("[...document.images].filter((image) => image.naturalWidth === 2).length === 2")
    assert stage.tab.texts(".g-card .g-name") == ["Dune", "Emma", "Zorba"]
    assert stage.tab.evaluate("document.querySelectorAll('.g-card img').length") == 2
    stage.tab.shoot("bases-cards")


def test_a_board_has_a_column_for_each_group(stage: Stage) -> None:
    stage.show(f"base/{BASE}?view=Board")
    assert stage.tab.texts(".g-board h3") == ["open (1)", "read (1)", "None (1)"]
    assert stage.tab.texts(".g-board .g-section:nth-child(2) .g-name") == ["Dune"]
    stage.tab.shoot("bases-board")


def test_empty_views_limits_and_unknown_types_are_said_in_words(stage: Stage) -> None:
    for view, words in (
        ("Nothing", "No file meets the filters of this view."),
        ("Limited", "1 row. The view has a limit: 3 files meet its filters."),
        ("Of%2520a%2520plugin", "3 rows. A view of the type “calendar” is shown as a table."),
    ):
        stage.show(f"base/{BASE}?view={view}")
        assert stage.tab.texts(".glance [role=status]")[0] == words
    stage.show(f"base/{BASE}?view=Gone")
    assert "The base has no view 'Gone'" in stage.tab.texts(".g-error")[0]
    assert len(stage.tab.texts(".g-tabs a")) == 8


def test_a_note_leads_to_its_bases_with_itself_as_this(stage: Stage) -> None:
    stage.show("note/Herbert.md", ".g-text a")
    stage.tab.click(".g-text a.embed", "Books & more.base#Around")
    stage.tab.wait_for("document.querySelector('.g-items')")
    assert stage.tab.texts(".g-items li > a") == ["Dune", "Zorba"]
    assert "shown as in Herbert" in stage.tab.texts(".g-base > p")[0]
    stage.tab.shoot("bases-list")
    stage.show("note/Herbert.md", ".g-text a")
    stage.tab.click(".g-text a.embed", "Show what this base lists")
    stage.tab.wait_for("document.querySelector('#g-base-title')?.textContent === 'Herbert, base 1'")
    assert stage.names() == ["Dune", "Zorba"]


def test_why_a_note_is_here_or_not(stage: Stage) -> None:
    stage.show(f"base/{BASE}?view=Nothing")
    stage.tab.click(".g-why summary")
    stage.tab.click("#g-why-note")
    stage.tab.type("Dune\n")
    stage.tab.wait_for("document.querySelector('.g-reasons')")
    assert "pages > 10000 gave false" in stage.tab.texts(".g-reasons li")[0]
    assert "Dune is not in this view." in stage.tab.texts(".g-why [role=status]")
    stage.tab.shoot("bases-why")


def test_more_rows_come_when_they_are_asked_for(tmp_path: Path) -> None:
    notes = "".join(f"=== n/{number:03}.md\n\n" for number in range(130))
    with (
        closing(DeskDoor(tmp_path, f"=== All.base\nfilters: file.inFolder('n')\n{notes}")) as door,
        open_tab() as tab,
    ):
        tab.go(door.link())
        tab.wait_for("document.querySelector('nav a')")
        tab.evaluate("location.hash = '#/vault/base/All.base'")
        tab.wait_for("document.querySelectorAll('tbody tr').length === 100")
        tab.click("button", "Show more rows")
        tab.wait_for("document.querySelectorAll('tbody tr').length === 130")
        assert tab.texts("tbody td") == [f"{number:03}" for number in range(130)]
        assert "Show more rows" not in tab.texts("button")


def test_a_vault_without_bases_says_what_one_is(tmp_path: Path) -> None:
    with closing(DeskDoor(tmp_path, "=== a.md\na\n")) as door, open_tab() as tab:
        tab.go(door.link())
        tab.click("nav a", "Bases")
        tab.wait_for("document.body.innerText.includes('There is no base in this vault.')")


VIEWS = {
    "bases": "bases",
    "table": f"base/{BASE}",
    "cards": f"base/{BASE}?view=Covers%2520%252F%2520by%252050%2525",
    "board": f"base/{BASE}?view=Board",
    "groups": f"base/{BASE}?view=Groups",
    "list": f"base/{BASE}?view=Around&this=Herbert.md",
}


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_is_wider_than_the_page(stage: Stage, view: str, width: int) -> None:
    stage.tab.resize(width, 800)
    stage.show(VIEWS[view], ".glance h2")
    stage.tab.wait_for("!document.body.textContent.includes('Loading')")
    stage.tab.shoot(f"bases-{view}-{width}")
    assert stage.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        stage.tab.evaluate(
            "(() => { const e = document.querySelector('main'); return e.scrollWidth - e.clientWidth; })()"
        )
        <= 0
    )
    assert (
        stage.tab.evaluate(
            "(() => { const e = document.querySelector('.head'); return e.scrollWidth - e.clientWidth; })()"
        )
        <= 0
    )
    stage.tab.resize(1400, 900)


def test_axe_finds_nothing_in_any_view(stage: Stage) -> None:
    axe = Path(os.environ["VAULTWIRE_PLUGIN_MODULES"], "axe-core", "axe.min.js").read_text()
    stage.tab.evaluate(f"{axe}; 1")
    for (view, where), dark in itertools.product(VIEWS.items(), (False, True)):
        stage.tab.be_dark(dark)
        stage.show(where, ".glance h2")
        stage.tab.wait_for("!/Loading/.test(document.querySelector('main').textContent)")
        if view != "bases":
            stage.tab.click(".g-why summary")
            stage.tab.click("#g-why-note")
            stage.tab.type("Dune\n")
            stage.tab.wait_for("document.querySelector('.g-why table')")
        found = stage.tab.evaluate(
            "axe.run().then((r) => r.violations.map((v) => [v.id, v.nodes.map((n) => n.html + n.failureSummary)]))"
        )
        assert found == [], (view, dark, found)
    stage.tab.be_dark(False)
