"""The tree of an expression in the language of Bases. Positions count characters of the expression's text, from 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

BinaryOperator: TypeAlias = OneOf["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"]
UnaryOperator: TypeAlias = OneOf["-", "!"]


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: null, true, false, a number or a text. Python's ``True == 1`` does not make two of them equal."""

    value: bool | float | str | None
    start: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[type, bool | float | str | None, int]:
        return (type(self.value), self.value, self.start)


@dataclass(frozen=True, slots=True)
class RegexpLiteral:
    """A regular expression between slashes, as in JavaScript."""

    pattern: str
    flags: str = ""
    start: int = 0


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """A list in brackets."""

    items: tuple[Node, ...]
    start: int = 0


@dataclass(frozen=True, slots=True)
class Name:
    """A name on its own: a property of the note, ``file``, ``this``, ``formula``, ``value``, or a function that is called."""

    name: str
    start: int = 0


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a value: ``of.name``."""

    of: Node
    name: str
    start: int = 0


@dataclass(frozen=True, slots=True)
class Index:
    """An item of a list, or a field of an object: ``of[index]``."""

    of: Node
    index: Node
    start: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function (``Name``) or of a value's function (``Member``)."""

    function: Name | Member
    arguments: tuple[Node, ...]
    start: int = 0


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator before its operand."""

    operator: UnaryOperator
    operand: Node
    start: int = 0


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two operands."""

    operator: BinaryOperator
    left: Node
    right: Node
    start: int = 0


Node: TypeAlias = Literal | RegexpLiteral | ListLiteral | Name | Member | Index | Call | Unary | Binary
"""Any expression."""
