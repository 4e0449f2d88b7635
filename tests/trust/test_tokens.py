"""Which access tokens open the server: real keys and signatures, and everything that can be wrong with them."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import hypothesis
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import strategies as st

from support.issuer import EC_KEY, ED_KEY, OTHER_RSA_KEY, RSA_KEY, Issuer, described
from vaultwire.trust.tokens import KeyUnknown, TokenRefused, Tokens, read_keys

HERE = "https://notes.example.org/mcp"


class Seconds(float):
    """So many from when the token is made."""


def made(issuer: Issuer, **claims: Any) -> str:
    """Return a token with these claims."""
    now = int(time.time())
    said: dict[str, Any] = {
        name: now + int(each) if isinstance(each, Seconds) else each for name, each in claims.items()
    }
    return issuer.token(**said)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as started:
        yield started


def owner(issuer: Issuer, token: str, *scopes: str) -> str:
    return Tokens(issuer.url, HERE, scopes).owner(token, read_keys({"keys": issuer.keys}))


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (RSA_KEY, "RS256"),
        (RSA_KEY, "RS512"),
        (RSA_KEY, "PS256"),
        (EC_KEY, "ES256"),
        (ED_KEY, "EdDSA"),
    ],
)
def test_a_token_of_the_issuer_opens_with_every_kind_of_key(issuer: Issuer, key: Any, algorithm: str) -> None:
    assert owner(issuer, issuer.token(HERE, key, algorithm)) == "oauth:anna"


@pytest.mark.parametrize(
    "claims",
    [
        {"audience": [HERE, "https://other.example"]},
        {"audience": HERE, "exp": Seconds(-5)},  # clocks differ
        {"audience": HERE, "nbf": Seconds(5)},
        {"audience": HERE, "head": {"typ": "at+jwt"}},
        {"audience": HERE, "head": {"typ": "application/at+JWT"}},
        {"audience": HERE, "iat": None},
        {"audience": HERE, "sub": "Änne|5"},
    ],
)
def test_what_may_differ_does_not_matter(issuer: Issuer, claims: dict[str, Any]) -> None:
    assert owner(issuer, made(issuer, **claims)).startswith("oauth:")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another audience": ({"aud": "https://other.example/mcp"}, "another server"),
    "an audience that begins like ours": ({"aud": HERE + "/x"}, "another server"),
    "a part of our name": ({"aud": "https://notes.example.org"}, "another server"),
    "no audience": ({"aud": None}, "lacks"),
    "another issuer": ({"iss": "https://evil.example"}, "somebody else"),
    "no issuer": ({"iss": None}, "lacks"),
    "no end": ({"exp": None}, "lacks"),
    "an end": ({"exp": Seconds(-120)}, "expired"),
    "an end that is no time": ({"exp": "soon"}, "malformed"),
    "an end beyond all numbers": ({"exp": 1e400}, "malformed"),
    "a beginning to come": ({"nbf": Seconds(120)}, "not valid yet"),
    "an issue to come": ({"iat": Seconds(120)}, "not valid yet"),
    "no owner": ({"sub": None}, "lacks"),
    "an owner without a name": ({"sub": ""}, "names nobody"),
    "an owner with a very long name": ({"sub": "x" * 256}, "names nobody"),
    "an owner whose name goes on in the next line of the log": ({"sub": "anna\nben"}, "names nobody"),
    "an owner who must show a key of theirs": ({"cnf": {"jkt": "x"}}, "bound"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_token_with_a_wrong_claim_opens_nothing(issuer: Issuer, what: str) -> None:
    claims, words = WRONG[what]
    audience = claims.get("aud", HERE)
    with pytest.raises(TokenRefused, match=words) as refused:
        owner(issuer, made(issuer, audience=audience, **{name: claims[name] for name in claims if name != "aud"}))
    assert refused.value.error == "invalid_token"


def test_a_subject_that_is_no_text_opens_nothing(issuer: Issuer) -> None:
    for subject in (5, ["anna"], {"a": 1}, True):
        payload = {"iss": issuer.url, "aud": HERE, "sub": subject, "exp": int(time.time()) + 60}
        token = jwt.PyJWS().encode(json.dumps(payload).encode(), RSA_KEY, "RS256", {"kid": "rsa"})
        with pytest.raises(TokenRefused):
            owner(issuer, token)


@pytest.mark.parametrize("kind", ["logout+jwt", "dpop+jwt", "secevent+jwt", "JWE"])
def test_a_token_for_something_else_opens_nothing(issuer: Issuer, kind: str) -> None:
    with pytest.raises(TokenRefused, match="no access token"):
        owner(issuer, issuer.token(HERE, head={"typ": kind}))


def test_an_extension_the_server_does_not_know_is_not_passed_over(issuer: Issuer) -> None:
    with pytest.raises(TokenRefused, match=r"extensions|malformed"):  # PyJWT sees some itself
        owner(issuer, issuer.token(HERE, head={"crit": ["x"], "x": 1}))


# ---------------------------------------------------------------------- signatures


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", None, 5, "HS256", "HS512", "RS1", "ES256K"])
def test_an_algorithm_that_proves_nothing_opens_nothing(issuer: Issuer, algorithm: Any) -> None:
    claims = {"iss": issuer.url, "aud": HERE, "sub": "anna", "exp": int(time.time()) + 60}
    for signature in ("", "AAAA"):
        with pytest.raises(TokenRefused):
            owner(issuer, f"{part({'alg': algorithm, 'kid': 'rsa', 'typ': 'JWT'})}.{part(claims)}.{signature}")


def test_the_public_key_is_no_shared_secret(issuer: Issuer) -> None:
    public = RSA_KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    claims = {"iss": issuer.url, "aud": HERE, "sub": "anna", "exp": int(time.time()) + 60}
    signed = f"{part({'alg': 'HS256', 'kid': 'rsa', 'typ': 'JWT'})}.{part(claims)}"
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(signed.encode(), public)
    token = f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
    with pytest.raises(TokenRefused):
        owner(issuer, token)
    # Nor is one that an issuer shows by mistake.
    assert read_keys({"keys": [{"kty": "oct", "k": "AAAA", "kid": "x", "alg": "HS256"}]}) == []


def test_a_signature_of_another_key_or_over_other_claims_opens_nothing(issuer: Issuer) -> None:
    with pytest.raises(TokenRefused, match="signature"):
        owner(issuer, issuer.token(HERE, OTHER_RSA_KEY))
    head, _, signature = issuer.token(HERE).split(".")
    other = issuer.token(HERE, sub="ben").split(".")[1]
    with pytest.raises(TokenRefused, match="signature"):
        owner(issuer, f"{head}.{other}.{signature}")
    with pytest.raises(TokenRefused):
        owner(issuer, issuer.token(HERE, EC_KEY, "ES256", head={"kid": "rsa"}))


def test_a_key_that_is_not_there_may_come_and_others_may_not(issuer: Issuer) -> None:
    with pytest.raises(KeyUnknown):
        owner(issuer, issuer.token(HERE, head={"kid": "new"}))
    with pytest.raises(KeyUnknown):
        Tokens(issuer.url, HERE).owner(issuer.token(HERE), [])


def test_a_token_that_names_no_key_means_the_only_one_that_fits(issuer: Issuer) -> None:
    token = issuer.token(HERE, head={"kid": None})
    assert owner(issuer, token) == "oauth:anna"
    two = read_keys({"keys": [described(RSA_KEY, "a"), described(OTHER_RSA_KEY, "b")]})
    with pytest.raises(KeyUnknown):
        Tokens(issuer.url, HERE).owner(token, two)


def test_a_key_signs_only_with_what_it_is_for(issuer: Issuer) -> None:
    keys = read_keys({"keys": [described(RSA_KEY, "rsa", alg="RS512"), described(EC_KEY, "ec", use="enc")]})
    assert [key.algorithms for key in keys] == [("RS512",)]
    tokens = Tokens(issuer.url, HERE)
    assert tokens.owner(issuer.token(HERE, algorithm="RS512"), keys) == "oauth:anna"
    for token in (issuer.token(HERE), issuer.token(HERE, EC_KEY, "ES256")):
        with pytest.raises(KeyUnknown):
            tokens.owner(token, keys)


@pytest.mark.filterwarnings("ignore::UserWarning")  # cryptography's own word about such a key
def test_weak_and_broken_keys_are_passed_over() -> None:
    weak = rsa.generate_private_key(65537, 1024)
    broken = [
        described(weak, "weak"),
        {},
        {"kty": "RSA", "n": "!", "e": "AQAB"},
        {"kty": "EC", "crv": "P-256"},
        {"kty": "EC", "crv": ["P-256"]},
        {"kty": "RSA", "n": 5, "e": []},
        {"kty": ["RSA"]},
        "key",
        described(EC_KEY, None),
    ]
    assert [key.algorithms for key in read_keys({"keys": broken})] == [("ES256",)]
    documents: list[Any] = [{}, {"keys": {}}, [], None, 5]
    for document in documents:
        assert read_keys(document) == []


# ---------------------------------------------------------------------- scopes


@pytest.mark.parametrize(
    "claims", [{"scope": "other notes tasks"}, {"scp": ["tasks", "notes"]}, {"scp": "notes tasks"}]
)
def test_scopes_are_found_where_issuers_put_them(issuer: Issuer, claims: dict[str, Any]) -> None:
    assert owner(issuer, issuer.token(HERE, **claims), "notes", "tasks") == "oauth:anna"


@pytest.mark.parametrize(
    "claims", [{}, {"scope": "notes"}, {"scope": "notestasks"}, {"scope": 5}, {"scp": [["notes"]]}]
)
def test_a_token_that_is_good_for_too_little_is_told_so(issuer: Issuer, claims: dict[str, Any]) -> None:
    with pytest.raises(TokenRefused, match="notes tasks") as refused:
        owner(issuer, issuer.token(HERE, **claims), "notes", "tasks")
    assert refused.value.error == "insufficient_scope"


# ---------------------------------------------------------------------- anything

PIECES = [
    "",
    "a",
    "e30",
    part({"alg": "RS256"}),
    part({"alg": "RS256", "kid": "rsa"}),
    part([]),
    part("x"),
    part(5),
    "é",
]


@hypothesis.given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), min_size=1, max_size=5))
def test_no_text_whatever_is_more_than_refused(issuer: Issuer, pieces: list[str]) -> None:
    with pytest.raises(TokenRefused) as refused:
        owner(issuer, ".".join(pieces))
    assert str(refused.value).isascii()
    assert '"' not in str(refused.value)


@hypothesis.given(st.integers(0, 2000), st.sampled_from(["", "A", ".", "\0"]))
def test_no_change_to_a_token_leaves_it_good(issuer: Issuer, at: int, put: str) -> None:
    token = issuer.token(HERE)
    at %= len(token) - 1  # the last character of a signature has bits that say nothing
    changed = token[:at] + put + token[at + 1 :]
    hypothesis.assume(changed != token)
    with pytest.raises(TokenRefused):
        owner(issuer, changed)
