"""Where a client's file is on this system. The system is an argument: nothing here asks which one it runs on."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from vaultwire.client_setup.clients import Client, Place, Scope
from vaultwire.client_setup.problems import SetupError

_VARIABLE = re.compile(r"\{(\w+):([^}]*)\}")


class System(NamedTuple):
    """A computer as far as paths depend on it: ``platform`` is that of ``sys``."""

    platform: str
    environment: Mapping[str, str]
    home: str
    folder: str
    """The working directory: the project."""


class Found(NamedTuple):
    """A client's file: its path, and whether the client seems to be installed here."""

    path: str
    is_installed: bool


def find(client: Client, scope: Scope, system: System) -> Found:
    """Return where the file of a client is, or would be. Raises SetupError if the client has none of this scope."""
    if client.file is None:
        raise SetupError(f"{client.title} has no file that another program may write")
    if scope == "project":
        if not client.project:
            raise SetupError(
                f"{client.title} has no file for a project. Leave --scope out: the file for you works everywhere"
            )
        path = os.path.join(system.folder, *client.project.split("/"))
        folder = os.path.join(os.path.realpath(system.folder), "")
        if not os.path.realpath(path).startswith(folder):  # a project may come from somebody else
            raise SetupError(f"{path} is a link that leads out of the project, to {os.path.realpath(path)}")
        return Found(path, is_installed=True)
    path = shown_path(client, system)
    return Found(path, any(_matches(sign, system) for sign in _of(client.signs, system)))


def shown_path(client: Client, system: System) -> str:
    """Return the path of the person's own file; of several, the one that the client reads."""
    paths = _of(client.file, system) if client.file else ()
    for path in paths:
        matches = _matches(path, system)
        if matches:
            return matches[0]
        package, star, rest = path.partition("*")
        folders = _matches(package + star, system) if star else []
        if folders:  # the package of an app is here, but not yet the file: the app will read it there
            return os.path.normpath(folders[0] + rest)
    return _expand(next(path for path in paths if "*" not in path), system)


def _of(place: Place, system: System) -> tuple[str, ...]:
    return {"darwin": place.darwin, "win32": place.win32}.get(system.platform, place.linux)


def _matches(path: str, system: System) -> list[str]:
    """Return what exists of a path, the last changed first."""
    expanded = _expand(path, system)
    if "*" not in path:
        return [expanded] if os.path.lexists(expanded) else []
    # What comes from the environment may have characters that glob takes for its own.
    fixed, star, rest = path.partition("*")
    found = glob.glob(f"{glob.escape(_expand(fixed, system))}{star}{rest}")
    return sorted(found, key=lambda each: -os.stat(each).st_mtime)


def _expand(path: str, system: System) -> str:
    def value(variable: re.Match[str]) -> str:
        given = system.environment.get(variable[1], "")
        return given if os.path.isabs(given) or given[1:2] == ":" else variable[2]

    expanded = _VARIABLE.sub(value, path)
    if expanded.startswith("~"):
        expanded = system.home + expanded[1:]
    return os.path.normpath(expanded) + ("/" if path.endswith("/") else "")
