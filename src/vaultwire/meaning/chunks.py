"""Cuts a note into chunks for a model: parts below one heading, with the note's name and the headings above in front. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vaultwire.markdown.parse import parse_note
from vaultwire.vault.disk.paths import stem

MAX_CHARACTERS = 1_000
"""Of a chunk with what is in front. Models take about 500 tokens, and a longer text says less of each thing in it."""
MAX_CHUNKS = 500
"""Of one note: half a megabyte of text. What follows is found by words only."""
_MAX_HEAD = 200
# Parts below neighbouring headings share a chunk while they are as short as this: a model can make nothing of five words.
_SHORT = 350


class Chunk(NamedTuple):
    """A text for a model, and the lines of the note that it has, from 1."""

    text: str
    first: int
    last: int


class _Part(NamedTuple):
    """Lines below one heading, and the headings above them."""

    headings: tuple[str, ...]
    first: int
    lines: list[str]


def chunks_of(path: str, text: str) -> list[Chunk]:
    """Return the chunks of a note, in the order of its lines; at least one, and ``MAX_CHUNKS`` at most.

    A note without text has a chunk with its name alone. Properties are in no chunk, but aliases stand beside the name.
    """
    note = parse_note(text)
    aliases = [alias for alias in note.frontmatter.texts("aliases") if alias]
    name = " · ".join([stem(path), *aliases])
    lines = text.split("\n")
    chunks: list[Chunk] = []
    headings = [(each.line, each.level, each.text) for each in note.headings]
    for part in _packed(_parts(headings, lines, text.count("\n", 0, note.frontmatter.end))):
        head = " > ".join([name, *part.headings])[:_MAX_HEAD]
        for first, last, body in _cut(part, MAX_CHARACTERS - len(head) - 1):
            if len(chunks) == MAX_CHUNKS:
                return chunks
            chunks.append(Chunk(f"{head}\n{body}", first, last))
    return chunks or [Chunk(name[:MAX_CHARACTERS], 1, len(lines))]


def _parts(headings: list[tuple[int, int, str]], lines: list[str], start: int) -> Iterator[_Part]:
    """Yield what stands before the first heading and below each. ``start``: the lines of the frontmatter."""
    above: list[tuple[int, str]] = []
    ends = [line - 1 for line, _, _ in headings] + [len(lines)]
    yield _Part((), start + 1, lines[start : ends[0]])
    for (line, level, heading), end in zip(headings, ends[1:], strict=True):
        above = [*((higher, its) for higher, its in above if higher < level), (level, heading)]
        yield _Part(tuple(its for _, its in above), line, lines[line - 1 : end])


def _packed(parts: Iterator[_Part]) -> Iterator[_Part]:
    """Yield the parts, short ones together with those that follow; no empty ones."""
    waiting: _Part | None = None
    for part in parts:
        if waiting is None:
            waiting = part
        elif _size(waiting) < _SHORT and _size(waiting) + _size(part) <= MAX_CHARACTERS - _MAX_HEAD:
            common = [one for one, other in zip(waiting.headings, part.headings, strict=False) if one == other]
            waiting = _Part(tuple(common), waiting.first, [*waiting.lines, *part.lines])
        else:
            yield waiting
            waiting = part
    if waiting is not None:
        yield waiting


def _size(part: _Part) -> int:
    return sum(len(line.strip()) for line in part.lines)


def _cut(part: _Part, most: int) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and text of pieces of at most so many characters; nothing for lines without text."""
    pieces: list[str] = []
    size, first, last = 0, part.first, part.first
    for number, line in enumerate(part.lines, part.first):
        for piece in _cut_line(line.strip(), most):
            if size + len(piece) + 1 > most and pieces:
                yield first, last, "\n".join(pieces)
                pieces, size = [], 0
            first = number if not pieces else first
            last = number
            pieces.append(piece)
            size += len(piece) + 1
    if pieces:
        yield first, last, "\n".join(pieces)


def _cut_line(line: str, most: int) -> Iterator[str]:
    """Yield a line in pieces, cut at spaces where there are some; nothing for an empty one."""
    while len(line) > most:
        end = line.rfind(" ", most // 2, most)
        end = most if end < 0 else end
        yield line[:end]
        line = line[end:].lstrip()
    if line:
        yield line
