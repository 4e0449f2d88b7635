"""How much a word says by the number of notes that have it. Pure."""

from __future__ import annotations

from math import log


def rarity(count: int, notes: int) -> float:
    """Return how much a word says that ``count`` of all notes have: near 0 if most have it, and more the rarer it is.

    It is the inverse document frequency of BM25. It knows the little words of every language without a list of them.
    """
    count = min(count, notes)  # a text index may count notes that are gone
    return log(1 + (notes - count + 0.5) / (count + 0.5))
