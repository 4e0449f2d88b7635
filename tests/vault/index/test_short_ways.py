"""The short ways of folding and cutting texts give what the long ways give, for every character and any text."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.vault.disk.plain import plain_text
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.store.tokenizer import folded_words, spaced_words
from vaultwire.vault.search.matching import Match, Matcher
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.search.terms import BASES, bare_folded, bare_text, fold_text

# Characters that fold to several, compose with others, part words or are words of their own.
ODD = "ßŉǰΐᾄᾀİ\u0131\u017fKÅﬁéÉñ\u0301\u0308\u0345\u1100\u1161가東か\u3099\u3000\u00a0\ufe0f❤—“²½_ A|\x01\n  "


def test_for_every_character() -> None:
    for code in range(0x20000):  # beyond lie rare CJK characters, tags and what is not assigned
        text = f"a{chr(code)}b"
        assert bare_folded(text) == bare_text(fold_text(text)), hex(code)
        if not 0xD800 <= code < 0xE000:  # half a pair, which no file can hold
            assert folded_words(text) == spaced_words(fold_text(text)), hex(code)


@given(st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=12))
def test_for_any_text(text: str) -> None:
    assert bare_folded(text) == bare_text(fold_text(text))
    assert folded_words(text) == spaced_words(fold_text(text))


def lines_both_ways(query: str, data: bytes) -> tuple[Match | None, Match | None]:
    """Return the lines of a note known to match: the short way, None if that has none, and the long way."""
    matcher = Matcher(parse_query(query))
    found = None if matcher.known_lines is None else matcher.known_lines.find(data)
    return found and Match(0.0, *found), matcher.show("x.md", plain_text(data), is_known=True)


def test_the_lines_of_a_note_for_every_character_that_has_another_bare_form() -> None:
    seen = 0
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if 0xD800 <= code < 0xE000 or BASES[character] == character:
            continue
        seen += 1
        data = f"{character}ab\nab{character}ab\n{character} ab\n{'long ' * 50}{character}{'ab' * 30}\n{character}".encode()
        if 0x3000 <= code < 0xA000:  # where a CJK text's characters are passed over
            data += ("東" * 101).encode()
        bare = bare_text(fold_text(character)).strip()
        for query in ('"ab"', "b", *([f'"{bare}"'] if bare else [])):
            short, long = lines_both_ways(query, data)
            assert short is None or short == long, (hex(code), query)
    assert seen > 2_000


@given(
    st.lists(
        st.text(st.sampled_from(ODD + "\r\n  ") | st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1
    ),
    st.data(),
)
def test_the_lines_of_any_note(pieces: list[str], data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=8)))
    query = data.draw(st.sampled_from(["%s", '"%s"', "content:%s", "%s a", "(%s OR b) -zz"])) % data.draw(
        st.sampled_from(pieces)
    ).translate(str.maketrans("", "", '"()\\/[]:- \n\r\x01|'))
    try:
        short, long = lines_both_ways(query, text.encode())
    except VaultError:  # not a query
        return
    assert short is None or short == long


@pytest.mark.parametrize(
    ("data", "is_short"),
    [
        (b"an Apple\r\nno\r\napple pie\r\n", True),
        (b"apple " + b"x" * 194 + b"\r\nno more", True),  # just short enough to be shown whole
        (b"\xef\xbb\xbfapple\nan apple", True),
        ("Äpple\nÉclair apple\n東京 apple".encode(), True),
        (f"{'東京タワー' * 30} Äpple\napple".encode(), True),
        (f"{'東京タワー' * 30}か\u3099 apple".encode(), False),
        (b"apple\r\r\napple", False),  # converted twice
        (b"\xff apple\napple", False),  # not UTF-8
        ("a\u0301 apple".encode(), False),  # a mark that may be one with the letter before it
    ],
)
def test_the_lines_of_a_note_are_found_the_short_way_where_that_can_be(data: bytes, *, is_short: bool) -> None:
    short, long = lines_both_ways("apple", data)
    assert long is not None
    assert long.matches
    assert short == (long if is_short else None)


@pytest.mark.parametrize("query", ["/apple/", "match-case:apple", "line:apple", "task:apple", "pie /apple/", "\u0301"])
def test_what_is_no_word_is_not_sought_the_short_way(query: str) -> None:
    assert lines_both_ways(query, b"an apple pie")[0] is None
