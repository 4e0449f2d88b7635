"""Three servers of this computer that share vaults through a database, and what happens to the one that owns them."""

from __future__ import annotations

import http.client
import itertools
import random
import signal
from collections.abc import Sequence
from contextlib import ExitStack, closing
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from support.mixed_load import Answer, Load, Outcome, Send, classify
from support.serving import Serving
from support.teams import count, spread, wait_for
from vaultwire.cluster.database import Database

SERVERS = 3


class Team:
    """The servers of some vaults, as many as at first."""

    def __init__(self, vaults: Path | Sequence[Path], address: str, running: ExitStack) -> None:
        """``address`` is that of the database."""
        self._vaults = [vaults] if isinstance(vaults, Path) else [*vaults]
        self._address, self._running = address, running
        self._count = 0
        self.servers: list[Serving] = []

    def start_all(self) -> None:
        """Start the servers, and wait until the vaults are spread over them."""
        for _ in range(SERVERS):
            self.start()
        self._spread()

    def _spread(self) -> None:
        with closing(Database(self._address)) as database:
            spread(database, *self.servers, vaults=len(self._vaults))

    def start(self) -> None:
        """Start one more, with a state folder of its own."""
        home = self._vaults[0].parent / f"machine{self._count}"
        self._count += 1
        folders = {"VAULTWIRE_STATE": str(home / "state"), "VAULTWIRE_CACHE": str(home / "cache")}
        others = [part for vault in self._vaults[1:] for part in ("--vault", str(vault))]
        server = Serving(self._vaults[0], *others, "--database", self._address, "--lease-seconds", "3", **folders)
        self.servers = [*self.servers, self._running.enter_context(server)]

    def owner(self) -> Serving:
        """Return a server that owns most vaults, as soon as all vaults have owners."""
        owned: list[int] = []

        def have_owners() -> bool:
            owned[:] = self._owned()
            return sum(owned) == len(self._vaults)

        wait_for(have_owners)
        return self.servers[owned.index(max(owned))]

    def _owned(self) -> list[int]:
        return [*map(count, self.servers)]

    def wait_until_ready(self) -> None:
        """Spread the vaults, so that none moves by itself, and wait until each server answers calls or passes them on."""
        self._spread()
        for server, vault in itertools.product(self.servers, self._vaults):
            about = {"vault": vault.name} if len(self._vaults) > 1 else {}
            wait_for(partial(self._answers, server, {"limit": 1, **about}))

    @staticmethod
    def _answers(server: Serving, about: dict[str, Any]) -> bool:
        return server.call("list_notes", about).status == HTTPStatus.OK

    def kill(self) -> None:
        """Kill an owner, and start another server once somebody owns the vaults."""
        owner = self._leave()
        owner.process.kill()
        self.owner()
        self.start()

    def pause(self) -> None:
        """Stop an owner until another server owns its vaults."""
        owner = self._leave()
        owner.process.send_signal(signal.SIGSTOP)
        self.owner()
        owner.process.send_signal(signal.SIGCONT)
        self.servers = [*self.servers, owner]

    def drain(self) -> None:
        """Tell an owner to end, and start another server."""
        owner = self._leave()
        assert owner.end(signal.SIGTERM)[0] == 0
        self.owner()
        self.start()

    def door(self, number: int) -> Send:
        """Return what calls tools, each at a server by chance."""
        chance = random.Random(number)

        def send(tool: str, arguments: dict[str, Any]) -> Answer:
            try:
                reply = chance.choice(self.servers).call(tool, arguments)
            except (OSError, http.client.HTTPException) as error:  # killed
                return Answer(Outcome.UNKNOWN, type(error).__name__)
            return classify(reply.status, reply.body)

        return send

    def wait_for_calls(self, load: Load, count: int) -> None:
        """Wait until each client of a load has had so many more answers."""
        before = [client.answered for client in load.clients]
        while any(client.answered < answered + count for client, answered in zip(load.clients, before, strict=True)):
            assert not load.wrong, load.wrong
            load.is_over.wait(0.05)

    def _leave(self) -> Serving:
        """Return an owner that is not called any more."""
        owner = self.owner()
        self.servers = [server for server in self.servers if server is not owner]
        return owner
