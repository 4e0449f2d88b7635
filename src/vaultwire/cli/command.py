"""How a command is declared: ``@command`` stands on the function that does its work.

Without argparse, which commands that scripts run often do not need.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import TypeAlias

    AddOptions: TypeAlias = Callable[[argparse.ArgumentParser], None]
    Run: TypeAlias = Callable[[argparse.Namespace], int]

NOTES, HISTORY, SERVERS, EDITORS = "notes", "changes and undo", "servers for assistants", "editors"
SETTING_UP = "setting up and checking"
GROUPS = (NOTES, HISTORY, SERVERS, EDITORS, SETTING_UP)
"""The headings in help, in their order. Below each, its commands stand by name."""

USUAL_CODES = "exit code: 0 done; 1 a problem was found and reported; 2 wrong use"
FOUND_CODES = "exit code: 0 found; 1 nothing found, or it cannot be read; 2 wrong use"
CHECK_CODES = "exit code: 0 nothing is wrong; 1 something is; 2 wrong use"
CHANGE_CODES = "exit code: 0 done; 1 not done, and stderr says why; 2 wrong use, or --yes is needed; 130 interrupted"


class Command:
    """A command: what it is for, how it is used, and the functions that add its options and do its work."""

    def __init__(
        self, name: str, group: str, about: str, examples: tuple[str, ...], exit_codes: str, add: AddOptions, run: Run
    ) -> None:
        self.name, self.group, self.about = name, group, about
        self.examples, self.exit_codes = examples, exit_codes
        self.add_options, self.run = add, run


COMMANDS: dict[str, Command] = {}
"""Those of the modules that are loaded; ``cli.commands`` loads all."""


def in_group(group: str) -> list[str]:
    """Return the names of a group's commands, in their order."""
    return sorted(name for name, command in COMMANDS.items() if command.group == group)


def command(
    name: str,
    group: str,
    about: str,
    *examples: str,
    options: AddOptions = lambda _: None,
    codes: str = USUAL_CODES,
) -> Callable[[Run], Run]:
    """Declare a function as the work of a command. Help and completion are made from this.

    ``about`` is what it does, in a few words; ``options`` adds what it takes; ``codes`` say its exit codes.
    """

    def declare(run: Run) -> Run:
        COMMANDS[name] = Command(name, group, about, examples, codes, options, run)
        return run

    return declare
