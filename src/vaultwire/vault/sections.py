"""Which lines of a note a subpath or a range of lines means. Pure: a note's structure in, a span out."""

from __future__ import annotations

import re

from vaultwire.markdown.blocks import block_of_id
from vaultwire.markdown.model import BlockId, Heading, Span
from vaultwire.vault.errors import INVALID_ARGUMENTS, SECTION_NOT_FOUND, VaultError
from vaultwire.vault.model import OutlineEntry, Structure, VaultPath
from vaultwire.vault.paths import fold

_RANGE = re.compile(r"(\d{1,9})(?:(-)(\d{1,9})?)?")
# What Obsidian takes for a blank when it compares headings (obsidian.d.ts stripHeading).
_SPECIAL = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+")
# More headings than this help nobody choose.
_MAX_NAMED = 30


def section_span(note: Structure, subpath: str, text: str = "") -> Span:
    """Return the lines of a section (``Heading``, ``Heading#Sub``) or block (``^id``), the heading itself included.

    Of several that match, the first is meant. With the note's ``text`` a list item comes with the items nested in it, as
    Obsidian embeds it, and an id behind a list means the list. Raises VaultError (SECTION_NOT_FOUND).
    """
    wanted = subpath.strip().removeprefix("#")
    if not wanted.startswith("^"):
        found = sections(note, subpath)[0]
        return Span(found.line, found.last_line)
    number = block_ids(note, wanted)[0].line
    if text:
        return block_of_id(text.split("\n"), note.parsed.blocks, number).whole
    around = [span for span in note.parsed.blocks if span.first <= number <= span.last]
    return around[-1] if around else Span(number, number)


def sections(note: Structure, subpath: str) -> list[OutlineEntry]:
    """Return all headings that ``Heading`` or ``Heading#Sub`` fits, in the note's order; at least one.

    Headings are compared as Obsidian compares them: without case, punctuation as blanks. In a chain each is sought below
    the one before. A heading that has a ``#`` in its text may be written as it is. Raises VaultError (SECTION_NOT_FOUND).
    """
    chain = [key for part in subpath.split("#") if (key := _comparable(part))] or [""]
    for keys in (chain, [_comparable(subpath)]):
        found = [OutlineEntry(0, "", 0, note.lines)]
        for key in keys:
            found = _below(note.outline, found, key)
        if found:
            return found
    raise VaultError(
        SECTION_NOT_FOUND,
        f"{note.path} has no section {subpath!r}. {_named(note.parsed.headings)}",
        path=note.path,
    )


def _below(outline: list[OutlineEntry], above: list[OutlineEntry], key: str) -> list[OutlineEntry]:
    """Return the headings of that text that lie in a section of one of those ``above``, which are in order."""
    found: list[OutlineEntry] = []
    position = reach = 0
    for entry in outline:
        while position < len(above) and above[position].line < entry.line:
            reach = max(reach, above[position].last_line)
            position += 1
        if entry.line <= reach and _comparable(entry.text) == key:
            found.append(entry)
    return found


def block_ids(note: Structure, subpath: str) -> list[BlockId]:
    """Return all block ids that ``^id`` names, whatever their case; at least one. Raises VaultError (SECTION_NOT_FOUND)."""
    name = subpath.strip().removeprefix("#").removeprefix("^")
    found = [block_id for block_id in note.parsed.block_ids if fold(block_id.name) == fold(name)]
    if not found:
        there = ", ".join("^" + block_id.name for block_id in note.parsed.block_ids[:_MAX_NAMED])
        hint = f"Its blocks are: {there}." if there else "It has no block ids."
        raise VaultError(SECTION_NOT_FOUND, f"{note.path} has no block '^{name}'. {hint}", path=note.path)
    return found


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
