"""Puts the hooks of memory into a client's settings, and takes them out: a plan of ``installing``, of another part of a file.

A client has a list of hooks for each event. Ours is one item of such a list; the person's own stay, in their order.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from vaultwire.client_setup import edits
from vaultwire.client_setup.clients import Hooks, SetupError
from vaultwire.client_setup.installing import Content, Plan, digest, last, read

NAME = "hooks of memory"
"""Of the record of an installation: the same file may have our entry, too."""
_SECONDS = 10
_OURS = re.compile(r"vaultwire.*\bmemory (?:start|compact|stop)\b")


def plan(hooks: Hooks, path: str, command: Sequence[str]) -> Plan:
    """Return what puts our hooks into a client's file. ``command``: what starts ``vaultwire memory``, with ``<action>`` in it.

    Raises SetupError.
    """
    before = read(path)
    lists: dict[str, list[Any]] = {}
    for event, action in hooks.events.items():
        words = [action if word == "<action>" else word for word in command]
        line = subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
        timeout = _SECONDS * (1000 if hooks.in_milliseconds else 1)
        lists[event] = [{"hooks": [{"type": "command", "command": line, "timeout": timeout}]}]
    return _planned(path, before, lists)


def plan_undo(hooks: Hooks, path: str, state: str) -> Plan:
    """Return what takes our hooks out: the file as it was before, or without our items if it has changed since.

    Raises SetupError.
    """
    now = read(path)
    record = last(state, path, NAME)
    try:
        old = None if record is None else record.before()
    except OSError:
        record, old = None, None
    is_as_written = record is not None and now.data is not None and digest(now.data) == record.written
    if is_as_written and (old is None or not _OURS.search(old.decode("utf-8", "replace"))):
        return Plan(path, NAME, now, old, (_shown(now), []), undone=record)
    change = _planned(path, now, {event: [] for event in hooks.events})
    return change._replace(undone=record)


def _planned(path: str, before: Content, lists: Mapping[str, list[Any]]) -> Plan:
    """Return the plan that puts these items into the lists of events, in place of ours that are there."""
    text = before.text
    try:
        for event, ours in lists.items():
            keys = ("hooks", event)
            there = edits.entry_in(edits.read(text, "json"), keys)
            items = [*(each for each in _listed(event, there) if not _is_ours(each)), *ours]
            if items == (there or []):
                continue
            if items:
                text = edits.with_entry(text, "json", keys, items)
            else:
                text = edits.without_entry(text, "json", keys, containers=1)
    except SetupError as error:
        raise SetupError(f"{path}: {error}. Nothing was changed") from None
    after = before.data if text == before.text else before.with_text(text)
    new = Content(after, "" if after is None else text)
    return Plan(path, NAME, before, after, (_shown(before), _shown(new)))


def _listed(event: str, items: Any) -> list[Any]:
    if items is not None and not isinstance(items, list):
        raise SetupError(f"hooks.{event} must be a list")
    return items or []


def _is_ours(item: Any) -> bool:
    commands = [each.get("command") for each in item.get("hooks", ())] if _is_item(item) else []
    return bool(commands) and all(isinstance(each, str) and _OURS.search(each) is not None for each in commands)


def _is_item(item: Any) -> bool:
    inner = item.get("hooks") if isinstance(item, Mapping) else None
    return isinstance(inner, list) and all(isinstance(each, Mapping) for each in inner)


def _shown(content: Content) -> list[str]:
    """Return our items as lines; nothing else of the file is shown."""
    events = edits.entry_in(edits.read(content.text, "json"), ("hooks",))
    lines: list[str] = []
    for event, items in (events if isinstance(events, Mapping) else {}).items():
        for item in filter(_is_ours, items if isinstance(items, list) else ()):
            lines += [f"{event}: {json.dumps(item['hooks'][0]['command'], ensure_ascii=False)}"]
    return lines
