"""The calls that several servers have counted, as rows (``trust.limits.CallRows``): so a client has one limit at all of them.

A row has what one server counted in about a second. A server looks at all rows of the last minute, and asks only for the
contents of those that it has not been given: so none is missed that was committed late, whatever number it has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from vaultwire.cluster.database import Database, Statement

CallKey: TypeAlias = tuple[tuple[str, str], str, int]
"""See ``trust.limits``."""


class CallRows:
    """The calls in the database, as one server uses them. All methods raise RecordsAwayError if it does not answer."""

    def __init__(self, database: Database, server: str, vaults: Iterable[str], seconds: float) -> None:
        """``server`` names this one; ``vaults`` are those that its group serves. Calls count for so many seconds."""
        self._database = database
        self._server = server
        self._group = hashlib.sha256(json.dumps(sorted(vaults)).encode()).digest()
        self._seconds = seconds
        self._seen: list[int] = []

    def exchange(self, calls: Mapping[CallKey, Sequence[float]]) -> dict[CallKey, list[float]]:
        """Keep calls for the other servers of the group, and drop those that are over.

        Return those of the others that this server has not been given yet. Calls are by client, name and limit, each as the
        seconds since it was made.
        """
        # Another server may be stopped just when it drops the same rows: nobody waits for it.
        over = "SELECT id FROM calls WHERE at <= clock_timestamp() - make_interval(secs => %s) FOR UPDATE SKIP LOCKED"
        statements: list[Statement] = [(f"DELETE FROM calls WHERE id = ANY(ARRAY({over}))".encode(), (self._seconds,))]
        if calls:
            sql = b"INSERT INTO calls (serves, server, calls) VALUES (%s, %s, %s)"
            statements.append((sql, (self._group, self._server, _to_text(calls))))
        sql = (
            b"SELECT id, extract(epoch FROM clock_timestamp() - at)::float8, "
            b"CASE WHEN id = ANY(%s::bigint[]) THEN NULL ELSE calls END FROM calls "
            b"WHERE at > clock_timestamp() - make_interval(secs => %s) AND serves = %s AND server != %s"
        )
        statements.append((sql, (self._seen, self._seconds, self._group, self._server)))
        # Nobody waits for the disk: what a database that was killed has lost counts at its own server.
        with self._database.begun(statements, synchronous_commit="off") as (_, answers):
            rows = answers[-1].fetchall()
        self._seen = [number for number, _, _ in rows]
        others: dict[CallKey, list[float]] = {}
        for _, since, text in rows:
            for principal, own_name, name, most, ages in [] if text is None else json.loads(text):
                # The clock of a database that took over may be behind.
                others.setdefault(((principal, own_name), name, most), []).extend(max(age + since, 0.0) for age in ages)
        return others


def _to_text(calls: Mapping[CallKey, Sequence[float]]) -> str:
    """Return calls as JSON. It is ASCII, so a name may have what no text of PostgreSQL has: NUL, half a character."""
    return json.dumps([[*client, *rest, [round(age, 3) for age in ages]] for (client, *rest), ages in calls.items()])
