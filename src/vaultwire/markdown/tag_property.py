"""The ``tags`` property of a note with the position of each tag, in any form of YAML.

``properties`` reads the property's value, and ``parse`` decides which texts are tags. Text has ``\\n`` line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.offsets import line_starts
from vaultwire.markdown.parse import property_tag
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import BEGINS_PROPERTY, Frontmatter
from vaultwire.markdown.yaml_core import NotYamlError, PropertyValue
from vaultwire.markdown.yaml_tree import YamlNode, read_tree

Extent: TypeAlias = tuple[int, int]
"""The start and the end of something in a text."""

# A node's anchor and type, which may stand before its text.
_NODE_PROPERTIES = compile_pattern(r"(?:[&!][^ \t\n]*+(?:[ \t\n]++(?:#.*+[ \t\n]++)*+|\Z))*+")
_PIECE = compile_pattern(r"\\(?:\n[ \t]*+|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|.", re.DOTALL)
_SINGLE_PIECE = compile_pattern(r"''|.", re.DOTALL)
# YAML 1.2.2, 5.7 "Escaped characters": those that mean another character than themselves.
_ESCAPES = dict(zip("0abt\tnvfreN_LP", "\0\a\b\t\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))
# Where the property begins, in a block that as a whole is not YAML.
_TAGS_LINE = compile_pattern(r"^[\"']?tags[\"']?[ \t]*:", re.IGNORECASE | re.MULTILINE)


class Word(NamedTuple):
    """The tag that a text names, empty for none, and the extent of its name, without ``#``."""

    name: Extent
    tag: str


class Scalar(NamedTuple):
    """A text: the extent of its source, its style (a quote, ``|`` or ``>``, or empty), its word."""

    extent: Extent
    style: str
    word: Word


class TagsProperty(NamedTuple):
    """The property: a text, or a list of elements. Each element has its extent, and its text if it is one."""

    form: Literal["text", "flow", "block"]
    elements: list[tuple[Extent, Scalar | None]]

    def words(self) -> Iterator[Word]:
        """Yield all words, in their order."""
        for _, scalar in self.elements:
            if scalar:
                yield scalar.word


def tags_property(plain: str, frontmatter: Frontmatter) -> TagsProperty | None:
    """Return the property with its positions; None if it is missing or has no value."""
    name = next((key for key in frontmatter.values if key.casefold() == "tags"), None)
    value = None if name is None else frontmatter.values[name]
    if name is None or not isinstance(value, (list, str)):
        return None
    block = plain[: frontmatter.end].removesuffix("\n")
    start, end = plain.index("\n") + 1, block.rfind("\n") + 1
    found = _read_property(plain, start, end, name, value)
    if found is not None:
        return found
    # The block as a whole is not YAML: read its properties one by one; the last of a name counts.
    for line in reversed([*_TAGS_LINE.finditer(plain, start, end)]):
        following = BEGINS_PROPERTY.search(plain, line.end(), end)
        found = _read_property(plain, line.start(), following.start() if following else end, name, value)
        if found is not None:
            return found
    return None


def _read_property(plain: str, start: int, end: int, name: str, value: PropertyValue) -> TagsProperty | None:
    """Return the property of that name in a part of the text, if it has the expected value; the last one counts."""
    try:
        root = read_tree(plain[start:end])
    except NotYamlError:
        return None
    inner = root.inner if root is not None and root.kind == "MappingStartEvent" else []
    for key, node in zip(inner[-2::-2], inner[::-2], strict=True):
        if key.target.kind == "ScalarEvent" and key.target.event.value == name:  # type: ignore[attr-defined]
            return _tags_of(plain, [start + place for place in line_starts(plain[start:end])], node, value)
    return None


def _tags_of(plain: str, starts: list[int], node: YamlNode, value: PropertyValue) -> TagsProperty | None:
    """Return the property that a node is; None if its value is not the expected one. ``starts`` are those of the lines."""
    if isinstance(value, str) and node.target.kind == "ScalarEvent":
        text = _scalar(plain, _extent(starts, node.target), node.target.style())
        return TagsProperty("text", [(_extent(starts, node), text)]) if text.word.tag == property_tag(value) else None
    children = node.target.inner
    if not isinstance(value, list) or node.target.kind != "SequenceStartEvent" or len(value) != len(children):
        return None
    elements: list[tuple[Extent, Scalar | None]] = []
    for child, element in zip(children, value, strict=True):
        scalar = None
        if isinstance(element, str):
            scalar = _scalar(plain, _extent(starts, child.target), child.target.style())
            if scalar.word.tag != property_tag(element):
                return None
        elements.append((_extent(starts, child), scalar))
    return TagsProperty("flow" if node.target.style() == "[" else "block", elements)


def _extent(starts: list[int], node: YamlNode) -> Extent:
    (first, start), (last, end) = node.start, node.end
    return starts[first] + start, starts[last] + end


def _scalar(plain: str, extent: Extent, style: str) -> Scalar:
    """Return a scalar with its word, which is its whole text."""
    start = _NODE_PROPERTIES.match(plain, *extent).end()  # type: ignore[union-attr] # matches anything
    first, last = start, extent[1]
    if style in ("|", ">"):
        first = plain.find("\n", *extent) + 1 or last
    elif style:
        first, last = start + 1, last - 1
    text, places = _decoded(plain, first, last, style)
    tag = property_tag(text)
    at = text.find(tag)
    return Scalar((start, extent[1]), style, Word((places[at], places[at + len(tag)]), tag))


def _decoded(plain: str, first: int, last: int, style: str) -> tuple[str, list[int]]:
    """Return a scalar's text, line ends unchanged, with the offset of each character and of the end."""
    if style not in ("'", '"'):
        return plain[first:last], list(range(first, last + 1))
    characters: list[str] = []
    places: list[int] = []
    for piece in (_PIECE if style == '"' else _SINGLE_PIECE).finditer(plain, first, last):
        written = piece[0]
        if written.startswith("\\") and style == '"':
            if written[1] == "\n":
                continue
            code = written[2:]
            characters.append(chr(int(code, 16)) if code else _ESCAPES.get(written[1], written[1]))
        else:
            characters.append(written[0])
        places.append(piece.start())
    return "".join(characters), [*places, last]
