"""A program: the HTTP server over our own tools. A line on stdin asks for counts: sessions, tasks, files, threads, bytes."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
import threading
import weakref

from vaultwire import app
from vaultwire.app.serving import NetworkServer, make_network_config, serve_all
from vaultwire.config import make_config
from vaultwire.protocol.revisions import Revision
from vaultwire.protocol.session import Session
from vaultwire.transports.http_server import Limits
from vaultwire.vault.caller import MAX_MEMORY_BYTES, MEMORY_BUDGET

PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--vault")
    parser.add_argument("--port", type=int)
    parser.add_argument("--most", type=int, default=MAX_MEMORY_BYTES)
    options = parser.parse_args()
    MEMORY_BUDGET.max_bytes = options.most
    config = make_config(options.vault)
    handlers = app.make_handlers(config)
    sessions: weakref.WeakSet[Session] = weakref.WeakSet()
    make_session = app.session_maker(config, handlers)

    def new_session(revision: Revision | None) -> Session:
        session = make_session(revision)
        sessions.add(session)
        return session

    def counts() -> dict[str, int]:
        gc.collect()
        with open("/proc/self/statm", encoding="ascii") as statm:
            resident = int(statm.read().split()[1]) * PAGE
        return {
            "sessions": len(sessions),
            "in flight": sum(session.in_flight for session in sessions),
            "tasks": len(asyncio.all_tasks(loop)),
            "files": len(os.listdir("/proc/self/fd")),
            "threads": threading.active_count(),
            "bytes": resident,
            "kept": MEMORY_BUDGET.total,
        }

    loop: asyncio.AbstractEventLoop

    def tell() -> None:
        asked.readline()
        print(json.dumps(counts()), flush=True)  # noqa: T201 - what it is for

    asked = sys.stdin.buffer

    def on_ready(url: str, *, in_the_open: bool) -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        loop.add_reader(asked, tell)  # on the thread that makes and drops sessions
        print(f"serving at {url}", flush=True)  # noqa: T201 - what it is for

    network = make_network_config(config, port=options.port)
    serve_all([NetworkServer(handlers, new_session, network, on_ready)], Limits())


if __name__ == "__main__":
    main()
