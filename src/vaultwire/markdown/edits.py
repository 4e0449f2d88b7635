"""Edits of a note's text: (text, edit) → text. What an edit does not touch comes out exactly as it went in.

Text here is the file's own: ``\\r\\n`` where the file has it. What the caller adds may use either line end and gets the
note's own. Property: for every edit, everything outside the edited span is the same characters.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultwire.markdown.diffs import common_ends
from vaultwire.markdown.properties import parse_frontmatter

# Looks behind: without it, a run of \r that no \n follows would be tried from each of its characters.
_LINE_END = re.compile(r"(?<!\r)\r+\n")


class Change(NamedTuple):
    """Characters ``start`` to ``end`` of a file's text, and what stands there afterwards; with ``start == end`` an insertion.

    ``whole_lines``: what is new begins on a line of its own and ends one. A text without a final line end gets one only
    from an insertion there that has one.
    """

    start: int
    end: int
    new: str
    whole_lines: bool = False


def line_end(text: str) -> str:
    """Return the line end most lines of the text have; ``\\n`` where there are none or as many."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def to_plain(text: str) -> str:
    """Return the text with ``\\n`` line ends, as callers see it. A carriage return elsewhere is a character like any."""
    if "\r" not in text:
        return text
    if "\r\r\n" in text:  # a file converted twice; the plain text must not hold \r\n again
        return _LINE_END.sub("\n", text)
    return text.replace("\r\n", "\n")


def append(text: str, addition: str) -> str:
    """Return the text with ``addition`` as new lines after the last. A text that ended with a line end still does."""
    if not text or not addition:
        return text + to_plain(addition)
    ending = line_end(text)
    added = to_plain(_ended(addition) if text.endswith("\n") else addition).replace("\n", ending)
    return text + ("" if text.endswith("\n") else ending) + added


def prepend(text: str, addition: str) -> str:
    """Return the text with ``addition`` as new lines before the first, frontmatter staying on top."""
    if not addition:
        return text
    ending = line_end(text)
    top = parse_frontmatter(to_plain(text)).end
    head = _prefix_of_plain(text, top)
    added = to_plain(_ended(addition)).replace("\n", ending)
    rest = text[len(head) :]
    if head and not head.endswith("\n"):  # the closing mark is the last line and has no line end
        head += ending
    return head + added + rest


def rewrite(text: str, new: str) -> str:
    """Return ``new`` written over ``text``: lines that stay keep their own line ends, the rest gets the text's usual one.

    Lines are compared from both ends; what lies between the first and the last difference counts as new. A text that
    ended with a line end still does.
    """
    return _written_over(text, to_plain(_ended(new) if text.endswith("\n") else new), line_end(text))


def replace_spans(text: str, changes: list[Change]) -> str:
    """Return the text with all changes made; their places are those in ``text``, in order and not overlapping.

    What is put in gets the note's line ends, but for lines that a span and what replaces it have in common at either end.
    Insertions at one place stand in the order given.
    """
    ending = line_end(text)
    pieces: list[str] = []
    position = 0
    for start, end, new, whole_lines in changes:
        if start == end and not new:
            continue
        if start > position:
            pieces.append(text[position:start])
        position = end
        wanted = to_plain(new)
        if whole_lines and wanted:
            if end < len(text) or text.endswith("\n"):
                wanted = _ended(wanted)
            elif start < end and wanted != "\n":
                wanted = wanted.removesuffix("\n")
            if pieces and not pieces[-1].endswith("\n"):
                pieces.append(ending)
        if written := _written_over(text[start:end], wanted, ending):
            pieces.append(written)
    pieces.append(text[position:])
    return "".join(pieces)


def _written_over(old: str, wanted: str, ending: str) -> str:
    """Return the plain text ``wanted`` with the line ends ``old`` has where both agree, with ``ending`` elsewhere."""
    old_lines = old.split("\n")
    new_lines = wanted.split("\n")
    # The last piece of a split has no line end and is never shared.
    head, tail = common_ends([line.rstrip("\r") for line in old_lines[:-1]], new_lines[:-1])
    if old_lines[-1] != new_lines[-1]:
        tail = 0
    carriage = "\r" if ending == "\r\n" else ""
    middle = [line + carriage for line in new_lines[head : len(new_lines) - 1 - tail]]
    kept_tail = old_lines[len(old_lines) - 1 - tail : -1]
    return "\n".join([*old_lines[:head], *middle, *kept_tail, new_lines[-1]])


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _prefix_of_plain(text: str, plain_length: int) -> str:
    """Return the start of ``text`` that ``to_plain`` shortens to ``plain_length`` characters."""
    plain = to_plain(text)[:plain_length]
    if "\r\n" not in text:
        return text[:plain_length]
    position = 0
    for _ in range(plain.count("\n")):
        position = text.index("\n", position) + 1
    rest = plain_length - (plain.rfind("\n") + 1)
    return text[: position + rest]
