"""The memory of a query is bounded whatever its formulas, sorting, groups and summaries hold, and it is given back."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.bases import recorded, recorded_row
from support.calls import call
from support.vaults import open_vault
from vaultwire.bases.base import read_expression
from vaultwire.bases.evaluation import evaluate
from vaultwire.bases.row import Query, Row
from vaultwire.bases.values import MOST_ROW_BYTES
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.errors import TOO_LARGE, VaultError
from vaultwire.vault.vault import Vault

_MB = 1_000_000
_LARGE = '"x".repeat(199000) + file.name'


@contextmanager
def _peak_below(most: float) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    root = tmp_path_factory.mktemp("vault")
    for number in range(300):
        (root / f"N{number}.md").write_text("Text.\n")
    return open_vault(root)


@pytest.mark.parametrize(
    ("view", "what"),
    [
        ("sort: [{property: formula.f}]", "Sorting by 'formula.f'"),
        ("groupBy: formula.f", "Grouping by 'formula.f'"),
        ("groupBy: formula.f, limit: 1", "Grouping by 'formula.f'"),
        ("summaries: {formula.f: all}", "The summary 'all' of 'formula.f'"),
    ],
)
def test_a_view_that_would_keep_too_much_is_an_error(vault: Vault, view: str, what: str) -> None:
    base = f"formulas: {{f: '{_LARGE}'}}\nsummaries: {{all: values.length}}\nviews: [{{name: A, {view}}}]"
    with _peak_below(64 * _MB), pytest.raises(VaultError, match=what) as error:
        vault.bases.query(BaseSource(text=base))
    assert error.value.code == TOO_LARGE
    assert "more than 48 MB" in str(error.value)


def test_summaries_of_the_app_and_rows_are_kept_small(vault: Vault) -> None:
    formulas = "\n".join(f"  f{number}: '{_LARGE}'" for number in range(4))
    base = (
        f"formulas:\n{formulas}\nviews: [{{name: A, order: [formula.f0, formula.f1, formula.f2, formula.f3], "
        "summaries: {formula.f0: Unique, formula.f1: Filled, formula.f2: Empty, formula.f3: Max}}]"
    )
    gc.collect()
    tracemalloc.start()
    try:
        result = vault.bases.query(BaseSource(text=base))
        assert [*result.summaries.values()] == [300, 300, 0, None]
        shown = call(vault, "query_base", yaml=base, limit=300).data
        assert 1 <= len(shown["rows"]) < 10
        assert shown["next_cursor"]
        assert len([row.path for row in result.rows]) == 300
        peak = tracemalloc.get_traced_memory()[1]
        del shown
        gc.collect()
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert peak < 40 * _MB
    assert left < 4 * _MB


_STARTS = st.sampled_from(['"x".repeat(200000)', '"a".repeat(5000).split("")', "[1, 2, 3]", '["ab".repeat(100000)]'])
_STEPS = st.sampled_from(
    [
        ".map(value + {large})", ".map({large})", ".map([{large}, value])", ".sort()", ".unique()", ".reverse()",
        ".join({large})", ".toString()", ".reduce(acc + value, {large})", ".reduce(acc + [value], [])", ".flat()",
        '.split("")', ".slice(0)", ".upper()", ".map(value.toString())", '.replace("x", {large})',
        '.replace(/./g, "$&$&$&")', ".map([value, value, value])", ".filter({large})",
    ]
)  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(_STARTS, st.lists(_STEPS, min_size=1, max_size=5), st.sampled_from(['"y".repeat(150000)', "formula.f", '"z"']))
def test_a_cell_has_a_bound_whatever_it_makes(start: str, steps: list[str], large: str) -> None:
    text = start + "".join(step.replace("{large}", large) for step in steps)
    host = recorded_row(recorded()["context"]).host
    query = Query(host, datetime(2026, 1, 1, tzinfo=UTC), {"f": read_expression('"y".repeat(100000)')})
    with _peak_below(2 * MOST_ROW_BYTES):
        evaluate(read_expression(text), Row(query, ""))
