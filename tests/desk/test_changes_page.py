"""The page of changes in a real browser, by real clicks and keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chromium import Tab, needs_chromium, open_tab
from support.editor_door import EditorDoor
from support.vaults import write_vault
from vaultwire.editor.proposals import Decision

pytestmark = needs_chromium

OLD = "# Plan\n\nFirst line.\nSecond line.\nThird line.\n"
NEW = "# Plan\n\nFirst line.\nA better second line.\nThird line.\n<img src=x onerror=\"document.title='taken'\">\n"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[EditorDoor]:
    made = EditorDoor(write_vault(tmp_path / "vault", f"=== Plan.md\n{OLD}"))
    yield made
    made.close()


@pytest.fixture
def tab(door: EditorDoor, tmp_path: Path) -> Iterator[Tab]:
    with open_tab(tmp_path / "profile") as opened:
        opened.go(f"http://127.0.0.1:{door.port}{door.desk.path}")
        opened.wait_for("document.body.innerText.includes('Nothing waits for you')")
        yield opened


def test_a_change_is_shown_as_it_comes_and_nothing_in_it_is_markup(door: EditorDoor, tab: Tab) -> None:
    door.propose("Projects/Plan.md", OLD, NEW, "✻ [Claude Code] Plan.md ⧉")
    tab.wait_for("document.querySelector('article')")
    assert tab.texts("article strong") == ["Projects/Plan.md"]
    assert tab.texts("article .removed") == ["- Second line."]
    added = tab.texts("article .added")
    assert added == ["+ A better second line.", "+ <img src=x onerror=\"document.title='taken'\">"]
    assert tab.evaluate("document.images.length") == 0
    assert tab.evaluate("document.title") == "(1) Vaultwire: changes to look at"
    tab.shoot("page")


def test_accepting_gives_back_every_byte_that_was_proposed(door: EditorDoor, tab: Tab) -> None:
    door.propose("Plan.md", OLD, "one\r\ntwo\r\n")
    tab.click("button", "Edit")  # looking at it in the editor is not yet an edit
    tab.click("button", "Show the change")
    tab.click("button", "Accept")
    door.wait_for(lambda: door.decisions == ["one\r\ntwo\r\n"])
    tab.wait_for("!document.querySelector('article') && document.body.innerText.includes('Nothing waits for you')")


def test_an_edited_change_is_accepted_as_edited(door: EditorDoor, tab: Tab) -> None:
    door.propose("Plan.md", OLD, NEW)
    tab.click("button", "Edit")
    assert tab.evaluate("document.activeElement.tagName") == "TEXTAREA"
    assert tab.texts("article pre") == []
    tab.press("Control+Home")
    tab.type("Mine\n")
    tab.shoot("page-editing")
    door.propose("Other.md", "", "another\n")  # what is typed survives news
    tab.wait_for("document.querySelectorAll('article').length === 2")
    tab.click("button", "Show the change")
    tab.click("button", "Accept as edited")
    door.wait_for(lambda: door.decisions == ["Mine\n" + NEW])
    tab.wait_for("document.querySelectorAll('article').length === 1")
    assert tab.texts("article strong") == ["Other.md"]


def test_a_rejected_change_is_rejected(door: EditorDoor, tab: Tab) -> None:
    door.propose("Plan.md", OLD, NEW)
    tab.click("button", "Reject")
    door.wait_for(lambda: door.decisions == [None])


def test_the_end_of_the_server_rejects_and_is_said(door: EditorDoor, tab: Tab) -> None:
    door.propose("Plan.md", OLD, NEW)
    tab.wait_for("document.querySelector('article')")
    door.close()
    assert door.decisions == [None]
    tab.wait_for("document.body.innerText.includes('The server has ended')")
    assert tab.texts("article") == []
    tab.shoot("page-ended")


def test_a_long_note_is_accepted_like_any_other(door: EditorDoor, tab: Tab) -> None:
    long = "".join(f"line {number} of many\n" for number in range(150_000))  # 3 MB: more than one frame may have
    door.propose("Long.md", long, "first\n" + long)
    tab.click("button", "Accept")
    door.wait_for(lambda: door.decisions == ["first\n" + long])


def test_a_double_click_decides_one_change(door: EditorDoor, tab: Tab) -> None:
    for number in range(2):
        door.propose(f"{number}.md", OLD, f"{number}\n")
    tab.wait_for("document.querySelectorAll('article').length === 2")
    tab.click("button", "Accept")
    tab.wait_for("document.querySelectorAll('article').length === 1")
    tab.click_again(2)
    assert tab.texts("article strong") == ["1.md"]
    tab.click("button", "Edit")
    tab.wait_for("document.querySelector('textarea:not([hidden])')")
    tab.click("button", "Accept")
    door.wait_for(lambda: door.decisions == ["0\n", "1\n"])


def test_the_second_click_of_a_double_click_does_nothing_wherever_it_lands(door: EditorDoor, tab: Tab) -> None:
    door.propose("Plan.md", OLD, NEW)
    tab.wait_for("document.querySelector('article')")
    for text in ("Accept", "Reject", "Edit"):
        place = (
            f"[...document.querySelectorAll('button')].find((e) => e.textContent === '{text}').getBoundingClientRect()"
        )
        x, y = tab.evaluate(f"(() => {{ const place = {place}; return [place.x + 9, place.y + 9]; }})()")
        tab.move(x, y)
        tab.click_again(2)
    assert tab.texts("textarea") == []
    assert tab.texts("button") == ["Accept", "Edit", "Reject"]
    tab.click("button", "Reject")
    door.wait_for(lambda: door.decisions == [None])


def test_no_button_comes_under_the_pointer_when_a_change_is_decided(door: EditorDoor, tab: Tab) -> None:
    for number in range(3):
        door.propose(f"{number}.md", OLD, f"{number}\n")
    tab.wait_for("document.querySelectorAll('article').length === 3")
    places = "[...document.querySelectorAll('article')].map((e) => e.getBoundingClientRect().top)"
    before = tab.evaluate(places)
    tab.click("button", "Accept")
    tab.wait_for("document.querySelectorAll('article').length === 2")
    tab.click_again()  # another click, and no second one of a double click
    assert tab.evaluate(places) == before[1:]
    assert tab.texts(".decided") == ["Accepted: 0.md"]
    door.proposals.decide(door.proposals.waiting[0].id, Decision(None))  # as when the person answers in the terminal
    tab.wait_for("document.querySelectorAll('.decided').length === 2")
    assert tab.evaluate(places) == before[2:]
    tab.shoot("page-decided")
    tab.click("button", "Reject")
    tab.wait_for("!document.querySelector('article')")
    door.propose("new.md", OLD, "new\n")  # as Claude Code proposes one after the other
    tab.wait_for("document.querySelector('article')")
    tab.click_again()
    assert tab.evaluate(places)[0] > before[2]
    assert door.decisions == ["0\n", None, None]
    tab.click("button", "Accept")
    tab.wait_for("!document.querySelector('article')")
    tab.move(1, 1)
    tab.wait_for("!document.querySelector('.decided')")
    assert door.decisions == ["0\n", None, None, "new\n"]
