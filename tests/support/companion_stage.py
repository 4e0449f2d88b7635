"""A vault, what the person sees of it, and the door of Gemini CLI and Qwen Code before it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.companion_client import PATIENCE, CompanionClient
from support.http_service import ServiceThread
from support.vaults import open_vault
from vaultwire.app.editors import CompanionServer
from vaultwire.editor import Decision, EditorState, Proposals
from vaultwire.server.editor_methods import Bridge, ClientPaths
from vaultwire.server.ide_companion import Bounds
from vaultwire.transports.http_server import Limits

PATIENT = Bounds(quiet=0.0, look=60.0, lost=60.0)
WATCHFUL = Bounds(quiet=0.0, look=0.01, lost=0.0)


class Stage:
    """The door, begun. What is ``Private/`` is private; ``files`` is the folder for temporary files."""

    def __init__(self, root: Path, files: Path, bounds: Bounds) -> None:
        self.root = root
        self.state = EditorState(lambda path: path.startswith("Private/"))
        vault = open_vault(root)
        self.vault = vault
        self.proposals = Proposals(lambda: vault.holding)
        self._changed = threading.Condition()
        self.proposals.listen(self._note)
        self.bridge = Bridge(
            lambda: vault, ClientPaths(str(root)), self.state, self.proposals, lambda _path, _line: False
        )
        self.log: list[str] = []
        self.door = CompanionServer(self.bridge, str(root), "Obsidian", ["gemini"], self.log.append, bounds)
        self._thread = ServiceThread(self.door, self.door.endpoints, Limits(grace=5))
        [file] = (files / "gemini" / "ide").glob(f"*-{self.door.port}.json")
        self.found = json.loads(file.read_text())
        self.port: int = self.found["port"]

    def _note(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def client(self, **options: Any) -> CompanionClient:
        return CompanionClient(self.port, self.found["authToken"], **options)

    def path(self, name: str) -> str:
        return str(self.root / name)

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Wait until changes that are laid before the person have made it so."""
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE)

    def decide(self, text: str | None) -> None:
        [proposal] = self.proposals.waiting
        assert self.proposals.decide(proposal.id, Decision(text))

    def close(self) -> None:
        self._thread.close()
