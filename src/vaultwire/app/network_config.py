"""The settings of the network doors of one run, checked. The settings of all doors are ``config``'s."""

from __future__ import annotations

from typing import Any, NamedTuple

from vaultwire.config import Config, ConfigError, keys_folder
from vaultwire.trust.tokens import Trusted

_MAX_PORT = 65535


class NetworkConfig(NamedTuple):
    """How one run is reached over the network. ``host`` and ``port`` are where it listens, 0 for any free port.

    ``names``: further names of this server. ``origins``: web pages of other servers that may call. ``any_origin``: every
    web page may call the REST API, as its contract says. ``keys``: the folder of the keys.
    """

    keys: str
    host: str = "127.0.0.1"
    port: int = 3000
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    any_origin: bool = False
    needs_key: bool = False
    oauth: Trusted | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    metrics: bool = False
    log_json: bool = False
    legacy_sse: bool = False


def make_network_config(config: Config, **given: Any) -> NetworkConfig:
    """Return the settings of the network doors; ``given`` are NetworkConfig's fields. Raises ConfigError."""
    network = NetworkConfig(keys_folder(config.state), **given)
    if not 0 <= network.port <= _MAX_PORT:
        raise ConfigError(f"--port must be from 0 (any free one) to {_MAX_PORT}, got {network.port}")
    if network.tls_key is not None and network.tls_cert is None:
        raise ConfigError("--tls-key needs --tls-cert: the certificate that goes with the key")
    for name in network.names:
        if not name or any(character in name for character in ":/@ *"):
            raise ConfigError(f"--allow-host takes the name of a computer such as notes.example.org, got {name!r}")
    for origin in network.origins:
        scheme, separator, rest = origin.partition("://")
        if not scheme or not separator or not rest or any(character in rest for character in "/@ *"):
            raise ConfigError(f"--allow-origin takes a page's origin such as https://example.org, got {origin!r}")
    return network._replace(origins=tuple(map(str.lower, network.origins)))  # as browsers spell them
