"""Running servers of this person that have a desk: how programs of this computer find one, and the codes that open it once.

They are files in the state folder, and a lock for each server that runs. The lock says whether the server still runs: another
program may have its port and its process number by then. The file of a server tells no secret; only a program that can write
to the folder makes a code. On Windows, too. Commands wait for this module, so it loads little.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import ExitStack, suppress

from vaultwire.vault.disk.file_operations import make_private, read_private, remove_quietly, write_private
from vaultwire.vault.disk.process_lock import ProcessLock, is_held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

CODE, SUFFIX = "code-", ".json"
CODE_HEADER = "x-vaultwire-code"
_CODE_SECONDS = 600
_SECRET_BYTES = 32
MAX_SECRET = 200
_PREFIX, _LOCK = "server-", ".lock"
_MAX_PORT = 65535


def desk_folder(state: str) -> str:
    """Return the folder of codes and cookies, in the state folder."""
    return os.path.join(state, "desk")


def new_code(folder: str, server: str) -> str:
    """Return a code that opens the desk of one running server once, within ten minutes. Raises OSError."""
    code = os.urandom(_SECRET_BYTES).hex()
    remove_expired(folder, CODE)
    write_record(secret_file(folder, CODE, code), {"server": server, "expires": time.time() + _CODE_SECONDS})
    return code


def secret_file(folder: str, kind: str, secret: str) -> str:
    """Return the path of the file of a secret."""
    digest = hashlib.sha256(secret[:MAX_SECRET].encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(folder, f"{kind}{digest}{SUFFIX}")


def names_in(folder: str, kind: str) -> list[str]:
    """Return the names of the files of one kind."""
    try:
        return [name for name in os.listdir(folder) if name.startswith(kind) and name.endswith(SUFFIX)]
    except FileNotFoundError:
        return []


def remove_expired(folder: str, kind: str) -> None:
    """Remove the files of one kind whose time is over."""
    now = time.time()
    for name in names_in(folder, kind):
        path = os.path.join(folder, name)
        found = read_record(path)
        if found is not None and not is_current(found, now):
            remove_quietly(path)


def is_current(record: dict[str, Any], now: float) -> bool:
    """Tell whether the time of a record is not over."""
    expires = record.get("expires")
    return isinstance(expires, (int, float)) and now < expires


def write_record(path: str, record: dict[str, Any]) -> None:
    """Write a record that only its owner can read. Raises OSError."""
    make_private(os.path.dirname(path))
    write_private(path, record)


def read_record(path: str) -> dict[str, Any] | None:
    """Return a record, None where there is none."""
    record = read_private(path)
    return record if isinstance(record, dict) else None


class Running:
    """A running server: what tells it from others, its address, and the folders of its vaults."""

    def __init__(self, server: str, url: str, vaults: tuple[str, ...]) -> None:
        self.server, self.url, self.vaults = server, url, vaults


class Announcement:
    """The file of one server. Call ``begin`` once it listens, ``end`` when it ends."""

    def __init__(self, folder: str, running: Running) -> None:
        self._running = running
        self._path = os.path.join(folder, f"{_PREFIX}{running.server}{SUFFIX}")
        self._lock = ExitStack()

    def begin(self) -> None:
        """Write the file. Without a state folder, nobody finds the server that way."""
        from vaultwire.vault.value_types import Deadline  # noqa: PLC0415 - those who look for a server need none

        with suppress(OSError):
            make_private(os.path.dirname(self._path))
            no_wait = Deadline(0, OSError("another server has this lock"))
            self._lock.enter_context(ProcessLock(_lock_of(self._path), "", needed=True).held(no_wait))
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
    folders = {os.path.realpath(each) for each in vaults}
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    for name in names:
        if not (name.startswith(_PREFIX) and name.endswith(SUFFIX)):
            continue
        path = os.path.join(folder, name)
        running = _read_running(path)
        if running is None or not is_held(_lock_of(path)):
            remove_quietly(path)
            remove_quietly(_lock_of(path))
        elif folders <= set(running.vaults):
            return running
    return None


def _lock_of(path: str) -> str:
    return path.removesuffix(SUFFIX) + _LOCK


def _read_running(path: str) -> Running | None:
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
        with suppress(OSError):
            make_private(os.path.dirname(self._path))
            write_private(self._path, port)
