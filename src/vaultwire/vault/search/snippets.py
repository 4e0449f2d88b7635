"""Which lines of a note to show for what a search found in it. Pure: texts and needles in, lines out.

Whether a note matches is ``vault.search.matching``'s matter. That a note holds all words and phrases of a query is mostly known
before its lines are looked for: the text of such a note is then folded only as far as these words go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from vaultwire.vault.model import Line
from vaultwire.vault.search.query import And, Expression, Not, Or, Property, Within
from vaultwire.vault.search.terms import ASCII_BYTES, BARE, BASES, AnyNeedle, Needle, Text

# Shown per note; all matching lines are counted. A line is cut around its match to this many characters.
MAX_LINES_SHOWN = 5
_MAX_LINE_CHARACTERS = 200

# From so many letters beyond ASCII on it is worth while to pass over CJK characters all at once.
_MANY_LETTERS = 100


def columns_in(whole: str, needle: AnyNeedle, form: int) -> dict[int, int]:
    """Return where it first stands on each line of a text in ``form``, by how many lines of the text come before."""
    columns: dict[int, int] = {}
    find = needle.finder(whole, form)
    index = counted = 0
    position = find(0)
    while position >= 0:
        index += whole.count("\n", counted, position)
        columns[index] = position - whole.rfind("\n", counted, position) - 1
        counted = whole.find("\n", position)
        position = find(counted + 1) if counted >= 0 else -1
    return columns


def add_lines(first: int, columns: dict[int, int], lines: dict[int, int]) -> None:
    """Add lines counted from ``first``, each with the first column that something stands on."""
    for index, column in columns.items():
        number = first + index
        lines[number] = min(column, lines.get(number, column))


def shown(lines: dict[int, int], text: str) -> list[Line]:
    """Return the first few of a text's lines, given with the columns to show."""
    first = sorted(lines.items())[:MAX_LINES_SHOWN]
    plain = text.split("\n", first[-1][0]) if first else []
    return [Line(number, _excerpt(plain[number - 1], column)) for number, column in first]


def _excerpt(line: str, position: int) -> str:
    """Return the line, cut around ``position`` if it is long. Folding may shift positions a little; the cut is roomy."""
    if len(line) <= _MAX_LINE_CHARACTERS:
        return line.strip()
    start = max(0, min(position - _MAX_LINE_CHARACTERS // 3, len(line) - _MAX_LINE_CHARACTERS))
    end = start + _MAX_LINE_CHARACTERS
    return ("…" if start else "") + line[start:end].strip() + ("…" if end < len(line) else "")


class KnownLines:
    """Finds the lines of notes known to match, in a third of the time; for words and phrases in whatever case."""

    def __init__(self, needles: Sequence[Needle]) -> None:
        self._needles = needles
        self._letters = frozenset("".join(needle.forms[BARE] for needle in needles))

    @classmethod
    def of(cls, part: Expression, needles: dict[Expression, AnyNeedle]) -> KnownLines | None:
        """Return what finds the lines for this expression; None for one that asks for more than words."""
        found = _needles(part, needles)
        return None if found is None else cls(found)

    def find(self, data: bytes) -> tuple[int, list[Line]] | None:
        """Return how many lines of a note's bytes hold one of the words, and the first few; None if that takes the text."""
        if data.startswith(b"\xef\xbb\xbf"):
            data = data[3:]
        if b"\r" in data:
            if b"\r\r\n" in data:
                return None
            data = data.replace(b"\r\n", b"\n")
        whole = _nearly_bare(data, self._letters)
        if whole is None:
            return None
        lines = columns_in(whole, self._needles[0], BARE) if self._needles else {}
        for needle in self._needles[1:]:
            add_lines(0, columns_in(whole, needle, BARE), lines)
        first = sorted(lines.items())[:MAX_LINES_SHOWN]
        plain = data.split(b"\n", first[-1][0] + 1) if first else []
        return len(lines), [Line(index + 1, _excerpt(plain[index].decode(), column)) for index, column in first]


def _needles(part: Expression, needles: dict[Expression, AnyNeedle]) -> list[Needle] | None:
    """Return what stands on the lines to show; None if there is more to them than words in their bare form."""
    if isinstance(part, Text):
        needle = needles[part]
        return [needle] if isinstance(needle, Needle) and needle.form(BARE) == BARE else None
    if isinstance(part, (And, Or)):
        found: list[Needle] = []
        for inner in part.parts:
            inside = _needles(inner, needles)
            if inside is None:
                return None
            found += inside
        return found
    if isinstance(part, (Not, Property)):
        return []
    if isinstance(part, Within):
        if part.operator == "content":
            return _needles(part.part, needles)
        return [] if part.operator in ("file", "path", "tag") else None
    return None


def _nearly_bare(data: bytes, wanted: frozenset[str]) -> str | None:
    """Return UTF-8 bare but for letters that are none of those ``wanted``; None for what takes the long way.

    Half as long as the bare form takes. In both the same is found in the same places, if it is made of these letters.
    """
    try:
        text = data.lower().decode()  # bytes.lower changes ASCII alone
        if len(text) == len(data):
            return text
        letters = data.translate(None, ASCII_BYTES).decode()
        if len(letters) > _MANY_LETTERS:
            letters = _cjk().sub("", letters)
        for character in set(letters):
            base = BASES[character]
            if base is None:
                return None
            # Of some CJK characters the one form makes words with what stands beside it, and the other does not.
            if base != character and (len(base) != 1 or base in wanted or max(base, character) > "\uffff"):
                text = text.replace(character, base)
    except UnicodeDecodeError:
        return None
    return text


@cache
def _cjk() -> re.Pattern[str]:
    """Return what finds characters that are bare as they are, whatever stands beside them.

    A CJK text has hundreds of kinds, and looking each up takes ten times as long. Compiling this takes 2 ms, for whoever
    has such texts.
    """
    return re.compile("[\u3001-\u3029\u3030-\u3098\u309b-\u30ff\u3400-\u9fff]+")
