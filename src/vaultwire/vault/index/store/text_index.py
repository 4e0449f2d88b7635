"""The port of text indexes: the fields of a note, and what a backend must do. A backend knows no files.

A text index belongs to one catalog. One process at a time writes it; any number of processes read it.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from vaultwire.markdown.bounds import tags_and_above
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.vault.index.store.encoded import without_encoded
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.search_plan import (
    ABSENT_NGRAMS,
    ALIAS,
    BODY,
    FILE,
    FOLDER,
    HAS_ENCODED,
    HAS_TASK,
    HEADING,
    KIND,
    NAME,
    NAME_NGRAMS,
    PATH,
    PROPERTY,
    TAG,
    TAG_PATH,
    Plan,
    exact_value,
)
from vaultwire.vault.index.store.tokenizer import folded_words
from vaultwire.vault.search.searchable import searchable_name

WORD_FIELDS = (BODY, NAME, ALIAS, HEADING, TAG, FILE, PATH)
NGRAM_FIELDS = (ABSENT_NGRAMS, NAME_NGRAMS)
"""The fields with the values of ``NgramFilter``: many a note, and none contains a space."""

VALUE_FIELDS = (TAG_PATH, FOLDER, PROPERTY, KIND, *NGRAM_FIELDS)


Fields: TypeAlias = tuple[dict[str, str], dict[str, list[str]]]
"""A note's fields of words, separated by spaces, and its fields of exact values."""


class TextDocument(NamedTuple):
    """A note as a text index stores it: its fields under an id."""

    id: int
    words: dict[str, str]
    values: dict[str, list[str]]


class TextHits(NamedTuple):
    """The ids of notes found, best first, their scores, and the number of all that the plan finds."""

    ids: list[int]
    scores: list[float]
    total: int


class BrokenTextIndexError(Exception):
    """The files of a text index cannot be used."""


Ranking: TypeAlias = Callable[[int, int], TextHits]
"""All notes that a plan finds at one state of a text index: returns those from an offset on, so many at most."""


class TextIndex(Protocol):
    """A backend. Several threads may read at once; one thread at a time may write."""

    def search(self, plan: Plan, without: Collection[int], offset: int, limit: int | None) -> TextHits:
        """Return the notes that the plan finds, except those with the ids ``without``; without a ``limit`` all from ``offset``.

        Notes that match with the typed diacritics (``search_plan.as_written``) come before all others.
        """

    def ranking(self, plan: Plan, without: Collection[int]) -> Ranking:
        """Return what ``search`` finds now. It stays as it is, whatever is committed later."""

    def words(self, field: str) -> set[str]:
        """Return all words in a field of the committed notes. Breaks may be among them."""

    def holders(self, field: str, words: Sequence[str], most: int) -> dict[str, list[int]]:
        """Return the ids of the notes that have each of the words in the field; without words that more than ``most`` have."""

    def refresh(self) -> None:
        """Load what any process has committed since."""

    def start_writing(self) -> bool:
        """Take the right to write. Return False if another process has it."""

    def put(self, document: TextDocument, *, is_new: bool = False) -> None:
        """Add the note, or replace the one with its id. ``is_new``: there is none with its id."""

    def remove(self, note_id: int) -> None:
        """Remove the note, if it is there."""

    def save(self) -> None:
        """Move what was put and removed from memory to disk. This process does not see it before ``commit``."""

    def commit(self) -> None:
        """Make what was put and removed durable, and visible to all processes. To go on writing call ``start_writing``."""

    def stop_writing(self) -> None:
        """Give up the right to write, and drop what was neither committed nor saved."""

    def close(self) -> None:
        """Release files and memory."""


def kept_ranking(hits: TextHits) -> Ranking:
    """Return a ranking that keeps all hits, for backends that cannot keep a state of their files."""
    ids, scores = array("q", hits.ids), array("d", hits.scores)
    return lambda offset, limit: TextHits(
        ids[offset : offset + limit].tolist(), scores[offset : offset + limit].tolist(), hits.total
    )


class StateRanking:
    """A ranking of a state of the index's files, which can let go of them."""

    def __init__(self, find: Ranking) -> None:
        self._find = find

    def __call__(self, offset: int, limit: int) -> TextHits:
        """Return the notes from an offset on."""
        return self._find(offset, limit)

    def keep_all(self) -> None:
        """Keep all notes in memory, at sixteen bytes a note, and no file open."""
        self._find = kept_ranking(self._find(0, sys.maxsize))


def to_fields(path: str, text: str, parsed: ParsedNote, ngrams: NgramFilter) -> Fields:
    """Return the fields of a note."""
    folders = path.split("/")[:-1]
    plain = without_encoded(text)
    words = {
        BODY: folded_words(plain),
        NAME: folded_words(searchable_name(path)),
        ALIAS: _joined_words(parsed.frontmatter.texts("aliases")),
        HEADING: _joined_words([heading.text for heading in parsed.headings]),
        TAG: _joined_words(parsed.tags),
        FILE: folded_words(path.rpartition("/")[2]),
        PATH: folded_words(path),
    }
    values = {
        TAG_PATH: list(dict.fromkeys(tags_and_above(map(exact_value, parsed.tags)))),
        FOLDER: ["/".join(folders[:depth]) for depth in range(1, len(folders) + 1)],
        PROPERTY: list(dict.fromkeys(map(exact_value, parsed.frontmatter.values))),
        KIND: [HAS_TASK] * bool(parsed.tasks) + [HAS_ENCODED] * (plain is not text),
        ABSENT_NGRAMS: ngrams.absent(words[BODY]),
        NAME_NGRAMS: ngrams.present(words[NAME]),
    }
    return words, values


def _joined_words(texts: list[str]) -> str:
    return folded_words("\n".join(texts)) if texts else ""
