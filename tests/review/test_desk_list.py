"""The list of the desk folds, counts and filters; a deletion and a rename say what becomes of links."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vaults import open_vault, write_vault
from vaultwire.review import Reviewer
from vaultwire.review.rendering import Tree, mark_changes, to_tree
from vaultwire.trust.policy_rules import ReviewRule, ReviewRules
from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.review_mode import Held
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

VAULT = """
=== Day.md
day
=== Old.md
# Old
its text
=== Index.md
- [[Old]] and [[Day]]
- [[Old#Old|again]]
"""


class Desk:
    """A vault, an agent and the person."""

    def __init__(self, folder: Path) -> None:
        self.root = write_vault(folder / "vault", VAULT)
        self.vault = open_vault(self.root, state=folder / "state")
        person = Caller("you")
        person.is_person = True
        self.reviewer = Reviewer(self.vault.used_by(person, "desk"))
        self.agent = Caller("claude")

    @property
    def used(self) -> Vault:
        return self.vault.used_by(self.agent, "edit_note")

    def append(self, path: str, times: int = 1) -> None:
        for _ in range(times):
            self.used.writing.write(path, "more\n", "append")

    def hold_all(self) -> None:
        self.vault._bench.review = ReviewRules([ReviewRule("hold")])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_changes_that_did_the_same_are_one_row_and_nothing_is_left_out(desk: Desk) -> None:
    desk.append("Day", 7)
    desk.append("Old")
    desk.append("Day", 4)
    desk.reviewer.decide("c12", "undo")
    page = desk.reviewer.items(folds=True)
    rows = [[item["id"], *(each for each, _ in item["same"])] for item in page["items"]]
    week = [f"c{number}" for number in range(7, 0, -1)]
    assert rows == [["c13"], ["c12"], ["c11", "c10", "c9"], ["c8"], week]
    assert (page["total"], page["has_more"]) == (13, False)
    first = desk.reviewer.items(folds=True, limit=3)
    assert first["has_more"]
    rest = desk.reviewer.items(folds=True, before="c9")
    assert [item["id"] for item in first["items"] + rest["items"]] == [row[0] for row in rows]
    assert len(desk.reviewer.items()["items"]) == 13


def test_what_waits_has_a_filter_of_its_own_and_is_never_folded(desk: Desk) -> None:
    desk.append("Day", 2)
    desk.hold_all()
    for _ in range(3):
        with pytest.raises(Held):
            desk.append("Day")
    with pytest.raises(Held):
        desk.used.writing.write("Old.md", "new\n", "overwrite")
    (desk.root / "Old.md").write_text("by hand\n")
    page = desk.reviewer.items(folds=True, state="open")
    assert [(item["id"], item["state"]) for item in page["items"]] == [
        ("p4", "stale"), ("p3", "waiting"), ("p2", "waiting"), ("p1", "waiting"),
    ]  # fmt: skip
    assert (page["total"], page["open"]) == (4, 4)
    assert desk.reviewer.items(folds=True)["open"] == 4


@pytest.mark.parametrize("permanent", [True, False])
def test_a_deletion_shows_its_text_and_the_links_that_will_lead_nowhere(desk: Desk, permanent: bool) -> None:
    desk.hold_all()
    with pytest.raises(Held):
        desk.used.writing.delete("Old.md", permanent=permanent)
    (file,) = desk.reviewer.item("p1")["files"]
    assert (file["action"], file["path"], file["removed"]) == ("remove", "Old.md", 2)
    assert file["lost_links"] == [{"path": "Index.md", "line": 1}, {"path": "Index.md", "line": 2}]
    desk.reviewer.decide("p1", "accept")
    assert "its text" in str(desk.reviewer.item("p1")["files"][0]["hunks"])


def test_a_rename_whose_link_was_reworded_is_taken_back_by_a_move(desk: Desk) -> None:
    desk.used.arranging.move("Old.md", "Archive/New.md", NO_PROGRESS, dry_run=False)
    index = desk.root / "Index.md"
    index.write_text(index.read_text().replace("- [[New]] and", "- First [[New|the new one]] and"))
    shown = desk.reviewer.item("c1")
    assert (shown["can_undo"], shown["way_back"]) == (False, "Old.md")
    desk.reviewer.decide("c1", "move_back", dry_run=True)
    assert not (desk.root / "Old.md").exists()
    done = desk.reviewer.decide("c1", "move_back")
    assert index.read_text() == "- First [[Old|the new one]] and [[Day]]\n- [[Old#Old|again]]\n"
    assert (desk.root / "Old.md").exists()
    assert "The person undid change 1" in desk.vault.holding.decisions.all()[-1].text
    with pytest.raises(VaultError, match="no name to move back to"):
        desk.reviewer.decide("c1", "move_back")
    desk.reviewer.decide(f"c{done['change']}", "undo")
    assert (desk.root / "Archive/New.md").exists()


def _text(nodes: Tree, cls: str | None = None) -> str:
    """Return the text of a tree, or of its spans of a class."""
    found = []
    for node in nodes:
        if isinstance(node, str):
            found.append(node if cls is None else "")
        else:
            found.append(_text(node[2], None if node[1].get("class") == cls else cls))
    return "".join(found)


WORDS = [
    "**bold**",
    "[[Link]]",
    "a",
    "the,",
    "-",
    "*",
    "#",
    ">",
    "|",
    "`code`",
    "1",
    "ü",
    "漢字",
    "==mark==",
    "\n",
    "\n\n",
]


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.randoms(use_true_random=False))
def test_marked_words_are_those_that_only_one_side_has(words: list[str], draw: random.Random) -> None:
    other = [word for word in words if draw.random() > 0.3] + ["zebra"] * draw.randrange(2)
    old, new = to_tree(" ".join(words)), to_tree(" ".join(other))
    marked_old, marked_new = mark_changes(old, new)
    assert (_text(marked_old), _text(marked_new)) == (_text(old), _text(new))
    assert ("zebra" in _text(marked_new, "changed")) == ("zebra" in other)
    if words == other:
        assert (marked_old, marked_new) == (old, new)
