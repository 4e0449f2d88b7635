"""The position of each link of a note, to the character, and edits that give a link another target in the same form.

``inline`` and ``parse`` decide what is a link; the vault decides where a link should lead. Text is the file's own,
``\\r\\n`` where the file has it, without a BOM.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Container, Iterator
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.block_parser import read_body
from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.inline import RawLink, decoded_destination, read_inline
from vaultwire.markdown.offsets import (
    MOST_PROPERTIES,
    FileOffsets,
    Replacement,
    apply_replacements,
    end_of_reading,
    line_starts,
)
from vaultwire.markdown.parse import frontmatter_links
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter
from vaultwire.markdown.yaml_core import NotYamlError, read_yaml
from vaultwire.markdown.yaml_tree import Scalar, property_nodes, texts_in

_BAR = compile_pattern(r"\\?\|")
_MAY_LINK = compile_pattern(r"\[\[|\]\(")
_ESCAPED_IN = {'"': compile_pattern(r'["\\]'), "'": re.compile("'"), "": re.compile(r"(?!)")}
# Characters that may keep a destination from being read back; they are encoded only if they do.
_UNSAFE = compile_pattern(r"[%()<>\\\"':\s]")


class LinkSpan(NamedTuple):
    """A link or embed and its position, in offsets of the file's own text.

    ``linktext`` to ``is_markdown`` are as in ``parsed_note.Link``. ``start`` to ``end`` is all of it, with the ``!`` of an
    embed and the brackets. ``target`` is the span of link path and subpath, ``display_place`` that of the display text (None if
    there is none), without the spaces around them. ``quote`` is the quote of a property's text, empty for none. All
    offsets are 0 for a link of a property in a form that cannot be located; such a link cannot be rewritten either.
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
    display_place: tuple[int, int] | None
    is_angled: bool
    quote: str


class NewLink(NamedTuple):
    """The new content of a link: link path and subpath, not percent-encoded; ``display`` None keeps the display text."""

    linktext: str
    display: str | None = None


class Rewritten(NamedTuple):
    """A link that is rewritten: its line, its old text and its new text."""

    line: int
    old: str
    new: str


class Rewriting(NamedTuple):
    """The edits, in order and not overlapping, and the links that they change."""

    edits: list[Replacement]
    links: list[Rewritten]


class UnwritableLinkError(ValueError):
    """A link cannot get this target in its form: the name holds characters that end such a link."""

    def __init__(self, span: LinkSpan, linktext: str) -> None:
        super().__init__(f"line {span.line}: the link {span.linktext!r} cannot be made to say {linktext!r}")
        self.span = span


def link_spans(text: str) -> list[LinkSpan]:
    """Return the links of a note, in number and order those of ``parse_note``."""
    plain = to_plain(text)
    frontmatter = parse_frontmatter(plain)
    spans = list(_property_spans(plain, frontmatter))
    body = plain[frontmatter.end : end_of_reading(plain, frontmatter.end)]
    for line in read_body(body, plain.count("\n", 0, frontmatter.end) + 1).lines:
        spans += [
            _span(
                RawLink(*link[:4], *[line.base + place for place in link[4:]]), body, line.number, None, frontmatter.end
            )
            for link in line.links
        ]
    return spans if plain == text else _in_file(spans, FileOffsets(text, plain))


def rewrite_links(
    text: str, decide: Callable[[LinkSpan], NewLink | None], of: Container[str] | None = None
) -> Rewriting:
    """Return the edits that give links the content that ``decide`` returns; links for which it returns None stay.

    If link texts ``of`` are given, only links with one of them are considered. A link keeps its form: wikilink or Markdown,
    ``<>``, title, ``\\|`` of a table, the quotes of a property. Raises UnwritableLinkError if the text, parsed again, would
    not have exactly the links wanted.
    """
    edits: dict[tuple[int, int], str] = {}
    changed: list[tuple[LinkSpan, str]] = []
    spans = link_spans(text)
    for span in spans:
        new = decide(span) if of is None or span.linktext in of else None
        if new is None:
            continue
        changed.append((span, new.linktext))
        if not span.end:
            raise UnwritableLinkError(span, new.linktext)
        edits[span.target] = _escaped(_target(text, span, new.linktext), span.quote)
        if (
            new.display is not None
            and span.display_place is not None
            and _can_show(new.display, is_markdown=span.is_markdown)
        ):
            edits[span.display_place] = _escaped(new.display, span.quote)
    made = [Replacement(start, end, written) for (start, end), written in sorted(edits.items())]
    if made and not _is_read_back(text, spans, made, changed):
        raise UnwritableLinkError(*_culprit(text, changed))
    starts = [edit.start for edit in made]
    links: list[Rewritten] = []
    for span, _ in changed:
        own = made[bisect_left(starts, span.start) : bisect_right(starts, span.end)]
        new_text = apply_replacements(text, own, span.start, span.end)
        links.append(Rewritten(span.line, text[span.start : span.end], new_text))
    return Rewriting(made, links)


