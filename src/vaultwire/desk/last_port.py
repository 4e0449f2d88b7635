"""The port of the last desk of some vaults, so that an open page finds the next one at the same address."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence

from vaultwire.vault.disk.file_operations import make_private

_MAX_PORT = 65535


class LastPort:
    """A file in the state folder with one number."""

    def __init__(self, folder: str, vaults: Sequence[str]) -> None:
        joined = "\0".join(sorted(os.path.realpath(each) for each in vaults))
        digest = hashlib.sha256(os.fsencode(joined)).hexdigest()
        self._path = os.path.join(folder, f"port-{digest[:16]}")

    def load(self) -> int:
        """Return the port, 0 for any free one."""
        try:
            with open(self._path, encoding="ascii") as file:
                port = int(file.read(16))
        except (OSError, ValueError):
            return 0
        return port if 0 < port <= _MAX_PORT else 0

    def save(self, port: int) -> None:
        """Store the port. If that fails, the next desk has another address."""
        with contextlib.suppress(OSError):
            make_private(os.path.dirname(self._path))
            temporary = f"{self._path}.{os.getpid()}.part"
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(str(port))
            os.replace(temporary, self._path)
