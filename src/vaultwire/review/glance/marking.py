"""Marks words: those of a search in the lines that it found, and those that differ in two rendered notes. Pure, never HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vaultwire.markdown.diffs import differences
from vaultwire.review.diff.words import tokens_of
from vaultwire.review.glance.allowed import Tree, only_allowed
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


def mark_changes(old: Tree, new: Tree) -> tuple[Tree, Tree]:
    """Return two rendered notes with the words marked that only one of them has, by spans of the class ``changed``."""
    old_words, new_words = list(_words_in(old)), list(_words_in(new))
    found = differences(old_words, new_words)
    old_marks, new_marks = bytearray(len(old_words)), bytearray(len(new_words))
    for each in found:
        old_marks[each.start : each.end] = b"\1" * (each.end - each.start)
        new_marks[each.new_start : each.new_end] = b"\1" * (each.new_end - each.new_start)
    return only_allowed(_with_marks(old, iter(old_marks))), only_allowed(_with_marks(new, iter(new_marks)))


def _words_in(nodes: Tree) -> Iterator[str]:
    for node in nodes:
        yield from tokens_of(node, "code") if isinstance(node, str) else _words_in(node[2])


def _with_marks(nodes: Tree, marks: Iterator[int]) -> Tree:
    """Return nodes with their marked words in spans; ``marks`` has one for each word, in order."""
    made: Tree = []
    for node in nodes:
        if not isinstance(node, str):
            made.append([node[0], node[1], _with_marks(node[2], marks)])
            continue
        text, is_in = "", False
        for word in tokens_of(node, "code"):
            is_marked = bool(next(marks)) and (is_in or bool(word.strip()))
            if is_marked != is_in and text:
                made.append(["span", {"class": "changed"}, [text]] if is_in else text)
                text = ""
            text, is_in = text + word, is_marked
        if text:
            made.append(["span", {"class": "changed"}, [text]] if is_in else text)
    return made
