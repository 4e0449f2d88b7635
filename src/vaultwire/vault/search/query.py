"""What a search asks for: Obsidian's search syntax to an expression. Pure text; ``vault.search.matching`` has the meaning.

The syntax is that of https://help.obsidian.md/plugins/search. Where that page is silent:

- A colon behind a word that is no operator, a slash that no other closes, and a slash inside a word are plain text.
- ``(`` and ``)`` end a word. Inside a property's brackets so does ``]``, inside its name ``:``.
- Operators that look into a part of the note do not nest; ``match-case:`` and ``ignore-case:`` stand anywhere.
- A property's value in quotes is the whole value, without quotes a part of it; ``TRUE``, ``FALSE`` and ``EMPTY`` in
  capitals are whole values, as Obsidian's own suggestions write them.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.search.terms import BadRegexError, Pattern, Text, check_regex
from vaultwire.vault.search.text_forms import fold_case

CASE_OPERATORS = ("match-case", "ignore-case")
TASK_OPERATORS = ("task", "task-todo", "task-done")
# Longer names first: one is the beginning of others.
_OPERATOR = re.compile(
    r"(task-todo|task-done|task|match-case|ignore-case|file|path|content|tag|line|block|section):", re.IGNORECASE
)
_FLAGS = re.compile(r"[dgimsuvy]+")
_COMPARISON = re.compile(r"[<>]=?")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2}(?:[T ][\d:.]+)?)?\Z")
# Each level of the query is several calls deep in here, and Python allows about a thousand. Nobody writes ten.
MAX_DEPTH = 50


class And(NamedTuple):
    """All of the parts; with none, true of everything."""

    parts: tuple[Expression, ...]


class Or(NamedTuple):
    """At least one of the parts."""

    parts: tuple[Expression, ...]


class Not(NamedTuple):
    """The part is not there."""

    part: Expression


class Within(NamedTuple):
    """The part is there in one piece of the note of the operator's kind."""

    operator: str
    part: Expression


class Property(NamedTuple):
    """A property whose name is ``name``; with ``value``, its value too. Alone or in their own And, Or and Not."""

    name: Expression
    value: Expression | None


class Null(NamedTuple):
    """A property's value that is not there; ``or_empty``: or is an empty text or list."""

    or_empty: bool


class Compared(NamedTuple):
    """A property's value that lies before or behind a number or date."""

    sign: str
    value: str


Expression: TypeAlias = And | Or | Not | Within | Property | Null | Compared | Text | Pattern


class Query(NamedTuple):
    """A query as written, and what it asks for."""

    text: str
    expression: Expression


class _Place(NamedTuple):
    """Where in the query something stands."""

    stops: str = "()"  # what ends a word, besides a blank
    operator: str = ""  # the operator whose part this is
    value: bool = False  # a property's value
    match_case: bool = False
    depth: int = 0

    @property
    def in_property(self) -> bool:
        return "]" in self.stops


def parse_query(text: str) -> Query:
    """Return what the query text asks for. Raises VaultError (INVALID_ARGUMENTS) that names the character at fault."""
    parser = _Parser(text)
    expression = parser.alternatives(_Place(), "the query is empty", len(text))
    if not parser.at_end():
        raise parser.bad(parser.position, "this ) closes nothing; quote it to search for it")
    return Query(text, expression)


