"""The merging of two notes' texts: body below or above body, properties, and new names for block ids that clash.

It also lists the contents of a text, to check that nothing was lost. Text is the file's own, without byte order mark, unless
it is called plain. ``link_spans`` rewrites links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown import edits
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.properties import parse_frontmatter, property_type
from vaultwire.markdown.property_edits import PropertyEditError, set_properties, written_properties
from vaultwire.markdown.property_values import same_value
from vaultwire.markdown.yaml_core import PropertyValue

_LISTS = frozenset(("tags", "aliases", "multitext"))

Where: TypeAlias = Literal["end", "start"]


class Content(NamedTuple):
    """The contents of texts: how often each heading, link, block id and task occurs, and which tags."""

    things: Counter[tuple[object, ...]]
    tags: set[str]


def body_of(plain: str) -> str:
    """Return a plain text without its frontmatter."""
    return plain[parse_frontmatter(plain).end :]


def content_of(bodies: Iterable[str]) -> Content:
    """Return the contents of plain texts together. They have no frontmatter, even if one begins like it."""
    things: Counter[tuple[object, ...]] = Counter()
    tags: set[str] = set()
    for text in bodies:
        read = parse_note("\n" + text)
        things.update(heading[:2] for heading in read.headings)
        things.update((link.linktext, link.display, link.is_embed, link.is_markdown) for link in read.links)
        things.update(("^", each.name) for each in read.block_ids)
        things.update(("[", task.mark, task.text) for task in read.tasks)
        tags.update(tag.casefold() for tag in read.tags)
    return Content(things, tags)


def joined(text: str, body: str, where: Where) -> str:
    """Return the text with the plain body of another at its end or start, a blank line between; frontmatter stays on top."""
    body = body.lstrip("\n")
    if not body.strip():
        return text
    plain = edits.to_plain(text)
    own = body_of(plain)
    if own == plain and parse_frontmatter(body).end:  # a rule at its top would be frontmatter here
        body = "\n" + body
    if where == "start":
        return edits.prepend(text, body if not own or own.startswith("\n") else body.rstrip("\n") + "\n\n")
    return edits.append(text, body if not own or own.endswith("\n\n") else "\n" + body)


def with_properties(text: str, source: str) -> tuple[str, list[str]]:
    """Return the text with the properties of the plain text ``source`` added, and the names of those that differ.

    Existing values stay, lists are united, a property without a value gets one. A single text joins a list as one item; so
    does one with commas under ``tags``, which is no tag before or after. Raises PropertyEditError for broken frontmatter.
    """
    read = parse_frontmatter(source)
    if read.problems:
        raise PropertyEditError(f"the frontmatter is broken and must be fixed first: {read.problems[0]}")
    own = parse_frontmatter(edits.to_plain(text))
    names = {name.casefold() for name in own.values}
    joined: dict[str, PropertyValue] = {}
    differing: list[str] = []
    for name, value in written_properties(source).items():
        there = own.value(name)
        if _is_empty(there):
            if not _is_empty(value) or name.casefold() not in names:
                joined[name] = value
        elif {property_type(name, each, {}) for each in (there, value)} & _LISTS:
            items = items_of(there)
            added = [item for item in items_of(value) if not any(same_item(name, item, each) for each in items)]
            if added:
                joined[name] = items + added
        elif not _is_empty(value) and not same_value(there, value):
            differing.append(name)
    # The values are not checked against the types of their properties: they come from a note as they are.
    return (set_properties(text, joined, None, source=source) if joined else text), differing


def _is_empty(value: PropertyValue) -> bool:
    return value is None or value in ("", [], {})


def same_item(name: str, one: PropertyValue, other: PropertyValue) -> bool:
    """Tell whether two items of the lists of a property are one: tags in any case, with or without #."""
    if name.casefold() == "tags" and isinstance(one, str) and isinstance(other, str):
        return one.removeprefix("#").casefold() == other.removeprefix("#").casefold()
    return same_value(one, other)


def items_of(value: PropertyValue) -> list[PropertyValue]:
    """Return a property's value as a list."""
    return list(value) if isinstance(value, list) else [] if _is_empty(value) else [value]


def new_block_ids(source: str, target: str) -> dict[str, str]:
    """Return new names for the block ids of a plain text that another text has, too, by casefolded old name."""
    taken = {each.name.casefold() for each in parse_note(target).block_ids}
    own = {each.name.casefold(): each.name for each in parse_note(source).block_ids}
    ids: dict[str, str] = {}
    for name in [each for each in own if each in taken]:
        free = next(new for number in count(2) if (new := f"{own[name]}-{number}").casefold() not in taken | own.keys())
        ids[name] = free
        taken.add(free.casefold())
    return ids


def with_block_ids(text: str, ids: Mapping[str, str]) -> str:
    """Return the text with block ids renamed, by casefolded old name."""
    lines = text.split("\n")
    for block_id in parse_note(edits.to_plain(text)).block_ids if ids else ():
        new = ids.get(block_id.name.casefold())
        if new is not None:
            above, _, behind = lines[block_id.line - 1].rpartition("^" + block_id.name)
            lines[block_id.line - 1] = f"{above}^{new}{behind}"
    return "\n".join(lines)
