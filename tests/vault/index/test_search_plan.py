"""Plans: what an index of words can tell of a query, and that making one always ends."""

from __future__ import annotations

import pytest

from vaultwire.vault.index.search_plan import Planned, Vocabularies, make_plan
from vaultwire.vault.index.tokenizer import NgramFilter
from vaultwire.vault.index.vocabulary import Vocabulary
from vaultwire.vault.search.query import parse_query


def plan_of(query: str) -> Planned:
    texts = Vocabulary()
    texts.add({"red", "apple", "crème"})
    return make_plan(parse_query(query).expression, Vocabularies(texts, Vocabulary()), NgramFilter())


EXACT = [
    *[("red", True), ('"red apple"', True), ("-red", True), ("red OR creme", True), ("日本", True), ("file:red", True)],
    *[
        ("x-y", True),
        ('"red  apple"', True),
        ('"red, apple."', True),
        ('"[["', True),
        ("日-本", True),
        ("path:a/b.c", True),
    ],
    *[("line:red", False), ("match-case:red", False), ("[a:b]", False), ("\u0301", False), ("-\u0301", False)],
    *[('"red \u0301 apple"', True), ('"red \u0301"', False)],
    # Of breaks longer than any that people type, the index knows the ends.
    *[(f"red{'-' * 64}", True), (f"red{'-' * 65}", False), (f"red{'-' * 128}red", True), (f"red{'-' * 129}red", False)],
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize(("query", "is_exact"), EXACT, ids=range(len(EXACT)))
def test_a_plan_says_whether_words_tell_all(query: str, *, is_exact: bool) -> None:
    """A mark alone is in every word without diacritics: looking for it there once went on for ever."""
    assert plan_of(query).is_exact is is_exact
