"""A program: the stdio server over tools that misbehave on purpose. ``tests/transports`` starts it instead of vaultwire."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from datetime import datetime
from typing import TypedDict

from support.toolsets import toolset_of
from vaultwire.app.engine import open_index
from vaultwire.protocol.dialects import STRUCTURED
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.toolkit.registry import AnyTool, Outcome, tool
from vaultwire.transports import stdio
from vaultwire.trust.policy import Policy
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.disk.files import Files
from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

_CHILD = "import sys; print('child', repr(sys.stdin.read())); sys.stderr.write('child error\\n')"


class Said(TypedDict):
    """What a tool says."""

    text: str


@tool(title="Wait", read_only=True)
def wait(vault: Vault, progress: Progress, /, fifo: str) -> Outcome[Said]:
    """Say that it waits, then wait until somebody has written to a named pipe, and say what was written.

    Args:
        fifo: Path of the pipe.
    """
    progress.report(0, 1, "waiting")
    with open(fifo, encoding="utf-8") as pipe:
        text = pipe.read()
    return Outcome([text], Said(text=text))


@tool(title="Shout", read_only=True)
def shout(vault: Vault, progress: Progress, /) -> Outcome[Said]:
    """Print in every way there is, and have a child process print and read."""
    print("print")  # noqa: T201 - what it is for
    sys.stdout.write("write\n")
    sys.stdout.flush()
    os.write(1, b"descriptor\n")
    subprocess.run([sys.executable, "-c", _CHILD], check=True)
    return Outcome(["shouted"], Said(text="shouted"))


def main() -> None:
    """Serve the two tools at stdin and stdout."""
    if "--signals-elsewhere" in sys.argv:
        # Signals reach a thread that is started before the first one shuts itself off: no wait of ours is interrupted.
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
    files = Files(os.getcwd(), 1)
    index = open_index(files, None)
    changes = Changes(files, index, os.path.join(files.root, "state"))
    settings = CachedSettings(files.root)
    bench = Workbench(files, index, settings, changes, now=datetime.now, max_attachment_bytes=1, read_first=False)
    vault = Vault(bench)
    tools: list[AnyTool] = [wait, shout]
    handlers = Handlers(toolset_of(tools), lambda: vault, Policy())
    session = Session(Identity("stage", "Stage", "1", {"tools": {}}, ""), handlers.methods, STRUCTURED)
    stdio.run(session, handlers)


if __name__ == "__main__":
    main()
