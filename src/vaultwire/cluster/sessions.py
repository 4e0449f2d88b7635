"""The sessions of clients, as all servers know them (``server.mcp_endpoint.SharedSessions``).

A row has what a client said when it opened its session, and what it has asked for since. The id is a secret, like a key: only
its hash is kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import NamedTuple

from vaultwire.cluster.database import Database

# A session that no server has opened for so long is over: its client has left without a word.
_KEPT_DAYS = 7


class KeptSession(NamedTuple):
    """A session: whose it is, its ``initialize`` message as JSON, its log level ("" for none), the resources it watches."""

    principal: str
    opening: str
    level: str
    watched: frozenset[str]


class Sessions:
    """The sessions in the database. All methods raise RecordsAwayError if it does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, id_: str, principal: str, opening: str) -> None:
        """Keep a new session, and drop those that are over."""
        with self._database.transaction() as transaction:
            sql = "DELETE FROM sessions WHERE used < clock_timestamp() - make_interval(days => %s)"
            transaction.execute(sql, (_KEPT_DAYS,))
            sql = "INSERT INTO sessions (hash, principal, opening) VALUES (%s, %s, %s)"
            transaction.execute(sql, (_hash(id_), principal, opening))

    def load(self, id_: str) -> KeptSession | None:
        """Return a session, None if there is none of this id."""
        with self._database.transaction() as transaction:
            sql = "UPDATE sessions SET used = clock_timestamp() WHERE hash = %s RETURNING principal, opening, level, watched"
            row = transaction.execute(sql, (_hash(id_),)).fetchone()
        return None if row is None else KeptSession(row[0], row[1], row[2], frozenset(json.loads(row[3])))

    def note(self, id_: str, level: str, watched: Collection[str]) -> None:
        """Keep what a session asks for now."""
        with self._database.transaction() as transaction:
            sql = "UPDATE sessions SET level = %s, watched = %s WHERE hash = %s"
            transaction.execute(sql, (level, json.dumps(sorted(watched)), _hash(id_)))

    def end(self, id_: str) -> None:
        """Forget a session."""
        with self._database.transaction() as transaction:
            transaction.execute("DELETE FROM sessions WHERE hash = %s", (_hash(id_),))


def _hash(id_: str) -> bytes:
    return hashlib.sha256(id_.encode("utf-8", "surrogateescape")).digest()
