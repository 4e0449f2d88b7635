"""What sign-in keeps: people, grants, the hashes of codes and tokens, what was answered once, wrong passwords.

It is in one small SQLite file of the state folder, or, for several servers, in their PostgreSQL (``cluster.sign_in``); both
understand the same SQL. Servers and commands write at the same time, and a code, a rotation and a revocation must each happen
once or not at all: one transaction at a time writes. A secret is never stored, only its SHA-256: secrets have 256 random
bits, so nobody can find one by trying. A secret is looked up by its hash, so the time of an answer tells nothing of it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import string
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from vaultwire.remote.rows import SignInRows, SqliteRows
from vaultwire.trust.policy import READS_ONLY
from vaultwire.vault.changes.record_store import RecordsAwayError, Transaction

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
_MOST_PASSKEYS = 20
_ENROLMENT_SECONDS = 3600
# Between two notes of when a grant was last used.
_USED_SECONDS = 3600
# Until a person ends it.
FOREVER = 1 << 40
# A password can be guessed, unlike a key: so many wrong answers may be given in so long.
_MOST_ATTEMPTS, _ATTEMPT_SECONDS = 10, 900
# Tokens that one of several servers knows; the one that it has known for the longest time goes. Hashes in one question.
_MOST_KNOWN, _IN_ONE_QUESTION = 10_000, 500

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


class Passkey(NamedTuple):
    """A passkey of a person; ``data`` has its public key, as WebAuthn's attested credential data."""

    person: str
    data: bytes


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


class _Known(NamedTuple):
    """A token with its grant."""

    grant: Grant
    kind: str
    used: int
    expires: int


_PEOPLE = "SELECT name, password, created FROM people"
_GRANT = "g.id, g.person, g.client, g.client_id, g.client_name, g.writes, g.created, g.expires, g.used, g.folders"
_GRANT_COLUMNS = len(Grant._fields)


