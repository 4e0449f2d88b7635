"""The kinds of blocks that hold text themselves: what begins each, and which lines it goes on with. A small function each.

Blocks that hold blocks, and paragraphs, are ``lines``' matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vaultwire.markdown.block_patterns import (
    COMMENT_AND_TEXT,
    DEFINITION,
    FENCE,
    HEADING,
    HTML_BLOCK,
    HTML_LINE,
    MATH_END,
    ONLY_MARKS,
    RAW_HTML,
    RULE,
    TABLE_RULE,
    TOO_FAR,
    UNDERLINE,
)
from vaultwire.markdown.block_state import OpenBlocks, Row
from vaultwire.markdown.parsed_note import Heading

# ---------------------------------------------------------------------- blocks that go on


def _goes_on_with_code(blocks: OpenBlocks) -> bool:
    blocks.touch()
    if blocks.indent < TOO_FAR and blocks.closing is not None and blocks.closing.match(blocks.line, blocks.first):
        blocks.leaf = ""
    return True


def _goes_on_to_mark(blocks: OpenBlocks) -> bool:
    blocks.touch()
    if blocks.closing is not None and blocks.closing.search(blocks.line, blocks.position):
        blocks.leaf = ""
    return True


def _goes_on_indented(blocks: OpenBlocks) -> bool:
    if blocks.indent < TOO_FAR:
        return False
    blocks.touch()
    return True


# ---------------------------------------------------------------------- blocks that begin


def _begins_heading(blocks: OpenBlocks) -> bool:
    opening = HEADING.match(blocks.line, blocks.first)
    if opening is None:
        return False
    blocks.close()
    blocks.begin("heading")
    blocks.touch()
    row = blocks.row(opening.end())
    blocks.rows.append(row)
    _end_heading(blocks, len(opening[1]), _without_closing(blocks.line[opening.end() :]), row)
    return True


def _begins_marks(blocks: OpenBlocks) -> bool:
    """Read a line on which nothing stands but marks of these three: most lines that begin like one are list items or rows."""
    if ONLY_MARKS.match(blocks.line, blocks.first) is None:
        return False
    return _underlines(blocks) or _begins_table(blocks) or _begins_rule(blocks)


def _underlines(blocks: OpenBlocks) -> bool:
    if blocks.leaf != "text" or not blocks.is_whole or UNDERLINE.match(blocks.line, blocks.first) is None:
        return False
    texts = [row.text[row.content :].strip(" \t") for row in blocks.rows]
    begin = next((place for place, text in enumerate(texts) if not DEFINITION.match(text)), None)
    if begin is None:
        return False
    blocks.touch()
    _end_heading(blocks, 1 if blocks.line[blocks.first] == "=" else 2, " ".join(texts[begin:]), blocks.rows[begin])
    return True


def _end_heading(blocks: OpenBlocks, level: int, text: str, row: Row) -> None:
    """End a heading that begins on a row. It counts as one where Obsidian's outline has it."""
    if not blocks.containers and not row.is_comment:
        blocks.headings.append(Heading(level, text, row.number, blocks.number - row.number))
    blocks.leaf = "heading"
    blocks.end_leaf()


def _begins_rule(blocks: OpenBlocks) -> bool:
    if RULE.match(blocks.line, blocks.first) is None:
        return False
    blocks.close()
    blocks.begin("")
    if blocks.containers:
        blocks.touch()
    return True


def _begins_code(blocks: OpenBlocks) -> bool:
    fence = FENCE.match(blocks.line, blocks.first)
    if fence is None:
        return False
    blocks.close()
    blocks.begin("code")
    blocks.touch()
    blocks.closing = re.compile(rf"{re.escape(fence[0][0])}{{{len(fence[0])},}}[ \t]*\Z")
    return True


def _begins_html(blocks: OpenBlocks) -> bool:
    line, first = blocks.line, blocks.first
    for begins, ends in RAW_HTML:
        if begins.match(line, first):
            is_closed = ends.search(line, first) is not None
            if is_closed and COMMENT_AND_TEXT.match(line, first):
                return False
            blocks.close()
            blocks.begin("" if is_closed else "html")
            blocks.touch()
            blocks.closing = ends
            return True
    if not (HTML_BLOCK.match(line, first) or (blocks.leaf != "text" and HTML_LINE.match(line, first))):
        return False
    blocks.close()
    blocks.begin("html")
    blocks.touch()
    blocks.closing = None
    return True


def _begins_math(blocks: OpenBlocks) -> bool:
    line, first = blocks.line, blocks.first
    if not line.startswith("$$", first) or line.find("$$", first + 2) >= 0 or blocks.start + first >= blocks.last_math:
        return False
    blocks.math_marks += sum(row.text.count("$$", row.content) for row in blocks.rows[blocks.counted :])
    blocks.counted = len(blocks.rows)
    if blocks.math_marks % 2:
        return False  # ends math within the paragraph
    blocks.close()
    blocks.begin("math")
    blocks.touch()
    blocks.closing = MATH_END
    return True


def _begins_comment(blocks: OpenBlocks) -> bool:
    line, first = blocks.line, blocks.first
    if blocks.comment >= 0 or not line.startswith("%%", first) or line.find("%%", first + 2) >= 0:
        return False
    if blocks.start + first >= blocks.last_comment:
        return False
    blocks.close()
    blocks.begin("text")
    blocks.comment = len(blocks.containers)
    blocks.add_row()
    return True


def _begins_table(blocks: OpenBlocks) -> bool:
    if blocks.leaf != "text" or not blocks.is_whole or TABLE_RULE.match(blocks.line, blocks.first) is None:
        return False
    head = blocks.rows.pop()
    if blocks.rows:  # GFM: the line above is the table's head, not the paragraph's end
        blocks.end_leaf()
        if not blocks.containers:
            blocks.span_last = head.number - 1
            blocks.begin("table")
            blocks.touch()
            blocks.span_first = head.number
    blocks.leaf = "table"
    blocks.say([head])
    blocks.touch()
    return True


def _without_closing(text: str) -> str:
    """Return a heading's text without the closing run of ``#``."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


GO_ON: dict[str, Callable[[OpenBlocks], bool]] = {
    "code": _goes_on_with_code,
    "math": _goes_on_to_mark,
    "html": _goes_on_to_mark,
    "indented": _goes_on_indented,
}
# What may begin, by the first character of the line's text.
BEGIN: dict[str, Callable[[OpenBlocks], bool]] = {
    "#": _begins_heading,
    "`": _begins_code,
    "~": _begins_code,
    **dict.fromkeys("=-*_|:", _begins_marks),
    "<": _begins_html,
    "$": _begins_math,
    "%": _begins_comment,
}
