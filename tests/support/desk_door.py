"""The desk as a person has it: a real server of a vault in which an agent changes notes, opened by its one-time link."""

from __future__ import annotations

import json
from pathlib import Path

from support import forking
from support.forking import loaded
from support.serving import Serving
from support.vaults import open_vault, write_vault
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath


class DeskDoor:
    """A vault, an agent in this process, and ``vaultwire serve`` beside it. Close it at the end."""

    def __init__(self, folder: Path, text: str, *options: str) -> None:
        self.root = write_vault(folder / "vault", text)
        self.state = folder / "state"
        self._options = options
        self.vault = open_vault(self.root, state=self.state)
        self.agent = Caller("Claude")
        self.server = self._serve("0")

    def _serve(self, port: str) -> Serving:
        options = ("--port", port) if port != "0" else ()
        return Serving(self.root, *self._options, *options, VAULTWIRE_STATE=str(self.state)).__enter__()

    def link(self) -> str:
        """Return the address that opens the desk, once."""
        command = loaded("vaultwire", "desk", "--vault", str(self.root), "--no-browser", "--json")
        told = forking.run(command, {"VAULTWIRE_STATE": str(self.state)})
        assert told.returncode == 0, told.stderr
        found: str = json.loads(told.stdout)["url"]
        return found

    def end_server(self) -> None:
        self.server.__exit__(None, None, None)

    def restart_server(self) -> None:
        self.server = self._serve(str(self.server.port))

    close = end_server

    def edit(self, *files: tuple[str, str | None]) -> str:
        """Let the agent write files in one change; return the item's id."""
        return self._make(self._steps(files))

    def edit_bytes(self, *files: tuple[str, bytes]) -> str:
        """Let the agent write files that are not text; return the item's id."""
        return self._make([Write(VaultPath(path), self._bytes(path), data) for path, data in files])

    def _make(self, steps: list[Write]) -> str:
        bench = self.vault.used_by(self.agent, "edit_note")._bench
        with bench.locked(NO_PROGRESS):
            return f"c{bench.changes.execute(steps, self._author).id}"

    def hold(self, *files: tuple[str, str | None]) -> str:
        """Let the agent propose files; return the item's id."""
        added = self.vault.holding.proposals.add("write", self._author, self._steps(files), label="a wish")
        return f"p{added.id}"

    @property
    def _author(self) -> Author:
        return Author(self.agent.client, "edit_note", self.agent.session)

    def _steps(self, files: tuple[tuple[str, str | None], ...]) -> list[Write]:
        return [
            Write(VaultPath(path), self._bytes(path), None if text is None else text.encode()) for path, text in files
        ]

    def _bytes(self, path: str) -> bytes | None:
        place = self.root / path
        return place.read_bytes() if place.exists() else None

    def text(self, path: str) -> str | None:
        data = self._bytes(path)
        return None if data is None else data.decode()

    def told(self) -> list[tuple[str, str]]:
        """What was decided, and what the agent is told of it."""
        return [(each.kind, each.text) for each in self.vault.holding.decisions.all()]
