"""Puts our entry into a client's file, and takes it out: first as a plan that can be shown, then on the disk."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from vaultwire.client_setup import client_files, entries, formats, records
from vaultwire.client_setup.client_files import Content
from vaultwire.client_setup.clients import Client
from vaultwire.client_setup.problems import BrokenFileError, NotEditableError, SetupError

# Longer lines are shown without what is the same before and after.
_MAX_LINE = 60
# A key itself. A reference to a variable has braces, or is no part of a header.
_KEY = re.compile(r"Bearer [^\s\"'{}$]+")
# Comparing takes the square of this.
_MAX_COMPARED = 1_000


class Plan(NamedTuple):
    """A change of a client's file: its bytes before and after (None for no file), and the record that it undoes."""

    path: str
    name: str
    before: Content
    after: bytes | None
    private: bool = False
    undone: records.Record | None = None

    @property
    def changes(self) -> bool:
        """Whether there is anything to change."""
        return self.before.data != self.after

    def difference(self) -> list[str]:
        """Return the lines that change, with ``-`` and ``+``: without keys, and nothing of the lines around them.

        The files hold keys of other servers, and what is printed is often pasted elsewhere.
        """
        new = "" if self.after is None else self.after.decode("utf-8").removeprefix("\ufeff")
        lines = _changed(_without_keys(self.before.text), _without_keys(new))
        return lines or ["(only the key or a line end changes)"]


def _without_keys(text: str) -> list[str]:
    return _KEY.sub("Bearer (a key)", text).splitlines()


def _changed(old: list[str], new: list[str]) -> list[str]:
    start = end = 0
    shorter = min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > _MAX_COMPARED:
        return [f"-({len(old)} lines)", f"+({len(new)} lines)"]
    lines: list[str] = []
    for _, first, last, new_first, new_last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        before, after = old[first:last], new[new_first:new_last]
        if before == after:
            continue
        if len(before) == len(after) == 1:
            before, after = _shortened(before[0], after[0])
        lines += [f"-{line}" for line in before] + [f"+{line}" for line in after]
    return lines


def _shortened(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return two long lines without what they have in common: some files are one line of megabytes."""
    if max(len(old), len(new)) <= _MAX_LINE:
        return [old], [new]
    start = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    parts = old[start : len(old) - end], new[start : len(new) - end]
    shown = [[f"…{part}…"] if part else [] for part in parts]
    return shown[0], shown[1]


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


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
    return Plan(path, name, before, after, private=bool(secret))


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
        return Plan(path, name, now, old.data, undone=record)
    try:
        data = formats.read(now.text, client.form)
        keys = keys_of(client, name, data)
        if formats.entry_in(data, keys) is None:
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
    return Plan(path, name, now, now.with_text(text), undone=record)


def carry_out(change: Plan, state: str) -> records.Record:
    """Keep a copy of a client's file and write it. Raises SetupError, and has changed nothing then."""
    assert change.after is not None
    record = records.keep(state, change.path, change.name, change.before.data, change.after)
    try:
        client_files.replace(change.path, change.before, change.after, private=change.private)
    except BaseException:
        records.forget(record)
        raise
    records.forget_old(state, change.path)
    return record


def carry_out_undo(change: Plan) -> None:
    """Write or delete a client's file as planned, and forget the installation. Raises SetupError."""
    if change.changes:
        if change.after is None:
            client_files.delete(change.path, change.before)
        else:
            client_files.replace(change.path, change.before, change.after)
    if change.undone is not None:
        records.forget(change.undone)


def pasted(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """Return an entry as a person pastes it: all that an empty file would hold."""
    return formats.with_entry("", client.form, keys_of(client, name, {}), entry).rstrip("\n")


def keys_of(client: Client, name: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where the entry is in a file. opencode knows two forms of one list; a file keeps the one it has."""
    if client.keys == ("mcp",):
        servers = formats.entry_in(data, ("mcp", "servers"))
        if isinstance(servers, dict) and not {"type", "command", "url", "enabled"} & servers.keys():
            return ("mcp", "servers", name)
    return (*client.keys, name)


_LANGUAGE = {"json": "JSON", "jsonc": "JSON", "toml": "TOML", "yaml": "YAML"}


def _content(data: bytes | None) -> Content:
    return Content(data, "" if data is None else data.decode("utf-8").removeprefix("\ufeff"))


def found_entry(client: Client, path: str, name: str) -> bool:
    """Tell whether a client's file has our entry; a file that cannot be read has none."""
    try:
        data = formats.read(client_files.read(path).text, client.form)
        return formats.entry_in(data, keys_of(client, name, data)) is not None
    except (SetupError, OSError):
        return False
