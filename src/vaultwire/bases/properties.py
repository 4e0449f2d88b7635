"""The values of a note's properties: what YAML has, with links and dates as such."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import tzinfo

from vaultwire.bases.dates import parse_date
from vaultwire.bases.host import Host
from vaultwire.bases.row import Row
from vaultwire.bases.values import Link, TagList, Value
from vaultwire.markdown.yaml_core import PropertyValue

_LINK = re.compile(r"\s*\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]\s*")
_TEXT_TYPES = frozenset(("text", "tags", "aliases", "multitext"))
_DATE_START = frozenset("0123456789")
_MOST_DEEP = 20
_NOT_THERE = object()


def property_value(name: str, row: Row, path: str) -> Value:
    """Return a property of a file, its name in any case; null if it has none."""
    held = row.properties.get(path)
    if held is None:
        held = row.properties[path] = {}
    if name in held:
        return held[name]
    raw = row.host.properties(path)
    found = raw.get(name, _NOT_THERE)
    if found is _NOT_THERE and (other := _in_other_case(name, raw)) is not None:
        name, found = other, raw[other]
    value = held[name] = None if found is _NOT_THERE else to_value(name, found, row.host, path, row.zone)  # type: ignore[arg-type]
    return value


def has_property(name: str, row: Row, path: str) -> bool:
    """Tell whether a file has a property, its name in any case, even an empty one."""
    raw = row.host.properties(path)
    return name in raw or _in_other_case(name, raw) is not None


def _in_other_case(name: str, raw: Mapping[str, PropertyValue]) -> str | None:
    """Return the property of this name in another case. A mapping other than a dict finds names in any case by itself."""
    folded = name.casefold()
    return next((each for each in raw if each.casefold() == folded), None) if isinstance(raw, dict) else None


def all_properties(row: Row, path: str) -> Mapping[str, Value]:
    """Return every property of a file."""
    return {name: property_value(name, row, path) for name in row.host.properties(path)}


def to_value(name: str, raw: PropertyValue, host: Host, path: str, zone: tzinfo, depth: int = 0) -> Value:
    """Return a property's value: a wikilink is a link, a date a date unless its property is declared as text."""
    if isinstance(raw, str):
        found = _LINK.fullmatch(raw)
        if found is not None:
            return Link(found[1].strip(), found[2], path)
        if raw[:1] in _DATE_START and host.property_type(name) not in _TEXT_TYPES:
            date = parse_date(raw, zone) if "-" in raw else None
            return raw if date is None else date
        return raw
    if depth < _MOST_DEEP and isinstance(raw, list):
        items = [to_value(name, each, host, path, zone, depth + 1) for each in raw]
        is_tags = depth == 0 and name.casefold() in ("tags", "tag")
        return (
            TagList(each.removeprefix("#") if isinstance(each, str) else each for each in items) if is_tags else items
        )
    if depth < _MOST_DEEP and isinstance(raw, dict):
        return {key: to_value(name, each, host, path, zone, depth + 1) for key, each in raw.items()}
    return raw if raw is None or isinstance(raw, (bool, int, float)) else None
