"""What the expressions of a query use: the time, chance, the times of creation. Decided by their trees, before they run."""

from __future__ import annotations

from collections.abc import Iterator

from vaultwire.bases.base import Base, Broken, Expression, Filter, Group, View
from vaultwire.bases.parser import children
from vaultwire.bases.tree import Call, Index, Literal, Member, Name, Node

TIME_AND_CHANCE = frozenset(("now", "random", "relative", "today"))
_CREATED = "ctime"


def depends_on_time(base: Base, view: View) -> bool:
    """Tell whether a view may give something else a moment later, though nothing in the vault has changed."""
    return any(
        isinstance(node, Call) and node.function.name in TIME_AND_CHANCE for node in _nodes(_expressions(base, view))
    )


def asks_for_creation(base: Base, view: View) -> bool:
    """Tell whether a view may ask when files were made."""
    ids = (
        *view.order,
        *view.summaries,
        *(each.property for each in view.sort),
        *([view.group_by.property] if view.group_by else []),
    )
    return f"file.{_CREATED}" in ids or any(map(_may_be_creation, _nodes(_expressions(base, view))))


def _may_be_creation(node: Node) -> bool:
    if isinstance(node, Index):
        # The name of the field may be computed.
        return not isinstance(node.index, Literal) or node.index.value == _CREATED
    return isinstance(node, (Member, Name)) and node.name == _CREATED


def _expressions(base: Base, view: View) -> Iterator[Expression]:
    yield from base.formulas.values()
    yield from base.summaries.values()
    for wanted in (base.filter, view.filter):
        if wanted is not None:
            yield from _of_filter(wanted)


def _of_filter(wanted: Filter) -> Iterator[Expression]:
    if not isinstance(wanted, Group):
        yield wanted.expression
        return
    for each in wanted.filters:
        yield from _of_filter(each)


def _nodes(expressions: Iterator[Expression]) -> Iterator[Node]:
    """Yield every expression and all within it."""
    waiting: list[Expression] = [*expressions]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Broken):
            yield node
            waiting += children(node)
