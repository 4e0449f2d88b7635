"""The desk in a real browser: sessions, files and hunks, each kind of file, filters, several vaults, and a read-only server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.chromium import Tab, in_browser, open_tab
from support.desk_door import DeskDoor
from support.pictures import picture
from support.vaults import write_vault
from vaultwire.vault.caller import Caller
from vaultwire.vault.value_types import NO_PROGRESS

pytestmark = in_browser

LINES = "".join(f"Line {number} of the plan.\n" for number in range(1, 31))
PLAN = f"---\nstatus: draft\n---\nSee [[Seeds|the list]].\n\n- [ ] dig\n\n{LINES}"
NEW_PLAN = (
    PLAN.replace("draft", "active").replace("[[Seeds|", "[[Log|").replace("[ ]", "[x]").replace("Line 9 ", "Line IX ")
)
CANVAS = '{"nodes":[{"id":"a","type":"text","text":"One","x":0,"y":0,"width":9,"height":9}],"edges":[]}\n'
VAULT = f"""=== Projects/Plan.md
{PLAN}=== Seeds.md
Leek and bean.
=== Log.md
first
=== People/Anna.md
Has a garden.
=== Days/One.md
Met [[Anna]].
=== Days/Two.md
Called [[Anna]].
=== Board.canvas
{CANVAS}"""


@pytest.fixture
def door(tmp_path: Path) -> Iterator[DeskDoor]:
    with closing(DeskDoor(tmp_path, VAULT)) as made:
        yield made


@pytest.fixture
def tab(door: DeskDoor, tmp_path: Path) -> Iterator[Tab]:
    with open_tab() as opened:
        opened.resize(1440, 900)
        opened.go(door.link())
        opened.wait_for("document.body.innerText.includes('Nothing waits.')")
        yield opened


def show(tab: Tab, id_: str) -> None:
    """Open an item from the list, by pointer."""
    tab.click(f"#list a[data-id={id_}]")
    tab.wait_for(f"document.querySelector('.toolbar [data-decides^=\"{id_} \"]') && document.querySelector('.file')")


def press_button(tab: Tab, decides: str) -> None:
    """Press a button by key."""
    tab.wait_for(f"document.querySelector('[data-decides=\"{decides}\"]:not([aria-disabled=true])')")
    tab.evaluate(f"document.querySelector('[data-decides=\"{decides}\"]').focus()")
    tab.press("Enter")


def idle(tab: Tab) -> None:
    """Wait until the last action is finished: until then the desk takes no other."""
    tab.wait_for("document.querySelector('.said button')?.ariaDisabled === 'false'")


def said(tab: Tab, text: str) -> None:
    tab.wait_for(f"document.getElementById('said').textContent.includes({json.dumps(text)})")


def test_a_session_and_all_since_are_decided_together(door: DeskDoor, tab: Tab) -> None:
    door.agent.session = "one"
    first = door.edit(("Seeds.md", "Leek.\n"))
    door.edit(("Log.md", "second\n"))
    tab.wait_for("document.querySelectorAll('.row-item').length === 2")
    tab.click("#list a.session")
    tab.wait_for("document.querySelectorAll('.many .plain li').length === 2")
    assert tab.texts(".many h2") == ["A session of Claude"]
    tab.click("[data-decides='many undo one']")
    idle(tab)
    assert (door.text("Seeds.md"), door.text("Log.md")) == ("Leek and bean.\n", "first\n")
    tab.type("u")
    tab.wait_for("!document.querySelector('.said button')")
    assert (door.text("Seeds.md"), door.text("Log.md")) == ("Leek.\n", "second\n")
    (door.root / "Seeds.md").write_text("Mine.\n")  # so this change cannot be undone any more
    tab.click(".filters a", "All since…")
    tab.wait_for("document.querySelector('.many .conflicts li')")
    assert "Seeds.md" in tab.texts(".many .conflicts")[0]
    press_button(tab, "many undo ")
    tab.wait_for("document.querySelector('dialog[open]')")
    assert door.text("Log.md") == "second\n"
    tab.press("Escape")
    tab.wait_for("!document.querySelector('dialog')")
    tab.click("[data-decides='many undo ']")
    tab.click("dialog [data-decides=possible]")  # the others
    tab.wait_for(
        "!document.querySelector('dialog') && document.querySelector('.said button')?.ariaDisabled === 'false'"
    )
    assert (door.text("Seeds.md"), door.text("Log.md")) == ("Mine.\n", "first\n")
    press_button(tab, "many keep ")
    said(tab, "ept")
    assert door.text("Seeds.md") == "Mine.\n"
    show(tab, first)
    assert "Nothing was changed" not in tab.texts(".item-head .notice")[0]


def test_one_file_and_one_hunk_by_pointer_and_by_key(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(("Projects/Plan.md", NEW_PLAN), ("Seeds.md", "Leek.\n"), ("Log.md", "second\n"))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    press_button(tab, f"{change} no 1")
    tab.wait_for(f"document.querySelector('[data-decides=\"{change} no 1\"]').textContent.includes('Undone')")
    assert (door.text("Seeds.md"), door.text("Log.md")) == ("Leek and bean.\n", "second\n")
    tab.click(f"[data-decides='{change} yes 2']")
    tab.wait_for(f"document.querySelector('[data-decides=\"{change} yes 2\"]').textContent.includes('Kept')")
    idle(tab)
    hunks = tab.evaluate("document.querySelectorAll('[data-hunk^=\"0 \"]').length")
    tab.type("n")
    tab.wait_for("document.activeElement.dataset.hunk === '0 0'")
    tab.type("a")
    tab.wait_for("document.querySelector('[data-hunk=\"0 0\"]').dataset.state === 'kept'")
    tab.wait_for("document.activeElement.dataset.hunk === '0 1'")  # the next that is not decided
    idle(tab)
    for _ in range(hunks - 2):
        tab.type("n")
    tab.type("x")
    tab.wait_for(f"document.querySelector('[data-hunk=\"0 {hunks - 1}\"]').dataset.state === 'undone'")
    assert door.text("Projects/Plan.md") == NEW_PLAN.replace("Line IX ", "Line 9 ")


def test_a_note_is_shown_with_its_properties_links_tasks_and_what_is_hard_to_see(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(("Projects/Plan.md", NEW_PLAN.replace("Line 20", "Line\u200b 2\u202e0 \u0430nd")))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    assert tab.texts(".properties tbody td .value") == ["draft", "active"]
    assert "leads to Log.md now" in tab.texts(".links li")[0]
    assert "task done" in tab.texts(".remark")
    assert sorted(tab.texts(".unseen")) == ["U+200B zero width space", "U+202E right-to-left override"]
    assert tab.texts(".alike small")[0].startswith("Cyrillic")
    assert len(tab.texts(".notice li")) == 3
    tab.click("button", "Side by side")
    tab.wait_for("document.querySelector('.pair')")
    words = "[...document.querySelectorAll('.pair ins')].find((e) => e.textContent === 'active')"
    assert tab.evaluate(f"getComputedStyle({words}).textDecorationLine") == "underline"  # one word of a line is marked
    tab.click("button", "Rendered")
    tab.wait_for("document.querySelectorAll('.rendered').length === 2")
    assert "☑" in tab.texts(".rendered")[1]
    tab.click("button", "Source")
    tab.click("button", "Unified")
    tab.wait_for("document.querySelector('.line')")


def test_pictures_canvases_and_moves_have_their_own_views(door: DeskDoor, tab: Tab) -> None:
    fresh = CANVAS.replace('"One"', '"Two"')
    (door.root / "Pic.png").write_bytes(picture((200, 0, 0)))
    shown = door.edit_bytes(("Pic.png", picture((0, 0, 200))))
    board = door.edit(("Board.canvas", fresh))
    door.vault.used_by(door.agent, "move_notes").arranging.move(
        "People/Anna.md", "Friends/Anna Smith.md", NO_PROGRESS, dry_run=False
    )
    tab.wait_for("document.querySelectorAll('.row-item').length === 3")
    show(tab, shown)
    tab.wait_for("[...document.images].filter((image) => image.naturalWidth === 2).length === 2")
    show(tab, board)
    assert tab.texts(".nodes li") == ["card “Two”: text changed"]
    assert tab.texts(".line") == []
    tab.click(".file summary")
    tab.wait_for("document.querySelector('.line').checkVisibility()")
    tab.click("#list .row-item a")
    tab.wait_for("document.querySelector('.file .to')")
    assert tab.texts(".item > .file .facts") == ["2 links in other notes were rewritten."]
    assert tab.texts(".followed > summary") == ["2 notes whose links follow the move"]
    tab.click(".followed summary")
    tab.wait_for("document.querySelector('.followed .links').checkVisibility()")
    assert tab.texts(".followed .links li")[0].endswith("follows the move to Friends/Anna Smith.md")


def test_the_list_is_filtered_by_client_folder_kind_and_state(door: DeskDoor, tab: Tab) -> None:
    first = door.edit(("Days/One.md", "Met nobody.\n"))
    door.agent = Caller("ChatGPT")
    second = door.edit(("Log.md", "second\n"))
    waiting = door.hold(("Seeds.md", "Leek.\n"))
    tab.wait_for("document.querySelectorAll('.row-item').length === 3")

    def choose(label: str, value: str, *expected: str) -> None:
        tab.evaluate(
            "(() => { const labels = [...document.querySelectorAll('.filters label')];"
            f"const label = labels.find((each) => each.textContent.trim().startsWith('{label}'));"
            f"const field = label.querySelector('select, input'); field.value = '{value}';"
            "field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true })); })()"
        )
        tab.wait_for(
            "JSON.stringify([...document.querySelectorAll('.row-item a')].map((e) => e.dataset.id))"
            f" === {json.dumps(json.dumps(expected, separators=(',', ':')))}"
        )

    choose("Client", "Claude", first)
    choose("Client", "", waiting, second, first)
    choose("Folder", "Days", first)
    choose("Folder", "", waiting, second, first)
    choose("Kind", "held", waiting)
    choose("Kind", "", waiting, second, first)
    choose("State", "made", second, first)
    choose("State", "withdrawn")
    tab.click("#list button", "Clear the filters")
    tab.wait_for("document.querySelectorAll('.row-item').length === 3")


# A browser without a screen forbids notifications, and its page is never hidden.
SCREEN = """
window.shown = [];
Object.defineProperty(document, 'hidden', { get: () => true });
window.Notification = class extends EventTarget {
  static permission = 'default';
  static requestPermission() { Notification.permission = 'granted'; return Promise.resolve('granted'); }
  constructor(title, options) { super(); window.shown.push(`${title}: ${options.body}`); window.last = this; }
};
"""


def test_what_waits_is_notified_on_request_while_the_page_is_hidden(door: DeskDoor, tab: Tab) -> None:
    tab.run_first(SCREEN)
    tab.go(door.link())
    tab.wait_for("document.body.innerText.includes('Nothing waits.')")
    door.hold(("Log.md", "second\n"))
    tab.wait_for("document.querySelector('.row-item')")
    assert tab.evaluate("window.shown") == []  # nobody has asked for it
    tab.click("button", "Notify me")
    said(tab, "You are notified")
    door.hold(("Seeds.md", "Leek.\n"))
    tab.wait_for("window.shown.length")
    assert tab.evaluate("window.shown") == ["2 changes wait for you: vault"]
    tab.evaluate("location.hash = '#/vault/graph'")
    tab.evaluate("window.last.dispatchEvent(new Event('click'))")
    tab.wait_for("location.hash === '#/vault' && document.querySelectorAll('.row-item').length === 2")


def test_several_vaults_are_named_and_each_has_its_list(tmp_path: Path) -> None:
    other = write_vault(tmp_path / "Other", "=== Log.md\nfirst\n")
    with closing(DeskDoor(tmp_path, VAULT, "--vault", str(other))) as door, open_tab() as tab:
        tab.resize(1440, 900)
        waiting = door.hold(("Log.md", "second\n"))
        tab.go(door.link())
        tab.wait_for("document.querySelector('.row-item')")
        assert tab.evaluate("[...document.querySelectorAll('.vault option')].map((e) => e.label.trim())") == [
            "vault (1)",
            "Other",
        ]
        assert tab.evaluate("document.title") == "(1) Vaultwire desk \N{EN DASH} vault"
        tab.evaluate(
            "(() => { const s = document.querySelector('.vault select'); s.value = 'Other';"
            "s.dispatchEvent(new Event('change', { bubbles: true })); })()"
        )
        tab.wait_for("location.hash === '#/Other' && document.body.innerText.includes('Nothing waits.')")
        assert tab.evaluate("document.title") == "(1) Vaultwire desk \N{EN DASH} Other"
        tab.evaluate(f"location.hash = '#/vault/{waiting}'")
        tab.wait_for("document.querySelector('.file')")


def test_a_read_only_server_says_so_and_its_buttons_write_nothing(tmp_path: Path) -> None:
    with closing(DeskDoor(tmp_path, VAULT, "--read-only")) as door, open_tab() as tab:
        tab.resize(1440, 900)
        change = door.edit(("Log.md", "second\n"))
        tab.go(door.link())
        tab.wait_for("document.querySelector('.row-item')")
        assert tab.texts(".head .badge") == ["read-only"]
        show(tab, change)
        assert tab.evaluate(f"document.querySelector('[data-decides=\"{change} no\"]').ariaDisabled") == "true"
        tab.click(f"[data-decides='{change} no']")
        said(tab, "--read-only")
        tab.type("x")
        said(tab, "--read-only")
        assert door.text("Log.md") == "second\n"
        tab.click(f"[data-decides='{change} yes']")
        tab.wait_for("document.querySelector('.item-head .state').textContent.includes('Kept')")


def test_print_and_forced_colours_show_what_was_changed(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(("Log.md", "second\n"))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    tab.do("Emulation.setEmulatedMedia", media="print")
    assert tab.texts(".toolbar, #list, .head, .decide") == []
    assert "second" in "".join(tab.texts(".line"))
    tab.do("Emulation.setEmulatedMedia", media="", features=[{"name": "forced-colors", "value": "active"}])
    assert tab.evaluate("getComputedStyle(document.querySelector('button.primary')).borderTopWidth") == "2px"
