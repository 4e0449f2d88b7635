"""How clients find an editor: a file named after the port, in a folder of theirs. Written, removed, swept here.

What the files say was measured with the clients (``docs/claude-code.md``, ``docs/gemini-cli.md``). Each compares the folder
it runs in, links resolved, with the folders in the file. Claude Code lists an editor as long as a process with ``pid``
lives, answering or not.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import time
import uuid
from typing import Any, NamedTuple

_SUFFIX = ".lock"
_GEMINI = "gemini-ide-server-"
_MADE_BY = "vaultwire"
# A client whose server went away tries again for 15 seconds, a person some minutes later.
_KEPT_SECONDS = 300.0
_MAX_BYTES = 65_536


class Identity(NamedTuple):
    """What a client has to know to come back: the port, 0 for any free one, and the secret that it shows."""

    port: int
    token: str


def new_identity() -> Identity:
    """Return one with a new secret, at any free port."""
    return Identity(0, str(uuid.uuid4()))


class LockFileError(Exception):
    """The folder cannot be used; the message is one line for a person."""


def lock_folder() -> str:
    """Return the folder of Claude Code's that our file is put into."""
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    return os.path.join(configured, "ide") if configured else _usual_folder()


def lock_folders() -> list[str]:
    """Return all folders that the client looks into, if its ``CLAUDE_CONFIG_DIR`` is ours."""
    return list(dict.fromkeys((lock_folder(), _usual_folder())))


def _usual_folder() -> str:
    return os.path.join(os.path.expanduser("~"), ".claude", "ide")


class DiscoveryFile:
    """A file of one server. ``write`` once it listens, ``remove`` when it ends."""

    def __init__(self, place: str, content: dict[str, Any], known_by: str = "authToken") -> None:
        """``known_by`` is the part of the content by which the file is known again."""
        self._place = place
        self._folder = os.path.dirname(place)
        self._content = content
        self._known_by = known_by

    def write(self) -> None:
        """Put the file in its place, for nobody else to read. Raises LockFileError."""
        _make_private(self._folder)
        _put(self._place, self._content)

    def remove(self) -> None:
        """Take it away, if it still is this one."""
        found = _read(self._place)
        if found is not None and found.get(self._known_by) == self._content[self._known_by]:
            _remove(self._place)


class LockFile(DiscoveryFile):
    """Claude Code's."""

    def __init__(self, folder: str, identity: Identity, vault: str, name: str) -> None:
        """``vault`` is the folder as the person named it, ``name`` what is shown in the client's list."""
        # The client resolves links in its own folder and not in these, so both spellings are needed.
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
        super().__init__(os.path.join(folder, f"{identity.port}{_SUFFIX}"), content)


def qwen_folder() -> str:
    """Return the folder that Qwen Code looks into."""
    configured = os.environ.get("QWEN_HOME")
    return os.path.join(os.path.expanduser(configured or os.path.join("~", ".qwen")), "ide")


class QwenFile(DiscoveryFile):
    """Qwen Code's. It takes the newest whose folder fits, and removes those whose ``ppid`` is no process."""

    def __init__(self, folder: str, identity: Identity, vault: str, name: str) -> None:
        """As ``LockFile``."""
        content = {**_companion(identity, vault, name), "ppid": os.getpid(), "ideName": name}
        super().__init__(os.path.join(folder, f"{identity.port}{_SUFFIX}"), content)


def gemini_folder() -> str:
    """Return the folder that Gemini CLI looks into: below the system's for temporary files, as Node.js finds that."""
    names, usual = ["TMPDIR", "TMP", "TEMP"], "/tmp"  # noqa: S108 - where the client looks
    if os.name == "nt":
        names, usual = ["TEMP", "TMP"], os.path.join(os.environ.get("SYSTEMROOT", "C:\\Windows"), "temp")
    found = next((value for name in names if (value := os.environ.get(name))), usual)
    return os.path.join(found, "gemini", "ide")


class GeminiFile(DiscoveryFile):
    """Gemini CLI's. It takes the one of the process it runs below, else one whose folder fits and whose process lives."""

    def __init__(self, folder: str, identity: Identity, vault: str, name: str) -> None:
        """As ``LockFile``."""
        place = os.path.join(folder, f"{_GEMINI}{os.getpid()}-{identity.port}.json")
        super().__init__(place, _companion(identity, vault, name))

    def write(self) -> None:
        """As ever; but others may write where the folder is, and could have been there first."""
        for folder in (os.path.dirname(self._folder), self._folder):
            _make_own(folder)
        super().write()


def _companion(identity: Identity, vault: str, name: str) -> dict[str, Any]:
    return {
        "port": identity.port,
        "workspacePath": vault,
        "authToken": identity.token,
        # Without it, these clients take terminals of editors they know for the only ones that have an editor.
        "ideInfo": {"name": name.lower(), "displayName": name},
        "madeBy": _MADE_BY,
    }


def remove_stale_files(folder: str) -> None:
    """Remove what servers of this program left whose process is gone: a client would list them, or try them first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        found = _discovered(folder, name)
        if found is not None and found.get("madeBy") == _MADE_BY and not _is_alive(_process(name, found)):
            _remove(os.path.join(folder, name))


class DiscoveredEditor(NamedTuple):
    """An editor that a client finds for a vault: its name, its port, and whether this program is it."""

    name: str
    port: str
    is_ours: bool


def discover_editors(folder: str, vault: str) -> list[DiscoveredEditor]:
    """Return the editors that a client with this folder finds where it runs in the vault's: those whose process lives."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    here = os.path.realpath(vault) + os.sep
    editors: list[DiscoveredEditor] = []
    for name in names:
        found = _discovered(folder, name)
        if found is None or not _is_alive(_process(name, found)):
            continue
        folders = found.get("workspaceFolders")
        texts = [each for each in folders if isinstance(each, str)] if isinstance(folders, list) else []
        texts += [os.path.realpath(each) for each in str(found.get("workspacePath") or "").split(os.pathsep) if each]
        if any(here.startswith(each.rstrip(os.sep) + os.sep) for each in texts):
            info = found.get("ideInfo")
            shown = found.get("ideName") or (info.get("displayName") if isinstance(info, dict) else None)
            port = re.sub(r"\D", "", name.rpartition("-")[2])
            editors.append(DiscoveredEditor(str(shown), port, found.get("madeBy") == _MADE_BY))
    return editors


