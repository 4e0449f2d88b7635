"""Tools that ask their client: while it waits (handshake era), and with the result (2026-07-28)."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from support.asking import CAN_ALL, AskingStage
from support.connection import Peer
from support.wire import STATELESS_REVISION
from vaultwire.server import call_runner
from vaultwire.vault.vault import Vault

ROOTS = {"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


@pytest.fixture
def stage() -> Iterator[AskingStage]:
    made = AskingStage()
    yield made
    made.open_all()


def opened(peer: Peer, capabilities: dict[str, Any]) -> Peer:
    peer.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities})
    return peer


def text_of(answer: Any) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


# ---------------------------------------------------------------------- while the client waits


def test_a_tool_asks_the_client_and_gets_its_answer(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None) as peer:
        call = opened(peer, CAN_ALL).post_call("ask_twice")
        form = peer.receive()
        assert (form["method"], form["params"]["message"]) == ("elicitation/create", "Sure?")
        peer.send({"jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept"}})
        roots = peer.receive()
        assert roots["id"] != form["id"]
        peer.send({"jsonrpc": "2.0", "id": roots["id"], "result": ROOTS})
        answer = peer.receive()
        assert (answer["id"], text_of(answer)) == (call, "accept, 2 roots")


def test_other_calls_are_answered_while_many_tools_wait_for_the_client(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None) as peer:
        calls = [opened(peer, CAN_ALL).post_call("ask")]
        calls += [peer.post_call("ask") for _ in range(11)]
        questions = [peer.receive()["id"] for _ in calls]
        assert peer.call("echo", text="still here")["content"][0]["text"] == "still here"
        for question in questions:
            peer.send({"jsonrpc": "2.0", "id": question, "result": ROOTS})
        assert sorted(peer.receive()["id"] for _ in calls) == calls


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"error": {"code": -1, "message": "the person said no"}}, "the person said no"),
        ({"result": {}}, "no answer to roots/list"),
        ({"result": {"roots": "none"}}, "no answer to roots/list"),
    ],
)
def test_a_client_that_refuses_makes_the_tool_fail_with_its_reason(
    stage: AskingStage, vault: Vault, said: dict[str, Any], told: str
) -> None:
    with Peer(stage, vault, None) as peer:
        opened(peer, CAN_ALL).post_call("ask")
        peer.send({"jsonrpc": "2.0", "id": peer.receive()["id"], **said})
        result = peer.receive()["result"]
        assert (result["isError"], result["_meta"]["errorCode"]) == (True, "CLIENT_REFUSED")
        assert told in result["content"][0]["text"]


def test_a_client_is_not_asked_what_it_did_not_say_it_can_do(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None) as peer:
        result = opened(peer, {"elicitation": {}}).call("ask")
        assert (result["isError"], result["_meta"]["errorCode"]) == (True, "CLIENT_CANNOT")
        assert "roots" in result["content"][0]["text"]


def test_a_call_cancelled_while_it_asks_is_stopped_and_never_answered(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None) as peer:
        call = opened(peer, CAN_ALL).post_call("ask")
        question = peer.receive()["id"]
        peer.cancel(call)
        peer.send({"jsonrpc": "2.0", "id": question, "result": ROOTS})
        assert peer.call("echo", text="on")["content"][0]["text"] == "on"
        assert peer.finish() == []


def test_a_client_that_leaves_while_it_is_asked_holds_nothing_up(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None) as peer:
        call = opened(peer, CAN_ALL).post_call("ask")
        peer.receive()
        (answer,) = peer.finish()
        assert (answer["id"], answer["result"]["_meta"]["errorCode"]) == (call, "CLIENT_REFUSED")


def test_a_person_may_think_longer_than_the_call_may_take(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None, file_seconds=1) as peer:
        opened(peer, CAN_ALL).post_call("ask_soon")
        question = peer.receive()["id"]
        late = peer.call("wait_soon", gate="never")
        assert late["_meta"]["errorCode"] == "TIMEOUT"  # by now the time of the other call would be up too
        peer.send({"jsonrpc": "2.0", "id": question, "result": ROOTS})
        assert text_of(peer.receive()) == "2 roots"


def test_an_answer_nobody_asked_for_is_passed_over(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None) as peer:
        opened(peer, CAN_ALL)
        for id_ in ("vaultwire-1", 7, None, ["x"]):
            peer.send({"jsonrpc": "2.0", "id": id_, "result": ROOTS})
        assert peer.request("ping")["result"] == {}


# ---------------------------------------------------------------------- with the result


def ask(peer: Peer, tool: str, can: dict[str, Any] | None = None, **params: Any) -> Any:
    meta = {CAPABILITIES: CAN_ALL if can is None else can}
    return peer.request("tools/call", {"name": tool, "arguments": {}, "_meta": meta, **params})


def test_a_stateless_tool_asks_in_rounds(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        first = ask(peer, "ask_twice")["result"]
        assert first["resultType"] == "input_required"
        assert first["inputRequests"]["sure"]["method"] == "elicitation/create"
        assert "content" not in first
        state = first["requestState"]
        second = ask(peer, "ask_twice", inputResponses={"sure": {"action": "decline"}}, requestState=state)["result"]
        assert list(second["inputRequests"]) == ["roots"]
        assert second["requestState"] != state
        state = second["requestState"]
        third = ask(peer, "ask_twice", inputResponses={"roots": ROOTS, "other": 1}, requestState=state)
        assert third["result"]["resultType"] == "complete"
        assert text_of(third) == "decline, 2 roots"


@pytest.mark.parametrize("given", [{}, {"wrong": ROOTS}, {"roots": 5}, {"roots": {}}, {"roots": {"roots": None}}])
def test_answers_that_are_missing_or_make_no_sense_are_asked_for_again(
    stage: AskingStage, vault: Vault, given: dict[str, Any]
) -> None:
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        state = ask(peer, "ask")["result"]["requestState"]
        again = ask(peer, "ask", inputResponses=given, requestState=state)["result"]
        assert list(again["inputRequests"]) == ["roots"]


def turned(state: str) -> str:
    """Return the state with one bit of its last byte turned."""
    raw = bytearray(base64.urlsafe_b64decode(state))
    raw[-1] ^= 1
    return base64.urlsafe_b64encode(raw).decode()


@pytest.mark.parametrize("spoil", [turned, lambda state: state + "x", lambda _: "", lambda _: 5, lambda _: "AAAA"])
def test_a_state_that_is_not_ours_is_refused(stage: AskingStage, vault: Vault, spoil: Any) -> None:
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        state = ask(peer, "ask")["result"]["requestState"]
        error = ask(peer, "ask", inputResponses={"roots": ROOTS}, requestState=spoil(state))["error"]
        assert (error["code"], error["data"]["errorCode"]) == (-32602, "INVALID_ARGUMENTS")


def test_a_state_is_good_for_its_own_request_only(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        state = ask(peer, "ask")["result"]["requestState"]
        good = {"inputResponses": {"roots": ROOTS}, "requestState": state}
        assert ask(peer, "ask_soon", **good)["error"]["code"] == -32602
        assert ask(peer, "ask", **{**good, "arguments": {"text": "x"}})["error"]["code"] == -32602
        assert text_of(ask(peer, "ask", **good)) == "2 roots"


def test_a_state_is_good_once(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        first = ask(peer, "ask_twice")["result"]["requestState"]
        sure = {"inputResponses": {"sure": {"action": "accept"}}, "requestState": first}
        second = ask(peer, "ask_twice", **sure)["result"]["requestState"]
        done = {"inputResponses": {"roots": ROOTS}, "requestState": second}
        assert text_of(ask(peer, "ask_twice", **done)) == "accept, 2 roots"
        for used in (sure, done):
            error = ask(peer, "ask_twice", **used)["error"]
            assert (error["code"], error["data"]["errorCode"]) == (-32602, "INVALID_ARGUMENTS")
            assert "used already" in error["message"]


def test_a_state_whose_answers_were_missing_is_used_too_and_the_new_one_is_good(
    stage: AskingStage, vault: Vault
) -> None:
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        old = ask(peer, "ask")["result"]["requestState"]
        new = ask(peer, "ask", inputResponses={}, requestState=old)["result"]["requestState"]
        assert ask(peer, "ask", inputResponses={"roots": ROOTS}, requestState=old)["error"]["code"] == -32602
        assert text_of(ask(peer, "ask", inputResponses={"roots": ROOTS}, requestState=new)) == "2 roots"


def test_so_many_rounds_are_open_and_the_oldest_is_forgotten_first(
    stage: AskingStage, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_runner, "_open", call_runner._Open())
    monkeypatch.setattr(call_runner, "_MOST_OPEN", 3)
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        states = [ask(peer, "ask")["result"]["requestState"] for _ in range(4)]
        answers = [ask(peer, "ask", inputResponses={"roots": ROOTS}, requestState=state) for state in states]
        assert ["error" in answer for answer in answers] == [True, False, False, False]


def test_rounds_nobody_goes_on_with_are_not_kept(
    stage: AskingStage, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = call_runner._Open()
    monkeypatch.setattr(call_runner, "_open", kept)
    monkeypatch.setattr(call_runner, "_STATE_SECONDS", -10)
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        for _ in range(10):
            ask(peer, "ask")
    assert len(kept._until) == 1


def test_a_state_does_not_live_for_ever(stage: AskingStage, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_runner, "_STATE_SECONDS", -1)
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        state = ask(peer, "ask")["result"]["requestState"]
        error = ask(peer, "ask", inputResponses={"roots": ROOTS}, requestState=state)["error"]
        assert error["code"] == -32602
        assert "too old" in error["message"]


def test_a_stateless_client_that_cannot_is_told_which_capability_is_missing(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        error = ask(peer, "ask", can={"elicitation": {}})["error"]
        assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"roots": {}}})
