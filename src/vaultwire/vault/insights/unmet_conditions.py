"""Why conditions on tags and properties find no note: a name that no note has, or a value that the property never has. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Literal, NamedTuple

from vaultwire.vault.disk.paths import fold
from vaultwire.vault.search.filters import Condition

# How many names or values are told, and how similar names must be.
_MOST, _LEAST_SIMILAR = 5, 0.7


class Unmet(NamedTuple):
    """A condition that no note meets. ``there``: similar names, the most similar first; or the property's values."""

    kind: Literal["tag", "property", "value"]
    name: str
    there: list[str]


def unmet_tags(asked: Iterable[str], known: Sequence[str]) -> list[Unmet]:
    """Return those of the tags that no note has. A tag counts as there if one below it is."""
    folded = {fold(tag): tag for tag in known}
    parents = {tag.rsplit("/", depth)[0] for tag in folded for depth in range(tag.count("/") + 1)}
    wanted = (tag.removeprefix("#").strip("/") for tag in asked)
    return [Unmet("tag", tag, _similar(tag, folded)) for tag in wanted if fold(tag) not in parents]


def unmet_conditions(
    asked: Iterable[Condition], known: Sequence[str], values_of: Callable[[str], Sequence[str]]
) -> list[Unmet]:
    """Return the conditions that name a property which no note has, or ask for a value that no note has in it.

    ``values_of`` returns a property's values, the most frequent first.
    """
    folded = {fold(name): name for name in known}
    unmet = []
    for condition in asked:
        if condition.is_negated:
            continue
        name = folded.get(fold(condition.name))
        if name is None:
            unmet.append(Unmet("property", condition.name, _similar(condition.name, folded)))
        elif condition.sign == "=" and condition.text:
            values = values_of(name)
            if not any(condition.accepts(value) for value in values):
                unmet.append(Unmet("value", name, list(values[:_MOST])))
    return unmet


def _similar(asked: str, folded: dict[str, str]) -> list[str]:
    found = get_close_matches(fold(asked), folded, n=_MOST, cutoff=_LEAST_SIMILAR)
    return [folded[each] for each in found]
