"""Composes the editors' door: the WebSocket, what the person sees, the desk, the files by which clients find it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Collection, Sequence

from vaultwire.app.desk import is_served, new_link
from vaultwire.app.desk_door import DeskDoor
from vaultwire.app.engine import load_policy, make_policy, open_vault
from vaultwire.config import Config, ConfigError
from vaultwire.desk.command_endpoint import CommandEndpoint
from vaultwire.desk.plugin_endpoint import PluginEndpoint
from vaultwire.desk.plugin_review import PluginReview
from vaultwire.desk.vaults import PERSON, TOOL
from vaultwire.editor.proposals import Proposals
from vaultwire.editor.state import EditorState, WorkspaceWatcher
from vaultwire.review.reviewer import Reviewer
from vaultwire.server.editors.methods import Bridge
from vaultwire.server.editors.notifications import ClientPaths
from vaultwire.transports.editor_socket.door import EditorSocket
from vaultwire.transports.lock_file import (
    Identity,
    LastIdentity,
    LockFileError,
    discover_editors,
    endpoint_file,
    gemini_folder,
    lock_file,
    lock_folder,
    new_endpoint,
    new_identity,
    qwen_folder,
    remove_stale_files,
)
from vaultwire.vault.caller import Caller
from vaultwire.vault.disk.file_operations import make_private
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import NoProgress
from vaultwire.vault.vault import Vault

# Between two looks at the workspace file. A person who opens another note would notice a second.
_LOOK_SECONDS = 0.5
# The editor's name in the client's list.
_NAME = "Obsidian"
_STOPS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # those that the system has


def run_ide(doors: Sequence[EditorDoor], on_ready: Callable[[str, int, str, int], None]) -> None:
    """Be an editor to clients on this computer, one for each vault, until told to end. Raises ConfigError.

    ``on_ready`` is called with each vault's folder, its port, a link to its desk, and the companions' port (0 for
    none).
    """
    ended = threading.Event()
    for name in _STOPS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: ended.set())
    try:
        for door in doors:
            door.begin()
            on_ready(door.root, door.port, door.url, door.companion_port)
        while not ended.wait(_LOOK_SECONDS):  # on Windows a wait without a timeout does not notice signals
            continue
    finally:
        for door in doors:
            door.end()


def open_editors(
    config: Config,
    on_waiting: Callable[[str, str], None],
    companions: Collection[str],
    log: Callable[[str], None] = lambda _: None,
    *,
    opens_browser: bool = True,
    on_running: Callable[[str, str], None] = lambda _vault, _page: None,
) -> list[EditorDoor]:
    """Return a door for each vault that has none; ``begin`` opens it. Raises ConfigError.

    ``companions``: those of ``gemini`` and ``qwen`` that can connect, too. ``on_waiting`` is called with a file and the link
    of the desk, on any thread, when a change waits that nobody sees. ``log`` takes lines for ``--debug``.
    ``on_running`` is called with the folder of a vault whose bridge runs already, and the link of its desk, "" for none: two
    bridges would be two entries in the client's list, and remove each other's files.
    """
    remove_stale_files(lock_folder())
    doors = []
    for name in config.vaults:
        one = config.for_vault(name)
        try:
            doors.append(EditorDoor(one, on_waiting, companions, log, opens_browser=opens_browser))
        except BridgeRuns:
            _check_companions(one.vault, companions)
            on_running(one.vault, _desk_link(one))
    return doors


class BridgeRuns(ConfigError):  # noqa: N818 - what was found
    """Another process is the bridge of the vault."""


def _check_companions(root: str, companions: Collection[str]) -> None:
    """Raise ConfigError if the vault's running bridge is not one for these clients."""
    folders = {"gemini": gemini_folder, "qwen": qwen_folder}
    for client in companions:
        if not any(editor.is_ours for editor in discover_editors(folders[client](), root)):
            raise ConfigError(f"the bridge of {root} runs already, without --{client}. End it, then start this again")


def _desk_link(config: Config) -> str:
    """Return a link that opens the desk of a running server of this vault once, "" for none."""
    try:
        return new_link(config) or ""
    except OSError:
        return ""


def _reviewer(vault: Vault) -> Reviewer:
    """Return what lists and decides for the person: none of their writes waits for them."""
    person = Caller(PERSON)
    person.is_person = True
    return Reviewer(vault.used_by(person, TOOL))


def _listen(last: Identity) -> tuple[Identity, socket.socket]:
    """Return a listening socket on this computer, at the last port with the last secret if that port is free.

    Else it has another port and a new secret: a client may have shown the old secret to the program that has the port now.
    """
    try:
        listener = socket.create_server(("127.0.0.1", last.port))
    except OSError as error:
        if not last.port:
            raise ConfigError(f"cannot listen on 127.0.0.1: {error.strerror}") from None
        return _listen(new_identity())
    return Identity(listener.getsockname()[1], last.token), listener


class _NoWait(NoProgress):
    """A ``Progress`` that does not wait for a lock: a vault has one bridge."""

    def __init__(self, root: str) -> None:
        self._root = root

    def check(self) -> None:
        raise BridgeRuns(f"the bridge of {self._root} runs already")


def _lock_vault(folder: str, key: str, root: str) -> contextlib.ExitStack:
    """Lock the vault for one editor; return what unlocks it. Raises BridgeRuns if another process has the lock."""
    with contextlib.suppress(OSError):  # without a state folder there is no lock
        make_private(folder)
    lock = contextlib.ExitStack()
    lock.enter_context(ProcessLock(os.path.join(folder, f"{key}.held"), "").held(_NoWait(root)))
    return lock


