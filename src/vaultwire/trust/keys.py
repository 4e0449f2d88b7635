"""The keys with which callers from elsewhere show who they are. One file a key, so that no two writers meet.

A file holds the key's name and a fingerprint, never the key itself. Which door asks for a key is the guard's matter.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from typing import NamedTuple

# Shown where keys are looked for in files and logs: whoever finds one knows what it opens.
_PREFIX = "vw_"
# 256 bits cannot be guessed, so a plain fingerprint is enough: a slow one is for passwords people make up.
_SECRET_BYTES = 32
# Names are parts of file names.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# A folder's time of change may be two seconds coarse (FAT). What changed more recently is read again each time.
_COARSE_NS = 2_000_000_000


class KeyRefused(Exception):  # noqa: N818 - what was asked for was refused; nothing failed
    """A key that cannot be issued; the message is one line for a person."""


class Key(NamedTuple):
    """One key as it is kept."""

    name: str
    created: str
    fingerprint: str


class Keys:
    """The keys in one folder, which need not be there yet. What other processes issue and revoke counts at once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._kept: list[Key] = []
        self._kept_at = -1  # the folder's time of change when they were read; -1: not to be trusted

    def issue(self, name: str) -> str:
        """Make a key and return it: it is shown this once. Raises KeyRefused for a name in use or no name, and OSError."""
        if not _NAME.fullmatch(name):
            raise KeyRefused(
                f"no name for a key: {name!r}. Up to 64 letters, digits, dots, dashes and underscores will do"
            )
        secret = _PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        try:
            descriptor = os.open(self._path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise KeyRefused(f"there is a key named {name} already; revoke it first, or choose another name") from None
        record = {"name": name, "created": created, "fingerprint": _fingerprint(secret)}
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(record, file)
        return secret

    def revoke(self, name: str) -> bool:
        """Make a key worthless; False if there is none of this name. Raises OSError."""
        if not _NAME.fullmatch(name):
            return False
        try:
            os.unlink(self._path(name))
        except FileNotFoundError:
            return False
        return True

    def all(self) -> list[Key]:
        """Return the keys there are, by name. Raises OSError for a folder that cannot be listed."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        found = [_read(os.path.join(self._folder, name)) for name in sorted(names) if name.endswith(".json")]
        return [key for key in found if key is not None]

    def owner(self, secret: str) -> str | None:
        """Return the name of the key, None if it is none of ours. Takes as long whether much of it is right or nothing."""
        fingerprint = _fingerprint(secret)
        found = None
        for key in self._current():
            if hmac.compare_digest(key.fingerprint, fingerprint):
                found = key.name
        return found

    def _current(self) -> list[Key]:
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except OSError:
            return []
        if changed != self._kept_at:
            kept = self.all()
            # Read before its time is kept, and only if that time is over: a change in the same tick would go unseen.
            self._kept, self._kept_at = kept, changed if time.time_ns() - changed > _COARSE_NS else -1
        return self._kept

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"key-{name}.json")


def _fingerprint(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _read(path: str) -> Key | None:
    """Return the key a file holds; None for one that holds none, with which nobody gets in."""
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        return Key(str(record["name"]), str(record["created"]), str(record["fingerprint"]))
    except (OSError, ValueError, TypeError, LookupError):
        return None
