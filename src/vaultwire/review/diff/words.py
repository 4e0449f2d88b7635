"""Which words of two lines differ, and which lines of a hunk belong together: bounded work for any text."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

import regex  # type: ignore[import-untyped]

from vaultwire.markdown.diffs import Difference, common_ends, differences
from vaultwire.markdown.inline import read_inline
from vaultwire.markdown.patterns import DELIMITER_ROW, compile_pattern
from vaultwire.markdown.properties import parse_frontmatter

# ---------------------------------------------------------------------- tokens
#
# Words, numbers, spaces, punctuation; links, addresses and tags as one.
#
# Scripts that put no spaces between words are compared by character.

# A word holds its accents and vowel signs, and an apostrophe between letters; a number its separators (dates, times).
_TOKEN = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*+"
    r"|\p{N}++(?:[.,:/\-]\p{N}++)*+[\p{L}\p{M}]*+"
    r"|[\p{L}_][\p{L}\p{N}\p{M}_]*+(?:['’]\p{L}[\p{L}\p{M}]*+)*+"  # noqa: RUF001 - the typographic apostrophe
    r"|[ ]++|\t++|\X"
)
# An address ends before the punctuation of the sentence. A tag: see ``markdown.inline``.
_WHOLE = regex.compile(
    r"https?://[^\s<>\"|\[\]]*(?<![.,;:!?)'])"
    r"|(?<![^\s>|*_(\[])#[^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]++"
)
_KEY = regex.compile(r"[^\s\-#:][^:]*+:(?=\s|\Z)")
_WORD = regex.compile(r"[\p{L}\p{N}]")


def tokens_of(line: str, kind: LineKind) -> list[str]:
    """Return the tokens of a line, which joined are the line again. In code nothing is a link."""
    if kind == "code":
        return list(_TOKEN.findall(line))
    tokens: list[str] = []
    position = 0
    for start, end in _units(line, kind):
        if start >= position:
            tokens += _TOKEN.findall(line, position, start)
            tokens.append(line[start:end])
            position = end
    tokens += _TOKEN.findall(line, position)
    return tokens


def is_word(token: str) -> bool:
    """Tell whether a token has a letter or a digit."""
    return _WORD.search(token) is not None


def _units(line: str, kind: LineKind) -> list[tuple[int, int]]:
    """Return the spans of a line that are one token each, in order; those within another one come behind it."""
    spans: list[tuple[int, int]] = []
    if kind == "properties" and (key := _KEY.match(line)):
        spans.append(key.span())
    if "[[" in line or "](" in line:
        for link in read_inline(line)[1]:
            if link.is_markdown:  # the text by words, the target as one
                spans.append((link.shown_end, link.end))
                continue
            start = link.start - link.is_embed
            bar = line.find("|", link.target, link.target_end)
            spans.append((start, link.end) if bar < 0 else (start, bar + 1))
    if "://" in line or "#" in line:
        spans += [found.span() for found in _WHOLE.finditer(line)]
    return sorted(spans)


# Steps of comparing words on one page, each about 1 µs; then lines are shown as wholes. A pair of lines may take a part.
PAGE_STEPS = 600_000
_PAIR_STEPS = 20_000
# Lines that share this much of their words are one line that was changed; a lone pair of lines may share less.
_LEAST_ALIKE = 0.4
_LEAST_ALIKE_ALONE = 0.25
# Words that begin and end alike, such as a typo that was corrected.
_LEAST_ENDS = 0.6
_MOST_ENDS = 80
_BEFORE_TEXT = re.compile(r"[\s>]*(?:[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s)?\s*(?:\[.\])?\s*")


class Segment(NamedTuple):
    """A part of a line: ``=`` is in both lines, ``-`` only in the old one, ``+`` only in the new one."""

    op: str
    text: str


class Steps:
    """The steps that are left for comparing words on one page."""

    def __init__(self, left: int = PAGE_STEPS) -> None:
        self.left = left
        self.taken = 0

    def take(self, count: int) -> None:
        """Count steps that were taken."""
        self.left -= count
        self.taken += count


def compared(old: list[str], new: list[str], steps: Steps) -> tuple[list[Segment], list[Segment]]:
    """Return the segments of an old and a new line by their tokens."""
    most = min(_PAIR_STEPS, steps.left)
    head, tail = common_ends(old, new)
    short = len(old) - head - tail, len(new) - head - tail
    if most <= 0 or sum(short) > most:
        changed = [Difference(head, len(old) - tail, head, len(new) - tail)] if any(short) else []
        steps.take(head + tail)
    else:
        changed = differences(old, new, most)
        edits = sum(each.end - each.start + each.new_end - each.new_start for each in changed)
        steps.take(len(old) + len(new) + min(most, edits * edits // 2))
    return _segments(old, new, _readable(old, changed))


def _segments(old: list[str], new: list[str], edits: list[Difference]) -> tuple[list[Segment], list[Segment]]:
    old_segments: list[Segment] = []
    new_segments: list[Segment] = []
    position = 0
    for edit in [*edits, Difference(len(old), len(old), len(new), len(new))]:
        if same := "".join(old[position : edit.start]):
            old_segments.append(Segment("=", same))
            new_segments.append(Segment("=", same))
        if removed := "".join(old[edit.start : edit.end]):
            old_segments.append(Segment("-", removed))
        if added := "".join(new[edit.new_start : edit.new_end]):
            new_segments.append(Segment("+", added))
        position = edit.end
    return old_segments, new_segments


def _readable(old: list[str], edits: list[Difference]) -> list[Difference]:
    """Return differences in which those are one that have little between them: a space, or a short word of long ones."""
    joined: list[Difference] = []
    for edit in edits:
        if joined:
            last = joined[-1]
            between = old[last.end : edit.start]
            size = sum(map(len, between))
            is_mark = size <= 3 and not any(map(is_word, between))  # noqa: PLR2004 - such as ", " or "** "
            if is_mark or 2 * size <= min(_size(old, last), _size(old, edit)):
                joined[-1] = Difference(last.start, edit.end, last.new_start, edit.new_end)
                continue
        joined.append(edit)
    return joined


def _size(old: list[str], place: Difference) -> int:
    """Return about how many characters a difference has: a token that was added counts as a usual word."""
    return max(sum(map(len, old[place.start : place.end])), 3 * (place.new_end - place.new_start))


# ------------------------------------------------------------------ pairing


class Line(NamedTuple):
    """A line that may be paired, and its words; None for one that has its pair elsewhere."""

    text: str
    words: frozenset[str] | None


def paired(old: list[Line], new: list[Line]) -> list[tuple[int, int]]:
    """Return which lines of two short lists are the same line before and after: pairs of indexes, in order.

    The pairs are those with the most words in common.
    """
    least = _LEAST_ALIKE_ALONE if len(old) == len(new) == 1 else _LEAST_ALIKE
    alike = [[likeness if (likeness := _likeness(one, other)) >= least else 0.0 for other in new] for one in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        below, row, own = best[i + 1], best[i], alike[i]
        for j in range(len(new) - 1, -1, -1):
            row[j] = max(below[j], row[j + 1], own[j] and own[j] + below[j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if alike[i][j] and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(old: Line, new: Line) -> float:
    """Return how much two lines have in common, from 0 to 1."""
    if old.words is None or new.words is None:
        return 0.0
    if not old.words or not new.words:
        if old.words or new.words:
            return 0.0
        return 1.0 if old.text.split() == new.text.split() else 0.0  # without words, only spaces may differ
    shared = 2 * len(old.words & new.words) / (len(old.words) + len(new.words))
    if shared or len(old.text) > _MOST_ENDS or len(new.text) > _MOST_ENDS:
        return shared
    one, other = _bare(old.text), _bare(new.text)
    head, tail = common_ends(one, other)
    ends = (head + tail) / max(len(one), len(other), 1)
    return ends if ends >= _LEAST_ENDS else 0.0


def _bare(line: str) -> str:
    return line[_BEFORE_TEXT.match(line).end() :]  # type: ignore[union-attr] # matches anything


# ---------------------------------------------------------------------- kinds of lines
#
# A quick look at the lines, not the parser of ``markdown``: 60,000 lines take 30 ms. It decides only how a line is shown.

LineKind: TypeAlias = Literal["text", "properties", "table", "code"]

_MARKERS = r"[ \t]*+(?:>[ \t]?+)*+[ \t]*+"
_ITEM = compile_pattern(rf"({_MARKERS})([-*+]|[0-9]{{1,9}}[.)])(?:[ \t]++(?:\[(.)\](?=[ \t]|\Z))?|\Z)")
_FENCE = compile_pattern(
    rf"{_MARKERS}(?:(?:[-*+]|[0-9]{{1,9}}[.)])[ \t]++)?(`{{3,}}(?=[^`]*\Z)|~{{3,}}|\$\$(?!.*\$\$))"
)
_HEADING = compile_pattern(r" {0,3}(#{1,6})(?=[ \t]|\Z)")


class Item(NamedTuple):
    """A list item: what stands before its marker, the marker, the mark in its box (None: no task) and the text's offset."""

    indent: str
    marker: str
    mark: str | None
    text: int


