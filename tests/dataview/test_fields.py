"""Inline fields: where they are, what they mean, and edits that leave all other bytes as they are."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultwire.bases.values import Date, Duration, Link
from vaultwire.dataview.fields import (
    FieldError,
    canonical,
    inline_fields,
    inline_value,
    note_fields,
    property_value,
    remove_field,
    set_field,
)
from vaultwire.dataview.values import Embed

NOTE = """---
a:: no
---
# Movie X
Basic Field:: Some random Value
**Bold Field**:: Nice!
I would rate this a [rating:: 9]! It was [mood:: acceptable] (long:: [[A]]).
`code:: x` and `[b:: x]`

- item:: 4 minutes
- [ ] Send [due:: 2022-04-05]. 📅 2024-01-01
    - [x] sub (k:: v) ✅ 2024-02-02
      more [z:: 1, 2] ^blk
- [ ] key:: not a field of a task
> q:: 3
> - quoted [w:: 1]

```
no:: 1
```
Noël:: Un jeu
[🎅:: a game] [bad [x:: 1] [open:: 2
"""


def test_fields_are_found_where_dataview_finds_them() -> None:
    """On lines of their own and in brackets; not in code, not in frontmatter, not in a task's plain text."""
    assert [(field.name, field.value, field.line) for field in inline_fields(NOTE)] == [
        ("Basic Field", "Some random Value", 5), ("Bold Field", "Nice!", 6), ("rating", "9", 7), ("mood", "acceptable", 7),
        ("long", "[[A]]", 7), ("item", "4 minutes", 10), ("due", "2022-04-05", 11), ("k", "v", 12), ("z", "1, 2", 13),
        ("q", "3", 15), ("w", "1", 16), ("Noël", "Un jeu", 21), ("🎅", "a game", 22), ("x", "1", 22),
    ]  # fmt: skip
    for field in inline_fields(NOTE):
        line = NOTE.split("\n")[field.line - 1]
        assert line[field.value_start : field.value_start + len(field.value)] == field.value
        assert line[field.start : field.end].count("::") == 1


def test_fields_of_tasks_are_their_own() -> None:
    """Those of other items are the note's, too. Signs are fields; a field in brackets counts before a sign."""
    note = note_fields(NOTE)
    names = [name for name, _ in note.fields]
    assert "due" not in names
    assert {"item", "w", "Basic Field", "q"} <= {*names}
    tasks = {item.line: item for item in note.items}
    assert dict(tasks[11].fields) == {"due": "2022-04-05"}
    assert dict(tasks[12].fields) == {"k": "v", "z": "1, 2", "completion": "2024-02-02"}
    assert (tasks[11].children, tasks[12].parent, tasks[12].block_id, tasks[12].line_count) == ((12,), 11, "blk", 2)
    assert (tasks[10].status, tasks[11].status, tasks[12].status, tasks[11].section) == (None, " ", "x", "Movie X")


def _day(year: int, month: int, day: int) -> Date:
    from datetime import datetime  # noqa: PLC0415

    return Date(datetime(year, month, day, tzinfo=UTC), has_time=False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Some text", "Some text"),
        ("6", 6.0),
        ("-80", -80.0),
        ("2.4", 2.4),
        ("true", True),
        ("null", None),
        ("", None),
        ("2021-04-18", _day(2021, 4, 18)),
        ("2021-04", _day(2021, 4, 1)),
        ("7 hours", Duration(milliseconds=25_200_000)),
        ("9 years, 8 months, 4 days", Duration(116, 4)),
        ("[[A Page]]", Link("A Page", None, "N.md")),
        ("[[Other|Render Text]]", Link("Other", "Render Text", "N.md")),
        ("![[pic.png]]", Embed("pic.png", None, "N.md")),
        ("1, 2, 3", [1.0, 2.0, 3.0]),
        ('"yes", "or", "no"', ["yes", "or", "no"]),
        ("#a/b, [[C]]", ["#a/b", Link("C", None, "N.md")]),
        ("a, b", "a, b"),
        ("2021 was good", "2021 was good"),
        ("5 apples", "5 apples"),
        ("1, ", "1, "),
        ("2021-13-40", "2021-13-40"),
    ],
)
def test_values(text: str, value: Any) -> None:
    """A value has the type that its text says; of several things between commas it is a list."""
    assert inline_value(text, "N.md", UTC) == value


def test_values_of_properties() -> None:
    """A text that says a date, a duration or a link is one, in lists and objects, too."""
    raw = {"a": ["2021-04-18", "[[A]]"], "b": "2 days", "c": "2021", "d": None, "e": "1, 2", "f": r"[[A|b\|c]]"}
    assert property_value(raw, "", UTC) == {
        "a": [_day(2021, 4, 18), Link("A")], "b": Duration(days=2), "c": "2021", "d": None, "e": "1, 2",
        "f": Link("A", "b|c"),
    }  # fmt: skip


def test_names_in_queries() -> None:
    """Small letters, a line for spaces, no other signs."""
    assert [canonical(name) for name in ("Basic Field", "someMetaData", "Hello!", "🎅 x", "a_b/c")] == [
        "basic-field", "somemetadata", "hello", "🎅-x", "a_b/c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("note", "name", "value", "after"),
    [
        ("a [Due Date:: 1] b\n", "due date", "2", "a [Due Date:: 2] b\n"),
        ("x::1\n", "x", "2", "x::2\n"),
        ("x::\n", "x", "2", "x:: 2\n"),
        ("x:: \n", "x", "2", "x:: 2\n"),
        ("x:: 1\n", "x", "", "x:: \n"),
        ("- (k:: [[A]])  \n", "k", "[[B|c]]", "- (k:: [[B|c]])  \n"),
        ("> k::  v  \n", "k", "w", "> k::  w  \n"),
    ],
)
def test_a_field_is_set(note: str, name: str, value: str, after: str) -> None:
    """Only its value changes."""
    assert set_field(note, name, value) == after


@pytest.mark.parametrize(
    ("note", "name", "after"),
    [
        ("a [b:: 1] c\n", "b", "a c\n"),
        ("a [b:: 1].\n", "b", "a.\n"),
        ("a [b:: 1]\n", "b", "a\n"),
        ("[b:: 1] c\n", "b", " c\n"),
        ("one\nd:: 2\ntwo", "d", "one\ntwo"),
        ("> one\n> d:: 2\n", "d", "> one\n"),
        ("d:: 2", "d", ""),
        ("- d:: 2\n- e\n", "d", "- \n- e\n"),
    ],
)
def test_a_field_is_removed(note: str, name: str, after: str) -> None:
    """With its bracket, or with its line; an item of a list stays."""
    assert remove_field(note, name) == after


@pytest.mark.parametrize(
    ("note", "value", "words"),
    [
        ("a\n", "1", "has no inline field 'x'"),
        ("x:: 1\n[x:: 2]\n", "1", "has 2 inline fields 'x', on lines 1, 2"),
        ("[x:: 1]\n", "a] b", "its brackets would end it early"),
        ("x:: 1\n", "a\nb", "line break"),
        ("`x:: 1`\n", "1", "has no inline field 'x'"),
    ],
)
def test_what_cannot_be_edited_is_refused(note: str, value: str, words: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(FieldError) as raised:
        set_field(note, "x", value)
    assert words in str(raised.value)


@pytest.mark.parametrize("note", ["[x:: 1(y:: a)]", "(x:: [y:: a] b)"])
def test_a_field_within_another_one_is_not_lost(note: str) -> None:
    assert [field.name for field in inline_fields(note)] == ["x", "y"]
    with pytest.raises(FieldError, match="has the inline field 'y' within 'x'"):
        set_field(note, "x", "9")
    with pytest.raises(FieldError, match="has the inline field 'y' within 'x'"):
        remove_field(note, "x")
    assert set_field(note, "y", "9") == note.replace("y:: a", "y:: 9")


_PIECES = st.lists(
    st.sampled_from(["x:: 1", "[x:: 2]", "(y:: a)", "\n", " ", "- ", "- [ ] ", "> ", "`", "```\n", "text", "[", "]", "(", "::",
                     "|", "# ", "ä", "%%", "[[L]]", "---\n", "\t", "$$", "<b>"]), max_size=14,
).map("".join)  # fmt: skip


@given(_PIECES, st.sampled_from(["9", "a b", "[[N]]", "2026-01-01", ""]))
@settings(max_examples=400, deadline=None)
def test_edits_leave_all_else(note: str, value: str) -> None:
    """In any note: what is before and behind the value stays, and the other fields are the same after it."""
    for name in ("x", "y"):
        try:
            after = set_field(note, name, value)
        except FieldError:
            continue
        before_fields = [(field.name, field.value) for field in inline_fields(note)]
        assert [(field.name, field.value) for field in inline_fields(after)] == [
            (each, value if canonical(each) == name else old) for each, old in before_fields
        ]
        field = next(each for each in inline_fields(note) if canonical(each.name) == name)
        lines, new_lines = note.split("\n"), after.split("\n")
        assert len(lines) == len(new_lines)
        assert [*lines[: field.line - 1], *lines[field.line :]] == [
            *new_lines[: field.line - 1],
            *new_lines[field.line :],
        ]
        without = remove_field(note, name)
        assert len(without) < len(note)


@given(_PIECES)
@settings(max_examples=300, deadline=None)
def test_any_note_is_read(note: str) -> None:
    """No text fails, and every item lies in the note."""
    lines = note.count("\n") + 1
    for item in note_fields(note).items:
        assert 1 <= item.line <= lines
        assert item.line + item.line_count - 1 <= lines
