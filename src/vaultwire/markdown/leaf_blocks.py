"""Leaf blocks other than paragraphs: which line starts each, and which lines continue it. A small function for each kind.

Quotes, list items and paragraphs are in ``block_parser``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vaultwire.markdown.block_patterns import (
    ATX_HEADING,
    CODE_INDENT,
    COMMENT_AND_TEXT,
    DELIMITER_ROW,
    FENCE,
    HTML_BLOCK,
    HTML_LINE,
    MATH_END,
    NOT_HEADING_TEXT,
    RAW_HTML,
    RULE_LINE,
    SETEXT_UNDERLINE,
    THEMATIC_BREAK,
)
from vaultwire.markdown.block_state import BlockState, TextLine
from vaultwire.markdown.parsed_note import Heading

# ---------------------------------------------------------------------- lines that continue a block


def _continue_code(blocks: BlockState) -> bool:
    blocks.extend_span()
    end = blocks.end_pattern
    if blocks.indent < CODE_INDENT and end is not None and end.match(blocks.line, blocks.text_start):
        blocks.leaf = ""
    return True


def _continue_to_end(blocks: BlockState) -> bool:
    blocks.extend_span()
    if blocks.end_pattern is not None and blocks.end_pattern.search(blocks.line, blocks.position):
        blocks.leaf = ""
    return True


def _continue_indented(blocks: BlockState) -> bool:
    if blocks.indent < CODE_INDENT:
        return False
    blocks.extend_span()
    return True


# ---------------------------------------------------------------------- lines that start a block


def _start_heading(blocks: BlockState) -> bool:
    opening = ATX_HEADING.match(blocks.line, blocks.text_start)
    if opening is None:
        return False
    blocks.close_unmatched()
    blocks.open_leaf("heading")
    blocks.extend_span()
    line = blocks.text_line(opening.end())
    blocks.text_lines.append(line)
    _end_heading(blocks, len(opening[1]), _without_closing_marks(blocks.line[opening.end() :]), line)
    return True


def _start_rule_line(blocks: BlockState) -> bool:
    """Read a line of nothing but rule characters: an underline, a table's delimiter row or a thematic break."""
    if RULE_LINE.match(blocks.line, blocks.text_start) is None:
        return False
    return _underline(blocks) or _start_table(blocks) or _start_thematic_break(blocks)


def _underline(blocks: BlockState) -> bool:
    if (
        blocks.leaf != "paragraph"
        or not blocks.all_matched
        or SETEXT_UNDERLINE.match(blocks.line, blocks.text_start) is None
    ):
        return False
    texts = [line.text[line.content :].strip(" \t") for line in blocks.text_lines]
    begin = next((place for place, text in enumerate(texts) if not NOT_HEADING_TEXT.match(text)), None)
    if begin is None:
        return False
    blocks.extend_span()
    _end_heading(
        blocks, 1 if blocks.line[blocks.text_start] == "=" else 2, " ".join(texts[begin:]), blocks.text_lines[begin]
    )
    return True


def _end_heading(blocks: BlockState, level: int, text: str, line: TextLine) -> None:
    """End a heading that begins on a line. It is kept only if Obsidian's outline has it."""
    if not blocks.containers and not line.is_comment:
        blocks.headings.append(Heading(level, text, line.number, blocks.number - line.number))
    blocks.leaf = "heading"
    blocks.close_leaf()


def _start_thematic_break(blocks: BlockState) -> bool:
    if THEMATIC_BREAK.match(blocks.line, blocks.text_start) is None:
        return False
    blocks.close_unmatched()
    blocks.open_leaf("")
    if blocks.containers:
        blocks.extend_span()
    return True


def _start_code(blocks: BlockState) -> bool:
    fence = FENCE.match(blocks.line, blocks.text_start)
    if fence is None:
        return False
    blocks.close_unmatched()
    blocks.open_leaf("code")
    blocks.extend_span()
    blocks.end_pattern = re.compile(rf"{re.escape(fence[0][0])}{{{len(fence[0])},}}[ \t]*\Z")
    return True


def _start_html(blocks: BlockState) -> bool:
    line, first = blocks.line, blocks.text_start
    for begins, ends in RAW_HTML:
        if begins.match(line, first):
            is_closed = ends.search(line, first) is not None
            if is_closed and COMMENT_AND_TEXT.match(line, first):
                return False
            blocks.close_unmatched()
            blocks.open_leaf("" if is_closed else "html")
            blocks.extend_span()
            blocks.end_pattern = ends
            return True
    if not (HTML_BLOCK.match(line, first) or (blocks.leaf != "paragraph" and HTML_LINE.match(line, first))):
        return False
    blocks.close_unmatched()
    blocks.open_leaf("html")
    blocks.extend_span()
    blocks.end_pattern = None
    return True


def _start_math(blocks: BlockState) -> bool:
    line, first = blocks.line, blocks.text_start
    if not line.startswith("$$", first) or line.find("$$", first + 2) >= 0 or blocks.start + first >= blocks.last_math:
        return False
    blocks.math_marks += sum(line.text.count("$$", line.content) for line in blocks.text_lines[blocks.counted_lines :])
    blocks.counted_lines = len(blocks.text_lines)
    if blocks.math_marks % 2:
        return False  # it ends math within the paragraph
    blocks.close_unmatched()
    blocks.open_leaf("math")
    blocks.extend_span()
    blocks.end_pattern = MATH_END
    return True


def _start_comment(blocks: BlockState) -> bool:
    line, first = blocks.line, blocks.text_start
    if blocks.comment >= 0 or not line.startswith("%%", first) or line.find("%%", first + 2) >= 0:
        return False
    if blocks.start + first >= blocks.last_comment:
        return False
    blocks.close_unmatched()
    blocks.open_leaf("paragraph")
    blocks.comment = len(blocks.containers)
    blocks.add_line()
    return True


def _start_table(blocks: BlockState) -> bool:
    if (
        blocks.leaf != "paragraph"
        or not blocks.all_matched
        or DELIMITER_ROW.match(blocks.line, blocks.text_start) is None
    ):
        return False
    header = blocks.text_lines.pop()
    if blocks.text_lines:  # GFM: the line above is the table's header line, not the end of the paragraph
        blocks.close_leaf()
        blocks.open_leaf("table")
        blocks.take_line(header.number)
    blocks.leaf = "table"
    blocks.read_text([header])
    blocks.extend_span()
    return True


def _without_closing_marks(text: str) -> str:
    """Return a heading's text without the closing run of ``#``."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


CONTINUE: dict[str, Callable[[BlockState], bool]] = {
    "code": _continue_code,
    "math": _continue_to_end,
    "html": _continue_to_end,
    "indented": _continue_indented,
}
# The blocks that may start, by the first character of the line's text.
START: dict[str, Callable[[BlockState], bool]] = {
    "#": _start_heading,
    "`": _start_code,
    "~": _start_code,
    **dict.fromkeys("=-*_|:", _start_rule_line),
    "<": _start_html,
    "$": _start_math,
    "%": _start_comment,
}
