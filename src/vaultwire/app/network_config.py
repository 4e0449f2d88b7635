"""The settings of the network doors of one run, checked. The settings of all doors are ``config``'s."""

from __future__ import annotations

from typing import Any, NamedTuple

from vaultwire.config import Config, ConfigError, keys_folder
from vaultwire.transports.listening import MAX_PORT
from vaultwire.trust.tokens import Trusted


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
    """Return the settings of the network doors; ``options`` are NetworkConfig's fields. Raises ConfigError."""
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
