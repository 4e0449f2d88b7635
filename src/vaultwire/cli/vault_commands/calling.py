"""Runs the tools that a command needs, and turns their failures into words and exit codes. Prints no answer itself."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from vaultwire.app.own_calls import OwnCalls
from vaultwire.cli import run_options
from vaultwire.cli.terminal import complain, say_data, say_lines
from vaultwire.config import Config, ConfigError, make_config
from vaultwire.vault.errors import Stopped

if TYPE_CHECKING:
    from vaultwire.cli.vault_commands.person import Person


# ---------------------------------------------------------------------- words for a person

# What tools tell a model to call, and the command that does it.
_COMMANDS = {
    r"\bundo_changes?\b": "vaultwire undo",
    r"\blist_changes\b": "vaultwire changes",
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


DONE, NOT_FOUND, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

ALL = 1 << 62
_PAGE = 1000  # what tools give at most
# The failures by which a person learns that the command was wrong, not the vault.
_WRONG = frozenset(("INVALID_ARGUMENTS", "TOOL_NOT_FOUND", "VAULT_NOT_FOUND", "INVALID_PATH"))


class FailedCallError(Exception):
    """A tool failed."""

    def __init__(self, code: str, text: str) -> None:
        """``text``: the tool's own words."""
        super().__init__(for_person(text))
        self.text = text
        self.code = code
        self.exit_code = WRONG_USE if code in _WRONG else NOT_FOUND


class Calls:
    """The tools, as one command calls them."""

    def __init__(self, config: Config, person: Person) -> None:
        self._calls = OwnCalls(config)
        self.person = person
        self.descriptions = self._calls.descriptions
        self.close = self._calls.close

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """Return the text and the data of a tool's answer. Raises FailedCallError."""
        with self.person.listening():
            answered = self._calls.call(tool, arguments, self.person)
        if answered.failed is not None:
            raise FailedCallError(answered.failed, answered.text)
        return answered.text, answered.data

    def call_pages(self, tool: str, items: str, most: int, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """Return the text of the first page, and the data of at most ``most`` items as one page. ``items``: their field."""
        text, data = self.call(tool, limit=min(most, _PAGE), **arguments)
        found = list(data.get(items, ()))
        cursor = data.pop("next_cursor", None)
        while cursor is not None and len(found) < most:
            _, page = self.call(tool, limit=min(most - len(found), _PAGE), cursor=cursor, **arguments)
            found += page.get(items, ())
            cursor = page.pop("next_cursor", None)
            problems = [*dict.fromkeys([*data.get("problems", ()), *page.get("problems", ())])]
            data = {**data, **page}  # the total may have been counted further
            if "problems" in data:
                data["problems"] = problems
        return text, {**data, items: found[:most]}


def add_options(parser: argparse.ArgumentParser, *, changes: bool = False, dry_run: bool = False) -> None:
    """Add the options that these commands share. ``changes``: the command may have to ask; ``dry_run``: it can only show."""
    if dry_run:
        parser.add_argument("--dry-run", action="store_true", help="only show what would be changed")
    if changes:
        parser.add_argument("-y", "--yes", action="store_true", help="do not ask before a large or permanent change")
    parser.add_argument("--json", action="store_true", help="print the tool's data as JSON")
    group = parser.add_argument_group("vault")
    run_options.add_vault(group)
    run_options.add_policy(group)


def run(options: argparse.Namespace, work: Callable[[Calls], int], *, several: bool = False) -> int:
    """Do a command's work and return the exit code. ``several``: it can name one of several vaults. Raises ConfigError."""
    config = make_config(options.vault, policy=options.policy)
    if len(config.vaults) > 1 and not several:
        raise ConfigError("give one vault: this command works with one at a time")
    from vaultwire.cli.vault_commands.person import NotAgreedError, Person  # noqa: PLC0415 - for these commands only

    try:
        with closing(Calls(config, Person(for_person, says_yes=getattr(options, "yes", False)))) as calls:
            return work(calls)
    except FailedCallError as error:
        complain(str(error))
        return error.exit_code
    except NotAgreedError as error:
        complain(str(error))
        return WRONG_USE if error.needs_option else NOT_FOUND
    except Stopped:
        complain("interrupted: nothing was left half done")
        return INTERRUPTED


def say_change(options: argparse.Namespace, text: str, data: dict[str, Any]) -> None:
    """Print what a tool changed, with the command that takes it back."""
    say_answer(options, for_person(text), data)


def say_answer(options: argparse.Namespace, text: str, data: dict[str, Any]) -> None:
    """Print a tool's answer as it is: its data with ``--json``, else its text."""
    if options.json:
        say_data(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        say_lines(text)
