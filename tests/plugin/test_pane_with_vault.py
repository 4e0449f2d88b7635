"""The side pane of the companion plugin with our real server and a vault: what is decided there is what the notes are then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chromium import Tab
from support.editor_door import EditorDoor
from support.obsidian_stage import needs_stage, start
from support.vaults import write_vault
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath

pytestmark = needs_stage

NOTE = "".join(f"line {number}\n" for number in range(20))
TWO_HUNKS = NOTE.replace("line 3\n", "LINE 3\n").replace("line 16\n", "LINE 16\n")
SAID = "document.querySelector('.vaultwire-said').textContent"


class Desk(EditorDoor):
    """An agent changes the vault with ``edit`` and proposes with ``hold``; the plugin hears of it with ``refresh``."""

    agent = Caller("claude")

    def edit(self, path: str, after: str) -> str:
        """Let the agent write a note; return the item's id."""
        bench = self.vault.used_by(self.agent, "edit_note")._bench
        with bench.locked(NO_PROGRESS):
            steps = [Write(VaultPath(path), self.read(path), after.encode())]
            return f"c{bench.changes.execute(steps, self._author()).id}"

    def move(self, path: str, to: str) -> str:
        """Let the agent move a note with its links; return the item's id."""
        _, done = self.vault.used_by(self.agent, "move_notes").arranging.move(path, to, NO_PROGRESS, dry_run=False)
        assert done.change is not None
        return f"c{done.change.id}"

    def hold(self, path: str, after: str) -> str:
        """Let the agent propose to write a note; return the item's id."""
        steps = [Write(VaultPath(path), self.read(path), after.encode())]
        return f"p{self.vault.holding.proposals.add('write', self._author(), steps, label='a wish').id}"

    def _author(self) -> Author:
        return Author("claude", "edit_note", self.agent.session)

    def read(self, path: str) -> bytes | None:
        place = self.root / path
        return place.read_bytes() if place.exists() else None

    def refresh(self) -> None:
        """Tell what is there now; the bridge does so twice a second."""
        self.link.tell_items()


