"""Where desks of this person run, and where the last one ran: files in the state folder, and a lock for each that runs.

The lock says whether the server still runs: another program may have its port and its process number by then. The file tells
no secret; a link is made by whoever can write to the folder (``access.new_code``). On Windows, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from typing import NamedTuple

from vaultwire.vault.disk.file_operations import make_private, read_private, remove_quietly, write_private
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import NoProgress

_PREFIX, _SUFFIX, _LOCK = "server-", ".json", ".lock"
_MAX_PORT = 65535


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
            write_private(self._path, content)

    def end(self) -> None:
        """Remove the file."""
        remove_quietly(self._path)
        self._lock.close()
        remove_quietly(_lock_of(self._path))


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
            remove_quietly(path)
            remove_quietly(_lock_of(path))
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


def _read(path: str) -> Running | None:
    try:
        content = read_private(path)
        return Running(str(content["server"]), str(content["url"]), tuple(map(str, content["vaults"])))
    except (TypeError, LookupError):
        return None


class LastPort:
    """The port of the last desk of some vaults, so that an open page finds the next one at the same address."""

    def __init__(self, folder: str, vaults: Sequence[str]) -> None:
        joined = "\0".join(sorted(os.path.realpath(each) for each in vaults))
        digest = hashlib.sha256(os.fsencode(joined)).hexdigest()
        self._path = os.path.join(folder, f"port-{digest[:16]}")

    def load(self) -> int:
        """Return the port, 0 for any free one."""
        port = read_private(self._path)
        return port if isinstance(port, int) and 0 < port <= _MAX_PORT else 0

    def save(self, port: int) -> None:
        """Store the port. If that fails, the next desk has another address."""
        with contextlib.suppress(OSError):
            make_private(os.path.dirname(self._path))
            write_private(self._path, port)
