"""Writes that the policy holds: at every door, no byte of the vault changes before the person accepts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interaction.conftest import ONE_OF_EACH, Door, at
from interaction.test_confirmation import ACCEPT, CAN_ASK, DECLINE, Asked
from support.http_wire import Client
from support.vaults import open_vault, snapshot
from vaultwire.vault.holding.holding import Holding

HOLD = '[[review]]\nmode = "hold"\n'


@pytest.fixture
def policy(tmp_path: Path) -> Callable[[str], tuple[str, str]]:
    def write(text: str) -> tuple[str, str]:
        path = tmp_path / "policy.toml"
        path.write_text(text)
        return "--policy", str(path)

    return write


@pytest.fixture
def desk(tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Holding]:
    """Return what waits, as the person's own page sees it: from another process than the server's."""
    state = tmp_path / "state"
    monkeypatch.setenv("VAULTWIRE_STATE", str(state))
    return lambda: open_vault(vault, state=state).holding


def _call(client: Client, tool: str, **arguments: Any) -> Any:
    for _, message in client.said("tools/call", {"name": tool, "arguments": arguments}):
        if "result" in message:
            return message["result"]
    raise AssertionError("no answer")


def _text(result: Any) -> str:
    return "\n".join(block["text"] for block in result["content"])


def test_a_held_write_waits_and_the_agent_hears_of_the_refusal_once(
    connect: Callable[..., Client], vault: Path, policy: Callable[[str], Any], desk: Callable[[], Holding]
) -> None:
    before = snapshot(vault)
    client = connect(*policy(HOLD))
    result = _call(client, "create_note", path="New.md", content="text")
    assert not result["isError"]
    assert "This waits for the person: proposal 1" in _text(result)
    assert snapshot(vault) == before
    taken = _call(client, "create_note", path="New.md", content="other")
    assert taken["isError"]
    assert "waits as proposal 1" in _text(taken)
    assert "This text waits as proposal 1" in _text(_call(client, "read_note", path="New"))
    again = _call(client, "write_note", path="New.md", content="other", mode="overwrite")
    assert "It builds on your proposal 1." in _text(again)
    shown = _text(_call(client, "create_note", path="Dry.md", content="text", dry_run=True))
    assert "waits for the person" not in shown
    assert "2 changes of yours wait" in _text(_call(client, "pending_changes"))
    desk().refuse(1, "not like this")
    news = _text(_call(client, "read_note", path="Welcome.md"))
    assert "The person refused proposal 1" in news
    assert "not like this" in news
    assert "refused" not in _text(_call(client, "read_note", path="Welcome.md"))
    holding = desk()
    (second,) = holding.waiting()
    change = holding.accept(2, {0: b"mine\n"}, basis=holding.rebased(second).basis)
    failed = _call(client, "read_note", path="Nowhere.md")
    assert failed["isError"]
    assert "with edits of their own" in _text(failed)
    assert "+mine" in _text(failed)
    assert (vault / "New.md").read_bytes() == b"mine\n"
    listed = _text(_call(client, "pending_changes"))
    assert f"accepted with edits as change {change.id}" in listed
    assert "refused ('not like this')" in listed


def test_a_client_gives_its_own_proposal_up(
    connect: Callable[..., Client], policy: Callable[[str], Any], desk: Callable[[], Holding]
) -> None:
    client = connect(*policy(HOLD))
    _call(client, "create_note", path="New.md", content="text")
    assert "Withdrawn: 1" in _text(_call(client, "pending_changes", withdraw=[1]))
    assert [each.state for each in desk().proposals.all()] == ["withdrawn"]
    assert _call(client, "pending_changes", withdraw=[7])["isError"]


def test_an_undo_that_is_held_undoes_once_it_is_accepted(
    connect: Callable[..., Client], vault: Path, policy: Callable[[str], Any], desk: Callable[[], Holding]
) -> None:
    client = connect(*policy('[[review]]\nmode = "hold"\ntools = ["undo_changes"]\n'))
    _call(client, "create_note", path="New.md", content="text")
    assert "waits" in _text(_call(client, "undo_changes", changes=[1]))
    assert (vault / "New.md").exists()
    assert desk().accept(1).undoes == (1,)
    assert not (vault / "New.md").exists()


ASK = '[[review]]\nmode = "ask"\nfolders = ["Projects"]\n'


@at(*ONE_OF_EACH, Door("no session", "2025-11-25"))  # the last cannot be asked
@pytest.mark.parametrize("answer", [ACCEPT, DECLINE])
def test_a_person_who_can_be_asked_is_asked_and_else_it_waits(
    connect: Callable[..., Client], vault: Path, policy: Callable[[str], Any], door: Door, answer: dict[str, Any],
    desk: Callable[[], Holding],
) -> None:  # fmt: skip
    before = snapshot(vault)
    asked = Asked(connect(*policy(ASK), capabilities=CAN_ASK), answer, door)
    result = asked.call("create_note", path="Projects/New.md", content="text")
    if not asked.can_be_asked:
        assert "This waits for the person" in _text(result)
        assert snapshot(vault) == before
        return
    (question,) = asked.questions
    assert "Projects/New.md" in str(question)
    assert (snapshot(vault) == before) == (answer is DECLINE)
    assert desk().proposals.all() == []
    assert asked.call("create_note", path="Archive/New.md", content="x")
    assert (vault / "Archive/New.md").exists()
