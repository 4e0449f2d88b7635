"""Hints for what other programs write in a search: one line each, and none for what our own syntax has."""

from __future__ import annotations

import pytest

from vaultwire.vault.search.query import parse_query, query_hints


@pytest.mark.parametrize(
    ("query", "beginning", "right"),
    [
        ("status:active", "status: is no operator", "[status:active]"),
        ("-status:active red", "status: is no operator", "[status:active]"),
        ('due:"2026"', "due: is no operator", "[due:2026]"),
        ("title:foo", "title: is no operator", "file:foo"),
        ("(red OR name:foo)", "name: is no operator", "file:foo"),
        ("tags:#red", "tags: is no operator", "tag:#red"),
        ("folder:Work", "folder: is no operator", "path:Work"),
        ("sync*", "* is no wildcard", "write sync:"),
        ("*sync*", "* is no wildcard", "write sync:"),
        ("red AND blue", "AND is searched as a word", "leave it out"),
        ("red NOT blue", "NOT is searched as a word", "write -word"),
        ("red || blue", "|| is searched as text", "write OR"),
    ],
)
def test_what_another_search_would_understand_is_written_as_ours(query: str, beginning: str, right: str) -> None:
    (hint,) = query_hints(parse_query(query))
    assert hint.startswith(beginning)
    assert right in hint
    assert len(hint) < 120


@pytest.mark.parametrize(
    "query",
    [
        *["red blue", "red OR blue", "file:foo path:a", "[status:active]", '"status:active"', "tag:#red", "line:(a b)"],
        *["https://example.org", "10:30", "2026-03-01", "and or not", "**", "a:", "/status:active/", "content:a:b"],
    ],
)
def test_our_own_syntax_and_plain_text_need_no_hint(query: str) -> None:
    assert query_hints(parse_query(query)) in ([], ["a: is no operator; for a property write [a:value]"])


def test_each_hint_is_given_once() -> None:
    assert len(query_hints(parse_query("red AND blue AND status:a status:a"))) == 2
