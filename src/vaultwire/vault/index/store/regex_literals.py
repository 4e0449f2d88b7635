"""What a regular expression cannot match without: texts that stand in whatever it matches. Pure; gives up where in doubt."""

from __future__ import annotations

import re

# Shorter ones are in nearly every note.
_LEAST = 3
_SET = r"\[(?:[^\]\\]|\\.)*+\]"
_PART = re.compile(
    r"(?P<edge>\\[bB])"  # stands for nothing, between two characters
    # A character of some kind. I and dotless i among them: without case the library takes one for the other.
    rf"|(?P<any>\\[dDwWsStnrfv]|{_SET}|[.^$I\u0131])"
    r"|(?P<odd>\\[A-Za-z0-9]|[|)\[])"  # characters spelt out, references, alternatives
    r"|(?P<repeat>[*?]|\{\d*,?\d*\})"  # the character before it may be missing
    r"|(?P<more>\+)"
    r"|(?P<group>\()"
    r"|\\?(?P<literal>.)",
    re.DOTALL,
)
_IN_GROUP = re.compile(rf"\\.|{_SET}|[()\[]|[^\\()\[\]]++|\]", re.DOTALL)


def required_literals(source: str) -> list[str]:
    """Return texts all of which stand, whatever the case, in any text the expression matches."""
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
    return [text for text in texts if len(text) >= _LEAST]


def _group_end(source: str, position: int) -> int:
    """Return where the group ends that was opened before ``position``."""
    depth = 1
    while depth and (part := _IN_GROUP.match(source, position)):
        depth += (part[0] == "(") - (part[0] == ")")
        position = part.end()
    return position
