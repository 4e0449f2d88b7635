"""Bases in the code blocks of notes: ```` ```base ````. What they say is read by ``base``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from vaultwire.markdown.block_parser import read_body
from vaultwire.markdown.canvas import edited_cards
from vaultwire.markdown.diffs import differences
from vaultwire.markdown.edits import MixedLineEndsError, edited_plain
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import parse_frontmatter

# Languages of code blocks that ask for notes: Obsidian's own, and those of plugins that many people have.
_LANGUAGES = "query|dataview|dataviewjs|tasks"
# Only from the first mark of a row of marks: else a text of marks alone would be read once from each of them. A mark comes
# first in the pattern: so the library skips all other characters at once.
_QUERY = compile_pattern(
    rf"(?:`(?<![`~]`)``|~(?<![`~]~)~~)[`~]*+[ \t]*+(?:base|{_LANGUAGES})(?=[\s{{]|\Z)", re.IGNORECASE
)
_ITEM_MARK = compile_pattern(r"[-+*]|[0-9]{1,9}+[.)]")
_FENCE = compile_pattern(
    rf"(?P<before>[ \t]*+(?:(?:{_ITEM_MARK.pattern})[ \t]++)*+)(?P<marks>`{{3,}}+(?=[^`]*\Z)|~{{3,}}+)[ \t]*+(?P<info>.*+)\Z"
)
_QUOTE = compile_pattern(r"[ \t]{0,3}>[ \t]?")
# Quotes within quotes: deeper ones hold no base that anybody wrote.
_MOST_NESTED = 8


class BlockError(ValueError):
    """A block is not there, or cannot be edited. The message says why, for "Note.md …"."""


class Block(NamedTuple):
    """A base in a code block: the line of the first line of its text, counted from 1 in the note, and the text.

    ``size``: how many lines the text has; the line before them opens the block.
    """

    line: int
    text: str
    size: int


def may_hold_queries(text: str) -> bool:
    """Tell whether a note may have a code block that asks for notes, such as a base. Its files may be named there."""
    return _QUERY.search(text) is not None


def base_blocks(text: str) -> list[Block]:
    """Return the bases in code blocks of a note, in their order, also those in quotes and callouts."""
    return query_blocks(text, "base")


def other_queries(text: str) -> list[Block]:
    """Return the code blocks of a note that ask for notes in a language that is not read here, in their order."""
    return query_blocks(text, _LANGUAGES)


def query_blocks(text: str, language: str) -> list[Block]:
    """Return the code blocks of a note in one language, such as ``dataview``, in their order; those in quotes, too.

    ``language``: a pattern.
    """
    if not may_hold_queries(text):
        return []
    end = parse_frontmatter(text).end
    pattern = re.compile(rf"(?:{language})(?=[\s{{{{]|\Z)", re.IGNORECASE)
    return [*_blocks(text[end:].split("\n"), text.count("\n", 0, end) + 1, 0, pattern)]


def no_block(count: int, number: int) -> str:
    """Return what is wrong with a number, for "Note.md …"."""
    has = {0: "no base block", 1: "one base block"}.get(count, f"{count} base blocks")
    return f"has {has}, so there is no block {number}"


def edit_block(text: str, number: int, edit: Callable[[Block], str]) -> str:
    """Return a note with a base block edited, that of a number from 1. What stands before each line, such as ``> ``, stays.

    Raises BlockError for a block that there is not, for one whose lines do not begin alike, for a base that would end its
    block early, and for mixed line ends.
    """
    return _edited(text, number, edit)


def edit_blocks(text: str, edit: Callable[[Block], str]) -> str:
    """Return a note with all base blocks edited, as ``edit_block`` does."""
    return _edited(text, 0, edit)


def edit_cards(canvas: str, edit: Callable[[str, int], str]) -> str:
    """Return a canvas whose text cards with code blocks are edited, as ``edited_cards`` does. Raises NotACanvasError."""
    has_blocks = "base" in canvas and ("```" in canvas or "~~~" in canvas)
    return edited_cards(canvas, edit) if has_blocks else canvas


def _edited(text: str, number: int, edit: Callable[[Block], str]) -> str:
    try:
        return edited_plain(text, lambda plain: _with_blocks(plain, number, edit))
    except MixedLineEndsError as error:
        raise BlockError(str(error)) from None


def _with_blocks(text: str, number: int, edit: Callable[[Block], str]) -> str:
    """Return a note with the block of a number edited, or with all of them for 0."""
    blocks = base_blocks(text)
    if number and not 1 <= number <= len(blocks):
        raise BlockError(no_block(len(blocks), number))
    lines = text.split("\n")
    texts = [block.text for block in blocks]
    for place, block in reversed([*enumerate(blocks)]):  # from the end: the lines above keep their numbers
        if number not in (0, place + 1):
            continue
        new = edit(block)
        if block.size == 0 or block.text.split("\n")[-1]:  # else a line end there is a blank line of the block
            new = new.removesuffix("\n")
        if new != block.text:
            texts[place] = new
            first, end = block.line - 1, block.line - 1 + block.size
            lines[first:end] = _edited_rows(lines[first - 1 : end], block.text, new, place + 1)
    after = "\n".join(lines)
    if after != text and [each.text for each in base_blocks(after)] != texts:
        raise BlockError("cannot hold the change: a line of it would end the base block")
    return after


def _edited_rows(block: list[str], old: str, new: str, number: int) -> list[str]:
    """Return the lines of a block, of which the first opens it, with a new text. Lines of the old text that stay are as they
    were, to their ends.
    """
    opening, *rows = block
    prefix = opening[: min(place for mark in ("```", "~~~") if (place := opening.find(mark)) >= 0)]
    prefix = _ITEM_MARK.sub(lambda found: " " * len(found[0]), prefix)
    if not all(row.startswith(prefix) or prefix.startswith(row) for row in rows):
        raise BlockError(f"has lines in block {number} that do not begin alike: edit it as text")
    old_lines, new_lines = old.split("\n") if rows else [], new.split("\n")
    found: list[str] = []
    position = 0
    for difference in differences(old_lines, new_lines):
        changed = new_lines[difference.new_start : difference.new_end]
        found += [*rows[position : difference.start], *(prefix + line if line else prefix.rstrip() for line in changed)]
        position = difference.end
    return [*found, *rows[position:]]


def _blocks(lines: list[str], first: int, depth: int, language: re.Pattern[str]) -> Iterator[Block]:
    for span in read_body("\n".join(lines), 1).blocks:
        own = lines[span.first - 1 : span.last]
        if own and _QUOTE.match(own[0]) and depth < _MOST_NESTED:
            inner = [line[found.end() :] if (found := _QUOTE.match(line)) else line for line in own]
            yield from _blocks(inner, first + span.first - 1, depth + 1, language)
            continue
        yield from _fenced(own, first + span.first - 1, language)


def _fenced(lines: list[str], first: int, language: re.Pattern[str]) -> Iterator[Block]:
    """Yield the queries of a block: it is a code block, or an item of a list that holds some."""
    rest = enumerate(lines)
    for number, line in rest:
        opening = _FENCE.match(line)
        if opening is None:
            continue
        indent = len(opening["before"])
        closing = re.compile(rf"[ \t]{{0,{indent + 3}}}{opening['marks'][0]}{{{len(opening['marks'])},}}[ \t]*\Z")
        text: list[str] = []
        for _, below in rest:
            if closing.match(below):
                break
            text.append(below[min(indent, len(below) - len(below.lstrip(" \t"))) :])
        if language.match(opening["info"]):
            yield Block(first + number + 1, "\n".join(text), len(text))
