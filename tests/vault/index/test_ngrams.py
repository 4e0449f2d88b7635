"""The n-gram filter is learned once; after that every note is stored with the n-grams that it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.stores import BACKENDS, Backend, open_stored
from support.vaults import write_vault
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.search_plan import ABSENT_NGRAMS, AllOf, Boosted, ExactValue, NoneOf, Vocabularies, make_plan
from vaultwire.vault.index.tokenizer import NgramFilter
from vaultwire.vault.index.vocabulary import Vocabulary
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath

# Words that all hold "er", each in one of the notes, and a word of each note's own.
NOTES = [
    " ".join(f"w{'abcdefgh'[number % 8]}er{note}x{number}" for number in range(9)) + f" é{note}" for note in range(20)
]


def test_what_most_words_and_notes_hold_is_learned() -> None:
    ngrams = NgramFilter.learn(NOTES)
    assert "er" in ngrams
    assert "er0" not in ngrams, "in a few words"
    assert "erx" not in ngrams, "in none"
    assert NgramFilter(ngrams.stored).stored == ngrams.stored
    assert "er" in NgramFilter(ngrams.stored)


def test_of_few_words_nothing_is_learned() -> None:
    assert NgramFilter.learn(["red apple", "red apples"]).stored == ""
    assert NgramFilter.learn([]).stored == ""


def test_what_few_notes_hold_is_not_learned() -> None:
    assert "er" not in NgramFilter.learn([*NOTES, *["red apple"] * 9])


def test_what_has_diacritics_is_not_learned() -> None:
    """It is looked for without them, too, and that is by words."""
    ngrams = NgramFilter.learn([note.replace("er", "ér") for note in NOTES])
    assert "r" in ngrams
    assert "é" not in ngrams
    assert "ér" not in ngrams


def test_a_note_is_stored_with_its_absent_ngrams_and_those_of_its_name() -> None:
    ngrams = NgramFilter("a er re")
    assert ngrams.absent("her | are") == []
    assert ngrams.absent("he | r are") == ["er"], "within a word"
    assert ngrams.absent("") == ["a", "er", "re"]
    assert ngrams.present("are") == ["a", "re"]


@given(
    ngrams=st.sets(st.text("abß\xd7ø日", min_size=1, max_size=3), max_size=20),
    words=st.text("abbß\xd7øÿØß日😀 |", max_size=20),
)
def test_absent_ngrams_are_those_that_are_not_in_the_text(ngrams: set[str], words: str) -> None:
    """Whatever characters are beside them, at even and at odd places."""
    assert set(NgramFilter(" ".join(ngrams)).absent(words)) == {ngram for ngram in ngrams if ngram not in words}


def test_a_word_that_is_a_common_ngram_is_looked_up_as_such_alone() -> None:
    texts = Vocabulary()
    texts.add({f"x{number}er" for number in range(99)} | {"er", "era"})
    plan = make_plan(parse_query("content:er").expression, Vocabularies(texts, Vocabulary()), NgramFilter("er")).plan
    assert isinstance(plan, Boosted)
    assert plan.plan == NoneOf(AllOf((ExactValue(ABSENT_NGRAMS, "er"),)))
    assert "x" not in str(plan.boosts)


@pytest.mark.parametrize("backend", BACKENDS[1:], ids=lambda backend: str(backend.__name__))
def test_every_note_is_stored_with_them_by_every_process_at_any_time(backend: Backend, tmp_path: Path) -> None:
    """What is learned from those that an index begins with holds for those that are changed, and for other processes."""
    root = write_vault(tmp_path / "vault", "".join(f"=== {number}.md\n{text}\n" for number, text in enumerate(NOTES)))
    _, early, _ = open_stored(root, tmp_path / "cache", backend)
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    everywhere = {f"{number}.md" for number in range(len(NOTES))}
    assert found(index, "er") == everywhere
    index._fresh._updater.flush()
    assert "er" in (index._fresh.parts.words.ngrams() or NgramFilter())
    assert found(early, "er") == everywhere
    (root / "0.md").write_text("red apple")
    (root / "1.md").write_text("rivers")
    (root / "late.md").write_text("e r")
    (root / "her.md").write_text("rivér")
    early.queue_changes(["0.md", "1.md", "late.md", "her.md"])
    early._fresh._updater.flush()
    for each in (early, index, open_stored(root, tmp_path / "cache", backend)[1]):
        assert found(each, "er") == everywhere - {"0.md"} | {"her.md"}
        assert found(each, "content:er") == everywhere - {"0.md"} | {"her.md"}, "without its diacritics"
        assert found(each, "-er") == {"0.md", "late.md"}
        assert found(each, "er red") == set()
        assert found(each, "er OR red") == everywhere | {"her.md"}
        assert each.search(parse_query("er"), None, 0, 1, NO_PROGRESS).total == len(everywhere)
        each.close()


@pytest.mark.parametrize("backend", BACKENDS[:2], ids=lambda backend: str(backend.__name__))
def test_names_that_hold_it_come_first(backend: Backend, tmp_path: Path) -> None:
    texts = "".join(f"=== {number}.md\n{text}\n" for number, text in enumerate(NOTES))
    root = write_vault(tmp_path / "vault", f"{texts}=== others.md\nred\n=== uperx.md\n{NOTES[0]}")
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    index.notes(None, NO_PROGRESS)
    index._fresh._updater.flush()
    assert "er" in (index._fresh.parts.words.ngrams() or NgramFilter())
    assert "ers" not in (index._fresh.parts.words.ngrams() or NgramFilter())
    best = index.search(parse_query("er"), None, 0, 2, NO_PROGRESS)
    assert {hit.path for hit in best.hits} == {"others.md", "uperx.md"}
    assert found(index, "ers") == {"others.md"}
    index.close()


def found(index: Index, query: str) -> set[VaultPath | str]:
    return {hit.path for hit in index.search(parse_query(query), None, 0, 99, NO_PROGRESS).hits}
