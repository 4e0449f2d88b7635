"""Marks the words of a search in the lines that it found. Pure: parts of text, never HTML."""

from __future__ import annotations

from typing import Any

from vaultwire.vault.search.query import Not, parse_query
from vaultwire.vault.search.terms import Text
from vaultwire.vault.search.text_forms import fold_case

_MOST_WORDS = 50


def words_of(query: str) -> list[str]:
    """Return the words and phrases that a query looks for, folded; those after a minus not. The longest first."""
    found: set[str] = set()
    _collect(parse_query(query), found)
    return sorted(found, key=lambda word: (-len(word), word))[:_MOST_WORDS]


def _collect(part: Any, found: set[str]) -> None:
    if isinstance(part, Not) or not isinstance(part, tuple | list):
        return
    if isinstance(part, Text):
        found.add(fold_case(part.text))
        return
    for each in part:
        _collect(each, found)


def marked(line: str, words: list[str]) -> list[dict[str, Any]]:
    """Return a line in parts, of which those with a word are marked: ``{"t": text, "mark": bool}``."""
    folded = fold_case(line)
    marks = bytearray(len(line))
    if len(folded) == len(line):  # a few letters get longer when they are folded; then the places would be wrong
        for word in filter(None, words):
            position = folded.find(word)
            while position >= 0:
                marks[position : position + len(word)] = b"\1" * len(word)
                position = folded.find(word, position + len(word))
    parts: list[dict[str, Any]] = []
    for character, mark in zip(line, marks, strict=True):
        if parts and parts[-1]["mark"] == bool(mark):
            parts[-1]["t"] += character
        else:
            parts.append({"t": character, "mark": bool(mark)})
    return parts
