"""The parser of the command line: argparse's, with errors that suggest what may be meant."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

EXIT_USAGE = 2
_WRONG_CHOICE = re.compile(r"invalid choice: (['\"])(.*?)\1")


class CommandParser(argparse.ArgumentParser):
    """A parser whose help keeps the lines of its epilog, and whose errors suggest what may be meant."""

    def __init__(self, **settings: Any) -> None:
        """Take argparse's settings."""
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, **settings})
        self._is_mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but take options between words, too: ``search a --vault V b``.

        Unknown options are reported with the usage of this command, not that of ``vaultwire``.
        """
        if self._is_mixing:
            return super().parse_known_args(args, namespace)
        # After -- every word is an argument; argparse forgets that between its two steps.
        if commands_of(self) or "--" in (args or ()):
            known, unknown = super().parse_known_args(args, namespace)
        else:
            self._is_mixing = True  # argparse calls this again, for the options and then for the words
            try:
                known, unknown = self.parse_known_intermixed_args(args, namespace)
            finally:
                self._is_mixing = False
        if unknown:
            self.error(_unknown(unknown, [each for action in actions_of(self) for each in action.option_strings]))
        return known, unknown

    def error(self, message: str) -> NoReturn:
        """Print the usage, the error and where help is, and exit with 2."""
        wrong = _WRONG_CHOICE.search(message)
        if wrong is not None:
            commands = commands_of(self)
            if commands:
                message = f"there is no command {wrong[2]!r}{did_you_mean(wrong[2], commands)}"
            else:
                message += did_you_mean(wrong[2], self._choices_in(message))
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\nSee {self.prog} --help\n")

    def _choices_in(self, message: str) -> list[str]:
        """Return the choices of the argument that argparse's message names at its beginning."""
        named = message.removeprefix("argument ").partition(":")[0]
        return [
            str(choice)
            for action in actions_of(self)
            if named in ("/".join(action.option_strings), action.metavar, action.dest)
            for choice in action.choices or ()
        ]


def _unknown(words: Sequence[str], options: Collection[str]) -> str:
    wrong = next((each for each in words if each.startswith("-")), None)
    if wrong is None:
        return f"there is no place for {' '.join(words)!r}. A name with spaces needs quotes"
    name = wrong.partition("=")[0]
    return f"there is no option {name!r}" + (
        did_you_mean(name, options) or ". If it is not an option, put -- before it"
    )


def did_you_mean(word: str, names: Collection[str]) -> str:
    """Return the end of a message: the names that are like the given one; empty if there are none."""
    near = get_close_matches(word, names, n=2, cutoff=0.6)
    near = near or [name for name in names if word and name.startswith(word)][:2]
    return f". Did you mean {' or '.join(near)}?" if near else ""


def actions_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return what a parser takes. argparse has no public way to ask."""
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]  # noqa: SLF001 - see above


def groups_of(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the heading below which help shows each option, by its name in the namespace. argparse's own are left out."""
    first = 2  # those for arguments and options without a heading of ours
    return {
        action.dest: group.title or ""
        for group in parser._action_groups[first:]  # noqa: SLF001 - as above
        for action in group._group_actions  # noqa: SLF001 - as above
    }


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a parser's commands, by name; none if it has no commands."""
    for action in parser._actions:  # noqa: SLF001 - as above
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            return dict(action.choices)
    return {}
