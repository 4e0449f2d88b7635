"""Words, lists, tasks, tables, properties, links and canvases in the difference of a file, as a writer reads them."""

# ruff: noqa: RUF001 - letters that look alike are what is tested

from __future__ import annotations

import json
from typing import Any

import pytest

from vaultwire.review.diff import file_diff


def marked(parts: list[dict[str, Any]]) -> str:
    """Return parts as text: removed ones in ``-…-``, added ones in ``+…+``."""
    return "".join(part["t"] if part["op"] == "=" else f"{part['op']}{part['t']}{part['op']}" for part in parts)


def view_of(before: str, after: str, **options: Any) -> dict[str, Any]:
    return file_diff("Note.md", before.encode(), after.encode(), **options)


def rows_of(before: str, after: str) -> list[dict[str, Any]]:
    return [row for hunk in view_of(before, after)["hunks"] for row in hunk["rows"] if row["kind"] != "same"]


WORDS = [
    ("We leave on Monday.", "We leave on Tuesday.", "We leave on -Monday-.", "We leave on +Tuesday+."),
    ("The old red fox sleeps", "The new blue fox sleeps", "The -old red- fox sleeps", "The +new blue+ fox sleeps"),
    ("I don’t know it", "I do know it", "I -don’t- know it", "I +do+ know it"),
    ("due 2026-11-23, 10:30", "due 2026-11-24, 10:30", "due -2026-11-23-, 10:30", "due +2026-11-24+, 10:30"),
    ("私は猫が好きです", "私は犬が好きです", "私は-猫-が好きです", "私は+犬+が好きです"),
    ("हिन्दी में लिखा", "हिन्दी से लिखा", "हिन्दी -में- लिखा", "हिन्दी +से+ लिखा"),
    ("to be #work/plan or not", "to be #work/done or not", "to be -#work/plan- or not", "to be +#work/done+ or not"),
    (
        "look at https://a.org/x.",
        "look at https://a.org/y.",
        "look at -https://a.org/x-.",
        "look at +https://a.org/y+.",
    ),
    ("see [[A b]] there", "see [[A c]] there", "see -[[A b]]- there", "see +[[A c]]+ there"),
    ("see [[A|me]] now", "see [[B|me]] now", "see -[[A|-me]] now", "see +[[B|+me]] now"),
    (
        "see [the list](a.md) now",
        "see [the list](b.md) now",
        "see [the list-](a.md)- now",
        "see [the list+](b.md)+ now",
    ),
    ("a family 👨‍👩‍👧 here", "a family 👨‍👩‍👦 here", "a family -👨‍👩‍👧- here", "a family +👨‍👩‍👦+ here"),
]


@pytest.mark.parametrize(("old", "new", "removed", "added"), WORDS)
def test_the_words_that_differ_are_marked(old: str, new: str, removed: str, added: str) -> None:
    (row,) = rows_of(old + "\n", new + "\n")
    assert (row["kind"], marked(row["parts"]), marked(row["new_parts"])) == ("changed", removed, added)


def test_lines_are_paired_by_their_words() -> None:
    rows = rows_of(
        "- apples and pears\n- bread from the baker\n- salt\n", "- salad\n- bread from the market\n- green apples\n"
    )
    assert [(row["kind"], row["old"], row["new"]) for row in rows if row["kind"] == "changed"] == [("changed", 2, 2)]


NOTES = [
    ("- [ ] Buy milk", "- [x] Buy milk", "task done"),
    ("- [x] Buy milk", "- [ ] Buy milk", "task open again"),
    ("- [ ] Buy milk", "- [-] Buy milk", "task cancelled"),
    ("- Buy milk", "- [ ] Buy milk", "a task now"),
    ("    - Buy milk", "- Buy milk", "further out in the list"),
    ("- Buy milk", "    - Buy milk", "further in, under another item"),
    ("1. Buy milk", "2. Buy milk", "number 2, before 1"),
    ("## Plans of the year", "### Plans of the year", "heading of level 3, before 2"),
    ("A line of a poem", "A line of a poem  ", "two spaces at the end: a line break now"),
    ("A line of a poem  ", "A line of a poem", "no line break at the end any more"),
    ("    indented text", "\tindented text", "indented with tabs now, with spaces before"),
    ("caf\u00e9", "cafe\u0301", "the same letters, stored in another Unicode form"),
]


