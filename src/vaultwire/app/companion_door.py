"""Composes the door of Gemini CLI and Qwen Code: MCP over Streamable HTTP to an editor, without the tools of a vault."""

from __future__ import annotations

import hmac
import os
import secrets
import threading
from collections.abc import Callable, Collection

from vaultwire import __version__
from vaultwire.config import ConfigError
from vaultwire.protocol.events import Identity
from vaultwire.protocol.revisions import Revision
from vaultwire.protocol.session import Session
from vaultwire.server.editors.ide_companion import Bounds, Companion
from vaultwire.server.editors.methods import Bridge
from vaultwire.server.workers import Workers
from vaultwire.transports import guard, http_server, listening, lock_file, observing, streamable_http
from vaultwire.trust.limits import MAX_CALLS, MAX_MESSAGE_BYTES
from vaultwire.vault.caller import MEMORY_BUDGET

_FILES: dict[str, tuple[Callable[[], str], Callable[..., lock_file.DiscoveryFile]]] = {
    "gemini": (lock_file.gemini_folder, lock_file.gemini_file),
    "qwen": (lock_file.qwen_folder, lock_file.qwen_file),
}
# The name of this computer for a client in a container.
_FROM_CONTAINERS = "host.docker.internal"
_LIMITS = http_server.Limits(connections=50, grace=5)
_END_SECONDS = 5.0


class CompanionDoor:
    """The door of one vault for these clients. ``begin`` opens it, ``end`` closes it."""

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
        self.companion = Companion(bridge, bounds)
        self._log = log
        self._token = secrets.token_urlsafe(32)
        try:
            self._listener = listening.bind("127.0.0.1", 0)
        except listening.StartError as error:
            raise ConfigError(str(error)) from None
        self.port: int = self._listener.getsockname()[1]
        identity = lock_file.Identity(self.port, self._token)
        self._files = [make(folder(), identity, root, name) for folder, make in map(_FILES.__getitem__, clients)]
        self._workers = Workers(self.companion, most_tasks=MAX_CALLS, has_room=MEMORY_BUDGET.has_room)
        self._mcp = streamable_http.StreamableHttp(self._workers, self._new_session, guard.KEY_NAME)
        self._ready = threading.Event()
        self._stop: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._serve, name="vaultwire-companion")
        self._notifier = threading.Thread(target=self.companion.run, name="vaultwire-companion-news")

    def begin(self) -> None:
        """Serve, and write the files by which clients find the door. Raises ``LockFileError``."""
        self._notifier.start()
        self._thread.start()
        self._ready.wait()
        for file in self._files:
            file.write()

    def end(self) -> None:
        """Remove the files, withdraw all proposals, tell the clients, and wait until all has ended."""
        for file in self._files:
            file.remove()
        self.companion.close()
        self._stop()
        for thread in (self._thread, self._notifier):
            if thread.ident is not None:
                thread.join()
        self._listener.close()
        self._workers.end(_END_SECONDS)

    def _serve(self) -> None:
        observer = _Observer(self._log)
        door = guard.Door("companion", "/mcp", self._mcp, MAX_MESSAGE_BYTES)
        rules = guard.Rules(
            names=listening.names(self._listener, _FROM_CONTAINERS),
            any_address=False,
            origins=(),
            key_required=True,
            owner=lambda secret: "companion" if hmac.compare_digest(secret.encode(), self._token.encode()) else None,
        )

        def begin(stop: Callable[[], None]) -> None:
            self._stop = stop
            self._ready.set()

        async def close() -> None:
            self._mcp.close()

        try:
            endpoint = http_server.Endpoint(guard.Guard([door], rules, observer), self._listener)
            http_server.run_beside(endpoint, begin, close, _LIMITS)
        finally:
            self._ready.set()

    def _new_session(self, revision: Revision | None) -> Session:
        identity = Identity("vaultwire", "Vaultwire", __version__, {"tools": {"listChanged": False}}, "")
        return Session(identity, self.companion.methods, revision=revision)


class _Observer(observing.Observer):
    """Logs one line for each request."""

    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__(log_json=False, metrics=False)
        self.listens = True
        self._line = log

    def ended(self, *, method: str, path: str, status: int, **_: object) -> None:
        """Log a request that is over."""
        self._line(f"{method} {path}: {status}")
