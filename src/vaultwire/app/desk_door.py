"""Composes a server of the desk alone, at a port of this computer: for ``vaultwire desk``, and beside the editors' socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from vaultwire.app.desk import announce, link_to, make_desk
from vaultwire.config import Config, ConfigError
from vaultwire.desk.access import desk_folder
from vaultwire.desk.http_endpoint import PATH
from vaultwire.desk.running import LastPort
from vaultwire.transports import guard, http_server, listening, observing
from vaultwire.trust.limits import MAX_MESSAGE_BYTES
from vaultwire.vault.vault import Vault

_LIMITS = http_server.Limits(connections=100, grace=5)


class DeskDoor:
    """The desk of one run. ``begin`` opens it, ``end`` closes it."""

    def __init__(self, config: Config, get_vault: Callable[[str], Vault], port: int | None = None) -> None:
        """``get_vault`` returns the run's engine of a vault, by the name that the run gives it.

        ``port``: 0 for any free one, None for the one that the last desk of these vaults had, if it is free. Raises
        ConfigError.
        """
        self._config = config
        self._desk = make_desk(config, get_vault)
        last = LastPort(desk_folder(config.state), list(config.vaults.values()))
        self._listener = _listen(last.load() if port is None else port, may_differ=port is None)
        self.port: int = self._listener.getsockname()[1]
        if port is None:
            last.save(self.port)
        self.url = listening.url(self._listener, tls=False)
        """The address of the server; the desk is at ``/desk/`` there."""
        self._announcement = announce(config, self._desk, self.url)
        self._ready = threading.Event()
        self._stop: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._serve, name="vaultwire-desk")

    def begin(self) -> None:
        """Serve on a thread of its own."""
        self._thread.start()
        self._ready.wait()
        self._announcement.begin()

    def end(self) -> None:
        """End all pages, and wait until all has ended."""
        self._announcement.end()
        self._stop()
        if self._thread.ident is not None:
            self._thread.join()
        self._listener.close()

    @property
    def is_open(self) -> bool:
        """Whether the person has the page open."""
        return self._desk.is_open

    def new_link(self) -> str:
        """Return a link that opens the desk once, within ten minutes. Raises OSError."""
        return link_to(self._config, self._desk.access.server, self.url)

    def _serve(self) -> None:
        observer = observing.Observer(log_json=False, metrics=False)
        door = guard.Door("desk", PATH, self._desk, MAX_MESSAGE_BYTES, needs_key=False)
        rules = guard.Rules(
            names=listening.names(self._listener),
            any_address=False,
            origins=(),
            key_required=False,
            owner=lambda _: None,
        )

        def begin(stop: Callable[[], None]) -> None:
            self._stop = stop
            self._ready.set()

        async def close() -> None:
            self._desk.close()

        try:
            endpoint = http_server.Endpoint(guard.Guard([door], rules, observer), self._listener)
            http_server.run_beside(endpoint, begin, close, _LIMITS)
        finally:
            self._ready.set()


def _listen(port: int, *, may_differ: bool) -> socket.socket:
    try:
        return listening.bind("127.0.0.1", port)
    except listening.StartError as error:
        if may_differ and port:
            return _listen(0, may_differ=False)
        raise ConfigError(str(error)) from None
