"""The ``tags`` property of a note with the position of each tag, in any form of YAML.

``properties`` reads the property's value, and ``parse`` decides which texts are tags. Text has ``\\n`` line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from vaultwire.markdown.parse import property_tag
from vaultwire.markdown.properties import Frontmatter
from vaultwire.markdown.yaml_core import NotYamlError, PropertyValue, yaml_events

if TYPE_CHECKING:
    from yaml import Event

Extent: TypeAlias = tuple[int, int]
"""The start and the end of something in a text."""

# A node's anchor and type, which may stand before its text.
_NODE_PROPERTIES = re.compile(r"(?:[&!][^ \t\n]*+(?:[ \t\n]++(?:#.*+[ \t\n]++)*+|\Z))*+")
_PIECE = re.compile(r"\\(?:\n[ \t]*+|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|.", re.DOTALL)
_SINGLE_PIECE = re.compile(r"''|.", re.DOTALL)
# YAML 1.2.2, 5.7 "Escaped characters": those that mean another character than themselves.
_ESCAPES = dict(zip("0abt\tnvfreN_LP", "\0\a\b\t\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))
# Where the property and the next one begin, in a block that as a whole is not YAML.
_TAGS_LINE = re.compile(r"^[\"']?tags[\"']?[ \t]*:", re.IGNORECASE | re.MULTILINE)
_NEXT_PROPERTY = re.compile(r"^(?![ \t#\]}]|-(?:[ \t]|$)|$)", re.MULTILINE)


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


class _Node:
    """A node of YAML and its position. A map has names and values in turn; an alias has an extent of its own."""

    __slots__ = ("children", "end", "event", "start")

    def __init__(self, event: Event, start: int, end: int) -> None:
        self.event = event
        self.start = start
        self.end = end
        self.children: list[tuple[Extent, _Node]] = []

    def is_a(self, kind: str) -> bool:
        # By name: PyYAML is imported only when it is needed.
        return type(self.event).__name__ == kind


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
        following = _NEXT_PROPERTY.search(plain, line.end(), end)
        found = _read_property(plain, line.start(), following.start() if following else end, name, value)
        if found is not None:
            return found
    return None


def _read_property(plain: str, start: int, end: int, name: str, value: PropertyValue) -> TagsProperty | None:
    """Return the property of that name in a part of the text, if it has the expected value; the last one counts."""
    try:
        root = _read_tree(plain[start:end], start)
    except NotYamlError:
        try:  # libyaml refuses a tab between a dash and its text; a space in its place moves nothing
            root = _read_tree(plain[start:end].replace("\t", " "), start)
        except NotYamlError:
            return None
    children = root.children if root is not None and root.is_a("MappingStartEvent") else []
    for (_, key), (extent, node) in zip(children[-2::-2], children[::-2], strict=True):
        if key.is_a("ScalarEvent") and key.event.value == name:  # type: ignore[attr-defined]
            return _tags_of(plain, extent, node, value)
    return None


def _read_tree(yaml: str, start: int) -> _Node | None:
    """Return the first document's root, None if there is none. ``start`` is where the YAML begins in its note."""
    starts = [start, *(start + found.end() for found in re.finditer("\n", yaml))]
    stack: list[_Node] = []
    anchors: dict[str, _Node] = {}
    root: _Node | None = None
    for event in yaml_events(yaml, 1):
        kind = type(event).__name__
        extent = _place(starts, event.start_mark), _place(starts, event.end_mark)
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            stack.pop().end = extent[1]
            continue
        if kind == "AliasEvent":
            if (node := anchors.get(event.anchor)) is None:  # type: ignore[attr-defined]
                return None
        elif kind in ("ScalarEvent", "MappingStartEvent", "SequenceStartEvent"):
            node = _Node(event, *extent)
            if event.anchor is not None:  # type: ignore[attr-defined]
                anchors[event.anchor] = node  # type: ignore[attr-defined]
        else:
            continue
        if stack:
            stack[-1].children.append((extent, node))
        root = root or node
        if kind.endswith("StartEvent"):
            stack.append(node)
    return root


def _place(starts: list[int], mark: Any) -> int:
    # The mark's own index is of no use: the text that was read lacks the spaces on blank lines.
    line: int = mark.line
    column: int = mark.column
    return starts[min(line, len(starts) - 1)] + column


def _tags_of(plain: str, extent: Extent, node: _Node, value: PropertyValue) -> TagsProperty | None:
    """Return the property that a node is; None if its value is not the expected one."""
    if isinstance(value, str) and node.is_a("ScalarEvent"):
        text = _scalar(plain, node)
        return TagsProperty("text", [(extent, text)]) if text.word.tag == property_tag(value) else None
    if not isinstance(value, list) or not node.is_a("SequenceStartEvent") or len(value) != len(node.children):
        return None
    elements: list[tuple[Extent, Scalar | None]] = []
    for (place, child), element in zip(node.children, value, strict=True):
        if not isinstance(element, str):
            elements.append((place, None))
            continue
        scalar = _scalar(plain, child)
        if scalar.word.tag != property_tag(element):
            return None
        elements.append((place, scalar))
    return TagsProperty("flow" if node.event.flow_style else "block", elements)  # type: ignore[attr-defined]


def _scalar(plain: str, node: _Node) -> Scalar:
    """Return a scalar with its word, which is its whole text."""
    style: str = node.event.style or ""  # type: ignore[attr-defined]
    start = _NODE_PROPERTIES.match(plain, node.start, node.end).end()  # type: ignore[union-attr] # matches anything
    first, last = start, node.end
    if style in ("|", ">"):
        first = plain.find("\n", start, node.end) + 1 or node.end
    elif style:
        first, last = start + 1, node.end - 1
    text, places = _decoded(plain, first, last, style)
    tag = property_tag(text)
    at = text.find(tag)
    return Scalar((start, node.end), style, Word((places[at], places[at + len(tag)]), tag))


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
