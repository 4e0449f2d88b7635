"""``vaultwire connect`` over MCP: whatever revision and whatever happens, the client sees one server at stdin."""

from __future__ import annotations

import base64
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.behind import Asked, Behind, Relay
from support.serving import PATIENCE, Serving
from support.vaults import write_vault
from support.wire import HANDSHAKE_REVISIONS, REVISIONS, STATELESS_REVISION, Server, envelope
from vaultwire.transports.relay.http_client import MAX_ANSWER_BYTES

PIECE = 1024 * 1024
LATEST = HANDSHAKE_REVISIONS[-1]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    vault = write_vault(tmp_path_factory.mktemp("vault"), "=== Grüße.md\nhello\n=== Other.md\n[[Grüße]]\n")
    with Serving(vault, "--structured") as server:
        yield server


def call(relay: Relay, name: str, **arguments: Any) -> int:
    return relay.post("tools/call", {"name": name, "arguments": arguments})


def error_of(answer: Any) -> tuple[str, str]:
    return answer["error"]["data"]["errorCode"], answer["error"]["message"]


# ---------------------------------------------------------------------- a real server


@pytest.mark.parametrize("ending", ["", "/", "/mcp"])
def test_any_spelling_of_the_url_leads_there(served: Serving, ending: str) -> None:
    with Relay(served.url + ending) as relay:
        assert relay.open(LATEST)["serverInfo"]["name"] == "vaultwire"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_client_of_any_revision_sees_what_it_would_see_at_the_server_itself(served: Serving, revision: str) -> None:
    with Relay(served.url) as relay:
        opened = relay.open(revision)
        assert "resources" in opened["capabilities"]
        tools = relay.request("tools/list")["result"]["tools"]
        assert {"read_notes", "create_note"} <= {tool["name"] for tool in tools}
        assert ("outputSchema" in tools[0]) is (revision >= "2025-06-18")
        call(relay, "read_note", path="Grüße")
        assert relay.receive()["result"]["content"][0]["text"] == "hello\n"
        read = relay.request("resources/read", {"uri": f"obsidian://vault/{opened and 'vault'}/nothing"})
        assert read["error"]["code"] in (-32002, -32602)
        assert relay.close() == (0, b"", b"")


def test_a_change_is_on_record_under_the_clients_own_name(served: Serving) -> None:
    with Relay(served.url) as relay:
        relay.open(LATEST)
        call(relay, "write_note", path="New", content="x\n")
        assert relay.receive()["result"]["isError"] is False
        call(relay, "list_changes")
        changes = relay.receive()["result"]["structuredContent"]["changes"]
    assert [change["client"] for change in changes if change["tool"] == "write_note"] == ["tests"]


def test_many_calls_at_once_are_all_answered(served: Serving) -> None:
    with Relay(served.url) as relay:
        relay.open(LATEST)
        relay.request("tools/list")
        expected = {call(relay, "read_note", path="Grüße") for _ in range(200)}
        answered: set[object] = set()
        while answered != expected:
            message = relay.receive()
            if message.get("method") != "notifications/resources/list_changed":  # the index may just have been built
                answered.add(message["id"])


