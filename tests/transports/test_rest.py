"""The REST API over real sockets, held to its contract: shapes, codes, hash, and the examples as they are printed."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from support.asgi import Http, Loop
from support.serving import PATIENCE, Reply, Serving, stage
from support.toolsets import Stage
from support.vaults import open_vault, write_vault
from vaultwire import __version__
from vaultwire.server.handlers import Handlers
from vaultwire.server.workers import Workers
from vaultwire.transports import rest
from vaultwire.transports.rest import MAX_BODY_BYTES, tools_hash
from vaultwire.trust.policy import Policy

VAULT = """
=== Notes/Example.md
# Example
Grüße, 世界 🌱
"""
CORS = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-headers": "Content-Type",
}
CALL = "/bridge/v1/tools/read_note/call"


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("vault"), VAULT)


@pytest.fixture(scope="module")
def server(vault: Path) -> Iterator[Serving]:
    with Serving(vault) as started:
        yield started


def assert_error(reply: Reply, status: int, error: str) -> dict[str, Any]:
    """Check the contract's shape of errors and return the body."""
    assert (reply.status, reply.json["error"]) == (status, error)
    assert set(reply.json) <= {"error", "message", "details"}
    assert all(isinstance(value, str) and value for value in reply.json.values())
    assert reply.headers["content-type"] == "application/json"
    body: dict[str, Any] = reply.json
    return body


