"""What lasts of sign-in, with a clock of the test's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultwire.remote.store import ACCESS, CONNECTOR, Grant, Pair, Replayed, Store

CLIENT = "https://app.example/client.json"
DAY = 24 * 3600
ASKED = Grant("", "Ana", "app.example", CLIENT, "App", writes=True, created=0, expires=0, used=0)


class Kept(Store):
    """A store and its clock."""

    seconds = 1_000_000.0

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), lambda: self.seconds)
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


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Kept]:
    kept = Kept(tmp_path / "sign-in")
    yield kept
    kept.close()


def test_a_code_is_good_for_a_minute(store: Kept) -> None:
    code = store.code()
    store.seconds += 60
    assert store.take_code(code, CLIENT) is None
    store.seconds += 3601
    assert store.grants() == []  # nothing came of it


def test_an_access_token_is_good_for_an_hour_and_a_refresh_token_goes_on(store: Kept) -> None:
    pair = store.grant()
    store.seconds += 3599
    assert store.is_in(pair.access)
    store.seconds += 1
    assert not store.is_in(pair.access)
    renewed = store.refresh(pair.refresh, CLIENT)
    assert renewed is not None
    assert store.is_in(renewed.access)


def test_a_grant_ends_when_the_person_said(store: Kept) -> None:
    pair = store.grant(days=1)
    store.seconds += DAY - 60
    renewed = store.refresh(pair.refresh, CLIENT)
    assert renewed is not None
    assert store.is_in(renewed.access)
    store.seconds += 60
    assert not store.is_in(renewed.access)
    assert store.refresh(renewed.refresh, CLIENT) is None
    assert store.grants() == []


def test_a_grant_that_nobody_used_for_three_months_is_over(store: Kept) -> None:
    pair = store.grant(days=365)
    store.seconds += 90 * DAY
    assert store.refresh(pair.refresh, CLIENT) is None
    assert store.grants() == []


def test_an_old_token_ends_the_grant_also_after_a_month(store: Kept) -> None:
    pairs = [store.grant()]
    for _ in range(20):
        renewed = store.refresh(pairs[-1].refresh, CLIENT)
        assert renewed is not None
        store.note_use(renewed.access)
        pairs.append(renewed)
        store.seconds += DAY
    with pytest.raises(Replayed):
        store.refresh(pairs[3].refresh, CLIENT)
    assert store.grants() == []


def test_another_process_sees_a_revocation_at_once(store: Kept, tmp_path: Path) -> None:
    pair = store.grant()
    assert store.is_in(pair.access)
    other = Kept(tmp_path / "sign-in")
    for grant in other.grants():
        other.revoke(grant.id)
    other.close()
    assert not store.is_in(pair.access)
    assert store.refresh(pair.refresh, CLIENT) is None
    assert store.new_pair(pair.grant) is None


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
        store.seconds += 1
        browsers.append(store.new_browser("Ana"))
    assert [store.is_browser_of(each, "Ana") for each in browsers] == [False] * 10 + [True] * 50
    assert not store.is_browser_of(browsers[-1], "Ben")


def test_a_connector_lasts_until_it_is_revoked_and_counts_only_where_it_is_served(store: Kept) -> None:
    secret = store.new_connector("connector", writes=False)
    store.seconds += 5000 * DAY
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
def test_no_folder_of_this_is_open_to_others(store: Kept, tmp_path: Path) -> None:
    store.grant()
    modes = [file.stat().st_mode & 0o77 for file in (tmp_path / "sign-in", *(tmp_path / "sign-in").iterdir())]
    assert set(modes) == {0}
