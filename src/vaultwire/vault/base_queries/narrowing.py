"""Push-down: which part of a filter the index can answer, and what is left to be evaluated file by file.

For each filter two conditions are found: ``sure`` (a file that meets it passes the filter) and ``possible`` (a file that does
not meet it does not pass). Where both are the same, nothing is left. A filter that depends on one property only is evaluated
once for each value that the property has in the vault, by the language itself: so it cannot mean anything else here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from vaultwire.bases.base import Broken, Expression, Filter, Group
from vaultwire.bases.parser import Binary, Call, Index, Literal, Member, Name, Node, Unary, children
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.base_queries.uses import TIME_AND_CHANCE
from vaultwire.vault.index import rows
from vaultwire.vault.index.rows import AnyOf, Every, Not

_ALL: rows.Condition = Every(())
_NONE: rows.Condition = AnyOf(())
# A property with more values than this is looked at file by file: most files have a value of their own.
_MOST_VALUES = 300
# SQLite refuses expressions that are nested a thousand deep, and joins many conditions by nesting them.
_MOST_DEEP = 100
_MOST_CONDITIONS = 300
# Functions whose result depends on the file, on other files, on chance or on the time.
_OF_FILES = frozenset(
    ("asFile", "asLink", "file", "hasLink", "hasProperty", "hasTag", "image", "inFolder", "link", "linksTo")
)
_NOT_OF_VALUE = _OF_FILES | TIME_AND_CHANCE
_WITH_LAMBDA = frozenset(("filter", "map", "reduce"))
_OF_LAMBDAS = frozenset(("value", "index", "acc"))
_ROOTS = frozenset(("file", "this", "note", "formula", "property"))
_ONLY_TEXT = 1


class Narrowed(NamedTuple):
    """What the index can say of a filter. ``never_fails``: its expression gives no error for any file.

    ``hides_errors``: a file that is not ``possible`` may give an error instead of false.
    """

    sure: rows.Condition
    possible: rows.Condition
    never_fails: bool = False
    hides_errors: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether the index alone tells which files pass."""
        return self.sure == self.possible


class Plan(NamedTuple):
    """The files that may pass a filter, and the filter that is left to be evaluated for them; None if all of them pass."""

    possible: rows.Condition
    rest: Filter | None


class Judge(Protocol):
    """What the narrowing of a filter asks of the query that it is part of."""

    def values(self, name: str, most: int) -> Mapping[str, PropertyValue] | None:
        """Return the stored values of a property; None if there are more than ``most``."""

    def passes(self, expression: Expression, name: str, value: PropertyValue, *, is_there: bool) -> bool | None:
        """Tell whether an expression holds for a file whose only property is this one; None if it fails for it."""

    def names_of_link(self, linktext: str) -> tuple[str, ...] | None:
        """Return the names that links ask for that ``hasLink`` would find; None if that depends on the file."""

    def this_path(self) -> str:
        """Return the path of ``this``; "" if there is none."""

    def formula(self, name: str) -> Expression | None:
        """Return a formula of the base."""


UNKNOWN = Narrowed(_NONE, _ALL)


def narrowed(wanted: Filter | None, judge: Judge) -> Plan:
    """Return what the index is asked for a filter, and what is left of it."""
    if wanted is None:
        return Plan(_ALL, None)
    narrowing = _Narrowing(judge)
    found = narrowing.of_filter(wanted, 0)
    if _count(found.possible) > _MOST_CONDITIONS:
        return Plan(_ALL, wanted)
    if found.is_exact:
        return Plan(found.possible, None)
    rest = [part for part in _parts(wanted) if not narrowing.of_filter(part, 0).is_exact]
    return Plan(found.possible, rest[0] if len(rest) == 1 else Group("and", tuple(rest)))


def _parts(wanted: Filter) -> list[Filter]:
    """Return the filters that must all hold."""
    if isinstance(wanted, Group) and wanted.kind == "and":
        return [part for inner in wanted.filters for part in _parts(inner)]
    return [wanted]


