"""The servers that share vaults: who is there, and how many vaults each of them has a share of.

Each server notes every second that it is there. A server that has come later wants its share, and says so until it has had it
once; the others then give back what they have beyond their own share. Afterwards nothing moves by itself until a server comes
or goes, so no vault goes to and fro, and what a person has moved stays there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from vaultwire.cluster.database import Database

_FORGOTTEN_SECONDS = 3600
# Part of the time of a lease. A server that is gone must not count when its leases end.
_SILENCE = 2 / 3


class Meeting(NamedTuple):
    """Who is there. ``others``: addresses. ``share``: vaults that each server may have. ``wanted``: by others, of theirs."""

    others: tuple[str, ...]
    share: int
    wanted: int


class Members:
    """The servers with the same vaults, as one of them sees the others. All methods raise RecordsAwayError."""

    def __init__(self, database: Database, name: str, address: str, seconds: float, vaults: Iterable[str]) -> None:
        """``seconds``: the time of a lease. A server that has been there for so long gets its share."""
        self._database = database
        self._name, self._address, self._seconds = name, address, seconds
        names = sorted(vaults)
        self._serves = json.dumps(names)
        self._vaults = len(names)
        self._wants: int | None = None  # 0 once it has had its share

    def meet(self, owned: int) -> Meeting:
        """Note that this server is there and owns so many vaults, and return who else is."""
        # Noted again a second later, so nobody waits for the disk: a database that was killed may have lost the last note.
        with self._database.transaction(synchronous_commit="off") as transaction:
            sql = (
                "INSERT INTO members (name, address, serves, wants, until) "
                "VALUES (%s, %s, %s, %s, clock_timestamp() + make_interval(secs => %s)) "
                "ON CONFLICT (name) DO UPDATE SET wants = excluded.wants, until = excluded.until"
            )
            seconds = self._seconds * _SILENCE
            transaction.execute(sql, (self._name, self._address, self._serves, self._wants or 0, seconds))
            sql = (
                "SELECT address, CASE WHEN since < clock_timestamp() - make_interval(secs => %s) THEN wants ELSE 0 END "
                "FROM members WHERE name != %s AND serves = %s AND until > clock_timestamp() ORDER BY address"
            )
            others = transaction.execute(sql, (self._seconds, self._name, self._serves)).fetchall()
        low, rest = divmod(self._vaults, len(others) + 1)
        if self._wants != 0:
            self._wants = max(low or 1, owned) - owned
        return Meeting(tuple(address for address, _ in others), low + bool(rest), sum(wants for _, wants in others))

    def come_back(self) -> None:
        """Want a share again, because this server has lost what it had."""
        self._wants = None

    def leave(self) -> None:
        """Note that this server has gone, and forget those that went without a word."""
        with self._database.transaction() as transaction:
            sql = "DELETE FROM members WHERE name = %s OR until < clock_timestamp() - make_interval(secs => %s)"
            transaction.execute(sql, (self._name, _FORGOTTEN_SECONDS))
