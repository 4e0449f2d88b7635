"""Says why a search has a note where it has it: the parts of its score, what was left out of the query, what a note lacks.

The numbers are those by which the search ranks. A note that is asked for by name is explained also where it is no result, or
comes after those that are shown. Notes that may not be seen are unknown here, as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vaultwire.vault.asking import Asked, Asking, SearchHelp
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import lies_in
from vaultwire.vault.index.index import Index
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.note_parts import read_searchable
from vaultwire.vault.search.query import And, Expression, Not, Or, Property, Query, Within, parse_query
from vaultwire.vault.search.questions import all_parts, plain_words, question_in, sought, without_sentence_marks
from vaultwire.vault.search.terms import Pattern, Text
from vaultwire.vault.value_types import Found, Hit, Progress, ScorePart, VaultPath

_SHOWN = 10  # on an ordinary page


class Why(NamedTuple):
    """Why a note is where it is: its place from 1 (0: it is no result), its score, and the parts, which add up to it.

    ``reasons``: why it is no result, or comes late.
    """

    path: VaultPath
    place: int
    score: float
    parts: tuple[ScorePart, ...]
    reasons: tuple[str, ...] = ()


class Explained(NamedTuple):
    """The explanation of a search: of each hit, of the note that was asked for, and the words that count for nothing."""

    hits: list[Why]
    note: Why | None
    left_out: list[str]


class Explaining:
    """Explains one search, right after it was made."""

    def __init__(self, files: Files, index: Index, folder: VaultPath | None, text: str, progress: Progress) -> None:
        self._files = files
        self._index = index
        self._folder = folder
        self._parsed = parse_query(text)
        self._query = without_sentence_marks(self._parsed)
        self._progress = progress

    def explain(
        self, result: Found, asked: Asked | None, help_texts: SearchHelp | None, note: VaultPath | None
    ) -> Explained:
        """Return the explanation of the notes on a page, and of a note."""
        hits = help_texts.hits if help_texts else result.hits
        explained = [self._hit(hit, number, help_texts) for number, hit in enumerate(hits, 1)]
        why = None
        if note is not None:
            why = self._answer(note) if asked else self._note(note, hits, explained)
        return Explained(explained, why, self._left_out() if asked else [])

    def _left_out(self) -> list[str]:
        question = question_in(self._parsed)
        kept = {word.text for word in question.words} if question else set()
        return [word.text for word in plain_words(self._parsed).words if not any(text in word.text for text in kept)]

    def _hit(self, hit: Hit, number: int, help_texts: SearchHelp | None) -> Why:
        if hit.why:
            return Why(hit.path, number, hit.score, hit.why, _lacking(hit))
        if help_texts is not None and help_texts.partial is not None and hit.path in help_texts.shares:
            return self._partial(hit, number, help_texts.partial, help_texts.shares[hit.path], help_texts.absent)
        place = self._index.explain(self._query, self._folder, hit.path, self._progress)
        return Why(hit.path, number if help_texts else place.place, place.score, place.parts) if place else _gone(hit)

    def _partial(self, hit: Hit, number: int, query: Query, share: float, absent: list[str]) -> Why:
        """Return why a note without all words is where it is: it ranks by its score times the share of its words."""
        place = self._index.explain(query, self._folder, hit.path, self._progress)
        if place is None:
            return _gone(hit)
        lacking = ScorePart("", "words that it lacks", place.score * (share - 1))
        return Why(hit.path, number, place.score * share, (*place.parts, lacking), _lacking(hit, absent))

    def _note(self, path: VaultPath, hits: list[Hit], explained: list[Why]) -> Why:
        """Return why a note is where it is, or is no result, of a query in Obsidian's syntax."""
        if (shown := next((why for why in explained if why.path == path), None)) is not None:
            return shown
        place = self._index.explain(self._query, self._folder, path, self._progress)
        if place is None:
            return Why(path, 0, 0.0, (), tuple(self._reasons(path, self._query.expression)))
        last = explained[min(len(hits), _SHOWN) - 1] if explained else None
        reasons = () if last is None else (f"number {last.place}, {last.path}, has {last.score:.2f}",)
        return Why(path, place.place, place.score, place.parts, reasons)

    def _reasons(self, path: VaultPath, expression: Expression) -> list[str]:
        """Return why a note does not match: one reason for each part of the query that is not true of it."""
        if self._folder is not None and not lies_in(path, self._folder):
            return [f"it is not in the folder {self._folder!r}"]
        if self._index.is_excluded(path, self._progress):
            return ["the vault's settings exclude it from searches"]
        text = read_searchable(self._files, path)
        if text is None:
            return ["it cannot be read, or is no note"]
        parts = all_parts(expression)
        failing = [part for part in parts if self._matcher(Query("", part)).match(path, text) is None]
        reasons = [
            f"it has what {written(part)} leaves out" if isinstance(part, Not) else f"it has no {written(part)}"
            for part in failing
        ]
        return reasons or ["it matches now, but the index does not have it as it is yet: search again"]

    def _matcher(self, query: Query) -> Matcher:
        return Matcher(query, has_inline_fields=self._files.has_inline_fields)

    def _answer(self, path: VaultPath) -> Why:
        """Return why a note is where it is among the answers to a question, or is none."""
        question = question_in(self._parsed)
        assert question is not None
        asking = Asking(self._index, self._folder, self._progress)
        whole = asking.answer(question, _SHOWN, exact_total=False)
        ranked = [hit.path for hit in asking.looked_at]
        if path in ranked:
            hit = asking.looked_at[ranked.index(path)]
            shown = [other.path for other in whole.help.hits]
            reasons = (
                [] if path in shown else [f"number {len(shown)}, {shown[-1]}, has {_score_of(asking, shown[-1]):.2f}"]
            )
            return Why(path, ranked.index(path) + 1, hit.score, hit.why, (*reasons, *_lacking(hit)))
        reasons = self._reasons(path, And(question.conditions))
        if not question.conditions or reasons[0].startswith("it matches now"):
            text = read_searchable(self._files, path)
            match = None if text is None else self._matcher(Query("", And(()), asked=asking.asked)).match(path, text)
            if asking.asked and match is not None and match.score > 0:
                reason = f"it was not read: the index puts {len(ranked)} other notes before it"
                return Why(path, 0, match.score, match.why, (reason,))
            reasons = [f"it has no {written(sought(word))}" for word in question.needed]
        return Why(path, 0, 0.0, (), tuple(reasons))


