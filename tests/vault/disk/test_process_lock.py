"""The lock between processes on file systems whose locks keep nobody out, or that have none."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import Stopped, VaultError
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="flock is POSIX")


def admits_everybody(*_: Any) -> None:
    """Lock as some network and FUSE file systems do."""


def knows_no_locks(*_: Any) -> None:
    """Lock as a file system without locks does."""
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


class Once(NoProgress):
    """Waits once, then has enough."""

    def __init__(self) -> None:
        self.waited: list[str] = []

    def check(self) -> None:
        if self.waited:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        self.waited.append(message)


@pytest.fixture
def place(tmp_path: Path) -> Path:
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


@pytest.mark.parametrize("flock", [admits_everybody, knows_no_locks])
def test_where_locks_keep_nobody_out_nothing_is_changed_and_the_error_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flock: Callable[..., None]
) -> None:
    root = write_vault(tmp_path / "vault", "=== A.md\na\n")
    vault = open_vault(root, state=tmp_path / "state")
    vault.writing.write("A", "one", "append")
    monkeypatch.setattr(fcntl, "flock", flock)
    other = open_vault(root, state=tmp_path / "state")
    with pytest.raises(VaultError, match=r"no locks that keep a second program out.*VAULTWIRE_STATE.* local disk"):
        other.writing.write("A", "two", "append")
    assert (root / "A.md").read_text() == "a\none\n"


def test_a_lock_that_is_not_needed_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", knows_no_locks)
    with ProcessLock(str(tmp_path / "lock"), "").held(NO_PROGRESS):
        pass
