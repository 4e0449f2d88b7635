"""All notes of a vault in memory, and the queries that are compared with them.

It shares no code with the engine: it reads the files, removes case and diacritics, and tries each query on every note.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# Enough to tell a word in 1 % of the notes from one in 2 %.
_SAMPLE = 2000
_SEED = 20260729
_MARKS = re.compile(r"[\u0300-\u036f]")


class Note(NamedTuple):
    """A note: its name and text in NFC, and both without case and diacritics."""

    path: str
    name: str
    text: str
    plain_name: str
    plain_text: str
    modified_ns: int


class Query(NamedTuple):
    """A search: as the tool takes it, the arguments that make ripgrep do the like (or none), and which notes match."""

    text: str
    ripgrep: tuple[str, ...]
    matches: Callable[[Note], bool]


class Corpus:
    """A vault's notes in path order."""

    def __init__(self, vault: Path) -> None:
        self.notes = [_read(vault, path) for path in sorted(vault.rglob("*.md"))]
        self.notes.sort()
        self.paths = [note.path for note in self.notes]
        self.bytes = sum(path.stat().st_size for path in vault.rglob("*.md"))
        chance = random.Random(_SEED)  # noqa: S311 - every run must have the same queries
        self.sample = chance.sample(self.notes, min(_SAMPLE, len(self.notes)))

    def found(self, query: Query) -> set[str]:
        """Return the paths of the notes that match."""
        return {note.path for note in self.notes if query.matches(note)}

    def share(self, query: Query) -> float:
        """Return the approximate share of the notes that match."""
        return sum(map(query.matches, self.sample)) / len(self.sample)


def composed(text: str) -> str:
    """Return the text in NFC, in which the corpus is."""
    return unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Return the text without case and diacritics."""
    if text.isascii():
        return text.lower()
    return composed(_MARKS.sub("", unicodedata.normalize("NFD", text.casefold())))


def has(note: Note, folded: str) -> bool:
    """Tell whether the note's text or name holds a folded text."""
    return folded in note.plain_text or folded in note.plain_name


def _read(vault: Path, path: Path) -> Note:
    text = composed(path.read_bytes().decode(errors="replace"))
    name = composed(path.stem)
    within = path.relative_to(vault).as_posix()
    return Note(within, name, text, fold(name), fold(text), path.stat().st_mtime_ns)
