"""A server for the companion plugin with a real vault: it lists, shows and decides as the desk does, over a real WebSocket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.scripted_desk import ScriptedDesk
from support.vaults import open_vault, write_vault
from vaultwire.review.reviewer import Reviewer
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath


class PluginDesk(ScriptedDesk):
    """An agent changes the vault with ``edit`` and proposes with ``hold``; the plugin sees it after ``refresh``."""

    def __init__(self, origin: str, folder: Path, text: str) -> None:
        self.root = write_vault(folder / "vault", text)
        self.vault = open_vault(self.root, state=folder / "state")
        self.agent = Caller("claude")
        person = Caller("you")
        person.is_person = True
        self.reviewer = Reviewer(self.vault.used_by(person, "desk"))
        super().__init__(origin)

    def edit(self, path: str, after: str) -> str:
        """Let the agent write a note; return the item's id."""
        bench = self.vault.used_by(self.agent, "edit_note")._bench
        with bench.locked(NO_PROGRESS):
            steps = [Write(VaultPath(path), self.read(path), after.encode())]
            return f"c{bench.changes.execute(steps, Author('claude', 'edit_note', self.agent.session)).id}"

    def hold(self, path: str, after: str) -> str:
        """Let the agent propose to write a note; return the item's id."""
        steps = [Write(VaultPath(path), self.read(path), after.encode())]
        author = Author("claude", "edit_note", self.agent.session)
        return f"p{self.vault.holding.proposals.add('write', author, steps, label='a wish').id}"

    def read(self, path: str) -> bytes | None:
        place = self.root / path
        return place.read_bytes() if place.exists() else None

    def refresh(self) -> None:
        """Tell what is there now."""
        self._tell_items()

    def _tell_items(self) -> None:
        found = self.reviewer.items(limit=50)
        self.tell(type="items", items=found["items"], waiting=found["waiting"])

    def _reply(self, message: dict[str, Any]) -> None:
        said = dict(message)
        kind, id_ = said.pop("type"), said.get("id", "")
        try:
            if kind == "show":
                self.tell(type="item", item=self.reviewer.item(id_))
            elif kind == "text":
                self.tell(type="text", id=id_, file=said["file"], **self.reviewer.text(**said))
            elif kind == "preview":
                self.tell(type="preview", id=id_, **self.reviewer.preview(**said))
            elif kind == "hunks":
                self.tell(type="hunks", id=id_, file=self.reviewer.hunks(id_, said["file"], said["from"]))
            elif kind == "decide":
                done = self.reviewer.decide(said.pop("id"), said.pop("action"), **said)
                self.answer(id_, done["message"], undo=done["undo"])
                self._tell_items()
        except VaultError as error:
            self.answer(id_, error.message, error=True)
