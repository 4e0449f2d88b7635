"""The parser of Obsidian's search syntax: text to an expression. Pure. ``vault.search.matching`` says what it means.

The syntax is that of https://help.obsidian.md/plugins/search. Where that page is silent:

- A colon after a word that is no operator, an unclosed slash, and a slash inside a word are plain text.
- Spaces may stand between an operator and what it looks for, as the app takes them.
- ``(`` and ``)`` end a word. Inside a property's brackets so does ``]``, inside its name ``:``.
- Operators that look into a part of the note do not nest; ``match-case:`` and ``ignore-case:`` may stand anywhere.
- A quoted property value means the whole value, an unquoted one a part of it. ``TRUE``, ``FALSE`` and ``EMPTY`` in
  capitals are whole values, as Obsidian's own suggestions write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from vaultwire.markdown.patterns import compile_pattern
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.search.terms import (
    BadRegexError,
    Pattern,
    Text,
    check_regex,
    fold_case,
    is_full_word,
    is_unspaced,
    is_word_character,
)

# A word that a question asks for, and where words like it stand in a text. Pure. It knows no query and no note.

# Shorter words are found only as they are, and with an s.
_LEAST_PART = 5
# What differs of two forms of a word, at most.
_ENDING = 3
# What a form of a word counts, a longer word that begins with it, one that has it inside, and one that has its root.
_FORM, _BEGINNING, _INSIDE, _ROOT = 0.8, 0.5, 0.3, 0.15


class Word(NamedTuple):
    """A word that a question asks for: as written, as it is compared, and what it counts. A phrase is one."""

    text: str
    bare: str
    weight: float = 1.0
    is_phrase: bool = False
    is_request: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it is found only as it is: a phrase, and a word of a script that puts no spaces between words."""
        return self.is_phrase or (not self.bare.isascii() and any(map(is_unspaced, self.bare)))

    @property
    def has_parts(self) -> bool:
        """Whether it is found in other forms and inside longer words."""
        return len(self.bare) >= _LEAST_PART and not self.is_whole

    @property
    def root(self) -> str:
        """What all of its forms have in common."""
        if self.has_parts:
            return self.bare[: max(_LEAST_PART, len(self.bare) - _ENDING)]
        return self.bare if self.is_whole else self.bare.removesuffix("s") or self.bare

    def likeness(self, word: str) -> float:
        """Return what a word of a note counts for this one, from 0 to 1. The note's word has the root."""
        if word == self.bare:
            return 1.0
        if not self.has_parts:
            return _FORM if word.removesuffix("s") == self.root else 0.0
        same = _same(word, self.bare)
        if same >= _LEAST_PART and max(len(word), len(self.bare)) - same <= _ENDING:
            return _FORM
        return _BEGINNING if same == len(self.bare) else _INSIDE if self.bare in word else _ROOT


def _same(one: str, other: str) -> int:
    """Return with how many equal characters both begin."""
    return next(
        (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )


def occurrences(word: Word, text: str) -> Iterator[tuple[int, float, bool]]:
    """Yield where words like this one begin in a text, what each counts, and whether it is a tag."""
    root = word.root
    position = text.find(root) if root else -1
    while position >= 0:
        start, end = position, position + len(root)
        if word.is_whole:
            if not word.is_phrase or is_full_word(text, start, end):
                yield start, 1.0, False
        else:
            while start and is_word_character(text[start - 1]):
                start -= 1
            while end < len(text) and is_word_character(text[end]):
                end += 1
            likeness = word.likeness(text[start:end])
            if likeness:
                yield start, likeness, text[start - 1 : start] == "#"
        position = text.find(root, max(end, position + 1))


CASE_OPERATORS = ("match-case", "ignore-case")
TASK_OPERATORS = ("task", "task-todo", "task-done")
# Longer names first, because one is the beginning of others.
_OPERATOR = re.compile(
    r"(task-todo|task-done|task|match-case|ignore-case|file|path|content|tag|line|block|section):", re.IGNORECASE
)
_PHRASE = compile_pattern(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_REGEX = compile_pattern(r"/((?:[^/\\\[\n]|\\.|\[(?:[^\]\\]|\\.)*+\]|\[)++)/")
_FLAGS = re.compile(r"[dgimsuvy]+")
_COMPARISON = re.compile(r"[<>]=?")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2}(?:[T ][\d:.]+)?)?\Z")
# Each level of the query is several calls deep here, and Python allows about a thousand. People write a few.
MAX_DEPTH = 50


