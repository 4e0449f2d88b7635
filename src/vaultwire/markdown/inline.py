"""The inline parser: code, math, comments and HTML in the text of one paragraph, heading or table row, and the links, tags
and block ids outside of these. Which lines make a paragraph is decided in ``block_parser``.

Each pattern ends at the first character that it excludes, so reading takes time in proportion to the text, for any text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from vaultwire.markdown.patterns import HTML_TAG, compile_pattern

# The parts of a link: linkpath, subpath and display text between ``[[`` and ``]]``, and the destination of a Markdown link.
#
# ``inline`` finds the links of a text.

# At least two letters: ``C:`` is no protocol.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
# CommonMark 0.31 "Backslash escapes": ASCII punctuation only.
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_RESERVED = re.compile(r"[^A-Za-z0-9/._~-]")
_PERCENTS = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


class LinkText(NamedTuple):
    """``linkpath#subpath|display``; missing parts are empty."""

    linkpath: str
    subpath: str
    display: str


def parse_linktext(text: str) -> LinkText:
    """Return the parts of a link text, with or without brackets and the ``!`` of an embed.

    The display text is split off first, then the path ends at the first ``#`` (obsidian.d.ts ``parseLinktext``). Inside
    a table the bar is written ``\\|``.
    """
    target, display = split_display(unbracketed(text))
    linkpath, _, subpath = target.partition("#")
    return LinkText(linkpath.strip(), subpath.strip(), display)


def is_wikilink(text: str) -> bool:
    """Tell whether a text is written as a wikilink or an embed."""
    return text.strip().startswith(("[[", "![["))


def unbracketed(text: str) -> str:
    """Return the text without the brackets of a wikilink, and without the ``!`` of an embed, if it has them."""
    text = text.strip()
    return text.removeprefix("!")[2:-2] if is_wikilink(text) and text.endswith("]]") else text


def linkpath_written(text: str) -> str:
    """Return the linkpath of a text that is written as a wikilink; any other text as it is, without spaces around it."""
    return parse_linktext(text).linkpath if is_wikilink(text) else text.strip()


def split_display(text: str) -> tuple[str, str]:
    """Split ``linktext|display`` at its first bar, which a table writes ``\\|`` (engine facts §2.1)."""
    if "|" not in text:
        return text.strip(), ""
    target, _, display = text.replace("\\|", "|").partition("|")
    return target.strip(), display.strip()


def decoded_destination(destination: str) -> str:
    """Return the link text of a Markdown link's destination; empty if it leads out of the vault.

    Percent-encoded bytes are decoded as UTF-8 (engine facts §2.1); if they are not UTF-8, the text stays as written.
    """
    if _SCHEME.match(destination):
        return ""
    if "\\" in destination:
        destination = _ESCAPED.sub(r"\1", destination)
    if "%" not in destination:
        return destination.strip()
    try:
        return percent_decoded(destination).strip()
    except UnicodeDecodeError:
        return destination.strip()


def percent_decoded(text: str) -> str:
    """Return the text with percent-encoded bytes decoded as UTF-8. Raises UnicodeDecodeError."""
    return _PERCENTS.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)


def percent_encoded(text: str) -> str:
    """Return the text with all percent-encoded but slashes and the characters that RFC 3986 §2.3 calls unreserved."""
    return _RESERVED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