def _score_of(asking: Asking, path: VaultPath) -> float:
    return next(hit.score for hit in asking.looked_at if hit.path == path)


def _lacking(hit: Hit, absent: Sequence[str] = ()) -> tuple[str, ...]:
    lacking = [*hit.missing, *absent]
    return (f"it lacks {', '.join(lacking)}",) if lacking else ()


def _gone(hit: Hit) -> Why:
    return Why(hit.path, 0, hit.score, (), ("it has changed since the search",))


def written(part: Expression) -> str:
    """Return a part of a query as a person writes it."""
    if isinstance(part, Text):
        text = f'"{part.text}"' if part.full_words else part.text
        return f"match-case:{text}" if part.match_case else text
    if isinstance(part, Pattern):
        return f"/{part.source}/"
    if isinstance(part, Not):
        return f"-{written(part.part)}"
    if isinstance(part, (And, Or)):
        return f"({(' OR ' if isinstance(part, Or) else ' ').join(map(written, part.parts))})"
    if isinstance(part, Within):
        return f"{part.operator}:{written(part.part)}"
    if isinstance(part, Property):
        return f"[{written(part.name)}]" if part.value is None else f"[{written(part.name)}:{written(part.value)}]"
    return f"{getattr(part, 'sign', 'null')}{getattr(part, 'value', '')}"
