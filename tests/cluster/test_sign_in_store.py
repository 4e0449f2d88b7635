"""What sign-in keeps, in SQLite and in PostgreSQL alike, with a clock of the test's own."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeAlias

import pytest

from support.postgres import running_postgres
from vaultwire.cluster.database import Database
from vaultwire.cluster.sign_in import SignInRows
from vaultwire.remote.rows import SqliteRows
from vaultwire.remote.store import ACCESS, CONNECTOR, SESSION_SECONDS, Grant, Pair, Replayed, SharedStore, Store
from vaultwire.vault.changes.record_store import RecordsAwayError

CLIENT = "https://app.example/client.json"
DAY = 24 * 3600
ASKED = Grant("", "Ana", "app.example", CLIENT, "App", writes=True, created=0, expires=0, used=0)


class Clock:
    """Seconds, as the test says."""

    seconds = 1_000_000.0


class Kept(SharedStore):
    """A store as a server has it among several."""

    def __init__(self, rows: SignInRows | SqliteRows, clock: Clock) -> None:
        super().__init__(rows, lambda: clock.seconds)
        self.clock = clock
        self.add_person("Ana", "hash")

    def code(self, days: int = 1) -> str:
        code = self.new_code(ASKED, days * DAY, "challenge", "https://app.example/")
        assert code is not None
        return code

    def grant(self, days: int = 30) -> Pair:
        code = self.take_code(self.code(days), CLIENT)
        assert code is not None
        pair = self.new_pair(code.grant)
        assert pair is not None
        return pair

    def is_in(self, token: str) -> bool:
        return self.owner(token, (ACCESS, CONNECTOR)) is not None


Stores: TypeAlias = Callable[[], Kept]


@pytest.fixture(params=["sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """Returns a store of the same rows each time, as another server would open it."""
    clock = Clock()
    database: Database | None = request.getfixturevalue("database") if request.param == "postgres" else None
    with ExitStack() as opened:

        def open_store() -> Kept:
            rows = SqliteRows(str(tmp_path / "sign-in")) if database is None else SignInRows(database)
            return opened.enter_context(closing(Kept(rows, clock)))

        yield open_store


@pytest.fixture
def store(stores: Stores) -> Kept:
    return stores()


def test_a_code_is_good_for_a_minute(store: Kept) -> None:
    code = store.code()
    store.clock.seconds += 60
    assert store.take_code(code, CLIENT) is None
    store.clock.seconds += 3601
    assert store.grants() == []  # nothing came of it


def test_an_access_token_is_good_for_an_hour_and_a_refresh_token_goes_on(store: Kept) -> None:
    pair = store.grant()
    store.clock.seconds += 3599
    assert store.is_in(pair.access)
    store.clock.seconds += 1
    assert not store.is_in(pair.access)
    renewed = store.refresh(pair.refresh, CLIENT)
    assert renewed is not None
    assert store.is_in(renewed.access)


def test_a_grant_ends_when_the_person_said(store: Kept) -> None:
    pair = store.grant(days=1)
    store.clock.seconds += DAY - 60
    renewed = store.refresh(pair.refresh, CLIENT)
    assert renewed is not None
    assert store.is_in(renewed.access)
    store.clock.seconds += 60
    assert not store.is_in(renewed.access)
    assert store.refresh(renewed.refresh, CLIENT) is None
    assert store.grants() == []


def test_a_grant_that_nobody_used_for_three_months_is_over(store: Kept) -> None:
    pair = store.grant(days=365)
    store.clock.seconds += 90 * DAY
    assert store.refresh(pair.refresh, CLIENT) is None
    assert store.grants() == []


def test_an_old_token_ends_the_grant_also_after_a_month(store: Kept) -> None:
    pairs = [store.grant()]
    for _ in range(20):
        renewed = store.refresh(pairs[-1].refresh, CLIENT)
        assert renewed is not None
        store.note_use(renewed.access)
        pairs.append(renewed)
        store.clock.seconds += DAY
    with pytest.raises(Replayed):
        store.refresh(pairs[3].refresh, CLIENT)
    assert store.grants() == []


def test_another_process_sees_a_revocation(stores: Stores) -> None:
    store, other = stores(), stores()
    pair, stays = store.grant(), store.grant()
    assert store.is_in(pair.access)
    assert store.is_in(stays.access)
    other.revoke(pair.grant.id)
    assert store.known(pair.access, (ACCESS,)) is not None  # as long as it has not looked
    store.look_again()
    assert store.known(pair.access, (ACCESS,)) is None
    assert not store.is_in(pair.access)
    assert store.refresh(pair.refresh, CLIENT) is None
    assert store.new_pair(pair.grant) is None
    assert store.known(stays.access, (ACCESS,)) == (stays.grant, True)


def test_what_is_known_ends_when_it_is_over_and_only_for_its_kind(store: Kept) -> None:
    pair, connector = store.grant(), store.new_connector("connector", writes=False)
    for secret in (pair.access, connector):
        assert store.known(secret, (ACCESS, CONNECTOR)) is None  # nobody has come with it yet
        assert store.is_in(secret)
    assert store.known(connector, (ACCESS,)) is None
    assert store.known(connector, (CONNECTOR,)) is not None
    store.clock.seconds += 3600
    assert store.known(pair.access, (ACCESS,)) is None
    assert store.known(connector, (CONNECTOR,)) is not None


def test_a_token_that_was_replaced_by_another_answer_is_known_no_more(stores: Stores) -> None:
    store, other = stores(), stores()
    pair = store.grant()
    lost = store.refresh(pair.refresh, CLIENT)
    assert lost is not None
    assert other.is_in(lost.access)
    assert store.refresh(pair.refresh, CLIENT) is not None  # nobody has used the ones before
    other.look_again()
    assert other.known(lost.access, (ACCESS,)) is None


def test_one_of_many_takes_a_code_and_a_refresh_token_that_two_have_ends_the_grant(stores: Stores) -> None:
    servers = [stores() for _ in range(6)]
    code = servers[0].code()

    def take(server: Kept) -> str:
        try:
            return "none" if server.take_code(code, CLIENT) is None else "taken"
        except Replayed:
            return "replayed"

    with ThreadPoolExecutor(len(servers)) as threads:
        taken = [*threads.map(take, servers)]
    assert taken.count("taken") == 1
    assert "replayed" in taken  # the second one ended the grant
    pair = servers[0].grant()
    renewed = servers[1].refresh(pair.refresh, CLIENT)
    assert renewed is not None
    servers[2].note_use(renewed.access)
    with pytest.raises(Replayed):
        servers[3].refresh(pair.refresh, CLIENT)
    assert servers[4].refresh(renewed.refresh, CLIENT) is None
    assert not servers[5].is_in(renewed.access)


def test_an_answer_counts_once_at_all_servers_together(stores: Stores) -> None:
    servers = [stores() for _ in range(6)]
    with ThreadPoolExecutor(len(servers)) as threads:
        assert sorted(threads.map(lambda server: server.spend("answer", 600), servers)) == [False] * 5 + [True]
    assert servers[0].spend("another", 600)
    servers[0].clock.seconds += 602  # it is over by itself now
    assert servers[0].spend("answer", 600)


def test_attempts_count_at_all_servers_together_for_a_quarter_of_an_hour(stores: Stores) -> None:
    servers = [stores() for _ in range(2)]
    assert [servers[number % 2].begin_attempt("name ana") for number in range(11)] == [True] * 10 + [False]
    assert servers[1].begin_attempt("name ben")
    servers[0].clock.seconds += 899
    assert not servers[0].begin_attempt("name ana")
    servers[0].clock.seconds += 1
    assert servers[0].begin_attempt("name ana")
    for _ in range(9):
        servers[0].begin_attempt("name ana")
    servers[1].forget_attempts("name ana")
    assert servers[0].begin_attempt("name ana")


@pytest.mark.parametrize(("name", "typed", "other"), [("Ana", "aNA", "An"), ("Élodie B", "Élodie b", "élodie b")])
def test_names_are_taken_in_any_case_of_the_letters_a_to_z(store: Kept, name: str, typed: str, other: str) -> None:
    store.remove_person("ana")
    assert store.add_person(name, "hash")
    assert not store.add_person(typed, "hash")
    person = store.person(typed)
    assert person is not None
    assert person.name == name
    assert store.person(other) is None
    session, code = store.new_session(typed), store.new_enrolment(typed)
    assert (store.person_of_session(session), store.enrolling(code)) == (name, name)
    assert store.add_passkey(code, b"id", b"data\0", 0) == name
    assert store.count_passkeys() == store.count_passkeys(typed) == 1
    assert store.count_passkeys(other) == 0
    assert store.remove_passkeys(typed) == 1
    assert store.person_of_session(session) is None


def test_the_latest_passkeys_of_a_person_stay(store: Kept) -> None:
    for number in range(25):
        store.add_passkey(store.new_enrolment("Ana"), b"%d" % number, b"data", 0)
    assert [number for number in range(25) if store.passkey(b"%d" % number)] == [*range(5, 25)]
    assert store.use_passkey(b"7", 0)
    assert store.use_passkey(b"7", 5)
    assert not store.use_passkey(b"7", 5)


def test_people_and_grants_come_in_order_with_all_that_was_said(store: Kept) -> None:
    for name in ("ben", "Zoe", "Élodie", "anton"):
        store.add_person(name, f"hash of {name}")
    assert [person.name for person in store.people()] == ["Ana", "anton", "ben", "Zoe", "Élodie"]
    names = [f"client {number}" for number in range(9)]
    for name in names:
        asked = ASKED._replace(client_name=f"{name} 100% ? \0", folders=(("Notes", ""), ("Work", "A/B")))
        assert store.new_code(asked, DAY, "challenge", "https://app.example/")
    grants = store.grants()
    assert [grant.client_name for grant in grants] == [f"{name} 100% ? \0" for name in names]
    assert grants[0].folders == (("Notes", ""), ("Work", "A/B"))
    assert grants[0].writes is True
    assert store.key() == store.key()
    store.set_url("https://notes.example.org")
    store.set_url("https://other.example.org")
    assert store.url() == "https://other.example.org"


def test_without_the_database_known_tokens_count_and_all_else_says_so() -> None:
    with running_postgres() as server, closing(Database(server.new_database())) as database:
        database.upgrade()
        clock = Clock()
        store = Kept(SignInRows(database), clock)
        used, unused, strange = (store.grant().access for _ in range(3))
        for token in (used, unused):
            assert store.is_in(token)
        store.note_use(used)
        server.stop()
        assert store.known(used, (ACCESS,)) is not None
        with pytest.raises(RecordsAwayError):
            store.look_again()
        assert store.known(used, (ACCESS,)) is not None
        clock.seconds += 3590
        store.note_use(used)  # the time of a later use is no reason to refuse it
        for act in (
            lambda: store.note_use(unused),
            lambda: store.owner(strange, (ACCESS,)),
            lambda: store.person("Ana"),
            lambda: store.spend("answer", 1),
        ):
            with pytest.raises(RecordsAwayError, match="does not answer"):
                act()
        clock.seconds += 10
        assert store.known(used, (ACCESS,)) is None
        server.start()
        assert store.owner(strange, (ACCESS,)) is None  # it is over as well
        store.look_again()
        assert store.is_in(store.grant().access)


def test_a_file_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.add_person("Ana", "hash")
    session = store.new_session("Ana")
    store.close()
    with closing(sqlite3.connect(tmp_path / "sign-in.sqlite3")) as file:
        file.executescript(
            "ALTER TABLE note_sessions RENAME TO sessions; ALTER TABLE grants DROP COLUMN folders; "
            "INSERT OR REPLACE INTO settings VALUES ('url', 'https://notes.example.org')"
        )
    for _ in range(2):
        with closing(Store(str(tmp_path))) as again:
            assert (again.person_of_session(session), again.url()) == ("Ana", "https://notes.example.org")
            assert again.grants() == []
    assert SESSION_SECONDS == 7 * DAY


def test_who_is_removed_has_no_grants_and_no_browsers(store: Kept) -> None:
    pair, browser = store.grant(), store.new_browser("Ana")
    assert store.is_browser_of(browser, "ana")
    assert store.remove_person("ana")
    assert not store.remove_person("ana")
    assert not store.is_in(pair.access)
    assert not store.is_browser_of(browser, "Ana")
    assert store.people() == []
    assert store.new_code(ASKED, DAY, "challenge", "https://app.example/") is None  # a page was open meanwhile


def test_another_password_forgets_the_browsers(store: Kept) -> None:
    browser = store.new_browser("Ana")
    assert store.set_password("ana", "other hash")
    assert not store.is_browser_of(browser, "Ana")


def test_only_so_many_browsers_are_remembered(store: Kept) -> None:
    browsers = []
    for _ in range(60):
        store.clock.seconds += 1
        browsers.append(store.new_browser("Ana"))
    assert [store.is_browser_of(each, "Ana") for each in browsers] == [False] * 10 + [True] * 50
    assert not store.is_browser_of(browsers[-1], "Ben")


def test_a_connector_lasts_until_it_is_revoked_and_counts_only_where_it_is_served(store: Kept) -> None:
    secret = store.new_connector("connector", writes=False)
    store.clock.seconds += 5000 * DAY
    assert store.owner(secret, (ACCESS,)) is None
    found = store.owner(secret, (ACCESS, CONNECTOR))
    assert found is not None
    assert found[0].name == "connector (read only)"
    assert store.refresh(secret, "") is None
    store.revoke(found[0].id)
    assert not store.is_in(secret)


def test_use_is_noted_once_an_hour(store: Kept) -> None:
    pair = store.grant()
    assert store.owner(pair.access, (ACCESS,)) == (pair.grant, True)
    store.note_use(pair.access)
    assert store.owner(pair.access, (ACCESS,)) == (pair.grant, False)


@pytest.mark.skipif(sys.platform == "win32", reason="there, only the folder of the person is closed")
def test_no_folder_of_this_is_open_to_others(tmp_path: Path) -> None:
    with closing(Store(str(tmp_path / "sign-in"))) as store:
        store.add_person("Ana", "hash")
    modes = [file.stat().st_mode & 0o77 for file in (tmp_path / "sign-in", *(tmp_path / "sign-in").iterdir())]
    assert set(modes) == {0}
