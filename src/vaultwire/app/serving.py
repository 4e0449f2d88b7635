"""What a run serves on its ports: the settings of the network, checked, and one HTTP server for all of its services."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from vaultwire.config import Config, ConfigError, keys_folder, sign_in_folder
from vaultwire.transports.listening import MAX_PORT
from vaultwire.trust.tokens import Trusted

if TYPE_CHECKING:
    from vaultwire.transports.http_server import Endpoint, Limits


_PUBLIC_URL = re.compile(r"(?:(?P<tls>https)|http)://(?P<name>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::[0-9]{1,5})?")
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
    ``desk``: the page for the person is served, too.
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


# The settings that an app on any server has, too.
_PUBLIC = ("public_url", "client_host", "connector")
APP_SETTINGS = frozenset((*NetworkConfig._fields, *_PUBLIC)) - {"keys", "host", "port", "tls_cert", "tls_key", "public"}


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


def _at_public_url(
    config: Config, network: NetworkConfig, url: str, hosts: tuple[str, ...], *, has_connectors: bool
) -> NetworkConfig:
    """Return the settings with the URL under which everybody reaches the server. Raises ConfigError."""
    from vaultwire.app.engine import load_policy  # noqa: PLC0415 - only where it is asked for

    url = url.removesuffix("/")
    parts = _PUBLIC_URL.fullmatch(url)
    if parts is None or not (parts["tls"] or parts["name"] in _HERE):
        right = "the URL of this server for everybody, such as https://notes.example.org, with nothing behind the name"
        raise ConfigError(f"--public-url takes {right}, got {url!r}")
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
    return network._replace(public=public, allow_host=(*network.allow_host, parts["name"]), allow_origin=origins)


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
