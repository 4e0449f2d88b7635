"""The door of Gemini CLI and Qwen Code, over real sockets: who may come, what they are told, and what comes of changes."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.companion_client import PATIENCE
from support.companion_stage import PATIENT, WATCHFUL, Stage
from support.vaults import snapshot, write_vault
from vaultwire.app.editors import CompanionServer
from vaultwire.config import ConfigError
from vaultwire.editor import NOTHING, Decision, Position, Selection
from vaultwire.server.ide_companion import Bounds

NOTES = """
=== Note.md
# Note
one
two
=== Plan.md
the plan
=== Private/Diary.md
nobody's business
"""


@pytest.fixture
def open_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Bounds], Stage]]:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "files"))
    monkeypatch.setenv("TEMP", str(tmp_path / "files"))
    made: list[Stage] = []

    def make(bounds: Bounds) -> Stage:
        made.append(Stage(write_vault(tmp_path / "vault", NOTES), tmp_path / "files", bounds))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


@pytest.fixture
def stage(open_stage: Callable[[Bounds], Stage]) -> Stage:
    return open_stage(PATIENT)


# ---------------------------------------------------------------------- who may come


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Basic {token}"}, 401),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "app://obsidian.md"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:{port}"}, 421),
    ],
)
def test_who_shows_no_token_or_comes_from_a_page_or_another_name_is_refused(
    stage: Stage, method: str, headers: dict[str, str], status: int
) -> None:
    with stage.client() as client:
        shown = {name: value.format(port=stage.port, token=stage.found["authToken"]) for name, value in headers.items()}
        message = {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}} if method == "POST" else None
        assert client.send(method, message, **shown)[0] == status
        assert len(client.request("tools/list")["tools"]) == 2  # and the session is as it was


def test_a_client_in_a_container_of_this_computer_may_come(stage: Stage) -> None:
    with stage.client(listens=False) as client:
        message = {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}}
        assert client.send("POST", message, Host=f"host.docker.internal:{stage.port}")[0] == 200


def test_only_this_computer_is_listened_to(stage: Stage) -> None:
    assert stage.door.port == stage.port
    for _, _, _, _, address in socket.getaddrinfo(socket.gethostname(), stage.port, socket.AF_INET):
        if not str(address[0]).startswith("127."):
            with socket.socket() as other:
                other.settimeout(PATIENCE)
                assert other.connect_ex(address) != 0


def test_a_vault_whose_path_clients_would_take_apart_is_refused(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.pathsep", "v")  # a folder's name cannot have the real one everywhere
    with pytest.raises(ConfigError, match="contains 'v'"):
        CompanionServer(stage.bridge, str(tmp_path / "vault"), "Obsidian", ["gemini"])


# ---------------------------------------------------------------------- what is told


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])  # Gemini CLI's and Qwen Code's
def test_a_client_is_met_as_it_was_measured(stage: Stage, revision: str) -> None:
    stage.state.open_tabs(["Note.md", "Plan.md"])
    stage.state.select(Selection("Note.md"))
    with stage.client(revision=revision) as client:
        assert client.introduced["protocolVersion"] == revision
        assert set(client.introduced["capabilities"]) == {"tools"}
        tools = {tool["name"]: tool["inputSchema"]["required"] for tool in client.request("tools/list")["tools"]}
        assert tools == {"openDiff": ["filePath", "newContent"], "closeDiff": ["filePath"]}
        front, other = client.context()
        assert (front["path"], front["isActive"]) == (stage.path("Note.md"), True)
        assert (other["path"], other["isActive"]) == (stage.path("Plan.md"), False)
        assert front["timestamp"] > other["timestamp"]
    assert {"POST /mcp: 200", "POST /mcp: 202"} <= set(stage.log)


def test_the_vaults_own_tools_are_not_on_this_door(stage: Stage) -> None:
    with stage.client() as client:
        assert client.ask("tools/call", {"name": "read_note", "arguments": {"path": "Note"}})["error"]["code"] == -32602
        assert client.ask("resources/list")["error"]["code"] == -32601


def test_what_is_selected_is_told_with_the_cursor_counted_from_one(stage: Stage) -> None:
    with stage.client() as client:
        assert client.context() == []
        stage.state.select(Selection("Note.md", "one\ntw", Position(1, 0), Position(2, 2)))
        [file] = client.context()
        assert file.pop("timestamp") > 1_700_000_000_000  # in milliseconds
        assert file == {
            "path": stage.path("Note.md"),
            "isActive": True,
            "cursor": {"line": 3, "character": 3},
            "selectedText": "one\ntw",
        }
        stage.state.select(Selection("Note.md"))  # where the cursor is, nobody knows
        [file] = client.context()
        assert set(file) == {"path", "timestamp", "isActive"}
        stage.state.select(NOTHING)
        assert client.context() == []


def test_of_a_long_selection_as_much_is_told_as_shows_that_it_was_cut(stage: Stage) -> None:
    with stage.client() as client:
        assert client.context() == []
        stage.state.select(Selection("Note.md", "x" * 50_000, Position(0, 0), Position(0, 50_000)))
        [file] = client.context()
        assert len(file["selectedText"]) == 16_385


def test_private_notes_are_told_to_nobody(stage: Stage) -> None:
    stage.state.open_tabs(["Private/Diary.md", "Note.md"])
    stage.state.select(Selection("Private/Diary.md", "nobody's", Position(0, 0), Position(0, 8)))
    with stage.client() as client:
        [file] = client.context()
        assert (file["path"], file["isActive"]) == (stage.path("Note.md"), False)
        stage.state.select(Selection("Note.md"))
        [file] = client.context()
        assert (file["path"], file["isActive"]) == (stage.path("Note.md"), True)
        stage.state.select(Selection("Private/Diary.md", "nobody's", Position(0, 0), Position(0, 8)))
        [file] = client.context()
        assert (file["path"], file["isActive"]) == (stage.path("Note.md"), False)


def test_ten_notes_are_told_the_latest_first(stage: Stage) -> None:
    names = [f"{number}.md" for number in range(14)]
    for name in ("3.md", "9.md", "5.md"):
        stage.state.select(Selection(name))
    stage.state.open_tabs(names)
    with stage.client() as client:
        files = client.context()
        seen = [Path(file["path"]).name for file in files]
        assert seen == ["5.md", "9.md", "3.md", "0.md", "1.md", "2.md", "4.md", "6.md", "7.md", "8.md"]
        stamps = [file["timestamp"] for file in files]
        assert stamps == sorted(stamps, reverse=True)
        assert len(set(stamps)) == 10
        stage.state.open_tabs(["5.md", "Note.md"])  # closed and opened, with nothing else in front
        assert [Path(file["path"]).name for file in client.context()] == ["5.md", "Note.md"]
        stage.state.open_tabs(["5.md", "Note.md", "9.md"])  # which was in front before it was closed
        assert [Path(file["path"]).name for file in client.context()] == ["5.md", "Note.md", "9.md"]


def test_nothing_says_that_the_folder_may_be_trusted(stage: Stage) -> None:
    stage.state.select(Selection("Note.md"))
    with stage.client() as client:
        client.context()  # checks that there is nothing but the files


# ---------------------------------------------------------------------- changes


NEW = "# Note\none\n2\n"


@pytest.mark.parametrize(
    ("new", "decided", "told", "content"),
    [
        (NEW, NEW, "ide/diffAccepted", NEW),
        (NEW, "# Note\nthe person's ü\n", "ide/diffAccepted", "# Note\nthe person's ü\n"),
        (NEW, "no line end", "ide/diffAccepted", "no line end"),
        (NEW, None, "ide/diffRejected", None),
        # Clients take an accepted empty text for none and would write their own.
        (NEW, "", "ide/diffRejected", None),
        ("", "", "ide/diffAccepted", ""),
    ],
)
def test_what_the_person_decides_is_told_and_nothing_is_written(
    stage: Stage, new: str, decided: str | None, told: str, content: str | None
) -> None:
    before = snapshot(stage.root)
    with stage.client() as client:
        assert client.context() == []
        assert client.call("openDiff", filePath=stage.path("Note.md"), newContent=new) == {"content": []}
        [proposal] = stage.proposals.waiting
        assert (proposal.path, proposal.old, proposal.new) == ("Note.md", "# Note\none\ntwo\n", new)
        stage.decide(decided)
        params = {"filePath": stage.path("Note.md")}
        assert client.hear() == (told, params if content is None else {**params, "content": content})
        assert stage.proposals.waiting == []
    assert snapshot(stage.root) == before


def test_a_new_note_is_shown_as_one(stage: Stage) -> None:
    with stage.client() as client:
        client.call("openDiff", filePath=stage.path("New/Note.md"), newContent="text\n")
        [proposal] = stage.proposals.waiting
        assert (proposal.path, proposal.old, proposal.new) == ("New/Note.md", "", "text\n")


def test_a_change_that_is_answered_in_the_terminal_is_taken_back_without_a_word(stage: Stage) -> None:
    with stage.client() as client:
        assert client.context() == []
        client.call("openDiff", filePath=stage.path("Note.md"), newContent=NEW)
        closed = client.call("closeDiff", filePath=stage.path("Note.md"), suppressNotification=True)
        assert [json.loads(item["text"]) for item in closed["content"]] == [{"content": NEW}]
        assert stage.proposals.waiting == []
        client.call("openDiff", filePath=stage.path("Plan.md"), newContent="x")
        client.call("closeDiff", filePath=stage.path("Plan.md"))
        assert client.hear() == ("ide/diffRejected", {"filePath": stage.path("Plan.md")})
        again = client.call("closeDiff", filePath=stage.path("Plan.md"))
        assert json.loads(again["content"][0]["text"]) == {"content": None}
        stage.state.select(Selection("Note.md"))
        assert client.context() != []  # and not another rejection


def test_a_second_change_to_a_file_takes_the_place_of_the_first(stage: Stage) -> None:
    with stage.client() as client:
        assert client.context() == []
        client.call("openDiff", filePath=stage.path("Note.md"), newContent="first")
        client.call("openDiff", filePath=stage.path("Note.md"), newContent="second")
        [proposal] = stage.proposals.waiting
        assert proposal.new == "second"
        stage.decide("second")
        assert client.hear() == ("ide/diffAccepted", {"filePath": stage.path("Note.md"), "content": "second"})


@pytest.mark.parametrize(
    "arguments", [{}, {"filePath": "/x"}, {"filePath": 7, "newContent": "x"}, {"filePath": "/x", "newContent": None}]
)
def test_wrong_arguments_are_a_failure_that_says_which(stage: Stage, arguments: dict[str, Any]) -> None:
    with stage.client() as client:
        failed = client.call("openDiff", **arguments)
        assert failed["isError"] is True
        assert "must be a text" in failed["content"][0]["text"]
        assert stage.proposals.waiting == []
        assert client.ask("tools/call", {"name": "openDiff", "arguments": [1]})["error"]["code"] == -32602


def test_without_a_session_nobody_could_be_told(stage: Stage) -> None:
    with stage.client(listens=False) as client:
        del client.headers["Mcp-Session-Id"]
        failed = client.call("openDiff", filePath=stage.path("Note.md"), newContent="x")
        assert failed["isError"] is True
        assert "session" in failed["content"][0]["text"]
    assert stage.proposals.waiting == []


# ---------------------------------------------------------------------- coming and going


def test_two_clients_both_see_and_each_hears_of_its_own_changes(stage: Stage) -> None:
    with stage.client() as one, stage.client() as two:
        assert (one.context(), two.context()) == ([], [])
        assert len(stage.door.clients) == 2
        for client, new in ((one, "one's"), (two, "two's")):
            client.call("openDiff", filePath=stage.path("Note.md"), newContent=new)
        first, second = stage.proposals.waiting
        assert stage.proposals.decide(second.id, Decision("two's"))
        assert two.hear() == ("ide/diffAccepted", {"filePath": stage.path("Note.md"), "content": "two's"})
        assert stage.proposals.decide(first.id, Decision(None))
        assert one.hear() == ("ide/diffRejected", {"filePath": stage.path("Note.md")})
        stage.state.select(Selection("Plan.md"))
        assert one.context() == two.context() != []


def test_what_a_client_laid_down_that_is_lost_is_rejected(open_stage: Callable[[Bounds], Stage]) -> None:
    stage = open_stage(WATCHFUL)
    with stage.client() as client, stage.client() as other:
        for each in (client, other):
            each.call("openDiff", filePath=stage.path("Note.md"), newContent="x")
        client.hang_up()
        stage.wait_for(lambda: len(stage.proposals.waiting) == 1)
        stage.decide("x")
        assert other.context() == []
        assert other.hear() == ("ide/diffAccepted", {"filePath": stage.path("Note.md"), "content": "x"})


def test_a_client_that_ends_its_session_is_forgotten(stage: Stage) -> None:
    with stage.client() as client:
        client.call("openDiff", filePath=stage.path("Note.md"), newContent="x")
        assert client.send("DELETE")[0] == 204
        assert stage.proposals.waiting == []
        assert not stage.door.clients


def test_a_client_whose_connection_broke_hears_what_it_missed(stage: Stage) -> None:
    with stage.client() as client:
        assert client.context() == []
        client.call("openDiff", filePath=stage.path("Note.md"), newContent=NEW)
        client.hang_up()
        stage.decide(NEW)
        client.listen()
        assert client.hear() == ("ide/diffAccepted", {"filePath": stage.path("Note.md"), "content": NEW})


def test_for_a_client_that_does_not_listen_little_is_kept(stage: Stage) -> None:
    with stage.client(listens=False) as client:
        for number in range(120):
            client.call("openDiff", filePath=f"/{number}.md", newContent="x")
            client.call("closeDiff", filePath=f"/{number}.md")
        client.listen()
        assert client.hear() == ("ide/diffRejected", {"filePath": "/20.md"})


def test_a_client_that_comes_back_is_told_what_is_in_front_now(open_stage: Callable[[Bounds], Stage]) -> None:
    stage = open_stage(WATCHFUL)
    with stage.client() as client:
        assert client.context() == []
        client.hang_up()
        while stage.door.clients:  # the server notices in a moment
            threading.Event().wait(0.001)
        stage.state.select(Selection("Plan.md"))
        client.listen()
        [file] = client.context()
        assert file["path"] == stage.path("Plan.md")


def test_the_end_of_the_server_is_a_rejection_and_the_end_of_the_stream(stage: Stage, tmp_path: Path) -> None:
    with stage.client() as client:
        assert client.context() == []
        client.call("openDiff", filePath=stage.path("Note.md"), newContent=NEW)
        began = time.monotonic()
        stage.close()
        assert time.monotonic() - began < 4  # it would wait for 5 seconds for streams that do not end
        assert client.hear() == ("ide/diffRejected", {"filePath": stage.path("Note.md")})
        assert client.hear() is None
    assert stage.proposals.waiting == []
    assert list((tmp_path / "files" / "gemini" / "ide").iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", stage.port, timeout=PATIENCE).connect()


def test_a_door_that_was_never_opened_can_be_closed(stage: Stage) -> None:
    service = CompanionServer(stage.bridge, stage.found["workspacePath"], "Obsidian", ["gemini", "qwen"])
    service.endpoints[0].listener.close()
    service.end()
