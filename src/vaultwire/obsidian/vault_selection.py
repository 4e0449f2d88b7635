"""Finds the vaults that a command line names: by folder, by a name that Obsidian knows, or by either after ``NAME=``.

A path goes before a name. A text that is a folder's path is not read as ``NAME=PATH``.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence

_MAX_NAME = 100  # of a vault: it is in every tool's schema and every resource's URI


class VaultSelectionError(Exception):
    """A text names no vault, or two vaults have one name; the message is one line for a person."""


def select_vaults(given: Sequence[str]) -> dict[str, str]:
    """Return the absolute paths of folders that can be listed, by the vaults' names.

    A vault without a name has its folder's name; a single vault has the name ``""``. Raises VaultSelectionError. Names that
    differ only in case are refused, because resources are found by name without regard to case.
    """
    chosen = [_named_folder(one) for one in given]
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
    from vaultwire.obsidian.known_vaults import known_vaults  # noqa: PLC0415 - not on the way to a handshake

    names = dict.fromkeys(vault.name for vault in known_vaults())
    return before + ", ".join(names) if names else ""


def _named_folder(given: str) -> tuple[str, str]:
    """Return a vault's name, "" for none, and its folder."""
    name, equals, place = given.partition("=")
    if not equals or os.path.isdir(os.path.expanduser(given)):
        return "", _folder(given)
    if name.startswith(("/", ".", "~")) or os.path.splitdrive(name)[0]:  # not a name, but a path that does not exist
        return "", _folder(given)
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


def _folder(given: str) -> str:
    """Return the absolute path of a folder that can be listed."""
    if not given:
        raise VaultSelectionError("which vault? Give --vault NAME=PATH with a folder of Markdown notes as PATH")
    path = os.path.abspath(os.path.expanduser(given))
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
    from vaultwire.obsidian.known_vaults import vaults_named  # noqa: PLC0415 - only where there is no such folder

    found = vaults_named(given)
    if len(found) > 1:
        raise VaultSelectionError(
            f"Obsidian knows several vaults named {given!r}: give the path of one, {' or '.join(found)}"
        )
    if not found or found == [path]:
        raise VaultSelectionError(f"no such vault: {path} does not exist" + known_names("; Obsidian knows "))
    return _folder(found[0])
