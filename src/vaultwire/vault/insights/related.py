"""Notes that are related to a note: by rare words that both have, by tags, and by links. No model of language is used.

What is rare counts: a word or tag that few notes have, a file that few notes link to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import log
from typing import NamedTuple, TypeVar

from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.index.port import Index
from vaultwire.vault.link_graph import Direction
from vaultwire.vault.value_types import NoteStat, Progress, VaultPath

# A link says more than any word, a tag more than a word of the same rarity: a person has set it.
_LINK_WEIGHT = 6.0
_TAG_WEIGHT = 2.0
_SHARED_LINK_WEIGHT = 1.5
# Tags and files that more notes share than this part of the vault, or than a thousand, relate nothing.
_COMMON_SHARE = 0.2
_FEW, _MANY = 5, 1_000
# One or two shared words are a coincidence, unless hardly any other note has one of them.
_LEAST_WORDS = 3
_VERY_RARE = 3
# BM25's saturation of length: a long note has many rare words without being about them.
_SATURATION, _LENGTH_PART = 1.2, 0.75
_NAMED = 5  # reasons of one kind that are named
_LINKED_LOOKED_AT = 200  # files linked with the note whose other links are followed
# A file that both link to is followed backwards, a note that links to both forwards.
_WAYS: tuple[tuple[Direction, Direction], ...] = (("out", "in"), ("in", "out"))


_Name = TypeVar("_Name", bound=str)


class Related(NamedTuple):
    """A related note and why: shared words and tags, rarest first, files that both link to, notes that link to both.

    ``link``: "out" if the note asked about links to it, "in" the other way, "both", or "" for neither.
    """

    path: VaultPath
    score: float
    words: list[str]
    tags: list[str]
    both_link_to: list[VaultPath]
    linked_by: list[VaultPath]
    link: Direction | str


class _Reasons:
    def __init__(self) -> None:
        self.words: list[tuple[float, str]] = []
        self.others = 0.0
        self.tags: list[tuple[float, str]] = []
        self.both_link_to: list[tuple[float, VaultPath]] = []
        self.linked_by: list[tuple[float, VaultPath]] = []
        self.link: Direction | str = ""


def related_notes(
    index: Index, path: VaultPath, text: str, tags: Collection[str], limit: int, progress: Progress
) -> list[Related]:
    """Return the notes most related to the note at ``path``, best first. ``text`` and ``tags`` are that note's."""
    found: dict[VaultPath, _Reasons] = {}
    sharing = index.survey.shared_words(path, text, progress)
    total = max(sharing.total, 2)
    of_tags = {part for tag in tags for part in fold(tag).split("/")}
    for word, paths in sharing.words:
        if word in of_tags:  # tags count by themselves
            continue
        weight = log(total / (len(paths) + 1)) + 0.1
        for other in paths:
            found.setdefault(other, _Reasons()).words.append((weight, word))
    _add_tags(found, index, path, tags, total, progress)
    _add_links(found, index, path, total, progress)
    mean = sum(stat.size for stat in sharing.sizes.values()) / max(len(sharing.sizes), 1)
    rarest = {word for word, paths in sharing.words if len(paths) < _VERY_RARE}
    ranked = sorted(
        (
            _to_related(other, reasons, _length_factor(sharing.sizes.get(other), mean))
            for other, reasons in found.items()
            if other != path and _is_related(reasons, rarest)
        ),
        key=lambda related: (-related.score, related.path),
    )
    return ranked[:limit]


def _add_tags(
    found: dict[VaultPath, _Reasons],
    index: Index,
    path: VaultPath,
    tags: Collection[str],
    total: int,
    progress: Progress,
) -> None:
    for tag in tags:
        listed = index.tagged([tag], None, progress, every=False)
        if len(listed) > _most(total):
            continue
        weight = _TAG_WEIGHT * (log(total / max(len(listed), 1)) + 0.1)
        for each in listed.all(progress):
            if each.path != path:
                reasons = found.setdefault(each.path, _Reasons())
                reasons.tags.append((weight, tag))


def _add_links(found: dict[VaultPath, _Reasons], index: Index, path: VaultPath, total: int, progress: Progress) -> None:
    graph = index.link_graph(progress)
    if path not in graph:
        return
    most = _most(total)
    near = graph.neighbours(path, 1, "both", progress).all(progress)
    for each in near:
        if is_note(each.path):
            found.setdefault(each.path, _Reasons()).link = each.direction
    for between in near[:_LINKED_LOOKED_AT]:
        for ours, theirs in _WAYS:
            if between.direction not in (ours, "both"):
                continue
            others = graph.neighbours(between.path, 1, theirs, progress)
            if len(others) > most:
                continue
            weight = _SHARED_LINK_WEIGHT * (log(total / max(len(others), 1)) + 0.1)
            for other in others.all(progress):
                if other.path != path and is_note(other.path):
                    reasons = found.setdefault(other.path, _Reasons())
                    (reasons.both_link_to if ours == "out" else reasons.linked_by).append((weight, between.path))


def _most(total: int) -> float:
    """Return how many notes may share a tag or a file that relates them."""
    return max(_FEW, min(total * _COMMON_SHARE, _MANY))


def _is_related(reasons: _Reasons, rarest: Collection[str]) -> bool:
    return bool(
        reasons.link
        or reasons.tags
        or reasons.both_link_to
        or reasons.linked_by
        or len(reasons.words) >= _LEAST_WORDS
        or any(word in rarest for _, word in reasons.words)
    )


def _length_factor(stat: NoteStat | None, mean: float) -> float:
    if stat is None or not mean:
        return 1.0
    return (_SATURATION + 1) / (1 + _SATURATION * (1 - _LENGTH_PART + _LENGTH_PART * stat.size / mean))


def _to_related(path: VaultPath, reasons: _Reasons, length_factor: float) -> Related:
    others = (reasons.tags, reasons.both_link_to, reasons.linked_by)
    score = sum(weight for weight, _ in reasons.words) * length_factor
    score += sum(weight for each in others for weight, _ in each)
    score += _LINK_WEIGHT * bool(reasons.link)
    return Related(
        path,
        round(score, 2),
        _rarest(reasons.words),
        _rarest(reasons.tags),
        _rarest(reasons.both_link_to),
        _rarest(reasons.linked_by),
        reasons.link,
    )


def _rarest(weighted: Iterable[tuple[float, _Name]]) -> list[_Name]:
    ranked = sorted(dict.fromkeys(weighted), key=lambda pair: (-pair[0], pair[1]))
    return [name for _, name in ranked[:_NAMED]]
