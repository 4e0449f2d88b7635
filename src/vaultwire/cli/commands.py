"""The command line: it makes the parser from the commands that ``@command`` declares, and runs the one that is given."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from vaultwire import __version__
from vaultwire.cli import (  # noqa: F401 - each declares commands
    access,
    checking,
    clients,
    completion,
    database,
    demo,
    editors,
    history,
    memory,
    notes,
    obsidian,
    remote,
    servers,
)
from vaultwire.cli.command import COMMANDS, GROUPS, Command, in_group
from vaultwire.cli.parser import CommandParser, actions_of, commands_of

_DESCRIPTION = "One program between an Obsidian vault and the AI assistants and editors that work with it."
_EPILOG = """\
start with:
  vaultwire demo
  vaultwire install claude-desktop --vault ~/Notes
  vaultwire search tomatoes --vault ~/Notes

VAULTWIRE_VAULT=~/Notes in the environment stands for --vault ~/Notes.
vaultwire help COMMAND describes a command, with examples and its exit codes."""


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code. A wrong one ends the process with 2 and says what is right."""
    parser = make_parser()
    try:
        if not arguments:
            parser.print_help()
            return 0
        options = parser.parse_args(_command_first(arguments, commands_of(parser)))
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it: `vaultwire doctor | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _command_first(arguments: Sequence[str], commands: Mapping[str, argparse.ArgumentParser]) -> list[str]:
    """Return the arguments as the parser takes them: ``help X`` is ``X --help``, and options may stand before the command."""
    if arguments[0] == "help":
        return [*arguments[1:], "--help"]
    for place, word in enumerate(arguments):
        if word in commands and not (place and _takes_value(commands[word], arguments[place - 1])):
            return [word, *arguments[:place], *arguments[place + 1 :]]
    return list(arguments)


def _takes_value(command: argparse.ArgumentParser, word: str) -> bool:
    """Tell whether a word is an option of a command that has a value, so that what follows is that value."""
    return any(word in action.option_strings and action.nargs != 0 for action in actions_of(command))


def make_parser() -> CommandParser:
    """Return the parser of all commands."""
    parser = CommandParser(
        prog="vaultwire", description=f"{_DESCRIPTION}\n\n{_listed()}", epilog=_EPILOG, usage="vaultwire COMMAND ..."
    )
    parser.add_argument("--version", action="version", version=f"vaultwire {__version__}")
    parser.set_defaults(parser=parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, help=argparse.SUPPRESS, prog="vaultwire")
    for name in sorted(COMMANDS):
        _add(commands, COMMANDS[name])
    return parser


def _add(commands: argparse._SubParsersAction[CommandParser], command: Command) -> None:
    examples = "\n".join(f"  {example}" for example in command.examples)
    epilog = f"{'example' if len(command.examples) == 1 else 'examples'}:\n{examples}\n\n{command.exit_codes}"
    description = f"{command.about[0].upper()}{command.about[1:]}."
    parser = commands.add_parser(command.name, description=description, epilog=epilog)
    command.add_options(parser)
    parser.set_defaults(run=command.run)


def _listed() -> str:
    """Return the commands in their groups, as help shows them."""
    lines: list[str] = []
    for group in GROUPS:
        lines += [f"{group}:", *(f"  {name:14} {COMMANDS[name].about}" for name in in_group(group)), ""]
    return "\n".join(lines).rstrip()
