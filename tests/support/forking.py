"""Starts the program as often as tests need it: one process has loaded it, and forks a process for each start.

Loading takes most of the processor time of a start, and hundreds of tests start a server. What is forked is a process like
any other, with its own pipes, environment, working folder and signals, and runs ``python -m MODULE`` from its first line on.
What a start itself does (what is loaded when, how much memory a process takes) is tested with processes that load all
themselves: those whose command begins with ``sys.executable``.

    python -m support.forking DESCRIPTOR   is that one process, controlled by a socket
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

MODULE = "support.forking"
PATIENCE = 60.0
_LENGTH = 8  # the bytes that say how long a request is; an answer is as long
# These change how Python itself starts, which a fork does no more.
_OF_PYTHON = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_")
_NO_EFFECT = {"PYTHONUNBUFFERED"}
_TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Loaded(NamedTuple):
    """A module to run as ``python -m`` does, in a process that need not load the program itself."""

    module: str
    arguments: tuple[str, ...] = ()


Command = Sequence[str] | Loaded


def loaded(module: str, *arguments: str) -> Loaded:
    """Return the command ``python -m MODULE ARGUMENT...`` for a process that is forked."""
    return Loaded(module, arguments)


def start(
    command: Command,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: int = subprocess.PIPE,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.PIPE,
    folder: Path | None = None,
) -> subprocess.Popen[bytes] | Forked:
    """Start a command with these arguments too, as ``subprocess.Popen`` does. ``environment`` is what is added to ours."""
    env = {**os.environ, **environment}
    if isinstance(command, Loaded):
        if sys.platform == "linux" and not _starts_otherwise(environment):
            command = command._replace(arguments=(*command.arguments, *arguments))
            return Forked(command, env, stdin, stdout, stderr, folder)
        command = [sys.executable, "-m", command.module, *command.arguments]
    return subprocess.Popen([*command, *arguments], stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=folder)


def _starts_otherwise(environment: Mapping[str, str]) -> bool:
    """Return whether Python itself would start otherwise, or load other modules, than it did when it loaded the program."""
    changed = {name for name, value in environment.items() if os.environ.get(name, "") != value} - _NO_EFFECT
    if environment.get("PYTHONPATH") == _TESTS:
        changed.discard("PYTHONPATH")
    return any(name.startswith(_OF_PYTHON) for name in changed)


def run(
    command: Loaded, environment: Mapping[str, str] | None = None, *, given: str = "", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command with this as its input, and return how it ended, as ``subprocess.run`` does."""
    process = start(command, (), environment or {}, folder=folder)
    try:
        out, err = process.communicate(given.encode(), timeout=PATIENCE)
    finally:
        if process.poll() is None:
            process.kill()
    return subprocess.CompletedProcess([command.module, *command.arguments], process.wait(), out.decode(), err.decode())


