"""The parts of a row: pieces of a line with what happened to each; hidden characters and odd letters as parts of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from vaultwire.review.diff.characters import NONE_SWAPPED, Mark, hidden_in, lookalikes_in
from vaultwire.review.diff.words import Segment

Part = dict[str, Any]
# Of a longer line the middle of long parts is left out: no screen has room for more.
MAX_LINE = 20_000
# Characters that are kept at each end of a part of such a line.
_KEPT = 400


class Marking(NamedTuple):
    """What is marked in a line beside hidden characters: letters of swapped words, spaces at its end, its indentation."""

    swapped: Mapping[str, list[int]] = NONE_SWAPPED
    show_end: bool = False
    show_indent: bool = False


PLAIN = Marking()


def parts_of(line: str, segments: list[Segment], marking: Marking = PLAIN) -> list[Part]:
    """Return the parts of a line: its segments, cut at the marks. The texts of all parts are the line.

    Unusual spaces are marked only where they changed. A part in place of characters that are left out has their count in
    ``left_out``.
    """
    if len(line) > MAX_LINE:
        return list(_long_parts(line, segments))
    marks = marks_of(line, marking)
    parts: list[Part] = []
    start = number = 0
    for op, text in segments:
        end = start + len(text)
        while number < len(marks) and marks[number].start < end:
            mark = marks[number]
            if op == "=" and mark.is_space:
                number += 1
                continue
            if mark.start > start:
                parts.append({"t": line[start : mark.start], "op": op})
                start = mark.start
            stop = min(mark.end, end)
            parts.append({"t": line[start:stop], "op": op, _key(mark): mark.name})
            start = stop
            if mark.end > end:
                break
            number += 1
        if start < end:
            parts.append({"t": line[start:end], "op": op})
        start = end
    return parts


def _long_parts(line: str, segments: list[Segment]) -> Iterator[Part]:
    """Yield the parts of a line that is too long, with the middle of its long segments left out."""
    start = 0
    for op, text in segments:
        end = start + len(text)
        ends = [(start, end)] if len(text) <= 3 * _KEPT else [(start, start + _KEPT), (end - _KEPT, end)]
        for first, last in ends:
            if first != start:
                yield {"t": "…", "op": op, "left_out": first - start}
            start = first
            for mark in hidden_in(line, first, last):
                if op == "=" and mark.is_space:
                    continue
                if mark.start > start:
                    yield {"t": line[start : mark.start], "op": op}
                yield {"t": line[mark.start : mark.end], "op": op, "hidden": mark.name}
                start = mark.end
            if start < last:
                yield {"t": line[start:last], "op": op}
            start = last


def _key(mark: Mark) -> str:
    return "lookalike" if mark.kind == "lookalike" else "hidden"


def marks_of(line: str, marking: Marking = PLAIN) -> list[Mark]:
    """Return what is marked in a line, in order and not overlapping."""
    marks: list[Mark] = []
    body = 0
    if marking.show_indent and line[:1] in (" ", "\t"):
        body = len(line) - len(line.lstrip(" \t"))
        marks.append(Mark(0, body, "space", blanks(line[:body])))
    marks += hidden_in(line, body)
    if marking.swapped or not line.isascii():
        marks += lookalikes_in(line, marking.swapped)
        marks.sort()
    end = len(line.rstrip(" \t"))
    if marking.show_end and max(end, body) < len(line):
        end = max(end, body)
        marks.append(Mark(end, len(line), "space", f"{blanks(line[end:])} at the end"))
    return marks


def blanks(text: str) -> str:
    """Return how many tabs and spaces a text has, in words."""
    counts = ((text.count("\t"), "tab"), (text.count(" "), "space"))
    return " and ".join(counted(count, name) for count, name in counts if count)


def counted(count: int, name: str) -> str:
    """Return a count and a name, with an s for more than one."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def merged(old: list[Part], new: list[Part]) -> list[Part]:
    """Return the parts of an old and a new text as one list: what was removed, what was added, and once what is in both."""
    result: list[Part] = []
    position = ahead = (
        0  # in ``new``; characters of equal parts that were taken from ``old`` and not yet passed in ``new``
    )
    for part in old:
        if part["op"] == "=":
            position, ahead = _pass_equal(new, position, ahead, result)
            ahead += part.get("left_out", len(part["t"]))
        result.append(part)
    position, _ = _pass_equal(new, position, ahead, result)
    return result


def _pass_equal(new: list[Part], position: int, ahead: int, result: list[Part]) -> tuple[int, int]:
    """Pass the equal parts of ``new`` that ``result`` has already, then take its added ones."""
    while position < len(new):
        part = new[position]
        if part["op"] == "=":
            if ahead <= 0:
                break
            ahead -= part.get("left_out", len(part["t"]))
        else:
            result.append(part)
        position += 1
    return position, ahead
