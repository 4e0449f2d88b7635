"""A cluster as a team runs it: replicas on machines of their own, HAProxy before them, PgBouncer and PostgreSQL behind them.

A machine is a network namespace where the system allows it (Linux, as root), else a port of this computer. PostgreSQL has a
synchronous stand-by. All programs are the system's own (Debian: ``postgresql``, ``pgbouncer``, ``haproxy``).
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from support.postgres import OWNER, PostgresServer, system_binaries
from vaultwire.cluster.database import Database
from vaultwire.cluster.keys import KeyRows
from vaultwire.trust.keys import SharedKeys

REPLICAS = 3
LEASE_SECONDS = 3
PROGRAMS = ("haproxy", "pgbouncer")
_OWN_NETWORK = "VAULTWIRE_OWN_NETWORK"
_NET = "10.77.0"
# For what a program of the system does, in seconds. Its error names the program.
_PATIENCE = 60.0
_SERVE = (sys.executable, "-m", "vaultwire", "serve")

_PGBOUNCER = """
[databases]
vaultwire = host=127.0.0.1 port={server.port} dbname=vaultwire user={owner} password={server.password}
[pgbouncer]
listen_addr = {address}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 40
max_client_conn = 500
server_login_retry = 1
user = nobody
logfile = {log}
"""
_HAPROXY = """
global
    maxconn 2000
defaults
    mode http
    timeout connect 2s
    timeout client 2m
    timeout server 2m
    option redispatch
frontend front
    bind {address}:{port}
    bind 127.0.0.1:{local_port}
    # The conformance suite sends no key of its own.
    http-request set-header Authorization "Bearer {key}"
    default_backend vaultwire
backend vaultwire
    balance roundrobin
    option httpchk GET /ready
    default-server check inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


def enter_network() -> bool:
    """Run this program again in a network of its own; return whether it is there, as soon as it is.

    Returns False where the system has no namespaces for us: then all machines are this one.
    """
    if os.environ.get(_OWN_NETWORK):
        _run("ip", "link", "set", "lo", "up")
        _run("mount", "-t", "tmpfs", "none", "/run")  # for the names of the namespaces
        _run("ip", "link", "add", "front", "type", "bridge")
        _run("ip", "address", "add", f"{_NET}.1/24", "dev", "front")
        _run("ip", "link", "set", "front", "up")
        return True
    if not sys.platform.startswith("linux") or os.getuid() != 0 or not shutil.which("ip"):
        return False
    enter = ["unshare", "--net", "--mount"]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode == 0:
        os.execvpe(enter[0], [*enter, sys.executable, *sys.argv], {**os.environ, _OWN_NETWORK: "1"})
    return False


