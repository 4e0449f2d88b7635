"""How people show who they are: passwords, by Argon2id, and passkeys; and how often wrong ones may be given."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import re
import secrets
import time
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import argon2
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

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


# A password can be guessed, unlike a key. So only so many wrong ones may be given for a name from unknown browsers together
# (``Store.begin_attempt``). A browser in which that person has signed in before counts by itself: a stranger who tries locks
# out no such browser.

# Each takes 64 MiB and a core for a moment.
_MAX_HASHES = 2
_MAX_WAITING = 20


class Passwords:
    """Checks the passwords that are given on a page: few at a time, and few wrong ones. On the event loop."""

    def __init__(self, store: Store, tell: Callable[[str], None]) -> None:
        """``tell`` writes the log."""
        self._store = store
        self._tell = tell
        self._hashing = asyncio.Semaphore(_MAX_HASHES)
        self._waiting = 0

    async def check(self, name: str, password: str, browser: str) -> tuple[str, str, int]:
        """Return the name of the person, or an empty name, the problem in words and the status.

        ``browser``: the secret of a browser in which somebody has signed in before, empty for none.
        """
        who = f"name {name.casefold()}"
        if await asyncio.to_thread(self._store.is_browser_of, browser, name):
            who = f"browser {hashlib.sha256(browser.encode()).hexdigest()}"
        if self._waiting >= _MAX_WAITING:
            return "", "Many are signing in at this moment. Try again.", 503
        self._waiting += 1
        try:
            if not await asyncio.to_thread(self._store.begin_attempt, who):
                self._tell("too many wrong passwords were given for a name on the sign-in page")
                problem = (
                    "Too many wrong passwords were given for this name. "
                    "Wait 15 minutes, or use a browser in which you have signed in before."
                )
                return "", problem, 429
            async with self._hashing:
                person = await asyncio.to_thread(verify, self._store, name, password)
        finally:
            self._waiting -= 1
        if person is None:
            self._tell("a wrong name or password was given on the sign-in page")
            return "", "Name or password is wrong.", 403
        await asyncio.to_thread(self._store.forget_attempts, who)
        return person.name, "", 200


# Passkeys (WebAuthn, level 2): what a browser is asked for, and whether its answer is right.
#
# A challenge is not stored. It holds when it ends, and is signed for the one request that it belongs to; of those that were
# answered rightly, it is remembered that they were. So a stranger who opens pages fills nothing, and no answer counts twice.

# From opening a page to the answer.
_CHALLENGE_SECONDS = 600
_NONCE, _TIME = 16, 8


class PasskeyRefused(Exception):  # noqa: N818 - what was asked for was refused; nothing failed
    """An answer of a browser that does not count; the message is for the person."""


def can_have_passkeys(url: str) -> bool:
    """Tell whether browsers make passkeys for this URL: they need a name, an address has none (WebAuthn, "RP ID")."""
    try:
        ipaddress.ip_address(urlsplit(url).hostname or "")
    except ValueError:
        return True
    return False


class Passkeys:
    """The passkeys of one server. Safe to use from several threads; all but ``request`` may wait for the disk."""

    def __init__(self, store: Store, url: str, now: Callable[[], float] = time.time) -> None:
        """``url`` is the server's for everybody: passkeys are for its name, and count from its pages only."""
        self._store = store
        self._key = hmac.digest(store.key(), b"passkeys", "sha256")
        self._now = now
        host = urlsplit(url).hostname or ""
        self._server = Fido2Server(
            PublicKeyCredentialRpEntity(id=host, name=f"Notes at {host}"), verify_origin=lambda origin: origin == url
        )

    def request(self, about: bytes) -> dict[str, Any]:
        """Return what a browser is asked for to sign in; ``about`` is the request for which the person does so."""
        options, _ = self._server.authenticate_begin(
            user_verification=UserVerificationRequirement.REQUIRED, challenge=self._new_challenge(b"sign in", about)
        )
        return dict(options.public_key)

    def verify(self, about: bytes, answer: str) -> str:
        """Return the name of the person whose passkey answered. Raises PasskeyRefused."""
        response = _read(answer)
        id_ = _decoded(response.get("rawId"))
        passkey = self._store.passkey(id_)
        if passkey is None:
            raise PasskeyRefused("This server does not know this passkey.")
        who = f"passkey {id_.hex()}"
        if not self._store.begin_attempt(who):
            raise PasskeyRefused("Too many wrong answers came for this passkey. Wait 15 minutes.")
        challenge = self._check_challenge(response, b"sign in", about)
        try:
            signed = AuthenticationResponse.from_dict(response)
            self._server.authenticate_complete(_state(challenge), [AttestedCredentialData(passkey.data)], response)
        except Exception:  # noqa: BLE001 - the library says what is wrong with a stranger's bytes in many ways
            raise PasskeyRefused("The answer of the passkey is wrong.") from None
        if not self._store.spend(f"challenge {challenge.hex()}", _CHALLENGE_SECONDS):
            raise PasskeyRefused("This answer was sent before. Try again.")
        if not self._store.use_passkey(id_, signed.response.authenticator_data.counter):
            raise PasskeyRefused("This passkey was copied, as its counter shows. Sign in with the password.")
        self._store.forget_attempts(who)
        return passkey.person

    def creation(self, code: str) -> dict[str, Any]:
        """Return what a browser is asked for to make a passkey for the person of a code. Raises PasskeyRefused."""
        person = self._store.enrolling(code)
        if person is None:
            raise _code_is_over()
        options, _ = self._server.register_begin(
            PublicKeyCredentialUserEntity(
                id=hmac.digest(self._key, person.casefold().encode(), "sha256"), name=person, display_name=person
            ),
            resident_key_requirement=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
            challenge=self._new_challenge(b"make", code.encode()),
        )
        return dict(options.public_key)

    def add(self, code: str, answer: str) -> str:
        """Add the passkey that a browser made; return the person's name. The code is over then. Raises PasskeyRefused."""
        response = _read(answer)
        challenge = self._check_challenge(response, b"make", code.encode())
        try:
            made = self._server.register_complete(_state(challenge), RegistrationResponse.from_dict(response))
        except Exception:  # noqa: BLE001 - as above
            raise PasskeyRefused("The answer of the browser is wrong.") from None
        data = made.credential_data
        assert data is not None, "the library has checked that"
        person = self._store.add_passkey(code, data.credential_id, bytes(data), made.counter)
        if person is None:
            raise _code_is_over()
        return person

    # ------------------------------------------------------------------ challenges

    def _new_challenge(self, purpose: bytes, about: bytes) -> bytes:
        head = secrets.token_bytes(_NONCE) + int(self._now() + _CHALLENGE_SECONDS).to_bytes(_TIME, "big")
        return head + self._signature(head, purpose, about)

    def _signature(self, head: bytes, purpose: bytes, about: bytes) -> bytes:
        return hmac.digest(self._key, head + purpose + hashlib.sha256(about).digest(), "sha256")

    def _check_challenge(self, response: Mapping[str, Any], purpose: bytes, about: bytes) -> bytes:
        """Return the challenge that a browser answered. Raises PasskeyRefused if it is not one for this, or is over."""
        inner = response.get("response")
        signed = _read(_decoded(inner.get("clientDataJSON") if isinstance(inner, dict) else None))
        challenge = _decoded(signed.get("challenge"))
        head, signature = challenge[: _NONCE + _TIME], challenge[_NONCE + _TIME :]
        is_ours = hmac.compare_digest(signature, self._signature(head, purpose, about))
        if not is_ours or int.from_bytes(head[_NONCE:], "big") <= self._now():
            raise PasskeyRefused("This page was open for too long, or its answer was sent before. Try again.")
        return challenge


def _code_is_over() -> PasskeyRefused:
    return PasskeyRefused(
        "This address was used, or is older than an hour. For a new one: vaultwire people passkey NAME"
    )


def _state(challenge: bytes) -> dict[str, Any]:
    return {"challenge": websafe_encode(challenge), "user_verification": UserVerificationRequirement.REQUIRED}


def _read(text: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise PasskeyRefused("The answer of the browser cannot be read.")
    return value


def _decoded(text: Any) -> bytes:
    try:
        return websafe_decode(text)
    except (ValueError, TypeError):
        raise PasskeyRefused("The answer of the browser cannot be read.") from None
