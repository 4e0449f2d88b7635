"""Canvas files: the strings that name files or hold links, their positions in the JSON text, and edits of nodes and edges.

An edit replaces characters of one string. The rest of the text stays, with its layout and unknown keys.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from vaultwire.markdown.diffs import common_ends
from vaultwire.markdown.json_edits import (
    Element,
    Layout,
    Span,
    edit_items,
    edit_object,
    elements,
    layout_of,
    members,
    written,
    written_object,
)
from vaultwire.markdown.link_spans import LinkSpan, NewLink, Rewriting, Rewritten, rewrite_links
from vaultwire.markdown.offsets import MOST_MARKS, Replacement, apply_replacements, line_starts
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
    for key, (start, end) in _strings(text):
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
            card = rewrite_links(node["text"], of_link)
            edits += _within_string(text, places["text"], card.edits) if card.edits else []
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
    _load(text)
    lists = {member.key: member.value_start for member in members(text, text.index("{"))}
    for node in elements(text, lists["nodes"]) if "nodes" in lists else ():
        if isinstance(node.value, dict):
            # Of a key that is there twice, the last one counts.
            last = {member.key: member for member in members(text, node.start)}
            strings = [member for member in last.values() if isinstance(member.value, str)]
            yield (
                {member.key: member.value for member in strings},
                {member.key: (member.value_start, member.end) for member in strings},
            )


def _load(text: str) -> dict[str, Any]:
    if sum(map(text.count, "[{,")) > MOST_MARKS:
        raise NotACanvasError(f"holds more than {MOST_MARKS:,} lists, maps and values")
    try:
        canvas = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotACanvasError(f"is not JSON: {error}") from None
    if not isinstance(canvas, dict) or not isinstance(canvas.get("nodes", []), list):
        raise NotACanvasError("is JSON, but has no list of nodes")
    return canvas


def _strings(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the key and the span of each string of a node, of broken JSON, too: those before the error."""
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
            is_key = isinstance(path[-1], str)
        elif mark == ":":
            is_key = False
        elif is_key:
            path[-1] = _said(mark)
        else:
            match path:
                case ["nodes", int(), str(key)]:
                    yield key, token.span()


def _said(string: str) -> str:
    """Return the text of a JSON string; empty if it is broken."""
    if "\\" not in string:
        return string[1:-1]
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return ""


# Edits of a canvas: nodes and edges are added, changed and removed; every other byte stays (JSON Canvas 1.0).

CanvasAction: TypeAlias = Literal["add", "connect", "set", "remove"]

# As Obsidian writes them: a node a line, with tabs.
_NEW = '{\n\t"nodes":[],\n\t"edges":[]\n}'
_KIND_OF = {"text": "text", "file": "file", "url": "link", "label": "group"}
_OWN_KEYS = {"text": ("text",), "file": ("file", "subpath"), "link": ("url",), "group": ("label",)}
_PLACE_KEYS = ("x", "y", "width", "height", "color")
_EDGE_KEYS = ("fromNode", "fromSide", "toNode", "toSide", "label", "color")
_SIZES = {"text": (260, 60), "file": (400, 400), "link": (400, 400), "group": (600, 400)}  # Obsidian's own
_GAP = 40
_NEEDED = ("x", "y", "width", "height", "text", "file", "url", "fromNode", "toNode")


class CanvasEdit(NamedTuple):
    """One edit: ``add`` a node, ``connect`` two nodes by an edge, ``set`` fields of a node or edge, ``remove`` one.

    ``id`` names the node or edge; a new one may have none. ``fields`` are those of JSON Canvas; None removes one.
    """

    action: CanvasAction
    id: str
    fields: Mapping[str, Any]


class CanvasEditError(ValueError):
    """An edit that cannot be made; the message says what would be right."""


class EditedCanvas(NamedTuple):
    """The new text of a canvas, and the ids of the nodes and edges that were added, in the order of the edits."""

    text: str
    added: list[str]


