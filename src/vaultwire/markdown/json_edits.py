"""Edits of a JSON text that keep its layout: line ends, indentation, the order of keys, numbers as written, unknown keys.

A text is read by the standard library. Only where its values begin and end is found here, so it must be valid JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from vaultwire.markdown.offsets import Replacement

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False)

Span = tuple[int, int]


class Member(NamedTuple):
    """A key of an object and its value: from ``start``, where the key begins, to ``end``."""

    key: str
    value: Any
    start: int
    value_start: int
    end: int


class Element(NamedTuple):
    """A value in an array, from ``start`` to ``end``."""

    value: Any
    start: int
    end: int


class Layout(NamedTuple):
    """How the items of an object or array are laid out: before the first, between two, after the last; and after a key."""

    lead: str = ""
    between: str = ","
    tail: str = ""
    colon: str = ":"


def members(text: str, start: int) -> list[Member]:
    """Return the members of the object that begins at ``start``."""
    pairs = []
    place = _skip(text, start + 1)
    while text[place] == '"':
        key, end = _DECODER.raw_decode(text, place)
        value_start = _skip(text, _skip(text, end) + 1)
        value, value_end = _DECODER.raw_decode(text, value_start)
        pairs.append(Member(key, value, place, value_start, value_end))
        place = _skip(text, value_end)
        place = _skip(text, place + 1) if text[place] == "," else place
    return pairs


def elements(text: str, start: int) -> list[Element]:
    """Return the elements of the array that begins at ``start``."""
    items = []
    place = _skip(text, start + 1)
    while text[place] != "]":
        value, end = _DECODER.raw_decode(text, place)
        items.append(Element(value, place, end))
        place = _skip(text, end)
        place = _skip(text, place + 1) if text[place] == "," else place
    return items


def layout_of(text: str, whole: Span, items: Sequence[Member] | Sequence[Element], usual: Layout) -> Layout:
    """Return the layout of an object or array; where it has too few items to tell, the usual one."""
    if not items:
        return usual
    first = items[0]
    lead, tail = text[whole[0] + 1 : first.start], text[items[-1].end : whole[1] - 1]
    between = f",{lead}" if lead else usual.between
    if len(items) > 1:
        between = text[items[-2].end : items[-1].start]
    colon = usual.colon
    if isinstance(first, Member):
        key_end = _DECODER.raw_decode(text, first.start)[1]
        colon = text[key_end : first.value_start]
    return Layout(lead, between, tail, colon)


def edit_items(
    whole: Span, spans: Sequence[Span], removed: Collection[int], added: Sequence[str], layout: Layout
) -> list[Replacement]:
    """Return the edits that remove some items of an object or array, by their numbers, and add others behind the last."""
    kept = [number for number in range(len(spans)) if number not in removed]
    if not kept:
        if not spans and not added:
            return []
        new = f"{layout.lead}{layout.between.join(added)}{layout.tail}" if added else ""
        return [Replacement(whole[0] + 1, whole[1] - 1, new)]
    # Each takes the comma on the side of an item that stays.
    edits = [
        Replacement(spans[number - 1][1], spans[number][1], "")
        if number > kept[0]
        else Replacement(spans[number][0], spans[number + 1][0], "")
        for number in sorted(removed)
    ]
    if added:
        end = spans[kept[-1]][1]
        edits.append(Replacement(end, end, "".join(layout.between + item for item in added)))
    return sorted(edits)


def edit_object(text: str, whole: Span, changes: Mapping[str, Any]) -> list[Replacement]:
    """Return the edits that give keys of an object new values; None removes a key. A value that is there already stays."""
    there = members(text, whole[0])
    by_key = {
        member.key: number for number, member in enumerate(there)
    }  # of a key that is there twice, the last one counts
    layout = layout_of(text, whole, there, Layout())
    edits: list[Replacement] = []
    removed: set[int] = set()
    added = []
    for key, value in changes.items():
        number = by_key.get(key)
        if value is None:
            removed.update(each for each, member in enumerate(there) if member.key == key)
        elif number is None:
            added.append(f"{written(key)}{layout.colon}{written(value)}")
        elif there[number].value != value:
            edits.append(Replacement(there[number].value_start, there[number].end, written(value)))
    edits += edit_items(whole, [(member.start, member.end) for member in there], removed, added, layout)
    return sorted(edits)


def written(value: Any) -> str:
    """Return a text, number or the like as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def written_object(values: Mapping[str, Any], layout: Layout) -> str:
    """Return a new object in a layout."""
    items = [f"{written(key)}{layout.colon}{written(value)}" for key, value in values.items()]
    return "{" + layout.lead + layout.between.join(items) + layout.tail + "}"


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
