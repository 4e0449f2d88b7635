"""Keys at rest: what is kept of them, who can read it, and that they count and cease to count at once."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from vaultwire.protocol.events import name_of_principal
from vaultwire.trust.keys import KeyRefused, Keys


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(str(tmp_path / "state" / "keys"))


def named(keys: Keys, secret: str) -> str:
    return name_of_principal(keys.owner(secret) or "")


def test_a_key_is_its_owners_and_nobody_elses(keys: Keys) -> None:
    phone, laptop = keys.issue("phone"), keys.issue("laptop")
    assert phone != laptop
    assert (named(keys, phone), named(keys, laptop)) == ("phone", "laptop")
    for wrong in ("", phone[:-1], phone + "x", phone.lower(), "vw_", "é", "\udcff"):
        assert keys.owner(wrong) is None


def test_a_key_has_256_bits_and_can_stand_in_a_header(keys: Keys) -> None:
    assert re.fullmatch(r"vw_[A-Za-z0-9_-]{43}", keys.issue("phone"))


def test_only_a_fingerprint_is_kept_and_nobody_else_may_read_it(keys: Keys, tmp_path: Path) -> None:
    secret = keys.issue("phone")
    (file,) = (tmp_path / "state" / "keys").iterdir()
    assert secret.removeprefix("vw_") not in file.read_text()
    if sys.platform != "win32":
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700


def test_what_another_process_issues_and_revokes_counts_at_once(keys: Keys, tmp_path: Path) -> None:
    other = Keys(str(tmp_path / "state" / "keys"))
    assert keys.owner("x") is None
    for _ in range(20):  # many changes within one tick of the file system's clock
        secret = other.issue("phone")
        assert named(keys, secret) == "phone"
        assert other.revoke("phone")
        assert keys.owner(secret) is None


def test_what_is_old_is_not_read_again_and_still_seen_to_change(keys: Keys, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "keys"
    first = keys.issue("first")
    os.utime(folder, (1_000_000_000, 1_000_000_000))
    assert named(keys, first) == "first"
    (folder / "key-first.json").write_text("{}")  # changes the file, not the folder: nobody looks
    assert named(keys, first) == "first"
    second = keys.issue("second")
    assert (keys.owner(first), named(keys, second)) == (None, "second")


def test_keys_are_listed_by_name_without_the_files_that_are_none(keys: Keys, tmp_path: Path) -> None:
    assert keys.all() == []
    for name in ("b", "a"):
        keys.issue(name)
    folder = tmp_path / "state" / "keys"
    for name, text in (("key-c.json", "{"), ("key-d.json", "[]"), ("key-e.json", '{"name": "e"}'), ("notes.txt", "x")):
        (folder / name).write_text(text)
    assert [key.name for key in keys.all()] == ["a", "b"]
    assert all(key.created.endswith("Z") for key in keys.all())


def test_a_name_is_given_once(keys: Keys) -> None:
    secret = keys.issue("phone")
    with pytest.raises(KeyRefused, match="already"):
        keys.issue("phone")
    assert named(keys, secret) == "phone"


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", "x" * 65, "-x", "a b", "é", "a\n"])
def test_a_name_that_could_lead_elsewhere_is_no_name(keys: Keys, tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyRefused):
        keys.issue(name)
    assert not keys.revoke(name)
    assert list(tmp_path.rglob("*.json")) == []


def test_a_key_that_was_not_issued_cannot_be_revoked(keys: Keys) -> None:
    assert not keys.revoke("phone")