@pytest.mark.parametrize("line", [b"{", b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', b"[]", b"7"])
def test_what_is_no_message_is_answered_as_by_the_server_itself(served: Serving, line: bytes) -> None:
    with Relay(served.url) as relay:
        relay.open(LATEST)
        relay.send_line(line)
        assert relay.receive()["error"]["code"] in (-32700, -32600)
        assert "result" in relay.request("ping")


def test_a_batch_of_the_revision_that_has_them_is_answered(served: Serving) -> None:
    with Relay(served.url) as relay:
        relay.open("2025-03-26")
        relay.send([{"jsonrpc": "2.0", "id": id_, "method": "ping"} for id_ in ("a", "b")])
        assert {answer["id"] for answer in relay.receive()} == {"a", "b"}


def test_a_killed_server_gives_an_error_and_a_new_one_at_its_place_goes_on(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", "=== Note.md\nhello\n")
    with Serving(vault) as server:
        relay = Relay(server.url)
        with relay:
            relay.open(LATEST)
            relay.request("tools/list")
            server.process.kill()
            server.process.wait()
            call(relay, "read_note", path="Note")
            code, message = error_of(relay.receive())
            assert code == "SERVER_UNREACHABLE"
            assert "was not sent" in message
            with Serving(vault, "--port", str(server.port)):
                call(relay, "read_note", path="Note")
                assert relay.receive()["method"] == "notifications/resources/list_changed"
                assert relay.receive()["result"]["content"][0]["text"] == "hello\n"
                relay.close()


# ---------------------------------------------------------------------- what the server says besides


def test_progress_and_questions_come_through_and_so_does_the_answer() -> None:
    answered = threading.Event()

    def work(asked: Asked) -> None:
        asked.begin_stream()
        asked.event(
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
        )
        asked.event({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "Sure?"}})
        assert answered.wait(30)
        asked.event(asked.answer({"content": []}))
        asked.end_stream()

    def hear(asked: Asked) -> None:
        assert asked.message["result"] == {"action": "accept"}
        asked.reply(202)
        answered.set()

    with Behind(tools__call=work, answer=hear) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        id_ = call(relay, "change")
        assert relay.receive()["method"] == "notifications/progress"
        assert relay.receive()["method"] == "elicitation/create"
        relay.send({"jsonrpc": "2.0", "id": "unasked", "result": {}})  # goes nowhere
        relay.send({"jsonrpc": "2.0", "id": "q", "result": {"action": "accept"}})
        assert relay.receive() == {"jsonrpc": "2.0", "id": id_, "result": {"content": []}}
        assert behind.count("answer") == 1


def test_what_the_server_says_unasked_comes_through_and_is_listened_for_again() -> None:
    seen: list[str] = []

    def say(asked: Asked) -> None:
        seen.append(asked.headers.get("last-event-id", ""))
        asked.begin_stream()
        asked.write("retry: 1\n: nothing\n\n")
        asked.event(
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": len(seen)}}, f"e{len(seen)}"
        )
        if len(seen) == 3:
            asked.wait_for_hanging_up()
        asked.end_stream()

    with Behind(GET=say) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        assert [relay.receive()["params"]["data"] for _ in range(3)] == [1, 2, 3]
        assert seen == ["", "e1", "e2"]
        assert relay.close()[0] == 0


@pytest.mark.parametrize("times", [1, 3])
def test_an_answer_whose_stream_broke_is_asked_for_where_it_broke(times: int) -> None:
    calls: list[Asked] = []

    def begin(asked: Asked) -> None:
        calls.append(asked)
        asked.begin_stream()
        asked.write("id: 1-0\nretry: 1\ndata:\n\n")
        asked.drop()

    def go_on(asked: Asked) -> None:
        last = asked.headers.get("last-event-id")
        if last is None:
            asked.reply(405)
            return
        asked.begin_stream()
        if int(last[2:]) < times - 1:
            asked.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, f"1-{int(last[2:]) + 1}")
        else:
            asked.event(calls[0].answer({"content": []}))
        asked.end_stream()

    with Behind(tools__call=begin, GET=go_on) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        answer = relay.request("tools/call", {"name": "change"})
        assert answer["result"] == {"content": []}
        assert len(relay.notifications) == times - 1
        assert len(calls) == 1


def test_an_answer_in_many_lines_is_one_line() -> None:
    with Behind(tools__call=lambda asked: asked.reply(200, asked.answer({"a": "1\n2"}), indent=2)) as behind:
        with Relay(behind.url) as relay:
            relay.open(LATEST)
            assert relay.request("tools/call", {"name": "look"})["result"] == {"a": "1\n2"}
        with Relay(behind.url) as relay:
            relay.open(LATEST)
            behind.on["tools/call"] = stream_in_pieces
            assert relay.request("tools/call", {"name": "look"})["result"] == {"a": "1\n2"}


def stream_in_pieces(asked: Asked) -> None:
    asked.begin_stream()
    lines = json.dumps(asked.answer({"a": "1\n2"}), indent=2).split("\n")
    asked.write("event: message\r\n" + "".join(f"data: {line}\r\n" for line in lines) + "\r\n")
    asked.end_stream()


# ---------------------------------------------------------------------- headers


def test_a_session_is_named_in_every_request_and_ended() -> None:
    with Behind(tools__call=lambda asked: asked.result({})) as behind, Relay(behind.url) as relay:
        relay.open("2025-06-18")
        relay.request("tools/call", {"name": "look"})
        assert relay.close() == (0, b"", b"")
        behind.wait_for("DELETE")
    first, *others = behind.asked
    assert "mcp-session-id" not in first.headers
    for asked in others:
        assert asked.headers["mcp-session-id"] == "session-1"
        assert asked.headers["mcp-protocol-version"] == "2025-06-18"
        assert asked.headers.get("accept", "text/event-stream").endswith("text/event-stream")


@pytest.mark.parametrize(
    ("method", "params", "headers"),
    [
        ("tools/call", {"name": "look"}, {"mcp-name": "look"}),
        ("tools/call", {"name": "Grüße"}, {"mcp-name": f"=?base64?{base64.b64encode('Grüße'.encode()).decode()}?="}),
        ("prompts/get", {"name": " x"}, {"mcp-name": "=?base64?IHg=?="}),
        ("resources/read", {"uri": "a://b/c%20d"}, {"mcp-name": "a://b/c%20d"}),
        ("tools/call", {"name": "send", "arguments": {"region": "eu"}}, {"mcp-param-region": "eu"}),
        ("tools/call", {"name": "send", "arguments": {"region": None}}, {"mcp-param-region": None}),
        ("tools/list", {}, {"mcp-name": None}),
    ],
)
def test_a_stateless_request_says_in_its_headers_what_its_body_says(
    method: str, params: dict[str, Any], headers: dict[str, str | None]
) -> None:
    with Behind(server__discover=lambda asked: asked.result({})) as behind, Relay(behind.url) as relay:
        relay.open(STATELESS_REVISION)
        relay.request("tools/list")
        behind.on[method] = lambda asked: asked.result({"tools": []})
        relay.request(method, params)
        asked = behind.asked[-1]
        assert asked.headers["mcp-method"] == method
        assert asked.headers["mcp-protocol-version"] == STATELESS_REVISION
        assert "mcp-session-id" not in asked.headers
        assert {name: asked.headers.get(name) for name in headers} == headers


@pytest.mark.parametrize("options", [("--key", "vw_secret"), ("--key-file",), ()])
def test_the_key_is_shown_to_the_server_and_nobody_else(tmp_path: Path, options: tuple[str, ...]) -> None:
    environment = {} if options else {"VAULTWIRE_KEY": "vw_secret"}
    if options == ("--key-file",):
        (tmp_path / "key").write_text("vw_secret\n")
        options = ("--key-file", str(tmp_path / "key"))

    def refuse(asked: Asked) -> None:
        asked.reply(401, {"error": "Unauthorized", "message": "This key is not a key of this server"})

    with Behind(initialize=refuse) as behind, Relay(behind.url, *options, **environment) as relay:
        id_ = relay.post("initialize", {"protocolVersion": LATEST, "capabilities": {}})
        answer = relay.receive()
        assert answer["id"] == id_
        code, message = error_of(answer)
        assert code == "SERVER_REFUSED"
        assert "401: This key is not" in message
        _, output, errors = relay.close()
        assert b"vw_secret" not in output + errors + json.dumps(answer).encode()
        assert [asked.headers["authorization"] for asked in behind.asked] == ["Bearer vw_secret"]  # and no second try


def test_a_redirection_is_not_followed() -> None:
    def redirect(asked: Asked) -> None:
        asked.reply(307, location="http://example.invalid/mcp")

    with Behind(initialize=redirect) as behind, Relay(behind.url, VAULTWIRE_KEY="k") as relay:
        relay.post("initialize", {"protocolVersion": LATEST, "capabilities": {}})
        assert "307" in error_of(relay.receive())[1]


# ---------------------------------------------------------------------- what is lost, and what is not sent twice


def test_a_call_that_may_have_run_is_not_sent_again_and_the_client_is_told() -> None:
    with Behind(tools__call=lambda asked: asked.drop()) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        code, message = error_of(relay.request("tools/call", {"name": "change"}))
        assert code == "CONNECTION_LOST"
        assert "It may have run" in message
        assert behind.count("tools/call") == 1
        behind.on["tools/call"] = lambda asked: asked.result({"content": []})
        assert "result" in relay.request("tools/call", {"name": "change"})


@pytest.mark.parametrize("end", ["stream", "answer", "no json"])
def test_an_answer_that_breaks_off_is_an_error(end: str) -> None:
    def break_off(asked: Asked) -> None:
        if end == "no json":
            asked._handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n<p>")
        elif end == "answer":
            asked._handler.wfile.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{}"
            )
            asked.drop()
        else:
            asked.begin_stream()
            asked.write('data: {"jsonrpc"')
            asked.drop()

    with Behind(tools__call=break_off) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        assert error_of(relay.request("tools/call", {"name": "change"}))[0] == "CONNECTION_LOST"
        assert behind.count("tools/call") == 1


