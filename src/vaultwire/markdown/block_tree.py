"""The blocks of a note as a tree: which quote, list item or table stands in which; the block that an id names; edits of blocks.

An id names the smallest block that it ends: a list item, a row of a table, a paragraph, whatever stands around it. An id on a
line of its own, behind a blank line, names the block before it; behind a list, the whole list. Line numbers count from 1.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.block_parser import BlockParser, read_body
from vaultwire.markdown.offsets import end_of_reading
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.patterns import ATX_HEADING, CODE_INDENT, SETEXT_UNDERLINE, compile_pattern
from vaultwire.markdown.properties import parse_frontmatter

OWN_ID = compile_pattern(r"[ \t>]*+\^[A-Za-z0-9-]+[ \t]*+\Z")
CALLOUT = compile_pattern(r"\[![^\[\]]*+\][+-]?+[ \t]*+")
_SPACES = compile_pattern(r"[ \t]*+")
MARKER = compile_pattern(r"[-*+]|[0-9]{1,9}[.)]")
_QUOTE_MARK = compile_pattern(r" *+(?:> ?)?+")

Shape: TypeAlias = Literal["item", "list", "quote", "row", "title", "text"]
"""What a block looks like: ``title`` is the first line of a callout."""


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
    """The blocks of a note, as far as it is read (``offsets``)."""

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
    return "quote" if node.kind == "quote" else "text"


def _end_of(pattern: re.Pattern[str], line: str, start: int) -> int:
    match = pattern.match(line, start)
    return match.end() if match else start


# Edits of blocks: how new text keeps a block's form and id, and where a blank line is needed.
#
# ``block_tree`` finds the blocks. New text is made as it would stand alone, then gets what stands before the block's lines.
# Texts here have ``\n`` line ends; line numbers count from 1.

# Indentation, list marker, and the box of a task.
_ITEM = compile_pattern(r"([ \t]*+)([-*+]|[0-9]{1,9}[.)])(?:[ \t]++(?:\[.\](?:[ \t]++|\Z))?+|\Z)")
_QUOTE = compile_pattern(r"[ \t]*+(?:>[ \t]?+)++")
TASK_BOX = compile_pattern(r"\A([ \t>]*+(?:[-*+]|\d{1,9}[.)])[ \t]++)\[.\][ \t]++")
_EMPTY_BOX = compile_pattern(r"\A((?:[-*+]|\d{1,9}[.)])[ \t]++)\[.\](?=[ \t]|\Z)")
_CODE_MARGIN = compile_pattern(r"(?: {4}| {0,3}\t)\Z")  # as far as code is indented
_TABS = compile_pattern(r"\A[ \t]*\t[ \t]*")


class LineEdit(NamedTuple):
    """New text for whole lines of a note; with ``last`` before ``first`` it is inserted before ``first``."""

    first: int
    last: int
    text: str


def replace_block(tree: BlockTree, block: NamedBlock, content: str, name: str, number: int) -> LineEdit:
    """Replace a block's text and keep its id, which stands on line ``number``. What is nested in it stays."""
    own, parent = block.own, block.parent
    lead = lead_of(tree, block)
    new = in_shape(_bare(content.strip("\n"), parent), tree.lines[own.first - 1][len(lead) :], block.shape)
    if own.first <= number <= own.last:
        new = _with_id(new, name, block.shape)
    else:
        new = _above_id(new, [tree.inner(line, parent) for line in range(own.last + 1, number + 1)])
    return LineEdit(own.first, own.last, _led(_apart(tree, block, own, new), lead))


def put_in_place(tree: BlockTree, block: NamedBlock, content: str, lead: str) -> str:
    """Return the text for ``content`` in place of a whole block, in its form, but never a task.

    ``lead`` comes first: what stands before the block, or nothing if that stays.
    """
    first_line = tree.lines[block.whole.first - 1][len(lead_of(tree, block)) :]
    new = in_shape(content, TASK_BOX.sub(r"\1", first_line), block.shape)
    return _led(_apart(tree, block, block.whole, new), lead)


