"""What lasts of sign-in: people, grants, and the hashes of codes and tokens, in one small SQLite file of the state folder.

SQLite, because servers and commands write at the same time, and because a code, a rotation and a revocation must each happen
once or not at all: one transaction says that in a line. A secret is never stored, only its SHA-256: secrets have 256 random
bits, so nobody can find one by trying. A secret is looked up by its hash, so the time of an answer tells nothing of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from vaultwire.trust.policy import READS_ONLY
from vaultwire.vault.disk.file_operations import keep_private, make_private

ACCESS, CONNECTOR = "access", "connector"
"""Kinds of secrets that open the other doors."""

CODE_SECONDS = 60
ACCESS_SECONDS = 3600
# A refresh token that nobody used for so long is over.
_REFRESH_SECONDS = 90 * 24 * 3600
_SECRET_BYTES = 32
# A browser in which a person once signed in.
BROWSER_SECONDS = 365 * 24 * 3600
_MOST_BROWSERS = 50
# A browser that shows a person's notes.
SESSION_SECONDS = 7 * 24 * 3600
# Between two notes of when a grant was last used.
_USED_SECONDS = 3600
# Until a person ends it.
FOREVER = 1 << 40

_TABLES = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY COLLATE NOCASE, password TEXT NOT NULL, created INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS browsers (hash BLOB PRIMARY KEY, person TEXT NOT NULL COLLATE NOCASE, expires INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (hash BLOB PRIMARY KEY, person TEXT NOT NULL COLLATE NOCASE, expires INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS grants (
    id TEXT PRIMARY KEY, person TEXT NOT NULL COLLATE NOCASE, client TEXT NOT NULL, client_id TEXT NOT NULL,
    client_name TEXT NOT NULL, writes INTEGER NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL,
    used INTEGER NOT NULL, folders TEXT NOT NULL DEFAULT '[]'
);
CREATE TABLE IF NOT EXISTS tokens (
    hash BLOB PRIMARY KEY, kind TEXT NOT NULL, grant_id TEXT NOT NULL, expires INTEGER NOT NULL, used INTEGER NOT NULL,
    parent BLOB, challenge TEXT, redirect_uri TEXT
);
CREATE INDEX IF NOT EXISTS tokens_by_grant ON tokens (grant_id);
CREATE INDEX IF NOT EXISTS tokens_by_parent ON tokens (parent);
"""


Folders: TypeAlias = tuple[tuple[str, str], ...]
"""Folders, each as the name of its vault and its path there."""


def names_of(folders: Folders) -> list[str]:
    """Return folders in words, one each, with the names of their vaults where they have some."""
    return [
        f"the folder {path}{f' of the vault {vault}' * bool(vault)}" if path else f"the vault {vault}"
        for vault, path in folders
    ]


class Person(NamedTuple):
    """Somebody who may sign in; ``password`` is a hash of Argon2."""

    name: str
    password: str
    created: int


class Grant(NamedTuple):
    """What a person allowed a client: for whom ``person`` is empty, the person at the keyboard made a connector address.

    ``client`` is the host that gets the answers; ``client_name`` is what the client calls itself, which may be anything.
    ``folders`` are all that it may see, each with its vault; an empty path is the whole vault, and none are all vaults.
    """

    id: str
    person: str
    client: str
    client_id: str
    client_name: str
    writes: bool
    created: int
    expires: int
    used: int
    folders: Folders = ()

    @property
    def name(self) -> str:
        """The name in policy, journal and audit log: ``Ana through claude.ai``."""
        through = f"{self.person} through {self.client}" if self.person else self.client
        return through if self.writes else through + READS_ONLY

    @property
    def principal(self) -> str:
        """The name with the grant's id, as ``protocol.events.Peer`` has it: a later grant may have the same name."""
        return f"{self.name}#{self.id}"


class Code(NamedTuple):
    """What an authorization code was given for."""

    grant: Grant
    challenge: str
    redirect_uri: str


class Pair(NamedTuple):
    """New tokens of a grant."""

    access: str
    refresh: str
    grant: Grant


class Replayed(Exception):  # noqa: N818 - what happened, for the log
    """A code or token was used twice, so its grant was revoked: somebody else may have it."""

    def __init__(self, grant: Grant) -> None:
        super().__init__(grant.name)
        self.grant = grant


_GRANT = "g.id, g.person, g.client, g.client_id, g.client_name, g.writes, g.created, g.expires, g.used, g.folders"
_GRANT_COLUMNS = len(Grant._fields)