def _is_read_back(
    text: str, spans: list[LinkSpan], edits: list[Replacement], changed: list[tuple[LinkSpan, str]]
) -> bool:
    """Tell whether the edited text has the links wanted, and otherwise the links it had (``spans``)."""
    if any("\n" in edit.text or "\r" in edit.text for edit in edits):
        return False
    wanted = {span.start: linktext.strip() for span, linktext in changed}
    now = [(span.linktext, *span[5:8]) for span in link_spans(apply_replacements(text, edits))]
    return now == [(wanted.get(span.start, span.linktext), *span[5:8]) for span in spans]


def _culprit(text: str, changed: list[tuple[LinkSpan, str]]) -> tuple[LinkSpan, str]:
    """Return the change that alone is not read back; the first one if each of them is."""
    for span, linktext in changed:
        target = _target(text, span, linktext)
        _, links = read_inline(
            f"[x]({'<' * span.is_angled}{target}{'>' * span.is_angled})" if span.is_markdown else f"[[{target}]]"
        )
        if [link.linktext for link in links] != [linktext.strip()]:
            return span, linktext
    return changed[0]


# ---------------------------------------------------------------------- writing


def _target(text: str, span: LinkSpan, linktext: str) -> str:
    """Return the new source of the link's target; a subpath that stays keeps its spelling."""
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
    """Return the destination of a Markdown link, with only the spaces percent-encoded (engine facts §2.4).

    More is encoded if the link would otherwise be read as another: a percent sign in a name, a bracket without its partner.
    """
    written = linktext if is_angled else linktext.replace(" ", "%20")
    link = f"[x](<{written}>)" if is_angled else f"[x]({written})"
    if not written or [found.linktext for found in read_inline(link)[1]] == [linktext.strip()]:
        return written
    return _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), linktext)


def _can_show(display: str, *, is_markdown: bool) -> bool:
    """Tell whether a link may have the display text: its brackets come in pairs, and none ends the link too early."""
    read = read_inline(f"[{display}](x)" if is_markdown else f"[[x|{display}]]")[1]
    return len(read) == 1 and read[0].display == display and read[0].end == len(display) + (5 if is_markdown else 6)


def _escaped(written: str, quote: str) -> str:
    return _ESCAPED_IN[quote].sub(lambda found: "''" if quote == "'" else "\\" + found[0], written)


# ---------------------------------------------------------------------- locating


def _span(link: RawLink, source: str, number: int, scalar: Scalar | None, base: int = 0) -> LinkSpan:
    """Return the span of a link in ``source``: a body that begins at ``base``, or the text of a scalar."""

    def place(position: int) -> int:
        return base + position if scalar is None else scalar.places[position]

    def trimmed(start: int, end: int) -> tuple[int, int]:
        written = source[start:end]
        start += len(written) - len(written.lstrip())
        return place(start), place(max(start, start + len(written.strip())))

    if link.is_markdown:
        target = place(link.target), place(link.target_end)
        display: tuple[int, int] | None = place(link.start + 1), place(link.shown_end)
    else:
        bar = _BAR.search(source, link.target, link.target_end)
        target = trimmed(link.target, bar.start() if bar else link.target_end)
        display = trimmed(bar.end(), link.target_end) if bar else None
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
        display,
        link.is_markdown and source[link.target - 1] == "<",
        "" if scalar is None or scalar.style in ("|", ">") else scalar.style,
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
            display_place=None if span.display_place is None else both(span.display_place),
        )
        for span in spans
    ]


def _property_spans(plain: str, frontmatter: Frontmatter) -> Iterator[LinkSpan]:
    """Yield the links of properties, in their order."""
    links = frontmatter_links(frontmatter, plain)
    if not links:
        return
    by_line: dict[tuple[int, str], deque[Scalar]] = {}
    by_text: dict[str, Scalar] = {}
    for _, value, yaml in property_nodes(plain, frontmatter, _MAY_LINK):
        for node in texts_in(value):
            scalar = yaml.scalar(node) if _MAY_LINK.search(node.event.value) else None  # type: ignore[attr-defined]
            if scalar is not None:
                by_line.setdefault((yaml.line(node), scalar.text), deque()).append(scalar)
                by_text.setdefault(scalar.text, scalar)
    for link, item, number in links:
        here = by_line.get((number, item))
        scalar = here.popleft() if here else by_text.get(item)  # an alias repeats a text that stands elsewhere
        if scalar is None:
            yield LinkSpan(0, 0, number, *link[:4], True, (0, 0), None, False, "")
        else:
            yield _span(link, item, number, scalar)


# Base files: the texts in formulas and filters that name files or folders, and their positions.
#
# Only certain names count: the argument of ``link``, ``file``, ``hasLink`` and ``inFolder``, a comparison with ``file.path`` or
# ``file.folder``, a part of these two, and ``[[links]]``. The YAML around them stays.

