"""What a base says: filters, formulas, columns, summaries and views, and how its YAML is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from vaultwire.bases.parser import Node, SyntaxProblem, parse
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.yaml_core import NotYamlError, PropertyValue, read_yaml


@dataclass(frozen=True, slots=True)
class Broken:
    """An expression that cannot be read. ``message``: its value, the error in the app's words; ``words``: what is wrong."""

    text: str
    message: str
    words: str = ""


Expression: TypeAlias = Node | Broken
"""An expression as it stands in a base."""


@dataclass(frozen=True, slots=True)
class Group:
    """Filters joined: all hold (``and``), one holds (``or``), none holds (``not``)."""

    kind: Literal["and", "or", "not"]
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter that is an expression; ``text`` as written."""

    text: str
    expression: Expression


Filter: TypeAlias = Group | Condition
"""A filter of a base or view."""


def conditions(*filters: Filter | None) -> Iterator[Condition]:
    """Yield the expressions of filters, in their order."""
    for each in filters:
        if isinstance(each, Group):
            yield from conditions(*each.filters)
        elif each is not None:
            yield each


@dataclass(frozen=True, slots=True)
class Sorting:
    """A property id, and the direction."""

    property: str
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """One view. Ids of properties are as ``ids.normal_id`` writes them: ``note.x``, ``file.x``, ``formula.x``.

    ``settings``: every key of the view as YAML has it, also those that this class names.
    """

    name: str
    type: str = "table"
    filter: Filter | None = None
    limit: int | None = None
    order: tuple[str, ...] = ()
    sort: tuple[Sorting, ...] = ()
    group_by: Sorting | None = None
    summaries: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, PropertyValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Base:
    """A base. ``display_names`` by property id; ``summaries``: custom ones by name.

    ``problems``: what was passed over, in words.
    """

    filter: Filter | None = None
    formulas: Mapping[str, Expression] = field(default_factory=dict)
    display_names: Mapping[str, str] = field(default_factory=dict)
    summaries: Mapping[str, Expression] = field(default_factory=dict)
    views: tuple[View, ...] = ()
    problems: tuple[str, ...] = ()


def place_of_name(names: Sequence[str], name: str) -> int | None:
    """Return the place of a view's name: exactly so, else without spaces around it, else in any case."""
    plain = [each.strip().casefold() for each in names]
    for wanted, known in ((name, names), (name.strip(), names), (name.strip().casefold(), plain)):
        if wanted in known:
            return known.index(wanted)
    return None


# The ids of properties in a base: ``note.x``, ``file.x``, ``formula.x``.

_BRACKETS = compile_pattern(r"(note|property|file|formula)\[(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)')\]")
_DOTTED = compile_pattern(r"(note|property|file|formula)\.(.++)", re.DOTALL)


def normal_id(written: str) -> str:
    """Return the id in one form: a bare name is a note's, ``note["a b"]`` is ``note.a b``, ``property.x`` is ``note.x``."""
    written = written.strip()
    parts = _BRACKETS.fullmatch(written) or _DOTTED.fullmatch(written)
    if parts is None:
        return "file.file" if written == "file" else f"note.{written}"
    kind, *names = parts.groups()
    name = next(name for name in names if name is not None)
    return f"{'note' if kind == 'property' else kind}.{name}"


# Reads the YAML of a ``.base`` file or a ``base`` block. What is passed over is named in ``problems``.

# More than any person writes; reading a base of this size takes some tenths of a second.
MOST_CHARACTERS = 200_000
MOST_VIEWS = 500
_MOST_FILTERS = 2_000
_MOST_DEEP = 30
_KINDS: Final[Mapping[str, Literal["and", "or", "not"]]] = {"and": "and", "or": "or", "not": "not"}
# The app's words for a filter that is no text and no such group.
_NO_FILTER = '"filters" may only have one of an "and", "or", or "not" keys.'


class NotABaseError(ValueError):
    """The text is no base. The message says why, and what would be right."""


def read_base(text: str, first_line: int = 1) -> Base:
    """Return what a base says. ``first_line``: the line of the file that the text begins on. Raises NotABaseError."""
    if len(text) > MOST_CHARACTERS:
        raise NotABaseError(f"A base has at most {MOST_CHARACTERS:,} characters; this one has {len(text):,}.")
    try:
        read = read_yaml(text.replace("\r\n", "\n"), first_line)
    except NotYamlError as error:
        raise NotABaseError(f"The base is not YAML: {error}.") from None
    return _Reader(read.problems).base(read.values)


def read_expression(text: str) -> Expression:
    """Return the tree of an expression, or what is wrong with it."""
    try:
        return parse(text)
    except SyntaxProblem as problem:
        return Broken(text, str(problem), problem.words)


