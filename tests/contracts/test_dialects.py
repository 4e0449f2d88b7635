"""The contracts' own example messages over stdio: each sent as printed, each answer held to what is printed.

What must vary is excepted: which tools there are besides, texts that speak of a vault, times. ``docs/contracts.md`` lists
the contracts line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.vaults import open_vault, write_vault
from support.wire import REVISIONS, STATELESS_REVISION, Server
from vaultwire.app import make_handlers
from vaultwire.config import make_config
from vaultwire.protocol.dialects import DIALECTS
from vaultwire.protocol.events import Peer, Request
from vaultwire.protocol.revisions import LATEST_HANDSHAKE
from vaultwire.server.results import AnswerForm, Refusal, Result
from vaultwire.server.workers import Job
from vaultwire.toolkit.catalog import APP_CATALOG, load_catalog
from vaultwire.toolkit.registry import Failure, invoke
from vaultwire.trust.audit import records
from vaultwire.trust.limits import ClientLimits
from vaultwire.vault.value_types import NO_PROGRESS

NOTES = """
=== Projects/Plan.md
# Plan

The needle is here. #work
=== Ideas/Plan.md
Another plan.
=== Home.md
See [[Projects/Plan]].
"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    write_vault(tmp_path / "vault", NOTES)
    return tmp_path / "vault"


@contextmanager
def client(vault: Path, dialect: str, *options: str) -> Iterator[Server]:
    with Server(vault, "--dialect", dialect, *options) as server:
        yield server


def ask(server: Server, line: str) -> Any:
    """Send the line as printed and return the answer."""
    server.send_line(line.encode())
    return server.receive()


def call(server: Server, name: str, /, **arguments: Any) -> Any:
    request = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return ask(server, json.dumps(request))


# ---------------------------------------------------------------------- a server over Obsidian's command

OBSIDIAN_INITIALIZE = (
    '{ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2024-11-05", "capabilities": {},'
    ' "clientInfo": { "name": "Claude Desktop", "version": "1.0.0" } } }'
)


@contextmanager
def obsidian(vault: Path) -> Iterator[Server]:
    with client(vault, "obsidian-cli") as server:
        ask(server, OBSIDIAN_INITIALIZE)
        yield server


def test_obsidian_cli_initialize_is_answered_as_printed(vault: Path) -> None:
    with client(vault, "obsidian-cli") as server:
        assert ask(server, OBSIDIAN_INITIALIZE) == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "obsidian-mcp", "version": "1.0.0"},
            },
        }


@pytest.mark.parametrize("proposed", ["2025-11-25", "2026-07-28", "1999-01-01"])
def test_obsidian_cli_speaks_one_revision(vault: Path, proposed: str) -> None:
    with client(vault, "obsidian-cli") as server:
        answer = ask(server, OBSIDIAN_INITIALIZE.replace("2024-11-05", proposed))
        assert answer["result"]["protocolVersion"] == "2024-11-05"


def test_obsidian_cli_asks_for_the_handshake_first(vault: Path) -> None:
    with client(vault, "obsidian-cli") as server:
        error = ask(server, '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}')["error"]
        assert error["code"] == -32600
        stateless = {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tools/list",
            "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": STATELESS_REVISION}},
        }
        assert ask(server, json.dumps(stateless))["error"]["code"] == -32600


def test_obsidian_cli_lists_create_note_as_printed(vault: Path) -> None:
    with obsidian(vault) as server:
        answer = ask(server, '{ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} }')
        tools = {tool["name"]: tool for tool in answer["result"]["tools"]}
        assert all(name.startswith("obsidian_") for name in tools)
        assert all(set(tool) == {"name", "description", "inputSchema"} for tool in tools.values())
        printed = tools["obsidian_create_note"]
        assert printed["description"].startswith("Create a new note in the vault")
        schema = printed["inputSchema"]
        assert schema["type"] == "object"
        for name, kind, description in (
            ("name", "string", "Note name (without .md extension) or exact path"),
            ("content", "string", "Initial note content (markdown)"),
            ("overwrite", "boolean", "Overwrite if file exists"),
        ):
            assert schema["properties"][name]["type"] == kind
            assert schema["properties"][name]["description"] == description
        assert schema["required"] == ["name"]


