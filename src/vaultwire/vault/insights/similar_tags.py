"""Tags that may be meant as one: of the same letters, singular and plural, a nested and a plain one, a typing error. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.vault.search.text_forms import strip_diacritics
from vaultwire.vault.value_types import TagCount

Likeness: TypeAlias = Literal["same letters", "plural", "spelling", "nested"]
"""``same letters``: they differ in ``-``, ``_``, ``/`` and diacritics only. The surest comes first."""

_ORDER: tuple[Likeness, ...] = ("same letters", "plural", "spelling", "nested")
_SIGNS = re.compile(r"[-_/]+")
# In shorter tags one letter makes another word.
_LEAST_FOR_TYPO = 6
_LEAST_FOR_PLURAL = 4
# English plurals; a wrong guess only means that two words are compared.
_PLURALS = (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"))
_NO_PLURALS = ("ss", "us", "is")


class SimilarTags(NamedTuple):
    """Tags that may be meant as one, the most used first."""

    likeness: Likeness
    tags: list[TagCount]


def similar_tags(tags: Sequence[TagCount]) -> list[SimilarTags]:
    """Return the groups of similar tags, the surest and most used first. A tag may be in several groups."""
    groups: dict[frozenset[str], SimilarTags] = {}
    ways: tuple[tuple[Likeness, list[list[TagCount]]], ...] = (
        ("same letters", _by_key(tags, _letters)),
        ("plural", _by_key(tags, lambda tag: "/".join(map(_singular, _parts(tag))))),
        ("spelling", _typos(tags)),
        ("nested", _nested(tags)),
    )
    for likeness, found in ways:
        for group in found:
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
    for each in tags:
        groups.setdefault(key_of(each.tag), []).append(each)
    return [group for group in groups.values() if len(group) > 1]


def _typos(tags: Sequence[TagCount]) -> list[list[TagCount]]:
    """Return the pairs of tags of which one becomes the other with one letter left out, added, exchanged or swapped."""
    shortened: dict[str, list[tuple[str, TagCount]]] = {}
    pairs: dict[frozenset[str], list[TagCount]] = {}
    for each in tags:
        letters = _letters(each.tag)
        if len(letters) < _LEAST_FOR_TYPO or any(map(str.isdigit, letters)):
            continue
        for form in {letters, *(letters[:at] + letters[at + 1 :] for at in range(len(letters)))}:
            for other_letters, other in shortened.setdefault(form, []):
                if other_letters != letters and _is_one_edit(letters, other_letters):
                    pairs[frozenset((each.tag, other.tag))] = [each, other]
            shortened[form].append((letters, each))
    return list(pairs.values())


def _is_one_edit(one: str, other: str) -> bool:
    """Tell whether two texts, which are equal with one character left out of either, are one edit apart, and no plural."""
    if _singular(one) == _singular(other):
        return False
    if len(one) != len(other):
        return True
    different = [at for at in range(len(one)) if one[at] != other[at]]
    if len(different) == 1:
        return True
    first, last = different[0], different[-1]
    return len(different) == 2 and last == first + 1 and one[first] == other[last] and one[last] == other[first]  # noqa: PLR2004


def _nested(tags: Sequence[TagCount]) -> list[list[TagCount]]:
    """Return each plain tag with the tags that end with it below others: ``garden`` and ``hobby/garden``."""
    plain = {_letters(each.tag): each for each in tags if "/" not in each.tag}
    groups: dict[str, list[TagCount]] = {}
    for each in tags:
        last = _letters(each.tag.rpartition("/")[2])
        if "/" in each.tag and last in plain and not last.isdigit():
            groups.setdefault(last, [plain[last]]).append(each)
    return list(groups.values())
