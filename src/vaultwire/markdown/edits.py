"""Edits of a note's text: (text, edit) → text. Every character outside the edited span stays the same.

Text here is the file's own: ``\\r\\n`` where the file has it. What the caller adds may use either line end and gets the
note's own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultwire.markdown.diffs import common_ends
from vaultwire.markdown.properties import parse_frontmatter

# Without the look-behind, a run of \r that no \n follows would be tried from each of its characters.
_LINE_END = re.compile(r"(?<!\r)\r+\n")


class Change(NamedTuple):
    """A replacement for the characters ``start`` to ``end`` of a file's text; an insertion if both are equal.

    ``whole_lines``: the new text begins on a line of its own and ends one. A text without a final line end gets one only
    if it is in the text inserted there.
    """

    start: int
    end: int
    new: str
    whole_lines: bool = False


def line_end(text: str) -> str:
    """Return the line end that most lines of the text have; ``\\n`` if both are as frequent."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def to_plain(text: str) -> str:
    """Return the text with ``\\n`` line ends, as callers see it. A carriage return elsewhere stays."""
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
    """Return ``new`` in place of ``text``: lines that stay keep their own line ends, the others get the text's usual one.

    Lines are compared from both ends; all between the first and the last difference counts as new. A text that ended with
    a line end still does.
    """
    return _written_over(text, to_plain(_ended(new) if text.endswith("\n") else new), line_end(text))


def replace_spans(text: str, changes: list[Change]) -> str:
    """Return the text with all changes made. Their offsets are those of ``text``, in order and not overlapping.

    New text gets the note's line ends, except for lines that a span and its replacement share at either end. Insertions at
    one offset keep their order.
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
    """Return the plain text ``wanted`` with the line ends of ``old`` where both agree, and with ``ending`` elsewhere."""
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
    """Return the beginning of ``text`` that has ``plain_length`` characters as plain text."""
    plain = to_plain(text)[:plain_length]
    if "\r\n" not in text:
        return text[:plain_length]
    position = 0
    for _ in range(plain.count("\n")):
        position = text.index("\n", position) + 1
    rest = plain_length - (plain.rfind("\n") + 1)
    return text[: position + rest]
