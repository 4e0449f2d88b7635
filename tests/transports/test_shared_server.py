"""``vaultwire stdio`` beside a running ``vaultwire serve``: it is used, and to the client it makes no difference."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.behind import Asked, Behind
from support.serving import Serving
from support.vaults import write_vault
from support.wire import HANDSHAKE_REVISIONS, REVISIONS, STATELESS_REVISION, Server
from vaultwire import app
from vaultwire.config import make_config
from vaultwire.transports import rendezvous

LATEST = HANDSHAKE_REVISIONS[-1]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no sockets in the file system here")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault" / "Prompts").mkdir(parents=True)
    return write_vault(tmp_path / "vault", "=== Note.md\nhello\n")


def call(client: Server, name: str, **arguments: Any) -> int:
    return client.post("tools/call", {"name": name, "arguments": arguments})


def text_of(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


def methods_served(server: Serving) -> list[str]:
    """End the server and return what HTTP methods it was asked with."""
    _, _, errors = server.end(signal.SIGTERM)
    return [line["method"] for line in map(json.loads, errors.splitlines()) if line["event"] == "request"]


# ---------------------------------------------------------------------- when it is used


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_running_server_of_the_vault_answers(vault: Path, revision: str) -> None:
    with Serving(vault, "--log-json") as server:
        with Server(vault) as client:
            opened = client.open(revision)
            assert opened["capabilities"]
            assert (
                text_of(client.request("tools/call", {"name": "read_note", "arguments": {"path": "Note"}})) == "hello\n"
            )
            assert client.request("resources/list")["result"]["resources"]
            assert client.request("tools/list")["result"]["tools"]
            assert client.close() == (0, b"", b"")
        served = methods_served(server)
    assert served.count("POST") >= 2
    assert served.count("DELETE") == (0 if revision == STATELESS_REVISION else 1)


@pytest.mark.parametrize(
    "options",
    [("--standalone",), ("--read-only",), ("--require-read-first",), ("--prompts", "Prompts"), ("--vault", "other=.")],
)
def test_a_server_with_other_settings_is_not_used(vault: Path, options: tuple[str, ...]) -> None:
    with Serving(vault, "--log-json") as server:
        with Server(vault, *options) as client:
            client.open(LATEST)
            assert (
                text_of(client.request("tools/call", {"name": "read_note", "arguments": {"path": "Note"}})) == "hello\n"
            )
            assert client.close()[:2] == (0, b"")
        assert methods_served(server) == []


def test_a_server_in_another_place_in_time_is_not_used(vault: Path) -> None:
    with Serving(vault, "--log-json", TZ="Asia/Tokyo") as server:
        with Server(vault, TZ="America/New_York") as client:
            client.open(LATEST)
            call(client, "read_note", path="Note")
            assert text_of(client.receive()) == "hello\n"
        assert methods_served(server) == []


def test_a_server_that_asks_for_keys_is_used_without_one(vault: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    state = tmp_path_factory.mktemp("s")  # the address of a socket is a short path
    (state / "keys").mkdir(parents=True)
    (state / "keys" / "key-a.json").write_text('{"name": "a", "created": "", "fingerprint": ""}')
    with Serving(vault, "--log-json", "--require-key", VAULTWIRE_STATE=str(state)) as server:
        assert server.request("GET", "/bridge/v1/tools").status == 401
        with Server(vault, VAULTWIRE_STATE=str(state)) as client:
            client.open(LATEST)
            call(client, "read_note", path="Note")
            assert text_of(client.receive()) == "hello\n"
            client.close()
        assert "DELETE" in methods_served(server)


def test_a_server_that_does_not_answer_holds_up_neither_the_handshake_nor_for_long_a_call(vault: Path) -> None:
    with Serving(vault) as server:
        server.process.send_signal(signal.SIGSTOP)
        with Server(vault) as client:
            assert client.open(LATEST)["protocolVersion"] == LATEST
            assert (
                text_of(client.request("tools/call", {"name": "read_note", "arguments": {"path": "Note"}})) == "hello\n"
            )
            assert client.close()[0] == 0


# ---------------------------------------------------------------------- what must not be lost


def test_a_change_is_on_record_under_the_clients_name_and_who_has_read_is_not_mixed_up(vault: Path) -> None:
    option = "--require-read-first"
    edit = {"path": "Note", "edits": [{"action": "append", "content": "bye"}]}
    for revision in (LATEST, STATELESS_REVISION):
        options = (option, "--structured")
        with Serving(vault, *options), Server(vault, *options) as reader, Server(vault, *options) as other:
            for client in (reader, other):
                client.open(revision)
            call(reader, "read_note", path="Note")
            read = text_of(reader.receive())
            call(other, "edit_note", **edit)
            assert "read" in text_of(other.receive())
            assert (vault / "Note.md").read_text() == read
            call(reader, "edit_note", **edit)
            assert reader.receive()["result"]["isError"] is False
            call(reader, "list_changes")
            assert reader.receive()["result"]["structuredContent"]["changes"][0]["client"] == "tests"


def test_a_client_has_the_rules_of_its_name_as_without_a_running_server(vault: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[clients."*"]\ndeny = ["read_note"]\n[clients.tests]\n')
    option = f"--policy={policy}"
    for serving in (contextlib.nullcontext(), Serving(vault, option)):
        with serving, Server(vault, option) as client:
            client.open(LATEST)
            call(client, "read_note", path="Note")
            assert client.receive()["result"]["isError"] is False


def test_changes_are_made_in_the_order_in_which_they_came(vault: Path) -> None:
    with Serving(vault), Server(vault) as client:
        client.open(LATEST)
        ids = [call(client, "append_daily_note", content=f"line {n}") for n in range(30)]
        assert [client.receive()["id"] for _ in ids] == ids
    assert daily_lines(vault) == [f"line {n}" for n in range(30)]


def daily_lines(vault: Path) -> list[str]:
    (daily,) = [path for path in vault.glob("*.md") if path.name != "Note.md"]
    return [line for line in daily.read_text().splitlines() if line.startswith("line")]


@pytest.fixture
def behind(vault: Path) -> Iterator[Behind]:
    """Stand in for the running server, where it would be found."""
    place = app._rendezvous_path(make_config([str(vault)]))  # the one place where both must look
    assert place is not None
    met = rendezvous.listen(place)
    assert met is not None
    met.close()
    with Behind(place) as server:
        yield server


def test_progress_questions_and_cancellation_come_through(vault: Path, behind: Behind) -> None:
    answered, cancelled = threading.Event(), threading.Event()

    def work(asked: Asked) -> None:
        asked.begin_stream()
        asked.event(
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
        )
        asked.event({"jsonrpc": "2.0", "id": "vaultwire-1", "method": "elicitation/create", "params": {}})
        assert answered.wait(30)
        assert cancelled.wait(30)
        asked.end_stream()

    def hear(asked: Asked) -> None:
        asked.reply(202)
        answered.set()

    def stop(asked: Asked) -> None:
        asked.reply(202)
        cancelled.set()

    behind.on |= {"tools/call": work, "answer": hear, "notifications/cancelled": stop}
    behind.on["logging/setLevel"] = behind.on["resources/list"] = lambda asked: asked.result({"resources": []})
    with Server(vault) as client:
        client.open(LATEST)
        assert "result" in client.request("logging/setLevel", {"level": "error"})
        id_ = call(client, "search_notes", query="x")
        assert client.receive()["method"] == "notifications/progress"
        assert client.receive()["method"] == "elicitation/create"
        client.send({"jsonrpc": "2.0", "id": "vaultwire-1", "result": {"action": "accept"}})
        assert answered.wait(30)
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}})
        assert cancelled.wait(30)
        assert client.request("resources/list")["result"] == {"resources": []}
        assert client.notifications == []
        assert behind.count("logging/setLevel") == 1
        opening = behind.asked[0].message
        assert (opening["method"], opening["params"]["clientInfo"]["name"]) == ("initialize", "tests")


def test_what_the_server_says_of_changes_comes_through(vault: Path, behind: Behind) -> None:
    told = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:b"}}

    def say(asked: Asked) -> None:
        asked.begin_stream()
        asked.event(told)
        asked.wait_for_hanging_up()

    behind.on["GET"] = say
    with Server(vault) as client:
        client.open(LATEST)
        assert client.receive() == told


# ---------------------------------------------------------------------- when it goes away


def test_reading_goes_on_when_the_server_is_killed_in_the_middle_of_it(vault: Path) -> None:
    with Serving(vault) as server, Server(vault) as client:
        client.open(LATEST)
        call(client, "read_note", path="Note")
        client.receive()
        server.process.send_signal(signal.SIGSTOP)
        ids = [
            call(client, "read_note", path="Note"),
            client.post("resources/list"),
            call(client, "search_notes", query="hello"),
        ]
        server.process.kill()
        answers = {answer["id"]: answer for answer in (client.receive() for _ in ids)}
        assert text_of(answers[ids[0]]) == "hello\n"
        assert answers[ids[1]]["result"]["resources"]
        assert "Note.md" in text_of(answers[ids[2]])
        call(client, "write_note", path="New", content="x\n")
        assert client.receive()["result"]["isError"] is False
        assert client.close() == (0, b"", b"")


def test_a_change_that_may_have_been_made_is_not_made_again_and_the_next_one_is(vault: Path, behind: Behind) -> None:
    behind.on["tools/call"] = lambda asked: asked.drop()
    with Server(vault) as client:
        client.open(LATEST)
        call(client, "write_note", path="First", content="x\n")
        error = client.receive()["error"]
        assert error["data"]["errorCode"] == "CONNECTION_LOST"
        assert "It may have run" in error["message"]
        call(client, "write_note", path="Second", content="x\n")
        assert client.receive()["result"]["isError"] is False
        assert behind.count("tools/call") == 1
        assert client.close()[:2] == (0, b"")
    assert [path.name for path in sorted(vault.glob("*.md"))] == ["Note.md", "Second.md"]


def test_changes_in_line_are_made_in_order_when_the_server_is_killed(vault: Path) -> None:
    with Serving(vault) as server, Server(vault) as client:
        client.open(LATEST)
        ids = [call(client, "append_daily_note", content=f"line {n}") for n in range(30)]
        answers = [client.receive() for _ in range(10)]
        server.process.kill()
        answers += [client.receive() for _ in range(20)]
    assert [answer["id"] for answer in answers] == ids
    unsure = [n for n, answer in enumerate(answers) if "error" in answer]
    assert len(unsure) <= 1
    written = [int(line.removeprefix("line ")) for line in daily_lines(vault)]
    assert written in ([n for n in range(30) if n not in unsure], list(range(30)))


def test_a_server_that_ends_well_is_left_before_the_next_call(vault: Path) -> None:
    with Serving(vault) as server, Server(vault) as client:
        client.open(LATEST)
        call(client, "read_note", path="Note")
        client.receive()
        assert server.end(signal.SIGTERM)[0] == 0
        for _ in range(3):
            call(client, "append_daily_note", content="line")
            assert client.receive()["result"]["isError"] is False
    assert len(daily_lines(vault)) == 3


def test_an_answer_to_a_question_of_the_server_that_is_gone_goes_nowhere(vault: Path, behind: Behind) -> None:
    def ask_and_die(asked: Asked) -> None:
        asked.begin_stream()
        asked.event({"jsonrpc": "2.0", "id": "vaultwire-1", "method": "elicitation/create", "params": {}})
        asked.drop()

    behind.on["tools/call"] = ask_and_die
    with Server(vault) as client:
        client.open(LATEST)
        id_ = call(client, "read_note", path="Note")
        messages = [client.receive(), client.receive()]
        assert messages[0]["method"] == "elicitation/create"
        assert (messages[1]["id"], text_of(messages[1])) == (id_, "hello\n")
        client.send({"jsonrpc": "2.0", "id": "vaultwire-1", "result": {"action": "accept"}})
        assert "result" in client.request("ping")
        assert client.notifications == []