CREATE = (
    '{ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "obsidian_create_note", "arguments": {'
    ' "name": "Meeting Notes", "content": "# Meeting Notes\\n\\n- Agenda item 1" } } }'
)


def test_obsidian_cli_create_note_is_answered_as_printed(vault: Path) -> None:
    with obsidian(vault) as server:
        answer = ask(server, CREATE)
        text = answer["result"]["content"][0]["text"]
        assert set(answer["result"]) == {"content"}
        found = json.loads(text)
        assert (found["success"], found["data"]["path"], found["data"]["created"]) == (True, "Meeting Notes.md", True)
        assert text.startswith('{"success":true,"data":{')
        assert (vault / "Meeting Notes.md").read_text() == "# Meeting Notes\n\n- Agenda item 1"


def test_obsidian_cli_gives_no_call_more_than_30_seconds(vault: Path) -> None:
    limits = ClientLimits()
    limits.seconds = {**limits.seconds, "file": 20.0, "web": 100.0}
    for dialect, longest in (("obsidian-cli", 30.0), ("filesystem", 100.0)):
        handlers = make_handlers(make_config([str(vault)], dialect=dialect, limits=limits))
        peer = Peer()
        jobs = [
            handlers.handle(Request(1, "tools/call", {"name": name}, LATEST_HANDSHAKE, peer), DIALECTS[dialect])
            for name in handlers.toolset.descriptions
        ]
        jobs.append(handlers.handle(Request(1, "resources/list", {}, LATEST_HANDSHAKE, peer), DIALECTS[dialect]))
        seconds = {job.seconds for job in jobs if isinstance(job, Job)}
        assert len(jobs) > 30
        assert seconds <= {20.0, min(60.0, longest), longest}


def test_obsidian_cli_names_only_tools_that_are_listed(vault: Path) -> None:
    write_vault(vault, "=== Projects/read_note.md\nx\n")
    with client(vault, "obsidian-cli", "--require-read-first", "--backend", "files") as server:
        ask(server, OBSIDIAN_INITIALIZE)
        listed = {
            tool["name"] for tool in ask(server, '{"jsonrpc":"2.0","id":2,"method":"tools/list"}')["result"]["tools"]
        }
        known = {each["name"] for each in [*load_catalog(), *load_catalog(APP_CATALOG)]}
        failed = [
            call(server, "edit_note", path="Home", edits=[{"action": "append", "content": "x"}]),
            call(server, "obsidian_create_note", content="no name"),
            call(server, "list_changes", change=77),
            call(server, "obsidian_list_links", path="Nowhere"),
            call(server, "obsidian_rename_note", file="Home", name="a/b"),
            call(server, "obsidian_set_task", file="Home", line=1, status="x"),
            call(server, "read_notes", paths=["edit_note"], part="outline"),
            call(server, "no_such_tool"),
        ]
        said = [answer["error"]["message"] for answer in failed]
    named = [re.sub(r"'[^']*'|\S+\.md\b", "", each) for each in said]
    words = {word for each in named for word in re.findall(r"[a-z]+(?:_[a-z]+)+", each)}
    assert len(words & listed) > 5
    assert words & (known - listed) == set()
    assert "'edit_note'" in said[6], "a name that the client gave stays as it is"


