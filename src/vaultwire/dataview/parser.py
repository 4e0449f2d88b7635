"""Reads a query of Dataview as a tree. Any text gives a tree or a ``QueryProblem``, and nothing else.

The grammar is that of Dataview's documentation. Two things are not on its pages and were looked up in the program itself:
``and`` and ``or`` bind alike, from left to right; a name may have ``-`` in it, so ``a-b`` is a name and ``a - b`` is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias, get_args
from typing import Literal as OneOf

from vaultwire.bases.parser import depth_of
from vaultwire.bases.values import Duration, duration_parts
from vaultwire.markdown.patterns import compile_pattern


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: null, true, false, a number, text or duration. Python's ``True == 1`` does not make two of them equal."""

    value: bool | float | str | Duration | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class DateLiteral:
    """``date(today)``, ``date(2026-01-31T10:00)``: what stands in the brackets."""

    text: str


@dataclass(frozen=True, slots=True)
class LinkLiteral:
    """``[[linktext|display]]``, with ``is_embed`` behind a ``!``. An empty linktext is the note of the query."""

    linktext: str
    display: str | None = None
    is_embed: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A field, or what a lambda names."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """``of.name`` (then ``index`` is a text) or ``of[index]``."""

    of: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function; ``[1, 2]`` and ``{ a: 1 }`` call ``list`` and ``object``. ``start``: where it begins."""

    name: str
    arguments: tuple[Node, ...]
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Lambda:
    """``(x, y) => body``."""

    parameters: tuple[str, ...]
    body: Node


@dataclass(frozen=True, slots=True)
class Applied:
    """``((x) => body)(arguments)``: a lambda that is called where it stands."""

    function: Lambda
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """``!operand``."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two operands; ``and`` is ``&``, ``or`` is ``|``."""

    operator: str
    left: Node
    right: Node


Node: TypeAlias = Literal | DateLiteral | LinkLiteral | Name | Index | Call | Lambda | Applied | Not | Binary
"""Any expression."""


