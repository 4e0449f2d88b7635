"""The record, limits and answers' sizes as clients meet them: at every door, and each client by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.serving import Serving
from support.vaults import write_vault
from support.wire import REVISIONS, Server
from vaultwire.cli import main
from vaultwire.trust.audit import records, verify

NOTES = """
=== A.md
Alpha secret words.
=== B.md
Beta.
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "notes", NOTES)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit" / "audit.jsonl"


def lines(log: Path) -> list[dict[str, Any]]:
    return list(records(str(log)))


def outcomes(log: Path) -> list[tuple[str, str]]:
    """Return what was asked and what came of it, in order."""
    asked = {each["request_id"]: each.get("tool_name", each.get("method")) for each in lines(log) if "method" in each}
    return [
        (str(asked[each["request_id"]]), each.get("error_code", each["result_status"]))
        for each in lines(log)
        if each["type"] == "response"
    ]


# ---------------------------------------------------------------------- the record


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_request_over_stdio_is_on_record(notes: Path, log: Path, revision: str) -> None:
    with Server(notes, "--audit", str(log)) as server:
        server.open(revision)
        server.request("tools/list")
        server.call("obsidian-read-note", path="A.md")
        server.call("write_note", path="C.md", content="Gamma.")
        server.request("tools/call", {"name": "read_note", "arguments": {"path": "Nowhere.md"}})
        server.request("tools/call", {"name": "read_note", "arguments": {"wrong": 1}})
        server.request("tools/call", {"name": "nosuch", "arguments": {}})
        server.request("resources/list")
        server.request("resources/read", {"uri": "obsidian://vault/notes/A.md"})
        server.close()
    assert outcomes(log) == [
        ("tools/list", "success"),
        ("read_note", "success"),
        ("write_note", "success"),
        ("read_note", "FILE_NOT_FOUND"),
        ("read_note", "INVALID_ARGUMENTS"),
        ("(no such tool), 6 characters", "TOOL_NOT_FOUND"),
        ("resources/list", "success"),
        ("resources/read", "success"),
    ]
    assert {each["client"] for each in lines(log) if each["type"] == "request"} == {"tests"}
    assert verify(str(log)).problems == []
    text = log.read_text()
    assert "Gamma" not in text
    assert "secret words" not in text


def test_the_record_shows_arguments_as_they_were_read(notes: Path, log: Path) -> None:
    with Server(notes, "--audit", str(log), "--rate", "write_note=2") as server:
        server.open("2025-11-25")
        for given in (
            {"file": "C.md", "markdown": "Gamma."},
            {"note": "C.md", "newText": "Gamma.", "mode": "Append"},
            {"note": "C.md", "newText": "Gamma.", "mode": "Append"},  # too often
        ):
            server.request("tools/call", {"name": "write_note", "arguments": given})
        for edits in (
            '[{"action": "append", "content": "Gamma."}]',
            '[{"content": "Gamma."',
            {"old": "Gamma.", "new": "x"},
        ):
            server.request("tools/call", {"name": "edit_note", "arguments": {"name": "B.md", "edits": edits}})
        server.close()
    assert [how for _, how in outcomes(log)] == [
        *("success", "success", "RATE_LIMITED"),
        *("success", "INVALID_ARGUMENTS", "success"),
    ]
    shown = [each["arguments"] for each in lines(log) if each["type"] == "request"]
    assert [set(arguments) for arguments in shown] == [
        *({"path", "content"}, {"path", "content", "mode"}, {"path", "content", "mode"}),
        *[{"path", "edits"}] * 3,
    ]
    assert [arguments["path"] for arguments in shown] == ["C.md"] * 3 + ["B.md"] * 3
    assert "Gamma" not in log.read_text()


