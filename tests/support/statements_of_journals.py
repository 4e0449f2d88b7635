"""Calls ``before`` with each statement, before SQLite carries it out: to count statements, to fail or to kill at one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any


def _nothing(sql: str) -> None:
    pass


before: Callable[[str], None] = _nothing
# Whether SQLite waits for the disk. What a killed process leaves is in the system's memory; only a power cut needs the wait.
syncs = True


class Connection(sqlite3.Connection):
    """A connection that says what it is about to do."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """See the base class."""
        before(sql)
        if not syncs and sql.startswith("PRAGMA synchronous"):
            sql = "PRAGMA synchronous = OFF"
        return super().execute(sql, *values)

    def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """See the base class."""
        before(sql)
        return super().executemany(sql, *values)


_connect = sqlite3.connect


def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
    """In the place of ``sqlite3.connect``."""
    return _connect(*args, factory=Connection, **kwargs)
