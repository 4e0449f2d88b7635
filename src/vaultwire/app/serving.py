"""What a run serves on its ports: the settings of the network, checked, and one HTTP server for all of its services."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from vaultwire.config import Config, ConfigError, keys_folder, sign_in_folder
from vaultwire.desk.http_endpoint import PATH as DESK_PATH
from vaultwire.desk.running import Announcement
from vaultwire.protocol.events import Peer
from vaultwire.server.workers import Workers
from vaultwire.transports import guard, listening, rest, streamable_http
from vaultwire.transports.listening import MAX_PORT
from vaultwire.trust.keys import Keys
from vaultwire.trust.limits import MAX_CALLS, MAX_MESSAGE_BYTES
from vaultwire.trust.tokens import Tokens, Trusted
from vaultwire.vault.caller import MEMORY_BUDGET
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError

if TYPE_CHECKING:
    import socket
    import ssl

    from vaultwire.config import Options
    from vaultwire.desk.http_endpoint import DeskEndpoint
    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.remote.endpoint import SignIn
    from vaultwire.remote.store import Folders
    from vaultwire.server.handlers import Handlers
    from vaultwire.server.mcp_endpoint import SharedSessions
    from vaultwire.server.vaults import Vaults
    from vaultwire.transports import App, Message, Receive, Scope, Send
    from vaultwire.transports.http_server import Endpoint, Limits
    from vaultwire.transports.oauth import Protected

    class AsgiOptions(Options, total=False):
        """Keywords of ``vaultwire.app.asgi``: the options of ``vaultwire serve``, without those of a server.

        ``oauth`` stands for ``--oauth-...``, ``limits`` for what clients are held to (``--audit``, ``--rate``, ...).
        """

        allow_host: str | Sequence[str]
        allow_origin: str | Sequence[str]
        cors_any_origin: bool
        require_key: bool
        oauth: Trusted | None
        public_url: str | None
        client_host: str | Sequence[str]
        connector: bool
        metrics: bool
        log_json: bool
        desk: bool


_PUBLIC_URL = re.compile(
    r"(?:(?P<tls>https)|http)://(?P<name>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(?P<port>[0-9]{1,5}))?"
)
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_HERE = ("localhost", "127.0.0.1")


class PublicServer(NamedTuple):
    """A server that people sign in to, at ``url``; ``folder`` is where that is kept.

    ``notes`` say in words which notes it has; ``hosts`` are those of further clients. ``has_connectors``: connector addresses
    are served, too.
    """

    url: str
    folder: str
    notes: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    has_connectors: bool = False


class NetworkConfig(NamedTuple):
    """How one run is reached over the network. ``host`` and ``port`` are where it listens, 0 for any free port.

    ``allow_host``: further names of this server. ``allow_origin``: web pages of other servers that may call.
    ``cors_any_origin``: every web page may call the REST API, as its contract says. ``keys``: the folder of the keys.
    ``desk``: the page for the person is served, too. ``database``: the address of the one between several servers, which reach
    this one at ``replica_url``, None for where it listens; a server that is silent for ``lease_seconds`` loses its vaults.
    """

    keys: str
    host: str = "127.0.0.1"
    port: int = 3000
    allow_host: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()
    cors_any_origin: bool = False
    require_key: bool = False
    oauth: Trusted | None = None
    public: PublicServer | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    metrics: bool = False
    log_json: bool = False
    desk: bool = True
    database: str | None = None
    replica_url: str | None = None
    lease_seconds: int = 15


# The settings that an app on any server has, too.
_PUBLIC = ("public_url", "client_host", "connector")
_OF_SERVER = {"keys", "host", "port", "tls_cert", "tls_key", "public", "database", "replica_url", "lease_seconds"}
APP_SETTINGS = frozenset((*NetworkConfig._fields, *_PUBLIC)) - _OF_SERVER


def make_network_config(config: Config, **options: Any) -> NetworkConfig:
    """Return the settings of the network. Raises ConfigError.

    ``options`` are NetworkConfig's fields and, for ``public``, ``public_url``, ``client_host`` and ``connector``.
    """
    for name in ("allow_host", "allow_origin", "client_host"):
        given = options.get(name, ())
        options[name] = (given,) if isinstance(given, str) else tuple(given)
    url, hosts, connector = (options.pop(name, None) for name in _PUBLIC)
    network = NetworkConfig(keys_folder(config.state), **options)
    if url is not None:
        network = _at_public_url(config, network, url, hosts, has_connectors=bool(connector))
    elif hosts or connector:
        raise ConfigError("--client-host and --connector need --public-url")
    if network.database is not None:
        _check_shared(network)
    elif network.replica_url is not None:
        raise ConfigError("--replica-url needs --database")
    if not 0 <= network.port <= MAX_PORT:
        raise ConfigError(f"--port must be from 0 (any free one) to {MAX_PORT}, got {network.port}")
    if network.tls_key is not None and network.tls_cert is None:
        raise ConfigError("--tls-key needs --tls-cert: the certificate that goes with the key")
    for name in network.allow_host:
        if not name or any(character in name for character in ":/@ *"):
            raise ConfigError(f"--allow-host takes the name of a computer such as notes.example.org, got {name!r}")
    for origin in network.allow_origin:
        scheme, separator, rest = origin.partition("://")
        if not scheme or not separator or not rest or any(character in rest for character in "/@ *"):
            raise ConfigError(f"--allow-origin takes a page's origin such as https://example.org, got {origin!r}")
    return network._replace(allow_origin=tuple(map(str.lower, network.allow_origin)))  # as browsers spell them


_REPLICA_URL = re.compile(r"https?://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-f:.]+\]):[0-9]{1,5}")
_LEASE_SECONDS = range(3, 301)


def _check_shared(network: NetworkConfig) -> None:
    """Raise ConfigError for settings with which several servers cannot share vaults."""
    if network.public is not None:
        raise ConfigError("--public-url and --database exclude each other: people and grants are kept on one computer")
    if network.replica_url is not None and not _REPLICA_URL.fullmatch(network.replica_url):
        right = "the address at which the other servers reach this one, such as http://10.0.0.7:3000"
        raise ConfigError(f"--replica-url takes {right}, got {network.replica_url!r}")
    if network.lease_seconds not in _LEASE_SECONDS:
        raise ConfigError(f"--lease-seconds must be from 3 to 300, got {network.lease_seconds}")


def read_public_url(url: str) -> tuple[str, str]:
    """Return the URL of a server for everybody, and the name in it. Raises ConfigError."""
    url = url.removesuffix("/")
    parts = _PUBLIC_URL.fullmatch(url)
    if (
        parts is None
        or not (parts["tls"] or parts["name"] in _HERE)
        or int(parts["port"] or 1) not in range(1, MAX_PORT + 1)
    ):
        right = "the URL of this server for everybody, such as https://notes.example.org, with nothing behind the name"
        raise ConfigError(f"--public-url takes {right}, got {url!r}")
    return url, parts["name"]


def _at_public_url(
    config: Config, network: NetworkConfig, url: str, hosts: tuple[str, ...], *, has_connectors: bool
) -> NetworkConfig:
    """Return the settings with the URL under which everybody reaches the server. Raises ConfigError."""
    from vaultwire.app.engine import load_policy  # noqa: PLC0415 - only where it is asked for

    url, own_name = read_public_url(url)
    if network.oauth is not None:
        raise ConfigError("--public-url and --oauth-issuer exclude each other: tokens come from here or from elsewhere")
    for name in hosts:
        if not _HOST.fullmatch(name):
            raise ConfigError(f"--client-host takes the name of a client's host such as app.example.org, got {name!r}")
    loaded = load_policy(config)
    rules = {} if loaded is None or loaded.paths is None else loaded.paths.patterns
    names = [name or os.path.basename(folder) or folder for name, folder in config.vaults.items()]
    notes = [f"the vault {name}" for name in names]
    notes += [f"only: {', '.join(rules['read'])}"] if "read" in rules else []
    notes += [f"without: {', '.join(rules['deny'])}"] if "deny" in rules else []
    public = PublicServer(url, sign_in_folder(config.state), tuple(notes), hosts, has_connectors)
    # A page of sign-in sends its form from here, whatever name a proxy in between puts into Host.
    origins = (*network.allow_origin, url)
    return network._replace(public=public, allow_host=(*network.allow_host, own_name), allow_origin=origins)


class Served(Protocol):
    """Something that is served at ports of its own, on the server of the run."""

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """Where it is served."""

    def begin(self) -> None:
        """Begin, once connections are accepted. On the event loop. Raises ConfigError."""

    async def stop(self) -> None:
        """End what would never end by itself, once no more connections are accepted. On the event loop."""

    def end(self) -> None:
        """End, once all connections are closed. Also if it never began."""


def serve_all(services: Sequence[Served], limits: Limits, on_ready: Callable[[], None] = lambda: None) -> None:
    """Serve until told to end. ``on_ready`` is called once all have begun. Raises what their ``begin`` raises."""
    from vaultwire.transports import http_server  # noqa: PLC0415 - not for those who only read settings

    def begin(_stop: Callable[[], None]) -> None:
        for service in services:
            service.begin()
        on_ready()

    async def stop() -> None:
        for service in services:
            await service.stop()

    try:
        http_server.run([endpoint for service in services for endpoint in service.endpoints], begin, stop, limits)
    finally:
        for service in services:
            service.end()


# The ASGI app of one run: guard and doors over one set of methods, and the lifespan of what works beside them.
#
# Not the server below it: ``NetworkServer`` puts it on our own, ``vaultwire.app.asgi`` hands it to any other.

# How long calls whose clients have left may take to notice that they are to stop.
_LEFT_SECONDS = 5.0


class Address(NamedTuple):
    """Where clients reach the app."""

    names: frozenset[str]  # that it answers to, as ``Host`` headers spell them, without ports
    any_address: bool  # it also answers to every address
    is_local: bool  # only this computer can reach it, so that no key is needed unless one was asked for
    url: str | None  # None where only the clients know it


Methods: TypeAlias = "tuple[Handlers, Callable[[Revision | None], Session]]"
"""The methods of a run, and what returns the protocol state of a handshake to come, or of requests at a fixed revision."""
Narrow: TypeAlias = "Callable[[Folders], Methods]"
"""Returns the same for clients that see some folders only."""


class Sharing(NamedTuple):
    """What several servers share. ``around`` returns what stands before a door, by the door's name."""

    around: Callable[[str, App], App]
    sessions: SharedSessions
    keys: Keys


