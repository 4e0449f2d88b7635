"""API keys: the keys that identify clients on other computers. One file for each key, so that two writers never collide.

A file has the key's name and its hash, never the key itself. The guard decides which door asks for a key. Several servers that
share vaults have their keys in their database instead (``SharedKeys``).

A name can be used again after its key was revoked, so a name is no key: whatever outlives a request knows a key by its
``principal``, which no later key of the name has.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from typing import NamedTuple, Protocol

from vaultwire.vault.disk.file_operations import make_private

# Makes a key recognizable in files and logs.
_PREFIX = "vw_"
# 256 bits cannot be guessed, so a fast hash is enough: slow hashes are for passwords that people make up.
_SECRET_BYTES = 32
# A name is part of a file name.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# Digits of the hash that tell keys of one name apart.
_ID_DIGITS = 16
# A folder's mtime may have steps of two seconds (FAT). A folder that changed more recently is read again each time.
_COARSE_NS = 2_000_000_000


class KeyRefused(Exception):  # noqa: N818 - what was asked for was refused; nothing failed
    """A key that cannot be issued; the message is one line for a person."""


class Key(NamedTuple):
    """One key as it is stored."""

    name: str
    created: str
    fingerprint: str

    @property
    def principal(self) -> str:
        """The key's name and its id: ``phone#0f3a…``. See ``protocol.events.Peer``."""
        return f"{self.name}#{self.fingerprint[:_ID_DIGITS]}"


class Keys:
    """The keys in one folder, which need not exist yet. It notices at once what other processes issue and revoke."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._cached: list[Key] = []
        self._cached_at = -1  # the folder's mtime when they were read; -1: read them again

    def issue(self, name: str) -> str:
        """Make a key and return it; it is never shown again. Raises KeyRefused for a wrong or used name, and OSError."""
        if not _NAME.fullmatch(name):
            raise KeyRefused(
                f"not a name for a key: {name!r}. Give up to 64 letters, digits, dots, dashes and underscores"
            )
        secret = _PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if not self._add(Key(name, created, _fingerprint(secret))):
            raise KeyRefused(f"there is a key named {name} already; revoke it first, or choose another name")
        return secret

    def revoke(self, name: str) -> bool:
        """Delete a key; False if there is none with this name. Raises OSError."""
        return _NAME.fullmatch(name) is not None and self._remove(name)

    def all(self) -> list[Key]:
        """Return the keys, sorted by name. Raises OSError if the folder cannot be listed."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        keys = [_read(os.path.join(self._folder, name)) for name in sorted(names) if name.endswith(".json")]
        return [key for key in keys if key is not None]

    def owner(self, secret: str) -> str | None:
        """Return the ``principal`` of a key, None for an unknown one. The time does not depend on how much of it is right."""
        fingerprint = _fingerprint(secret)
        principal = None
        for key in self._current():
            if hmac.compare_digest(key.fingerprint, fingerprint):
                principal = key.principal
        return principal

    def _add(self, key: Key) -> bool:
        """Keep a key; return False if there is one of its name."""
        make_private(self._folder)
        try:
            descriptor = os.open(self._path(key.name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return False
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(key._asdict(), file)
        return True

    def _remove(self, name: str) -> bool:
        try:
            os.unlink(self._path(name))
        except FileNotFoundError:
            return False
        return True

    def _current(self) -> list[Key]:
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except OSError:
            return []
        if changed != self._cached_at:
            keys = self.all()
            # Only a time that is past is stored: a later change in the same clock tick would not be noticed.
            self._cached, self._cached_at = keys, changed if time.time_ns() - changed > _COARSE_NS else -1
        return self._cached

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"key-{name}.json")


class KeyRows(Protocol):
    """Keys in a database, each as its name, the time when it was issued, and its fingerprint. All methods raise OSError."""

    def add(self, name: str, created: str, fingerprint: str, /) -> bool:
        """Keep a key; False if there is one of this name already."""

    def remove(self, name: str, /) -> bool:
        """Delete a key; False if there is none of this name."""

    def all(self) -> list[tuple[str, str, str]]:
        """Return the keys, by name."""


class SharedKeys(Keys):
    """The keys of several servers. Those count that were there at the last ``refresh``: no request waits for the database."""

    def __init__(self, rows: KeyRows) -> None:
        super().__init__("")
        self._rows = rows

    def refresh(self) -> None:
        """Read the keys. Raises OSError; those that were read before count until it works again."""
        self._cached = self.all()

    def all(self) -> list[Key]:
        """Return the keys, sorted by name. Raises OSError."""
        return [Key(*row) for row in self._rows.all()]

    def _add(self, key: Key) -> bool:
        return self._rows.add(*key)

    def _remove(self, name: str) -> bool:
        return self._rows.remove(name)

    def _current(self) -> list[Key]:
        return self._cached


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
