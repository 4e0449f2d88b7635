"""How one run is set up: options and environment to settings, checked. Seen by ``cli`` and ``app`` only."""

from __future__ import annotations

import os
import sys

VAULT_VARIABLE = "VAULTWIRE_VAULT"
CACHE_VARIABLE = "VAULTWIRE_CACHE"
STATE_VARIABLE = "VAULTWIRE_STATE"
PROMPTS_VARIABLE = "VAULTWIRE_PROMPTS"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_PORT = 65535


class ConfigError(Exception):
    """Settings nobody can work with; the message is one line for a person."""


class Config:
    """The settings of one run. ``vault`` is an absolute path of a folder that can be listed.

    ``cache`` is the folder for what can be made anew, below which the index is kept; ``state`` the one for what cannot,
    below which the journal of changes is. They need not be there yet. ``read_first``: a note is edited only in a session
    that has read it. ``prompts`` is a folder in the vault, ``/`` between parts, whose notes are prompts; None for none.
    """

    __slots__ = ("cache", "prompts", "read_first", "read_only", "state", "vault")

    def __init__(
        self,
        vault: str,
        *,
        cache: str,
        state: str,
        read_only: bool = False,
        read_first: bool = False,
        prompts: str | None = None,
    ) -> None:
        self.vault = vault
        self.cache = cache
        self.state = state
        self.read_only = read_only
        self.read_first = read_first
        self.prompts = prompts


class Serving:
    """How one run is reached over the network. ``host`` and ``port`` are where it listens, 0 for any free port.

    ``names``: that it answers to besides those of the computer itself. ``origins``: pages from elsewhere that may call;
    ``any_origin``: the REST API may be called from every page, as its contract has it. ``keys``: the folder of the keys.
    """

    __slots__ = (
        "any_origin",
        "host",
        "keys",
        "log_json",
        "metrics",
        "names",
        "needs_key",
        "origins",
        "port",
        "tls_cert",
        "tls_key",
    )

    def __init__(  # noqa: PLR0913 - one for each option, by name
        self,
        *,
        keys: str,
        host: str = "127.0.0.1",
        port: int = 3000,
        names: tuple[str, ...] = (),
        origins: tuple[str, ...] = (),
        any_origin: bool = False,
        needs_key: bool = False,
        tls_cert: str | None = None,
        tls_key: str | None = None,
        metrics: bool = False,
        log_json: bool = False,
    ) -> None:
        self.keys = keys
        self.host = host
        self.port = port
        self.names = names
        self.origins = origins
        self.any_origin = any_origin
        self.needs_key = needs_key
        self.tls_cert = tls_cert
        self.tls_key = tls_key
        self.metrics = metrics
        self.log_json = log_json


def make_serving(config: Config, **given: Any) -> Serving:
    """Return the settings of the network doors; ``given`` are ``Serving``'s own, checked here. Raises ConfigError."""
    serving = Serving(keys=keys_folder(config.state), **given)
    if not 0 <= serving.port <= _MAX_PORT:
        raise ConfigError(f"--port must be from 0 (any free one) to {_MAX_PORT}, got {serving.port}")
    if serving.tls_key is not None and serving.tls_cert is None:
        raise ConfigError("--tls-key needs --tls-cert: the certificate that goes with the key")
    for name in serving.names:
        if not name or any(character in name for character in ":/@ *"):
            raise ConfigError(f"--allow-host takes the name of a computer such as notes.example.org, got {name!r}")
    for origin in serving.origins:
        scheme, separator, rest = origin.partition("://")
        if not scheme or not separator or not rest or any(character in rest for character in "/@ *"):
            raise ConfigError(f"--allow-origin takes a page's origin such as https://example.org, got {origin!r}")
    serving.origins = tuple(map(str.lower, serving.origins))  # as browsers spell them
    return serving


