"""Edits of blocks: how new text keeps a block's form and id, and where a blank line is needed.

``block_tree`` finds the blocks. New text is made as it would stand alone, then gets what stands before the block's lines.
Texts here have ``\\n`` line ends; line numbers count from 1.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from vaultwire.markdown.block_parser import read_body
from vaultwire.markdown.block_patterns import ATX_HEADING, SETEXT_UNDERLINE
from vaultwire.markdown.block_tree import CALLOUT, OWN_ID, BlockTree, NamedBlock, Node, Shape
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.patterns import compile_pattern

# Indentation, list marker, and the box of a task.
_ITEM = compile_pattern(r"([ \t]*+)([-*+]|[0-9]{1,9}[.)])(?:[ \t]++(?:\[.\](?:[ \t]++|\Z))?+|\Z)")
_QUOTE = compile_pattern(r"[ \t]*+(?:>[ \t]?+)++")
TASK_BOX = compile_pattern(r"\A([ \t>]*+(?:[-*+]|\d{1,9}[.)])[ \t]++)\[.\][ \t]++")
_EMPTY_BOX = compile_pattern(r"\A((?:[-*+]|\d{1,9}[.)])[ \t]++)\[.\](?=[ \t]|\Z)")
_CODE_MARGIN = compile_pattern(r"(?: {4}| {0,3}\t)\Z")
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
    if not is_after and lead != margin:  # the block begins on the line of the item that it stands in
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
        return LineEdit(first, last, lead.rstrip(" \t"))
    if first > tree.top + 1 and tree.has_text(first - 1) and last < len(tree.lines) and tree.has_text(last + 1):
        above, below = tree.leaf_at(first - 1)[1], tree.leaf_at(last + 1)[1]
        both = f"{tree.inner(first - 1, parent)}\n{tree.inner(last + 1, parent)}"
        if above is not below and len(read_body(both, 1).blocks) == 1:  # they would become one
            return LineEdit(first, last, _led("\n", lead))
    return LineEdit(first, last, "")


def lead_of(tree: BlockTree, block: NamedBlock) -> str:
    """Return what stands before a block on its first line."""
    lead = tree.lead(block.whole.first if block.shape == "list" else block.own.first, block.parent)
    return _CODE_MARGIN.sub("", lead) if block.shape == "code" else lead


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
    return (
        content if _kind(old) == _kind(content.split("\n", 1)[0]) else _set_apart_in(tree, block.parent, span, content)
    )


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
