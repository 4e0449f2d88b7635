"""The lock files by which clients find an editor: named after its port, in a folder of the client. It opens no port.

Their content was measured with the clients (``docs/editors.md``). A client compares its working
folder, with links resolved, with the folders in the file. Claude Code lists an editor as long as the process ``pid`` lives,
even if it does not answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import time
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from vaultwire.vault.disk.file_operations import make_private, read_private, remove_quietly, write_private
from vaultwire.vault.disk.process_lock import is_running

_SUFFIX = ".lock"
_GEMINI = "gemini-ide-server-"
_MADE_BY = "vaultwire"
# How long a restarted server reuses its port and secret: a client tries again for 15 seconds, a person for some minutes.
_REUSE_SECONDS = 300.0


class Identity(NamedTuple):
    """What a client needs to connect again: the port, 0 for any free one, and the secret."""

    port: int
    token: str


def new_identity() -> Identity:
    """Return an identity with a new secret, at any free port."""
    return Identity(0, str(uuid.uuid4()))


class LockFileError(Exception):
    """The folder cannot be used; the message is one line for a person."""


def lock_folder() -> str:
    """Return the folder of Claude Code for our file."""
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    return os.path.join(configured, "ide") if configured else _usual_folder()


def lock_folders() -> list[str]:
    """Return all folders in which Claude Code looks, if it has our ``CLAUDE_CONFIG_DIR``."""
    return list(dict.fromkeys((lock_folder(), _usual_folder())))


def _usual_folder() -> str:
    return os.path.join(os.path.expanduser("~"), ".claude", "ide")


class DiscoveryFile:
    """The file of one server. Call ``write`` once it listens, ``remove`` when it ends."""

    def __init__(
        self, path: str, content: dict[str, Any], id_key: str = "authToken", shared_folders: Sequence[str] = ()
    ) -> None:
        """``id_key`` is the key of the content that tells our file from another one at the same path.

        ``shared_folders`` must be this person's own: others can make folders where they are.
        """
        self._path = path
        self._content = content
        self._id_key = id_key
        self._shared_folders = shared_folders

    def write(self) -> None:
        """Write the file; only this person can read it. Raises LockFileError."""
        for folder in self._shared_folders:
            _make_private(folder, is_shared=True)
        folder = os.path.dirname(self._path)
        _make_private(folder)
        try:
            write_private(self._path, self._content)
        except OSError as error:
            raise LockFileError(f"cannot write {self._path}: {error.strerror}") from None

    def remove(self) -> None:
        """Remove the file, if it is still this server's."""
        if _read_file(self._path).get(self._id_key) == self._content[self._id_key]:
            remove_quietly(self._path)


def lock_file(folder: str, identity: Identity, vault: str, name: str) -> DiscoveryFile:
    """Return the lock file of Claude Code.

    ``vault`` is the folder as the person gave it, ``name`` the editor's name in the client's list.
    """
    # The client resolves links in its own folder but not in these, so both spellings are needed.
    folders = list(dict.fromkeys((vault, os.path.realpath(vault))))
    content = {
        "pid": os.getpid(),
        "workspaceFolders": folders,
        "ideName": name,
        "transport": "ws",
        "runningInWindows": os.name == "nt",
        "authToken": identity.token,
        "port": identity.port,
        "madeBy": _MADE_BY,
    }
    return DiscoveryFile(os.path.join(folder, f"{identity.port}{_SUFFIX}"), content)


def qwen_folder() -> str:
    """Return the folder in which Qwen Code looks."""
    configured = os.environ.get("QWEN_HOME")
    return os.path.join(os.path.expanduser(configured or os.path.join("~", ".qwen")), "ide")


def qwen_file(folder: str, identity: Identity, vault: str, name: str) -> DiscoveryFile:
    """Return the file of Qwen Code; the arguments are those of ``lock_file``.

    The client takes the newest file whose folder matches, and removes files of dead processes (``ppid``).
    """
    content = {**_companion(identity, vault, name), "ppid": os.getpid(), "ideName": name}
    return DiscoveryFile(os.path.join(folder, f"{identity.port}{_SUFFIX}"), content)


