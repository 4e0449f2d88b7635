"""One pass over a note: its headings and tags, knowing what is code, math, comment or HTML.

The rules are Obsidian's as observed, not CommonMark's in full: where a reader could not tell the difference, the simpler
rule stands. Line numbers count from 1 in the whole note.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultwire.markdown.properties import Frontmatter, parse_frontmatter

# Obsidian's own token: everything but general punctuation, ASCII punctuation other than - _ /, and white space.
_TAG = re.compile(r"#([^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_FENCE = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t>]++)*+(`{3,}(?=[^`]*\Z)|~{3,})")
_FENCE_MARKS = ("`", "~")
_LIST_MARKS = tuple("-*+0123456789")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_COMMENT_END = re.compile("-->")
_MATH_END = re.compile(r"\$\$")
_INDENTED = re.compile(r"(?: {4}|\t)")
# CommonMark 0.31 "HTML blocks": these begin one anywhere (conditions 1 and 6), any other tag only where it stands alone
# on a line behind a blank one (condition 7), so that a paragraph may well begin with <mark>.
_HTML_BLOCK = re.compile(
    r" {0,3}</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div"
    r"|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr"
    r"|track|ul)(?:[\s/>]|\Z)",
    re.IGNORECASE,
)
_HTML_LINE = re.compile(r" {0,3}</?[A-Za-z][A-Za-z0-9-]*(?:[\s/][^<>]*+)?>[ \t]*\Z")
_RAW_HTML = re.compile(r" {0,3}<(?:pre|script|style|textarea)(?:[\s>]|\Z)", re.IGNORECASE)
_RAW_HTML_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_BACKTICKS = re.compile(r"`+")
# What on one line is not prose besides: math, wikilinks, link destinations, HTML tags. Each part ends at the first
# character it excludes, so a 300 KB line costs no more than its length.
_INLINE = re.compile(
    r"\$\$[^$]*+\$\$|(?<![\\$])\$(?=[^\s$])[^$]*+(?<!\s)\$(?!\d)"
    r"|\[\[[^\[\]]*+\]\]|(?<=\])\([^()\s]*+\)|</?[A-Za-z][^<>]*+>"
)
# Stands for what is not prose. A punctuation mark, because those block a tag right behind them, as ``]`` and ``)`` do.
_BLANKED = "."


class Heading(NamedTuple):
    """A heading's level (1 to 6), text and line number."""

    level: int
    text: str
    line: int


class ParsedNote(NamedTuple):
    """What a note holds. ``tags`` are as written, without ``#``, each once whatever its case, in order of appearance."""

    headings: list[Heading]
    tags: list[str]
    problems: list[str]


def parse_note(text: str) -> ParsedNote:
    """Return the structure of a note whose line ends are ``\\n``. Never fails; what is odd is in ``problems``."""
    frontmatter = parse_frontmatter(text)
    tags = {tag.casefold(): tag for tag in reversed(_frontmatter_tags(frontmatter))}
    tags = dict(reversed(tags.items()))
    headings: list[Heading] = []
    first_line = text.count("\n", 0, frontmatter.end) + 1
    for number, line, prose in _prose(text[frontmatter.end :], first_line):
        heading = _HEADING.match(line)
        if heading is not None:
            headings.append(Heading(len(heading[1]), _heading_text(line[heading.end() :]), number))
        for tag in _line_tags(prose):
            tags.setdefault(tag.casefold(), tag)
    return ParsedNote(headings, list(tags.values()), frontmatter.problems)


def has_tag(tags: list[str], wanted: str) -> bool:
    """Tell whether one of the tags is ``wanted`` or lies below it (``a`` has ``a/b``), whatever the case."""
    key = wanted.removeprefix("#").strip("/").casefold()
    return any(tag.casefold() == key or tag.casefold().startswith(key + "/") for tag in tags)


