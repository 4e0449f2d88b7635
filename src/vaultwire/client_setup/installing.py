"""Puts our entry into a client's file, and takes it out: first as a plan that can be shown, then on the disk."""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from vaultwire.client_setup import clients, edits
from vaultwire.client_setup.clients import OUR_MEMBERS, BrokenFileError, Client, NotEditableError, SetupError
from vaultwire.vault.disk.file_operations import copy_attributes, make_private, read_private
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import NoProgress

# ---------------------------------------------------------------------- the file on the disk
#
# A client's file on the disk: read whole, and replaced whole, so that no reader ever sees a half of it.
#
# A link stays a link: the file that it leads to is replaced (folders of dotfiles are full of them). Owner, permissions and
# attributes stay, also for root; a byte order mark stays. A file with several names (hard links) is written over, so that they
# stay one file. Other programs may have written meanwhile: then nothing is replaced.

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


# ---------------------------------------------------------------------- what was installed
#
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
            data = read_private(os.path.join(folder, _RECORD))
            yield Record(folder, str(data["path"]), str(data["name"]), str(data["written"]), bool(data["had_file"]))


def _write(path: str, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


# A key itself. A reference to a variable has braces, or is no part of a header.
_KEY = re.compile(r"Bearer [^\s\"'{}$]+")
# A name and a password in a URL, and its query: keys are given in both.
_URL_SECRET = re.compile(r"(?<=://)[^/@\s]+@|(?<=\?)\S+")
_HEADERS = ("headers", "http_headers")
_HIDDEN = "(not shown)"


class Plan(NamedTuple):
    """A change of a client's file: its bytes before and after (None for no file), and the record that it undoes.

    ``entries``: our entry before and after, in lines without keys.
    """

    path: str
    name: str
    before: Content
    after: bytes | None
    entries: tuple[list[str], list[str]] = ([], [])
    private: bool = False
    undone: Record | None = None

    @property
    def changes(self) -> bool:
        """Whether there is anything to change."""
        return self.before.data != self.after

    def difference(self) -> list[str]:
        """Return the lines of our entry that change, with ``-`` and ``+``: no key, and nothing else of the file.

        The file holds keys of other servers, and what is printed is often pasted elsewhere.
        """
        lines = difflib.ndiff(*self.entries)
        return [f"{line[0]}{line[2:]}" for line in lines if line[0] in "-+"] or [
            "(only a value that is not shown, or the layout, changes)"
        ]


def _in_lines(client: Client, name: str, entry: Any) -> list[str]:
    """Return an entry as lines without keys: nothing of what a person added (``env``) but names, numbers and switches."""
    if entry is None:
        return []
    if not isinstance(entry, Mapping):
        return [_HIDDEN]
    ours = {
        key: _without_keys(value) if key in OUR_MEMBERS and key not in _HEADERS else _hidden(value)
        for key, value in entry.items()
        if key in OUR_MEMBERS or client.form != "toml"  # there, only our members are ever written
    }
    return pasted(client, name, ours).splitlines()


def _without_keys(value: Any) -> Any:
    if isinstance(value, str):
        return _URL_SECRET.sub(_HIDDEN, _KEY.sub("Bearer (a key)", value))
    if isinstance(value, list):
        return [_without_keys(each) for each in value]
    return _hidden(value)


def _hidden(value: Any) -> Any:
    """Return a value without its texts. A header that refers to a variable is shown: it says which."""
    if isinstance(value, Mapping):
        return {str(key): _hidden(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_hidden(each) for each in value]
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, str) and value.startswith("Bearer "):
        return _KEY.sub("Bearer (a key)", value)
    return _HIDDEN


def plan(client: Client, path: str, name: str, entry: Mapping[str, Any], *, secret: str = "") -> Plan:
    """Return what puts an entry into a client's file. Raises SetupError.

    What the person had added to an entry of that name stays.
    """
    before = read(path)
    try:
        data = edits.read(before.text, client.form)
        keys = keys_of(client, name, data)
        old = edits.entry_in(data, keys)
        new = clients.renewed(entry, old)
        text = before.text if old == new else edits.with_entry(before.text, client.form, keys, new)
    except BrokenFileError as error:
        raise SetupError(f"{path} is not valid {_LANGUAGE[client.form]}: {error}. Nothing was changed") from None
    except NotEditableError as error:
        raise SetupError(
            f"{path}: {error}. Nothing was changed. To put it in by hand, see vaultwire client-config"
        ) from None
    except SetupError as error:
        raise SetupError(f"{path}: {error}. Nothing was changed") from None
    after = before.data if before.data is not None and text == before.text else before.with_text(text)
    shown = _in_lines(client, name, old), _in_lines(client, name, new)
    return Plan(path, name, before, after, shown, private=bool(secret))


def plan_undo(client: Client, path: str, name: str, state: str) -> Plan:
    """Return what undoes the last installation: the old file, or without our entry if the file has changed since.

    Raises SetupError.
    """
    now = read(path)
    record = last(state, path, name)
    try:
        old = Content(None, "") if record is None else _content(record.before())
    except (OSError, UnicodeDecodeError):
        record, old = None, Content(None, "")
    if record is not None and now.data is not None and digest(now.data) == record.written:
        lines = (
            _in_lines(client, name, _entry_of(client, name, now)),
            _in_lines(client, name, _entry_of(client, name, old)),
        )
        return Plan(path, name, now, old.data, lines, undone=record)
    try:
        data = edits.read(now.text, client.form)
        keys = keys_of(client, name, data)
        entry = edits.entry_in(data, keys)
        if entry is None:
            return Plan(path, name, now, now.data, undone=record)
        earlier = edits.read(old.text, client.form)
        before = edits.entry_in(earlier, keys)
        if isinstance(before, dict):
            text = edits.with_entry(now.text, client.form, keys, before)
        else:
            new = sum(edits.entry_in(earlier, keys[:depth]) is None for depth in range(1, len(keys)))
            text = edits.without_entry(now.text, client.form, keys, containers=new if record is not None else 0)
    except SetupError as error:
        words = f"not valid {_LANGUAGE[client.form]}: {error}" if isinstance(error, BrokenFileError) else str(error)
        raise SetupError(f"{path}: {words}. Nothing was changed") from None
    lines = _in_lines(client, name, entry), _in_lines(client, name, before if isinstance(before, dict) else None)
    return Plan(path, name, now, now.with_text(text), lines, undone=record)


def carry_out(change: Plan, state: str) -> Record:
    """Keep a copy of a client's file and write it. Raises SetupError, and has changed nothing then."""
    assert change.after is not None
    with locked(state):
        record = keep(state, change.path, change.name, change.before.data, change.after)
        try:
            replace(change.path, change.before, change.after, private=change.private)
        except BaseException:
            forget(record)
            raise
        forget_older(state, record)
    return record


def carry_out_undo(change: Plan, state: str) -> None:
    """Write or delete a client's file as planned, and forget the installation. Raises SetupError.

    If nothing changes, the copy of the file is kept: perhaps the client has lost all that was in its file.
    """
    if not change.changes:
        return
    with locked(state):
        if change.after is None:
            delete(change.path, change.before)
        else:
            replace(change.path, change.before, change.after)
        if change.undone is not None:
            forget(change.undone)


def pasted(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """Return an entry as a person pastes it: all that an empty file would hold."""
    if client.form == "yaml":  # a value in JSON is one in YAML, too
        members = [f"    {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
        return "\n".join([f"{client.keys[0]}:", f"  {name}:", *members]).replace("\x7f", "\\u007f")
    return edits.with_entry("", client.form, keys_of(client, name, {}), entry).rstrip("\n")


def keys_of(client: Client, name: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where the entry is in a file. opencode knows two forms of one list; a file keeps the one it has."""
    if client.keys == ("mcp",):
        servers = edits.entry_in(data, ("mcp", "servers"))
        if isinstance(servers, dict) and not {"type", "command", "url", "enabled"} & servers.keys():
            return ("mcp", "servers", name)
    return (*client.keys, name)


_LANGUAGE = {"json": "JSON", "jsonc": "JSON", "toml": "TOML"}


def _content(data: bytes | None) -> Content:
    return Content(data, "" if data is None else data.decode("utf-8").removeprefix("\ufeff"))


def has_entry(client: Client, path: str, name: str) -> bool:
    """Tell whether a client's file has our entry; a file that cannot be read has none."""
    try:
        return _entry_of(client, name, read(path)) is not None
    except (SetupError, OSError):
        return False


def _entry_of(client: Client, name: str, content: Content) -> Any:
    """Return the entry in a file's content, None for none or in a file that is broken."""
    try:
        data = edits.read(content.text, client.form)
    except SetupError:
        return None
    return edits.entry_in(data, keys_of(client, name, data))