def test_every_door_of_a_server_is_on_record_and_says_whose_key_it_was(notes: Path, log: Path, tmp_path: Path) -> None:
    state = {"VAULTWIRE_STATE": str(tmp_path / "state")}
    key = issue("phone", tmp_path / "state")
    with Serving(notes, "--audit", str(log), "--require-key", **state) as server:
        assert server.call("read_note", {"path": "A.md"}, x_api_key=key).status == 200
        post(server, call("read_note", path="B.md"), key)
        session = open_session(server, key)
        post(server, call("list_notes"), key, mcp_session_id=session)
        assert server.call("read_note", {"path": "A.md"}, x_api_key="wrong").status == 401
    assert outcomes(log) == [("read_note", "success"), ("read_note", "success"), ("list_notes", "success")]
    assert {each["principal"] for each in lines(log) if each["type"] == "request"} == {"phone"}
    assert key not in log.read_text()


def test_several_servers_write_one_log(notes: Path, log: Path) -> None:
    with (
        Server(notes, "--audit", str(log)) as one,
        Server(notes, "--audit", str(log)) as other,
    ):
        for server in (one, other):
            server.open("2025-11-25")
        for number in range(20):
            (one, other)[number % 2].call("read_note", path="A.md")
    assert len(outcomes(log)) == 20
    assert verify(str(log)).problems == []


def test_a_strict_record_that_cannot_be_written_lets_nothing_happen(notes: Path, log: Path) -> None:
    with Server(notes, "--audit", str(log), "--audit-strict") as server:
        server.open("2025-11-25")
        assert server.call("read_note", path="A.md")["isError"] is False
        log.unlink()
        log.mkdir()
        result = server.call("write_note", path="C.md", content="Gamma.")
        assert result["_meta"]["errorCode"] == "AUDIT_FAILED"
        assert not (notes / "C.md").exists()
        assert server.request("resources/list")["error"]["data"]["errorCode"] == "AUDIT_FAILED"
        assert server.request("tools/list")["error"]["data"]["errorCode"] == "AUDIT_FAILED"
        log.rmdir()
        assert server.call("write_note", path="C.md", content="Gamma.")["isError"] is False


def test_any_other_record_does_not_stand_in_the_way(notes: Path, log: Path) -> None:
    with Server(notes, "--audit", str(log)) as server:
        server.open("2025-11-25")
        log.unlink()
        log.mkdir()
        for _ in range(3):
            assert server.call("read_note", path="A.md")["isError"] is False
        _, _, errors = server.close()
    assert errors.decode().count("cannot write the audit log") == 1


