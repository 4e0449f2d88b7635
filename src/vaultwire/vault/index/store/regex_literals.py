"""Finds the required literals of a regular expression: texts that are in every text it matches. Pure.

A search then runs the expression only on notes with these texts. In doubt it finds none, and the search reads all notes.
"""

from __future__ import annotations

import re

# Nearly every note has shorter ones.
_MIN_LENGTH = 3
_SET = r"\[(?:[^\]\\]|\\.)*+\]"
_PART = re.compile(
    r"(?P<edge>\\[bB])"  # matches no character
    # Any character of some kind. Also I and dotless i: with case ignored the library takes one for the other.
    rf"|(?P<any>\\[dDwWsStnrfv]|{_SET}|[.^$I\u0131])"
    r"|(?P<odd>\\[A-Za-z0-9]|[|)\[])"  # escaped codes, references, alternatives
    r"|(?P<repeat>[*?]|\{\d*,?\d*\})"  # the character before it may be missing
    r"|(?P<more>\+)"
    r"|(?P<group>\()"
    r"|\\?(?P<literal>.)",
    re.DOTALL,
)
_IN_GROUP = re.compile(rf"\\.|{_SET}|[()\[]|[^\\()\[\]]++|\]", re.DOTALL)


def required_literals(source: str) -> list[str]:
    """Return texts that are all in every text the expression matches, in any case."""
    texts = [""]
    position = 0
    while part := _PART.match(source, position):
        kind = part.lastgroup
        position = part.end()
        if kind == "odd":
            return []
        if kind == "literal":
            texts[-1] += part["literal"]
        elif kind != "edge":
            if kind == "repeat":
                texts[-1] = texts[-1][:-1]
            if kind == "group":
                position = _group_end(source, position)
            texts.append("")
    return [text for text in texts if len(text) >= _MIN_LENGTH]


def _group_end(source: str, position: int) -> int:
    """Return the end of the group that begins before ``position``."""
    depth = 1
    while depth and (part := _IN_GROUP.match(source, position)):
        depth += (part[0] == "(") - (part[0] == ")")
        position = part.end()
    return position
