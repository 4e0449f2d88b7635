"""How much of a note is looked into: bounds that no note written by a person reaches, and that every part is held to.

A text of 10 MB can hold five million links, or one tag with five million levels. What is kept of a note costs memory for
each of its parts, so the parts are counted first, at the speed of ``str.count``, and the note is read only so far. All of
its text is still searched and shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

MOST_MARKS = 200_000
"""Marks that begin a link, a tag, a heading, a task or a block id. The largest note known has 20,000."""

MOST_LINES = 1_000_000

MOST_PROPERTIES = 500_000
"""Characters of frontmatter, or of a base, which are YAML: reading them takes a second at most, editing them two."""

MOST_LEVELS = 50
"""Levels of one tag. What lies deeper is left out of its name, as is what goes beyond ``_MOST_TAG``."""

MOST_ABOVE = 20_000
"""Tags above the tags of one note, counted with those that are told again."""

_MOST_TAG = 500  # characters
_MARKS = "#[^"
# Text is counted in pieces of this size.
_PIECE = 1 << 16


def end_of_reading(text: str, start: int = 0) -> int:
    """Return the offset up to which a note is looked into, from ``start`` on: the end of a line, nearly always the last."""
    if len(text) - start <= MOST_MARKS:
        return len(text)
    lines = marks = 0
    for position in range(start, len(text), _PIECE):
        end = min(position + _PIECE, len(text))
        lines += text.count("\n", position, end)
        marks += sum(text.count(mark, position, end) for mark in _MARKS)
        if lines > MOST_LINES or marks > MOST_MARKS:
            # Whole lines only: half a line may say something else.
            return text.rfind("\n", start, position) + 1 or start
    return len(text)


def unread_problem(text: str, end: int) -> str:
    """Return what is said of a note that is looked into up to ``end`` only."""
    return (
        f"line {text.count(chr(10), 0, end) + 1}: from here on links, tags, headings and tasks are not known: a note is "
        f"looked into up to {MOST_MARKS:,} of the characters # [ ^ and {MOST_LINES:,} lines"
    )


def bounded_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags, each once whatever its case, those that are too long or too deep cut to their first levels."""
    found = list(tags)
    # So short a tag has no more levels than it may.
    if all(len(tag) < 2 * MOST_LEVELS for tag in found):
        return found
    by_name: dict[str, str] = {}
    for tag in found:
        bounded = _bounded(tag)
        by_name.setdefault(bounded.casefold(), bounded)
    return list(by_name.values())


def _bounded(tag: str) -> str:
    if len(tag) > _MOST_TAG:
        kept, slash, _ = tag[: _MOST_TAG + 1].rpartition("/")
        tag = kept if slash else tag[:_MOST_TAG]
    return tag if tag.count("/") < MOST_LEVELS else "/".join(tag.split("/")[:MOST_LEVELS])


def tags_and_above(tags: Iterable[str]) -> Iterator[str]:
    """Yield each tag behind those it lies below: ``a`` and ``a/b`` for ``a/b``. Past ``MOST_ABOVE`` only the tags."""
    left = MOST_ABOVE
    for tag in tags:
        slash = tag.find("/") if left > 0 else -1
        while slash >= 0:
            left -= 1
            yield tag[:slash]
            slash = tag.find("/", slash + 1)
        yield tag
