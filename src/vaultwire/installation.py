"""How this program was installed, the command that starts it from a client's settings, and how an extra is added to it.

Every fact is read from the installation itself, so that what is printed works on this computer:

- uv's cache (``uvx``): the environment lies in ``archive-v0`` or ``environments-v2`` of a folder with a ``CACHEDIR.TAG``. It
  disappears with ``uv cache prune``, so no client may be given its path.
- pipx: ``pipx_metadata.json``; the environments of ``pipx install`` lie in ``venvs``, those of ``pipx run`` in a cache.
- ``uv tool install``: ``uv-receipt.toml``.
- any other environment; one that uv made has no pip.

Where the package came from is in ``direct_url.json`` (PEP 610), which is not there if an index gave it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from typing import NamedTuple

from vaultwire.distribution import IS_PUBLISHED, NAME

UVX, UV_TOOL, UV_VENV = "uvx", "uv tool", "uv venv"
PIPX_RUN, PIPX = "pipx run", "pipx"
PIP = "pip"

_UV_CACHE = re.compile(r"(archive|environments)-v\d+")
_EXTRA = re.compile(r"""^(?P<requirement>[^;]+);.*\bextra\s*==\s*['"](?P<extra>[\w-]+)['"]""")


class Installation(NamedTuple):
    """How it was installed, and from what: a path, a URL, or nothing if an index gave it."""

    way: str
    source: str = ""


def installation() -> Installation:
    """Return how this program was installed."""
    return Installation(_way(sys.prefix), _source())


def server_command() -> list[str]:
    """Return the command for a client's settings. It stays right when a cache is emptied.

    An environment in a cache is not named: the program that made it is, with the packages of the extras that it has now.
    """
    way, source = installation()
    if way in {UVX, PIPX_RUN} and (IS_PUBLISHED or _is_there(source)):
        program, *arguments = _from_cache(way, source, list(filter(has_extra, extras())))
        # By its path: on macOS a client that was not started in a terminal has another PATH.
        return [shutil.which(program) or program, *arguments]
    program, *arguments = running_command()
    return [_without_version(program), *arguments]


def running_command() -> list[str]:
    """Return the command that starts this very installation, now."""
    script = os.path.join(os.path.dirname(sys.executable), f"{NAME}.exe" if os.name == "nt" else NAME)
    return [script] if os.path.exists(script) else [sys.executable, "-m", NAME]


def _without_version(path: str) -> str:
    """Return a path of Homebrew's as it stays when a new version is installed: ``opt`` leads to the current one."""
    lasting = re.sub(rf"/Cellar/({NAME})/[^/]+/", r"/opt/\1/", path)
    return lasting if os.path.exists(lasting) else path


def extras() -> list[str]:
    """Return the names of the extras."""
    return sorted({extra for extra, _ in _requirements()})


def packages(extra: str) -> list[str]:
    """Return what an extra consists of, as pip takes it, such as ``pypdf<8,>=7.1``."""
    return [requirement for name, requirement in _requirements() if name == extra]


def has_extra(extra: str) -> bool:
    """Return whether all packages of an extra are installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - 30 ms, only where it is asked for

    try:
        for package in packages(extra):
            version(_name(package))
    except PackageNotFoundError:
        return False
    return True


def how_to_add(extra: str) -> str:
    """Return the command that adds an extra to this installation, to be shown on this computer."""
    return _quoted(_adding(extra, installation(), sys.executable))


def hint_for_clients(extra: str) -> str:
    """Return how an extra is added, without a path of this computer: clients may be on another one."""
    way, source = installation()
    whole = _quoted(_adding(extra, Installation(way, source), sys.executable))
    short = _quoted(_adding(extra, Installation(way, os.path.basename(source)), "python"))
    return short if short == whole else f"{short} ({NAME} doctor prints the whole command)"


def _adding(extra: str, installed: Installation, python: str) -> list[str]:
    # Not "vaultwire[pdf]": the name works only with an index that has it, and the packages work with every way.
    needed = packages(extra)
    if not needed:  # a source tree that is on the path and not installed
        return ["python", "-m", "pip", "install", f".[{extra}]"]
    way, source = installed
    if way in {UVX, PIPX_RUN, UV_TOOL} and (source or IS_PUBLISHED):
        together = [other for other in extras() if other == extra or has_extra(other)]
        if way == UV_TOOL:
            return ["uv", "tool", "install", *_with(together), source or NAME]
        return _from_cache(way, source, together)
    if way == PIPX:
        return ["pipx", "inject", os.path.basename(sys.prefix), *needed]
    if way == PIP:
        return [python, "-m", "pip", "install", *needed]
    return ["uv", "pip", "install", "--python", python, *needed]


def _from_cache(way: str, source: str, with_extras: list[str]) -> list[str]:
    if way == UVX:
        return ["uvx", *_with(with_extras), *(["--from", source] if source else []), NAME]
    # Not --with: then pipx says on stdout what it added, where a client expects messages of the server.
    names = f"[{','.join(with_extras)}]" if with_extras else ""
    wanted = f"{NAME}{names} @ {source}" if names and "://" in source else f"{source or NAME}{names}"
    return ["pipx", "run", *([] if wanted == NAME else ["--spec", wanted]), NAME]


def _with(with_extras: list[str]) -> list[str]:
    return [word for extra in with_extras for package in packages(extra) for word in ("--with", package)]


def _way(prefix: str) -> str:
    folder, parent = os.path.split(os.path.dirname(os.path.abspath(prefix)))
    if _UV_CACHE.fullmatch(parent) and os.path.exists(os.path.join(folder, "CACHEDIR.TAG")):
        return UVX
    if os.path.exists(os.path.join(prefix, "uv-receipt.toml")):
        return UV_TOOL
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return PIPX if parent == "venvs" else PIPX_RUN
    from importlib.util import find_spec  # noqa: PLC0415 - as above

    return PIP if find_spec("pip") is not None else UV_VENV


def _source() -> str:
    """Return what the package was installed from, as installers take it; empty if an index gave it."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - as above

    try:
        record = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    url = record.get("url", "")
    if vcs := record.get("vcs_info"):
        revision = f"@{vcs['requested_revision']}" if vcs.get("requested_revision") else ""
        return f"{vcs['vcs']}+{url}{revision}"
    return _to_path(url) if url.startswith("file:") else url


def _to_path(url: str) -> str:
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - as above

    host, path = urlsplit(url)[1:3]
    path = unquote(path)
    if os.name != "nt":
        return path
    return os.path.normpath(f"//{host}{path}" if host else path.lstrip("/"))


def _is_there(source: str) -> bool:
    """Return whether an installer could use the source again. Those on the web are taken to be there."""
    return bool(source) and ("://" in source or os.path.exists(source))


def _requirements() -> list[tuple[str, str]]:
    """Return the extras with their requirements, one at a time."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415 - as above

    try:
        lines = requires(NAME) or []
    except PackageNotFoundError:
        return []
    fitting = (line for line in lines if os.name != "nt" or 'sys_platform != "win32"' not in line)
    found = filter(None, map(_EXTRA.match, fitting))
    return [(each["extra"], each["requirement"].replace(" ", "")) for each in found]


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _quoted(command: list[str]) -> str:
    """Return a command line for this system's shell. cmd and PowerShell know double quotes; cmd does not know single ones."""
    if os.name != "nt":
        return shlex.join(command)
    return " ".join(f'"{word}"' if re.search(r"[\s<>&|,;^()']", word) else word for word in command)
