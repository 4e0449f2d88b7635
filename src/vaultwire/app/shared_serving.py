"""``serve --database``: several servers for the same vaults. Each vault has one owner; any server takes any request.

A request about a vault is answered by its owner: here, or passed on to there. A request about no vault is answered by the
server that it reached. A session is known to all (``cluster.sessions``), and each server that answers for it opens it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Iterator
from functools import partial

from vaultwire.app.desk import announce, desk_vaults, make_desk
from vaultwire.app.engine import load_policy, open_files, shared_name
from vaultwire.app.serving import HttpApp, NetworkConfig, listen
from vaultwire.app.sign_in import Sharing
from vaultwire.app.vault_routing import Router
from vaultwire.config import Config, ConfigError
from vaultwire.desk.http_endpoint import PATH as DESK_PATH
from vaultwire.installation import how_to_add
from vaultwire.remote.store import SharedStore
from vaultwire.transports import send_whole
from vaultwire.trust.keys import SharedKeys
from vaultwire.trust.limits import WINDOW_SECONDS
from vaultwire.vault.index.freshness import STALE_SECONDS

try:
    from vaultwire.cluster.calls import CallRows
    from vaultwire.cluster.database import Database, DatabaseError
    from vaultwire.cluster.keys import KeyRows
    from vaultwire.cluster.leases import Leases
    from vaultwire.cluster.replica import Replica
    from vaultwire.cluster.sessions import Sessions
    from vaultwire.cluster.sign_in import SignInRows
except ImportError:
    raise ConfigError(
        f"--database needs packages that are not installed. To add them: {how_to_add('postgres')}"
    ) from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from vaultwire.app.serving import Methods, Narrow
    from vaultwire.transports import Receive, Scope, Send
    from vaultwire.vault.changes.record_store import RecordStore
    from vaultwire.vault.index.summaries import FolderFiles

    MakeMethods: TypeAlias = Callable[[Callable[[str], RecordStore]], tuple[Methods, Narrow]]


class SharedServer:
    """This server among the others (``serving.Served``)."""

    def __init__(
        self, config: Config, network: NetworkConfig, make_methods: MakeMethods, on_ready: Callable[..., None]
    ) -> None:
        """``make_methods`` returns what ``HttpApp`` needs, over vaults whose records are kept as it is told.

        ``on_ready``: as for ``NetworkServer``. Raises ConfigError if the database cannot be used.
        """
        assert network.database is not None
        self._names = {shared_name(config.for_vault(name)): name for name in config.vaults}
        vaults = {shared: config.vaults[name] for shared, name in self._names.items()}
        try:
            database = Database(network.database)
            database.check()
            keys = SharedKeys(KeyRows(database))
            keys.refresh()
            people = None if network.public is None else SharedStore(SignInRows(database))
        except (DatabaseError, OSError) as error:
            raise ConfigError(f"--database: {getattr(error, 'strerror', None) or error}") from None
        place = listen(network)
        url = network.replica_url or place.url
        if network.replica_url is None and place.address.any_address:
            place.listener.close()
            raise ConfigError(
                f"--replica-url is needed: the other servers cannot reach {url}. Give the address of this computer, such as "
                f"http://10.0.0.7:{url.rpartition(':')[2]}"
            )
        replica = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"
        leases = Leases(database, replica, url, network.lease_seconds)
        refreshes = [keys.refresh, *(() if people is None else (people.look_again,))]
        self._replica = Replica(database, leases, vaults, self._gain, self._lose, place.observer.tell, refreshes)
        self._own_names = {name: shared for shared, name in self._names.items()}
        (handlers, new_session), narrow = make_methods(self._replica.records_of)
        self._router = Router(
            self._vault_of,
            handlers.only_reads,
            handlers.is_of_all,
            self._replica,
            self._own_names,
            url,
            passes_on_to_loopback=place.address.is_local,
        )
        if handlers.rates is not None:
            handlers.rates.share({*filter(self._router.reaches_all, handlers.methods)})
            refreshes.append(partial(handlers.rates.exchange, CallRows(database, replica, vaults, WINDOW_SECONDS)))
        handlers.vaults.load()  # the router needs the code of features, and is on the event loop
        handlers.vaults.is_here = lambda name: self._own_names[name] in self._router.here
        self._desk_vaults = desk_vaults(config, handlers.vaults.get, self._replica.records_of)
        self._desk_vaults.is_here = self._router.here.__contains__
        self._desk_vaults.elsewhere = self._desks_elsewhere
        desk = make_desk(config, handlers.vaults.get, self._desk_vaults) if network.desk else None
        folders = partial(_folders_on_disk, config)
        sharing = Sharing(self._router.around, Sessions(database), keys, people, folders)
        try:
            self._app = HttpApp(
                handlers, new_session, network, place.address, place.observer, desk, narrow, sharing=sharing
            )
        except ConfigError:
            place.listener.close()
            raise
        self._announcement = None if desk is None else announce(config, desk, place.url, names=network.allow_host)
        self._on_ready = partial(on_ready, place.url, in_the_open=place.in_the_open)
        self.endpoints = [place.endpoint(self._answer)]

    def begin(self) -> None:
        """Begin to ask for vaults, and say where they are served."""
        self._router.loop = asyncio.get_running_loop()
        self._app.open()
        if self._announcement is not None:
            self._announcement.begin()
        self._replica.start()
        self._on_ready()

    async def stop(self) -> None:
        """End the streams."""
        await self._app.end_streams()

    def end(self) -> None:
        """Close the vaults and give them back."""
        self._replica.stop()
        if self._announcement is not None:
            self._announcement.end()
        self._app.close()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what a load balancer asks; leave all else to the app, whose doors the router stands before."""
        if scope["type"] == "http" and scope["path"] in ("/health", "/ready"):
            await self._tell_standing(scope, send)
        elif scope["type"] == "http":
            await self._app(scope, receive, send)

    async def _tell_standing(self, scope: Scope, send: Send) -> None:
        """Answer ``/health`` (the process is alive) and ``/ready`` (a request would be answered). Names nobody."""
        standings = [self._replica.standing(name) for name in self._names]
        owned = [standing.seconds_left for standing in standings if standing.owns]
        is_ready = any(map(self._router.can_answer, self._names))
        facts = {
            "status": "ok" if is_ready or scope["path"] == "/health" else "not ready",
            "role": "owner" if owned else "stand-by",
            "vaults": len(owned),
            "database": "away" if self._replica.problem else "ok",
            "leaseSeconds": round(min(owned, default=0.0), 1),
            "staleSeconds": STALE_SECONDS,
        }
        status = 503 if scope["path"] == "/ready" and not is_ready else 200
        await send_whole(send, status, [(b"content-type", b"application/json")], json.dumps(facts).encode())

    def _vault_of(self, scope: Scope, method: str, params: dict[str, Any]) -> str | None:
        return self._app.vault_of(scope, method, params)  # the app is made after the router

    def _desks_elsewhere(self) -> dict[str, str]:
        """Return the addresses of the desks that show the vaults of other servers, "" for a vault that no server has."""
        owners = {name: self._replica.standing(name) for name in self._names if name not in self._router.here}
        return {
            name: f"{owner.address}{DESK_PATH}" if owner.address and not owner.owns else ""
            for name, owner in owners.items()
        }

    # ------------------------------------------------------------------ on the threads of the leases

    def _gain(self, vault: str) -> None:
        """Begin to open a vault, and answer for it."""
        self._router.enter(vault)
        self._app.serve(self._names[vault])

    def _lose(self, vault: str) -> None:
        """Answer no more calls about a vault, let those that are under way end, and close it."""
        entered = self._router.leave(vault)
        self._app.leave(self._names[vault])
        self._desk_vaults.forget(vault)
        self._router.tell_left(entered)


def _folders_on_disk(config: Config, name: str) -> Iterator[FolderFiles]:
    """Yield the folders of a vault that another server has the index of: those of files that the policy shows."""
    from vaultwire.vault.index.summaries import FolderFiles  # noqa: PLC0415 - after the first answer

    own = config.for_vault(name)
    for folder, files in open_files(own, load_policy(own)).walk_folders():
        if files:
            yield FolderFiles(folder, len(files), 0)
