"""The parts of a score, from the text index's own account of it. Pure. They add up to the score by which a note is ranked.

The library (tantivy) gives the account as a tree: sums, products with the weight of a field, and words. A word's share is its
weight times its rarity times how often it is there, for the length of the field (BM25).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice
from math import isclose
from typing import Any

from vaultwire.vault.index.search_plan import ALIAS, BODY, FILE, FIRST, HEADING, NAME, PATH, TAG, WEIGHTS
from vaultwire.vault.value_types import ScorePart

_FIELDS = (BODY, NAME, ALIAS, HEADING, TAG, FILE, PATH)  # in the schema's order, behind the id
_TERM = re.compile(r'field=(\d+), type=Str, "(.*)"\)$')
_WHERE = {BODY: "text"}
_BOOST = "Boost x"
_RARITY, _TIMES = "idf", "freq, "
# A phrase has no field in the account, but the weight of its field.
_OF_WEIGHT = {
    WEIGHTS[BODY]: "text or path",
    WEIGHTS[NAME]: "name",
    WEIGHTS[ALIAS]: "alias",
    WEIGHTS[HEADING]: "heading or tag",
}
_ESCAPED = re.compile(r"\\u\{([0-9a-f]+)\}")
_ROUNDING = 1e-4  # of the account's sums
_MOST_CHOICES = 2000  # of inner groups: a query may have hundreds
_CONDITION = 1.0  # what a tag, property, folder or task gives


def score_parts(account: str, first: float, scale: float) -> list[ScorePart]:
    """Return the parts of a score.

    ``first``: what notes have more that match with the typed diacritics; it is taken off, and others are made smaller than 1.
    ``scale``: a score is so many times what the text index gives.
    """
    tree = json.loads(account)
    parts = [part for part in _parts(tree, 1.0) if part.score]
    if first:
        raw = float(tree["value"])
        if raw >= first:
            parts = _without(parts, first)
        else:
            whole = raw % FIRST
            parts = _without(parts, raw - whole)
            parts.append(ScorePart("", "only without the typed diacritics", whole / (whole + 1) - whole))
    return [part._replace(score=scale * part.score) for part in parts]


def _without(parts: list[ScorePart], extra: float) -> list[ScorePart]:
    """Return the parts without the extra scores that set notes apart; what is left of these comes last."""
    apart = sum(part.score for part in parts if part.score >= FIRST)
    left = [part for part in parts if part.score < FIRST]
    return [*left, ScorePart("", "as typed, with diacritics", apart - extra)] if apart != extra else left


def _parts(node: dict[str, Any], weight: float) -> Iterator[ScorePart]:
    """Yield the words and other reasons of a node, whose values count ``weight`` times."""
    description, details = node["description"], node.get("details", ())
    if description.startswith(_BOOST):
        # By the value: the account rounds the weight.
        inner = details[0]["value"]
        factor = node["value"] / inner if inner else 0.0
        yield from _named(_parts(details[0], weight * factor), float(description[len(_BOOST) :].split()[0]))
    elif description.startswith("BooleanClause") and details:
        for inner in _counting(node):
            yield from _parts(inner, weight)
    elif term := _TERM.search(" ".join(node.get("context", ()))):
        field = _FIELDS[int(term[1]) - 1]
        times = _value(node, _TIMES)
        yield ScorePart(
            _ESCAPED.sub(lambda found: chr(int(found[1], 16)), term[2]),
            _WHERE.get(field, field),
            weight * node["value"],
            _value(node, _RARITY),
            None if times is None else round(times),
        )
    elif description.startswith("Const"):
        value = node["value"]
        where = "tag, property, folder or task" if value == _CONDITION else "inside longer words"
        yield ScorePart("", where, weight * value)
    else:
        yield ScorePart("phrase", "", weight * node["value"])


def _counting(node: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """Return what a sum is of. The account also has inner groups that the note does not match, by what they leave out."""
    details: list[dict[str, Any]] = node["details"]
    groups = [inner for inner in details if _is_group(inner)]
    choices = chain.from_iterable(combinations(groups, count) for count in range(len(groups) + 1))
    for left_out in islice(choices, _MOST_CHOICES):
        counted = [inner for inner in details if not any(inner is group for group in left_out)]
        if isclose(sum(inner["value"] for inner in counted), node["value"], rel_tol=_ROUNDING):
            return counted
    return details


def _is_group(node: dict[str, Any]) -> bool:
    while node["description"].startswith(_BOOST):
        node = node["details"][0]
    description: str = node["description"]
    return description.startswith("BooleanClause")


def _named(parts: Iterator[ScorePart], weight: float) -> Iterator[ScorePart]:
    """Yield the parts; of a phrase with the field that has this weight."""
    for part in parts:
        yield part if part.where else part._replace(where=_OF_WEIGHT.get(weight, "text"))


def _value(node: dict[str, Any], beginning: str) -> float | None:
    """Return the value of the first node of an account whose description begins so."""
    for inner in node.get("details", ()):
        if inner["description"].startswith(beginning):
            return float(inner["value"])
        if (value := _value(inner, beginning)) is not None:
            return value
    return None
