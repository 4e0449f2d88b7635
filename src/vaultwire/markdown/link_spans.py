"""Where each link of a note stands, character by character, and links written anew in the form they had.

What counts as a link is said by ``inline`` and ``parse``, asked here and never decided; where a link should lead is for
the vault to say. Text is the file's own, ``\\r\\n`` where the file has it, without a BOM.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterator
from typing import NamedTuple

from vaultwire.markdown.block_parser import read_body
from vaultwire.markdown.bounds import end_of_reading
from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.inline import RawLink, read_inline
from vaultwire.markdown.links import decoded_destination
from vaultwire.markdown.offsets import FileOffsets, Replacement, apply_replacements, line_starts
from vaultwire.markdown.parse import frontmatter_links
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter
from vaultwire.markdown.yaml_core import NotYamlError, read_yaml

_BAR = re.compile(r"\\?\|")
_QUOTED = re.compile(r""""(?:[^"\\]++|\\.)*+"|'(?:[^']++|'')*+'""", re.DOTALL)
_QUOTE = re.compile("[\"']")
_BEHIND_NAME = re.compile(r"[ \t]*:")
# What stands for one character of a scalar: a line break within it is a blank (YAML 1.2.2, 6.5 "Line folding"), but none
# where it is escaped. A link has no empty line within it.
_FOLD = r"[ \t]*\n[ \t]*"
_PIECES = {
    '"': re.compile(rf"\\\n[ \t]*|{_FOLD}|\\(?:x[0-9a-fA-F]{{2}}|u[0-9a-fA-F]{{4}}|U[0-9a-fA-F]{{8}}|.)|."),
    "'": re.compile(rf"{_FOLD}|''|."),
    "": re.compile(rf"{_FOLD}|."),
}
_ESCAPED_IN = {'"': re.compile(r'["\\]'), "'": re.compile("'"), "": re.compile(r"(?!)")}
# What may keep a destination from being read back, escaped only where it does.
_UNSAFE = re.compile(r"[%()<>\\\"':\s]")


class LinkSpan(NamedTuple):
    """A link or embed and where it stands, in characters of the file's own text.

    ``linktext`` to ``is_markdown`` are what the model's ``Link`` says. ``start`` to ``end`` is all of it, the ``!`` of an
    embed and brackets included; ``target`` and ``shown`` are the spans of link path with subpath and of the display text
    (None if it has none), blanks around them left out. ``quote`` is how a property's text is quoted, empty for none. All
    is 0 for a link of a property in a form that cannot be located: it cannot be rewritten either.
    """

    start: int
    end: int
    line: int
    linktext: str
    display: str
    is_embed: bool
    is_markdown: bool
    in_frontmatter: bool
    target: tuple[int, int]
    shown: tuple[int, int] | None
    is_angled: bool
    quote: str


class NewLink(NamedTuple):
    """What a link is to say: link path and subpath, percent signs not encoded; ``display`` None leaves it as it is."""

    linktext: str
    display: str | None = None


class Rewritten(NamedTuple):
    """A link that is written anew: its line, all of it as it was, and as it is then."""

    line: int
    old: str
    new: str


class Rewriting(NamedTuple):
    """The edits, in order and apart from each other, and the links they change."""

    edits: list[Replacement]
    links: list[Rewritten]


class UnwritableLinkError(ValueError):
    """A link cannot be written so that it says what it should: the name holds what ends a link there."""

    def __init__(self, span: LinkSpan, wanted: str) -> None:
        super().__init__(f"line {span.line}: the link {span.linktext!r} cannot be made to say {wanted!r}")
        self.span = span
        self.wanted = wanted


def link_spans(text: str, of: Container[str] | None = None) -> list[LinkSpan]:
    """Return the links of a note, as many and in the order in which ``parse_note`` has them; only those that say one of
    the link texts, if some are given.
    """
    plain = to_plain(text)
    frontmatter = parse_frontmatter(plain)
    spans = list(_property_spans(plain, frontmatter, of))
    body = plain[frontmatter.end : end_of_reading(plain, frontmatter.end)]
    for line in read_body(body, plain.count("\n", 0, frontmatter.end) + 1).lines:
        spans += [
            _span(
                RawLink(*link[:4], *[line.base + place for place in link[4:]]), body, line.number, None, frontmatter.end
            )
            for link in line.links
            if of is None or link.linktext in of
        ]
    return spans if plain == text else _in_file(spans, FileOffsets(text, plain))


def replace_links(text: str, decide: Callable[[LinkSpan], NewLink | None]) -> str:
    """Return the text with the links for which ``decide`` has another written anew. See ``rewrite_links``."""
    return apply_replacements(text, rewrite_links(text, decide).edits)


