"""One server's part among several: takes leases of vaults, renews them, and gives them back.

Each vault has an owner of its own. Once a second a server looks who is there, which vaults are free, and who owns the others;
sooner when a lease ends or a vault has no owner, because then somebody waits for an answer. Nothing waits for a message of the
database.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from vaultwire.cluster.database import Database, DatabaseError
from vaultwire.cluster.leases import Lease, Leases, NotOwnerError, now, owners
from vaultwire.cluster.members import Members
from vaultwire.cluster.records import PostgresRecords
from vaultwire.vault.changes.record_store import RecordsAwayError, busy

# How often a lease is renewed within its time: two renewals may fail. How often a server looks, in seconds.
_RENEWALS = 3
_LOOK_SECONDS = 1.0
_LEAST_PAUSE = 0.1
# A vault that nobody takes for so long is taken by a server that has its share already: the others may be unable to.
_FREE_SECONDS = 2.0


class Standing(NamedTuple):
    """How a server stands to a vault. ``owns``: it may answer for the vault, for ``seconds_left`` at least.

    ``address`` is that of the server that owns it, "" if nobody does or it is not known.
    """

    owns: bool
    address: str
    seconds_left: float


class Replica:
    """The part of this server: a thread of its own, from ``start`` to ``stop``.

    ``on_gain`` is called on that thread when a vault has become this server's, and must not wait; ``on_loss`` when it is not
    any more, on a thread of its own, and returns when nothing of this server uses it. Between the two, ``records_of`` gives
    what keeps the vault's records.
    """

    def __init__(
        self,
        database: Database,
        leases: Leases,
        vaults: Mapping[str, str],
        on_gain: Callable[[str], None],
        on_loss: Callable[[str], None],
        tell: Callable[[str], None],
        refreshes: Sequence[Callable[[], None]] = (),
    ) -> None:
        """``vaults`` are the paths of the vaults, by the names that all servers have for them. ``tell`` writes to the log.

        Each of ``refreshes`` reads again what else is in the database; they are called with each look.
        """
        self._database = database
        self._leases = leases
        self._members = Members(database, leases.replica, leases.address, leases.seconds, vaults)
        self._vaults = vaults
        self._on_gain, self._on_loss, self._tell, self._refreshes = on_gain, on_loss, tell, refreshes
        self._held: dict[str, Lease] = {}
        self._leaving: dict[str, threading.Thread] = {}  # what gives a vault back
        self._owners: dict[str, str] = {}  # the addresses of the owners of the other vaults
        self._free_since: dict[str, float] = {}
        self._renewed_at = float("-inf")
        self.others: tuple[str, ...] = ()
        """The addresses of the other servers that are there."""
        self.problem = ""
        """In words why the database cannot be used, "" if it can. Meanwhile reads go on as long as a lease lasts."""
        self._stopped = threading.Event()
        # Not a daemon: it gives the leases back at the end.
        self._thread = threading.Thread(target=self._run, name="vaultwire-leases")

    def start(self) -> None:
        """Take leases of vaults that are free, and whenever some become so, in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Give the leases back, after ``on_loss``, and end. Also if it never began."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._database.close()

    def records_of(self, vault: str) -> PostgresRecords:
        """Return what keeps the records of a vault. Raises VaultError (SERVER_BUSY) if this server does not own it."""
        lease = self._held.get(vault)
        if lease is None or vault in self._leaving:
            raise busy(NotOwnerError(errno.EPERM, f"this server does not own the vault {vault!r}"))
        return PostgresRecords(self._database, lease)

    def standing(self, vault: str) -> Standing:
        """Return how this server stands to a vault. Asks nobody."""
        lease = self._held.get(vault)
        if lease is None:
            return Standing(False, self._owners.get(vault, ""), 0.0)
        left = lease.left()
        return Standing(left > 0, self._leases.address, max(left, 0.0))

    def _run(self) -> None:
        pause = 0.0
        while not self._stopped.wait(pause):
            pause = min(_LOOK_SECONDS, self._leases.seconds / _RENEWALS)
            try:
                self._renew()
                for refresh in self._refreshes:
                    refresh()
                # A lease that nobody renews is taken at its end, and not up to a second later.
                pause = max(_LEAST_PAUSE, min(pause, self._look()))
                self._note("")
            except RecordsAwayError as error:
                self._note(error.strerror or str(error))
            except Exception as error:  # noqa: BLE001 - it must go on with its other vaults
                self._note(str(error))
        try:
            self._members.leave()  # first: the others may take more at once
        except RecordsAwayError:
            pass
        for lease in [*self._held.values()]:
            self._release(lease, rests=False)
        for thread in [*self._leaving.values()]:
            thread.join()

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            self._tell(problem or "the database answers again")
        self.problem = problem

    def _renew(self) -> None:
        """Renew the leases. One whose time was over, because the database was away, goes on if nobody has taken it since."""
        leases = [*self._held.values()]
        if not leases or (now() - self._renewed_at < self._leases.seconds / _RENEWALS and not self.problem):
            return
        at = now()
        lost = self._leases.renew(leases)
        self._renewed_at = at
        for lease in lost:
            if self._may_leave(lease):  # else this server has given it back itself
                lease.end()
                self._tell(f"another server has taken {lease.name}: this one was silent for too long")
                self._members.come_back()
                self._release(lease, rests=False)

    def _look(self) -> float:
        """Note who is there and who owns what, take vaults that are free, give back what a person or a newcomer asks for.

        Return the seconds until the first lease of another server ends if it is not renewed, 0 while a vault changes hands.
        """
        meeting = self._members.meet(len(self._held))
        there = [owner for owner in owners(self._database) if owner.replica]
        owned = {owner.vault: owner.address for owner in there}
        ends = [owner.seconds_left for owner in there if owner.vault in self._vaults and owner.vault not in self._held]
        self.others = meeting.others
        was, self._owners = self._owners, {name: owned[name] for name in self._vaults if name in owned}
        taken, problems = [], []
        for name in sorted(self._vaults):
            if name in owned:
                self._free_since.pop(name, None)
            elif name not in self._held and name not in self._leaving and self._has_room(name, meeting.share):
                try:
                    taken += [name] if self._take(name) else []
                except DatabaseError as error:  # another folder; the other vaults can be taken
                    problems.append(error)
        if taken:
            self._tell(f"this server owns {', '.join(taken)} now")
        for address in sorted(set(self._owners.values()) - {*was.values(), self._leases.address}):
            vaults = ", ".join(name for name, owner in sorted(self._owners.items()) if owner == address)
            self._tell(f"{address} owns {vaults}; requests for that are passed on to there")
        leases = sorted(self._held.values(), key=lambda lease: lease.name)
        asked = {(owner.vault, owner.number) for owner in there if owner.is_asked_back}
        for lease in leases:
            if (lease.name, lease.number) in asked:
                self._release(lease, rests=True)
        staying = [lease for lease in leases if lease.name not in self._leaving]
        for lease in staying[max(meeting.share, len(staying) - meeting.wanted) :]:
            self._release(lease, rests=True)
        if problems:
            raise problems[0]
        if self._leaving or any(now() - since < _FREE_SECONDS for since in self._free_since.values()):
            return 0.0
        return min(ends, default=_LOOK_SECONDS)

    def _has_room(self, name: str, share: int) -> bool:
        free_since = self._free_since.setdefault(name, now())
        return len(self._held) < share or now() - free_since > _FREE_SECONDS

    def _take(self, name: str) -> bool:
        """Take a vault that seems to be free; return whether it was."""
        leases = self._leases.take({name: self._vaults[name]})
        if leases is None:
            return False
        self._held[name] = leases[0]
        self._free_since.pop(name, None)
        try:
            self._on_gain(name)
        except Exception:  # another server may be able to
            self._release(leases[0], rests=True)
            raise
        return True

    def _may_leave(self, lease: Lease) -> bool:
        """Tell whether this server has the lease and has not begun to give it back.

        It may have done both while the database was asked about it. ``_give_back`` ends with ``_leaving``: look there first.
        """
        return lease.name not in self._leaving and self._held.get(lease.name) is lease

    def _release(self, lease: Lease, *, rests: bool) -> None:
        """Begin to let go of a vault. The leases of the others must be renewed meanwhile."""
        if self._may_leave(lease):
            thread = threading.Thread(
                target=self._give_back, args=(lease,), kwargs={"rests": rests}, name="vaultwire-leaving"
            )
            self._leaving[lease.name] = thread
            thread.start()

    def _give_back(self, lease: Lease, *, rests: bool) -> None:
        """Let go of a vault: what is under way ends first, while the lease still lasts."""
        try:
            self._on_loss(lease.name)
        finally:
            del self._held[lease.name]
            try:
                self._leases.give_back([lease], rests=rests)
            except RecordsAwayError:  # then the lease ends by itself
                pass
            finally:
                del self._leaving[lease.name]
