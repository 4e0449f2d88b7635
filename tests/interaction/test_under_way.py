"""Calls that take a while, at every door: what is said meanwhile, and what comes of calling them off."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from interaction.conftest import EVERY_KIND, EVERY_REVISION
from support.http_wire import Client, HttpClient
from support.proofs import proves
from support.vaults import write_vault
from support.wire import Server

TOKEN = "a token of the client's"
# No note matches either, and only trying tells: the second takes 5 ms for each, double with each two more x.
QUICK = {"query": "/f.y(?=x)/"}
SLOW = {"query": "/(?:x|xx)*(?=y)/"}
NOTES = 500


@pytest.fixture
def busy(connect: Callable[..., Client], vault: Path) -> Client:
    """Return a client of a server with many notes that take long to search."""
    write_vault(vault, "".join(f"=== Many/{number}.md\nA fly. {'x' * 20}\n" for number in range(NOTES)))
    return connect()


def asked(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"name": "search_notes", "arguments": arguments, "_meta": {"progressToken": TOKEN}}


def said(client: Client, params: dict[str, Any]) -> Generator[tuple[int, Any]]:
    """Call a tool; yield its id with each message that comes, the answer last."""
    yield from client.said("tools/call", params)


def cancel(client: Client, id_: int) -> None:
    """Call a call off. Without a session that is to hang up, which the caller does."""
    if isinstance(client, Server):
        params = {"requestId": id_}
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    elif client.in_session:
        client.cancel(id_)


@EVERY_REVISION
@proves("spec Progress: with the request's token, rising, before the answer, and only if it was asked for")
def test_progress_is_told_until_the_answer(busy: Client, revision: str) -> None:
    *told, (id_, answer) = said(busy, asked(QUICK))
    assert answer["id"] == id_
    assert answer["result"]["isError"] is False
    steps = [message["params"] for _, message in told if message["method"] == "notifications/progress"]
    assert len(steps) == len(told) > 0
    progress = [step["progress"] for step in steps]
    assert progress == sorted(set(progress))
    for step in steps:
        assert step["progressToken"] == TOKEN
        assert 0 <= step["progress"] <= step["total"]  # of the index, or of the notes it cannot rule out
        assert ("message" in step) is (revision >= "2025-03-26")
    params = {"name": "search_notes", "arguments": {"query": "/f.x/"}}
    assert [message.get("id") for _, message in said(busy, params)] == [id_ + 1]


@EVERY_KIND
@proves("spec Cancellation: a call that was called off is not answered, and no other call hears of it")
def test_a_call_that_was_called_off_is_not_answered(busy: Client, revision: str) -> None:
    messages = said(busy, asked(SLOW))
    id_, first = next(messages)
    assert first["method"] == "notifications/progress"
    cancel(busy, id_)
    if isinstance(busy, HttpClient):
        rest = [message for _, message in messages] if busy.in_session else []
        messages.close()
        answer = busy.request("tools/call", {"name": "read_note", "arguments": {"path": "Alpha"}})
        code, _, _ = busy.close()
    else:
        answer = busy.request("tools/call", {"name": "read_note", "arguments": {"path": "Alpha"}})
        code, output, _ = busy.close()
        rest = busy.notifications + [json.loads(line) for line in output.splitlines()]
    assert "fox again" in answer["result"]["content"][0]["text"]
    # Progress may have crossed the cancellation; an answer, which takes seconds, cannot.
    assert [message for message in rest if message.get("method") != "notifications/progress"] == []
    assert code == 0
