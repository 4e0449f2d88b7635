"""The marks by which blocks begin and end, as patterns. What is made of them is ``lines``' matter.

Those without an indentation of their own are matched where a line's text begins, behind its spaces and tabs.
"""

from __future__ import annotations

import re

TOO_FAR = 4  # columns a line is indented at least to be code and to begin no other block
# More blocks within each other than this are text: what each line costs is bounded by it.
MAX_DEPTH = 100
HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*+\Z")
FENCE = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}")
MARK = re.compile(r"(?:[-*+]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")
RULE = re.compile(r"(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")
TABLE_RULE = re.compile(r"(?=[^|]*+\|)[ \t|:]*-[-| :\t]*+\Z")
ONLY_MARKS = re.compile(r"[-=*_|: \t]++\Z")  # underlines, rules and tables' rules have no other character
# Lines of a paragraph that are no text to be underlined: definitions, and what CommonMark has for HTML.
DEFINITION = re.compile(r"\[(?:\^[^\[\]]++\]:|[^\[\]]++\]:[ \t]*+\S++(?:[ \t]++[\"'(].*+)?[ \t]*+\Z)|<!--.*-->")
COMMENT_AND_TEXT = re.compile(r"<!--.*-->[ \t]*[^ \t]")
SPACES = re.compile(r"[ \t]*+")
# How a line begins that may go on with a quote or a list item; as empty as one that has ended.
MARGIN = ("", " ", "\t", ">")
# What a quote or list item begins with.
CONTAINER_MARKS = frozenset(">-*+0123456789")
BULLETS = "-*+"
# Text that can be nothing else, or a list item with such text: the usual line. Marks of bold text and the like may come
# first, too few to begin a block; ``^`` is left out, as it may begin a block's id.
USUAL = re.compile(r"(?:(?:[-*+]|[0-9]{1,9}[.)]) )?(?=[*_`=~]{0,2}[^ \t>#`~=*+_|:<$%^0-9-])")
OWN_ID = re.compile(r"\^[A-Za-z0-9-]+[ \t]*+\Z")
# CommonMark 0.31 "Raw HTML": an opening or a closing tag, behind its first bracket.
HTML_TAG = (
    r"(?:[A-Za-z][A-Za-z0-9-]*+"
    r"""(?:\s++[A-Za-z_:][A-Za-z0-9_.:-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?+)*+\s*+/?>"""
    r"|/[A-Za-z][A-Za-z0-9-]*+\s*+>)"
)
# CommonMark 0.31 "HTML blocks": what begins one, and what ends it; conditions 6 and 7 end at an empty line. By condition 7
# any tag begins one, but only where it stands alone on a line and not in a paragraph, which may well begin with <mark>.
RAW_HTML = (
    (
        re.compile(r"<(?:pre|script|style|textarea)(?:[\s>]|\Z)", re.IGNORECASE),
        re.compile("</(?:pre|script|style|textarea)>", re.IGNORECASE),
    ),
    (re.compile(r"<!--"), re.compile("-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<!\[CDATA\["), re.compile("]]>")),
    (re.compile(r"<![A-Za-z]"), re.compile(">")),
)
HTML_BLOCK = re.compile(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div"
    r"|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr"
    r"|track|ul)(?:[\s/>]|\Z)",
    re.IGNORECASE,
)
HTML_LINE = re.compile(f"<{HTML_TAG}[ \t]*\\Z")
MATH_END = re.compile(r"\$\$")
