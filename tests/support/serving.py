"""A real server process at a free port, and clients for it: http.client for usual requests, bytes for all others."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from support.forking import Command, loaded, start

TESTS = Path(__file__).resolve().parents[1]
PATIENCE = 60.0


class Reply(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Serving:
    """A spawned ``vaultwire serve``. Use as a context manager; it is ready when entered."""

    def __init__(self, vault: Path, *options: str, command: Command | None = None, **environment: str) -> None:
        """Without a ``command`` of its own it is a process that need not load the program (``support.forking``)."""
        command = command or loaded("vaultwire", "serve")
        arguments = ["--vault", str(vault), "--port", "0", *options]
        self.process = start(command, arguments, environment, stdin=subprocess.DEVNULL)
        self.url = ""
        self.port = 0
        self.trusting: ssl.SSLContext | None = None  # for a server over TLS

    def __enter__(self) -> Self:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if not line:
            raise AssertionError(f"no server: {self.process.communicate()[1].decode()}")
        self.url = line.split()[-1].removesuffix("/mcp")
        self.port = int(self.url.rpartition(":")[2])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def request(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        **headers: str,
    ) -> Reply:
        """Send one request on a connection of its own. ``x_api_key="k"`` becomes the header ``X-Api-Key``."""
        connection = (
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            if self.trusting is None
            else http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=self.trusting)
        )
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, named, encode_chunked=True)
            answer = connection.getresponse()
            return Reply(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def call(self, tool: str, arguments: Any, **headers: str) -> Reply:
        """Call a tool over REST."""
        body = json.dumps({"arguments": arguments}).encode()
        return self.request("POST", f"/bridge/v1/tools/{tool}/call", body, **headers)

    def connect(self) -> socket.socket:
        """Return a plain connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def send(self, data: bytes) -> bytes:
        """Send exactly these bytes and return everything until the server closes the connection."""
        with self.connect() as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return received(connection)

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal; return the exit code and what else came on stdout and stderr."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.wait(), output.decode(), errors.decode()


def stage(vault: Path, *options: str) -> Serving:
    """Return a server of tools that misbehave on purpose (``stage_serve``)."""
    return Serving(vault, *options, command=loaded("support.stage_serve"), PYTHONPATH=str(TESTS))


def received(connection: socket.socket) -> bytes:
    """Return everything until the other side closes the connection."""
    pieces = []
    while True:
        try:
            piece = connection.recv(65536)
        except ConnectionResetError:
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces)