# Obsidian's own token: everything but general punctuation, ASCII punctuation other than - _ /, and white space.
_TAG = compile_pattern(r"#([^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
_BLOCK_ID = compile_pattern(r"\^([A-Za-z0-9-]+)[ \t]*+\Z")
_BACKTICKS = compile_pattern(r"`+")
# Pairs of parentheses within a destination, nested up to three deep: the least that CommonMark 0.31, "Links", asks for.
_PAIR = "(?!)"
for _ in range(3):
    _PAIR = rf"\((?:[^\s()\\]++|\\\S|{_PAIR})*+\)"
# Each alternative begins with one literal character, outside of any group: only then does the engine skip plain text, at a
# tenth of the time.
_TOKEN = compile_pattern(
    r"\\(?P<escape>[!-/:-@\[-`{-~])?"  # CommonMark 0.31 "Backslash escapes"
    # engine facts §2.1: one ``]`` does not end a wikilink, of nested ones the inner is the link
    r"|\[(?:\[(?!\[)(?P<wiki>(?:[^\[\]\n]++|\[(?!\[)|\](?!\]))*+)\]\])?"
    # §2.1: ``<a b>``, or no space except before a title. CommonMark 0.31 "Links": a line may end on either side of the
    # destination.
    r"|\](?P<target>\([ \t\n]*+"
    r"(?:<(?P<angled>[^<>\n]*+)>|(?!<)(?P<bare>(?:[^\s()\\]++|\\\S|\\|" + _PAIR + r")*+))"
    r"""(?:[ \t\n]++(?:"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'|\((?:[^()\\]++|\\.)*+\)))?[ \t\n]*+\))?"""
    # Inline math: no space inside its marks, no digit behind them (money).
    r"|\$(?P<math>\$[^$]*+\$\$|(?<!\$\$)(?=[^\s$])[^$\n]*+(?<!\s)\$(?!\d))?"
    r"|<(?:(?P<comment>!--)|(?P<html>" + HTML_TAG + r"|[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+>))?"
    r"|`(?P<code>`*)"
)
# CommonMark 0.31 "Link reference definitions", on one line. ``[^1]:`` is a footnote.
_TITLE = r"""(?:"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'|\((?:[^()\\]++|\\.)*+\))"""
_DEFINITION = compile_pattern(
    r"\[(?!\^)(?=[^\[\]]*[^\s\[\]])(?:[^\[\]\\]++|\\.)++\]:[ \t]*+(?:<(?P<angled>[^<>\n]*+)>|(?P<bare>[^\s<]\S*+))"
    rf"(?:[ \t]++{_TITLE})?+[ \t]*+\Z"
)
# How deep images may be nested in the text of images: the display text of each repeats all that is in it.
_MAX_DEPTH = 100
# Replaces each character that is not prose. It is a punctuation mark, because no tag may follow one, nor ``]`` and ``)``.
_HIDDEN = "."
# Replaces markup that a tag may follow: white space, but a character that may not stand behind a block id.
_MARKUP = "\u00a0"


class RawLink(NamedTuple):
    """A link: ``linktext``, ``display``, ``is_embed`` and ``is_markdown`` as in ``parsed_note.Link``, then offsets in the text.

    ``start`` is the first bracket (the ``!`` of an embed is before it), ``shown_end`` the end of a Markdown link's display
    text. ``target`` to ``target_end`` is all between the brackets of a wikilink, or the destination of a Markdown link
    without ``<>``.
    """

    linktext: str
    display: str
    is_embed: bool
    is_markdown: bool
    start: int
    shown_end: int
    target: int
    target_end: int
    end: int


def read_inline(text: str) -> tuple[str, list[RawLink]]:
    """Return the text with dots for all that is not prose, with its length unchanged, and its links."""
    return _Inline(text).read()


def read_definition(text: str) -> tuple[str, list[RawLink]] | None:
    """Return prose and link, as ``read_inline`` does, of a line that says where ``[text][label]`` leads; None for another.

    The list is empty for a definition that leads out of the vault.
    """
    found = _DEFINITION.match(text)
    if found is None:
        return None
    first, last = found.span("bare" if found["angled"] is None else "angled")
    linktext = decoded_destination(text[first:last])
    link = RawLink(linktext, "", False, True, 0, 1, first, last, len(text.rstrip()))
    return _HIDDEN * len(text), [link] if linktext.strip("# \t") else []


class _Inline:
    """The reader of one text, from left to right: a token hides the tokens that begin within it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.links: list[RawLink] = []
        self.pieces: list[str] = []
        self.held = 0  # the pieces hold the text up to here
        self.brackets: list[int] = []  # offsets of the open ones
        self.depths: list[int] = [0]  # how deep links and images are nested: outside of all brackets, then in each
        # An open bracket before this offset contains a link already. CommonMark 0.31: links do not contain links.
        self.closed = 0
        self.runs: dict[int, list[int]] = {}  # length of a run of backticks → where such runs begin
        for run in _BACKTICKS.finditer(text) if "`" in text else ():
            self.runs.setdefault(len(run[0]), []).append(run.start())

    def read(self) -> tuple[str, list[RawLink]]:
        """Return the prose of the text and its links."""
        text, position = self.text, 0
        while (token := _TOKEN.search(text, position)) is not None:
            kind, start = token.lastgroup, token.start()
            position = end = token.end()
            if kind is None:
                if text[start] == "[":
                    self._open_bracket(start)
                elif text[start] == "]":
                    self._close_bracket()
            elif kind in ("code", "comment"):
                position = self._code_end(end, end - start) if kind == "code" else self._comment_end(end)
                if position > end:
                    self._hide(start, position)
            elif kind == "wiki":
                position = self._read_wikilink(start, end)
            elif kind == "target":
                position = self._read_link(token)
            else:
                self._hide(start, end, _MARKUP if kind in ("html", "escape") else _HIDDEN)
        self.pieces.append(text[self.held :])
        return "".join(self.pieces), [link for link in self.links if link.linktext.strip("# \t")]

    def _open_bracket(self, place: int) -> None:
        self.brackets.append(place)
        self.depths.append(0)

    def _close_bracket(self) -> tuple[int, int]:
        """Close the last open bracket; return its offset (-1 for none) and how deep links are nested in it."""
        if not self.brackets:
            return -1, 0
        depth = self.depths.pop()
        self.depths[-1] = max(self.depths[-1], depth)
        return self.brackets.pop(), depth

    def _comment_end(self, place: int) -> int:
        """Return where the HTML comment ends whose ``<!--`` ends at ``place``; ``place`` if nothing ends it."""
        # CommonMark 0.31 "Raw HTML": <!--> is a comment.
        return self.text.find("-->", place - 2) + 3 if place - 2 <= self._last_comment else place

    @cached_property
    def _last_comment(self) -> int:
        return self.text.rfind("-->")

    def _hide(self, start: int, end: int, mark: str = _HIDDEN) -> None:
        self.pieces += self.text[self.held : start], mark * (end - start)
        self.held = end

    def _code_end(self, place: int, length: int) -> int:
        """Return where the code span ends whose opening run of ``length`` backticks ends at ``place``; ``place`` if none does.

        A backslash keeps a backtick from opening a code span, never from closing one (CommonMark 0.31 "Code spans").
        """
        alike = self.runs.get(length, [])
        following = bisect_left(alike, place)
        return alike[following] + length if following < len(alike) else place

    def _read_wikilink(self, start: int, end: int) -> int:
        """Read a wikilink and return where it ends. It is no link if a code span begins in it and ends behind it."""
        text = self.text
        run = _BACKTICKS.search(text, start, end) if self.runs else None
        while run is not None:
            behind = self._code_end(run.end(), len(run[0]))
            if behind > end:
                self._open_bracket(start)
                self._open_bracket(start + 1)
                return start + 2
            run = _BACKTICKS.search(text, behind, end)
        linktext, display = split_display(text[start + 2 : end - 2])
        is_embed = _is_embed(text, start)
        self.links.append(RawLink(linktext, display, is_embed, False, start, end - 2, start + 2, end - 2, end))
        self._hide(start, end)
        return end

    def _read_link(self, token: re.Match[str]) -> int:
        """Read the Markdown link whose destination is the token, and return where it ends. It needs an open bracket."""
        text, (start, end) = self.text, token.span()
        opening, depth = self._close_bracket()
        is_embed = _is_embed(text, opening)
        if opening < (0 if is_embed else self.closed) or depth >= _MAX_DEPTH:
            return start + 1
        self.depths[-1] = max(self.depths[-1], depth + 1)
        self.closed = self.closed if is_embed else start
        first, last = token.span("bare" if token["angled"] is None else "angled")
        display = text[opening + 1 : start].replace("\n", " ")
        linktext = decoded_destination(text[first:last])
        self.links.append(RawLink(linktext, display, is_embed, True, opening, start, first, last, end))
        self._hide(start + 1, end)
        return end


def _is_embed(text: str, bracket: int) -> bool:
    if bracket <= 0 or text[bracket - 1] != "!":
        return False
    start = bracket - 1
    while start > 0 and text[start - 1] == "\\":
        start -= 1
    return (bracket - 1 - start) % 2 == 0  # two backslashes mean one, which escapes nothing


def line_tags(prose: str) -> list[str]:
    """Return the tags on one line of prose."""
    return [prose[first:last] for _, first, last in tag_places(prose)]


def tag_places(prose: str) -> Iterator[tuple[int, int, int]]:
    """Yield the ``#`` of each tag on one line of prose, and where its name begins and ends.

    A tag starts the line or follows white space, another tag, an HTML tag, an escaped character, or one of ``*``, ``_``,
    ``==``, ``~~``, ``[``. No tag follows other punctuation, except the bar of a table row.
    """
    in_table = prose.lstrip().startswith("|")
    end_of_tag = -1
    for match in _TAG.finditer(prose):
        mark = match.start()
        before = prose[mark - 1] if mark else " "
        if not (before.isspace() or before in "_*[" or mark == end_of_tag or (in_table and before == "|")) and (
            before not in "=~" or prose[mark - 2 : mark] != before * 2
        ):
            continue
        end_of_tag = match.end()
        name = match[1].rstrip("_") if before == "_" else match[1]
        first = mark + 1 + len(name) - len(name.lstrip("/"))
        name = name.strip("/")
        if name and not name.isdecimal():
            yield mark, first, first + len(name)


def line_block_id(prose: str) -> str:
    """Return the block id a line of prose ends with, empty if none.

    Engine facts §2.1: Latin letters, digits and dashes, at the line's end behind a space or alone on the line.
    """
    start = prose.rfind("^")
    match = _BLOCK_ID.match(prose, start) if start >= 0 else None
    if match is None:
        return ""
    return match[1] if start == 0 or prose[start - 1] in " \t" else ""