def test_obsidian_cli_overwrites_only_when_asked(vault: Path) -> None:
    with obsidian(vault) as server:
        ask(server, CREATE)
        refused = call(server, "obsidian_create_note", name="Meeting Notes", content="other")["error"]
        assert (refused["code"], refused["data"]["errorCode"]) == (-32000, "NOTE_EXISTS")
        assert "result" in call(server, "obsidian_create_note", name="Meeting Notes", content="other", overwrite=True)
        assert (vault / "Meeting Notes.md").read_text() == "other"


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "error_code"),
    [
        ("obsidian_open_note", {"file": "Home"}, -32001, "OBSIDIAN_NOT_RUNNING"),
        ("obsidian_read_note", {"file": "Nowhere"}, -32003, "FILE_NOT_FOUND"),
        ("obsidian_read_note", {"path": "../outside.md"}, -32005, "PATH_OUTSIDE_VAULT"),
        ("obsidian_create_note", {"content": "no name"}, -32602, "INVALID_ARGUMENTS"),
        ("obsidian_no_such_tool", {}, -32602, "TOOL_NOT_FOUND"),
    ],
)
def test_obsidian_cli_failures_are_errors_with_its_numbers(
    vault: Path, tool: str, arguments: dict[str, Any], code: int, error_code: str
) -> None:
    with obsidian(vault) as server:
        error = call(server, tool, **arguments)["error"]
        assert (error["code"], error["data"]["errorCode"]) == (code, error_code)


def test_obsidian_cli_says_that_the_app_is_not_running_in_its_words(vault: Path) -> None:
    with obsidian(vault) as server:
        assert call(server, "obsidian_open_note", file="Home")["error"] == {
            "code": -32001,
            "message": "Obsidian application is not running. Please start Obsidian and try again.",
            "data": {"errorCode": "OBSIDIAN_NOT_RUNNING"},
        }


# ---------------------------------------------------------------------- a server whose first concern is safety

SECURE_INITIALIZE = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"test",'
    '"version":"1.0"},"capabilities":{}}}'
)


INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def shake_hands(server: Server) -> None:
    ask(server, SECURE_INITIALIZE)
    server.send_line(INITIALIZED)


def test_secure_session_goes_as_printed(vault: Path) -> None:
    with client(vault, "secure") as server:
        assert ask(server, SECURE_INITIALIZE) == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "protocolVersion": "2025-11-25",
                "serverInfo": {"name": "mcp-secure-local", "version": "1.0.0"},
                "capabilities": {"tools": {"listChanged": True}},
            },
        }
        server.send_line(INITIALIZED)
        listed = ask(server, '{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
        assert all(set(tool) == {"name", "description", "inputSchema"} for tool in listed["result"]["tools"])
        found = call(server, "search_notes", query="needle")
        assert set(found["result"]) == {"content", "isError"}
        assert found["result"]["isError"] is False


def test_secure_lists_web_search_as_printed(vault: Path) -> None:
    with client(vault, "secure", "--allow-web", "html.duckduckgo.com") as server:
        shake_hands(server)
        tools = ask(server, '{"jsonrpc":"2.0","id":2,"method":"tools/list"}')["result"]["tools"]
        (listed,) = [tool for tool in tools if tool["name"] == "web_search"]
        assert listed["description"].startswith("Search the web using DuckDuckGo")
        schema = listed["inputSchema"]
        assert (schema["type"], schema["required"]) == ("object", ["query"])
        for name, kind, description in (
            ("query", "string", "The search query"),
            ("max_results", "integer", "Maximum results (default: 5)"),
        ):
            assert schema["properties"][name]["type"] == kind
            assert schema["properties"][name]["description"].startswith(description)


@pytest.mark.parametrize("method", ["tools/list", "ping", "resources/list", "nothing/such"])
def test_secure_answers_nothing_before_the_handshake(vault: Path, method: str) -> None:
    with client(vault, "secure") as server:
        request = f'{{"jsonrpc":"2.0","id":1,"method":"{method}"}}'
        server.send_line(INITIALIZED)  # nothing has been agreed on yet that it could confirm
        assert ask(server, request)["error"]["code"] == -32603
        assert "result" in ask(server, SECURE_INITIALIZE)
        early = ask(server, request)["error"]
        assert (early["code"], early["data"]["errorCode"]) == (-32603, "NOT_INITIALIZED")
        assert "notifications/initialized" in early["message"]
        server.send_line(INITIALIZED)
        assert ask(server, request).get("error", {}).get("code") == (-32601 if "such" in method else None)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("TIMEOUT", "Search timed out. Please try again."),
        ("WEB_FAILED", "Search failed (HTTP 500)"),
        ("INTERNAL", "web_search failed inside the server; the server's log says more."),
    ],
)
def test_secure_tells_every_failed_search_in_the_same_words(code: str, message: str) -> None:
    for tool, text in (("web_search", f"Search error: {message}"), ("read_note", f"{code}: {message}")):
        answer = AnswerForm(LATEST_HANDSHAKE, DIALECTS["secure"], tool, ()).failure(code, message, {})
        assert isinstance(answer, Result)
        assert answer.value == {"content": [{"type": "text", "text": text}], "isError": True}
        assert answer.failed == code


