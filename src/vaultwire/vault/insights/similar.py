"""What is alike in a vault: notes that may be one note twice, tags that may be one tag, notes on the same, and links between
these that a note might have. It changes nothing.

Notes may be one by their bytes, by nearly the same text, or by the name of a copy.

Same bytes and names are known to the index. For nearly the same text every note is read once: 10,000 notes take some seconds.
A note is cut into runs of three words; of those the twelve with the lowest hashes stand for it, so two notes that have most
runs in common nearly always share one of the twelve. Only such pairs are compared whole.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations, islice
from math import log
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from vaultwire.markdown.parse import parse_note, prose_lines
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, is_note, stem
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.link_graph import Direction
from vaultwire.vault.links.likeness import one_letter_apart
from vaultwire.vault.search.note_parts import read_searchable
from vaultwire.vault.search.terms import fold_case, strip_diacritics
from vaultwire.vault.value_types import NearPart, NoteStat, Progress, Related, TagCount, VaultPath, asking, reporting

Likeness: TypeAlias = Literal["same content", "similar content", "same meaning", "copy name", "same name"]

# What programs add to the name of a copy: Obsidian, file managers. Those of sync programs: ``disk.conflict_copies``.
_COPY = re.compile(
    r"(?:\s*\(\d{1,2}\)|[\s_-]+(?:copy|kopie|copie|copia)(?:\s*\(?\d{1,2}\)?)?"
    r"|\s*\((?:(?:another|\d{1,2}(?:st|nd|rd|th|\.))\s+)?(?:copy|kopie|copie|copia)(?:\s+\d{1,2})?\)"
    r"|[\s_-]+conflicted copy\b.*)\Z"
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
# Sketches that are kept: 60 MB. A vault with more notes is read again each time.
_MOST_SKETCHES = 200_000


Sketches: TypeAlias = "dict[VaultPath, tuple[NoteStat, array[int]]]"
"""What stands for the text of each note: its lowest hashes, and the stat of the note when they were made."""


class SimilarNotes(NamedTuple):
    """Notes that may be one, in path order.

    ``share``: how much of their text at least two of them share, in percent; of notes of the same meaning, how near they are.
    """

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
    groups = [
        SimilarNotes("copy name", sorted([*by_name.get(base, []), *its]))
        for base, its in copies.items()
        if len(its) + len(by_name.get(base, [])) > 1
    ]
    groups += [
        SimilarNotes("same name", sorted(its))
        for name, its in by_name.items()
        if 1 < len(its) <= _MOST_NAMESAKES and name not in copies
    ]
    return sorted(groups, key=lambda each: (each.likeness, each.notes))


def same_content(groups: Iterable[Sequence[NoteStat]]) -> list[SimilarNotes]:
    """Return the groups of notes of the same bytes."""
    return [SimilarNotes("same content", sorted(stat.path for stat in group), 100) for group in groups]


def similar_content(
    files: Files, stats: Sequence[NoteStat], sketches: Sketches, progress: Progress
) -> list[SimilarNotes]:
    """Return the notes that share most of their words in the same order, the most alike first.

    Reads every note of which ``sketches`` has none, or one from before it changed, and puts it there.

    Notes of less than twelve words are left out. A pair is found if three of four words of both stand in runs of three that
    both have.
    """
    marks: list[int] = []
    for number, stat in enumerate(reporting(progress, stats, "compared")):
        known = sketches.get(stat.path)
        if known is None or known[0] != stat:
            known = sketches[stat.path] = stat, array("q", sorted(set(_runs(files, stat.path)))[:_SKETCH])
        marks += [mark << _NUMBER_BITS | number for mark in known[1]]
    if len(sketches) > _MOST_SKETCHES:
        sketches.clear()
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


def same_meaning(
    pairs: Iterable[tuple[VaultPath, VaultPath, float]], alike: Sequence[SimilarNotes]
) -> list[SimilarNotes]:
    """Return the pairs of notes of the same meaning, each with how near they are, that do not share their text, too."""
    known = [{*group.notes} for group in alike]
    return [
        SimilarNotes("same meaning", sorted((one, other)), round(100 * likeness))
        for one, other, likeness in pairs
        if not any({one, other} <= notes for notes in known)
    ]


def _runs(files: Files, path: VaultPath) -> list[int]:
    """Return the hashes of all runs of words in a note's text, in their order; none of a short note."""
    text = read_searchable(files, path)
    if text is None:  # it is gone by now, or cannot be read
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
    similar = [
        SimilarNotes("similar content", sorted(stats[each].path for each in group), round(100 * share_of[key]))
        for key, group in groups.items()
    ]
    return sorted(similar, key=lambda each: (-each.share, each.notes))


