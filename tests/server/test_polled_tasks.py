"""The Tasks extension (SEP-2663): a long call goes on as a task, and its client asks for the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.asgi import Http, Loop, Response
from support.asking import AskingStage
from support.connection import Peer
from support.toolsets import PATIENCE
from support.vaults import open_vault
from support.waiting import wait_for
from support.wire import CAPABILITIES, STATELESS_REVISION, envelope
from vaultwire.protocol.dialects import STRUCTURED
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server import polled_tasks
from vaultwire.server.handlers import Handlers
from vaultwire.server.workers import Workers
from vaultwire.transports import guard, streamable_http
from vaultwire.trust.policy import Policy
from vaultwire.vault.caller import MemoryBudget
from vaultwire.vault.vault import Vault

TASKS = "io.modelcontextprotocol/tasks"
EXTENSION: dict[str, Any] = {"extensions": {TASKS: {}}}
CAN_ALL = {**EXTENSION, "roots": {}, "elicitation": {}}
META = {CAPABILITIES: CAN_ALL}
AT_ONCE = 0.0
ROOTS = {"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}


@pytest.fixture
def stage() -> Iterator[AskingStage]:
    made = AskingStage()
    yield made
    made.open_all()


class Client(Peer):
    """A client in 2026-07-28 that knows tasks, of a server that makes a task of every call that waits."""

    def __init__(
        self, stage: AskingStage, vault: Vault, task_seconds: float = AT_ONCE, file_seconds: float = PATIENCE
    ) -> None:
        super().__init__(stage, vault, STATELESS_REVISION, file_seconds, task_seconds=task_seconds)

    def ask(self, method: str, meta: dict[str, Any] = META, /, **params: Any) -> Any:
        """Return the result of a request, or its error."""
        answer = self.request(method, {**params, "_meta": meta})
        return answer.get("result", answer.get("error"))

    def begin(self, tool: str, meta: dict[str, Any] = META, /, **arguments: Any) -> Any:
        """Call a tool that waits and return the task."""
        task = self.ask("tools/call", meta, name=tool, arguments=arguments)
        assert (task["resultType"], task["status"]) == ("task", "working")
        if "gate" in arguments:  # what has not come there when the test ends waits for long
            self.stage.gate(arguments["gate"]).wait_for_arrival()
        return task

    def poll(self, task: Any) -> Any:
        """Return the task once it does not work any more."""
        answers: list[Any] = []

        def is_over() -> bool:
            answers.append(self.ask("tasks/get", taskId=task["taskId"]))
            return bool(answers[-1].get("status") != "working")

        wait_for(is_over)
        return answers[-1]


# ---------------------------------------------------------------------- the life of a task


def test_a_long_call_goes_on_as_a_task_and_its_answer_is_kept(stage: AskingStage, vault: Vault) -> None:
    with Client(stage, vault) as client:
        task = client.begin("wait", gate="a")
        client.cancel(1)  # of the call, which has been answered: a task has its own method
        working = client.ask("tasks/get", taskId=task["taskId"])
        assert (working["resultType"], working["status"]) == ("complete", "working")
        assert "result" not in working
        stage.gate("a").released.set()
        done = client.poll(task)
        assert done["status"] == "completed"
        assert done["result"]["resultType"] == "complete"
        assert done["result"]["structuredContent"] == {"text": "waited"}
        assert client.ask("tasks/get", taskId=task["taskId"]) == done
        assert done["ttlMs"] >= polled_tasks.KEEP_SECONDS * 1000
        assert done["createdAt"] == task["createdAt"] <= done["lastUpdatedAt"]


def test_a_call_that_is_over_sooner_is_answered_as_ever(stage: AskingStage, vault: Vault) -> None:
    with Client(stage, vault, PATIENCE) as client:
        result = client.ask("tools/call", name="echo", arguments={"text": "hello"})
        assert (result["resultType"], result["content"][0]["text"]) == ("complete", "hello")


def test_a_task_says_how_far_the_work_is(stage: AskingStage, vault: Vault) -> None:
    with Client(stage, vault) as client:
        task = client.begin("count", gate="a")
        assert client.ask("tasks/get", taskId=task["taskId"])["statusMessage"] == "2 of 2"


def test_a_tool_that_failed_has_completed_its_task(stage: AskingStage, vault: Vault) -> None:
    with Client(stage, vault, file_seconds=1.0) as client:
        result = client.poll(client.begin("wait_soon", gate="a"))["result"]
        assert (result["isError"], result["_meta"]["errorCode"]) == (True, "TIMEOUT")


def test_a_call_that_ends_in_a_protocol_error_has_failed(stage: AskingStage, vault: Vault) -> None:
    with Client(stage, vault) as client:
        task = client.begin("ask_later", {CAPABILITIES: EXTENSION}, gate="a")
        stage.gate("a").released.set()
        failed = client.poll(task)
        assert failed["status"] == "failed"
        assert failed["error"]["code"] == -32021
        assert failed["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}
        assert "result" not in failed


# ---------------------------------------------------------------------- tasks/cancel


def test_a_cancelled_task_is_stopped(stage: AskingStage, vault: Vault) -> None:
    with Client(stage, vault) as client:
        task = client.begin("wait", gate="a")
        assert client.ask("tasks/cancel", taskId=task["taskId"]).keys() == {"resultType", "_meta"}
        assert client.poll(task)["status"] == "cancelled"
        assert stage.stopped.is_set()
        assert client.ask("tasks/cancel", taskId=task["taskId"])["resultType"] == "complete"


def test_a_change_that_was_made_before_it_could_be_cancelled_says_so(stage: AskingStage, vault: Vault) -> None:
    with Client(stage, vault) as client:
        task = client.begin("change", name="made", gate="a")
        waiting = client.begin("change", name="never")
        for each in (task, waiting):
            client.ask("tasks/cancel", taskId=each["taskId"])
        stage.gate("a").released.set()
        assert client.poll(task)["result"]["isError"] is False
        assert client.poll(waiting)["status"] == "cancelled"
        assert stage.order == ["made"]


# ---------------------------------------------------------------------- tasks/update


def test_a_task_asks_its_client_round_by_round(stage: AskingStage, vault: Vault) -> None:
    with Client(stage, vault) as client:
        task = client.begin("ask_later", gate="a")
        stage.gate("a").released.set()
        asking = client.poll(task)
        assert asking["status"] == "input_required"
        assert asking["inputRequests"]["sure"]["method"] == "elicitation/create"
        assert "requestState" not in asking
        client.ask("tasks/update", taskId=task["taskId"], inputResponses={"roots": ROOTS})  # not asked yet
        assert client.ask("tasks/get", taskId=task["taskId"]) == asking
        update = {"taskId": task["taskId"], "inputResponses": {"sure": {"action": "accept"}}}
        assert client.ask("tasks/update", **update).keys() == {"resultType", "_meta"}
        assert client.poll(task)["inputRequests"].keys() == {"roots"}
        client.ask("tasks/update", **update)  # answered already
        client.ask("tasks/update", taskId=task["taskId"], inputResponses={"roots": ROOTS})
        done = client.poll(task)
        assert done["result"]["structuredContent"] == {"text": "accept, 2 roots"}
        client.ask("tasks/update", **update)
        assert client.ask("tasks/get", taskId=task["taskId"]) == done


def test_a_task_that_asks_can_be_cancelled(stage: AskingStage, vault: Vault) -> None:
    with Client(stage, vault) as client:
        task = client.begin("ask_later", gate="a")
        stage.gate("a").released.set()
        assert client.poll(task)["status"] == "input_required"
        client.ask("tasks/cancel", taskId=task["taskId"])
        client.ask("tasks/update", taskId=task["taskId"], inputResponses={"sure": {"action": "accept"}})
        cancelled = client.ask("tasks/get", taskId=task["taskId"])
        assert cancelled["status"] == "cancelled"
        assert "inputRequests" not in cancelled


# ---------------------------------------------------------------------- for whom, how many, how long


@pytest.mark.parametrize("declared", [{}, {"extensions": {}}, {"extensions": [TASKS]}, {"extensions": {"other": {}}}])
def test_who_does_not_declare_the_extension_waits_for_the_answer(
    stage: AskingStage, vault: Vault, declared: dict[str, Any]
) -> None:
    with Client(stage, vault) as client:
        task = client.begin("wait", gate="task")  # the watchdog has looked at calls
        call = client.post_call("wait", {CAPABILITIES: declared}, gate="a")
        stage.gate("a").wait_for_arrival()
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            refused = client.ask(method, {CAPABILITIES: declared}, taskId=task["taskId"], inputResponses={})
            assert refused["code"] == -32021
            assert refused["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        named = {"notifications": {"taskIds": [task["taskId"]]}}
        refused = client.ask("subscriptions/listen", {CAPABILITIES: declared}, **named)
        assert (refused["code"], refused["message"].split()[0]) == (-32021, "taskIds")
        stage.gate("a").released.set()
        answer = client.receive()
        assert (answer["id"], answer["result"]["resultType"]) == (call, "complete")


def test_earlier_revisions_have_no_tasks(stage: AskingStage, vault: Vault) -> None:
    with Peer(stage, vault, None, task_seconds=AT_ONCE) as peer:
        peer.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": EXTENSION})
        call = peer.post_call("wait", gate="a")
        stage.gate("a").wait_for_arrival()
        assert peer.request("tasks/get", {"taskId": "x"})["error"]["code"] == -32601
        stage.gate("a").released.set()
        answer = peer.receive()
        assert (answer["id"], answer["result"]["isError"]) == (call, False)


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("tasks/get", {}, "taskId must be a string, got nothing"),
        ("tasks/cancel", {"taskId": 7}, "taskId must be a string, got a number"),
        ("tasks/get", {"taskId": "x"}, "Unknown task: 'x'. A task is kept for 15 minutes after it ended"),
        ("tasks/update", {"taskId": "x", "inputResponses": {}}, "Unknown task: 'x'"),
        ("tasks/cancel", {"taskId": "x"}, "Unknown task: 'x'"),
        ("tasks/update", {}, "inputResponses must be an object, got nothing"),
        ("tasks/update", {"inputResponses": []}, "inputResponses must be an object, got an array"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(
    stage: AskingStage, vault: Vault, method: str, params: dict[str, Any], told: str
) -> None:
    with Client(stage, vault) as client:
        task = client.begin("wait", gate="a")
        if told.startswith("inputResponses"):
            params = {"taskId": task["taskId"], **params}
        error = client.ask(method, **params)
        assert error["code"] == -32602
        assert told in error["message"]
        assert client.ask("tasks/get", taskId=task["taskId"])["status"] == "working"


def test_a_client_with_many_tasks_waits_for_its_next_answers(
    stage: AskingStage, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polled_tasks, "MOST_EACH", 2)
    with Client(stage, vault) as client:
        tasks = [client.begin("wait", gate="a") for _ in range(2)]
        call = client.post_call("wait", META, gate="b")
        stage.gate("b").wait_for_arrival()
        assert client.ask("tasks/get", taskId=tasks[0]["taskId"])["status"] == "working"
        stage.gate("b").released.set()
        answer = client.receive()
        assert (answer["id"], answer["result"]["resultType"]) == (call, "complete")
        stage.gate("a").released.set()
        assert [client.poll(task)["status"] for task in tasks] == ["completed", "completed"]


def test_an_answer_is_kept_for_its_time_only(stage: AskingStage, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polled_tasks, "KEEP_SECONDS", -1.0)
    monkeypatch.setattr(polled_tasks, "MOST_EACH", 1)
    with Client(stage, vault) as client:
        task = client.begin("wait", gate="a")
        assert client.ask("tasks/get", taskId=task["taskId"])["status"] == "working"  # as long as it works
        stage.gate("a").released.set()
        assert "Unknown task" in client.poll(task)["message"]
        client.begin("wait", gate="b")  # there is room again


def test_the_oldest_answer_is_dropped_where_memory_is_needed(
    stage: AskingStage, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polled_tasks, "MEMORY_BUDGET", MemoryBudget(max_bytes=300, small_bytes=0))
    with Client(stage, vault) as client:
        first, second = (client.begin("wait", gate=gate) for gate in "ab")
        stage.gate("a").released.set()
        assert client.poll(first)["status"] == "completed"
        stage.gate("b").released.set()
        assert client.poll(second)["result"]["structuredContent"] == {"text": "waited"}
        assert "Unknown task" in client.poll(first)["message"]


# ---------------------------------------------------------------------- over HTTP


class Door:
    """The HTTP door over the stage, and requests to it with a key."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def send(self, key: str, method: str, params: dict[str, Any], name: str) -> Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": envelope(**META)}}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": STATELESS_REVISION,
            "Mcp-Method": method,
            "Mcp-Name": name,
        }
        return self._http.send("POST", headers, body, **{guard.KEY_NAME: key})

    def about(self, key: str, method: str, task: Any) -> Any:
        params = {"taskId": task["taskId"], "inputResponses": {}}
        return self.send(key, method, params, task["taskId"]).json()