def test_secure_tells_a_search_that_cannot_be_in_the_same_words(vault: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with client(vault, "secure", "--allow-web", "no-engine.example", "--audit", str(log)) as server:
        shake_hands(server)
        for arguments in ({"query": "x"}, {}, {"query": ""}):
            result = call(server, "web_search", **arguments)["result"]
            assert result["isError"]
            assert result["content"][0]["text"].startswith("Search error: ")
        server.close()
    codes = [record["error_code"] for record in records(str(log)) if "error_code" in record]
    assert codes == [codes[0], "INVALID_ARGUMENTS", "INVALID_ARGUMENTS"]
    assert codes[0] in ("NETWORK_BLOCKED", "WEB_NOT_INSTALLED")


@pytest.mark.parametrize(
    ("tool", "arguments"), [("no_such", {}), ("read_note", {}), ("read_note", {"path": "Nowhere"})]
)
def test_secure_failures_are_results(vault: Path, tool: str, arguments: dict[str, Any]) -> None:
    with client(vault, "secure") as server:
        shake_hands(server)
        result = call(server, tool, **arguments)["result"]
        assert result["isError"] is True
        assert set(result) == {"content", "isError"}
        assert result["content"][0]["type"] == "text"


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("{", -32700, "Parse error"),
        ('{"jsonrpc":"2.0","id":1}', -32600, "Invalid Request"),
        ('{"jsonrpc":"2.0","id":1,"method":"nothing/such"}', -32601, "Method not found"),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', -32602, "Invalid params"),
    ],
)
def test_secure_has_the_standard_errors(vault: Path, line: str, code: int, message: str) -> None:
    with client(vault, "secure") as server:
        shake_hands(server)
        error = ask(server, line)["error"]
        assert error["code"] == code
        assert error["message"].startswith(message)


# ---------------------------------------------------------------------- a server over a vault's files

FILE_TOOLS = ["search-vault", "list-notes", "read-note", "write-note", "delete-note", "search-by-tags"]


@contextmanager
def filesystem(vault: Path, revision: str = "2025-06-18") -> Iterator[Server]:
    with client(vault, "filesystem") as server:
        server.open(revision)
        yield server


@pytest.mark.parametrize("revision", REVISIONS)
def test_filesystem_lists_tools_in_kebab_case(vault: Path, revision: str) -> None:
    with filesystem(vault, revision) as server:
        tools = {tool["name"]: tool for tool in server.request("tools/list")["result"]["tools"]}
        assert set(FILE_TOOLS) <= set(tools)
        assert not any("_" in name for name in tools)
        assert all("$schema" in tool["inputSchema"] for tool in tools.values())
        assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools.values())
        assert tools["search-vault"]["inputSchema"]["properties"]["query"]["minLength"] == 1
        if revision not in ("2024-11-05", "2025-03-26"):
            assert tools["search-vault"]["title"] == "Search Vault"
            assert all(tool["title"] for tool in tools.values())
            assert "outputSchema" in tools["search-vault"]


