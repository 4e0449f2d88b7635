"""A small MCP client: it starts a real stdio server and measures its answers, for ``demo`` and ``doctor``."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any, Self

from vaultwire import __version__

# The newest revision with a handshake, which most clients use today.
REVISION = "2025-11-25"


class ServerEndedError(Exception):
    """The server ended before it answered; ``exit_code`` and its stderr say why."""

    def __init__(self, exit_code: int, errors: str) -> None:
        super().__init__(f"the server ended with exit code {exit_code}: {errors or '(no output on stderr)'}")
        self.exit_code = exit_code


class StdioClient:
    """One server process. A context manager: at its end the server ends normally."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """``environment`` is added to this process's own."""
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self._ids = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def kill(self) -> None:
        """End the server at once."""
        self._process.kill()

    def initialize(self) -> tuple[dict[str, Any], float]:
        """Do the handshake; return its result, and the milliseconds from spawn to that answer."""
        client = {"name": "vaultwire", "version": __version__}
        result = self._request("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client})
        milliseconds = (time.perf_counter() - self._started) * 1000
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result, milliseconds

    def request(self, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Send a request; return its result and the milliseconds it took. Raises ServerEndedError."""
        started = time.perf_counter()
        result = self._request(method, params)
        return result, (time.perf_counter() - started) * 1000

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Call a tool; return what ``request`` returns."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._send({"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params})
        line = _pipe(self._process.stdout).readline()
        if not line:
            self._fail()
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _send(self, message: dict[str, Any]) -> None:
        pipe = _pipe(self._process.stdin)
        try:
            pipe.write(json.dumps(message).encode() + b"\n")
            pipe.flush()
        except OSError:
            self._fail()

    def _fail(self) -> None:
        _, errors = self._process.communicate()
        raise ServerEndedError(self._process.returncode, errors.decode(errors="replace").strip())


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # Popen was asked for it
    return pipe
