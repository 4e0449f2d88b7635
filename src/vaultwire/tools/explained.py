"""Why a search shows what it shows: as a program reads it, and in words. Texts here are product text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

from vaultwire.vault.value_types import Hit, MeaningHit, NearNotes, ScorePart, Why

if TYPE_CHECKING:
    from vaultwire.vault.attachment_texts.attachment_texts import AttachmentHit


class PartOfScore(TypedDict):
    """A part of a note's score."""

    what: Annotated[str, "The word or phrase; empty if it is none"]
    where: Annotated[str, "text, name, alias, heading, tag, file, path, or another reason"]
    score: Annotated[float, "What it gives"]
    rarity: Annotated[NotRequired[float], "How rare the word is there; larger is rarer"]
    times: Annotated[NotRequired[int], "How often it is there"]


class ExplainedNote(TypedDict):
    """Why a note is where it is."""

    path: Annotated[str, "Path in the vault"]
    place: Annotated[int, "Its place among all results, from 1; 0: it is no result"]
    score: Annotated[float, "The score by which it ranks: the sum of the parts"]
    parts: Annotated[list[PartOfScore], "What makes the score"]
    reasons: Annotated[list[str], "Why it is no result, or comes late; with meaning, its places in both orders"]


class ExplainedSearch(TypedDict):
    """Why a search shows what it shows."""

    notes: Annotated[list[ExplainedNote], "The notes shown"]
    note: Annotated[NotRequired[ExplainedNote], "The note that was asked for"]
    left_out: Annotated[list[str], "Little words of a question, which count for nothing"]
    by_meaning: Annotated[NotRequired[bool], "Whether the parts are what words and meaning give"]


def why_together(by_words: Sequence[Why], near: NearNotes, together: Sequence[Hit]) -> list[Why]:
    """Return why notes are where they are in the order of words and meaning together: what each gives, and why."""
    words, meaning = {why.path: why for why in by_words}, {hit.path: hit for hit in near.hits}
    explained = []
    for place, hit in enumerate(together, 1):
        of_words, of_meaning = words.get(hit.path), meaning.get(hit.path)
        by_meaning = 0.0 if of_meaning is None else of_meaning.score
        parts, reasons = [], by_its_meaning(of_meaning)
        if of_words is not None and of_words.place:
            parts.append(ScorePart("", "words", hit.score - by_meaning))
            reasons.append(f"by words it is number {of_words.place}: {sum_of(of_words)}")
        elif of_words is not None:
            reasons += of_words.reasons
        parts += [ScorePart("", "meaning", by_meaning)] if of_meaning else []
        explained.append(Why(hit.path, place, hit.score, tuple(parts), tuple(reasons)))
    return explained


def by_its_meaning(hit: MeaningHit | None) -> list[str]:
    """Return a note's place by meaning in words; nothing if it has none."""
    return [] if hit is None else [f"by meaning it is number {hit.rank}, {hit.likeness:.0%} near"]


def why_lines(whys: Iterable[Why]) -> list[str]:
    """Return the lines that say why notes are where they are, or are not shown."""
    lines: list[str] = []
    for why in whys:
        lines.append(f"  {why.place}. {why.path}: {sum_of(why)}" if why.place else f"  {why.path} is not shown:")
        lines += [f"    {reason}" for reason in why.reasons]
    return lines


def sum_of(why: Why | AttachmentHit) -> str:
    """Return a score and its parts in words."""
    parts = " ".join(
        f"{part.score:+.2f} {part.what}{' in ' if part.what else ''}{part.where}"
        + (f" (rarity {part.rarity:.2f}{f', {part.times} times' if part.times else ''})" if part.rarity else "")
        for part in why.parts
    )
    return f"{why.score:.2f} ={' ' if parts else ''}{parts}"


def to_explained(why: Why) -> ExplainedNote:
    """Return an explanation as programs read it."""
    parts = [*map(to_part, why.parts)]
    return ExplainedNote(path=why.path, place=why.place, score=why.score, parts=parts, reasons=list(why.reasons))


def to_part(part: ScorePart) -> PartOfScore:
    """Return a part of a score as programs read it."""
    shown = PartOfScore(what=part.what, where=part.where, score=part.score)
    if part.rarity is not None:
        shown["rarity"] = part.rarity
    if part.times is not None:
        shown["times"] = part.times
    return shown