@pytest.mark.parametrize(("old", "new", "note"), NOTES)
def test_what_happened_to_a_line_is_said_in_words(old: str, new: str, note: str) -> None:
    (row,) = rows_of(f"above\n{old}\n", f"above\n{new}\n")
    assert row["kind"] == "changed"
    assert row["note"] == note


def test_a_line_end_at_the_end_of_the_file_is_said() -> None:
    (row,) = rows_of("the end", "the end\n")
    assert (marked(row["new_parts"]), row["note"]) == ("the end", "with a line end now")


def test_an_item_that_moved_says_where_to_and_from() -> None:
    rows = rows_of("- one\n- two\n- three\n- four\n", "- two\n- three\n- four\n- one\n")
    assert [(row["kind"], row["note"]) for row in rows] == [
        ("removed", "moved to line 4"),
        ("added", "moved here from line 1"),
    ]


def test_an_item_that_moved_within_its_hunk_says_so_and_the_others_are_paired() -> None:
    rows = rows_of("1. buy eggs\n2. clean up\n3. call Tom\n", "1. call Tom\n2. buy big eggs\n3. clean all up\n")
    assert [(row["kind"], row.get("note")) for row in rows] == [
        ("added", "moved here from line 3"),
        ("changed", "number 2, before 1"),
        ("changed", "number 3, before 2"),
        ("removed", "moved to line 1"),
    ]


KINDS = [
    ("- [ ] a\n", "- [x] a\n", "task"),
    ("- a\n", "- b\n", "list"),
    ("- a\n", "- [ ] b\n", "list"),
    ("a\n", "b\n", "text"),
    ("- a\n", "b\n", "text"),
    ("---\na: 1\n---\n", "---\na: 2\n---\n", "properties"),
    ("```\na\n```\n", "```\nb\n```\n", "code"),
    ("> ~~~\n> - a\n> ~~~\n", "> ~~~\n> - b\n> ~~~\n", "code"),
    ("| a |\n|---|\n| b |\n", "| a |\n|---|\n| c |\n", "table"),
    ("$$\n- a\n$$\n", "$$\n- b\n$$\n", "code"),
]


@pytest.mark.parametrize(("before", "after", "kind"), KINDS)
def test_a_hunk_is_of_the_kind_of_its_lines(before: str, after: str, kind: str) -> None:
    assert [hunk["kind"] for hunk in view_of(before, after)["hunks"]] == [kind]


def test_a_link_in_code_is_plain_text() -> None:
    view = view_of("```\n[[A]] b\n```\n", "```\n[[B]] b\n```\n")
    row = next(row for row in view["hunks"][0]["rows"] if row["kind"] == "changed")
    assert (marked(row["parts"]), view["links"]) == ("[[-A-]] b", [])


# ------------------------------------------------------------------ tables


def cells(row: dict[str, Any]) -> list[str]:
    return [marked(cell) for cell in row["cells"]]


TABLE = "| Day | Place | Cost |\n| --- | --- | --- |\n"


def test_a_table_is_compared_by_cell() -> None:
    (row,) = rows_of(TABLE + "| Mon | Berlin | 100 |\n", TABLE + "| Mon   | Bonn | 100 |\n")
    assert cells(row) == ["Mon", "-Berlin-+Bonn+", "100"]


def test_a_column_that_was_added_is_a_cell_of_its_own() -> None:
    (row,) = rows_of(TABLE + "| Mon | Berlin | 100 |\n", TABLE + "| Mon | sun | Berlin | 100 |\n")
    assert cells(row) == ["Mon", "+sun+", "Berlin", "100"]


def test_a_bar_behind_a_backslash_is_in_a_cell() -> None:
    (row,) = rows_of(TABLE, TABLE + "| [[A\\|a]] | b | |\n")
    assert cells(row) == ["+[[A\\|a]]+", "+b+", ""]


