"""How one run is set up: options and environment to settings, checked. Seen by ``cli`` and ``app`` only."""

from __future__ import annotations

import os

VAULT_VARIABLE = "VAULTWIRE_VAULT"


class ConfigError(Exception):
    """Settings nobody can work with; the message is one line for a person."""


class Config:
    """The settings of one run. ``vault`` is an absolute path of a folder that can be listed."""

    __slots__ = ("read_only", "vault")

    def __init__(self, vault: str, *, read_only: bool) -> None:
        self.vault = vault
        self.read_only = read_only


def make_config(vault: str | None, *, read_only: bool = False) -> Config:
    """Return the settings; ``vault`` falls back to the environment. Raises ConfigError."""
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
    return Config(path, read_only=read_only)
