"""What an expression is evaluated for: one file, with all that it may ask."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import NamedTuple, Protocol

from vaultwire.bases.base import Expression
from vaultwire.bases.values import Budget, ErrorValue, Link, Memory, TagList, Value, parse_date
from vaultwire.markdown.yaml_core import PropertyValue

# What the language asks of the vault. The engine answers; tests answer with a few facts in memory.


class FileFacts(NamedTuple):
    """Size in bytes; times in milliseconds since 1970, UTC."""

    size: int
    created_ms: float
    modified_ms: float


class LinkFact(NamedTuple):
    """A link in a file: linkpath and subpath as the app keeps them (Markdown links are not decoded further), what is shown."""

    linktext: str
    display: str
    is_embed: bool


class Host(Protocol):
    """The files of a vault that this run may see. Nothing raises for a path that is not there: it has no facts, no links."""

    def resolve(self, linktext: str, source: str) -> str | None:
        """Return the path of the file that a link in ``source`` leads to, as Obsidian does; None for none."""

    def facts(self, path: str) -> FileFacts | None:
        """Return size and times; None if there is no such file."""

    def properties(self, path: str) -> Mapping[str, PropertyValue]:
        """Return the properties as YAML has them, in their order. A mapping that is no dict finds names in any case."""

    def tags(self, path: str) -> Sequence[str]:
        """Return the tags, without ``#``, those of the properties first."""

    def links(self, path: str) -> Sequence[LinkFact]:
        """Return the links and embeds: of the properties first, then in the order in which the app lists them."""

    def backlinks(self, path: str) -> Sequence[str]:
        """Return the paths of the notes that link to the file, in path order, each once."""

    def property_type(self, name: str) -> str:
        """Return the type that the vault declares for a property: ``date``, ``number`` …; "" for none."""


@dataclass(slots=True)
class Query:
    """What all rows of one query share. ``now`` has a time zone; ``this`` is the path of the file around the base.

    ``known``: values of formulas by name and path, of those that other views of the base have asked for, too; a formula
    that is not in it is computed again.
    """

    host: Host
    now: datetime
    formulas: Mapping[str, Expression] = field(default_factory=dict)
    this: str = ""
    random: random.Random = field(default_factory=random.Random)
    compiled: dict[int, tuple[Expression, Callable[[Row], Value]]] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    known: Mapping[str, dict[str, Value]] = field(default_factory=dict)

    @property
    def zone(self) -> tzinfo:
        """The person's time zone."""
        zone = self.now.tzinfo
        assert zone is not None, "now has a time zone"
        return zone


@dataclass(slots=True)
class Row:
    """One file. ``names``: what ``value``, ``index``, ``acc`` or ``values`` are at the moment; formulas are computed once."""

    query: Query
    path: str
    names: dict[str, Value] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    formulas: dict[str, Value | ErrorValue] = field(default_factory=dict)
    computing: set[str] = field(default_factory=set)
    properties: dict[tuple[str, str], Value] = field(default_factory=dict)

    @property
    def host(self) -> Host:
        """The vault."""
        return self.query.host

    @property
    def zone(self) -> tzinfo:
        """The person's time zone."""
        return self.query.zone


# The values of a note's properties: what YAML has, with links and dates as such.

_LINK = re.compile(r"\s*\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]\s*")
_TEXT_TYPES = frozenset(("text", "tags", "aliases", "multitext"))
_DATE_START = frozenset("0123456789")
_MOST_DEEP = 20


def property_value(name: str, row: Row, path: str) -> Value:
    """Return a property of a file, its name in any case; null if it has none."""
    raw = row.host.properties(path)
    raw_value = raw.get(name)
    if raw_value is None and (other := _in_other_case(name, raw)) is not None:
        name, raw_value = other, raw[other]
    if raw_value is None or isinstance(raw_value, (int, float)):
        return raw_value
    held = row.properties.get((path, name))
    if held is None:
        held = row.properties[path, name] = to_value(name, raw_value, row.host, path, row.zone)
    return held


def has_property(name: str, row: Row, path: str) -> bool:
    """Tell whether a file has a property, its name in any case, even an empty one."""
    raw = row.host.properties(path)
    return name in raw or _in_other_case(name, raw) is not None


def _in_other_case(name: str, raw: Mapping[str, PropertyValue]) -> str | None:
    """Return the property of this name in another case. A mapping other than a dict finds names in any case by itself."""
    if not isinstance(raw, dict) or name in raw:
        return None
    folded = name.casefold()
    return next((each for each in raw if each.casefold() == folded), None)


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
