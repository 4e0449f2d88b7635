"""What MCP puts into HTTP: the revision a message asks for, what headers must say, status codes and events."""

from __future__ import annotations

import base64
import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.wire import HANDSHAKE_REVISIONS, STATELESS_REVISION, envelope
from vaultwire.protocol import http
from vaultwire.protocol.http import HeaderMismatch, Headers
from vaultwire.protocol.revisions import HANDSHAKE, STATELESS

STATELESS_META = {"_meta": envelope()}


def headers(**values: str) -> Headers:
    return Headers([(name.replace("_", "-").encode(), value.encode()) for name, value in values.items()])


def call(name: Any = "echo", **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, **STATELESS_META}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def wrapped(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


GOOD = {"mcp_protocol_version": STATELESS_REVISION, "mcp_method": "tools/call", "mcp_name": "echo"}


@pytest.mark.parametrize(
    ("message", "version", "expected"),
    [
        ({"method": "tools/list"}, None, "2025-03-26"),
        *(({"method": "tools/list"}, name, name) for name in HANDSHAKE_REVISIONS),
        ({"method": "tools/list"}, STATELESS_REVISION, STATELESS_REVISION),
        ({"method": "tools/list"}, "1999-01-01", STATELESS_REVISION),
        ({"method": "tools/list"}, "", STATELESS_REVISION),
        ({"method": "tools/list", "params": STATELESS_META}, None, STATELESS_REVISION),
        ({"method": "tools/list", "params": STATELESS_META}, "2025-11-25", STATELESS_REVISION),
        ({"method": "initialize"}, STATELESS_REVISION, "2025-03-26"),
        ({"method": "initialize", "params": STATELESS_META}, None, STATELESS_REVISION),
        ({"method": "initialize", "params": []}, None, "2025-03-26"),
        ([], None, "2025-03-26"),
        ([], STATELESS_REVISION, STATELESS_REVISION),
        (5, "2025-06-18", "2025-06-18"),
    ],
)
def test_the_body_says_which_revision_it_asks_for_and_else_the_header(
    message: Any, version: str | None, expected: str
) -> None:
    given_headers = headers() if version is None else headers(mcp_protocol_version=version)
    assert http.revision_of(message, given_headers).name == expected


@pytest.mark.parametrize(
    ("accept", "json", "stream"),
    [
        (None, True, False),
        ("*/*", True, False),
        ("application/*", True, False),
        ("application/json", True, False),
        ("application/json, text/event-stream", True, True),
        ("Text/Event-Stream", False, True),
        ("text/html", False, False),
    ],
)
def test_a_client_that_names_nothing_gets_json_and_no_streams(accept: str | None, json: bool, stream: bool) -> None:
    given_headers = headers() if accept is None else headers(accept=accept)
    assert (given_headers.accepts(http.JSON_TYPE), given_headers.accepts(http.STREAM_TYPE)) == (json, stream)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"mcp_name": wrapped("echo")},
    ],
)
def test_headers_that_say_what_the_body_says_pass(change: dict[str, str]) -> None:
    http.check_headers(call(), headers(**{**GOOD, **change}))


@pytest.mark.parametrize(
    "change",
    [
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_protocol_version": None},
        {"mcp_method": "TOOLS/CALL"},
        {"mcp_method": "tools/list"},
        {"mcp_method": None},
        {"mcp_method": wrapped("tools/call")},
        {"mcp_name": "Echo"},
        {"mcp_name": ""},
        {"mcp_name": None},
        {"mcp_name": "=?base64?ZWNobw?="},
        {"mcp_name": "=?base64?ZWNo!!!bw==?="},
        {"mcp_name": "=?BASE64?ZWNobw==?="},
    ],
)
def test_headers_that_say_something_else_do_not(change: dict[str, str | None]) -> None:
    values = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(HeaderMismatch):
        http.check_headers(call(), headers(**values))


def test_a_header_that_is_there_twice_is_a_mismatch() -> None:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in GOOD.items()]
    with pytest.raises(HeaderMismatch, match="more than once"):
        http.check_headers(call(), Headers([*raw, (b"mcp-method", b"tools/call")]))


@pytest.mark.parametrize(
    "message",
    [call(5), call(None), {"method": "tools/call"}, {"method": "tools/call", "params": {}}, {"method": 1}, {}],
)
def test_what_the_body_lacks_is_not_the_headers_fault(message: dict[str, Any]) -> None:
    http.check_headers(message, headers(mcp_protocol_version=STATELESS_REVISION, mcp_method="tools/call"))


