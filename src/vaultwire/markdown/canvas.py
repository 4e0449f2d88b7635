"""Canvas files: the strings that name files or hold links, and their positions in the JSON text.

An edit replaces characters of one string. The rest of the text stays, with its layout and unknown keys.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from vaultwire.markdown.bounds import MOST_MARKS
from vaultwire.markdown.diffs import common_ends
from vaultwire.markdown.link_spans import LinkSpan, NewLink, Rewriting, Rewritten, rewrite_links
from vaultwire.markdown.offsets import Replacement, apply_replacements, line_starts
from vaultwire.markdown.patterns import compile_pattern

_TOKEN = compile_pattern(r'"(?:[^"\\]++|\\.)*+"|[{}\[\]:,]', re.DOTALL)
# The source of one character: two escapes make a character beyond 16 bits (RFC 8259, 7).
_PIECE = compile_pattern(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
# More than a space: no phrase may match across two cards.
_BETWEEN_CARDS = " · "


class NotACanvasError(ValueError):
    """The text is not JSON, or not JSON that Obsidian takes for a canvas."""


class FileNode(NamedTuple):
    """A file that a node shows: its vault path as written, and the ``#subpath`` in it, empty if there is none."""

    file: str
    subpath: str


def file_nodes(text: str) -> list[tuple[FileNode, int]]:
    """Return the files that a canvas shows, each with the line of its name. Raises NotACanvasError."""
    starts = line_starts(text)
    return [
        (FileNode(node["file"], node.get("subpath", "")), bisect_right(starts, places["file"][0]))
        for node, places in _nodes(text)
        if "file" in places
    ]


def cards(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and text of each card, and of each group's label; of a broken canvas those that can be read."""
    for _, key, (start, end) in _strings(text):
        if key in ("text", "label"):
            # JSON can spell half of a surrogate pair, which no file can hold.
            yield start, _said(text[start:end]).encode("utf-8", "replace").decode()


def cards_text(text: str) -> str:
    """Return the text of cards and the labels of groups, each on the line of the canvas's text on which it begins.

    All other lines are empty, so line numbers are the same in both.
    """
    pieces: list[str] = []
    counted = 0
    for start, said in cards(text):
        breaks = text.count("\n", counted, start)
        counted = start
        pieces.append("\n" * breaks if breaks or not pieces else _BETWEEN_CARDS)
        pieces.append(" ".join(line.strip() for line in said.splitlines()).strip())
    whole = "".join([*pieces, "\n" * text.count("\n", counted)])
    return f" {whole}" if whole.startswith("---") else whole  # a canvas has no frontmatter


def canvas_edits(
    text: str,
    of_node: Callable[[FileNode], FileNode | None],
    of_link: Callable[[LinkSpan], NewLink | None],
) -> Rewriting:
    """Return the edits that give file nodes the files of ``of_node``, and links in text cards the targets of ``of_link``.

    Nodes and links for which these return None stay. Raises NotACanvasError, UnwritableLinkError.
    """
    edits: list[Replacement] = []
    links: list[Rewritten] = []
    starts = line_starts(text)
    for node, places in _nodes(text):
        kind = "file" if "file" in places else "background"  # a group may have a picture behind it
        if kind in places and (new := of_node(FileNode(node[kind], node.get("subpath", "")))) is not None:
            line = bisect_right(starts, places[kind][0])
            links.append(Rewritten(line, node[kind] + node.get("subpath", ""), "".join(new)))
            edits += [
                Replacement(*places[key], json.dumps(value, ensure_ascii=False))
                for key, value in ((kind, new.file), ("subpath", new.subpath))
                if key in places and value != node[key]
            ]
        if "text" in places and ("[[" in node["text"] or "](" in node["text"]):
            card = _card_edits(text, node["text"], places["text"], of_link)
            edits += card.edits
            line = bisect_right(starts, places["text"][0])
            links += [link._replace(line=line) for link in card.links]
    return Rewriting(sorted(edits), links)


def edited_cards(text: str, edit: Callable[[str, int], str]) -> str:
    """Return a canvas whose text cards are edited: ``edit`` takes the text of a card and its line, and returns the new text.

    What a card keeps at its beginning and its end stays as it is spelled there. Raises NotACanvasError.
    """
    edits: list[Replacement] = []
    starts = line_starts(text)
    for node, places in _nodes(text):
        if "text" not in places:
            continue
        card, place = node["text"], places["text"]
        new = edit(card, bisect_right(starts, place[0]))
        if new != card:
            kept, kept_end = common_ends(card, new)
            changed = Replacement(kept, len(card) - kept_end, new[kept : len(new) - kept_end])
            edits += _within_string(text, place, [changed])
    return apply_replacements(text, sorted(edits))


def _card_edits(
    text: str, card: str, place: tuple[int, int], of_link: Callable[[LinkSpan], NewLink | None]
) -> Rewriting:
    rewriting = rewrite_links(card, of_link)
    return Rewriting(_within_string(text, place, rewriting.edits) if rewriting.edits else [], rewriting.links)


def _within_string(text: str, place: tuple[int, int], edits: Iterable[Replacement]) -> list[Replacement]:
    """Return edits of what a string says as edits of the JSON text in which it stands."""
    starts = [piece.start() for piece in _PIECE.finditer(text, place[0] + 1, place[1] - 1)]
    starts.append(place[1] - 1)
    return [
        Replacement(starts[edit.start], starts[edit.end], json.dumps(edit.text, ensure_ascii=False)[1:-1])
        for edit in edits
    ]


def _nodes(text: str) -> Iterator[tuple[dict[str, str], dict[str, tuple[int, int]]]]:
    """Yield the strings of each node, and the span of each in the text, quotes included."""
    if not text.strip():  # a new canvas
        return
    if sum(map(text.count, "[{,")) > MOST_MARKS:
        raise NotACanvasError(f"holds more than {MOST_MARKS:,} lists, maps and values")
    try:
        canvas = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotACanvasError(f"is not JSON: {error}") from None
    if not isinstance(canvas, dict) or not isinstance(canvas.get("nodes", []), list):
        raise NotACanvasError("is JSON, but has no list of nodes")
    places: dict[int, dict[str, tuple[int, int]]] = {}  # of a key that is there twice, the last one
    for number, key, place in _strings(text):
        places.setdefault(number, {})[key] = place
    for number, node in enumerate(canvas.get("nodes", [])):
        if isinstance(node, dict):
            strings = {key: value for key, value in node.items() if isinstance(value, str)}
            yield strings, {key: place for key, place in places.get(number, {}).items() if key in strings}


def _strings(text: str) -> Iterator[tuple[int, str, tuple[int, int]]]:
    """Yield the node's number, the key and the span of each string of a node; of broken JSON those before the error."""
    path: list[str | int] = []  # to the current value: a key or number for each level
    is_key = False
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "{[":
            path.append("" if mark == "{" else 0)
            is_key = mark == "{"
        elif not path:
            return
        elif mark in "}]":
            path.pop()
            is_key = False
        elif mark == ",":
            last = path[-1]
            is_key = isinstance(last, str)
            path[-1] = last if isinstance(last, str) else last + 1
        elif mark == ":":
            is_key = False
        elif is_key:
            path[-1] = _said(mark)
        else:
            match path:
                case ["nodes", int(number), str(key)]:
                    yield number, key, token.span()


def _said(string: str) -> str:
    """Return the text of a JSON string; empty if it is broken."""
    if "\\" not in string:
        return string[1:-1]
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return ""
