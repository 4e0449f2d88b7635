"""A person's agreement: what becomes of a change while they think, if they do not answer, and what a model hears then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.asking import AskingStage
from support.connection import Peer
from support.schemas import hold_to
from vaultwire.server import call_runner, workers
from vaultwire.toolkit.catalog import APP_CATALOG, load_catalog
from vaultwire.vault.vault import Vault

CAN_ASK: dict[str, Any] = {"elicitation": {}}
CHANGING = [each for each in [*load_catalog(), *load_catalog(APP_CATALOG)] if not each["annotations"]["readOnlyHint"]]


@pytest.fixture
def stage() -> Iterator[AskingStage]:
    made = AskingStage()
    yield made
    made.open_all()


def opened(peer: Peer) -> Peer:
    peer.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": CAN_ASK})
    return peer


def test_no_answer_within_the_time_changes_nothing(
    stage: AskingStage, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "ASKING_SECONDS", 0.05)
    with Peer(stage, vault, None) as peer:
        call = opened(peer).post_call("change_if_agreed", name="a")
        question = peer.receive()
        answer = peer.receive()
        assert (answer["id"], answer["result"]["isError"]) == (call, False)
        assert "no answer came back. Nothing was changed." in answer["result"]["content"][0]["text"]
        peer.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})  # too late
        assert peer.request("ping")["result"] == {}
    assert stage.order == []


@pytest.mark.parametrize("said", [{"error": {"code": -1, "message": "no"}}, {"result": {}}, {"result": {"action": 5}}])
def test_an_answer_that_is_none_changes_nothing(stage: AskingStage, vault: Vault, said: dict[str, Any]) -> None:
    with Peer(stage, vault, None) as peer:
        opened(peer).post_call("change_if_agreed", name="a")
        peer.send({"jsonrpc": "2.0", "id": peer.receive()["id"], **said})
        assert "Nothing was changed." in peer.receive()["result"]["content"][0]["text"]
    assert stage.order == []


def test_an_action_nobody_knows_is_no_agreement(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None) as peer:
        opened(peer).post_call("change_if_agreed", name="a")
        peer.send({"jsonrpc": "2.0", "id": peer.receive()["id"], "result": {"action": "perhaps"}})
        assert "Nothing was changed." in peer.receive()["result"]["content"][0]["text"]
    assert stage.order == []


def test_a_call_cancelled_while_the_person_thinks_changes_nothing(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None) as peer:
        call = opened(peer).post_call("change_if_agreed", name="a")
        question = peer.receive()["id"]
        peer.cancel(call)
        peer.send({"jsonrpc": "2.0", "id": question, "result": {"action": "accept"}})
        assert peer.call("echo", text="on")["content"][0]["text"] == "on"
        assert peer.finish() == []
    assert stage.order == []


def test_other_changes_go_on_while_the_person_thinks(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None) as peer:
        first = opened(peer).post_call("change_if_agreed", name="asked")
        question = peer.receive()["id"]
        for name in ("b", "c"):
            assert peer.call("change", name=name)["isError"] is False
        peer.send({"jsonrpc": "2.0", "id": question, "result": {"action": "accept"}})
        assert peer.receive()["id"] == first
        assert peer.call("change", name="d")["isError"] is False
    assert stage.order == ["b", "c", "asked", "d"]


@pytest.mark.parametrize("description", CHANGING, ids=lambda each: str(each["name"]))
def test_that_nothing_was_done_is_what_every_tool_may_answer(description: dict[str, Any]) -> None:
    outcome = call_runner._nothing_done("Nothing was changed.", description, {"path": "Note.md"})
    hold_to(outcome.data, description["outputSchema"])
    assert outcome.data.get("changed", False) is False
