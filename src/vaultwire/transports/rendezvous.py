"""How one person's programs find each other on one computer: a Unix socket in a private folder, named by what is served.

The socket's name is a hash of the vaults and settings, so a server of exactly these is found without reading a file. Nobody
else can put a socket there or answer at it: the folder is the person's own and closed to others. A port would be less safe:
any program may have it once its server has ended. Not on Windows, where Python has no Unix sockets.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat

from vaultwire import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The longest path of a socket (macOS: 104 bytes with the zero at the end).
_MAX_PATH_BYTES = 103
# Letters of the name: enough that no two settings share a name.
_NAME_LENGTH = 24
# A server that takes longer to accept a connection is not used.
_CONNECT_SECONDS = 0.5


def socket_path(folder: str, settings: Mapping[str, object], policy: str | None) -> str | None:
    """Return the path of the socket of a server with these settings, None where there can be none.

    The name also depends on what else could make two servers behave differently: the version and place of the program, the
    time zone, and the state of the file ``policy``.
    """
    if not hasattr(socket, "AF_UNIX"):
        return None
    environment = [__version__, os.path.dirname(__file__), os.environ.get("TZ"), _stamp(policy)]
    text = json.dumps([dict(settings), environment], default=vars)
    path = os.path.join(folder, f"{hashlib.sha256(text.encode()).hexdigest()[:_NAME_LENGTH]}.sock")
    return path if len(os.fsencode(path)) <= _MAX_PATH_BYTES else None


def find(path: str | None) -> str | None:
    """Return the path if a server of this person listens there, None if not."""
    if path is None or not (_is_private(os.path.dirname(path)) and _is_our_socket(path)):
        return None
    return path if _accepts(path) else None


def listen(path: str | None) -> Listener | None:
    """Bind the socket. None if another server has it, or the folder cannot have a socket or is open to others."""
    if path is None:
        return None
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _is_private(folder) or _accepts(path):
            return None
        if _is_our_socket(path):  # left by a server that was killed
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
    """A server's socket. ``socket`` is bound and does not listen yet."""

    def __init__(self, bound: socket.socket, path: str) -> None:
        self.socket = bound
        self._path = path
        self._file = _identity(path)

    def close(self) -> None:
        """Close and remove the socket."""
        self.socket.close()
        try:
            if _identity(self._path) == self._file:  # a later server may have made a new one
                os.unlink(self._path)
        except OSError:
            pass


def _stamp(path: str | None) -> tuple[int, int, int] | None:
    """Return facts of a file that differ after a change; None for no file."""
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


def _identity(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_ino, found.st_mtime_ns  # inode numbers are used again


def _is_private(folder: str) -> bool:
    return _is_our(folder, lambda mode: stat.S_ISDIR(mode) and not mode & 0o077)


def _is_our_socket(path: str) -> bool:
    return _is_our(path, stat.S_ISSOCK)


def _is_our(path: str, has_mode: Callable[[int], bool]) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return has_mode(found.st_mode) and found.st_uid == os.getuid()


def _accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_CONNECT_SECONDS)
        try:
            client.connect(path)
        except OSError:
            return False
    return True
