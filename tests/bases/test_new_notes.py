"""What a note gets that is made in a view: all that its filters say, and nothing that they do not say."""

from __future__ import annotations

import pytest

from vaultwire.bases.base import read_base
from vaultwire.bases.base_edits import NewNoteInView, new_note_in


def made(base_filters: str, view_filters: str = "") -> NewNoteInView:
    view = f"{{type: table, name: A{', filters: ' + view_filters if view_filters else ''}}}"
    base = read_base(f"filters: {base_filters}\nviews: [{view}]\n")
    return new_note_in(base, base.views[0])


def test_a_value_that_a_view_asks_for_counts_more_than_the_property_alone() -> None:
    assert made("file.hasProperty('status')", "status == 'open'").properties == {"status": "open"}


def test_names_that_differ_in_case_are_one_property() -> None:
    assert made("file.hasProperty('Status')", "status == 'open'").properties == {"Status": "open"}


def test_filters_that_ask_for_the_property_alone_make_it_empty() -> None:
    assert made("file.hasProperty('status')").properties == {"status": None}


@pytest.mark.parametrize(
    ("filters", "tags"),
    [
        ("{and: [tags == 'a', file.hasTag('b')]}", ["a", "b"]),
        ("{and: [file.hasTag('#b'), 'file.tags == [\"#q\"]']}", ["b", "q"]),
        ("{and: [tags.contains('a'), file.hasTag('a')]}", ["a"]),
        ("{and: ['tags == [[\"x\"], \"a\"]', file.hasTag('b')]}", ["a", "b"]),
    ],
)
def test_all_tags_go_to_the_property_of_tags(filters: str, tags: list[str]) -> None:
    assert made(filters).properties == {"tags": tags}


@pytest.mark.parametrize(
    ("filters", "folder"),
    [
        ("file.inFolder('Books')", "Books"),
        ("{and: [file.inFolder('Books'), file.folder == 'Books/New']}", "Books/New"),
        ("{and: [file.inFolder('Books'), file.inFolder('Bookshelf')]}", None),
        ("file.inFolder('/')", None),
        ("{or: [file.inFolder('Books'), file.inFolder('Films')]}", None),
        ("{not: [file.inFolder('Books')]}", None),
    ],
)
def test_a_folder_is_taken_only_where_it_meets_every_filter(filters: str, folder: str | None) -> None:
    assert made(filters).folder == folder


@pytest.mark.parametrize(
    ("filters", "properties"),
    [
        ("n == -1", {"n": -1}),
        ("2.5 == n", {"n": 2.5}),
        ("done == true", {"done": True}),
        ("'x == [-1, \"a\"]'", {"x": [-1, "a"]}),
        ("'x == [other]'", {}),
        ("d == date('2024-01-01')", {}),
        ("x == null", {"x": None}),
        ("{or: [x == 1, y == 2]}", {}),
        ("{not: [x == 1]}", {}),
        ("x == 1 && y == 2", {"x": 1, "y": 2}),
        ("x == 1 || y == 2", {}),
    ],
)
def test_values_have_the_type_that_the_filter_says(filters: str, properties: dict[str, object]) -> None:
    found = made(filters).properties
    assert found == properties
    assert [type(each) for each in found.values()] == [type(each) for each in properties.values()]
