"""Passwords of people, by Argon2id, and how often wrong ones may be given."""

from __future__ import annotations

import re
import time
import unicodedata
from collections import deque
from collections.abc import Callable

import argon2

from vaultwire.remote.store import Person, Store

MIN_CHARACTERS = 12
# Nobody types more; hashing more would let anybody make work.
_MAX_CHARACTERS = 200
# It stands in policies, in the journal and before "through"; "#" and ":" have a meaning there.
_NAME = re.compile(r"[^\W_][\w .'-]{0,39}")
_hasher = argon2.PasswordHasher()  # the first choice of RFC 9106 for computers without much memory: 64 MiB
_NOBODY = _hasher.hash("nobody has this password")


class PersonRefused(Exception):  # noqa: N818 - what was asked for was refused; nothing failed
    """A person who cannot be added; the message is one line."""


def add(store: Store, name: str, password: str) -> bool:
    """Add a person, or give one another password; return whether the person is new. Raises PersonRefused."""
    if not _NAME.fullmatch(name) or name != name.strip():
        raise PersonRefused(
            f"not a name for a person: {name!r}. Give up to 40 letters, digits, spaces, dots and dashes"
        )
    if not MIN_CHARACTERS <= len(password) <= _MAX_CHARACTERS:
        raise PersonRefused(
            f"a password has {MIN_CHARACTERS} to {_MAX_CHARACTERS} characters: four words that you choose at random"
        )
    hashed = _hasher.hash(_normal(password))
    return store.add_person(name, hashed) or not store.set_password(name, hashed)


def verify(store: Store, name: str, password: str) -> Person | None:
    """Return the person with this name and password, None for a wrong one. It takes the same time for unknown names."""
    person = store.person(name)
    hashed = _NOBODY if person is None else person.password
    try:
        _hasher.verify(hashed, _normal(password[:_MAX_CHARACTERS]))
    except argon2.exceptions.VerificationError:
        return None
    if person is not None and _hasher.check_needs_rehash(hashed):
        store.set_password(person.name, _hasher.hash(_normal(password)))
    return person


def _normal(password: str) -> str:
    # Keyboards differ in how they write an accent (RFC 8265, 4.2).
    return unicodedata.normalize("NFC", password)


# A password can be guessed, unlike a key. So only so many wrong ones may be given for a name from unknown browsers together.
# A browser in which that person has signed in before counts by itself: a stranger who tries locks out no such browser.
_MOST, _SECONDS = 10, 900.0
# Names and browsers that are remembered; the one that failed longest ago goes.
_MAX_REMEMBERED = 10_000


class Attempts:
    """The latest failed attempts, by name or browser. On one thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failed: dict[str, deque[float]] = {}

    def are_too_many(self, who: str) -> bool:
        """Tell whether no further attempt may be made for now."""
        failed = self._failed.get(who)
        return failed is not None and len(failed) == _MOST and self._now() - failed[0] < _SECONDS

    def begin(self, who: str) -> None:
        """Note an attempt before it is checked, so that many at once are no way around the limit."""
        failed = self._failed.pop(who, None) or deque(maxlen=_MOST)
        self._failed[who] = failed
        failed.append(self._now())
        while len(self._failed) > _MAX_REMEMBERED:
            del self._failed[next(iter(self._failed))]

    def succeeded(self, who: str) -> None:
        """Forget the attempts: the person is there."""
        self._failed.pop(who, None)
