"""Regular expressions that mean the same on every Python: compiles them.

In CPython 3.11.0 to 3.11.4, a possessive quantifier after a group matches wrongly (python/cpython#106052 and #100061,
both corrected in 3.11.5). Debian 12 comes with 3.11.2: there the parser found no wikilink. The same pattern with an
atomic group is right in these versions. It is as quick, but takes memory for each repetition: others keep theirs.
"""

import re
import sys

IS_FAULTY = sys.version_info < (3, 11, 5)

_PIECE = re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\(|(\))((?:[*+?]|\{[0-9,]*\})(?=\+))?|.", re.DOTALL)


def compile_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern in which a group may be followed by a possessive quantifier."""
    return re.compile(with_atomic_groups(pattern) if IS_FAULTY else pattern, flags)


def with_atomic_groups(pattern: str) -> str:
    """Return the pattern with an atomic group instead of each possessive quantifier after a group."""
    pieces: list[str] = []
    opened: list[int] = []
    position = 0
    while piece := _PIECE.match(pattern, position):
        position = piece.end()
        if piece[0] == "(":
            opened.append(len(pieces))
        pieces.append(piece[0])
        if piece[1]:
            begin = opened.pop()
            if piece[2]:
                pieces[begin] = "(?>" + pieces[begin]
                pieces.append(")")
                position += 1  # the plus that made it possessive
    return "".join(pieces)
