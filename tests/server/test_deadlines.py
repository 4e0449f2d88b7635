"""Deadlines: a call past its own is answered TIMEOUT once, and neither it nor its late result holds up anything else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support.connection import Peer
from support.toolsets import Stage
from support.vaults import open_vault
from vaultwire.server.results import Refusal
from vaultwire.server.workers import Job, Task, Workers
from vaultwire.vault.vault import Vault

# Seconds; only calls that are meant to run into their deadline have it, and only where it may come before they begin.
# Elsewhere the test lets the deadline come (``Peer.time_out``) once the call is where it should be.
SOON = 0.05


def test_a_call_past_its_deadline_is_answered_once(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault, file_seconds=SOON) as peer:
        late = peer.post_call("hang", gate="a")
        answer = peer.receive()
        assert answer["id"] == late
        assert answer["result"]["isError"] is True
        assert answer["result"]["_meta"]["errorCode"] == "TIMEOUT"
        assert answer["result"]["content"][0]["text"] == (
            "TIMEOUT: hang took longer than 0.05 seconds and was stopped."
        )
        stage.gate("a").released.set()
        assert peer.call("echo")["isError"] is False
        assert peer.finish() == []


def test_it_is_told_how_far_the_call_was(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        late = peer.post_call("count", gate="a")
        stage.gate("a").wait_for_arrival()
        peer.time_out(late)
        assert peer.receive()["result"]["content"][0]["text"].endswith("and was stopped. It was here: 2 of 2.")


def test_a_late_result_is_not_logged_as_an_answer(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        assert peer.request("logging/setLevel", {"level": "debug"})["result"] == {}
        late = peer.post_call("change", name="first", gate="a")
        stage.gate("a").wait_for_arrival()
        peer.time_out(late)
        assert peer.receive()["result"]["_meta"]["errorCode"] == "TIMEOUT"
        stage.gate("a").released.set()
        stage.wait_for_change("first")
        peer.post_call("change", name="second")
        messages = [peer.receive(), peer.receive(), *peer.finish()]
        assert [message.get("params", {}).get("data") for message in messages] == [
            {"tool": "change", "failed": False},
            None,
        ]


def test_a_change_past_its_deadline_says_that_it_may_have_happened(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault, file_seconds=SOON) as peer:
        peer.post_call("change_soon", name="x", gate="a")
        text = peer.receive()["result"]["content"][0]["text"]
        assert text.endswith("It may still have happened: read the note to see.")


def test_a_call_that_notices_its_deadline_is_stopped(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        late = peer.post_call("wait", gate="a")
        stage.gate("a").wait_for_arrival()
        peer.time_out(late)
        assert peer.receive()["result"]["_meta"]["errorCode"] == "TIMEOUT"
        assert stage.stopped.wait(30)


@pytest.mark.parametrize("stuck", [4, 9])
def test_stuck_workers_do_not_starve_later_calls(stage: Stage, vault: Vault, stuck: int) -> None:
    with Peer(stage, vault, file_seconds=SOON) as peer:
        ids = {peer.post_call("hang", gate="a") for _ in range(stuck)}
        assert {peer.receive()["id"] for _ in ids} == ids
        for _ in range(3):
            assert peer.call("echo")["isError"] is False


def test_calls_that_wait_behind_stuck_ones_are_served_without_another_call_to_wake_them(
    stage: Stage, vault: Vault
) -> None:
    with Peer(stage, vault, file_seconds=SOON) as peer:
        stuck = {peer.post_call("hang", gate="a") for _ in range(4)}
        patient = {peer.post_call("echo") for _ in range(3)}  # all workers are taken
        assert {peer.receive()["id"] for _ in range(7)} == stuck | patient


def test_changes_behind_a_stuck_one_run_and_still_one_by_one(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault, file_seconds=SOON) as peer:
        stuck = peer.post_call("change", name="stuck", gate="stuck")
        stage.gate("stuck").wait_for_arrival()
        early = {stuck, *(peer.post_call("change_soon", name="just in time or not") for _ in range(4))}
        peer.time_out(stuck)
        assert {peer.receive()["id"] for _ in early} == early
        first = peer.post_call("change", name="first", gate="first")
        stage.gate("first").wait_for_arrival()
        rest = [peer.post_call("change", name=f"then {number}", gate="then") for number in range(3)]
        assert peer.request("ping")["result"] == {}
        # The one that was stuck comes back: its thread must not take a second change beside the one that runs.
        stage.gate("stuck").released.set()
        stage.wait_for_change("stuck")
        assert not stage.gate("then").arrived.acquire(timeout=0.05)
        stage.gate("first").released.set()
        stage.gate("then").released.set()
        assert [peer.receive()["id"] for _ in range(4)] == [first, *rest]
        order = [name for name in stage.order if name != "just in time or not"]
        assert order == ["stuck", "first", "then 0", "then 1", "then 2"]


def test_a_call_whose_deadline_passed_while_it_waited_does_not_run(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault, file_seconds=SOON) as peer:
        first = peer.post_call("change", name="first", gate="a")
        stage.gate("a").wait_for_arrival()
        never = peer.post_call("change_soon", name="never")
        assert peer.receive()["id"] == never
        stage.gate("a").released.set()
        assert peer.receive()["id"] == first
        assert peer.finish() == []
        assert stage.order == ["first"]


def test_the_end_waits_for_a_stuck_call_no_longer_than_its_deadline(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault, file_seconds=SOON) as peer:
        late = peer.post_call("hang", gate="a")
        (answer,) = peer.finish()
        assert answer["id"] == late
        assert answer["result"]["_meta"]["errorCode"] == "TIMEOUT"


def test_a_cancelled_call_is_not_answered_when_its_deadline_comes(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        first = peer.post_call("change", name="first", gate="a")
        stage.gate("a").wait_for_arrival()
        cancelled = peer.post_call("change", name="never")
        peer.cancel(cancelled)
        timed_out = peer.post_call("change", name="never")
        assert peer.request("ping")["result"] == {}  # the other three have been read
        peer.time_out(cancelled, timed_out)
        assert peer.receive()["id"] == timed_out
        stage.gate("a").released.set()
        assert [message["id"] for message in peer.finish()] == [first]


# ---------------------------------------------------------------------- changes that make progress


class _Request:
    progress_token = None


def _task(workers: Workers, *, changes_vault: bool, vault: str = "") -> Task:
    """Return a task that is under way, whose time is up."""
    job = Job(
        "work", lambda _: Refusal(0, ""), lambda *_: Refusal(0, ""), 60.0, changes_vault=changes_vault, vault=vault
    )
    request = _Request()
    task = Task(workers, None, request, job, None)  # type: ignore[arg-type]
    workers._tasks[request] = task  # type: ignore[index]
    task.deadline = 0.0
    return task


def test_a_change_that_makes_progress_and_the_changes_behind_it_are_not_late() -> None:
    workers = Workers(None)  # type: ignore[arg-type]
    change, behind = _task(workers, changes_vault=True), _task(workers, changes_vault=True)
    others = [_task(workers, changes_vault=True, vault="other"), _task(workers, changes_vault=False)]
    change.report(0, 9, "waiting")  # for another process
    assert change.deadline == 0.0
    before = time.monotonic()
    change.report(1, 9, "one file")
    assert before + 60 <= change.deadline == behind.deadline <= time.monotonic() + 60
    assert [other.deadline for other in others] == [0.0, 0.0]
    others[1].report(1, 9, "a call that only reads")
    assert others[1].deadline == 0.0
    change.deadline = 0.0
    change.report(1, 9, "still one file")
    assert change.deadline == 0.0


# ---------------------------------------------------------------------- several vaults


def test_a_long_change_in_one_vault_holds_up_none_in_another(stage: Stage, vault: Vault, tmp_path: Path) -> None:
    with Peer(stage, vault, others={"second": open_vault(tmp_path)}) as peer:
        long = peer.post_call("change", name="long", gate="a", vault="first")
        stage.gate("a").wait_for_arrival()
        behind = peer.post_call("change", name="behind")  # in the first, which is meant where none is named
        for number in range(3):
            assert peer.call("change", name=f"other {number}", vault="Second")["isError"] is False
        stage.gate("a").released.set()
        assert [peer.receive()["id"] for _ in range(2)] == [long, behind]
    assert stage.order == ["other 0", "other 1", "other 2", "long", "behind"]


def test_a_stuck_change_in_one_vault_is_timed_out_and_holds_up_none_in_another(
    stage: Stage, vault: Vault, tmp_path: Path
) -> None:
    with Peer(stage, vault, file_seconds=SOON, others={"second": open_vault(tmp_path)}) as peer:
        stuck = peer.post_call("change_soon", name="stuck", gate="a", vault="first")
        assert peer.receive()["id"] == stuck
        assert peer.call("change", name="other", vault="second")["isError"] is False
        assert peer.call("change", name="next", vault="first")["isError"] is False