@pytest.fixture
def door(stage: AskingStage, tmp_path: Path) -> Iterator[Door]:
    seconds = {"file": PATIENCE, "search": PATIENCE}
    handlers = Handlers(stage.toolset(), lambda: open_vault(tmp_path), Policy(), seconds, task_seconds=AT_ONCE)
    identity = Identity("test", "Test", "1", {"tools": {}}, "Be kind.")
    app = streamable_http.StreamableHttp(
        Workers(handlers), lambda revision: Session(identity, handlers.methods, STRUCTURED, revision), guard.KEY_NAME
    )
    with Loop() as loop:
        yield Door(Http(loop, app))


def test_a_task_is_for_the_key_that_made_the_call(stage: AskingStage, door: Door) -> None:
    task = door.send("phone#1", "tools/call", {"name": "wait", "arguments": {"gate": "a"}}, "wait").json()["result"]
    assert task["resultType"] == "task"
    for stranger in ("phone#2", ""):
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            assert "Unknown task" in door.about(stranger, method, task)["error"]["message"]
    assert door.about("phone#1", "tasks/get", task)["result"]["status"] == "working"
    stage.gate("a").released.set()
    wait_for(lambda: door.about("phone#1", "tasks/get", task)["result"]["status"] != "working")
    current = door.about("phone#1", "tasks/get", task)["result"]
    assert current["result"]["structuredContent"] == {"text": "waited"}


def test_the_header_must_name_the_task_of_the_body(door: Door) -> None:
    refused = door.send("", "tasks/get", {"taskId": "one"}, "another")
    assert (refused.status, refused.json()["error"]["code"]) == (400, -32020)
