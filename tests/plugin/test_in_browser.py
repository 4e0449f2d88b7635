"""The companion plugin over real CodeMirror editors in a real browser, by real keys and clicks, with our real server.

The list of changes has tests of its own in ``test_pane.py``. ``make plugin`` gets what is needed from npm.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chromium import Tab
from support.editor_door import EditorDoor
from support.obsidian_stage import NOTE, NOTES, NOTICES, needs_stage, open_note, start, status
from support.vaults import write_vault
from vaultwire.editor import Mention, Position, Selection
from vaultwire.server.editor_methods import quirks_of

pytestmark = needs_stage

OFF = "Vaultwire off"
NOBODY = "Vaultwire: no assistant"


@pytest.fixture
def door(site: str, tmp_path: Path) -> Iterator[EditorDoor]:
    text = "".join(f"=== {path}\n{text}\n" for path, text in NOTES.items())
    made = EditorDoor(write_vault(tmp_path / "vault", text), site)
    yield made
    made.close()


@pytest.fixture
def tab(blank: Tab, door: EditorDoor) -> Tab:
    """Return Obsidian with the plugin connected, and no note open."""
    start(blank, door.plugin._asdict())
    blank.wait_for("standIn.plugin.connected")
    return blank


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
    assert tab.evaluate("waits.filter((wait) => wait === 50).length") >= 199  # each starts the wait again
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


def test_the_command_mentions_the_selection_or_the_note(door: EditorDoor, tab: Tab) -> None:
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
    tab.type("Mention selection or note to assistant\n")
    door.wait_for(lambda: len(door.mentions) == 4)


def test_the_command_needs_a_note_and_says_when_no_server_runs(blank: Tab) -> None:
    start(blank, None)
    assert status(blank) == OFF
    assert blank.evaluate("standIn.commands()") == [
        "Show changes by assistants",
        "Pause sharing",
        "Start the program for this vault",
    ]
    open_note(blank, "Plan.md")
    blank.press("Control+Alt+k")
    blank.wait_for(f"{NOTICES}.includes('vaultwire ide --vault')")


def test_no_command_has_a_hotkey_before_the_person_sets_one(tab: Tab) -> None:
    assert tab.evaluate("standIn.app.commands.filter((command) => command.hotkeys).length") == 0


def choose(tab: Tab, selector: str, text: str, offered: str, at: float = 0.5) -> None:
    """Choose what the plugin offers in a context menu."""
    tab.click(selector, text, at=at, button="right")
    tab.wait_for("document.querySelector('.menu')")
    tab.shoot("plugin-context-menu")
    assert tab.texts(".menu button") == [offered]
    tab.click(".menu button")
    tab.wait_for("!document.querySelector('.menu')")


def test_the_context_menu_mentions_a_section_a_block_a_list_item_or_the_selection(door: EditorDoor, blank: Tab) -> None:
    text = "# Plan\n\nOne line,\nand its second.\n\n## Tasks\n\n- first\n- second\n\n# Later\n\nEnd.\n"
    start(blank, door.plugin._asdict(), {"Plan.md": text})
    blank.wait_for("standIn.plugin.connected")
    door.join()
    open_note(blank, "Plan.md")
    for line, offered, mention in (
        ("# Plan", "Mention section to assistant", Mention("Plan.md", 1, 10)),
        ("## Tasks", "Mention section to assistant", Mention("Plan.md", 6, 10)),
        ("# Later", "Mention section to assistant", Mention("Plan.md", 11, 14)),
        ("and its second.", "Mention block to assistant", Mention("Plan.md", 3, 4)),
        ("- second", "Mention block to assistant", Mention("Plan.md", 9, 9)),
    ):
        blank.click(".cm-line", line, at=0.02)
        choose(blank, ".cm-line", line, offered, at=0.02)
        door.wait_for(functools.partial(lambda mention: door.mentions[-1:] == [mention], mention))
    blank.press("ArrowDown")  # to an empty line
    blank.evaluate("document.activeElement.dispatchEvent(new MouseEvent('contextmenu', { bubbles: true }))")
    assert blank.texts(".menu") == []
    blank.click(".cm-line", "# Plan", at=0.02)
    blank.press("Home")
    blank.type("Typed just now.\n\n")  # the app has saved none of it
    blank.click(".cm-line", "## Tasks", at=0.02)
    choose(blank, ".cm-line", "## Tasks", "Mention section to assistant", at=0.02)
    door.wait_for(lambda: door.mentions[-1] == Mention("Plan.md", 8, 12))
    blank.evaluate("standIn.app.metadataCache.getFileCache = () => null")  # of a file that the app has not read yet
    choose(blank, ".cm-line", "## Tasks", "Mention section to assistant", at=0.02)
    door.wait_for(lambda: door.mentions[-1] == Mention("Plan.md", 8, 8))
    assert blank.evaluate("standIn.app.metadataCache.handlers.length") == 0
    blank.click(".cm-line", "One line,", at=0.02)
    blank.press("Home")
    blank.press("Shift+ArrowDown", 2)
    choose(blank, ".cm-line", "One line,", "Mention selection to assistant", at=0.02)
    door.wait_for(lambda: door.mentions[-1] == Mention("Plan.md", 5, 6))


def test_the_context_menu_of_a_file_mentions_it_while_a_server_runs(door: EditorDoor, tab: Tab) -> None:
    door.join()
    tab.evaluate("standIn.app.vault.add('Pictures/Map.png', '')")
    tab.evaluate("standIn.fileMenu('Pictures/Map.png')")
    assert tab.texts(".menu button") == ["Mention to assistant"]
    tab.click(".menu button")
    door.wait_for(lambda: door.mentions == [Mention("Pictures/Map.png")])
    door.close()
    tab.wait_for("!standIn.plugin.connected")
    tab.evaluate("standIn.fileMenu('Pictures/Map.png')")
    assert tab.texts(".menu button") == []


def test_folders_several_files_and_a_picture_in_front_are_mentioned(door: EditorDoor, tab: Tab) -> None:
    door.join()
    tab.evaluate("standIn.app.vault.add('Pictures/Map.png', '')")
    tab.evaluate("standIn.fileMenu('Projects')")
    tab.click(".menu button", "Mention to assistant")
    door.wait_for(lambda: door.mentions == [Mention("Projects")])
    tab.evaluate("standIn.fileMenu('/')")  # the whole vault is nothing to mention
    assert tab.texts(".menu button") == []
    tab.evaluate("standIn.filesMenu('Plan.md', 'Pictures/Map.png')")
    tab.click(".menu button", "Mention to assistant")
    door.wait_for(lambda: door.mentions[1:] == [Mention("Plan.md"), Mention("Pictures/Map.png")])
    open_note(tab, "Plan.md")
    tab.evaluate("standIn.open('Pictures/Map.png')")
    tab.press("Control+Alt+k")
    door.wait_for(lambda: door.mentions[3:] == [Mention("Pictures/Map.png")])


def test_a_note_that_is_open_is_shown_where_it_is(door: EditorDoor, tab: Tab) -> None:
    for path in ("Plan.md", "Projects/My Note.md"):
        open_note(tab, path)
    tab.evaluate("standIn.openTerminal()")
    assert door.link.open("Plan.md", 0)
    # The door may still be about to hear of the notes that were opened before.
    tab.wait_for("document.querySelector('#tabs .active').textContent === 'Plan.md'")
    door.wait_for(lambda: bool(door.selections) and door.selections[-1].path == "Plan.md")
    assert len(tab.texts("#tabs button")) == 3


def test_a_note_is_shown_at_a_line_when_the_server_asks(door: EditorDoor, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    assert door.link.open("Projects/My Note.md", 250)
    door.wait_for(lambda: bool(door.selections) and door.selections[-1].start == Position(249, 0))
    tab.wait_for("document.querySelector('.cm-content').innerText.includes('line 250')")
    assert door.link.open("Nowhere.md", 1)
    tab.press("ArrowDown")
    door.wait_for(lambda: door.selections[-1].start == Position(250, 0))


# ---------------------------------------------------------------------- the status, and the pause


def test_the_status_says_who_is_connected_and_what_they_see(door: EditorDoor, tab: Tab) -> None:
    label = "document.querySelector('.status-bar-item').ariaLabel"
    shown = "document.querySelector('.status-bar-item').textContent"
    open_note(tab, "Projects/My Note.md")
    tab.wait_for(f"{shown} === '{NOBODY}' && {label}.includes('type /ide')")
    door.join().quirks = quirks_of("claude-code")
    door.link.tell_shared()  # the bridge does so twice a second
    tab.wait_for(f"{shown} === 'Assistant sees My Note.md'")
    assert tab.evaluate(label) == "Connected: Claude Code. Shared: Projects/My Note.md"
    tab.press("Control+Home")
    tab.press("Shift+ArrowDown")
    tab.press("Shift+End")
    tab.wait_for(f"{shown} === 'Assistant sees My Note.md, 2 lines selected'")
    tab.shoot("plugin-status")
    tab.press("Control+Home")
    tab.press("Shift+ArrowDown", 3)  # up to the beginning of line 4
    tab.wait_for(f"{shown} === 'Assistant sees My Note.md, 3 lines selected'")
    open_note(tab, "Private/Diary.md")
    tab.wait_for(f"{shown} === 'Assistant sees no note' && {label}.includes('policy keeps this note private')")
    tab.evaluate(f"standIn.app.vault.rename('Private/Diary.md', '{'n' * 60}.md')")
    tab.wait_for(f"{shown} === 'Assistant sees {'n' * 40}…'")
    for leaf in ("Projects/My Note.md", "Private/Diary.md"):
        tab.evaluate(f"standIn.app.workspace.leaves.find((leaf) => leaf.tab.textContent === '{leaf}').detach()")
    tab.wait_for(f"{label}.includes('No note is open')")


def test_a_pause_hides_all_until_it_ends_also_after_a_restart(door: EditorDoor, tab: Tab, site: str) -> None:
    door.join()
    open_note(tab, "Plan.md")
    tab.press("Control+a")
    door.wait_for(lambda: bool(door.selections) and door.selections[-1].text == NOTE)
    tab.click(".status-bar-item")
    tab.wait_for("document.querySelector('.menu')")
    tab.shoot("plugin-menu")
    tab.click(".menu button", "Pause sharing")
    door.wait_for(lambda: door.selections[-1] == Selection(""))
    assert door.state.tabs == ()
    assert status(tab) == "Vaultwire paused"
    tab.type("secret words")
    open_note(tab, "Projects/My Note.md")
    tab.press("Control+Alt+k")  # asked for, so it is sent
    door.wait_for(lambda: door.mentions == [Mention("Projects/My Note.md")])
    assert door.selections[-1] == Selection("")
    assert tab.evaluate("standIn.commands()").count("Resume sharing") == 1

    data = tab.evaluate("standIn.computer.data")
    assert data == {"paused": True}
    tab.go(f"{site}/stand_in.html")
    tab.evaluate(f"standIn.computer.data = {json.dumps(data)}")
    start(tab, door.plugin._asdict())
    tab.wait_for("standIn.plugin.connected")
    open_note(tab, "Plan.md")
    told = len(door.selections)
    tab.press("Control+p")
    tab.type("Resume sharing\n")
    door.wait_for(lambda: len(door.selections) > told)
    assert door.selections[told:] == [Selection("Plan.md")]
    assert tab.evaluate("standIn.computer.data") == {"paused": False}
    tab.evaluate("standIn.computer.data = { paused: true }; standIn.plugin.onExternalSettingsChange()")  # by a sync
    door.wait_for(lambda: door.selections[-1] == Selection(""))


# ---------------------------------------------------------------------- the link


def test_the_end_of_the_server_is_shown_and_a_new_one_is_found(door: EditorDoor, tab: Tab, site: str) -> None:
    open_note(tab, "Plan.md")
    tab.evaluate("standIn.plugin.link.wait = 1e9")  # it would come by itself, too
    door.close()
    tab.wait_for("!standIn.plugin.connected")
    assert status(tab) == OFF
    again = EditorDoor(door.root, site)
    try:
        tab.evaluate(f"standIn.computer.link = {json.dumps(again.plugin._asdict())}")
        tab.evaluate("window.dispatchEvent(new Event('focus'))")
        again.wait_for(lambda: again.selections == [Selection("Plan.md")])
        assert again.link.is_open
    finally:
        again.close()


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
    blank.wait_for("!standIn.plugin.link.socket")
    open_note(blank, "Plan.md")
    blank.evaluate("window.dispatchEvent(new Event('focus'))")
    blank.wait_for("standIn.computer.reads > 1 && !standIn.plugin.link.socket")
    assert len(blank.texts(".notice")) == 1
    assert door.selections == []


@pytest.mark.parametrize("wrong", [{"token": "wrong"}, {"answer": "wrong"}])
def test_nothing_is_told_to_another_server(door: EditorDoor, blank: Tab, wrong: dict[str, str]) -> None:
    start(blank, {**door.plugin._asdict(), **wrong})
    open_note(blank, "Plan.md")
    blank.wait_for("!standIn.plugin.link.socket")
    assert status(blank) == OFF
    assert door.selections == []
