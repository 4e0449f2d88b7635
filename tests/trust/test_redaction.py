"""What stands of a call in a log: enough to say what was done to which note, nothing of what stands in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.toolkit.arguments import OTHER_NAMES
from vaultwire.toolkit.catalog import APP_CATALOG, load_catalog
from vaultwire.trust.audit import CONTENT, HIDDEN, redact, redact_text

LUHN = "4111 1111 1111 1111"  # the card number that every shop's manual has


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "Projects/Plan.md", "mode": "overwrite"},
        {"query": 'meeting (work OR "call mum")', "limit": 10, "max_tokens": 4000},
        {"paths": ["A.md", "B.md"], "dry_run": True, "cursor": None},
    ],
)
def test_places_and_settings_stand_as_they_are(arguments: dict[str, Any]) -> None:
    assert redact(arguments) == arguments


@pytest.mark.parametrize("name", [*sorted(CONTENT), "newText", "new-text", "Content"])
def test_content_is_a_fingerprint_however_short(name: str) -> None:
    assert redact({name: "abc"}) == {name: {"sha256": "ba7816bf8f01cfea", "length": 3}}


def test_content_deep_in_an_argument_is_a_fingerprint() -> None:
    edits = [{"action": "replace", "section": "Plan", "content": "Secret plans", "text": "Old plans"}]
    shown = redact({"path": "A.md", "edits": edits, "properties": [{"name": "status", "values": ["ill", "poor"]}]})
    assert shown["edits"][0]["action"] == "replace"
    assert shown["edits"][0]["section"] == "Plan"
    assert shown["properties"][0]["name"] == "status"
    text = json.dumps(shown)
    assert not any(word in text for word in ("Secret", "Old", "ill", "poor"))


def test_every_argument_of_our_tools_that_takes_a_long_text_is_content() -> None:
    def long_texts(schema: dict[str, Any], name: str) -> set[str]:
        if schema.get("type") == "object":
            return {found for key, part in schema["properties"].items() for found in long_texts(part, key)}
        if schema.get("type") == "array":
            return long_texts(schema["items"], name)
        return {name} if schema.get("maxLength", 0) > 10_000 else set()

    found = {name for tool in load_catalog() for name in long_texts(tool["inputSchema"], "")}
    assert {"content", "diff", "data", "text", "value"} <= found
    assert found <= CONTENT


def test_other_names_of_content_are_content_unless_they_are_real_names_elsewhere() -> None:
    schemas = [each["inputSchema"] for each in [*load_catalog(), *load_catalog(APP_CATALOG)]]
    elsewhere = {name for schema in schemas for name in schema["properties"]}
    names = {other for name in ("content", "data", "diff", "text") for other in OTHER_NAMES[name]}
    assert names - elsewhere <= CONTENT


@pytest.mark.parametrize("text", ['[{"content": "Gamma"', ' {"text": "Gamma"}', '[ {"x"'])
def test_a_text_that_may_be_edits_is_a_fingerprint(text: str) -> None:
    assert set(redact({"edits": text})["edits"]) == {"sha256", "length"}
    assert "ill" not in str(redact({"properties": {"state": "ill", "more": {"odd": "ill"}}}))
    assert redact({"properties": "[status:active]"}) == {"properties": "[status:active]"}


def test_a_long_text_is_a_fingerprint_wherever_it_stands() -> None:
    shown = redact({"path": "x" * 201, "query": "y" * 200})
    assert shown["path"]["length"] == 201
    assert shown["query"] == "y" * 200


@pytest.mark.parametrize("name", ["password", "api_key", "API-Key", "authToken", "client_secret", "Authorization"])
def test_a_secret_by_name_leaves_no_fingerprint(name: str) -> None:
    assert redact({"deep": [{name: "hunter2"}]}) == {"deep": [{name: "[redacted], 7 characters"}]}
    assert redact({name: {"value": "hunter2"}, "more": [{name: 1234}]}) == {name: HIDDEN, "more": [{name: HIDDEN}]}


@pytest.mark.parametrize(
    "secret",
    [
        "vw_" + "a" * 43,
        "ghp_" + "A1" * 18,
        "sk-proj-" + "x" * 40,
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl",
        "Bearer abcdefgh12345",
        "-----BEGIN RSA PRIVATE KEY-----\nabc",
        "078-05-1120",
        LUHN,
        LUHN.replace(" ", "-"),
    ],
)
def test_a_secret_by_its_look_is_taken_out_of_any_text(secret: str) -> None:
    shown = json.dumps(redact({"query": f"find {secret} please", f"key {secret}": 1, "list": [secret]}))
    assert secret not in shown
    assert "find" in shown


def test_the_password_in_a_url_is_taken_out() -> None:
    assert redact_text("see https://mum:hunter2@example.org/x") == "see https" + HIDDEN + "@example.org/x"


@pytest.mark.parametrize(
    "text", ["2026-11-22", "4111 1111 1111 1112", "1234567890123", "sk-1", "Daily/2026-W47.md", "eyJ"]
)
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert redact_text(text) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_whatever_comes_something_short_is_shown_that_is_json(arguments: dict[str, Any]) -> None:
    json.dumps(redact(arguments), allow_nan=False)


def test_very_many_and_very_deep_arguments_stay_short() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    shown = redact({"many": ["a" * 150] * 100_000, "deep": deep, "large": 10**5000})
    assert len(json.dumps(shown)) < 20_000
    assert shown["many"][-1] == {"more": 99_950}


@pytest.mark.parametrize(("count", "more"), [(50, 0), (51, 1), (70, 20)])
def test_of_many_members_fifty_are_shown_and_the_others_counted(count: int, more: int) -> None:
    members = {f"k{number}": number for number in range(count)}
    first = dict(list(members.items())[:50])
    assert redact({"map": members, "list": [*members.values()]}) == {
        "map": first | ({"…": {"more": more}} if more else {}),
        "list": [*first.values(), *([{"more": more}] if more else [])],
    }


def test_content_that_is_no_text_of_the_world_has_a_fingerprint() -> None:
    assert redact({"content": "\udcff"})["content"]["length"] == 1


def test_what_lies_deep_in_lists_is_counted() -> None:
    assert redact({"deep": [[[[[["a", "b"]]]]]]}) == {"deep": [[[[[{"members": 2}]]]]]}
