"""The API keys of several servers, as rows (``trust.keys.KeyRows``): names and hashes, never a key itself."""

from __future__ import annotations

from vaultwire.cluster.database import Database


class KeyRows:
    """The keys in the database. All methods raise RecordsAwayError if it does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, created: str, fingerprint: str) -> bool:
        """Keep a key; False if there is one of this name already."""
        with self._database.transaction() as transaction:
            sql = "INSERT INTO keys (name, created, fingerprint) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
            return transaction.execute(sql, (name, created, fingerprint)).rowcount == 1

    def remove(self, name: str) -> bool:
        """Delete a key; False if there is none of this name."""
        with self._database.transaction() as transaction:
            return transaction.execute("DELETE FROM keys WHERE name = %s", (name,)).rowcount == 1

    def all(self) -> list[tuple[str, str, str]]:
        """Return the name, the time of issue and the hash of each key, by name."""
        with self._database.transaction() as transaction:
            return [
                *transaction.execute('SELECT name, created, fingerprint FROM keys ORDER BY name COLLATE "C"').fetchall()
            ]
