"""How ``vaultwire desk`` finds the running servers of this person: a file for each in the state folder, and a lock.

The lock says whether the server still runs: another program may have its port and its process number by then. The file tells
no secret; a link is made by whoever can write to the folder (``access.new_code``). On Windows, too.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from vaultwire.vault.disk.file_operations import make_private
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import NoProgress

_PREFIX, _SUFFIX, _LOCK = "server-", ".json", ".lock"
_MAX_BYTES = 65_536


class Running(NamedTuple):
    """A running server: what tells it from others, its address, and the folders of its vaults."""

    server: str
    url: str
    vaults: tuple[str, ...]


class Announcement:
    """The file of one server. Call ``begin`` once it listens, ``end`` when it ends."""

    def __init__(self, folder: str, running: Running) -> None:
        self._running = running
        self._path = os.path.join(folder, f"{_PREFIX}{running.server}{_SUFFIX}")
        self._lock = contextlib.ExitStack()

    def begin(self) -> None:
        """Write the file. Without a state folder, nobody finds the server that way."""
        with contextlib.suppress(OSError):
            make_private(os.path.dirname(self._path))
            self._lock.enter_context(ProcessLock(_lock_of(self._path), "", needed=True).held(_NoWait()))
            vaults = [os.path.realpath(each) for each in self._running.vaults]
            content = {"server": self._running.server, "url": self._running.url, "vaults": vaults}
            temporary = f"{self._path}.part"
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump(content, file)
            os.replace(temporary, self._path)

    def end(self) -> None:
        """Remove the file."""
        _remove(self._path)
        self._lock.close()
        _remove(_lock_of(self._path))


def find(folder: str, vaults: Sequence[str]) -> Running | None:
    """Return a running server that serves all of these vaults, None for none. Removes the files of dead servers."""
    wanted = {os.path.realpath(each) for each in vaults}
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    for name in names:
        if not (name.startswith(_PREFIX) and name.endswith(_SUFFIX)):
            continue
        path = os.path.join(folder, name)
        running = _read(path)
        if running is None or not _is_held(_lock_of(path)):
            _remove(path)
            _remove(_lock_of(path))
        elif wanted <= set(running.vaults):
            return running
    return None


class _Held(Exception):  # noqa: N818 - what was asked
    """Another process has the lock."""


class _NoWait(NoProgress):
    def check(self) -> None:
        raise _Held


def _is_held(path: str) -> bool:
    if not os.path.exists(path):
        return False
    try:
        with ProcessLock(path, "", needed=True).held(_NoWait()):
            return False
    except _Held:
        return True
    except OSError:
        return False


def _lock_of(path: str) -> str:
    return path.removesuffix(_SUFFIX) + _LOCK


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _read(path: str) -> Running | None:
    try:
        with open(path, encoding="utf-8") as file:
            found: Any = json.loads(file.read(_MAX_BYTES))
        return Running(str(found["server"]), str(found["url"]), tuple(map(str, found["vaults"])))
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None
