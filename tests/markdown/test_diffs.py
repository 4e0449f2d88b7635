"""Unified diffs: as they are written, as they are applied however sloppy, and changes undone among later ones."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultwire.markdown.diffs import Difference, differences, lines_of, unified
from vaultwire.markdown.edits import AmbiguousPlaceError, DiffError, NoPlaceError, apply_diff, to_plain
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.three_way import Conflict, revert

HEAD = "--- a/n.md\n+++ b/n.md\n"
NO_END = "\\ No newline at end of file\n"

# Few different lines, some of which look like marks of a diff; ends of every kind, the last perhaps none.
LINES = ["a", "b", "c", "", " ", "-- x", "++ y", "@@ -1 +1 @@", "\\", "- d", "+ e", "```", "é\rf"]
ENDS = ["\n", "\n", "\n", "\r\n"]
files = st.builds(
    lambda lines, last: "".join(line + end for line, end in lines) + last,
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(ENDS)), max_size=25),
    st.sampled_from(["", "a", "end"]),
)
plain_files = st.one_of(files.map(to_plain), st.text(alphabet="ab\n \u2028\x0c"))


UNIFIED = [
    ("a\n", "a\n", ""),
    ("", "", ""),
    ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
    ("", "a", "@@ -0,0 +1 @@\n+a\n" + NO_END),
    ("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"),
    ("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
    ("a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n" + NO_END + "+b\n"),
    ("a\nb", "x\na\nb", "@@ -1,2 +1,3 @@\n+x\n a\n b\n" + NO_END),
    ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n", "@@ -3,3 +3,4 @@\n 3\n 4\n 5\n+6\n"),
    # six lines between two changes: one hunk; seven: two
    ("a\n1\n2\n3\n4\n5\n6\nb\n", "1\n2\n3\n4\n5\n6\n", "@@ -1,8 +1,6 @@\n-a\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n"),
    (
        "a\n1\n2\n3\n4\n5\n6\n7\nb\n",
        "1\n2\n3\n4\n5\n6\n7\n",
        "@@ -1,4 +1,3 @@\n-a\n 1\n 2\n 3\n@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-b\n",
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), UNIFIED)
def test_a_diff_is_written_in_the_unified_form(old: str, new: str, expected: str) -> None:
    assert unified(old, new, "n.md") == (HEAD + expected if expected else "")


@given(plain_files, plain_files)
@example("a\nb\n", "")
@example("@@\n", "-- a\n++ b")
def test_a_diff_that_is_applied_gives_the_new_text(old: str, new: str) -> None:
    diff = unified(old, new, "n.md")
    if old == new:
        assert diff == ""
    else:
        assert apply_diff(old, diff) == new


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch(1)")
@pytest.mark.parametrize(("old", "new", "expected"), [case for case in UNIFIED if case[2]])
def test_patch_applies_our_diffs(tmp_path: Path, old: str, new: str, expected: str) -> None:
    (tmp_path / "n.md").write_bytes(old.encode())
    subprocess.run(["patch", "-p1"], input=(HEAD + expected).encode(), cwd=tmp_path, check=True, capture_output=True)
    path = tmp_path / "n.md"
    assert (path.read_bytes() if path.exists() else b"") == new.encode()


@given(files, plain_files)
def test_an_applied_diff_keeps_the_line_ends_of_lines_that_stay(old: str, new: str) -> None:
    plain = to_plain(old)
    if plain == new:
        return
    result = apply_diff(old, unified(plain, new, "n.md"))
    assert to_plain(result) == new
    old_lines, new_lines = lines_of(old), lines_of(result)
    stay = differences(lines_of(plain), lines_of(new))
    position = new_position = 0
    for start, end, new_start, new_end in [*stay, (len(old_lines), 0, len(new_lines), 0)]:
        assert new_lines[new_position:new_start] == old_lines[position:start]
        position, new_position = end, new_end


def longest_common(old: list[str], new: list[str]) -> int:
    """Return how many lines a longest common subsequence has, the slow and plain way."""
    best = [0] * (len(new) + 1)
    for line in old:
        before = best[:]
        for place, other in enumerate(new):
            best[place + 1] = before[place] + 1 if line == other else max(best[place], before[place + 1])
    return best[-1]


@given(plain_files, plain_files)
def test_differences_leave_as_many_lines_in_common_as_can_be(old: str, new: str) -> None:
    before, after = lines_of(old), lines_of(new)
    found = differences(before, after)
    common = 0
    ends = [(0, 0), *((each.end, each.new_end) for each in found)]
    starts = [*((each.start, each.new_start) for each in found), (len(before), len(after))]
    for (end, new_end), (start, new_start) in zip(ends, starts, strict=True):
        assert before[end:start] == after[new_end:new_start]
        common += start - end
    assert common == longest_common(before, after)
    assert all(one.end < other.start or one.new_end < other.new_start for one, other in itertools.pairwise(found))


def test_texts_that_would_take_too_long_to_compare_differ_throughout() -> None:
    """Thousands of lines in another order: the work is bounded, the diff still right."""
    old = "top\n" + "".join(f"{number}\n" for number in range(6000)) + "end\n"
    new = "top\n" + "".join(f"{number}\n" for number in reversed(range(6000))) + "end\n"
    assert differences(lines_of(old), lines_of(new)) == [(1, 6001, 1, 6001)]
    assert apply_diff(old, unified(old, new, "n.md")) == new


# ---------------------------------------------------------------------- sloppy diffs

TEXT = "one\ntwo\n\nthree\nfour\none\ntwo\nfive\n"
SLOPPY = [
    ("@@ -2,3 +2,3 @@\n two\n \n-three\n+THREE\n", "one\ntwo\n\nTHREE\nfour\none\ntwo\nfive\n"),
    ("@@ @@\n-three\n+3\n", TEXT.replace("three", "3")),
    ("@@\n-three\n+3\n", TEXT.replace("three", "3")),
    ("@@ ... @@ a heading\n-three\n+3\n", TEXT.replace("three", "3")),
    ("@@ -90,7 +1,99 @@\n-three\n+3\n", TEXT.replace("three", "3")),
    ("@@ -1,9 +1,9 @@\n two\n-five\n+5\n", TEXT.replace("five", "5")),
    ("@@ @@\n two\n\n-three\n+3\n", TEXT.replace("three", "3")),  # a blank line without its mark
    ("@@ -2,4 +2,4 @@\n two\n\n-three\n+3\n four\n", TEXT.replace("three", "3")),
    ("@@ -6,2 +6,2 @@\n one\n-two\n+2\n", TEXT.replace("two\nfive", "2\nfive")),  # the number says which
    ("--- a\n+++ b\n@@ @@\n-three\n+3\n\n\n@@ @@\n-five\n+5\n\n", TEXT.replace("three", "3").replace("five", "5")),
    ("@@ @@\n-five\n+5\n@@ @@\n-three\n+3\n", TEXT.replace("three", "3").replace("five", "5")),
    # hunks may share lines of context
    ("@@ @@\n-three\n+3\n four\n one\n@@ @@\n four\n one\n-two\n+2\n five\n", "one\ntwo\n\n3\nfour\none\n2\nfive\n"),
    ("```diff\n@@ @@\n-three\n+3\n```", TEXT.replace("three", "3")),
    ("diff --git a/n b/n\nindex 1..2\n--- a/n\n+++ b/n\n@@ @@\n-three\n+3", TEXT.replace("three", "3")),
    ("@@ @@\r\n-three\r\n+3\r\n", TEXT.replace("three", "3")),
    ("@@ @@\n five\n+six\n", TEXT + "six\n"),
    ("@@ @@\n five\n+six\n" + NO_END, TEXT + "six"),
    ("@@ @@\n three\n+3\n" + NO_END + " four\n", TEXT.replace("three", "three\n3")),  # nonsense in the middle
]


@pytest.mark.parametrize(("diff", "expected"), SLOPPY)
def test_a_sloppy_diff_is_applied_where_its_lines_are(diff: str, expected: str) -> None:
    assert apply_diff(TEXT, diff) == expected
    assert apply_diff(TEXT.replace("\n", "\r\n"), diff) == expected.replace("\n", "\r\n")


UNENDED = [
    ("a\nb", "@@ @@\n-b\n+c\n", "a\nc"),
    ("a\nb", "@@ @@\n b\n+c\n", "a\nb\nc"),
    ("a\nb", "@@ @@\n-b\n" + NO_END + "+c\n", "a\nc\n"),
    ("a\nb", "@@ @@\n-b\n" + NO_END + "+c\n" + NO_END, "a\nc"),
    ("a\nb", "@@ @@\n-a\n+c\n b\n" + NO_END, "c\nb"),
    ("a\r\nb", "@@ @@\n b\n+c\n", "a\r\nb\r\nc"),
    ("b\na\nb", "@@ @@\n-b\n" + NO_END + "+c\n" + NO_END, "b\na\nc"),  # only the last line has no end
    ("", "@@ -0,0 +1 @@\n+a\n", "a\n"),
]


@pytest.mark.parametrize(("text", "diff", "expected"), UNENDED)
def test_the_last_line_end_is_as_the_diff_says_or_else_as_it_was(text: str, diff: str, expected: str) -> None:
    assert apply_diff(text, diff) == expected


REFUSED = [
    ("", DiffError, "changes nothing"),
    ("three\n3\n", DiffError, "changes nothing"),
    ("-three\n+3\n", DiffError, "before the first hunk"),
    ("--- a/n\n+++ b/n\n-three\n+3\n@@ @@\n-five\n+5\n", DiffError, "line 3 of the diff stands before"),
    ("@@ @@\n three\n", DiffError, "changes nothing"),
    ("@@ @@\n+3\n", DiffError, "only added lines"),
    ("@@ @@\nthree\n+3\n", DiffError, "line 2 of the diff"),
    ("@@ @@\n-three\n```\n+3\n", DiffError, "line 3 of the diff"),
    ("@@ -4 +4 @@\n-three\n+3\n\nfour\n", DiffError, "line 5 of the diff"),
    ("@@ -4 +4 @@\n-three\n+3\n--- a/o\n+++ b/o\n@@ -1 +1 @@\n-a\n+b\n", DiffError, "another file"),
    ("@@ @@\n-three\n+3\n--- a/o\n+++ b/o\n@@ @@\n-a\n+b\n", DiffError, "another file"),
    ("@@ @@\n-three\n+3\n@@ @@\n-three\n+4\n", DiffError, "changes what another one changes"),
    ("@@ @@\n-Three\n+3\n", NoPlaceError, "not in the text, beginning with 'Three'"),
    ("@@ @@\n-three \n+3\n", NoPlaceError, "line 1"),
    ("@@ @@\n-three\n" + NO_END + "+3\n", NoPlaceError, "line 1"),
    ("@@ @@\n-five\n" + NO_END + "+5\n", NoPlaceError, "line 1"),  # it has a line end
    ("@@ -3,2 +3,2 @@\n one\n-two\n+2\n", AmbiguousPlaceError, "2 times: from line 1, 6 on"),
]


@pytest.mark.parametrize(("diff", "error", "fault"), REFUSED)
def test_a_diff_that_does_not_fit_is_refused(diff: str, error: type[DiffError], fault: str) -> None:
    with pytest.raises(error, match=re.escape(fault)) as caught:
        apply_diff(TEXT, diff)
    assert type(caught.value) is error
    if isinstance(caught.value, AmbiguousPlaceError):
        assert caught.value.lines == [1, 6]


@given(plain_files, st.text(alphabet="ab@-+ \\\n`0,1"))
def test_no_diff_makes_the_program_fail(text: str, diff: str) -> None:
    try:
        apply_diff(text, diff)
        apply_diff(text, "@@ @@\n" + diff)
    except DiffError:
        pass


# ---------------------------------------------------------------------- taking a change back

REVERTS = [
    # now, before, after, expected
    ("a\nB\nc\n", "a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\n"),
    ("a\nb\nc\n", "a\nb\nc\n", "a\nB\nc\n", Conflict([Span(2, 2)])),
    ("B\nx\nC\n", "b\nx\nc\n", "B\nx\nc\n", "b\nx\nC\n"),
    ("new\nx\nB\n", "x\nb\n", "x\nB\n", "new\nx\nb\n"),
    ("x\nx\n", "a\nx\nx\n", "x\nx\n", "a\nx\nx\n"),
    ("a\r\nx\ny\r\nc\n", "A\nx\ny\r\n", "a\r\nx\ny\r\n", "A\nx\ny\r\nc\n"),
    ("B\nC\n", "b\nc\n", "B\nc\n", Conflict([Span(2, 2)])),  # lines that touch
    ("X\nB\n", "x\nb\n", "x\nB\n", Conflict([Span(1, 1)])),
    ("B\nnew\n", "b\n", "B\n", Conflict([Span(2, 2)])),
    ("x\n", "x\nb\n", "x\nB\n", Conflict([Span(1, 1)])),
    ("", "a\n", "b\n", Conflict([Span(1, 1)])),
    ("a\nx\nB", "a\nx\nb\n", "a\nx\nB\n", Conflict([Span(3, 3)])),
]


@pytest.mark.parametrize(("now", "before", "after", "expected"), REVERTS)
def test_a_change_is_taken_back_unless_its_lines_were_changed_since(
    now: str, before: str, after: str, expected: str | Conflict
) -> None:
    assert revert(now, before, after) == expected


def test_all_lines_in_the_way_are_named() -> None:
    before = "1\n2\n3\n4\n5\n6\n7\n"
    after = before.replace("2", "two").replace("6", "six")
    now = after.replace("two", "zwei").replace("six\n", "six\nsechs\n").replace("4", "vier")
    assert revert(now, before, after) == Conflict([Span(2, 2), Span(7, 7)])


@given(files, files)
def test_the_last_change_is_taken_back_to_what_was_before(before: str, after: str) -> None:
    assert revert(after, before, after) == before


@given(files, files, files)
def test_a_change_is_taken_back_whole_and_later_ones_kept_whole_or_nothing_is(
    before: str, after: str, now: str
) -> None:
    result = revert(now, before, after)
    changed = [lines_of(each) for each in (after, before, now)]
    back, later = differences(changed[0], changed[1]), differences(changed[0], changed[2])
    touching = any(one.start <= other.end and other.start <= one.end for one in back for other in later)
    assert isinstance(result, Conflict) == touching
    if isinstance(result, Conflict):
        assert result.spans
        return
    lost = sorted("".join(lines) for lines in _sides(back, *changed[:2])[0] + _sides(later, changed[0], changed[2])[0])
    won = sorted("".join(lines) for lines in _sides(back, *changed[:2])[1] + _sides(later, changed[0], changed[2])[1])
    assert sorted(result + "".join(lost)) == sorted(after + "".join(won))


def _sides(found: list[Difference], old: list[str], new: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    return [old[each.start : each.end] for each in found], [new[each.new_start : each.new_end] for each in found]


@given(files, files, files)
def test_changes_apart_do_not_get_in_each_others_way(head: str, tail: str, other: str) -> None:
    wall = "".join(f"wall {number}\n" for number in range(3))
    before = head + "\n" + wall + "tail\n" + tail
    after = other + "\n" + wall + "tail\n" + tail
    now = other + "\n" + wall + "TAIL\n" + tail
    if after != now:
        assert revert(now, before, after) == head + "\n" + wall + "TAIL\n" + tail