def gemini_folder() -> str:
    """Return the folder in which Gemini CLI looks: below the temporary folder, which it finds as Node.js does."""
    names, default = ["TMPDIR", "TMP", "TEMP"], "/tmp"  # noqa: S108 - where the client looks
    if os.name == "nt":
        names, default = ["TEMP", "TMP"], os.path.join(os.environ.get("SYSTEMROOT", "C:\\Windows"), "temp")
    found = next((value for name in names if (value := os.environ.get(name))), default)
    return os.path.join(found, "gemini", "ide")


def gemini_file(folder: str, identity: Identity, vault: str, name: str) -> DiscoveryFile:
    """Return the file of Gemini CLI; the arguments are those of ``lock_file``.

    The client takes the file of its parent process, else one with a matching folder and a living process.
    """
    place = os.path.join(folder, f"{_GEMINI}{os.getpid()}-{identity.port}.json")
    folders = (os.path.dirname(folder), folder)  # others can write to the temporary folder, too
    return DiscoveryFile(place, _companion(identity, vault, name), shared_folders=folders)


def _companion(identity: Identity, vault: str, name: str) -> dict[str, Any]:
    return {
        "port": identity.port,
        "workspacePath": vault,
        "authToken": identity.token,
        # Without it, these clients connect only in the terminals of editors that they know.
        "ideInfo": {"name": name.lower(), "displayName": name},
        "madeBy": _MADE_BY,
    }


def remove_stale_files(folder: str) -> None:
    """Remove the files of dead servers of this program: a client would list them, or try them first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        content = _read_lock_file(folder, name)
        if content.get("madeBy") == _MADE_BY and not _is_alive(_process_id(name, content)):
            remove_quietly(os.path.join(folder, name))


class DiscoveredEditor(NamedTuple):
    """An editor that a client finds for a vault: its name, its port, and whether it is this program."""

    name: str
    port: str
    is_ours: bool


def discover_editors(folder: str, vault: str) -> list[DiscoveredEditor]:
    """Return the living editors that a client with this folder finds when it runs in the vault."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    here = os.path.realpath(vault) + os.sep
    editors: list[DiscoveredEditor] = []
    for name in names:
        content = _read_lock_file(folder, name)
        if not _is_alive(_process_id(name, content)):
            continue
        listed = content.get("workspaceFolders")
        folders = [path for path in listed if isinstance(path, str)] if isinstance(listed, list) else []
        folders += [
            os.path.realpath(path) for path in str(content.get("workspacePath") or "").split(os.pathsep) if path
        ]
        if any(here.startswith(path.rstrip(os.sep) + os.sep) for path in folders):
            info = content.get("ideInfo")
            editor = content.get("ideName") or (info.get("displayName") if isinstance(info, dict) else None)
            port = re.sub(r"\D", "", name.rpartition("-")[2])
            editors.append(DiscoveredEditor(str(editor), port, content.get("madeBy") == _MADE_BY))
    return editors


def _read_lock_file(folder: str, name: str) -> dict[str, Any]:
    return _read_file(os.path.join(folder, name)) if name.endswith(_SUFFIX) or name.startswith(_GEMINI) else {}


def _process_id(name: str, content: dict[str, Any]) -> Any:
    """Return the process id of a file, from its content or its name."""
    in_name = re.match(rf"{_GEMINI}(\d+)", name)
    return int(in_name[1]) if in_name else content.get("pid", content.get("ppid"))


