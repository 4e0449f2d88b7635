"""What a session is told of the person's decisions has nothing of a note that it may not see, or may not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.review import Reviewer
from vaultwire.trust.policy_file import load_policy
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.holding.sessions import expect_news, news_for
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault

POLICY = '[paths]\ndeny = ["Secret/"]\n[private]\nproperties = ["private"]\n'
PLAN = VaultPath("Plan.md")
BEFORE = b"".join(b"line %d\n" % number for number in range(12))
AFTER = BEFORE.replace(b"line 3", b"agent 3").replace(b"line 9", b"agent 9")


class Desk:
    """A vault whose policy hides notes from the agent, and the person who sees all of it."""

    def __init__(self, folder: Path) -> None:
        self.root = write_vault(folder / "vault", "=== Other.md\nother\n")
        (self.root / PLAN).write_bytes(BEFORE)
        (folder / "policy.toml").write_text(POLICY)
        rules = load_policy(str(folder / "policy.toml"), ()).paths
        self.agent = Caller("claude")
        self.theirs: Vault = open_vault(self.root, state=folder / "state", rules=rules).used_by(self.agent, "edit_note")
        person = Caller("you")
        person.is_person = True
        self.mine: Vault = open_vault(self.root, state=folder / "state").used_by(person, "desk")
        self.reviewer = Reviewer(self.mine)
        self.author = Author("claude", "edit_note", self.agent.session)
        expect_news(self.agent, self.theirs.holding)

    def news(self) -> str:
        return news_for(self.agent, self.theirs.holding)

    def edit(self) -> str:
        bench = self.theirs._bench
        with bench.locked(NO_PROGRESS):
            return f"c{bench.changes.execute([Write(PLAN, BEFORE, AFTER)], self.author).id}"

    def hold(self) -> str:
        return f"p{self.theirs.holding.hold('write', self.author, [Write(PLAN, BEFORE, AFTER)]).id}"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_note_that_the_person_made_private_is_not_quoted(desk: Desk) -> None:
    change = desk.edit()
    (desk.root / PLAN).write_bytes(b"---\nprivate: true\n---\n" + AFTER.replace(b"line 1\n", b"my diary\n"))
    desk.reviewer.decide(change, "undo", file=0, hunk=0)
    news = desk.news()
    assert "diary" not in news
    assert PLAN not in news
    assert f"The person undid a part of change {change[1:]}." in news


def test_a_note_that_is_hidden_later_is_not_quoted(desk: Desk) -> None:
    change = desk.edit()
    (desk.root / PLAN).write_bytes(AFTER.replace(b"line 1\n", b"my diary\n"))
    desk.reviewer.decide(change, "undo", file=0, hunk=0)
    (desk.root / PLAN).write_bytes(b"---\nprivate: true\n---\n" + (desk.root / PLAN).read_bytes())
    assert "diary" not in desk.news()


def test_an_edited_proposal_that_became_private_is_not_quoted(desk: Desk) -> None:
    proposal = desk.hold()
    desk.reviewer.decide(proposal, "accept", edited={"0": "---\nprivate: true\n---\nmy diary\n"})
    news = desk.news()
    assert "diary" not in news
    assert f"The person accepted proposal {proposal[1:]} with edits of their own." in news


@pytest.mark.parametrize("way", ["undo", "edit"])
def test_a_client_that_may_not_read_notes_gets_no_lines_of_them(desk: Desk, way: str) -> None:
    desk.agent.may_read_notes = False
    if way == "undo":
        change = desk.edit()
        (desk.root / PLAN).write_bytes(AFTER.replace(b"line 1\n", b"my diary\n"))
        desk.reviewer.decide(change, "undo", file=0, hunk=0)
    else:
        desk.reviewer.decide(desk.hold(), "accept", edited={"0": "my diary\n"})
    assert "diary" not in desk.news()


def test_what_may_be_seen_is_told_with_its_lines(desk: Desk) -> None:
    change = desk.edit()
    desk.reviewer.decide(change, "undo", file=0, hunk=0)
    assert "agent 3" in desk.news()
    desk.reviewer.decide(desk.reviewer.items()["items"][0]["id"], "undo")
    proposal = desk.theirs.holding.hold("write", desk.author, [Write(PLAN, AFTER, BEFORE)])
    desk.reviewer.decide(f"p{proposal.id}", "refuse", reason="not now")
    news = desk.news()
    assert PLAN in news
    assert "not now" in news
