"""Composes the editors of a run: sockets, what the person sees, desks, the files by which clients find them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Collection, Sequence

from vaultwire import __version__
from vaultwire.app.desk import DeskServer, is_served, new_link
from vaultwire.app.engine import load_policy, make_policy, open_vault
from vaultwire.app.serving import Served, serve_all
from vaultwire.config import Config, ConfigError
from vaultwire.desk.api import DeskVaults
from vaultwire.desk.plugin_endpoint import CommandEndpoint, PluginEndpoint, PluginReview
from vaultwire.editor import EditorState, Proposals, WorkspaceWatcher
from vaultwire.protocol.events import Identity
from vaultwire.protocol.revisions import Revision
from vaultwire.protocol.session import Session
from vaultwire.server.editor_methods import Bridge, ClientPaths
from vaultwire.server.ide_companion import Bounds, Companion
from vaultwire.server.workers import Workers
from vaultwire.transports import guard, listening, lock_file, streamable_http
from vaultwire.transports.editor_socket import EditorSocket
from vaultwire.transports.http_server import Endpoint, Limits
from vaultwire.transports.http_server.websocket import WebSocketCycle
from vaultwire.trust.limits import MAX_CALLS, MAX_MESSAGE_BYTES
from vaultwire.vault.caller import MEMORY_BUDGET
from vaultwire.vault.disk.file_operations import make_private
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import Deadline

# Between two looks at the workspace file. A person who opens another note would notice a second.
_LOOK_SECONDS = 0.5
# The editor's name in the client's list.
_NAME = "Obsidian"
# Of clients other than Claude Code: the folder in which they look, and the file by which they find an editor.
_FILES: dict[str, tuple[Callable[[], str], Callable[..., lock_file.DiscoveryFile]]] = {
    "gemini": (lock_file.gemini_folder, lock_file.gemini_file),
    "qwen": (lock_file.qwen_folder, lock_file.qwen_file),
}
# The name of this computer for a client in a container.
_FROM_CONTAINERS = "host.docker.internal"
_END_SECONDS = 5.0


def run_ide(editors: Sequence[EditorServer], on_ready: Callable[[str, int, str, int], None]) -> None:
    """Be an editor to clients on this computer, one for each vault, until told to end. Raises ConfigError.

    ``on_ready`` is called with each vault's folder, its port, a link to its desk, and the companions' port (0 for
    none).
    """

    def tell() -> None:
        for editor in editors:
            on_ready(editor.root, editor.port, editor.url, editor.companion_port)

    serve_all(editors, Limits(grace=5), tell)


def open_editors(
    config: Config,
    on_waiting: Callable[[str, str], None],
    companions: Collection[str],
    log: Callable[[str], None] = lambda _: None,
    *,
    opens_browser: bool = True,
    on_running: Callable[[str, str], None] = lambda _vault, _page: None,
    has_desk: bool = False,
) -> list[EditorServer]:
    """Return an editor for each vault that has none. Raises ConfigError.

    ``companions``: those of ``gemini`` and ``qwen`` that can connect, too. ``on_waiting`` is called with a file and the link
    of the desk, on any thread, when a change waits that nobody sees. ``log`` takes lines for ``--debug``.
    ``on_running`` is called with the folder of a vault whose bridge runs already, and the link of its desk, "" for none: two
    bridges would be two entries in the client's list, and remove each other's files. ``has_desk``: the run has a desk already.
    """
    lock_file.remove_stale_files(lock_file.lock_folder())
    editors = []
    for name in config.vaults:
        one = config.for_vault(name)
        try:
            has_one = has_desk or is_served(one)  # else the desk of another server shows this vault
            editor = EditorServer(one, on_waiting, companions, log, opens_browser=opens_browser, has_desk=has_one)
            editors.append(editor)
        except BridgeRuns:
            _check_companions(one.vault, companions)
            on_running(one.vault, _desk_link(one))
    return editors


class BridgeRuns(ConfigError):  # noqa: N818 - what was found
    """Another process is the bridge of the vault."""


def _check_companions(root: str, companions: Collection[str]) -> None:
    """Raise ConfigError if the vault's running bridge is not one for these clients."""
    for client in companions:
        folder = _FILES[client][0]()
        if not any(editor.is_ours for editor in lock_file.discover_editors(folder, root)):
            raise ConfigError(f"the bridge of {root} runs already, without --{client}. End it, then start this again")


