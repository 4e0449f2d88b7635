"""The difference of one file before and after, for a person who reads prose: a dict that becomes JSON. Pure, no files.

It has the rows of the file, and its canvas, properties and links in words. ``rows.hunks_of`` is the one numbering of hunks:
what shows, keeps or undoes a hunk uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from vaultwire.markdown.canvas import Canvas, NotACanvasError, read_canvas
from vaultwire.markdown.diffs import Difference, differences
from vaultwire.markdown.inline import read_inline
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter, property_type
from vaultwire.markdown.property_values import PropertyEditError, one_line, same_value
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.review.diff.parts import Part, counted, merged, parts_of, visible
from vaultwire.review.diff.rows import (
    File,
    Row,
    blocks_of,
    hunk_kind,
    moved_lines,
    notice,
    notices_of,
    rows_of,
    same_row,
    texts_of,
)
from vaultwire.review.diff.words import LineKind, Steps, compared, kinds_of, tokens_of
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.paths import is_media, kind_of

# ---------------------------------------------------------------------- canvases

# A person reads the first few hundred; the source has all.
_MOST_ENTRIES = 500
_MAX_NAME = 60
_MAX_TEXT = 2_000
_KINDS = {"text": "card", "file": "file", "link": "web page", "group": "group"}
_CONTENT = {"text": "text", "file": "file", "subpath": "part of the file", "url": "address", "label": "label"}
_EDGE_SIDES = ("fromSide", "toSide", "fromEnd", "toEnd")

Fields = Mapping[str, Any]


def canvas_nodes(before: str, after: str, steps: Steps) -> tuple[list[dict[str, Any]], str]:
    """Return the nodes and edges that differ, and why there are none if one of the two texts is no canvas.

    ``old`` and ``new`` are the content before and after, None if it was not there; ``parts`` are the words of a changed one.
    """
    try:
        old, new = read_canvas(before), read_canvas(after)
    except NotACanvasError as error:
        return [], str(error)
    names = {**_names(old), **_names(new)}
    nodes: list[dict[str, Any]] = []
    for what, one, other in (("node", old.nodes, new.nodes), ("edge", old.edges, new.edges)):
        before_by_id, after_by_id = _by_id(one), _by_id(other)
        for key in [*after_by_id, *(each for each in before_by_id if each not in after_by_id)]:
            entry = _entry(what, key, before_by_id.get(key), after_by_id.get(key), names, steps)
            if entry is not None:
                nodes.append(entry)
            if len(nodes) >= _MOST_ENTRIES:
                return nodes, ""
    return nodes, ""


def _by_id(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {str(item.get("id", f"number {number}")): item for number, item in enumerate(items, 1)}


def _names(canvas: Canvas) -> dict[str, str]:
    return {str(node.get("id")): f"{_node_kind(node)} {_name(node)}" for node in canvas.nodes}


def _node_kind(node: Fields) -> str:
    return _KINDS.get(str(node.get("type")), "node")


def _content(item: Fields) -> str:
    text = next((item[key] for key in ("text", "file", "url", "label") if isinstance(item.get(key), str)), "")
    return str(text) + str(item.get("subpath", "") if "file" in item else "")


def _name(item: Fields) -> str:
    """Return the beginning of what an item shows, in quotation marks."""
    text = " ".join(visible(_content(item)[: 4 * _MAX_NAME]).split())
    return f"“{text if len(text) <= _MAX_NAME else text[:_MAX_NAME] + '…'}”"


def _entry(
    what: str, key: str, old: Fields | None, new: Fields | None, names: Mapping[str, str], steps: Steps
) -> dict[str, Any] | None:
    if old == new:
        return None
    item = new if new is not None else old
    assert item is not None
    own = f"edge {_ends(item, names)}" if what == "edge" else f"{_node_kind(item)} {_name(item)}"
    entry: dict[str, Any] = {
        "what": what,
        "id": visible(key),
        "old": None if old is None else visible(_content(old)[:_MAX_TEXT]),
        "new": None if new is None else visible(_content(new)[:_MAX_TEXT]),
    }
    if old is None or new is None:
        entry["words"] = f"{own} {'added' if old is None else 'removed'}"
        return entry
    entry["words"] = f"{own}: {', '.join(_changes(old, new, names)) or 'changed'}"
    if _content(old) != _content(new):
        before, after = _content(old)[:_MAX_TEXT], _content(new)[:_MAX_TEXT]
        removed, added = compared(tokens_of(before, "text"), tokens_of(after, "text"), steps)
        entry["parts"] = merged(parts_of(before, removed), parts_of(after, added))
    return entry


def _ends(edge: Fields, names: Mapping[str, str]) -> str:
    ends = [names.get(str(edge.get(key)), "a node that is not there") for key in ("fromNode", "toNode")]
    label = f" {_name(edge)}" if edge.get("label") else ""
    return f"from {ends[0]} to {ends[1]}{label}"


def _changes(old: Fields, new: Fields, names: Mapping[str, str]) -> Iterator[str]:
    """Yield what differs between an item before and after."""
    differing = {key for key in {*old, *new} if old.get(key) != new.get(key)}
    if "type" in differing:
        yield f"{_node_kind(new)} now, {_node_kind(old)} before"
    for key, name in _CONTENT.items():
        if key in differing:
            is_named = key in ("file", "url") and old.get(key)
            yield f"{name} changed, before {_name(old)}" if is_named else f"{name} changed"
    if differing & {"fromNode", "toNode"}:
        yield f"before {_ends(old, names)}"
    if differing & {"x", "y"}:
        yield "moved"
    if differing & {"width", "height"}:
        yield "another size"
    if "color" in differing:
        yield "another colour" if new.get("color") else "no colour any more"
    if differing.intersection(_EDGE_SIDES):
        yield "joined at another side"
    known = {*_CONTENT, *_EDGE_SIDES, "type", "fromNode", "toNode", "x", "y", "width", "height", "color", "id"}
    if others := sorted(differing - known):
        yield f"{', '.join(map(visible, others[:5]))} changed"


# ---------------------------------------------------------------------- properties

# A longer value is cut: the source has all of it.
_MOST_PROPERTIES = 500


def property_rows(before: str, after: str, steps: Steps) -> list[dict[str, Any]]:
    """Return a row for each property of two plain texts that differs, those of the new text first and in its order.

    ``old`` or ``new`` is None where there is no such property. ``parts`` are the words of each value.
    """
    if not before.startswith("---") and not after.startswith("---"):
        return []
    old, new = parse_frontmatter(before), parse_frontmatter(after)
    names = [
        name for name in new.values if name not in old.values or not same_value(old.values[name], new.values[name])
    ]
    names += [name for name in old.values if name not in new.values]
    return [_row(name, old, new, steps) for name in names[:_MOST_PROPERTIES]]


def _row(name: str, old: Frontmatter, new: Frontmatter, steps: Steps) -> dict[str, Any]:
    before = _text_of(old.values[name]) if name in old.values else None
    after = _text_of(new.values[name]) if name in new.values else None
    removed, added = compared(_tokens(before), _tokens(after), steps)
    return {
        "name": visible(name),
        "old": None if before is None else _side(name, old, before, parts_of(before, removed)),
        "new": None if after is None else _side(name, new, after, parts_of(after, added)),
    }


def _tokens(text: str | None) -> list[str]:
    return [] if text is None else tokens_of(text, "text")


def _side(name: str, read: Frontmatter, text: str, parts: list[Part]) -> dict[str, Any]:
    return {"text": visible(text), "type": property_type(name, read.values[name], {}), "parts": parts}


def _text_of(value: PropertyValue) -> str:
    """Return a value as a reader writes it: items of a list with commas between."""
    if value is None:
        text = ""
    elif isinstance(value, str):
        text = value
    elif isinstance(value, list) and not any(isinstance(item, (list, dict)) for item in value):
        text = ", ".join(_text_of(item) for item in value)
    else:
        try:
            text = one_line(value)
        except PropertyEditError:
            text = str(value)
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"


# ---------------------------------------------------------------------- links

Resolve: TypeAlias = Callable[[str, str], str | None]
"""Where a link leads: its linktext and the path of the note that has it → the path of a file, None if it leads nowhere."""

# Entries, and lines with links that are read: a person reads the first few.
_MOST_LINKS = 200
_MOST_LINES = 4_000
_MAX_LINE = 20_000
# The parser of notes returns only links within the vault.
_ADDRESS = compile_pattern(r"\[([^\[\]]*+)\]\([ \t]*+<?([A-Za-z][A-Za-z0-9+.-]{1,30}:[^\s()<>]++)")


class _Link(NamedTuple):
    """A link of a line, from 0, with what a reader sees of it."""

    place: int
    linktext: str
    display: str
    is_embed: bool
    is_address: bool = False  # leads out of the vault

    @property
    def shown(self) -> str:
        is_size = self.is_embed and self.display.replace("x", "").isdecimal()  # of a picture
        return self.linktext if is_size or not self.display else self.display


class Side(NamedTuple):
    """One side of a file: the path it has there, its lines and their kinds."""

    path: str
    lines: list[str]
    kinds: list[LineKind]


class LinkChanges:
    """Finds the links that changed in the hunks of a file, up to a bound."""

    def __init__(self, old: Side, new: Side, resolve: Resolve | None, *, is_new: bool) -> None:
        self._old, self._new = old, new
        self._resolve = resolve
        self._is_new = is_new
        self._lines_left = _MOST_LINES
        self.found: list[dict[str, Any]] = []

    def add(self, old_places: range, new_places: range) -> None:
        """Add the links that differ between removed and added lines."""
        if len(self.found) >= _MOST_LINKS or self._lines_left <= 0:
            return
        old = list(self._links(self._old, old_places))
        new = list(self._links(self._new, new_places))
        if not old and not new:
            return
        link_differences = differences([_key(link) for link in old], [_key(link) for link in new], 20_000)
        for place in link_differences:
            removed, added = old[place.start : place.end], new[place.new_start : place.new_end]
            for one, other in _pairs(removed, added):
                if len(self.found) < _MOST_LINKS and (entry := self._entry(one, other)):
                    self.found.append(entry)

    def _links(self, side: Side, places: range) -> Iterator[_Link]:
        for place in places:
            line = side.lines[place]
            if ("[[" in line or "](" in line) and side.kinds[place] != "code" and len(line) <= _MAX_LINE:
                self._lines_left -= 1
                if self._lines_left <= 0:
                    return
                links = [
                    (link.start, _Link(place, link.linktext, link.display, link.is_embed))
                    for link in read_inline(line)[1]
                ]
                if "](" in line:
                    links += [
                        (found.start(), _Link(place, found[2], found[1], False, is_address=True))
                        for found in _ADDRESS.finditer(line)
                    ]
                yield from (link for _, link in sorted(links))

    def _entry(self, old: _Link | None, new: _Link | None) -> dict[str, Any] | None:
        link = new or old
        assert link is not None
        if old is not None and new is not None and old.linktext == new.linktext:
            return None  # only what is shown differs: the words say so
        before = None if old is None else self._target(old, self._old.path)
        after = None if new is None else self._target(new, self._new.path)
        if self._is_new and (new is None or self._resolve is None or after is not None or new.is_address):
            return None  # of a new note only links that lead nowhere are worth a line
        words = self._words(old, new, before, after)
        return {"line": link.place + 1, "text": visible(link.shown), "old": before, "new": after, "words": words}

    def _target(self, link: _Link, source: str) -> str | None:
        if self._resolve is None or link.is_address:
            return None
        return self._resolve(link.linktext, source)

    def _words(self, old: _Link | None, new: _Link | None, before: str | None, after: str | None) -> str:
        if new is None:
            assert old is not None
            return f"{'embed' if old.is_embed else 'link'} removed; it {_led(self._place(old, before))}"
        leads = _leads(self._place(new, after))
        if old is None:
            return f"new {'embed' if new.is_embed else 'link'}, {leads}"
        if self._place(old, before) == self._place(new, after):
            return f"still {leads}"
        place = self._place(old, before)
        # Links are looked up in the vault as it is now: a note that was moved is not found by its old name any more.
        return f"{leads} now; it {_led(place)} before" if place else f"{leads} now"

    def _place(self, link: _Link, path: str | None) -> str:
        """Return where a link leads, for a sentence; empty for nowhere."""
        if link.is_address:
            return visible(link.linktext)
        if self._resolve is None:
            return visible(f"“{link.linktext}”")
        _, mark, subpath = link.linktext.partition("#")
        return "" if path is None else visible(path + mark + subpath)


def _leads(place: str) -> str:
    return f"leads to {place}" if place else "leads nowhere"


def _led(place: str) -> str:
    return f"led to {place}" if place else "led nowhere"


def _key(link: _Link) -> str:
    return f"{link.linktext}\n{link.display}\n{link.is_embed}"


def _pairs(old: list[_Link], new: list[_Link]) -> Iterator[tuple[_Link | None, _Link | None]]:
    """Yield which links are the same before and after: those that show the same text, then the others in their order."""
    left = list(old)
    partners: list[_Link | None] = []
    for link in new[:_MOST_LINKS]:
        partner = next((each for each in left[:_MOST_LINKS] if link.display and each.display == link.display), None)
        partner = partner or next((each for each in left[:_MOST_LINKS] if each.linktext == link.linktext), None)
        if partner is not None:
            left.remove(partner)
        partners.append(partner)
    for place, link in enumerate(new[:_MOST_LINKS]):
        if partners[place] is None and left and not (link.display and left[0].display):
            partners[place] = left.pop(0)
        yield partners[place], link
    for link in left[:_MOST_LINKS]:
        yield link, None


# Characters of one page: a browser shows them at once.
_MOST_CHARACTERS = 1_000_000
# Lines that are unfolded at once.
_MOST_UNFOLDED = 2_000


def file_diff(
    path: str,
    before: bytes | None,
    after: bytes | None,
    *,
    resolve: Resolve | None = None,
    first_hunk: int = 0,
    max_rows: int = 2000,
    target: str | None = None,
) -> dict[str, Any]:
    """Return the difference of a file before and after; None stands for a file that is not there.

    ``target`` is the new path of a file that was moved. Hunks are given from ``first_hunk`` on until ``max_rows`` rows are
    reached. ``next_hunk`` is the ``first_hunk`` of the next page. A hunk that is too long for one page goes on there: it has
    the same index and ``is_continued``, and ``next_hunk`` is then no index (its remainder by the count of hunks is).

    The caller sets ``index``, ``rewritten_links`` and the state of each hunk. ``properties``, ``links``, ``nodes`` and
    ``notices`` are those of the whole file, and only on the first page. All texts but ``t`` of parts and the paths have the
    names of hidden characters in place of them.
    """
    kind = _kind(target or path, before, after)
    view: dict[str, Any] = {
        "index": 0,
        "action": _action(before, after, target),
        "path": path,
        "to": target,
        "kind": kind,
        "is_new": before is None and after is not None and target is None,
        "added": 0,
        "removed": 0,
        "rewritten_links": 0,
        "notices": [],
        "properties": [],
        "links": [],
        "nodes": [],
        "hunks": [],
        "hunk_count": 0,
        "next_hunk": None,
    }
    if kind in ("image", "binary"):
        view["notices"] = _sizes(before, after) if kind == "binary" else []
        return view
    if target is not None and after is None:  # a move alone
        return view
    old_text, new_text = plain_text(before or b""), plain_text(after or b"")
    file = _file(old_text, new_text, is_note=kind == "note")
    steps = Steps()
    hunks = file.texts.hunks
    view["added"] = sum(hunk.new_end - hunk.new_start for hunk in hunks)
    view["removed"] = sum(hunk.end - hunk.start for hunk in hunks)
    view["hunk_count"] = len(hunks)
    if first_hunk <= 0:
        view["notices"] = notices_of(file.texts, before, after, is_note=kind == "note")
        if kind == "note":
            view["properties"] = property_rows(old_text, new_text, steps)
            view["links"] = _links(file, path, target or path, resolve, view)
        elif kind == "canvas":
            view["nodes"], problem = canvas_nodes(old_text, new_text, steps)
            if problem:
                view["notices"].append(notice("canvas", 1, f"The canvas cannot be shown by its nodes: it {problem}."))
    if hunks:
        view["hunks"], view["next_hunk"] = _hunks(file, steps, max(0, first_hunk), max_rows)
    return view


def unchanged_rows(before: bytes | None, after: bytes | None, first: int, last: int) -> list[Row]:
    """Return rows for the unchanged lines ``first`` to ``last`` of the new text, from 1: to unfold what lies between hunks.

    At most 2,000 lines are returned; lines that changed are left out.
    """
    texts = texts_of(plain_text(before or b""), plain_text(after or b""))
    rows: list[Row] = []
    start = new_start = 0
    for hunk in [*texts.hunks, Difference(len(texts.old), len(texts.old), len(texts.new), len(texts.new))]:
        for new in range(max(new_start, first - 1), min(hunk.new_start, last)):
            if len(rows) < _MOST_UNFOLDED:
                rows.append(same_row(texts.new[new], start + new - new_start, new))
        start, new_start = hunk.end, hunk.new_end
    return rows


def _action(before: bytes | None, after: bytes | None, target: str | None) -> str:
    if target is not None:
        return "move"
    return "create" if before is None else "remove" if after is None else "edit"


def _kind(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return how a file is shown: note, canvas, image, text or binary. Bytes with a NUL are no text; Git tells so, too."""
    if kind_of(path) == "image":
        return "image"
    if is_media(path) or any(data is not None and b"\0" in data for data in (before, after)):
        return "binary"
    if kind_of(path) == "canvas":
        return "canvas"
    return "note" if path.lower().endswith(".md") else "text"


