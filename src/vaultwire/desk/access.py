"""Who may open the desk, and where it runs: one-time codes, cookies, the keys of the desk, the token that each POST must have.

Codes and cookies are files in the state folder, which only this person can read, named by the hash of the secret: so every
process of this person can give a code to a running server, and a cookie outlives the server. A file is found by its hash, so
the time of an answer tells nothing of a secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from vaultwire.trust.keys import Keys
from vaultwire.vault.disk.file_operations import (
    keep_private,
    make_private,
    read_private,
    remove_quietly,
    write_private,
)
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import Deadline

COOKIE = "vaultwire_desk"
COOKIE_SECONDS = 30 * 24 * 3600
_CODE_SECONDS = 600
# Browsers and profiles of one person; the oldest goes.
_MAX_COOKIES = 50
_SECRET_BYTES = 32
_COOKIE_LENGTH = len(secrets.token_urlsafe(_SECRET_BYTES))
_MAX_SECRET = 200
_CODE, _COOKIE, _SUFFIX = "code-", "cookie-", ".json"


def desk_folder(state: str) -> str:
    """Return the folder of codes and cookies, in the state folder."""
    return os.path.join(state, "desk")


def desk_keys_folder(state: str) -> str:
    """Return the folder of the keys that open the desk. They are not those of agents, which open the other doors."""
    return os.path.join(desk_folder(state), "keys")


def new_code(folder: str, server: str) -> str:
    """Return a code that opens the desk of one running server once, within ten minutes. Raises OSError."""
    code = secrets.token_urlsafe(_SECRET_BYTES)
    _remove_expired(folder, _CODE)
    _write(_path(folder, _CODE, code), {"server": server, "expires": time.time() + _CODE_SECONDS})
    return code


def sign_out(folder: str) -> int:
    """Forget all cookies and codes; return how many browsers had access. Running servers notice at once. Raises OSError."""
    names = _names(folder, _COOKIE)
    for name in (*names, *_names(folder, _CODE)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
    return len(names)


class Access:
    """Who may open the desk of one server."""

    def __init__(self, state: str, now: Callable[[], float] = time.time) -> None:
        """``state``: the state folder; its folder of the desk need not exist yet."""
        self.server = secrets.token_hex(8)
        """Tells this server from others. A code is for one server, so no other program can use it."""
        self._folder = desk_folder(state)
        keep_private(state, self._folder)
        self._keys = Keys(desk_keys_folder(state))
        self._now = now

    def enter_by_code(self, code: str) -> str | None:
        """Return a new cookie for a code, None if it is not one, or was used. Raises OSError."""
        path = _path(self._folder, _CODE, code)
        code_file = _read(path)
        if code_file is None or code_file.get("server") != self.server:
            return None
        try:
            os.unlink(path)  # of two requests at once, one removes it
        except OSError:
            return None
        return self._new_cookie("") if _is_current(code_file, self._now()) else None

    def enter_by_key(self, key: str) -> str | None:
        """Return a new cookie for a key of the desk, None for any other key. Raises OSError."""
        owner = self._keys.owner(key) if len(key) <= _MAX_SECRET else None
        return None if owner is None else self._new_cookie(owner)

    def cookie_in(self, header: bytes) -> str | None:
        """Return the cookie in a ``Cookie`` header that opens the desk, None for none."""
        pairs = (pair.strip().partition("=") for pair in header.decode("latin-1").split(";"))
        # All of that name: other paths and older programs may have set some, and a browser sends those of longer paths
        # first. The size of a request's head bounds how many there are.
        tried = (value for name, _, value in pairs if name == COOKIE and len(value) == _COOKIE_LENGTH)
        return next((value for value in tried if self.is_cookie(value)), None)

    def is_cookie(self, cookie: str) -> bool:
        """Tell whether a cookie opens the desk. One that came from a key does so as long as there is that key."""
        found = _read(_path(self._folder, _COOKIE, cookie)) if 0 < len(cookie) <= _MAX_SECRET else None
        if found is None or not _is_current(found, self._now()):
            return False
        key = found.get("key")
        return not key or any(each.principal == key for each in self._keys.all())

    def csrf(self, cookie: str) -> str:
        """Return the token that a POST with this cookie must have. It is the same after a restart of the server."""
        return hmac.new(cookie.encode(), b"vaultwire desk csrf", hashlib.sha256).hexdigest()

    def is_csrf(self, cookie: str, given: bytes) -> bool:
        """Tell whether a token is the one of the cookie."""
        return hmac.compare_digest(self.csrf(cookie).encode(), given)

    def _new_cookie(self, key: str) -> str:
        """``key``: the principal of the key that it is given for; empty for a code."""
        cookie = secrets.token_urlsafe(_SECRET_BYTES)
        _remove_expired(self._folder, _COOKIE)
        by_age = sorted(_names(self._folder, _COOKIE), key=lambda name: _mtime(os.path.join(self._folder, name)))
        for name in by_age[: max(0, len(by_age) + 1 - _MAX_COOKIES)]:
            remove_quietly(os.path.join(self._folder, name))
        record = {"key": key, "expires": self._now() + COOKIE_SECONDS}
        _write(_path(self._folder, _COOKIE, cookie), record)
        return cookie


def _path(folder: str, kind: str, secret: str) -> str:
    digest = hashlib.sha256(secret[:_MAX_SECRET].encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(folder, f"{kind}{digest}{_SUFFIX}")


def _names(folder: str, kind: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.startswith(kind) and name.endswith(_SUFFIX)]
    except FileNotFoundError:
        return []


def _remove_expired(folder: str, kind: str) -> None:
    now = time.time()
    for name in _names(folder, kind):
        path = os.path.join(folder, name)
        found = _read(path)
        if found is not None and not _is_current(found, now):
            remove_quietly(path)


def _is_current(record: dict[str, Any], now: float) -> bool:
    expires = record.get("expires")
    return isinstance(expires, (int, float)) and now < expires


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _write(path: str, record: dict[str, Any]) -> None:
    make_private(os.path.dirname(path))
    write_private(path, record)


def _read(path: str) -> dict[str, Any] | None:
    record = read_private(path)
    return record if isinstance(record, dict) else None


# ---------------------------------------------------------------------- wrong keys
#
# How often wrong keys may be given to the desk. A key cannot be guessed; this tells somebody who tries to stop.
#
# The right key is always let in: a stranger who tries would else lock the person out who comes through the same proxy.

_MOST, _SECONDS = 10, 60.0
# Addresses that are remembered; the one that failed longest ago goes.
_MAX_ADDRESSES = 1000
# A computer has all addresses of such a network.
_NETWORK_BITS = 64


class Attempts:
    """The latest failed attempts by the address that they came from. On one thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failed: dict[str, deque[float]] = {}

    def failed(self, address: str) -> bool:
        """Note that a wrong key was given from an address. Return whether that is too often."""
        place = _place(address)
        failed = self._failed.pop(place, None) or deque(maxlen=_MOST)
        self._failed[place] = failed
        if len(self._failed) > _MAX_ADDRESSES:
            del self._failed[next(iter(self._failed))]
        now = self._now()
        if len(failed) == _MOST and now - failed[0] < _SECONDS:
            return True
        failed.append(now)
        return False


