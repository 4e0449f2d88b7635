"""``serve --database``: several servers for the same vaults. One owns them and answers; the others pass requests on to it.

Each server decides for each request by its own standing (``cluster.replica``). The owner serves as ever, with its records in
the database. When the vaults are given away, all that the owner had of them is closed; when they come back, it is made again.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from vaultwire.app.desk import announce, make_desk
from vaultwire.app.engine import shared_name
from vaultwire.app.serving import HttpApp, NetworkConfig, listen
from vaultwire.config import Config, ConfigError
from vaultwire.installation import how_to_add
from vaultwire.transports import send_whole
from vaultwire.transports.passing_on import PASSED_ON, pass_on, refuse

try:
    from vaultwire.cluster.database import Database, DatabaseError
    from vaultwire.cluster.leases import Leases
    from vaultwire.cluster.replica import Replica, Standing
except ImportError:
    raise ConfigError(
        f"--database needs packages that are not installed. To add them: {how_to_add('postgres')}"
    ) from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from vaultwire.app.serving import Methods, Narrow
    from vaultwire.desk.running import Announcement
    from vaultwire.transports import App, Message, Receive, Scope, Send
    from vaultwire.vault.changes.record_store import RecordStore

    MakeMethods: TypeAlias = Callable[[Callable[[str], RecordStore]], tuple[Methods, Narrow]]
    _Serving: TypeAlias = tuple[HttpApp, Announcement | None]

# For requests that stream to notice that they are to end.
_STOP_SECONDS = 5.0
# For an answer that was made before the vaults were closed to be on its way.
_LAST_SECONDS = 1.0


class SharedServer:
    """This server among the others (``serving.Served``)."""

    def __init__(
        self, config: Config, network: NetworkConfig, make_methods: MakeMethods, on_ready: Callable[..., None]
    ) -> None:
        """``make_methods`` returns what ``HttpApp`` needs, over vaults whose records are kept as it is told.

        ``on_ready``: as for ``NetworkServer``. Raises ConfigError if the database cannot be used.
        """
        assert network.database is not None
        self._config, self._network, self._make_methods = config, network, make_methods
        vaults = {shared_name(config.for_vault(name)): folder for name, folder in config.vaults.items()}
        try:
            database = Database(network.database)
            database.check()
        except DatabaseError as error:
            raise ConfigError(f"--database: {error}") from None
        self._place = listen(network)
        url = network.replica_url or self._place.url
        if network.replica_url is None and self._place.address.any_address:
            self._place.listener.close()
            raise ConfigError(
                f"--replica-url is needed: the other servers cannot reach {url}. Give the address of this computer, such as "
                f"http://10.0.0.7:{url.rpartition(':')[2]}"
            )
        name = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"
        leases = Leases(database, name, url, network.lease_seconds)
        self._replica = Replica(database, leases, vaults, self._gain, self._lose, self._tell)
        self._next: _Serving | None = self._make()  # so that what cannot work is told at once
        # While this server owns the vaults, with what is set when it has closed them.
        self._open: tuple[HttpApp, asyncio.Event] | None = None
        self._announcement: Announcement | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_ready = partial(on_ready, self._place.url, in_the_open=self._place.in_the_open)
        self.endpoints = [self._place.endpoint(self._answer)]

    def begin(self) -> None:
        """Begin to ask for the vaults, and say where they are served."""
        self._loop = asyncio.get_running_loop()
        self._replica.start()
        self._on_ready()

    async def stop(self) -> None:
        """End the streams."""
        self._loop = None
        if self._open is not None:
            await self._open[0].end_streams()

    def end(self) -> None:
        """Close the vaults and give them back."""
        self._replica.stop()

    # ------------------------------------------------------------------ one request

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on to the server that owns the vaults."""
        if scope["type"] != "http":
            return
        standing, opened = self._replica.standing(), self._open
        if scope["path"] in ("/health", "/ready"):
            can_pass_on = standing.address not in ("", self._address)
            await _tell_standing(scope, send, standing, is_ready=can_pass_on or (standing.owns and opened is not None))
        elif standing.owns and opened is not None:
            await _answer_while_open(*opened, scope, receive, send)
        elif standing.owns or not standing.address:
            await refuse(send, "No server owns these vaults yet.")
        elif standing.address == self._address or any(name == PASSED_ON for name, _ in scope["headers"]):
            await refuse(send, "These vaults are just changing their server.")
        elif not self._place.address.is_local and _is_loopback(standing.address):
            # It may ask for no key, because it believes that nobody else can reach it.
            await refuse(send, "The server that owns these vaults can be reached from its own computer only (--host).")
        else:
            await pass_on(standing.address, scope, receive, send)

    @property
    def _address(self) -> str:
        return self._network.replica_url or self._place.url

    # ------------------------------------------------------------------ on the thread of the leases

    def _make(self) -> _Serving:
        """Return what serves the vaults, which are opened later. Raises ConfigError where nobody could come in."""
        config, network, place = self._config, self._network, self._place
        (handlers, new_session), narrow = self._make_methods(self._replica.records_of)
        desk = make_desk(config, handlers.vaults.get) if network.desk else None
        app = HttpApp(handlers, new_session, network, place.address, place.observer, desk, narrow)
        return app, None if desk is None else announce(config, desk, place.url, names=network.allow_host)

    def _gain(self) -> None:
        """Open the vaults and answer for them. Raises ConfigError."""
        app, self._announcement = self._next or self._make()
        self._next = None
        if self._announcement is not None:
            self._announcement.begin()
        loop = self._loop
        if loop is not None:
            asyncio.run_coroutine_threadsafe(_open(app), loop).result(_STOP_SECONDS)
            self._open = app, asyncio.Event()

    def _lose(self) -> None:
        """Close what uses the vaults: streams, then calls in flight, then the vaults."""
        opened, self._open = self._open, None
        if self._announcement is not None:
            self._announcement.end()
            self._announcement = None
        if opened is None:
            return
        app, closed = opened
        loop = self._loop
        if loop is not None:
            ended = asyncio.run_coroutine_threadsafe(app.end_streams(), loop)
            try:
                ended.result(_STOP_SECONDS)
            except TimeoutError:
                pass
        app.close()
        if loop is not None:
            loop.call_soon_threadsafe(closed.set)

    def _tell(self, message: str) -> None:
        self._place.observer.tell(message)


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


