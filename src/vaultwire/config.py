"""How one run is set up: options and environment to settings, checked. Seen by ``cli`` and ``app`` only."""

from __future__ import annotations

import os
import sys

VAULT_VARIABLE = "VAULTWIRE_VAULT"
CACHE_VARIABLE = "VAULTWIRE_CACHE"
STATE_VARIABLE = "VAULTWIRE_STATE"
PROMPTS_VARIABLE = "VAULTWIRE_PROMPTS"


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
