"""Installs the servers of ``peers``, each in an environment of its own below ``.venv/peers``, at its pinned version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.peers import Peer

_FOLDER = Path(__file__).parents[1] / ".venv" / "peers"


class CannotInstallError(Exception):
    """What this computer lacks."""


def install(peer: Peer) -> list[str]:
    """Return the command that starts the server, after installing it if it is not there."""
    folder = _FOLDER / f"{peer.name.replace('/', '-').lstrip('@')}-{peer.version}"
    done = folder / ".installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (_install_npm if peer.registry == "npm" else _install_pip)(peer, folder)
        done.touch()
    if peer.registry == "pip":
        return [str(folder / "bin" / peer.bin)]
    place = os.path.realpath(folder / "node_modules" / ".bin" / peer.bin)
    return [str(folder / "node_modules" / "node" / "bin" / "node") if peer.node else "node", place]


def _install_npm(peer: Peer, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotInstallError("npm is not installed")
    base = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error"]
    _run([*base, "--ignore-scripts", f"{peer.name}@{peer.version}"])
    if peer.node:  # its script puts the program in its place
        _run([*base, f"node@{peer.node}"])


def _install_pip(peer: Peer, folder: Path) -> None:
    _run([_python(peer.python), "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, f"{peer.name}=={peer.version}", *peer.needs])


def _python(least: tuple[int, int]) -> str:
    if sys.version_info >= least:
        return sys.executable
    for minor in range(14, least[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    raise CannotInstallError(f"it needs Python {least[0]}.{least[1]}")


def _run(command: list[str]) -> None:
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise CannotInstallError((finished.stderr.strip() or "it cannot be installed").splitlines()[-1][:200])
