"""The command ``stdio``: serve one MCP client over standard input and output. Nothing heavy is imported here."""

from __future__ import annotations

import os
import sys

from vaultwire.config import make_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def serve(**options: Any) -> int:
    """Serve until the client is done; the options are ``make_config``'s."""
    config = make_config(**options)
    if config.prompts is not None and not any(
        os.path.isdir(os.path.join(vault, config.prompts)) for vault in config.vaults.values()
    ):
        from vaultwire.cli.terminal import complain  # noqa: PLC0415 - only to complain

        complain(f"there is no folder {config.prompts!r} in the vault, so it gives no prompts yet")
    if sys.stdin is not None and sys.stdin.isatty():
        from vaultwire.cli.terminal import complain, say  # noqa: PLC0415 - only for a person at a terminal

        complain("waiting for an MCP client's messages on stdin. Clients start this command themselves;")
        say("vaultwire demo shows what happens then. Ctrl-D ends it.", to_stderr=True)
    from vaultwire import app  # noqa: PLC0415 - a missing vault is reported before this is loaded

    app.run_stdio(config)
    return 0
