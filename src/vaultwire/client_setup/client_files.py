"""A client's file on the disk: read whole, and replaced whole, so that no reader ever sees a half of it.

A link stays a link: the file that it leads to is replaced (folders of dotfiles are full of them). Owner, permissions and
attributes stay, also for root; a byte order mark stays. A file with several names (hard links) is written over, so that they
stay one file. Other programs may have written meanwhile: then nothing is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import NamedTuple

from vaultwire.client_setup.clients import SetupError
from vaultwire.vault.disk.file_operations import copy_attributes, make_private
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import NoProgress

# Far more than any client's settings; Claude Code's file holds years of history in less.
MAX_BYTES = 64 * 1024 * 1024
_MARK = b"\xef\xbb\xbf"
_OWN_ONLY = 0o600


class Content(NamedTuple):
    """What a file holds: its bytes (None if there is no file), and the text without the byte order mark."""

    data: bytes | None
    text: str

    def with_text(self, text: str) -> bytes:
        """Return the bytes of another text in the same file."""
        mark = _MARK if self.data is not None and self.data.startswith(_MARK) else b""
        return mark + text.encode("utf-8")


def read(path: str) -> Content:
    """Return what a file holds. Raises SetupError if it cannot be read as text, OSError if it cannot be read at all."""
    try:
        kind = os.stat(path).st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):  # opening a pipe would wait for ever
            raise SetupError(f"{path} is not a file, but a pipe, a socket or a device")
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                raise SetupError(
                    f"{path} is larger than {MAX_BYTES // 1024 // 1024} MiB: settings of a client are smaller"
                )
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return Content(None, "")
    except IsADirectoryError:
        raise SetupError(f"{path} is a folder, but a file of settings should be there") from None
    except PermissionError as error:
        if os.path.isdir(path):  # how Windows says the same
            raise SetupError(f"{path} is a folder, but a file of settings should be there") from None
        raise SetupError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return Content(data, data.removeprefix(_MARK).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SetupError(
            f"{path} is not text in UTF-8 (byte {error.start + 1}). Save it as UTF-8 in an editor, then try again"
        ) from None


def replace(path: str, before: Content, data: bytes, *, private: bool = False) -> None:
    """Give a file new bytes, if it still holds those of before. ``private``: only its owner may read it from now on.

    Raises SetupError, and has written nothing then.
    """
    target = os.path.realpath(path)
    try:
        if before.data is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "the file may only be read", target)
        if before.data is not None and os.stat(target).st_nlink > 1:
            _check_same(path, before)
            _write_over(target, data, private=private)
            return
        _make_folders(os.path.dirname(target))
        temporary = _write_beside(target, data, is_new=before.data is None, private=private)
        try:
            _check_same(path, before)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror or error}. Nothing was changed") from None


def delete(path: str, before: Content) -> None:
    """Delete a file, if it still holds the bytes of before. Raises SetupError."""
    target = os.path.realpath(path)
    try:
        _check_same(path, before)
        os.unlink(target)
    except OSError as error:
        raise SetupError(f"{path} cannot be deleted: {error.strerror or error}") from None


def _check_same(path: str, before: Content) -> None:
    if read(path).data != before.data:
        raise SetupError(f"{path} was changed by another program just now. Run the same command again")


def _make_folders(folder: str) -> None:
    """Make the folders that are missing, for the owner of the one above them."""
    if not os.path.isdir(folder):
        _make_folders(os.path.dirname(folder))
        os.mkdir(folder)
        _give_to_owner_above(folder)


def _give_to_owner_above(path: str) -> None:
    """Give what root has made in another person's folder to that person."""
    if sys.platform != "win32" and os.geteuid() == 0:
        above = os.stat(os.path.dirname(path))
        os.chown(path, above.st_uid, above.st_gid)


def _write_over(target: str, data: bytes, *, private: bool) -> None:
    """Write the bytes into the file itself. A copy of what it held is kept (``records``), should the power fail."""
    with open(target, "r+b") as file:
        if private:
            os.chmod(target, stat.S_IMODE(os.stat(target).st_mode) & _OWN_ONLY)
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _write_beside(target: str, data: bytes, *, is_new: bool, private: bool) -> str:
    """Write the bytes to a temporary file in the folder of the target, and return its path."""
    handle, temporary = tempfile.mkstemp(
        prefix=f".{os.path.basename(target)}.", suffix=".vaultwire", dir=os.path.dirname(target)
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if is_new:
                os.chmod(temporary, 0o666 & ~_umask())
                _give_to_owner_above(temporary)
            else:
                copy_attributes(target, temporary, file.fileno())
        if private:
            os.chmod(temporary, stat.S_IMODE(os.stat(temporary).st_mode) & _OWN_ONLY)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# What was installed where, and the file as it was before: in vaultwire's state folder, not beside the client's file.
#
# A client's folder may be a Git repository or be synced, and its files hold keys of other servers. A copy beside them could
# end in a commit. In the state folder only this person can read it.

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
