"""Runs the tools that a command needs, and turns their failures into words and exit codes. Prints no answer itself."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from vaultwire.app.own_calls import OwnCalls
from vaultwire.cli import run_options
from vaultwire.cli.terminal import complain, say_data, say_lines
from vaultwire.cli.vault_commands.wording import for_person
from vaultwire.config import Config, ConfigError, make_config
from vaultwire.vault.errors import Stopped

if TYPE_CHECKING:
    from vaultwire.cli.vault_commands.person import Person

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
        with closing(Calls(config, Person(says_yes=getattr(options, "yes", False)))) as calls:
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