@pytest.fixture
def desk(site: str, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(write_vault(tmp_path / "vault", f"=== Plan.md\n{NOTE}=== Other.md\nother\n"), site)
    yield made
    made.close()


@pytest.fixture
def tab(blank: Tab, desk: Desk) -> Tab:
    start(blank, desk.plugin._asdict())
    blank.wait_for("standIn.plugin.connected")
    return blank


def look(tab: Tab, count: int) -> None:
    tab.wait_for(f"standIn.plugin.desk.items.length === {count}")
    tab.press("Control+p")
    tab.type("Show changes by assistants\n")
    tab.wait_for("document.querySelector('article.is-open section')")


def said(tab: Tab, words: str) -> None:
    tab.wait_for(f"{SAID}.includes('{words}')")


def test_a_hunk_is_undone_and_that_undone_and_the_whole_kept(desk: Desk, tab: Tab) -> None:
    before = desk.read("Plan.md")
    id_ = desk.edit("Plan.md", TWO_HUNKS)
    desk.refresh()
    look(tab, 1)
    tab.shoot("plugin-real-change")
    tab.press("n")
    tab.press("x")
    tab.wait_for("document.querySelector('.is-undone')")
    assert before is not None
    assert desk.read("Plan.md") == before.replace(b"line 16\n", b"LINE 16\n")
    tab.press("u")
    tab.wait_for("!document.querySelector('.is-undone')")
    assert desk.read("Plan.md") == TWO_HUNKS.encode()
    tab.click(f"article[data-id={id_}] footer button", "Undo")
    tab.wait_for(f"document.querySelector('article[data-id={id_}] .vaultwire-state').textContent === 'undone'")
    assert desk.read("Plan.md") == before


def test_a_proposal_is_accepted_as_edited_and_undone(desk: Desk, tab: Tab) -> None:
    id_ = desk.hold("Other.md", "wanted\n")
    desk.refresh()
    look(tab, 1)
    tab.press("e")
    tab.wait_for("document.activeElement.tagName === 'TEXTAREA'")
    tab.press("Control+Home")
    tab.type("Mine: ")
    tab.click("button", "Show the difference")
    tab.wait_for("document.querySelector('.vaultwire-editor .vaultwire-rows')")
    assert desk.read("Other.md") == b"other\n"
    tab.shoot("plugin-real-preview")
    tab.press("a")
    said(tab, "Accepted proposal 1 as edited")
    assert desk.read("Other.md") == b"Mine: wanted\n"
    tab.wait_for("document.querySelector('.vaultwire-state').textContent === 'accepted as edited'")
    tab.press("u")
    tab.wait_for(f"document.querySelector('article[data-id={id_}] .vaultwire-state').textContent === 'undone'")
    assert desk.read("Other.md") == b"other\n"


def test_one_hunk_of_a_proposal_is_accepted_and_the_rest_waits_on(desk: Desk, tab: Tab) -> None:
    desk.hold("Plan.md", TWO_HUNKS)
    desk.refresh()
    look(tab, 1)
    assert tab.texts(".vaultwire-hunk button") == ["Accept this", "Accept this"]
    tab.shoot("plugin-real-parts")
    tab.click(".vaultwire-hunk button", "Accept this")
    said(tab, "The rest waits as proposal 2.")
    assert desk.read("Plan.md") == NOTE.replace("line 3\n", "LINE 3\n").encode()
    desk.refresh()
    tab.move(5, 5)  # what is new is listed once the pointer has left
    tab.wait_for("document.querySelector('article[data-id=p2]')")
    tab.press("j")
    tab.wait_for("document.querySelector('article[data-id=p2] section')")
    tab.press("a")
    said(tab, "Accepted proposal 2")
    assert desk.read("Plan.md") == TWO_HUNKS.encode()


def test_a_note_whose_move_cannot_be_undone_is_moved_back(desk: Desk, tab: Tab) -> None:
    desk.edit("Other.md", "See [[Plan]].\n")
    moved = desk.move("Plan.md", "Map.md")
    desk.edit("Other.md", "Look at [[Map]] first.\n")
    desk.refresh()
    look(tab, 3)
    tab.click(f"article[data-id={moved}] .vaultwire-item")
    tab.wait_for(f"document.querySelector('article[data-id={moved}] section')")
    tab.shoot("plugin-real-way-back")
    tab.click(f"article[data-id={moved}] button", "Move it back to Plan.md")
    desk.wait_for(lambda: desk.read("Plan.md") == NOTE.encode())
    said(tab, "Plan.md")
    assert desk.read("Other.md") == b"Look at [[Plan]] first.\n"
    assert desk.read("Map.md") is None


def test_a_stale_proposal_shows_both_and_can_be_refused(desk: Desk, tab: Tab) -> None:
    desk.hold("Other.md", "wanted\n")
    (desk.root / "Other.md").write_text("changed by hand\n")
    desk.refresh()
    look(tab, 1)
    shown = tab.texts(".vaultwire-added .vaultwire-text")
    assert [text.removeprefix("Added: ") for text in shown] == ["changed by hand", "wanted"]
    tab.shoot("plugin-real-stale")
    tab.press("a")
    tab.wait_for(f"{SAID} !== ''")
    assert desk.read("Other.md") == b"changed by hand\n"
    tab.press("x")
    said(tab, "Refused proposal 1")


def test_a_change_that_a_later_one_builds_on_says_which(desk: Desk, tab: Tab) -> None:
    first = desk.edit("Plan.md", TWO_HUNKS)
    later = desk.edit("Plan.md", TWO_HUNKS.replace("LINE 3\n", "LINE THREE\n"))
    desk.refresh()
    look(tab, 2)
    tab.press("j")
    tab.wait_for(f"document.querySelector('article[data-id={first}] section')")
    assert any(later in text for text in tab.texts(f"article[data-id={first}] .vaultwire-told"))


def test_the_diff_of_an_editor_is_accepted_as_edited_and_its_client_writes_it(desk: Desk, tab: Tab) -> None:
    desk.propose("Plan.md", NOTE, TWO_HUNKS, "✻ [Claude Code] Plan.md ⧉")
    look(tab, 1)
    assert len(tab.texts(".vaultwire-hunk")) == 2
    tab.press("e")
    tab.wait_for("document.activeElement.tagName === 'TEXTAREA'")
    tab.press("Control+Home")
    tab.type("Mine\n")
    tab.click("button", "Show the difference")
    tab.click("footer button", "Accept as edited")
    desk.wait_for(lambda: desk.decisions == ["Mine\n" + TWO_HUNKS])
    assert desk.read("Plan.md") == NOTE.encode()


def test_the_diff_of_an_editor_is_refused_and_one_that_its_client_withdraws_goes(desk: Desk, tab: Tab) -> None:
    desk.propose("Plan.md", NOTE, TWO_HUNKS)
    look(tab, 1)
    tab.press("x")
    desk.wait_for(lambda: desk.decisions == [None])
    desk.propose("Other.md", "other\n", "wanted\n")
    tab.wait_for("document.querySelector('.status-bar-item').textContent === 'Vaultwire: 1 waits'")
    desk.proposals.withdraw(desk)
    tab.wait_for("document.querySelector('.status-bar-item').textContent !== 'Vaultwire: 1 waits'")