# Tags that may be meant as one: of the same letters, singular and plural, a nested and a plain one, a typing error. Pure.

TagLikeness: TypeAlias = Literal["same letters", "plural", "spelling", "nested"]
"""``same letters``: they differ in ``-``, ``_``, ``/`` and diacritics only. The surest comes first."""

_ORDER: tuple[TagLikeness, ...] = ("same letters", "plural", "spelling", "nested")
_SIGNS = re.compile(r"[-_/]+")
# In shorter tags one letter makes another word.
_LEAST_FOR_TYPO = 6
_LEAST_FOR_PLURAL = 4
# English plurals; a wrong guess only means that two words are compared.
_PLURALS = (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"))
_NO_PLURALS = ("ss", "us", "is")


class SimilarTags(NamedTuple):
    """Tags that may be meant as one, the most used first."""

    likeness: TagLikeness
    tags: list[TagCount]


def similar_tags(tags: Sequence[TagCount]) -> list[SimilarTags]:
    """Return the groups of similar tags, the surest and most used first. A tag may be in several groups."""
    groups: dict[frozenset[str], SimilarTags] = {}
    ways: tuple[tuple[TagLikeness, list[list[TagCount]]], ...] = (
        ("same letters", _by_key(tags, _letters)),
        ("plural", _by_key(tags, lambda tag: "/".join(map(_singular, _parts(tag))))),
        ("spelling", _typos(tags)),
        ("nested", _nested(tags)),
    )
    for likeness, tag_groups in ways:
        for group in tag_groups:
            key = frozenset(each.tag for each in group)
            if not any(key <= known for known in groups):
                ranked = sorted(group, key=lambda each: (-each.notes, each.tag))
                groups[key] = SimilarTags(likeness, ranked)
    return sorted(
        groups.values(), key=lambda each: (_ORDER.index(each.likeness), -sum(tag.notes for tag in each.tags), each.tags)
    )


def _letters(tag: str) -> str:
    return _SIGNS.sub("", strip_diacritics(tag.casefold()))


def _parts(tag: str) -> list[str]:
    return [_letters(part) for part in tag.split("/")]


def _singular(word: str) -> str:
    if len(word) < _LEAST_FOR_PLURAL or not word.endswith("s") or word.endswith(_NO_PLURALS):
        return word
    for plural, singular in _PLURALS:
        if word.endswith(plural):
            return word.removesuffix(plural) + singular
    return word[:-1]


def _by_key(tags: Sequence[TagCount], key_of: Callable[[str], str]) -> list[list[TagCount]]:
    groups: dict[str, list[TagCount]] = {}
    for tag in tags:
        groups.setdefault(key_of(tag.tag), []).append(tag)
    return [group for group in groups.values() if len(group) > 1]


def _typos(tags: Sequence[TagCount]) -> list[list[TagCount]]:
    """Return the pairs of tags that differ by one letter, and not as singular and plural."""
    by_letters: dict[str, list[TagCount]] = {}
    for each in tags:
        letters = _letters(each.tag)
        if len(letters) >= _LEAST_FOR_TYPO and not any(map(str.isdigit, letters)):
            by_letters.setdefault(letters, []).append(each)
    return [
        [tag, other_tag]
        for one, other in one_letter_apart(by_letters)
        if _singular(one) != _singular(other)
        for tag in by_letters[one]
        for other_tag in by_letters[other]
    ]


def _nested(tags: Sequence[TagCount]) -> list[list[TagCount]]:
    """Return each plain tag with the tags that end with it below others: ``garden`` and ``hobby/garden``."""
    plain = {_letters(each.tag): each for each in tags if "/" not in each.tag}
    groups: dict[str, list[TagCount]] = {}
    for each in tags:
        last = _letters(each.tag.rpartition("/")[2])
        if "/" in each.tag and last in plain and not last.isdigit():
            groups.setdefault(last, [plain[last]]).append(each)
    return list(groups.values())


# Notes that are related to a note: by rare words that both have, by tags, and by links. No model of language is used.
#
# What is rare counts: a word or tag that few notes have, a file that few notes link to.

# A link says more than any word, a tag more than a word of the same rarity: a person has set it.
_LINK_WEIGHT = 6.0
_TAG_WEIGHT = 2.0
_SHARED_LINK_WEIGHT = 1.5
# Tags and files that more notes share than this part of the vault, or than a thousand, relate nothing.
_COMMON_SHARE = 0.2
_FEW, _MANY = 5, 1_000
# One or two shared words are a coincidence, unless hardly any other note has one of them.
_LEAST_SHARED = 3
_VERY_RARE = 3
# BM25's saturation of length: a long note has many rare words without being about them.
_SATURATION, _LENGTH_PART = 1.2, 0.75
_NAMED = 5  # reasons of one kind that are named
_LINKED_LOOKED_AT = 200  # files linked with the note whose other links are followed
# A file that both link to is followed backwards, a note that links to both forwards.
_WAYS: tuple[tuple[Direction, Direction], ...] = (("out", "in"), ("in", "out"))


_Name = TypeVar("_Name", bound=str)


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
    reasons_of: dict[VaultPath, _Reasons] = {}
    sharing = index.shared_words(path, text, progress)
    total = max(sharing.total, 2)
    of_tags = {part for tag in tags for part in fold(tag).split("/")}
    for word, paths in sharing.words:
        if word in of_tags:  # tags count by themselves
            continue
        weight = log(total / (len(paths) + 1)) + 0.1
        for other in paths:
            reasons_of.setdefault(other, _Reasons()).words.append((weight, word))
    _add_tags(reasons_of, index, path, tags, total, progress)
    _add_links(reasons_of, index, path, total, progress)
    mean = sum(stat.size for stat in sharing.sizes.values()) / max(len(sharing.sizes), 1)
    rarest = {word for word, paths in sharing.words if len(paths) < _VERY_RARE}
    ranked = sorted(
        (
            _to_related(other, reasons, _length_factor(sharing.sizes.get(other), mean))
            for other, reasons in reasons_of.items()
            if other != path and _is_related(reasons, rarest)
        ),
        key=lambda related: (-related.score, related.path),
    )
    return ranked[:limit]


def _add_tags(
    reasons_of: dict[VaultPath, _Reasons],
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
        for note in listed.all(progress):
            if note.path != path:
                reasons = reasons_of.setdefault(note.path, _Reasons())
                reasons.tags.append((weight, tag))


def _add_links(
    reasons_of: dict[VaultPath, _Reasons], index: Index, path: VaultPath, total: int, progress: Progress
) -> None:
    graph = index.link_graph(progress)
    if path not in graph:
        return
    most = _most(total)
    near = graph.neighbours(path, 1, "both", progress).all(progress)
    for neighbour in near:
        if is_note(neighbour.path):
            reasons_of.setdefault(neighbour.path, _Reasons()).link = neighbour.direction
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
                    reasons = reasons_of.setdefault(other.path, _Reasons())
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
        or len(reasons.words) >= _LEAST_SHARED
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


# Links that a note might have: related notes that it is not linked with, and where in it the link fits. It changes nothing.
#
# Three orders are put together: notes whose name or alias stands in the text and is no link; notes that share rare words, tags
# or links (``related_notes``); where there is a model, notes that are near in meaning. The place is the name in the text, or
# else the line of the nearest part that has most of the shared words.

# Notes of each order that count.
_MOST_RELATED, _MOST_NEAR, _MOST_NAMED = 40, 20, 40
# Reciprocal rank fusion: a note counts 1 / (K + rank) in each order. A small K lets the first ranks decide.
_K = 20
# Shorter names are words of every text.
_LEAST_NAME = 3
# A name that more notes have says nothing about one of them.
_MOST_SO_NAMED = 3


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
        if len(notes_of[name]) <= _MOST_SO_NAMED:
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
