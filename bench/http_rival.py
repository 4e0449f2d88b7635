"""The rival over HTTP: the official SDK's low-level server, on uvicorn with the same loop and parser as ours."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import uvicorn
from bench.rival_sdk import make_server


def main() -> None:
    """Serve the no-op; the command line says whether with ``sessions`` or ``stateless``."""
    server = make_server(Path(), None)
    app = server.streamable_http_app(json_response=True, stateless_http=sys.argv[1] == "stateless")
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="critical", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
