"""The plain words of a query, and the conditions beside them."""

from __future__ import annotations

import pytest

from vaultwire.vault.search.query import And, Not, Or, Within, parse_query
from vaultwire.vault.search.questions import plain_words, without_sentence_marks


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (
            "how do I resolve conflicts between devices?",
            ["how", "do", "I", "resolve", "conflicts", "between", "devices"],
        ),
        ("(red blue) green", ["red", "blue", "green"]),
        ('"red apple" tree, tree!', ["red apple", "tree"]),
        ("Red red RED", ["Red"]),
        ("well-known 2026-03-01.", ["well-known", "2026-03-01"]),
        ("sync* ?! -", ["sync"]),
        ("日本、語", ["日本、語"]),
        ("café’s", ["café’s"]),  # noqa: RUF001 - an apostrophe as people type it
        ('red AND blue NOT green && "NOT" and', ["red", "blue", "green", "NOT", "and"]),
        ("red OR blue", []),
        ("match-case:Red", []),
    ],
)
def test_words_are_taken_without_the_punctuation_around_them(query: str, words: list[str]) -> None:
    assert [word.text for word in plain_words(parse_query(query)).words] == words


def test_operators_stay_conditions() -> None:
    found = plain_words(parse_query("red -blue tag:#a (b OR c) [d] /e/"))
    assert [word.text for word in found.words] == ["red"]
    assert [type(part) for part in found.conditions[:3]] == [Not, Within, Or]
    assert len(found.conditions) == 5
    asked = found.any_of(parse_query("x"), found.words, found.words).expression
    assert isinstance(asked, And)
    assert asked.parts[:5] == found.conditions


def test_of_a_long_text_the_longest_words_count() -> None:
    text = " ".join("w" * length for length in range(1, 40))
    assert [len(word.text) for word in plain_words(parse_query(text)).words] == list(range(20, 40))


@pytest.mark.parametrize(
    ("query", "as_if"),
    [
        ("which devices, and why?!", "which devices and why"),
        ("wait ... go.", "wait ... go"),
        ("red? pear. tag:#a. (b? OR c?)", "red pear tag:#a. (b? OR c?)"),
        ("devices?", "devices?"),
        ('"red apple?" pear?', '"red apple?" pear?'),
        ("node.js v1.2", "node.js v1.2"),
    ],
)
def test_a_sentence_loses_the_marks_after_its_words(query: str, as_if: str) -> None:
    assert without_sentence_marks(parse_query(query)).expression == parse_query(as_if).expression
