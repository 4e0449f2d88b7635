"""Reads an expression of Bases as a tree. Any text gives a tree or a ``SyntaxProblem``, and nothing else."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, cast

from vaultwire.bases.lexer import SyntaxProblem, Token, tokens_of
from vaultwire.bases.tree import (
    Binary,
    BinaryOperator,
    Call,
    Index,
    ListLiteral,
    Literal,
    Member,
    Name,
    Node,
    RegexpLiteral,
    Unary,
    UnaryOperator,
)

__all__ = ["SyntaxProblem", "parse"]

_PRECEDENCE: Final[dict[str, int]] = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
}
# Deeper trees would exhaust Python's stack when they are evaluated.
_MOST_NESTED = 40
_MOST_DEEP = 200
# Trees of longer formulas take too much memory to be kept.
_MOST_KNOWN = 500
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


def parse(text: str) -> Node:
    """Return the tree of an expression. Raises SyntaxProblem, whose position is the character of the mistake."""
    return _parse_known(text) if len(text) <= _MOST_KNOWN else _Parser(tokens_of(text)).whole()


@lru_cache(maxsize=512)  # the same formulas are read for every query
def _parse_known(text: str) -> Node:
    return _Parser(tokens_of(text)).whole()


class _Parser:
    """Reads the tokens once, from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._nested = 0

    def whole(self) -> Node:
        """Read all tokens as one expression."""
        node = self._expression(0)
        if self._next.kind != "end":
            raise self._unexpected()
        if _depth(node) > _MOST_DEEP:
            raise SyntaxProblem(f"A formula has at most {_MOST_DEEP} steps within each other.", 0)
        return node

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _is(self, operator: str) -> bool:
        token = self._next
        return token.kind == "operator" and token.value == operator

    def _expect(self, operator: str) -> None:
        if not self._is(operator):
            raise self._unexpected(f"“{operator}” is expected")
        self._at += 1

    def _unexpected(self, wanted: str = "a value is expected") -> SyntaxProblem:
        token = self._next
        found = "the formula ends" if token.kind == "end" else f"there is “{token.value[:40]}”"
        return SyntaxProblem(
            f"{wanted[0].upper()}{wanted[1:]}, but {found} (character {token.start + 1}).", token.start
        )

    def _expression(self, least: int) -> Node:
        self._nested += 1
        if self._nested > _MOST_NESTED:
            raise SyntaxProblem(f"A formula has at most {_MOST_NESTED} brackets within each other.", self._next.start)
        left = self._unary()
        while self._next.kind == "operator" and _PRECEDENCE.get(self._next.value, 0) > least:
            operator = self._take()
            right = self._expression(_PRECEDENCE[operator.value])
            left = Binary(cast("BinaryOperator", operator.value), left, right, operator.start)
        self._nested -= 1
        return left

    def _unary(self) -> Node:
        signs: list[Token] = []
        while self._is("-") or self._is("!"):
            signs.append(self._take())
        node = self._postfix()
        for sign in reversed(signs):
            node = Unary(cast("UnaryOperator", sign.value), node, sign.start)
        return node

    def _postfix(self) -> Node:
        node = self._primary()
        while self._next.kind == "operator" and self._next.value in ".([":
            token = self._next
            if token.value == ".":
                node = self._member(node)
            elif token.value == "[":
                self._at += 1
                node = Index(node, self._expression(0), token.start)
                self._expect("]")
            elif isinstance(node, (Name, Member)):
                self._at += 1
                node = Call(node, self._items(")"), node.start)
            else:
                raise self._unexpected("a function has a name")
        return node

    def _member(self, node: Node) -> Node:
        if isinstance(node, Literal) and isinstance(node.value, float) and self._tokens[self._at - 1].kind == "number":
            raise SyntaxProblem("Put a number in parentheses before a dot: (1).round().", self._next.start)
        self._at += 1
        if self._next.kind != "name":
            raise self._unexpected("a name is expected after the dot")
        token = self._take()
        return Member(node, token.value, token.start)

    def _items(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._is(end):
            if items:
                self._expect(",")
                if self._is(end):
                    break
            items.append(self._expression(0))
        self._expect(end)
        return tuple(items)

    def _primary(self) -> Node:
        token = self._take()
        if token.kind == "number":
            return Literal(float(token.value), token.start)
        if token.kind == "text":
            return Literal(token.value, token.start)
        if token.kind == "regexp":
            return RegexpLiteral(token.value, token.flags, token.start)
        if token.kind == "name":
            if token.value in _CONSTANTS:
                return Literal(_CONSTANTS[token.value], token.start)
            return Name(token.value, token.start)
        if token.value == "(" and token.kind == "operator":
            node = self._expression(0)
            self._expect(")")
            return node
        if token.value == "[" and token.kind == "operator":
            return ListLiteral(self._items("]"), token.start)
        self._at -= 1
        raise self._unexpected()


def children(node: Node) -> tuple[Node, ...]:
    """Return the expressions right within an expression, in the order of the text."""
    if isinstance(node, (Member, Index)):
        return (node.of,) if isinstance(node, Member) else (node.of, node.index)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Unary):
        return (node.operand,)
    if isinstance(node, Call):
        return (node.function, *node.arguments)
    return node.items if isinstance(node, ListLiteral) else ()


def _depth(node: Node) -> int:
    deepest = 0
    waiting = [(node, 1)]
    while waiting:
        each, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in children(each)]
    return deepest
