"""What a relay is made of: server-sent events as they may come, headers that the server's own check takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.protocol import http
from vaultwire.protocol.revisions import META_VERSION
from vaultwire.transports.relay.http_client import ResponseTooLarge
from vaultwire.transports.relay.upstream import Cursor, read_events

ENOUGH = 1000


def lines(text: bytes) -> Iterator[bytes]:
    yield from text.splitlines(keepends=True) if b"\r" not in text else text.replace(b"\r\n", b"\n").splitlines(True)


@pytest.mark.parametrize(
    ("text", "data", "last_id", "retry"),
    [
        (b"data: a\n\n", [b"a"], "", None),
        (b"data:a\n\ndata:  b\n\n", [b"a", b" b"], "", None),
        (b"data: a\ndata: b\n\n", [b"a\nb"], "", None),
        (b"event: message\nid: 7\ndata: a\n\n", [b"a"], "7", None),
        (b": comment\n\n\n\ndata: a\n\n", [b"a"], "", None),
        (b"id: 1\nretry: 1500\ndata:\n\n", [], "1", 1.5),
        (b"retry: soon\ndata: a\n\n", [b"a"], "", None),
        (b"id: 1\ndata: a\n\nid: 2\ndata: cut o", [b"a"], "1", None),
        (b"id: 1\n\nid\ndata: a\n\n", [b"a"], "", None),
        (b"id: a\0b\ndata: a\n\n", [b"a"], "", None),
        (b"id: 1\nretry: 9999999999\ndata: a\n\n", [b"a"], "1", None),
        (b"retry: 999999999\ndata: a\n\n", [b"a"], "", 300.0),
        (b"id: " + b"1" * 1025 + b"\ndata: a\n\n", [b"a"], "", None),
        (b"unknown: x\ndata\ndata: a\n\n", [b"\na"], "", None),
    ],
)
def test_events_are_read_as_the_standard_has_them(
    text: bytes, data: list[bytes], last_id: str, retry: float | None
) -> None:
    cursor = Cursor()
    assert list(read_events(lines(text), cursor, ENOUGH)) == data
    assert (cursor.last_id, cursor.retry_seconds) == (last_id, retry)
    again = Cursor()
    assert list(read_events([line.replace(b"\n", b"\r\n") for line in lines(text)], again, ENOUGH)) == data
    assert again.last_id == last_id


def test_an_id_counts_before_its_event_is_passed_on() -> None:
    cursor = Cursor()
    events = read_events(lines(b"id: 1\ndata: a\n\nid: 2\ndata: b\n\n"), cursor, ENOUGH)
    assert [(data, cursor.last_id) for data in events] == [(b"a", "1"), (b"b", "2")]


@pytest.mark.parametrize(
    "text",
    [b"data: " + b"x" * 1000 + b"\n\n", b"data: " + b"x" * 1000, b"data\n" * 100 + b"\n", b"data\r" * 100 + b"\n\n"],
    ids=["a line", "no end", "many lines", "many lines in one"],
)
def test_an_event_has_so_many_bytes_at_most(text: bytes) -> None:
    with pytest.raises(ResponseTooLarge):
        list(read_events(text.splitlines(keepends=True), Cursor(), ENOUGH))
    assert list(read_events([b"data: a\n", b"\n"] * 1000, Cursor(), ENOUGH)) == [b"a"] * 1000


@pytest.mark.parametrize(
    "line", [b": still here\n", b"\n", b"id: 1\n", b"event: x\n", b"unknown\n", b":" + b"x" * 5000 + b"\n"]
)
def test_a_stream_that_brings_no_event_ends(line: bytes) -> None:
    many = 2_000_000 // len(line)
    with pytest.raises(ResponseTooLarge, match="without an event"):
        list(read_events([line] * many, Cursor(), ENOUGH))
    some = [line] * (many // 4)
    events = list(read_events([*some, b"data: a\n", b"\n"] * 6, Cursor(), ENOUGH))  # with events it goes on for ever
    assert events == [b"a"] * 6


NAMES = st.text(st.characters(codec="utf-8"), max_size=20)
NUMBERS = st.integers(-(2**53), 2**53)
SCHEMA = {
    "properties": {
        "text": {"type": "string", "x-mcp-header": "Text"},
        "number": {"type": "integer", "x-mcp-header": "Number"},
        "flag": {"type": "boolean", "x-mcp-header": "Flag"},
        "inner": {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Inner-Text"}}},
    }
}


@given(
    method=st.sampled_from([("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")]),
    name=NAMES,
    arguments=st.fixed_dictionaries(
        {},
        optional={
            "text": NAMES | st.none(),
            "number": NUMBERS,
            "flag": st.booleans(),
            "inner": st.fixed_dictionaries({}, optional={"text": NAMES}),
        },
    ),
)
def test_the_headers_made_for_a_request_are_those_the_server_checks_for(
    method: tuple[str, str], name: str, arguments: dict[str, Any]
) -> None:
    params = {"_meta": {META_VERSION: "2026-07-28"}, method[1]: name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": method[0], "params": params}
    marked = http.header_params(SCHEMA)
    made = http.to_headers(message, marked)
    headers = http.Headers((key.lower().encode("ascii"), value.encode("ascii")) for key, value in made.items())
    http.check_headers(message, headers)
    http.check_params(marked, arguments, headers)