class Forked:
    """A forked process, used as ``subprocess.Popen`` is."""

    def __init__(
        self,
        command: Loaded,
        environment: Mapping[str, str],
        stdin: int,
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
        folder: Path | None,
    ) -> None:
        self.args = [command.module, *command.arguments]
        self.returncode: int | None = None
        self._waiting = threading.Lock()
        self._theirs: list[int] = []
        self.stdin = self._pipe(stdin, is_read=True)
        self.stdout = self._pipe(stdout, is_read=False)
        self.stderr = self._pipe(stderr, is_read=False)
        status = self._pipe(subprocess.PIPE, is_read=False)
        assert status is not None
        self._status = status
        request = {"arguments": self.args, "environment": dict(environment), "folder": str(folder or os.getcwd())}
        try:
            self.pid = _forker().fork(json.dumps(request).encode(), self._theirs)
        finally:
            for descriptor in self._theirs:
                os.close(descriptor)

    def _pipe(self, stream: int | IO[bytes], *, is_read: bool) -> IO[bytes] | None:
        """Keep the process's end of a stream, and return ours, if there is one."""
        if stream == subprocess.PIPE:
            reading, writing = os.pipe()
            self._theirs.append(reading if is_read else writing)
            return open(writing, "wb") if is_read else open(reading, "rb")
        if stream == subprocess.DEVNULL:
            self._theirs.append(os.open(os.devnull, os.O_RDWR))
        else:
            self._theirs.append(os.dup(stream if isinstance(stream, int) else stream.fileno()))
        return None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        with self._waiting:
            if self.returncode is None:
                ready: list[IO[bytes]] = select.select([self._status], [], [], timeout)[0]
                if not ready:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                with self._status:
                    self.returncode = os.waitstatus_to_exitcode(int(self._status.read(_LENGTH)))
            return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:  # noqa: A002
        """Send this, and wait for all that the process writes and for its end."""
        texts = [b"", b""]

        def read(place: int, pipe: IO[bytes] | None) -> None:
            if pipe is not None and not pipe.closed:
                with pipe:
                    texts[place] = pipe.read()

        readers = [
            threading.Thread(target=read, args=each, daemon=True) for each in enumerate((self.stdout, self.stderr))
        ]
        for reader in readers:
            reader.start()
        if self.stdin is not None and not self.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.stdin.write(input or b"")
                self.stdin.flush()
            with contextlib.suppress(BrokenPipeError):
                self.stdin.close()
        end = None if timeout is None else time.monotonic() + timeout
        for reader in readers:
            reader.join(None if end is None else max(0, end - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if end is None else max(0, end - time.monotonic()))
        return texts[0], texts[1]


class _Forker:
    """The process that forks, as this process knows it."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        ours, theirs = socket.socketpair()
        self._control = ours
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd=_TESTS,
            )
        atexit.register(self._end)

    def fork(self, request: bytes, descriptors: Sequence[int]) -> int:
        """Have it fork; return the number of the new process."""
        with self._one_at_a_time:
            socket.send_fds(self._control, [b"%*d" % (_LENGTH, len(request))], descriptors)
            self._control.sendall(request)
            answer = self._control.recv(_LENGTH, socket.MSG_WAITALL)
            assert answer, "the process that forks has ended"
            return int(answer)

    def _end(self) -> None:
        self._control.close()
        self._process.wait()


_making = threading.Lock()
_forkers: list[_Forker] = []


def _forker() -> _Forker:
    with _making:
        if not _forkers:
            _forkers.append(_Forker())
        return _forkers[0]


def _load() -> None:
    """Load the whole program, as far as this system can."""
    package = importlib.import_module("vaultwire")
    for module in pkgutil.walk_packages(package.__path__, "vaultwire."):
        if not module.name.endswith(".__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def _serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork at each request. Return it in each process forked, and None in this one at the end of all requests."""
    statuses: dict[int, int] = {}  # of each process, the pipe that its end is written to
    awake, alarm = os.pipe2(os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(alarm)
    while True:
        ready, _, _ = select.select([control.fileno(), awake], [], [])
        if awake in ready:
            os.read(awake, 1000)
            _reap(statuses)
        if control.fileno() not in ready:
            continue
        data, descriptors, _, _ = socket.recv_fds(control, _LENGTH, 4)
        if not data:
            return None
        request: dict[str, Any] = json.loads(control.recv(int(data), socket.MSG_WAITALL))
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for place, descriptor in enumerate(descriptors[:3]):
                os.dup2(descriptor, place)
            control.detach()
            os.closerange(3, max([alarm, awake, *descriptors, *statuses.values()]) + 1)
            return request
        statuses[pid] = descriptors[3]
        for descriptor in descriptors[:3]:
            os.close(descriptor)
        control.sendall(b"%*d" % (_LENGTH, pid))


def _reap(statuses: dict[int, int]) -> None:
    while statuses:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        pipe = statuses.pop(pid)
        with contextlib.suppress(BrokenPipeError):
            os.write(pipe, b"%*d" % (_LENGTH, status))
        os.close(pipe)


def _become(request: dict[str, Any]) -> None:
    """Be ``python -m MODULE ARGUMENT...``, to the end."""
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]
    sys.path[1:1] = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    module, *arguments = request["arguments"]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _load()
    gc.collect()
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        gc.unfreeze()
        _become(request)
