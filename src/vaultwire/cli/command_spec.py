"""The commands and options that a parser takes, as plain data, for shell completion and docs/configuration.md."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vaultwire.cli.suggestions import actions_of, commands_of, groups_of

FILE, FOLDER, TOOL, NOTHING = "file", "folder", "tool", ""
_KINDS = {"FILE": FILE, "LOG": FILE, "PATH": FOLDER, "[NAME=]PATH": FOLDER, "TOOL": TOOL}


class Taken(NamedTuple):
    """An option (``spellings``) or an argument (none). ``value`` is the word for its value, empty for a flag.

    ``default`` is empty where help alone says what holds; ``group`` is the heading in help, empty for the first one.
    """

    spellings: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...]
    repeats: bool
    default: str = ""
    group: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that says the same, empty for none. Help names it."""
        found = re.search(r"\$([A-Z_]+)", self.help)
        return found[1] if found else ""

    @property
    def kind(self) -> str:
        """What a value is: a file, a folder, a tool, or something that no shell knows."""
        return _KINDS.get(self.value, NOTHING)


class CommandSpec(NamedTuple):
    """A command: ``words`` are those after ``vaultwire``."""

    words: tuple[str, ...]
    about: str
    epilog: str
    options: tuple[Taken, ...]
    arguments: tuple[Taken, ...]
    commands: tuple[str, ...]

    @property
    def line(self) -> str:
        """Its words as a person types them after ``vaultwire``."""
        return " ".join(self.words)

    @property
    def takes_files(self) -> bool:
        """Whether one of its arguments is a file or folder outside of the vault."""
        return any(each.kind in (FILE, FOLDER) for each in self.arguments)


def specs_of(parser: argparse.ArgumentParser, words: tuple[str, ...] = (), about: str = "") -> Iterator[CommandSpec]:
    """Yield the command of a parser, then those below it."""
    inner = commands_of(parser)
    groups = groups_of(parser)
    taken = [_taken(action, groups) for action in actions_of(parser) if action.nargs != argparse.PARSER]
    yield CommandSpec(
        words,
        (parser.description or about).partition("\n")[0],
        parser.epilog or "",
        tuple(each for each in taken if each.spellings),
        tuple(each for each in taken if not each.spellings),
        tuple(inner),
    )
    for name, each in inner.items():
        yield from specs_of(each, (*words, name), _help_of(parser, name))


def _taken(action: argparse.Action, groups: Mapping[str, str]) -> Taken:
    choices = tuple(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else None
    value = "" if action.nargs == 0 else metavar or ("|".join(choices) if choices else action.dest.upper())
    text = re.sub(r"\s+", " ", (action.help or "").replace("%%", "%"))
    # 0 and "" say that nothing was given.
    shown = action.nargs != 0 and isinstance(action.default, int | str) and action.default != argparse.SUPPRESS
    return Taken(
        tuple(action.option_strings),
        value,
        text,
        choices,
        action.nargs in ("+", "*"),
        str(action.default or "") if shown else "",
        groups.get(action.dest, ""),
    )


def _help_of(parser: argparse.ArgumentParser, name: str) -> str:
    """Return the short help of one of a parser's commands."""
    for action in actions_of(parser):
        for listed in getattr(action, "_choices_actions", ()):  # where argparse keeps it
            if listed.dest == name:
                return str(listed.help or "")
    return ""