def missing_programs() -> list[str]:
    """Return the Debian packages that are needed and not installed."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    return missing if system_binaries() else ["postgresql", *missing]


class Machine:
    """Where a replica runs: ``address`` as the others see it."""

    def __init__(self, number: int, *, has_network: bool) -> None:
        self.name = f"machine{number}"
        self.address = f"{_NET}.{11 + number}" if has_network else "127.0.0.1"
        self.prefix: list[str] = []
        self.port = 3000 if has_network else free_port()
        self.can_be_cut = has_network
        if has_network:
            inside = ["ip", "-n", self.name]
            _run("ip", "netns", "add", self.name)
            _run("ip", "link", "add", self.name, "type", "veth", "peer", "name", "up0", "netns", self.name)
            _run("ip", "link", "set", self.name, "master", "front", "up")
            _run(*inside, "address", "add", f"{self.address}/24", "dev", "up0")
            _run(*inside, "link", "set", "up0", "up")
            _run(*inside, "link", "set", "lo", "up")
            self.prefix = ["ip", "netns", "exec", self.name]

    def remove(self) -> None:
        """Take it away, with its network."""
        if self.can_be_cut:
            _run("ip", "link", "delete", self.name)
            _run("ip", "netns", "delete", self.name)

    def cut(self) -> None:
        """Let no packet in or out."""
        _run("ip", "link", "set", self.name, "down")

    def join(self) -> None:
        """End that."""
        _run("ip", "link", "set", self.name, "up")


class Replica:
    """One ``vaultwire serve`` on its machine, with a state folder of its own."""

    def __init__(self, machine: Machine, folder: Path, command: Sequence[str], options: Sequence[str]) -> None:
        self.machine = machine
        self.folder = folder / machine.name
        at = ["--host", machine.address, "--port", str(machine.port)]
        self._command = [*machine.prefix, *command, *at, *options]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{self.machine.address}:{self.machine.port}"

    def start(self) -> None:
        """Start it. It need not answer yet."""
        own = {"VAULTWIRE_STATE": str(self.folder / "state"), "VAULTWIRE_CACHE": str(self.folder / "cache")}
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **own}
            )

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the running process."""
        assert self.process is not None
        self.process.send_signal(number)

    def end(self, number: signal.Signals) -> None:
        """Send a signal that ends it, and wait for its end."""
        if self.process is not None:
            self.send(number)
            self.process.wait(_PATIENCE)
            self.process = None

    def last_lines(self) -> str:
        """Return the end of what it has written."""
        return (self.folder / "log").read_text(errors="replace")[-1000:]

    def is_ready(self) -> bool:
        """Return whether it would answer a request."""
        return self._standing().get("status") == "ok"

    def owns(self) -> bool:
        """Return whether it owns vaults."""
        return self._standing().get("role") == "owner"

    def _standing(self) -> dict[str, str]:
        connection = http.client.HTTPConnection(self.machine.address, self.machine.port, timeout=1)
        try:
            connection.request("GET", "/ready")
            facts: dict[str, str] = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException):
            return {}
        finally:
            connection.close()
        return facts

    def processor_seconds(self) -> float:
        """Return the processor time that the process has used."""
        assert self.process is not None
        return processor_seconds(self.process.pid)


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Cluster:
    """All of it. Use as a context manager: the replicas are ready when it is entered."""

    def __init__(
        self,
        options: Sequence[str],
        *,
        has_network: bool,
        command: Sequence[str] = _SERVE,
        replicas: int = REPLICAS,
        durable: bool = False,
    ) -> None:
        """``options`` are those of ``vaultwire serve`` for each replica; ``durable``: PostgreSQL waits for its disk."""
        self._has_network, self._options, self._command = has_network, [*options], command
        self._count, self._durable = replicas, durable
        self.address = f"{_NET}.1" if has_network else "127.0.0.1"
        self.port = 8080 if has_network else free_port()
        self.local_port = free_port()
        """Another one of the balancer, at localhost."""
        self.replicas: list[Replica] = []
        self.key = ""
        self._server: PostgresServer
        self._standby: PostgresServer

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as running:
            self.folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="vaultwire-cluster-")))
            self.folder.chmod(0o755)
            self._start_database(running)
            self._start_pooler(running)
            with contextlib.closing(Database(self.database)) as database:
                self.key = SharedKeys(KeyRows(database)).issue("cluster")
            for number in range(self._count):
                machine = Machine(number, has_network=self._has_network)
                running.callback(machine.remove)
                joint = ("--database", self.database, "--lease-seconds", str(LEASE_SECONDS))
                names = ("--allow-host", self.address, "--allow-host", "localhost", "--metrics")
                replica = Replica(machine, self.folder, self._command, [*self._options, *joint, *names])
                replica.start()
                running.callback(replica.end, signal.SIGKILL)
                self.replicas.append(replica)
            self._start_balancer(running)
            self.wait_until_ready()
            self._running = running.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def wait_until_ready(self) -> None:
        """Wait until each replica would answer a request. Raises TimeoutError, with the end of its log."""
        for replica in self.replicas:
            try:
                wait_for(f"{replica.machine.name} is ready", replica.is_ready)
            except TimeoutError as error:
                raise TimeoutError(f"{error}; its log ends with: {replica.last_lines()}") from None

    # ------------------------------------------------------------------ what fails and is steered

    def restart_database(self) -> None:
        """Stop the database with all connections, and start it."""
        self._server.stop()
        self._server.start()

    def fail_over(self) -> None:
        """End the database permanently, and have its stand-by take its place."""
        self._server.stop()
        self._standby.promote()
        self._server = self._standby
        self._write_pooler()
        self._pooler.send_signal(signal.SIGHUP)

    def wait_for_standby(self, is_waited_for: bool) -> None:
        """Have each commit wait for the stand-by, too, as it does from the start, or for the database's own disk alone."""
        _wait_for_standby(self._server, is_waited_for)

    @property
    def direct(self) -> str:
        """The URL of the database, past the pooler."""
        return self._server.url("vaultwire")

    def back_up(self) -> Path:
        """Back the database up, as docs/teams.md says. Return the file."""
        path = self.folder / "postgres" / "vaultwire.dump"  # PostgreSQL's own user writes it
        self._server.run("pg_dump", "--format=custom", f"--file={path}", self._server.url("vaultwire"))
        return path

    def restore(self, path: Path) -> None:
        """Put the backup in the place of the database."""
        for statement in ("DROP DATABASE vaultwire WITH (FORCE)", "CREATE DATABASE vaultwire"):
            self._server.execute(self._server.url("postgres"), statement)
        self._server.run("pg_restore", "--exit-on-error", f"--dbname={self._server.url('vaultwire')}", str(path))

    # ------------------------------------------------------------------ the programs around the replicas

    def _start_database(self, running: contextlib.ExitStack) -> None:
        binaries = system_binaries()
        assert binaries is not None
        joint = ("fsync=on",) if self._durable else ()
        folders = [self.folder / name for name in ("postgres", "postgres-standby")]
        for folder in folders:
            folder.mkdir()
        first = PostgresServer(str(folders[0]), binaries, *joint)
        first.start()
        first.execute(first.url("postgres"), "CREATE DATABASE vaultwire")
        made = Database(first.url("vaultwire"))
        made.upgrade()
        made.close()
        self._server = first
        self._standby = PostgresServer(str(folders[1]), binaries, *joint, follows=first)
        self._standby.start()
        # What was acknowledged is on the stand-by, too: a fail-over must not take a lease or a change back.
        _wait_for_standby(first, True)
        running.callback(self._standby.stop)
        running.callback(self._stop_first)

    def _stop_first(self) -> None:
        if self._server is not self._standby:
            self._server.stop()

    def _start_pooler(self, running: contextlib.ExitStack) -> None:
        self._pooler_port = 6432 if self._has_network else free_port()
        self.database = f"postgresql://{OWNER}@{self.address}:{self._pooler_port}/vaultwire"
        log = self.folder / "pgbouncer.log"
        log.touch()
        log.chmod(0o666)
        self._write_pooler()
        self._pooler = subprocess.Popen(["pgbouncer", "-q", str(self.folder / "pgbouncer.ini")])
        running.callback(_end, self._pooler)
        wait_for("PgBouncer listens", lambda: answers(self.address, self._pooler_port))

    def _write_pooler(self) -> None:
        text = _PGBOUNCER.format(
            server=self._server,
            owner=OWNER,
            address=self.address,
            port=self._pooler_port,
            log=self.folder / "pgbouncer.log",
        )
        path = self.folder / "pgbouncer.ini"
        path.write_text(text)
        path.chmod(0o644)

    def _start_balancer(self, running: contextlib.ExitStack) -> None:
        lines = [f"    server {one.machine.name} {one.machine.address}:{one.machine.port}" for one in self.replicas]
        path = self.folder / "haproxy.cfg"
        path.write_text(
            _HAPROXY.format(
                address=self.address, port=self.port, local_port=self.local_port, key=self.key, servers="\n".join(lines)
            )
        )
        with (self.folder / "haproxy.log").open("wb") as log:
            balancer = subprocess.Popen(["haproxy", "-db", "-f", str(path)], stdout=log, stderr=log)
        running.callback(_end, balancer)
        wait_for("HAProxy listens", lambda: answers(self.address, self.port))


def _wait_for_standby(server: PostgresServer, is_waited_for: bool) -> None:
    names = "*" if is_waited_for else ""
    server.execute(
        server.url("postgres"), f"ALTER SYSTEM SET synchronous_standby_names='{names}'", "SELECT pg_reload_conf()"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(_PATIENCE)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=_PATIENCE)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def answers(address: str, port: int) -> bool:
    """Return whether somebody listens there."""
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_for(what: str, is_so: Callable[[], bool], seconds: float = _PATIENCE) -> None:
    """Ask until it is so. Raises TimeoutError, with ``what`` was waited for."""
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError(f"{what}: not so after {seconds:.0f} seconds")
        time.sleep(0.05)


@contextlib.contextmanager
def vaults(count: int) -> Iterator[list[Path]]:
    """Make the folders of so many vaults, named V0 and so on."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-vaults-") as folder:
        paths = [Path(folder) / f"V{number}" for number in range(count)]
        for path in paths:
            path.mkdir()
        yield paths
