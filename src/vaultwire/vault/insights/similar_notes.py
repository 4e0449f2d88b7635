"""Notes that may be one note twice: of the same bytes, nearly the same text, or the name of a copy. It changes nothing.

Same bytes and names are known to the index. For nearly the same text every note is read once: 10,000 notes take some seconds.
A note is cut into runs of three words; of those the twelve with the lowest hashes stand for it, so two notes that have most
runs in common nearly always share one of the twelve. Only such pairs are compared whole.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, stem
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NoteStat, Progress, VaultPath, reporting

Likeness: TypeAlias = Literal["same content", "similar content", "copy name", "same name"]

# What programs add to the name of a copy: Obsidian, file managers, sync tools.
_COPY = re.compile(
    r"(?:\s*\(\d{1,2}\)|[\s_-]+(?:copy|kopie|copie|copia)(?:\s*\(?\d{1,2}\)?)?"
    r"|\s*\((?:(?:another|\d{1,2}(?:st|nd|rd|th|\.))\s+)?(?:copy|kopie|copie|copia)(?:\s+\d{1,2})?\)"
    r"|\s*\((?:.*conflicted copy.*|saved meanwhile.*)\)|[\s_-]+conflicted copy\b.*|\.sync-conflict-[\w-]+)\Z"
)
_COPY_OF = re.compile(r"\A(?:copy|kopie|copie|copia) (?:of|von|de|di)\s+")
_NUMBER = re.compile(r"[\s_-]+\d\Z")
# More numbered notes beside the plain one are a series.
_MOST_NUMBERED = 3
# A name that so many folders have is a convention: index, README.
_MOST_NAMESAKES = 5

# A word, or one character of a script that puts no spaces between words.
_WORD = re.compile(
    r"[a-z0-9]+|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]|[^\W_]+"
)
_RUN = 3
_LEAST_WORDS = 12
_SKETCH = 12
# A run of words that more notes have than this is a template's, and makes no pair.
_MOST_SHARING = 20
_SIMILAR = 0.75
_NUMBER_BITS = 24
# Notes whose runs are in memory while pairs are compared.
_MOST_TEXTS = 500


class SimilarNotes(NamedTuple):
    """Notes that may be one, in path order. ``share``: how much of their text at least two of them share, in percent."""

    likeness: Likeness
    notes: list[VaultPath]
    share: int = 0


def similar_names(paths: Iterable[VaultPath]) -> list[SimilarNotes]:
    """Return the notes whose names are those of copies, and notes of one name in several folders."""
    by_name: dict[str, list[VaultPath]] = {}
    for path in paths:
        by_name.setdefault(fold(stem(path)), []).append(path)
    copies: dict[str, list[VaultPath]] = {}
    numbered: dict[str, list[VaultPath]] = {}
    for name, its in by_name.items():
        base = _COPY_OF.sub("", _COPY.sub("", name))
        if base != name:
            copies.setdefault(base, []).extend(its)
        elif (base := _NUMBER.sub("", name)) != name and base in by_name:
            numbered.setdefault(base, []).extend(its)
    for base, its in numbered.items():
        if len(its) <= _MOST_NUMBERED:
            copies.setdefault(base, []).extend(its)
    found = [
        SimilarNotes("copy name", sorted([*by_name.get(base, []), *its]))
        for base, its in copies.items()
        if len(its) + len(by_name.get(base, [])) > 1
    ]
    found += [
        SimilarNotes("same name", sorted(its))
        for name, its in by_name.items()
        if 1 < len(its) <= _MOST_NAMESAKES and name not in copies
    ]
    return sorted(found, key=lambda each: (each.likeness, each.notes))


def same_content(groups: Iterable[Sequence[NoteStat]]) -> list[SimilarNotes]:
    """Return the groups of notes of the same bytes."""
    return [SimilarNotes("same content", sorted(stat.path for stat in group), 100) for group in groups]


def similar_content(files: Files, stats: Sequence[NoteStat], progress: Progress) -> list[SimilarNotes]:
    """Return the notes that share most of their words in the same order, the most alike first. Reads every note.

    Notes of less than twelve words are left out. A pair is found if three of four words of both stand in runs of three that
    both have.
    """
    marks: list[int] = []
    for number, stat in enumerate(reporting(progress, stats, "compared")):
        sketch = sorted(set(_runs(files, stat.path)))[:_SKETCH]
        marks += [mark << _NUMBER_BITS | number for mark in sketch]
    marks.sort()
    pairs: dict[tuple[int, int], float] = {}
    texts: dict[int, list[int]] = {}
    for one, other in dict.fromkeys(_pairs(marks)):
        progress.check()
        for number in (one, other):
            if number not in texts:
                texts[number] = _runs(files, stats[number].path)
        share = _share(texts[one], texts[other])
        if share >= _SIMILAR:
            pairs[one, other] = share
        if len(texts) > _MOST_TEXTS:
            texts.clear()
    return _grouped(stats, pairs)


def _runs(files: Files, path: VaultPath) -> list[int]:
    """Return the hashes of all runs of words in a note's text, in their order; none of a short note."""
    try:
        text = plain_text(files.read(path).data)
    except VaultError:  # it is gone by now, or cannot be read
        return []
    body = text[parse_frontmatter(text).end :] if text.startswith("---") else text
    words = [*map(zlib.crc32, map(str.encode, _WORD.findall(body.casefold())))]
    if len(words) < _LEAST_WORDS:
        return []
    # The hash of a tuple of numbers is the same in every process, and quick.
    return [*map(hash, zip(words, words[1:], words[2:], strict=False))]


def _pairs(marks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of notes that have a mark in common, and few others have it. ``marks`` are sorted."""
    low = (1 << _NUMBER_BITS) - 1
    start = 0
    for end in range(1, len(marks) + 1):
        if end == len(marks) or marks[end] >> _NUMBER_BITS != marks[start] >> _NUMBER_BITS:
            if 1 < end - start <= _MOST_SHARING:
                yield from combinations([mark & low for mark in marks[start:end]], 2)
            start = end


def _share(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the share of the words of both texts that stand in runs that both have."""
    common = set(one) & set(other)
    covered = sum(_covered(runs, common) for runs in (one, other))
    return covered / (len(one) + len(other) + 2 * (_RUN - 1))


def _covered(runs: Sequence[int], common: set[int]) -> int:
    """Return how many words stand in common runs."""
    covered = end = 0
    for start, run in enumerate(runs):
        if run in common:
            covered += start + _RUN - max(start, end)
            end = start + _RUN
    return covered


def _grouped(stats: Sequence[NoteStat], pairs: dict[tuple[int, int], float]) -> list[SimilarNotes]:
    """Return the groups that the pairs make: a note belongs to a group if it is like one note in it."""
    group_of: dict[int, list[int]] = {}
    share_of: dict[int, float] = {}
    for one, other in pairs:
        first, second = group_of.get(one, [one]), group_of.get(other, [other])
        if first is not second:
            first.extend(second)
            group_of |= dict.fromkeys(first, first)
    for (one, _), share in pairs.items():
        key = id(group_of[one])
        share_of[key] = max(share_of.get(key, 0.0), share)
    groups = {id(group): group for group in group_of.values()}
    found = [
        SimilarNotes("similar content", sorted(stats[each].path for each in group), round(100 * share_of[key]))
        for key, group in groups.items()
    ]
    return sorted(found, key=lambda each: (-each.share, each.notes))