def kinds_of(text: str, lines: list[str]) -> list[LineKind]:
    """Return the kind of each line of a note."""
    top = parse_frontmatter(text).end
    above = text.count("\n", 0, top) + (top > 0 and not text.endswith("\n", 0, top))
    kinds: list[LineKind] = ["properties"] * above
    fence = ""
    in_table = False
    for place in range(above, len(lines)):
        line = lines[place]
        if fence:
            kinds.append("code")
            if fence in line and _closes(line, fence):
                fence = ""
            continue
        if ("```" in line or "~~~" in line or "$$" in line) and (opening := _FENCE.match(line)):
            fence, in_table = opening[1], False
            kinds.append("code")
            continue
        if "|" not in line:
            in_table = False
        elif not in_table:
            below = lines[place + 1] if place + 1 < len(lines) else ""
            in_table = "-" in below and "|" in below and DELIMITER_ROW.match(below.lstrip(" \t>")) is not None
        kinds.append("table" if in_table else "text")
    return kinds


def _closes(line: str, fence: str) -> bool:
    text = line.strip(" \t>")
    if fence[0] == "$":
        return text.endswith(fence)
    return len(text) >= len(fence) and not text.strip(fence[0])


def item_of(line: str) -> Item | None:
    """Return the list item that begins on a line; None if none does."""
    item = _ITEM.match(line)
    if item is None:
        return None
    return Item(item[1], item[2], item[3], item.end())


def heading_level(line: str) -> int:
    """Return the level of the heading on a line, 0 if there is none."""
    marks = _HEADING.match(line)
    return len(marks[1]) if marks else 0


_CELL = compile_pattern(r"(?:[^|\\]++|\\.|\\\Z)*+", re.DOTALL)


def cells_of(line: str) -> list[tuple[int, int]]:
    """Return where each cell of a table's row begins and ends, without the spaces around its text.

    A bar behind a backslash ends no cell.
    """
    found: list[tuple[int, int]] = []
    position, end = 0, len(line.rstrip())
    while position <= end:
        cell_end = _CELL.match(line, position, end).end()  # type: ignore[union-attr] # matches anything
        text = line[position:cell_end]
        is_outside = not text.strip() and (not found or cell_end == end) and (position == 0 or cell_end == end)
        if not is_outside:
            start = position + len(text) - len(text.lstrip())
            found.append((start, max(start, position + len(text.rstrip()))))
        position = cell_end + 1
    return found