class _Parser:
    """Recursive descent over the query's characters. Methods take up at ``position`` and leave it behind what they read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def alternatives(self, place: _Place, if_empty: str, empty_position: int) -> Expression:
        """Read parts between OR, up to what closes the place."""
        parts: list[Expression] = []
        while True:
            self._skip_blanks()
            part = self._all_parts(place)
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

    def _all_parts(self, place: _Place) -> Expression | None:
        """Read parts up to OR or what closes the place; None if there is none."""
        parts: list[Expression] = []
        while not (self.at_end() or self._closes(self._next(), place) or self._at_or()):
            parts.append(self._signed(place))
            self._skip_blanks()
        words = [part.text for part in parts if isinstance(part, Text) and not part.full_words]
        if ":" in place.stops and 1 < len(words) == len(parts):
            return Text(" ".join(words), full_words=False, match_case=place.match_case)  # one name of several words
        return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))

    def _signed(self, place: _Place) -> Expression:
        following = self.text[self.position + 1 : self.position + 2]
        if self._next() == "-" and following and not following.isspace() and not self._closes(following, place):
            self.position += 1
            return Not(self._single(place))
        return self._single(place)

    def _single(self, place: _Place) -> Expression:
        start = self.position
        character = self._next()
        if character == '"':
            return self._phrase(place)
        if character == "(":
            return self._group(place)
        if character == "[":
            return self._property(place)
        if place.value and character in "<>":
            return self._comparison(place)
        operator = None if place.in_property else _OPERATOR.match(self.text, start)
        if operator is not None:
            return self._operator(operator, place)
        return (character == "/" and self._regex(place)) or self._word(place)

    def _word(self, place: _Place) -> Expression:
        start = self.position
        while not (self.at_end() or self._next().isspace() or self._next() in place.stops):
            self.position += 1
        word = self.text[start : self.position]
        if place.value and word.lower() == "null":
            return Null(or_empty=False)
        if place.value and word == "EMPTY":
            return Null(or_empty=True)
        return self._text(word, place, start, full_words=place.value and word in ("TRUE", "FALSE"))

    def _phrase(self, place: _Place) -> Expression:
        start = self.position
        closed = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL).match(self.text, start)
        if closed is None:
            raise self.bad(start, "this quotation mark is never closed")
        self.position = closed.end()
        phrase = re.sub(r"\\(.)", r"\1", closed[1], flags=re.DOTALL).strip()
        if not phrase and place.operator in TASK_OPERATORS:
            return And(())  # any task
        return self._text(phrase, place, start, full_words=True)

    def _text(self, text: str, place: _Place, start: int, *, full_words: bool) -> Expression:
        wanted = text.strip("#/") if place.operator == "tag" else text
        if not fold_case(wanted).strip() and not (place.value and full_words):
            raise self.bad(start, "nothing to look for here")
        return Text(wanted, full_words, place.match_case)

    def _regex(self, place: _Place) -> Expression | None:
        """Read ``/…/``; None if no slash closes it before a blank or bracket: then it is plain text, such as a path."""
        start = self.position
        closed = re.compile(r"/((?:[^/\\\[\n]|\\.|\[(?:[^\]\\]|\\.)*+\]|\[)++)/").match(self.text, start)
        if closed is None:
            return None
        flags = _FLAGS.match(self.text, closed.end())
        end = flags.end() if flags else closed.end()
        following = self.text[end : end + 1]
        if following and not following.isspace() and following not in place.stops:
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
        return Pattern(start, closed[1], place.match_case)

    def _group(self, place: _Place) -> Expression:
        start = self.position
        inner = self._deeper(place)
        self.position += 1
        part = self.alternatives(inner, "nothing to look for here; quote brackets to search for them", start)
        if self.at_end() or self._next() != ")":
            raise self.bad(start, "this bracket is never closed; quote it to search for it")
        self.position += 1
        return part

    def _operator(self, operator: re.Match[str], place: _Place) -> Expression:
        name = operator[1].lower()
        self._refuse_inside(place, f"{name}:")
        self.position = operator.end()
        if self.at_end() or self._next().isspace() or self._next() == ")":
            raise self.bad(operator.start(), f'{name}: needs a word, "phrase", /regex/ or (group) right behind it')
        inner = self._deeper(place)
        if name in CASE_OPERATORS:
            return self._single(inner._replace(match_case=name == "match-case"))
        return Within(name, self._single(inner._replace(operator=name)))

    def _property(self, place: _Place) -> Expression:
        start = self.position
        self._refuse_inside(place, "a [property]")
        unclosed = "this bracket is never closed; quote it to search for it"
        no_name = "a property's name is missing here; quote brackets to search for them"
        inner = self._deeper(place)
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

    def _comparison(self, place: _Place) -> Expression:
        start = self.position
        sign = _COMPARISON.match(self.text, start)
        self.position = sign.end() if sign else start
        self._skip_blanks()
        word = self.position
        while not (self.at_end() or self._next().isspace() or self._next() in place.stops):
            self.position += 1
        value = self.text[word : self.position].strip('"')
        if not (NUMBER.match(value) or DATE.match(value)):
            raise self.bad(start, "a comparison needs a number or a date (2024-12-31); quote it to search for the text")
        return Compared(sign[0] if sign else "", value)

    def _refuse_inside(self, place: _Place, what: str) -> None:
        """Refuse an operator or property in another's part, but for the operators of case."""
        if place.in_property or (place.operator and what.rstrip(":") not in CASE_OPERATORS):
            outer = "a [property]" if place.in_property else f"{place.operator}:"
            raise self.bad(self.position, f"{what} cannot stand inside {outer}; quote it to search for the text")

    def _deeper(self, place: _Place) -> _Place:
        if place.depth == MAX_DEPTH:
            raise self.bad(self.position, f"the query is nested more than {MAX_DEPTH} deep")
        return place._replace(depth=place.depth + 1)

    def at_end(self) -> bool:
        return self.position == len(self.text)

    def _next(self) -> str:
        return self.text[self.position]

    def _closes(self, character: str, place: _Place) -> bool:
        return character in place.stops and character not in "(["

    def _at_or(self) -> bool:
        following = self.text[self.position + 2 : self.position + 3]
        return self.text.startswith("OR", self.position) and (
            not following or following.isspace() or following in "()]"
        )

    def _skip_blanks(self) -> None:
        while not self.at_end() and self._next().isspace():
            self.position += 1

    def bad(self, position: int, reason: str) -> VaultError:
        return VaultError(
            INVALID_ARGUMENTS,
            f"query: {reason} (character {position + 1} of {self.text!r}).",
            argument="query",
            position=position,
        )
