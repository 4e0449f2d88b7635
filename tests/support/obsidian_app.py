"""A computer with the Obsidian app: the stand-in as its command, a socket that is listened to while it runs, and a vault."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest

NOTES = """
=== Home.md
---
tags: [area/home, start]
rating: 4
done: false
aliases:
  - Start
  - Begin
---
# Home

See [[Plan]] and [[Plan|again]], [[Missing]] and [[Ideas/Garden]]. #start

## Tasks

- [ ] Water the tomatoes
- [x] Buy seeds
=== Projects/Plan.md
# Plan

The needle is here, a needle. #work/alpha

## Next

1. [ ] Sow
=== Ideas/Garden.md
Needle and thread.

Back to [[Home]].
=== Ideas/Empty.md
=== Twins/One/Same.md
One.
=== Twins/Two/Same.md
Two.
=== Templates/Meeting.md
# {{title}}

Present:
=== Books.base
views:
  - type: table
=== .obsidian/templates.json
{"folder": "Templates"}
=== .obsidian/daily-notes.json
{"folder": "Daily"}
=== .obsidian/bookmarks.json
{"items": [{"type": "file", "path": "Home.md", "title": "Start here"}, {"type": "group", "title": "G", "items": [
 {"type": "search", "query": "needle"}, {"type": "file", "path": "Projects/Plan.md", "subpath": "#Next"}]}]}
"""


class Computer:
    """Where the app keeps its settings, its command, and whether it runs."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.command = str(folder / "obsidian")
        self.log = folder / "calls.log"
        self._patch = patch
        self._socket: socket.socket | None = None
        tests = Path(__file__).parents[1]
        Path(self.command).write_text(
            f"#!{sys.executable} -IS\nimport sys\nsys.path.insert(0, {str(tests)!r})\n"
            "from support import stand_in_obsidian\nstand_in_obsidian.main(sys.argv[1:])\n",
            encoding="utf-8",
        )
        Path(self.command).chmod(0o755)
        self.settings.mkdir(parents=True)
        for variable in ("XDG_RUNTIME_DIR", "HOME"):
            patch.setenv(variable, str(folder))
        patch.setenv("XDG_CONFIG_HOME", str(self.settings.parent))
        patch.setenv("STAND_IN_LOG", str(self.log))

    def know(self, *vaults: Path) -> None:
        """Add these vaults to the app's list."""
        known = {f"{number:016x}": {"path": str(vault), "ts": 1} for number, vault in enumerate(vaults, 0xAB)}
        (self.settings / "obsidian.json").write_text(json.dumps({"vaults": known, "cli": True}))

    @property
    def settings(self) -> Path:
        """The folder of the app's own settings."""
        return self.folder / "config" / "obsidian"

    def start_app(self) -> None:
        """Start the app: its socket accepts connections."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self.folder / ".obsidian-cli.sock"))
        self._socket.listen(1000)

    def stop_app(self) -> None:
        """End the app as in a crash: the file of its socket stays."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def behave(self, how: str) -> None:
        """Let the command behave so from now on."""
        self._patch.setenv("STAND_IN", how)

    def calls(self) -> list[list[str]]:
        """Return the arguments of every call of the command, in order."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
