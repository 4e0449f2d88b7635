"""Our stdio server with one tool that does nothing, to measure what a call costs on its way in and out.

Built as ``vaultwire.app`` builds it, with the same core and the same stdio transport.
"""

from __future__ import annotations

import sys
from typing import Annotated, TypedDict

from scripts.pages.schema import describe

from vaultwire import app
from vaultwire.app import engine
from vaultwire.config import make_config
from vaultwire.server.handlers import Handlers
from vaultwire.toolkit.catalog import Toolset
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.transports import stdio
from vaultwire.trust.policy import Policy
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class Done(TypedDict):
    """The empty result."""

    text: Annotated[str, "What came"]


@tool(title="No-op", read_only=True)
def noop(_vault: Vault, _progress: Progress, /, text: Annotated[str, Bounds(0, 100)]) -> Outcome[Done]:
    """Return at once.

    Args:
        text: Anything.
    """
    return Outcome([text], {"text": text})


def main() -> None:
    """Serve the no-op; the vault on the command line is not read."""
    config = make_config(sys.argv[1])
    vault = engine.open_vault(config)
    handlers = Handlers(Toolset(lambda: [describe(noop)], lambda _: noop), lambda: vault, Policy())
    stdio.run(app.session_maker(config, handlers)(None), handlers)


if __name__ == "__main__":
    main()