class And(NamedTuple):
    """All of the parts. Without parts it is true of everything."""

    parts: tuple[Expression, ...]


class Or(NamedTuple):
    """At least one of the parts."""

    parts: tuple[Expression, ...]


class Not(NamedTuple):
    """The part is not there."""

    part: Expression


class Within(NamedTuple):
    """The part is true of one piece of the note, of the operator's kind."""

    operator: str
    part: Expression


class Property(NamedTuple):
    """A property with this name and, if ``value`` is given, this value. Both may be made of And, Or and Not."""

    name: Expression
    value: Expression | None


class Null(NamedTuple):
    """A property without a value; ``or_empty``: or with an empty text or list."""

    or_empty: bool


class Compared(NamedTuple):
    """A property's value that is less or greater than a number or date."""

    sign: str
    value: str


Expression: TypeAlias = And | Or | Not | Within | Property | Null | Compared | Text | Pattern


class Query(NamedTuple):
    """A query as written, and its expression. What is found says which of ``words`` it lacks.

    What is found for the words that a question has ``asked`` for has the score of an answer, and its lines, the best first.
    """

    text: str
    expression: Expression
    words: tuple[Text, ...] = ()
    asked: tuple[Word, ...] = ()


class _Context(NamedTuple):
    """What surrounds a part of the query."""

    stops: str = "()"  # the characters that end a word, as a space does
    operator: str = ""  # the operator whose part this is
    value: bool = False  # it is a property's value
    match_case: bool = False
    depth: int = 0

    @property
    def in_property(self) -> bool:
        return "]" in self.stops


@lru_cache(maxsize=16)  # a search parses its query as a question, for notes, and for attachments
def parse_query(text: str) -> Query:
    """Parse a query. Raises VaultError (INVALID_ARGUMENTS) that names the wrong character."""
    parser = _Parser(text)
    expression = parser.alternatives(_Context(), "the query is empty", len(text))
    if not parser.at_end():
        raise parser.bad(parser.position, "this ) closes nothing; quote it to search for it")
    return Query(text, expression)


