"""Our HTTP server with one tool that does nothing, to measure what a call costs on its way in and out.

Built as ``vaultwire.app`` builds it, guard included: on our own server, or as ``vaultwire.app:asgi`` on uvicorn.
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from bench.noop_server import noop
from scripts.pages.schema import describe

from vaultwire import app
from vaultwire.app import engine
from vaultwire.app.serving import Address, HttpApp, NetworkServer, make_network_config, serve_all
from vaultwire.config import make_config
from vaultwire.server.handlers import Handlers
from vaultwire.toolkit.catalog import Toolset
from vaultwire.transports.guard import Observer
from vaultwire.transports.http_server import Limits
from vaultwire.transports.listening import local_names
from vaultwire.trust.policy import Policy


def main() -> None:
    """Serve the no-op; the command line names the vault, which is not read, and the server: ``own`` or ``uvicorn``."""
    config = make_config(sys.argv[1])
    vault = engine.open_vault(config)
    handlers = Handlers(Toolset(lambda: [describe(noop)], lambda _: noop), lambda: vault, Policy())
    network = make_network_config(config, port=0)
    new_session = app.session_maker(config, handlers)

    def on_ready(url: str, *, in_the_open: bool) -> None:  # noqa: ARG001 - its caller's names
        print(url, flush=True)

    if sys.argv[2] == "own":
        serve_all([NetworkServer(handlers, new_session, network, on_ready)], Limits())
        return
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    address = Address(local_names(), any_address=False, is_local=True, url=None)
    served = HttpApp(handlers, new_session, network, address, Observer(log_json=False, metrics=False), None)
    on_ready(f"http://127.0.0.1:{listener.getsockname()[1]}", in_the_open=False)
    uvicorn.Server(uvicorn.Config(served, log_level="critical", access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    main()
