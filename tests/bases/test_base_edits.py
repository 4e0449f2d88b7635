"""Edits of a base: what they change, what they leave, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from vaultwire.bases.base import Condition, read_base
from vaultwire.bases.base_edits import BaseEditError, ViewEdit, edit_base, new_base, renamed_views

BASE = """# books
filters:
  and:
    - file.hasTag("book") # all of them
formulas:
  double: price * 2
properties:
  note.status: {displayName: Status}
odd: stays # a plugin's
views:
  - type: table
    name: All
    sort:
      - property: price
        direction: DESC
    columnSize: {note.price: 100}
  # wall
  - type: cards
    name: Wall
    image: note.cover
  - type: list
"""


def _edited(changes: dict[str, Any] | None = None, *views: ViewEdit) -> str:
    return edit_base(BASE, changes or {}, views)


def test_maps_are_merged_and_none_removes() -> None:
    after = _edited(
        {"formulas": {"double": None, "half": "price / 2"}, "properties": {"note.price": {"displayName": "€"}}}
    )
    assert "double" not in after
    base = read_base(after)
    assert [*base.formulas] == ["half"]
    assert base.display_names == {"note.status": "Status", "note.price": "€"}
    assert "odd: stays # a plugin's" in after


def test_a_map_without_entries_goes() -> None:
    assert "formulas" not in _edited({"formulas": {"double": None}})


def test_filters_are_replaced_whole() -> None:
    base = read_base(_edited({"filters": {"or": ["a", "b"]}}))
    assert base.filter is not None
    assert base.problems == ()
    assert isinstance(read_base(_edited({"filters": "a == 1"})).filter, Condition)
    assert read_base(_edited({"filters": None})).filter is None


def test_views_are_added_changed_renamed_removed_and_moved() -> None:
    after = _edited(
        None,
        ViewEdit("all", {"limit": 5, "sort": None, "groupBy": {"property": "status"}}),
        ViewEdit("New", {"type": "table", "filters": "price > 1", "order": ["file.name", "price"]}, place=1),
        ViewEdit("Wall", new_name="Covers"),
        ViewEdit("View 4", is_removed=True),
    )
    base = read_base(after)
    assert [(view.type, view.name) for view in base.views] == [("table", "New"), ("table", "All"), ("cards", "Covers")]
    assert (base.views[1].limit, base.views[1].sort, base.views[1].settings["columnSize"]) == (
        5,
        (),
        {"note.price": 100},
    )
    assert "  # wall\n  - type: cards\n    name: Covers\n" in after


@pytest.mark.parametrize(
    ("changes", "views", "says"),
    [
        ({"filter": "a"}, [], "A base has filters, formulas, properties, summaries and views, not 'filter'"),
        ({"views": []}, [], "Views are given by name"),
        ({"filters": "a =="}, [], "'a ==' cannot be read"),
        ({"formulas": {"x": "("}}, [], "cannot be read"),
        ({"filters": {"xor": ["a"]}}, [], "exactly one of and, or, not"),
        ({"formulas": "x"}, [], "names with values are expected"),
        (
            {},
            [ViewEdit("Alll", {"limit": 1})],
            "has no view 'Alll'. It has 'All', 'Wall', 'View 3'. A new view needs a type",
        ),
        ({}, [ViewEdit("Alll", is_removed=True)], "has no view 'Alll'"),
        ({}, [ViewEdit("Alll", new_name="Wall")], "has no view 'Alll'"),
        ({}, [ViewEdit("All", new_name="wall")], "has a view 'wall' already"),
        ({}, [ViewEdit("All", {"name": "Wall"})], "Rename the view 'All' by new_name"),
        ({}, [ViewEdit("All", {"name": None})], "Rename the view 'All' by new_name"),
        ({}, [ViewEdit("New", {"type": "table", "name": "Other"})], "Rename the view 'New' by new_name"),
        ({}, [ViewEdit("All", new_name="a\nb")], "one line of text"),
        ({}, [ViewEdit(" New", {"type": "table"})], "without spaces around it"),
        ({}, [ViewEdit("All", place=4)], "none can be number 4"),
        ({}, [ViewEdit("All", {"limit": "x"})], "limit is a whole number"),
        ({}, [ViewEdit("All", {"order": "x"})], "a list is expected"),
        ({}, [ViewEdit(name, is_removed=True) for name in ("All", "Wall", "View 1")], "the last view"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], views: list[ViewEdit], says: str) -> None:
    with pytest.raises(BaseEditError, match=says.replace("(", r"\(")):
        edit_base(BASE, changes, views)


def test_a_view_may_be_given_with_the_name_that_it_has() -> None:
    assert read_base(_edited(None, ViewEdit("all", {"name": "All", "limit": 5}))).views[0].limit == 5


def test_renames_one_after_the_other_are_followed_to_the_last() -> None:
    swap = [ViewEdit("All", new_name="x"), ViewEdit("wall", new_name="All"), ViewEdit("x", new_name="Wall")]
    new_name = renamed_views(BASE, swap)
    assert [new_name(name) for name in ("All", "all", "WALL", "Wall", "View 3", "x")] == [
        "Wall", "Wall", "All", "All", None, None,
    ]  # fmt: skip
    assert [view.name for view in read_base(_edited(None, *swap)).views] == ["Wall", "All", "View 3"]
    back = [ViewEdit("All", new_name="x"), ViewEdit("x", new_name="All")]
    assert renamed_views(BASE, back)("All") is None


def test_of_names_that_differ_only_in_case_each_link_has_its_own() -> None:
    base = "views:\n  - name: All\n  - name: all\n"
    new_name = renamed_views(base, [ViewEdit("All", new_name="Every")])
    assert [new_name(name) for name in ("All", "all", "ALL")] == ["Every", None, "Every"]


def test_lists_within_lists_have_an_end() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(BaseEditError, match="levels deep"):
        edit_base(BASE, {"filters": {"and": deep}}, [])


def test_what_was_broken_before_may_stay() -> None:
    broken = "filters: a ==\nviews:\n  - type: table\n    name: All\n    limit: x\n"
    assert edit_base(broken, {}, [ViewEdit("All", {"order": ["file.name"]})]).startswith("filters: a ==\n")


def test_a_new_base_has_no_two_views_of_a_name() -> None:
    with pytest.raises(BaseEditError, match="two views 'all'"):
        new_base({}, [ViewEdit("All", {"limit": 1}), ViewEdit("all", {"limit": 2})])


def test_a_new_base_has_a_table() -> None:
    assert new_base({"filters": "a"}, []) == "filters: a\nviews:\n  - type: table\n    name: Table\n"