def _desk_link(config: Config) -> str:
    """Return a link that opens the desk of a running server of this vault once, "" for none."""
    try:
        return new_link(config) or ""
    except OSError:
        return ""


def _listen(last: lock_file.Identity) -> tuple[lock_file.Identity, socket.socket]:
    """Return a listening socket on this computer, at the last port with the last secret if that port is free.

    Else it has another port and a new secret: a client may have shown the old secret to the program that has the port now.
    """
    try:
        listener = socket.create_server(("127.0.0.1", last.port))
    except OSError as error:
        if not last.port:
            raise ConfigError(f"cannot listen on 127.0.0.1: {error.strerror}") from None
        return _listen(lock_file.new_identity())
    return lock_file.Identity(listener.getsockname()[1], last.token), listener


def _lock_vault(folder: str, key: str, root: str) -> contextlib.ExitStack:
    """Lock the vault for one editor; return what unlocks it. Raises BridgeRuns if another process has the lock."""
    with contextlib.suppress(OSError):  # without a state folder there is no lock
        make_private(folder)
    lock = contextlib.ExitStack()
    no_wait = Deadline(0, BridgeRuns(f"the bridge of {root} runs already"))
    lock.enter_context(ProcessLock(os.path.join(folder, f"{key}.held"), "").held(no_wait))
    return lock


class EditorServer:
    """One vault as an editor: its parts and their threads."""

    def __init__(
        self,
        config: Config,
        on_waiting: Callable[[str, str], None],
        companions: Collection[str],
        log: Callable[[str], None],
        *,
        opens_browser: bool,
        has_desk: bool,
    ) -> None:
        """The arguments are those of ``open_editors``. Raises ConfigError."""
        self.root = config.vault
        self._on_waiting = on_waiting
        self._announced: set[str] = set()
        self._opens_browser = opens_browser
        self._ended = threading.Event()
        folder = os.path.join(config.state, "editor")
        key = hashlib.sha256(os.path.realpath(self.root).encode()).hexdigest()[:16]
        self._lock = _lock_vault(folder, key, self.root)
        self._last = lock_file.LastIdentity(folder, key)
        self._identity, listener = _listen(self._last.load())
        self.port = self._identity.port
        loaded = load_policy(config)
        self._vault = vault = open_vault(config, (), loaded)
        state = EditorState(lambda path: not vault.has_file(path))
        self._proposals = proposals = Proposals(lambda: vault.holding)
        bridge = Bridge(lambda: vault, ClientPaths(self.root), state, proposals, self._show)
        plugin, command = lock_file.new_endpoint(self.port), lock_file.new_endpoint(self.port)
        self._config = config
        shown = DeskVaults({"": lambda: vault}, read_only=make_policy(config, loaded).read_only)
        review = PluginReview(shown, proposals.look)
        self._plugin = PluginEndpoint(state, review, plugin[1:], lambda: bridge.peers, self._watchers, self._open_page)
        commands = CommandEndpoint(state, lambda: vault, command.token, lambda: bridge.peers, self._watchers)
        self._workspace = WorkspaceWatcher(self.root, state)
        self._socket = EditorSocket(bridge, self.port, self._identity.token, self._plugin, commands, log)
        self._companion = CompanionServer(bridge, self.root, _NAME, companions, log) if companions else None
        self.companion_port = 0 if self._companion is None else self._companion.port
        self._desk = None if has_desk else DeskServer(config, lambda _: vault)
        self._parts: list[Served] = [part for part in (self._companion, self._desk) if part is not None]
        own = Endpoint(self._socket, listener, websocket=WebSocketCycle)
        self.endpoints = [own, *(endpoint for part in self._parts for endpoint in part.endpoints)]
        self._files = [
            lock_file.lock_file(lock_file.lock_folder(), self._identity, self.root, _NAME),
            lock_file.endpoint_file(folder, "plugin", self.root, plugin),
            lock_file.endpoint_file(folder, "commands", self.root, command),
        ]
        works = {"watch": vault.run_watch_loop, "follow": self._follow, "diffs": proposals.run}
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
        """Begin the work beside the connections, and write the files by which clients find the editor."""
        with contextlib.suppress(OSError):  # it is said when a client proposes something
            self._proposals.begin()
        self._socket.begin()
        for thread in self._threads:
            thread.start()
        try:
            for file in self._files:
                file.write()
            for part in self._parts:
                part.begin()
        except lock_file.LockFileError as error:
            raise ConfigError(str(error)) from None
        self._last.save(self._identity)

    async def stop(self) -> None:
        """Remove the files and withdraw all proposals."""
        self._remove_files()
        await self._socket.stop()
        for part in self._parts:
            await part.stop()

    def end(self) -> None:
        """Wait until all has ended."""
        self._ended.set()
        self._remove_files()
        for part in self._parts:
            part.end()
        self._socket.end()
        self._proposals.close()
        self._vault.close()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._lock.close()

    def _remove_files(self) -> None:
        for file in self._files:
            file.remove()
        self._last.save(self._identity)  # it is valid for some time from now on

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
        return [] if self._companion is None else self._companion.clients

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


