"""What clients can have a server keep is bounded, all together, however they go about it: a real server, real sockets."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.loaded import Server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel for memory")

IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
# All sizes below in this unit, which make soak has in full.
MB = 1024 * 1024 // (1 if IS_SOAK else 4)
MOST = 24 * MB
# Enough to come to the limit; make soak goes on for long after that.
TIMES = 16 if IS_SOAK else 1
# Above the patience of the whole test: it is memory that is measured, and a busy computer answers late.
PATIENCE = 3600.0
# Five calls may be on their way when there is no room for more, each with an answer of up to 9 MB, which has been in as
# many as five forms: a note's text, the tool's result, JSON, a frame, and what is written to a socket.
MOST_OVER = 5 * 9 * MB
MOST_GROWTH = MOST + 5 * MOST_OVER
CLIENTS: list[Client] = []
SESSION = "Mcp-Session-Id"
REVISION = "2025-11-25"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Small.md").write_text("hello\n", encoding="utf-8")
    for number in range(4):
        (vault / f"Big {number}.md").write_text("Some words of a long note.\n" * (MB // 27), encoding="utf-8")
    (vault / "Huge.md").write_text("Some words of a long note.\n" * (4 * MB // 27), encoding="utf-8")
    started = Server(vault, "--most", str(MOST))
    yield started
    while CLIENTS:
        CLIENTS.pop().leave()
    started.close()


class Client:
    """One connection, and the session it opened if it did."""

    def __init__(self, server: Server) -> None:
        CLIENTS.append(self)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(PATIENCE)
        self._file = self.socket.makefile("rb")
        self.socket.connect(("127.0.0.1", server.port))
        self.session: dict[str, str] = {}

    def send(self, method: str, params: Any, accept: str = "application/json, text/event-stream") -> None:
        self.socket.sendall(self.request(method, params, accept))

    def request(self, method: str, params: Any, accept: str = "application/json, text/event-stream") -> bytes:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = {
            "Content-Type": "application/json",
            "Accept": accept,
            "MCP-Protocol-Version": REVISION,
            **self.session,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body

    def read(self) -> tuple[int, bytes]:
        """Return status and body of the next answer."""
        status = int(self._file.readline().split()[1])
        headers = {}
        while line := self._file.readline().strip():
            name, _, value = line.partition(b": ")
            headers[name.lower()] = value
        if b"mcp-session-id" in headers:
            self.session = {SESSION: headers[b"mcp-session-id"].decode()}
        if b"content-length" in headers:
            return status, self._file.read(int(headers[b"content-length"]))
        body = b""
        while size := int(self._file.readline(), 16):
            body += self._file.read(size)
            self._file.readline()
        self._file.readline()
        return status, body

    def ask(self, method: str, params: Any, accept: str = "application/json, text/event-stream") -> tuple[int, bytes]:
        self.send(method, params, accept)
        return self.read()

    def open(self) -> None:
        """Open a session."""
        assert self.ask("initialize", {"protocolVersion": REVISION, "capabilities": {}})[0] == 200
        assert self.session

    def leave(self) -> None:
        self._file.close()
        self.socket.close()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def many_read_nothing(server: Server) -> Iterator[None]:
    """Many ask for a long note and do not read what they asked for. Sockets hold a part of each answer."""
    for _ in range(20 * TIMES):
        client = Client(server)
        yield
        client.send("tools/call", call("read_note", path="Huge", max_tokens=2_500_000))


def many_leave_streams(server: Server) -> Iterator[None]:
    """Many sessions hear long answers as streams, which are kept in case that they come back."""
    for _ in range(10 * TIMES):
        client = Client(server)
        client.open()
        for number in range(4):
            status, body = client.ask(
                "resources/read", {"uri": f"obsidian://vault/vault/Big%20{number}.md"}, "text/event-stream"
            )
            assert (status, len(body) > MB) == (200, True)
        client.leave()
        yield


def many_read_notes(server: Server) -> Iterator[None]:
    """Many sessions read long notes, whose text is kept to tell what has changed since."""
    for _ in range(10 * TIMES):
        client = Client(server)
        client.open()
        for number in range(4):
            client.ask("tools/call", call("read_note", path=f"Big {number}", max_tokens=MB // 4))
        client.leave()
        yield


def many_send_and_leave(server: Server) -> Iterator[None]:
    """Many send a long message that has to wait for others, and leave."""
    for number in range(12 * TIMES):
        client = Client(server)
        client.open()
        client.send("tools/call", call("write_note", path=f"New {number}", content="more words\n" * (4 * MB // 11)))
        client.leave()
        yield


def many_send_half(server: Server) -> Iterator[None]:
    """Many send the first part of a long message, and no more."""
    for number in range(20 * TIMES):
        client = Client(server)
        yield
        message = client.request(
            "tools/call", call("write_note", path=f"New {number}", content="more words\n" * (4 * MB // 11))
        )
        try:
            client.socket.sendall(message[:-MB])
        except OSError:  # hung up on, for others to have room
            pass


SHAPES = [many_read_nothing, many_leave_streams, many_read_notes, many_send_and_leave, many_send_half]


@pytest.mark.timeout(600 * TIMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_clients_have_a_server_keep_is_bounded_all_together(
    server: Server, shape: Callable[[Server], Iterator[None]]
) -> None:
    warm = Client(server)
    warm.open()
    for _ in range(3):
        status, body = warm.ask("tools/call", call("read_note", path="Big 0", max_tokens=MB // 4))
        assert status == 200
        assert len(body) > 2 * MB
    before = server.counts()["bytes"]
    most = most_kept = 0
    for _ in shape(server):
        counts = server.counts()
        most, most_kept = max(most, counts["bytes"]), max(most_kept, counts["kept"])
    counts = server.counts()
    most, most_kept = max(most, counts["bytes"]), max(most_kept, counts["kept"])

    assert most_kept <= MOST + MOST_OVER
    assert most - before < MOST_GROWTH
    assert most_kept > MOST / 2  # it came to that
    # Somebody who is at work is served all the while, and what was let go is no trouble.
    client = Client(server)
    client.open()
    while True:
        status, body = client.ask("tools/call", call("read_note", path="Small"))
        assert status == 200
        result = json.loads(body)["result"]
        if not result["isError"]:
            break
        assert result["_meta"]["errorCode"] == "SERVER_BUSY"  # as long as others' answers are made
    while CLIENTS:
        CLIENTS.pop().leave()
    assert server.end()[0] == 0