@dataclass(frozen=True, slots=True)
class TagSource:
    """Notes with a tag (with ``#``) or one below it."""

    tag: str


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Notes in a folder or below it, or the one note of that path."""

    path: str


@dataclass(frozen=True, slots=True)
class LinkSource:
    """Notes that link to a note; with ``is_outgoing`` the notes that it links to. An empty text is the note of the query."""

    linktext: str
    is_outgoing: bool = False


@dataclass(frozen=True, slots=True)
class NotSource:
    """Notes that are not in a source."""

    of: Source


@dataclass(frozen=True, slots=True)
class BothSources:
    """Notes in both sources (``&``), or in one of them (``|``)."""

    operator: OneOf["&", "|"]
    left: Source
    right: Source


Source: TypeAlias = TagSource | FolderSource | LinkSource | NotSource | BothSources
"""What stands behind FROM."""


@dataclass(frozen=True, slots=True)
class Column:
    """An expression with its name: that of ``AS``, else its own text."""

    expression: Node
    name: str


@dataclass(frozen=True, slots=True)
class Command:
    """A step of a query, done in the order of the text. Only SORT has more than one column: its keys.

    ``is_descending``: for each key of SORT. ``text``: the step as the person wrote it, on one line.
    """

    word: CommandWord
    columns: tuple[Column, ...]
    is_descending: tuple[bool, ...] = ()
    text: str = field(default="", compare=False)


CommandWord: TypeAlias = OneOf["WHERE", "SORT", "GROUP BY", "FLATTEN", "LIMIT"]
QueryType: TypeAlias = OneOf["table", "list", "task", "calendar"]


@dataclass(frozen=True, slots=True)
class Query:
    """A query. ``source`` None: all notes. Only a table has more than one column, a calendar has its date."""

    type: QueryType
    columns: tuple[Column, ...] = ()
    has_id: bool = True
    source: Source | None = None
    commands: tuple[Command, ...] = ()


# Signs that names may have beside letters.
EMOJI = "\u2600-\u27bf\u2b00-\u2bff\u2300-\u23ff\U0001f000-\U0001faff"
IDENTIFIER = compile_pattern(rf"(?:[^\W\d_]|[{EMOJI}])(?:[\w-]|[{EMOJI}\ufe0f\u200d])*+")
"""The form of a name."""
LEVELS: Final = {
    **dict.fromkeys("&|", 1),
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), 2),
    **dict.fromkeys("+-", 3),
    **dict.fromkeys("*/%", 4),
}
"""How closely operators bind, the closest last."""


def children(node: Node) -> tuple[Node, ...]:
    """Return the expressions right within an expression."""
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Index):
        return (node.of, node.index)
    if isinstance(node, Applied):
        return (node.function, *node.arguments)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Not):
        return (node.operand,)
    return (node.body,) if isinstance(node, Lambda) else ()


def nodes_of(query: Query) -> Iterator[Node]:
    """Yield the expressions of a query, of its columns and of its commands, and all within them."""
    columns = [*query.columns, *(column for command in query.commands for column in command.columns)]
    waiting = [column.expression for column in columns]
    while waiting:
        yield (node := waiting.pop())
        waiting += children(node)


class QueryProblem(ValueError):  # noqa: N818 - a problem of the person's text, not of the program
    """The text is no query. Its message says where and why; ``line`` and ``column`` count from 1."""

    def __init__(self, words: str, text: str, position: int) -> None:
        self.words = words
        self.line = text.count("\n", 0, position) + 1
        self.column = position - text.rfind("\n", 0, position)
        super().__init__(f"Line {self.line}, column {self.column}: {words}")


# ---------------------------------------------------------------------- reading

# A query that a person writes has some hundred characters.
MOST_CHARACTERS = 10_000
# Deeper trees would exhaust Python's stack when they are evaluated.
_MOST_NESTED = 40
_MOST_DEEP = 200

# The atoms that inline fields (``fields``) have, too.
NUMBER = compile_pattern(r"-?[0-9]++(?:\.[0-9]++)?")
TEXT = compile_pattern(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
LINK = compile_pattern(r"(!?)\[\[([^\[\]]*+)\]\]")
_TAG = compile_pattern(rf"#(?:[\w/-]|[{EMOJI}\ufe0f\u200d])++")
_WORD = compile_pattern(r"[^\W\d_]++")
_DATE_CALL = compile_pattern(
    r"date\(\s*+(?P<date>now|today|yesterday|tomorrow|(?:so|eo)[wmy]|(?:start|end)-of-(?:week|month|year)"
    r"|\d{4}-\d{2}(?:-\d{2}(?:T\d{2}(?::\d{2}(?::\d{2}(?:\.\d{3})?)?)?)?(?:Z|[+-]\d{1,2}(?::\d{2})?)?)?)\s*+\)"
)
_DURATION_CALL = compile_pattern(r"dur\(\s*+(?P<duration>[0-9][^()\"]{0,200}?)\s*\)")
_LAMBDA = compile_pattern(rf"\(\s*+((?:{IDENTIFIER.pattern}(?:\s*+,\s*+{IDENTIFIER.pattern})*+)?)\s*+\)\s*+=>")
_OPERATORS = compile_pattern(r"<=|>=|!=|/(?!/)|[=<>&|+*%-]")
_COMMENT = compile_pattern(r"//[^\n]*+")
_WORDS: Final = {"and": "&", "or": "|"}
_TYPES: Final[dict[str, QueryType]] = {"table": "table", "list": "list", "task": "task", "calendar": "calendar"}
_COMMANDS: Final[tuple[CommandWord, ...]] = get_args(CommandWord)
# Not names: a query goes on there. SORT is one only where no bracket follows, as in sort(list).
_KEYWORDS: Final = frozenset(("from", "where", "limit", "group", "flatten", "sort"))
CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "True": True, "False": False, "null": None}
_DIRECTIONS: Final = {"asc": False, "ascending": False, "desc": True, "descending": True}

_UNITS: Final[dict[str, tuple[str, float]]] = {
    **dict.fromkeys(("year", "years", "yr", "yrs"), ("months", 12)),
    **dict.fromkeys(("month", "months", "mo", "mos"), ("months", 1)),
    **dict.fromkeys(("week", "weeks", "wk", "wks", "w"), ("days", 7)),
    **dict.fromkeys(("day", "days", "d"), ("days", 1)),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), ("milliseconds", 3_600_000)),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), ("milliseconds", 60_000)),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), ("milliseconds", 1_000)),
}
_DURATION_PART = compile_pattern(r"(-?[0-9]++(?:\.[0-9]++)?)\s*+([A-Za-z]++)(?:\s*+,\s*+|\s*+)")
_MOST_DURATION = 200


def parse_query(text: str) -> Query:
    """Return the tree of a query. Raises QueryProblem, which says line and column of the mistake."""
    return _Parser(text).query()


def parse_duration(text: str) -> Duration | None:
    """Return the duration that a text says, such as ``1 day`` or ``2h 30m``; None if it says none."""
    written = text.strip()
    parts = duration_parts(written, _DURATION_PART, _UNITS.get) if len(written) <= _MOST_DURATION else None
    if parts is None:
        return None
    whole = int(parts["months"])
    # Parts of months are days: 30 of them are one.
    days = parts["days"] + (parts["months"] - whole) * 30
    return Duration(whole, days, parts["milliseconds"])


class _Binding(NamedTuple):
    """An operator that comes next: what it is, how closely it binds, where it ends."""

    operator: str
    level: int
    end: int


class _Parser:
    """Reads the text once, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._nested = 0
        if len(text) > MOST_CHARACTERS:
            raise QueryProblem(
                f"A query has at most {MOST_CHARACTERS:,} characters; this one has {len(text):,}.", "", 0
            )

    # ------------------------------------------------------------------ queries

    def query(self) -> Query:
        """Read the whole text as a query."""
        kind = self._type()
        has_id = not (kind in ("table", "list") and self._keyword("WITHOUT ID", r"(?!\w)"))
        columns = self._columns(kind)
        source = None
        if not self._is_end() and self._keyword("FROM"):
            source = self._source(0)
        commands: list[Command] = []
        while not self._is_end():
            start = self._at
            command = self._command()
            commands.append(replace(command, text=" ".join(self._text[start : self._at].split())))
        return Query(kind, columns, has_id, source, tuple(commands))

    def _type(self) -> QueryType:
        self._is_end()
        word = self._peek_word()
        if word in _TYPES:
            self._at += len(word)
            return _TYPES[word]
        raise self._problem("A query begins with TABLE, LIST, TASK or CALENDAR")

    def _columns(self, kind: QueryType) -> tuple[Column, ...]:
        if kind == "calendar":
            return (self._column(),)
        if kind == "task" or self._at_clause():
            return ()
        if kind == "list":
            start = self._at
            node = self._checked()
            return (Column(node, self._raw(start)),)
        columns = [self._column()]
        while self._take(","):
            columns.append(self._column())
        return tuple(columns)

    def _at_clause(self) -> bool:
        """Tell whether the query's head ends here."""
        word = self._peek_word()
        return self._is_end() or (word in _KEYWORDS and not self._is_call(word))

    def _is_call(self, word: str) -> bool:
        return self._text.startswith("(", self._at + len(word))

    def _column(self) -> Column:
        self._skip()
        start = self._at
        node = self._checked()
        name = self._raw(start)
        if self._keyword("AS"):
            self._skip()
            named = TEXT.match(self._text, self._at) or IDENTIFIER.match(self._text, self._at)
            if named is None:
                raise self._problem('A name is expected after AS, such as Path or "File path"')
            name = _named(named)
            self._at = named.end()
        return Column(node, name)

    def _raw(self, start: int) -> str:
        return "".join(line.strip() for line in self._text[start : self._at].split("\n"))

    def _command(self) -> Command:
        word = next((word for word in _COMMANDS if self._keyword(word)), None)
        if word == "SORT":
            keys = [self._sort_key()]
            while self._take(","):
                keys.append(self._sort_key())
            return Command(word, tuple(Column(key, "") for key, _ in keys), tuple(is_last for _, is_last in keys))
        if word is not None:
            has_name = word in ("GROUP BY", "FLATTEN")
            return Command(word, (self._column() if has_name else Column(self._checked(), ""),))
        if self._peek_word() == "from":
            raise self._problem("FROM stands only once, right behind the head of the query")
        raise self._problem(f"An operator is expected, or one of FROM, {', '.join(_COMMANDS)}")

    def _sort_key(self) -> tuple[Node, bool]:
        node = self._checked()
        word = self._peek_word()
        if word not in _DIRECTIONS:
            return node, False
        self._at += len(word)
        return node, _DIRECTIONS[word]

    # ------------------------------------------------------------------ sources

    def _source(self, depth: int) -> Source:
        if depth > _MOST_NESTED:
            raise self._problem(f"At most {_MOST_NESTED} brackets stand within each other")
        source = self._one_source(depth)
        count = 0
        while (operator := self._joining()) is not None:
            count += 1
            if count > _MOST_DEEP:
                raise self._problem(f"FROM has at most {_MOST_DEEP} sources")
            source = BothSources(operator, source, self._one_source(depth))
        return source

    def _joining(self) -> OneOf["&", "|"] | None:
        binding = self._operator()
        if binding is None or binding.level > 1:
            return None
        self._at = binding.end
        return "&" if binding.operator == "&" else "|"

    def _one_source(self, depth: int) -> Source:
        if self._take("("):
            source = self._source(depth + 1)
            self._expect(")")
            return source
        if self._take("-") or self._take("!"):
            if depth > _MOST_NESTED:
                raise self._problem(f"At most {_MOST_NESTED} signs stand before each other")
            return NotSource(self._one_source(depth + 1))
        if (tag := self._match(_TAG)) is not None:
            return TagSource(tag[0])
        if (folder := self._match(TEXT)) is not None:
            return FolderSource(unescaped(folder[1]))
        if self._peek_word() == "outgoing":
            self._at += len("outgoing")
            self._expect("(")
            link = self._match(LINK)
            if link is None:
                raise self._problem("A link is expected, as in outgoing([[Note]])")
            self._expect(")")
            return LinkSource(to_link(link).linktext, is_outgoing=True)
        if (link := self._match(LINK)) is not None:
            return LinkSource(to_link(link).linktext)
        if self._peek_word() == "csv":
            raise self._problem("Files of CSV are not read here")
        raise self._problem('A source is expected: #tag, "folder", [[note]] or outgoing([[note]])')

    # ------------------------------------------------------------------ expressions

    def _checked(self) -> Node:
        """Read an expression that is not too deep."""
        start = self._at
        node = self._expression(0)
        if depth_of(node, children) > _MOST_DEEP:
            words = f"An expression has at most {_MOST_DEEP} steps within each other."
            raise QueryProblem(words, self._text, start)
        return node

    def _expression(self, least: int) -> Node:
        self._nested += 1
        if self._nested > _MOST_NESTED:
            raise self._problem(f"An expression has at most {_MOST_NESTED} brackets within each other")
        left = self._postfix()
        while (binding := self._operator()) is not None and binding.level > least:
            self._at = binding.end
            left = Binary(binding.operator, left, self._expression(binding.level))
        self._nested -= 1
        return left

    def _operator(self) -> _Binding | None:
        self._skip()
        sign = _OPERATORS.match(self._text, self._at)
        if sign is not None:
            if self._text.startswith("==", self._at):
                raise self._problem("Equality is one = here")
            end = sign.end() + (sign[0] in "&|" and self._text.startswith(sign[0], sign.end()))
            return _Binding(sign[0], LEVELS[sign[0]], end)
        operator = _WORDS.get(self._peek_word())
        return None if operator is None else _Binding(operator, 1, self._at + len(self._peek_word()))

    def _postfix(self) -> Node:
        self._skip()
        start = self._at
        if self._text.startswith("!", start) and not self._text.startswith("![[", start):
            return self._negated()
        node = self._atom()
        while self._at < len(self._text) and self._text[self._at] in ".[(":
            sign = self._text[self._at]
            if sign == "(" and not isinstance(node, (Name, Lambda)):
                break
            self._at += 1
            if sign == ".":
                name = IDENTIFIER.match(self._text, self._at)
                if name is None:
                    raise self._problem("A name is expected after the dot")
                self._at = name.end()
                node = Index(node, Literal(name[0]))
            elif sign == "[":
                # A bare name in brackets is a name, as behind a dot.
                index = self._expression(0)
                node = Index(node, Literal(index.name) if isinstance(index, Name) else index)
                self._expect("]")
            elif isinstance(node, Lambda):
                node = Applied(node, self._items(")"))
            elif isinstance(node, Name):
                node = Call(node.name, self._items(")"), start)
        return node

    def _negated(self) -> Node:
        self._at += 1
        self._nested += 1
        if self._nested > _MOST_NESTED:
            raise self._problem(f"At most {_MOST_NESTED} exclamation marks stand before each other")
        node = Not(self._postfix())
        self._nested -= 1
        return node

    def _atom(self) -> Node:
        text, at = self._text, self._at
        sign = text[at : at + 1]
        if (link := LINK.match(text, at)) is not None:
            self._at = link.end()
            return to_link(link)
        if sign == "[":
            self._at += 1
            return Call("list", self._items("]"), at)
        if sign == "{":
            return self._object()
        if sign == "(":
            return self._bracket()
        if (number := NUMBER.match(text, at)) is not None:
            self._at = number.end()
            return Literal(float(number[0]))
        if sign == '"':
            quoted = self._match(TEXT)
            if quoted is None:
                raise self._problem("A quotation mark is not closed", quotes=False)
            return Literal(unescaped(quoted[1]))
        if sign == "'":
            raise self._problem("Texts stand in double quotation marks", quotes=False)
        if sign == "-":
            raise self._problem("A minus sign stands before a number only: write 0 - x", quotes=False)
        return self._named()

    def _named(self) -> Node:
        text, at = self._text, self._at
        if (date := _DATE_CALL.match(text, at)) is not None:
            self._at = date.end()
            return DateLiteral(date["date"])
        if (length := _DURATION_CALL.match(text, at)) is not None:
            duration = parse_duration(length["duration"])
            if duration is None:
                raise self._problem("A duration is expected, as in dur(2 days, 4 hours)")
            self._at = length.end()
            return Literal(duration)
        name = IDENTIFIER.match(text, at)
        if name is None or (name[0].lower() in _KEYWORDS and not self._is_call(name[0])):
            raise self._problem("A value is expected")
        self._at = name.end()
        return Literal(CONSTANTS[name[0]]) if name[0] in CONSTANTS else Name(name[0])

    def _bracket(self) -> Node:
        head = _LAMBDA.match(self._text, self._at)
        if head is not None:
            self._at = head.end()
            return Lambda(tuple(name.strip() for name in head[1].split(",") if name.strip()), self._expression(0))
        self._at += 1
        node = self._expression(0)
        self._expect(")")
        return node

    def _object(self) -> Node:
        start = self._at
        self._at += 1
        items: dict[str, Node] = {}
        while not self._take("}"):
            if items:
                self._expect(",")
            self._skip()
            name = self._match(TEXT) or self._match(IDENTIFIER)
            if name is None:
                raise self._problem("A name is expected, as in { a: 1 }")
            self._expect(":")
            items[_named(name)] = self._expression(0)
        pairs = ((Literal(name), value) for name, value in items.items())
        return Call("object", tuple(node for pair in pairs for node in pair), start)

    def _items(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._take(end):
            if items:
                self._expect(",")
            items.append(self._expression(0))
        return tuple(items)

    # ------------------------------------------------------------------ pieces

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _is_end(self) -> bool:
        """Go to the next part of the query, over comments. Return whether there is none."""
        while self._match(_COMMENT):
            pass
        return self._at >= len(self._text)

    def _take(self, sign: str) -> bool:
        self._skip()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._problem(f"“{sign}” is expected")

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._skip()
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _peek_word(self) -> str:
        self._skip()
        word = _WORD.match(self._text, self._at)
        # A name goes on with a figure or a line.
        if word is None or self._text[word.end() : word.end() + 1].isalnum():
            return ""
        return "" if self._text[word.end() : word.end() + 1] in ("_", "-") else word[0].lower()

    def _keyword(self, words: str, before: str = r"(?=\s|\Z)") -> bool:
        """Take one or two words, in any case. ``before``: what they stand before, as a pattern."""
        self._skip()
        match = re.compile(words.replace(" ", r"\s+") + before, re.IGNORECASE).match(self._text, self._at)
        if match is None:
            return False
        self._at = match.end()
        return True

    def _problem(self, expected: str, *, quotes: bool = True) -> QueryProblem:
        self._skip()
        word = _WORD.match(self._text, self._at)
        next_text = word[0][:40] if word is not None else self._text[self._at : self._at + 1]
        there = f"there is “{next_text}”" if next_text else "the query ends"
        return QueryProblem(f"{expected}{f', but {there}' if quotes else ''}.", self._text, self._at)


def to_link(match: re.Match[str]) -> LinkLiteral:
    """Return the link that ``LINK`` matched."""
    linktext, bar, display = match[2].replace("\\|", "\0").partition("|")
    shown = display.replace("\0", "|") if bar else None
    return LinkLiteral(linktext.replace("\0", "|").strip(), shown, is_embed=bool(match[1]))


def _named(match: re.Match[str]) -> str:
    """Return the name that a text or an identifier is."""
    return unescaped(match[1]) if match[0].startswith('"') else match[0]


def unescaped(text: str) -> str:
    r"""Return a text without the signs before ``"`` and ``\``; other signs keep theirs, so that patterns can be written."""
    return re.sub(r'\\(["\\])', r"\1", text)