class Store:
    """People, grants and tokens. Safe to use from several threads and processes; all but ``known`` may wait.

    All methods raise what those of ``SignInRows`` raise.
    """

    def __init__(self, rows: SignInRows | str, now: Callable[[], float] = time.time) -> None:
        """``rows`` may be the folder of a file. Raises OSError and sqlite3.Error."""
        self._rows = SqliteRows(rows) if isinstance(rows, str) else rows
        self._now = now
        self._writing, self._reading = self._rows.writing, self._rows.reading

    @property
    def place(self) -> str:
        """Where they are kept, in words for a person."""
        return self._rows.place

    def close(self) -> None:
        """Close it."""
        self._rows.close()

    def key(self) -> bytes:
        """Return the key of this server, for what it signs to itself."""
        with self._writing() as database:
            new = "INSERT INTO settings (name, value) VALUES ('key', ?) ON CONFLICT DO NOTHING"
            database.execute(new, (secrets.token_bytes(_SECRET_BYTES),))
            key: bytes = database.execute("SELECT value FROM settings WHERE name = 'key'").fetchone()[0]
            return key

    def set_url(self, url: str) -> None:
        """Note under which URL this server is known."""
        sql = "INSERT INTO settings (name, value) VALUES ('url', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        with self._writing() as database:
            database.execute(sql, (url.encode(),))

    def url(self) -> str | None:
        """Return that URL, None before there was one."""
        with self._reading() as database:
            row = database.execute("SELECT value FROM settings WHERE name = 'url'").fetchone()
        if row is None:
            return None
        return row[0] if isinstance(row[0], str) else bytes(row[0]).decode()  # a text in a file of an earlier version

    # ------------------------------------------------------------------ people

    def people(self) -> list[Person]:
        """Return who may sign in, by name."""
        with self._reading() as database:
            return [Person(*row) for row in database.execute(f"{_PEOPLE} ORDER BY lower(name)").fetchall()]

    def person(self, name: str) -> Person | None:
        """Return a person by the name in any case, None for nobody."""
        with self._reading() as database:
            row = database.execute(f"{_PEOPLE} WHERE lower(name) = ?", (_lower(name),)).fetchone()
            return None if row is None else Person(*row)

    def add_person(self, name: str, password: str) -> bool:
        """Add a person; ``password`` is a hash. Return False if there is one of this name."""
        with self._writing() as database:
            sql = "INSERT INTO people (name, password, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            return database.execute(sql, (name, password, int(self._now()))).rowcount > 0

    def set_password(self, name: str, password: str) -> bool:
        """Give a person another password; ``password`` is a hash. Return False if there is nobody of this name.

        Somebody may have known the old one, so no browser counts as the person's any more.
        """
        with self._writing() as database:
            _forget(database, ("browsers", "note_sessions"), name)
            sql = "UPDATE people SET password = ? WHERE lower(name) = ?"
            return database.execute(sql, (password, _lower(name))).rowcount > 0

    def remove_person(self, name: str) -> bool:
        """Remove a person with all that they granted. Return False if there is nobody of this name."""
        with self._writing() as database:
            _forget(database, ("browsers", "note_sessions", "passkeys", "enrolments"), name)
            _end_grants(database, "lower(person) = ?", _lower(name))
            return database.execute("DELETE FROM people WHERE lower(name) = ?", (_lower(name),)).rowcount > 0

    def new_browser(self, person: str) -> str:
        """Return a secret for a browser in which a person has signed in."""
        secret, now = _new_secret("vwb_"), int(self._now())
        with self._writing() as database:
            database.execute("DELETE FROM browsers WHERE expires <= ?", (now,))
            row = (_hash(secret), person, now + BROWSER_SECONDS)
            database.execute("INSERT INTO browsers (hash, person, expires) VALUES (?, ?, ?)", row)
            _keep_latest(database, "browsers", "hash", "expires DESC", person, _MOST_BROWSERS)
        return secret

    def new_session(self, person: str) -> str:
        """Return a secret for a browser in which a person reads notes."""
        secret, now = _new_secret("vws_"), int(self._now())
        with self._writing() as database:
            database.execute("DELETE FROM note_sessions WHERE expires <= ?", (now,))
            row = (_hash(secret), person, now + SESSION_SECONDS)
            database.execute("INSERT INTO note_sessions (hash, person, expires) VALUES (?, ?, ?)", row)
        return secret

    def person_of_session(self, secret: str) -> str | None:
        """Return who reads notes in the browser that has this secret, None for nobody."""
        with self._reading() as database:
            return self._person_of(database, "note_sessions", secret)

    def _person_of(self, database: Transaction, table: str, secret: str) -> str | None:
        """Return the person of a secret that is not over, by the name that the person has."""
        sql = f"SELECT p.name FROM {table} t JOIN people p ON lower(p.name) = lower(t.person)"  # noqa: S608 - our own words
        row = database.execute(f"{sql} WHERE t.hash = ? AND t.expires > ?", (_hash(secret), self._now())).fetchone()
        return None if row is None else str(row[0])

    def end_session(self, secret: str) -> None:
        """End what a browser may read."""
        with self._writing() as database:
            database.execute("DELETE FROM note_sessions WHERE hash = ?", (_hash(secret),))

    def is_browser_of(self, secret: str, person: str) -> bool:
        """Tell whether a person has signed in before in the browser that has this secret."""
        sql = "SELECT 1 FROM browsers WHERE hash = ? AND lower(person) = ? AND expires > ?"
        with self._reading() as database:
            return database.execute(sql, (_hash(secret), _lower(person), self._now())).fetchone() is not None

    # ------------------------------------------------------------------ wrong answers, and answers that count once

    def begin_attempt(self, who: str) -> bool:
        """Note that somebody tries; return False if too many did so for this name, browser or passkey in the last minutes.

        It is noted before the answer is checked, so that many at once are no way around the limit.
        """
        now = int(self._now())
        with self._writing() as database:
            database.execute("DELETE FROM attempts WHERE began <= ?", (now - _ATTEMPT_SECONDS,))
            row = database.execute("SELECT count(*) FROM attempts WHERE who = ?", (_hash(who),)).fetchone()
            if row[0] >= _MOST_ATTEMPTS:
                return False
            database.execute("INSERT INTO attempts (who, began) VALUES (?, ?)", (_hash(who), now))
            return True

    def forget_attempts(self, who: str) -> None:
        """Forget the attempts: the person is there."""
        with self._writing() as database:
            database.execute("DELETE FROM attempts WHERE who = ?", (_hash(who),))

    def spend(self, answer: str, seconds: float) -> bool:
        """Note that an answer came, which is over after so many seconds anyway. Return False if it came before."""
        now = int(self._now())
        with self._writing() as database:
            database.execute("DELETE FROM spent WHERE expires <= ?", (now,))
            sql = "INSERT INTO spent (hash, expires) VALUES (?, ?) ON CONFLICT DO NOTHING"
            return database.execute(sql, (_hash(answer), now + int(seconds) + 1)).rowcount > 0

    # ------------------------------------------------------------------ passkeys

    def new_enrolment(self, person: str) -> str:
        """Return a code with which a person of this store makes a passkey once, within an hour."""
        code, now = _new_secret("vwe_"), int(self._now())
        with self._writing() as database:
            database.execute("DELETE FROM enrolments WHERE expires <= ? OR lower(person) = ?", (now, _lower(person)))
            row = (_hash(code), person, now + _ENROLMENT_SECONDS)
            database.execute("INSERT INTO enrolments (hash, person, expires) VALUES (?, ?, ?)", row)
        return code

    def enrolling(self, code: str) -> str | None:
        """Return the name of the person of a code that is not over, None for no such code."""
        with self._reading() as database:
            return self._person_of(database, "enrolments", code)

    def add_passkey(self, code: str, id_: bytes, data: bytes, count: int) -> str | None:
        """Add a passkey for the person of a code, which is over then; return the person's name, None for no such code."""
        with self._writing() as database:
            person = self._person_of(database, "enrolments", code)
            database.execute("DELETE FROM enrolments WHERE hash = ?", (_hash(code),))
            if person is not None:
                row = (id_, person, data, count, int(self._now()))
                columns = "id, person, data, count, created"
                sql = f"INSERT INTO passkeys ({columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"  # noqa: S608 - our own
                database.execute(sql, row)
                _keep_latest(database, "passkeys", "id", "created DESC, rowid DESC", person, _MOST_PASSKEYS)
            return person

    def passkey(self, id_: bytes) -> Passkey | None:
        """Return a passkey by its id, None for no such one."""
        with self._reading() as database:
            row = database.execute("SELECT person, data FROM passkeys WHERE id = ?", (id_,)).fetchone()
            return None if row is None else Passkey(*row)

    def use_passkey(self, id_: bytes, count: int) -> bool:
        """Note a use of a passkey. Return False if its counter did not go up: then there is a copy of it.

        Many passkeys do not count, and say 0 each time (WebAuthn, 6.1.1).
        """
        with self._writing() as database:
            used = database.execute(
                "UPDATE passkeys SET count = ? WHERE id = ? AND (count < ? OR (count = 0 AND ? = 0))",
                (count, id_, count, count),
            )
            return used.rowcount > 0

    def count_passkeys(self, person: str | None = None) -> int:
        """Return how many passkeys a person has; of everybody for None."""
        where, values = ("", ()) if person is None else (" WHERE lower(person) = ?", (_lower(person),))
        with self._reading() as database:
            sql = f"SELECT count(*) FROM passkeys{where}"  # noqa: S608 - our own words
            return int(database.execute(sql, values).fetchone()[0])

    def remove_passkeys(self, person: str) -> int:
        """Remove the passkeys of a person, and codes for more; return how many there were.

        A device may be in other hands, so no browser counts as the person's any more.
        """
        with self._writing() as database:
            return _forget(database, ("browsers", "note_sessions", "enrolments", "passkeys"), person)

    # ------------------------------------------------------------------ grants

    def grants(self) -> list[Grant]:
        """Return the grants that are not over, the oldest first."""
        with self._writing() as database:
            self._prune(database)
            sql = f"SELECT {_GRANT} FROM grants g ORDER BY g.created, g.rowid"  # noqa: S608 - our own words
            return [_to_grant(row) for row in database.execute(sql).fetchall()]

    def revoke(self, id_: str) -> None:
        """End a grant with all of its tokens, now and everywhere."""
        with self._writing() as database:
            _end_grants(database, "id = ?", id_)

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
            if database.execute(f"{_PEOPLE} WHERE lower(name) = ?", (_lower(asked.person),)).fetchone() is None:
                return None
            self._prune(database)
            grant = self._add_grant(database, asked._replace(expires=now + seconds))
            code = _add_token(database, "vwo_", "code", grant.id, now + CODE_SECONDS)
            database.execute(
                "UPDATE tokens SET challenge = ?, redirect_uri = ? WHERE hash = ?",
                (challenge, redirect_uri, _hash(code)),
            )
            return code

    def _add_grant(self, database: Transaction, asked: Grant) -> Grant:
        grant = asked._replace(id=secrets.token_hex(8), created=int(self._now()), used=int(self._now()))
        row = [int(value) if isinstance(value, bool) else value for value in grant[:-1]]
        places = ", ".join("?" * _GRANT_COLUMNS)
        sql = f"INSERT INTO grants ({', '.join(Grant._fields)}) VALUES ({places})"  # noqa: S608 - our own words
        database.execute(sql, (*row, json.dumps(grant.folders)))
        return grant

    def _prune(self, database: Transaction) -> None:
        """Remove what is over: expired grants and tokens, grants without a token."""
        now = int(self._now())
        _end_grants(database, "expires <= ?", now)
        database.execute("DELETE FROM tokens WHERE expires <= ? AND kind != 'code'", (now,))
        # A code is remembered for as long as its first access token, to find out that it is used twice.
        database.execute("DELETE FROM tokens WHERE kind = 'code' AND expires <= ?", (now - ACCESS_SECONDS,))
        database.execute("DELETE FROM grants WHERE NOT EXISTS (SELECT 1 FROM tokens WHERE grant_id = grants.id)")

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
            used = f"SELECT 1 FROM tokens WHERE {followers} AND used != 0"  # noqa: S608 - our own words, here and below
            if kind == "refresh" and database.execute(used, (_hash(token),)).fetchone() is None:
                # Not deleted: if somebody comes with one of these after all, two have the old one.
                database.execute(f"UPDATE tokens SET kind = 'replaced' WHERE {followers}", (_hash(token),))  # noqa: S608
                database.execute("UPDATE tokens SET used = 1 WHERE hash = ?", (_hash(token),))
                return self._add_pair(database, grant, _hash(token))
        self.revoke(grant.id)
        raise Replayed(grant)

    def _add_pair(self, database: Transaction, grant: Grant, parent: bytes | None) -> Pair:
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

        The second value says whether this use is to be noted (``note_use``).
        """
        with self._reading() as database:
            row = self._find(database, secret, kinds, "t.kind, t.used, t.expires")
        return None if row is None else self._owned(_Known(row[1], *row[0]))

    def known(self, secret: str, kinds: tuple[str, ...]) -> tuple[Grant, bool] | None:
        """Return the same as ``owner`` where that takes no time, else None. For the event loop."""
        return self.owner(secret, kinds)

    def _owned(self, known: _Known) -> tuple[Grant, bool] | None:
        now = self._now()
        if min(known.expires, known.grant.expires) <= now:
            return None
        return known.grant, not known.used or known.grant.used < now - _USED_SECONDS

    def note_use(self, token: str) -> None:
        """Note that a token was used: its predecessor must not come again after that."""
        with self._writing() as database:
            database.execute("UPDATE tokens SET used = 1 WHERE hash = ?", (_hash(token),))
            database.execute(
                "UPDATE grants SET used = ? WHERE id = (SELECT grant_id FROM tokens WHERE hash = ?)",
                (int(self._now()), _hash(token)),
            )

    def _find(
        self, database: Transaction, secret: str, kinds: tuple[str, ...], columns: str
    ) -> tuple[tuple[Any, ...], Grant] | None:
        """Return columns of a secret, if it is of one of these kinds, and its grant."""
        places = ", ".join("?" * len(kinds))
        row = database.execute(
            f"SELECT {_GRANT}, {columns} FROM tokens t JOIN grants g ON g.id = t.grant_id"  # noqa: S608 - our own words
            f" WHERE t.hash = ? AND t.kind IN ({places})",
            (_hash(secret), *kinds),
        ).fetchone()
        return None if row is None else (row[_GRANT_COLUMNS:], _to_grant(row[:_GRANT_COLUMNS]))


class SharedStore(Store):
    """The store of several servers, which is away at times.

    A server knows the tokens that came to it, and accepts those without asking; what was revoked it knows after ``look_again``.
    """

    def __init__(self, rows: SignInRows, now: Callable[[], float] = time.time) -> None:
        super().__init__(rows, now)
        self._known: dict[bytes, _Known] = {}

    def owner(self, secret: str, kinds: tuple[str, ...]) -> tuple[Grant, bool] | None:
        """See ``Store``."""
        with self._reading() as database:
            row = self._find(database, secret, kinds, "t.kind, t.used, t.expires")
        if row is None:
            return None
        known = self._known[_hash(secret)] = _Known(row[1], *row[0])
        while len(self._known) > _MOST_KNOWN:
            self._known.pop(next(iter(self._known)), None)
        return self._owned(known)

    def known(self, secret: str, kinds: tuple[str, ...]) -> tuple[Grant, bool] | None:
        """See ``Store``."""
        known = self._known.get(_hash(secret))
        return None if known is None or known.kind not in kinds else self._owned(known)

    def note_use(self, token: str) -> None:
        """See ``Store``. A later use need not be noted while the database is away: it tells a person only when that was."""
        known = self._known.get(_hash(token))
        try:
            super().note_use(token)
        except RecordsAwayError:
            if known is None or not known.used:
                raise
        if known is not None:
            grant = known.grant._replace(used=int(self._now()))
            self._known[_hash(token)] = known._replace(used=1, grant=grant)

    def look_again(self) -> None:
        """Forget the tokens that do not count any more. Raises RecordsAwayError; they count until it works again."""
        now, hashes = self._now(), [*self._known]
        valid: set[bytes] = set()
        for first in range(0, len(hashes), _IN_ONE_QUESTION):
            some = hashes[first : first + _IN_ONE_QUESTION]
            sql = "SELECT t.hash FROM tokens t JOIN grants g ON g.id = t.grant_id WHERE t.expires > ? AND t.kind IN (?, ?)"
            with self._reading() as database:
                sql = f"{sql} AND t.hash IN ({', '.join('?' * len(some))})"
                rows = database.execute(sql, (now, ACCESS, CONNECTOR, *some)).fetchall()
            valid.update(bytes(row[0]) for row in rows)
        for hash_ in hashes:
            if hash_ not in valid:
                self._known.pop(hash_, None)


def _to_grant(row: Sequence[Any]) -> Grant:
    grant = Grant(*row)
    folders = tuple((vault, path) for vault, path in json.loads(row[-1]))
    return grant._replace(writes=bool(grant.writes), folders=folders)


def _forget(database: Transaction, tables: Iterable[str], person: str) -> int:
    """Delete the rows of a person; return how many there were in the last table."""
    counts = [
        database.execute(f"DELETE FROM {table} WHERE lower(person) = ?", (_lower(person),)).rowcount  # noqa: S608 - our own
        for table in tables
    ]
    return counts[-1]


def _keep_latest(database: Transaction, table: str, key: str, order: str, person: str, most: int) -> None:
    latest = f"SELECT {key} FROM {table} WHERE lower(person) = ? ORDER BY {order} LIMIT ?"  # noqa: S608 - our own words
    sql = f"DELETE FROM {table} WHERE lower(person) = ? AND {key} NOT IN ({latest})"  # noqa: S608 - the same
    database.execute(sql, (_lower(person), _lower(person), most))


def _end_grants(database: Transaction, condition: str, value: object) -> None:
    """Delete grants with all of their tokens."""
    database.execute(f"DELETE FROM tokens WHERE grant_id IN (SELECT id FROM grants WHERE {condition})", (value,))  # noqa: S608
    database.execute(f"DELETE FROM grants WHERE {condition}", (value,))  # noqa: S608 - our own words


_SMALL = str.maketrans({letter: letter.lower() for letter in string.ascii_uppercase})


def _lower(name: str) -> str:
    """Return a name as ``lower`` of both databases has it: both leave letters beyond ASCII as they are."""
    return name.translate(_SMALL)


def _add_token(
    database: Transaction, prefix: str, kind: str, grant: str, expires: int, parent: bytes | None = None
) -> str:
    """Return a new secret. The prefix makes it recognizable in files and logs."""
    secret = _new_secret(prefix)
    database.execute(
        "INSERT INTO tokens (hash, kind, grant_id, expires, used, parent) VALUES (?, ?, ?, ?, 0, ?)",
        (_hash(secret), kind, grant, expires, parent),
    )
    return secret


def _new_secret(prefix: str) -> str:
    return prefix + secrets.token_urlsafe(_SECRET_BYTES)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