def test_filesystem_results_carry_structure_and_times(vault: Path) -> None:
    with filesystem(vault) as server:
        for name, arguments in (
            ("search-vault", {"query": "needle"}),
            ("list-notes", {}),
            ("search-by-tags", {"tags": ["work"]}),
        ):
            result = server.call(name, **arguments)
            assert result["content"][0]["type"] == "text"
            assert isinstance(result["structuredContent"], dict)
            assert result["_meta"]["executionTime"] >= 0
            assert result["_meta"]["timestamp"].endswith("Z")
        assert server.call("search-vault", query="needle")["_meta"]["filesSearched"] == 3
        assert server.call("read-note", path="Home.md")["_meta"]["contentLength"] == len("See [[Projects/Plan]].\n")


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "message"),
    [
        ("read-note", {"path": "Nowhere.md"}, -32002, "Note not found: Nowhere.md"),
        ("read-note", {"path": "../outside.md"}, -32003, "Path traversal detected"),
        ("list-notes", {"folder": "../outside"}, -32003, "Path traversal detected"),
        ("list-notes", {"folder": "/etc"}, -32003, "Path traversal detected"),
        ("search-vault", {"folder": "a/../../b", "query": "x"}, -32003, "Path traversal detected"),
        ("read-note", {"path": "Plan"}, -32602, None),
        ("read-note", {}, -32602, None),
        *(
            (tool, {"path": path}, -32602, None)
            for tool in ("read-note", "delete-note")
            for path in ("t.txt", "a/b.PNG", "a/")
        ),
        ("write-note", {"path": "t.txt", "content": "", "mode": "overwrite"}, -32602, None),
        ("write-note", {"path": "Home.md", "content": ""}, -32602, None),
        ("no-such-tool", {}, -32602, None),
    ],
)
def test_filesystem_failures_are_errors_with_context(
    vault: Path, tool: str, arguments: dict[str, Any], code: int, message: str | None
) -> None:
    with filesystem(vault) as server:
        error = server.request("tools/call", {"name": tool, "arguments": arguments})["error"]
        assert error["code"] == code
        assert message is None or error["message"].startswith(message)
        if code in (-32002, -32003):
            assert error["data"]["path"] == next(iter(arguments.values()))


def test_filesystem_says_how_large_a_file_is_that_is_too_large(vault: Path) -> None:
    (vault / "Large.md").write_bytes(b"x" * (10 * 1024 * 1024 + 1))
    with filesystem(vault) as server:
        error = server.request("tools/call", {"name": "read-note", "arguments": {"path": "Large.md"}})["error"]
        assert error["code"] == -32602
        assert error["message"].startswith("File too large: ")
        assert error["data"]["size"] == 10 * 1024 * 1024 + 1
        assert error["data"]["maxSize"] == 10 * 1024 * 1024
        assert "max_size" not in error["data"]


@pytest.mark.parametrize("code", ["INTERNAL", "TIMEOUT"])
def test_filesystem_has_a_number_for_what_is_the_servers_fault(code: str) -> None:
    answer = AnswerForm(LATEST_HANDSHAKE, DIALECTS["filesystem"], "read_note", ()).failure(code, "It failed.", {})
    assert isinstance(answer, Refusal)
    assert (answer.code, answer.data) == (-32603, {"errorCode": code})


# ---------------------------------------------------------------------- all of them


SPELLINGS = ["read_note", "read-note", "obsidian_read_note", "obsidian-read-note"]


@pytest.mark.parametrize("dialect", ["mcp", "filesystem", "secure"])
def test_every_spelling_of_a_name_is_accepted(vault: Path, dialect: str) -> None:
    with client(vault, dialect) as server:
        server.open("2025-11-25")
        for name in SPELLINGS:
            assert "Another plan." in server.call(name, path="Ideas/Plan.md")["content"][0]["text"]
        assert server.call("search-vault", query="needle")["content"]


@pytest.mark.parametrize("backend", ["files", "auto"])
def test_obsidian_cli_accepts_every_spelling_of_its_tools(vault: Path, backend: str) -> None:
    with client(vault, "obsidian-cli", "--backend", backend) as server:
        server.open("2024-11-05")
        for name in SPELLINGS:
            assert "Another plan." in server.call(name, path="Ideas/Plan.md")["content"][0]["text"]
        names = [tool["name"] for tool in server.request("tools/list")["result"]["tools"]]
        for name in names:
            bare = name.removeprefix("obsidian_")
            for spelt in (bare, bare.replace("_", "-"), name.replace("_", "-")):
                answer = server.request("tools/call", {"name": spelt, "arguments": {"no such argument": 1}})
                assert answer["error"]["data"]["errorCode"] == "INVALID_ARGUMENTS", spelt


