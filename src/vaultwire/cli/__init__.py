"""The command line: it turns arguments into exit codes and words for a person. The only room that prints.

Exit codes: 0 done, 1 a problem was found and reported, 2 the command cannot run as it was given, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from vaultwire.cli import run_options, stdio
from vaultwire.config import ConfigError

EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given on the command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        settings = run_options.read_quickly(given[1:]) if given[:1] == ["stdio"] else None
        if settings is not None:
            return stdio.serve(**settings)
        from vaultwire.cli import commands  # noqa: PLC0415 - loads argparse: not before the first answer of stdio

        return commands.run(given)
    except ConfigError as error:
        from vaultwire.cli.terminal import complain  # noqa: PLC0415 - only to complain

        complain(str(error))
        return EXIT_USAGE
