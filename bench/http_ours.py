"""Our HTTP server with one tool that does nothing, to measure what a call costs on its way in and out.

Built as ``vaultwire.app`` builds it, guard included.
"""

from __future__ import annotations

import sys

from bench.noop_server import noop

from vaultwire import app
from vaultwire.app import engine
from vaultwire.app.serving import NetworkServer, make_network_config, serve_all
from vaultwire.config import make_config
from vaultwire.server.handlers import Handlers
from vaultwire.toolkit.catalog import Toolset
from vaultwire.toolkit.schema import describe
from vaultwire.transports.http_server import Limits
from vaultwire.trust.policy import Policy


def main() -> None:
    """Serve the no-op; the vault on the command line is not read."""
    config = make_config(sys.argv[1])
    vault = engine.open_vault(config)
    handlers = Handlers(Toolset(lambda: [describe(noop)], lambda _: noop), lambda: vault, Policy())

    def on_ready(url: str, *, in_the_open: bool) -> None:  # noqa: ARG001 - its caller's names
        print(url, flush=True)

    network = make_network_config(config, port=0)
    serve_all([NetworkServer(handlers, app.session_maker(config, handlers), network, on_ready)], Limits())


if __name__ == "__main__":
    main()
