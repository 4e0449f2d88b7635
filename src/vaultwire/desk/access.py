"""Who may open the desk: one-time codes, cookies, the keys of the desk, and the token that each POST must have.

Codes and cookies are files in the state folder, which only this person can read, named by the hash of the secret: so every
process of this person can give a code to a running server, and a cookie outlives the server. A file is found by its hash, so
the time of an answer tells nothing of a secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from typing import Any

from vaultwire.trust.keys import Keys
from vaultwire.vault.disk.file_operations import (
    keep_private,
    make_private,
    read_private,
    remove_quietly,
    write_private,
)

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
        found = _read(path)
        if found is None or found.get("server") != self.server:
            return None
        try:
            os.unlink(path)  # of two requests at once, one removes it
        except OSError:
            return None
        return self._new_cookie("") if _is_current(found, self._now()) else None

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
