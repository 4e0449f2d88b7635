"""What may be meant by a link that leads nowhere: files and headings with nearly its name. It changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vaultwire.vault.disk.paths import fold, is_note, stem
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.fuzzy_names import edit_distance
from vaultwire.vault.links.link_resolver import linkpath_of
from vaultwire.vault.search.filters import NoteFilter
from vaultwire.vault.search.text_forms import strip_diacritics
from vaultwire.vault.value_types import Progress, VaultPath

_SIGNS = re.compile(r"[\W_]+")
_NOT_IN_LINKS = re.compile(r"[#^|:%\s]+|\[\[|\]\]")
_DIGITS = re.compile(r"\d+")
# Letters of a name in which one typing error, or two, may be.
_LEAST_FOR_ONE_TYPO, _LEAST_FOR_TWO_TYPOS = 5, 10
# A name that only begins so is what was meant if it is not much longer.
_MOST_LONGER = 3
_LOOKED_AT = 8
_MOST = 3
# Names that are looked for in one check. Each takes up to 10 ms in a vault of 100,000 notes.
_MOST_NAMES = 1_000


class Suggestion(NamedTuple):
    """A link that leads somewhere, in place of one that does not. ``is_sure``: nothing else comes near it."""

    linktext: str
    is_sure: bool


class Suggestions:
    """The suggestions of one request. Remembers what it has found: many links ask for the same name."""

    def __init__(self, index: Index, progress: Progress) -> None:
        self._index = index
        self._progress = progress
        self._found: dict[str, list[Suggestion]] = {}
        self._attachments: dict[str, list[VaultPath]] | None = None

    def for_link(self, linktext: str) -> list[Suggestion]:
        """Return what may be meant by a link to a file that is not there, best first. A subpath stays as it is."""
        linkpath = linkpath_of(linktext).strip()
        key = fold(linkpath)
        if key not in self._found:
            if len(self._found) >= _MOST_NAMES:
                return []
            self._progress.check()
            name = linkpath.rpartition("/")[2]
            has_extension = "." in name and not is_note(name)
            self._found[key] = (has_extension and self._alike_attachments(name)) or self._alike_notes(stem(name))
        subpath = linktext[len(linkpath_of(linktext)) :]
        return [each._replace(linktext=each.linktext + subpath) for each in self._found[key]]

    def _alike_notes(self, name: str) -> list[Suggestion]:
        letters = _letters(name)
        if not letters:
            return []
        named = self._index.find(NoteFilter(name=name), None, self._progress).page(0, _LOOKED_AT, self._progress)
        near: dict[VaultPath, int] = {}
        for each in named:
            likenesses = [_likeness(letters, _letters(other)) for other in (stem(each.stat.path), each.alias or "")]
            near[each.stat.path] = min(likenesses)
        return _ranked([(path, likeness) for path, likeness in near.items() if likeness < _UNLIKE])

    def _alike_attachments(self, name: str) -> list[Suggestion]:
        if self._attachments is None:
            self._attachments = {}
            # ``paths`` also has files that the vault's rules exclude; links to these are not broken, and rarely meant.
            for path in self._index.paths(self._progress):
                if not is_note(path):
                    self._attachments.setdefault(_letters(path.rpartition("/")[2]), []).append(path)
        return _ranked([(path, _SAME) for path in self._attachments.get(_letters(name), [])])


def heading_suggestions(linktext: str, headings: Iterable[str]) -> list[Suggestion]:
    """Return what may be meant by a link to a heading that is not there, best first."""
    linkpath, _, subpath = linktext.partition("#")
    wanted = _letters(subpath.rpartition("#")[2])
    found = [(heading, _likeness(wanted, _letters(heading))) for heading in dict.fromkeys(headings)]
    near = sorted((each for each in found if each[1] < _UNLIKE), key=lambda each: each[1])
    sure = [each for each in near if each[1] < _BEGINS]
    return [
        Suggestion(f"{linkpath}#{_NOT_IN_LINKS.sub(' ', heading).strip()}", len(sure) == 1 and likeness < _BEGINS)
        for heading, likeness in near[:_MOST]
    ]


_SAME, _TYPO, _BEGINS, _UNLIKE = range(4)


def _letters(name: str) -> str:
    return _SIGNS.sub("", strip_diacritics(fold(name)))


def _likeness(one: str, other: str) -> int:
    """Return how like two names are. Names with different numbers mean different things."""
    if not one or not other or _DIGITS.findall(one) != _DIGITS.findall(other):
        return _UNLIKE
    if one == other:
        return _SAME
    length = min(len(one), len(other))
    most = (length >= _LEAST_FOR_ONE_TYPO) + (length >= _LEAST_FOR_TWO_TYPOS)
    if most and edit_distance(one, other, most) <= most:
        return _TYPO
    shorter, longer = sorted((one, other), key=len)
    if (
        len(shorter) >= _LEAST_FOR_ONE_TYPO
        and longer.startswith(shorter)
        and len(longer) <= _MOST_LONGER * len(shorter)
    ):
        return _BEGINS
    return _UNLIKE


def _ranked(near: Sequence[tuple[VaultPath, int]]) -> list[Suggestion]:
    ranked = sorted(near, key=lambda each: (each[1], len(each[0]), each[0]))
    best = [each for each in ranked if each[1] == ranked[0][1]]
    names = [_link_to(path) for path, _ in ranked]
    is_sure = len(best) == 1 and best[0][1] < _BEGINS
    return [Suggestion(name, is_sure and not number) for number, name in enumerate(names[:_MOST])]


def _link_to(path: VaultPath) -> str:
    return path.removesuffix(".md")