@pytest.mark.parametrize(
    ("place", "complaint"),
    [("notes/audit.jsonl", "must not be in the vault"), ("a file/audit.jsonl", "cannot write the audit log")],
)
def test_a_log_that_cannot_be_is_refused_at_the_start(
    notes: Path, tmp_path: Path, place: str, complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a file").write_text("x")
    assert main(["stdio", "--vault", str(notes), "--audit", str(tmp_path / place)]) == 2
    assert complaint in capfd.readouterr().err


# ---------------------------------------------------------------------- reading the record


@pytest.fixture
def written(notes: Path, log: Path) -> Path:
    with Server(notes, "--audit", str(log.parent) + "/") as server:
        server.open("2025-11-25")
        for path in ("A.md", "B.md", "Nowhere.md"):
            server.call("read_note", path=path)
        server.call("list_notes")
    return log


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["tail"], 8),
        (["tail", "-n", "3"], 3),
        (["grep", "."], 8),
        (["grep", "b\\.md"], 1),
        (["grep", "--tool", "list_notes", "."], 2),
        (["grep", "--client", "tests", "."], 8),
        (["grep", "--errors", ""], 1),
        (["grep", "--errors", "--tool", "read_note", "not_found"], 1),
    ],
)
def test_the_log_is_read_and_searched(
    written: Path, arguments: list[str], expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *arguments, str(written)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == expected
    assert main(["audit", *arguments, "--json", str(written.parent)]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(shown) == expected
    assert all(line in lines(written) for line in shown)


def test_a_search_that_finds_nothing_or_cannot_look_says_so_by_its_exit_code(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "grep", "nothing like it", str(written)]) == 1
    assert main(["audit", "grep", "(", str(written)]) == 2
    for action in (["tail"], ["grep", "."], ["verify"]):
        assert main(["audit", *action, str(tmp_path / "nowhere")]) == 1
        assert "cannot read the audit log" in capsys.readouterr().err


def test_a_log_is_verified_and_tampering_told(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "verify", str(written)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("8 lines in 1 file, all as they were written. Last hash: ")
    last = told.split()[-1]
    assert main(["audit", "verify", str(written), "--holds", last]) == 0
    text = written.read_text()
    written.write_text("".join(text.splitlines(keepends=True)[:-1]))
    assert main(["audit", "verify", str(written), "--holds", last]) == 1
    written.write_text(text.replace("B.md", "C.md"))
    assert main(["audit", "verify", str(written)]) == 1
    assert f"{written}, line 4: does not follow the line before" in capsys.readouterr().out


def test_what_a_client_sent_does_not_move_the_cursor(
    notes: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(notes, "--audit", str(log)) as server:
        server.open("2025-11-25")
        server.call("list_notes", folder="\x1b[2J\r\n\u202e")
    main(["audit", "tail", str(log)])
    assert capsys.readouterr().out.replace("\n", "").isprintable()


# ---------------------------------------------------------------------- rates


def test_too_many_calls_are_refused_with_the_time_to_come_back(notes: Path) -> None:
    with Server(notes, "--rate", "read_note=2") as server:
        server.open("2025-11-25")
        assert [server.call("read-note", path="A.md")["isError"] for _ in range(2)] == [False, False]
        result = server.call("read_note", path="A.md")
        assert result["_meta"]["errorCode"] == "RATE_LIMITED"
        assert 1 <= result["_meta"]["errorDetails"]["retryAfter"] <= 60
        assert "Rate limit exceeded for tool: read_note" in result["content"][0]["text"]
        assert server.call("list_notes")["isError"] is False


def test_requests_that_are_no_calls_count_along(notes: Path) -> None:
    with Server(notes, "--rate", "2") as server:
        server.open("2025-11-25")
        assert "result" in server.request("resources/list")
        server.request("tools/call", {"name": "nosuch"})
        error = server.request("resources/list")["error"]
        assert (error["code"], error["data"]["errorCode"]) == (-32603, "RATE_LIMITED")
        assert error["data"]["retryAfter"] >= 1


def test_without_options_nobody_is_held_up(notes: Path) -> None:
    with Server(notes) as server:
        server.open("2025-11-25")
        assert not any(server.call("read_notes", paths=["A.md"], part="outline")["isError"] for _ in range(400))


def test_the_secure_contract_has_its_own_numbers_unless_others_are_given(notes: Path) -> None:
    with Server(notes, "--dialect", "secure") as server:
        server.open("2025-11-25")
        answers = [server.request("tools/call", {"name": "vault_overview", "arguments": {}}) for _ in range(61)]
        assert [answer.get("error", {}).get("code") for answer in answers] == [*[None] * 60, -32603]
        assert answers[-1]["error"]["message"].startswith("Rate limit exceeded for tool: vault_overview")
        changes = [server.request("tools/call", {"name": "append_daily_note", "arguments": {}}) for _ in range(31)]
        assert "error" not in changes[29]
        assert changes[30]["error"]["code"] == -32603
    with Server(notes, "--dialect", "secure", "--rate", "each=2") as server:
        server.open("2025-11-25")
        answers = [server.request("tools/call", {"name": "vault_overview", "arguments": {}}) for _ in range(3)]
        assert ["error" in answer for answer in answers] == [False, False, True]


@pytest.fixture
def shared(notes: Path, tmp_path: Path) -> Iterator[tuple[Serving, str, str]]:
    """A server with a low rate, and the keys of two clients."""
    keys = [issue(name, tmp_path / "state") for name in ("flood", "other")]
    options = ["--require-key", "--rate", "each=5"]
    with Serving(notes, *options, VAULTWIRE_STATE=str(tmp_path / "state")) as server:
        yield server, keys[0], keys[1]


def test_over_http_each_key_has_its_own_measure(shared: tuple[Serving, str, str]) -> None:
    server, flood, other = shared
    replies = [server.call("read_note", {"path": "A.md"}, x_api_key=flood) for _ in range(12)]
    assert [reply.status for reply in replies] == [200] * 5 + [429] * 7
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 60
    assert "Rate limit exceeded" in replies[-1].json["message"]
    assert [server.call("read_note", {"path": "A.md"}, x_api_key=other).status for _ in range(5)] == [200] * 5


def test_a_client_gets_no_more_by_another_door_or_session(shared: tuple[Serving, str, str]) -> None:
    server, flood, _ = shared
    assert server.call("read_note", {"path": "A.md"}, x_api_key=flood).status == 200
    codes = []
    for _ in range(2):
        session = open_session(server, flood)
        codes += [post(server, call("read_note", path="A.md"), flood, mcp_session_id=session) for _ in range(3)]
    failed = [answer["result"]["_meta"].get("errorCode") for answer in codes]
    assert failed == [None] * 4 + ["RATE_LIMITED"] * 2


# ---------------------------------------------------------------------- sizes


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_an_answer_that_is_too_large_is_refused(notes: Path, revision: str) -> None:
    (notes / "Long.md").write_text("x" * 5000)
    with Server(notes, "--max-answer", "2000") as server:
        server.open(revision)
        assert server.call("read_note", path="A.md")["isError"] is False
        result = server.call("read_note", path="Long.md")
        assert result["_meta"]["errorCode"] == "TOO_LARGE"
        error = server.request("resources/read", {"uri": "obsidian://vault/notes/Long.md"})["error"]
        assert error["data"] == {"errorCode": "TOO_LARGE", "size": 5000, "limit": 2000}


# ---------------------------------------------------------------------- told to clients' settings


def test_what_a_client_is_told_to_start_asks_for_the_same(
    notes: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        "--audit",
        str(log),
        "--audit-strict",
        "--rate",
        "each=60",
        "--rate",
        "total=600",
        "--timeout",
        "search=20",
    ]
    options += ["--max-answer", "100000", "--tools", "core", "--tool", "list_links", "--no-tool", "delete_note"]
    options += ["--allow-web", "html.duckduckgo.com"]
    assert main(["client-config", "claude-desktop", "--vault", str(notes), *options]) == 0
    (server,) = json.loads(capsys.readouterr().out)["mcpServers"].values()
    assert server["args"][server["args"].index("--vault") + 2 :] == options


# ---------------------------------------------------------------------- with


def issue(name: str, state: Path) -> str:
    from vaultwire.trust.keys import Keys  # noqa: PLC0415

    return Keys(str(state / "keys")).issue(name)


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def post(server: Serving, message: Any, key: str, **headers: str) -> Any:
    headers = {"content_type": "application/json", "accept": "application/json, text/event-stream", **headers}
    reply = server.request(
        "POST", "/mcp", json.dumps(message).encode(), x_api_key=key, mcp_protocol_version="2025-06-18", **headers
    )
    assert reply.status == 200, reply
    text = reply.body.decode()
    return json.loads(text.partition("data: ")[2] if text.startswith(("id:", "event:", "data:")) else text)


def open_session(server: Serving, key: str) -> str:
    info = {"name": "tests", "version": "0"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    reply = server.request(
        "POST",
        "/mcp",
        json.dumps(message).encode(),
        x_api_key=key,
        content_type="application/json",
        accept="application/json, text/event-stream",
    )
    return reply.headers["mcp-session-id"]
