"""One pass over a note: its headings and tags, knowing what is code, math, comment or HTML.

The rules are Obsidian's as observed, not CommonMark's in full: where a reader could not tell the difference, the simpler
rule stands. Line numbers count from 1 in the whole note.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultwire.markdown.properties import parse_frontmatter

# Obsidian's own token: everything but general punctuation, ASCII punctuation other than - _ /, and white space.
_TAG = re.compile(r"#([^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_FENCE = re.compile(r"[ \t>]*(`{3,}(?=[^`]*\Z)|~{3,})")
_FENCE_MARKS = ("`", "~")
_LIST_MARKS = tuple("-*+0123456789")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_COMMENT_END = re.compile("-->")
_MATH_END = re.compile(r"\$\$")
_INDENTED = re.compile(r"(?: {4}|\t)")
_HTML_BLOCK = re.compile(r" {0,3}</?[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|\Z)")
_BACKTICKS = re.compile(r"`+")
# What on one line is not prose besides: math, wikilinks, link destinations. Each part ends at the first character it
# excludes, so a 300 KB line costs no more than its length.
_INLINE = re.compile(r"\$\$[^$]*+\$\$|(?<![\\$])\$(?=[^\s$])[^$]*+\$(?!\d)|\[\[[^\[\]]*+\]\]|(?<=\])\([^()\s]*+\)")


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
    tags = {tag.casefold(): tag for tag in reversed(_frontmatter_tags(frontmatter.texts("tags")))}
    tags = dict(reversed(tags.items()))
    headings: list[Heading] = []
    first_line = text.count("\n", 0, frontmatter.end) + 1
    for number, line in _prose(text[frontmatter.end :], first_line):
        if "#" not in line:
            continue
        heading = _HEADING.match(line)
        if heading is not None:
            headings.append(Heading(len(heading[1]), _heading_text(line[heading.end() :]), number))
        for tag in _line_tags(line):
            tags.setdefault(tag.casefold(), tag)
    return ParsedNote(headings, list(tags.values()), frontmatter.problems)


def has_tag(tags: list[str], wanted: str) -> bool:
    """Tell whether one of the tags is ``wanted`` or lies below it (``a`` has ``a/b``), whatever the case."""
    key = wanted.removeprefix("#").strip("/").casefold()
    return any(tag.casefold() == key or tag.casefold().startswith(key + "/") for tag in tags)


def _prose(body: str, first_line: int) -> list[tuple[int, str]]:
    """Return the lines outside code, math, comments and HTML that may hold a heading or tag, numbered, inline code and
    the like blanked out.
    """
    lines: list[tuple[int, str]] = []
    closing: re.Pattern[str] | None = None  # what ends the block we are in
    in_html = in_list = in_code = False
    blank_before = True
    for number, line in enumerate(body.split("\n"), start=first_line):
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
        elif blank_before and not line[0].isspace():
            in_list = False
        in_html = in_html or (first == "<" and _HTML_BLOCK.match(line) is not None)
        in_code = not in_list and (in_code or blank_before) and _INDENTED.match(line) is not None
        blank_before = False
        if in_html or in_code:
            continue
        if fence is not None:
            closing = _closing_fence(fence[1])
        elif "#" in line or "<!--" in line or "$$" in line:
            prose, closing = _prose_of_line(line)
            lines.append((number, prose))
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
    line = _INLINE.sub(lambda span: " " if span[0][0] == "$" else "_" * len(span[0]), line)
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
            return " ".join(pieces), True
        position = end + len("-->")
    return " ".join([*pieces, line[position:]]), False


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
            pieces += [line[position : runs[index][0]], " "]
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


def _frontmatter_tags(values: list[str]) -> list[str]:
    """Return the tags a ``tags`` property gives: ``#`` is optional, text with blanks or commas is several."""
    if len(values) == 1:
        values = re.split(r"[,\s]+", values[0])
    cleaned = [value.strip().removeprefix("#").strip("/") for value in values]
    return [tag for tag in cleaned if tag and not re.search(r"\s", tag) and not tag.isdecimal()]
