"""Reads the vaults that the desktop app knows, from its ``obsidian.json``. It never writes that file.

The file is not documented: ``{"vaults": {id: {"path": …, "ts": …, "open": true}}}``. Unexpected content is ignored: the list
only saves a person from typing a path. The app names a vault after its folder.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_FILE = "obsidian.json"
# A few hundred bytes for each vault: room for thousands.
_MAX_BYTES = 1_000_000
# The app's settings, below the home folder, if it is a Flatpak or a snap (Linux).
_PACKAGED = (".var/app/md.obsidian.Obsidian/config/obsidian", "snap/obsidian/current/.config/obsidian")


class KnownVault:
    """A vault that the app has opened before; its folder may be gone."""

    __slots__ = ("name", "path")  # no NamedTuple: a start with several vaults waits for this module

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path


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


# ---------------------------------------------------------------------- which vaults a command line names
#
# By folder, by a name that Obsidian knows, or by either after ``NAME=``. A path goes before a name. A text that is a
# folder's path is not read as ``NAME=PATH``.

_MAX_NAME = 100  # of a vault: it is in every tool's schema and every resource's URI


class VaultSelectionError(Exception):
    """A text names no vault, or two vaults have one name; the message is one line for a person."""


def select_vaults(options: Sequence[str]) -> dict[str, str]:
    """Return the absolute paths of folders that can be listed, by the vaults' names.

    A vault without a name has its folder's name; a single vault has the name ``""``. Raises VaultSelectionError. Names that
    differ only in case are refused, because resources are found by name without regard to case.
    """
    chosen = [_named_folder(one) for one in options]
    if len(chosen) == 1:
        return dict(chosen)
    vaults: dict[str, str] = {}
    for given_name, folder in chosen:
        name = given_name or _checked_name(os.path.basename(folder) or "vault")
        for other, its_folder in vaults.items():
            if other.casefold() == name.casefold():
                raise VaultSelectionError(
                    f"two vaults are named {name!r}: {its_folder} and {folder}. Give one another name with --vault NAME=PATH"
                )
            if os.path.samefile(folder, its_folder):
                raise VaultSelectionError(
                    f"the vaults {other!r} and {name!r} are the same folder: {os.path.realpath(folder)}"
                )
        vaults[name] = folder
    return vaults


def known_names(before: str) -> str:
    """Return ``before`` and the names of the vaults that Obsidian knows; "" if it knows none."""
    names = dict.fromkeys(vault.name for vault in known_vaults())
    return before + ", ".join(names) if names else ""


def _named_folder(option: str) -> tuple[str, str]:
    """Return a vault's name, "" for none, and its folder."""
    name, equals, place = option.partition("=")
    if not equals or os.path.isdir(os.path.expanduser(option)):
        return "", _folder(option)
    if name.startswith(("/", ".", "~")) or os.path.splitdrive(name)[0]:  # not a name, but a path that does not exist
        return "", _folder(option)
    return _checked_name(name), _folder(place)


def _checked_name(name: str) -> str:
    """Return the name in Unicode's composed form (NFC), as clients write it."""
    problem = ""
    if not name.strip():
        problem = "it is empty"
    elif "/" in name or "\\" in name:
        problem = "it contains a slash"
    elif name in (".", ".."):
        problem = "it means a folder"
    elif name != name.strip() or not name.isprintable() or len(name) > _MAX_NAME:
        problem = f"it must be up to {_MAX_NAME} printable characters, without spaces around them"
    if problem:
        raise VaultSelectionError(
            f"{name[: 2 * _MAX_NAME]!r} cannot be a vault's name: {problem}. Give --vault NAME=PATH"
        )
    return unicodedata.normalize("NFC", name)


def _folder(text: str) -> str:
    """Return the absolute path of a folder that can be listed."""
    if not text:
        raise VaultSelectionError("which vault? Give --vault NAME=PATH with a folder of Markdown notes as PATH")
    path = os.path.abspath(os.path.expanduser(text))
    try:
        with os.scandir(path):
            return path
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        raise VaultSelectionError(f"no such vault: {path} is a file; give the folder that holds the notes") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise VaultSelectionError(f"cannot read the vault {path}: {reason}") from None

    folders = vaults_named(text)
    if len(folders) > 1:
        raise VaultSelectionError(
            f"Obsidian knows several vaults named {text!r}: give the path of one, {' or '.join(folders)}"
        )
    if not folders or folders == [path]:
        raise VaultSelectionError(f"no such vault: {path} does not exist" + known_names("; Obsidian knows "))
    return _folder(folders[0])