class CompanionServer:
    """The editor for Gemini CLI and Qwen Code: MCP over Streamable HTTP, without the tools of a vault."""

    def __init__(
        self,
        bridge: Bridge,
        root: str,
        name: str,
        clients: Collection[str],
        log: Callable[[str], None] = lambda _: None,
        bounds: Bounds = Bounds(),  # noqa: B008 - a constant
    ) -> None:
        """``clients``: of gemini and qwen; ``name`` is the editor's name for them. Raises ConfigError."""
        if os.pathsep in root:
            raise ConfigError(f"{root} contains {os.pathsep!r}, which these clients take for the end of a path")
        for client in clients:
            lock_file.remove_stale_files(_FILES[client][0]())
        self._companion = Companion(bridge, bounds)
        token = secrets.token_urlsafe(32)
        try:
            listener = listening.bind("127.0.0.1", 0)
        except listening.StartError as error:
            raise ConfigError(str(error)) from None
        self.port: int = listener.getsockname()[1]
        identity = lock_file.Identity(self.port, token)
        self._files = [make(folder(), identity, root, name) for folder, make in map(_FILES.__getitem__, clients)]
        self._workers = Workers(self._companion, most_tasks=MAX_CALLS, has_room=MEMORY_BUDGET.has_room)
        self._mcp = streamable_http.StreamableHttp(self._workers, self._new_session, guard.KEY_NAME)
        self._notifier = threading.Thread(target=self._companion.run, name="vaultwire-companion-news")
        rules = guard.Rules(
            names=listening.names(listener, _FROM_CONTAINERS),
            any_address=False,
            origins=(),
            key_required=True,
            owner=lambda secret: "companion" if hmac.compare_digest(secret.encode(), token.encode()) else None,
        )
        door = guard.Door("companion", "/mcp", self._mcp, MAX_MESSAGE_BYTES)
        self.endpoints = [Endpoint(guard.Guard([door], rules, _Observer(log)), listener)]

    @property
    def clients(self) -> list[str]:
        """The names of the clients that listen."""
        return self._companion.clients

    def begin(self) -> None:
        """Write the files by which clients find it. Raises ``LockFileError``."""
        self._notifier.start()
        for file in self._files:
            file.write()

    async def stop(self) -> None:
        """Remove the files, and end the streams."""
        self._remove_files()
        await asyncio.to_thread(self._companion.close)
        self._mcp.close()

    def end(self) -> None:
        """Wait until all has ended."""
        self._remove_files()
        self._companion.close()
        if self._notifier.ident is not None:
            self._notifier.join()
        self._workers.end(_END_SECONDS)

    def _remove_files(self) -> None:
        for file in self._files:
            file.remove()

    def _new_session(self, revision: Revision | None) -> Session:
        identity = Identity("vaultwire", "Vaultwire", __version__, {"tools": {"listChanged": False}}, "")
        return Session(identity, self._companion.methods, revision=revision)


class _Observer(guard.Observer):
    """Logs one line for each request."""

    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__(log_json=False, metrics=False)
        self.listens = True
        self._line = log

    def ended(self, *, method: str, path: str, status: int, **_: object) -> None:
        """Log a request that is over."""
        self._line(f"{method} {path}: {status}")


def open_browser(link: str) -> None:
    """Open a link in the person's browser, if there can be one. It does not wait for the browser."""
    if _has_screen():
        threading.Thread(target=webbrowser.open, args=(link,), name="vaultwire-browser", daemon=True).start()


def _has_screen() -> bool:
    """Tell whether a browser can open a window. A text browser would take over this program's terminal."""
    return sys.platform in {"win32", "darwin"} or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
