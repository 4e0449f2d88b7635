"""Checks access tokens of another issuer (OAuth 2.1, JWTs), and tells their owners. It fetches and stores nothing.

The caller brings the issuer's keys. PyJWT, with cryptography, checks the signature and the times. The other checks are here,
after RFC 8725 and RFC 9068.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

# Clocks differ. More would only lengthen the life of a revoked token.
_LEEWAY_SECONDS = 30
# Chosen by the kind of the key, never by the token: a public key must not be used as a shared secret (RFC 8725, 3.1).
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
# RFC 7518, 3.3.
_MIN_RSA_BITS = 2048
# An issuer has two or three. Each is looked at for every token.
_MAX_KEYS = 100
# RFC 9068 asks for the second; most issuers write the first, or nothing. Other types are no access tokens.
_TYPES = ("jwt", "at+jwt", "application/at+jwt")
# OpenID Connect Core, 2.
_MAX_SUBJECT = 255
_PREFIX = "oauth:"
"""Before a caller's name. A key's name has no colon, so the two cannot be confused."""

INVALID_TOKEN, INSUFFICIENT_SCOPE = "invalid_token", "insufficient_scope"
"""RFC 6750, 3.1."""


class TokenRefused(Exception):  # noqa: N818 - what was asked for was refused; nothing failed
    """A token that is not accepted. ``error`` is RFC 6750's code; the message, plain ASCII, says why."""

    def __init__(self, message: str, error: str = INVALID_TOKEN) -> None:
        super().__init__(message)
        self.error = error


class KeyUnknown(TokenRefused):
    """The token is signed with an unknown key; the issuer may have a new one."""


class IssuerUnreachable(Exception):  # noqa: N818 - says what is the matter
    """The issuer's keys cannot be fetched at the moment; the message is for the log."""


class IssuerKey(NamedTuple):
    """A public key of the issuer, and its algorithms."""

    id: str | None
    algorithms: tuple[str, ...]
    key: Any


class Trusted(NamedTuple):
    """An issuer whose tokens are accepted. ``resource`` is this server's URL for clients; None for where it listens.

    ``audience`` is the audience of its tokens; None for the resource. The tokens must have all ``scopes``.
    """

    issuer: str
    resource: str | None = None
    audience: str | None = None
    scopes: tuple[str, ...] = ()


class Tokens(NamedTuple):
    """What a token must have: its issuer, its audience (the name of this server) and its scopes."""

    issuer: str
    audience: str
    scopes: tuple[str, ...] = ()

    def owner(self, token: str, keys: Sequence[IssuerKey]) -> str:
        """Return the name of the token's owner. Raises TokenRefused."""
        import jwt  # noqa: PLC0415 - an extra, for those who use it

        if token.count(".") != 2:  # noqa: PLR2004 - head, claims, signature
            raise TokenRefused("this is neither a key of this server nor an access token")
        try:
            key = _key_of(jwt.get_unverified_header(token), keys)
            claims = jwt.decode(
                token,
                key.key,
                list(key.algorithms),
                audience=self.audience,
                issuer=self.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise TokenRefused(_why(error)) from None
        except (ValueError, TypeError, OverflowError, RecursionError):  # claims of wrong types
            raise TokenRefused("the token is malformed") from None
        return _PREFIX + self._subject(claims)

    def _subject(self, claims: dict[str, Any]) -> str:
        subject: str = claims["sub"]
        if not 0 < len(subject) <= _MAX_SUBJECT or not subject.isprintable():
            raise TokenRefused("the token names nobody: sub must be a short printable text")
        if "cnf" in claims:  # only the holder of that key may use it (RFC 9449, 7.1)
            raise TokenRefused("the token is bound to its owner's key, which this server cannot check")
        granted = _scopes(claims)
        if not granted.issuperset(self.scopes):
            raise TokenRefused(f"the token must have the scope {' '.join(self.scopes)}", INSUFFICIENT_SCOPE)
        return subject


def read_keys(document: Any) -> list[IssuerKey]:
    """Return the keys of a JSON Web Key Set that can check signatures; without the others and without weak ones."""
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        return []
    keys = [_read_key(each) for each in listed[:_MAX_KEYS] if isinstance(each, dict)]
    return [key for key in keys if key is not None]


def _read_key(described: dict[str, Any]) -> IssuerKey | None:
    import jwt  # noqa: PLC0415 - as above

    kind, curve = described.get("kty"), described.get("crv")
    algorithms: tuple[str, ...] = ()
    if kind == "RSA":
        algorithms = _RSA
    elif kind in ("EC", "OKP") and isinstance(curve, str) and curve in _CURVES:
        algorithms = (_CURVES[curve],)
    if "alg" in described:
        algorithms = tuple(each for each in algorithms if each == described["alg"])
    if not algorithms or described.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK(described, algorithms[0]).key
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
        return None
    if kind == "RSA" and key.key_size < _MIN_RSA_BITS:
        return None
    id_ = described.get("kid")
    return IssuerKey(id_ if isinstance(id_, str) else None, algorithms, key)


def _key_of(head: dict[str, Any], keys: Sequence[IssuerKey]) -> IssuerKey:
    """Return the key that a token names. Raises KeyUnknown, and TokenRefused for a token that is wrong anyway."""
    kind = head.get("typ", "JWT")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise TokenRefused("the token is no access token")
    if "crit" in head:
        raise TokenRefused("the token asks for extensions this server does not have")
    algorithm, id_ = head.get("alg"), head.get("kid")
    if algorithm not in (*_RSA, *_CURVES.values()):
        raise TokenRefused("the token is not signed with a public-key algorithm of this server's")
    fitting = [key for key in keys if algorithm in key.algorithms and (id_ is None or key.id == id_)]
    if (
        len(fitting) != 1
    ):  # without a name only a single key can be meant: to try several would be work for anybody who asks
        raise KeyUnknown("the token is signed with a key its issuer does not have")
    return fitting[0]


def _why(error: Exception) -> str:
    """Return the reason in our own words: PyJWT's messages quote the token."""
    import jwt  # noqa: PLC0415 - as above

    match error:
        case jwt.ExpiredSignatureError():
            return "the token has expired"
        case jwt.ImmatureSignatureError():
            return "the token is not valid yet"
        case jwt.InvalidAudienceError():
            return "the token was given out for another server"
        case jwt.InvalidIssuerError():
            return "the token was given out by somebody else"
        case jwt.MissingRequiredClaimError():
            return "the token lacks one of exp, iss, aud and sub"
        case jwt.InvalidSignatureError():
            return "the token's signature is wrong"
    return "the token is malformed"


def _scopes(claims: dict[str, Any]) -> set[str]:
    """Return the token's scopes. Some large issuers write ``scp`` for ``scope`` (RFC 8693, 4.2)."""
    scopes: set[str] = set()
    for name in ("scope", "scp"):
        value = claims.get(name)
        if isinstance(value, str):
            scopes.update(value.split(" "))
        elif isinstance(value, list):
            scopes.update(each for each in value if isinstance(each, str))
    return scopes