@pytest.mark.parametrize(("method", "params"), [("prompts/get", {"name": "Grüße"}), ("resources/read", {"uri": "a:ü"})])
def test_names_beyond_ascii_travel_as_base64_or_utf_8(method: str, params: dict[str, str]) -> None:
    message = {"method": method, "params": {**params, **STATELESS_META}}
    for value in (*params.values(), *map(wrapped, params.values())):
        http.check_headers(message, headers(**{**GOOD, "mcp_method": method, "mcp_name": value}))


SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "plain": {"type": "string"},
        "deep": {"type": "object", "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
        "sure": {"type": "boolean", "x-mcp-header": "Sure"},
        "listed": {"type": "array", "items": {"properties": {"no": {"x-mcp-header": "No"}}}},
    },
}
PARAMS = http.header_params(SCHEMA)


def test_a_schema_says_which_arguments_stand_in_headers() -> None:
    assert PARAMS == (
        (b"mcp-param-region", ("region",)),
        (b"mcp-param-count", ("deep", "count")),
        (b"mcp-param-sure", ("sure",)),
    )


@pytest.mark.parametrize(
    ("arguments", "values", "fits"),
    [
        ({}, {}, True),
        (None, {}, True),
        ({"region": None}, {}, True),
        ({"region": "eu"}, {"mcp_param_region": "eu"}, True),
        ({"region": "=?base64?eu"}, {"mcp_param_region": "=?base64?eu"}, True),
        ({"region": "ü"}, {"mcp_param_region": wrapped("ü")}, True),
        ({"region": ""}, {"mcp_param_region": ""}, True),
        ({"region": "eu"}, {}, False),
        ({"region": "eu"}, {"mcp_param_region": "us"}, False),
        ({}, {"mcp_param_region": "eu"}, False),
        ({"deep": {"count": 7}}, {"mcp_param_count": "7"}, True),
        ({"deep": {"count": 7}}, {"mcp_param_count": "7.0"}, True),
        ({"deep": {"count": 7}}, {"mcp_param_count": "8"}, False),
        ({"deep": {"count": 7}}, {"mcp_param_count": "seven"}, False),
        ({"deep": {"count": 7}}, {}, False),
        ({"deep": "flat"}, {}, True),
        ({"sure": True}, {"mcp_param_sure": "true"}, True),
        ({"sure": True}, {"mcp_param_sure": "1"}, False),
        ({"plain": "x"}, {"mcp_param_plain": "y"}, True),
    ],
)
def test_arguments_in_headers_say_what_the_body_says(arguments: Any, values: dict[str, str], fits: bool) -> None:
    if fits:
        http.check_params(PARAMS, arguments, headers(**values))
    else:
        with pytest.raises(HeaderMismatch):
            http.check_params(PARAMS, arguments, headers(**values))


@pytest.mark.parametrize(
    ("code", "stateless", "handshake"),
    [
        (None, 200, 200),
        (-32700, 400, 400),
        (-32600, 400, 400),
        (-32601, 404, 200),
        (-32602, 400, 200),
        (-32603, 200, 200),
        (-32002, 200, 200),
        (-32020, 400, 200),
        (-32021, 400, 200),
        (-32022, 400, 200),
    ],
)
def test_the_status_of_an_error_depends_on_the_revision(code: int | None, stateless: int, handshake: int) -> None:
    assert http.status_of(code, STATELESS[0]) == stateless
    assert {http.status_of(code, revision) for revision in HANDSHAKE} == {handshake}


def test_frames_and_events() -> None:
    assert http.to_event(b'{"a":1}\n') == b'event: message\ndata: {"a":1}\n\n'
    assert http.to_event(b'{"a":1}\n', "3-4") == b'id: 3-4\nevent: message\ndata: {"a":1}\n\n'
    assert http.to_first_event("3-0", 1000) == b"id: 3-0\nretry: 1000\ndata:\n\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "_meta", "region", "deep"]), inner)
    ),
    max_leaves=6,
)
VALUES = st.binary(max_size=20) | st.sampled_from(
    [b"tools/call", b"echo", b"2026-07-28", b"=?base64?ZQ==?=", b"=?base64??="]
)
NAMES = st.sampled_from([http.VERSION, http.METHOD, http.NAME, b"mcp-param-region", b"mcp-param-count", b"accept"])


@given(st.lists(st.tuples(NAMES, VALUES), max_size=6), JSON, st.sampled_from(["tools/call", "initialize", "x", 1]))
def test_no_headers_and_no_body_make_the_checks_fail_otherwise(raw: Any, params: Any, method: Any) -> None:
    given_headers = Headers(raw)
    for whole in (params, {**STATELESS_META, "name": params}):
        message = {"method": method, "params": whole}
        http.revision_of(message, given_headers)
        with contextlib.suppress(HeaderMismatch):
            http.check_headers(message, given_headers)
    with contextlib.suppress(HeaderMismatch):
        http.check_params(PARAMS, params, given_headers)
