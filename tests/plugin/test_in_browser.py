"""The companion plugin over real CodeMirror editors in a real browser, by real keys and clicks, with our real server.

Obsidian itself is stood in for by ``stand_in.js``. ``make plugin`` gets what is needed from npm.
"""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from support.chromium import Tab, needs_chromium, open_tab
from support.editor_door import EditorDoor
from support.vaults import write_vault
from vaultwire.editor.state import Mention, Position, Selection

HERE = Path(__file__).parent
MODULES = os.environ.get("VAULTWIRE_PLUGIN_MODULES")
pytestmark = [
    needs_chromium,
    pytest.mark.skipif(MODULES is None, reason="no CodeMirror: run make plugin, which gets it"),
]

NOTE = "# Plan\n\nFirst line.\nSecond line.\nThird line.\n"
NEW = "# Plan\n\nFirst line.\nA better second line.\nThird line.\n<img src=x onerror=\"document.title='taken'\">\n"
NOTES = {
    "Plan.md": NOTE,
    "Projects/My Note.md": "\n".join(f"line {n}" for n in range(1, 301)),
    "Private/Diary.md": "secret",
}
OFF, ON = "Vaultwire off", "Vaultwire"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the origin of a server that has the stand-in and the plugin."""
    assert MODULES
    folder = tmp_path_factory.mktemp("site")
    options = ("--bundle", "--format=iife", "--log-level=error", f"--outfile={folder / 'stand_in.bundle.js'}")
    subprocess.run(
        [Path(MODULES, ".bin", "esbuild"), HERE / "stand_in.js", *options],
        env={**os.environ, "NODE_PATH": MODULES},
        check=True,
    )
    (folder / "stand_in.html").write_bytes((HERE / "stand_in.html").read_bytes())
    plugin = resources.files("vaultwire.obsidian").joinpath("plugin")
    for name in ("main.js", "styles.css"):
        (folder / name).write_bytes(plugin.joinpath(name).read_bytes())
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def door(site: str, tmp_path: Path) -> Iterator[EditorDoor]:
    text = "".join(f"=== {path}\n{text}\n" for path, text in NOTES.items())
    made = EditorDoor(write_vault(tmp_path / "vault", text), site)
    yield made
    made.close()


@pytest.fixture
def blank(site: str, tmp_path: Path) -> Iterator[Tab]:
    """Yield Obsidian without the plugin."""
    with open_tab(tmp_path / "profile") as tab:
        tab.go(f"{site}/stand_in.html")
        yield tab


@pytest.fixture
def tab(blank: Tab, door: EditorDoor) -> Tab:
    """Return Obsidian with the plugin connected, and no note open."""
    start(blank, door.plugin._asdict())
    blank.wait_for("standIn.plugin.connected")
    return blank


def start(tab: Tab, link: dict[str, Any] | None) -> None:
    tab.evaluate(f"standIn.start({json.dumps(NOTES)}, {json.dumps(link)})")


def open_note(tab: Tab, path: str) -> None:
    tab.evaluate(f"standIn.open({json.dumps(path)})")
    tab.wait_for("document.activeElement.classList.contains('cm-content')")


def status(tab: Tab) -> str:
    return tab.texts(".status-bar-item")[0]


# ---------------------------------------------------------------------- what the person sees


def test_moving_typing_and_selecting_is_told(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    door.wait_for(lambda: door.selections == [Selection("Plan.md")])
    tab.press("ArrowDown", 2)
    tab.press("End")
    tab.type(" More.")
    door.wait_for(lambda: door.selections[-1] == Selection("Plan.md", "", Position(2, 17), Position(2, 17)))
    tab.press("Shift+ArrowDown")
    tab.press("Shift+Home")
    door.wait_for(lambda: door.selections[-1] == Selection("Plan.md", "\n", Position(2, 17), Position(3, 0)))
    tab.click(".cm-line", "Third line.", times=3)
    door.wait_for(lambda: door.selections[-1].text.strip() == "Third line.")
    assert door.selections[-1].start == Position(4, 0)


def test_many_moves_are_told_once(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Projects/My Note.md")
    door.wait_for(lambda: door.selections == [Selection("Projects/My Note.md")])
    tab.evaluate(
        "(() => { const { editor } = standIn.app.workspace.active.view; const real = window.setTimeout; window.waits = [];"
        "window.setTimeout = (call, wait) => { waits.push(wait); return real(call, wait); };"
        "for (let line = 0; line < 200; line += 1) editor.setCursor({ line, ch: 0 }); })()"
    )
    assert tab.evaluate("waits.filter((wait) => wait === 50).length") >= 199  # each begins the wait anew
    door.wait_for(lambda: door.selections[-1].start == Position(199, 0))
    assert len(door.selections) == 2


def test_the_note_stays_in_front_while_a_terminal_has_the_focus(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    tab.press("Shift+End")
    door.wait_for(lambda: bool(door.selections) and door.selections[-1].text == "# Plan")
    tab.evaluate("standIn.openTerminal()")
    tab.type("claude")
    tab.evaluate("standIn.plugin.tell()")
    open_note(tab, "Projects/My Note.md")
    door.wait_for(lambda: door.selections[-1].path == "Projects/My Note.md")
    assert [selection.path for selection in door.selections].count("") == 0
    assert door.state.tabs == ("Plan.md", "Projects/My Note.md")
    tab.click("#tabs button", "Plan.md")
    door.wait_for(lambda: door.selections[-1].text == "# Plan")
    for leaf in ("Plan.md", "Projects/My Note.md"):  # with the last note goes what was in front
        tab.evaluate(f"standIn.app.workspace.leaves.find((leaf) => leaf.tab.textContent === '{leaf}').detach()")
    door.wait_for(lambda: door.selections[-1] == Selection(""))


def test_a_private_notes_text_reaches_nobody(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    door.wait_for(lambda: len(door.selections) == 1)
    open_note(tab, "Private/Diary.md")
    tab.press("Control+a")
    door.wait_for(lambda: door.selections[-1] == Selection(""))
    tab.press("Control+Alt+k")
    tab.wait_for("document.getElementById('notices').textContent.includes('No assistant is connected')")
    door.join()
    tab.press("Control+Alt+k")
    tab.wait_for("document.getElementById('notices').textContent.includes('keeps this note private')")
    assert door.mentions == []
    assert door.state.tabs == ("Plan.md",)


def test_a_renamed_note_has_its_new_name(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    tab.evaluate("standIn.app.vault.rename('Plan.md', 'Plans.md')")
    door.wait_for(lambda: bool(door.selections) and door.selections[-1].path == "Plans.md")


# ---------------------------------------------------------------------- the commands


def test_the_hotkey_tags_the_selection_or_the_note(door: EditorDoor, tab: Tab) -> None:
    door.join()
    open_note(tab, "Plan.md")
    tab.type("New. ")
    tab.press("Control+Alt+k")
    door.wait_for(lambda: door.mentions == [Mention("Plan.md")])
    assert tab.evaluate("standIn.app.vault.texts.get('Plan.md')") == "New. " + NOTE  # what is read is what is seen
    tab.press("ArrowDown", 2)
    tab.press("Home")
    tab.press("Shift+ArrowDown", 2)  # up to the beginning of line 5
    tab.press("Control+Alt+k")
    door.wait_for(lambda: door.mentions[-1] == Mention("Plan.md", 3, 4))
    tab.press("Shift+ArrowRight")
    tab.press("Control+Alt+k")
    door.wait_for(lambda: door.mentions[-1] == Mention("Plan.md", 3, 5))
    tab.press("Control+p")
    tab.type("Tag selection or note\n")
    door.wait_for(lambda: len(door.mentions) == 4)


def test_a_tag_without_a_note_or_a_server_says_why_not(blank: Tab) -> None:
    start(blank, None)
    assert status(blank) == OFF
    blank.press("Control+Alt+k")
    blank.wait_for("document.getElementById('notices').textContent.includes('No note is open')")
    open_note(blank, "Plan.md")
    blank.press("Control+Alt+k")
    blank.wait_for("document.getElementById('notices').textContent.includes('vaultwire ide --vault')")


def test_a_note_that_is_open_is_shown_where_it_is(door: EditorDoor, tab: Tab) -> None:
    for path in ("Plan.md", "Projects/My Note.md"):
        open_note(tab, path)
    tab.evaluate("standIn.openTerminal()")
    assert door.link.open("Plan.md", 0)
    door.wait_for(lambda: bool(door.selections) and door.selections[-1].path == "Plan.md")
    assert tab.texts("#tabs .active") == ["Plan.md"]
    assert len(tab.texts("#tabs button")) == 3


def test_a_note_is_shown_at_a_line_when_the_server_asks(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    assert door.link.open("Projects/My Note.md", 250)
    door.wait_for(lambda: bool(door.selections) and door.selections[-1].start == Position(249, 0))
    tab.wait_for("document.querySelector('.cm-content').innerText.includes('line 250')")
    assert door.link.open("Nowhere.md", 1)
    tab.press("ArrowDown")
    door.wait_for(lambda: door.selections[-1].start == Position(250, 0))


# ---------------------------------------------------------------------- changes


def test_a_change_is_shown_accepted_and_the_note_is_back(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    assert status(tab) == ON
    door.propose("Plan.md", NOTE, NEW, "✻ [Claude Code] Plan.md ⧉")
    tab.wait_for("document.querySelector('.vaultwire-changes article')?.checkVisibility()")
    assert status(tab) == "Vaultwire: 1 to look at"
    assert tab.texts("article strong") == ["Plan.md"]
    assert tab.texts(".vaultwire-removed") == ["- Second line."]
    assert tab.texts(".vaultwire-added")[1] == "+ <img src=x onerror=\"document.title='taken'\">"
    assert tab.evaluate("document.images.length") == 0
    tab.shoot("plugin-change")
    tab.click("article button", "Accept")
    door.wait_for(lambda: door.decisions == [NEW])
    tab.wait_for("!document.querySelector('.vaultwire-changes')")
    assert status(tab) == ON
    assert tab.texts("#tabs .active") == ["Plan.md"]


def test_keys_that_are_under_way_decide_nothing(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    door.propose("Plan.md", NOTE, NEW)
    tab.wait_for("document.querySelector('.vaultwire-changes article')?.checkVisibility()")
    tab.type("typing on \n\n ")
    assert door.proposals.waiting
    assert door.decisions == []


def test_a_change_is_accepted_as_the_person_edited_it(door: EditorDoor, tab: Tab) -> None:
    door.propose("Plan.md", NOTE, NEW)
    tab.click("article button", "Edit")
    assert tab.texts("article pre") == []
    tab.press("Control+Home")
    tab.type("Mine\n")
    tab.shoot("plugin-editing")
    door.propose("Other.md", "", "another\n")  # what is typed survives news
    tab.wait_for("document.querySelectorAll('article').length === 2")
    tab.click("article button", "Show the change")
    tab.click("article button", "Accept as edited")
    door.wait_for(lambda: door.decisions == ["Mine\n" + NEW])
    tab.wait_for("document.querySelectorAll('article').length === 1")
    tab.click("article button", "Reject")
    door.wait_for(lambda: door.decisions == ["Mine\n" + NEW, None])


def test_an_unedited_change_comes_back_byte_for_byte(door: EditorDoor, tab: Tab) -> None:
    door.propose("Plan.md", NOTE, "one\r\ntwo\r\n")
    tab.click("article button", "Edit")
    tab.click("article button", "Show the change")
    tab.click("article button", "Accept")
    door.wait_for(lambda: door.decisions == ["one\r\ntwo\r\n"])


def test_a_second_click_decides_no_second_change_and_no_button_comes_under_the_pointer(
    door: EditorDoor, tab: Tab
) -> None:
    for number in range(3):
        door.propose(f"{number}.md", "", f"{number}\n")
    tab.wait_for("document.querySelectorAll('article').length === 3")
    places = "[...document.querySelectorAll('article')].map((e) => e.getBoundingClientRect().top)"
    before = tab.evaluate(places)
    tab.click("article button", "Accept")
    tab.wait_for("document.querySelectorAll('article').length === 2")
    tab.click_again()
    assert tab.evaluate(places) == before[1:]
    assert tab.texts(".vaultwire-decided") == ["Accepted: 0.md"]
    tab.shoot("plugin-decided")
    place = "document.querySelector('article button').getBoundingClientRect()"
    tab.move(*tab.evaluate(f"(() => {{ const place = {place}; return [place.x + 9, place.y + 9]; }})()"))
    tab.click_again(2)  # as the second click of a double click
    tab.click("article button", "Reject")
    tab.wait_for("document.querySelectorAll('article').length === 1")
    assert door.decisions == ["0\n", None]


def test_a_closed_view_decides_nothing_and_comes_back_by_command_and_click(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    door.propose("Plan.md", NOTE, NEW)
    close = "standIn.app.workspace.detachLeavesOfType('vaultwire-changes')"
    for ask in ("status", "palette"):
        tab.wait_for("document.querySelector('.vaultwire-changes article')?.checkVisibility()")
        tab.evaluate(close)
        assert tab.texts("article") == []
        if ask == "status":
            tab.click(".status-bar-item")
        else:
            tab.press("Control+p")
            tab.type("Show changes that wait\n")
    tab.wait_for("document.querySelector('.vaultwire-changes article')?.checkVisibility()")
    assert door.decisions == []


# ---------------------------------------------------------------------- the link


def test_the_end_of_the_server_clears_the_view_and_a_new_one_is_found(door: EditorDoor, tab: Tab, site: str) -> None:
    open_note(tab, "Plan.md")
    door.propose("Plan.md", NOTE, NEW)
    tab.wait_for("document.querySelector('article')")
    tab.evaluate("standIn.plugin.wait = 1e9")  # it would come by itself, too
    door.close()
    tab.wait_for("!standIn.plugin.connected && !document.querySelector('article')")
    assert status(tab) == OFF
    again = EditorDoor(door.root, site)
    try:
        tab.evaluate(f"standIn.computer.link = {json.dumps(again.plugin._asdict())}")
        tab.evaluate("window.dispatchEvent(new Event('focus'))")
        again.wait_for(lambda: again.selections == [Selection("Plan.md")])
        assert again.link.is_open
    finally:
        again.close()


def test_a_lost_connection_is_said_and_what_waited_comes_back_with_the_next(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    door.propose("Plan.md", NOTE, NEW)
    tab.wait_for("document.querySelector('article')")
    door.link._viewers.connections[0].socket.shutdown(socket.SHUT_RDWR)  # as a computer that slept finds it
    tab.wait_for("document.getElementById('notices').textContent.includes('is not connected any more')")
    tab.click("article button", "Accept")
    door.wait_for(lambda: door.decisions == [NEW])


def test_attempts_become_rarer(blank: Tab) -> None:
    blank.evaluate(
        "(() => { const real = window.setTimeout; window.waits = [];"
        "window.setTimeout = (call, wait) => { if (wait < 1000) return real(call, wait);"
        "waits.push(wait); return real(call, 0); }; })()"
    )
    start(blank, None)
    blank.wait_for("waits.length >= 8")
    assert blank.evaluate("waits.slice(0, 8)") == [1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]
    blank.evaluate("standIn.plugin.unload()")


def test_a_server_of_another_version_is_told_nothing_and_the_person_once(
    door: EditorDoor, blank: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultwire.desk.plugin_endpoint.VERSION", 99)
    start(blank, door.plugin._asdict())
    blank.wait_for("document.getElementById('notices').textContent.includes('run vaultwire plugin install')")
    blank.wait_for("!standIn.plugin.socket")
    open_note(blank, "Plan.md")
    blank.evaluate("window.dispatchEvent(new Event('focus'))")
    blank.wait_for("standIn.computer.reads > 1 && !standIn.plugin.socket")
    assert len(blank.texts("#notices div")) == 1
    assert door.selections == []


@pytest.mark.parametrize("wrong", [{"token": "wrong"}, {"answer": "wrong"}])
def test_nothing_is_told_to_another_server(door: EditorDoor, blank: Tab, wrong: dict[str, str]) -> None:
    start(blank, {**door.plugin._asdict(), **wrong})
    open_note(blank, "Plan.md")
    blank.wait_for("!standIn.plugin.socket")
    assert status(blank) == OFF
    assert door.selections == []


def test_a_plugin_that_is_unloaded_leaves_nothing_and_rejects_nothing(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    door.propose("Plan.md", NOTE, NEW)
    tab.wait_for("document.querySelector('article')")
    tab.evaluate("standIn.plugin.unload()")
    tab.wait_for("!document.querySelector('.vaultwire-changes')")
    assert tab.texts("#status div") == []
    assert tab.evaluate("standIn.app.commands.length + standIn.app.extensions.length") == 0
    assert tab.evaluate("standIn.app.workspace.handlers.length + standIn.app.vault.handlers.length") == 0
    reads = tab.evaluate("standIn.computer.reads")
    tab.evaluate("window.dispatchEvent(new Event('focus'))")
    assert tab.evaluate("standIn.computer.reads") == reads
    assert len(door.proposals.waiting) == 1
    assert door.decisions == []
