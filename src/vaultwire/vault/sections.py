"""Which lines of a note a subpath or a range of lines means. Pure: a note's structure in, a span out."""

from __future__ import annotations

import re

from vaultwire.markdown.model import Heading, Span
from vaultwire.vault.errors import INVALID_ARGUMENTS, SECTION_NOT_FOUND, VaultError
from vaultwire.vault.model import Structure, VaultPath
from vaultwire.vault.paths import fold

_RANGE = re.compile(r"(\d{1,9})(?:(-)(\d{1,9})?)?")
# What Obsidian takes for a blank when it compares headings (obsidian.d.ts stripHeading).
_SPECIAL = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+")
# More headings than this help nobody choose.
_MAX_NAMED = 30


def section_span(note: Structure, subpath: str) -> Span:
    """Return the lines of a section (``Heading``, ``Heading#Sub``) or block (``^id``), the heading itself included.

    Headings are compared as Obsidian compares them: without case, punctuation as blanks. In a chain each is sought below
    the one before; of several that match, the first is meant. Raises VaultError (SECTION_NOT_FOUND).
    """
    wanted = subpath.strip().removeprefix("#")
    if wanted.startswith("^"):
        return _block_span(note, wanted[1:])
    span = Span(1, note.lines)
    for part in wanted.split("#"):
        key = _comparable(part)
        found = next(
            (
                entry
                for entry in note.outline
                if span.first <= entry.line <= span.last and _comparable(entry.text) == key
            ),
            None,
        )
        if found is None:
            raise VaultError(
                SECTION_NOT_FOUND,
                f"{note.path} has no section {subpath!r}. {_named(note.parsed.headings)}",
                path=note.path,
            )
        span = Span(found.line, found.last_line)
    return span


def _block_span(note: Structure, name: str) -> Span:
    for block_id in note.parsed.block_ids:
        if fold(block_id.name) == fold(name):
            around = [span for span in note.parsed.blocks if span.first <= block_id.line <= span.last]
            # An id on a line of its own belongs to the block before it.
            before = [span for span in note.parsed.blocks if span.last < block_id.line]
            span = around[-1] if around else before[-1] if before else Span(block_id.line, block_id.line)
            return Span(span.first, max(span.last, block_id.line))
    there = ", ".join("^" + block_id.name for block_id in note.parsed.block_ids[:_MAX_NAMED])
    hint = f"Its blocks are: {there}." if there else "It has no block ids."
    raise VaultError(SECTION_NOT_FOUND, f"{note.path} has no block '^{name}'. {hint}", path=note.path)


def line_count(text: str) -> int:
    """Return how many lines a text has; a line end at its end begins no further one."""
    return text.removesuffix("\n").count("\n") + 1


def line_span(path: VaultPath, total: int, lines: str) -> Span:
    """Return the span of ``10-20``, ``10-`` (to the end) or ``10`` in a note of ``total`` lines. Raises VaultError."""
    match = _RANGE.fullmatch(lines.strip())
    if match is None:
        raise VaultError(
            INVALID_ARGUMENTS, f"lines: expected such as '10-20', '10-' or '10', got {lines!r}.", argument="lines"
        )
    first = int(match[1])
    last = int(match[3]) if match[3] else total if match[2] else first
    if not 1 <= first <= min(last, total):
        raise VaultError(INVALID_ARGUMENTS, f"lines: {path} has lines 1 to {total}, got {lines!r}.", argument="lines")
    return Span(first, min(last, total))


def _comparable(heading: str) -> str:
    return fold(_SPECIAL.sub(" ", heading).strip())


def _named(headings: list[Heading]) -> str:
    if not headings:
        return "It has no headings."
    shown = ", ".join(repr(heading.text) for heading in headings[:_MAX_NAMED])
    more = f" and {len(headings) - _MAX_NAMED} more" if len(headings) > _MAX_NAMED else ""
    return f"Its headings are: {shown}{more}."
