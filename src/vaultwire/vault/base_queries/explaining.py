"""Explains a view: why one file is in it or not, filter by filter, and what each formula gives for it."""

from __future__ import annotations

from collections.abc import Iterator

from vaultwire.bases.base import Broken, Condition, Expression, Filter
from vaultwire.bases.parser import to_text
from vaultwire.bases.row import Row
from vaultwire.bases.values import ErrorValue, Value, text_of
from vaultwire.vault.base_queries.results import Explanation, FilterVerdict, FormulaResult
from vaultwire.vault.base_queries.running import ViewQuery, value_of
from vaultwire.vault.value_types import VaultPath

_WHY = {"or": "no filter of an “or” holds", "not": "a filter of a “not” holds"}


def explain(query: ViewQuery, path: VaultPath) -> Explanation:
    """Return what each filter and each formula of a view gives for a file."""
    row = query.row(path)
    filters: list[FilterVerdict] = []
    dropped: list[str] = []
    for of, wanted in (("base", query.base.filter), ("view", query.view.filter)):
        if wanted is None:
            continue
        filters += _verdicts(query, row, of, wanted, 0)
        if query.holds(wanted, row) is not True:
            dropped += [f"{of}: {why}" for why in _reasons(query, row, wanted)]
    formulas = [
        FormulaResult(name, _written(formula), value_of(formula, row)) for name, formula in query.base.formulas.items()
    ]
    return Explanation(path, query.view, not dropped, filters, formulas, dropped, query.failures.all)


def _verdicts(query: ViewQuery, row: Row, of: str, wanted: Filter, depth: int) -> Iterator[FilterVerdict]:
    holds = query.holds(wanted, row) is True
    if isinstance(wanted, Condition):
        yield FilterVerdict(of, depth, wanted.text, value_of(wanted.expression, row), holds)
        return
    yield FilterVerdict(of, depth, wanted.kind, holds, holds)
    for each in wanted.filters:
        yield from _verdicts(query, row, of, each, depth + 1)


def _reasons(query: ViewQuery, row: Row, wanted: Filter) -> Iterator[str]:
    """Yield, for a filter that does not hold, the filters that are the reason."""
    if isinstance(wanted, Condition):
        yield f"{wanted.text} gave {_shown(value_of(wanted.expression, row))}"
    elif wanted.kind == "and":
        for each in wanted.filters:
            if query.holds(each, row) is not True:
                yield from _reasons(query, row, each)
    else:
        inner = [each for each in wanted.filters if wanted.kind == "or" or query.holds(each, row) is not False]
        said = [
            f"{each.text} gave {_shown(value_of(each.expression, row))}" if isinstance(each, Condition) else each.kind
            for each in inner
        ]
        yield f"{_WHY[wanted.kind]}: {'; '.join(said) or 'it has none'}"


def _shown(value: Value) -> str:
    if isinstance(value, ErrorValue):
        return f"the error “{value.message}”"
    if value is None:
        return "nothing"
    return text_of(value) or "an empty text"


def _written(expression: Expression) -> str:
    return expression.text if isinstance(expression, Broken) else to_text(expression)
