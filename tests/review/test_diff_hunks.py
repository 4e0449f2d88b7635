"""The numbered hunks of a file's difference: nothing is lost, no line is shown twice, the work is bounded."""

# ruff: noqa: RUF001 - letters that look alike are what is tested

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultwire.markdown.diffs import lines_of
from vaultwire.review.diff import file_diff, unchanged_rows
from vaultwire.review.diff.rows import File, hunks_of, moved_lines, rows_of, texts_of
from vaultwire.review.diff.words import Steps, kinds_of
from vaultwire.vault.disk.contents import plain_text

LINES = [
    "a",
    "b",
    "",
    " ",
    "- x",
    "- [ ] buy milk",
    "\t- [x] buy bread  ",
    "word by word to the end",
    "word for word, to the End\u200b",
    "see [[A|the a]] and [b](c.md) #tag",
    "see [[B|the a]] and [b](d.md) #tags",
    "# Head",
    "| a | b |",
    "| a | c | d\\|e |",
    "|---|---|",
    "e\u0301 日本語 می\u200cخواهم 👨\u200d👩\u200d👧",
    "---",
    "key: [v, w]",
    "```",
    "\u202eраураl paypal",
    "  two  spaces\u00a0here\t ",
]
texts = st.builds(
    lambda lines, last: "".join(line + "\n" for line in lines) + last,
    st.lists(
        st.one_of(st.sampled_from(LINES), st.text(alphabet="ab ,\t\u200b\u0301字-|[]`", max_size=12)), max_size=40
    ),
    st.sampled_from(["", "a", "end "]),
)


def diff_of(before: str, after: str, **options: Any) -> dict[str, Any]:
    return file_diff("Note.md", before.encode(), after.encode(), **options)


def all_rows(before: str, after: str, **options: Any) -> list[dict[str, Any]]:
    """Return the rows of all pages."""
    rows: list[dict[str, Any]] = []
    first: int | None = 0
    while first is not None:
        view = diff_of(before, after, first_hunk=first, **options)
        rows += [row for hunk in view["hunks"] for row in hunk["rows"] if row["kind"] != "gap"]
        first = view["next_hunk"]
    return rows


def said(parts: list[dict[str, Any]]) -> str:
    return "".join(part["t"] for part in parts)


@given(texts, texts)
def test_the_hunks_put_in_place_give_the_new_text(before: str, after: str) -> None:
    old, new = lines_of(before), lines_of(after)
    result: list[str] = []
    position = 0
    for hunk in hunks_of(before, after):
        result += old[position : hunk.start] + new[hunk.new_start : hunk.new_end]
        position = hunk.end
    assert "".join(result + old[position:]) == after


@given(texts, texts, st.integers(1, 60))
@example("", "a\n" * 70, 1)
def test_each_changed_line_is_shown_once_with_all_its_characters(before: str, after: str, max_rows: int) -> None:
    rows = all_rows(before, after, max_rows=max_rows)
    old = [row["old"] for row in rows if row["old"] is not None]
    new = [row["new"] for row in rows if row["new"] is not None]
    assert old == sorted(set(old))
    assert new == sorted(set(new))
    hunks = hunks_of(before, after)
    changed_old = {place + 1 for hunk in hunks for place in range(hunk.start, hunk.end)}
    changed_new = {place + 1 for hunk in hunks for place in range(hunk.new_start, hunk.new_end)}
    assert {row["old"] for row in rows if row["kind"] in ("removed", "changed")} == changed_old
    assert {row["new"] for row in rows if row["kind"] in ("added", "changed")} == changed_new
    old_lines, new_lines = before.split("\n"), after.split("\n")
    for row in rows:
        if row["old"] is not None:
            assert said(row["parts"]) == old_lines[row["old"] - 1]
        if row["new"] is not None:
            assert said(row.get("new_parts", row["parts"])) == new_lines[row["new"] - 1]


@given(texts, texts)
def test_parts_say_what_is_on_which_side(before: str, after: str) -> None:
    for row in all_rows(before, after):
        ops = {part["op"] for part in row["parts"]}
        allowed = {"same": {"="}, "removed": {"-"}, "added": {"+"}, "changed": {"=", "-"}}[row["kind"]]
        assert ops <= allowed
        assert "" not in [part["t"] for part in row["parts"]]
        if row["kind"] == "changed":
            same = [said([part for part in side if part["op"] == "="]) for side in (row["parts"], row["new_parts"])]
            assert same[0] == same[1]
            assert {part["op"] for part in row["new_parts"]} <= {"=", "+"}


@given(texts, texts)
def test_a_view_is_json(before: str, after: str) -> None:
    view = diff_of(before, after)
    assert json.loads(json.dumps(view)) == view


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_have_a_view(before: bytes, after: bytes) -> None:
    for path in ("a.md", "a.canvas", "a.txt", "a.png", "a"):
        view = file_diff(path, before, after)
        if view["kind"] not in ("image", "binary"):
            assert view["hunk_count"] == len(hunks_of(plain_text(before), plain_text(after)))


def test_unchanged_lines_between_two_near_hunks_are_shown_once() -> None:
    view = diff_of("a\n1\n2\n3\n4\nb\n", "A\n1\n2\n3\n4\nB\n")
    assert [[row["new"] for row in hunk["rows"] if row["kind"] == "same"] for hunk in view["hunks"]] == [[2, 3, 4], [5]]


