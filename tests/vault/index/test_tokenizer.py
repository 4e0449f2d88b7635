"""Cutting text into words: what stands side by side in the index stands side by side in the note."""

from __future__ import annotations

import pytest

from vaultwire.vault.index.tokenizer import has_endless_piece, words_of
from vaultwire.vault.search.text_forms import fold_case

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


@pytest.mark.parametrize(("text", "words"), CUTS, ids=range(len(CUTS)))
def test_text_is_cut_into_words_and_breaks(text: str, words: list[str]) -> None:
    assert words_of(fold_case(text)) == words


def test_no_word_of_a_text_without_endless_pieces_is_too_long_for_a_text_index() -> None:
    widest = "\u1fb7" * 5000  # two letters without case, of five bytes
    assert not has_endless_piece(widest)
    assert max(len(word.encode()) for word in words_of(fold_case(widest))) <= 32_768
    assert has_endless_piece(widest + "a")
