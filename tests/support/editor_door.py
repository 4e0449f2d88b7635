"""The editors' socket of a vault with everything behind it, on a server of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from support.http_service import ServiceThread
from support.vaults import open_vault
from vaultwire.desk.api import DeskVaults
from vaultwire.desk.plugin_endpoint import OBSIDIAN, CommandEndpoint, PluginEndpoint, PluginReview
from vaultwire.editor import Decision, Diff, EditorState, Mention, Proposals, Selection
from vaultwire.server.editor_methods import Bridge, ClientPaths, Peer
from vaultwire.transports.editor_socket import TOKEN_HEADER, Bounds, EditorSocket
from vaultwire.transports.http_server import Endpoint, Limits
from vaultwire.transports.http_server.websocket import WebSocketCycle
from vaultwire.transports.lock_file import new_endpoint
from vaultwire.vault.changes.change import Author

PATIENCE = 20.0
TOKEN = "token"
Told = TypeVar("Told")


class EditorDoor:
    """What is ``Private/`` is private. What the state tells is in ``selections`` and ``mentions``, the latest last."""

    def __init__(
        self,
        root: Path,
        *origins: str,
        bounds: Bounds = Bounds(),  # noqa: B008 - a constant
        limits: Limits = Limits(),  # noqa: B008 - a constant
    ) -> None:
        self.root = root
        self.state = EditorState(lambda path: path.startswith("Private/"))
        vault = self.vault = open_vault(root)
        self.proposals = Proposals(lambda: vault.holding)
        self.selections: list[Selection] = []
        self.mentions: list[Mention] = []
        self.decisions: list[str | None] = []
        self._changed = threading.Condition()
        self.state.listen(self._note(self.selections.append), self._note(self.mentions.append))
        self.bridge = Bridge(lambda: vault, ClientPaths(str(root)), self.state, self.proposals, self._open)
        listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = listener.getsockname()[1]
        self.plugin, self.commands = new_endpoint(self.port), new_endpoint(self.port)
        self.shown = DeskVaults({"": lambda: vault})
        review = PluginReview(self.shown, self.proposals.look)
        self.link = PluginEndpoint(
            self.state, review, self.plugin[1:], lambda: self.bridge.peers, on_gone=self._changes
        )
        self.link.origins = (OBSIDIAN, *origins)
        self.command_link = CommandEndpoint(self.state, lambda: vault, self.commands.token, lambda: self.bridge.peers)
        self.proposals.listen(self.link.tell_items)
        editors = EditorSocket(self.bridge, self.port, TOKEN, self.link, self.command_link, bounds=bounds)
        self._thread = ServiceThread(editors, [Endpoint(editors, listener, websocket=WebSocketCycle)], limits)

    def _note(self, keep: Callable[[Told], None]) -> Callable[[Told], None]:
        def noted(told: Told) -> None:
            with self._changed:
                keep(told)
                self._changed.notify_all()

        return noted

    def _changes(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _open(self, path: str, line: int) -> bool:
        return self.link.open(path, line)

    def knock(self, *headers: str) -> socket.socket:
        """Connect, and ask for the socket with the token; return the connection once that is answered."""
        connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        opening = (
            *("GET / HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"{TOKEN_HEADER}: {TOKEN}", "Upgrade: websocket"),
            *("Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {'A' * 22}=="),
        )
        connection.sendall("\r\n".join((*opening, *headers, "", "")).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        assert head.startswith(b"HTTP/1.1 101 "), head
        return connection

    def join(self) -> Peer:
        """Connect an assistant that sends nothing."""
        peer = Peer(lambda _: None, lambda: None)
        self.bridge.join(peer)
        return peer

    def propose(self, path: str, old: str, new: str, label: str = "Claude") -> None:
        def decided(decision: Decision) -> None:
            with self._changed:
                self.decisions.append(decision.text)
                self._changed.notify_all()

        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(old.encode())
        self.proposals.propose(Diff(path, label, old.encode(), new), Author("tests", "openDiff"), self, decided)

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Wait until something told has made it so."""
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE), (self.selections, self.mentions, self.decisions)

    def close(self) -> None:
        self._thread.close()
