"""The plugin's and the commands' doors with a bare client: who may come, and what is taken of what is said."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from support.editor_door import PATIENCE, EditorDoor
from support.vaults import write_vault
from vaultwire.desk.plugin_endpoint import (
    KEY_HEADER,
    MAX_SELECTED,
    OBSIDIAN,
    VERSION,
    PluginReview,
    Seen,
    parse_message,
)
from vaultwire.editor import Mention, Position, Selection
from vaultwire.server.editor_methods import quirks_of

STATE = {"type": "state", "path": "Plan.md", "text": "", "start": [0, 0], "end": [0, 0], "tabs": []}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[EditorDoor]:
    made = EditorDoor(write_vault(tmp_path / "vault", "=== Plan.md\none\ntwo\nthree\n=== Private/Diary.md\nsecret\n"))
    yield made
    made.close()


def come(
    door: EditorDoor, key: str, origin: str | None = OBSIDIAN, path: str = "/plugin"
) -> AbstractContextManager[Any]:
    opened: AbstractContextManager[ClientConnection] = connect(
        f"ws://127.0.0.1:{door.port}{path}?key={key}", origin=Origin(origin) if origin else None, proxy=None
    )
    return opened


def hear(plugin: ClientConnection) -> Any:
    return json.loads(plugin.recv(timeout=PATIENCE))


@pytest.mark.parametrize(
    ("origin", "key", "path", "status"),
    [
        (OBSIDIAN, "wrong", "/plugin", 401),
        (OBSIDIAN, "", "/plugin", 401),
        (OBSIDIAN, "commands", "/plugin", 401),
        (OBSIDIAN, "editors", "/plugin", 401),
        (None, "right", "/plugin", 403),
        ("http://evil.example", "right", "/plugin", 403),
        ("null", "right", "/plugin", 403),
        ("app://obsidian.md.evil.example", "right", "/plugin", 403),
        (OBSIDIAN, "right", "/plugins", 403),
        (OBSIDIAN, "right", "/", 403),
        (OBSIDIAN, "right", "/command", 403),
    ],
)
def test_only_obsidian_with_the_plugins_own_secret_may_come(
    door: EditorDoor, origin: str | None, key: str, path: str, status: int
) -> None:
    keys = {"right": door.plugin.token, "commands": door.commands.token, "editors": "token"}
    with pytest.raises(InvalidStatus) as refused, come(door, keys.get(key, key), origin, path):
        pass
    assert refused.value.response.status_code == status
    assert not door.link.is_open


def test_a_plugin_is_greeted_shown_what_waits_and_asked_to_show_notes(door: EditorDoor) -> None:
    nobody = door.link.open("Plan.md", 2)
    assert not nobody
    with come(door, door.plugin.token) as plugin:
        assert hear(plugin) == {"type": "hello", "version": VERSION, "answer": door.plugin.answer}
        assert hear(plugin) == {"type": "items", "items": [], "waiting": 0}
        assert door.link.is_open
        door.propose("Plan.md", "one\n", "two\n", "Claude")
        told = hear(plugin)
        [item] = told["items"]
        assert (told["waiting"], item["id"], item["kind"], item["state"]) == (1, "p1", "diff", "waiting")
        plugin.send(json.dumps({"type": "show", "id": "p1"}))
        shown = hear(plugin)
        assert (shown["type"], shown["item"]["id"]) == ("item", "p1")
        [file] = shown["item"]["files"]
        assert (file["path"], file["added"], file["removed"], len(file["hunks"])) == ("Plan.md", 1, 1, 1)
        for ask in ({"type": "text"}, {"type": "hunks", "from": 0}, {"type": "preview", "text": "mine\n"}):
            plugin.send(json.dumps({**ask, "id": "p1", "file": 0}))
            answered = hear(plugin)
            assert (answered["type"], answered["id"]) == (ask["type"], "p1")
        assert door.link.open("Plan.md", 2)
        assert hear(plugin) == {"type": "open", "path": "Plan.md", "line": 2}
        plugin.send(json.dumps({"type": "decide", "id": "p99", "action": "accept"}))
        wrong = hear(plugin)
        assert (wrong["type"], wrong["id"], wrong["error"]) == ("decided", "p99", True)
        plugin.send(json.dumps({"type": "decide", "id": "p1", "action": "accept", "edited": {"0": "edited\n"}}))
        door.wait_for(lambda: door.decisions == ["edited\n"])
        said = [hear(plugin) for _ in range(2)]
        [decided] = [each for each in said if each["type"] == "decided"]
        assert (decided["id"], decided["error"]) == ("p1", False)
        [items] = [each for each in said if each["type"] == "items"]
        assert (items["waiting"], items["items"][0]["state"]) == (0, "accepted as edited")
        door.propose("Plan.md", "one\n", "two\n", "Claude")
        hear(plugin)
    door.wait_for(lambda: not door.link.is_open)
    assert len(door.proposals.waiting) == 1  # it waits for another, or the page


def test_a_plugin_is_told_who_is_connected_and_what_they_are_told_whenever_that_changes(door: EditorDoor) -> None:
    with come(door, door.plugin.token) as plugin:
        for _ in range(2):
            hear(plugin)  # hello, changes
        plugin.send(json.dumps({**STATE, "text": "one", "end": [0, 3]}))
        assert hear(plugin) == {"type": "shared", "clients": [], "path": "Plan.md"}
        peer = door.join()
        peer.quirks = quirks_of("claude-code")
        door.link.tell_shared()
        assert hear(plugin) == {"type": "shared", "clients": ["Claude Code"], "path": "Plan.md"}
        for _ in range(2):
            door.link.tell_shared()
        plugin.send(json.dumps({**STATE, "path": "Private/Diary.md"}))
        assert hear(plugin) == {"type": "shared", "clients": ["Claude Code"], "path": ""}
        with come(door, door.plugin.token) as other:
            for _ in range(2):
                hear(other)
            other.send(json.dumps(STATE))
            assert hear(other) == hear(plugin) == {"type": "shared", "clients": ["Claude Code"], "path": "Plan.md"}
        door.bridge.leave(peer)
        door.link.tell_shared()
        assert hear(plugin) == {"type": "shared", "clients": [], "path": "Plan.md"}
    door.wait_for(lambda: not door.link.is_open)
    door.link.tell_shared()


def test_what_a_plugin_says_amiss_is_passed_over(door: EditorDoor) -> None:
    with come(door, door.plugin.token) as plugin:
        for said in ("{", "[]", "7", json.dumps({"type": "state"}), json.dumps({**STATE, "path": "../x.md"}), b"\x00"):
            plugin.send(said)
        plugin.send(json.dumps({**STATE, "text": "one", "end": [0, 3], "tabs": ["Plan.md", "Private/Diary.md"]}))
        door.wait_for(lambda: door.selections == [Selection("Plan.md", "one", Position(0, 0), Position(0, 3))])
        assert door.state.tabs == ("Plan.md",)


ODD: list[dict[str, Any]] = [
    {"path": "../Outside.md"},
    {"path": "/etc/passwd"},
    {"path": "C:/x.md"},
    {"path": ".obsidian/app.json"},
    {"path": "a\x00.md"},
    {"path": "a\ud800.md"},
    {"path": 7},
    {"path": None},
    {"text": 7},
    {"start": [0]},
    {"start": [0, -1]},
    {"start": [0, True]},
    {"start": [0, 1.0]},
    {"start": [0, 1 << 31]},
    {"start": "00"},
    {"start": [1, 0], "end": [0, 0]},
    {"tabs": "Plan.md"},
    {"tabs": ["../x.md"]},
    {"tabs": [7]},
    {"type": "other"},
    {"type": "decide", "id": 7, "text": None},
    {"type": "mention"},
    {"type": "mention", "first": 2, "last": 1},
    {"type": "mention", "first": -1, "last": 1},
    {"type": "mention", "first": "1", "last": "1"},
    {"type": "mention", "path": "", "first": 0, "last": 0},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_a_message_that_is_not_as_it_should_be_says_nothing(odd: dict[str, Any]) -> None:
    message = {**STATE, **odd}
    assert parse_message(json.dumps(message)) is None


def test_a_message_that_is_as_it_should_be_is_understood() -> None:
    seen = parse_message(json.dumps({**STATE, "text": "x" * (MAX_SELECTED + 1), "tabs": ["A.md", "B/C.md"]}))
    assert seen == Seen(Selection("Plan.md", "x" * MAX_SELECTED), ("A.md", "B/C.md"))
    assert parse_message(json.dumps({**STATE, "path": "", "text": "x"})) == Seen(Selection(""), ())
    mention = {"type": "mention", "path": "A.md", "first": 2, "last": 3}
    assert parse_message(json.dumps(mention)) == Mention("A.md", 2, 3)
    assert parse_message('{"type":"show","id":"p1"}') == {"type": "show", "id": "p1"}


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "other"},
        {"type": "decide"},
        {"type": "decide", "action": 7},
        {"type": "decide", "action": "accept", "edited": [1]},
        {"type": "decide", "action": "accept", "edited": {"0": 7}},
        {"type": "decide", "action": "undo", "file": -1},
        {"type": "decide", "action": "undo", "file": True},
        {"type": "text"},
        {"type": "preview", "file": 0},
        {"type": "hunks", "file": 0, "from": "0"},
    ],
    ids=str,
)
def test_a_request_about_an_item_that_is_not_as_it_should_be_is_ignored(door: EditorDoor, odd: dict[str, Any]) -> None:
    door.propose("Plan.md", "one\n", "two\n", "Claude")
    assert PluginReview(door.shown).answer({"id": "p1", **odd}) is None
    assert len(door.proposals.waiting) == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*STATE, "first", "last", "id"]), inner),
    )
)
def test_no_message_is_too_odd(said: Any) -> None:
    parse_message(json.dumps(said))
    if isinstance(said, dict):
        for kind in ("state", "mention", "decide"):
            parse_message(json.dumps({**STATE, **said, "type": kind}))
    parse_message(str(said))


# ---------------------------------------------------------------------- commands


def ask(door: EditorDoor, query: str, *headers: str) -> tuple[int, str]:
    lines = [f"GET /command{query} HTTP/1.1", f"Host: 127.0.0.1:{door.port}", "Connection: close", *headers]
    with socket.create_connection(("127.0.0.1", door.port)) as raw:
        raw.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = b""
        while piece := raw.recv(65536):
            answer += piece
    head, _, body = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


def test_a_command_needs_its_own_secret_and_no_page_may_give_one(door: EditorDoor) -> None:
    door.join()
    key = f"{KEY_HEADER}: {door.commands.token}"
    query = "?do=mention&note=Plan.md"
    for headers in ((), (f"{KEY_HEADER}: wrong",), (f"{KEY_HEADER}: {door.plugin.token}",), (key, key)):
        assert ask(door, query, *headers)[0] == 401
    assert ask(door, query, key, "Origin: null")[0] == 403
    assert ask(door, query, key, f"Origin: {OBSIDIAN}")[0] == 403
    assert ask(door, "s" + query, key)[0] == 403
    assert door.mentions == []
    assert ask(door, query, key)[0] == 200
    assert door.mentions == [Mention("Plan.md")]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?do=mention&note=Plan.md&first=3&last=9", "Plan.md has lines 1 to 4"),
        ("?do=mention&note=Plan.md&first=3&last=2", "line 3 comes after line 2"),
        ("?do=mention&note=Plan.md&first=-1", "'-1' is not a line"),
        ("?do=mention&note=Plan.md&first=%C2%B2", "is not a line"),
        ("?do=mention&note=Nowhere.md", "Nowhere"),
        ("?do=mention&note=../x.md", "leaves the vault"),
        ("?do=dance&note=Plan.md", "mention or select"),
        ("", "empty"),
    ],
)
def test_a_command_that_cannot_be_says_why(door: EditorDoor, query: str, message: str) -> None:
    door.join()
    status, body = ask(door, query, f"{KEY_HEADER}: {door.commands.token}")
    assert status == 400
    assert message in json.loads(body)["message"]
    assert door.mentions == []
