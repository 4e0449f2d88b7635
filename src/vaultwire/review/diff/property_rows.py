"""The properties that changed, each with its old and new value and their types."""

from __future__ import annotations

from typing import Any

from vaultwire.markdown.properties import Frontmatter, parse_frontmatter, property_type
from vaultwire.markdown.property_values import PropertyEditError, one_line, same_value
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.review.diff.characters import visible
from vaultwire.review.diff.parts import Part, parts_of
from vaultwire.review.diff.tokens import tokens_of
from vaultwire.review.diff.words import Steps, compared

# A longer value is cut: the source has all of it.
_MAX_TEXT = 2_000
_MOST_PROPERTIES = 500


def property_rows(before: str, after: str, steps: Steps) -> list[dict[str, Any]]:
    """Return a row for each property of two plain texts that differs, those of the new text first and in its order.

    ``old`` or ``new`` is None where there is no such property. ``parts`` are the words of each value.
    """
    if not before.startswith("---") and not after.startswith("---"):
        return []
    old, new = parse_frontmatter(before), parse_frontmatter(after)
    names = [
        name for name in new.values if name not in old.values or not same_value(old.values[name], new.values[name])
    ]
    names += [name for name in old.values if name not in new.values]
    return [_row(name, old, new, steps) for name in names[:_MOST_PROPERTIES]]


def _row(name: str, old: Frontmatter, new: Frontmatter, steps: Steps) -> dict[str, Any]:
    before = _text_of(old.values[name]) if name in old.values else None
    after = _text_of(new.values[name]) if name in new.values else None
    removed, added = compared(_tokens(before), _tokens(after), steps)
    return {
        "name": visible(name),
        "old": None if before is None else _side(name, old, before, parts_of(before, removed)),
        "new": None if after is None else _side(name, new, after, parts_of(after, added)),
    }


def _tokens(text: str | None) -> list[str]:
    return [] if text is None else tokens_of(text, "text")


def _side(name: str, read: Frontmatter, text: str, parts: list[Part]) -> dict[str, Any]:
    return {"text": visible(text), "type": property_type(name, read.values[name], {}), "parts": parts}


def _text_of(value: PropertyValue) -> str:
    """Return a value as a reader writes it: items of a list with commas between."""
    if value is None:
        text = ""
    elif isinstance(value, str):
        text = value
    elif isinstance(value, list) and not any(isinstance(item, (list, dict)) for item in value):
        text = ", ".join(_text_of(item) for item in value)
    else:
        try:
            text = one_line(value)
        except PropertyEditError:
            text = str(value)
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"