def test_wider_columns_alone_are_called_so() -> None:
    (row,) = rows_of(TABLE + "| Mon | Berlin | 100 |\n", TABLE + "| Mon  | Berlin  | 100  |\n")
    assert row["note"] == "only the spaces between the cells"


# ------------------------------------------------------------------ properties


def test_properties_are_rows_of_old_and_new_values_with_types() -> None:
    view = view_of(
        "---\ntags: [a]\ndue: 2026-11-20\nsame: 1\ndone: false\n---\nText\n",
        "---\ntags: [a, b]\nsame: 1.0\ndue: 2026-11-24\nrank: 3\n---\nText\n",
    )
    shown = [
        (row["name"], *((side["text"], side["type"]) if (side := row[key]) else None for key in ("old", "new")))
        for row in view["properties"]
    ]
    assert shown == [
        ("tags", ("a", "tags"), ("a, b", "tags")),
        ("due", ("2026-11-20", "date"), ("2026-11-24", "date")),
        ("rank", None, ("3", "number")),
        ("done", ("false", "checkbox"), None),
    ]
    assert {hunk["kind"] for hunk in view["hunks"]} == {"properties"}
    assert marked(view["properties"][0]["new"]["parts"]) == "a+, b+"


def test_broken_properties_are_a_notice() -> None:
    view = view_of("---\na: 1\n---\n", "---\na: [1\n---\n")
    assert "properties" in [each["what"] for each in view["notices"]]


# ------------------------------------------------------------------ links


def leading(linktext: str, source: str) -> str | None:
    """Lead each link to a note of its name beside the source; those to None nowhere."""
    folder = source.rpartition("/")[0]
    return None if linktext.startswith("None") else f"{folder}/{linktext.partition('#')[0]}.md".lstrip("/")


LINKS = [
    ("[[X]]", "[[Y]]", "X.md", "Y.md", "leads to Y.md now; it led to X.md before"),
    ("[[X|the plan]]", "[[Y|the plan]]", "X.md", "Y.md", "leads to Y.md now; it led to X.md before"),
    ("[plan](X)", "[plan](None)", "X.md", None, "leads nowhere now; it led to X.md before"),
    ("[plan](None)", "[plan](X)", None, "X.md", "leads to X.md now"),
    ("[[X#A]]", "[[X#B]]", "X.md", "X.md", "leads to X.md#B now; it led to X.md#A before"),
    (
        "[p](https://a.org)",
        "[p](https://b.org)",
        None,
        None,
        "leads to https://b.org now; it led to https://a.org before",
    ),
    ("[[X]]", "[x](X)", None, None, None),
    ("[[None]]", "[[None 2]]", None, None, "still leads nowhere"),
    ("![[X]]", "![[Y|300]]", "X.md", "Y.md", "leads to Y.md now; it led to X.md before"),
    ("nothing", "[[X]]", None, "X.md", "new link, leads to X.md"),
    ("![[X]]", "nothing", "X.md", None, "embed removed; it led to X.md"),
    ("[[X|the plan]]", "[[X|a plan]]", None, None, None),
]


@pytest.mark.parametrize(("old", "new", "before", "after", "words"), LINKS)
def test_a_link_that_changed_says_where_it_leads_now(
    old: str, new: str, before: str | None, after: str | None, words: str | None
) -> None:
    links = view_of(f"one\nsee {old} here\n", f"one\nsee {new} here\n", resolve=leading)["links"]
    if words is None:
        assert links == []
    else:
        (link,) = links
        assert (link["line"], link["old"], link["new"], link["words"]) == (2, before, after, words)


def test_a_link_without_a_resolver_names_its_target() -> None:
    (link,) = view_of("[[X|a]]\n", "[[Y|a]]\n")["links"]
    assert (link["text"], link["words"]) == ("a", "leads to “Y” now; it led to “X” before")