def test_up_to_three_unchanged_lines_are_shown_on_each_side() -> None:
    lines = "1\n2\n3\n4\n5\n{}\n6\n7\n8\n9\n"
    (hunk,) = diff_of(lines.format("old"), lines.format("new thing"))["hunks"]
    assert [said(row["parts"]) for row in hunk["rows"] if row["kind"] == "same"] == ["3", "4", "5", "6", "7", "8"]
    assert (hunk["old_start"], hunk["old_lines"], hunk["new_start"], hunk["new_lines"]) == (6, 1, 6, 1)


@given(texts, texts)
def test_unfolded_lines_are_those_that_did_not_change(before: str, after: str) -> None:
    rows = unchanged_rows(before.encode(), after.encode(), 1, 10_000)
    old_lines, new_lines = before.split("\n"), after.split("\n")
    changed = {row["new"] for row in all_rows(before, after) if row["kind"] != "same"}
    total = len(lines_of(after))
    assert [row["new"] for row in rows] == [number for number in range(1, total + 1) if number not in changed]
    for row in rows:
        assert said(row["parts"]) == new_lines[row["new"] - 1] == old_lines[row["old"] - 1]


def test_some_lines_are_unfolded() -> None:
    rows = unchanged_rows(b"a\nb\nc\nd\n", b"x\na\nB\nc\nd\n", 2, 4)
    assert [(row["old"], row["new"], said(row["parts"])) for row in rows] == [(1, 2, "a"), (3, 4, "c")]


def test_hunks_come_in_pages() -> None:
    before = "".join(f"{number}\n\n" for number in range(100))
    after = "".join(f"{number}!\n\n" for number in range(100))
    shown: list[int] = []
    first: int | None = 0
    while first is not None:
        view = diff_of(before, after, first_hunk=first, max_rows=20)
        assert view["hunk_count"] == 100
        assert sum(len(hunk["rows"]) for hunk in view["hunks"]) < 30
        shown += [hunk["index"] for hunk in view["hunks"]]
        first = view["next_hunk"]
    assert shown == list(range(100))


def test_a_hunk_that_is_too_long_goes_on_on_the_next_page() -> None:
    after = "".join(f"line {number}\n" for number in range(1_000))
    first = diff_of("", after, max_rows=100)
    assert (first["hunk_count"], first["added"], len(first["hunks"])) == (1, 1_000, 1)
    assert first["hunks"][0]["rows"][-1]["kind"] == "gap"
    second = diff_of("", after, max_rows=100, first_hunk=first["next_hunk"])
    (hunk,) = second["hunks"]
    assert (hunk["index"], hunk["is_continued"]) == (0, True)
    assert len(all_rows("", after, max_rows=100)) == 1_000


def test_a_rewritten_text_shows_old_and_new_lines_beside_each_other() -> None:
    before = "".join(f"old words {number} a\n" for number in range(3_000))
    after = "".join("quite other things\n" for _ in range(3_000))
    rows = diff_of(before, after, max_rows=100)["hunks"][0]["rows"]
    assert {row["kind"] for row in rows} >= {"removed", "added"}


# ------------------------------------------------------------------ bounds


SHAPES = {
    "each line edited": ("the {} cat and the dog\n", "the {} cat and a dog\n"),
    "all rewritten": ("alpha {} beta\n", "gamma delta {}\n"),
    "tables": ("| {} | one |\n", "| {} | two |\n"),
    "tasks": ("- [ ] do {}\n", "- [x] do {}\n"),
    "links": ("see [[A{}]]\n", "see [[B{}]]\n"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_thirty_thousand_changed_lines_take_no_more_than_a_page(shape: str) -> None:
    before, after = ("".join(form.format(number) for number in range(30_000)) for form in SHAPES[shape])
    view = file_diff("Note.md", before.encode(), after.encode(), resolve=lambda linktext, _: linktext + ".md")
    assert (view["added"], view["removed"]) == (30_000, 30_000)
    assert sum(len(hunk["rows"]) for hunk in view["hunks"]) < 2_100
    assert len(view["links"]) <= 200
    assert len(json.dumps(view)) < 2_000_000


def test_words_are_compared_only_in_the_hunks_that_are_given() -> None:
    def steps_for(count: int) -> int:
        texts = texts_of("a b c\n\n" * count, "a x c\n\n" * count)
        kinds = [kinds_of("", lines) for lines in (texts.old, texts.new)]
        file = File(texts, kinds[0], kinds[1], *moved_lines(texts), ("", ""))
        steps = Steps()
        for index in range(10):
            list(rows_of(file, index, steps))
        return steps.taken

    assert steps_for(10_000) == steps_for(10)


@pytest.mark.parametrize(
    "line", ["a b " * 100_000, "\u200b" * 50_000, "[[" * 50_000, "https://" + "." * 50_000, "|" * 50_000, "> " * 50_000]
)
def test_a_line_of_any_length_has_a_short_view(line: str) -> None:
    view = diff_of(line + "x\n", "c" + line + "y\n")
    assert len(json.dumps(view)) < 500_000
    for row in view["hunks"][0]["rows"]:
        parts = row.get("new_parts", row["parts"])
        assert sum(part.get("left_out", len(part["t"])) for part in parts) in (len(line) + 1, len(line) + 2)


def test_the_steps_of_a_page_are_bounded() -> None:
    steps = Steps(1_000)
    old, new = ([f"{side}{number % 7} {number}" for number in range(300)] for side in "ab")
    texts = texts_of("\n".join(" ".join(old[at:] + old[:at]) for at in range(20)), " ".join(new))
    file = File(texts, ["text"] * 20, ["text"], {}, {}, ("", ""))
    list(rows_of(file, 0, steps))
    assert steps.taken < 10_000
