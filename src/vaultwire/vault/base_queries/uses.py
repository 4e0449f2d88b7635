"""What the expressions of a query use: the time, chance, the times of creation. Decided by their trees, before they run."""

from __future__ import annotations

from collections.abc import Iterator

from vaultwire.bases.base import Base, Broken, Condition, Expression, Filter, Group, View
from vaultwire.bases.parser import Call, Index, Literal, Member, Name, Node, children

TIME_AND_CHANCE = frozenset(("now", "random", "relative", "today"))
_CREATED = "ctime"


def depends_on_time(base: Base, view: View) -> bool:
    """Tell whether a view may give something else a moment later, though nothing in the vault has changed."""
    return any(
        isinstance(node, Call) and node.function.name in TIME_AND_CHANCE for node in _nodes(_expressions(base, view))
    )


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


def conditions(wanted: Filter | None) -> Iterator[Condition]:
    """Yield the expressions of a filter, in their order."""
    if isinstance(wanted, Group):
        for each in wanted.filters:
            yield from conditions(each)
    elif wanted is not None:
        yield wanted


def _expressions(base: Base, view: View) -> Iterator[Expression]:
    yield from base.formulas.values()
    yield from base.summaries.values()
    for each in (*conditions(base.filter), *conditions(view.filter)):
        yield each.expression


def _nodes(expressions: Iterator[Expression]) -> Iterator[Node]:
    """Yield every expression and all within it."""
    waiting: list[Expression] = [*expressions]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Broken):
            yield node
            waiting += children(node)