class Store:
    """The file. Safe to use from several threads and processes; all but ``owner`` may wait for the disk."""

    def __init__(self, folder: str, now: Callable[[], float] = time.time) -> None:
        """Open it; make it if it is not there. Raises OSError and sqlite3.Error."""
        make_private(folder)
        keep_private(folder)
        path = os.path.join(folder, "sign-in.sqlite3")
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite would let others read it
        self._now = now
        self._lock = threading.Lock()
        self._writer = _connect(path)
        self._writer.executescript(_TABLES)
        if "folders" not in [
            column[1] for column in self._writer.execute("PRAGMA table_info (grants)")
        ]:  # an older file
            self._writer.execute("ALTER TABLE grants ADD COLUMN folders TEXT NOT NULL DEFAULT '[]'")
        self._reader = _connect(path)  # one of its own, so that it never waits for another's write

    def close(self) -> None:
        """Close it."""
        with self._lock:
            self._reader.close()
            self._writer.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction that holds as a whole or not at all."""
        with self._lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

    def key(self) -> bytes:
        """Return the key of this server, for what it signs to itself."""
        with self._writing() as database:
            database.execute("INSERT OR IGNORE INTO settings VALUES ('key', ?)", (secrets.token_bytes(_SECRET_BYTES),))
            key: bytes = database.execute("SELECT value FROM settings WHERE name = 'key'").fetchone()[0]
            return key

    def set_url(self, url: str) -> None:
        """Note under which URL this server is known."""
        with self._writing() as database:
            database.execute("INSERT OR REPLACE INTO settings VALUES ('url', ?)", (url,))

    def url(self) -> str | None:
        """Return that URL, None before there was one."""
        with self._writing() as database:
            row = database.execute("SELECT value FROM settings WHERE name = 'url'").fetchone()
            return None if row is None else str(row[0])

    # ------------------------------------------------------------------ people

    def people(self) -> list[Person]:
        """Return who may sign in, by name."""
        with self._writing() as database:
            return [Person(*row) for row in database.execute("SELECT * FROM people ORDER BY name")]

    def person(self, name: str) -> Person | None:
        """Return a person by the name in any case, None for nobody."""
        with self._writing() as database:
            row = database.execute("SELECT * FROM people WHERE name = ?", (name,)).fetchone()
            return None if row is None else Person(*row)

    def add_person(self, name: str, password: str) -> bool:
        """Add a person; ``password`` is a hash. Return False if there is one of this name."""
        with self._writing() as database:
            added = database.execute(
                "INSERT OR IGNORE INTO people VALUES (?, ?, ?)", (name, password, int(self._now()))
            )
            return added.rowcount > 0

    def set_password(self, name: str, password: str) -> bool:
        """Give a person another password; ``password`` is a hash. Return False if there is nobody of this name.

        Somebody may have known the old one, so no browser counts as the person's any more.
        """
        with self._writing() as database:
            database.execute("DELETE FROM sessions WHERE person = ?", (name,))
            database.execute("DELETE FROM browsers WHERE person = ?", (name,))
            return database.execute("UPDATE people SET password = ? WHERE name = ?", (password, name)).rowcount > 0

    def remove_person(self, name: str) -> bool:
        """Remove a person with all that they granted. Return False if there is nobody of this name."""
        with self._writing() as database:
            database.execute("DELETE FROM browsers WHERE person = ?", (name,))
            database.execute("DELETE FROM sessions WHERE person = ?", (name,))
            database.execute("DELETE FROM grants WHERE person = ?", (name,))
            self._prune(database)
            return database.execute("DELETE FROM people WHERE name = ?", (name,)).rowcount > 0

    def new_browser(self, person: str) -> str:
        """Return a secret for a browser in which a person has signed in."""
        secret, now = _new_secret("vwb_"), int(self._now())
        with self._writing() as database:
            database.execute("INSERT INTO browsers VALUES (?, ?, ?)", (_hash(secret), person, now + BROWSER_SECONDS))
            database.execute("DELETE FROM browsers WHERE expires <= ?", (now,))
            latest = "SELECT hash FROM browsers WHERE person = ? ORDER BY expires DESC LIMIT ?"
            database.execute(
                f"DELETE FROM browsers WHERE person = ? AND hash NOT IN ({latest})",  # noqa: S608 - our own words
                (person, person, _MOST_BROWSERS),
            )
        return secret

    def new_session(self, person: str) -> str:
        """Return a secret for a browser in which a person reads notes."""
        secret, now = _new_secret("vws_"), int(self._now())
        with self._writing() as database:
            database.execute("DELETE FROM sessions WHERE expires <= ?", (now,))
            database.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_hash(secret), person, now + SESSION_SECONDS))
        return secret

    def person_of_session(self, secret: str) -> str | None:
        """Return who reads notes in the browser that has this secret, None for nobody."""
        with self._writing() as database:
            query = (
                "SELECT p.name FROM sessions s JOIN people p ON p.name = s.person WHERE s.hash = ? AND s.expires > ?"
            )
            row = database.execute(query, (_hash(secret), self._now())).fetchone()
            return None if row is None else str(row[0])

    def end_session(self, secret: str) -> None:
        """End what a browser may read."""
        with self._writing() as database:
            database.execute("DELETE FROM sessions WHERE hash = ?", (_hash(secret),))

    def is_browser_of(self, secret: str, person: str) -> bool:
        """Tell whether a person has signed in before in the browser that has this secret."""
        with self._writing() as database:
            found = database.execute(
                "SELECT 1 FROM browsers WHERE hash = ? AND person = ? AND expires > ?",
                (_hash(secret), person, self._now()),
            )
            return found.fetchone() is not None

    # ------------------------------------------------------------------ grants

    def grants(self) -> list[Grant]:
        """Return the grants that are not over, the oldest first."""
        with self._writing() as database:
            self._prune(database)
            rows = database.execute(f"SELECT {_GRANT} FROM grants g ORDER BY g.created, g.rowid")  # noqa: S608 - our own words
            return [_to_grant(row) for row in rows]

    def revoke(self, id_: str) -> None:
        """End a grant with all of its tokens, now and everywhere."""
        with self._writing() as database:
            database.execute("DELETE FROM grants WHERE id = ?", (id_,))
            self._prune(database)

    def new_connector(self, name: str, *, writes: bool) -> str:
        """Return the secret of a new connector address. It lasts until somebody revokes its grant."""
        with self._writing() as database:
            grant = self._add_grant(database, Grant("", "", name, "", "", writes, 0, FOREVER, 0))
            return _add_token(database, "vwc_", CONNECTOR, grant.id, FOREVER)

    def new_code(self, asked: Grant, seconds: int, challenge: str, redirect_uri: str) -> str | None:
        """Return an authorization code for a new grant, which lasts so many seconds; the rest of it is as in ``asked``.

        None if its person was removed meanwhile.
        """
        now = int(self._now())
        with self._writing() as database:
            if database.execute("SELECT 1 FROM people WHERE name = ?", (asked.person,)).fetchone() is None:
                return None
            self._prune(database)
            grant = self._add_grant(database, asked._replace(expires=now + seconds))
            code = _add_token(database, "vwo_", "code", grant.id, now + CODE_SECONDS)
            database.execute(
                "UPDATE tokens SET challenge = ?, redirect_uri = ? WHERE hash = ?",
                (challenge, redirect_uri, _hash(code)),
            )
            return code

    def _add_grant(self, database: sqlite3.Connection, asked: Grant) -> Grant:
        grant = asked._replace(id=secrets.token_hex(8), created=int(self._now()), used=int(self._now()))
        row = (*grant[:-1], json.dumps(grant.folders))
        database.execute("INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return grant

    def _prune(self, database: sqlite3.Connection) -> None:
        """Remove what is over: expired grants and tokens, tokens without a grant, grants without a token."""
        now = int(self._now())
        database.execute("DELETE FROM grants WHERE expires <= ?", (now,))
        database.execute("DELETE FROM tokens WHERE expires <= ? AND kind != 'code'", (now,))
        # A code is remembered for as long as its first access token, to find out that it is used twice.
        database.execute("DELETE FROM tokens WHERE kind = 'code' AND expires <= ?", (now - ACCESS_SECONDS,))
        database.execute("DELETE FROM tokens WHERE grant_id NOT IN (SELECT id FROM grants)")
        database.execute("DELETE FROM grants WHERE id NOT IN (SELECT grant_id FROM tokens)")

    # ------------------------------------------------------------------ codes and tokens

    def take_code(self, code: str, client_id: str) -> Code | None:
        """Return what a code was given for, once, to its own client, while it is valid; else None. Raises Replayed."""
        with self._writing() as database:
            row = self._find(database, code, ("code",), "t.used, t.expires, t.challenge, t.redirect_uri")
            if row is None:
                return None
            (used, expires, challenge, redirect_uri), grant = row
            if grant.client_id == client_id and not used:
                database.execute("UPDATE tokens SET used = 1 WHERE hash = ?", (_hash(code),))
                return Code(grant, challenge, redirect_uri) if expires > self._now() else None
        if used:
            self.revoke(grant.id)
            raise Replayed(grant)
        return None

    def new_pair(self, grant: Grant) -> Pair | None:
        """Return the first tokens of a grant, None if it was revoked meanwhile."""
        with self._writing() as database:
            if database.execute("SELECT 1 FROM grants WHERE id = ?", (grant.id,)).fetchone() is None:
                return None
            return self._add_pair(database, grant, None)

    def refresh(self, token: str, client_id: str) -> Pair | None:
        """Return new tokens for a refresh token of this client, None if it is not one. Raises Replayed.

        The new tokens replace the old one. If the old one comes again and nobody has used the new ones, their answer was lost
        on its way, and others are given in their place. If somebody has, two have the old one: the grant is revoked.
        """
        with self._writing() as database:
            row = self._find(database, token, ("refresh", "replaced"), "t.kind, t.expires")
            if row is None or row[0][1] <= self._now() or row[1].client_id != client_id:
                return None
            (kind, _), grant = row
            followers = "parent = ? AND kind != 'replaced'"
            used = f"SELECT 1 FROM tokens WHERE {followers} AND used"  # noqa: S608 - our own words, here and below
            if kind == "refresh" and database.execute(used, (_hash(token),)).fetchone() is None:
                # Not deleted: if somebody comes with one of these after all, two have the old one.
                database.execute(f"UPDATE tokens SET kind = 'replaced' WHERE {followers}", (_hash(token),))  # noqa: S608
                database.execute("UPDATE tokens SET used = 1 WHERE hash = ?", (_hash(token),))
                return self._add_pair(database, grant, _hash(token))
        self.revoke(grant.id)
        raise Replayed(grant)

    def _add_pair(self, database: sqlite3.Connection, grant: Grant, parent: bytes | None) -> Pair:
        now = int(self._now())
        access = _add_token(database, "vwa_", ACCESS, grant.id, min(now + ACCESS_SECONDS, grant.expires), parent)
        refresh = _add_token(database, "vwr_", "refresh", grant.id, min(now + _REFRESH_SECONDS, grant.expires), parent)
        database.execute("UPDATE grants SET used = ? WHERE id = ?", (now, grant.id))
        return Pair(access, refresh, grant)

    def revoke_token(self, token: str, client_id: str) -> Grant | None:
        """Revoke the grant of an access or refresh token of this client; return it, None if it has none."""
        with self._writing() as database:
            row = self._find(database, token, (ACCESS, "refresh"), "t.used")
        if row is None or row[1].client_id != client_id:
            return None
        self.revoke(row[1].id)
        return row[1]

    def owner(self, secret: str, kinds: tuple[str, ...]) -> tuple[Grant, bool] | None:
        """Return the grant of a valid secret of these kinds (``ACCESS``, ``CONNECTOR``), None for none.

        The second value says whether this use is to be noted (``note_use``). Quick, and on one thread: the event loop's.
        """
        row = self._find(self._reader, secret, kinds, "t.used, t.expires")
        if row is None:
            return None
        (used, expires), grant = row
        now = self._now()
        if min(expires, grant.expires) <= now:
            return None
        return grant, not used or grant.used < now - _USED_SECONDS

    def note_use(self, token: str) -> None:
        """Note that a token was used: its predecessor must not come again after that."""
        with self._writing() as database:
            database.execute("UPDATE tokens SET used = 1 WHERE hash = ?", (_hash(token),))
            database.execute(
                "UPDATE grants SET used = ? WHERE id = (SELECT grant_id FROM tokens WHERE hash = ?)",
                (int(self._now()), _hash(token)),
            )

    def _find(
        self, database: sqlite3.Connection, secret: str, kinds: tuple[str, ...], columns: str
    ) -> tuple[tuple[Any, ...], Grant] | None:
        """Return columns of a secret, if it is of one of these kinds, and its grant."""
        places = ", ".join("?" * len(kinds))
        row = database.execute(
            f"SELECT {_GRANT}, {columns} FROM tokens t JOIN grants g ON g.id = t.grant_id"  # noqa: S608 - our own words
            f" WHERE t.hash = ? AND t.kind IN ({places})",
            (_hash(secret), *kinds),
        ).fetchone()
        return None if row is None else (row[_GRANT_COLUMNS:], _to_grant(row[:_GRANT_COLUMNS]))


def _connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")  # who reads does not wait for who writes
    return database


def _to_grant(row: Sequence[Any]) -> Grant:
    grant = Grant(*row)
    folders = tuple((vault, path) for vault, path in json.loads(row[-1]))
    return grant._replace(writes=bool(grant.writes), folders=folders)


def _add_token(
    database: sqlite3.Connection, prefix: str, kind: str, grant: str, expires: int, parent: bytes | None = None
) -> str:
    """Return a new secret. The prefix makes it recognizable in files and logs."""
    secret = _new_secret(prefix)
    database.execute(
        "INSERT INTO tokens VALUES (?, ?, ?, ?, 0, ?, NULL, NULL)", (_hash(secret), kind, grant, expires, parent)
    )
    return secret


def _new_secret(prefix: str) -> str:
    return prefix + secrets.token_urlsafe(_SECRET_BYTES)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
