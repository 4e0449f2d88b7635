"""The command line: it turns arguments into exit codes and words for a person. The only room that prints.

Exit codes: 0 done, 1 a problem was found and reported, 2 the command cannot run as it was given, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from vaultwire.cli import run_options
from vaultwire.config import ConfigError, make_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXIT_USAGE = 2
# Objects between two collections of a short command. What imports make stays: looking through it again and again frees nothing.
_FEW_COLLECTIONS = 50_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given on the command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        settings = run_options.read_quickly(words[1:]) if words[:1] == ["stdio"] else None
        if settings is not None:
            return serve_stdio(**settings)
        if words[:1] == ["obsidian"]:
            gc.set_threshold(_FEW_COLLECTIONS)
            from vaultwire.cli import obsidian  # noqa: PLC0415 - without argparse, for scripts that run it often

            return obsidian.run(words[1:])
        if words[:1] == ["memory"] and words[1:2] and words[1] in ("start", "compact", "stop"):
            gc.set_threshold(_FEW_COLLECTIONS)
            from vaultwire.cli import memory  # noqa: PLC0415 - a client waits for a hook, too

            return memory.run(words[1:])
        from vaultwire.cli import commands  # noqa: PLC0415 - loads argparse: not before the first answer of stdio

        return commands.run(words)
    except ConfigError as error:
        from vaultwire.cli.terminal import complain  # noqa: PLC0415 - only to complain

        complain(str(error))
        return EXIT_USAGE


def serve_stdio(**options: Any) -> int:
    """Serve one MCP client over standard input and output until it is done; the options are ``make_config``'s.

    Nothing heavy is imported here: a client waits for the first answer.
    """
    config = make_config(**options)
    for use, folder in (("prompts", config.prompts), ("skills", config.skills_folder)):
        if folder is not None and not any(
            os.path.isdir(os.path.join(vault, folder)) for vault in config.vaults.values()
        ):
            from vaultwire.cli.terminal import complain  # noqa: PLC0415 - only to complain

            complain(f"there is no folder {folder!r} in the vault, so it gives no {use} yet")
    if sys.stdin is not None and sys.stdin.isatty():
        from vaultwire.cli.terminal import complain, say  # noqa: PLC0415 - only for a person at a terminal

        complain("waiting for an MCP client's messages on stdin. Clients start this command themselves;")
        say("vaultwire demo shows what happens then. Ctrl-D ends it.", to_stderr=True)
    from vaultwire import app  # noqa: PLC0415 - a missing vault is reported before this is loaded

    app.run_stdio(config)
    return 0