class _Narrowing:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._known: dict[int, tuple[Filter, Narrowed]] = {}

    def of_filter(self, wanted: Filter, depth: int) -> Narrowed:
        known = self._known.get(id(wanted))
        if known is None:
            found = self._of_group(wanted, depth) if isinstance(wanted, Group) else self.of(wanted.expression, depth)
            # The filter is kept with it, so that no other one gets its id.
            known = self._known[id(wanted)] = (wanted, found)
        return known[1]

    def _of_group(self, group: Group, depth: int) -> Narrowed:
        if depth > _MOST_DEEP:
            return UNKNOWN
        parts = [self.of_filter(each, depth + 1) for each in group.filters]
        if group.kind == "and":
            return _every(parts)
        found = _any(parts)
        if group.kind == "or":
            return found
        return Narrowed(_NONE if found.hides_errors else _not(found.possible), _not(found.sure))

    def of(self, expression: Expression, depth: int) -> Narrowed:
        """Return what the index can say of an expression."""
        if isinstance(expression, Broken):
            return Narrowed(_NONE, _NONE, hides_errors=True)
        if depth > _MOST_DEEP:
            return UNKNOWN
        return (
            self._of_one_property(expression) or self._of_file(expression) or self._of_operator(expression, depth + 1)
        )

    def _of_operator(self, node: Node, depth: int) -> Narrowed:
        if isinstance(node, Unary) and node.operator == "!":
            inner = self.of(node.operand, depth)
            return Narrowed(_not(inner.possible), _not(inner.sure), True) if inner.never_fails else UNKNOWN
        if not isinstance(node, Binary) or node.operator not in ("&&", "||"):
            return UNKNOWN
        left, right = self.of(node.left, depth), self.of(node.right, depth)
        both_are_safe = left.never_fails and right.never_fails
        if node.operator == "&&":
            # An error on the left is the result, also where the right is false.
            hides_errors = not left.never_fails or right.hides_errors
            return _every([left, right])._replace(never_fails=both_are_safe, hides_errors=hides_errors)
        found = _any([left, right])
        # An error on the left is the result, whatever is on the right.
        return found._replace(sure=found.sure if left.never_fails else left.sure, never_fails=both_are_safe)

    # ------------------------------------------------------------------ one property

    def _of_one_property(self, node: Node) -> Narrowed | None:
        names: dict[str, str] = {}
        if not self._depends_on(node, names, frozenset(), in_lambda=False) or len(names) != 1:
            return None
        (name,) = names.values()
        stored = self._judge.values(name, _MOST_VALUES)
        if stored is None:
            return None
        sure: list[str] = []
        possible: list[str] = []
        for text, value in stored.items():
            passes = None if _is_relative(text) else self._judge.passes(node, name, value, is_there=True)
            if passes is not False:
                possible.append(text)
            if passes is True:
                sure.append(text)
        or_none = self._judge.passes(node, name, None, is_there=False)
        return Narrowed(
            rows.HasValue(name, tuple(sure), or_none is True),
            rows.HasValue(name, tuple(possible), or_none is not False),
            never_fails=False,
        )

    def _depends_on(self, node: Node, names: dict[str, str], formulas: frozenset[str], *, in_lambda: bool) -> bool:
        """Add the properties that an expression depends on. Return whether it depends on nothing else."""
        of = _property_of(node)
        if of is not None:
            names.setdefault(of.casefold(), of)
            return len(names) <= 1
        formula = _field(node, "formula")
        if formula is not None:
            expression = self._judge.formula(formula)
            if expression is None or isinstance(expression, Broken) or formula in formulas:
                return False
            return self._depends_on(expression, names, formulas | {formula}, in_lambda=False)
        if isinstance(node, Name):
            return in_lambda and node.name in _OF_LAMBDAS
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
            found = self._of_field(node.left, node.right) or self._of_field(node.right, node.left)
            if found is None or node.operator == "==":
                return found
            return Narrowed(_not(found.possible), _not(found.sure), found.never_fails)
        return None

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
        path = self._judge.this_path()
        return {"path": path, "folder": path.rpartition("/")[0] or "/"}.get(node.name) if path else None

    def has_tag(self, arguments: tuple[Node, ...]) -> Narrowed | None:
        """``file.hasTag("a", "b")``: one of them."""
        texts = _texts(arguments)
        if texts is None:
            return None
        tags = [text.strip().removeprefix("#") for text in texts]
        found = _one_of([rows.Tagged(tag) for tag in tags if tag])
        # The index takes two Unicode forms of a letter for the same, the language does not.
        return _exact(found) if all(map(str.isascii, tags)) else Narrowed(_NONE, found, never_fails=True)

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
        (asked,) = arguments
        if _is_this(asked):
            text = self._judge.this_path()
        elif isinstance(asked, Call) and isinstance(asked.function, Name) and asked.function.name in ("link", "file"):
            inner = _texts(asked.arguments[:1])
            text = inner[0] if inner else ""
        else:
            texts = _texts(arguments)
            text = texts[0] if texts else ""
        names = self._judge.names_of_link(text) if text else None
        return None if names is None else Narrowed(_NONE, rows.AsksFor(names))


