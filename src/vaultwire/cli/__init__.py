"""The command line: arguments in, exit codes and words for a person out. The only module that prints or exits.

Exit codes: 0 done, 1 a problem was found and reported, 2 the command cannot run as it was given.
"""

from __future__ import annotations

import sys

from vaultwire.config import ConfigError, make_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given on the command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options = _plain_stdio_options(given)
        if options is None:
            return _run(given)
        return _stdio(*options)
    except ConfigError as error:
        print(f"vaultwire: {error}", file=sys.stderr)
        return EXIT_USAGE


def _plain_stdio_options(given: list[str]) -> tuple[str | None, bool] | None:
    """Return vault and read_only of a ``stdio`` command line in its usual spelling, None for anything else.

    Clients start this command for every conversation; argparse alone would take 9 ms of it.
    """
    if given[:1] != ["stdio"]:
        return None
    vault: str | None = None
    read_only = False
    rest = iter(given[1:])
    for option in rest:
        if option == "--read-only":
            read_only = True
        elif option == "--vault" and vault is None:
            vault = next(rest, None)
            if vault is None:
                return None
        else:
            return None
    return vault, read_only


def _stdio(vault: str | None, read_only: bool) -> int:
    from vaultwire import app  # noqa: PLC0415 - only what the command needs is loaded

    app.run_stdio(make_config(vault, read_only=read_only))
    return 0


def _run(given: list[str]) -> int:
    options = _parser().parse_args(given)
    command: str = options.command
    if command == "stdio":
        return _stdio(options.vault, options.read_only)
    raise NotImplementedError(command)


def _parser() -> argparse.ArgumentParser:
    import argparse  # noqa: PLC0415

    parser = argparse.ArgumentParser(prog="vaultwire")
    commands = parser.add_subparsers(dest="command", required=True)
    stdio = commands.add_parser("stdio")
    stdio.add_argument("--vault")
    stdio.add_argument("--read-only", action="store_true")
    return parser
