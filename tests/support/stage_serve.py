"""A program: the HTTP server over tools that misbehave on purpose, with limits so short that a test can wait for them."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import threading
import warnings
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from support.toolsets import toolset_of
from support.vaults import open_vault
from vaultwire.app.serving import NetworkServer, make_network_config, serve_all
from vaultwire.config import Config, make_config
from vaultwire.protocol.dialects import STRUCTURED
from vaultwire.protocol.events import Identity
from vaultwire.protocol.revisions import Revision
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.toolkit.registry import AnyTool, Outcome, tool
from vaultwire.transports.http_server import Limits
from vaultwire.trust.policy import Policy
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class Said(TypedDict):
    """What a tool says."""

    text: str


@tool(title="Wait", read_only=True)
def wait(vault: Vault, progress: Progress, /, fifo: str) -> Outcome[Said]:
    """Wait until somebody has written to a named pipe, and say what was written.

    Args:
        fifo: Path of the pipe.
    """
    with open(fifo, encoding="utf-8") as pipe:
        text = pipe.read()
    return Outcome([text], Said(text=text))


@tool(title="Crash", read_only=True)
def crash(vault: Vault, progress: Progress, /) -> Outcome[Said]:
    """Crash."""
    raise RuntimeError("the secret reason")


@tool(title="Complain", read_only=True)
def complain(vault: Vault, progress: Progress, /) -> Outcome[Said]:
    """Write to stderr what libraries and crashing threads write."""
    sys.stderr.write("half a line, ")
    sys.stderr.write("and its end\nanother \x1b line\n\nno end")
    sys.stderr.flush()
    warnings.warn("careful", stacklevel=1)
    logging.getLogger("somebody").error("told by logging")
    thread = threading.Thread(target=[].pop, name="crashing")
    thread.start()
    thread.join()
    return Outcome(["complained"], Said(text=""))


@tool(title="Babble", read_only=True)
def babble(vault: Vault, progress: Progress, /) -> Outcome[Said]:
    """Say what JSON cannot hold."""
    nonsense: Any = {1, 2}
    return Outcome([nonsense], Said(text=""))


@tool(title="Flood", read_only=True)
def flood(vault: Vault, progress: Progress, /, megabytes: int) -> Outcome[Said]:
    """Say a lot.

    Args:
        megabytes: How much.
    """
    text = "x" * (megabytes * 1_000_000)
    return Outcome([text], Said(text=""))


def make_handlers(config: Config, seconds: float) -> Handlers:
    """Return the tools' methods; a call may take so many seconds."""
    tools: list[AnyTool] = [wait, crash, complain, babble, flood]
    return Handlers(
        toolset_of(tools),
        lambda: open_vault(Path(config.vault)),
        Policy(),
        {"file": seconds, "search": seconds},
    )


def make_session(handlers: Handlers, revision: Revision | None) -> Session:
    return Session(Identity("stage", "Stage", "1", {"tools": {}}, ""), handlers.methods, STRUCTURED, revision)


def main() -> None:
    """Serve the tools; ``--limits`` are those of the connections, ``--seconds`` that of every call."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--vault")
    parser.add_argument("--port", type=int)
    parser.add_argument("--limits", type=json.loads, default={})
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--log-json", action="store_true")
    options = parser.parse_args()
    config = make_config(options.vault)
    handlers = make_handlers(config, options.seconds)
    serving = make_network_config(config, port=options.port, log_json=options.log_json)
    service = NetworkServer(
        handlers,
        partial(make_session, handlers),
        serving,
        lambda url, in_the_open: print(f"serving at {url}", flush=True),  # noqa: T201 - what it is for
    )
    serve_all([service], Limits(**options.limits))


if __name__ == "__main__":
    main()