class EditorDoor:
    """One vault as an editor: its parts and their threads."""

    def __init__(
        self,
        config: Config,
        on_waiting: Callable[[str, str], None],
        companions: Collection[str],
        log: Callable[[str], None],
        *,
        opens_browser: bool,
    ) -> None:
        self.root = config.vault
        self._on_waiting = on_waiting
        self._announced: set[str] = set()
        self._opens_browser = opens_browser
        self._ended = threading.Event()
        folder = os.path.join(config.state, "editor")
        key = hashlib.sha256(os.path.realpath(self.root).encode()).hexdigest()[:16]
        self._lock = _lock_vault(folder, key, self.root)
        self._last = LastIdentity(folder, key)
        self._identity, listener = _listen(self._last.load())
        self.port = self._identity.port
        loaded = load_policy(config)
        self._vault = vault = open_vault(config, (), loaded)
        state, proposals = EditorState(lambda path: not vault.has_file(path)), Proposals(lambda: vault.holding)
        bridge = Bridge(lambda: vault, ClientPaths(self.root), state, proposals, self._show)
        plugin, command = new_endpoint(self.port), new_endpoint(self.port)
        self._config = config
        self._desk: DeskDoor | None = None
        reviewer = _reviewer(vault)
        read_only = make_policy(config, loaded).read_only
        review = PluginReview(lambda: reviewer, proposals.look, read_only=read_only)
        self._plugin = PluginEndpoint(state, review, plugin[1:], lambda: bridge.peers, self._watchers, self._open_page)
        self._companions: CompanionDoor | None = None
        self.companion_port = 0
        if companions:
            from vaultwire.app.companion_door import CompanionDoor  # noqa: PLC0415 - an HTTP server, only where asked for

            self._companions = CompanionDoor(bridge, self.root, _NAME, companions, log)
            self.companion_port = self._companions.port
        commands = CommandEndpoint(state, lambda: vault, command.token, lambda: bridge.peers, self._watchers)
        self._workspace = WorkspaceWatcher(self.root, state)
        self._proposals = proposals
        pages = (self._plugin, commands)
        self._socket = EditorSocket(bridge, listener, self._identity.token, pages, log)
        self._files = [
            lock_file(lock_folder(), self._identity, self.root, _NAME),
            endpoint_file(folder, "plugin", self.root, plugin),
            endpoint_file(folder, "commands", self.root, command),
        ]
        works = {
            "socket": self._socket.run,
            "watch": vault.run_watch_loop,
            "follow": self._follow,
            "diffs": proposals.run,
        }
        self._threads = [threading.Thread(target=work, name=f"vaultwire-editor-{name}") for name, work in works.items()]
        proposals.listen(self._open_page)
        proposals.listen(self._plugin.tell_items)

    @property
    def url(self) -> str:
        """A link that opens the desk once, within ten minutes; "" if it cannot be made."""
        if self._desk is None:
            return _desk_link(self._config)
        try:
            return self._desk.new_link()
        except OSError:
            return ""

    def begin(self) -> None:
        """Serve, and write the files by which clients find the door. Raises ConfigError."""
        with contextlib.suppress(OSError):  # it is said when a client proposes something
            self._proposals.begin()
        for thread in self._threads:
            thread.start()
        try:
            for file in self._files:
                file.write()
            if self._companions is not None:
                self._companions.begin()
        except LockFileError as error:
            raise ConfigError(str(error)) from None
        self._last.save(self._identity)
        if not is_served(self._config):  # else the desk of another server shows this vault
            self._desk = DeskDoor(self._config, lambda _: self._vault)
            self._desk.begin()

    def end(self) -> None:
        """Remove the files, withdraw all proposals, close all connections, and wait until all has ended."""
        self._ended.set()
        for file in self._files:
            file.remove()
        self._last.save(self._identity)  # it is valid for some time from now on
        if self._companions is not None:
            self._companions.end()
        self._socket.close()
        self._proposals.close()
        if self._desk is not None:
            self._desk.end()
        self._vault.close()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._lock.close()

    def _follow(self) -> None:
        """Read Obsidian's workspace file, while no plugin is connected: the plugin knows better."""
        while not self._ended.wait(_LOOK_SECONDS):
            if self._plugin.is_open:
                self._plugin.tell_shared()  # assistants come and go
                self._plugin.tell_items()
            else:
                self._workspace.look()

    def _watchers(self) -> list[str]:
        """Return the connected assistants that take no mentions."""
        return [] if self._companions is None else self._companions.companion.clients

    def _show(self, path: str, line: int) -> bool:
        return self._plugin.open(path, line)

    def _open_page(self) -> None:
        """Tell the person of waiting changes, unless they see them already or were told."""
        waiting = self._proposals.waiting
        untold = [proposal for proposal in waiting if proposal.id not in self._announced]
        if not untold or self._plugin.is_open or (self._desk is not None and self._desk.is_open):
            return
        is_first = not self._announced
        self._announced.update(proposal.id for proposal in untold)
        link = self.url
        self._on_waiting(untold[-1].path, link)
        # The page of another server may be open already: it is opened once.
        if link and self._opens_browser and (self._desk is not None or is_first):
            open_browser(link)


def open_browser(link: str) -> None:
    """Open a link in the person's browser, if there can be one. It does not wait for the browser."""
    if _has_screen():
        threading.Thread(target=webbrowser.open, args=(link,), name="vaultwire-browser", daemon=True).start()


def _has_screen() -> bool:
    """Tell whether a browser can open a window. A text browser would take over this program's terminal."""
    return sys.platform in {"win32", "darwin"} or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
