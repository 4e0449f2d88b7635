"""A query against a note: whether it matches, how well, and which lines to show. Pure text.

Words and phrases are compared without case and diacritics unless ``match-case:`` asks for both; they count in the
note's name and in its text. A note is parsed only if its text holds the words, and an operator needs its structure or a
word stands where a heading may be.

The score of a note that matches as the query is written is above 1, of one that matches only without diacritics below:
1 for the match, 1 for each matching line up to ten, and for each word or phrase 100 if it is in the name, else 40 if it
is in a heading, else 20 if it is a tag, alias or in the frontmatter's lists of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.vault.model import Line
from vaultwire.vault.search.lines import KnownLines, add_lines, columns_in, shown
from vaultwire.vault.search.parts import NoteParts, Piece, Value
from vaultwire.vault.search.query import (
    DATE,
    NUMBER,
    And,
    Compared,
    Expression,
    Not,
    Null,
    Or,
    Property,
    Query,
    Within,
)
from vaultwire.vault.search.terms import (
    BARE,
    FOLDED,
    REGEX_SECONDS,
    AnyNeedle,
    Budget,
    Forms,
    Leaf,
    Needle,
    Pattern,
    RegexNeedle,
    Text,
    bare_text,
    fold_text,
)

# A name says what a note is about, a heading what a part is about; mentions count up to a point that beats neither.
_NAME, _HEADING, _TAG, _MAX_MENTIONS = 100.0, 40.0, 20.0, 10

Test: TypeAlias = Callable[[Expression], bool]


class Match(NamedTuple):
    """How well a note matches: its score, how many lines do, and the first few of them."""

    score: float
    matches: int
    lines: list[Line]


class Matcher:
    """One query, ready for any number of notes. Its regular expressions share one budget of time: make one per search."""

    def __init__(
        self, query: Query, regex_seconds: float = REGEX_SECONDS, parse: Callable[[str], ParsedNote] = parse_note
    ) -> None:
        self._query = query.expression
        self._parse = parse
        self._budget = Budget(regex_seconds)
        self._needles: dict[Expression, AnyNeedle] = {}
        self._prepare(query.expression)
        self._has_marks = bare_text(fold_text(query.text)) != fold_text(query.text)
        self._wanted = list(_wanted(query.expression, ""))
        self.known_lines = KnownLines.of(query.expression, self._needles)
        """What finds the lines of notes that are known to match, sooner than ``show`` does; None if nothing can."""

    def _prepare(self, part: Expression) -> None:
        if isinstance(part, Text):
            self._needles[part] = Needle(part)
        elif isinstance(part, Pattern):
            self._needles[part] = RegexNeedle(part, self._budget)
        for inner in _parts(part):
            self._prepare(inner)

    def match(self, path: str, text: str) -> Match | None:
        """Return how the note matches, None if it does not. Raises VaultError (TIMEOUT) past the regex budget."""
        note = NoteParts(path, text, self._parse)
        # Leaving diacritics out finds more, and under a "not" less: this form decides, the other only ranks.
        if not self._holds(note, BARE):
            return None
        as_written = not (self._has_marks or note.has_marks) or self._holds(note, FOLDED)
        lines = self._lines(note)
        score = sum(self._weight(leaf, operator, note) for leaf, operator in self._wanted)
        score += min(len(lines), _MAX_MENTIONS)
        return Match(score + 1 if as_written else score / (score + 1), len(lines), shown(lines, text))

    def show(self, path: str, text: str, *, is_known: bool) -> Match | None:
        """Return the lines of a note that match, for whoever ranks it: in half the time. None if the note does not match.

        ``is_known``: that it does is known, and not found out again.
        """
        note = NoteParts(path, text, self._parse)
        if not (is_known or self._holds(note, BARE)):
            return None
        lines = self._lines(note)
        return Match(0.0, len(lines), shown(lines, text))

    @property
    def has_lines(self) -> bool:
        """Whether there may be lines to show: not if only names, tags and properties are asked for."""
        return _has_lines(self._query)

    # ------------------------------------------------------------------ whether

    def _holds(self, note: NoteParts, form: int) -> bool:
        def test(part: Expression) -> bool:
            if isinstance(part, Within):
                return self._holds_within(part, note, form)
            if isinstance(part, Property):
                return self._holds_property(part, note, form)
            return self._is_in(part, note.body, form) or self._is_in(part, note.name, form)

        return _holds(self._query, test)

    def _holds_within(self, within: Within, note: NoteParts, form: int) -> bool:
        operator, part = within
        if operator == "tag":
            return _may_hold(part, lambda leaf: self._may_be_tag(leaf, note, form)) and _holds(
                part, lambda leaf: any(self._is_tag(leaf, tag, form) for tag in note.tags)
            )
        if operator in ("file", "path", "content"):
            text = note.body if operator == "content" else Forms(_name_for(operator, note.path))
            return _holds(part, lambda leaf: self._is_in(leaf, text, form))
        return next(self._pieces_that_hold(within, note, form), None) is not None

    def _pieces_that_hold(self, within: Within, note: NoteParts, form: int) -> Iterator[Piece]:
        operator, part = within
        if not _may_hold(part, lambda leaf: self._is_in(leaf, note.body, form)):
            return
        needed = _needed(part) if operator == "line" else None
        pieces = note.pieces(operator) if needed is None else self._lines_with(needed, note)
        for piece in pieces:

            def test(leaf: Expression, text: Forms = piece.text) -> bool:
                return self._is_in(leaf, text, form)

            if _holds(part, test):
                yield piece

    def _lines_with(self, leaf: Text, note: NoteParts) -> Iterator[Piece]:
        for index in self._columns_in_body(leaf, note):
            yield Piece(index + 1, note.body.part(index + 1, index + 1))

    def _may_be_tag(self, leaf: Text, note: NoteParts, form: int) -> bool:
        needle = self._needles[leaf]
        form = needle.form(form)
        wanted = needle.forms[form] if isinstance(needle, Needle) else ""
        return f"#{wanted}" in note.body.get(form) or (
            note.text.startswith("---")
            and any(wanted in Forms(tag).get(form) for tag in note.frontmatter.texts("tags"))
        )

    def _holds_property(self, wanted: Property, note: NoteParts, form: int) -> bool:
        if not note.text.startswith("---"):
            return False
        return any(
            _holds(wanted.name, lambda leaf: self._needles[leaf].equals(value.name, form))  # noqa: B023 - used at once
            and (
                wanted.value is None or _holds(wanted.value, lambda leaf: self._is_value(leaf, value, form))  # noqa: B023 - used at once
            )
            for value in note.properties
        )

    def _is_value(self, part: Expression, value: Value, form: int) -> bool:
        if isinstance(part, Null):
            return value.is_null or (part.or_empty and value.is_empty)
        if isinstance(part, Compared):
            return any(_compares(text.get(0).strip(), part) for text in value.texts)
        if isinstance(part, Text) and part.full_words:
            return any(self._needles[part].equals(text, form) for text in value.texts)
        return any(self._is_in(part, text, form) for text in value.texts)

    def _is_tag(self, part: Expression, tag: Forms, form: int) -> bool:
        """Tell whether the tag is the one wanted or lies below it. A regular expression may or may not begin with ``#``."""
        needle = self._needles[part]
        if isinstance(needle, RegexNeedle):
            return needle.find(tag, form) >= 0 or needle.find(Forms("#" + tag.get(0)), form) >= 0
        wanted, written = needle.forms[needle.form(form)], tag.get(needle.form(form))
        return written == wanted or written.startswith(wanted + "/")

    def _is_in(self, part: Expression, text: Forms, form: int) -> bool:
        return self._needles[part].find(text, form) >= 0

    # ------------------------------------------------------------------ how well, and where

    def _lines(self, note: NoteParts) -> dict[int, int]:
        """Return the lines that hold something the query looks for, and where on the line the first of it stands."""
        lines: dict[int, int] = {}
        self._collect(self._query, note, lines)
        return lines

    def _collect(self, part: Expression, note: NoteParts, lines: dict[int, int]) -> None:
        """Add the lines that hold something the part looks for, and where on the line."""
        if isinstance(part, (Text, Pattern)):
            add_lines(1, self._columns_in_body(part, note), lines)
        elif isinstance(part, (And, Or)):
            for inner in part.parts:
                self._collect(inner, note, lines)
        elif isinstance(part, Within) and part.operator == "content":
            self._collect(part.part, note, lines)
        elif isinstance(part, Within) and part.operator not in ("file", "path", "tag"):
            for piece in self._pieces_that_hold(part, note, BARE):
                inside: dict[int, int] = {}
                for leaf, _ in _wanted(part.part, ""):
                    add_lines(piece.first, self._columns(leaf, piece.text), inside)
                add_lines(0, inside or {piece.first: 0}, lines)

    def _columns_in_body(self, leaf: Leaf, note: NoteParts) -> dict[int, int]:
        if leaf not in note.columns:
            note.columns[leaf] = self._columns(leaf, note.body)
        return note.columns[leaf]

    def _columns(self, leaf: Leaf, text: Forms) -> dict[int, int]:
        """Return where the leaf first stands on each line that has it, by how many lines of the text come before."""
        needle = self._needles[leaf]
        form = needle.form(BARE)
        return columns_in(text.get(form), needle, form)

    def _weight(self, leaf: Leaf, operator: str, note: NoteParts) -> float:
        """Return what a word, phrase or pattern adds for the best place where it stands."""
        if operator == "tag":
            return _TAG
        if operator != "content" and self._is_in(leaf, note.name, BARE):
            return _NAME
        if operator == "file":
            return 0
        weight = 0.0
        lines = note.body.lines(self._needles[leaf].form(BARE))
        # The end of what may be frontmatter: most words stand below, and the block need not be read for them.
        top = (
            next((at for at, line in enumerate(lines) if at and line.startswith("---")), 0) if lines[0] == "---" else 0
        )
        for index, column in self._columns_in_body(leaf, note).items():
            line = lines[index]
            if note.is_heading(index, line):
                return _HEADING
            if (column and line[column - 1] == "#") or (index < top and self._is_listed(leaf, note)):
                weight = _TAG
        return weight

    def _is_listed(self, leaf: Leaf, note: NoteParts) -> bool:
        """Tell whether the leaf stands in an alias or a tag of the frontmatter."""
        names = [*note.frontmatter.texts("aliases"), *note.frontmatter.texts("tags")]
        return any(self._is_in(leaf, Forms(name), BARE) for name in names)


