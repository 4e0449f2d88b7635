"""The values of the language of Bases. Null, booleans, numbers, texts, lists and objects are Python's own.

A number is a double, as in JavaScript: Python's whole numbers come in from properties only, and ``1`` and ``1.0`` are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Date:
    """A moment. ``at`` has a time zone; without ``has_time`` only its day counts as text."""

    at: datetime
    has_time: bool = True


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in the parts that Moment.js keeps apart, because months and days have no fixed length."""

    months: int = 0
    days: float = 0
    milliseconds: float = 0


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written in ``source`` (a path; "" is the vault's root): linkpath and subpath, and what is shown instead."""

    linktext: str
    display: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the vault, by its path."""

    path: str


@dataclass(frozen=True, slots=True)
class Regexp:
    """A regular expression of JavaScript."""

    pattern: str
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Html:
    """Text that the app shows as HTML."""

    text: str


@dataclass(frozen=True, slots=True)
class Icon:
    """The name of one of the app's icons."""

    name: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image: an address, or a link or file of the vault."""

    of: str | Link | File


@dataclass(frozen=True, slots=True)
class ErrorValue:
    """What a cell holds instead of a value: the error in the app's words."""

    message: str


class TagList(list["Value"]):
    """Tags, without ``#``. ``contains`` finds a tag in any case, and a tag above another one."""


Value: TypeAlias = (
    bool
    | int
    | float
    | str
    | Date
    | Duration
    | Sequence["Value"]
    | Mapping[str, "Value"]
    | Link
    | File
    | Regexp
    | Html
    | Icon
    | Image
    | ErrorValue
    | None
)
"""Any value."""
