"""Reads an expression of Bases as a tree. Any text gives a tree or a ``SyntaxProblem``, and nothing else."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, TypeVar, cast
from typing import Literal as OneOf

from vaultwire.markdown.patterns import compile_pattern

# The tree of an expression in the language of Bases. Positions count characters of the expression's text, from 0.

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

PRECEDENCE: Final[dict[str, int]] = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
}  # fmt: skip
"""How closely operators bind, the closest last."""


# Splits an expression of Bases into tokens. What is no token gives a ``SyntaxProblem`` at its character.

# A formula that a person writes has some hundred characters.
MOST_CHARACTERS = 20_000

TokenKind: TypeAlias = typing.Literal["number", "text", "name", "regexp", "operator", "end"]

_TOKEN = compile_pattern(
    r"(?P<space>\s++)"
    r"|(?P<number>(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)"
    r"|(?P<name>[^\W\d][\w$]*+|\$[\w$]*+)"
    r"|(?P<text>\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+')"
    r"|(?P<operator>==|!=|<=|>=|&&|\|\||[-+*/%()\[\].,!<>])",
    re.DOTALL,
)
_REGEXP = compile_pattern(r"/(?P<pattern>(?:[^/\\\[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*+\])++)/(?P<flags>[a-z]*+)")
_ESCAPE = compile_pattern(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
# A slash after one of these divides; anywhere else it begins a regular expression.
_ENDS_VALUE = frozenset(")]")


class SyntaxProblem(ValueError):  # noqa: N818 - a problem of the person's text, not of the program
    """The text is no expression. ``words`` say why; ``position`` counts characters from 0.

    Its text is the app's own message. The app names position 0 wherever the mistake is; ours is in ``position``.
    """

    def __init__(self, words: str, position: int) -> None:
        super().__init__("Unable to parse formula. (position 0)")
        self.words = words
        self.position = position


class Token(NamedTuple):
    """A piece of an expression: its kind, what it means and where it begins. ``flags``: of a regular expression."""

    kind: TokenKind
    value: str
    start: int
    flags: str = ""


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of an expression, an "end" last. Raises SyntaxProblem."""
    if len(text) > MOST_CHARACTERS:
        raise SyntaxProblem(f"A formula has at most {MOST_CHARACTERS:,} characters; this one has {len(text):,}.", 0)
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        regexp = _REGEXP.match(text, at) if text[at] == "/" and not _ends_value(tokens) else None
        match = regexp or _TOKEN.match(text, at)
        if match is None:
            quoted = "A quotation mark is not closed" if text[at] in "\"'" else f"{text[at]!r} means nothing here"
            raise SyntaxProblem(f"{quoted} (character {at + 1}).", at)
        if regexp is not None:
            tokens.append(Token("regexp", regexp["pattern"], at, regexp["flags"]))
        elif match.lastgroup != "space":
            tokens.append(_token(match.lastgroup or "", match[0], at))
        at = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


def _token(group: str, written: str, at: int) -> Token:
    if group == "text":
        return Token("text", _ESCAPE.sub(lambda found: _unescaped(found.groups()), written[1:-1]), at)
    return Token("number" if group == "number" else "name" if group == "name" else "operator", written, at)


def _unescaped(groups: tuple[str | None, ...]) -> str:
    code, short, other = groups
    if other is not None:
        return _ESCAPES.get(other, other)
    return chr(int(code or short or "0", 16))


def _ends_value(tokens: list[Token]) -> bool:
    if not tokens:
        return False
    last = tokens[-1]
    return last.value in _ENDS_VALUE if last.kind == "operator" else True


def end_of_token(text: str, start: int) -> int:
    """Return where the token that begins at ``start`` ends. For a name or a text."""
    found = _TOKEN.match(text, start)
    return start if found is None else found.end()


# Deeper trees would exhaust Python's stack when they are evaluated.
_MOST_NESTED = 40
_MOST_DEEP = 200
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


def parse(text: str) -> Node:
    """Return the tree of an expression. Raises SyntaxProblem, whose position is the character of the mistake."""
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
        if depth_of(node, children) > _MOST_DEEP:
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

    def _unexpected(self, expected: str = "a value is expected") -> SyntaxProblem:
        token = self._next
        found = "the formula ends" if token.kind == "end" else f"there is “{token.value[:40]}”"
        return SyntaxProblem(
            f"{expected[0].upper()}{expected[1:]}, but {found} (character {token.start + 1}).", token.start
        )

    def _expression(self, least: int) -> Node:
        self._nested += 1
        if self._nested > _MOST_NESTED:
            raise SyntaxProblem(f"A formula has at most {_MOST_NESTED} brackets within each other.", self._next.start)
        left = self._unary()
        while self._next.kind == "operator" and PRECEDENCE.get(self._next.value, 0) > least:
            operator = self._take()
            right = self._expression(PRECEDENCE[operator.value])
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


def nodes_of(node: Node) -> Iterator[Node]:
    """Yield an expression and all within it."""
    waiting = [node]
    while waiting:
        yield (each := waiting.pop())
        waiting += children(each)


AnyNode = TypeVar("AnyNode")


def depth_of(node: AnyNode, children: Callable[[AnyNode], Sequence[AnyNode]]) -> int:
    """Return how many nodes stand within each other in a tree."""
    deepest, waiting = 0, [(node, 1)]
    while waiting:
        each, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in children(each)]
    return deepest


# Writes the tree of an expression as text. Reading that text again gives the same tree.

_UNARY = 7
_WORD = compile_pattern(r"[^\W\d][\w$]*+")
ROOTS = frozenset(("file", "this", "note", "property", "formula"))
"""Names that are no properties of notes."""
ITEM_NAMES = frozenset(("value", "index", "acc"))
"""Names with a meaning of their own within functions of lists."""
# Words that mean something else where they stand alone.
_OTHER_MEANINGS = ROOTS | ITEM_NAMES | {"values", "true", "false", "null"}


def is_word(name: str) -> bool:
    """Tell whether an expression can say a name without brackets and quotes."""
    return _WORD.fullmatch(name) is not None


def property_text(name: str) -> str:
    """Return the expression for a property of a note: ``status``, or ``note["due date"]``."""
    return name if is_word(name) and name not in _OTHER_MEANINGS else f"note[{_constant(name)}]"


def field_of(node: Node) -> tuple[str, str] | None:
    """Return root and name of ``note.x``, ``file.x``, ``formula.x`` or the same in brackets; ``property`` is ``note``."""
    if isinstance(node, Index) and isinstance(node.index, Literal) and isinstance(node.index.value, str):
        name = node.index.value
    elif isinstance(node, Member):
        name = node.name
    else:
        return None
    if not isinstance(node.of, Name) or node.of.name not in ROOTS - {"this"}:
        return None
    return ("note" if node.of.name == "property" else node.of.name), name


def property_of(node: Node) -> str | None:
    """Return the property of a note that an expression is: ``x``, ``note.x``, ``note["x"]``; None if it is none."""
    if isinstance(node, Name):
        return None if node.name in ROOTS else node.name
    field = field_of(node)
    return field[1] if field is not None and field[0] == "note" else None


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
    least = PRECEDENCE[node.operator]
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
    is_lower = isinstance(node, Binary) and PRECEDENCE[node.operator] < least
    return f"({to_text(node)})" if is_lower else to_text(node)
