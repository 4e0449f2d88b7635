"""What a query of a base is asked with, and what it gives. No behaviour."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vaultwire.bases.base import Base, View
from vaultwire.bases.values import Value
from vaultwire.vault.value_types import Progress, VaultPath


class BaseSource(NamedTuple):
    """Where a base is: a ``.base`` file; the block of that number (from 1) in the note ``path``; or the ``text`` given.

    ``path`` may be written as people name files: without extension, or as a link. With a ``text`` it says where the base
    counts as being, for relative links and ``this``; it may be empty.
    """

    path: str = ""
    block: int = 0
    text: str = ""


class Column(NamedTuple):
    """A column of a result: the id of its property (``note.status``) and the name that a person sees."""

    id: str
    name: str


class ResultRow(NamedTuple):
    """One file with its cells, one for each column. ``group``: its place in the groups; -1 without groups.

    ``image``: the value of the property that the view's own setting ``image`` names, which may be none of the columns.
    """

    path: VaultPath
    cells: tuple[Value, ...]
    group: int = -1
    image: Value = None


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """A group of rows: the value they share, its text, how many rows of the result it has, their summaries by column id."""

    value: Value
    text: str
    count: int
    summaries: Mapping[str, Value] = field(default_factory=dict)


class ResultRows(Sequence[ResultRow]):
    """The rows of a result. A row may be made when it is first asked for."""

    @abstractmethod
    def paths(self) -> list[VaultPath]:
        """Return the paths of all rows, without making their cells."""

    @abstractmethod
    def page(self, numbers: Iterable[int], most_bytes: int, progress: Progress) -> list[ResultRow]:
        """Return the rows of these numbers, the first of them, as far as their cells take no more bytes; at least one."""

    @abstractmethod
    def release(self) -> None:
        """Give back the memory of what can be made or read again."""


class BaseResult(NamedTuple):
    """The result of one view. ``summaries`` by column id. ``total``: the number of files before the limit.

    ``rows`` may make a row when it is first asked for it, and then keeps it. ``problems``: what was not understood, and
    what failed outside of the cells, in words; ``problems_of_rows``: those that leave it open which files the view shows.
    ``path``: the file that holds the base; "" for a base given as text without a place. ``kept_bytes``: what groups and
    summaries take.
    """

    base: Base
    view: View
    columns: list[Column]
    rows: ResultRows
    groups: list[ResultGroup]
    summaries: Mapping[str, Value]
    total: int
    problems: list[str]
    problems_of_rows: list[str]
    path: str = ""
    kept_bytes: int = 0


class BaseBlock(NamedTuple):
    """A base in a code block of a note: its number (from 1), the line of its first line of text, the text, its views' names."""

    number: int
    line: int
    text: str
    views: list[str]


class FilterVerdict(NamedTuple):
    """What one filter gave for a file. ``depth``: how deep it is nested. ``of``: ``base`` or ``view``.

    ``text``: the expression, or ``and``, ``or``, ``not``. ``value``: what the expression gave; of a group, whether it holds.
    """

    of: str
    depth: int
    text: str
    value: Value
    holds: bool


class FormulaResult(NamedTuple):
    """What one formula gave for a file."""

    name: str
    text: str
    value: Value


class Explanation(NamedTuple):
    """Why a file is in a view or not. ``dropped_by``: the first filters that did not hold, in words; empty if it is in it.

    ``problems``: as of a ``BaseResult``.
    """

    path: VaultPath
    view: View
    is_in: bool
    filters: list[FilterVerdict]
    formulas: list[FormulaResult]
    dropped_by: list[str]
    problems: Sequence[str] = ()
