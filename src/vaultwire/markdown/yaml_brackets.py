"""Writes a list or map in brackets again, on one line: ``[a, "b"]``. What stays in it keeps its text and its space."""

from __future__ import annotations

from collections.abc import Sequence

from vaultwire.markdown.property_values import one_line, same_value, written_name
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.markdown.yaml_matching import places_of
from vaultwire.markdown.yaml_tree import YamlNode


def in_brackets(line: str, node: YamlNode, old: PropertyValue, new: PropertyValue) -> str | None:
    """Return the YAML of a list or map with a new value; ``line`` is the row that it stands on. None if it has several rows.

    The caller reads what it gets: a name without a value, as in ``{a}``, cannot get one here. Raises PropertyEditError.
    """
    if node.start[0] != node.end[0] or line[node.start[1] : node.start[1] + 1] not in ("[", "{"):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        names = [*(name for name in old if name in new), *(name for name in new if name not in old)]
        known = {name: place for place, name in enumerate(old)}
        places = [known.get(name) for name in names]
        heads = ["" if name in known else f"{written_name(name, in_flow=True)}: " for name in names]
        return _written(line, node, places, heads, [*old.values()], [new[name] for name in names])
    if isinstance(old, list) and isinstance(new, list):
        return _written(line, node, places_of(old, new), [""] * len(new), old, new)
    return None


def _written(
    line: str,
    node: YamlNode,
    places: Sequence[int | None],
    heads: Sequence[str],
    old: Sequence[PropertyValue],
    new: Sequence[PropertyValue],
) -> str | None:
    """Return the text of new values, each of which was at a place before or has a head: the name of a new entry."""
    is_map = node.kind == "MappingStartEvent"
    values = node.inner[1::2] if is_map else node.inner
    firsts = node.inner[::2] if is_map else node.inner
    if not old or not new or len(values) != len(old):
        return None
    pieces: list[str] = []
    for place, head, value in zip(places, heads, new, strict=True):
        if place is None:
            pieces.append(head + one_line(value, "", 1))
            continue
        each = values[place]
        before = line[firsts[place].start[1] : each.start[1]]
        kept = line[each.start[1] : each.end[1]] if same_value(old[place], value) else None
        kept = kept if kept is not None else in_brackets(line, each, old[place], value)
        quote = each.style() if each.style() in ("'", '"') else ""
        pieces.append(before + (kept if kept is not None else one_line(value, quote, 1)))
    ends = [node.start[1] + 1, *(each.end[1] for each in values)]
    gaps = [line[end : first.start[1]] for end, first in zip(ends, firsts, strict=False)]
    closing = line[ends[-1] : node.end[1]]
    if places != [*range(len(old))]:  # what is between the entries went with some of them
        gaps = [gaps[0], *[gaps[1] if len(gaps) > 1 else ", "] * (len(pieces) - 1)]
    return line[node.start[1]] + "".join(gap + piece for gap, piece in zip(gaps, pieces, strict=True)) + closing
