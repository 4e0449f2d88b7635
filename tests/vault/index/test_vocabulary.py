"""All words in use: whatever is stored, loaded and added since, those that hold a text are found, each once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultwire.vault.index.search_plan import AnyOf, AnyWord, Boosted, Vocabularies, make_plan
from vaultwire.vault.index.tokenizer import NgramFilter, words_of
from vaultwire.vault.index.vocabulary import Vocabulary, stored_form
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.search.text_forms import fold_case, strip_diacritics

# Rare and frequent letters, some with diacritics, digits (which stand beside numbers where words are stored), a word that
# is a mark alone, and characters that are words of their own.
LETTERS = st.text("aaaabbbc1٣éüßжй\u0301日本", min_size=1, max_size=5)
WORDS = st.sets(LETTERS.flatmap(lambda text: st.sampled_from([*words_of(fold_case(text)), "a"])), max_size=12)


def holding(words: set[str], bare: str) -> list[str]:
    return sorted(word for word in words if bare in strip_diacritics(word))


@given(stored=st.lists(WORDS, max_size=3), added=WORDS, sought=LETTERS)
def test_words_that_hold_a_text_are_found_each_once(stored: list[set[str]], added: set[str], sought: str) -> None:
    """As often as they are stored, and with what is added to what was loaded."""
    vocabulary = Vocabulary()
    for words in stored:
        vocabulary.add(words)
        vocabulary = Vocabulary(stored_form(vocabulary.words))
    vocabulary.add(added)
    known = set[str]().union(*stored, added)
    for bare in {strip_diacritics(word) for word in words_of(fold_case(sought))} - {""}:
        assert sorted(vocabulary.containing(bare)) == holding(known, bare)
        assert sorted(vocabulary.beginning(bare)) == sorted(word for word in known if word.startswith(bare))
        loose = sorted(word for word in holding(known, bare) if bare not in word)
        assert sorted(vocabulary.loosely_containing(bare)) == loose
        assert sorted(vocabulary.spellings(bare)) == sorted(
            word for word in known if word != bare and strip_diacritics(word) == bare
        )


@given(words=st.permutations(["redder", "redden", "redone", "reddest", "red", "redeem", "redhot"]))
def test_which_words_are_near_does_not_depend_on_the_order_in_which_they_came_into_use(words: list[str]) -> None:
    vocabulary = Vocabulary()
    for word in words:
        vocabulary.add({word})
    plan = make_plan(parse_query("content:red").expression, Vocabularies(vocabulary, Vocabulary()), NgramFilter()).plan
    assert isinstance(plan, Boosted)
    assert isinstance(plan.plan, AnyOf)
    in_text = plan.plan.parts[0]
    assert isinstance(in_text, AnyWord)
    assert in_text.near == ("redden", "redder", "redeem", "redhot")
