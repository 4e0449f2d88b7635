"""Where programs of one person meet on one computer: a socket in a folder that is theirs alone, named by what is served.

A server of the very same vaults and settings is found by its name, so there is nothing to read and believe; and nobody
else can have put it there or can answer at it, because the folder is the person's own and closed to others. A port could
be anybody's once its server has ended. Not on Windows, where Python has no such sockets.
"""

from __future__ import annotations

import os

from vaultwire import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from typing import Any

# What the address of a socket holds (macOS: 104 with the zero at its end).
_MAX_PATH_BYTES = 103
# Letters of the name: as many as two settings never share.
_NAME_LENGTH = 24
# Somebody who takes no connection for so long is no help.
_CONNECT_SECONDS = 0.5


def socket_path(folder: str, settings: Mapping[str, object], policy: str | None) -> str | None:
    """Return where in the folder a server with these settings is met, None where there can be no such place.

    ``policy`` is a file whose content counts as well. So does whatever else could make two of them behave differently:
    another program, another day.
    """
    import hashlib  # noqa: PLC0415 - after the first answer, here and below
    import json  # noqa: PLC0415
    import socket  # noqa: PLC0415

    if not hasattr(socket, "AF_UNIX"):
        return None
    around = [__version__, os.path.dirname(__file__), os.environ.get("TZ"), _stamp(policy)]
    text = json.dumps([dict(settings), around], default=_plain)
    path = os.path.join(folder, f"{hashlib.sha256(text.encode()).hexdigest()[:_NAME_LENGTH]}.sock")
    return path if len(os.fsencode(path)) <= _MAX_PATH_BYTES else None


def find(path: str | None) -> str | None:
    """Return the path if somebody of this person's listens there."""
    if path is None or not (_is_closed_to_others(os.path.dirname(path)) and _is_our_socket(path)):
        return None
    return path if _is_answered(path) else None


def listen(path: str | None) -> Listener | None:
    """Be met there. None if another one is, or there can be no such place: the file system has none or is open to others."""
    import socket  # noqa: PLC0415 - as above

    if path is None:
        return None
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _is_closed_to_others(folder) or _is_answered(path):
            return None
        if _is_our_socket(path):  # of one that was killed
            os.unlink(path)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(path)
            os.chmod(path, 0o600)
            return Listener(listening, path)
        except OSError:
            listening.close()
            raise
    except OSError:
        return None


class Listener:
    """A place where one is met. ``socket`` is bound and does not listen yet."""

    def __init__(self, bound: socket.socket, path: str) -> None:
        self.socket = bound
        self._path = path
        self._file = _identity(path)

    def close(self) -> None:
        """Be met there no longer."""
        self.socket.close()
        try:
            if _identity(self._path) == self._file:  # not that of a later one
                os.unlink(self._path)
        except OSError:
            pass


def _plain(value: Any) -> dict[str, Any]:
    """Return the settings in an object of settings."""
    return {name: getattr(value, name) for name in getattr(value, "__slots__", None) or vars(value)}


def _stamp(path: str | None) -> tuple[int, int, int] | None:
    """Return what tells a file from what it was before it was changed."""
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


def _identity(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_ino, found.st_mtime_ns  # numbers of files are used again


def _is_closed_to_others(folder: str) -> bool:
    import stat  # noqa: PLC0415 - as above

    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _is_our_socket(path: str) -> bool:
    import stat  # noqa: PLC0415 - as above

    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid()


def _is_answered(path: str) -> bool:
    import socket  # noqa: PLC0415 - as above

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(_CONNECT_SECONDS)
        try:
            asking.connect(path)
        except OSError:
            return False
    return True