def test_the_links_of_a_moved_note_lead_from_where_it_is() -> None:
    view = file_diff("A/N.md", b"[[X]] old\n", b"[[Y]] old\n", resolve=leading, target="B/N.md")
    assert [(each["old"], each["new"]) for each in view["links"]] == [("A/X.md", "B/Y.md")]


def test_of_a_new_note_only_links_that_lead_nowhere_are_named() -> None:
    view = file_diff("N.md", None, b"[[X]] [[None]] [a](https://a.org)\n", resolve=leading)
    assert [(each["text"], each["words"]) for each in view["links"]] == [("None", "new link, leads nowhere")]


# ------------------------------------------------------------------ files


FILES = [
    ("Note.md", None, b"a\nb\n", None, ("create", "note", True, 2, 0)),
    ("Note.md", b"a\n", None, None, ("remove", "note", False, 0, 1)),
    ("Note.md", b"a\n", b"b\nc\n", None, ("edit", "note", False, 2, 1)),
    ("Note.md", b"a\n", b"a\n", "B/Note.md", ("move", "note", False, 0, 0)),
    ("Note.md", None, None, "B/Note.md", ("move", "note", False, 0, 0)),
    ("Note.md", b"a\n", None, "B/Note.md", ("move", "note", False, 0, 0)),
    ("a.PNG", b"a", b"b", None, ("edit", "image", False, 0, 0)),
    ("a.pdf", b"a", b"b", None, ("edit", "binary", False, 0, 0)),
    ("a.md", b"a\0", b"b", None, ("edit", "binary", False, 0, 0)),
    ("a.css", b"a\n", b"b\n", None, ("edit", "text", False, 1, 1)),
    ("a.canvas", b"{}", b"", None, ("edit", "canvas", False, 0, 1)),
]


@pytest.mark.parametrize(("path", "before", "after", "target", "expected"), FILES)
def test_a_file_says_what_it_is_and_what_was_done(
    path: str, before: bytes | None, after: bytes | None, target: str | None, expected: tuple[object, ...]
) -> None:
    view = file_diff(path, before, after, target=target)
    assert (view["action"], view["kind"], view["is_new"], view["added"], view["removed"]) == expected
    assert (view["path"], view["to"]) == (path, target)


def test_the_size_of_a_file_that_is_no_text_is_said() -> None:
    assert file_diff("a.zip", b"1\x0034", b"123456")["notices"] == [
        {"what": "size", "count": 6, "words": "6 bytes, before 4."}
    ]


def test_a_canvas_is_compared_by_node_and_edge() -> None:
    card = {"id": "1", "type": "text", "text": "Buy milk", "x": 0, "y": 0, "width": 10, "height": 10}
    file = {"id": "2", "type": "file", "file": "A.md", "x": 0, "y": 0, "width": 10, "height": 10}
    gone = {"id": "3", "type": "group", "label": "Old", "x": 0, "y": 0, "width": 10, "height": 10}
    edge = {"id": "e", "fromNode": "1", "toNode": "2", "label": "then"}
    before = {"nodes": [card, file, gone], "edges": []}
    after = {"nodes": [{**card, "text": "Buy bread", "x": 5}, {**file, "file": "B.md"}], "edges": [edge]}
    view = file_diff("a.canvas", json.dumps(before).encode(), json.dumps(after).encode())
    assert [(each["what"], each["id"], each["words"]) for each in view["nodes"]] == [
        ("node", "1", "card “Buy bread”: text changed, moved"),
        ("node", "2", "file “B.md”: file changed, before “A.md”"),
        ("node", "3", "group “Old” removed"),
        ("edge", "e", "edge from card “Buy bread” to file “B.md” “then” added"),
    ]
    assert (view["nodes"][0]["old"], view["nodes"][0]["new"]) == ("Buy milk", "Buy bread")
    assert marked(view["nodes"][0]["parts"]) == "Buy -milk-+bread+"


def test_a_canvas_that_is_none_is_shown_as_text() -> None:
    view = file_diff("a.canvas", b"{}", b"{")
    assert [each["what"] for each in view["notices"]] == ["canvas"]
    assert view["hunk_count"] == 1
