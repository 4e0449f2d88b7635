"""Edits of one note that follow each other quickly: one write to the disk, seen at once by their client, never lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_rules import ReviewRule, ReviewRules
from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import STALE_EDIT, VaultError
from vaultwire.vault.holding.delayed_writes import DelayedWrites
from vaultwire.vault.holding.review_mode import Held
from vaultwire.vault.holding.sessions import news_for
from vaultwire.vault.plans.targeted_edits import Edit
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

NOTES = "=== Plan.md\n---\ntags: [a]\n---\n# Plan\n\none\n\n## Log\n\n- begun\n=== Other.md\nother\n"


@contextmanager
def running(delayed: DelayedWrites, quiet_seconds: float) -> Iterator[None]:
    """Keep writes back, as a server does from its start to its end."""
    begun, ended = threading.Event(), threading.Event()
    delayed.quiet_seconds = quiet_seconds

    def watch() -> None:
        begun.set()
        ended.wait()

    thread = threading.Thread(target=delayed.run_beside, args=(watch,))
    thread.start()
    try:
        assert begun.wait(10)
        yield
    finally:
        ended.set()
        thread.join()


class Desk:
    """A vault, an agent that edits in it, and the disk."""

    def __init__(self, root: Path, vault: Vault) -> None:
        self.root = root
        self.vault = vault
        self.agent = Caller("agent")

    def append(self, line: str, path: str = "Plan.md", caller: Caller | None = None) -> list[str]:
        """Add a line at the end; return the notices."""
        used = self.vault.used_by(caller or self.agent, "write_note")
        return used.writing.write(path, line, "append", None, NO_PROGRESS).done.notices

    def read(self, path: str = "Plan.md", caller: Caller | None = None) -> str:
        return self.vault.used_by(caller or self.agent, "read_notes").read(path).text

    def on_disk(self, path: str = "Plan.md") -> str:
        return (self.root / path).read_text()

    def save(self, change: Callable[[str], str], path: str = "Plan.md") -> None:
        """Save a note as another program does."""
        (self.root / path).write_text(change(self.on_disk(path)))

    def changes(self) -> list[tuple[str, ...]]:
        return [tuple(str(file.path) for file in change.files) for change in self.vault._bench.changes.latest()]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    root = write_vault(tmp_path / "vault", NOTES)
    vault = open_vault(root, state=tmp_path / "state")
    with running(vault._bench.delayed, 60):
        yield Desk(root, vault)


def test_edits_of_a_note_are_one_write_and_one_change_at_the_end(desk: Desk) -> None:
    before = desk.on_disk()
    for number in range(5):
        assert "kept in the journal" in desk.append(f"line {number}")[-1]
        assert desk.on_disk() == before
        assert desk.read().count("line") == number + 1
    edit = Edit("append", "- more", section="Log")
    desk.vault.used_by(desk.agent, "edit_note").revising.edit("Plan", [edit], "", None, NO_PROGRESS, dry_run=False)
    assert desk.read().endswith("line 4\n- more\n")
    as_read = desk.read()
    desk.vault._bench.delayed.close()
    assert desk.on_disk() == as_read
    assert desk.changes() == [("Plan.md",)]
    assert desk.vault.holding.proposals.delayed() == []


def test_nothing_is_kept_back_without_the_setting(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", NOTES)
    desk = Desk(root, open_vault(root, state=tmp_path / "state"))
    with running(desk.vault._bench.delayed, 0):
        desk.append("line")
        assert desk.on_disk().endswith("line\n")


def test_a_note_is_written_when_it_was_quiet(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", NOTES)
    desk = Desk(root, open_vault(root, state=tmp_path / "state"))
    with running(desk.vault._bench.delayed, 0.1):
        desk.append("line")
        for _ in range(1000):
            if desk.on_disk().endswith("line\n"):
                return
            threading.Event().wait(0.02)
    pytest.fail("it was not written in twenty seconds")


@pytest.mark.parametrize("tool", ["search_notes", "list_tasks", "move_notes", "undo_changes", "vault_overview"])
def test_any_other_tool_of_the_client_finds_it_on_the_disk(desk: Desk, tool: str) -> None:
    desk.append("line")
    desk.vault.used_by(desk.agent, tool)
    assert desk.on_disk().endswith("line\n")


def test_a_move_takes_the_edit_with_it(desk: Desk) -> None:
    desk.append("see [[Other]]")
    moving = desk.vault.used_by(desk.agent, "move_notes").arranging
    moving.move("Other", "Moved/Another", NO_PROGRESS, dry_run=False)
    assert desk.on_disk().endswith("see [[Another]]\n")


def test_another_client_sees_the_disk_and_builds_on_what_was_kept_back(desk: Desk) -> None:
    other = Caller("other")
    desk.append("of the agent")
    assert "of the agent" not in desk.read(caller=other)
    desk.append("of the other", caller=other)
    assert desk.on_disk().endswith("of the agent\n")  # written first, and the other's is kept back now
    desk.vault._bench.delayed.close()
    assert desk.on_disk().endswith("of the agent\nof the other\n")


def test_what_another_program_saves_meanwhile_is_merged(desk: Desk) -> None:
    desk.append("of the agent")
    desk.save(lambda text: text.replace("one", "ONE").replace("[a]", "[a, b]"))
    assert "ONE" in desk.read()
    assert "of the agent" in desk.read()
    desk.append("second")
    desk.vault._bench.delayed.close()
    text = desk.on_disk()
    assert "ONE" in text
    assert "[a, b]" in text
    assert text.endswith("of the agent\nsecond\n")


@pytest.mark.parametrize("is_edited_again", [False, True])
def test_what_cannot_be_merged_is_offered_and_told(desk: Desk, is_edited_again: bool) -> None:
    edit = Edit("replace", "uno", text="one")
    desk.vault.used_by(desk.agent, "edit_note").revising.edit("Plan", [edit], "", None, NO_PROGRESS, dry_run=False)
    desk.save(lambda text: text.replace("one", "eins"))
    if is_edited_again:
        desk.append("more")
    desk.vault._bench.delayed.close()
    assert "eins" in desk.on_disk()
    assert "uno" not in desk.on_disk()
    (proposal,) = desk.vault.holding.waiting()
    (step,) = proposal.steps
    assert b"uno" in (step.after or b"")  # type: ignore[union-attr]  # a write
    assert f"proposal {proposal.id}" in news_for(desk.agent, desk.vault.holding)
    assert desk.on_disk().endswith("more\n") is is_edited_again


def test_a_deleted_note_does_not_come_back_by_itself(desk: Desk) -> None:
    desk.append("line")
    (desk.root / "Plan.md").unlink()
    desk.vault._bench.delayed.close()
    assert not (desk.root / "Plan.md").exists()
    assert [proposal.kind for proposal in desk.vault.holding.waiting()] == ["write"]


def test_an_etag_of_a_text_that_is_kept_back_holds(desk: Desk) -> None:
    desk.append("line")
    etag = desk.vault.used_by(desk.agent, "read_notes").read("Plan").etag
    used = desk.vault.used_by(desk.agent, "write_note").writing
    used.write("Plan", "second", "append", etag, NO_PROGRESS)
    with pytest.raises(VaultError) as stale:
        used.write("Plan", "third", "append", etag, NO_PROGRESS)
    assert stale.value.code == STALE_EDIT
    assert desk.read().endswith("line\nsecond\n")


def test_edits_that_take_each_other_back_write_nothing(desk: Desk) -> None:
    before = desk.on_disk()
    desk.append("line")
    after = desk.read()
    writing = desk.vault.used_by(desk.agent, "write_note").writing
    writing.write("Plan.md", before, "overwrite", None, NO_PROGRESS)
    assert after != desk.read() == before
    desk.vault._bench.delayed.close()
    assert desk.on_disk() == before
    assert desk.changes() == []


def test_new_notes_and_changes_of_several_are_made_at_once(desk: Desk) -> None:
    desk.append("line")
    desk.vault.used_by(desk.agent, "write_note").writing.write("New.md", "new", "create", None, NO_PROGRESS)
    assert desk.on_disk("New.md").startswith("new")
    assert desk.on_disk().endswith("line\n")


def test_what_waits_for_the_person_is_not_kept_back(desk: Desk) -> None:
    desk.append("line", "Other.md")
    desk.vault._bench.review = ReviewRules([ReviewRule("hold")])
    with pytest.raises(Held):
        desk.append("held")
    assert "held" not in desk.on_disk()
    assert desk.on_disk("Other.md").endswith("line\n")
    assert [proposal.kind for proposal in desk.vault.holding.waiting()] == ["write"]


def test_another_process_writes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", NOTES)
    killed = Desk(root, open_vault(root, state=tmp_path / "state"))
    killed.vault._bench.delayed._is_running, killed.vault._bench.delayed.quiet_seconds = True, 60
    killed.append("line")
    assert "line" not in killed.on_disk()
    after = Desk(root, open_vault(root, state=tmp_path / "state"))
    after.append("next", "Other.md")
    assert after.on_disk().endswith("line\n")
    assert after.changes() == [("Other.md",), ("Plan.md",)]


def test_a_note_that_has_changed_since_it_was_read_is_said_to_have(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", NOTES)
    desk = Desk(root, open_vault(root, state=tmp_path / "state"))
    assert desk.append("not read before") == []
    desk.read()
    assert desk.append("as read") == []
    assert desk.append("as written") == []
    desk.save(lambda text: text + "by hand\n")
    (notice,) = desk.append("on the text of now")
    assert notice == "'Plan.md' has changed since you read it. This was made on its text as it is now."
    assert desk.on_disk().endswith("as written\nby hand\non the text of now\n")
    assert desk.append("and once only") == []