NO_ANSWERS: dict[str, Any] = {
    "an empty object": {},
    "an object of something else": {"content": [{"type": "text", "text": "hello"}], "isError": False},
    "an id alone": {"jsonrpc": "2.0", "id": 2},
    "another version": {"id": 2, "result": {}},
    "no id": {"jsonrpc": "2.0", "result": {}},
    "both": {"jsonrpc": "2.0", "id": 2, "result": {}, "error": {"code": 1, "message": "no"}},
    "an error in words": {"jsonrpc": "2.0", "id": 2, "error": "no"},
    "an error without words": {"jsonrpc": "2.0", "id": 2, "error": {"code": 1}},
    "a number": 1,
    "text": "hello",
    "nothing": [],
    "a list of nothing": [{}],
    "a method that is none": {"jsonrpc": "2.0", "id": 2, "method": 1},
}


@pytest.mark.parametrize("as_stream", [False, True])
@pytest.mark.parametrize("value", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_no_answer_is_not_passed_on_as_one(value: Any, as_stream: bool) -> None:
    def answer(asked: Asked) -> None:
        if as_stream:
            asked.begin_stream()
            asked.event(value)
            asked.end_stream()
        else:
            asked.reply(200, value)

    with Behind(tools__call=answer) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        code, message = error_of(relay.request("tools/call", {"name": "change"}))
        assert code == "CONNECTION_LOST"
        assert "what is no JSON-RPC message" in message
        assert "It may have run" in message
        assert behind.count("tools/call") == 1
        behind.on["tools/call"] = lambda asked: asked.result({"content": []})
        assert "result" in relay.request("tools/call", {"name": "change"})


TOO_LONG: dict[str, tuple[bytes, Callable[[int], bytes]]] = {
    "a body": (b"application/json", lambda _: b"x" * PIECE),
    "a line": (
        b"text/event-stream",
        lambda number: b"id: 1\n\ndata:".ljust(PIECE, b"x") if not number else b"x" * PIECE,
    ),
    "an event": (
        b"text/event-stream",
        lambda number: b"id: 1\n\n" if not number else b"data: ".ljust(PIECE - 1, b"x") + b"\n",
    ),
    "an event of empty lines": (b"text/event-stream", lambda _: b"data\n" * (PIECE // 5)),
    "an event of lines in one": (b"text/event-stream", lambda _: b"data\r" * (PIECE // 5)),
}


@pytest.mark.parametrize(("kind", "piece"), TOO_LONG.values(), ids=TOO_LONG)
def test_an_answer_without_end_is_an_error_and_takes_only_so_much_memory(
    kind: bytes, piece: Callable[[int], bytes]
) -> None:
    taken: list[int] = []

    def go_on(asked: Asked) -> None:
        file = asked._handler.wfile
        file.write(b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\n\r\n")
        asked._handler.close_connection = True
        try:
            taken.extend(file.write(piece(number)) for number in range(1000))
        except OSError:
            pass

    itself = [sys.executable, "-m", "vaultwire", "connect"]  # how much memory it takes depends on what it has loaded
    with Behind(tools__call=go_on) as behind, Server(None, behind.url, command=itself) as relay:
        relay.open(LATEST)
        code, message = error_of(relay.request("tools/call", {"name": "change"}))
        assert code == "CONNECTION_LOST"
        assert f"more than {MAX_ANSWER_BYTES} bytes" in message
        assert behind.count("tools/call") == behind.count("GET") == 1  # neither sent again nor asked for the rest
        assert sum(taken) < MAX_ANSWER_BYTES + 32 * PIECE  # what sockets hold on either side
        if sys.platform == "linux":
            status = Path(f"/proc/{relay.process.pid}/status").read_text()
            most = int(status.partition("VmHWM:")[2].split()[0]) * 1024
            assert most < 4 * MAX_ANSWER_BYTES  # a body comes in pieces that are put together once
        behind.on["tools/call"] = lambda asked: asked.result({"content": []})
        assert "result" in relay.request("tools/call", {"name": "change"})


def test_a_stream_that_goes_on_behind_its_answer_is_left() -> None:
    left = threading.Event()

    def go_on(asked: Asked) -> None:
        asked.begin_stream()
        asked.event(asked.answer({"content": []}))
        try:
            while True:
                asked.write(": still here\n\n" * 1000)
        except OSError:
            left.set()
        asked._handler.close_connection = True

    with Behind(tools__call=go_on) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        assert "result" in relay.request("tools/call", {"name": "change"})
        assert left.wait(PATIENCE)


def test_a_forgotten_session_is_opened_anew_as_the_client_had_it() -> None:
    with Behind() as behind, Relay(behind.url) as relay:
        behind.capabilities = {"tools": {"listChanged": True}, "prompts": {"listChanged": False}}
        for method in ("logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tools/call"):
            behind.on[method] = lambda asked: asked.result({})
        relay.open(LATEST)
        relay.request("logging/setLevel", {"level": "error"})
        for uri in ("a:1", "a:2"):
            relay.request("resources/subscribe", {"uri": uri})
        relay.request("resources/unsubscribe", {"uri": "a:1"})
        behind.on["tools/call"] = lambda asked: (
            asked.reply(404, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no session"}})
            if asked.headers["mcp-session-id"] == "session-1"
            else asked.result({"content": []})
        )
        known = len(behind.asked)
        id_ = call(relay, "change")
        told = [relay.receive(), relay.receive()]
        assert {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}} in told
        assert {"jsonrpc": "2.0", "id": id_, "result": {"content": []}} in told
        again = [asked for asked in behind.asked[known:] if asked.rpc != "GET"]
        assert [asked.rpc for asked in again] == [
            "tools/call",
            "initialize",
            "notifications/initialized",
            "logging/setLevel",
            "resources/subscribe",
            "tools/call",
        ]
        assert again[1].message["params"]["clientInfo"] == {"name": "tests", "version": "0"}
        assert again[4].message["params"]["uri"] == "a:2"


def test_a_server_that_is_not_there_yet_is_waited_for() -> None:
    with Behind() as placeholder:
        port = placeholder.url.rpartition(":")[2]
    with Relay(placeholder.url) as relay:
        id_ = relay.post("initialize", {"protocolVersion": LATEST, "capabilities": {}})
        assert relay.process.stderr is not None
        waiting = relay.process.stderr.readline().decode()
        assert "cannot be reached" in waiting
        assert waiting.endswith("Next try in 1 s\n")
        with Behind(int(port)):
            assert relay.receive()["id"] == id_


def test_a_client_that_leaves_is_not_kept_by_a_server_that_is_not_there() -> None:
    with Behind() as placeholder:
        pass
    with Relay(placeholder.url) as relay:
        relay.post("initialize", {"protocolVersion": LATEST, "capabilities": {}})
        code, output, _ = relay.close()
        assert code == 1
        assert error_of(json.loads(output))[0] == "SERVER_UNREACHABLE"


# ---------------------------------------------------------------------- order, cancellation, the end


def test_changes_go_one_after_another_and_reading_beside_them() -> None:
    free = threading.Event()

    def work(asked: Asked) -> None:
        if asked.message["params"]["name"] == "change":
            assert free.wait(30)
        asked.result({"content": []})

    with Behind(tools__call=work) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        relay.request("tools/list")
        changes = [call(relay, "change") for _ in range(3)]
        behind.wait_for("tools/call")
        look = call(relay, "look")
        assert relay.receive()["id"] == look
        assert behind.count("tools/call") == 2  # one change, one look
        free.set()
        assert [relay.receive()["id"] for _ in changes] == changes


@pytest.mark.parametrize("revision", [LATEST, STATELESS_REVISION])
def test_a_cancelled_call_is_cancelled_at_the_server_in_its_revisions_way(revision: str) -> None:
    ended = threading.Event()

    def work(asked: Asked) -> None:
        if revision == STATELESS_REVISION:
            assert asked.wait_for_hanging_up() == b""
        else:
            assert ended.wait(30)
            asked.reply(202)
        ended.set()

    def hear(asked: Asked) -> None:
        assert asked.message["params"]["requestId"] == 2
        asked.reply(202)
        ended.set()

    with Behind(tools__call=work, notifications__cancelled=hear) as behind, Relay(behind.url) as relay:
        behind.on["server/discover"] = lambda asked: asked.result({})
        relay.open(revision)
        id_ = call(relay, "look")
        behind.wait_for("tools/call")
        relay.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}})
        assert ended.wait(30)
        assert relay.request("tools/list")["id"] != id_  # and nothing was said of the other before
        assert relay.notifications == []
        assert behind.count("notifications/cancelled") == (0 if revision == STATELESS_REVISION else 1)


def test_a_call_that_waits_in_line_and_is_cancelled_is_never_sent() -> None:
    free = threading.Event()

    def work(asked: Asked) -> None:
        assert free.wait(30)
        asked.result({"content": []})

    with Behind(tools__call=work) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        first, second, third = (call(relay, "change") for _ in range(3))
        behind.wait_for("tools/call")
        relay.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": second}})
        relay.request("tools/list")  # the cancellation has been heard by now
        free.set()
        assert [relay.receive()["id"], relay.receive()["id"]] == [first, third]
        assert behind.count("tools/call") == 2
        assert behind.count("notifications/cancelled") == 0


def test_the_end_waits_for_what_is_in_flight() -> None:
    free = threading.Event()

    def work(asked: Asked) -> None:
        assert free.wait(30)
        asked.result({"content": []})

    with Behind(tools__call=work) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        id_ = call(relay, "change")
        behind.wait_for("tools/call")
        relay.process.send_signal(signal.SIGTERM)
        free.set()
        code, output, _ = relay.close()
        assert (code, json.loads(output)["id"]) == (0, id_)
        behind.wait_for("DELETE")


def test_a_second_use_of_an_id_in_flight_is_refused_and_the_first_is_answered() -> None:
    free = threading.Event()

    def work(asked: Asked) -> None:
        assert free.wait(30)
        asked.result({"content": []})

    with Behind(tools__call=work) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        message = {"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": {"name": "change"}}
        relay.send(message)
        relay.send(message)
        assert "in use" in relay.receive()["error"]["message"]
        free.set()
        assert relay.receive()["id"] == "same"
        assert behind.count("tools/call") == 1


def test_a_subscription_without_a_session_goes_on_beside_other_calls(served: Serving) -> None:
    with Relay(served.url) as relay:
        relay.open(STATELESS_REVISION)
        params = {"notifications": {"toolsListChanged": True}, "_meta": envelope()}
        listening = relay.post("subscriptions/listen", params)
        assert relay.receive()["method"] == "notifications/subscriptions/acknowledged"
        assert "result" in relay.request("tools/list")
        relay.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": listening}})
        assert relay.close() == (0, b"", b"")