# ---------------------------------------------------------------------- the contract's own examples


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
@pytest.mark.parametrize(
    "command",
    [
        "curl -s http://127.0.0.1:3000/bridge/v1/health",
        "curl -s http://127.0.0.1:3000/bridge/v1/tools",
        """curl -s -X POST http://127.0.0.1:3000/bridge/v1/tools/read_note/call \\
  -H 'Content-Type: application/json' \\
  -d '{"arguments":{"path":"Notes/Example.md"}}'""",
    ],
)
def test_the_contracts_examples_work_as_they_are_printed(server: Serving, command: str) -> None:
    told = subprocess.run(
        command.replace("127.0.0.1:3000", f"127.0.0.1:{server.port}"),
        shell=True,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    answer = json.loads(told.stdout)
    if "health" in command:
        assert answer == {"status": "ok", "version": __version__, "protocolVersion": "1"}
    elif "call" in command:
        assert answer["success"] is True
        assert "世界 🌱" in answer["content"][0]["text"]
    else:
        assert set(answer) == {"tools", "hash"}


# ---------------------------------------------------------------------- GET /tools


def stringified(value: Any) -> str:
    """Return what JavaScript's JSON.stringify makes of the value once the keys of its objects are sorted, all the way down."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{stringified(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(stringified, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def test_the_tools_are_sorted_have_three_facts_each_and_the_hash_of_the_recipe(server: Serving) -> None:
    answer = server.request("GET", "/bridge/v1/tools").json
    names = [tool["name"] for tool in answer["tools"]]
    assert names == sorted(names)
    assert "read_note" in names
    for tool in answer["tools"]:
        assert set(tool) == {"name", "description", "inputSchema"}
        assert tool["inputSchema"]["type"] == "object"
        assert "$schema" not in tool["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
    assert answer["hash"] == hashlib.sha256(stringified(answer["tools"]).encode()).hexdigest()


def test_the_hash_heeds_the_order_of_arrays_and_not_that_of_keys() -> None:
    one = {"name": "a", "description": "é", "inputSchema": {"required": ["x", "y"], "properties": {"x": {}, "y": {}}}}
    same = {"inputSchema": {"properties": {"y": {}, "x": {}}, "required": ["x", "y"]}, "name": "a", "description": "é"}
    other = {**one, "inputSchema": {**one["inputSchema"], "required": ["y", "x"]}}  # type: ignore[dict-item]
    # As Node 22 says: the characters stay themselves, and nothing stands between them.
    text = '[{"description":"é","inputSchema":{"properties":{"x":{},"y":{}},"required":["x","y"]},"name":"a"}]'
    assert tools_hash([one]) == tools_hash([same]) == hashlib.sha256(text.encode()).hexdigest()
    assert tools_hash([one]) != tools_hash([other])


def test_the_hash_changes_with_the_tools_and_only_then(server: Serving, vault: Path) -> None:
    first = server.request("GET", "/bridge/v1/tools").json
    with Serving(vault) as again, Serving(vault, "--read-only") as fewer:
        assert again.request("GET", "/bridge/v1/tools").json == first
        shown = fewer.request("GET", "/bridge/v1/tools").json
    assert shown["hash"] != first["hash"]
    names = {tool["name"] for tool in shown["tools"]}
    assert "read_note" in names
    assert "write_note" not in names


# ---------------------------------------------------------------------- POST /tools/{name}/call


def test_a_call_that_works_has_success_and_content_and_no_more(server: Serving) -> None:
    reply = server.call("read_note", {"path": "Notes/Example.md"})
    assert reply.status == 200
    assert set(reply.json) == {"success", "content"}
    assert reply.json["content"][0] == {"type": "text", "text": "# Example\nGrüße, 世界 🌱\n"}


@pytest.mark.parametrize(
    ("arguments", "code"), [({"path": "Nowhere"}, "FILE_NOT_FOUND"), ({"pfad": "x"}, "INVALID_ARGUMENTS")]
)
def test_a_tool_that_cannot_do_it_is_status_200_and_says_error(
    server: Serving, arguments: dict[str, str], code: str
) -> None:
    reply = server.call("read_note", arguments)
    assert reply.status == 200
    assert set(reply.json) == {"success", "content", "isError"}
    assert reply.json["success"] is False
    assert reply.json["isError"] is True
    assert [block["type"] for block in reply.json["content"]] == ["text"]
    assert reply.json["content"][0]["text"].startswith(f"Error: {code}: ")


def test_a_tools_name_may_be_url_encoded(server: Serving) -> None:
    assert server.call("read%5Fnote", {"path": "Notes/Example.md"}).json["success"] is True


@pytest.mark.parametrize("name", ["no_such_tool", "folder%2Ftool", "%F0%9F%8C%B1", "..", "%00"])
def test_an_unknown_tool_is_404_tool_not_found(server: Serving, name: str) -> None:
    assert_error(server.call(name, {}), 404, "Tool not found")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"argument": {}}',
        b'{"arguments": null}',
        b'{"arguments": []}',
        b'{"arguments": "x"}',
        b'{"arguments": 1}',
        b'{"arguments": {"path": "\xff"}}',
        b'{"arguments": NaN}',
        b"[" * 100_000,
        b'{"arguments": {"path": [' + b"[]," * 200_000 + b"1]}}",
    ],
)
def test_a_body_nobody_can_use_is_400_and_says_why(server: Serving, body: bytes) -> None:
    reply = server.request("POST", CALL, body, content_type="application/json")
    assert assert_error(reply, 400, "Invalid request body")["details"]


def test_a_read_only_server_writes_nothing_over_rest(vault: Path) -> None:
    with Serving(vault, "--read-only") as server:
        reply = server.call("write_note", {"path": "New", "content": "x"})
    assert (reply.status, reply.json["success"]) == (200, False)
    assert reply.json["content"][0]["text"].startswith("Error: POLICY_DENIED: ")
    assert not (vault / "New.md").exists()


def test_a_change_is_made_and_on_record_under_the_callers_key(vault: Path) -> None:
    with Serving(vault) as server:
        assert server.call("write_note", {"path": "Kept", "content": "kept\n"}).json["success"] is True
        listed = server.call("list_changes", {}).json["content"][0]["text"]
    assert (vault / "Kept.md").read_text() == "kept\n"
    assert "rest" in listed


def test_edits_that_need_a_reading_find_the_one_of_an_earlier_call(vault: Path) -> None:
    edit = {"path": "Notes/Example.md", "edits": [{"action": "append", "content": "More."}], "dry_run": True}
    with Serving(vault, "--require-read-first") as server:
        refused = server.call("edit_note", edit).json
        assert refused["content"][0]["text"].startswith("Error: NOT_READ: "), refused
        server.call("read_note", {"path": "Notes/Example.md"})
        assert server.call("edit_note", edit).json["success"] is True


# ---------------------------------------------------------------------- what is not there


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/bridge/v1/health", "GET, HEAD, OPTIONS"),
        ("DELETE", "/bridge/v1/tools", "GET, HEAD, OPTIONS"),
        ("PUT", "/bridge/v1/openapi.json", "GET, HEAD, OPTIONS"),
        ("GET", CALL, "POST, OPTIONS"),
        ("PATCH", CALL, "POST, OPTIONS"),
        ("GET", "/bridge/v1/tools/no_such_tool/call", "POST, OPTIONS"),
    ],
)
def test_another_method_is_405_and_says_which_are_possible(server: Serving, method: str, path: str, allow: str) -> None:
    reply = server.request(method, path)
    assert_error(reply, 405, "Method not allowed")
    assert reply.headers["allow"] == allow


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/bridge",
        "/bridge/v1",
        "/bridge/v1/",
        "/bridge/v1/tool",
        "/bridge/v1/tools/read_note",
        "/bridge/v1/tools/a/b/call",
        "/bridge/v1/tools//call",
        "/bridge/v1x/health",
        "/bridge/v2/health",
    ],
)
def test_a_path_with_nothing_behind_it_is_404(server: Serving, path: str) -> None:
    assert_error(server.request("GET", path), 404, "Not found")


def test_head_tells_what_get_would(server: Serving) -> None:
    told, shown = server.request("HEAD", "/bridge/v1/tools"), server.request("GET", "/bridge/v1/tools")
    assert (told.status, told.body) == (200, b"")
    assert told.headers["content-length"] == shown.headers["content-length"] == str(len(shown.body))


# ---------------------------------------------------------------------- sizes


def padded(size: int) -> bytes:
    """Return a sound call of so many bytes."""
    body = b'{"arguments": {"path": "Notes/Example.md"}}'
    return body + b" " * (size - len(body))


def pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 50_000):
        yield body[start : start + 50_000]


def test_a_body_of_exactly_1_mib_is_taken_and_one_byte_more_is_413(server: Serving) -> None:
    assert server.request("POST", CALL, padded(MAX_BODY_BYTES)).json["success"] is True
    assert_error(server.request("POST", CALL, padded(MAX_BODY_BYTES + 1)), 413, "Request body too large")


def test_a_body_that_does_not_say_its_length_is_counted(server: Serving) -> None:
    assert server.request("POST", CALL, pieces(padded(MAX_BODY_BYTES))).json["success"] is True
    assert_error(server.request("POST", CALL, pieces(padded(MAX_BODY_BYTES + 1))), 413, "Request body too large")


def test_a_body_without_end_is_refused_at_the_limit(server: Serving) -> None:
    head = f"POST {CALL} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with server.connect() as connection:
        connection.sendall(head + b"100000\r\n" + b"x" * 0x100000 + b"\r\n1\r\nx\r\n")  # and no last chunk, ever
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_connection_is_of_use_after_every_kind_of_answer(server: Serving) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    statuses = []
    for method, path, body in (
        ("POST", CALL, padded(100)),
        ("POST", CALL, padded(MAX_BODY_BYTES + 1)),
        ("POST", CALL, b"{"),
        ("GET", "/nowhere", None),
        ("GET", CALL, None),
        ("POST", "/bridge/v1/tools/nothing/call", padded(50)),
        ("POST", CALL, padded(100)),
    ):
        connection.request(method, path, body)
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()
    assert statuses == [200, 413, 400, 404, 405, 404, 200]


# ---------------------------------------------------------------------- CORS


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/bridge/v1/health", 200),
        ("GET", "/bridge/v1/nothing", 404),
        ("GET", CALL, 405),
        ("POST", CALL, 400),
        ("OPTIONS", CALL, 204),
        ("OPTIONS", "/bridge/v1/tools", 204),
    ],
)
def test_every_answer_of_the_api_carries_the_contracts_cors_headers(
    server: Serving, method: str, path: str, status: int
) -> None:
    reply = server.request(method, path)
    assert reply.status == status
    assert {name: reply.headers[name] for name in CORS} == CORS


# ---------------------------------------------------------------------- OpenAPI


def test_the_openapi_document_is_valid_and_describes_every_tool(server: Serving) -> None:
    document = server.request("GET", "/bridge/v1/openapi.json").json
    OpenAPIV31SpecValidator(document).validate()
    tools = server.request("GET", "/bridge/v1/tools").json["tools"]
    for tool in tools:
        call = document["paths"][f"/tools/{tool['name']}/call"]["post"]
        schema = call["requestBody"]["content"]["application/json"]["schema"]
        taken, listed = schema["properties"]["arguments"], tool["inputSchema"]
        assert (taken["type"], taken["required"]) == (listed["type"], listed["required"])
        assert taken["properties"].keys() == listed["properties"].keys()
        assert call["description"] == tool["description"]
    assert len(document["paths"]) == len(tools) + 3


def test_members_that_are_only_examples_have_no_type_in_the_openapi_document(server: Serving) -> None:
    paths = server.request("GET", "/bridge/v1/openapi.json").json["paths"]
    body = paths["/tools/create_note/call"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    arguments = {"path": "Lists", "properties": {"tags": None, "rating": 5}}
    jsonschema.Draft202012Validator(body).validate({"arguments": arguments})
    assert server.call("create_note", arguments).json["success"] is True


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/health", None),
        ("GET", "/tools", None),
        ("GET", "/openapi.json", None),
        ("POST", "/tools/read_note/call", b'{"arguments": {"path": "Notes/Example"}}'),
        ("POST", "/tools/read_note/call", b'{"arguments": {"path": "Nowhere"}}'),
        ("POST", "/tools/read_note/call", b"{"),
        ("POST", "/tools/read_note/call", b" " * (MAX_BODY_BYTES + 1)),
    ],
)
def test_the_document_tells_the_truth_about_answers(
    server: Serving, method: str, path: str, body: bytes | None
) -> None:
    document = server.request("GET", "/bridge/v1/openapi.json").json
    reply = server.request(method, "/bridge/v1" + path, body)
    told = document["paths"][path][method.lower()]["responses"][str(reply.status)]
    schema = {**told["content"]["application/json"]["schema"], "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(reply.json)


# ---------------------------------------------------------------------- tools that misbehave


def test_a_tool_that_crashes_is_an_error_without_its_secrets_and_logged(tmp_path: Path) -> None:
    with stage(tmp_path) as server:
        reply = server.call("crash", {})
        server.process.terminate()
        _, log = server.process.communicate(timeout=PATIENCE)
    assert (reply.status, reply.json["success"]) == (200, False)
    assert reply.json["content"][0]["text"].startswith("Error: INTERNAL: ")
    assert b"secret" not in reply.body
    assert b"the secret reason" in log


def test_so_many_callers_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "_MAX_PEERS", 3)
    stage = Stage()
    workers = Workers(Handlers(stage.toolset(), lambda: open_vault(tmp_path), Policy()))
    door = rest.Rest(workers, "key")
    with Loop() as loop:
        http = Http(loop, door)
        for number in range(10):
            path = b"/bridge/v1/tools/echo/call"
            reply = http.send("POST", None, {"arguments": {}}, raw_path=path, key=f"caller {number}")
            assert reply.status == 200
    assert len(door._callers) == 3  # nothing else shows how many there are


def test_a_tool_that_takes_too_long_is_an_error_that_says_so(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with stage(tmp_path, "--seconds", "0.2") as server:
        reply = server.call("wait", {"fifo": str(fifo)})
    assert (reply.status, reply.json["success"]) == (200, False)
    assert reply.json["content"][0]["text"].startswith("Error: TIMEOUT: ")
