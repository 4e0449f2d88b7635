"""What may be meant by a link that leads nowhere: files and headings with nearly its name. It changes nothing."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from vaultwire.vault.disk.paths import fold, stem
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.fuzzy_names import edit_distance
from vaultwire.vault.links.link_resolver import linkpath_of
from vaultwire.vault.search.text_forms import strip_diacritics
from vaultwire.vault.value_types import Progress, VaultPath, asking

_SIGNS = re.compile(r"[\W_]+")
_NOT_IN_LINKS = re.compile(r"[#^|:%\s]+|\[\[|\]\]")
_DIGITS = re.compile(r"\d+")
# Letters of a name in which a typing error may be.
_LEAST_FOR_TYPO = 5
# Letters of a name that one slip does not make another name.
_LEAST_FOR_SLIP = 8
# So many of the letters that are in names are tried in place of a wrong one: enough for any alphabet.
_MOST_LETTERS = 80
# A name that only begins so is what was meant if it is not much longer.
_MOST_LONGER = 3
_LOOKED_AT = 20
_MOST = 3

_Named = TypeVar("_Named")


class Suggestion(NamedTuple):
    """A link that leads somewhere, in place of one that does not. ``is_sure``: it is what was meant.

    For that nothing else may come near it. Of a file the name may differ in case, signs, accents and one slip (``_is_slip``):
    many links wait for notes that are to be written, and Maria's note is not Marie's, nor a plan the note on plans.
    """

    linktext: str
    is_sure: bool


class Suggestions:
    """The suggestions of one request. All names of the vault are read when the first one is asked for."""

    def __init__(self, index: Index, progress: Progress) -> None:
        self._index = index
        self._progress = progress
        self._found: dict[str, list[Suggestion]] = {}
        self._headings: dict[VaultPath, _Names[str]] = {}

    def for_link(self, linktext: str) -> list[Suggestion]:
        """Return what may be meant by a link to a file that is not there, best first. A subpath stays as it is."""
        linkpath = linkpath_of(linktext).strip()
        key = fold(linkpath)
        if key not in self._found:
            self._progress.check()
            self._found[key] = self._alike(stem(linkpath))
        subpath = linktext[len(linkpath_of(linktext)) :]
        return [each._replace(linktext=each.linktext + subpath) for each in self._found[key]]

    def for_heading(self, linktext: str, target: VaultPath, headings: Callable[[], Iterable[str]]) -> list[Suggestion]:
        """Return what may be meant by a link to a heading that is not in its target, best first."""
        linkpath, _, subpath = linktext.partition("#")
        if target not in self._headings:
            by_letters: dict[str, list[str]] = {}
            for heading in dict.fromkeys(headings()):
                by_letters.setdefault(_letters(heading), []).append(heading)
            self._headings[target] = _Names(by_letters)
        names = self._headings[target]
        letters = _letters(subpath.rpartition("#")[2])
        found = [
            (heading, _likeness(letters, other)) for other in names.near(letters) for heading in names.named[other]
        ]
        near = sorted((likeness, heading) for heading, likeness in found if likeness < _UNLIKE)
        sure = [likeness for likeness, _ in near if likeness < _BEGINS]
        return [
            Suggestion(f"{linkpath}#{_NOT_IN_LINKS.sub(' ', heading).strip()}", len(sure) == 1 and likeness < _BEGINS)
            for likeness, heading in near[:_MOST]
        ]

    def _alike(self, name: str) -> list[Suggestion]:
        letters = _letters(name)
        if not letters:
            return []
        near: dict[VaultPath, int] = {}
        for other in self._names.near(letters):
            likeness = _likeness(letters, other)
            for path in self._names.named[other]:
                near[path] = min(near.get(path, _UNLIKE), likeness)
        return _ranked(name, [(path, likeness) for path, likeness in near.items() if likeness < _UNLIKE])

    @cached_property
    def _names(self) -> _Names[VaultPath]:
        paths: dict[str, list[VaultPath]] = {}
        for name, path in asking(self._progress, self._index.survey.names(self._progress)):
            if letters := _letters(name):
                paths.setdefault(letters, []).append(path)
        return _Names(paths)


class _Names(Generic[_Named]):
    """The letters of all names, each with what has such a name."""

    def __init__(self, named: dict[str, list[_Named]]) -> None:
        self.named = named
        self._sorted = sorted(named)
        uses = Counter(character for letters in self._sorted for character in letters if not character.isdigit())
        self._alphabet = [character for character, _ in uses.most_common(_MOST_LETTERS)]

    def near(self, letters: str) -> set[str]:
        """Return the names that are the same, have one letter more, less or another, or begin so, or with which it begins.

        To make all that have one letter more, less or another and to look them up takes 0.3 ms; to compare all names of a
        large vault, a hundred times as long.
        """
        found = {each for each in self._one_typo(letters) if each in self.named} | {letters} & self.named.keys()
        start = bisect_left(self._sorted, letters)
        while start < len(self._sorted) and self._sorted[start].startswith(letters) and len(found) < _LOOKED_AT:
            found.add(self._sorted[start])
            start += 1
        return found | {letters[:end] for end in range(_LEAST_FOR_TYPO, len(letters))} & self.named.keys()

    def _one_typo(self, letters: str) -> Iterator[str]:
        if len(letters) < _LEAST_FOR_TYPO - 1:
            return
        for at in range(len(letters) + 1):
            before, after = letters[:at], letters[at:]
            yield before + after[1:]
            yield before + after[1:2] + after[:1] + after[2:]
            for character in self._alphabet:
                yield before + character + after
                yield before + character + after[1:]


_SAME, _TYPO, _BEGINS, _UNLIKE = range(4)


def _letters(name: str) -> str:
    return _SIGNS.sub("", strip_diacritics(fold(name)))


def _likeness(one: str, other: str) -> int:
    """Return how like two names are. Names with different numbers mean different things."""
    if not one or not other or _DIGITS.findall(one) != _DIGITS.findall(other):
        return _UNLIKE
    if one == other:
        return _SAME
    if min(len(one), len(other)) >= _LEAST_FOR_TYPO and edit_distance(one, other, 1) <= 1:
        return _TYPO
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= _LEAST_FOR_TYPO and longer.startswith(shorter) and len(longer) <= _MOST_LONGER * len(shorter):
        return _BEGINS
    return _UNLIKE


def _is_slip(name: str, path: VaultPath) -> bool:
    """Tell whether a long name only lacks or repeats a letter within it, or has two of them in the wrong order."""
    names = name, stem(path)
    extensions = {each.rpartition(".")[2] for each in names}
    if len(extensions) == 1:  # of attachments
        names = name.rpartition(".")[0], stem(path).rpartition(".")[0]
    shorter, longer = sorted(map(_letters, names), key=len)
    if len(longer) < _LEAST_FOR_SLIP:
        return False
    if len(shorter) < len(longer):
        return longer[-1] == shorter[-1]  # else it may be a plural
    swapped = [at for at, (one, other) in enumerate(zip(shorter, longer, strict=True)) if one != other]
    return len(swapped) == 2 and swapped[1] == swapped[0] + 1  # noqa: PLR2004 - two letters


def _ranked(name: str, near: Sequence[tuple[VaultPath, int]]) -> list[Suggestion]:
    ranked = sorted(near, key=lambda each: (each[1], len(each[0]), each[0]))
    best = [each for each in ranked if each[1] == ranked[0][1]]
    names = [_link_to(path) for path, _ in ranked]
    is_sure = len(best) == 1 and (best[0][1] == _SAME or (best[0][1] == _TYPO and _is_slip(name, best[0][0])))
    return [Suggestion(name, is_sure and not number) for number, name in enumerate(names[:_MOST])]


def _link_to(path: VaultPath) -> str:
    return path.removesuffix(".md")