class _Reader:
    """Reads one base and keeps what it passes over."""

    def __init__(self, problems: list[str]) -> None:
        self._problems = list(problems)
        self._filters = 0

    def base(self, values: Mapping[str, PropertyValue]) -> Base:
        """Return the base."""
        self._check_names(values, "")
        views = self._list(values.get("views"), "views")
        if len(views) > MOST_VIEWS:
            raise NotABaseError(f"A base has at most {MOST_VIEWS} views; this one has {len(views):,}.")
        return Base(
            filter=self._filter(values.get("filters"), "filters"),
            formulas=dict(self._expressions(values.get("formulas"), "formulas")),
            display_names={
                normal_id(name): shown
                for name, each in self._map(values.get("properties"), "properties").items()
                if isinstance(shown := self._map(each, f"properties: {name}").get("displayName"), str) and shown
            },
            summaries=dict(self._expressions(values.get("summaries"), "summaries")),
            views=tuple(self._view(each, number) for number, each in enumerate(views, 1)),
            problems=tuple(self._problems),
        )

    def _view(self, value: PropertyValue, number: int) -> View:
        where = f"view {number}"
        settings = self._map(value, where)
        self._check_names(settings, f"{where}: ")
        name = settings.get("name")
        kind = settings.get("type", "table")
        limit = settings.get("limit")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            self._say(f"{where}: limit is a whole number, not {limit!r}")
            limit = None
        sorting = [self._sorting(each, f"{where}: sort") for each in self._list(settings.get("sort"), f"{where}: sort")]
        grouped = settings.get("groupBy")
        return View(
            name=str(name) if isinstance(name, (str, int, float)) and name != "" else f"View {number}",
            type=kind if isinstance(kind, str) else "table",
            filter=self._filter(settings.get("filters"), f"{where}: filters"),
            limit=limit,
            order=tuple(dict.fromkeys(map(normal_id, self._texts(settings.get("order"), f"{where}: order")))),
            sort=tuple(each for each in sorting if each is not None),
            group_by=None if grouped is None else self._sorting(grouped, f"{where}: groupBy"),
            summaries={
                normal_id(each): summary
                for each, summary in self._map(settings.get("summaries"), f"{where}: summaries").items()
                if isinstance(summary, str)
            },
            settings=settings,
        )

    def _check_names(self, values: Mapping[str, PropertyValue], where: str) -> None:
        """Name a key that is nearly ``filters``: the app passes over it, and the person who wrote it does not expect that."""
        for name in values:
            if name != "filters" and name.strip().casefold() in ("filter", "filters"):
                self._say(f"{where}{name!r} means nothing; the name is 'filters'")

    def _sorting(self, value: PropertyValue, where: str) -> Sorting | None:
        if isinstance(value, str):
            return Sorting(normal_id(value))
        said = self._map(value, where)
        name = said.get("property", said.get("column"))  # the name of older bases
        if not isinstance(name, str):
            self._say(f"{where}: there is no property")
            return None
        return Sorting(normal_id(name), str(said.get("direction", "ASC")).upper() == "DESC")

    def _filter(self, value: PropertyValue, where: str, depth: int = 0) -> Filter | None:
        self._filters += 1
        if self._filters > _MOST_FILTERS or depth > _MOST_DEEP:
            raise NotABaseError(f"A base has at most {_MOST_FILTERS:,} filters, and {_MOST_DEEP} within each other.")
        if value is None or value == "":
            return None
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, str):
            return Condition(value, read_expression(value))
        kinds = [*value] if isinstance(value, dict) else []
        if isinstance(value, dict) and len(kinds) == 1 and kinds[0] in _KINDS:
            return self._group(kinds[0], value[kinds[0]], where, depth)
        if value == {}:
            self._say(f"{where}: a filter has exactly one of and, or, not; this one has none")
            return None
        words = (
            f"A filter is a text, or has exactly one of and, or, not; {where} has {', '.join(kinds) or _shown(value)}."
        )
        return Condition(_shown(value), Broken(_shown(value), _NO_FILTER, words))

    def _group(self, kind: str, value: PropertyValue, where: str, depth: int) -> Group:
        items = value if isinstance(value, list) else [] if value is None else [value]
        found = [self._filter(each, f"{where}: {kind}", depth + 1) for each in items]
        inner = tuple(each for each in found if each is not None)
        return Group(_KINDS[kind], inner)

    def _expressions(self, value: PropertyValue, where: str) -> Iterator[tuple[str, Expression]]:
        for name, written in self._map(value, where).items():
            text = written if isinstance(written, str) else "" if written is None else str(written).lower()
            if isinstance(written, (list, dict)):
                self._say(f"{where}: {name} is a text, not {_shown(written)}")
            elif text.strip():
                yield name, read_expression(text)

    def _map(self, value: PropertyValue, where: str) -> Mapping[str, PropertyValue]:
        if value is not None and not isinstance(value, dict):
            self._say(f"{where}: names with values are expected, not {_shown(value)}")
        return value if isinstance(value, dict) else {}

    def _list(self, value: PropertyValue, where: str) -> list[PropertyValue]:
        if value is not None and not isinstance(value, list):
            self._say(f"{where}: a list is expected, not {_shown(value)}")
        return value if isinstance(value, list) else []

    def _texts(self, value: PropertyValue, where: str) -> Iterator[str]:
        for item in self._list(value, where):
            if isinstance(item, str):
                yield item
            else:
                self._say(f"{where}: a property is a text, not {_shown(item)}")

    def _say(self, problem: str) -> None:
        if problem not in self._problems:
            self._problems.append(problem)


def _shown(value: PropertyValue) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}…"  # noqa: PLR2004 - fits a line