async def _answer_while_open(app: App, closed: asyncio.Event, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request. A call that was stopped when the app was closed has no answer: the client is told so."""
    has_begun = False

    async def pass_answer(message: Message) -> None:
        nonlocal has_begun
        has_begun = True
        await send(message)

    answering = asyncio.ensure_future(app(scope, receive, pass_answer))
    closing = asyncio.ensure_future(closed.wait())
    try:
        await asyncio.wait((answering, closing), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((answering,), timeout=_LAST_SECONDS)  # one that was made may be on its way
        if answering.done():
            answering.result()  # raises what the app has raised
            return
    finally:
        answering.cancel()
        closing.cancel()
    if has_begun:
        raise ConnectionAbortedError
    await refuse(send, "The server has lost these vaults before it could answer, and perhaps has done it: look first.")


async def _open(app: HttpApp) -> None:
    app.open()


async def _tell_standing(scope: Scope, send: Send, standing: Standing, *, is_ready: bool) -> None:
    """Answer ``/health`` (the process is alive) and ``/ready`` (a request would be answered). Names nobody."""
    facts = {
        "status": "ok" if is_ready or scope["path"] == "/health" else "not ready",
        "role": "owner" if standing.owns else "stand-by",
        "database": "away" if standing.problem else "ok",
        "leaseSeconds": round(standing.seconds_left, 1),
    }
    status = 503 if scope["path"] == "/ready" and not is_ready else 200
    await send_whole(send, status, [(b"content-type", b"application/json")], json.dumps(facts).encode())
