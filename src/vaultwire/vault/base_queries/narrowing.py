"""Push-down: which part of a filter the index can answer, and what is left to be evaluated file by file.

A filter is true, false or an error for a file, and the condition is found for one of the first two: so the opposite of a filter
needs no rules of its own, and an error is neither. A filter that depends on one property only is evaluated once for each value
that the property has in the vault, by the language itself: so it cannot mean anything else here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vaultwire.bases.base import Base, Broken, Expression, Filter, Group, View, conditions
from vaultwire.bases.comparing import is_truthy
from vaultwire.bases.evaluation import evaluate
from vaultwire.bases.parser import (
    ITEM_NAMES,
    Binary,
    Call,
    Index,
    Literal,
    Member,
    Name,
    Node,
    Unary,
    children,
    field_of,
    nodes_of,
    property_of,
)
from vaultwire.bases.row import FileFacts, LinkFact, Query, Row
from vaultwire.bases.values import Date, ErrorValue, Value, parse_date, to_ms
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.index import rows
from vaultwire.vault.index.rows import AnyOf, Every, Not, Rows
from vaultwire.vault.links.link_resolver import link_name, link_names_to, linkpath_of
from vaultwire.vault.value_types import Progress, VaultPath

# What the expressions of a query use: the time, chance, the times of creation. Decided by their trees, before they run.

TIME_AND_CHANCE = frozenset(("now", "random", "relative", "today"))
_CREATED = "ctime"


def depends_on_time(base: Base, view: View) -> bool:
    """Tell whether a view may give something else a moment later, though nothing in the vault has changed."""
    return any(
        isinstance(node, Call) and node.function.name in TIME_AND_CHANCE for node in _nodes(_expressions(base, view))
    )


def lasting_formulas(base: Base) -> list[str]:
    """Return the formulas that give the same for a file as long as nothing in the vault changes."""
    needs: dict[str, set[str]] = {}
    for name, expression in base.formulas.items():
        nodes = [*_nodes(iter((expression,)))]
        called = [field[1] for node in nodes if (field := field_of(node)) is not None and field[0] == "formula"]
        is_passing = any(
            _may_be_creation(node) or (isinstance(node, Call) and node.function.name in TIME_AND_CHANCE)
            for node in nodes
        )
        # Alone the name stands for all formulas.
        is_all = sum(isinstance(node, Name) and node.name == "formula" for node in nodes) > len(called)
        if not is_passing and not is_all and not isinstance(expression, Broken):
            needs[name] = {*called}
    while lost := [name for name, called in needs.items() if not called <= needs.keys()]:
        for name in lost:
            del needs[name]
    return [*needs]


def asks_for_creation(base: Base, view: View) -> bool:
    """Tell whether a view may ask when files were made."""
    return f"file.{_CREATED}" in property_ids(view) or any(map(_may_be_creation, _nodes(_expressions(base, view))))


def _may_be_creation(node: Node) -> bool:
    if isinstance(node, Index):
        # The name of the field may be computed.
        return not isinstance(node.index, Literal) or node.index.value == _CREATED
    return isinstance(node, (Member, Name)) and node.name == _CREATED


def property_ids(view: View) -> Iterator[str]:
    """Yield the ids of all properties that a view names."""
    yield from view.order
    yield from view.summaries
    yield from (each.property for each in view.sort)
    if view.group_by:
        yield view.group_by.property


def _expressions(base: Base, view: View) -> Iterator[Expression]:
    yield from base.formulas.values()
    yield from base.summaries.values()
    for each in conditions(base.filter, view.filter):
        yield each.expression


def _nodes(expressions: Iterator[Expression]) -> Iterator[Node]:
    """Yield every expression and all within it."""
    for each in expressions:
        if not isinstance(each, Broken):
            yield from nodes_of(each)


_ALL: rows.Condition = Every(())
_NONE: rows.Condition = AnyOf(())
# A property with more values than this is looked at file by file: most files have a value of their own.
_MOST_VALUES = 1000
# SQLite refuses expressions that are nested a thousand deep, and joins many conditions by nesting them.
_MOST_DEEP = 100
_MOST_CONDITIONS = 300
# Functions whose result depends on the file or on other files.
_OF_FILES = frozenset(
    ("asFile", "asLink", "file", "hasLink", "hasProperty", "hasTag", "image", "inFolder", "link", "linksTo")
)
# The time is the same for all files of a query.
_NOT_OF_VALUE = _OF_FILES | {"random"}
_WITH_LAMBDA = frozenset(("filter", "map", "reduce"))
_ONLY_TEXT = 1
_NS_A_MS = 1_000_000
# Times are read as microseconds: closer to a moment than this, the language itself decides.
_ROUNDED_NS = 2_000
# The operator that means the same with its sides exchanged.
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Narrowed(NamedTuple):
    """What the index can say of a filter: the files that may meet it, and whether these are exactly those that do.

    ``never_fails``: its expression gives no error for any file.
    """

    possible: rows.Condition
    is_exact: bool
    never_fails: bool = False


class Plan(NamedTuple):
    """The files that may pass a filter, and the filter that is left to be evaluated for them; None if all of them pass."""

    possible: rows.Condition
    rest: Filter | None


_UNKNOWN = Narrowed(_ALL, is_exact=False)


def narrowed(condition: Filter | None, query: Query, rows: Rows, progress: Progress) -> Plan:
    """Return what the index is asked for a filter of the query, and what is left of it."""
    if condition is None:
        return Plan(_ALL, None)
    narrowing = _Narrowing(query, rows, progress)
    parts = [(part, narrowing.of_filter(part)) for part in _parts(condition)]
    whole = _every([narrowed_part for _, narrowed_part in parts])
    if _count(whole.possible) > _MOST_CONDITIONS:
        return Plan(_ALL, condition)
    rest = [part for part, narrowed_part in parts if not narrowed_part.is_exact]
    return Plan(whole.possible, (rest[0] if len(rest) == 1 else Group("and", tuple(rest))) if rest else None)


def _parts(condition: Filter) -> list[Filter]:
    """Return the filters that must all hold."""
    if isinstance(condition, Group) and condition.kind == "and":
        return [part for inner in condition.filters for part in _parts(inner)]
    return [condition]


class _Narrowing:
    def __init__(self, query: Query, rows: Rows, progress: Progress) -> None:
        self._query = query
        self._rows = rows
        self._progress = progress
        self._note = _OneNote(query.host.property_type)
        self._of_note_query = Query(self._note, query.now, query.formulas, compiled=query.compiled)

    def of_filter(self, condition: Filter, depth: int = 0, *, holds: bool = True) -> Narrowed:
        """Return what the index can say of where a filter holds or, without ``holds``, of where it does not."""
        if not isinstance(condition, Group):
            return self.of(condition.expression, depth, holds=holds)
        if depth > _MOST_DEEP:
            return _UNKNOWN
        holds_each = holds != (condition.kind == "not")
        parts = [self.of_filter(each, depth + 1, holds=holds_each) for each in condition.filters]
        # The opposite of "one of them holds" is "none of them holds". An error of one is no matter where others decide.
        is_every = (condition.kind != "or") == holds
        return _every(parts) if is_every else _any(parts, is_exact=all(part.is_exact for part in parts))

    def of(self, node: Expression, depth: int, *, holds: bool) -> Narrowed:
        """Return what the index can say of where an expression holds, or does not hold."""
        if isinstance(node, Broken):
            return Narrowed(_NONE, is_exact=True)
        if depth > _MOST_DEEP:
            return _UNKNOWN
        by_property = self._of_one_property(node, holds=holds)
        if by_property is not None:
            return by_property
        by_link = self._of_link(node) if holds else None
        if by_link is not None:
            return by_link
        by_file = self._of_file(node)
        if by_file is not None:
            return by_file if holds else _opposite(by_file)
        if isinstance(node, Unary) and node.operator == "!":
            return self.of(node.operand, depth + 1, holds=not holds)
        if not isinstance(node, Binary) or node.operator not in ("&&", "||"):
            return _UNKNOWN
        parts = [self.of(each, depth + 1, holds=holds) for each in (node.left, node.right)]
        if (node.operator == "&&") == holds:
            return _every(parts)
        # An error on the left is the result, whatever is on the right.
        return _any(parts, is_exact=parts[0].never_fails and all(part.is_exact for part in parts))

    # ------------------------------------------------------------------ what the vault and the language say

    def _values(self, name: str) -> Mapping[str, PropertyValue] | None:
        """Return the stored values of a property; None if there are too many."""
        return self._rows.values(name, _MOST_VALUES, self._progress)

    def _of_note(self, node: Node, properties: Mapping[str, PropertyValue]) -> Value:
        """Return what an expression gives for a file that has these properties, and nothing else."""
        self._note.values = properties
        return evaluate(node, Row(self._of_note_query, ""))

    def _passes(self, node: Node, properties: Mapping[str, PropertyValue]) -> bool | None:
        """Tell whether an expression holds for a file with these properties; None if it fails for it."""
        value = self._of_note(node, properties)
        return None if isinstance(value, ErrorValue) else is_truthy(value)

    def _moment(self, node: Node) -> int | None:
        """Return the milliseconds since 1970 of a date that depends on no file; None if the expression gives none."""
        value = self._of_note(node, {})
        date = parse_date(value, self._query.zone) if isinstance(value, str) else value
        return int(to_ms(date)) if isinstance(date, Date) else None

    def _names_of_link(self, linktext: str) -> tuple[str, ...] | None:
        """Return the names that links ask for that ``hasLink`` would find; None if that depends on the file."""
        path = linkpath_of(linktext).strip()
        # Where a relative link leads depends on the folder.
        if not path or path.startswith(".") or "[[" in linktext or "|" in linktext:
            return None
        names = {link_name(VaultPath(""), path), *link_names_to(VaultPath(path))}
        target = self._query.host.resolve(path, self._query.this)
        if target is not None:
            names.update(link_names_to(VaultPath(target)))
            # A link to the file by its own text may be an empty one: ``[[#Heading]]``.
            names.add("")
        return tuple(sorted(names))

    # ------------------------------------------------------------------ one property

    def _of_one_property(self, node: Node, *, holds: bool) -> Narrowed | None:
        names: dict[str, str] = {}
        if not self._depends_on(node, names, frozenset(), in_lambda=False) or len(names) != 1:
            return None
        (name,) = names.values()
        stored = self._values(name)
        if stored is None:
            return None
        # A file for which it fails is looked at again, so that its error is reported.
        passes = {
            text: None if _is_relative(text) else self._passes(node, {name: value}) for text, value in stored.items()
        }
        or_none = self._passes(node, {})
        possible = tuple(text for text, result in passes.items() if result is not (not holds))
        is_exact = None not in passes.values() and or_none is not None
        return Narrowed(rows.HasValue(name, possible, or_none is not (not holds)), is_exact)

    def _depends_on(self, node: Node, names: dict[str, str], formulas: frozenset[str], *, in_lambda: bool) -> bool:
        """Add the properties that an expression depends on. Return whether it depends on nothing else."""
        of = property_of(node)
        if of is not None and not (isinstance(node, Name) and of in ITEM_NAMES):
            names.setdefault(of.casefold(), of)
            return len(names) <= 1
        root, formula = field_of(node) or ("", "")
        if root == "formula":
            expression = self._query.formulas.get(formula)
            if expression is None or isinstance(expression, Broken) or formula in formulas:
                return False
            return self._depends_on(expression, names, formulas | {formula}, in_lambda=False)
        if isinstance(node, Name):
            return in_lambda and node.name in ITEM_NAMES
        if not isinstance(node, Call):
            return all(self._depends_on(each, names, formulas, in_lambda=in_lambda) for each in children(node))
        called = node.function
        if called.name in _NOT_OF_VALUE:
            return False
        if isinstance(called, Member) and not self._depends_on(called.of, names, formulas, in_lambda=in_lambda):
            return False
        in_lambda = in_lambda or (isinstance(called, Member) and called.name in _WITH_LAMBDA)
        return all(self._depends_on(each, names, formulas, in_lambda=in_lambda) for each in node.arguments)

    # ------------------------------------------------------------------ the file

    def _of_file(self, node: Node) -> Narrowed | None:
        if isinstance(node, Call) and isinstance(node.function, Member) and _is_file(node.function.of):
            make = _OF_FUNCTION.get(node.function.name)
            return make(self, node.arguments) if make else None
        if isinstance(node, Call) and isinstance(node.function, Member) and _is_field(node.function.of, "tags"):
            is_simple = node.function.name == "contains" and len(node.arguments) == _ONLY_TEXT
            return self.has_tag(node.arguments) if is_simple else None
        if isinstance(node, Binary) and node.operator in ("==", "!="):
            equal = self._of_field(node.left, node.right) or self._of_field(node.right, node.left)
            return equal if equal is None or node.operator == "==" else _opposite(equal)
        if isinstance(node, Binary) and node.operator in _TURNED:
            if _is_field(node.left, "mtime"):
                return self._changed(node.operator, node.right)
            return self._changed(_TURNED[node.operator], node.left) if _is_field(node.right, "mtime") else None
        return None

    def _changed(self, operator: str, node: Node) -> Narrowed | None:
        """``file.mtime < today()``: what is compared are whole milliseconds."""
        names: dict[str, str] = {}
        if not self._depends_on(node, names, frozenset(), in_lambda=False) or names:
            return None
        moment = self._moment(node)
        if moment is None:
            return None
        # Both others are the opposite of one of these.
        edge = (moment + (operator in ("<=", ">"))) * _NS_A_MS
        start, end = edge - _ROUNDED_NS, edge + _ROUNDED_NS
        is_exact = not self._rows.find(rows.Changed(start, end), self._progress)
        is_before = operator in ("<", "<=")
        return Narrowed(rows.Changed(None, end) if is_before else rows.Changed(start, None), is_exact, never_fails=True)

    def _of_link(self, node: Node) -> Narrowed | None:
        """``up == link("A")``, ``list(up).contains(this)``, ``file.links.contains(this)``: candidates to be looked at."""
        if isinstance(node, Binary) and node.operator == "==":
            sides = [(node.left, node.right), (node.right, node.left)]
        elif isinstance(node, Call) and isinstance(node.function, Member) and node.function.name == "contains":
            sides = [(_listed(node.function.of), node.arguments[0])] if len(node.arguments) == _ONLY_TEXT else []
        else:
            return None
        for of, asked in sides:
            text = self._link_text(asked)
            names = self._names_of_link(text) if text else None
            if names is None:
                continue
            if _is_field(of, "links"):
                return Narrowed(rows.AsksFor(names), is_exact=False)
            name = property_of(of)
            stored = None if name is None else self._values(name)
            if name is None or stored is None:
                continue
            # A value that is no link may say the same text.
            # There may be no such file: then no value is equal to it.
            or_none = isinstance(asked, Call) and asked.function.name == "file"
            plain = tuple(value for value in stored if not _is_relative(value))
            asking = Every((rows.AsksFor(names), rows.HasProperty(name)))
            return Narrowed(AnyOf((asking, rows.HasValue(name, plain, or_none=or_none))), is_exact=False)
        return None

    def _link_text(self, node: Node) -> str:
        """Return the text of ``link("A")`` or ``file("A")``, or the path of ``this``; "" for anything else."""
        if _is_this(node):
            return self._query.this
        if isinstance(node, Call) and isinstance(node.function, Name) and node.function.name in ("link", "file"):
            inner = _texts(node.arguments[:1])
            return inner[0] if inner else ""
        return ""

    def _of_field(self, left: Node, right: Node) -> Narrowed | None:
        text = right.value if isinstance(right, Literal) else self._field_of_this(right)
        if not isinstance(text, str) or not isinstance(left, (Member, Index)):
            return None
        if _is_field(left, "folder"):
            # The vault's root is "/" here, and "" in the index.
            return _exact(rows.DirectlyIn("" if text == "/" else text) if text else _NONE)
        if _is_field(left, "path"):
            return _exact(rows.AtPath(text))
        if _is_field(left, "ext"):
            return None if not text or "." in text or "/" in text else _exact(rows.HasExtension(text))
        return None

    def _field_of_this(self, node: Node) -> str | None:
        """Return ``this.file.folder`` and the like."""
        if not isinstance(node, Member) or not _is_this_file(node.of):
            return None
        path = self._query.this
        return {"path": path, "folder": path.rpartition("/")[0] or "/"}.get(node.name) if path else None

    def has_tag(self, arguments: tuple[Node, ...]) -> Narrowed | None:
        """``file.hasTag("a", "b")``: one of them."""
        texts = _texts(arguments)
        if texts is None:
            return None
        tags = [text.strip().removeprefix("#") for text in texts]
        found = _one_of([rows.Tagged(tag) for tag in tags if tag])
        # The index takes two Unicode forms of a letter for the same, the language does not.
        return Narrowed(found, is_exact=all(map(str.isascii, tags)), never_fails=True)

    def in_folder(self, arguments: tuple[Node, ...]) -> Narrowed | None:
        """``file.inFolder("a")``."""
        texts = _texts(arguments)
        if texts is None or len(texts) != _ONLY_TEXT:
            return None
        folder = texts[0].strip("/")
        return _exact(rows.Below(folder) if folder else _ALL)

    def has_property(self, arguments: tuple[Node, ...]) -> Narrowed | None:
        """``file.hasProperty("a")``."""
        texts = _texts(arguments)
        return _exact(rows.HasProperty(texts[0])) if texts and len(texts) == _ONLY_TEXT else None

    def has_link(self, arguments: tuple[Node, ...]) -> Narrowed | None:
        """``file.hasLink("a")``, ``file.hasLink(this)``: candidates, which are looked at again."""
        if len(arguments) != _ONLY_TEXT:
            return None
        texts = _texts(arguments)
        text = texts[0] if texts else self._link_text(arguments[0])
        names = self._names_of_link(text) if text else None
        return None if names is None else Narrowed(rows.AsksFor(names), is_exact=False)


_OF_FUNCTION: Mapping[str, Callable[[_Narrowing, tuple[Node, ...]], Narrowed | None]] = {
    "hasTag": _Narrowing.has_tag,
    "inFolder": _Narrowing.in_folder,
    "hasProperty": _Narrowing.has_property,
    "hasLink": _Narrowing.has_link,
}


class _OneNote:
    """A vault with one file that has these properties and nothing else (``bases.row.Host``)."""

    def __init__(self, property_type: Callable[[str], str]) -> None:
        self.values: Mapping[str, PropertyValue] = {}
        self.property_type = property_type

    def resolve(self, linktext: str, source: str) -> None:  # noqa: ARG002 - there are no other files
        return None

    def facts(self, path: str) -> FileFacts:  # noqa: ARG002
        return FileFacts(0, 0, 0)

    def properties(self, path: str) -> Mapping[str, PropertyValue]:  # noqa: ARG002
        return self.values

    def tags(self, path: str) -> Sequence[str]:  # noqa: ARG002
        return ()

    def links(self, path: str) -> Sequence[LinkFact]:  # noqa: ARG002
        return ()

    def backlinks(self, path: str) -> Sequence[str]:  # noqa: ARG002
        return ()


# ---------------------------------------------------------------------- conditions


def _count(condition: rows.Condition) -> int:
    if isinstance(condition, (Every, AnyOf)):
        return 1 + sum(map(_count, condition.of))
    return 1 + _count(condition.of) if isinstance(condition, Not) else 1


def _exact(condition: rows.Condition) -> Narrowed:
    return Narrowed(condition, is_exact=True, never_fails=True)


def _opposite(of: Narrowed) -> Narrowed:
    """Return where an expression that never fails does not hold."""
    if not of.is_exact:
        return _UNKNOWN
    condition = {_ALL: _NONE, _NONE: _ALL}.get(of.possible) or Not(of.possible)
    return of._replace(possible=condition)


def _every(parts: list[Narrowed]) -> Narrowed:
    return Narrowed(
        _all_of([part.possible for part in parts]),
        all(part.is_exact for part in parts),
        all(part.never_fails for part in parts),
    )


def _any(parts: list[Narrowed], *, is_exact: bool) -> Narrowed:
    return Narrowed(_one_of([part.possible for part in parts]), is_exact, all(part.never_fails for part in parts))


def _all_of(conditions: list[rows.Condition]) -> rows.Condition:
    if _NONE in conditions:
        return _NONE
    inner = tuple(part for each in conditions for part in (each.of if isinstance(each, Every) else (each,)))
    return inner[0] if len(inner) == 1 else Every(inner)


def _one_of(conditions: list[rows.Condition]) -> rows.Condition:
    if _ALL in conditions:
        return _ALL
    inner = tuple(condition for condition in conditions if condition != _NONE)
    return inner[0] if len(inner) == 1 else AnyOf(inner)


# ---------------------------------------------------------------------- expressions


def _is_file(node: Node) -> bool:
    return (isinstance(node, Name) and node.name == "file") or _is_field(node, "file")


def _is_field(node: Node, name: str) -> bool:
    return field_of(node) == ("file", name)


def _is_this(node: Node) -> bool:
    return (isinstance(node, Name) and node.name == "this") or _is_this_file(node)


def _is_this_file(node: Node) -> bool:
    return isinstance(node, Member) and node.name == "file" and isinstance(node.of, Name) and node.of.name == "this"


def _listed(node: Node) -> Node:
    """Return what ``list(…)`` is of; any other expression as it is."""
    is_list = isinstance(node, Call) and isinstance(node.function, Name) and node.function.name == "list"
    return node.arguments[0] if is_list and isinstance(node, Call) and len(node.arguments) == _ONLY_TEXT else node


def _texts(nodes: tuple[Node, ...]) -> list[str] | None:
    """Return the constants, if all of them are texts."""
    texts = [node.value for node in nodes if isinstance(node, Literal) and isinstance(node.value, str)]
    return texts if len(texts) == len(nodes) else None


def _is_relative(stored: str) -> bool:
    """Tell whether a value holds a link: what it equals depends on the note that it is in."""
    return "[[" in stored