class LastIdentity:
    """The port and secret of a vault's last server. A server that starts soon after reuses them, so clients notice nothing."""

    def __init__(self, folder: str, vault_key: str) -> None:
        """``folder`` is in the state folder; ``vault_key`` names the file."""
        self._path = os.path.join(folder, f"{vault_key}.json")

    def load(self) -> Identity:
        """Return the last identity, or a new one."""
        last = _read_file(self._path)
        port, token, at = last.get("port"), last.get("token"), last.get("at")
        if (
            isinstance(port, int)
            and isinstance(token, str)
            and isinstance(at, (int, float))
            and 0 <= time.time() - at < _REUSE_SECONDS
        ):
            return Identity(port, token)
        return new_identity()

    def save(self, identity: Identity) -> None:
        """Store the identity with the time. If that fails, the next server has a new one."""
        with contextlib.suppress(OSError, LockFileError):
            _make_private(os.path.dirname(self._path))
            write_private(self._path, {**identity._asdict(), "at": time.time()})


class Endpoint(NamedTuple):
    """How another program of this person reaches a server: the secret it shows, and the secret that the server answers."""

    port: int
    token: str
    answer: str


def new_endpoint(port: int) -> Endpoint:
    """Return an endpoint with new secrets."""
    return Endpoint(port, secrets.token_urlsafe(32), secrets.token_urlsafe(32))


def endpoint_path(folder: str, kind: str, vault: str) -> str:
    """Return the path of an endpoint's file: ``kind`` is ``plugin`` or ``commands``.

    ``folder`` is ``editor`` in the state folder. The name has the first 16 digits of the SHA-256 of the vault's path, with
    links resolved. The file is not in the vault, because that is synced. The plugin's ``linkPlace`` makes the same path.
    """
    digest = hashlib.sha256(os.fsencode(os.path.realpath(vault))).hexdigest()
    return os.path.join(folder, f"{kind}-{digest[:16]}.json")


def endpoint_file(folder: str, kind: str, vault: str, endpoint: Endpoint) -> DiscoveryFile:
    """Return the file of an endpoint; the arguments are those of ``endpoint_path``."""
    return DiscoveryFile(endpoint_path(folder, kind, vault), endpoint._asdict(), "token")


def read_endpoint(folder: str, kind: str, vault: str) -> Endpoint | None:
    """Return the endpoint of a vault's server, None if none runs."""
    content = _read_file(endpoint_path(folder, kind, vault))
    port, token, answer = content.get("port"), content.get("token"), content.get("answer")
    if isinstance(port, int) and isinstance(token, str) and isinstance(answer, str):
        return Endpoint(port, token, answer)
    return None


def program_file(folder: str, command: Sequence[str]) -> DiscoveryFile:
    """Return the file that tells the plugin how to start this program; ``folder`` as in ``endpoint_path``.

    It is not in the vault: a synced vault would name a program of another computer. The plugin's ``programPlace`` makes the
    same path.
    """
    return DiscoveryFile(os.path.join(folder, "program.json"), {"command": list(command)}, "command")


def _make_private(folder: str, *, is_shared: bool = False) -> None:
    """Make a folder that only this person may enter. ``is_shared``: others could have made it, so it must be this person's.

    Raises LockFileError.
    """
    try:
        make_private(folder)
        status = os.lstat(folder)
        is_link = stat.S_ISLNK(status.st_mode)
        is_own = os.name == "nt" or os.stat(folder).st_uid == os.getuid()
        if (is_shared and is_link) or ((is_shared or is_link) and not is_own):
            raise LockFileError(f"{folder} is not your own folder, or a link; another user could read it")
        if os.name != "nt" and not is_link and status.st_mode & 0o077:
            os.chmod(folder, 0o700)
    except OSError as error:
        raise LockFileError(f"cannot use the folder {folder}: {error.strerror}") from None


def _read_file(path: str) -> dict[str, Any]:
    """Return the content of a file, empty where there is none."""
    content = read_private(path)
    return content if isinstance(content, dict) else {}


def _is_alive(pid: Any) -> bool:
    return isinstance(pid, int) and pid > 0 and is_running(pid)