def _discovered(folder: str, name: str) -> dict[str, Any] | None:
    return _read(os.path.join(folder, name)) if name.endswith(_SUFFIX) or name.startswith(_GEMINI) else None


def _process(name: str, found: dict[str, Any]) -> Any:
    """Return the process that such a file is of: as it says, or in its name."""
    in_name = re.match(rf"{_GEMINI}(\d+)", name)
    return int(in_name[1]) if in_name else found.get("pid", found.get("ppid"))


class LastIdentity:
    """What the last server of a vault was reached by: one that starts soon after takes it up, and clients notice nothing."""

    def __init__(self, folder: str, vault_key: str) -> None:
        """``folder`` is of this program's own state; ``vault_key`` is a file's name."""
        self._folder = folder
        self._place = os.path.join(folder, f"{vault_key}.json")

    def take(self) -> Identity:
        """Return it, or a new one."""
        found = _read(self._place) or {}
        port, token, at = found.get("port"), found.get("token"), found.get("at")
        if (
            isinstance(port, int)
            and isinstance(token, str)
            and isinstance(at, (int, float))
            and 0 <= time.time() - at < _KEPT_SECONDS
        ):
            return Identity(port, token)
        return new_identity()

    def keep(self, identity: Identity) -> None:
        """Note it down, with the time. Where that cannot be, the next server is another one."""
        try:
            _make_private(self._folder)
            _put(self._place, {"port": identity.port, "token": identity.token, "at": time.time()})
        except LockFileError:
            return


class Endpoint(NamedTuple):
    """How a program of the same person reaches a server: the secret it shows, and the one by which it knows the server."""

    port: int
    token: str
    answer: str


def new_endpoint(port: int) -> Endpoint:
    """Return one with new secrets."""
    return Endpoint(port, secrets.token_urlsafe(32), secrets.token_urlsafe(32))


def endpoint_path(folder: str, kind: str, vault: str) -> str:
    """Return where the link of a vault's server is: ``kind`` is ``plugin`` or ``commands``.

    ``folder`` is ``editor`` in the state folder; the name has the first 16 digits of the SHA-256 of the vault's path, links
    resolved. Not in the vault: that is synced. The plugin's ``linkPlace`` has the same recipe.
    """
    digest = hashlib.sha256(os.fsencode(os.path.realpath(vault))).hexdigest()
    return os.path.join(folder, f"{kind}-{digest[:16]}.json")


class EndpointFile(DiscoveryFile):
    """The file that tells such a link."""

    def __init__(self, folder: str, kind: str, vault: str, link: Endpoint) -> None:
        """As ``endpoint_path``."""
        super().__init__(endpoint_path(folder, kind, vault), link._asdict(), "token")


def read_endpoint(folder: str, kind: str, vault: str) -> Endpoint | None:
    """Return the link of a vault's server, None if none runs."""
    found = _read(endpoint_path(folder, kind, vault)) or {}
    port, token, answer = found.get("port"), found.get("token"), found.get("answer")
    if isinstance(port, int) and isinstance(token, str) and isinstance(answer, str):
        return Endpoint(port, token, answer)
    return None


def _make_private(folder: str) -> None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
        if os.name != "nt":
            if stat.S_ISLNK(status.st_mode) and os.stat(folder).st_uid != os.getuid():
                raise LockFileError(f"{folder} leads to somebody else's folder; remove that link")
            if not stat.S_ISLNK(status.st_mode) and status.st_mode & 0o077:
                os.chmod(folder, 0o700)
    except OSError as error:
        raise LockFileError(f"cannot use the folder {folder}: {error.strerror}") from None


def _make_own(folder: str) -> None:
    """Make a folder of this person's own where anybody may make one."""
    try:
        if not os.path.lexists(folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError as error:
        raise LockFileError(f"cannot use the folder {folder}: {error.strerror}") from None
    is_own = os.name == "nt" or status.st_uid == os.getuid()
    if not stat.S_ISDIR(status.st_mode) or not is_own:
        raise LockFileError(f"{folder} is no folder of yours; somebody else could read along")
    _make_private(folder)


def _put(place: str, content: dict[str, Any]) -> None:
    temporary = f"{place}.{secrets.token_hex(4)}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.replace(temporary, place)
    except OSError as error:
        _remove(temporary)
        raise LockFileError(f"cannot write {place}: {error.strerror}") from None


def _read(place: str) -> dict[str, Any] | None:
    try:
        with open(place, encoding="utf-8") as file:
            found = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _remove(place: str) -> None:
    try:
        os.unlink(place)
    except OSError:
        return


def _is_alive(pid: Any) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    if os.name == "nt":  # os.kill would end it
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _is_alive_on_windows(pid: int) -> bool:
    import ctypes  # noqa: PLC0415 - there only

    kernel: Any = ctypes.windll.kernel32  # type: ignore[attr-defined, unused-ignore] # there only
    handle = kernel.OpenProcess(0x1000, False, pid)
    if handle:
        kernel.CloseHandle(handle)
    return bool(handle)
