"""The load of the HTTP bench: raw sockets, prepared requests, answers measured but not parsed.

As light as Python allows, and the same for every server. Its own cost is reported beside the measures.
"""

from __future__ import annotations

import gc
import itertools
import json
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from bench.client import child_environment

_ROOT = Path(__file__).parents[1]
# A server that hangs ends the bench instead of stalling it.
_ANSWER_SECONDS = 30.0
_EXIT_SECONDS = 20

_STATELESS, _HANDSHAKE = "2026-07-28", "2025-11-25"
_SECTION = "io.modelcontextprotocol/"
_CLIENT = {"name": "bench", "version": "0"}


class Load(NamedTuple):
    """The result of one run of requests; times in seconds. ``client`` and ``server`` are processor time a request."""

    rate: float
    p50: float
    p99: float
    client: float
    server: float | None


class HttpServer:
    """A spawned server, which prints its URL in its first line, and the time since then. A context manager."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        environment = {**child_environment(), **(variables or {})}
        self._began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment, cwd=_ROOT
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if not line:
            raise RuntimeError(f"{command} ended early")
        self.port = int(line.rsplit(":", 1)[1].split("/")[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def seconds(self) -> float:
        """Return the time since the spawn."""
        return time.perf_counter() - self._began

    def memory(self) -> dict[str, float] | None:
        """Return resident memory now and at its peak, in MiB; None where there is no /proc."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        return {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}

    def cpu(self) -> float | None:
        """Return the CPU seconds of all its threads so far; None where the system does not tell."""
        try:
            tasks = list(Path(f"/proc/{self.process.pid}/task").iterdir())
            return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9
        except (OSError, ValueError, IndexError):
            return None

    def call(self, request: bytes) -> dict[str, Any]:
        """Send one request and return its result. Raises RuntimeError for a refusal: fast ones must not count as calls."""
        status, headers, body = self.ask(request)
        answer = json.loads(body) if body else {}
        if status != 200 or "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"a call failed: {status} {headers[:300]!r} {body[:300]!r}")
        result: dict[str, Any] = answer["result"]
        return result

    def ask(self, request: bytes) -> tuple[int, bytes, bytes]:
        """Send one request on a connection of its own; return status, head and body of the answer."""
        with socket.create_connection(("127.0.0.1", self.port), _ANSWER_SECONDS) as connection:
            connection.sendall(request)
            received = b""
            while (length := _length(received)) is None or len(received) < length:
                piece = connection.recv(1 << 16)
                if not piece:
                    raise RuntimeError(f"hung up after {received[:300]!r}")
                received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), head, body

    def open_session(self) -> str:
        """Shake hands and return the session's id."""
        params = {"protocolVersion": _HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT}
        _, head, _ = self.ask(_to_request({"method": "initialize", "params": params}, {}))
        named = {line.partition(b": ")[0].lower(): line.partition(b": ")[2] for line in head.split(b"\r\n")}
        id_ = named[b"mcp-session-id"].decode()
        self.ask(_to_request({"method": "notifications/initialized"}, session_headers(id_), id_=None))
        return id_

    def load(self, requests: Sequence[bytes], in_flight: int, seconds: float) -> Load:
        """Send requests for so long, so many at a time, each on its own connection.

        Each connection repeats its share of them: no two in flight have the same id if no two given have.
        """
        connections = [socket.create_connection(("127.0.0.1", self.port), _ANSWER_SECONDS) for _ in range(in_flight)]
        run = _one_by_one if in_flight == 1 else _side_by_side
        turns = [itertools.cycle(requests[number::in_flight]) for number in range(in_flight)]
        try:
            for connection in connections:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            run(connections, turns, seconds / 5)  # uncounted
            gc.collect()
            gc.disable()  # the client's own pauses are not the server's
            server, client, before = self.cpu(), time.process_time(), time.perf_counter()
            taken = run(connections, turns, seconds)
            wall, client = time.perf_counter() - before, time.process_time() - client
            end = self.cpu()
        finally:
            gc.enable()
            for connection in connections:
                connection.close()
        taken.sort()
        count = len(taken)
        server_cpu = None if server is None or end is None else (end - server) / count
        return Load(count / wall, taken[count // 2], taken[count * 99 // 100], client / count, server_cpu)


def own_server(module: str, *arguments: str) -> list[str]:
    """Return the command of a server that is a module of the bench."""
    return [sys.executable, "-m", f"bench.{module}", *arguments]


def stateless_call(tool: str, arguments: dict[str, Any], id_: int = 1) -> bytes:
    """Return a call in the revision without sessions."""
    meta = {
        _SECTION + "protocolVersion": _STATELESS,
        _SECTION + "clientInfo": _CLIENT,
        _SECTION + "clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    headers = {"MCP-Protocol-Version": _STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    return _to_request({"method": "tools/call", "params": params}, headers, id_)


def handshake_call(tool: str, arguments: dict[str, Any], headers: dict[str, str], id_: int = 1) -> bytes:
    """Return a call as of 2025: in a session, or in none."""
    return _to_request({"method": "tools/call", "params": {"name": tool, "arguments": arguments}}, headers, id_)


def session_headers(session: str | None) -> dict[str, str]:
    """Return the headers of requests of 2025, with a session or without."""
    return {"MCP-Protocol-Version": _HANDSHAKE, **({} if session is None else {"Mcp-Session-Id": session})}


def _to_request(message: dict[str, Any], headers: dict[str, str], id_: int | None = 1) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message, **({} if id_ is None else {"id": id_})}).encode()
    sent = {
        "Host": "127.0.0.1:3000",  # any port will do, but the SDK wants one
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **headers,
        "Content-Length": str(len(body)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


def _length(received: bytes) -> int | None:
    """Return the length of the answer that begins here; None if it has not arrived yet."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    start = received.find(b"ontent-", 0, end)
    while start >= 0:
        if received[start : start + 15].lower() == b"ontent-length: ":
            return end + 4 + int(received[start + 15 : received.find(b"\r", start + 15)])
        start = received.find(b"ontent-", start + 1, end)
    return end + 4


def _check(answer: bytes) -> None:
    """Raise RuntimeError if an answer is not a success."""
    if not answer.startswith(b"HTTP/1.1 200") or b'"result":' not in answer or b'"isError":true' in answer:
        raise RuntimeError(f"a call failed: {answer[:500]!r}")


def _one_by_one(connections: Sequence[socket.socket], turns: Sequence[Iterator[bytes]], seconds: float) -> list[float]:
    taken: list[float] = []
    clock, (connection,), (turn,) = time.perf_counter, connections, turns
    connection.setblocking(False)
    send, receive = connection.send, connection.recv
    end = clock() + seconds
    after = 0.0
    while after < end:
        request = next(turn)
        before = clock()
        send(request)
        received = b""
        while (length := _length(received)) is None or len(received) < length:
            try:
                received += _more(receive(1 << 16))
            except BlockingIOError:  # asks again: waking up a client that sleeps takes longer than some of the answers
                pass
        after = clock()
        taken.append(after - before)
        _check(received)
    return taken


def _side_by_side(
    connections: Sequence[socket.socket], turns: Sequence[Iterator[bytes]], seconds: float
) -> list[float]:
    taken: list[float] = []
    clock = time.perf_counter
    end = clock() + seconds
    turn_of = dict(zip(connections, turns, strict=True))
    begun: dict[socket.socket, float] = {}
    received: dict[socket.socket, bytes] = {}
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
            begun[connection], received[connection] = clock(), b""
            connection.send(next(turn_of[connection]))
        while begun:
            for key, _ in selector.select(_ANSWER_SECONDS):
                connection: Any = key.fileobj  # type: ignore[no-redef]
                got = received[connection] + _more(connection.recv(1 << 16))
                length = _length(got)
                if length is None or len(got) < length:
                    received[connection] = got
                    continue
                now = clock()
                taken.append(now - begun[connection])
                _check(got)
                if now > end:
                    del begun[connection]
                    continue
                received[connection], begun[connection] = b"", now
                connection.send(next(turn_of[connection]))
    return taken


def _more(piece: bytes) -> bytes:
    if not piece:
        raise RuntimeError("the server hung up in the middle of an answer")
    return piece
