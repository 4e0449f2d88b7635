"""What was installed where, and the file as it was before: in vaultwire's state folder, not beside the client's file.

A client's folder may be a Git repository or be synced, and its files hold keys of other servers. A copy beside them could
end in a commit. In the state folder only this person can read it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from typing import NamedTuple

from vaultwire.client_setup.problems import SetupError
from vaultwire.vault.disk.file_operations import make_private
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import NoProgress

_FOLDER = "client-setup"
_RECORD, _COPY = "record.json", "before"


class Record(NamedTuple):
    """One installation: the client's file, the name of our entry, the hash of what was written, and where the copy is."""

    folder: str
    path: str
    name: str
    written: str
    had_file: bool

    @property
    def copy(self) -> str:
        """The path of the copy of the file as it was before."""
        return os.path.join(self.folder, _COPY)

    def before(self) -> bytes | None:
        """Return the bytes from before, None if there was no file. Raises OSError."""
        if not self.had_file:
            return None
        with open(self.copy, "rb") as file:
            return file.read()


def digest(data: bytes) -> str:
    """Return the hash by which the bytes of a file are known again."""
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def locked(state: str) -> Iterator[None]:
    """Let no other vaultwire write a client's file meanwhile. Raises SetupError."""
    try:
        make_private(state)
    except OSError as error:
        raise SetupError(f"{state} cannot be used: {error.strerror or error}. Nothing was changed") from None
    with ProcessLock(os.path.join(state, f"{_FOLDER}.lock"), "another vaultwire").held(NoProgress()):
        yield


def keep(state: str, path: str, name: str, before: bytes | None, after: bytes) -> Record:
    """Copy a file's bytes and remember what is going to be written. Raises SetupError."""
    try:
        top = os.path.join(state, _FOLDER)
        make_private(top)
        # Names sort by time, should a crash leave two for one entry.
        folder = tempfile.mkdtemp(prefix=time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()), dir=top)
        record = Record(folder, os.path.realpath(path), name, digest(after), before is not None)
        if before is not None:
            _write(record.copy, before)
        data = {"path": record.path, "name": name, "written": record.written, "had_file": record.had_file}
        _write(os.path.join(folder, _RECORD), json.dumps(data, indent=1).encode())
    except OSError as error:
        raise SetupError(
            f"no copy of {path} can be kept in {state}: {error.strerror or error}. Nothing was changed"
        ) from None
    return record


def last(state: str, path: str, name: str) -> Record | None:
    """Return the record of the last installation into a file that was not undone, None for none."""
    target = os.path.realpath(path)
    return next((each for each in _all(state) if (each.path, each.name) == (target, name)), None)


def forget(record: Record) -> None:
    """Delete a record and its copy."""
    shutil.rmtree(record.folder, ignore_errors=True)


def forget_older(state: str, last: Record) -> None:
    """Delete the other records of an entry: older ones help nobody, and their copies hold old keys."""
    for record in _all(state):
        if (record.path, record.name) == (last.path, last.name) and record.folder != last.folder:
            forget(record)


def _all(state: str) -> Iterator[Record]:
    """Yield the records that can be read, newest first."""
    top = os.path.join(state, _FOLDER)
    try:
        names = sorted(os.listdir(top), reverse=True)
    except OSError:
        return
    for name in names:
        folder = os.path.join(top, name)
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open(os.path.join(folder, _RECORD), encoding="utf-8") as file:
                data = json.load(file)
            yield Record(folder, str(data["path"]), str(data["name"]), str(data["written"]), bool(data["had_file"]))


def _write(path: str, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
