"""The lock between processes on file systems whose locks keep nobody out, or that have none."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.vaults import write_vault
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import Stopped
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="flock is POSIX")


def admits_everybody(*_: Any) -> None:
    """Lock as some network and FUSE file systems do."""


def knows_no_locks(*_: Any) -> None:
    """Lock as a file system without locks does."""
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


BROKEN: list[Callable[..., None]] = [admits_everybody, knows_no_locks]


class Once(NoProgress):
    """Waits once, then has enough."""

    def __init__(self) -> None:
        self.waited: list[str] = []

    def check(self) -> None:
        if self.waited:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        self.waited.append(message)


@pytest.fixture(params=[None, *BROKEN], ids=["whole", "admits everybody", "knows no locks"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param is not None:
        monkeypatch.setattr(fcntl, "flock", request.param)
    return tmp_path / "lock"


def test_nobody_else_gets_a_lock_that_is_held_and_the_next_does_then(place: Path) -> None:
    one, other = (ProcessLock(str(place), "waiting", needed=True) for _ in range(2))
    for _ in range(2):
        with one.held(NO_PROGRESS):
            impatient = Once()
            with pytest.raises(Stopped), other.held(impatient):
                pass
            assert impatient.waited == ["waiting"]
        with other.held(NO_PROGRESS):
            pass
    assert [path.name for path in place.parent.iterdir()] == ["lock"]


def test_of_many_one_at_a_time_holds_it(place: Path) -> None:
    inside: list[int] = []
    seen: list[int] = []

    def run() -> None:
        lock = ProcessLock(str(place), "", needed=True, poll_seconds=0.0)
        for _ in range(20):
            with lock.held(NO_PROGRESS):
                inside.append(1)
                seen.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1] * 80


KILLED = """
import fcntl, os, signal, sys
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.disk.process_lock import ProcessLock
fcntl.flock = lambda *_: None
with ProcessLock(sys.argv[1], "", needed=True).held(NO_PROGRESS):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_holder_left_keeps_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", admits_everybody)
    place = tmp_path / "lock"
    subprocess.run([sys.executable, "-c", KILLED, place], check=False)
    assert (tmp_path / "lock.held").exists()
    with ProcessLock(str(place), "", needed=True, poll_seconds=0.0).held(NO_PROGRESS):
        pass
    assert not (tmp_path / "lock.held").exists()


@pytest.mark.parametrize(
    ("text", "is_left"),
    [
        ("another-computer\n\n1\n", False),  # nobody here knows whether that process lives
        (f"{os.uname().nodename}\nanother boot\n1\n", True),
        ("", False),  # being written at this moment
    ],
)
def test_a_file_is_only_removed_if_its_maker_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_left: bool
) -> None:
    monkeypatch.setattr(fcntl, "flock", admits_everybody)
    (tmp_path / "lock.held").write_text(text)
    lock = ProcessLock(str(tmp_path / "lock"), "", needed=True, poll_seconds=0.0)
    if is_left:
        with lock.held(NO_PROGRESS):
            pass
        return
    with pytest.raises(Stopped), lock.held(Once()):
        pass
    assert (tmp_path / "lock.held").read_text() == text


WRITER = """
import fcntl, sys
from pathlib import Path
from support.vaults import open_vault
fcntl.flock = lambda *_: None
root, state, name = sys.argv[1:]
vault = open_vault(Path(root), state=Path(state))
for number in range(15):
    vault.writing.write("A", f"{name} {number}", "append")
"""


def test_programs_that_change_one_vault_without_locks_lose_nothing(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", "=== A.md\na\n")
    names = ["one", "two", "three"]
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, root, tmp_path / "state", name],
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for name in names
    ]
    for program in programs:
        _, errors = program.communicate(timeout=100)
        assert program.returncode == 0, errors
    expected = ["a", *(f"{name} {number}" for name in names for number in range(15))]
    assert sorted((root / "A.md").read_text().splitlines()) == sorted(expected)
