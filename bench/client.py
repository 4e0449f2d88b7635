"""The measuring client: spawns a server, sends raw JSON-RPC through its pipes, takes the time. Standard library only."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

_REVISION = "2025-11-25"
# A server that hangs ends the bench instead of stalling it.
_EXIT_SECONDS = 20

INITIALIZE = (
    json.dumps(
        {
            "jsonrpc": "2.0",
            "id": "initialize",
            "method": "initialize",
            "params": {
                "protocolVersion": _REVISION,
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "0"},
            },
        }
    ).encode()
    + b"\n"
)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
LIST_TOOLS = b'{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{}}\n'


def child_environment() -> dict[str, str]:
    """Return this environment without Python's own switches. Servers give the data of results, which the bench looks at.

    PYTHONDONTWRITEBYTECODE in particular, which container images set, would have every start compile our sources anew.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "VAULTWIRE_STRUCTURED": "1"}


def compile_sources() -> None:
    """Write our bytecode: an installed program has it, a fresh checkout does not."""
    spec = importlib.util.find_spec("vaultwire")
    assert spec is not None
    assert spec.origin is not None
    command = [sys.executable, "-m", "compileall", "-q", str(Path(spec.origin).parent)]
    subprocess.run(command, check=True, env=child_environment())


def run_to_exit(command: Sequence[str]) -> float:
    """Return the seconds from spawn to exit of a command, whose output is read as its caller would."""
    started = time.perf_counter()
    subprocess.run(command, check=True, env=child_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return time.perf_counter() - started


def call_frame(number: int, tool: str, arguments: dict[str, Any]) -> bytes:
    """Return the line that calls a tool, with the id ``number``."""
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode() + b"\n"


# What the server says unasked, such as that notes came or went. No result has it at its beginning.
_NOTIFICATION = b'"method":"notifications/'


class Server:
    """A spawned server, and the time since then. Use as a context manager."""

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str] | None = None,
        start: Callable[..., Any] = subprocess.Popen,
    ) -> None:
        """``start`` starts the process, as ``subprocess.Popen`` does: tests have a faster way."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        environment = {**child_environment(), **(variables or {})}
        self.started = time.perf_counter()
        self.process = start(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=environment
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input: IO[bytes] = self.process.stdin
        self._output: IO[bytes] = self.process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self._input.close()
        self._output.close()
        self.process.wait()
        self._errors.close()

    def seconds(self) -> float:
        """Return the time since the spawn."""
        return time.perf_counter() - self.started

    def ask(self, frame: bytes) -> bytes:
        """Send one request and return the answer, not parsed. For requests without notifications."""
        self.send(frame)
        return self.receive()

    def send(self, frame: bytes) -> None:
        """Send a line."""
        os.write(self._input.fileno(), frame)  # shorter than a pipe's atomic size: goes out whole

    def receive(self) -> bytes:
        """Wait for the next line that is no notification."""
        line = self.receive_any()
        while _NOTIFICATION in line[:80]:
            line = self.receive_any()
        return line

    def receive_any(self) -> bytes:
        """Wait for the next line."""
        line = self._output.readline()
        if not line.endswith(b"\n"):
            self._errors.seek(0)
            raise RuntimeError(f"{self.process.args!r} ended early: {self._errors.read().decode(errors='replace')}")
        return line

    def open(self) -> None:
        """Shake hands and list the tools, as every client does."""
        self.ask(INITIALIZE)
        self.send(INITIALIZED)
        self.ask(LIST_TOOLS)

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool once, untimed, and return what it found."""
        return check_success(self.ask(call_frame(0, tool, arguments)))

    def round_trips(self, tool: str, arguments: dict[str, Any], times: int, warm_up: int) -> list[float]:
        """Return the seconds of each of ``times`` calls, made one after another after ``warm_up`` calls that do not count."""
        return self.time_calls(tool, [arguments] * (warm_up + times))[warm_up:]

    def time_calls(
        self, tool: str, arguments: Sequence[dict[str, Any]], most_seconds: float = float("inf")
    ) -> list[float]:
        """Return the seconds of each call, made one after another; stop early after ``most_seconds``."""
        frames = [call_frame(number, tool, each) for number, each in enumerate(arguments)]
        answers: list[bytes] = []
        taken: list[float] = []
        clock, ask = time.perf_counter, self.ask
        end = clock() + most_seconds
        gc.disable()  # the client's own pauses are not the server's
        try:
            for frame in frames:
                before = clock()
                if before > end:
                    break
                answer = ask(frame)
                taken.append(clock() - before)
                answers.append(answer)
        finally:
            gc.enable()
        for answer in answers:
            check_success(answer)
        return taken

    def throughput(self, tool: str, arguments: dict[str, Any], times: int, in_flight: int) -> float:
        """Return the answers per second with ``in_flight`` requests at a time."""
        frames = [call_frame(number, tool, arguments) for number in range(times)]
        answers: list[bytes] = []
        gc.disable()
        try:
            before = time.perf_counter()
            for frame in frames[:in_flight]:
                self.send(frame)
            for frame in frames[in_flight:]:
                answers.append(self.receive())
                self.send(frame)
            answers += [self.receive() for _ in range(min(in_flight, times))]
            taken = time.perf_counter() - before
        finally:
            gc.enable()
        for answer in answers:
            check_success(answer)
        return times / taken

    def memory(self) -> dict[str, float] | None:
        """Return resident memory in MiB: now, at its peak, and now without mapped files; None where there is no /proc."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        names = ("VmRSS", "VmHWM", "RssAnon")
        return {name: int(fields[name].split()[0]) / 1024 for name in names}  # the file says kB

    def end(self) -> float:
        """Close the input and return the seconds until the process has ended."""
        overdue = threading.Timer(_EXIT_SECONDS, self.process.kill)
        overdue.start()
        before = time.perf_counter()
        self._input.close()
        self.process.wait()  # without a timeout: with one it polls, at intervals as long as what is measured
        taken = time.perf_counter() - before
        overdue.cancel()
        if self.process.returncode != 0:
            raise RuntimeError(f"{self.process.args!r} ended with {self.process.returncode}")
        return taken


def check_success(line: bytes) -> dict[str, Any]:
    """Return the content of a tool's success. Raises RuntimeError for a refusal, which must not count as a fast call."""
    answer = json.loads(line)
    if "result" not in answer or answer["result"].get("isError"):
        raise RuntimeError(f"a call failed: {line[:500]!r}")
    data: dict[str, Any] = answer["result"].get("structuredContent", {})
    return data
