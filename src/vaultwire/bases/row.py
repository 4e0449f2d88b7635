"""What an expression is evaluated for: one file, with all that it may ask."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from vaultwire.bases.base import Expression
from vaultwire.bases.errors import Budget, Memory
from vaultwire.bases.host import Host
from vaultwire.bases.values import ErrorValue, Value


@dataclass(slots=True)
class Query:
    """What all rows of one query share. ``now`` has a time zone; ``this`` is the path of the file around the base."""

    host: Host
    now: datetime
    formulas: Mapping[str, Expression] = field(default_factory=dict)
    this: str = ""
    random: random.Random = field(default_factory=random.Random)
    compiled: dict[int, tuple[Expression, Callable[[Row], Value]]] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)

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
    properties: dict[str, dict[str, Value]] = field(default_factory=dict)

    @property
    def host(self) -> Host:
        """The vault."""
        return self.query.host

    @property
    def zone(self) -> tzinfo:
        """The person's time zone."""
        return self.query.zone