def _prose(body: str, first_line: int) -> list[tuple[int, str, str]]:  # noqa: C901 - one loop, a branch per kind of block
    """Return the lines outside code, math, comments and HTML that may hold a heading or tag: number, the line itself, and
    the line with inline code and the like blanked out.
    """
    lines: list[tuple[int, str, str]] = []
    closing: re.Pattern[str] | None = None  # what ends the block we are in
    in_html = in_list = in_code = in_quote = False
    blank_before = True
    for number, line in enumerate(body.split("\n"), start=first_line):
        if closing is not None and in_quote and not line.lstrip(" \t").startswith(">"):
            closing = None  # a code block ends with the quote it stands in
        if closing is not None:
            if closing.search(line):
                closing = None
            continue
        first = line.lstrip(" \t>")[:1]  # decides cheaply which patterns can match at all
        if not first and not line.strip():
            blank_before, in_html = True, False
            continue
        fence = _FENCE.match(line) if first in _FENCE_MARKS else None
        if first in _LIST_MARKS and _LIST_ITEM.match(line):
            in_list = True
            fence = _FENCE.match(line)
        elif blank_before and not line[0].isspace():
            in_list = False
        if first == "<" and not in_html:
            if _RAW_HTML.match(line):
                closing, in_quote = None if _RAW_HTML_END.search(line) else _RAW_HTML_END, False
                continue
            in_html = bool(_HTML_BLOCK.match(line) or (blank_before and _HTML_LINE.match(line)))
        in_code = not in_list and (in_code or blank_before) and _INDENTED.match(line) is not None
        blank_before = False
        if in_html or in_code:
            continue
        if fence is not None:
            closing, in_quote = _closing_fence(fence[1]), line.lstrip(" \t").startswith(">")
        elif "#" in line or "<!--" in line or "$$" in line:
            prose, closing = _prose_of_line(line)
            in_quote = False
            lines.append((number, line, prose))
    return lines


def _closing_fence(mark: str) -> re.Pattern[str]:
    """Return what closes a code block: a run of the same mark at least as long, nothing behind it."""
    return re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")


def _prose_of_line(line: str) -> tuple[str, re.Pattern[str] | None]:
    """Return the line with all that is not prose blanked out, and what ends the block it opens, if it opens one."""
    if "`" in line:
        line = _without_code(line)
    if "<!--" in line:
        line, is_open = _without_comments(line)
        if is_open:
            return line, _COMMENT_END
    line = _INLINE.sub(_BLANKED, line)
    start = line.find("$$")
    return (line, None) if start < 0 else (line[:start], _MATH_END)


def _without_comments(line: str) -> tuple[str, bool]:
    """Return the line with its HTML comments blanked out, and whether one stays open."""
    pieces: list[str] = []
    position = 0
    while (start := line.find("<!--", position)) >= 0:
        pieces.append(line[position:start])
        end = line.find("-->", start)
        if end < 0:
            return _BLANKED.join(pieces), True
        position = end + len("-->")
    return _BLANKED.join([*pieces, line[position:]]), False


def _without_code(line: str) -> str:
    """Return the line with its code spans blanked out: a run of backticks up to the next run of the same length."""
    runs = [(run.start(), run.end()) for run in _BACKTICKS.finditer(line)]
    closing: dict[int, int] = {}  # run → next run of its length
    latest: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        if length in latest:
            closing[index] = latest[length]
        latest[length] = index
    pieces: list[str] = []
    index = position = 0
    while index < len(runs):
        if index in closing:
            pieces += [line[position : runs[index][0]], _BLANKED]
            index = closing[index]
            position = runs[index][1]
        index += 1
    return "".join([*pieces, line[position:]])


def _heading_text(text: str) -> str:
    """Return a heading's text without the closing run of ``#``."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _line_tags(line: str) -> list[str]:
    """Return the tags on one line of prose.

    A tag starts the line or follows white space, an underscore or another tag; any other punctuation before it blocks
    it, except the bar of a table row.
    """
    tags: list[str] = []
    in_table = line.lstrip().startswith("|")
    end_of_tag = -1
    for match in _TAG.finditer(line):
        before = line[match.start() - 1] if match.start() else " "
        if not (before.isspace() or before == "_" or match.start() == end_of_tag or (in_table and before == "|")):
            continue
        end_of_tag = match.end()
        tag = match[1].rstrip("_") if before == "_" else match[1]
        tag = tag.strip("/")
        if tag and not tag.isdecimal():
            tags.append(tag)
    return tags


def _frontmatter_tags(frontmatter: Frontmatter) -> list[str]:
    """Return the tags a ``tags`` property gives: ``#`` is optional; a text with blanks or commas is several, a list's
    element with blanks is none.
    """
    values = frontmatter.texts("tags")
    if not frontmatter.is_list("tags"):
        values = re.split(r"[,\s]+", " ".join(values))
    cleaned = [value.strip().removeprefix("#").strip("/") for value in values]
    return [tag for tag in cleaned if tag and not re.search(r"\s", tag) and not tag.isdecimal()]
