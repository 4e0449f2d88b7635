"""Takes over what one computer has recorded of a vault, so that servers can undo it and decide what waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vaultwire.cluster.database import RECORDS, Database, DatabaseError
from vaultwire.cluster.leases import Leases
from vaultwire.cluster.records import PostgresRecords
from vaultwire.vault.changes.record_store import RecordStore

# A write holds the row of the lease, so nobody takes the vault before it is done, however long it takes.
_SECONDS = 300
_NUMBERED = ("changes", "proposals")


def take_over(database: Database, name: str, path: str, old: RecordStore) -> int:
    """Copy all records of a vault, or none, and return how many changes there are.

    Raises DatabaseError if a server owns the vault, or if the database has records of it already, and OSError.
    """
    leases = Leases(database, "import", "", _SECONDS)
    taken = leases.take({name: path})
    if taken is None:
        raise DatabaseError(f"a server owns the vault {name!r}: end all servers of this vault first")
    try:
        records = PostgresRecords(database, taken[0])
        if any(map(records.last_number, (*_NUMBERED, "decisions"))):
            raise DatabaseError(f"the database has a journal of the vault {name!r} already; two cannot be joined")
        with records.writing() as transaction:
            for table, columns in RECORDS.items():
                # The database numbers decisions of all vaults together.
                names = [column for column in columns if (table, column) != ("decisions", "id")]
                sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
                transaction.executemany(sql, _rows(old, table, names))
            for table in _NUMBERED:
                records.use_up(transaction, table, old.last_number(table))
        return int(records.rows("SELECT count(*) FROM changes")[0][0])
    finally:
        leases.give_back(taken, rests=False)


def _rows(old: RecordStore, table: str, names: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yield the rows of a table in their order; of contents, those of one change or proposal at a time."""
    columns = ", ".join(names)
    if table != "contents":
        yield from old.rows(f"SELECT {columns} FROM {table}{' ORDER BY id' if 'id' in RECORDS[table] else ''}")
        return
    for (owner,) in old.rows("SELECT DISTINCT owner FROM contents"):
        for row in old.rows(f"SELECT {columns} FROM contents WHERE owner = ?", owner):
            yield [bool(value) if name == "is_compressed" else value for name, value in zip(names, row, strict=True)]
