"""Queries of Dataview as trees, and trees as text: reading that text gives the same tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeAlias
from typing import Literal as OneOf

from vaultwire.bases.values import Duration
from vaultwire.markdown.patterns import compile_pattern


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: null, true, false, a number or a text. Python's ``True == 1`` does not make two of them equal."""

    value: bool | float | str | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class DateLiteral:
    """``date(today)``, ``date(2026-01-31T10:00)``: what stands in the brackets."""

    text: str


@dataclass(frozen=True, slots=True)
class DurationLiteral:
    """``dur(1 day, 2 hours)``."""

    duration: Duration


@dataclass(frozen=True, slots=True)
class LinkLiteral:
    """``[[linktext|display]]``, with ``is_embed`` behind a ``!``. An empty linktext is the note of the query."""

    linktext: str
    display: str | None = None
    is_embed: bool = False


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """``[1, 2]``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ObjectLiteral:
    """``{ a: 1 }``."""

    items: tuple[tuple[str, Node], ...]


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
    """A call of a function. ``start``: the character at which it begins, for errors."""

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


Node: TypeAlias = (
    Literal
    | DateLiteral
    | DurationLiteral
    | LinkLiteral
    | ListLiteral
    | ObjectLiteral
    | Name
    | Index
    | Call
    | Lambda
    | Applied
    | Not
    | Binary
)
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
class Where:
    """Rows for which the expression holds."""

    condition: Node


@dataclass(frozen=True, slots=True)
class Sort:
    """Rows in order; ``True`` in a key: from the last to the first."""

    keys: tuple[tuple[Node, bool], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """One row for each value."""

    by: Column


@dataclass(frozen=True, slots=True)
class Flatten:
    """One row for each item of a list."""

    by: Column


@dataclass(frozen=True, slots=True)
class Limit:
    """The first rows."""

    count: Node


Command: TypeAlias = Where | Sort | Group | Flatten | Limit
"""A step of a query, done in the order of the text."""
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
    if isinstance(node, (ListLiteral, Call)):
        return node.items if isinstance(node, ListLiteral) else node.arguments
    if isinstance(node, ObjectLiteral):
        return tuple(value for _, value in node.items)
    if isinstance(node, Index):
        return (node.of, node.index)
    if isinstance(node, Applied):
        return (node.function, *node.arguments)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Not):
        return (node.operand,)
    return (node.body,) if isinstance(node, Lambda) else ()


def expressions_of(query: Query) -> tuple[Node, ...]:
    """Return the expressions of a query: of its columns and of its commands."""
    found = [column.expression for column in query.columns]
    for command in query.commands:
        if isinstance(command, Sort):
            found += [key for key, _ in command.keys]
        elif isinstance(command, (Group, Flatten)):
            found.append(command.by.expression)
        else:
            found.append(command.condition if isinstance(command, Where) else command.count)
    return tuple(found)


# ---------------------------------------------------------------------- writing


def expression_text(node: Node, least: int = 0) -> str:
    """Return an expression as text. ``least``: how closely the operator around it binds."""
    if isinstance(node, Literal):
        return _constant(node.value)
    if isinstance(node, DateLiteral):
        return f"date({node.text})"
    if isinstance(node, DurationLiteral):
        return f"dur({_duration_parts(node.duration)})"
    if isinstance(node, LinkLiteral):
        shown = "" if node.display is None else "|" + node.display
        return f"{'!' if node.is_embed else ''}[[{node.linktext.replace('|', chr(92) + '|')}{shown}]]"
    if isinstance(node, ListLiteral):
        text = ", ".join(map(expression_text, node.items))
        # Two brackets without a space would be a link.
        return f"[ {text} ]" if text.startswith("[") else f"[{text}]"
    if isinstance(node, ObjectLiteral):
        return "{ " + ", ".join(f"{quoted(name)}: {expression_text(value)}" for name, value in node.items) + " }"
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Call):
        return f"{node.name}({', '.join(map(expression_text, node.arguments))})"
    if isinstance(node, Lambda):
        return f"(({', '.join(node.parameters)}) => {expression_text(node.body)})"
    if isinstance(node, Applied):
        return f"{expression_text(node.function)}({', '.join(map(expression_text, node.arguments))})"
    if isinstance(node, Index):
        return _index_text(node)
    if isinstance(node, Not):
        inner = expression_text(node.operand)
        # A link behind the sign would be an embed.
        return f"!({inner})" if isinstance(node.operand, Binary) or inner.startswith("[[") else f"!{inner}"
    level = LEVELS[node.operator]
    operator = {"&": "and", "|": "or"}.get(node.operator, node.operator)
    # Operators of one level go from left to right.
    text = f"{expression_text(node.left, level - 1)} {operator} {expression_text(node.right, level)}"
    return f"({text})" if level <= least else text


def _index_text(node: Index) -> str:
    of = expression_text(node.of)
    needs_brackets = isinstance(node.of, (Binary, Not)) or (
        isinstance(node.of, Literal) and isinstance(node.of.value, float)
    )
    of = f"({of})" if needs_brackets else of
    name = node.index.value if isinstance(node.index, Literal) else None
    if isinstance(name, str):
        return f"{of}.{name}" if IDENTIFIER.fullmatch(name) else f"{of}[{quoted(name)}]"
    return f"{of}[{expression_text(node.index)}]"


def _constant(value: bool | float | str | None) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0")


def quoted(text: str) -> str:
    """Return a text in quotation marks."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _duration_parts(duration: Duration) -> str:
    parts = ((duration.months, "months"), (duration.days, "days"), (duration.milliseconds / 1000, "seconds"))
    texts = [f"{_constant(float(amount))} {unit}" for amount, unit in parts if amount]
    return ", ".join(texts) or "0 seconds"
