"""The command line: arguments in, exit codes and words for a person out. The only room that prints or exits.

Exit codes: 0 done, 1 a problem was found and reported, 2 the command cannot run as it was given, 130 interrupted.
"""

from __future__ import annotations

import sys

from vaultwire.cli import stdio
from vaultwire.config import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130  # as shells say it: 128 + SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given on the command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        plain = _plain_stdio_options(given)
        if plain is not None:
            return stdio.serve(**plain)
        from vaultwire.cli import commands  # noqa: PLC0415 - argparse and the rest: not on the way to a handshake

        return commands.run(given)
    except ConfigError as error:
        from vaultwire.cli.terminal import complain  # noqa: PLC0415 - only to complain

        complain(str(error))
        return EXIT_USAGE
    except KeyboardInterrupt:  # Ctrl-C while a command works, or before the stdio door listens to signals
        return EXIT_INTERRUPTED


# The options of ``stdio`` and the settings they give; those with a value first.
_VALUED = {
    "--vault": "vault",
    "--prompts": "prompts",
    "--policy": "policy",
    "--backend": "backend",
    "--dialect": "dialect",
}
_FLAGS = {"--read-only": "read_only", "--require-read-first": "read_first", "--standalone": "standalone"}


def _plain_stdio_options(given: list[str]) -> dict[str, Any] | None:
    """Return the options of a ``stdio`` command line in its usual spelling, for ``make_config``; None for anything else.

    Clients run this command for every conversation; argparse alone would take 9 ms of it.
    """
    if given[:1] != ["stdio"]:
        return None
    options: dict[str, Any] = {"vault": None}
    rest = iter(given[1:])
    for option in rest:
        if option in _FLAGS:
            options[_FLAGS[option]] = True
        elif option == "--vault" or (option in _VALUED and options.get(_VALUED[option]) is None):
            value = next(rest, None)
            if value is None:
                return None
            options[_VALUED[option]] = [*(options["vault"] or ()), value] if option == "--vault" else value
        else:
            return None
    return options
