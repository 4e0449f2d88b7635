"""What a regular expression cannot match without: never a text that a match may lack."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.vault.index.search_plan import MatchAll, Vocabularies, make_plan, required_literals
from vaultwire.vault.index.tokenizer import NgramFilter
from vaultwire.vault.index.vocabulary import Vocabulary
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.search.terms import BadRegexError, Pattern, RegexBudget, RegexNeedle, check_regex
from vaultwire.vault.search.text_forms import UNACCENTED, TextForms

CASES = [
    ("garden", "garden"),
    ("garden plan", "garden plan"),
    (r"garden\.md", "garden.md"),
    ("gardens?", "garden"),
    ("gardens*", "garden"),
    ("gardens+", "gardens"),
    ("gardens{2}", "gardenss"),
    ("gardens{9}", "gardensss"),
    ("(?:gar){2,}den", "gargar & den"),
    (r"\bgarden\b", "garden"),
    (r"^garden$", "garden"),
    (r"(\d)garden\1tomato", "garden & tomato"),
    (r"garden\wtomato[^\W]", "garden & tomato"),
    (r"garden\d{4}tomato", "garden & tomato"),
    ("gar[dt]en", "garden|garten"),
    ("[Gg][Aa]rden", "garden"),
    ("gar[a-d]en", "gar"),
    ("gar[^d]en", "gar"),
    ("(gar|ten)den.*tomato", "garden|tenden & tomato"),
    ("(?:a(b)c)tomato", "abctomato"),
    (r"[\]]tomato", "]tomato"),
    (r"[\]]{5}tomato", "]]] & tomato"),
    ("garden|tomato", "garden|tomato"),
    ("gardens|garden", "garden"),
    ("garden|to", ""),
    ("garden|", ""),
    ("(garden.*plan|tomato)", "garden|tomato & plan|tomato"),
    ("(plum )?garden", "garden"),
    ("(plum )*garden", "garden"),
    ("(?=.*garden)(?=.*plum)", "garden & plum"),
    ("(?!.*garden)plum", "plum"),
    ("(?<year>20..) plum", " plum"),
    ("(?<word>plum) and \\k<word>", "plum and "),
    (r"(plum) and \1", "plum and "),
    ("東京", "東京"),
    ("東|京", "京|東"),
    (r"\p{L}garden", "garden"),
    ("ga", ""),
    ("\\x41bcdef", ""),
    ("garden{e<=1}", "garden{e<=1}"),
    ("(?i)garden", ""),
    ("[[:alpha:]]garden", ""),
    ("HIDDEN", "DDEN"),
    ("[IJ]garden", "garden"),
    ("^tomato$", "tomato"),
    ("(" * 60 + "garden" + ")" * 60, ""),
]


@pytest.mark.parametrize(("source", "texts"), CASES)
def test_these_texts_are_needed(source: str, texts: str) -> None:
    assert " & ".join("|".join(place) for place in required_literals(source)) == texts


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
PIECES += [
    r"\d",
    r"\.",
    r"\x41",
    "-",
    "{1,}",
    "{,2}",
    "(?=",
    "(?<n>",
    r"\k<n>",
    r"\1",
    "[xX]",
    "[aé]",
    "[i]",
    "[^a]",
    "[]",
    "[^]",
]
PIECES += ["i", "s", "k", "\u0301", "ß", "*?", "(?<!", "a|b"]
TEXT = st.text(st.sampled_from("abcxyzABCXYZI\u0131iéÉ1.-A ]\u0130\u017fskK\u212aßẞ\u0301^"), max_size=20)


def unaccented(text: str) -> str:
    return TextForms(text).get(UNACCENTED)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.lists(TEXT, min_size=1, max_size=8))
def test_whatever_matches_holds_the_needed_texts(source: str, texts: list[str]) -> None:
    try:
        check_regex(source)
    except BadRegexError:
        return
    needle = RegexNeedle(Pattern(0, source, match_case=False), RegexBudget(2.0))
    for text in texts:
        if needle.find(TextForms(text), 0) >= 0:
            held = unaccented(text)
            assert all(any(unaccented(needed) in held for needed in place) for place in required_literals(source))


def test_a_pattern_is_looked_for_where_its_words_are() -> None:
    vocabularies = Vocabularies(Vocabulary(), Vocabulary())
    vocabularies.texts.add({"garden", "hothouse"})
    planned = make_plan(parse_query("/house of? t/").expression, vocabularies, NgramFilter())
    assert not planned.is_exact
    assert "hothouse" in repr(planned.plan)
    either = repr(make_plan(parse_query("/gar..n|hothouse/").expression, vocabularies, NgramFilter()).plan)
    assert "garden" in either
    assert "hothouse" in either
    assert make_plan(parse_query("/a|garden/").expression, vocabularies, NgramFilter()).plan == MatchAll()
