"""The lock files by which clients find an editor: named after its port, in a folder of the client. It opens no port.

Their content was measured with the clients (``docs/editors.md``). A client compares its working
folder, with links resolved, with the folders in the file. Claude Code lists an editor as long as the process ``pid`` lives,
even if it does not answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import time
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from vaultwire.vault.disk.process_lock import is_running

_SUFFIX = ".lock"
_GEMINI = "gemini-ide-server-"
_MADE_BY = "vaultwire"
# How long a restarted server reuses its port and secret: a client tries again for 15 seconds, a person for some minutes.
_REUSE_SECONDS = 300.0
_MAX_BYTES = 65_536


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
        self, path: str, content: dict[str, Any], id_key: str = "authToken", own_folders: Sequence[str] = ()
    ) -> None:
        """``id_key`` is the key of the content that tells our file from another one at the same path.

        ``own_folders`` must be this person's own, as others can make folders there.
        """
        self._path = path
        self._folder = os.path.dirname(path)
        self._content = content
        self._id_key = id_key
        self._own_folders = own_folders

    def write(self) -> None:
        """Write the file; only this person can read it. Raises LockFileError."""
        for folder in self._own_folders:
            _make_own(folder)
        _make_private(self._folder)
        _write_file(self._path, self._content)

    def remove(self) -> None:
        """Remove the file, if it is still this server's."""
        found = _read_file(self._path)
        if found is not None and found.get(self._id_key) == self._content[self._id_key]:
            _remove(self._path)


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
    return DiscoveryFile(place, _companion(identity, vault, name), own_folders=folders)


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
        found = _read_lock_file(folder, name)
        if found is not None and found.get("madeBy") == _MADE_BY and not _is_alive(_process_id(name, found)):
            _remove(os.path.join(folder, name))


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
        found = _read_lock_file(folder, name)
        if found is None or not _is_alive(_process_id(name, found)):
            continue
        folders = found.get("workspaceFolders")
        texts = [each for each in folders if isinstance(each, str)] if isinstance(folders, list) else []
        texts += [os.path.realpath(each) for each in str(found.get("workspacePath") or "").split(os.pathsep) if each]
        if any(here.startswith(each.rstrip(os.sep) + os.sep) for each in texts):
            info = found.get("ideInfo")
            shown_name = found.get("ideName") or (info.get("displayName") if isinstance(info, dict) else None)
            port = re.sub(r"\D", "", name.rpartition("-")[2])
            editors.append(DiscoveredEditor(str(shown_name), port, found.get("madeBy") == _MADE_BY))
    return editors


def _read_lock_file(folder: str, name: str) -> dict[str, Any] | None:
    return _read_file(os.path.join(folder, name)) if name.endswith(_SUFFIX) or name.startswith(_GEMINI) else None


def _process_id(name: str, found: dict[str, Any]) -> Any:
    """Return the process id of a file, from its content or its name."""
    in_name = re.match(rf"{_GEMINI}(\d+)", name)
    return int(in_name[1]) if in_name else found.get("pid", found.get("ppid"))


class LastIdentity:
    """The port and secret of a vault's last server. A server that starts soon after reuses them, so clients notice nothing."""

    def __init__(self, folder: str, vault_key: str) -> None:
        """``folder`` is in the state folder; ``vault_key`` names the file."""
        self._folder = folder
        self._path = os.path.join(folder, f"{vault_key}.json")

    def load(self) -> Identity:
        """Return the last identity, or a new one."""
        found = _read_file(self._path) or {}
        port, token, at = found.get("port"), found.get("token"), found.get("at")
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
        try:
            _make_private(self._folder)
            _write_file(self._path, {"port": identity.port, "token": identity.token, "at": time.time()})
        except LockFileError:
            return


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
    found = _read_file(endpoint_path(folder, kind, vault)) or {}
    port, token, answer = found.get("port"), found.get("token"), found.get("answer")
    if isinstance(port, int) and isinstance(token, str) and isinstance(answer, str):
        return Endpoint(port, token, answer)
    return None


def program_file(folder: str, command: Sequence[str]) -> DiscoveryFile:
    """Return the file that tells the plugin how to start this program; ``folder`` as in ``endpoint_path``.

    It is not in the vault: a synced vault would name a program of another computer. The plugin's ``programPlace`` makes the
    same path.
    """
    return DiscoveryFile(os.path.join(folder, "program.json"), {"command": list(command)}, "command")


def _make_private(folder: str) -> None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
        if os.name != "nt":
            if stat.S_ISLNK(status.st_mode) and os.stat(folder).st_uid != os.getuid():
                raise LockFileError(f"{folder} is a link to another user's folder; remove that link")
            if not stat.S_ISLNK(status.st_mode) and status.st_mode & 0o077:
                os.chmod(folder, 0o700)
    except OSError as error:
        raise LockFileError(f"cannot use the folder {folder}: {error.strerror}") from None


def _make_own(folder: str) -> None:
    """Make a folder, and check that it is this person's own: anybody may make one there."""
    try:
        if not os.path.lexists(folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError as error:
        raise LockFileError(f"cannot use the folder {folder}: {error.strerror}") from None
    is_own = os.name == "nt" or status.st_uid == os.getuid()
    if not stat.S_ISDIR(status.st_mode) or not is_own:
        raise LockFileError(f"{folder} is not your own folder; another user could read it")
    _make_private(folder)


def _write_file(path: str, content: dict[str, Any]) -> None:
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise LockFileError(f"cannot write {path}: {error.strerror}") from None


def _read_file(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _is_alive(pid: Any) -> bool:
    return isinstance(pid, int) and pid > 0 and is_running(pid)
