"""A query against one note: whether the note matches, how well, and which lines to show. Pure text.

Words and phrases are compared without case and diacritics unless ``match-case:`` asks for both; they count in the note's
name and in its text. A note is parsed only if its text holds the words, and then only if an operator needs the note's
structure or a word stands where a heading may be.

A note that matches as the query is written scores above 1, one that matches only without diacritics below 1. It gets 1 for
the match, 1 for each matching line up to ten, and for each word or phrase 100 if that is in the name, else 40 if in a
heading, else 20 if it is a tag or alias.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import ParsedNote, Task
from vaultwire.vault.search.note_parts import (
    MAX_LINES_SHOWN,
    NoteParts,
    Piece,
    Value,
    add_lines,
    best_lines,
    first_columns,
    leaf_weight,
    snippets,
)
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
    Word,
)
from vaultwire.vault.search.questions import answer
from vaultwire.vault.search.terms import (
    FOLDED,
    REGEX_SECONDS,
    UNACCENTED,
    AnyNeedle,
    Leaf,
    Needle,
    Pattern,
    RegexBudget,
    RegexNeedle,
    Text,
    TextForms,
    fold_case,
    strip_diacritics,
)
from vaultwire.vault.value_types import Line, ScorePart

# A name says what a note is about, a heading what a part of it is about. Mentions never count for more than either.
_NAME, _HEADING, _TAG, _MAX_MENTIONS = 100.0, 40.0, 20.0, 10

# Answers have small fractions as scores; callers see whole numbers.
_SCALE = 10.0

LeafTest: TypeAlias = Callable[[Expression], bool]


class Match(NamedTuple):
    """How well a note matches: its score, how many lines match, and the best few of them, in their order.

    ``missing``: which of the query's ``words`` are not in the note. ``why``: the parts of an answer's score.
    """

    score: float
    matches: int
    lines: list[Line]
    missing: tuple[str, ...] = ()
    why: tuple[ScorePart, ...] = ()


class Matcher:
    """One query, ready for any number of notes, one after another. Its regular expressions share one time budget a note."""

    def __init__(
        self,
        query: Query,
        regex_seconds: float = REGEX_SECONDS,
        parse: Callable[[str], ParsedNote] = parse_note,
        *,
        has_inline_fields: bool = False,
    ) -> None:
        """``has_inline_fields``: they count as properties."""
        self._query = query.expression
        self._parse = parse
        self._has_inline_fields = has_inline_fields
        self._budget = RegexBudget(regex_seconds)
        self._needles: dict[Expression, AnyNeedle] = {}
        self._words = query.words
        self._asked = query.asked
        for part in (query.expression, *query.words):
            self._prepare(part)
        folded = fold_case(query.text)
        self._has_diacritics = strip_diacritics(folded) != folded
        self._ranked = list(ranked_leaves(query.expression, ""))
        self.gives_scores: Final = bool(query.asked)
        self._asks_for_pieces = _has_pieces(query.expression)
        self.asks_for_tasks: Final = _has_pieces(query.expression, "task")

    def _prepare(self, part: Expression) -> None:
        if isinstance(part, Text):
            self._needles[part] = Needle(part)
        elif isinstance(part, Pattern):
            self._needles[part] = RegexNeedle(part, self._budget)
        for inner in _parts(part):
            self._prepare(inner)

    def match(self, path: str, text: str) -> Match | None:
        """Return how the note matches, None if it does not. Raises VaultError (TIMEOUT) beyond the regex budget."""
        note = self._begin(path, text)
        # Without diacritics more is found, and under a "not" less. This form decides, the other only ranks.
        if not self._matches(note, UNACCENTED):
            return None
        if self._asked:
            return _answering(self._asked, note)
        as_written = not (self._has_diacritics or note.has_diacritics) or self._matches(note, FOLDED)
        lines = self._lines(note)
        score = sum(self._weight(leaf, operator, note) for leaf, operator in self._ranked)
        score += min(len(lines), _MAX_MENTIONS)
        score = score + 1 if as_written else score / (score + 1)
        return Match(score, len(lines), self._shown(lines, note), self._missing(note))

    def match_known(self, path: str, text: str, tasks: list[Task] | None = None) -> Match:
        """Return the matching lines of a note that is known to match; the score is 0, the caller has one.

        ``tasks``: the note's tasks, if they are known: without them it is parsed for its tasks.
        """
        note = self._begin(path, text)
        if tasks is not None:
            note.tasks = tasks
        if self._asked:
            return _answering(self._asked, note)
        lines = self._lines(note)
        return Match(0.0, len(lines), self._shown(lines, note), self._missing(note))

    def _missing(self, note: NoteParts) -> tuple[str, ...]:
        texts = (note.name, note.body)
        return tuple(
            word.text for word in self._words if not any(self._is_in(word, text, UNACCENTED) for text in texts)
        )

    def _begin(self, path: str, text: str) -> NoteParts:
        self._budget.begin(path)
        return NoteParts(path, text, self._parse, has_inline_fields=self._has_inline_fields)

    def accepts(self, asked: Expression, value: Value) -> bool:
        """Tell whether a property's value is one that the query asks for. Raises VaultError (TIMEOUT) as ``match`` does."""
        self._budget.begin("")
        return _is_true(asked, lambda leaf: self._is_value(leaf, value, UNACCENTED))

    def is_in_piece(self, part: Expression, text: TextForms) -> bool:
        """Tell whether a part of the query is true of the text of a task. Raises VaultError (TIMEOUT) as ``match`` does."""
        self._budget.begin("")
        return _is_true(part, lambda leaf: self._is_in(leaf, text, UNACCENTED))

    @property
    def has_lines(self) -> bool:
        """Whether there may be lines to show: not if the query asks for names, tags and properties only."""
        return _has_lines(self._query)

    # ------------------------------------------------------------------ whether it matches

    def _matches(self, note: NoteParts, form: int) -> bool:
        def test(part: Expression) -> bool:
            if isinstance(part, Within):
                return self._matches_within(part, note, form)
            if isinstance(part, Property):
                return self._has_property(part, note, form)
            return self._is_in(part, note.body, form) or self._is_in(part, note.name, form)

        return _is_true(self._query, test)

    def _matches_within(self, within: Within, note: NoteParts, form: int) -> bool:
        operator, part = within
        if operator == "tag":
            return _may_be_true(part, lambda leaf: self._may_be_tag(leaf, note, form)) and _is_true(
                part, lambda leaf: any(self._is_tag(leaf, tag, form) for tag in note.tags)
            )
        if operator in ("file", "path", "content"):
            name = note.path if operator == "path" else note.path.rsplit("/", 1)[-1]
            text = note.body if operator == "content" else TextForms(name)
            return _is_true(part, lambda leaf: self._is_in(leaf, text, form))
        return next(self._matching_pieces(within, note, form), None) is not None

    def _matching_pieces(self, within: Within, note: NoteParts, form: int) -> Iterator[Piece]:
        operator, part = within
        if not _may_be_true(part, lambda leaf: self._is_in(leaf, note.body, form)):
            return
        required = required_text(part) if operator == "line" else None
        pieces = note.pieces(operator) if required is None else self._lines_with(required, note)
        for piece in pieces:

            def test(leaf: Expression, text: TextForms = piece.text) -> bool:
                return self._is_in(leaf, text, form)

            if _is_true(part, test):
                yield piece

    def _lines_with(self, leaf: Text, note: NoteParts) -> Iterator[Piece]:
        for index in self._columns_in_body(leaf, note):
            yield Piece(index + 1, note.body.part(index + 1, index + 1))

    def _may_be_tag(self, leaf: Text, note: NoteParts, form: int) -> bool:
        needle = self._needles[leaf]
        form = needle.form(form)
        name = needle.forms[form] if isinstance(needle, Needle) else ""
        return f"#{name}" in note.body.get(form) or (
            note.text.startswith("---")
            and any(name in TextForms(tag).get(form) for tag in note.frontmatter.texts("tags"))
        )

    def _has_property(self, sought: Property, note: NoteParts, form: int) -> bool:
        may_have = self._has_inline_fields or note.text.startswith("---")
        return may_have and any(self._is_property(sought, value, form) for value in note.properties)

    def _is_property(self, sought: Property, value: Value, form: int) -> bool:
        return _is_true(sought.name, lambda leaf: self._needles[leaf].equals(value.name, form)) and (
            sought.value is None or _is_true(sought.value, lambda leaf: self._is_value(leaf, value, form))
        )

    def _is_value(self, part: Expression, value: Value, form: int) -> bool:
        if isinstance(part, Null):
            return value.is_null or (part.or_empty and value.is_empty)
        if isinstance(part, Compared):
            return any(_compares(text.get(0).strip(), part) for text in value.texts)
        if isinstance(part, Text) and part.full_words:
            return any(self._needles[part].equals(text, form) for text in value.texts)
        return any(self._is_in(part, text, form) for text in value.texts)

    def _is_tag(self, part: Expression, tag: TextForms, form: int) -> bool:
        """Tell whether the tag is the one asked for or lies below it. A regular expression may begin with ``#``, or not."""
        needle = self._needles[part]
        if isinstance(needle, RegexNeedle):
            return needle.find(tag, form) >= 0 or needle.find(TextForms("#" + tag.get(0)), form) >= 0
        sought, written = needle.forms[needle.form(form)], tag.get(needle.form(form))
        return written == sought or written.startswith(sought + "/")

    def _is_in(self, part: Expression, text: TextForms, form: int) -> bool:
        return self._needles[part].find(text, form) >= 0

    # ------------------------------------------------------------------ how well, and where

    def _lines(self, note: NoteParts) -> dict[int, int]:
        """Return the numbers of the lines that hold something the query looks for, and the first column of it."""
        lines: dict[int, int] = {}
        self._collect_lines(self._query, note, lines)
        return lines

    def _shown(self, lines: dict[int, int], note: NoteParts) -> list[Line]:
        """Return the lines to show of those that match: the first, or those with most and rarest words."""
        if len(lines) <= MAX_LINES_SHOWN or self._asks_for_pieces:
            return snippets(lines, note.text)
        says: dict[int, float] = {}
        for leaf, _ in self._ranked:
            columns = self._columns_in_body(leaf, note)
            rare = leaf_weight(leaf, len(columns), note.text)
            for index in columns:
                says[index + 1] = says.get(index + 1, 0.0) + rare
        return snippets(best_lines(lines, says, note.frontmatter_lines), note.text)

    def _collect_lines(self, part: Expression, note: NoteParts, lines: dict[int, int]) -> None:
        if isinstance(part, (Text, Pattern)):
            add_lines(1, self._columns_in_body(part, note), lines)
        elif isinstance(part, (And, Or)):
            for inner in part.parts:
                self._collect_lines(inner, note, lines)
        elif isinstance(part, Within) and part.operator == "content":
            self._collect_lines(part.part, note, lines)
        elif isinstance(part, Within) and part.operator not in ("file", "path", "tag"):
            for piece in self._matching_pieces(part, note, UNACCENTED):
                inside: dict[int, int] = {}
                for leaf, _ in ranked_leaves(part.part, ""):
                    add_lines(piece.first, self._columns(leaf, piece.text), inside)
                add_lines(0, inside or {piece.first: 0}, lines)

    def _columns_in_body(self, leaf: Leaf, note: NoteParts) -> dict[int, int]:
        if leaf not in note.columns:
            note.columns[leaf] = self._columns(leaf, note.body)
        return note.columns[leaf]

    def _columns(self, leaf: Leaf, text: TextForms) -> dict[int, int]:
        needle = self._needles[leaf]
        form = needle.form(UNACCENTED)
        return first_columns(text.get(form), needle, form)

    def _weight(self, leaf: Leaf, operator: str, note: NoteParts) -> float:
        """Return what a word, phrase or pattern adds to the score, by the best place where it stands."""
        if operator == "tag":
            return _TAG
        if operator != "content" and self._is_in(leaf, note.name, UNACCENTED):
            return _NAME
        if operator == "file":
            return 0
        weight = 0.0
        lines = note.body.lines(self._needles[leaf].form(UNACCENTED))
        top = note.frontmatter_lines  # most words stand below it, and need no look into the block
        for index, column in self._columns_in_body(leaf, note).items():
            line = lines[index]
            if note.is_heading(index, line):
                return _HEADING
            if (column and line[column - 1] == "#") or (index < top and self._is_alias_or_tag(leaf, note)):
                weight = _TAG
        return weight

    def _is_alias_or_tag(self, leaf: Leaf, note: NoteParts) -> bool:
        """Tell whether the leaf stands in an alias or a tag of the frontmatter."""
        names = [*note.frontmatter.texts("aliases"), *note.frontmatter.texts("tags")]
        return any(self._is_in(leaf, TextForms(name), UNACCENTED) for name in names)


