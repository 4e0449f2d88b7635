"""The views of the vault at a glance in a real browser, under the page's policy of content."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from support.chromium import Tab, in_browser, open_tab
from support.desk_door import DeskDoor
from support.glance_stage import serving
from support.vaults import open_vault, write_vault
from vaultwire.review.glance import Glance
from vaultwire.vault.caller import Caller

NOTES = """
=== Plan.md
---
status: draft
---
# The plan
Meet <b>Anna</b> about the garden. [[Anna]] [[Gone]] <img src=x onerror=alert(1)> ![p](https://evil.example/p.png)

> [!warning] Careful
> A callout.

- [ ] one
- [x] two

==marked== #tag $x^2$[^1]

| a | b |
|---|---|
| 1 | 2 |

[^1]: A footnote.
=== People/Anna.md
Anna has a garden.

More.

See [[Plan#The plan|the plan]].
=== People/Bert.md
Nothing here.
"""


COUNT = itertools.count()


class Stage(NamedTuple):
    tab: Tab
    url: str

    def show(self, where: str) -> None:
        self.tab.go(f"{self.url}?{next(COUNT)}#/Notes/{where}")  # another address, so that the page is loaded


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("glance")
    vault = open_vault(write_vault(folder / "Notes", NOTES))
    vault.used_by(Caller("Claude Code"), "write_note").writing.write("People/Carl.md", "New [[Anna]]", "create")
    with serving(Glance(vault)) as url, open_tab() as tab:
        tab.resize(1000, 800)
        yield Stage(tab, url)
        hosts = {urlsplit(each).hostname for each in tab.requested}
        assert hosts <= {"127.0.0.1", None}, "no outside address is asked for"


@in_browser
def test_a_search_follows_what_is_typed(stage: Stage) -> None:
    stage.show("search")
    stage.tab.click("#g-query")
    stage.tab.type("garden anna")
    stage.tab.wait_for("document.querySelectorAll('.g-hit mark').length > 3")
    assert stage.tab.texts(".g-hit > a")[0].startswith(("Plan", "Anna"))
    assert "2 notes match." in stage.tab.texts("[role=status]")
    stage.tab.shoot("glance-search")


@in_browser
def test_an_unfinished_query_is_explained_and_no_error_of_the_page(stage: Stage) -> None:
    stage.show("search")
    stage.tab.click("#g-query")
    stage.tab.type('"garden')
    stage.tab.wait_for("document.querySelector('[role=status].g-error')")


@in_browser
def test_a_note_is_rendered_and_its_links_lead_to_notes(stage: Stage) -> None:
    stage.show("note/Plan.md")
    stage.tab.wait_for("document.querySelector('.g-text .callout')")
    assert stage.tab.evaluate("document.querySelectorAll('.g-text img, .g-text b, .g-text script').length") == 0
    assert "<img src=x onerror=alert(1)>" in stage.tab.evaluate("document.querySelector('.g-text').textContent")
    assert stage.tab.texts(".glance aside p") == ["See [[Plan#The plan|the plan]]."]
    stage.tab.shoot("glance-note")
    stage.tab.click(".g-text a.note", "Anna")
    stage.tab.wait_for("document.querySelector('#g-note-title').textContent === 'Anna'")


@in_browser
def test_a_link_to_a_line_moves_the_focus_there(stage: Stage) -> None:
    stage.show("note/People/Anna.md?line=5")
    stage.tab.wait_for("document.activeElement.textContent === 'See the plan.'")


@in_browser
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_name_with_a_question_mark_is_found(stage: Stage, tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path / "Notes", "=== Why #1? 50%.md\nBecause.\n"))
    with serving(Glance(vault)) as url:
        stage.tab.go(f"{url}#/Notes/search")
        stage.tab.click(".g-path")
        stage.tab.wait_for("document.querySelector('#g-note-title')?.textContent === 'Why #1? 50%'")


@in_browser
def test_the_graph_is_drawn_and_its_list_leads_to_notes(stage: Stage) -> None:
    stage.show("graph")
    stage.tab.wait_for("document.querySelector('.g-graph canvas') || document.querySelector('.g-error')")
    assert stage.tab.texts(".glance .g-error") == []
    assert stage.tab.evaluate("document.querySelector('.g-graph').dataset.drawn") == "4"
    stage.tab.shoot("glance-graph")
    assert stage.tab.texts(".g-list a")[0] == "Anna"
    stage.tab.click("#g-filter")
    stage.tab.type("bert")
    stage.tab.wait_for("document.querySelectorAll('.g-list a').length === 1")
    stage.tab.press("Tab")
    stage.tab.press("Enter")
    stage.tab.wait_for("document.querySelector('#g-note-title')?.textContent === 'Bert'")


@in_browser
def test_activity_is_a_table_for_screen_readers(stage: Stage) -> None:
    stage.show("activity")
    stage.tab.wait_for("document.querySelector('.g-wide table')")
    assert stage.tab.texts("tbody th") == [" Claude Code"]
    assert stage.tab.texts("tbody td")[-1] == "1"
    assert "Reads are recorded only when the server runs with --audit." in stage.tab.texts(".glance p")
    stage.tab.shoot("glance-activity")


@in_browser
def test_a_problem_is_one_click_from_its_line(stage: Stage) -> None:
    stage.show("problems")
    stage.tab.wait_for("document.querySelector('.g-list a')")
    stage.tab.shoot("glance-problems")
    stage.tab.click(".g-list a")
    stage.tab.wait_for("document.querySelector('.g-target')")
    assert stage.tab.evaluate("document.querySelector('.g-target').textContent").startswith("Meet <b>Anna</b>")


@in_browser
@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("view", ["search", "note/Plan.md", "graph", "activity", "problems"])
def test_no_view_is_wider_than_the_page(stage: Stage, view: str, width: int) -> None:
    stage.tab.resize(width, 800)
    stage.show(view)
    stage.tab.wait_for("document.querySelector('.glance h2') && !document.body.textContent.includes('Loading')")
    stage.tab.shoot(f"glance-{view.partition('/')[0]}-{width}")
    assert stage.tab.evaluate("document.documentElement.scrollWidth") <= width


@in_browser
def test_the_page_draws_no_element_that_is_not_in_its_own_list(stage: Stage) -> None:
    stage.show("none")
    stage.tab.wait_for("window.draw")
    hostile = [
        ["script", {}, ["alert(1)"]],
        ["a", {"href": "javascript:alert(1)", "onclick": "alert(1)", "style": "x"}, ["one"]],
        ["a", {"href": "java\tscript:alert(1)"}, ["two"]],
        ["a", {"href": "obsidian://new?vault=V&file=Plan&overwrite"}, ["two"]],
        ["img", {"src": "https://evil.example/", "onerror": "alert(1)"}, []],
        ["p", {"dangerouslySetInnerHTML": {"__html": "<b>x</b>"}, "class": "evil", "ref": 1, "key": {}}, ["three"]],
        {"type": "b", "props": {"children": "four"}},
        ["a", {"href": "https://good.example/"}, ["five"]],
    ]
    stage.tab.evaluate(f"window.draw({json.dumps(hostile)})")
    shown = stage.tab.evaluate("document.querySelector('#desk').innerHTML")
    assert shown == (
        '<div>alert(1)<a>one</a><a>two</a><a>two</a><p>three</p><a href="https://good.example/" rel="noopener noreferrer" '
        'target="_blank">five</a></div>'
    )


def test_each_vendored_file_is_the_one_on_record() -> None:
    folder = Path(str(resources.files("vaultwire.desk") / "page" / "vendor"))
    told = json.loads((folder / "vendored.json").read_text())["files"]
    for each in told:
        assert hashlib.sha256((folder / each["file"]).read_bytes()).hexdigest() == each["sha256"], each["file"]
        assert each["licence_files"]
        assert all((folder / name).is_file() for name in each["licence_files"])
    listed = {each["file"] for each in told} | {name for each in told for name in each["licence_files"]}
    assert {path.name for path in folder.iterdir()} == {*listed, "vendored.json"}


@in_browser
def test_the_desk_itself_opens_each_view_at_a_real_server(tmp_path: Path) -> None:
    with closing(DeskDoor(tmp_path, NOTES)) as door, open_tab() as tab:
        tab.resize(1440, 900)
        tab.go(door.link())
        for title, shown in (
            ("Search", ".g-hit"),
            ("Graph", ".g-graph canvas"),
            ("Activity", ".glance h3"),
            ("Problems", ".g-list a"),
        ):
            tab.click("nav a", title)
            tab.wait_for(f"document.querySelector({json.dumps(shown)})")
            tab.shoot(f"desk-{title.lower()}")
        tab.click(".g-list a")
        tab.wait_for("document.querySelector('.g-target')")
        tab.shoot("desk-note")


@in_browser
def test_axe_finds_nothing_in_any_view(tmp_path: Path) -> None:
    axe = Path(os.environ["VAULTWIRE_PLUGIN_MODULES"], "axe-core", "axe.min.js").read_text()
    with closing(DeskDoor(tmp_path, NOTES)) as door, open_tab() as tab:
        tab.resize(1440, 900)
        door.agent.session = "one"
        door.edit(("People/Bert.md", "Something here.\n"))
        tab.go(door.link())
        tab.evaluate(f"{axe}; 1")
        views = ("search", "graph", "activity", "problems", "note/Plan.md", "session/one", "since")
        for view, dark in itertools.product(views, (False, True)):
            tab.be_dark(dark)
            tab.evaluate(f"location.hash = '#/vault/{view}'")
            tab.wait_for(
                f"location.hash.endsWith('{view}') && document.querySelector('.glance h2, .many h2')"
                " && !/Loading|…$/.test(document.querySelector('main').textContent)"
            )
            found = tab.evaluate(
                "axe.run().then((r) => r.violations.map((v) => [v.id, v.nodes.map((n) => n.html + n.failureSummary)]))"
            )
            assert found == [], (view, dark, found)