class _Doors:
    """The doors through which clients use notes, over one set of methods: with its threads and its index updater.

    Where several servers share the vaults, each of these is served from ``serve`` to ``leave``.
    """

    def __init__(self, methods: Methods, observer: guard.Observer, sessions: SharedSessions | None = None) -> None:
        self._handlers, new_session = methods
        self._is_shared = sessions is not None
        self._serving: dict[str, threading.Thread] = {}
        # Not a daemon: a thread that is stopped while it imports holds a lock that the end of the process needs.
        self._updater = threading.Thread(target=self._handlers.run_background, name="vaultwire-beside")
        self._workers = Workers(
            self._handlers,
            most_tasks=MAX_CALLS,
            current_id=observer.current_id,
            on_crash=observer.crashed,
            has_room=MEMORY_BUDGET.has_room,
        )
        self.mcp = streamable_http.StreamableHttp(self._workers, new_session, guard.KEY_NAME, sessions)
        self.rest = rest.Rest(self._workers, guard.KEY_NAME)

    def open(self) -> None:
        """Begin to open the vault and to keep its index up to date."""
        if not self._is_shared:
            self._updater.start()

    def serve(self, vault: str) -> None:
        """Begin to open a vault that is shared, and to keep its index up to date."""
        thread = threading.Thread(target=self._handlers.serve, args=(vault,), name="vaultwire-index-updater")
        self._serving[vault] = thread
        thread.start()

    def leave(self, vault: str) -> None:
        """Close a vault that is shared: calls that are under way have time to end."""
        self._workers.end_in(vault, _LEFT_SECONDS)
        self._handlers.vaults.leave(vault)
        thread = self._serving.pop(vault, None)
        if thread is not None:
            thread.join()

    def end_streams(self) -> None:
        """End what would never end by itself. On the event loop."""
        self.mcp.close()

    def close(self) -> None:
        """End the calls in flight, and close the vault with all that is to be written."""
        self._workers.end(_LEFT_SECONDS)
        self._handlers.close()
        for thread in (self._updater, *self._serving.values()):
            if thread.ident is not None:
                thread.join()


