"""The sections and blocks of a note: which lines a subpath or a range of lines means. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

from vaultwire.markdown.block_tree import BlockTree
from vaultwire.markdown.diffs import nearest
from vaultwire.markdown.edits import clipped
from vaultwire.markdown.offsets import end_of_reading
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import BlockId, Heading, Span
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import INVALID_ARGUMENTS, SECTION_NOT_FOUND, VaultError
from vaultwire.vault.value_types import OutlineEntry, Structure, VaultPath

_RANGE = re.compile(r"(\d{1,9})(?:(-)(\d{1,9})?)?")
# The characters that Obsidian reads as a space when it compares headings (obsidian.d.ts stripHeading).
_SPECIAL = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+")
# A longer list of headings in a message does not help a person choose.
_MAX_NAMED = 30
_MAX_NEAR = 3
# Beside near ones a longer list only hides them.
_MAX_BESIDE_NEAR = 10
_MAX_LEVELS = 6
# A subpath of more parts leads nowhere: rewriting it would try each of its parts.
_MAX_PARTS = 100
# Characters of the subpath in a message.
_MAX_SHOWN = 200


def parse_structure(path: VaultPath, text: str) -> Structure:
    """Parse a note's text: its parts, its headings and how far their sections reach."""
    parsed = parse_note(text)
    lines = line_count(text)
    # Beyond a bound a note is not parsed. There may be headings, so no section continues there.
    end = end_of_reading(text, parsed.frontmatter.end)
    last = lines if end == len(text) else text.count("\n", 0, end)
    return Structure(path, parsed, _outline(parsed.headings, last), lines)


def _outline(headings: list[Heading], last: int) -> list[OutlineEntry]:
    outline: list[OutlineEntry] = []
    nearest = [last + 1] * 7  # by level: the line of the next heading of that level
    for heading in reversed(headings):
        last_line = min(nearest[: heading.level + 1]) - 1
        outline.append(OutlineEntry(heading.level, heading.text, heading.line, last_line, heading.more))
        nearest[heading.level] = heading.line
    return outline[::-1]


def parts_of(path: VaultPath, headings: list[tuple[int, str]], block_ids: list[str]) -> Sections:
    """Return the sections of a note of which only its headings, each with its level, and its block ids are known.

    It tells what is there. The lines are not the note's own: the headings have the first ones, in their order.
    """
    entries = [Heading(level, text, line) for line, (level, text) in enumerate(headings, 1)]
    ids = [BlockId(name, len(entries) + 1) for name in block_ids]
    parsed = parse_note("")._replace(headings=entries, block_ids=ids)
    return Sections(Structure(path, parsed, _outline(entries, len(entries)), len(entries) + 1))


