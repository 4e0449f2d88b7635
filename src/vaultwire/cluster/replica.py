"""One server's part among several: takes the leases of its vaults, renews them, and gives them back.

A server owns all vaults of its run, or none. A server that owns none asks once in a while whether the vaults are free, which
also tells it who owns them. Nothing waits for a message of the database.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from vaultwire.cluster.database import Database
from vaultwire.cluster.leases import Lease, Leases, NotOwnerError, owners
from vaultwire.cluster.records import PostgresRecords
from vaultwire.vault.changes.record_store import RecordsAwayError, busy

# How often a lease is renewed within its time: two renewals may fail. How often a server that waits looks, in seconds.
_RENEWALS = 3
_LOOK_SECONDS = 1.0


class Standing(NamedTuple):
    """How a server stands. ``owns``: it may answer for the vaults, for ``seconds_left`` at least.

    ``owner`` and ``address`` are those of the server that owns them, "" if nobody does or it is not known. ``problem`` says in
    words why the database cannot be used, "" if it can: then reads go on as long as the lease lasts.
    """

    owns: bool
    owner: str
    address: str
    seconds_left: float
    problem: str


class Replica:
    """The part of this server: a thread of its own, from ``start`` to ``stop``.

    ``on_gain`` is called on that thread when the vaults have become this server's, and returns when it can answer; ``on_loss``
    when they are not any more, and returns when nothing of this server uses them. Between the two, ``records_of`` gives what
    keeps a vault's records.
    """

    def __init__(
        self,
        database: Database,
        leases: Leases,
        vaults: Mapping[str, str],
        on_gain: Callable[[], None],
        on_loss: Callable[[], None],
        tell: Callable[[str], None],
    ) -> None:
        """``vaults`` are the paths of the vaults, by the names that all servers have for them. ``tell`` writes to the log."""
        self._database = database
        self._leases = leases
        self._vaults = vaults
        self._on_gain, self._on_loss, self._tell = on_gain, on_loss, tell
        self._held: dict[str, Lease] = {}
        self._owner = self._address = self._problem = ""
        self._stopped = threading.Event()
        # Not a daemon: it gives the leases back at the end.
        self._thread = threading.Thread(target=self._run, name="vaultwire-leases")

    def start(self) -> None:
        """Take the leases if they are free, and whenever they become so, in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Give the leases back, after ``on_loss``, and end. Also if it never began."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._database.close()

    def records_of(self, vault: str) -> PostgresRecords:
        """Return what keeps the records of a vault. Raises VaultError (SERVER_BUSY) if this server does not own it any more."""
        lease = self._held.get(vault)
        if lease is None:
            raise busy(NotOwnerError(errno.EPERM, f"this server does not own the vault {vault!r} any more"))
        return PostgresRecords(self._database, lease)

    def standing(self) -> Standing:
        """Return how this server stands. Asks nobody."""
        held = [*self._held.values()]
        left = min((lease.left() for lease in held), default=0.0)
        return Standing(bool(held) and left > 0, self._owner, self._address, max(left, 0.0), self._problem)

    def _run(self) -> None:
        pause = 0.0
        while not self._stopped.wait(pause):
            try:
                if self._held:
                    self._renew()
                else:
                    self._look()
                self._note("")
            except NotOwnerError:
                self._lose()
            except RecordsAwayError as error:
                self._note(error.strerror or str(error))
            except Exception as error:  # noqa: BLE001 - it must go on: another server may be able to open the vaults
                self._note(str(error))
                if self._held:
                    self._give_back(rests=True)
            pause = self._pause()
        if self._held:
            self._give_back(rests=False)

    def _note(self, problem: str) -> None:
        if problem != self._problem:
            self._tell(problem or "the database answers again")
        self._problem = problem

    def _pause(self) -> float:
        return self._leases.seconds / _RENEWALS if self._held and not self._problem else _LOOK_SECONDS

    def _look(self) -> None:
        """Take the leases if they are free; else note who has them."""
        having = [owner for owner in owners(self._database) if owner.vault in self._vaults and owner.replica]
        leases = None if having else self._leases.take(self._vaults)
        if leases is None:
            was = self._address
            self._owner, self._address = (having[0].replica, having[0].address) if having else ("", "")
            if self._address and self._address != was:
                self._tell(f"the vaults are served by {self._address}; requests are passed on to there")
            return
        self._held = {lease.name: lease for lease in leases}
        self._owner, self._address = self._leases.replica, self._leases.address
        self._on_gain()
        self._tell(f"this server owns {', '.join(sorted(self._vaults))} now")

    def _renew(self) -> None:
        """Renew the leases. One whose time was over, because the database was away, goes on if nobody has taken it since."""
        if self._leases.renew([*self._held.values()]):
            self._give_back(rests=True)

    def _lose(self) -> None:
        for lease in self._held.values():
            lease.end()
        self._owner = self._address = ""
        self._tell("another server has taken the vaults of this one, which was silent for too long")
        self._on_loss()
        self._held = {}

    def _give_back(self, *, rests: bool) -> None:
        """Let go of the vaults: what is under way ends first, while the lease still lasts."""
        self._on_loss()
        leases, self._held = [*self._held.values()], {}
        self._owner = self._address = ""
        try:
            self._leases.give_back(leases, rests=rests)
        except RecordsAwayError:  # then the leases end by themselves
            pass
