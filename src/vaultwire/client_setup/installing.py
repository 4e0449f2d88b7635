"""Puts our entry into a client's file, and takes it out: first as a plan that can be shown, then on the disk."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from vaultwire.client_setup import client_files, entries, formats, records
from vaultwire.client_setup.client_files import Content
from vaultwire.client_setup.clients import OUR_MEMBERS, Client
from vaultwire.client_setup.problems import BrokenFileError, NotEditableError, SetupError

# A key itself. A reference to a variable has braces, or is no part of a header.
_KEY = re.compile(r"Bearer [^\s\"'{}$]+")
# A name and a password in a URL, and its query: keys are given in both.
_URL_SECRET = re.compile(r"(?<=://)[^/@\s]+@|(?<=\?)\S+")
_HEADERS = ("headers", "http_headers")
_HIDDEN = "(not shown)"


class Plan(NamedTuple):
    """A change of a client's file: its bytes before and after (None for no file), and the record that it undoes.

    ``shown``: our entry before and after, in lines without keys.
    """

    path: str
    name: str
    before: Content
    after: bytes | None
    shown: tuple[list[str], list[str]] = ([], [])
    private: bool = False
    undone: records.Record | None = None

    @property
    def changes(self) -> bool:
        """Whether there is anything to change."""
        return self.before.data != self.after

    def difference(self) -> list[str]:
        """Return the lines of our entry that change, with ``-`` and ``+``: no key, and nothing else of the file.

        The file holds keys of other servers, and what is printed is often pasted elsewhere.
        """
        lines = difflib.ndiff(*self.shown)
        return [f"{line[0]}{line[2:]}" for line in lines if line[0] in "-+"] or [
            "(only a value that is not shown, or the layout, changes)"
        ]


def _shown(client: Client, name: str, entry: Any) -> list[str]:
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
    before = client_files.read(path)
    try:
        data = formats.read(before.text, client.form)
        keys = keys_of(client, name, data)
        old = formats.entry_in(data, keys)
        new = entries.renewed(entry, old)
        text = before.text if old == new else formats.with_entry(before.text, client.form, keys, new)
    except BrokenFileError as error:
        raise SetupError(f"{path} is not valid {_LANGUAGE[client.form]}: {error}. Nothing was changed") from None
    except NotEditableError as error:
        raise SetupError(
            f"{path}: {error}. Nothing was changed. To put it in by hand, see vaultwire client-config"
        ) from None
    except SetupError as error:
        raise SetupError(f"{path}: {error}. Nothing was changed") from None
    after = before.data if before.data is not None and text == before.text else before.with_text(text)
    shown = _shown(client, name, old), _shown(client, name, new)
    return Plan(path, name, before, after, shown, private=bool(secret))


def plan_undo(client: Client, path: str, name: str, state: str) -> Plan:
    """Return what undoes the last installation: the old file, or without our entry if the file has changed since.

    Raises SetupError.
    """
    now = client_files.read(path)
    record = records.last(state, path, name)
    try:
        old = Content(None, "") if record is None else _content(record.before())
    except (OSError, UnicodeDecodeError):
        record, old = None, Content(None, "")
    if record is not None and now.data is not None and records.digest(now.data) == record.written:
        shown = _shown(client, name, _entry_of(client, name, now)), _shown(client, name, _entry_of(client, name, old))
        return Plan(path, name, now, old.data, shown, undone=record)
    try:
        data = formats.read(now.text, client.form)
        keys = keys_of(client, name, data)
        entry = formats.entry_in(data, keys)
        if entry is None:
            return Plan(path, name, now, now.data, undone=record)
        earlier = formats.read(old.text, client.form)
        before = formats.entry_in(earlier, keys)
        if isinstance(before, dict):
            text = formats.with_entry(now.text, client.form, keys, before)
        else:
            new = sum(formats.entry_in(earlier, keys[:depth]) is None for depth in range(1, len(keys)))
            text = formats.without_entry(now.text, client.form, keys, containers=new if record is not None else 0)
    except SetupError as error:
        words = f"not valid {_LANGUAGE[client.form]}: {error}" if isinstance(error, BrokenFileError) else str(error)
        raise SetupError(f"{path}: {words}. Nothing was changed") from None
    shown = _shown(client, name, entry), _shown(client, name, before if isinstance(before, dict) else None)
    return Plan(path, name, now, now.with_text(text), shown, undone=record)


def carry_out(change: Plan, state: str) -> records.Record:
    """Keep a copy of a client's file and write it. Raises SetupError, and has changed nothing then."""
    assert change.after is not None
    with records.locked(state):
        record = records.keep(state, change.path, change.name, change.before.data, change.after)
        try:
            client_files.replace(change.path, change.before, change.after, private=change.private)
        except BaseException:
            records.forget(record)
            raise
        records.forget_older(state, record)
    return record


def carry_out_undo(change: Plan, state: str) -> None:
    """Write or delete a client's file as planned, and forget the installation. Raises SetupError.

    If nothing changes, the copy of the file is kept: perhaps the client has lost all that was in its file.
    """
    if not change.changes:
        return
    with records.locked(state):
        if change.after is None:
            client_files.delete(change.path, change.before)
        else:
            client_files.replace(change.path, change.before, change.after)
        if change.undone is not None:
            records.forget(change.undone)


def pasted(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """Return an entry as a person pastes it: all that an empty file would hold."""
    if client.form == "yaml":  # a value in JSON is one in YAML, too
        members = [f"    {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
        return "\n".join([f"{client.keys[0]}:", f"  {name}:", *members]).replace("\x7f", "\\u007f")
    return formats.with_entry("", client.form, keys_of(client, name, {}), entry).rstrip("\n")


def keys_of(client: Client, name: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where the entry is in a file. opencode knows two forms of one list; a file keeps the one it has."""
    if client.keys == ("mcp",):
        servers = formats.entry_in(data, ("mcp", "servers"))
        if isinstance(servers, dict) and not {"type", "command", "url", "enabled"} & servers.keys():
            return ("mcp", "servers", name)
    return (*client.keys, name)


_LANGUAGE = {"json": "JSON", "jsonc": "JSON", "toml": "TOML"}


def _content(data: bytes | None) -> Content:
    return Content(data, "" if data is None else data.decode("utf-8").removeprefix("\ufeff"))


def found_entry(client: Client, path: str, name: str) -> bool:
    """Tell whether a client's file has our entry; a file that cannot be read has none."""
    try:
        return _entry_of(client, name, client_files.read(path)) is not None
    except (SetupError, OSError):
        return False


def _entry_of(client: Client, name: str, content: Content) -> Any:
    """Return the entry in a file's content, None for none or in a file that is broken."""
    try:
        data = formats.read(content.text, client.form)
    except SetupError:
        return None
    return formats.entry_in(data, keys_of(client, name, data))
