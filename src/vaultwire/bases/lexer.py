"""Splits an expression of Bases into tokens. What is no token gives a ``SyntaxProblem`` at its character."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.patterns import compile_pattern

# A formula that a person writes has some hundred characters.
MOST_CHARACTERS = 20_000

TokenKind: TypeAlias = Literal["number", "text", "name", "regexp", "operator", "end"]

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
        found = regexp or _TOKEN.match(text, at)
        if found is None:
            quoted = "A quotation mark is not closed" if text[at] in "\"'" else f"{text[at]!r} means nothing here"
            raise SyntaxProblem(f"{quoted} (character {at + 1}).", at)
        if regexp is not None:
            tokens.append(Token("regexp", regexp["pattern"], at, regexp["flags"]))
        elif found.lastgroup != "space":
            tokens.append(_token(found.lastgroup or "", found[0], at))
        at = found.end()
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
