"""A program: ``vaultwire.app.asgi`` on uvicorn, by itself or mounted in a Starlette app, with or without lifespan events."""

from __future__ import annotations

import argparse
import json
import socket
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from support import stage_serve
from vaultwire.app import asgi
from vaultwire.app.serving import Address, HttpApp, make_network_config
from vaultwire.config import make_config
from vaultwire.transports import listening
from vaultwire.transports.guard import Observer


def make_stage(vault: str) -> HttpApp:
    """Return the doors over tools that misbehave on purpose."""
    config = make_config(vault)
    handlers = stage_serve.make_handlers(config, 60.0)
    address = Address(listening.local_names(), any_address=False, is_local=True, url=None)
    observer = Observer(log_json=False, metrics=False)
    return HttpApp(
        handlers, partial(stage_serve.make_session, handlers), make_network_config(config), address, observer
    )


def main() -> None:
    """Serve the vault; ``--options`` are keywords of ``asgi``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--vault")
    parser.add_argument("--port", type=int)
    parser.add_argument("--options", type=json.loads, default={})
    parser.add_argument("--mounted", default="")
    parser.add_argument("--lifespan", default="on")
    parser.add_argument("--stage", action="store_true")
    options = parser.parse_args()
    app: Any = make_stage(options.vault) if options.stage else asgi(options.vault, **options.options)
    if options.mounted:
        app = Starlette(routes=[Mount(options.mounted, app=app)])
    listener = socket.create_server(("127.0.0.1", options.port))
    print(f"serving at http://127.0.0.1:{listener.getsockname()[1]}", flush=True)  # noqa: T201 - what it is for
    config = uvicorn.Config(app, log_level="error", lifespan=options.lifespan, timeout_graceful_shutdown=30)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