def _place(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False)) if found.version == 6 else address  # noqa: PLR2004


# ---------------------------------------------------------------------- where it runs
#
# Where desks of this person run, and where the last one ran: files in the state folder, and a lock for each that runs.
#
# The lock says whether the server still runs: another program may have its port and its process number by then. The file tells
# no secret; only a program that can write to the folder makes a link (``access.new_code``). On Windows, too.

_PREFIX, _LOCK = "server-", ".lock"
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
            self._lock.enter_context(ProcessLock(_lock_of(self._path), "", needed=True).held(Deadline(0, _Held())))
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
        if not (name.startswith(_PREFIX) and name.endswith(_SUFFIX)):
            continue
        path = os.path.join(folder, name)
        running = _read_running(path)
        if running is None or not _is_held(_lock_of(path)):
            remove_quietly(path)
            remove_quietly(_lock_of(path))
        elif folders <= set(running.vaults):
            return running
    return None


class _Held(Exception):  # noqa: N818 - what was asked
    """Another process has the lock."""


def _is_held(path: str) -> bool:
    if not os.path.exists(path):
        return False
    try:
        with ProcessLock(path, "", needed=True).held(Deadline(0, _Held())):
            return False
    except _Held:
        return True
    except OSError:
        return False


def _lock_of(path: str) -> str:
    return path.removesuffix(_SUFFIX) + _LOCK


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
        with contextlib.suppress(OSError):
            make_private(os.path.dirname(self._path))
            write_private(self._path, port)
