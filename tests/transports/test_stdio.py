"""The stdio door with real processes: how a connection ends, what counts as a line, and that stdout is the protocol's own."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.vaults import write_vault
from support.wire import Server
from vaultwire.transports.stdio import MAX_FRAME_BYTES

TESTS = Path(__file__).parents[1]
PATIENCE = 60.0
# How often that is tried which goes wrong now and then only. Every other test that starts a server tries it, too.
TIMES = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 4
STOP_SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Note.md\nhello\n=== Other.md\nworld\n")


@pytest.fixture
def server(vault: Path) -> Iterator[Server]:
    with Server(vault, "--structured") as started:
        yield started


def stage_server(vault: Path, *options: str) -> Server:
    command = [sys.executable, "-m", "support.stage_server"]
    return Server(vault, *options, command=command, PYTHONPATH=str(TESTS))


@pytest.fixture
def stage(vault: Path) -> Iterator[Server]:
    with stage_server(vault) as started:
        started.open("2025-11-25")
        yield started


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def post_waiting_call(stage: Server, fifo: Path) -> int:
    """Call a tool that waits at the pipe, and return its id once it does."""
    params = {"name": "wait", "arguments": {"fifo": str(fifo)}, "_meta": {"progressToken": "t"}}
    request_id = stage.post("tools/call", params)
    assert stage.receive()["params"]["message"] == "waiting"
    return request_id


def end_input(server: Server) -> None:
    """Send no more, but go on reading."""
    assert server.process.stdin is not None
    server.process.stdin.close()
    server.process.stdin = None


def run(vault: Path, data: bytes) -> list[Any]:
    """Return what a server says to this input; it must end well and keep stderr clean."""
    command = [sys.executable, "-m", "vaultwire", "stdio", "--vault", str(vault)]
    ended = subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout == b"" or ended.stdout.endswith(b"\n")
    return [json.loads(line) for line in ended.stdout.splitlines()]


# ---------------------------------------------------------------------- the end


def test_the_end_of_input_answers_what_is_in_flight_and_ends_well(server: Server) -> None:
    server.open("2025-11-25")
    search = {"name": "search_notes", "arguments": {"query": "hello"}}
    ids = [server.post("tools/call", search) for _ in range(10)]
    ids += [server.post("tools/call", {"name": "write_note", "arguments": {"path": "New", "content": "x"}})]
    code, output, errors = server.close()
    assert (code, errors) == (0, b"")
    answers = [json.loads(line) for line in output.splitlines()]
    assert sorted(answer["id"] for answer in answers) == ids
    assert all(answer["result"]["isError"] is False for answer in answers)


def test_the_end_of_input_waits_for_a_long_call(stage: Server, fifo: Path) -> None:
    request_id = post_waiting_call(stage, fifo)
    end_input(stage)
    fifo.write_text("done")
    assert stage.receive()["id"] == request_id
    assert stage.process.wait(PATIENCE) == 0


def test_exit_ends_the_process_though_the_input_stays_open(server: Server) -> None:
    server.open("2025-11-25")
    call = server.post("tools/call", {"name": "read_note", "arguments": {"path": "Note"}})
    server.send({"jsonrpc": "2.0", "method": "exit"})
    assert server.receive()["id"] == call
    assert server.process.wait(PATIENCE) == 0
    assert server.close() == (0, b"", b"")


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_stop_signal_ends_an_idle_server_well(server: Server, number: signal.Signals) -> None:
    server.open("2025-11-25")
    server.process.send_signal(number)
    assert server.process.wait(PATIENCE) == 0
    assert server.close() == (0, b"", b"")


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_stop_signal_that_does_not_interrupt_the_wait_for_input_is_heard(vault: Path, number: signal.Signals) -> None:
    # As one that comes just before the wait begins: without a wake-up it would be heard with the next input only.
    with stage_server(vault, "--signals-elsewhere") as server:
        server.open("2025-11-25")
        server.process.send_signal(number)
        assert server.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_stop_signal_lets_the_call_in_flight_be_answered(stage: Server, fifo: Path, number: signal.Signals) -> None:
    request_id = post_waiting_call(stage, fifo)
    stage.process.send_signal(number)
    fifo.write_text("done")
    answer = stage.receive()
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (request_id, "done")
    assert stage.process.wait(PATIENCE) == 0
    assert stage.close() == (0, b"", b"")


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_stop_signal_during_a_search_of_many_notes_lets_it_finish(tmp_path: Path, number: signal.Signals) -> None:
    vault = write_vault(tmp_path / "many", "".join(f"=== {n}.md\nhello {n}\n" for n in range(1000)))
    with Server(vault, "--structured") as server:
        server.open("2025-11-25")
        search = {"name": "search_notes", "arguments": {"query": "hello"}, "_meta": {"progressToken": 1}}
        request_id = server.post("tools/call", search)
        assert server.receive()["method"] == "notifications/progress"
        server.process.send_signal(number)
        code, output, errors = server.close()
        assert (code, errors) == (0, b"")
        answer = json.loads(output.splitlines()[-1])
        assert (answer["id"], answer["result"]["isError"]) == (request_id, False)
        # All of them; on a busy machine those that were indexed within the time that a search waits for the first build.
        content = answer["result"]["structuredContent"]
        assert content["total"] == content["notes_searched"] > 0


def test_a_second_signal_ends_a_server_that_waits_for_a_stuck_call(stage: Server, fifo: Path) -> None:
    post_waiting_call(stage, fifo)  # nobody writes to the pipe
    stage.process.send_signal(signal.SIGTERM)
    while stage.process.poll() is None:  # signals that come too close together count as one
        stage.process.send_signal(signal.SIGTERM)
        try:
            stage.process.wait(0.01)
        except subprocess.TimeoutExpired:
            pass
    assert stage.process.returncode == -signal.SIGTERM


def test_a_server_that_is_closed_at_once_never_hangs(vault: Path) -> None:
    # A thread that imports while the interpreter ends once locked both up for good; how often depends on luck.
    for _ in range(TIMES):
        assert run(vault, b"") == []
        assert run(vault, PING + b"\n") == [PONG]


def test_a_signal_at_once_after_the_first_answer_never_hangs(vault: Path) -> None:
    for number in STOP_SIGNALS * (TIMES // 2):
        with Server(vault) as server:
            server.send_line(PING)
            assert server.receive() == PONG
            server.process.send_signal(number)
            assert server.close() == (0, b"", b"")


def test_a_client_that_closes_its_end_early_still_has_its_changes_made(vault: Path) -> None:
    with Server(vault) as server:
        server.open("2025-11-25")
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.process.stdout = None
        for number in range(20):
            arguments = {"path": f"New {number}", "content": "x"}
            server.post("tools/call", {"name": "write_note", "arguments": arguments})
        code, _, errors = server.close()
        assert (code, errors) == (0, b"")
    assert len(list(vault.glob("New *.md"))) == 20


# ---------------------------------------------------------------------- lines

LINES: dict[str, tuple[bytes, int]] = {
    "a last line without its end": (PING, 1),
    "CRLF": (PING + b"\r\n" + PING + b"\r\n", 2),
    "blank lines": (b"\n\n" + PING + b"\n\r\n \t\n" + PING + b"\n\n", 2),
    "blanks around": (b"  \t" + PING + b"  \n", 1),
    "a byte order mark": (b"\xef\xbb\xbf" + PING + b"\r\n", 1),
    "only blanks and no line end": (b"   ", 0),
}


@pytest.mark.parametrize(("data", "answers"), LINES.values(), ids=LINES)
def test_what_counts_as_a_line(vault: Path, data: bytes, answers: int) -> None:
    assert run(vault, data) == [PONG] * answers


def test_bytes_that_are_no_message_do_not_end_the_connection(vault: Path) -> None:
    answers = run(vault, b"\x00\xff\n" + "{}\n".encode("utf-16") + b"Content-Length: 3\r\n\r\n" + PING + b"\n")
    assert answers[-1] == PONG
    assert {answer["error"]["code"] for answer in answers[:-1]} == {-32700}


def test_a_frame_beyond_the_limit_is_refused_and_the_next_one_served(vault: Path) -> None:
    answers = run(vault, b'"' + b"x" * MAX_FRAME_BYTES + b'"\n' + PING + b"\n")
    assert [answer["id"] for answer in answers] == [None, 1]
    assert answers[0]["error"]["code"] == -32600
    assert str(MAX_FRAME_BYTES) in answers[0]["error"]["message"]


def test_a_frame_of_exactly_the_limit_is_served_and_a_byte_more_is_not(vault: Path) -> None:
    most = PING + b" " * (MAX_FRAME_BYTES - len(PING))
    assert run(vault, most + b"\n" + PING) == [PONG, PONG]
    refused, served = run(vault, most + b" \n" + PING)
    assert (refused["id"], served) == (None, PONG)


# ---------------------------------------------------------------------- the process's own stdin and stdout


def test_nothing_but_protocol_reaches_stdout_whoever_prints(stage: Server) -> None:
    assert stage.call("shout")["structuredContent"] == {"text": "shouted"}
    assert stage.request("ping")["result"] == {}
    code, output, errors = stage.close()
    assert (code, output) == (0, b"")
    assert sorted(errors.decode().split("\n")) == ["", "child ''", "child error", "descriptor", "print", "write"]


def test_pipes_that_do_not_block_lose_nothing(vault: Path) -> None:
    long = "x" * 1_000_000  # far more than a pipe holds
    (vault / "Long.md").write_text(long)
    to_server, from_server = os.pipe(), os.pipe()
    for descriptor in (to_server[0], from_server[1]):
        os.set_blocking(descriptor, False)
    command = [sys.executable, "-m", "vaultwire", "stdio", "--vault", str(vault)]
    process = subprocess.Popen(command, stdin=to_server[0], stdout=from_server[1])
    os.close(to_server[0])
    os.close(from_server[1])
    with os.fdopen(to_server[1], "wb", buffering=0) as sending, os.fdopen(from_server[0], "rb") as receiving:
        sending.write(PING + b"\n")
        assert json.loads(receiving.readline()) == PONG
        # By now the server has found its input empty at least once.
        params = {
            "name": "read_note",
            "arguments": {"path": "Long", "max_tokens": len(long)},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }
        request = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).encode()
        sending.write(request[:50])
        sending.write(request[50:] + b"\n")
        assert json.loads(receiving.readline())["result"]["content"][0]["text"] == long
    assert process.wait(PATIENCE) == 0


def test_a_stdin_that_the_parent_closed_is_the_end_of_input(vault: Path) -> None:
    command = shlex.join([sys.executable, "-m", "vaultwire", "stdio", "--vault", str(vault)])
    finished = subprocess.run(["sh", "-c", f"{command} <&-"], capture_output=True, timeout=60, check=False)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, b"", b"")


def test_a_call_right_behind_the_handshake_finds_everything_loaded(vault: Path) -> None:
    """Regression: on CPython 3.13.0 one start in twenty failed, two threads having imported at once."""
    for _ in range(TIMES):
        with Server(vault) as server:
            server.open("2025-11-25")
            assert server.call("list_notes")["isError"] is False
            assert server.close() == (0, b"", b"")
