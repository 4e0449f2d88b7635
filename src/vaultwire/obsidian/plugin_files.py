"""Installs and removes the files of the companion plugin in a vault's settings. The files are in ``plugin/``.

Obsidian's settings are not notes, so the journal does not record this. No other setting is changed: the person enables the
plugin in Obsidian.
"""

from __future__ import annotations

import os
import secrets
from importlib import resources

from vaultwire.vault.disk.file_operations import OPEN_NEW, remove_quietly, replace_file
from vaultwire.vault.settings.obsidian_settings import CONFIG_FOLDER, CachedFile

# The manifest comes last: a folder with a manifest is a plugin for Obsidian.
_FILES = ("styles.css", "main.js", "manifest.json")
_ID = "vaultwire"


class PluginFilesError(Exception):
    """The files cannot be written or removed; the message is one line for a person."""


def plugin_folder(vault: str) -> str:
    """Return the folder of the plugin's files in a vault."""
    return os.path.join(vault, CONFIG_FOLDER, "plugins", _ID)


def install_plugin(vault: str) -> str:
    """Write the plugin's files into a vault, over older ones; return their folder. Raises PluginFilesError."""
    if not os.path.isdir(os.path.join(vault, CONFIG_FOLDER)):
        raise PluginFilesError(
            f"{vault} has no folder {CONFIG_FOLDER}: open it as a vault in Obsidian once, or give the vault's own folder"
        )
    folder = plugin_folder(vault)
    temporary = os.path.join(folder, f".{secrets.token_hex(4)}.tmp")
    try:
        os.makedirs(folder, exist_ok=True)
        for name in _FILES:
            content = resources.files("vaultwire.obsidian").joinpath("plugin", name).read_bytes()
            with os.fdopen(os.open(temporary, OPEN_NEW, 0o666), "wb") as file:
                file.write(content)
            replace_file(temporary, os.path.join(folder, name))
    except OSError as error:
        remove_quietly(temporary)
        raise PluginFilesError(f"cannot write to {folder}: {error.strerror}") from None
    return folder


def plugin_is_current(vault: str) -> bool | None:
    """Tell whether a vault has the plugin of this version of vaultwire; None if it has no plugin. Never raises."""
    installed = CachedFile(os.path.join(plugin_folder(vault), "main.js")).content().text
    if installed is None:
        return None
    return installed == resources.files("vaultwire.obsidian").joinpath("plugin", "main.js").read_bytes().decode()


def remove_plugin(vault: str) -> bool:
    """Remove the plugin's files from a vault; False if there are none. Other files in their folder stay.

    Raises PluginFilesError.
    """
    folder = plugin_folder(vault)
    was_there = False
    for name in reversed(_FILES):
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise PluginFilesError(f"cannot remove {os.path.join(folder, name)}: {error.strerror}") from None
        was_there = True
    try:
        os.rmdir(folder)
    except OSError:  # it has other files, such as the plugin's data.json
        return was_there
    return was_there
