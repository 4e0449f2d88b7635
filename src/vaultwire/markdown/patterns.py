"""Regular expressions: compiled at first use and the same on every Python, those of blocks, and JavaScript's, translated.

In CPython 3.11.0 to 3.11.4, a possessive quantifier after a group matches wrongly (python/cpython#106052 and #100061,
both corrected in 3.11.5). Debian 12 comes with 3.11.2: there the parser found no wikilink. The same pattern with an
atomic group is right in these versions. It is as quick, but takes memory for each repetition: others keep theirs.
"""

from __future__ import annotations

import re
import sys
from typing import Any, NamedTuple, cast

IS_FAULTY = sys.version_info < (3, 11, 5)

_PIECE = re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\(|(\))((?:[*+?]|\{[0-9,]*\})(?=\+))?|.", re.DOTALL)


class _LatePattern:
    """A pattern that is compiled when one of its methods is first called."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Return a method of the compiled pattern; from then on it is found without this."""
        pattern, flags = self._source
        compiled = re.compile(with_atomic_groups(pattern) if IS_FAULTY else pattern, flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


def compile_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern in which a group may be followed by a possessive quantifier. It is compiled at its first use.

    For constants of modules: compiling all that a short command loads takes longer than most commands. ``match.re`` is the
    library's pattern, not what this returns.
    """
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))


def with_atomic_groups(pattern: str) -> str:
    """Return the pattern with an atomic group instead of each possessive quantifier after a group."""
    pieces: list[str] = []
    opened: list[int] = []
    position = 0
    while piece := _PIECE.match(pattern, position):
        position = piece.end()
        if piece[0] == "(":
            opened.append(len(pieces))
        pieces.append(piece[0])
        if piece[1]:
            begin = opened.pop()
            if piece[2]:
                pieces[begin] = "(?>" + pieces[begin]
                pieces.append(")")
                position += 1  # the plus that made it possessive
    return "".join(pieces)


# The patterns that start and end blocks. Which block they make is decided in ``block_parser``.
#
# A pattern without an indentation of its own is matched where a line's text begins, behind its spaces and tabs.

CODE_INDENT = 4  # from this indentation on, in columns, a line is code and starts no other block
# Blocks nested deeper than this are text: it bounds the work for each line.
MAX_DEPTH = 100
ATX_HEADING = compile_pattern(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
SETEXT_UNDERLINE = compile_pattern(r" {0,3}(?:=+|-+)[ \t]*+\Z")
FENCE = compile_pattern(r"`{3,}(?=[^`]*\Z)|~{3,}")
LIST_MARKER = compile_pattern(r"(?:[-*+]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")
THEMATIC_BREAK = compile_pattern(r"(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")
DELIMITER_ROW = compile_pattern(r"(?=[^|]*+\|)[ \t|:]*-[-| :\t]*+\Z")
RULE_LINE = compile_pattern(
    r"[-=*_|: \t]++\Z"
)  # underlines, thematic breaks and delimiter rows have no other characters
# Lines of a paragraph that an underline does not make a heading: definitions, and lines that CommonMark takes for HTML.
NOT_HEADING_TEXT = compile_pattern(
    r"\[(?:\^[^\[\]]++\]:|[^\[\]]++\]:[ \t]*+\S++(?:[ \t]++[\"'(].*+)?[ \t]*+\Z)|<!--.*-->"
)
COMMENT_AND_TEXT = compile_pattern(r"<!--.*-->[ \t]*[^ \t]")
SPACES = compile_pattern(r"[ \t]*+")
# The first character of a line that may continue a quote or a list item; empty for a line that ended.
CONTINUATION_STARTS = ("", " ", "\t", ">")
# The first characters of quotes and list items.
CONTAINER_STARTS = frozenset(">-*+0123456789")
BULLETS = "-*+"
# A line that can only be text, or a list item with such text. Markup such as ``**`` may come first, too short to start a
# block. ``^`` is left out, because it may start a block id.
PLAIN_LINE = compile_pattern(r"(?:(?:[-*+]|[0-9]{1,9}[.)]) )?(?=[*_`=~]{0,2}[^ \t>#`~=*+_|:<$%^0-9-])")
ID_LINE = compile_pattern(r"\^[A-Za-z0-9-]+[ \t]*+\Z")
# CommonMark 0.31 "Raw HTML": an opening or a closing tag, behind its first bracket.
HTML_TAG = (
    r"(?:[A-Za-z][A-Za-z0-9-]*+"
    r"""(?:\s++[A-Za-z_:][A-Za-z0-9_.:-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?+)*+\s*+/?>"""
    r"|/[A-Za-z][A-Za-z0-9-]*+\s*+>)"
)
# CommonMark 0.31 "HTML blocks": what starts one, and what ends it; those of conditions 6 and 7 end at a blank line. By
# condition 7 any tag starts one, but only if it is alone on a line and not in a paragraph, which may begin with <mark>.
RAW_HTML = (
    (
        compile_pattern(r"<(?:pre|script|style|textarea)(?:[\s>]|\Z)", re.IGNORECASE),
        compile_pattern("</(?:pre|script|style|textarea)>", re.IGNORECASE),
    ),
    (compile_pattern(r"<!--"), re.compile("-->")),
    (compile_pattern(r"<\?"), re.compile(r"\?>")),
    (compile_pattern(r"<!\[CDATA\["), re.compile("]]>")),
    (compile_pattern(r"<![A-Za-z]"), re.compile(">")),
)
HTML_BLOCK = compile_pattern(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div"
    r"|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr"
    r"|track|ul)(?:[\s/>]|\Z)",
    re.IGNORECASE,
)
HTML_LINE = compile_pattern(f"<{HTML_TAG}[ \t]*\\Z")
MATH_END = compile_pattern(r"\$\$")


# Regular expressions of JavaScript, as the ``regex`` package writes them. Pure text: it compiles nothing.
#
# In JavaScript (without the flag ``u``) digits, letters and the edges of words are ASCII, a line ends at four characters, ``$``
# is the very end without the flag ``m``, ``[^]`` is any character, a brace that repeats nothing is itself, and a group that has
# not matched is found anywhere when it is referred to. ``\p{L}`` means the letters of all scripts, as with ``u``.

_JAVASCRIPT_PIECE = compile_pattern(
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
    return [Piece(piece, changed.get(piece) or _translated(piece)) for piece in _JAVASCRIPT_PIECE.findall(pattern)]


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
