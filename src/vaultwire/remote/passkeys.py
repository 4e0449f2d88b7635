"""Passkeys (WebAuthn, level 2): what a browser is asked for, and whether its answer is right.

A challenge is not stored. It holds when it ends, and is signed for the one request that it belongs to; of those that were
answered rightly, it is remembered that they were. So a stranger who opens pages fills nothing, and no answer counts twice.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

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

from vaultwire.remote.people import Attempts
from vaultwire.remote.store import Store

# From opening a page to the answer.
_CHALLENGE_SECONDS = 600
_NONCE, _TIME = 16, 8
# Answered rightly within that time, by everybody.
_MAX_USED = 10_000


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
        self._lock = threading.Lock()
        self._used: dict[bytes, float] = {}
        self._attempts = Attempts()

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
        who = id_.hex()
        with self._lock:
            if self._attempts.are_too_many(who):
                raise PasskeyRefused("Too many wrong answers came for this passkey. Wait 15 minutes.")
            self._attempts.begin(who)
        challenge = self._check_challenge(response, b"sign in", about)
        try:
            signed = AuthenticationResponse.from_dict(response)
            self._server.authenticate_complete(_state(challenge), [AttestedCredentialData(passkey.data)], response)
        except Exception:  # noqa: BLE001 - the library says what is wrong with a stranger's bytes in many ways
            raise PasskeyRefused("The answer of the passkey is wrong.") from None
        self._spend(challenge)
        if not self._store.use_passkey(id_, signed.response.authenticator_data.counter):
            raise PasskeyRefused("This passkey was copied, as its counter shows. Sign in with the password.")
        with self._lock:
            self._attempts.succeeded(who)
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
        if not is_ours or int.from_bytes(head[_NONCE:], "big") <= self._now() or challenge in self._used:
            raise PasskeyRefused("This page was open for too long, or its answer was sent before. Try again.")
        return challenge

    def _spend(self, challenge: bytes) -> None:
        """Note that a challenge was answered. Raises PasskeyRefused if it was before."""
        now = self._now()
        with self._lock:
            self._used = {each: end for each, end in self._used.items() if end > now}
            if challenge in self._used or len(self._used) >= _MAX_USED:
                raise PasskeyRefused("This answer was sent before. Try again.")
            self._used[challenge] = now + _CHALLENGE_SECONDS


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
