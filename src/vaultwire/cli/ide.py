"""``vaultwire ide``: its options, and what it prints while it runs."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Sequence

from vaultwire.cli import run_options
from vaultwire.cli.command import EDITORS, command
from vaultwire.cli.terminal import complain, say
from vaultwire.config import make_config

# The clients other than Claude Code, by their options.
_COMPANIONS = {"gemini": "Gemini CLI", "qwen": "Qwen Code"}


def _add_options(parser: argparse.ArgumentParser) -> None:
    run_options.add_vault(parser)
    run_options.add_policy(parser)
    add_companions(parser)
    parser.add_argument("--no-browser", action="store_true", help="do not open the desk, only print links to it")
    parser.add_argument("--debug", action="store_true", help="print connections and messages on stderr")


def add_companions(parser: run_options.Options) -> None:
    """Add an option for each client other than Claude Code."""
    for option, name in _COMPANIONS.items():
        parser.add_argument(f"--{option}", action="store_true", help=f"also connect {name} (docs/gemini-cli.md)")


def companions(options: argparse.Namespace) -> list[str]:
    """Return the clients that the options name."""
    return [option for option in _COMPANIONS if getattr(options, option)]


@command(
    "ide",
    EDITORS,
    "connect Claude Code to a vault as its editor: open note, selection, review of changes",
    "vaultwire ide --vault ~/Notes --gemini",
    options=_add_options,
)
def run(options: argparse.Namespace) -> int:
    """Serve until told to end; return the exit code. Raises ConfigError."""
    from vaultwire.app.editors import open_editors, run_ide  # noqa: PLC0415 - 150 ms, which no other command should pay

    config = make_config(options.vault, policy=options.policy)
    asked = companions(options)
    log = complain if options.debug else lambda _: None
    shows = not options.no_browser
    doors = open_editors(config, announce, asked, log, opens_browser=shows, on_running=say_running)
    if doors:  # else each vault is in the list already, which is what was asked for
        run_ide(doors, make_on_ready(asked))
    return 0


def make_on_ready(asked: Sequence[str]) -> Callable[[str, int, str, int], None]:
    """Return the function that prints where clients find a vault."""
    names = " and ".join(_COMPANIONS[each] for each in asked)

    def tell(vault: str, port: int, page: str, companion_port: int) -> None:
        say(f"{vault} is in Claude Code's /ide list (port {port})")
        if companion_port:
            say(f"{names}, started in that folder, find it as Obsidian (port {companion_port}): /ide enable")
        say(f"Open the desk with this link, once and within ten minutes: {page}", flush=True)

    return tell


def say_running(vault: str, page: str) -> None:
    """Print that a vault has its bridge already."""
    where = f". Open the desk with this link, once and within ten minutes: {page}" if page else ""
    say(f"{vault} is in Claude Code's /ide list already: its bridge runs{where}", flush=True)


def announce(path: str, page: str) -> None:
    """Print that a change waits for the person."""
    with contextlib.suppress(OSError):  # nobody may read the output any more
        say(f"A change to {path} waits for you: {page}", flush=True)