class _Parser:
    """A recursive descent parser. Each method reads from ``position`` on and moves it past what it read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def alternatives(self, context: _Context, if_empty: str, empty_position: int) -> Expression:
        """Read parts between OR, up to the character that closes the context."""
        parts: list[Expression] = []
        while True:
            self._skip_spaces()
            part = self._all_parts(context)
            if part is None and self._at_or():
                raise self.bad(self.position, "OR needs a word before it")
            if part is None:
                if parts:
                    raise self.bad(self.position, "OR needs a word after it")
                raise self.bad(empty_position, if_empty)
            parts.append(part)
            if not self._at_or():
                return parts[0] if len(parts) == 1 else Or(tuple(parts))
            self.position += len("OR")

    def _all_parts(self, context: _Context) -> Expression | None:
        """Read parts up to OR or the character that closes the context; None if there is no part."""
        parts: list[Expression] = []
        while not (self.at_end() or self._closes(self._next(), context) or self._at_or()):
            parts.append(self._signed(context))
            self._skip_spaces()
        words = [part.text for part in parts if isinstance(part, Text) and not part.full_words]
        if ":" in context.stops and 1 < len(words) == len(parts):
            return Text(" ".join(words), full_words=False, match_case=context.match_case)  # one name of several words
        return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))

    def _signed(self, context: _Context) -> Expression:
        following = self.text[self.position + 1 : self.position + 2]
        if self._next() == "-" and following and not following.isspace() and not self._closes(following, context):
            self.position += 1
            return Not(self._single(context))
        return self._single(context)

    def _single(self, context: _Context) -> Expression:
        start = self.position
        character = self._next()
        if character == '"':
            return self._phrase(context)
        if character == "(":
            return self._group(context)
        if character == "[":
            return self._property(context)
        if context.value and character in "<>":
            return self._comparison(context)
        operator = None if context.in_property else _OPERATOR.match(self.text, start)
        if operator is not None:
            return self._operator(operator, context)
        return (character == "/" and self._regex(context)) or self._word(context)

    def _word(self, context: _Context) -> Expression:
        start = self.position
        while not (self.at_end() or self._next().isspace() or self._next() in context.stops):
            self.position += 1
        word = self.text[start : self.position]
        if context.value and word.lower() == "null":
            return Null(or_empty=False)
        if context.value and word == "EMPTY":
            return Null(or_empty=True)
        return self._text(word, context, start, full_words=context.value and word in ("TRUE", "FALSE"))

    def _phrase(self, context: _Context) -> Expression:
        start = self.position
        closed = _PHRASE.match(self.text, start)
        if closed is None:
            raise self.bad(start, "this quotation mark is never closed")
        self.position = closed.end()
        phrase = re.sub(r"\\(.)", r"\1", closed[1], flags=re.DOTALL).strip()
        if not phrase and context.operator in TASK_OPERATORS:
            return And(())  # any task
        return self._text(phrase, context, start, full_words=True)

    def _text(self, text: str, context: _Context, start: int, *, full_words: bool) -> Expression:
        sought = text.strip("#/") if context.operator == "tag" else text
        if not fold_case(sought).strip() and not (context.value and full_words):
            raise self.bad(start, "nothing to look for here")
        return Text(sought, full_words, context.match_case)

    def _regex(self, context: _Context) -> Expression | None:
        """Read ``/…/``; None if no slash closes it before a space or bracket: then it is plain text, such as a path."""
        start = self.position
        closed = _REGEX.match(self.text, start)
        if closed is None:
            return None
        flags = _FLAGS.match(self.text, closed.end())
        end = flags.end() if flags else closed.end()
        following = self.text[end : end + 1]
        if following and not following.isspace() and following not in context.stops:
            return None
        if flags:
            raise self.bad(
                closed.end(),
                "a regular expression takes no flags: case is ignored unless match-case: stands before it, ^ and $ match "
                "at every line; quote it to search for the text",
            )
        try:
            check_regex(closed[1])
        except BadRegexError as error:
            position = min(start + 1 + error.position, closed.end() - 1)
            raise self.bad(position, f"this regular expression cannot be read: {error.reason}") from None
        self.position = end
        return Pattern(start, closed[1], context.match_case)

    def _group(self, context: _Context) -> Expression:
        start = self.position
        inner = self._deeper(context)
        self.position += 1
        part = self.alternatives(inner, "nothing to look for here; quote brackets to search for them", start)
        if self.at_end() or self._next() != ")":
            raise self.bad(start, "this bracket is never closed; quote it to search for it")
        self.position += 1
        return part

    def _operator(self, operator: re.Match[str], context: _Context) -> Expression:
        name = operator[1].lower()
        self._refuse_inside(context, f"{name}:")
        self.position = operator.end()
        self._skip_spaces()
        if self.at_end() or self._next() == ")" or self._at_or():
            raise self.bad(operator.start(), f'{name}: needs a word, "phrase", /regex/ or (group) after it')
        inner = self._deeper(context)
        if name in CASE_OPERATORS:
            return self._single(inner._replace(match_case=name == "match-case"))
        return Within(name, self._single(inner._replace(operator=name)))

    def _property(self, context: _Context) -> Expression:
        start = self.position
        self._refuse_inside(context, "a [property]")
        unclosed = "this bracket is never closed; quote it to search for it"
        no_name = "a property's name is missing here; quote brackets to search for them"
        inner = self._deeper(context)
        self.position += 1
        if self.text[self.position : self.position + 1] == "[":
            raise self.bad(start, no_name)
        name = self.alternatives(inner._replace(stops="()[]:"), no_name, start)
        value = None
        if not self.at_end() and self._next() == ":":
            self.position += 1
            value = self.alternatives(
                inner._replace(stops="()]", value=True),
                "a property's value is missing here; null finds empty ones",
                self.position,
            )
        if self.at_end() or self._next() != "]":
            raise self.bad(start, unclosed)
        self.position += 1
        return Property(name, value)

    def _comparison(self, context: _Context) -> Expression:
        start = self.position
        sign = _COMPARISON.match(self.text, start)
        self.position = sign.end() if sign else start
        self._skip_spaces()
        word = self.position
        while not (self.at_end() or self._next().isspace() or self._next() in context.stops):
            self.position += 1
        value = self.text[word : self.position].strip('"')
        if not (NUMBER.match(value) or DATE.match(value)):
            raise self.bad(start, "a comparison needs a number or a date (2024-12-31); quote it to search for the text")
        return Compared(sign[0] if sign else "", value)

    def _refuse_inside(self, context: _Context, what: str) -> None:
        """Refuse an operator or property inside another, except the operators of case."""
        if context.in_property or (context.operator and what.rstrip(":") not in CASE_OPERATORS):
            outer = "a [property]" if context.in_property else f"{context.operator}:"
            raise self.bad(self.position, f"{what} cannot stand inside {outer}; quote it to search for the text")

    def _deeper(self, context: _Context) -> _Context:
        if context.depth == MAX_DEPTH:
            raise self.bad(self.position, f"the query is nested more than {MAX_DEPTH} deep")
        return context._replace(depth=context.depth + 1)

    def at_end(self) -> bool:
        return self.position == len(self.text)

    def _next(self) -> str:
        return self.text[self.position]

    def _closes(self, character: str, context: _Context) -> bool:
        return character in context.stops and character not in "(["

    def _at_or(self) -> bool:
        following = self.text[self.position + 2 : self.position + 3]
        return self.text.startswith("OR", self.position) and (
            not following or following.isspace() or following in "()]"
        )

    def _skip_spaces(self) -> None:
        while not self.at_end() and self._next().isspace():
            self.position += 1

    def bad(self, position: int, reason: str) -> VaultError:
        return VaultError(
            INVALID_ARGUMENTS,
            f"query: {reason} (character {position + 1} of {self.text!r}).",
            argument="query",
            position=position,
        )


# Hints for queries written in the syntax of another search. Pure. They are for queries that find little.

_MISTAKEN_OPERATOR = re.compile(r"([^\W\d_][\w-]*):(?!/)(.*)", re.DOTALL)
# What operators of other programs are called here.
_NAMES = {
    **dict.fromkeys(("title", "name", "filename", "note", "intitle"), "file:"),
    **dict.fromkeys(("tags", "hashtag"), "tag:#"),
    **dict.fromkeys(("folder", "dir", "directory", "in"), "path:"),
    **dict.fromkeys(("text", "body"), "content:"),
    **dict.fromkeys(("heading", "under"), "section:"),
}
CONNECTIVES = {
    "AND": "AND is searched as a word: leave it out, all words must occur",
    "&&": "&& is searched as text: leave it out, all words must occur",
    "NOT": "NOT is searched as a word: to leave notes out write -word",
    "||": "|| is searched as text: write OR",
}
"""What joins words in other searches, each with how to write it here."""


def query_hints(query: Query) -> list[str]:
    """Return how to write what parts of the query seem to mean, a sentence without its full stop for each."""
    return list(dict.fromkeys(hint for word in _words(query.expression) if (hint := _hint(word))))


def _hint(word: str) -> str:
    operator = _MISTAKEN_OPERATOR.fullmatch(word)
    if operator:
        name, value = operator[1], operator[2].strip("\"'#")
        ours = _NAMES.get(name.lower())
        if ours:
            return (
                f"{name}: is no operator; write {ours}{value or 'word'}, or for a property [{name}:{value or 'value'}]"
            )
        return f"{name}: is no operator; for a property write [{name}:{value or 'value'}]"
    bare = word.strip("*")
    if bare != word and bare:
        return f"* is no wildcard; write {bare}: words are found inside longer ones, too"
    return CONNECTIVES.get(word, "")


def _words(part: Expression) -> Iterator[str]:
    """Yield the words that are looked for in notes, not in properties or by an operator."""
    if isinstance(part, Text) and not part.full_words:
        yield part.text
    elif isinstance(part, (And, Or)):
        for inner in part.parts:
            yield from _words(inner)
    elif isinstance(part, Not):
        yield from _words(part.part)
