"""The short way of folding and cutting texts gives what the long way gives, for every character and any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultwire.vault.index.store.tokenizer import folded_words, spaced_words
from vaultwire.vault.search.text_forms import fold_case

# Characters that fold to several, compose with others, part words or are words of their own.
ODD = "ßŉǰΐᾄᾀİ\u0131\u017fKÅﬁéÉñ\u0301\u0308\u0345\u1100\u1161가東か\u3099\u3000\u00a0\ufe0f❤—“²½_ A|\x01\n  "


def test_for_every_character() -> None:
    for code in range(0x20000):  # beyond lie rare CJK characters, tags and what is not assigned
        text = f"a{chr(code)}b"
        if not 0xD800 <= code < 0xE000:  # half a pair, which no file can hold
            assert folded_words(text) == spaced_words(fold_case(text)), hex(code)


@given(st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=12))
def test_for_any_text(text: str) -> None:
    assert folded_words(text) == spaced_words(fold_case(text))
