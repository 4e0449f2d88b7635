"""What a run serves on its ports: the settings of the network, checked, and one HTTP server for all of its services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from vaultwire.config import Config, ConfigError, keys_folder
from vaultwire.transports.listening import MAX_PORT
from vaultwire.trust.tokens import Trusted

if TYPE_CHECKING:
    from vaultwire.transports.http_server import Endpoint, Limits


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
    tls_cert: str | None = None
    tls_key: str | None = None
    metrics: bool = False
    log_json: bool = False
    desk: bool = True


# The settings that an app on any server has, too.
APP_SETTINGS = frozenset(NetworkConfig._fields) - {"keys", "host", "port", "tls_cert", "tls_key"}


def make_network_config(config: Config, **options: Any) -> NetworkConfig:
    """Return the settings of the network; ``options`` are NetworkConfig's fields. Raises ConfigError."""
    for name in ("allow_host", "allow_origin"):
        given = options.get(name, ())
        options[name] = (given,) if isinstance(given, str) else tuple(given)
    network = NetworkConfig(keys_folder(config.state), **options)
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
