"""Writes lists and maps as YAML in lines, two spaces deeper on each level, as Obsidian writes them."""

from __future__ import annotations

from vaultwire.markdown.property_values import block_text, one_line, written_name
from vaultwire.markdown.yaml_core import PropertyValue


def as_block(value: PropertyValue, column: int) -> list[str]:
    """Return the rows of a value; a list or map has at least one entry. Raises PropertyEditError for what YAML cannot hold."""
    if isinstance(value, dict):
        return [row for name, each in value.items() for row in entry_lines(name, each, column)]
    if isinstance(value, list):
        return [row for each in value for row in item_lines(each, column)]
    return [" " * column + one_line(value)]


def entry_lines(name: str, value: PropertyValue, column: int) -> list[str]:
    """Return the rows of an entry of a map. Raises PropertyEditError."""
    head = f"{' ' * column}{written_name(name)}:"
    if isinstance(value, (dict, list)) and value:
        return [head, *as_block(value, column + 2)]
    first, *more = text_lines(value, column + 2)
    return [f"{head} {first}", *more]


def item_lines(value: PropertyValue, column: int) -> list[str]:
    """Return the rows of an item of a list. Raises PropertyEditError."""
    rows = as_block(value, column + 2) if isinstance(value, (dict, list)) and value else text_lines(value, column + 2)
    return [f"{' ' * column}- {rows[0].lstrip(' ')}", *rows[1:]]


def text_lines(value: PropertyValue, column: int, quote: str = "") -> list[str]:
    """Return a value that stands behind a colon or dash; a text of several lines has rows below. Raises PropertyEditError."""
    rows = block_text(value, " " * column) if isinstance(value, str) and "\n" in value and not quote else None
    return rows or [one_line(value, quote)]