class Canvas(NamedTuple):
    """The nodes and edges of a canvas, without what is none."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]


def read_canvas(text: str) -> Canvas:
    """Return the nodes and edges. Raises NotACanvasError."""
    read = _Read.of(text)
    return Canvas(*([dict(item.value) for item in part.items if isinstance(item.value, dict)] for part in read.parts))


def edit_canvas(text: str, edits: Sequence[CanvasEdit]) -> EditedCanvas:
    """Return the canvas with all the edits. Raises NotACanvasError, CanvasEditError."""
    read = _Read.of(text)
    model = _Model(read)
    for number, edit in enumerate(edits, 1):
        try:
            model.apply(edit)
        except CanvasEditError as error:
            where = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
            raise CanvasEditError(f"{where}{error}") from None
    return EditedCanvas(apply_replacements(read.text, model.replacements()), model.added)


class _Part(NamedTuple):
    """The list of nodes or of edges: its place in the text (None if it is not there), its items, the layouts of both."""

    key: str
    place: Span | None
    items: list[Element]
    layout: Layout
    item_layout: Layout


class _Read(NamedTuple):
    """A canvas's text, the place of the object in it, its members' places and layout, and its two lists."""

    text: str
    whole: Span
    spans: list[Span]
    layout: Layout
    parts: tuple[_Part, _Part]

    @classmethod
    def of(cls, text: str) -> _Read:
        """Read a canvas. Raises NotACanvasError."""
        text = text if text.strip() else _NEW
        if not isinstance(_load(text).get("edges", []), list):
            raise NotACanvasError("is JSON, but its edges are no list")
        whole = (text.index("{"), text.rindex("}") + 1)
        top_members = members(text, whole[0])
        layout = layout_of(text, whole, top_members, Layout())
        places = {member.key: (member.value_start, member.end) for member in top_members}
        indent = layout.lead.rpartition("\n")[2]
        usual = (
            Layout(layout.lead + indent, f",{layout.lead}{indent}", layout.lead) if "\n" in layout.lead else Layout()
        )
        lists = [
            (key, places.get(key), elements(text, places[key][0]) if key in places else [])
            for key in ("nodes", "edges")
        ]
        # A list without items is laid out as the other one.
        for _, place, items in lists:
            if place is not None and items:
                usual = layout_of(text, place, items, usual)
        some = next((item for _, _, items in lists for item in items if isinstance(item.value, dict)), None)
        item_layout = Layout()
        if some is not None:
            item_layout = layout_of(text, (some.start, some.end), members(text, some.start), item_layout)
        nodes, edges = (
            _Part(key, place, items, layout_of(text, place, items, usual) if place else usual, item_layout)
            for key, place, items in lists
        )
        return cls(text, whole, [(member.start, member.end) for member in top_members], layout, (nodes, edges))


class _Model:
    """The canvas while edits are made: what changes in each item, what goes and what comes."""

    def __init__(self, read: _Read) -> None:
        self._read = read
        self.added: list[str] = []
        self._changes: dict[tuple[int, int], dict[str, Any]] = {}  # by part and number of the item
        self._removed: tuple[set[int], set[int]] = (set(), set())
        self._new: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])

    # ------------------------------------------------------------------ edits

    def apply(self, edit: CanvasEdit) -> None:
        """Make one edit. Raises CanvasEditError."""
        if edit.action == "add":
            self._add(edit)
        elif edit.action == "connect":
            self._connect(edit)
        elif edit.action == "set":
            self._set(edit)
        else:
            self._remove(edit)

    def _add(self, edit: CanvasEdit) -> None:
        kinds = [kind for key, kind in _KIND_OF.items() if edit.fields.get(key) is not None]
        if len(kinds) != 1:
            raise CanvasEditError("a new node has one of text, file, url or label (for a group).")
        kind = kinds[0]
        own = {key: edit.fields[key] for key in _OWN_KEYS[kind] if edit.fields.get(key) is not None}
        place = self._free_place(kind) | {
            key: edit.fields[key] for key in _PLACE_KEYS if edit.fields.get(key) is not None
        }
        _check_keys(edit.fields, (*own, *_PLACE_KEYS), f"a new {kind} node")
        self._insert(0, edit.id, {"type": kind, **own, **place})

    def _connect(self, edit: CanvasEdit) -> None:
        _check_keys(edit.fields, _EDGE_KEYS, "an edge")
        for key in ("fromNode", "toNode"):
            self._find(0, edit.fields.get(key) or "")
        fields = {key: edit.fields[key] for key in _EDGE_KEYS if edit.fields.get(key) is not None}
        self._insert(1, edit.id, fields)

    def _insert(self, part: int, asked_id: str, fields: dict[str, Any]) -> None:
        taken = {item.get("id") for each in (0, 1) for _, item in self._items(each)}
        if asked_id and asked_id in taken:
            raise CanvasEditError(f"the id {asked_id!r} is taken.")
        salt = 0
        new = asked_id
        while not new or new in taken:
            # As long as Obsidian's own. The same edit of the same canvas gets the same id, also in a dry run.
            new = hashlib.sha256(f"{salt} {len(taken)} {written(fields)}".encode("utf-8", "replace")).hexdigest()[:16]
            salt += 1
        self._new[part].append({"id": new, **fields})
        self.added.append(new)

    def _set(self, edit: CanvasEdit) -> None:
        part, number, item = self._locate(edit.id)
        kind = str(item.get("type"))
        known = _EDGE_KEYS if part else (*_OWN_KEYS.get(kind, ()), *_PLACE_KEYS)
        _check_keys(edit.fields, known, f"the edge {edit.id!r}" if part else f"{edit.id!r}, a {kind} node,")
        if not edit.fields:
            raise CanvasEditError(f"nothing is said to set in {edit.id!r}.")
        for key in ("fromNode", "toNode"):
            if edit.fields.get(key) is not None:
                self._find(0, edit.fields[key])
        for key, value in edit.fields.items():
            if value is None and key in _NEEDED:
                raise CanvasEditError(f"{key} of {edit.id!r} cannot be removed.")
        if number < 0:
            changed = {**item, **edit.fields}
            item.clear()
            item.update({key: value for key, value in changed.items() if value is not None})
        else:
            self._changes.setdefault((part, number), {}).update(edit.fields)

    def _remove(self, edit: CanvasEdit) -> None:
        part, number, item = self._locate(edit.id)
        self._drop(part, number, item)
        if part == 0:  # an edge to nothing is none
            for edge_number, edge in list(self._items(1)):
                if edit.id in (edge.get("fromNode"), edge.get("toNode")):
                    self._drop(1, edge_number, edge)

    def _drop(self, part: int, number: int, item: dict[str, Any]) -> None:
        if number < 0:
            self._new[part].remove(item)
        else:
            self._removed[part].add(number)

    # ------------------------------------------------------------------ what there is

    def _items(self, part: int) -> list[tuple[int, dict[str, Any]]]:
        """Return the items as they are now, each with its number in the text; -1 for a new one."""
        there = [
            (number, {**item.value, **self._changes.get((part, number), {})})
            for number, item in enumerate(self._read.parts[part].items)
            if isinstance(item.value, dict) and number not in self._removed[part]
        ]
        return there + [(-1, item) for item in self._new[part]]

    def _find(self, part: int, item_id: str) -> tuple[int, dict[str, Any]] | None:
        """Return the node or edge of this id. Raises CanvasEditError if there are several; for a node, if there is none."""
        matches = [(number, item) for number, item in self._items(part) if item.get("id") == item_id]
        if len(matches) > 1:
            raise CanvasEditError(f"{len(matches)} have the id {item_id!r}, so it is not clear which is meant.")
        if not matches and part == 0:
            known = ", ".join(repr(item.get("id")) for _, item in self._items(0)[:20]) or "none"
            raise CanvasEditError(f"there is no node {item_id!r}. Nodes: {known}.")
        return matches[0] if matches else None

    def _locate(self, item_id: str) -> tuple[int, int, dict[str, Any]]:
        edge = self._find(1, item_id)
        if edge is not None:
            return 1, *edge
        node = self._find(0, item_id)
        assert node is not None  # else it raised
        return 0, *node

    def _free_place(self, kind: str) -> dict[str, int]:
        """Return a place below all other nodes."""
        nodes = [item for _, item in self._items(0)]
        lefts = [node["x"] for node in nodes if isinstance(node.get("x"), int | float)]
        bottoms = [
            node["y"] + node["height"]
            for node in nodes
            if isinstance(node.get("y"), int | float) and isinstance(node.get("height"), int | float)
        ]
        width, height = _SIZES[kind]
        top = int(max(bottoms)) + _GAP if bottoms else 0
        return {"x": int(min(lefts, default=0)), "y": top, "width": width, "height": height}

    # ------------------------------------------------------------------ the text

    def replacements(self) -> list[Replacement]:
        """Return the edits of the text, in order."""
        read = self._read
        edits: list[Replacement] = []
        absent: list[str] = []
        for part, (key, place, items, layout, item_layout) in enumerate(read.parts):
            new = [written_object(item, item_layout) for item in self._new[part]]
            if place is None:
                if new:
                    body = f"{layout.lead}{layout.between.join(new)}{layout.tail}"
                    absent.append(f"{written(key)}{read.layout.colon}[{body}]")
                continue
            edits += edit_items(place, [(item.start, item.end) for item in items], self._removed[part], new, layout)
            for (of_part, number), changes in self._changes.items():
                if of_part == part and number not in self._removed[part]:
                    edits += edit_object(read.text, (items[number].start, items[number].end), changes)
        return sorted(edits + edit_items(read.whole, read.spans, (), absent, read.layout) if absent else edits)


def _check_keys(fields: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    odd = [key for key, value in fields.items() if key not in known and value is not None]
    if odd:
        raise CanvasEditError(f"{what} has no {odd[0]}; it has {', '.join(known)}.")