Kind: TypeAlias = Literal["link", "wiki", "path", "folder", "part"]
"""How a text names a file: like a link, within ``[[`` and ``]]``, by its path; or a folder by its path.

``part``: not one, but all whose ``file.folder`` or ``file.path`` begins or ends with a text or has it within. The name is the
expression up to the quote, and the text: ``file.folder.startsWith(Old``.
"""

# Quotes as they may be written in a YAML text: plain, escaped, doubled.
_TEXT = r"""(?P<{0}q>\\"|''|"|')(?P<{0}>(?!\[\[)(?:(?!(?P={0}q))[^\\\n])++)(?P={0}q)"""
_NAMES = compile_pattern(
    rf"\b(?:link|file|hasLink)\(\s*+{_TEXT.format('link')}"
    rf"|\binFolder\(\s*+{_TEXT.format('folder')}"
    rf"|\bfile\.folder\s*+[!=]=\s*+{_TEXT.format('equal')}"
    rf"|\bfile\.path\s*+[!=]=\s*+{_TEXT.format('path')}"
    rf"|(?P<asks>\bfile\.(?:folder|path)\.(?:startsWith|endsWith|contains)\()\s*+{_TEXT.format('part')}"
    rf"|{_TEXT.format('is_folder')}\s*+[!=]=\s*+file\.folder\b"
    rf"|{_TEXT.format('is_path')}\s*+[!=]=\s*+file\.path\b"
    # A single bracket does not end it, as in a note (engine facts §2.1).
    r"|\[\[(?!\[)(?P<wiki>(?:[^\[\]|\\\n]++|\[(?!\[)|\](?!\]))++)(?=\||\]\])"
)
_KINDS: dict[str, Kind] = {"link": "link", "wiki": "wiki", "path": "path", "folder": "folder", "equal": "folder"}
_KINDS |= {"is_folder": "folder", "is_path": "path", "part": "part"}
# What an expression says beside file.folder or file.path: texts in quotes and regular expressions.
_OF_FOLDER = compile_pattern(r"\bfile\.(?:folder|path|inFolder)\b")
_OPERAND = compile_pattern(r"(?:(?!&&|\|\|)[^\n])++")
_SAID = compile_pattern(r""""[^"\\\n]*+"|'[^'\\\n]*+'|/[^/\n]++/""")


class NotABaseError(ValueError):
    """The text is not YAML, or a name in it cannot be replaced by another."""


def base_edits(text: str, decide: Callable[[Kind, str], str | None]) -> Rewriting:
    """Return the edits that replace names by the texts that ``decide`` returns; names for which it returns None stay.

    A name for which it returns the same text stays, too, and is among the links: it is for the caller to tell of. Raises
    NotABaseError.
    """
    if len(text) > MOST_PROPERTIES:
        raise NotABaseError(f"has more than {MOST_PROPERTIES:,} characters")
    plain = _edits(text, decide, {})
    if not plain:
        return Rewriting([], [])
    expected = [apply_replacements(said, _edits(said, decide, {})) for said in _texts(text)]
    for escapes in ({}, {"'": "''"}, {'"': '\\"'}):
        edits = _edits(text, decide, escapes)
        try:
            if _texts(apply_replacements(text, edits)) == expected:
                break
        except NotABaseError:
            continue
    else:
        raise NotABaseError("holds a name in quotes that cannot hold the new one")
    starts = line_starts(text)
    return Rewriting(
        edits,
        [Rewritten(bisect_right(starts, edit.start), text[edit.start : edit.end], edit.text) for edit in edits],
    )


def _edits(text: str, decide: Callable[[Kind, str], str | None], escapes: dict[str, str]) -> list[Replacement]:
    edits: list[Replacement] = []
    for place in _NAMES.finditer(text):
        group = next(name for name in _KINDS if place[name] is not None)
        written = place[group]
        asks, spelt = place["asks"] or "", written if group == "part" else written.strip()
        name = decide(_KINDS[group], asks + spelt)
        if name is None and "''" in written:
            name = decide(_KINDS[group], asks + spelt.replace("''", "'"))
        if name is not None:
            for character, escaped in escapes.items():
                name = name.replace(character, escaped)
            edits.append(Replacement(*place.span(group), name))
    return edits


def other_folder_texts(base: str) -> list[tuple[str, str]]:
    """Return texts in quotes beside ``file.folder`` or ``file.path`` that ``base_edits`` does not know, and their expressions.

    Such as in ``file.folder.split("/")[0] == "Old"``. Raises NotABaseError.
    """
    known = [(said, place) for said in _texts(base) for place in _OPERAND.finditer(said) if _OF_FOLDER.search(place[0])]
    return [
        (text[0][1:-1], said.strip())
        for said, operand in known
        for text in _SAID.finditer(operand[0])
        if not any(name.start() <= text.start() < name.end() for name in _NAMES.finditer(operand[0]))
    ]


def _texts(text: str) -> list[str]:
    try:
        read = read_yaml(text.replace("\r\n", "\n"), 1)
    except NotYamlError as error:
        raise NotABaseError(f"is not YAML: {error}") from None
    return [said for texts in read.texts.values() for said in texts]
