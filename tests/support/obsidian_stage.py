"""Obsidian's stage: its API stood in for by ``tests/plugin/stand_in.js``, over real CodeMirror editors in a real browser."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

from support.chromium import Tab, in_browser

HERE = Path(__file__).parents[1] / "plugin"
MODULES = os.environ.get("VAULTWIRE_PLUGIN_MODULES")
needs_stage = in_browser  # and CodeMirror: make plugin gets it

NOTE = "# Plan\n\nFirst line.\nSecond line.\nThird line.\n"
NOTES = {
    "Plan.md": NOTE,
    "Projects/My Note.md": "\n".join(f"line {n}" for n in range(1, 301)),
    "Private/Diary.md": "secret",
}
NOTICES = "document.getElementById('notices').textContent"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@contextmanager
def serve_stage(folder: Path) -> Iterator[str]:
    """Yield the origin of a server that has the stand-in and the plugin; its files are made in the folder."""
    assert MODULES, "no CodeMirror: run make plugin, which gets it"
    options = ("--bundle", "--format=iife", "--log-level=error", f"--outfile={folder / 'stand_in.bundle.js'}")
    subprocess.run(
        [Path(MODULES, ".bin", "esbuild"), HERE / "stand_in.js", *options],
        env={**os.environ, "NODE_PATH": MODULES},
        check=True,
    )
    (folder / "stand_in.html").write_bytes((HERE / "stand_in.html").read_bytes())
    plugin = resources.files("vaultwire.obsidian").joinpath("plugin")
    for name in ("main.js", "styles.css"):
        (folder / name).write_bytes(plugin.joinpath(name).read_bytes())
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def start(tab: Tab, link: dict[str, Any] | None, notes: dict[str, str] = NOTES) -> None:
    """Load the plugin, and set a hotkey for its first command, as a person does."""
    tab.evaluate(f"standIn.start({json.dumps(notes)}, {json.dumps(link)})")
    tab.evaluate("standIn.app.hotkeys.set('tag', { modifiers: ['Mod', 'Alt'], key: 'k' })")


def look_away(tab: Tab) -> None:
    """Work in another program from now on."""
    tab.evaluate("document.hasFocus = () => false")


def open_note(tab: Tab, path: str) -> None:
    tab.evaluate(f"standIn.open({json.dumps(path)})")
    tab.wait_for("document.activeElement.classList.contains('cm-content')")


def status(tab: Tab) -> str:
    return tab.texts(".status-bar-item")[0]
