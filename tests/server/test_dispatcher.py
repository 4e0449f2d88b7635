"""The dispatcher over an in-memory stream: cancellation, order, crashes, progress, logging and the end of a connection."""

from __future__ import annotations

from typing import Any

import pytest

from support.connection import Peer
from support.toolsets import Stage
from support.wire import HANDSHAKE_REVISIONS, STATELESS_REVISION, envelope
from vaultwire.vault.vault import Vault

# ---------------------------------------------------------------------- cancellation


def test_a_cancelled_call_is_stopped_and_never_answered(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        cancelled = peer.post_call("wait", gate="a")
        stage.gate("a").wait_for_arrival()
        peer.cancel(cancelled)
        assert stage.stopped.wait(30)
        assert peer.call("echo", text="still here")["content"][0]["text"] == "still here"
        assert peer.finish() == []


def test_a_cancelled_call_that_hears_nothing_is_not_answered_when_it_ends(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        cancelled = peer.post_call("hang", gate="a")
        stage.gate("a").wait_for_arrival()
        peer.cancel(cancelled)
        assert peer.request("ping")["result"] == {}  # by now the cancellation has been read
        stage.gate("a").released.set()
        assert peer.finish() == []


def test_a_call_cancelled_while_it_waits_for_its_turn_does_not_run(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        first = peer.post_call("change", name="first", gate="a")
        stage.gate("a").wait_for_arrival()
        second = peer.post_call("change", name="second")
        third = peer.post_call("change", name="third")
        peer.cancel(second)
        assert peer.request("ping")["result"] == {}
        stage.gate("a").released.set()
        assert [message["id"] for message in peer.finish()] == [first, third]
        assert stage.order == ["first", "third"]


def test_the_id_of_a_cancelled_call_can_be_used_again_while_the_call_still_runs(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        first = {"jsonrpc": "2.0", "id": "x", "method": "tools/call"}
        peer.send({**first, "params": {"name": "hang", "arguments": {"gate": "a"}}})
        stage.gate("a").wait_for_arrival()
        peer.notify("notifications/cancelled", requestId="x")
        peer.send({**first, "params": {"name": "echo", "arguments": {"text": "second"}}})
        answer = peer.receive()
        assert (answer["id"], answer["result"]["content"][0]["text"]) == ("x", "second")
        stage.gate("a").released.set()
        assert peer.finish() == []


# ---------------------------------------------------------------------- order


def test_calls_that_change_the_vault_run_one_by_one_in_the_order_they_came(stage: Stage, vault: Vault) -> None:
    names = [f"change {number}" for number in range(30)]
    with Peer(stage, vault) as peer:
        ids = [peer.post_call("change", name=names[0], gate="a")]
        stage.gate("a").wait_for_arrival()
        ids += [peer.post_call("change", name=name) for name in names[1:]]
        stage.gate("a").released.set()
        assert [peer.receive()["id"] for _ in ids] == ids
        assert stage.order == names


def test_reading_calls_overtake_a_change_and_each_other(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        change = peer.post_call("change", name="slow", gate="change")
        waits = [peer.post_call("wait", gate=f"wait {number}") for number in range(3)]
        for name in ("change", "wait 0", "wait 1", "wait 2"):
            stage.gate(name).wait_for_arrival()  # all four at once
        assert peer.call("echo")["isError"] is False
        for number in (2, 0, 1):
            stage.gate(f"wait {number}").released.set()
            assert peer.receive()["id"] == waits[number]
        stage.gate("change").released.set()
        assert peer.receive()["id"] == change


def test_a_call_that_takes_long_among_quick_ones_holds_up_nobody(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        for turn in range(20):
            for _ in range(turn % 4):
                assert peer.call("echo")["isError"] is False
            slow = peer.post_call("hang", gate=f"{turn}")
            stage.gate(f"{turn}").wait_for_arrival()
            cancelled = peer.post_call("wait", gate=f"{turn}, too")
            stage.gate(f"{turn}, too").wait_for_arrival()
            peer.cancel(cancelled)
            assert peer.request("ping")["result"] == {}
            stage.gate(f"{turn}").released.set()
            assert peer.receive()["id"] == slow
        assert peer.finish() == []


def test_more_calls_than_workers_are_all_answered(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        ids = [peer.post_call("wait", gate="a") for _ in range(20)]
        stage.gate("a").wait_for_arrival()
        stage.gate("a").released.set()
        assert sorted(peer.receive()["id"] for _ in ids) == ids


# ---------------------------------------------------------------------- crashes


def test_a_crash_is_a_traceback_on_stderr_and_no_more_than_a_code_on_the_wire(
    stage: Stage, vault: Vault, capsys: pytest.CaptureFixture[str]
) -> None:
    with Peer(stage, vault) as peer:
        result = peer.call("crash")
        assert result["isError"] is True
        assert result["_meta"]["errorCode"] == "INTERNAL"
        assert result["content"] == [
            {"type": "text", "text": "INTERNAL: crash failed inside the server; the server's log says more."}
        ]
        assert peer.call("echo")["isError"] is False
    log = capsys.readouterr().err
    assert log.startswith("vaultwire: crash crashed\nTraceback")
    assert log.rstrip().endswith("RuntimeError: the secret reason")


def test_a_result_that_json_cannot_hold_is_a_crash_like_any_other(
    stage: Stage, vault: Vault, capsys: pytest.CaptureFixture[str]
) -> None:
    with Peer(stage, vault) as peer:
        assert peer.call("babble")["_meta"]["errorCode"] == "INTERNAL"
        assert peer.call("echo")["isError"] is False
    assert "TypeError" in capsys.readouterr().err


def test_a_crash_in_a_batch_leaves_its_neighbours_alone(
    stage: Stage, vault: Vault, capsys: pytest.CaptureFixture[str]
) -> None:
    with Peer(stage, vault, "2025-03-26") as peer:
        calls = [
            {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name}}
            for name in ("babble", "echo")
        ]
        peer.send(calls)
        answers = {answer["id"]: answer["result"] for answer in peer.receive()}
        assert answers["babble"]["_meta"]["errorCode"] == "INTERNAL"
        assert answers["echo"]["isError"] is False
    assert "TypeError" in capsys.readouterr().err


def test_a_handler_that_crashes_is_an_internal_error(
    stage: Stage, vault: Vault, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = Peer(stage, vault)
    no_methods: dict[str, Any] = {}
    # No method of ours crashes by itself, so one is put in their place.
    peer.handlers._table["tools/list"] = lambda request, dialect: no_methods["missing"]
    with peer:
        error = peer.request("tools/list")["error"]
        assert (error["code"], error["data"]) == (-32603, {"errorCode": "INTERNAL"})
        assert "missing" not in error["message"]
    assert "KeyError: 'missing'" in capsys.readouterr().err


# ---------------------------------------------------------------------- progress and logging


@pytest.mark.parametrize("revision", [*HANDSHAKE_REVISIONS, STATELESS_REVISION])
def test_progress_reaches_who_asked_for_it_and_only_grows(stage: Stage, vault: Vault, revision: str) -> None:
    with Peer(stage, vault, revision) as peer:
        request_id = peer.post_call("count", {"progressToken": "t"})
        messages = [peer.receive() for _ in range(4)]
        assert [message.get("method") for message in messages[:3]] == ["notifications/progress"] * 3
        assert [message["params"]["progress"] for message in messages[:3]] == [0, 1, 2]
        assert {message["params"]["progressToken"] for message in messages[:3]} == {"t"}
        assert ("message" in messages[0]["params"]) is (revision != "2024-11-05")
        assert messages[3]["id"] == request_id
        peer.post_call("count")
        assert "result" in peer.receive()


def test_a_cancelled_call_reports_no_more_progress(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        cancelled = peer.post_call("count", {"progressToken": 1}, gate="a")
        assert [peer.receive()["params"]["progress"] for _ in range(3)] == [0, 1, 2]
        stage.gate("a").wait_for_arrival()
        peer.cancel(cancelled)
        assert peer.request("ping")["result"] == {}
        stage.gate("a").released.set()
        assert peer.finish() == []


def test_a_client_that_set_a_level_is_told_how_calls_went_before_their_answers(
    stage: Stage, vault: Vault, capsys: pytest.CaptureFixture[str]
) -> None:
    with Peer(stage, vault) as peer:
        assert peer.request("logging/setLevel", {"level": "warning"})["result"] == {}
        assert peer.call("echo")["isError"] is False
        failed = peer.post_call("crash")
        log = peer.receive()
        assert log["method"] == "notifications/message"
        assert log["params"] == {
            "level": "warning",
            "logger": "vaultwire.tools",
            "data": {"tool": "crash", "failed": True},
        }
        assert peer.receive()["id"] == failed
    assert "secret" in capsys.readouterr().err


def test_in_2026_07_28_only_the_request_that_asks_is_logged(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault, STATELESS_REVISION) as peer:
        asked = peer.post_call("echo", {"io.modelcontextprotocol/logLevel": "debug"})
        assert peer.receive()["params"]["level"] == "debug"
        assert peer.receive()["id"] == asked
        assert peer.call("echo")["resultType"] == "complete"


# ---------------------------------------------------------------------- the end, and odd frames


def test_the_end_of_input_lets_calls_in_flight_finish(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        ids = [peer.post_call("wait", gate="a"), peer.post_call("change", name="c", gate="a"), peer.post_call("echo")]
        peer.end()
        assert peer.receive()["id"] == ids[2]
        assert peer.session.in_flight == 2
        stage.gate("a").released.set()
        peer.join()
        assert sorted(message["id"] for message in peer.rest()) == ids[:2]


def test_exit_ends_the_connection_as_the_end_of_input_does(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        call = peer.post_call("wait", gate="a")
        peer.notify("exit")
        peer.post("ping")  # comes too late
        stage.gate("a").wait_for_arrival()
        stage.gate("a").released.set()
        peer.join()
        assert [message["id"] for message in peer.rest()] == [call]


def test_exit_in_a_batch_leaves_no_request_of_the_batch_without_answer(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault, "2025-03-26") as peer:
        ping = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
        call = {"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": {"name": "echo"}}
        peer.send([ping, {"jsonrpc": "2.0", "method": "exit"}, call])
        peer.join()
        (batch,) = peer.rest()
        assert {answer["id"] for answer in batch} == {"ping", "call"}


def test_an_oversized_frame_is_refused_and_the_next_one_served(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        peer.send_too_much(1000)
        refusal = peer.receive()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
        assert "1000 bytes" in refusal["error"]["message"]
        assert peer.call("echo")["isError"] is False


def test_what_would_delay_the_first_answer_starts_after_it_and_ends_before_the_connection(
    stage: Stage, vault: Vault
) -> None:
    with Peer(stage, vault, None) as peer:
        peer.notify("notifications/nonsense")
        peer.send({"jsonrpc": "2.0", "id": 1, "result": {}})
        assert not peer.warmed_up.is_set()
        assert "error" in peer.request("tools/list")
        assert peer.warmed_up.wait(30)


def test_both_eras_are_served_side_by_side(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault, "2025-11-25") as peer:
        old = peer.post_call("wait", gate="a")
        new = peer.post_call("wait", envelope(), gate="b")
        stage.gate("b").released.set()
        answer = peer.receive()
        assert (answer["id"], answer["result"]["resultType"]) == (new, "complete")
        stage.gate("a").released.set()
        answer = peer.receive()
        assert answer["id"] == old
        assert "resultType" not in answer["result"]