def _sizes(before: bytes | None, after: bytes | None) -> list[dict[str, Any]]:
    data = after if after is not None else before
    if data is None:
        return []
    told = f", before {len(before):,}" if before is not None and after is not None and len(before) != len(after) else ""
    return [notice("size", len(data), f"{counted(len(data), 'byte')}{told}.")]


def _file(old_text: str, new_text: str, *, is_note: bool) -> File:
    texts = texts_of(old_text, new_text)

    def kinds(text: str, lines: list[str]) -> list[LineKind]:
        return kinds_of(text, lines) if is_note else ["code"] * len(lines)

    moved_to, moved_from = moved_lines(texts)
    return File(
        texts,
        kinds(old_text, texts.old),
        kinds(new_text, texts.new),
        moved_to,
        moved_from,
        _end_notes(old_text, new_text),
    )


def _end_notes(old_text: str, new_text: str) -> tuple[str, str]:
    """Return what to say of the last line of each text, if only one of the two ends with a line end."""
    if not old_text or not new_text or old_text.endswith("\n") == new_text.endswith("\n"):
        return "", ""
    if new_text.endswith("\n"):
        return "without a line end", "with a line end now"
    return "with a line end", "without a line end now"


def _links(file: File, path: str, new_path: str, resolve: Resolve | None, view: dict[str, Any]) -> list[dict[str, Any]]:
    if view["action"] == "remove":
        return []
    old, new = Side(path, file.texts.old, file.old_kinds), Side(new_path, file.texts.new, file.new_kinds)
    changes = LinkChanges(old, new, resolve, is_new=view["is_new"])
    for hunk in file.texts.hunks:
        changes.add(range(hunk.start, hunk.end), range(hunk.new_start, hunk.new_end))
    return changes.found