def _answering(words: tuple[Word, ...], note: NoteParts) -> Match:
    """Return how the note answers a question for the words, with the best lines first; if only its name does, its first."""
    answered = answer(words, note)
    top = note.frontmatter_lines
    ranked = sorted(answered.lines, key=lambda number: (number <= top, -answered.lines[number], number))
    columns = answered.columns or note.first_line
    lines = [
        line
        for number in ranked[:MAX_LINES_SHOWN] or columns
        for line in snippets({number: columns[number]}, note.text)
    ]
    why = tuple(part._replace(score=_SCALE * part.score) for part in answered.parts)
    return Match(_SCALE * answered.score, len(answered.lines), lines, answered.missing, why)


def _is_true(part: Expression, test: LeafTest) -> bool:
    """Tell whether the expression is true, given ``test`` for its leaves."""
    if isinstance(part, And):
        return all(_is_true(inner, test) for inner in part.parts)
    if isinstance(part, Or):
        return any(_is_true(inner, test) for inner in part.parts)
    if isinstance(part, Not):
        return not _is_true(part.part, test)
    return test(part)


def _may_be_true(part: Expression, test: Callable[[Text], bool]) -> bool:
    """Tell whether the part may be true of some piece of a note; ``test`` says which words the note has.

    It saves parsing most notes, which takes longer than all the rest. It is never wrongly False.
    """
    if isinstance(part, And):
        return all(_may_be_true(inner, test) for inner in part.parts)
    if isinstance(part, Or):
        return any(_may_be_true(inner, test) for inner in part.parts)
    return not isinstance(part, Text) or test(part)


