"""Measures sign-in: what a call with an access token costs beside one with a key, and what a public URL adds to the start."""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.client import child_environment, compile_sources
from bench.sample_vault import write_vault

from vaultwire.remote.store import Grant, Store
from vaultwire.trust.keys import Keys

_CALLS = 300
_STARTS = 7
_MOST_MS = 0.3
_CALL = json.dumps({"arguments": {"paths": ["Nowhere"]}}).encode()
_PATH = "/bridge/v1/tools/read_notes/call"


def run(path: Path) -> list[str]:
    """Measure, print a table and write the JSON. Return the missed targets."""
    compile_sources()
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        root = Path(folder)
        (root / "vault").mkdir()
        write_vault(root / "vault")
        results = _measure(root)
    more = results["call with a token"] - results["call with a key"]
    results["a token, more than a key"] = more
    for name, took in results.items():
        print(f"{name:<36}{took:8.3f} ms")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"calls": _CALLS, "starts": _STARTS, "milliseconds": results}, indent=2) + "\n")
    return [f"a token costs {more:.3f} ms more than a key, target {_MOST_MS}"] if more > _MOST_MS else []


def _measure(root: Path) -> dict[str, float]:
    """Return medians in milliseconds: of calls on one connection each, and of starts until the first answer, in turn."""
    key = Keys(str(root / "state" / "keys")).issue("bench")
    token = _new_token(root / "state")
    plain: list[str] = []
    starts: dict[str, list[float]] = {"start without a public URL": [], "start with a public URL": []}
    calls: dict[str, list[float]] = {"call with a key": [], "call with a token": []}
    for _ in range(_STARTS):
        port = _free_port()
        for name, options in zip(starts, (plain, ["--public-url", f"http://127.0.0.1:{port}"]), strict=True):
            began = time.perf_counter()
            with _serve(root, port, options):
                starts[name].append(_since(began))
                if options:
                    _call_in_turn(port, {"call with a key": key, "call with a token": token}, calls)
    return {name: statistics.median(times) for name, times in {**calls, **starts}.items()}


def _serve(root: Path, port: int, options: list[str]) -> subprocess.Popen[bytes]:
    """Return a server that answers; it is ended with its block."""
    command = [
        sys.executable,
        "-m",
        "vaultwire",
        "serve",
        "--vault",
        str(root / "vault"),
        "--port",
        str(port),
        *options,
    ]
    process = _Ending(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**child_environment(), "VAULTWIRE_STATE": str(root / "state")},
    )
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError(f"{command} ended early")
    return process


class _Ending(subprocess.Popen[bytes]):
    """A process that is ended with its block."""

    def __exit__(self, *_: object) -> None:
        self.terminate()
        super().__exit__(None, None, None)


def _call_in_turn(port: int, secrets: dict[str, str], calls: dict[str, list[float]]) -> None:
    """Call with each secret in turn, so that a disturbance of the machine affects both alike."""
    connections = {name: http.client.HTTPConnection("127.0.0.1", port, timeout=30) for name in secrets}

    def ask(name: str) -> Callable[[], None]:
        headers = {"Authorization": f"Bearer {secrets[name]}", "Content-Type": "application/json"}

        def call() -> None:
            connections[name].request("POST", _PATH, _CALL, headers)
            answer = connections[name].getresponse()
            answer.read()
            if answer.status != http.client.OK:
                raise RuntimeError(f"{name}: {answer.status}")

        return call

    asking = {name: ask(name) for name in secrets}
    for call in asking.values():  # loads code, and notes the first use
        call()
    for _ in range(_CALLS):
        for name, call in asking.items():
            began = time.perf_counter()
            call()
            calls[name].append(_since(began))
    for connection in connections.values():
        connection.close()


def _new_token(state: Path) -> str:
    store = Store(str(state / "sign-in"))
    store.add_person("Ana", "no password opens this")
    grant = Grant("", "Ana", "claude.ai", "client", "Claude", writes=True, created=0, expires=0, used=0)
    code = store.new_code(grant, 3600, "challenge", "https://claude.ai/api/mcp/auth_callback")
    taken = None if code is None else store.take_code(code, "client")
    pair = None if taken is None else store.new_pair(taken.grant)
    store.close()
    if pair is None:
        raise RuntimeError("no token was given")
    return pair.access


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