class Sections:
    """The headings and block ids of one note, to look up subpaths: made once for any number of links.

    A lookup takes no longer in a note with more headings.
    """

    def __init__(self, note: Structure, *, suggests: bool = False) -> None:
        """With ``suggests`` an error names near headings and blocks, which takes some milliseconds: for a caller's own text."""
        self._note = note
        self._suggests = suggests
        self._headings: dict[str, list[OutlineEntry]] = {}  # by their compared text, in the note's order
        for entry in note.outline:
            self._headings.setdefault(_comparable(entry.text), []).append(entry)
        self._block_ids: dict[str, list[BlockId]] = {}
        for block_id in note.parsed.block_ids:
            self._block_ids.setdefault(fold(block_id.name), []).append(block_id)
        self._chains: dict[tuple[str, ...], _Found] = {}

    def span(self, subpath: str, text: str = "") -> Span:
        """Return the lines of a section (``Heading``, ``Heading#Sub``), with its heading, or of a block (``^id``).

        Of several that match, the first is meant. Given the note's ``text``, a block is what ``block_edits`` says: a list item
        includes the items nested in it, as Obsidian embeds it, and an id after a list means the list. Raises VaultError
        (SECTION_NOT_FOUND).
        """
        name = subpath.strip().removeprefix("#")
        if not name.startswith("^"):
            heading = self.headings(subpath)[0]
            return Span(heading.line, heading.last_line)
        number = self.block_ids(name)[0].line
        blocks = self._note.parsed.blocks
        if text:
            return BlockTree(text).named(number).whole
        position = bisect_right(blocks, number, key=lambda span: span.first) - 1
        around = blocks[position] if position >= 0 else None
        return around if around is not None and number <= around.last else Span(number, number)

    def headings(self, subpath: str) -> list[OutlineEntry]:
        """Return all headings that ``Heading`` or ``Heading#Sub`` means, in the note's order; at least one.

        Headings are compared as Obsidian compares them: without case, punctuation as spaces. Each heading of a chain must lie
        below the one before. A heading with a ``#`` in its text may be written as it is. Raises VaultError
        (SECTION_NOT_FOUND).
        """
        headings: list[OutlineEntry] = []
        if subpath.count("#") <= _MAX_PARTS:
            chain = tuple(key for part in subpath.split("#") if (key := _comparable(part)))
            # Each heading of a chain has a deeper level than the one before, and there are six levels.
            headings = self._chain(chain or ("",)).entries if len(chain) <= _MAX_LEVELS else []
            headings = headings or self._headings.get(_comparable(subpath), [])
        if headings:
            return headings
        sought = subpath.rpartition("#")[2] if self._suggests else ""
        raise VaultError(
            SECTION_NOT_FOUND,
            f"{self._note.path} has no section {clipped(subpath, _MAX_SHOWN)!r}. {_named(self._note.parsed.headings, sought)}",
            path=self._note.path,
        )

    def has(self, subpath: str) -> bool:
        """Tell whether the note has the section or block; an empty subpath means the note itself."""
        if not subpath.strip():
            return True
        try:
            self.span(subpath)
        except VaultError:
            return False
        return True

    def heading_texts(self) -> list[str]:
        """Return the texts of all headings, in the note's order."""
        return [entry.text for entry in self._note.outline]

    def block_ids(self, subpath: str) -> list[BlockId]:
        """Return all block ids that ``^id`` names, in any case; at least one. Raises VaultError (SECTION_NOT_FOUND)."""
        name = subpath.strip().removeprefix("#").removeprefix("^")
        found = self._block_ids.get(fold(name))
        if found:
            return found
        blocks = self._note.parsed.block_ids
        near = nearest(name, (each.name for each in blocks), _MAX_NEAR) if self._suggests else []
        hint = _hint(
            "blocks",
            [f"^{each.name}" for each in blocks[:_MAX_NAMED]],
            len(blocks),
            [f"^{blocks[at].name}" for at in near],
        )
        raise VaultError(
            SECTION_NOT_FOUND,
            f"{self._note.path} has no block '^{clipped(name, _MAX_SHOWN)}'. {hint}",
            path=self._note.path,
        )

    def _chain(self, keys: tuple[str, ...]) -> _Found:
        """Return the headings that a chain means."""
        chain = self._chains.get(keys)
        if chain is None:
            entries = self._headings.get(keys[-1], [])
            if entries and len(keys) > 1:
                entries = self._chain(keys[:-1]).those_below(entries)
            chain = self._chains[keys] = _Found(entries)
        return chain


class _Found:
    """Headings in the note's order; for each, the last line of its section and of the sections before it."""

    def __init__(self, entries: list[OutlineEntry]) -> None:
        self.entries = entries
        self._reach = list(accumulate((entry.last_line for entry in entries), max))

    def those_below(self, others: list[OutlineEntry]) -> list[OutlineEntry]:
        """Return the other headings that lie in a section of one of these. It takes as many steps as the shorter list has."""
        if len(others) <= len(self.entries):
            return [other for other in others if other.line <= self._reach_before(other.line)]
        below: list[OutlineEntry] = []
        position = 0
        for entry in self.entries:
            position = max(position, bisect_right(others, entry.line, key=_line))
            end = max(position, bisect_right(others, entry.last_line, key=_line))
            below += others[position:end]
            position = end
        return below

    def _reach_before(self, line: int) -> int:
        position = bisect_left(self.entries, line, key=_line)
        return self._reach[position - 1] if position else 0


def _line(entry: OutlineEntry) -> int:
    return entry.line


def section_span(note: Structure, subpath: str, text: str = "") -> Span:
    """Return ``Sections.span``, for a single lookup."""
    return Sections(note, suggests=True).span(subpath, text)


def line_count(text: str) -> int:
    """Return how many lines a text has; a line break at its end begins no new line."""
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


def _named(headings: list[Heading], sought: str) -> str:
    near = nearest(sought, (each.text for each in headings), _MAX_NEAR) if sought else []
    first = [repr(each.text) for each in headings[:_MAX_NAMED]]
    return _hint("headings", first, len(headings), [repr(headings[position].text) for position in near])


def _hint(what: str, first: list[str], count: int, near: list[str]) -> str:
    """Return which headings or blocks there are, for an error: the near ones, and the first of all unless they are many."""
    if not count:
        return f"It has no {'block ids' if what == 'blocks' else what}."
    hint = f"Did you mean {' or '.join(dict.fromkeys(near))}? " if near else ""
    if near and count > _MAX_BESIDE_NEAR:
        return f"{hint}It has {count} {what}."
    more = f" and {count - len(first)} more" if count > len(first) else ""
    return f"{hint}Its {what} are: {', '.join(first)}{more}."
