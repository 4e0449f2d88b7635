"""The command line: arguments in, exit codes and words for a person out. The only room that prints or exits.

Exit codes: 0 done, 1 a problem was found and reported, 2 the command cannot run as it was given, 130 interrupted.
"""

from __future__ import annotations

import sys

from vaultwire.config import ConfigError, make_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130  # as shells say it: 128 + SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given on the command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        plain = _plain_stdio_options(given)
        if plain is not None:
            return serve_stdio(*plain)
        from vaultwire.cli import commands  # noqa: PLC0415 - argparse and the rest: not on the way to a handshake

        return commands.run(given)
    except ConfigError as error:
        print(f"vaultwire: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:  # Ctrl-C while a command works, or before the stdio door listens to signals
        return EXIT_INTERRUPTED


def serve_stdio(vault: str | None, read_only: bool) -> int:
    """Serve until the client is done."""
    config = make_config(vault, read_only=read_only)
    if sys.stdin is not None and sys.stdin.isatty():
        print(
            "vaultwire: waiting for an MCP client's messages on stdin. Clients start this command themselves;",
            file=sys.stderr,
        )
        print("vaultwire demo shows what happens then. Ctrl-D ends it.", file=sys.stderr)
    from vaultwire import app  # noqa: PLC0415 - a vault that is not there is said before anything is loaded

    app.run_stdio(config)
    return 0


def _plain_stdio_options(given: list[str]) -> tuple[str | None, bool] | None:
    """Return vault and read_only of a ``stdio`` command line in its usual spelling, None for anything else.

    Clients run this command for every conversation; argparse alone would take 9 ms of it.
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
