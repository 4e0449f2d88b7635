"""Calls ``before`` with each statement, before SQLite carries it out: to count statements, to fail or to kill at one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any


def _nothing(sql: str) -> None:
    pass


before: Callable[[str], None] = _nothing


class Connection(sqlite3.Connection):
    """A connection that says what it is about to do."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """See the base class."""
        before(sql)
        return super().execute(sql, *values)

    def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """See the base class."""
        before(sql)
        return super().executemany(sql, *values)


_connect = sqlite3.connect


def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
    """In the place of ``sqlite3.connect``."""
    return _connect(*args, factory=Connection, **kwargs)