def required_text(part: Expression) -> Text | None:
    """Return a word or phrase without which the part is true nowhere, if there is one."""
    if isinstance(part, And):
        return next((leaf for inner in part.parts if (leaf := required_text(inner))), None)
    return part if isinstance(part, Text) else None


def _parts(part: Expression) -> Iterable[Expression]:
    """Return the expressions that an expression is made of."""
    if isinstance(part, (And, Or)):
        return part.parts
    if isinstance(part, (Not, Within)):
        return (part.part,)
    if isinstance(part, Property):
        return (part.name,) if part.value is None else (part.name, part.value)
    return ()


def ranked_leaves(part: Expression, operator: str) -> Iterator[tuple[Leaf, str]]:
    """Yield the leaves that are looked for in a note's name, text or tags, each with its operator; none below a "not"."""
    if isinstance(part, (Text, Pattern)):
        yield part, operator
    elif isinstance(part, Within):
        if part.operator in ("file", "tag", "content"):
            yield from ranked_leaves(part.part, part.operator)
    elif isinstance(part, (And, Or)):
        for inner in part.parts:
            yield from ranked_leaves(inner, operator)


def _has_lines(part: Expression) -> bool:
    if isinstance(part, (And, Or)):
        return any(map(_has_lines, part.parts))
    if isinstance(part, Within):
        return part.operator not in ("file", "path", "tag")
    return isinstance(part, (Text, Pattern))


def _has_pieces(part: Expression, kind: str = "") -> bool:
    """Tell whether lines are shown because a line, block, section or task has them, not for their words alone.

    ``kind``: how the operators begin that count.
    """
    if isinstance(part, (And, Or)):
        return any(_has_pieces(inner, kind) for inner in part.parts)
    if not isinstance(part, Within) or part.operator in ("file", "path", "tag", "content"):
        return False
    return part.operator.startswith(kind)


def _compares(text: str, limit: Compared) -> bool:
    """Tell whether a value lies on the side asked for. Numbers compare with numbers, dates (ISO 8601) with dates."""
    if NUMBER.match(text) and NUMBER.match(limit.value):
        number, other = float(text), float(limit.value)
        is_less, is_equal = number < other, number == other
    elif DATE.match(text) and DATE.match(limit.value):
        is_less, is_equal = text < limit.value, text == limit.value
    else:
        return False
    return limit.sign.endswith("=") if is_equal else is_less is (limit.sign[0] == "<")
