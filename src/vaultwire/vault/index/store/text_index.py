"""The port of text indexes: what a note looks like to one, and what a backend must do. A backend knows no files.

A text index belongs to one catalog. Only one process at a time writes it; any number read it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol, TypeAlias

from vaultwire.markdown.bounds import tags_and_above
from vaultwire.markdown.model import ParsedNote
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.search_plan import (
    ABSENT_NGRAMS,
    ALIAS,
    BODY,
    FILE,
    FOLDER,
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
    whole_value,
)
from vaultwire.vault.index.store.tokenizer import folded_words
from vaultwire.vault.search.searched import searched_name

WORD_FIELDS = (BODY, NAME, ALIAS, HEADING, TAG, FILE, PATH)
NGRAM_FIELDS = (ABSENT_NGRAMS, NAME_NGRAMS)
"""The fields of values that ``NgramFilter`` gives: many to a note, and none with a blank in it."""

VALUE_FIELDS = (TAG_PATH, FOLDER, PROPERTY, KIND, *NGRAM_FIELDS)


Fields: TypeAlias = tuple[dict[str, str], dict[str, list[str]]]
"""A note's fields of words, a blank between two, and its fields of whole values."""


class TextDocument(NamedTuple):
    """A note as text indexes keep it: its fields under an id."""

    id: int
    words: dict[str, str]
    values: dict[str, list[str]]


class TextHits(NamedTuple):
    """Notes found, best first, each with its score; and how many there are in all."""

    ids: list[int]
    scores: list[float]
    total: int


class BrokenTextIndexError(Exception):
    """What is kept of a text index cannot be used."""


class TextIndex(Protocol):
    """One backend. NoteContent is safe from several threads; writing is the matter of one thread at a time."""

    def search(self, plan: Plan, without: Collection[int], offset: int, limit: int | None) -> TextHits:
        """Return notes the plan finds, but for those with the ids ``without``; all from ``offset`` on if no ``limit``.

        Notes that match with their diacritics (``plan.as_written``) come before all others.
        """

    def words(self, field: str) -> set[str]:
        """Return the words in use in a field of words, of the notes committed; breaks may be among them."""

    def refresh(self) -> None:
        """Take up what was committed, by whatever process, since."""

    def start_writing(self) -> bool:
        """Take the right to write; False if another process has it."""

    def put(self, document: TextDocument, *, is_new: bool = False) -> None:
        """Add the note, or exchange what is there under its id. ``is_new``: nothing is."""

    def remove(self, note_id: int) -> None:
        """Take the note out, if it is there."""

    def commit(self) -> None:
        """Make visible to all, and lasting, what was put and removed."""

    def stop_writing(self) -> None:
        """Give up the right to write. Drops what was not committed."""

    def close(self) -> None:
        """Give up files and memory."""


def to_fields(path: str, text: str, parsed: ParsedNote, ngrams: NgramFilter) -> Fields:
    """Return what text indexes keep of a note."""
    folders = path.split("/")[:-1]
    words = {
        BODY: folded_words(text),
        NAME: folded_words(searched_name(path)),
        ALIAS: _apart(parsed.frontmatter.texts("aliases")),
        HEADING: _apart([heading.text for heading in parsed.headings]),
        TAG: _apart(parsed.tags),
        FILE: folded_words(path.rpartition("/")[2]),
        PATH: folded_words(path),
    }
    values = {
        TAG_PATH: list(dict.fromkeys(tags_and_above(map(whole_value, parsed.tags)))),
        FOLDER: ["/".join(folders[:depth]) for depth in range(1, len(folders) + 1)],
        PROPERTY: list(dict.fromkeys(map(whole_value, parsed.frontmatter.values))),
        KIND: [HAS_TASK] if parsed.tasks else [],
        ABSENT_NGRAMS: ngrams.absent(words[BODY]),
        NAME_NGRAMS: ngrams.present(words[NAME]),
    }
    return words, values


def _apart(texts: list[str]) -> str:
    return folded_words("\n".join(texts)) if texts else ""
