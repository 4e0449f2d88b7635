"""Clients that open connections and say little: others are served all the same, and the server ends when it is told to."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.certificates import make_certificate
from support.serving import PATIENCE, Serving, received, stage
from support.vaults import write_vault

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs limits of open files, and signals")

FILES = 128  # that the server may have open
LIMITED = ["sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", sys.executable, "-m", "vaultwire", "serve"]
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
CALL = b"POST /bridge/v1/tools/read_note/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 31\r\n\r\n"
BODY = b'{"arguments": {"path": "Note"}}'
# A server that waits for its clients takes half a minute or more.
END_SECONDS = 20


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nthe text\n")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@contextlib.contextmanager
def serving(vault: Path, certificate: tuple[str, str] | None, command: list[str] | None = None) -> Iterator[Serving]:
    options = [] if certificate is None else ["--tls-cert", certificate[0], "--tls-key", certificate[1]]
    with Serving(vault, *options, command=command) as server:
        if certificate is not None:
            server.trusting = ssl.create_default_context(cafile=certificate[0])
        yield server


@pytest.fixture(params=["plain", "tls"])
def limited(request: pytest.FixtureRequest, vault: Path, certificate: tuple[str, str]) -> Iterator[Serving]:
    with serving(vault, certificate if request.param == "tls" else None, LIMITED) as server:
        yield server


@pytest.mark.parametrize("said", [b"", b"POST /mcp HTTP/1.1\r\nX: "])
def test_connections_that_ask_for_nothing_keep_nobody_out(limited: Serving, said: bytes) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            for _ in range(FILES):
                silent = stack.enter_context(limited.connect())
                with contextlib.suppress(OSError):  # it may have had to go already
                    silent.sendall(said)
            for _ in range(3):
                reply = limited.call("read_note", {"path": "Note"})
                assert (reply.status, reply.json["success"]) == (200, True)
    assert limited.call("write_note", {"path": f"New {limited.port}", "content": "x"}).json["success"] is True
    code, _, errors = limited.end(signal.SIGTERM)
    assert (code, errors) == (0, "")


def test_a_client_that_was_served_keeps_its_connection_while_silent_ones_come(vault: Path) -> None:
    with serving(vault, None, LIMITED) as server, contextlib.ExitStack() as stack:
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        stack.callback(client.close)
        for _ in range(3):
            client.request("GET", "/bridge/v1/health")
            assert client.getresponse().read()
            connected = client.sock
            for _ in range(2 * FILES):
                stack.enter_context(server.connect())
            assert server.request("GET", "/health").status == 200  # so all of those were taken
        client.request("GET", "/bridge/v1/health")
        assert client.getresponse().status == 200
        assert client.sock is connected


WITHOUT_FILES = """
import asyncio, os, resource, socket, sys, threading
from vaultwire.transports.http_server import Endpoint, Limits, run

async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})

async def on_stop():
    pass

taken = []

def fill():
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        print("filled", flush=True)

def steer():
    for line in sys.stdin:
        loop.call_soon_threadsafe(fill if line.strip() == "fill" else free)

def free():
    while taken:
        os.close(taken.pop())
    print("freed", flush=True)

def begin(stop):
    global loop
    loop = asyncio.get_running_loop()
    threading.Thread(target=steer, daemon=True).start()
    print(listener.getsockname()[1], flush=True)

listener = socket.create_server(("127.0.0.1", 0))
run([Endpoint(app, listener)], begin, on_stop, Limits())
"""


def test_a_server_without_a_free_file_descriptor_takes_connections_again_when_there_is_one() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WITHOUT_FILES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        process.stdin.write("fill\n")
        process.stdin.flush()
        assert process.stdout.readline() == "filled\n"
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE)) for _ in range(20)]
            for client in clients:
                client.sendall(GET)
            clients[0].settimeout(0.5)
            with pytest.raises(TimeoutError):  # nobody could take them
                clients[0].recv(1)
            process.stdin.write("free\n")
            process.stdin.flush()
            assert process.stdout.readline() == "freed\n"
            for client in clients:
                client.settimeout(PATIENCE)
                assert client.recv(1 << 16).endswith(b"ok")
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


# ---------------------------------------------------------------------- the end


SLOW = {
    "who says nothing": b"",
    "who keeps a connection": GET,
    "in the middle of a head": b"GET /health HTTP/1.1\r\nX: ",
    "in the middle of a body": CALL + BODY[:9],
    "in the middle of a body that was refused": b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx",
}


@pytest.mark.parametrize("transport", ["plain", "tls", "tls handshake"])
def test_the_server_ends_soon_whatever_its_clients_are_at(
    vault: Path, certificate: tuple[str, str], transport: str
) -> None:
    with (
        serving(vault, None if transport == "plain" else certificate) as server,
        contextlib.ExitStack() as stack,
    ):
        for said in SLOW.values():
            connection = stack.enter_context(server.connect())
            if transport == "tls":
                assert server.trusting is not None
                connection = stack.enter_context(server.trusting.wrap_socket(connection, server_hostname="localhost"))
            if transport != "tls handshake":
                connection.sendall(said)
        assert server.request("GET", "/health").status == 200  # so those are in
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(END_SECONDS) == 0


def test_the_server_ends_soon_where_a_client_takes_no_answer(tmp_path: Path) -> None:
    body = b'{"arguments": {"megabytes": 50}}'
    head = b"POST /bridge/v1/tools/flood/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    with stage(tmp_path) as server, server.connect() as connection:
        connection.sendall(head + body)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(END_SECONDS) == 0


def test_a_call_in_flight_is_answered_at_the_end(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with stage(tmp_path) as server, server.connect() as connection, server.connect() as other, server.connect() as slow:
        body = json.dumps({"arguments": {"fifo": str(fifo)}}).encode()
        head = b"POST /bridge/v1/tools/wait/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body)
        pipe = os.open(fifo, os.O_WRONLY)  # so it is being read
        other.sendall(GET)
        assert other.recv(1 << 16)
        slow.sendall(CALL + BODY[:9])
        server.process.send_signal(signal.SIGTERM)
        assert received(other) == b""  # so the server is ending
        assert received(slow).startswith(b"HTTP/1.1 408 ")  # and has waited for those who are late, as long as it does
        os.write(pipe, b"the last")
        os.close(pipe)
        assert b"the last" in received(connection)
        assert server.process.wait(END_SECONDS) == 0


def test_a_client_that_says_no_more_gets_its_answers_and_one_that_left_holds_no_place(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    other = tmp_path / "other"  # two readers of one pipe would share what is written
    os.mkfifo(other)
    body = json.dumps({"arguments": {"fifo": str(fifo)}}).encode()
    head = b"POST /bridge/v1/tools/wait/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    with stage(tmp_path, "--log-json") as server, server.connect() as waiting:
        waiting.sendall(head + body)
        waiting.shutdown(socket.SHUT_WR)
        pipe = os.open(fifo, os.O_WRONLY)
        call = {"name": "wait", "arguments": {"fifo": str(other)}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n"
        head += b"Content-Length: %d\r\n\r\n" % len(body)
        with server.connect() as leaving:
            leaving.sendall(head + body)
        assert server.process.stderr is not None
        assert json.loads(server.process.stderr.readline())["status"] == 499
        os.close(os.open(other, os.O_WRONLY))
        os.write(pipe, b"the answer")
        os.close(pipe)
        assert b"the answer" in received(waiting)