def insert_beside(tree: BlockTree, block: NamedBlock, content: str, *, is_after: bool) -> LineEdit:
    """Insert lines before or after a block, in the quote or item that it stands in: items beside an item, rows beside a row."""
    whole, lead = block.whole, lead_of(tree, block)
    margin = margin_of(lead)
    new = _bare(content, block.parent)
    first_line = tree.lines[whole.first - 1][len(lead) :]
    is_row = block.shape == "row" and block.own == whole
    if new.strip() and (is_row or block.shape == "item"):
        first_line = re.sub(r"[0-9]++", lambda found: str(int(found[0]) + is_after), first_line, count=1)
        new = in_shape(new, _EMPTY_BOX.sub(r"\1[ ]", first_line), block.shape)
    after = whole.last if is_after else whole.first - 1
    if not is_row:
        new = _set_apart_in(tree, block.parent, Span(after + 1, after), new)
    if new and not is_after and lead != margin:  # the block begins on the line of the item that it stands in
        rest = margin + tree.lines[whole.first - 1][len(lead) :]
        return LineEdit(whole.first, whole.first, _led(new.removesuffix("\n") + "\n", lead) + rest)
    return LineEdit(after + 1, after, _led(new, margin))


def delete_block(tree: BlockTree, block: NamedBlock) -> LineEdit:
    """Delete a block with its id and what is nested in it. An item that holds nothing else goes, too."""
    (first, last), parent = block.whole, block.parent
    while parent.parent is not None and parent.first == first and parent.last == last:
        parent = parent.parent
    lead = tree.lead(first, parent)
    if lead != margin_of(lead):  # the item that it stands in stays
        while last < parent.last and not tree.has_text(last + 1):
            last += 1
        around, above = tree.leaf_at(first - 1)
        outer = next(node.parent for node in parent.around() if node.first == first)
        is_below_text = (
            around is outer and above is not None and above.kind == "paragraph"
        )  # its mark would underline that
        return LineEdit(first, last, "\n" * is_below_text + lead.rstrip(" \t"))
    if first == 1 and tree.lines[last : last + 1] == ["---"]:  # it would begin frontmatter
        return LineEdit(first, last, "\n")
    if first > tree.top + 1 and tree.has_text(first - 1) and last < len(tree.lines) and tree.has_text(last + 1):
        above, below = tree.leaf_at(first - 1)[1], tree.leaf_at(last + 1)[1]
        both = f"{tree.inner(first - 1, parent)}\n{tree.inner(last + 1, parent)}"
        if above is not below and len(read_body(both, 1).blocks) == 1:  # they would become one
            return LineEdit(first, last, _led("\n", lead))
    return LineEdit(first, last, "")


def lead_of(tree: BlockTree, block: NamedBlock) -> str:
    """Return what stands before a block on its first line."""
    first = block.whole.first if block.shape == "list" else block.own.first
    lead, inner = tree.lead(first, block.parent), tree.inner(first, block.parent)
    if first == block.parent.first or block.shape in ("item", "list"):
        return lead
    # Code, or a line that goes on with a paragraph: a block that began there would be code.
    return _CODE_MARGIN.sub("", lead) if (len(inner) - len(inner.lstrip(" "))) // CODE_INDENT else lead


def margin_of(lead: str) -> str:
    """Return what stands before the further lines of a block: the marks of quotes stay, those of items become spaces."""
    return re.sub(r"[^\t>]", " ", lead)


def without_margin(text: str, margin: str) -> str:
    """Return a block's lines without the margin that they have in the quote or item around them."""
    space = " ?" if margin.endswith(">") else ""
    # A blank line has less of it, and so has text that goes on without marks.
    return re.sub(rf"(?m)^(?:{re.escape(margin)}{space}|[ \t>]{{0,{len(margin)}}})", "", text)


def _bare(content: str, parent: Node) -> str:
    """Return new text as it would stand alone: without the indentation and marks of quotes that all of it has."""
    quotes = sum(node.kind == "quote" for node in parent.around())
    while True:
        margin = content[: len(content) - len(content.lstrip(" \t"))]
        lines = [line.removeprefix(margin) for line in content.split("\n")] if margin else content.split("\n")
        if not quotes or not all(line.startswith(">") for line in lines if not _is_blank(line)) or not content.strip():
            return "\n".join(lines)
        quotes -= 1
        content = "\n".join(re.sub(r"\A> ?", "", line) for line in lines)