def _holds(part: Expression, test: Test) -> bool:
    """Tell whether the expression is true where ``test`` says what its leaves are."""
    if isinstance(part, And):
        return all(_holds(inner, test) for inner in part.parts)
    if isinstance(part, Or):
        return any(_holds(inner, test) for inner in part.parts)
    if isinstance(part, Not):
        return not _holds(part.part, test)
    return test(part)


def _may_hold(part: Expression, test: Callable[[Text], bool]) -> bool:
    """Tell whether some piece of a note may hold the part, if ``test`` says which words the note has. Never wrongly False."""
    if isinstance(part, And):
        return all(_may_hold(inner, test) for inner in part.parts)
    if isinstance(part, Or):
        return any(_may_hold(inner, test) for inner in part.parts)
    return not isinstance(part, Text) or test(part)


def _needed(part: Expression) -> Text | None:
    """Return a word or phrase without which the part holds nowhere, if there is one."""
    if isinstance(part, And):
        return next((leaf for inner in part.parts if (leaf := _needed(inner))), None)
    return part if isinstance(part, Text) else None


def _parts(part: Expression) -> Iterable[Expression]:
    """Return what an expression is made of."""
    if isinstance(part, (And, Or)):
        return part.parts
    if isinstance(part, (Not, Within)):
        return (part.part,)
    if isinstance(part, Property):
        return (part.name,) if part.value is None else (part.name, part.value)
    return ()


