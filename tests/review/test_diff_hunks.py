"""The numbered hunks of a file's difference: nothing is lost, no line is shown twice, however many there are."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vaultwire.markdown.diffs import lines_of
from vaultwire.review.diff import file_diff, hunks_of

LINES = ["a", "b", "c", "", " ", "- x", "word by word", "word for word", "# Head", "| a | b |", "é́", "日本語", "---"]
texts = st.builds(
    lambda lines, last: "".join(line + "\n" for line in lines) + last,
    st.lists(st.sampled_from(LINES), max_size=40),
    st.sampled_from(["", "a", "end"]),
)


def diff_of(before: str, after: str, **options: Any) -> dict[str, Any]:
    return file_diff("Note.md", before.encode(), after.encode(), **options)


@given(texts, texts)
def test_the_hunks_put_in_place_give_the_new_text(before: str, after: str) -> None:
    old, new = lines_of(before), lines_of(after)
    result: list[str] = []
    position = 0
    for hunk in hunks_of(before, after):
        result += old[position : hunk.start] + new[hunk.new_start : hunk.new_end]
        position = hunk.end
    assert "".join(result + old[position:]) == after


@given(texts, texts)
def test_no_line_is_shown_twice_and_each_changed_line_once(before: str, after: str) -> None:
    view = diff_of(before, after, max_rows=10_000)
    rows = [row for hunk in view["hunks"] for row in hunk["rows"]]
    old = [row["old"] for row in rows if row["old"] is not None]
    new = [row["new"] for row in rows if row["new"] is not None]
    assert old == sorted(set(old))
    assert new == sorted(set(new))
    hunks = hunks_of(before, after)
    assert {place + 1 for hunk in hunks for place in range(hunk.start, hunk.end)} <= set(old)
    assert {place + 1 for hunk in hunks for place in range(hunk.new_start, hunk.new_end)} <= set(new)
    assert [hunk["index"] for hunk in view["hunks"]] == list(range(len(hunks)))


def test_unchanged_lines_between_two_near_hunks_are_shown_once() -> None:
    view = diff_of("a\n1\n2\n3\n4\nb\n", "A\n1\n2\n3\n4\nB\n")
    assert [[row["new"] for row in hunk["rows"] if row["kind"] == "same"] for hunk in view["hunks"]] == [[2, 3, 4], [5]]


def test_hunks_come_in_pages() -> None:
    before = "".join(f"{number}\n\n" for number in range(100))
    after = "".join(f"{number}!\n\n" for number in range(100))
    shown: list[int] = []
    first: int | None = 0
    while first is not None:
        view = diff_of(before, after, first_hunk=first, max_rows=20)
        assert view["hunk_count"] == 100
        shown += [hunk["index"] for hunk in view["hunks"]]
        first = view["next_hunk"]
    assert shown == list(range(100))
