"""A search as the filter of a base: both find the same notes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.vaults import open_vault, write_vault
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.editing.base_texts import filter_of
from vaultwire.vault.errors import VaultError
from vaultwire.vault.vault import Vault

VAULT = """=== Work/Plan.md
---
status: open
n: 3
due: 2026-05-01
list: [Open, b]
tags: [work/now, x]
---
=== Work/Done list.md
---
Status: Done
n: 10.5
due: 2025-12-31
empty:
---
#work
=== Home.md
---
status: reopened
flag: true
my prop: yes
---
#home
=== Other/open.md
text
=== Other/Done lists.md
---
empty: []
status: ""
due: 2026-05-31
list: [a, 12]
---
=== Other/Ådone.md
=== Other/picture.png
"""


@pytest.fixture(scope="module")
def vault() -> Vault:
    return open_vault(write_vault(Path(tempfile.mkdtemp()), VAULT))


def _rows(vault: Vault, query: str) -> list[str]:
    text = json.dumps({"filters": filter_of(query), "views": [{"type": "table", "name": "All"}]})
    result = vault.bases.query(BaseSource(text=text))
    assert result.problems == []
    return sorted(row.path for row in result.rows)


_PART_LIST = [
    "tag:work", "tag:#work/now", "tag:#home", "path:work", "path:Other", "file:open", "file:Plan", "file:/^D/",
    "path:/o.h/", "match-case:file:open", "match-case:path:Work", "[status]", "[status:open]", '[status:"open"]',
    "[n:>3]", "[n:<=3]", "[due:<2026-01-01]", "[due:>=2026-01]", "[list:open]", '[list:"b"]', "[flag:TRUE]",
    '["my prop":yes]', "[missing]", "[missing:x]", "[status:(done OR reopened)]", "path:(work OR -other)",
    "[status:(-open)]", "[status:(open -re)]", "[n:-3]", 'path:"done list"', 'file:"done"', 'match-case:file:"Done"',
    'file:"list.md"', 'path:"work/plan"', "file:.md", "file:plan.m", "file:/plan.md$/", "file:md", "[empty:null]",
    "[empty:EMPTY]", "[status:EMPTY]", "[list:/^b$/]", "[list:/^[0-9]+$/]", "[due:>2026-05]", "[due:<=2026-05]",
    "[due:<2026-05]", "[due:>=2026-05-31]",
]  # fmt: skip
_QUERIES = st.recursive(
    st.sampled_from(_PART_LIST),
    lambda inner: st.one_of(
        st.builds(lambda one, two: f"({one} {two})", inner, inner),
        st.builds(lambda one, two: f"({one} OR {two})", inner, inner),
        st.builds(lambda one: f"-({one})", inner),
    ),
    max_leaves=5,
)


@settings(max_examples=120, deadline=None)
@given(query=_QUERIES)
def test_both_find_the_same_notes(vault: Vault, query: str) -> None:
    found = vault.search(query, "", 0, 50)
    assert _rows(vault, query) == sorted(hit.path for hit in found.hits), query


@pytest.mark.parametrize(
    "query", ["word", "line:(a b)", "task-todo:x", "tag:/x/", "[(a OR b):c]", "work OR content:x", "section:(a)"]
)
def test_what_a_base_cannot_filter_by_is_said(query: str) -> None:
    with pytest.raises(VaultError, match="A base filters by names, folders, tags and properties, not by"):
        filter_of(query)


def test_an_empty_value_is_found_as_the_search_finds_it(vault: Vault) -> None:
    assert _rows(vault, "[empty:null]") == ["Work/Done list.md"]
    assert _rows(vault, "[empty:EMPTY]") == ["Other/Done lists.md", "Work/Done list.md"]


@pytest.mark.parametrize("query", _PART_LIST)
def test_each_part_alone_finds_the_same_notes(vault: Vault, query: str) -> None:
    assert _rows(vault, query) == sorted(hit.path for hit in vault.search(query, "", 0, 50).hits)