def _led(text: str, lead: str) -> str:
    """Return text as it stands behind ``lead``: the further lines get the margin of it."""
    margin = margin_of(lead)
    if not lead or not text:
        return text
    lines = text.removesuffix("\n").split("\n")
    if margin.strip("\t"):  # a tab would reach less far behind it
        lines = [_TABS.sub(lambda tabs: tabs[0].expandtabs(4), line) for line in lines]
    blank = margin.rstrip(" \t") if ">" in margin else ""
    if margin.endswith(">"):  # it takes a space that follows
        lines = [" " + line if line.startswith(" ") else line for line in lines]
    led = [margin + line if not _is_blank(line) else blank for line in lines]
    led[0] = lead + lines[0] if not _is_blank(lines[0]) or lead != margin else blank
    return "\n".join(led) + text[len(text.removesuffix("\n")) :]


def _apart(tree: BlockTree, block: NamedBlock, span: Span, content: str) -> str:
    """Return content that takes the place of a block, set apart from its neighbours if it is of another kind."""
    old = tree.lines[span.first - 1][len(lead_of(tree, block)) :]
    is_within = tree.leaf_at(span.first - 1)[1] is block.node  # a row, or the text below a callout's title
    if is_within or _kind(old) == _kind(content.split("\n", 1)[0]):
        return content
    return _set_apart_in(tree, block.parent, span, content)


def _set_apart_in(tree: BlockTree, parent: Node, span: Span, content: str) -> str:
    """Return content for these lines of a quote, item or note, set apart from what is above and below."""
    lines = tree.within(parent)
    before = span.first - (parent.first if parent.parent else 1)
    rest = lines[:before] + lines[before + span.last + 1 - span.first :]
    return set_apart(rest, read_body("\n".join(rest), 1).blocks, before, content, is_block=True)


def in_shape(content: str, first_line: str, shape: Shape = "text") -> str:
    """Return the text that replaces a block beginning with ``first_line``, in the form of that block.

    In place of a list item, text without a marker gets the item's marker and the box of a task, and an item gets its
    indentation. In place of a quote, text that is no quote gets the quote's markers, in place of a row a cell's. Anything
    else stays as it is.
    """
    lines = content.split("\n")
    if shape == "row":
        return "\n".join(line if "|" in line or _is_blank(line) else f"| {line.strip()} |" for line in lines)
    item = _ITEM.match(first_line)
    if item is not None:
        if _ITEM.match(lines[0]) is None:
            mark = item[0] if item[0][-1] in " \t" else item[0] + " "
            # A further line belongs to the item if it is indented like the item's text, to which the box belongs.
            margin = re.sub(r"[^\t]", " ", mark.partition("[")[0])
            return "\n".join([mark + lines[0].lstrip(" \t"), *_indented(lines[1:], margin)])
        return content if lines[0][:1] in (" ", "\t") else "\n".join(_indented(lines, item[1]))
    quote = _QUOTE.match(first_line)
    if quote is None:
        return content
    if shape == "title":
        lines = without_margin(content, ">").split("\n")
        title = CALLOUT.match(first_line, quote.end())
        if title and not CALLOUT.match(lines[0].lstrip()):
            lines[0] = title[0] + lines[0].strip()
    elif _QUOTE.match(lines[0]):
        return content
    return "\n".join((quote[0] + line).rstrip(" ") if _is_blank(line) else quote[0] + line for line in lines)


def _with_id(content: str, name: str, shape: Shape) -> str:
    """Return a block's text with its id: at the end of the block or of its first item, else on a line of its own."""
    text = content.rstrip("\n \t")
    if any(found.lower() == name.lower() for found in _ids(text).values()):
        return text
    if shape == "row":
        return f"{text} ^{name}"
    lines = text.split("\n")
    blocks = read_body(text, 1).blocks
    item = _ITEM.match(lines[0]) if blocks else None
    places = [blocks[0].last, 1] if item else [1] if shape == "title" else [len(lines)]
    for place in places:  # an id names the item whose text it ends, before the nested items
        line = lines[place - 1]
        named = "\n".join([*lines[: place - 1], f"{line} ^{name}", *lines[place:]])
        if _kind(line) != "table" and line.strip(" \t-=*_") and _ids(named).get(place) == name:
            return named
    if item:
        margin = re.sub(r"[^\t]", " ", item[0].partition("[")[0])
        return "\n".join([*lines[: places[0]], "", f"{margin}^{name}", *lines[places[0] :]])
    return f"{text}\n\n^{name}"


