"""The desk in a real browser, at a real server: what it shows, and each action by pointer and by key."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.chromium import Tab, in_browser, open_tab
from support.desk_door import DeskDoor

pytestmark = in_browser

LINES = [f"Line {number} about the garden in spring." for number in range(1, 41)]
NOTE = "\n".join(LINES) + "\n"
VAULT = f"=== Projects/Plan.md\n{NOTE}=== People/Ada.md\nWas a writer.\n=== Log.md\nfirst\n"
EDITED = NOTE.replace("Line 5 about", "Line 5 is about").replace("Line 30 about the garden", "Line 30 about the yard")
ADA = "Was a mathematician.\n"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[DeskDoor]:
    made = DeskDoor(tmp_path, VAULT)
    yield made
    made.close()


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
    tab.wait_for(f"location.hash.endsWith('/{id_}') && document.querySelector('.toolbar [data-decides^=\"{id_} \"]')")


def said(tab: Tab, text: str) -> None:
    tab.wait_for(f"document.getElementById('said').textContent.includes({json.dumps(text)})")


def focus(tab: Tab) -> Any:
    return tab.evaluate(
        "document.activeElement.dataset.id || document.activeElement.ariaLabel || document.activeElement.id"
    )


def test_a_change_appears_as_it_is_made_and_is_shown_by_words(door: DeskDoor, tab: Tab) -> None:
    assert "Nothing waits" in "".join(tab.texts("#right"))
    change = door.edit(("Projects/Plan.md", EDITED))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    assert tab.texts(".line[data-kind=changed] ins") == ["is ", "yard"]
    assert tab.texts(".line[data-kind=changed] del") == ["garden"]
    assert "+2" in tab.texts(".counts")[0]
    tab.click(".fold")
    tab.wait_for("document.querySelector('.unfolded')")
    assert "Line 1 about" in tab.texts(".unfolded")[0]


def test_a_note_is_never_markup(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(
        ("Log.md", "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\n")
    )
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    tab.wait_for("document.querySelector('.text')")
    assert tab.evaluate("document.images.length") == 0
    tab.click("button", "Rendered")
    tab.wait_for("document.querySelector('.rendered')")
    assert tab.evaluate("document.querySelectorAll('#right img, #right script').length") == 0
    assert "taken" not in tab.evaluate("document.title")


def test_keeping_and_undoing_by_pointer(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(("People/Ada.md", ADA))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    tab.click(f"[data-decides='{change} yes']")
    tab.wait_for("document.querySelector('.item-head .state').textContent.includes('Kept')")
    assert [kind for kind, _ in door.told()] == ["kept"]
    tab.click(f"[data-decides='{change} no']")
    tab.wait_for("document.querySelector('.item-head .state').textContent.includes('Undone')")
    assert door.text("People/Ada.md") == "Was a writer.\n"
    tab.click(".said button")
    tab.wait_for("document.querySelector('.item-head .state').textContent.includes('Undone') === false")
    assert door.text("People/Ada.md") == ADA


def test_one_hunk_is_undone_and_the_other_stays(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(("Projects/Plan.md", EDITED))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    tab.click(f"[data-decides='{change} no 0 1']")
    tab.wait_for("document.querySelector('[data-hunk=\"0 1\"]').dataset.state === 'undone'")
    assert door.text("Projects/Plan.md") == NOTE.replace("Line 5 about", "Line 5 is about")


def test_everything_by_key(door: DeskDoor, tab: Tab) -> None:
    first = door.edit(("Log.md", "first\nsecond\n"))
    second = door.edit(("People/Ada.md", ADA))
    third = door.hold(("New.md", "new\n"))
    tab.wait_for("document.querySelectorAll('.row-item').length === 3")
    assert tab.evaluate("document.title").startswith("(1) ")
    tab.type("j")
    tab.wait_for(f"location.hash.endsWith('{third}') && document.querySelector('[data-decides=\"{third} yes\"]')")
    assert focus(tab) == third
    tab.type("a")
    tab.wait_for(f"location.hash.endsWith('{second}') && document.querySelector('[data-decides=\"{second} yes\"]')")
    assert door.text("New.md") == "new\n"
    tab.wait_for(f"document.activeElement.dataset.id === '{second}'")
    tab.type("x")
    tab.wait_for(f"location.hash.endsWith('{first}') && document.querySelector('[data-decides=\"{first} yes\"]')")
    assert door.text("People/Ada.md") == "Was a writer.\n"
    tab.type("u")
    said(tab, "Undid")
    tab.type("k")
    tab.wait_for(f"!location.hash.endsWith('{first}')")
    tab.type("/")
    assert focus(tab) == "filter"
    tab.type("log")
    tab.wait_for("document.querySelectorAll('.row-item').length === 1")
    tab.press("Escape")
    tab.type("?")
    tab.wait_for("document.querySelector('dialog[open]')")
    tab.press("Escape")
    tab.wait_for("!document.querySelector('dialog')")


def test_a_refusal_has_a_reason_and_the_agent_is_told(door: DeskDoor, tab: Tab) -> None:
    proposal = door.hold(("People/Ada.md", ADA))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, proposal)
    tab.type("x")
    tab.wait_for("document.activeElement.id === 'reason'")
    tab.type("she wrote, too\n")
    tab.wait_for("document.querySelector('.item-head .state').textContent.includes('Refused')")
    assert door.text("People/Ada.md") == "Was a writer.\n"
    assert "she wrote, too" in door.told()[-1][1]


def test_an_edited_proposal_is_shown_before_it_is_written(door: DeskDoor, tab: Tab) -> None:
    proposal = door.hold(("People/Ada.md", ADA))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, proposal)
    tab.type("e")
    tab.wait_for("document.activeElement.tagName === 'TEXTAREA'")
    tab.press("Control+Home")
    tab.type("Mine. ")
    tab.click("button", "Show what will be written")
    tab.wait_for("document.querySelector('.editing ins')")
    assert door.text("People/Ada.md") == "Was a writer.\n"
    tab.click(f"[data-decides='{proposal} accept edited']:not([aria-disabled=true])")
    tab.wait_for("document.querySelector('.item-head .state')?.textContent.includes('edited')")
    assert door.text("People/Ada.md") == "Mine. " + ADA


def test_a_stale_proposal_shows_both(door: DeskDoor, tab: Tab) -> None:
    proposal = door.hold(("People/Ada.md", ADA))
    (door.root / "People" / "Ada.md").write_text("Was a painter.\n")
    tab.go(door.link())
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, proposal)
    tab.wait_for("document.querySelector('.stale .file')")
    assert "painter" in tab.texts(".stale")[0]
    assert tab.evaluate(f"document.querySelector('[data-decides=\"{proposal} yes\"]').ariaDisabled") == "true"
    tab.type("e")
    tab.wait_for("document.querySelector('textarea').value === 'Was a painter.\\nWas a mathematician.\\n'")
    tab.click("button", "Show what will be written")
    tab.click(f"[data-decides='{proposal} accept edited']:not([aria-disabled=true])")
    said(tab, "as edited")
    assert door.text("People/Ada.md") == "Was a painter.\nWas a mathematician.\n"


def test_of_what_waits_a_part_is_accepted_and_the_next_is_shown(door: DeskDoor, tab: Tab) -> None:
    first, second = door.hold(("Projects/Plan.md", EDITED)), door.hold(("Log.md", "second\n"))
    door.edit(("People/Ada.md", ADA))
    tab.wait_for("document.querySelectorAll('.row-item').length === 3")
    tab.click("button.count")
    tab.wait_for("document.querySelectorAll('.row-item').length === 2")
    show(tab, first)
    tab.click(f"[data-decides='{first} yes 0 1']")
    tab.wait_for("location.hash.endsWith('/p3')")
    said(tab, "The rest waits as proposal 3")
    assert door.text("Projects/Plan.md") == NOTE.replace("Line 30 about the garden", "Line 30 about the yard")
    tab.click("[data-decides='p3 yes']")
    tab.wait_for(f"location.hash.endsWith('/{second}')")
    assert door.text("Projects/Plan.md") == EDITED


def test_what_builds_on_a_change_is_said_and_undone_together(door: DeskDoor, tab: Tab) -> None:
    first = door.edit(("Log.md", "second\n"))
    door.edit(("Log.md", "third\n"))
    tab.wait_for("document.querySelectorAll('.row-item').length === 2")
    show(tab, first)
    tab.wait_for("document.querySelector('.item-head .notice')")
    if tab.evaluate(f"document.querySelector('[data-decides=\"{first} no\"]').ariaDisabled") == "true":
        pytest.fail("an undo that needs others is offered with them")
    tab.click(f"[data-decides='{first} no']")
    tab.wait_for("document.querySelector('dialog[open] .conflicts li')")
    assert door.text("Log.md") == "third\n"
    tab.click("dialog button", "Undo 2 changes together")
    tab.wait_for("!document.querySelector('dialog')")
    said(tab, "ndid")
    assert door.text("Log.md") == "first\n"


def test_a_double_click_decides_one_change_and_nothing_comes_under_a_still_pointer(door: DeskDoor, tab: Tab) -> None:
    ids = [door.edit(("Log.md", f"{number}\n")) for number in range(2)]
    tab.wait_for("document.querySelectorAll('.row-item').length === 2")
    show(tab, ids[1])
    tab.click(f"[data-decides='{ids[1]} yes']", times=2)
    tab.click_again()  # neither the second click nor a third one decides it again
    tab.wait_for("document.querySelector('.item-head .state').textContent.includes('Kept')")
    tab.evaluate(f"location.hash = location.hash.replace('{ids[1]}', '{ids[0]}')")
    tab.wait_for(f"document.querySelector('[data-decides=\"{ids[0]} yes\"]')")
    tab.click_again()  # another button is there now, and the pointer has not moved
    said(tab, "moved under the pointer")
    assert [kind for kind, _ in door.told()] == ["kept"]


def test_news_move_nothing_that_is_looked_at(door: DeskDoor, tab: Tab) -> None:
    door.edit(("Log.md", "1\n"))
    tab.wait_for("document.querySelector('.row-item')")
    x, y = tab.evaluate(
        "(() => { const r = document.querySelector('.row-item').getBoundingClientRect(); return [r.x + 9, r.y + 9]; })()"
    )
    tab.move(x, y)
    door.edit(("Log.md", "2\n"))
    tab.wait_for("document.querySelector('.fresh')")
    assert tab.evaluate(
        f"document.elementFromPoint({x}, {y}).closest('.row-item') === document.querySelector('.row-item')"
    )
    tab.click(".fresh")
    tab.wait_for("document.querySelectorAll('.row-item').length === 2")


# A connection for news that opens once it is told to.
LATE_NEWS = """
const Real = globalThis.EventSource;
globalThis.EventSource = function (address) {
  const news = new EventTarget();
  news.close = () => {};
  globalThis.openNews = () => {
    const real = new Real(address);
    for (const name of ["open", "changed"]) {
      real.addEventListener(name, ({ data }) => news.dispatchEvent(new MessageEvent(name, { data })));
    }
  };
  return news;
};
"""


def test_what_changes_before_news_arrives_is_shown(door: DeskDoor, tmp_path: Path) -> None:
    with open_tab() as tab:
        tab.run_first(LATE_NEWS)
        tab.go(door.link())
        tab.wait_for("document.body.innerText.includes('Nothing waits.') && globalThis.openNews")
        door.edit(("Log.md", "1\n"))
        tab.evaluate("openNews()")
        tab.wait_for("document.querySelector('.row-item')")


def test_a_lost_connection_is_said_and_found_again(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(("Log.md", "1\n"))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    door.end_server()
    tab.wait_for("document.querySelector('.lost')")
    assert tab.texts(".row-item") != []
    tab.type("x")
    said(tab, "nothing can be decided")
    door.restart_server()
    tab.wait_for("!document.querySelector('.lost')")
    tab.click(f"[data-decides='{change} no']")
    tab.wait_for("document.querySelector('.item-head .state').textContent.includes('Undone')")
    assert door.text("Log.md") == "first\n"


def test_screen_readers_get_names_that_differ(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(("Projects/Plan.md", EDITED), ("Log.md", "1\n"))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    nodes = tab.do("Accessibility.getFullAXTree")["nodes"]
    found = [(each["role"]["value"], each.get("name", {}).get("value", "")) for each in nodes if not each["ignored"]]
    buttons = [name for role, name in found if role == "button"]
    assert all(buttons)
    assert len(buttons) == len(set(buttons)), buttons
    assert any(name.startswith(f"Undo change {change[1:]}: ") for name in buttons)
    assert f"Keep hunk 2 of Plan.md in change {change[1:]}" in buttons
    assert {"main", "navigation", "status", "search"} <= {role for role, _ in found}


def small_on_a_phone(tab: Tab) -> list[str]:
    """Return what a finger misses (below 24 pixels: WCAG 2.5.8), and fields at which Safari would enlarge the page."""
    found: list[str] = tab.evaluate(
        "[...document.querySelectorAll('.head a, button, input, select, textarea')].filter((e) => e.checkVisibility())"
        ".filter((e) => e.getBoundingClientRect().height < 24 || (e.matches('input, select, textarea')"
        " && parseFloat(getComputedStyle(e).fontSize) < 16)).map((e) => e.outerHTML)"
    )
    return found


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_no_width_makes_the_page_scroll_sideways(door: DeskDoor, tab: Tab, width: int) -> None:
    change = door.edit(("Projects/Plan.md", EDITED), ("People/Ada.md", ADA))
    tab.resize(width, 800)
    tab.wait_for("document.querySelector('.row-item')")
    tab.shoot(f"desk-list-{width}")
    show(tab, change)
    tab.shoot(f"desk-change-{width}")
    assert tab.evaluate(
        "[document.documentElement, document.getElementById('right')].every((e) => e.scrollWidth <= e.clientWidth + 1)"
    )
    if width == 360:
        assert small_on_a_phone(tab) == []
        assert tab.texts("#list") == []
        tab.click(".back")
        tab.wait_for("document.getElementById('list').checkVisibility()")


def test_thirty_thousand_lines_come_in_pieces(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(("Long.md", "".join(f"line {number}\n" for number in range(30_000))))
    tab.wait_for("document.querySelector('.row-item')")
    show(tab, change)
    tab.wait_for("document.querySelectorAll('.line').length > 100")
    assert tab.evaluate("document.querySelectorAll('.line').length") < 10_000
    before = tab.evaluate("document.querySelectorAll('.line').length")
    # Lines that were never shown have a guessed height, so the end may move away: a person goes on scrolling.
    scrolled = "document.getElementById('right').scrollTo(0, 1e9)"
    tab.wait_for(f"({scrolled}, document.querySelectorAll('.line').length > {before})")


def test_axe_finds_nothing(door: DeskDoor, tab: Tab) -> None:
    change = door.edit(("Projects/Plan.md", EDITED), ("People/Ada.md", ADA))
    proposal = door.hold(("Log.md", "x\n"))
    tab.wait_for("document.querySelectorAll('.row-item').length === 2")
    axe = Path(os.environ["VAULTWIRE_PLUGIN_MODULES"], "axe-core", "axe.min.js").read_text()
    for id_ in (change, proposal):
        show(tab, id_)
        for dark in (False, True):
            tab.be_dark(dark)
            tab.evaluate(f"{axe}; 1")
            found = tab.evaluate(
                "axe.run().then((r) => r.violations.map((v) => [v.id, v.nodes.map((n) => n.html + n.failureSummary)]))"
            )
            assert found == [], found
