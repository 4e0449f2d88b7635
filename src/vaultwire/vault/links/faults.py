"""The faults a file may have, and the checks of a note's own text. Pure.

The index runs these checks, too, so as to know which notes may have faults; all others are in ``checks``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from vaultwire.markdown.parse import property_tag
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.markdown.property_values import one_line
from vaultwire.vault.disk.paths import fold

KINDS: list[str] = []
"""The kinds of faults in notes, canvases and bases. Tools describe them from this list."""

ERRORS: set[str] = set()
"""The kinds that keep Obsidian from showing the file as it was meant. The other kinds are warnings."""


def _kind(name: str, *, is_error: bool = False) -> str:
    """Declare a kind of fault."""
    KINDS.append(name)
    if is_error:
        ERRORS.add(name)
    return name


UNRESOLVED_LINK = _kind("unresolved-link")
UNRESOLVED_EMBED = _kind("unresolved-embed")
MISSING_HEADING = _kind("missing-heading")
MISSING_BLOCK = _kind("missing-block")
BROKEN_FRONTMATTER = _kind("broken-frontmatter", is_error=True)
WRONG_PROPERTY = _kind("wrong-property")
NOT_A_TAG = _kind("not-a-tag")
DUPLICATE_BLOCK = _kind("duplicate-block")
BROKEN_CANVAS = _kind("broken-canvas", is_error=True)
BROKEN_BASE = _kind("broken-base", is_error=True)
BASE_PROBLEM = _kind("base-problem")
EMPTY_VIEW = _kind("empty-view")
CONFLICT_COPY = _kind("conflict-copy")
CONFLICT_MARKS = _kind("conflict-marks", is_error=True)
NOT_CHECKED = _kind("not-looked-into")
UNREADABLE = _kind("unreadable", is_error=True)

UNUSABLE_FILE = "unusable-file"
"""A fault of a file by itself, found by ``disk.inspection``: its name, its bytes, or where it is."""
ERRORS.add(UNUSABLE_FILE)

# Of a property's text in a message: characters, and words of the example.
_MAX_SHOWN, _MAX_WORDS = 200, 5

_BETWEEN_TAGS = re.compile(r"[,\s]+")


class Finding(NamedTuple):
    """A fault. Lines and columns count from 1; ``end`` is the column after its last character.

    Of a link that leads nowhere, ``linktext`` is the link and ``suggestions`` are those that may be meant, best first.
    """

    kind: str
    message: str
    line: int
    column: int = 1
    end: int = 1
    linktext: str = ""
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def is_error(self) -> bool:
        """Whether it is an error, not a warning."""
        return self.kind in ERRORS


class Suggestion(NamedTuple):
    """A link that leads somewhere, in place of one that does not. ``is_sure``: it is what was meant.

    For that nothing else may come near it. Of a file the name may differ in case, signs, accents and one slip (``_is_slip``):
    many links wait for notes that are to be written, and Maria's note is not Marie's, nor a plan the note on plans.
    """

    linktext: str
    is_sure: bool


NoteCheck: TypeAlias = Callable[[ParsedNote], Iterator[Finding]]
NOTE_CHECKS: list[NoteCheck] = []
"""The checks of a note's own text, whatever the vault holds besides."""


def note_check(check: NoteCheck) -> NoteCheck:
    """Declare a check of a note's own text."""
    NOTE_CHECKS.append(check)
    return check


def may_have_faults(parsed: ParsedNote) -> bool:
    """Tell whether a note's own text may have a fault besides its ``problems``."""
    names = parsed.frontmatter.values
    # Of names that differ only in case the index's properties have one, so the types of the others are not known.
    return len({fold(name) for name in names}) < len(names) or any(True for check in NOTE_CHECKS for _ in check(parsed))


@note_check
def _no_tags(parsed: ParsedNote) -> Iterator[Finding]:
    """Yield the texts of the ``tags`` property that look like tags and are none; until Obsidian 1.9.2 they were tags."""
    for name, texts in parsed.frontmatter.written.items():
        if name.casefold() != "tags":
            continue
        for text, line in zip(texts, parsed.frontmatter.lines[name], strict=True):
            if not _BETWEEN_TAGS.search(text.strip()):
                continue
            words = [tag for word in _BETWEEN_TAGS.split(text) if (tag := property_tag(word))]
            if words:
                excerpt = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
                example = one_line(list(words[:_MAX_WORDS]))
                rule = "a tag has no spaces and no commas. For several tags write a list, such as"
                yield Finding(NOT_A_TAG, f"{excerpt!r} is no tag: {rule} {example}", line)


@note_check
def _duplicates(parsed: ParsedNote) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for block in parsed.block_ids:
        key = fold(block.name)
        if key in first:
            message = f"block id ^{block.name} is on line {first[key]} too; links lead there"
            yield Finding(DUPLICATE_BLOCK, message, block.line)
        first.setdefault(key, block.line)


@note_check
def _conflict_marks(parsed: ParsedNote) -> Iterator[Finding]:
    for line in parsed.conflicts:
        message = "a conflict that Git left in the note: two versions between <<<<<<< and >>>>>>>. resolve_conflicts joins them"
        yield Finding(CONFLICT_MARKS, message, line)
