"""Regular expressions of JavaScript, as the ``regex`` package writes them. Pure text: it compiles nothing.

In JavaScript (without the flag ``u``) digits, letters and the edges of words are ASCII, a line ends at four characters, ``$``
is the very end without the flag ``m``, ``[^]`` is any character, a brace that repeats nothing is itself, and a group that has
not matched is found anywhere when it is referred to. ``\\p{L}`` means the letters of all scripts, as with ``u``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultwire.markdown.patterns import compile_pattern

_PIECE = compile_pattern(
    r"\\k<\w++>|\\[pP]\{[^{}]*+\}|\\[1-9][0-9]?|\\.|\[\^?\]|\[\^?(?:[^\]\\]|\\.)++\]|\{[0-9]++(?:,[0-9]*+)?\}|.",
    re.DOTALL,
)
_IN_CLASS = compile_pattern(r"\\[pP]\{[^{}]*+\}|\\.|.", re.DOTALL)
_LINE_ENDS = r"\n\r\u2028\u2029"
_ANY = r"[\s\S]"
_SPACES = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_KINDS = {r"\d": "0-9", r"\w": "A-Za-z0-9_", r"\s": _SPACES}
_OTHER_KINDS = {kind.upper(): characters for kind, characters in _KINDS.items()}
# Letters that mean something after a backslash, in both. Before all others a backslash means nothing in JavaScript.
_ESCAPES = "bBcdDfnpPrsStuvwWxk"
_ALWAYS = {
    "[^]": _ANY,
    "[]": "(?!)",
    r"\b": r"(?a:\b)",
    r"\B": r"(?a:\B)",
    r"\/": "/",
    "{": r"\{",
    **{kind: f"[{characters}]" for kind, characters in _KINDS.items()},
    **{kind: f"[^{characters}]" for kind, characters in _OTHER_KINDS.items()},
}
_OF_LINES = {"^": rf"(?:^|(?<=[{_LINE_ENDS}]))", "$": rf"(?=[{_LINE_ENDS}]|\Z)"}
_OF_TEXTS = {"^": r"\A", "$": r"\Z"}


class Piece(NamedTuple):
    """A piece of a pattern: as JavaScript writes it, and as the library does."""

    written: str
    translated: str


def javascript_pieces(pattern: str, *, is_multiline: bool, is_dotall: bool) -> list[Piece]:
    """Return the pieces of a pattern; together they are the whole. The flags are ``m`` and ``s``."""
    changed = _ALWAYS | (_OF_LINES if is_multiline else _OF_TEXTS) | {".": "." if is_dotall else f"[^{_LINE_ENDS}]"}
    return [Piece(piece, changed.get(piece) or _translated(piece)) for piece in _PIECE.findall(pattern)]


def _translated(piece: str) -> str:
    if piece.startswith(r"\k<"):
        return _referred(piece[3:-1], f"(?P={piece[3:-1]})")
    if piece[0] == "\\" and piece[1:].isdigit() and piece != r"\0":
        return _referred(piece[1:], piece)
    if piece[0] == "[" and len(piece) > 1:
        return _class(piece)
    return _unescaped(piece)


def _referred(group: str, reference: str) -> str:
    return f"(?({group}){reference}|)"


def _unescaped(piece: str) -> str:
    is_letter = len(piece) == len(r"\a") and piece[0] == "\\" and piece[1].isascii() and piece[1].isalpha()
    return piece[1] if is_letter and piece[1] not in _ESCAPES else piece


def _class(written: str) -> str:
    """Return a class of characters. What is no letter, digit or space cannot stand in one, and is put beside it."""
    is_negated = written[1] == "^"
    inner: list[str] = []
    others: list[str] = []
    for piece in _IN_CLASS.findall(written[1 + is_negated : -1]):
        if piece in _OTHER_KINDS:
            others.append(f"[^{_OTHER_KINDS[piece]}]")
        else:
            inner.append(_KINDS.get(piece) or (r"\[" if piece == "[" else _unescaped(piece)))
    rest = "".join(inner)
    if not others:
        return f"[{'^' if is_negated else ''}{rest}]"
    if is_negated:
        return f"(?:(?!{'|'.join(others)}){f'[^{rest}]' if rest else _ANY})"
    return f"(?:{'|'.join([*others, *([f'[{rest}]'] if rest else [])])})"
