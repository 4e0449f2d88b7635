"""What a base says: filters, formulas, columns, summaries and views, as read from its YAML (``base_file``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from vaultwire.bases.tree import Node
from vaultwire.markdown.yaml_core import PropertyValue


@dataclass(frozen=True, slots=True)
class Broken:
    """An expression that cannot be read. ``message``: its value, the error in the app's words; ``words``: what is wrong."""

    text: str
    message: str
    words: str = ""


Expression: TypeAlias = Node | Broken
"""An expression as it stands in a base."""


@dataclass(frozen=True, slots=True)
class Group:
    """Filters joined: all hold (``and``), one holds (``or``), none holds (``not``)."""

    kind: Literal["and", "or", "not"]
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter that is an expression; ``text`` as written."""

    text: str
    expression: Expression


Filter: TypeAlias = Group | Condition
"""A filter of a base or view."""


@dataclass(frozen=True, slots=True)
class Sorting:
    """A property id, and the direction."""

    property: str
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """One view. Ids of properties are as ``ids.normal_id`` writes them: ``note.x``, ``file.x``, ``formula.x``.

    ``settings``: every key of the view as YAML has it, also those that this class names.
    """

    name: str
    type: str = "table"
    filter: Filter | None = None
    limit: int | None = None
    order: tuple[str, ...] = ()
    sort: tuple[Sorting, ...] = ()
    group_by: Sorting | None = None
    summaries: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, PropertyValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Base:
    """A base. ``display_names`` by property id; ``summaries``: custom ones by name.

    ``problems``: what was passed over, in words.
    """

    filter: Filter | None = None
    formulas: Mapping[str, Expression] = field(default_factory=dict)
    display_names: Mapping[str, str] = field(default_factory=dict)
    summaries: Mapping[str, Expression] = field(default_factory=dict)
    views: tuple[View, ...] = ()
    problems: tuple[str, ...] = ()
