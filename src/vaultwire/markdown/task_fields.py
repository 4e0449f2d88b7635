"""The dates, priority and recurrence of a task, read from its text, and edits of them: all other characters stay.

People write them in two ways: with the signs of the Tasks plugin (``📅 2026-01-31``) or as Dataview's inline fields
(``[due:: 2026-01-31]``, ``(due:: 2026-01-31)``). Tasks reads them at the end of a line only, Dataview anywhere: so does this.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from vaultwire.markdown.inline import read_inline
from vaultwire.markdown.patterns import compile_pattern

DATES: Final = ("due", "scheduled", "start", "created", "done", "cancelled")
"""The fields that are days."""

# Tasks reads several signs for one field, and writes the first of them.
_SIGNS = {"📅": "due", "📆": "due", "🗓": "due", "⏳": "scheduled", "⌛": "scheduled", "🛫": "start"}
_SIGNS |= {"\N{HEAVY PLUS SIGN}": "created", "✅": "done", "❌": "cancelled"}
_PRIORITIES = {"🔺": "highest", "⏫": "high", "🔼": "medium", "🔽": "low", "⏬": "lowest"}
# Dataview's names, as Tasks writes them (its "Dataview format"). Dataview itself does not mind their case.
_KEYS = {each: each for each in ("due", "scheduled", "start", "created", "cancelled", "priority")}
_KEYS |= {"completion": "done", "repeat": "recurrence", "oncompletion": "on_completion"}
_DAY = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)"
_NAMED = "|".join(_KEYS)
_FIELD = compile_pattern(
    rf"(?P<sign>[{''.join(_SIGNS)}])\ufe0f?[ \t]*+(?P<date>{_DAY})"
    rf"|(?P<priority>[{''.join(_PRIORITIES)}])\ufe0f?"
    r"|🔁\ufe0f?[ \t]*+(?P<rule>[A-Za-z0-9][A-Za-z0-9, !]*)"
    r"|🏁\ufe0f?[ \t]*+(?P<on_completion>[A-Za-z]+)"
    rf"|\[[ \t]*+(?P<key>{_NAMED})::[ \t]*+(?P<value>[^\[\]\n]*|\[\[[^\[\]\n]*\]\])\]"
    rf"|\([ \t]*+(?P<round_key>{_NAMED})::[ \t]*+(?P<round_value>[^()\n]*)\)",
    re.IGNORECASE,
)
_VALUES = ("date", "priority", "rule", "on_completion", "value", "round_value")
_NAMES = {"priority": "priority", "rule": "recurrence", "on_completion": "on_completion"}
_DATE = compile_pattern(rf"(?:\[\[)?({_DAY})")
# The id of a task, and those that it waits for.
_IDS = compile_pattern(
    r"[ \t]*(?:[🆔⛔]\ufe0f?[ \t]*[\w-]+(?:[ \t]*,[ \t]*[\w-]+)*"
    r"|\[(?:id|dependsOn)::[^\[\]\n]*\]|\((?:id|dependsOn)::[^()\n]*\))",
    re.ASCII,
)
_BLOCK_ID = compile_pattern(r"[ \t]+\^[A-Za-z0-9-]+[ \t]*\Z")
_WRITTEN = {
    "created": ("\N{HEAVY PLUS SIGN}", "created"),
    "start": ("🛫", "start"),
    "scheduled": ("⏳", "scheduled"),
    "due": ("📅", "due"),
    "cancelled": ("❌", "cancelled"),
    "done": ("✅", "completion"),
}
"""How a date that is added is written: as a sign, and as an inline field. In the order of the Tasks plugin."""


class TaskField(NamedTuple):
    """A field of a task. ``start`` to ``end`` is all of it, ``value_start`` to ``value_end`` its value, in the task's text."""

    name: str
    value: str
    start: int
    end: int
    value_start: int
    value_end: int
    is_inline: bool


def task_fields(text: str) -> list[TaskField]:
    """Return the fields in a task's text, in their order, without those in code.

    A date that is none is no field. A priority is one of ``highest``, ``high``, ``medium``, ``low``, ``lowest``.
    """
    if text.isascii() and "::" not in text:
        return []
    prose = read_inline(text)[0] if "`" in text else text
    return [field for found in _FIELD.finditer(prose) if (field := _to_field(found)) is not None]


def first_fields(text: str) -> dict[str, str]:
    """Return the value of each field that a task has; of several of one name, the first."""
    values: dict[str, str] = {}
    for field in task_fields(text):
        values.setdefault(field.name, field.value)
    return values


def _to_field(match: re.Match[str]) -> TaskField | None:
    group = next(name for name in _VALUES if match[name] is not None)
    start, value = match.start(group), match[group].rstrip()
    name = _NAMES.get(group) or _SIGNS.get(match["sign"] or "")
    is_inline = name is None
    if name is None:
        name = _KEYS[(match["key"] or match["round_key"]).lower()]
        if name in DATES:
            date = _DATE.match(value)
            if date is None:
                return None
            start, value = start + date.start(1), date[1]
        elif name == "priority":
            value = value.lower()
    end = start + len(value)
    # A rule ends with the spaces before the next field, which are not its own.
    whole_end = end if group == "rule" else match.end()
    shown = _PRIORITIES[value] if group == "priority" else value
    return TaskField(name, shown, match.start(), whole_end, start, end, is_inline)


def with_date(text: str, name: str, day: str, *, inline: bool | None = None) -> str:
    """Return a task's text with a date set: in place of the one that is there, or as a new field.

    A new field stands before the dates that the Tasks plugin writes behind it, else at the end, before a block id. It is
    written as the task's other fields are; ``inline`` says how in a task without.
    """
    fields = task_fields(text)
    for field in fields:
        if field.name == name:
            return text[: field.value_start] + day + text[field.value_end :]
    sign, key = _WRITTEN[name]
    is_inline = fields[0].is_inline if fields else bool(inline)
    # Of Dataview's fields in square brackets every other one is not shown if there is one space between them
    # (obsidian-tasks#1913).
    new = f"  [{key}:: {day}]" if is_inline else f" {sign} {day}"
    names = [*_WRITTEN]
    behind = next((field for field in fields if field.name in names[names.index(name) + 1 :]), None)
    block_id = _BLOCK_ID.search(text)
    body = text[: behind.start] if behind else text[: block_id.start()] if block_id else text
    end = len(body.rstrip(" \t"))
    return body[:end] + (new if end else new.lstrip()) + text[end:]


def without_date(text: str, *names: str) -> str:
    """Return a task's text without these dates, each with the spaces before it. What was apart stays apart."""
    for field in reversed(task_fields(text)):
        if field.name in names:
            before, after = text[: field.start].rstrip(" \t"), text[field.end :]
            if before and after and not after[0].isspace():
                text = before + (text[len(before) : field.start] or " ") + after
            else:
                text = before + (after if before else after.lstrip(" \t"))
    return text


def without_ids(text: str) -> str:
    """Return a task's text without what names this task alone: its block id, its id, and the ids that it waits for."""
    return _IDS.sub("", _BLOCK_ID.sub("", text))
