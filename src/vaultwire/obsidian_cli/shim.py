"""A small program named ``obsidian`` on the PATH that runs ``vaultwire obsidian``, where there is no other of that name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from vaultwire.obsidian.command import SHIM_MARK, is_shim, places_of_command

_WINDOWS = f"@rem {SHIM_MARK}\r\n@{{command}} %*\r\n"
_POSIX = f'#!/bin/sh\n# {SHIM_MARK}\nexec {{command}} "$@"\n'


class ShimError(Exception):
    """Nothing was put or removed; the message says why."""


def install(command: Sequence[str]) -> str:
    """Put the program where it is found, and return its path. ``command``: what starts vaultwire. Raises ShimError.

    It goes beside ``vaultwire`` if that is on the PATH, else to the user's own folder for programs. No file is written over.
    """
    other = next((place for place in places_of_command() if not is_shim(place)), None)
    if other is not None:
        raise ShimError(f"there is an obsidian command already: {other}. It stays as it is")
    place = _place()
    if os.path.lexists(place) and not is_shim(place):
        raise ShimError(f"there is a file already: {place}. It stays as it is")
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.write(_text([*command, "obsidian"]))
        os.chmod(place, 0o755)  # noqa: S103 - a program for everybody, as others in that folder
    except OSError as error:
        raise ShimError(f"cannot write {place}: {error.strerror}") from None
    return place


def remove() -> str:
    """Remove the program, and return the path it had. Raises ShimError."""
    places = [place for place in dict.fromkeys([*places_of_command(), _place()]) if is_shim(place)]
    if not places:
        raise ShimError("there is no obsidian command of vaultwire's")
    try:
        os.remove(places[0])
    except OSError as error:
        raise ShimError(f"cannot remove {places[0]}: {error.strerror}") from None
    return places[0]


def is_on_path(place: str) -> bool:
    """Tell whether a shell finds the program."""
    found = shutil.which("obsidian")
    return found is not None and os.path.normcase(os.path.abspath(found)) == os.path.normcase(os.path.abspath(place))


def _place() -> str:
    beside = shutil.which("vaultwire")
    usual = os.path.join(os.path.expanduser("~"), ".local", "bin")
    folder = os.path.dirname(os.path.abspath(beside)) if beside else usual
    return os.path.join(folder, "obsidian.cmd" if sys.platform == "win32" else "obsidian")


def _text(command: Sequence[str]) -> str:
    if sys.platform == "win32":
        return _WINDOWS.format(command=subprocess.list2cmdline(command).replace("%", "%%"))
    import shlex  # noqa: PLC0415 - not on Windows

    return _POSIX.format(command=shlex.join(command))
