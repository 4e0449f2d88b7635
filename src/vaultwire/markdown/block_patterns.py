"""The patterns that start and end blocks. Which block they make is decided in ``block_parser`` and ``leaf_blocks``.

A pattern without an indentation of its own is matched where a line's text begins, behind its spaces and tabs.
"""

from __future__ import annotations

import re

from vaultwire.markdown.patterns import compile_pattern

CODE_INDENT = 4  # from this indentation on, in columns, a line is code and starts no other block
# Blocks nested deeper than this are text: it bounds the work for each line.
MAX_DEPTH = 100
ATX_HEADING = compile_pattern(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
SETEXT_UNDERLINE = compile_pattern(r" {0,3}(?:=+|-+)[ \t]*+\Z")
FENCE = compile_pattern(r"`{3,}(?=[^`]*\Z)|~{3,}")
LIST_MARKER = compile_pattern(r"(?:[-*+]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")
THEMATIC_BREAK = compile_pattern(r"(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")
DELIMITER_ROW = compile_pattern(r"(?=[^|]*+\|)[ \t|:]*-[-| :\t]*+\Z")
RULE_LINE = compile_pattern(
    r"[-=*_|: \t]++\Z"
)  # underlines, thematic breaks and delimiter rows have no other characters
# Lines of a paragraph that an underline does not make a heading: definitions, and lines that CommonMark takes for HTML.
NOT_HEADING_TEXT = compile_pattern(
    r"\[(?:\^[^\[\]]++\]:|[^\[\]]++\]:[ \t]*+\S++(?:[ \t]++[\"'(].*+)?[ \t]*+\Z)|<!--.*-->"
)
COMMENT_AND_TEXT = compile_pattern(r"<!--.*-->[ \t]*[^ \t]")
SPACES = compile_pattern(r"[ \t]*+")
# The first character of a line that may continue a quote or a list item; empty for a line that ended.
CONTINUATION_STARTS = ("", " ", "\t", ">")
# The first characters of quotes and list items.
CONTAINER_STARTS = frozenset(">-*+0123456789")
BULLETS = "-*+"
# A line that can only be text, or a list item with such text. Markup such as ``**`` may come first, too short to start a
# block. ``^`` is left out, because it may start a block id.
PLAIN_LINE = compile_pattern(r"(?:(?:[-*+]|[0-9]{1,9}[.)]) )?(?=[*_`=~]{0,2}[^ \t>#`~=*+_|:<$%^0-9-])")
ID_LINE = compile_pattern(r"\^[A-Za-z0-9-]+[ \t]*+\Z")
# CommonMark 0.31 "Raw HTML": an opening or a closing tag, behind its first bracket.
HTML_TAG = (
    r"(?:[A-Za-z][A-Za-z0-9-]*+"
    r"""(?:\s++[A-Za-z_:][A-Za-z0-9_.:-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?+)*+\s*+/?>"""
    r"|/[A-Za-z][A-Za-z0-9-]*+\s*+>)"
)
# CommonMark 0.31 "HTML blocks": what starts one, and what ends it; those of conditions 6 and 7 end at a blank line. By
# condition 7 any tag starts one, but only if it is alone on a line and not in a paragraph, which may begin with <mark>.
RAW_HTML = (
    (
        compile_pattern(r"<(?:pre|script|style|textarea)(?:[\s>]|\Z)", re.IGNORECASE),
        compile_pattern("</(?:pre|script|style|textarea)>", re.IGNORECASE),
    ),
    (compile_pattern(r"<!--"), re.compile("-->")),
    (compile_pattern(r"<\?"), re.compile(r"\?>")),
    (compile_pattern(r"<!\[CDATA\["), re.compile("]]>")),
    (compile_pattern(r"<![A-Za-z]"), re.compile(">")),
)
HTML_BLOCK = compile_pattern(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div"
    r"|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr"
    r"|track|ul)(?:[\s/>]|\Z)",
    re.IGNORECASE,
)
HTML_LINE = compile_pattern(f"<{HTML_TAG}[ \t]*\\Z")
MATH_END = compile_pattern(r"\$\$")