@pytest.mark.parametrize("dialect", ["mcp", "obsidian-cli", "filesystem", "secure"])
def test_no_tool_is_listed_under_two_names(vault: Path, dialect: str) -> None:
    with client(vault, dialect) as server:
        server.open("2024-11-05")
        names = [tool["name"] for tool in server.request("tools/list")["result"]["tools"]]
        plain = [name.removeprefix("obsidian_").replace("-", "_") for name in names]
        assert len(set(plain)) == len(names)


@pytest.mark.parametrize("dialect", ["mcp", "obsidian-cli", "filesystem", "secure"])
def test_exit_and_the_end_of_input_end_every_dialect(vault: Path, dialect: str) -> None:
    with client(vault, dialect) as server:
        server.open("2024-11-05")
        server.send_line(b'{ "jsonrpc": "2.0", "method": "exit" }')
        assert server.process.wait(timeout=30) == 0
    with client(vault, dialect) as server:
        server.open("2024-11-05")
        code, output, _ = server.close()
        assert (code, output) == (0, b"")


def test_an_unknown_dialect_is_refused_at_the_start(vault: Path) -> None:
    with client(vault, "klingon") as server:
        code, output, errors = server.close()
        assert (code, output) == (2, b"")
        assert b"filesystem" in errors


def test_obsidian_cli_lists_schemas_as_bare_as_printed(vault: Path) -> None:
    with obsidian(vault) as server:
        answer = ask(server, '{ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} }')
    assert all("$schema" not in tool["inputSchema"] for tool in answer["result"]["tools"])


def test_obsidian_cli_says_what_the_policy_denies_with_its_number(vault: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\nwrite = ["/Open/"]\n')
    with client(vault, "obsidian-cli", "--policy", str(policy)) as server:
        ask(server, OBSIDIAN_INITIALIZE)
        error = call(server, "obsidian_create_note", name="New")["error"]
        assert (error["code"], error["data"]["errorCode"]) == (-32005, "POLICY_DENIED")


# A value of every type of JSON. What a schema asks for is one of them, and none of the others is read as it.
VALUES: dict[str, Any] = {
    "integer": 7,
    "string": "7",
    "array": ["7"],
    "object": {"7": 7},
    "boolean": True,
    "null": None,
}


@pytest.mark.parametrize("dialect", ["obsidian-cli", "filesystem", "secure"])
def test_a_dialect_takes_no_argument_of_another_type_or_name(vault: Path, dialect: str) -> None:
    handlers = make_handlers(make_config([str(vault)]))
    opened = open_vault(vault)
    for description in handlers.toolset.descriptions.values():
        for name, schema in description["inputSchema"]["properties"].items():
            others = [{name: value} for kind, value in VALUES.items() if kind != schema["type"]]
            for arguments in [*others, {name.title().replace("_", ""): "x"}, {"note": "x", "q": "x"}]:
                params = {"name": description["name"], "arguments": arguments}
                request = Request(1, "tools/call", params, LATEST_HANDSHAKE, Peer())
                handlers.handle(request, DIALECTS[dialect])
                assert request.params == params
                tool = handlers.toolset.tool(description["name"])
                outcome = invoke(tool, description, arguments, opened, NO_PROGRESS)
                assert isinstance(outcome, Failure), params


@pytest.mark.parametrize("name", [7, ["7"], True, {"name": "7"}, None])
def test_obsidian_cli_makes_no_note_of_a_name_that_is_no_text(vault: Path, name: Any) -> None:
    with obsidian(vault) as server:
        assert call(server, "obsidian_create_note", name=name)["error"]["code"] == -32602
    assert not list(vault.glob("7*"))
