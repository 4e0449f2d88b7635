"""Composes the editors' door: the socket, what the person sees, the page of changes, the files by which clients find it."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import threading
import webbrowser

from vaultwire.app.engine import load_policy, open_vault
from vaultwire.config import ConfigError
from vaultwire.desk.plugin_link import PluginLink
from vaultwire.desk.pointing import CommandLink
from vaultwire.desk.serving import Desk
from vaultwire.editor.diffs import Proposals
from vaultwire.editor.state import EditorState
from vaultwire.editor.workspace import Following
from vaultwire.server.editor_methods import Bridge
from vaultwire.server.editor_shapes import Shapes
from vaultwire.transports.editor_socket import EditorSocket, hosts
from vaultwire.transports.lock_file import (
    Identity,
    LastIdentity,
    LinkFile,
    LockFile,
    LockFileError,
    lock_folder,
    new_link,
    sweep,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.config import Config

# A person who opens another note and looks at the terminal would notice a second.
_LOOK_SECONDS = 0.5
# What the client calls the app in its list.
_NAME = "Obsidian"
_STOPS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # as far as the system has them


def run_ide(
    config: Config,
    on_ready: Callable[[str, int, str], None],
    log: Callable[[str], None] | None,
    *,
    opens_browser: bool,
) -> None:
    """Be an editor to clients on this computer, one for each vault, until told to end. Raises ConfigError.

    ``on_ready`` is called with each vault's folder, port and the link of its page of changes. ``log`` takes lines about what
    goes on.
    """
    doors = open_editors(config, log, opens_browser=opens_browser)
    ended = threading.Event()
    for name in _STOPS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: ended.set())
    try:
        for door in doors:
            door.begin()
            on_ready(door.root, door.port, door.url)
        while not ended.wait(_LOOK_SECONDS):  # on Windows a wait without end hears no signal
            continue
    finally:
        for door in doors:
            door.end()


def open_editors(config: Config, log: Callable[[str], None] | None, *, opens_browser: bool) -> list[EditorDoor]:
    """Return a door for each vault; ``begin`` opens it. Raises ConfigError."""
    sweep(lock_folder())
    return [
        EditorDoor(config.alone(name), log or (lambda _: None), opens_browser=opens_browser) for name in config.vaults
    ]


def _listen(wanted: Identity) -> tuple[Identity, socket.socket]:
    """Return a socket of this computer: at the port that clients know, if it is free."""
    try:
        listener = socket.create_server(("127.0.0.1", wanted.port))
    except OSError as error:
        if not wanted.port:
            raise ConfigError(f"cannot listen on 127.0.0.1: {error.strerror}") from None
        listener = socket.create_server(("127.0.0.1", 0))
    return Identity(listener.getsockname()[1], wanted.token), listener


class EditorDoor:
    """One vault as an editor: the parts, connected, and their threads."""

    def __init__(self, config: Config, log: Callable[[str], None], *, opens_browser: bool) -> None:
        self.root = config.vault
        self._opens_browser = opens_browser
        self._ended = threading.Event()
        folder = os.path.join(config.state, "editor")
        key = hashlib.sha256(os.path.realpath(self.root).encode()).hexdigest()[:16]
        self._last = LastIdentity(folder, key)
        self._identity, listener = _listen(self._last.take())
        self.port = self._identity.port
        self._vault = vault = open_vault(config, (), load_policy(config))
        state, proposals = EditorState(lambda path: not vault.has_file(path)), Proposals()
        bridge = Bridge(lambda: vault, Shapes(self.root), state, proposals, self._show)
        plugin_link, command_link = new_link(self.port), new_link(self.port)
        self._desk = Desk(proposals, {f"http://{host}" for host in hosts(self.port)})
        self._plugin = PluginLink(state, proposals, plugin_link[1:], lambda: bridge.peers, on_gone=self._open_page)
        commands = CommandLink(state, lambda: vault, command_link.token, lambda: bridge.peers)
        self._following = Following(self.root, state)
        self._proposals = proposals
        pages = (self._desk, self._plugin, commands)
        self._socket = EditorSocket(bridge, listener, self._identity.token, pages, log)
        self.url = f"http://127.0.0.1:{self.port}{self._desk.path}"
        self._files: list[LockFile | LinkFile] = [
            LockFile(lock_folder(), self._identity, self.root, _NAME),
            LinkFile(folder, "plugin", self.root, plugin_link),
            LinkFile(folder, "commands", self.root, command_link),
        ]
        works = {"socket": self._socket.run, "tend": vault.tend, "follow": self._follow}
        self._threads = [threading.Thread(target=work, name=f"vaultwire-editor-{name}") for name, work in works.items()]
        proposals.listen(self._open_page)

    def begin(self) -> None:
        """Serve, and tell clients where. Raises ConfigError."""
        for thread in self._threads:
            thread.start()
        try:
            for file in self._files:
                file.write()
        except LockFileError as error:
            raise ConfigError(str(error)) from None
        self._last.keep(self._identity)

    def end(self) -> None:
        """Reject what waits for the person, tell clients goodbye, take the files away, and wait for all of it."""
        self._ended.set()
        for file in self._files:
            file.remove()
        self._last.keep(self._identity)  # the time counts from the end
        self._socket.close()
        self._vault.close()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _follow(self) -> None:
        """Look at what Obsidian notes down of its windows. The plugin knows better while it is there."""
        while not self._ended.wait(_LOOK_SECONDS):
            if not self._plugin.is_open:
                self._following.look()

    def _show(self, path: str, line: int) -> bool:
        return self._plugin.open(path, line)

    def _open_page(self) -> None:
        """Have the person see what waits, unless they have it before them."""
        if self._opens_browser and self._proposals.waiting and not (self._plugin.is_open or self._desk.is_open):
            threading.Thread(target=webbrowser.open, args=(self.url,), name="vaultwire-browser", daemon=True).start()