def _wanted(part: Expression, operator: str) -> Iterator[tuple[Leaf, str]]:
    """Yield what is looked for in a note's name, text or tags, with its operator: not what must be absent."""
    if isinstance(part, (Text, Pattern)):
        yield part, operator
    elif isinstance(part, Within):
        if part.operator in ("file", "tag", "content"):
            yield from _wanted(part.part, part.operator)
    elif isinstance(part, (And, Or)):
        for inner in part.parts:
            yield from _wanted(inner, operator)


def _has_lines(part: Expression) -> bool:
    if isinstance(part, (And, Or)):
        return any(map(_has_lines, part.parts))
    if isinstance(part, Within):
        return part.operator not in ("file", "path", "tag")
    return isinstance(part, (Text, Pattern))


def _name_for(operator: str, path: str) -> str:
    return path if operator == "path" else path.rsplit("/", 1)[-1]


def _compares(text: str, wanted: Compared) -> bool:
    """Tell whether a value lies on the wanted side. Numbers compare with numbers, dates (ISO 8601) with dates."""
    if NUMBER.match(text) and NUMBER.match(wanted.value):
        number, limit = float(text), float(wanted.value)
        is_less, is_equal = number < limit, number == limit
    elif DATE.match(text) and DATE.match(wanted.value):
        is_less, is_equal = text < wanted.value, text == wanted.value
    else:
        return False
    return wanted.sign.endswith("=") if is_equal else is_less is (wanted.sign[0] == "<")
