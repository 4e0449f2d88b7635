"""The words of tools, which name tools, as words for a person, who has commands. And times as a person gives them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from vaultwire.config import ConfigError

# What tools tell a model to call, and the command that does it.
_COMMANDS = {
    r"\bundo_changes?\b": "vaultwire undo",
    r"\blist_changes\b": "vaultwire changes",
    r"\bshow_change\b": "vaultwire show",
    r"\bsearch_notes\b": "vaultwire search",
    r"\bread_notes?\b": "vaultwire read",
    r"\bmove_notes?\b": "vaultwire mv",
    r"\bcheck_notes\b": "vaultwire check",
    r"\blist_(?=tasks\b|tags\b)": "vaultwire ",
    r"\blist_notes\b": "vaultwire call list_notes",
    r"\bfind_notes\b": "vaultwire call find_notes",
}
_COMMAND = re.compile("|".join(f"({pattern})" for pattern in _COMMANDS))
_WORDS = tuple(_COMMANDS.values())

_WRONG_ARGUMENTS = re.compile(
    r"(\w+) was called with wrong arguments: (.*)\. Right would be, for example: (\{.*\})\.", re.DOTALL
)
_MISSING = re.compile(r"'(\w+)' is missing \(expected [^()]*\)")
_UNDO = re.compile(r'\bundo_changes \{"changes":\[(\d+)\]\}')

_AGO = re.compile(r"(\d{1,6}) ?(m|min|h|d|w)")
_MINUTES = {"m": 1, "min": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_RIGHT = "1h, 30m, 2d, 1w, today, yesterday, 14:30, 2026-03-31 or '2026-03-31 14:30'"


def for_person(text: str) -> str:
    """Return a tool's words with the names of commands for those of tools."""
    return _COMMAND.sub(lambda found: _WORDS[(found.lastindex or 1) - 1], _UNDO.sub(r"vaultwire undo \1", text))


def for_caller(text: str) -> str:
    """Return the words of an error for a person who has called a tool by its name: with an example as they would type it."""
    found = _WRONG_ARGUMENTS.fullmatch(text)
    if found is None:
        return for_person(text)
    tool, problems, example = found.groups()
    missing = _MISSING.findall(problems)
    is_all = not _MISSING.sub("", problems).strip("; ")
    what = f"{tool} needs {' and '.join(missing)}:" if is_all else f"{tool}: {problems}. For example:"
    return f"{what} vaultwire call {tool} {' '.join(_typed(json.loads(example)))}"


def _typed(arguments: dict[str, Any]) -> Iterator[str]:
    """Yield arguments as ``vaultwire call`` takes them, quoted for a shell."""
    for name, value in arguments.items():
        is_texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
        for each in value if is_texts else [value]:
            written = each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
            yield f"{name}={shlex.quote(written)}"


def parse_since(given: str, now: datetime) -> datetime:
    """Return the time that ``--since`` names, in the zone of ``now``. Raises ConfigError."""
    words = given.strip().casefold()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if words in ("today", "yesterday"):
        return midnight - timedelta(days=words == "yesterday")
    ago = _AGO.fullmatch(words)
    try:
        if ago is not None:
            return now - timedelta(minutes=int(ago[1]) * _MINUTES[ago[2]])
        if re.fullmatch(r"\d\d?:\d\d", words):
            clock = datetime.strptime(words, "%H:%M")  # noqa: DTZ007 - the day's own zone is put on below
            return midnight.replace(hour=clock.hour, minute=clock.minute)
        moment = datetime.fromisoformat(given.strip())
    except (ValueError, OverflowError):
        raise ConfigError(f"--since: {given!r} is not a time I understand; give {_RIGHT}") from None
    return moment.astimezone()  # one without a zone is this computer's


def local_time(text: str) -> datetime:
    """Return a time of a tool (ISO 8601, UTC) in the zone of this computer."""
    return datetime.fromisoformat(text).astimezone()
