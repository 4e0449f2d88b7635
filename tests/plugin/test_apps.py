"""The views inside clients, in a real browser: the official package's host side over our real server, in a sandboxed frame.

``make plugin`` gets what is needed from npm. ``VAULTWIRE_PICTURES=FOLDER`` keeps screenshots.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.app_stage import AppStage, View
from support.chromium import Tab, in_browser, open_tab
from support.vaults import write_vault

HERE = Path(__file__).parent
MODULES = os.environ.get("VAULTWIRE_PLUGIN_MODULES")
pytestmark = in_browser

NOTES = """
=== Plan.md
---
status: draft
---
# Plan
Meet Anna about the garden. [[Anna]]
Second line.
=== People/Anna.md
Anna has a garden. [[Plan]]
=== People/Bert.md
Bert knows [[Anna]].
=== Travel/Lisbon.md
Nothing here.
"""
UNDO = "[...document.querySelectorAll('button')].find((e) => e.textContent === 'Undo')"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    assert MODULES, "no host side of MCP Apps: run make plugin, which gets it"
    bundle = tmp_path_factory.mktemp("host") / "host.js"
    options = ("--bundle", "--format=iife", "--log-level=error", f"--outfile={bundle}")
    command = [str(Path(MODULES, ".bin", "esbuild")), str(HERE / "app_host.js"), *options]
    subprocess.run(command, env={**os.environ, "NODE_PATH": MODULES}, check=True)
    return bundle.read_bytes()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", NOTES)


@pytest.fixture
def stage(vault: Path, script: bytes) -> Iterator[AppStage]:
    with AppStage(vault, (HERE / "app_host.html").read_bytes(), script) as made:
        yield made
        assert made.violations == []


@pytest.fixture
def tab(stage: AppStage, tmp_path: Path) -> Iterator[Tab]:
    with open_tab() as made:
        made.go(stage.url)
        yield made


def show(tab: Tab, tool: str, arguments: Mapping[str, object], theme: str = "light") -> View:
    """Call a tool in the client and return its view."""
    tab.evaluate(f"host.show({json.dumps(tool)}, {json.dumps(arguments)}, {json.dumps(theme)})")
    return View(tab)


def shoot(tab: Tab, view: View, name: str) -> None:
    """Save pictures in both themes, if they are wanted; the computer's own theme is the other one."""
    folder = os.environ.get("VAULTWIRE_PICTURES")
    for theme in ("dark", "light"):
        tab.be_dark(theme == "light")
        tab.evaluate(f"host.wear({json.dumps(theme)})")
        view.wait_for(f"document.documentElement.dataset.theme === {json.dumps(theme)}")
        if folder:
            Path(folder, f"{name}-{theme}.png").write_bytes(tab.capture())


def test_search_results_are_shown_and_searched_on(tab: Tab) -> None:
    view = show(tab, "search_notes", {"query": "garden"})
    view.wait_for("document.querySelectorAll('.g-hit').length === 2")
    assert view.evaluate("[...document.querySelectorAll('mark')].every((e) => e.textContent === 'garden')")
    shoot(tab, view, "search")
    view.click("document.querySelector('.g-hit a')")
    tab.wait_for("host.opened.length === 1")
    assert tab.evaluate("host.opened[0]").startswith("obsidian://vault/vault/")
    view.click("document.querySelector('input')")
    tab.type(" bert")
    view.wait_for("document.body.innerText.includes('0 notes match') || !document.querySelector('.g-hit mark')")
    assert tab.evaluate("host.calls.at(-1).name") == "search_notes"
    assert tab.evaluate("host.sizes.length") > 0


def test_an_undo_by_a_click_reaches_the_vault(tab: Tab, vault: Path) -> None:
    before = (vault / "Plan.md").read_bytes()
    edit = {"path": "Plan.md", "old": "Second line.", "new": "A better second line. <b>not bold</b> \u202eevil"}
    view = show(tab, "edit_note", edit)
    view.wait_for(UNDO)
    assert (vault / "Plan.md").read_bytes() != before
    assert "<b>not bold</b>" in view.text
    assert "U+202E" in view.text
    assert view.evaluate("document.querySelector('b')") is None
    shoot(tab, view, "change")
    view.click(UNDO)
    view.wait_for("document.body.innerText.includes('is undone')")
    assert (vault / "Plan.md").read_bytes() == before
    assert [call["name"] for call in tab.evaluate("host.calls")] == ["undo_changes", "list_changes"]
    shoot(tab, view, "change-undone")


def test_an_undo_that_is_refused_says_why(tab: Tab, stage: AppStage, vault: Path) -> None:
    view = show(tab, "edit_note", {"path": "Plan.md", "old": "Second line.", "new": "Another line."})
    view.wait_for(UNDO)
    later = {"name": "edit_note", "arguments": {"path": "Plan.md", "old": "Another line.", "new": "A third one."}}
    assert not stage.ask("tools/call", later)["result"]["isError"]
    view.click(UNDO)
    view.wait_for("document.querySelector('.app-said').textContent.length > 0")
    assert b"A third one." in (vault / "Plan.md").read_bytes()


def test_the_changes_are_listed_and_opened(tab: Tab, stage: AppStage) -> None:
    for path in ("One.md", "Two.md"):
        stage.ask("tools/call", {"name": "create_note", "arguments": {"path": path, "content": "x"}})
    view = show(tab, "list_changes", {})
    view.wait_for("document.querySelectorAll('.app-changes li').length === 2")
    shoot(tab, view, "changes")
    view.click("document.querySelector('.app-changes button')")
    view.wait_for(UNDO)
    assert "Two.md" in view.text


def test_the_graph_is_drawn(tab: Tab, stage: AppStage) -> None:
    view = show(tab, "list_links", {"what": "hubs"})
    view.wait_for(
        "document.querySelector('.g-graph canvas') && document.querySelector('.g-graph').dataset.drawn === '4'"
    )
    shoot(tab, view, "graph")
    view.click("document.querySelector('.g-list a')")
    tab.wait_for("host.opened.length === 1")
    assert tab.evaluate("host.opened[0]") == "obsidian://vault/vault/People/Anna.md"


def test_a_failed_call_is_shown_as_text(tab: Tab) -> None:
    view = show(tab, "edit_note", {"path": "Nowhere.md", "old": "a", "new": "b"})
    view.wait_for("document.body.innerText.includes('Nowhere')")


def test_a_breach_of_the_policy_would_be_noticed(tab: Tab, stage: AppStage) -> None:
    tab.evaluate(
        "(() => { const f = document.createElement('iframe'); f.sandbox = 'allow-scripts'; f.src = '/view?uri=bad';"
        "return new Promise((done) => { f.onload = done; document.body.append(f); }).then(() => 1); })()"
    )
    tab.wait_for("performance.now() > 0")
    tab.evaluate(
        "fetch('/ask', {method: 'POST', body: JSON.stringify({method: 'tools/list', params: {}})}).then(() => 1)"
    )
    assert stage.violations
    stage.violations.clear()
