"""The side pane of the companion plugin: what it shows and sends, by keys and by pointer, over a real WebSocket."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from support.chromium import Tab
from support.obsidian_stage import NOTICES, look_away, needs_stage, open_note, start, status
from support.scripted_desk import ScriptedDesk, make_file, make_hunk, make_item

pytestmark = needs_stage

PANE = "document.querySelector('.vaultwire-changes')"
FOCUS = "document.activeElement"
SAID = "document.querySelector('.vaultwire-said').textContent"
HIDDEN = "U+202E right-to-left override"


@pytest.fixture
def desk(site: str) -> Iterator[ScriptedDesk]:
    made = ScriptedDesk(site)
    yield made
    made.close()


@pytest.fixture
def tab(blank: Tab, desk: ScriptedDesk) -> Tab:
    start(blank, desk.link)
    blank.wait_for("standIn.plugin.connected")
    return blank


def fill(desk: ScriptedDesk) -> None:
    """Have one proposal, and two changes that were made: of two hunks, and of two files."""
    proposed = make_file(
        0,
        "Plan.md",
        make_hunk(0, 4, "Second", "better", "waiting"),
        notices=[{"what": "hidden", "count": 1, "words": "1 hidden character was added."}],
        properties=[
            {"name": "status", "old": {"text": "draft", "type": "text"}, "new": {"text": "done", "type": "text"}},
            {"name": "due", "old": None, "new": {"text": "2026-03-02", "type": "date"}},
        ],
        links=[{"line": 4, "text": "Tea", "old": "Tea.md", "new": "Coffee.md", "words": "Tea leads to Coffee.md now"}],
    )
    proposed["hunks"][0]["rows"] += [
        {"kind": "added", "old": None, "new": 5, "parts": [{"t": "\u202e", "op": "+", "hidden": HIDDEN}]},
        {"kind": "added", "old": None, "new": 6, "parts": [{"t": "<img src=x>", "op": "+"}], "note": "task done"},
        {"kind": "gap", "old": None, "new": None, "parts": []},
        {"kind": "added", "old": None, "new": 9, "parts": [{"t": "\u0430", "op": "+", "lookalike": "Cyrillic \u0430"}]},
    ]
    desk.files = {
        "p3": [proposed],
        "c2": [make_file(0, "Two.md", make_hunk(0, 2, "old", "new"), make_hunk(1, 20, "cold", "warm"))],
        "c1": [
            make_file(0, "A.md", make_hunk(0, 2, "old", "new")),
            make_file(1, "B.md", to="C/B.md", action="move", rewritten_links=3),
        ],
    }
    desk.texts = {"p3": "# Plan\r\nnew\r\n"}
    desk.show(make_item("p3", summary="edit Plan.md"), make_item("c2"), make_item("c1", file_count=2))


def look(tab: Tab) -> None:
    """Ask for the pane, and wait until its first item is shown."""
    tab.wait_for("standIn.plugin.desk.items.length")
    tab.press("Control+p")
    tab.type("Show changes by assistants\n")
    tab.wait_for(f"{PANE}.querySelector('article.is-open section')")


def key(tab: Tab) -> Any:
    """Return what has the focus: the key of its element, and its item."""
    return tab.evaluate(f"[{FOCUS}.closest('article')?.dataset.id, {FOCUS}.dataset.key]")


def open_item(tab: Tab, id_: str) -> None:
    tab.click(f"article[data-id={id_}] .vaultwire-item")
    tab.wait_for(f"document.querySelector('article[data-id={id_}] section')")


# ---------------------------------------------------------------------- what is shown


def test_the_list_and_the_difference_are_shown_as_text(desk: ScriptedDesk, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    fill(desk)
    tab.wait_for("document.querySelector('.status-bar-item').textContent === 'Vaultwire: 1 waits'")
    look(tab)
    assert tab.texts(".vaultwire-summary") == ["edit Plan.md", "edited c2.md", "edited c1.md"]
    assert tab.texts(".vaultwire-state") == ["waits for you", "made", "made"]
    assert tab.texts(".vaultwire-removed .vaultwire-text") == ["Removed: the Second"]
    assert tab.texts(".vaultwire-added .vaultwire-text") == [
        "Added: the better",
        f"Added: {HIDDEN}",
        "Added: <img src=x>task done",
        "Added: \u0430Cyrillic \u0430",
    ]
    assert tab.texts(".vaultwire-removed del") == ["Second"]
    assert tab.texts(".vaultwire-notice") == ["1 hidden character was added."]
    assert tab.texts(".vaultwire-property") == ["status: draft → done text", "due: (none) → 2026-03-02 date"]
    assert tab.texts("section .vaultwire-told") == ["Line 4: Tea leads to Coffee.md now"]
    assert "\u202e" not in tab.evaluate(f"{PANE}.textContent")
    assert tab.evaluate("document.images.length") == 0
    for width in (300, 600):
        tab.evaluate(f"document.getElementById('right').style.setProperty('--side', '{width}px')")
        tab.shoot(f"plugin-pane-{width}")
        assert tab.evaluate(f"{PANE}.scrollWidth <= {PANE}.clientWidth")
    open_item(tab, "c1")
    assert tab.texts("article[data-id=c1] strong") == ["A.md", "B.md → C/B.md"]
    assert "3 links were rewritten." in tab.texts("article[data-id=c1] .vaultwire-told")
    open_item(tab, "c2")
    tab.shoot("plugin-pane-hunks")


def test_buttons_have_the_desks_words_and_names_that_differ(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    for id_ in ("c2", "c1"):
        open_item(tab, id_)
    words = tab.texts(".vaultwire-detail button")
    assert set(words) == {"Accept", "Edit", "Refuse", "Keep", "Undo"}
    names = tab.evaluate("[...document.querySelectorAll('.vaultwire-detail button')].map((e) => e.ariaLabel)")
    assert len(set(names)) == len(names) == 15
    assert all(name.startswith(f"{word}: ") for name, word in zip(names, words, strict=True))
    assert "Undo: hunk 2 of 2, line 20 of Two.md" in names
    labels = tab.evaluate(
        "[...document.querySelectorAll('[aria-labelledby]')].map((e) => e.ariaLabelledByElements[0].innerText)"
    )
    assert len(set(labels)) == len(labels) == 3


# ---------------------------------------------------------------------- by pointer


def test_a_hunk_a_file_and_a_change_are_kept_and_undone_by_clicks(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    for id_, selector, word, sent in (
        ("c2", ".vaultwire-hunk:nth-of-type(3)", "Undo", {"file": 0, "hunk": 1}),
        ("c1", "section:nth-of-type(2)", "Keep", {"file": 1}),
        ("c1", "footer", "Undo", {}),
    ):
        if not tab.texts(f"article[data-id={id_}] section"):
            open_item(tab, id_)
        count = len(desk.decisions)
        tab.click(f"article[data-id={id_}] {selector} button", word)
        desk.wait_for(functools.partial(lambda count: len(desk.decisions) > count, count))
        assert desk.decisions[count:] == [{"id": id_, "action": word.lower(), **sent}]
        desk.answer(id_)
        tab.wait_for(f"!document.querySelector('article[data-id={id_}].is-under-way')")


def test_further_hunks_are_shown_when_asked_for(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    hunks = [make_hunk(n, 10 * n + 2, "old", "new") for n in range(3)]
    desk.files["c2"] = [make_file(0, "Two.md", hunks[0], hunk_count=3, next_hunk=1)]
    desk.hunks = [make_file(0, "Two.md", *hunks[1:], hunk_count=3)]
    look(tab)
    open_item(tab, "c2")
    tab.click("button", "Show 2 more hunks")
    tab.wait_for("document.querySelectorAll('article[data-id=c2] .vaultwire-hunk').length === 3")
    assert key(tab) == ["c2", "hunk:0:1"]
    assert desk.heard[-1] == {"type": "hunks", "id": "c2", "file": 0, "from": 1}
    assert "Show 2 more hunks" not in tab.texts("button")


def test_a_proposal_is_refused_with_a_reason(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    tab.click("footer input")
    tab.type("jaxu")  # keys of the pane
    tab.click("footer button", "Refuse")
    desk.wait_for(lambda: desk.decisions == [{"id": "p3", "action": "refuse", "reason": "jaxu"}])
    desk.answer("p3", "Refused: edit Plan.md")
    desk.change("p3", state="refused", reason="jaxu")
    tab.wait_for(f"{SAID} === 'Refused: edit Plan.md' && !document.querySelector('article[data-id=p3] footer button')")
    assert status(tab) != "Vaultwire: 1 waits"
    assert tab.texts("article[data-id=p3] .vaultwire-told")[0] == "Reason: jaxu"


def test_a_double_click_decides_once_and_a_click_on_what_moved_under_the_pointer_nothing(
    desk: ScriptedDesk, tab: Tab
) -> None:
    fill(desk)
    look(tab)
    open_item(tab, "c2")
    tab.click("article[data-id=c2] .vaultwire-hunk button", "Keep", times=2)
    desk.wait_for(lambda: len(desk.decisions) == 1)
    desk.files["c2"][0]["hunks"][0]["state"] = "kept"
    desk.answer("c2")
    tab.wait_for("document.querySelector('article[data-id=c2] .is-kept')")
    tab.click_again()  # "Undo" is where "Keep" was, perhaps
    tab.click_again(2)
    tab.press("j")  # what is sent comes after what the clicks would have sent
    desk.wait_for(lambda: desk.heard[-1] == {"type": "show", "id": "c1"})
    assert desk.decisions == [{"id": "c2", "action": "keep", "file": 0, "hunk": 0}]


def test_new_items_wait_while_the_pointer_is_in_the_pane(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    places = "[...document.querySelectorAll('article')].map((e) => e.getBoundingClientRect().top)"
    tab.evaluate(f"{PANE}.scrollTo(0, 0)")
    tab.click(".vaultwire-head p")
    before = tab.evaluate(places)
    desk.show(make_item("p9"), *desk.items)
    tab.wait_for("document.querySelector('.vaultwire-news').textContent === 'Show 1 new'")
    assert tab.evaluate(places) == before
    tab.shoot("plugin-pane-news")
    tab.click(".vaultwire-news")
    tab.wait_for("document.querySelectorAll('article').length === 4")
    desk.show(make_item("c10"), *desk.items)
    tab.wait_for("document.querySelector('.vaultwire-news').classList.contains('is-offered')")
    tab.move(5, 5)
    tab.wait_for("document.querySelectorAll('article').length === 5")
    assert tab.texts(".vaultwire-summary")[:2] == ["edited c10.md", "edited p9.md"]


# ---------------------------------------------------------------------- by keys


def test_all_is_done_by_keys_and_the_focus_stays(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    assert key(tab) == ["p3", "item"]
    tab.press("a")
    tab.press("a")  # nothing is decided twice
    tab.press("x")
    desk.wait_for(lambda: len(desk.decisions) == 1)
    desk.answer("p3", "Accepted: edit Plan.md")
    desk.change("p3", state="accepted", change=4)
    tab.wait_for(f"{SAID} === 'Accepted: edit Plan.md'")
    assert key(tab) == ["p3", "item"]
    tab.press("j")
    tab.wait_for("document.querySelector('article[data-id=c2] section')")
    assert key(tab) == ["c2", "item"]
    assert tab.evaluate("document.querySelectorAll('article.is-open').length") == 1
    tab.press("n")
    tab.press("n")
    assert key(tab) == ["c2", "hunk:0:1"]
    tab.press("p")
    assert key(tab) == ["c2", "hunk:0:0"]
    tab.press("x")
    desk.wait_for(lambda: desk.decisions[-1] == {"id": "c2", "action": "undo", "file": 0, "hunk": 0})
    desk.files["c2"][0]["hunks"][0]["state"] = "undone"
    desk.answer("c2", undo=7)
    tab.wait_for("document.querySelector('.is-undone')")
    assert key(tab) == ["c2", "hunk:0:0"]
    tab.press("x")
    tab.wait_for(f"{SAID} === 'There is nothing to undo here.'")
    tab.press("u")
    desk.wait_for(lambda: desk.decisions[-1] == {"id": "c7", "action": "undo"})
    desk.answer("c7", "Undone.")
    tab.wait_for(f"{SAID} === 'Undone.'")
    tab.press("j")
    tab.press("j")
    tab.wait_for(f"{SAID} === 'This is the last one.'")
    tab.wait_for("document.querySelector('article[data-id=c1] section')")
    tab.press("a")
    desk.wait_for(lambda: desk.decisions[-1] == {"id": "c1", "action": "keep"})
    desk.answer("c1")
    desk.change("c1", is_reviewed=True)
    tab.wait_for("document.querySelector('article[data-id=c1] .vaultwire-state').textContent === 'kept'")
    assert key(tab) == ["c1", "item"]
    tab.press("u")
    desk.wait_for(lambda: desk.decisions[-1] == {"id": "c1", "action": "unkeep"})
    tab.press("k")
    assert key(tab) == ["c2", "item"]
    assert len(desk.decisions) == 5


def test_a_button_pressed_by_a_key_leaves_the_focus_at_its_hunk(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    open_item(tab, "c2")
    tab.evaluate("document.querySelector('[data-key=\"hunk:0:1:keep\"]').focus()")
    tab.press("Enter", 2)
    desk.wait_for(lambda: desk.decisions == [{"id": "c2", "action": "keep", "file": 0, "hunk": 1}])
    desk.files["c2"][0]["hunks"][1]["state"] = "kept"
    desk.answer("c2")
    tab.wait_for("document.querySelector('.is-kept')")
    assert key(tab) == ["c2", "hunk:0:1"]
    assert len(desk.decisions) == 1


def test_what_is_edited_is_shown_as_a_difference_before_it_is_accepted(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    tab.press("e")
    tab.wait_for(f"{FOCUS}.tagName === 'TEXTAREA'")
    tab.press("Control+Home")
    tab.type("Mine\n")
    tab.wait_for("!document.querySelector('article[data-id=p3] [data-key=\"item:accept\"]')")
    assert key(tab)[0] == "p3"
    desk.show(make_item("c10"), *desk.items)  # what is typed survives news
    tab.wait_for("document.querySelectorAll('article').length === 4")
    tab.type("ja")
    assert tab.evaluate(f"{FOCUS}.value") == "Mine\nja# Plan\nnew\n"
    tab.shoot("plugin-pane-editing")
    tab.press("Escape")
    tab.press("a")
    tab.wait_for(f"{SAID} === 'Show the difference of what you have edited first.'")
    tab.click("button", "Show the difference")
    tab.wait_for(f"{FOCUS}.textContent === 'Edit'")
    assert desk.previews == [{"type": "preview", "id": "p3", "file": 0, "text": "Mine\r\nja# Plan\r\nnew\r\n"}]
    assert tab.texts(".vaultwire-editor ins") == ["previewed"]
    tab.shoot("plugin-pane-preview")
    tab.click("footer button", "Accept as edited")
    sent = {"id": "p3", "action": "accept", "edited": {"0": "Mine\r\nja# Plan\r\nnew\r\n"}}
    desk.wait_for(lambda: desk.decisions == [sent])


def test_a_proposal_that_was_opened_to_edit_but_not_changed_is_accepted_as_it_is(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    tab.press("e")
    tab.wait_for(f"{FOCUS}.tagName === 'TEXTAREA'")
    tab.press("Escape")
    tab.press("a")
    desk.wait_for(lambda: desk.decisions == [{"id": "p3", "action": "accept"}])


def test_a_decision_that_could_not_be_carried_out_says_why_and_may_be_tried_again(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    tab.press("a")
    desk.wait_for(lambda: len(desk.decisions) == 1)
    desk.answer("p3", "The note has changed since.", error=True)
    tab.wait_for(f"{SAID} === 'The note has changed since.'")
    assert "The note has changed since." in tab.texts(".vaultwire-notice")
    tab.press("u")
    tab.wait_for(f"{SAID}.startsWith('There is nothing to undo')")
    tab.press("a")
    desk.wait_for(lambda: len(desk.decisions) == 2)


def test_an_item_that_cannot_be_shown_says_why_and_is_asked_for_once(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    desk.failing["c2"] = "Its file is gone."
    look(tab)
    tab.click("article[data-id=c2] .vaultwire-item")
    tab.wait_for("document.querySelector('article[data-id=c2] .vaultwire-detail').textContent === 'Its file is gone.'")
    tab.press("j")
    desk.wait_for(lambda: desk.heard[-1] == {"type": "show", "id": "c1"})
    assert desk.heard.count({"type": "show", "id": "c2"}) == 1


def test_what_cannot_be_undone_has_no_button_and_says_what_depends_on_it(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    desk.more["c2"] = {"can_undo": False, "blocked_by": ["c5", "c6"]}
    look(tab)
    open_item(tab, "c2")
    assert set(tab.texts("article[data-id=c2] .vaultwire-detail button")) == {"Keep"}
    assert tab.texts("article[data-id=c2] .vaultwire-told") == ["To be undone first, as it depends on this: c5, c6"]


# ---------------------------------------------------------------------- when it opens


def test_no_pane_opens_under_a_person_who_types_and_a_notice_leads_to_it(desk: ScriptedDesk, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    tab.type("typing")
    fill(desk)
    tab.wait_for(f"{NOTICES}.includes('Waits for you: edit Plan.md.')")
    tab.type(" on")
    assert tab.texts("#tabs button") == ["Plan.md"]
    assert tab.texts(".cm-line")[0] == "typing on# Plan"
    desk.show(make_item("p9"), *desk.items)
    tab.wait_for(f"{NOTICES}.includes('edited p9.md')")
    assert len(tab.texts(".notice")) == 1
    tab.shoot("plugin-notice")
    tab.click(".notice button", "Show")
    tab.wait_for(f"{PANE} && {FOCUS}.closest('article')?.dataset.id === 'p9'")
    assert tab.texts(".notice") == []
    desk.show(make_item("p10"), *desk.items)  # where it can be seen already
    tab.move(5, 5)
    tab.wait_for("document.querySelectorAll('article').length === 5")
    assert tab.texts(".notice") == []
    assert desk.decisions == []


def test_a_pane_that_opens_by_itself_takes_no_key(desk: ScriptedDesk, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    look_away(tab)
    fill(desk)
    tab.wait_for(f"{PANE}?.checkVisibility() && document.querySelectorAll('article').length === 3")
    tab.type("jaxu ")
    assert tab.texts(".cm-line")[0] == "jaxu # Plan"
    assert desk.decisions == []


def test_a_notice_goes_when_nothing_waits(desk: ScriptedDesk, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    fill(desk)
    tab.wait_for("document.querySelector('.notice')")
    desk.change("p3", state="withdrawn")
    tab.wait_for("!document.querySelector('.notice')")


def test_a_lost_connection_is_said_and_what_waits_comes_back_with_the_next(desk: ScriptedDesk, tab: Tab) -> None:
    fill(desk)
    look(tab)
    tab.press("a")
    desk.wait_for(lambda: len(desk.decisions) == 1)
    desk.drop()
    tab.wait_for(f"{NOTICES}.includes('not connected any more')")
    tab.wait_for("document.querySelectorAll('article').length === 3")
    tab.press("j")
    tab.wait_for("document.querySelector('article.is-open section')")
    tab.press("a")
    desk.wait_for(lambda: len(desk.decisions) == 2)


def test_a_plugin_that_is_unloaded_leaves_its_pane_and_decides_nothing(desk: ScriptedDesk, tab: Tab) -> None:
    open_note(tab, "Plan.md")
    fill(desk)
    look(tab)
    tab.evaluate("standIn.plugin.unload()")
    tab.wait_for(f"!{PANE}")
    assert tab.texts("#tabs button") == ["Plan.md", "Plugin no longer active"]  # the pane keeps its place for an update
    assert tab.texts("#status div") == []
    assert tab.evaluate("standIn.app.commands.length + standIn.app.extensions.length") == 0
    assert tab.evaluate("standIn.app.workspace.handlers.length + standIn.app.vault.handlers.length") == 0
    reads = tab.evaluate("standIn.computer.reads")
    tab.evaluate("window.dispatchEvent(new Event('focus'))")
    assert tab.evaluate("standIn.computer.reads") == reads
    assert desk.decisions == []
