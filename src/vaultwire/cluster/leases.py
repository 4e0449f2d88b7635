"""Leases: which server owns a vault, until when, and the fencing number that each write is checked with.

A lease is a row. Its times are the database's alone. The owner measures its own time from before it asked, so it never takes a
lease to be longer than the database does, also if it was paused meanwhile. With each change of owner the number grows by one:
a write that names an earlier number is refused, from any server and however late.
"""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import psycopg

from vaultwire.cluster.database import Database, DatabaseError
from vaultwire.vault.changes.record_store import RecordsAwayError

# Before its end a lease is not used any more: a rename takes far less.
_MARGIN = 0.1
# So long a server leaves a vault to others after it gave it back because it was asked.
_REST_SECONDS = 10
# A write takes a few milliseconds.
_LOCK_MS = 500


def now() -> float:
    """Return seconds of a clock that also runs while this process, or this computer, is stopped."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    elif sys.platform == "darwin":  # noqa: RET505 - mypy knows the branches of other systems by this form only
        return time.clock_gettime(time.CLOCK_MONOTONIC)  # time.monotonic stops there when the computer sleeps
    else:
        return time.monotonic()


class NotOwnerError(RecordsAwayError):
    """This server does not own the vault any more; nothing was changed."""


class Lease:
    """What one server has of one vault. Safe to use from several threads."""

    def __init__(self, vault: int, name: str, number: int, seconds: float) -> None:
        self.vault = vault
        """The row of the vault."""
        self.name = name
        self.number = number
        """The fencing number."""
        self.seconds = seconds
        self._last = float("-inf")
        self._is_over = False

    def renewed(self, asked_at: float) -> None:
        """Note that it is ours for its whole time from the moment on when that was asked for."""
        self._last = max(self._last, asked_at + self.seconds * (1 - _MARGIN))

    def end(self) -> None:
        """Use it no more."""
        self._is_over = True  # and stays so: the answer to a renewal may still be on its way

    def left(self) -> float:
        """Return for how many seconds it may be used; below zero after its end."""
        return float("-inf") if self._is_over else self._last - now()

    def check(self) -> None:
        """Raise NotOwnerError if it may not be used any more. Asks no database, so it can stand before each rename."""
        if self.left() <= 0:
            raise self.lost()

    def lost(self) -> NotOwnerError:
        """Return the error of a write without a lease."""
        return NotOwnerError(errno.EPERM, f"this server does not own the vault {self.name!r} any more")


class Owner(NamedTuple):
    """Who owns a vault: the server's name and address, "" for nobody, and how many seconds of the lease are left.

    ``is_asked_back``: a person wants the owner to leave it to another server.
    """

    vault: str
    path: str
    replica: str
    address: str
    number: int
    seconds_left: float
    is_asked_back: bool


class Leases:
    """The leases of one server, named ``replica``, that others reach at ``address``.

    All methods raise RecordsAwayError if the database does not answer.
    """

    def __init__(self, database: Database, replica: str, address: str, seconds: float) -> None:
        self._database = database
        self.replica = replica
        self.address = address
        self.seconds = seconds

    def take(self, vaults: Mapping[str, str]) -> list[Lease] | None:
        """Take the leases of all these vaults, given as paths by their names; None if one of them has another owner.

        Raises DatabaseError if a vault of this name lies at another path: then it may be another vault.
        """
        names = sorted(vaults)  # always in this order: two servers never wait for each other
        asked_at = now()
        try:
            with self._database.transaction(lock_timeout=_LOCK_MS) as transaction:
                for name in names:
                    sql = "INSERT INTO vaults (name, path) VALUES (%s, %s) ON CONFLICT DO NOTHING"
                    transaction.execute(sql, (name, vaults[name]))
                sql = (
                    "SELECT id, name, path, fencing, until < clock_timestamp() AND (released_by != %s "
                    "OR released_at < clock_timestamp() - make_interval(secs => %s)) "
                    "FROM vaults WHERE name = ANY(%s) ORDER BY name FOR UPDATE"
                )
                rows = transaction.execute(sql, (self.replica, _REST_SECONDS, names)).fetchall()
                if not all(is_free for *_, is_free in rows):
                    return None
                for _, name, path, _, _ in rows:
                    _check_path(name, path, vaults[name])
                sql = (
                    "UPDATE vaults SET replica = %s, address = %s, fencing = fencing + 1, is_asked_back = false, "
                    "until = clock_timestamp() + make_interval(secs => %s) WHERE id = ANY(%s)"
                )
                transaction.execute(sql, (self.replica, self.address, self.seconds, [row[0] for row in rows]))
        except psycopg.errors.LockNotAvailable:
            self._end_stuck_writes(names)
            return None
        leases = [Lease(vault, name, number + 1, self.seconds) for vault, name, _, number, _ in rows]
        for lease in leases:
            lease.renewed(asked_at)
        return leases

    def _end_stuck_writes(self, names: list[str]) -> None:
        """End the transactions that hold the row of a lease which is over: their server was stopped in one, or cut off.

        Usually the database has done that by itself (``records``), but not if it waits for the rest of a message.
        """
        with self._database.transaction() as transaction:
            sql = (
                "SELECT pg_terminate_backend(locks.pid) FROM vaults JOIN pg_locks AS locks "
                "ON locks.transactionid = vaults.xmax AND locks.locktype = 'transactionid' AND locks.granted "
                "WHERE name = ANY(%s) AND until < clock_timestamp()"
            )
            transaction.execute(sql, (names,))

    def renew(self, leases: list[Lease]) -> list[Lease]:
        """Make the leases last for their whole time again. Return those that are lost."""
        asked_at = now()
        lost = []
        with self._database.transaction() as transaction:
            for lease in sorted(leases, key=lambda each: each.name):  # always in this order, as in ``take``
                sql = (
                    "UPDATE vaults SET until = clock_timestamp() + make_interval(secs => %s) "
                    "WHERE id = %s AND fencing = %s AND replica = %s"
                )
                values = (lease.seconds, lease.vault, lease.number, self.replica)
                if transaction.execute(sql, values).rowcount != 1:
                    lost.append(lease)
        for lease in leases:
            if lease not in lost:
                lease.renewed(asked_at)
        return lost

    def give_back(self, leases: list[Lease], *, rests: bool) -> None:
        """End the leases at once, so that another server may take the vaults. ``rests``: let others have them first."""
        for lease in leases:
            lease.end()
        with self._database.transaction() as transaction:
            for lease in leases:
                sql = (
                    "UPDATE vaults SET until = '-infinity', replica = '', address = '', is_asked_back = false, "
                    "released_by = %s, released_at = clock_timestamp() WHERE id = %s AND fencing = %s"
                )
                transaction.execute(sql, (self.replica if rests else "", lease.vault, lease.number))


def _check_path(name: str, path: str, here: str) -> None:
    if path != here:
        raise DatabaseError(
            f"the database knows the vault {name!r} at {path}, here it is at {here}. If it is the same vault, give all servers "
            f"the same path. If it has moved: vaultwire database move {name} {here} URL, when no server runs. If it is another "
            "vault, give it another name: --vault NAME=PATH"
        )


# ---------------------------------------------------------------------- for a person


def owners(database: Database) -> list[Owner]:
    """Return who owns which vault, by name. Raises RecordsAwayError."""
    sql = (
        "SELECT name, path, CASE WHEN until > clock_timestamp() THEN replica ELSE '' END, address, fencing, "
        "CASE WHEN until > clock_timestamp() THEN extract(epoch FROM until - clock_timestamp())::float8 ELSE 0 END, "
        "is_asked_back FROM vaults ORDER BY name"
    )
    with database.transaction() as transaction:
        return [Owner(*row) for row in transaction.execute(sql).fetchall()]


def ask_back(database: Database, name: str) -> Owner:
    """Ask the owner of a vault to give it back, which it does when it looks, within a second; return who that is.

    Raises DatabaseError for a vault that the database does not know, and RecordsAwayError.
    """
    owner = _known(database, name)
    if owner.replica:
        with database.transaction() as transaction:
            sql = "UPDATE vaults SET is_asked_back = true WHERE name = %s AND fencing = %s"
            transaction.execute(sql, (name, owner.number))
    return owner


def move_vault(database: Database, name: str, path: str) -> None:
    """Take a vault to lie at another path from now on. Raises DatabaseError if a server owns it, and RecordsAwayError."""
    _known(database, name)
    with database.transaction() as transaction:
        sql = "UPDATE vaults SET path = %s WHERE name = %s AND until < clock_timestamp()"
        cursor: psycopg.Cursor[Any] = transaction.execute(sql, (path, name))
        if cursor.rowcount != 1:
            raise DatabaseError(f"a server owns the vault {name!r}: end all servers of this vault first")


def _known(database: Database, name: str) -> Owner:
    known = owners(database)
    for owner in known:
        if owner.vault == name:
            return owner
    names = ", ".join(owner.vault for owner in known) or "none"
    raise DatabaseError(f"the database knows no vault {name!r} (it knows: {names})")
