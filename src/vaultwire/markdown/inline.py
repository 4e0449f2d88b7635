"""One line of prose: what on it is code, math, comment or HTML, and the links, tags and block id that stand outside these.

Each pattern ends at the first character it excludes, so a line costs its length and no more, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vaultwire.markdown.links import decoded_destination, split_display

# Obsidian's own token: everything but general punctuation, ASCII punctuation other than - _ /, and white space.
_TAG = re.compile(r"#([^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
_BLOCK_ID = re.compile(r"\^([A-Za-z0-9-]+)[ \t]*+\Z")
_COMMENT_END = re.compile("-->")
_MATH_END = re.compile(r"\$\$")
_BACKTICKS = re.compile(r"`+")
# Inline math: no blank inside its marks, no digit behind them (money).
_NO_PROSE = re.compile(
    r"\$(?:\$[^$]*+\$\$|(?<![\\$]\$)(?=[^\s$])[^$]*+(?<!\s)\$(?!\d))"
    r"|</?[A-Za-z][^<>]*+>"
)
# Each alternative begins with one literal character: the engine then skips plain text without trying any of them.
_TOKEN = re.compile(
    r"\\[\\\[\]]"
    # engine facts §2.1: one ``]`` does not end a wikilink, of nested ones the inner is the link
    r"|\[(?:\[(?!\[)(?P<wiki>(?:[^\[\]]++|\[(?!\[)|\](?!\]))*+)\]\])?"
    # §2.1: ``<a b>``, or no blank but in front of a title; parentheses in pairs, one within another
    r"|\](?P<target>\([ \t]*+"
    r"(?:<(?P<angled>[^<>]*+)>|(?!<)(?P<bare>(?:[^\s()\\]++|\\.|\((?:[^\s()\\]++|\\.|\([^\s()]*+\))*+\))*+))"
    r"""(?:[ \t]++(?:"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'|\((?:[^()\\]++|\\.)*+\)))?[ \t]*+\))?"""
    r"|\$(?:(?P<math>\$[^$]*+\$\$|(?<![\\$]\$)(?=[^\s$])[^$]*+(?<!\s)\$(?!\d))|(?P<open>\$))?"
    r"|<(?P<html>/?[A-Za-z][^<>]*+>)?"
)
# Stands for what is not prose. A punctuation mark, because those block a tag right behind them, as ``]`` and ``)`` do.
_BLANKED = "."


class RawLink(NamedTuple):
    """A link and what it stands for: ``linktext``, ``display``, ``is_embed``, ``is_markdown`` of the model's Link.

    Where it stands, in characters from the line's start: from its first bracket on (the ``!`` of an embed is before that),
    its target (of a wikilink all between the brackets, of a Markdown link the destination without ``<>``), its end.
    """

    linktext: str
    display: str
    is_embed: bool
    is_markdown: bool
    start: int
    target: int
    target_end: int
    end: int


def read_line(line: str) -> tuple[str, list[RawLink], re.Pattern[str] | None]:
    """Return the line with all that is not prose blanked out, its links, and what ends the block it opens, if it does."""
    masked = _without_code(line) if "`" in line else line
    closing: re.Pattern[str] | None = None
    if "<" in masked and "<!--" in masked:
        masked, is_open = _without_comments(masked)
        closing = _COMMENT_END if is_open else None
    if "[[" in masked or "](" in masked:
        plain = _wikilinks(line, masked)
        if plain is not None:
            return *plain, closing
        prose, links, is_math = _links(line, masked)
        return prose, links, closing or (_MATH_END if is_math else None)
    if "$" in masked or "<" in masked:
        masked = _NO_PROSE.sub(_BLANKED, masked)
        start = masked.find("$$") if closing is None else -1
        if start >= 0:
            return masked[:start] + _BLANKED, [], _MATH_END
    return masked, [], closing


def _wikilinks(line: str, masked: str) -> tuple[str, list[RawLink]] | None:
    """Return what ``_links`` does, in a third of the time, for a line with nothing but wikilinks; None for any other."""
    if "\\" in masked or "$" in masked or "<" in masked or ("(" in masked and "](" in masked):
        return None
    links: list[RawLink] = []
    pieces: list[str] = []
    position = 0
    while (start := masked.find("[[", position)) >= 0:
        first = start + 2
        last = masked.find("]", first)
        if last < 0 or masked.find("[", first, last) >= 0 or masked[last + 1 : last + 2] != "]":
            return None
        linktext, display = split_display(line[first:last])
        if linktext.strip("# \t"):
            links.append(RawLink(linktext, display, _is_embed(masked, start), False, start, first, last, last + 2))
        pieces.append(masked[position:start])
        position = last + 2
    pieces.append(masked[position:])
    return _BLANKED.join(pieces), links


def _links(line: str, masked: str) -> tuple[str, list[RawLink], bool]:
    """Return the prose of a line, its links, and whether it leaves math open.

    ``masked`` is as long as ``line``: it says where links are, the line itself what they say.
    """
    links: list[RawLink] = []
    pieces: list[str] = []
    position = 0  # up to where pieces hold the line
    brackets: list[int] = []
    closed = 0  # a plain bracket before this one holds a link already: CommonMark 0.31, links do not contain links
    for token in _TOKEN.finditer(masked):
        kind, start = token.lastgroup, token.start()
        if kind is None:
            if masked[start] == "[":
                brackets.append(start)
            elif masked[start] == "]" and brackets:
                brackets.pop()
            continue
        if kind == "wiki":
            end = token.end()
            linktext, display = split_display(line[start + 2 : end - 2])
            links.append(RawLink(linktext, display, _is_embed(masked, start), False, start, start + 2, end - 2, end))
        elif kind == "target":
            opening = brackets.pop() if brackets else -1
            is_embed = _is_embed(masked, opening)
            if opening >= (0 if is_embed else closed):
                closed = closed if is_embed else start
                first, end = token.span("bare" if token["angled"] is None else "angled")
                linktext = decoded_destination(line[first:end])
                display = line[opening + 1 : start]
                links.append(RawLink(linktext, display, is_embed, True, opening, first, end, token.end()))
            start += 1
        pieces.append(masked[position:start])
        position = token.end()
        if kind == "open":
            pieces.append("")  # blanked to the line's end
            break
    else:
        pieces.append(masked[position:])
        kind = None
    prose = _BLANKED.join(pieces)
    return prose, [link for link in links if link.linktext.strip("# \t")], kind == "open"


def _is_embed(masked: str, bracket: int) -> bool:
    return bracket > 0 and masked[bracket - 1] == "!" and masked[bracket - 2 : bracket - 1] != "\\"


def _without_comments(line: str) -> tuple[str, bool]:
    """Return the line with its HTML comments blanked out, as long as it was, and whether one stays open."""
    pieces: list[str] = []
    position = 0
    while (start := line.find("<!--", position)) >= 0:
        pieces.append(line[position:start])
        end = line.find("-->", start)
        if end < 0:
            return "".join([*pieces, _BLANKED]), True
        position = end + len("-->")
        pieces.append(_BLANKED * (position - start))
    return "".join([*pieces, line[position:]]), False


def _without_code(line: str) -> str:
    """Return the line with its code spans blanked out, as long as it was.

    A span is a run of backticks up to the next run of the same length.
    """
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
            start = runs[index][0]
            pieces.append(line[position:start])
            index = closing[index]
            position = runs[index][1]
            pieces.append(_BLANKED * (position - start))
        index += 1
    return "".join([*pieces, line[position:]])


def line_tags(prose: str) -> list[str]:
    """Return the tags on one line of prose."""
    return [prose[first:last] for _, first, last in tag_places(prose)]


def tag_places(prose: str) -> Iterator[tuple[int, int, int]]:
    """Yield the ``#`` of each tag on one line of prose, and where its name begins and ends.

    A tag starts the line or follows white space, an underscore or another tag; any other punctuation before it blocks
    it, except the bar of a table row.
    """
    in_table = prose.lstrip().startswith("|")
    end_of_tag = -1
    for match in _TAG.finditer(prose):
        mark = match.start()
        before = prose[mark - 1] if mark else " "
        if not (before.isspace() or before == "_" or mark == end_of_tag or (in_table and before == "|")):
            continue
        end_of_tag = match.end()
        name = match[1].rstrip("_") if before == "_" else match[1]
        first = mark + 1 + len(name) - len(name.lstrip("/"))
        name = name.strip("/")
        if name and not name.isdecimal():
            yield mark, first, first + len(name)


def line_block_id(prose: str) -> str:
    """Return the block id a line of prose ends with, empty if none.

    Engine facts §2.1: Latin letters, digits and dashes, at the line's end behind a blank or alone on the line.
    """
    start = prose.rfind("^")
    match = _BLOCK_ID.match(prose, start) if start >= 0 else None
    if match is None:
        return ""
    return match[1] if start == 0 or prose[start - 1] in " \t" or not prose[:start].strip(" \t>") else ""
