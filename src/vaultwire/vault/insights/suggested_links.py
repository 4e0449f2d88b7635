"""Links that a note might have: related notes that it is not linked with, and where in it the link fits. It changes nothing.

Three orders are put together: notes whose name or alias stands in the text and is no link; notes that share rare words, tags
or links (``related_notes``); where there is a model, notes that are near in meaning. The place is the name in the text, or
else the line of the nearest part that has most of the shared words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from vaultwire.markdown.parse import parse_note, prose_lines
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.index.index import Index
from vaultwire.vault.search.terms import fold_case
from vaultwire.vault.value_types import NearPart, Progress, Related, VaultPath, asking

# Notes of each order that count.
_MOST_RELATED, _MOST_NEAR, _MOST_NAMED = 40, 20, 40
# Reciprocal rank fusion: a note counts 1 / (K + rank) in each order. A small K lets the first ranks decide.
_K = 20
# Shorter names are words of every text.
_LEAST_NAME = 3
# A name that more notes have says nothing about one of them.
_MOST_NAMESAKES = 3


class Place(NamedTuple):
    """A line of a note, from 1, and the heading above it, "" for none. ``name``: the other note's name as it stands there."""

    line: int
    heading: str
    name: str = ""


class SuggestedLink(NamedTuple):
    """A note to link with: what both have in common, how near it is in meaning, and where the link fits.

    ``related`` is None where only its name or its meaning speaks for it, ``likeness`` where its meaning does not, ``place``
    where no line does.
    """

    path: VaultPath
    related: Related | None
    likeness: float | None
    place: Place | None


def suggested_links(
    index: Index,
    path: VaultPath,
    text: str,
    related: Iterable[Related],
    near: Iterable[NearPart],
    limit: int,
    progress: Progress,
) -> list[SuggestedLink]:
    """Return the notes to link with the note at ``path``, whose text is ``text``, the best first.

    ``related``: the notes that have most in common with it, ``near``: those near in meaning, both with the best first. A note
    is left out if either of the two links to the other.
    """
    linked = {path} | _linked(index, path, progress)
    why = {each.path: each for each in islice((each for each in related if each.path not in linked), _MOST_RELATED)}
    near_of = {each.path: each for each in islice((each for each in near if each.path not in linked), _MOST_NEAR)}
    prose = _Prose(text)
    named = prose.named(_names(index, linked, progress))
    scores: dict[VaultPath, float] = {}
    for order in (islice(named, _MOST_NAMED), why, near_of):
        for rank, other in enumerate(order, 1):
            scores[other] = scores.get(other, 0.0) + 1 / (_K + rank)
    return [
        SuggestedLink(
            other,
            why.get(other),
            near_of[other].likeness if other in near_of else None,
            named.get(other) or prose.place(why.get(other), near_of.get(other)),
        )
        for other in sorted(scores, key=lambda each: (-scores[each], each))[:limit]
    ]


def _linked(index: Index, path: VaultPath, progress: Progress) -> set[VaultPath]:
    graph = index.link_graph(progress)
    if path not in graph:
        return set()
    return {each.path for each in graph.neighbours(path, 1, "both", progress).all(progress)}


def _names(index: Index, without: Collection[VaultPath], progress: Progress) -> Iterator[tuple[str, VaultPath]]:
    """Yield the names and aliases, folded, that may mean a note, long ones first."""
    notes_of: dict[str, set[VaultPath]] = {}
    for name, path in asking(progress, index.names_and_aliases(progress)):
        if len(name) >= _LEAST_NAME and is_note(path) and not name.isdecimal():
            notes_of.setdefault(fold(name), set()).add(path)
    for name in sorted(notes_of, key=lambda each: (-len(each), each)):
        if len(notes_of[name]) <= _MOST_NAMESAKES:
            yield from ((name, path) for path in sorted(notes_of[name] - {*without}))


class _Prose:
    """The lines of a note in which a link can be written: no code, no heading, nothing that is a link already."""

    def __init__(self, text: str) -> None:
        self._headings = parse_note(text).headings
        self._lines = {number: line for number, line in prose_lines(text).items() if line.strip(" .\xa0")}
        self._numbers = [*self._lines]
        self._folded = [*map(fold, self._lines.values())]
        self._text = "\n".join(self._folded)

    def named(self, names: Iterable[tuple[str, VaultPath]]) -> dict[VaultPath, Place]:
        """Return the notes whose name stands in the text, each with its first place, in the order of the names."""
        places: dict[VaultPath, Place] = {}
        for name, path in names:
            if name in self._text and path not in places:
                whole = re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])")
                at = next((at for at, line in enumerate(self._folded) if whole.search(line)), None)
                if at is not None:
                    places[path] = self._at(self._numbers[at], name)
        return places

    def place(self, related: Related | None, near: NearPart | None) -> Place | None:
        """Return the line with most of the words that are shared, of the part that is nearest; None if no line is better."""
        words = [] if related is None else related.words
        first, last = (near.first, near.last) if near else (0, max(self._numbers, default=0))
        said = {
            number: sum(word in fold_case(self._lines[number]) for word in words)
            for number in self._numbers
            if first <= number <= last
        }
        best = max(said, key=lambda number: (said[number], -number), default=None)
        return None if best is None or not (near or said[best]) else self._at(best)

    def _at(self, number: int, name: str = "") -> Place:
        above = [each.text for each in self._headings if each.line < number]
        written = re.search(re.escape(name), self._lines[number], re.IGNORECASE)
        return Place(number, above[-1] if above else "", written[0] if name and written else name)
