"""Queries of Dataview as trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from typing import Literal as OneOf

from vaultwire.bases.values import Duration
from vaultwire.markdown.patterns import compile_pattern


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: null, true, false, a number, text or duration. Python's ``True == 1`` does not make two of them equal."""

    value: bool | float | str | Duration | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class DateLiteral:
    """``date(today)``, ``date(2026-01-31T10:00)``: what stands in the brackets."""

    text: str


@dataclass(frozen=True, slots=True)
class LinkLiteral:
    """``[[linktext|display]]``, with ``is_embed`` behind a ``!``. An empty linktext is the note of the query."""

    linktext: str
    display: str | None = None
    is_embed: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A field, or what a lambda names."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """``of.name`` (then ``index`` is a text) or ``of[index]``."""

    of: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function; ``[1, 2]`` and ``{ a: 1 }`` call ``list`` and ``object``. ``start``: where it begins."""

    name: str
    arguments: tuple[Node, ...]
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Lambda:
    """``(x, y) => body``."""

    parameters: tuple[str, ...]
    body: Node


@dataclass(frozen=True, slots=True)
class Applied:
    """``((x) => body)(arguments)``: a lambda that is called where it stands."""

    function: Lambda
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """``!operand``."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two operands; ``and`` is ``&``, ``or`` is ``|``."""

    operator: str
    left: Node
    right: Node


Node: TypeAlias = Literal | DateLiteral | LinkLiteral | Name | Index | Call | Lambda | Applied | Not | Binary
"""Any expression."""


@dataclass(frozen=True, slots=True)
class TagSource:
    """Notes with a tag (with ``#``) or one below it."""

    tag: str


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Notes in a folder or below it, or the one note of that path."""

    path: str


@dataclass(frozen=True, slots=True)
class LinkSource:
    """Notes that link to a note; with ``is_outgoing`` the notes that it links to. An empty text is the note of the query."""

    linktext: str
    is_outgoing: bool = False


@dataclass(frozen=True, slots=True)
class NotSource:
    """Notes that are not in a source."""

    of: Source


@dataclass(frozen=True, slots=True)
class BothSources:
    """Notes in both sources (``&``), or in one of them (``|``)."""

    operator: OneOf["&", "|"]
    left: Source
    right: Source


Source: TypeAlias = TagSource | FolderSource | LinkSource | NotSource | BothSources
"""What stands behind FROM."""


@dataclass(frozen=True, slots=True)
class Column:
    """An expression with its name: that of ``AS``, else its own text."""

    expression: Node
    name: str


@dataclass(frozen=True, slots=True)
class Command:
    """A step of a query, done in the order of the text. Only SORT has more than one column: its keys.

    ``is_descending``: for each key of SORT. ``text``: the step as the person wrote it, on one line.
    """

    word: CommandWord
    columns: tuple[Column, ...]
    is_descending: tuple[bool, ...] = ()
    text: str = field(default="", compare=False)


CommandWord: TypeAlias = OneOf["WHERE", "SORT", "GROUP BY", "FLATTEN", "LIMIT"]
QueryType: TypeAlias = OneOf["table", "list", "task", "calendar"]


@dataclass(frozen=True, slots=True)
class Query:
    """A query. ``source`` None: all notes. Only a table has more than one column, a calendar has its date."""

    type: QueryType
    columns: tuple[Column, ...] = ()
    has_id: bool = True
    source: Source | None = None
    commands: tuple[Command, ...] = ()


# Signs that names may have beside letters.
EMOJI = "\u2600-\u27bf\u2b00-\u2bff\u2300-\u23ff\U0001f000-\U0001faff"
IDENTIFIER = compile_pattern(rf"(?:[^\W\d_]|[{EMOJI}])(?:[\w-]|[{EMOJI}\ufe0f\u200d])*+")
"""The form of a name."""
LEVELS: Final = {
    **dict.fromkeys("&|", 1),
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), 2),
    **dict.fromkeys("+-", 3),
    **dict.fromkeys("*/%", 4),
}
"""How closely operators bind, the closest last."""


def children(node: Node) -> tuple[Node, ...]:
    """Return the expressions right within an expression."""
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Index):
        return (node.of, node.index)
    if isinstance(node, Applied):
        return (node.function, *node.arguments)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Not):
        return (node.operand,)
    return (node.body,) if isinstance(node, Lambda) else ()


def nodes_of(query: Query) -> Iterator[Node]:
    """Yield the expressions of a query, of its columns and of its commands, and all within them."""
    columns = [*query.columns, *(column for command in query.commands for column in command.columns)]
    waiting = [column.expression for column in columns]
    while waiting:
        yield (node := waiting.pop())
        waiting += children(node)
