"""How one run is set up: options and environment to settings, checked. Seen by ``cli`` and ``app`` only."""

from __future__ import annotations

import os
import sys

VAULT_VARIABLE = "VAULTWIRE_VAULT"
CACHE_VARIABLE = "VAULTWIRE_CACHE"
PROMPTS_VARIABLE = "VAULTWIRE_PROMPTS"


class ConfigError(Exception):
    """Settings nobody can work with; the message is one line for a person."""


class Config:
    """The settings of one run. ``vault`` is an absolute path of a folder that can be listed.

    ``cache`` is the folder for what can be made anew, below which the index is kept; it need not be there yet.
    ``prompts`` is a folder in the vault, ``/`` between parts, whose notes are prompts; None for none.
    """

    __slots__ = ("cache", "prompts", "read_only", "vault")

    def __init__(self, vault: str, *, cache: str, read_only: bool, prompts: str | None = None) -> None:
        self.vault = vault
        self.cache = cache
        self.read_only = read_only
        self.prompts = prompts


def make_config(vault: str | None, *, read_only: bool = False, prompts: str | None = None) -> Config:
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
    return Config(path, cache=_cache_folder(path), read_only=read_only, prompts=_prompts_folder(prompts))


def _cache_folder(vault: str) -> str:
    """Return the folder named in the environment, else the platform's own for this user. Raises ConfigError."""
    given = os.environ.get(CACHE_VARIABLE)
    folder = os.path.abspath(os.path.expanduser(given)) if given else os.path.join(_user_cache(), "vaultwire")
    below = os.path.relpath(os.path.realpath(folder), os.path.realpath(vault)) if _share_drive(folder, vault) else ".."
    # A hidden folder is no part of the vault, whose folder may be the user's home.
    if not any(part.startswith(".") for part in below.split(os.sep)) or below == ".":
        raise ConfigError(f"{CACHE_VARIABLE} must not be a folder in the vault, got {folder}")
    return folder


def _share_drive(one: str, other: str) -> bool:
    return os.path.splitdrive(one)[0].lower() == os.path.splitdrive(other)[0].lower()


def _user_cache() -> str:
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches")
    base = os.environ.get("XDG_CACHE_HOME", "")
    return base if os.path.isabs(base) else os.path.join(home, ".cache")  # a relative one is to be ignored (XDG)


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
