"""The properties and the parts of a canvas that changed, each as it was and as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vaultwire.markdown.canvas import Canvas, NotACanvasError, read_canvas
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter, property_type
from vaultwire.markdown.property_values import PropertyEditError, one_line, same_value
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.review.diff.characters import visible
from vaultwire.review.diff.parts import Part, merged, parts_of
from vaultwire.review.diff.words import Steps, compared, tokens_of

# A longer value is cut: the source has all of it.
_MAX_TEXT = 2_000
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


# What changed in a canvas: its cards, files, groups and the edges between them, in words.

# A person reads the first few hundred; the source has all.
_MOST_ENTRIES = 500
_MAX_NAME = 60
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
    found: list[dict[str, Any]] = []
    for what, one, other in (("node", old.nodes, new.nodes), ("edge", old.edges, new.edges)):
        before_by_id, after_by_id = _by_id(one), _by_id(other)
        for key in [*after_by_id, *(each for each in before_by_id if each not in after_by_id)]:
            entry = _entry(what, key, before_by_id.get(key), after_by_id.get(key), names, steps)
            if entry is not None:
                found.append(entry)
            if len(found) >= _MOST_ENTRIES:
                return found, ""
    return found, ""


def _by_id(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {str(item.get("id", f"number {number}")): item for number, item in enumerate(items, 1)}


def _names(canvas: Canvas) -> dict[str, str]:
    return {str(node.get("id")): f"{_kind(node)} {_name(node)}" for node in canvas.nodes}


def _kind(node: Fields) -> str:
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
    own = f"edge {_ends(item, names)}" if what == "edge" else f"{_kind(item)} {_name(item)}"
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
        yield f"{_kind(new)} now, {_kind(old)} before"
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
