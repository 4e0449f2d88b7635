"""The companion plugin's files: putting them into a vault's settings, and taking them out again. The files are ``plugin/``.

Obsidian's settings are no notes, so this is outside the journal of changes. Nothing else of the settings is touched: whether
the plugin runs is the person's to say, in Obsidian.
"""

from __future__ import annotations

import os
import secrets
from importlib import resources

from vaultwire.vault.disk.publish import OPEN_NEW, remove_quietly, replace_file
from vaultwire.vault.settings.obsidian_settings import CONFIG_FOLDER

# The manifest last: Obsidian takes a folder with one for a plugin.
_FILES = ("styles.css", "main.js", "manifest.json")
_ID = "vaultwire"


class PluginFilesError(Exception):
    """It cannot be; the message is one line for a person."""


def plugin_folder(vault: str) -> str:
    """Return where the plugin's files are in a vault."""
    return os.path.join(vault, CONFIG_FOLDER, "plugins", _ID)


def install_plugin(vault: str) -> str:
    """Put the plugin's files into a vault, over older ones, each in one step; return their folder. Raises PluginFilesError."""
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


def remove_plugin(vault: str) -> bool:
    """Take the plugin's files out of a vault; False if there are none. What else is in their folder stays.

    Raises PluginFilesError.
    """
    folder = plugin_folder(vault)
    found = False
    for name in reversed(_FILES):
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise PluginFilesError(f"cannot remove {os.path.join(folder, name)}: {error.strerror}") from None
        found = True
    try:
        os.rmdir(folder)
    except OSError:  # the person's own, such as the plugin's data.json
        return found
    return found
