"""The blocks of a note as a tree: which quote, list item or table stands in which. And the block that an id names.

An id names the smallest block that it ends: a list item, a row of a table, a paragraph, whatever stands around it. An id on a
line of its own, behind a blank line, names the block before it; behind a list, the whole list. Line numbers count from 1.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.block_parser import BlockParser
from vaultwire.markdown.bounds import end_of_reading
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import parse_frontmatter

OWN_ID = compile_pattern(r"[ \t>]*+\^[A-Za-z0-9-]+[ \t]*+\Z")
CALLOUT = compile_pattern(r"\[![^\[\]]*+\][+-]?+[ \t]*+")
_SPACES = compile_pattern(r"[ \t]*+")
MARKER = compile_pattern(r"[-*+]|[0-9]{1,9}[.)]")
_QUOTE_MARK = compile_pattern(r" *+(?:> ?)?+")

Shape: TypeAlias = Literal["item", "list", "quote", "row", "title", "code", "text"]
"""What a block looks like: ``title`` is the first line of a callout, ``code`` is indented code."""


class Node:
    """A block in the tree: its lines, the one that it stands in, those that stand in it."""

    __slots__ = ("children", "first", "kind", "last", "parent", "width")

    def __init__(self, kind: str, first: int, parent: Node | None = None, width: int = 0) -> None:
        self.kind = kind  # quote, item, or a leaf block: paragraph, table, code …; empty for the note itself
        self.first = self.last = first
        self.parent = parent
        self.width = width  # of an item: the columns before its text
        self.children: list[Node] = []
        if parent is not None:
            parent.children.append(self)

    def around(self) -> list[Node]:
        """Return this quote or item behind those around it; nothing for the note itself."""
        return [] if self.parent is None else [*self.parent.around(), self]


class NamedBlock(NamedTuple):
    """A block that has an id: ``own`` is its text, ``whole`` also has its id and what is nested in it.

    ``parent`` is the quote or item that it stands in, or the note. ``node`` is the block; of a list, its last item.
    """

    shape: Shape
    own: Span
    whole: Span
    parent: Node
    node: Node


class BlockTree:
    """The blocks of a note, as far as it is read (``bounds``)."""

    def __init__(self, text: str) -> None:
        """``text`` is that of the whole note, with ``\\n`` line ends."""
        top = parse_frontmatter(text).end
        end = end_of_reading(text, top)
        self.lines = text.split("\n")
        self.top = text.count("\n", 0, top)  # lines of frontmatter
        builder = _Builder(text[top:end], self.top + 1)
        builder.run()
        self.root = builder.root

    def named(self, number: int) -> NamedBlock:
        """Return the block whose id stands on line ``number``."""
        parent, leaf = self.leaf_at(number)
        is_alone = OWN_ID.match(self.lines[number - 1]) is not None
        if leaf is None or (is_alone and leaf.first == leaf.last and not self.has_text(number - 1)):
            return self._before(parent, leaf, number)
        last = number - 1 if is_alone and number > leaf.first else leaf.last
        if leaf.kind == "table":
            return self._in_table(leaf, parent, number, is_alone=is_alone)
        if parent.kind == "item" and _begins(leaf, parent):
            return self._item(parent, last if last < leaf.last else 0)
        if _begins(leaf, parent) and self.is_callout(parent):
            if number == leaf.first:
                title = Span(number, number)
                return NamedBlock("title", title, Span(number, parent.last), _outer(parent), parent)
            own = Span(leaf.first + 1, max(leaf.first + 1, last))
            return NamedBlock("text", own, Span(own.first, leaf.last), parent, leaf)
        return NamedBlock(_shape(leaf), Span(leaf.first, last), Span(leaf.first, leaf.last), parent, leaf)

    def leaf_at(self, number: int) -> tuple[Node, Node | None]:
        """Return the innermost quote, item or note around a line, and the leaf block that has the line."""
        node = self.root
        while True:
            position = bisect_right(node.children, number, key=_first) - 1
            child = node.children[position] if position >= 0 else None
            if child is None or child.last < number:
                return node, None
            if child.kind not in ("quote", "item"):
                return node, child
            node = child

    def _before(self, parent: Node, leaf: Node | None, number: int) -> NamedBlock:
        """Return the block that an id alone on its line names."""
        position = bisect_right(parent.children, number, key=_first) - 1 - (leaf is not None)
        node = parent.children[position] if position >= 0 else None
        if node is None or any(
            self.has_text(line) and not OWN_ID.match(self.lines[line - 1]) for line in range(node.last + 1, number)
        ):
            alone = Span(number, number)
            return NamedBlock("text", alone, alone, parent, leaf or Node("paragraph", number))
        if node.kind == "item":
            first = self._list_start(parent.children, position)
            return NamedBlock("list", Span(first, node.last), Span(first, number), parent, node)
        if parent.kind == "item" and _begins(node, parent):
            return self._item(parent, node.last)
        return NamedBlock(_shape(node), Span(node.first, node.last), Span(node.first, number), parent, node)

    def _item(self, item: Node, last: int) -> NamedBlock:
        """Return a list item whose text ends on line ``last``; with 0, where the first item nested in it begins."""
        if not last:
            nested = next((child.first for child in item.children if child.kind == "item"), item.last + 1)
            last = max(nested - 1, item.first)
            while last > item.first and not self.has_text(last):
                last -= 1
        return NamedBlock("item", Span(item.first, last), Span(item.first, item.last), _outer(item), item)

    def _in_table(self, table: Node, parent: Node, number: int, *, is_alone: bool) -> NamedBlock:
        """Return the row that ends with an id; for an id alone in the last row, and one in the header, the table."""
        row, whole = Span(number, number), Span(table.first, table.last)
        if is_alone and number == table.last:
            return NamedBlock("text", Span(table.first, number - 1), whole, parent, table)
        return NamedBlock("row", row, whole if number <= table.first + 1 else row, parent, table)

    def _list_start(self, siblings: list[Node], position: int) -> int:
        """Return the first line of the list that the item at ``position`` ends: items with one kind of marker."""
        while position and siblings[position - 1].kind == "item":
            above, node = siblings[position - 1], siblings[position]
            if self._marker(above) != self._marker(node) or any(map(self.has_text, range(above.last + 1, node.first))):
                break
            position -= 1
        return siblings[position].first

    def _marker(self, item: Node) -> str:
        marker = MARKER.match(self.lines[item.first - 1], len(self.lead(item.first, _outer(item))))
        return marker[0][-1] if marker else ""

    def is_callout(self, node: Node) -> bool:
        """Tell whether a block is a callout: its first line is a title, no part of its text."""
        line = self.lines[node.first - 1]
        return node.kind == "quote" and CALLOUT.match(line, len(self.lead(node.first, node))) is not None

    def lead(self, number: int, parent: Node) -> str:
        """Return what stands before a block in ``parent`` on its first line: indentation, marks of quotes and items."""
        line, end = self.lines[number - 1], 0
        for node in parent.around():
            end = _end_of(_SPACES, line, end)
            if node.kind == "quote":
                end += line.startswith(">", end)
            elif node.first == number:
                end = _end_of(MARKER, line, end)
        return line[: _end_of(_SPACES, line, end)]

    def within(self, parent: Node) -> list[str]:
        """Return the lines of a quote, item or note, without what makes them a part of it and without frontmatter."""
        if parent.parent is None:
            return [*[""] * self.top, *self.lines[self.top :]]
        return [self.inner(number, parent) for number in range(parent.first, parent.last + 1)]

    def inner(self, number: int, parent: Node) -> str:
        """Return a line of a quote, item or note, without what makes it a part of it. Tabs become spaces."""
        line, end = self.lines[number - 1].expandtabs(4), 0
        for node in parent.around():
            if node.kind == "quote":
                end = _end_of(_QUOTE_MARK, line, end)
            elif node.first == number:
                end = min(len(line), end + node.width)
            else:
                end = min(_end_of(_SPACES, line, end), end + node.width)
        return line[end:]

    def has_text(self, number: int) -> bool:
        """Tell whether a line says something, beside marks of quotes."""
        return number > 0 and bool(self.lines[number - 1].strip(" \t>"))


class _Builder(BlockParser):
    """Reads a body and keeps the tree of its blocks.

    Lines that are in no span are not in it: thematic breaks, and an id alone on its line, outside quotes and lists.
    """

    def __init__(self, body: str, first_line: int) -> None:
        super().__init__(body, first_line)
        self.root = Node("", first_line)
        self._nodes: dict[int, Node] = {}
        self._opened = 0  # the line on which the last leaf block was opened

    def open_leaf(self, leaf: str) -> None:
        """Open a leaf block."""
        super().open_leaf(leaf)
        self._opened = self.number

    def extend_span(self) -> None:
        """Add the line to each quote and item around it, and to its leaf block."""
        super().extend_span()
        parent = self.root
        has_leaf = bool(self.leaf) or self._opened == self.number
        for container in self.containers:
            parent = self._node(container.id, "quote" if container.is_quote else "item", parent, container.width)
            if container.is_quote or has_leaf:  # an item does not end with the blank lines of a quote
                parent.last = self.number
        if has_leaf:
            leaf = self._node(self.leaf_id, self.leaf, parent)
            leaf.last, leaf.kind = self.number, self.leaf

    def take_line(self, number: int) -> None:
        """Let the open leaf block begin with line ``number``, which was read as the end of a paragraph."""
        parent = self._nodes[self.containers[-1].id] if self.containers else self.root
        parent.children[-1].last = number - 1
        self._nodes[self.leaf_id] = Node(self.leaf, number, parent)
        super().take_line(number)

    def _node(self, number: int, kind: str, parent: Node, width: int = 0) -> Node:
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes[number] = Node(kind, self.number, parent, width)
        return node


def _first(node: Node) -> int:
    return node.first


def _outer(node: Node) -> Node:
    return node.parent or node


def _begins(leaf: Node, parent: Node) -> bool:
    """Tell whether a leaf block is the text that a quote or item begins with."""
    return leaf.kind == "paragraph" and leaf is parent.children[0] and leaf.first <= parent.first + 1


def _shape(node: Node) -> Shape:
    return "quote" if node.kind == "quote" else "code" if node.kind == "indented" else "text"


def _end_of(pattern: re.Pattern[str], line: str, start: int) -> int:
    match = pattern.match(line, start)
    return match.end() if match else start