def keys_folder(state: str | None = None) -> str:
    """Return the folder for the keys of network doors, in the state folder."""
    if state is None:
        given = os.environ.get(STATE_VARIABLE)
        state = os.path.abspath(os.path.expanduser(given)) if given else _user_state()
    return os.path.join(state, "keys")


def make_config(
    vault: str | None, *, read_only: bool = False, read_first: bool = False, prompts: str | None = None
) -> Config:
    """Return the settings; ``vault`` and ``prompts`` fall back to the environment. Raises ConfigError."""
    path = vault if vault is not None else os.environ.get(VAULT_VARIABLE)
    if not path:
        raise ConfigError(f"which vault? Give --vault PATH or set {VAULT_VARIABLE} to a folder of Markdown notes")
    path = os.path.abspath(os.path.expanduser(path))
    try:
        with os.scandir(path):
            pass
    except FileNotFoundError:
        raise ConfigError(f"no such vault: {path} does not exist") from None
    except NotADirectoryError:
        raise ConfigError(f"no such vault: {path} is a file; give the folder that holds the notes") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(f"cannot read the vault {path}: {reason}") from None
    cache = _outside(path, CACHE_VARIABLE, _user_cache())
    state = _outside(path, STATE_VARIABLE, _user_state())
    if os.environ.get(STATE_VARIABLE) and _below(state, cache)[:2] != "..":
        raise ConfigError(f"{STATE_VARIABLE} must not be in the cache, which may be deleted at any time, got {state}")
    return Config(
        path,
        cache=cache,
        state=state,
        read_only=read_only,
        read_first=read_first,
        prompts=_prompts_folder(prompts),
    )


def _outside(vault: str, variable: str, usual: str) -> str:
    """Return the folder named in the environment, else the usual one for this user. Raises ConfigError."""
    given = os.environ.get(variable)
    folder = os.path.abspath(os.path.expanduser(given)) if given else usual
    below = _below(folder, vault)
    # A hidden folder is no part of the vault, whose folder may be the user's home.
    if not any(part.startswith(".") for part in below.split(os.sep)) or below == ".":
        raise ConfigError(f"{variable} must not be a folder in the vault, got {folder}")
    return folder


def _below(folder: str, other: str) -> str:
    """Return the way from one folder to another; ``..`` where it leaves the other."""
    return os.path.relpath(os.path.realpath(folder), os.path.realpath(other)) if _share_drive(folder, other) else ".."


def _share_drive(one: str, other: str) -> bool:
    return os.path.splitdrive(one)[0].lower() == os.path.splitdrive(other)[0].lower()


def _user_cache() -> str:
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "vaultwire")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "vaultwire")
    return os.path.join(_xdg_folder("XDG_CACHE_HOME", os.path.join(home, ".cache")), "vaultwire")


def _user_state() -> str:
    home = os.path.expanduser("~")
    if sys.platform == "win32":  # beside the cache, which Windows has no folder of its own for
        return f"{_user_cache()}-state"
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "vaultwire")
    return os.path.join(_xdg_folder("XDG_STATE_HOME", os.path.join(home, ".local", "state")), "vaultwire")


def _xdg_folder(variable: str, usual: str) -> str:
    base = os.environ.get(variable, "")
    return base if os.path.isabs(base) else usual  # a relative one is to be ignored (XDG)


def _prompts_folder(given: str | None) -> str | None:
    """Return the folder's path in the vault. Whether it is there shows when it is read: it may come later."""
    given = given if given is not None else os.environ.get(PROMPTS_VARIABLE)
    if not given:
        return None
    slashed = given.replace("\\", "/")
    parts = [part for part in slashed.split("/") if part not in ("", ".")]
    # A second character ":" is a drive's letter before it.
    if not parts or slashed.startswith("/") or slashed[1:2] == ":" or any(part.startswith(".") for part in parts):
        raise ConfigError(
            f"no folder for prompts: {given!r}. Give a folder in the vault, such as Prompts; not the vault itself, not "
            "an absolute path, and nothing hidden"
        )
    return "/".join(parts)