# ------------------------------------------------------------------ pages


def _hunks(file: File, steps: Steps, first: int, max_rows: int) -> tuple[list[dict[str, Any]], int | None]:
    """Return the hunks of a page, and where the next page begins: hunk + block of its lines x count of hunks."""
    count = len(file.texts.hunks)
    hunks: list[dict[str, Any]] = []
    rows = characters = 0
    block, start = divmod(first, count)
    for index in range(start, count):
        if hunks and (rows >= max_rows or characters >= _MOST_CHARACTERS):
            return hunks, index
        hunk = _hunk(file, index)
        if block:
            hunk["is_continued"] = True
        hunks.append(hunk)
        for row in rows_of(file, index, steps, block):
            hunk["rows"] += row
            block += 1
            rows += len(row)
            characters += sum(map(_length, row))
            if (rows >= max_rows or characters >= _MOST_CHARACTERS) and block < blocks_of(file, index):
                hunk["rows"].append(
                    {"kind": "gap", "old": None, "new": None, "parts": [], "note": "more lines of it follow"}
                )
                return hunks, index + block * count
        block = 0
    return hunks, None


def _length(row: Row) -> int:
    """Return about how many characters a row has in JSON."""
    pieces = [*row["parts"], *row.get("new_parts", ()), *(part for cell in row.get("cells", ()) for part in cell)]
    return sum(len(part["t"]) + 20 for part in pieces)


def _hunk(file: File, index: int) -> dict[str, Any]:
    hunk = file.texts.hunks[index]
    return {
        "index": index,
        "kind": hunk_kind(file, index),
        "old_start": hunk.start + 1,
        "old_lines": hunk.end - hunk.start,
        "new_start": hunk.new_start + 1,
        "new_lines": hunk.new_end - hunk.new_start,
        "state": "made",
        "rows": [],
    }
