"""Several clients write to two vaults through several servers while owners are killed and paused and the database is restarted.

Each line that a server has acknowledged is there, once, whole and in its place; one that was refused or cut off, once or never.
"""

from __future__ import annotations

import http.client
import random
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.postgres import PostgresServer, running_postgres
from support.serving import Serving
from support.vaults import write_vault
from vaultwire.cluster.database import Database

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGSTOP")
CLIENTS, SERVERS = 4, 3
VAULTS = ("Home", "Work")


class Team:
    """The servers of two vaults, as many as at first."""

    def __init__(self, vaults: Sequence[Path], address: str, running: ExitStack) -> None:
        self._vaults, self._address, self._running = vaults, address, running
        self._count = 0
        self.servers: list[Serving] = []

    def start(self) -> None:
        home = self._vaults[0].parent / f"machine{self._count}"
        self._count += 1
        folders = {"VAULTWIRE_STATE": str(home / "state"), "VAULTWIRE_CACHE": str(home / "cache")}
        options = ("--vault", str(self._vaults[1]), "--database", self._address, "--lease-seconds", "3")
        server = Serving(self._vaults[0], *options, **folders)
        self.servers = [*self.servers, self._running.enter_context(server)]

    def owner(self) -> Serving:
        """Return a server that owns vaults, as soon as all vaults have owners."""
        while True:
            owned = [server.request("GET", "/health").json["vaults"] for server in self.servers]
            if sum(owned) == len(self._vaults):
                return max(zip(owned, self.servers, strict=True), key=lambda pair: pair[0])[1]

    def spread(self) -> None:
        """Wait until the vaults have different owners."""
        while sorted(server.request("GET", "/health").json["vaults"] for server in self.servers)[-2:] != [1, 1]:
            pass

    def kill(self) -> None:
        owner = self.owner()
        self.servers = [server for server in self.servers if server is not owner]
        owner.process.kill()
        self.owner()
        self.start()

    def pause(self) -> None:
        owner = self.owner()
        others = [server for server in self.servers if server is not owner]
        self.servers = others
        owner.process.send_signal(signal.SIGSTOP)
        self.owner()
        owner.process.send_signal(signal.SIGCONT)
        self.servers = [*others, owner]

    def drain(self) -> None:
        owner = self.owner()
        self.servers = [server for server in self.servers if server is not owner]
        assert owner.end(signal.SIGTERM)[0] == 0
        self.owner()
        self.start()


class Client(threading.Thread):
    """Appends numbered lines to a note of its own, through any server, until told to end."""

    def __init__(self, number: int, team: Team) -> None:
        super().__init__()
        self.path = f"Note{number}.md"
        self.acknowledged: list[int] = []
        self.tried = 0
        self.is_over = threading.Event()
        self._team = team
        self.vault = VAULTS[number % len(VAULTS)]
        self._random = random.Random(number)

    def run(self) -> None:
        while not self.is_over.is_set():
            self.tried += 1
            server = self._random.choice(self._team.servers)
            arguments = {"path": self.path, "content": f"line {self.tried} of this client", "mode": "append"}
            arguments["vault"] = self.vault
            try:
                reply = server.call("write_note", arguments)
            except (OSError, http.client.HTTPException):  # killed
                continue
            if reply.status == 200 and reply.json["success"]:
                self.acknowledged.append(self.tried)


def restart(database: PostgresServer) -> Callable[[], None]:
    def act() -> None:
        database.stop()
        database.start()

    return act


def test_no_acknowledged_line_is_lost_doubled_or_torn(tmp_path: Path) -> None:
    notes = "".join(f"=== Note{number}.md\nline 0 of this client\n" for number in range(CLIENTS))
    vaults = [write_vault(tmp_path / name, notes) for name in VAULTS]
    with running_postgres() as database, ExitStack() as running:
        address = database.new_database()
        made = Database(address)
        made.upgrade()
        made.close()
        team = Team(vaults, address, running)
        for _ in range(SERVERS):
            team.start()
        team.spread()
        clients = [Client(number, team) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            for fail in (team.kill, restart(database), team.pause, team.drain):
                before = [len(client.acknowledged) for client in clients]
                fail()
                while any(len(client.acknowledged) < count + 2 for client, count in zip(clients, before, strict=True)):
                    clients[0].is_over.wait(0.05)  # they go on after it
        finally:
            for client in clients:
                client.is_over.set()
            for client in clients:
                client.join()
        team.owner()
        for client in clients:
            lines = (tmp_path / client.vault / client.path).read_text().splitlines()
            numbers = [int(line.split()[1]) for line in lines]
            assert lines == [f"line {number} of this client" for number in numbers]  # none is torn
            assert numbers == sorted(set(numbers))  # none is doubled or at another place
            assert set(client.acknowledged) <= set(numbers) <= set(range(client.tried + 1))
        for vault in vaults:
            assert [name for name in vault.iterdir() if name.name.startswith(".")] == []  # nothing was left half-done
