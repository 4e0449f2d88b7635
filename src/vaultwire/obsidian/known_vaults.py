"""Reads the vaults that the desktop app knows, from its ``obsidian.json``. It never writes that file.

The file is not documented: ``{"vaults": {id: {"path": …, "ts": …, "open": true}}}``. Unexpected content is ignored: the list
only saves a person from typing a path. The app names a vault after its folder.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NamedTuple

_FILE = "obsidian.json"
# A few hundred bytes for each vault: room for thousands.
_MAX_BYTES = 1_000_000
# The app's settings, below the home folder, if it is a Flatpak or a snap (Linux).
_PACKAGED = (".var/app/md.obsidian.Obsidian/config/obsidian", "snap/obsidian/current/.config/obsidian")


class KnownVault(NamedTuple):
    """A vault that the app has opened before; its folder may be gone."""

    name: str
    path: str


def known_vaults() -> list[KnownVault]:
    """Return the vaults, sorted by name and path; none without the app or a readable file."""
    paths: dict[str, str] = {}
    for folder in settings_folders():
        for path in _vaults_in(os.path.join(folder, _FILE)).values():
            paths.setdefault(os.path.normcase(os.path.normpath(path)), os.path.normpath(path))
    vaults = [KnownVault(os.path.basename(path) or path, path) for path in paths.values()]
    return sorted(vaults, key=lambda vault: (vault.name.casefold(), vault.path))


def vaults_named(name: str) -> list[str]:
    """Return the paths of the vaults with this name, ignoring case; none for a path."""
    if "/" in name or "\\" in name:
        return []
    return [vault.path for vault in known_vaults() if vault.name.casefold() == name.casefold()]


def vault_ids(folder: str) -> list[str]:
    """Return the app's ids of the vault in this folder; none if it does not know the vault."""
    return [
        id_
        for settings in settings_folders()
        for id_, path in _vaults_in(os.path.join(settings, _FILE)).items()
        if is_same_folder(path, folder)
    ]


def command_is_on() -> bool:
    """Tell whether the person has turned the app's command on (``"cli": true``)."""
    return any(_settings_in(os.path.join(folder, _FILE)).get("cli") is True for folder in settings_folders())


def settings_folders() -> list[str]:
    """Return the folders for the app's own settings on this system. They need not exist."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return [os.path.join(os.environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming"), "obsidian")]
    if sys.platform == "darwin":
        return [os.path.join(home, "Library", "Application Support", "obsidian")]
    given = os.environ.get("XDG_CONFIG_HOME", "")
    usual = given if os.path.isabs(given) else os.path.join(home, ".config")  # a relative path is invalid (XDG)
    return [os.path.join(usual, "obsidian"), *(os.path.join(home, folder) for folder in _PACKAGED)]


def _vaults_in(file: str) -> dict[str, str]:
    """Return the paths of the vaults by their ids."""
    vaults = _settings_in(file).get("vaults")
    if not isinstance(vaults, dict):
        return {}
    paths = {id_: vault.get("path") for id_, vault in vaults.items() if isinstance(vault, dict)}
    return {
        id_: path for id_, path in paths.items() if isinstance(path, str) and os.path.isabs(path) and path.isprintable()
    }


def _settings_in(file: str) -> dict[str, Any]:
    try:
        with open(file, "rb") as opened:
            value = json.loads(opened.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def is_same_folder(one: str, other: str) -> bool:
    """Tell whether two paths lead to one folder."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False
