"""Writes the tree of an expression as text. Reading that text again gives the same tree."""

from __future__ import annotations

import json

from vaultwire.bases.tree import Binary, Call, Index, ListLiteral, Literal, Member, Name, Node, RegexpLiteral, Unary
from vaultwire.markdown.patterns import compile_pattern

_PRECEDENCE = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
}  # fmt: skip
_UNARY = 7
_WORD = compile_pattern(r"[^\W\d][\w$]*+")
# Words that mean something else where they stand alone.
_OTHER_MEANINGS = frozenset(
    ("file", "this", "note", "property", "formula", "value", "index", "acc", "values", "true", "false", "null")
)


def is_word(name: str) -> bool:
    """Tell whether an expression can say a name without brackets and quotes."""
    return _WORD.fullmatch(name) is not None


def property_text(name: str) -> str:
    """Return the expression for a property of a note: ``status``, or ``note["due date"]``."""
    return name if is_word(name) and name not in _OTHER_MEANINGS else f"note[{_constant(name)}]"


def to_text(node: Node) -> str:
    """Return the expression as text, with no more parentheses than it needs."""
    if isinstance(node, Literal):
        return _constant(node.value)
    if isinstance(node, RegexpLiteral):
        return f"/{node.pattern}/{node.flags}"
    if isinstance(node, ListLiteral):
        return f"[{', '.join(map(to_text, node.items))}]"
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Member):
        return f"{_of(node.of)}.{node.name}"
    if isinstance(node, Index):
        return f"{_of(node.of)}[{to_text(node.index)}]"
    if isinstance(node, Call):
        return f"{to_text(node.function)}({', '.join(map(to_text, node.arguments))})"
    if isinstance(node, Unary):
        return node.operator + _within(node.operand, _UNARY)
    least = _PRECEDENCE[node.operator]
    return f"{_within(node.left, least)} {node.operator} {_within(node.right, least + 1)}"


def _constant(value: bool | float | str | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)  # noqa: PLR2004 - digits of a double


def _of(node: Node) -> str:
    """Write what stands before a dot or a bracket. The app refuses a dot after a number."""
    is_number = isinstance(node, Literal) and isinstance(node.value, float)
    return f"({to_text(node)})" if is_number or isinstance(node, (Unary, Binary)) else to_text(node)


def _within(node: Node, least: int) -> str:
    is_lower = isinstance(node, Binary) and _PRECEDENCE[node.operator] < least
    return f"({to_text(node)})" if is_lower else to_text(node)
