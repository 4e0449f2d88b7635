"""MCP over Streamable HTTP: sessions, streams, replay, cancellation; the door as it is, without a socket before it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.asgi import Http, Loop, Response
from support.asking import CAN_ALL, AskingStage
from support.toolsets import PATIENCE
from support.vaults import open_vault
from support.wire import HANDSHAKE_REVISIONS, STATELESS_REVISION, envelope
from vaultwire.protocol.dialects import STRUCTURED
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server import mcp_endpoint, subscriptions
from vaultwire.server.handlers import Handlers
from vaultwire.server.subscriptions import LIST_CHANGES, RESOURCE_UPDATES, Subscriptions
from vaultwire.server.workers import Workers
from vaultwire.transports import guard, streamable_http
from vaultwire.trust.policy import Policy
from vaultwire.vault.caller import MemoryBudget, Reservation

BOTH = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
CURL = {"Content-Type": "application/json", "Accept": "*/*"}
SESSION = "mcp-session-id"
MOST_CALLS = 40
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


class Door:
    """One door over the asking stage, and requests to it."""

    def __init__(self, http: Http, handlers: Handlers, app: streamable_http.StreamableHttp) -> None:
        self.send = http.send
        self.handlers = handlers
        self.app = app

    def post(
        self, method: str, params: Any = None, headers: dict[str, str] | None = None, id_: Any = 1, **scope: Any
    ) -> Response:
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        body |= {} if params is None else {"params": params}
        body |= {} if id_ is None else {"id": id_}
        return self.send("POST", BOTH if headers is None else headers, body, **scope)

    def stateless(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        meta: dict[str, Any] | None = None,
        id_: Any = 1,
    ) -> Response:
        params = {**(params or {}), "_meta": envelope(**(meta or {}))}
        routing = {"MCP-Protocol-Version": STATELESS_REVISION, "Mcp-Method": method}
        if "name" in params:
            routing["Mcp-Name"] = params["name"]
        return self.post(method, params, {**BOTH, **routing, **(headers or {})}, id_)

    def call_stateless(self, tool: str, meta: dict[str, Any] | None = None, **arguments: Any) -> Response:
        return self.stateless("tools/call", {"name": tool, "arguments": arguments}, meta=meta)

    def open(self, revision: str = "2025-11-25", **scope: Any) -> Client:
        params = {"protocolVersion": revision, "capabilities": CAN_ALL}
        answer = self.post("initialize", params, **scope)
        assert (answer.status, answer.json()["result"]["protocolVersion"]) == (200, revision)
        return Client(self, {**BOTH, SESSION: answer.headers[SESSION], "MCP-Protocol-Version": revision})


class Client:
    """One session."""

    def __init__(self, door: Door, headers: dict[str, str]) -> None:
        self.door = door
        self.headers = headers

    def post(self, method: str, params: Any = None, id_: Any = 1, **scope: Any) -> Response:
        return self.door.post(method, params, self.headers, id_, **scope)

    def call(self, tool: str, meta: dict[str, Any] | None = None, id_: Any = 1, **arguments: Any) -> Response:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        return self.post("tools/call", params if meta is None else {**params, "_meta": meta}, id_)

    def get(self, last: str | None = None) -> Response:
        return self.door.send("GET", self.headers if last is None else {**self.headers, "Last-Event-ID": last})


@pytest.fixture
def door(stage: AskingStage, tmp_path: Path) -> Iterator[Door]:
    listeners = Subscriptions([*LIST_CHANGES, RESOURCE_UPDATES])
    by_class = {"file": PATIENCE, "search": PATIENCE}
    handlers = Handlers(stage.toolset(), lambda: open_vault(tmp_path), Policy(), by_class, subscriptions=listeners)
    identity = Identity("test", "Test", "1", {"tools": {}, "logging": {}}, "Be kind.")
    app = streamable_http.StreamableHttp(
        Workers(handlers, most_tasks=MOST_CALLS),
        lambda revision: Session(identity, handlers.methods, STRUCTURED, revision),
        guard.KEY_NAME,
    )
    with Loop() as loop:
        yield Door(Http(loop, app), handlers, app)


def text_of(answer: Any) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


# ---------------------------------------------------------------------- without a session


def test_a_plain_request_without_anything_around_it_is_answered_as_json(door: Door) -> None:
    listed = door.post("tools/list", {}, CURL)
    assert listed.status == 200
    assert "echo" in [tool["name"] for tool in listed.json()["result"]["tools"]]
    called = door.post("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, CURL)
    assert text_of(called.json()) == "hi"
    assert SESSION not in called.headers


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_a_request_without_a_session_is_served_by_the_revision_its_header_names(door: Door, revision: str) -> None:
    listed = door.post("tools/list", {}, {**CURL, "MCP-Protocol-Version": revision}).json()["result"]["tools"]
    assert ("outputSchema" in listed[0]) == (revision >= "2025-06-18")


def test_a_request_without_a_session_cannot_be_asked_anything_back(door: Door) -> None:
    assert door.post("tools/call", {"name": "ask"}).json()["result"]["_meta"]["errorCode"] == "CLIENT_CANNOT"


def test_a_batch_is_answered_as_one_where_batches_are_known(door: Door) -> None:
    batch = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "echo"}} for number in (1, 2)]
    answers = door.send("POST", {**CURL, "MCP-Protocol-Version": "2025-03-26"}, batch).json()
    assert sorted(answer["id"] for answer in answers) == [1, 2]
    refused = door.send("POST", {**CURL, "MCP-Protocol-Version": "2025-06-18"}, batch)
    assert (refused.status, refused.json()["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("message", [{"method": "notifications/initialized"}, {"id": 9, "result": {}}])
def test_what_wants_no_answer_is_accepted_without_one(door: Door, message: dict[str, Any]) -> None:
    answer = door.send("POST", CURL, {"jsonrpc": "2.0", **message})
    assert (answer.status, answer.body()) == (202, b"")


@pytest.mark.parametrize(
    ("headers", "body", "status", "code"),
    [
        (CURL, b"{", 400, -32700),
        (CURL, b"[]", 400, -32600),
        (CURL, b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[' + b"[]," * 200_000 + b"1]}", 400, -32600),
        (CURL, b'{"jsonrpc":"2.0","id":1}', 400, -32600),
        ({**CURL, "Content-Type": "text/plain"}, b"{}", 415, -32600),
        ({**CURL, "Accept": "text/html"}, b"{}", 406, -32600),
        ({**CURL, "MCP-Protocol-Version": "1999-01-01"}, b'{"jsonrpc":"2.0","id":1,"method":"ping"}', 400, -32602),
    ],
)
def test_what_is_no_message_is_refused(
    door: Door, headers: dict[str, str], body: bytes, status: int, code: int
) -> None:
    answer = door.send("POST", headers, body)
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("headers", [{}, {SESSION: "x", "MCP-Protocol-Version": STATELESS_REVISION}])
def test_where_no_session_is_meant_only_post_is_allowed(door: Door, method: str, headers: dict[str, str]) -> None:
    answer = door.send(method, headers)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_other_methods_are_not_allowed(door: Door) -> None:
    answer = door.send("PUT")
    assert (answer.status, answer.headers["allow"]) == (405, "POST, GET, DELETE")


# ---------------------------------------------------------------------- stateless


def test_a_stateless_request_is_answered_as_json_with_the_status_of_its_error(door: Door) -> None:
    assert text_of(door.call_stateless("echo", text="hi").json()) == "hi"
    for method, status, code in (("ping", 404, -32601), ("initialize", 404, -32601), ("tools/call", 400, -32602)):
        answer = door.stateless(method)
        assert (answer.status, answer.json()["error"]["code"]) == (status, code), method
    unknown = door.post("server/discover", {"_meta": envelope(**{"io.modelcontextprotocol/protocolVersion": "2030-01-01"})},
                        {**BOTH, "MCP-Protocol-Version": "2030-01-01", "Mcp-Method": "server/discover"})  # fmt: skip
    assert (unknown.status, unknown.json()["error"]["code"]) == (400, -32022)


@pytest.mark.parametrize(
    "headers", [{"Mcp-Method": "tools/list"}, {"Mcp-Name": "other"}, {"MCP-Protocol-Version": "x"}]
)
def test_headers_that_say_something_else_than_the_body_are_a_mismatch(door: Door, headers: dict[str, str]) -> None:
    answer = door.stateless("tools/call", {"name": "echo", "arguments": {}}, headers)
    refused = answer.json()
    assert (answer.status, refused["id"], refused["error"]["code"]) == (400, 1, -32020)


@pytest.mark.parametrize("message", [[], {"jsonrpc": "2.0", "id": 1, "result": {}}])
def test_a_stateless_server_takes_neither_batches_nor_answers(door: Door, message: Any) -> None:
    answer = door.send("POST", {**BOTH, "MCP-Protocol-Version": STATELESS_REVISION}, message)
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32600)


def test_a_state_is_its_callers_alone_and_only_one_of_many_at_once_goes_on_with_it(door: Door) -> None:
    def ask(principal: str, **params: Any) -> Any:
        params |= {"name": "ask", "arguments": {}, "_meta": envelope(**{CAPABILITIES: CAN_ALL})}
        headers = {"MCP-Protocol-Version": STATELESS_REVISION, "Mcp-Method": "tools/call", "Mcp-Name": "ask"}
        return door.post("tools/call", params, {**BOTH, **headers}, **{"vaultwire.key": principal}).json()

    answered: dict[str, Any] = {"inputResponses": {"roots": {"roots": []}}}
    answered["requestState"] = ask("anna")["result"]["requestState"]
    for principal in ("", "ben", "Anna"):
        refused = ask(principal, **answered)["error"]
        assert (refused["code"], refused["data"]["errorCode"]) == (-32602, "INVALID_ARGUMENTS")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask("anna", **answered), range(8)))
    assert sorted("result" in answer for answer in answers) == [False] * 7 + [True]


def test_progress_makes_the_answer_a_stream_without_ids(door: Door) -> None:
    answer = door.call_stateless("count", {"progressToken": "t"})
    assert [answer.message()["params"]["progress"] for _ in range(3)] == [0, 1, 2]
    event = answer.event()
    assert event is not None
    assert "id" not in event
    assert answer.event() is None


def test_a_client_that_takes_no_streams_gets_the_answer_alone(door: Door) -> None:
    params = {"name": "count", "arguments": {}, "_meta": {"progressToken": 1}}
    assert text_of(door.post("tools/call", params, CURL).json()) == "counted"


def test_closing_the_stream_of_a_stateless_call_stops_its_work(door: Door, stage: AskingStage) -> None:
    answer = door.call_stateless("count", {"progressToken": 1}, gate="a")
    answer.message()
    stage.gate("a").wait_for_arrival()
    answer.leave()
    stage.gate("a").released.set()
    assert text_of(door.call_stateless("echo", text="on").json()) == "on"


def test_a_stateless_call_whose_client_leaves_before_the_answer_begins_is_told_to_stop(
    door: Door, stage: AskingStage
) -> None:
    answer = door.call_stateless("wait", gate="a")
    stage.gate("a").wait_for_arrival()
    answer.leave()
    assert stage.stopped.wait(PATIENCE)


def test_a_subscription_is_acknowledged_told_and_ended(door: Door) -> None:
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["obsidian://a"], "unknown": True}
    stream = door.stateless("subscriptions/listen", {"notifications": wanted}, id_="sub")
    acknowledged = stream.message()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    honoured = {"toolsListChanged": True, "resourceSubscriptions": ["obsidian://a"]}
    assert acknowledged["params"]["notifications"] == honoured
    publish = door.handlers.subscriptions.publish
    publish("promptsListChanged")
    publish(RESOURCE_UPDATES, "obsidian://b")
    publish(RESOURCE_UPDATES, "obsidian://a")
    publish("toolsListChanged")
    updated, changed = stream.message(), stream.message()
    assert (updated["method"], updated["params"]["uri"]) == ("notifications/resources/updated", "obsidian://a")
    assert changed["method"] == "notifications/tools/list_changed"
    door.app.close()
    ended = stream.message()
    assert ended["id"] == "sub"
    for params in (acknowledged["params"], updated["params"], changed["params"], ended["result"]):
        assert params["_meta"]["io.modelcontextprotocol/subscriptionId"] == "sub"
    assert stream.event() is None


def test_a_subscription_whose_client_left_is_forgotten(door: Door) -> None:
    stream = door.stateless("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    stream.message()
    stream.leave()
    assert not door.handlers.subscriptions._listeners  # nothing else shows what is kept


@pytest.mark.parametrize("wanted", [None, [], {"resourceSubscriptions": "x"}, {"resourceSubscriptions": [1]}])
def test_a_subscription_to_nothing_sensible_is_refused(door: Door, wanted: Any) -> None:
    answer = door.stateless("subscriptions/listen", {"notifications": wanted})
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32602)


def test_a_stream_on_which_nothing_happens_says_that_it_is_alive(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamable_http, "KEEP_ALIVE_SECONDS", 0.01)
    stream = door.stateless("subscriptions/listen", {"notifications": {}})
    stream.message()
    assert stream.event() == {"": "keep-alive"}


def test_a_call_that_takes_long_becomes_a_stream(
    door: Door, stage: AskingStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamable_http, "KEEP_ALIVE_SECONDS", 0.01)
    answer = door.call_stateless("wait", gate="a")
    assert answer.status == 200  # before there is an answer
    stage.gate("a").released.set()
    assert text_of(answer.message()) == "waited"


# ---------------------------------------------------------------------- sessions


def test_a_session_is_opened_used_and_ended(door: Door) -> None:
    client = door.open()
    assert client.headers[SESSION].isascii()
    assert len(client.headers[SESSION]) >= 32
    assert client.post("notifications/initialized", id_=None).status == 202
    assert text_of(client.call("echo", text="hi").json()) == "hi"
    assert door.send("DELETE", client.headers).status == 204
    gone = client.call("echo")
    assert (gone.status, gone.json()["id"]) == (404, 1)
    assert client.get().status == 404
    assert door.send("DELETE", client.headers).status == 404


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 5}])
def test_a_refused_initialize_opens_no_session(door: Door, params: dict[str, Any]) -> None:
    answer = door.post("initialize", params)
    assert SESSION not in answer.headers
    assert answer.json()["error"]["code"] == -32602


def test_a_session_belongs_to_the_key_that_opened_it(door: Door) -> None:
    client = door.open(**{"vaultwire.key": "anna"})
    assert client.post("ping").status == 404
    assert client.post("ping", **{"vaultwire.key": "ben"}).status == 404
    assert client.post("ping", **{"vaultwire.key": "anna"}).status == 200


def test_a_session_that_nobody_uses_ends(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    client = door.open()
    monkeypatch.setattr(mcp_endpoint, "SESSION_SECONDS", -1.0)
    assert client.post("ping").status == 404


def test_the_session_used_longest_ago_makes_room_but_none_that_is_at_work(
    door: Door, stage: AskingStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_endpoint, "MAX_SESSIONS", 2)
    first, second = door.open(), door.open()
    assert first.post("ping").status == 200  # so the second was used longer ago
    third = door.open()
    assert [client.post("ping").status for client in (first, second, third)] == [200, 404, 200]
    at_work = [client.call("count", {"progressToken": 1}, gate="a") for client in (first, third)]
    assert door.post("initialize", {"protocolVersion": "2025-11-25"}).status == 503
    stage.gate("a").released.set()
    assert [len(list(iter(answer.event, None))) for answer in at_work] == [6, 6]


def test_a_tool_asks_on_the_stream_of_its_call_and_hears_the_answer_from_another_post(door: Door) -> None:
    client = door.open()
    stream = client.call("ask_twice")
    form = stream.message()
    answer = {"jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept"}}
    assert door.send("POST", client.headers, answer).status == 202
    roots = stream.message()
    assert door.send("POST", client.headers, {**answer, "id": roots["id"], "result": {"roots": []}}).status == 202
    assert text_of(stream.message()) == "accept, 0 roots"
    assert stream.event() is None


def test_a_call_that_was_quick_many_times_may_wait_for_its_client_the_next_time(door: Door, stage: AskingStage) -> None:
    client = door.open()
    for _ in range(50):
        assert text_of(client.call("may_ask").json()) == "sure"
    stream = client.call("may_ask", sure=False)
    question = stream.message()
    assert client.post("ping", id_=2).status == 200
    answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}
    assert door.send("POST", client.headers, answer).status == 202
    assert text_of(stream.message()) == "0 roots"
    assert set(stage.order) == {"vaultwire-worker"}


def test_another_session_cannot_answer_for_the_client(door: Door) -> None:
    client, other = door.open(), door.open()
    stream = client.call("ask")
    question = stream.message()
    forged = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}
    assert door.send("POST", other.headers, forged).status == 202
    assert door.send("POST", client.headers, {**forged, "result": {"roots": [{}, {}]}}).status == 202
    assert text_of(stream.message()) == "2 roots"


def test_several_streams_of_one_session_keep_their_own_messages(door: Door, stage: AskingStage) -> None:
    client = door.open()
    streams = [client.call("count", {"progressToken": number}, number, gate=f"{number}") for number in (1, 2, 3)]
    for number, stream in enumerate(streams, 1):
        stage.gate(f"{number}").released.set()
        tokens = [stream.message()["params"]["progressToken"] for _ in range(3)]
        assert (tokens, stream.message()["method"], stream.message()["id"]) == (
            [number] * 3, "notifications/progress", number,
        )  # fmt: skip


def test_a_cancelled_call_ends_its_stream_without_an_answer(door: Door, stage: AskingStage) -> None:
    client = door.open()
    stream = client.call("count", {"progressToken": 1}, "c", gate="a")
    assert [stream.message()["params"]["progress"] for _ in range(3)] == [0, 1, 2]
    assert client.post("notifications/cancelled", {"requestId": "c"}, None).status == 202
    assert stream.event() is None


@pytest.mark.parametrize(("revision", "primed"), [("2025-06-18", False), ("2025-11-25", True)])
def test_a_stream_begins_with_an_event_to_come_back_to_where_clients_know_it(
    door: Door, revision: str, primed: bool
) -> None:
    stream = door.open(revision).call("count", {"progressToken": 1})
    first = stream.event()
    assert first is not None
    assert (first["data"] == "", "retry" in first) == (primed, primed)
    assert "id" in first


def test_a_client_whose_connection_broke_gets_the_rest_and_nothing_twice(door: Door, stage: AskingStage) -> None:
    client = door.open()
    stream = client.call("count", {"progressToken": 1}, gate="a")
    events = [stream.event() for _ in range(3)]  # the first has no data
    last = events[-1]
    assert last is not None
    stage.gate("a").wait_for_arrival()
    stream.leave()  # in this era that cancels nothing
    again = client.get(last["id"])
    stage.gate("a").released.set()
    assert [again.message()["params"]["progress"] for _ in range(2)] == [2, 3]
    assert text_of(again.message()) == "counted"
    assert again.event() is None
    once_more = client.get(last["id"])
    assert [once_more.message()["params"]["progress"] for _ in range(2)] == [2, 3]
    assert text_of(once_more.message()) == "counted"


def test_a_server_that_hangs_up_answers_on_the_next_stream(door: Door, stage: AskingStage) -> None:
    client = door.open()
    stream = client.call("hang_up", gate="a")
    primed = stream.event()
    assert primed is not None
    assert (primed["data"], "retry" in primed) == ("", True)
    assert stream.event() is None
    again = client.get(primed["id"])
    stage.gate("a").released.set()
    assert text_of(again.message()) == "later"


@pytest.mark.parametrize("last", ["99-1", "0", "x-y", "-", "1-1-1"])
def test_an_event_that_is_not_kept_cannot_be_come_back_to(door: Door, last: str) -> None:
    assert door.open().get(last).status == 400


def test_what_nobody_asked_for_comes_on_the_stream_beside_once(door: Door) -> None:
    client = door.open()
    assert client.post("resources/subscribe", {"uri": "obsidian://a"}).json()["result"] == {}
    publish = door.handlers.subscriptions.publish
    publish("toolsListChanged")  # before anybody listens: kept
    stream = client.get()
    assert stream.message()["method"] == "notifications/tools/list_changed"
    publish(RESOURCE_UPDATES, "obsidian://b")
    publish(RESOURCE_UPDATES, "obsidian://a")
    updated = stream.message()
    assert updated["params"] == {"uri": "obsidian://a"}
    other = client.get()  # the newest listens
    while stream.event() is not None:
        pass
    assert client.post("resources/unsubscribe", {"uri": "obsidian://a"}).json()["result"] == {}
    publish(RESOURCE_UPDATES, "obsidian://a")
    publish("promptsListChanged")
    assert other.message()["method"] == "notifications/prompts/list_changed"
    door.app.close()
    assert other.event() is None


def test_a_server_that_ends_opens_no_more_sessions(door: Door) -> None:
    door.app.close()
    assert door.post("initialize", {"protocolVersion": "2025-11-25"}).status == 503


def test_no_bytes_and_no_headers_bring_the_door_down(door: Door) -> None:
    opened = door.open().headers
    values = ["", "x", "2025-11-25", STATELESS_REVISION, "0-0", "tools/call", "=?base64?eA?=", opened[SESSION], "\xff"]
    names = st.sampled_from(
        ["content-type", "accept", SESSION, "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version"]
    )
    texts = st.sampled_from([*values, *BOTH.values()])
    ids: st.SearchStrategy[Any] = st.sampled_from([1, "a", None, 1.5, [], "vaultwire-1"])
    methods = st.sampled_from(["initialize", "tools/call", "tools/list", "subscriptions/listen", "x", 5])
    params = st.sampled_from(
        [{}, None, [], {"name": "echo"}, {"_meta": envelope()}, {"_meta": envelope(), "name": "echo"}]
    )
    messages = st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0")}, optional={"id": ids, "method": methods, "params": params}
    )
    bodies = messages | st.lists(messages, max_size=3) | st.binary(max_size=20)

    @settings(max_examples=300)
    @given(st.sampled_from(["POST", "GET", "DELETE"]), st.dictionaries(names, texts), bodies)
    def check(method: str, headers: dict[str, str], body: Any) -> None:
        answer = door.send(method, headers, body)
        assert answer.status in (200, 202, 204, 400, 404, 405, 406, 415)
        answer.leave()

    check()
    assert door.post("ping").status == 200


def test_many_calls_at_once_are_each_answered_with_their_own(door: Door) -> None:
    client = door.open()

    def call(number: int) -> str:
        text = str(number)
        answer = client.call("echo", None, number, text=text) if number % 2 else door.call_stateless("echo", text=text)
        return text_of(answer.json())

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(call, range(200))) == [str(number) for number in range(200)]


# ---------------------------------------------------------------------- bounds


def ended_stream(client: Client) -> int:
    """Return the number of a stream of five events that its client has heard to the end."""
    stream = client.call("count", {"progressToken": 1})
    ids = [event["id"] for event in iter(stream.event, None)]
    return int(ids[-1].partition("-")[0])


def test_of_a_stream_so_many_frames_are_kept_and_always_the_answer(
    door: Door, stage: AskingStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_endpoint, "_MOST_FRAMES", 2)
    client = door.open()
    stream = client.call("count", {"progressToken": 1}, gate="a")
    primed = stream.event()
    assert primed is not None
    stage.gate("a").released.set()
    while stream.event() is not None:
        pass
    again = client.get(primed["id"])
    assert [again.message()["params"]["progress"] for _ in range(2)] == [2, 3]
    assert text_of(again.message()) == "counted"


def test_of_streams_that_ended_so_many_are_kept(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_endpoint, "_MOST_KEPT_STREAMS", 2)
    client = door.open()
    numbers = [ended_stream(client) for _ in range(6)]
    statuses = [client.get(f"{number}-0").status for number in numbers]
    assert statuses == [400, 400, 400, 200, 200, 200]  # the last ended since anybody looked


def test_of_streams_that_ended_so_many_bytes_are_kept(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    client = door.open()
    first = ended_stream(client)
    size = sum(len(event["data"]) for event in iter(client.get(f"{first}-0").event, None))
    monkeypatch.setattr(mcp_endpoint, "_MOST_KEPT_BYTES", 2 * size + 50)
    numbers = [ended_stream(client) for _ in range(6)]
    statuses = [client.get(f"{number}-0").status for number in numbers]
    assert statuses == [400, 400, 400, 200, 200, 200]


def test_so_many_callers_without_a_session_are_remembered(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_endpoint, "_MAX_PEERS", 3)
    for number in range(10):
        scope: dict[str, Any] = {"vaultwire.key": f"caller {number}"}
        assert door.post("ping", **scope).status == 200
    assert len(door.app._endpoint._peers) == 3  # nothing else shows how many there are


def test_a_client_watches_so_many_resources(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MAX_WATCHED", 2)
    client = door.open()
    watched = [client.post("resources/subscribe", {"uri": f"obsidian://{name}"}).json() for name in "abca"]
    assert ["error" in answer for answer in watched] == [False, False, True, False]
    client.post("resources/unsubscribe", {"uri": "obsidian://a"})
    assert "result" in client.post("resources/subscribe", {"uri": "obsidian://c"}).json()
    for uris, status in ((["obsidian://a", "obsidian://b"], 200), (["a:", "b:", "c:"], 400)):
        assert door.stateless("subscriptions/listen", {"notifications": {RESOURCE_UPDATES: uris}}).status == status


def test_so_many_calls_are_under_way_even_of_clients_that_hung_up(
    door: Door, stage: AskingStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamable_http, "_LISTEN_AFTER_SECONDS", 0.0)
    clients = [client, _] = [door.open(), door.open()]  # one alone may have half of them
    for number in range(MOST_CALLS):
        clients[number % 2].call("wait", None, number, gate="a").leave()
    for refused in (client.call("echo", None, "x"), door.post("tools/call", {"name": "echo"})):
        assert refused.json()["result"]["_meta"]["errorCode"] == "SERVER_BUSY"
    assert client.post("ping", id_="ping").status == 200
    stage.gate("a").released.set()
    answers = (client.call("echo", None, f"again {number}").json() for number in range(10_000))
    assert any(not answer["result"]["isError"] for answer in answers)


def test_sessions_used_longest_ago_are_let_go_when_all_together_keep_too_much(
    door: Door, stage: AskingStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = MemoryBudget(60_000, 0)
    monkeypatch.setattr(mcp_endpoint, "MEMORY_BUDGET", account)
    first, at_work, third = door.open(), door.open(), door.open()
    call = at_work.call("count", {"progressToken": 1}, gate="a")
    assert call.event() is not None
    assert first.post("ping").status == 200
    others = [door.open() for _ in range(4)]
    stage.gate("a").released.set()
    assert [client.post("ping").status for client in (third, *others)] == [404, 404, 200, 200, 200]
    said = [json.loads(event["data"]) for event in iter(call.event, None) if event["data"]]
    assert text_of(said[-1]) == "counted"


def test_a_long_message_is_refused_while_others_are_worked_on(
    door: Door, stage: AskingStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = MemoryBudget(1_000_000, 0)
    monkeypatch.setattr(mcp_endpoint, "MEMORY_BUDGET", account)
    monkeypatch.setattr(mcp_endpoint, "Reservation", lambda size: Reservation(size, account))
    client = door.open()
    waiting = client.post("tools/call", {"name": "wait", "arguments": {"gate": "a"}, "_meta": {"x": "y" * 700_000}}, 2)
    refused = client.post("ping", {"x": "y" * 700_000}, 3)
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert client.post("ping", id_=4).status == 200
    stage.gate("a").released.set()
    assert "result" in waiting.json()
    assert client.post("ping", {"x": "y" * 700_000}, 5).status == 200


def test_what_a_client_says_of_itself_is_bounded(door: Door) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"x": "y" * 20_000}}}
    assert "capabilities may have at most" in door.post("initialize", params).json()["error"]["message"]
    client = door.open()
    for uri, fits in (("obsidian://" + "x" * 200_000, True), ("obsidian://" + "y" * 100_000, False)):
        assert ("result" in client.post("resources/subscribe", {"uri": uri}).json()) is fits
    listen = door.stateless("subscriptions/listen", {"notifications": {RESOURCE_UPDATES: ["x" * 300_000]}})
    assert listen.status == 400
