"""Who may open the desk: one-time codes, cookies, the keys of the desk, the token that each POST must have.

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

from vaultwire.desk.running import (
    CODE,
    MAX_SECRET,
    desk_folder,
    is_current,
    names_in,
    read_record,
    remove_expired,
    secret_file,
    write_record,
)
from vaultwire.trust.keys import Keys
from vaultwire.vault.disk.file_operations import keep_private, remove_quietly

COOKIE = "vaultwire_desk"
COOKIE_SECONDS = 30 * 24 * 3600
# Browsers and profiles of one person; the oldest goes.
_MAX_COOKIES = 50
_SECRET_BYTES = 32
_COOKIE_LENGTH = len(secrets.token_urlsafe(_SECRET_BYTES))
COOKIE_FILE = "cookie-"


def desk_keys_folder(state: str) -> str:
    """Return the folder of the keys that open the desk. They are not those of agents, which open the other doors."""
    return os.path.join(desk_folder(state), "keys")


def sign_out(folder: str) -> int:
    """Forget all cookies and codes; return how many browsers had access. Running servers notice at once. Raises OSError."""
    names = names_in(folder, COOKIE_FILE)
    for name in (*names, *names_in(folder, CODE)):
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
        return self._new_cookie("") if self.use_code(code) else None

    def use_code(self, code: str) -> bool:
        """Tell whether a code opens this server, and use it up."""
        path = secret_file(self._folder, CODE, code)
        code_file = read_record(path)
        if code_file is None or code_file.get("server") != self.server:
            return False
        try:
            os.unlink(path)  # of two requests at once, one removes it
        except OSError:
            return False
        return is_current(code_file, self._now())

    def enter_by_key(self, key: str) -> str | None:
        """Return a new cookie for a key of the desk, None for any other key. Raises OSError."""
        owner = self._keys.owner(key) if len(key) <= MAX_SECRET else None
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
        found = read_record(secret_file(self._folder, COOKIE_FILE, cookie)) if 0 < len(cookie) <= MAX_SECRET else None
        if found is None or not is_current(found, self._now()):
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
        remove_expired(self._folder, COOKIE_FILE)
        by_age = sorted(names_in(self._folder, COOKIE_FILE), key=lambda name: _mtime(os.path.join(self._folder, name)))
        for name in by_age[: max(0, len(by_age) + 1 - _MAX_COOKIES)]:
            remove_quietly(os.path.join(self._folder, name))
        record = {"key": key, "expires": self._now() + COOKIE_SECONDS}
        write_record(secret_file(self._folder, COOKIE_FILE, cookie), record)
        return cookie


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
