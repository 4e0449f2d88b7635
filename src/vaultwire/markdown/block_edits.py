"""Edits of blocks: which lines belong to a block, how new text keeps its form and its id, and where a blank line is needed.

``block_parser`` finds the blocks. Texts here have ``\\n`` line ends; line numbers count from 1.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from vaultwire.markdown.block_parser import read_body
from vaultwire.markdown.block_patterns import ATX_HEADING, SETEXT_UNDERLINE
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.patterns import compile_pattern

# Indentation, list marker, and the box of a task.
_ITEM = compile_pattern(r"([ \t]*+)([-*+]|[0-9]{1,9}[.)])(?:[ \t]++(?:\[.\](?:[ \t]++|\Z))?+|\Z)")
_QUOTE = compile_pattern(r"[ \t]*+(?:>[ \t]?+)++")
_OWN_ID = compile_pattern(r"[ \t>]*+\^[A-Za-z0-9-]+[ \t]*+\Z")


class Block(NamedTuple):
    """A block that has an id. ``own`` is its text; ``whole`` also includes its id and the items nested in it."""

    own: Span
    whole: Span


def block_of_id(lines: list[str], blocks: list[Span], number: int) -> Block:
    """Return the block whose id stands on line ``number``.

    An id in a list item names the item and, as in Obsidian's embeds, the items nested in it. An id on a line of its own
    names the block before it; behind a list, the whole list.
    """
    position = bisect_right(blocks, number, key=lambda span: span.first) - 1
    if position < 0:
        return Block(Span(number, number), Span(number, number))
    block = blocks[position]
    first, last = block.first, max(block.last, number)
    item = _ITEM.match(lines[block.first - 1])
    stands_alone = number > block.first and _OWN_ID.match(lines[number - 1]) is not None
    if (
        item is not None
        and stands_alone
        and _is_blank(lines[number - 2])
        and _indent(lines[number - 1]) <= _width(item[1])
    ):
        first = _list_start(lines, blocks, position)
    elif item is not None:
        last = max(last, _last_nested(lines, blocks, position, item))
    own_last = block.last
    if stands_alone:
        own_last = number - 1
        while own_last > first and _is_blank(lines[own_last - 1]):
            own_last -= 1
    return Block(Span(first, own_last), Span(first, last))


def _list_start(lines: list[str], blocks: list[Span], position: int) -> int:
    """Return the first line of the list that the item at ``position`` ends."""
    start = blocks[position].first
    mark = ""
    for index in range(position, -1, -1):
        if index < position and not _only_blank_lines_between(lines, blocks[index], blocks[index + 1]):
            break
        line = lines[blocks[index].first - 1]
        if line[:1] in (" ", "\t"):
            continue  # nested, if there is an item above
        item = _ITEM.match(line)
        if item is None or item[2][-1] != (mark or item[2][-1]):  # CommonMark 0.31: another marker begins another list
            break
        start, mark = blocks[index].first, item[2][-1]
    return start


def _last_nested(lines: list[str], blocks: list[Span], position: int, item: re.Match[str]) -> int:
    """Return the last line of what is nested in the item at ``position``, 0 if nothing is."""
    last = 0
    for index in range(position + 1, len(blocks)):
        block = blocks[index]
        line = lines[block.first - 1]
        # CommonMark 0.31: text must be indented as far as the item's own, at least two columns; for items, one counts here.
        needed = _width(item[1]) + (1 if _ITEM.match(line) else 2)
        if _indent(line) < needed or not _only_blank_lines_between(lines, blocks[index - 1], block):
            break
        last = block.last
    return last


def in_shape(content: str, first_line: str) -> str:
    """Return the text that replaces a block beginning with ``first_line``, in the form of that block.

    In place of a list item, text without a marker gets the item's marker and the box of a task, and an item gets its
    indentation. In place of a quote, text that is no quote gets the quote's markers. Anything else stays as it is.
    """
    lines = content.split("\n")
    item = _ITEM.match(first_line)
    if item is not None:
        if _ITEM.match(lines[0]) is None:
            mark = item[0] if item[0][-1] in " \t" else item[0] + " "
            # A further line belongs to the item if it is indented like the item's text, to which the box belongs.
            margin = re.sub(r"[^\t]", " ", mark.partition("[")[0])
            return "\n".join([mark + lines[0].lstrip(" \t"), *_indented(lines[1:], margin)])
        return content if lines[0][:1] in (" ", "\t") else "\n".join(_indented(lines, item[1]))
    quote = _QUOTE.match(first_line)
    if quote is not None and _QUOTE.match(lines[0]) is None:
        return "\n".join((quote[0] + line).rstrip(" ") if _is_blank(line) else quote[0] + line for line in lines)
    return content


def with_id(content: str, name: str) -> str:
    """Return a block's text with its id: at the end of the block or of its first item, else on a line of its own."""
    text = content.rstrip("\n \t")
    if any(found.lower() == name.lower() for found in _ids(text).values()):
        return text
    lines = text.split("\n")
    blocks = read_body(text, 1).blocks
    places = [len(lines)]
    if blocks and _ITEM.match(lines[0]):  # the id names the item, whose text ends before the nested items
        places = [blocks[0].last, 1]
    for place in places:
        line = lines[place - 1]
        named = "\n".join([*lines[: place - 1], f"{line} ^{name}", *lines[place:]])
        if _kind(line) != "table" and line.strip(" \t-=*_") and _ids(named).get(place) == name:
            return named
    return f"{text}\n\n^{name}"


def above_id(content: str, below: list[str]) -> str:
    """Return a block's text such that its id, alone on the last of the lines ``below``, still names the block."""
    lines = [*content.split("\n"), *below]
    block = read_body("\n".join(lines), 1).blocks[-1]
    # Right below a table an id would be a row of it; right behind a code block it would be a paragraph.
    loose = block.first == len(lines) or _kind(lines[block.first - 1]) == "table"
    return content + "\n\n" if loose and len(below) == 1 else content


def indented_like(content: str, first_line: str) -> str:
    """Return lines to insert beside a block that begins with ``first_line``: if it is a list item, with its indentation."""
    item = _ITEM.match(first_line)
    if item is None or content[:1] in (" ", "\t"):
        return content
    return "\n".join(_indented(content.split("\n"), item[1]))


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
    if _OWN_ID.match(lines[-1]) and _is_blank(lines[-2] if number > 1 else ""):
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
    if _OWN_ID.match(line):
        return "id"
    return {">": "quote", "|": "table"}.get(line.lstrip(" \t")[0], "text")


def _ids(text: str) -> dict[int, str]:
    """Return the block ids of a part of a note, by line."""
    # Behind a blank line: two rules at the top would otherwise be frontmatter.
    return {found.line - 1: found.name for found in parse_note("\n" + text).block_ids}


def _indented(lines: list[str], margin: str) -> list[str]:
    return [line if _is_blank(line) else margin + line for line in lines]


def _only_blank_lines_between(lines: list[str], above: Span, below: Span) -> bool:
    return all(_is_blank(line) for line in lines[above.last : below.first - 1])


def _is_blank(line: str) -> bool:
    return not line.strip(" \t")


def _indent(line: str) -> int:
    return _width(line[: len(line) - len(line.lstrip(" \t"))])


def _width(spaces: str) -> int:
    """Return how many columns an indentation has; a tab reaches to the next multiple of four."""
    return len(spaces.expandtabs(4))