def rewrite_links(
    text: str, decide: Callable[[LinkSpan], NewLink | None], of: Container[str] | None = None
) -> Rewriting:
    """Return the edits that make links say what ``decide`` has for them; those it has None for stay as they are.

    Only links that say one of the link texts ``of`` come into question, if some are given. A link keeps its form: wikilink
    or Markdown, ``<>``, title, ``\\|`` of a table, the quotes of a property. Raises UnwritableLinkError if the text, read
    again, would not hold exactly the links wanted.
    """
    edits: dict[tuple[int, int], str] = {}
    changed: list[tuple[LinkSpan, str]] = []
    for span in link_spans(text, of):
        new = decide(span)
        if new is None:
            continue
        changed.append((span, new.linktext))
        if not span.end:
            raise UnwritableLinkError(span, new.linktext)
        edits[span.target] = _escaped(_target(text, span, new.linktext), span.quote)
        if new.display is not None and span.shown is not None and _can_show(new.display, is_markdown=span.is_markdown):
            edits[span.shown] = _escaped(new.display, span.quote)
    made = [Replacement(start, end, written) for (start, end), written in sorted(edits.items())]
    if made and not _is_read_back(text, made, changed):
        raise UnwritableLinkError(*_culprit(text, changed))
    starts = [edit.start for edit in made]
    links: list[Rewritten] = []
    for span, _ in changed:
        own = made[bisect_left(starts, span.start) : bisect_right(starts, span.end)]
        new_text = apply_replacements(text, own, span.start, span.end)
        links.append(Rewritten(span.line, text[span.start : span.end], new_text))
    return Rewriting(made, links)


def _is_read_back(text: str, edits: list[Replacement], changed: list[tuple[LinkSpan, str]]) -> bool:
    """Tell whether the text with the edits made has the links wanted and else those it had."""
    if any("\n" in edit.text or "\r" in edit.text for edit in edits):
        return False
    wanted = {span.start: linktext.strip() for span, linktext in changed}
    now = [(span.linktext, *span[5:8]) for span in link_spans(apply_replacements(text, edits))]
    return now == [(wanted.get(span.start, span.linktext), *span[5:8]) for span in link_spans(text)]


def _culprit(text: str, changed: list[tuple[LinkSpan, str]]) -> tuple[LinkSpan, str]:
    """Return the change that by itself is not read back, the first one if each is."""
    for span, wanted in changed:
        target = _target(text, span, wanted)
        _, links = read_inline(
            f"[x]({'<' * span.is_angled}{target}{'>' * span.is_angled})" if span.is_markdown else f"[[{target}]]"
        )
        if [link.linktext for link in links] != [wanted.strip()]:
            return span, wanted
    return changed[0]


# ---------------------------------------------------------------------- writing


def _target(text: str, span: LinkSpan, linktext: str) -> str:
    """Return what stands where the link's target stood; a subpath that stays is not written anew."""
    if not span.is_markdown:
        return linktext
    path, mark, subpath = linktext.partition("#")
    _, _, old_subpath = span.linktext.partition("#")
    written = text[slice(*span.target)]
    kept = written.partition("#")[2]
    if mark and subpath == old_subpath and decoded_destination("#" + kept) == "#" + subpath and not span.quote:
        return f"{destination(path, is_angled=span.is_angled)}#{kept}"
    return destination(linktext, is_angled=span.is_angled)


def destination(linktext: str, *, is_angled: bool = False) -> str:
    """Return the destination of a Markdown link: blanks percent-encoded and nothing else (engine facts §2.4).

    Unless it would then read back as another: a percent sign in a name, a bracket without its partner.
    """
    written = linktext if is_angled else linktext.replace(" ", "%20")
    link = f"[x](<{written}>)" if is_angled else f"[x]({written})"
    if not written or [found.linktext for found in read_inline(link)[1]] == [linktext.strip()]:
        return written
    return _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), linktext)


def _can_show(display: str, *, is_markdown: bool) -> bool:
    """Tell whether a link may have the text: brackets in it come in pairs, and none ends the link before its end."""
    read = read_inline(f"[{display}](x)" if is_markdown else f"[[x|{display}]]")[1]
    return len(read) == 1 and read[0].display == display and read[0].end == len(display) + (5 if is_markdown else 6)


def _escaped(written: str, quote: str) -> str:
    return _ESCAPED_IN[quote].sub(lambda found: "''" if quote == "'" else "\\" + found[0], written)


# ---------------------------------------------------------------------- locating