# Choices of folders whose engines are open at once: each has an index. The one that was not used for the longest time goes.
_MOST_NARROWED = 16


class _AllDoors:
    """The doors for all clients: those who see some folders only have their own."""

    def __init__(
        self, methods: Methods, narrow: Narrow | None, observer: guard.Observer, sessions: SharedSessions | None = None
    ) -> None:
        self._all = _Doors(methods, observer, sessions)
        self._narrow = narrow
        self._observer = observer
        self._narrowed: dict[Folders, _Doors] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self.folders_of: Callable[[str], Folders] = lambda _: ()
        """Returns the folders that a principal was allowed, none for all."""
        self.open, self.rest, self.mcp = self._all.open, self._answer_rest, self._answer_mcp
        self.serve, self.leave = self._all.serve, self._all.leave

    async def _answer_mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._doors_for(scope).mcp(scope, receive, send)

    async def _answer_rest(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._doors_for(scope).rest(scope, receive, send)

    def _doors_for(self, scope: Scope) -> _Doors:
        """Return the doors for the client of a request. On the event loop."""
        folders = self.folders_of(scope.get(guard.KEY_NAME, ""))
        if not folders:
            return self._all
        doors = self._narrowed.pop(folders, None)
        if doors is None:
            assert self._narrow is not None, "folders were allowed where nobody can be held to them"
            doors = _Doors(self._narrow(folders), self._observer)
            doors.open()
        self._narrowed[folders] = doors
        if len(self._narrowed) > _MOST_NARROWED:
            old = self._narrowed.pop(next(iter(self._narrowed)))
            old.end_streams()
            task = asyncio.ensure_future(asyncio.to_thread(old.close))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        return doors

    async def end_streams(self) -> None:
        """End what would never end by itself. On the event loop, when no more requests come."""
        for doors in (self._all, *self._narrowed.values()):
            doors.end_streams()
        if self._closing:
            await asyncio.wait(self._closing)

    def close(self) -> None:
        """Close all of them. Once the clients are gone."""
        for doors in (self._all, *self._narrowed.values()):
            doors.close()


class HttpApp:
    """An ASGI app. On a server without lifespan events it opens with the first request and closes with the process."""

    def __init__(  # noqa: PLR0913 - the parts that the composition root puts together
        self,
        handlers: Handlers,
        new_session: Callable[[Revision | None], Session],
        network: NetworkConfig,
        address: Address,
        observer: guard.Observer,
        desk: DeskEndpoint | None = None,
        narrow: Narrow | None = None,
        *,
        sharing: Sharing | None = None,
    ) -> None:
        """``desk`` is the page for the person, None for none. ``narrow``: for clients that see some folders only.

        ``sharing``: how several servers share the vaults, None if this is the only one.
        ``new_session`` returns the protocol state of a handshake to come, or of requests at a fixed revision.

        Raises ConfigError where nobody could come in, or tokens cannot be checked.
        """
        keys = _open_keys(network, None if sharing is None else sharing.keys, is_local=address.is_local)
        self._observer = observer
        self._desk = desk
        self._is_open = False
        self._around: Callable[[str, App], App] = (lambda _, app: app) if sharing is None else sharing.around
        sessions = None if sharing is None else sharing.sessions
        self._clients = _AllDoors((handlers, new_session), narrow, observer, sessions)
        self.serve, self.leave = self._clients.serve, self._clients.leave
        self._protected = _make_protected(network.oauth, address, observer)
        self._sign_in = _make_sign_in(network.public, observer, handlers)
        if self._sign_in is not None:
            self._clients.folders_of = self._sign_in.folders_of
        if desk is not None and self._sign_in is not None:
            desk.show_grants(self._sign_in)
        issuer = self._sign_in or self._protected
        rules = guard.Rules(
            names=address.names,
            any_address=address.any_address,
            origins=network.allow_origin,
            key_required=network.require_key or not address.is_local or issuer is not None,
            owner=keys.owner,
            token_owner=None if issuer is None else issuer.owner,
            challenge="" if issuer is None else issuer.challenge,
        )
        self._guard = guard.Guard(self._doors(network), rules, observer)

    def _doors(self, network: NetworkConfig) -> list[guard.Door]:
        doors = [
            guard.Door("mcp", "/mcp", self._around("mcp", self._clients.mcp), MAX_MESSAGE_BYTES),
            guard.Door("health", "/health", guard.answer_health, 0, needs_key=False),
            # Clients look here for what a server may have. A 401 would say that it is there (RFC 8615).
            guard.Door("", "/.well-known", guard.answer_nothing, 0, False, guard.READING, refusal_headers=rest.CORS),
            guard.Door(
                "v1",
                rest.ROOT,
                self._around("v1", self._clients.rest),
                rest.MAX_BODY_BYTES,
                for_any_page=guard.EVERYTHING if network.cors_any_origin else guard.READING,
                refusal_headers=rest.CORS,
            ),
        ]
        if self._desk is not None:
            doors.append(guard.Door("desk", DESK_PATH, self._desk, MAX_MESSAGE_BYTES, needs_key=False))
        if self._protected is not None:
            doors.append(guard.Door("oauth", self._protected.path, self._protected.show, 0, False, guard.READING))
        if self._sign_in is not None:
            doors += self._sign_in.doors()
        if network.metrics:
            doors.append(guard.Door("metrics", "/metrics", self._observer.page, 0))
        return doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan of the app."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if not self._is_open:
            self.open()
            threading.Thread(target=self._close_at_end, name="vaultwire-end").start()
        await self._guard(scope if self._sign_in is None else await self._sign_in.unwrap(scope), receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open and close when the server says so (ASGI, "Lifespan Protocol")."""
        while True:
            event = (await receive())["type"]
            if event == "lifespan.startup":
                self.open()
            else:
                await self.end_streams()
                await asyncio.to_thread(self.close)
            done: Message = {"type": f"{event}.complete"}
            await send(done)
            if event == "lifespan.shutdown":
                return

    def open(self) -> None:
        """Begin to open the vault and to keep its index up to date. On the event loop, before the first request."""
        self._is_open = True
        self._clients.open()
        if self._protected is not None:
            self._protected.fetch()  # so that the log says at once if that cannot work

    async def end_streams(self) -> None:
        """End what would never end by itself. On the event loop, when no more requests come."""
        await self._clients.end_streams()
        if self._desk is not None:
            self._desk.close()

    def close(self) -> None:
        """End the calls in flight, and close the vaults with all that is to be written. Once the clients are gone."""
        self._clients.close()

    def _close_at_end(self) -> None:
        """Close when the main thread has ended, before the process waits for its other threads."""
        threading.main_thread().join()
        self.close()
        if self._sign_in is not None:
            self._sign_in.close()


def _open_keys(network: NetworkConfig, shared: Keys | None, *, is_local: bool) -> Keys:
    """Return the keys that open the doors, the shared ones if there are any. Raises ConfigError where nobody could come in."""
    keys = Keys(network.keys) if shared is None else shared
    try:
        has_keys = bool(keys.all())
    except OSError as error:
        raise ConfigError(f"cannot read the keys in {network.keys}: {error.strerror}") from None
    if (network.require_key or not is_local) and not has_keys and network.oauth is None and network.public is None:
        why = "there is none" if is_local else f"other computers can reach {network.host}"
        where = "" if shared is None else " --database URL"
        raise ConfigError(f"a key is needed and {why}: issue one with vaultwire keys issue NAME{where}")
    return keys


def _make_protected(oauth: Trusted | None, address: Address, observer: guard.Observer) -> Protected | None:
    """Return what has an issuer's tokens open the server, None if none do. Raises ConfigError."""
    if oauth is None:
        return None
    from vaultwire.transports.oauth import Protected  # noqa: PLC0415 - only where it is asked for, here and below

    try:
        import cryptography  # noqa: F401, PLC0415
        import jwt  # noqa: F401, PLC0415
    except ImportError:
        from vaultwire.installation import how_to_add  # noqa: PLC0415

        raise ConfigError(
            f"--oauth-issuer needs packages that are not installed. To add them: {how_to_add('oauth')}"
        ) from None
    if oauth.resource is None and (address.url is None or not address.is_local):
        raise ConfigError("--oauth-issuer needs --oauth-resource where other computers can reach the server: its URL")
    resource = oauth.resource or f"{address.url}/mcp"
    return Protected(Tokens(oauth.issuer, oauth.audience or resource, oauth.scopes), resource, observer.tell)


def _make_sign_in(public: PublicServer | None, observer: guard.Observer, handlers: Handlers) -> SignIn | None:
    """Return what lets people sign in, None if nobody is to. Raises ConfigError."""
    if public is None:
        return None
    import sqlite3  # noqa: PLC0415 - only where it is asked for, here and below

    try:
        from vaultwire.remote.endpoint import Offered, SignIn  # noqa: PLC0415
    except ImportError:
        from vaultwire.installation import how_to_add  # noqa: PLC0415

        raise ConfigError(
            f"--public-url needs packages that are not installed. To add them: {how_to_add('remote')}"
        ) from None
    from vaultwire.remote.clients import Clients  # noqa: PLC0415
    from vaultwire.remote.store import Store  # noqa: PLC0415

    try:
        store = Store(public.folder)
        store.set_url(public.url)
        if not store.people():
            observer.tell("nobody can sign in yet. To add yourself: vaultwire people add NAME")
        if public.has_connectors and all(grant.person for grant in store.grants()):
            observer.tell("there is no connector address yet. To make one: vaultwire grants connector")
        clients = Clients(store.key(), public.hosts)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"cannot use the folder of people and grants, {public.folder}: {error}") from None
    offered = Offered(
        public.notes,
        {name: partial(_folders_in, handlers.vaults, name) for name in handlers.vaults.names},
        may_write=not handlers.read_only,
        has_connectors=public.has_connectors,
    )
    sign_in = SignIn(
        store,
        clients,
        public.url,
        offered,
        observer.tell,
    )
    sign_in.show_notes(partial(_read_for_page, handlers))
    return sign_in


def _read_for_page(handlers: Handlers, person: str, vault: str, path: str) -> dict[str, Any]:
    """Return a note for its page: what a client of the person's name may read in this run. Raises VaultError."""
    from vaultwire.review.glance import Glance  # noqa: PLC0415 - most runs show no page

    vaults = handlers.vaults
    name = vaults.name(vault if vaults.are_several else vaults.names[0])
    notes = vaults.get(name)
    may_read = any(tool["name"] == "read_notes" for tool in handlers.offered(Peer(person)))
    if notes.name != vault or not may_read:
        raise VaultError(FILE_NOT_FOUND, "There is no such note.", path=path)
    return Glance(notes).note(path)


# Levels of folders, and how many of them, that the page of consent offers.
_FOLDER_LEVELS, _MOST_FOLDERS = 3, 300


def _folders_in(vaults: Vaults, name: str) -> list[str]:
    """Return the folders of a vault that a client may be held to, in the order of their paths. Waits for the index."""
    tree = vaults.get(name).overview.folder_tree("", _FOLDER_LEVELS, _MOST_FOLDERS)
    return [branch.folder for branch in tree if branch.folder]


# ``serve``: the ASGI app of a run on our own HTTP server, at an address of this computer.


class Place(NamedTuple):
    """Where a server listens, at ``url``, and what observes it."""

    url: str
    address: Address
    observer: guard.Observer
    listener: socket.socket
    tls: ssl.SSLContext | None

    @property
    def in_the_open(self) -> bool:
        """Whether others can read what it says on the way."""
        return self.tls is None and not self.address.is_local

    def endpoint(self, app: App) -> Endpoint:
        """Return the endpoint with an app."""
        from vaultwire.transports.http_server import Endpoint  # noqa: PLC0415 - not under the server of another

        return Endpoint(app, self.listener, self.tls, rest.CORS)


def listen(network: NetworkConfig) -> Place:
    """Bind the server's socket, and send its own messages where the settings say. Raises ConfigError."""
    observer = guard.Observer(log_json=network.log_json, metrics=network.metrics)
    observer.take_stderr()
    try:
        tls = None if network.tls_cert is None else listening.make_tls(network.tls_cert, network.tls_key)
        listener = listening.bind(network.host, network.port)
    except listening.StartError as error:
        raise ConfigError(str(error)) from None
    url = listening.url(listener, tls=tls is not None)
    address = Address(
        listening.names(listener, network.host, *network.allow_host),
        listening.is_any_address(listener),
        listening.is_loopback(listener),
        url,
    )
    return Place(url, address, observer, listener, tls)


class NetworkServer:
    """The app of a run at its address."""

    def __init__(
        self,
        handlers: Handlers,
        new_session: Callable[[Revision | None], Session],
        serving: NetworkConfig,
        on_ready: Callable[..., None],
        desk: tuple[DeskEndpoint | None, Callable[[str], Announcement] | None] = (None, None),
        narrow: Narrow | None = None,
    ) -> None:
        """``new_session``, ``narrow``: as for ``HttpApp``.

        ``desk`` is the page for the person, and what makes ``vaultwire desk`` find it at a URL.
        ``on_ready`` is called with the server's URL once it answers, and with ``in_the_open=True`` if others can read what it
        says on the way. Raises ConfigError where that cannot be.
        """
        place = listen(serving)
        page, announce = desk
        self._announcement = None if announce is None else announce(place.url)
        self._app = HttpApp(handlers, new_session, serving, place.address, place.observer, page, narrow)
        self._on_ready = partial(on_ready, place.url, in_the_open=place.in_the_open)
        self.endpoints = [place.endpoint(self._app)]

    def begin(self) -> None:
        """Open the vault, and say where it is served."""
        self._app.open()
        if self._announcement is not None:
            self._announcement.begin()
        self._on_ready()

    async def stop(self) -> None:
        """End the streams."""
        await self._app.end_streams()

    def end(self) -> None:
        """Close the vault."""
        if self._announcement is not None:
            self._announcement.end()
        self._app.close()
