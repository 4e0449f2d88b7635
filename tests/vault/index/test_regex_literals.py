"""What a regular expression cannot match without: never a text that a match may lack."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.regex_literals import required_literals
from vaultwire.vault.index.store.search_plan import MatchAll, Vocabularies, make_plan
from vaultwire.vault.index.store.vocabulary import Vocabulary
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.search.terms import BadRegexError, Budget, Forms, Pattern, RegexNeedle, bare_folded, check_regex

CASES = [
    ("garden", ["garden"]),
    ("garden plan", ["garden plan"]),
    (r"garden\.md", ["garden.md"]),
    ("gardens?", ["garden"]),
    ("gardens*", ["garden"]),
    ("gardens+", ["gardens"]),
    ("gardens{2}", ["garden"]),
    (r"\bgarden\b", ["garden"]),
    (r"garden\d{4}tomato", ["garden", "tomato"]),
    ("gar[dt]en", ["gar"]),
    ("(gar|ten)den.*tomato", ["den", "tomato"]),
    ("(?:a(b)c)tomato", ["tomato"]),
    (r"[\]]tomato", ["tomato"]),
    ("garden|tomato", []),
    ("ga", []),
    ("\\x41bcdef", []),
    ("HIDDEN", ["DDEN"]),
    ("^tomato$", ["tomato"]),
]


@pytest.mark.parametrize(("source", "texts"), CASES)
def test_these_texts_are_needed(source: str, texts: list[str]) -> None:
    assert required_literals(source) == texts


PIECES = [
    "abc",
    "xyz",
    "I",
    "é",
    ".",
    "*",
    "?",
    "+",
    "{2}",
    "{0,1}",
    "|",
    "(",
    ")",
    "(?:",
    "(?!",
    "[ab",
    "]",
    "^",
    "$",
    r"\b",
]
PIECES += [r"\d", r"\.", r"\x41", "-"]
TEXT = st.text(st.sampled_from("abcxyzABCXYZI\u0131iéÉ1.-A "), max_size=20)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.lists(TEXT, min_size=1, max_size=8))
def test_whatever_matches_holds_the_needed_texts(source: str, texts: list[str]) -> None:
    try:
        check_regex(source)
    except BadRegexError:
        return
    needle = RegexNeedle(Pattern(0, source, match_case=False), Budget(2.0))
    for text in texts:
        if needle.find(Forms(text), 0) >= 0:
            assert all(bare_folded(needed) in bare_folded(text) for needed in required_literals(source))


def test_a_pattern_is_looked_for_where_its_words_are() -> None:
    vocabularies = Vocabularies(Vocabulary(), Vocabulary())
    vocabularies.texts.add({"garden", "hothouse"})
    planned = make_plan(parse_query("/house of? t/").expression, vocabularies, NgramFilter())
    assert not planned.is_exact
    assert "hothouse" in repr(planned.plan)
    assert make_plan(parse_query("/a|b/").expression, vocabularies, NgramFilter()).plan == MatchAll()