def _above_id(content: str, below: list[str]) -> str:
    """Return a block's text such that its id, alone on the last of the lines ``below``, still names the block."""
    lines = [*content.split("\n"), *below]
    block = read_body("\n".join(lines), 1).blocks[-1]
    # Right below a table an id would be a row of it; right behind a code block it would be a paragraph.
    loose = block.first == len(lines) or _kind(lines[block.first - 1]) == "table"
    return content + "\n\n" if loose and len(below) == 1 else content


def set_apart(lines: list[str], blocks: list[Span], after: int, content: str, *, is_block: bool) -> str:
    """Return content to insert behind line ``after``, with a blank line where it would become part of a neighbouring block.

    Text may continue text, rows rows, and a quote a quote, unless the content ``is_block`` of its own, or a block id is
    between them, which must stay at the end of its block. An item always begins a block.
    """
    if not content:
        return content
    new = content.removesuffix("\n").split("\n")
    new_blocks = read_body(content, 1).blocks
    above, below = _last_kind(lines[:after], blocks), _kind(lines[after]) if after < len(lines) else ""
    ends_block = is_block or (after > 0 and bool(_ids(lines[after - 1]))) or _is_underlined(new, new_blocks, 1)
    last = _last_kind(new, new_blocks)
    if _joins(above, _kind(new[0]), is_block=ends_block):
        new.insert(0, "")
    ends_block = is_block or bool(_ids(new[-1])) or _is_underlined(lines, blocks, after + 1)
    if _joins(last, below, is_block=ends_block):
        return "\n".join([*new, "", ""])
    return "\n".join(new) + content[len(content.removesuffix("\n")) :]


def _last_kind(lines: list[str], blocks: list[Span]) -> str:
    """Return the kind of the block that the last of these lines belongs to; empty if it belongs to none."""
    number = len(lines)
    position = bisect_right(blocks, number, key=lambda span: span.first) - 1
    if position < 0 or blocks[position].last < number or _is_blank(lines[-1]):
        return ""
    if OWN_ID.match(lines[-1]) and _is_blank(lines[-2] if number > 1 else ""):
        return "id"
    return _kind(lines[blocks[position].first - 1])


def _is_underlined(lines: list[str], blocks: list[Span], number: int) -> bool:
    """Tell whether an underlined heading begins on line ``number``: text above would become part of it."""
    position = bisect_right(blocks, number, key=lambda span: span.first) - 1
    if position < 0 or blocks[position].first != number or blocks[position].last == number:
        return False
    return _kind(lines[number - 1]) == "text" and SETEXT_UNDERLINE.match(lines[blocks[position].last - 1]) is not None


def _joins(above: str, below: str, *, is_block: bool) -> bool:
    """Tell whether a line of one kind right below a block of another would become part of it."""
    if not above or not below or above in ("heading", "dashes", "equals") or below == "heading":
        return False
    if below == "dashes":  # they underline text; below anything else they are a thematic break or an item
        return above == "text"
    if above == "id":  # needs blank lines around it (help, Internal links)
        return True
    if above == below:
        return is_block and below != "item"
    return below not in ("item", "quote")


def _kind(line: str) -> str:
    """Return what a block is that begins with this line, as far as its neighbours care; empty for a blank line."""
    if _is_blank(line):
        return ""
    if ATX_HEADING.match(line):
        return "heading"
    if SETEXT_UNDERLINE.match(line):
        return "equals" if "=" in line else "dashes"
    if _ITEM.match(line):
        return "item"
    if OWN_ID.match(line):
        return "id"
    return {">": "quote", "|": "table"}.get(line.lstrip(" \t")[0], "text")


def _ids(text: str) -> dict[int, str]:
    """Return the block ids of a part of a note, by line."""
    # Behind a blank line: two rules at the top would otherwise be frontmatter.
    return {found.line - 1: found.name for found in parse_note("\n" + text).block_ids}


def _indented(lines: list[str], margin: str) -> list[str]:
    return [line if _is_blank(line) else margin + line for line in lines]


def _is_blank(line: str) -> bool:
    return not line.strip(" \t")