_OF_FUNCTION: Mapping[str, Callable[[_Narrowing, tuple[Node, ...]], Narrowed | None]] = {
    "hasTag": _Narrowing.has_tag,
    "inFolder": _Narrowing.in_folder,
    "hasProperty": _Narrowing.has_property,
    "hasLink": _Narrowing.has_link,
}


# ---------------------------------------------------------------------- conditions


def _count(condition: rows.Condition) -> int:
    if isinstance(condition, (Every, AnyOf)):
        return 1 + sum(map(_count, condition.of))
    return 1 + _count(condition.of) if isinstance(condition, Not) else 1


def _exact(condition: rows.Condition) -> Narrowed:
    return Narrowed(condition, condition, never_fails=True)


def _every(parts: list[Narrowed]) -> Narrowed:
    hides_errors = any(part.hides_errors for part in parts)
    return Narrowed(
        _all_of([part.sure for part in parts]), _all_of([part.possible for part in parts]), hides_errors=hides_errors
    )


def _any(parts: list[Narrowed]) -> Narrowed:
    hides_errors = any(part.hides_errors for part in parts)
    return Narrowed(
        _one_of([part.sure for part in parts]), _one_of([part.possible for part in parts]), hides_errors=hides_errors
    )


def _all_of(conditions: list[rows.Condition]) -> rows.Condition:
    if _NONE in conditions:
        return _NONE
    inner = tuple(condition for condition in conditions if condition != _ALL)
    return inner[0] if len(inner) == 1 else Every(inner)


def _one_of(conditions: list[rows.Condition]) -> rows.Condition:
    if _ALL in conditions:
        return _ALL
    inner = tuple(condition for condition in conditions if condition != _NONE)
    return inner[0] if len(inner) == 1 else AnyOf(inner)


def _not(condition: rows.Condition) -> rows.Condition:
    if condition == _ALL:
        return _NONE
    return _ALL if condition == _NONE else Not(condition)


# ---------------------------------------------------------------------- expressions


def _property_of(node: Node) -> str | None:
    """Return the property that an expression is: ``x``, ``note.x``, ``note["x"]``, ``property.x``."""
    if isinstance(node, Name):
        return None if node.name in _ROOTS or node.name in _OF_LAMBDAS else node.name
    return _field(node, "note") or _field(node, "property")


def _field(node: Node, root: str) -> str | None:
    """Return the name of a field of a root such as ``note``, written with a dot or in brackets."""
    if isinstance(node, (Member, Index)) and isinstance(node.of, Name) and node.of.name == root:
        if isinstance(node, Member):
            return node.name
        if isinstance(node.index, Literal) and isinstance(node.index.value, str):
            return node.index.value
    return None


def _is_file(node: Node) -> bool:
    return (isinstance(node, Name) and node.name == "file") or _is_field(node, "file")


def _is_field(node: Node, name: str) -> bool:
    return _field(node, "file") == name


def _is_this(node: Node) -> bool:
    return (isinstance(node, Name) and node.name == "this") or _is_this_file(node)


def _is_this_file(node: Node) -> bool:
    return isinstance(node, Member) and node.name == "file" and isinstance(node.of, Name) and node.of.name == "this"


def _texts(nodes: tuple[Node, ...]) -> list[str] | None:
    """Return the constants, if all of them are texts."""
    texts = [node.value for node in nodes if isinstance(node, Literal) and isinstance(node.value, str)]
    return texts if len(texts) == len(nodes) else None


def _is_relative(stored: str) -> bool:
    """Tell whether a value holds a link: what it equals depends on the note that it is in."""
    return "[[" in stored