class _Scalar(NamedTuple):
    """A text of a property: how it is quoted, and the place of each of its characters and of its end."""

    quote: str
    places: list[int]


def _span(link: RawLink, source: str, number: int, scalar: _Scalar | None, base: int = 0) -> LinkSpan:
    """Return the span of a link read from ``source``, a body that begins at ``base`` or the text of a scalar."""

    def place(position: int) -> int:
        return base + position if scalar is None else scalar.places[position]

    def trimmed(start: int, end: int) -> tuple[int, int]:
        written = source[start:end]
        start += len(written) - len(written.lstrip())
        return place(start), place(max(start, start + len(written.strip())))

    if link.is_markdown:
        target = place(link.target), place(link.target_end)
        shown: tuple[int, int] | None = place(link.start + 1), place(link.shown_end)
    else:
        bar = _BAR.search(source, link.target, link.target_end)
        target = trimmed(link.target, bar.start() if bar else link.target_end)
        shown = trimmed(bar.end(), link.target_end) if bar else None
    return LinkSpan(
        place(link.start - link.is_embed),
        place(link.end),
        number,
        link.linktext,
        link.display,
        link.is_embed,
        link.is_markdown,
        scalar is not None,
        target,
        shown,
        link.is_markdown and source[link.target - 1] == "<",
        "" if scalar is None else scalar.quote,
    )


def _in_file(spans: list[LinkSpan], offsets: FileOffsets) -> list[LinkSpan]:
    """Return the spans with offsets of the file's own text."""

    def both(span: tuple[int, int]) -> tuple[int, int]:
        return offsets.of(span[0]), offsets.of(span[1])

    return [
        span._replace(
            start=offsets.of(span.start),
            end=offsets.of(span.end),
            target=both(span.target),
            shown=None if span.shown is None else both(span.shown),
        )
        for span in spans
    ]


def _property_spans(plain: str, frontmatter: Frontmatter, of: Container[str] | None) -> Iterator[LinkSpan]:
    """Yield the links of properties, in their order."""
    links = frontmatter_links(frontmatter, plain)
    if not any(of is None or link.linktext in of for link, _, _ in links):
        return
    starts = line_starts(plain[: frontmatter.end])
    used: dict[int, int] = {}  # line → where its next scalar may begin
    for link, item, number in links:
        begin = max(starts[number - 1], used.get(number, 0))
        scalar = _quoted(plain, item, begin, starts[number]) or _block(plain, item, begin, frontmatter.end)
        if scalar is None:  # an alias, whose text is elsewhere
            scalar = _quoted(plain, item, 0, frontmatter.end)
        if scalar is not None:
            used[number] = scalar.places[-1]
        if of is not None and link.linktext not in of:
            pass
        elif scalar is None:
            yield LinkSpan(0, 0, number, *link[:4], True, (0, 0), None, False, "")
        else:
            yield _span(link, item, number, scalar)


def _quoted(plain: str, item: str, begin: int, end: int) -> _Scalar | None:
    """Return the first quoted text that begins in a span of the block, says ``item`` and is no name."""
    for opening in _QUOTE.finditer(plain, begin, end):
        start = opening.start()
        found = _QUOTED.match(plain, start)
        if found is None or _BEHIND_NAME.match(plain, found.end()) or _meaning(found[0]) != item:
            continue
        return _placed(plain, item, opening[0], start + 1, found.end() - 1)
    return None


def _block(plain: str, item: str, begin: int, end: int) -> _Scalar | None:
    """Return the text as it stands below ``|-`` or ``>-``, where a long one may be folded."""
    words = r"(?: |[ \t]*\n[ \t]+)".join(map(re.escape, item.split(" ")))
    found = re.compile(rf"(?<=\n)[ \t]+({words})[ \t]*$", re.MULTILINE).search(plain, begin, end)
    return None if found is None else _placed(plain, item, "", found.start(1), found.end(1))


def _placed(plain: str, item: str, quote: str, start: int, end: int) -> _Scalar | None:
    """Return the scalar with the place of each character, None if they are not one for one."""
    pieces = _PIECES[quote].finditer(plain, start, end)
    places = [piece.start() for piece in pieces if not piece[0].startswith("\\\n")]
    return _Scalar(quote, [*places, end]) if len(places) == len(item) else None


def _meaning(quoted: str) -> str | None:
    """Return the text a quoted scalar stands for."""
    if "\\" not in quoted and "\n" not in quoted and "''" not in quoted:
        return quoted[1:-1]
    try:
        return "".join(read_yaml(f"k: {quoted}", 1).texts.get("k", ()))
    except NotYamlError:
        return None
