"""A property that gets another name in a base: what names it follows, and every other byte stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.calls import call
from support.vaults import open_vault, write_vault
from vaultwire.bases.base_file import read_base
from vaultwire.bases.property_renaming import NotRenamedError, rename_in_base, rename_in_expression

BASE = """# my base
filters:
  and:
    - status == "open" # keep
    - 'note.Status != "x"'
    - "note[\\"status\\"].contains('status')"
formulas:
  a: |
    if(status, 1,
      status)
  b: list(status).map(value + status)
properties:
  note.status:
    displayName: status
views:
  - type: cards
    name: status
    image: note.status
    order: [file.name, status, note.status, formula.status]
    sort:
      - property: note.status
        direction: ASC
    groupBy: {property: status}
    summaries: {note.status: Filled}
    filters: file.hasProperty('status') && this.status == file.properties.status
    odd: status
"""
RENAMED = """# my base
filters:
  and:
    - state == "open" # keep
    - 'note.state != "x"'
    - "note[\\"state\\"].contains('status')"
formulas:
  a: |
    if(state, 1,
      state)
  b: list(state).map(value + state)
properties:
  note.state:
    displayName: status
views:
  - type: cards
    name: status
    image: note.state
    order: [file.name, state, note.state, formula.status]
    sort:
      - property: note.state
        direction: ASC
    groupBy: {property: state}
    summaries: {note.state: Filled}
    filters: file.hasProperty('state') && this.state == file.properties.state
    odd: status
"""


def test_what_names_the_property_follows_and_all_else_stays() -> None:
    assert rename_in_base(BASE, "status", "state") == RENAMED
    assert rename_in_base(BASE.replace("\n", "\r\n"), "STATUS", "state") == RENAMED.replace("\n", "\r\n")
    assert rename_in_base(BASE, "other", "state") is BASE


def test_a_name_that_is_no_word_stands_in_brackets_and_quotes() -> None:
    after = rename_in_base(BASE, "status", 'my "state", or: so')
    base = read_base(after)
    assert base.problems == ()
    assert base.views[0].order[1] == 'note.my "state", or: so'
    again = rename_in_base(after, 'my "state", or: so', "status")
    assert read_base(again).views[0].order == read_base(BASE).views[0].order


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a + note.a + note['a'] + property.a", "b + note.b + note['b'] + property.b"),
        ("file.a + x.a + a(1) + formula.a + 'a'", "file.a + x.a + a(1) + formula.a + 'a'"),
        ("this.a.a", "this.b.a"),
        ("A == 1", "b == 1"),
        ("a ==", "a =="),
    ],
)
def test_only_the_property_itself_is_renamed(text: str, after: str) -> None:
    assert rename_in_expression(text, "a", "b") == after


def test_names_of_items_in_lists_stay() -> None:
    assert rename_in_expression("value + list(1).map(value)", "value", "b") == "b + list(1).map(value)"
    assert rename_in_expression("a + 1", "a", "value") == 'note["value"] + 1'


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ("formulas:\n  a: >\n    status\n    + 1\n", "folded text"),
        ("formulas: [status: : x", "is not YAML"),
        ("filters: status\n" + "# x\n" * 60_000, "has more than"),
        ("filters: status\r\nformulas: {a: status}\n", "mixes line ends"),
    ],
)
def test_a_base_that_cannot_follow_is_refused(base: str, why: str) -> None:
    with pytest.raises(NotRenamedError, match=why):
        rename_in_base(base, "status", "state")


_VALUES = st.sampled_from(["", "open", "done", "3", "[a, b]", "2026-01-01", "'[[Note 1]]'"])
_FILTERS = st.sampled_from(
    [
        "status == 'open'",
        "status",
        "!status",
        "note.status > 2",
        "file.hasProperty('status')",
        "list(status).contains('a')",
    ]
)
_NAMES = st.sampled_from(["state", "my state", "Status", "étät", "a.b", "true", "file", "x'y", 'x"y'])


@settings(max_examples=40)  # each makes a vault
@given(
    st.lists(_VALUES, min_size=1, max_size=4),
    st.lists(_FILTERS, min_size=1, max_size=3),
    st.sampled_from(["and", "or", "not"]),
    _NAMES,
)
def test_the_rows_are_the_same_after_a_property_was_renamed(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], filters: list[str], kind: str, name: str
) -> None:
    root = tmp_path_factory.mktemp("vault")
    notes = "".join(f"=== Note {number}.md\n---\nstatus: {value}\n---\n" for number, value in enumerate(values))
    lines = "".join(f'    - "{each}"\n' for each in filters)
    view = "{name: V, type: table, order: [status, formula.f]}"
    base = f"filters:\n  {kind}:\n{lines}formulas: {{f: status}}\nviews:\n  - {view}\n"
    write_vault(root, f"{notes}=== Other.md\n=== Some.base\n{base}")
    vault = open_vault(root)

    def rows() -> list[tuple[str, list[object]]]:
        found = call(vault, "query_base", base="Some").data
        order = [column["id"] for column in found["columns"]]
        return [(row["path"], [row["values"][each] for each in order]) for row in found["rows"]]

    before = rows()
    renamed = call(vault, "rename_property", old="status", new=name)
    assert " and 1 base" in renamed.texts[0] or name == "Status"
    assert rows() == before
    call(vault, "undo_changes", changes=[1])
    assert (root / "Some.base").read_text(encoding="utf-8") == base
