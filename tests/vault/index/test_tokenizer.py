"""Cutting text into words: what stands side by side in the index stands side by side in the note."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.vault.index import words
from vaultwire.vault.index.words import (
    NgramFilter,
    distinct_words,
    folded_parts,
    folded_words,
    has_endless_piece,
    spaced_words,
    words_of,
)
from vaultwire.vault.search.terms import fold_case

CUTS = [
    ("red apple", ["red", "apple"]),
    ("red  apple", ["red", "|SS", "apple"]),
    ("red   apple", ["red", "|SSS", "apple"]),
    ("red. Apple (a b)", ["red", "|.S", "apple", "|S(", "a", "b", "|)"]),
    ("red\n\n- [ ] apple", ["red", "|RR-S[S]S", "apple"]),
    ("red – apple\ta", ["red", "|SXCABDZS", "apple", "|T", "a"]),  # noqa: RUF001
    ("red | apple", ["red", "|SVS", "apple"]),
    ("x-y_z", ["x", "|-", "y_z"]),
    ("日本語", ["日", "本", "語"]),
    ("日 本", ["日", "|S", "本"]),
    ("日   本", ["日", "|SSS", "本"]),
    ("red 日. A", ["red", "|S", "日", "|.S", "a"]),
    ("日\u3000本", ["日", "|XDAAAZ", "本"]),  # a space, though among the characters of scripts without any
    ("日\u0301本", ["日", "本"]),  # search compares without diacritics
    ("red \u0301 apple", ["red", "|SS", "apple"]),
    ("ab日c", ["ab", "日", "c"]),
    ("a\x01b", ["a", "|XBZ", "b"]),
    ("a" + "-" * 200, ["a", f"|{'-' * 64}Y{'-' * 64}"]),
]


@pytest.mark.parametrize(("text", "cut"), CUTS, ids=range(len(CUTS)))
def test_text_is_cut_into_words_and_breaks(text: str, cut: list[str]) -> None:
    assert words_of(fold_case(text)) == cut


PIECES = st.sampled_from([*"aBQ1_ \n\t.|-é日\u0301\u3000–😀", *(text for text, _ in CUTS[:-1])])  # noqa: RUF001


@given(st.lists(PIECES, max_size=40).map("".join))
def test_a_long_text_is_cut_in_parts_as_it_is_whole(text: str) -> None:
    """The parts are of 65,536 characters; here of four."""
    whole = spaced_words(fold_case(text))
    ngrams = NgramFilter("a 1 ab pp app 日")
    absent = ngrams.absent(whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_PART", 4)
        assert folded_words(text) == whole
        assert distinct_words(whole) == set().union(*map(distinct_words, folded_parts(text))) == set(whole.split())
        assert ngrams.absent(whole) == absent


def test_no_word_of_a_text_without_endless_pieces_is_too_long_for_a_text_index() -> None:
    widest = "\u1fb7" * 5000  # two letters without case, of five bytes
    assert not has_endless_piece(widest)
    assert max(len(word.encode()) for word in words_of(fold_case(widest))) <= 32_768
    assert has_endless_piece(widest + "a")


def test_an_endless_piece_is_seen_wherever_it_begins() -> None:
    piece = "a" * 5001
    assert all(has_endless_piece(f"{' ' * before}{piece} b") for before in range(0, 5001, 13))
    assert not any(has_endless_piece(f"{' ' * before}{piece[1:]} b") for before in range(0, 5001, 13))
