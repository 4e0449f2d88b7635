"""A passkey in software: answers what a page asks for, rightly or with one thing wrong."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import Aaguid, AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

PRESENT, VERIFIED, HAS_CREDENTIAL = 1, 4, 64


class Authenticator:
    """One passkey. ``counts`` is what its counter adds with each use."""

    def __init__(self, origin: str, rp_id: str, counts: int = 1) -> None:
        self.origin = origin
        self.rp_id = rp_id
        self.id = secrets.token_bytes(32)
        self.count = 0
        self._counts = counts
        self._key = ec.generate_private_key(ec.SECP256R1())

    def make(self, options: dict[str, Any], **wrong: Any) -> str:
        """Return the answer to what a page asks for to make a passkey."""
        credential = AttestedCredentialData.create(
            Aaguid(bytes(16)),
            self.id,
            ES256.from_cryptography_key(self._key.public_key()),  # type: ignore[no-untyped-call]
        )
        data = self._data(wrong, credential)
        signed = self._client_data("webauthn.create", options, wrong)
        attested = AttestationObject.create("none", data, {})
        return self._answer(signed, attestationObject=attested)

    def sign(self, options: dict[str, Any], **wrong: Any) -> str:
        """Return the answer to what a page asks for to sign in."""
        data = self._data(wrong)
        signed = self._client_data("webauthn.get", options, wrong)
        signature = self._key.sign(data + hashlib.sha256(signed).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(signed, authenticatorData=data, signature=wrong.get("signature", signature))

    def _client_data(self, kind: str, options: dict[str, Any], wrong: dict[str, Any]) -> bytes:
        return CollectedClientData.create(
            wrong.get("kind", kind), wrong.get("challenge", options["challenge"]), wrong.get("origin", self.origin)
        )

    def _data(self, wrong: dict[str, Any], credential: AttestedCredentialData | None = None) -> AuthenticatorData:
        self.count = wrong.get("count", self.count + self._counts)
        flags = AuthenticatorData.FLAG(wrong.get("flags", PRESENT | VERIFIED) | (HAS_CREDENTIAL if credential else 0))
        hashed = hashlib.sha256(wrong.get("rp_id", self.rp_id).encode()).digest()
        return AuthenticatorData(AuthenticatorData.create(hashed, flags, self.count, credential or b""))

    def _answer(self, signed: bytes, **parts: bytes) -> str:
        encoded = {name: websafe_encode(part) for name, part in {"clientDataJSON": signed, **parts}.items()}
        id_ = websafe_encode(self.id)
        return json.dumps({"id": id_, "rawId": id_, "type": "public-key", "response": encoded})
