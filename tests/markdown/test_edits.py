"""An edit changes its own span and nothing else: every other character of the file comes out as it went in.

The byte order mark is the vault's matter and tested there.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultwire.markdown.edits import append, line_end, prepend, rewrite, to_plain
from vaultwire.markdown.properties import parse_frontmatter

LINES = st.lists(st.sampled_from(["a", "b", "", "---", "x: y", " ", "\r", "# h", "é"]), max_size=8)
ENDINGS = st.lists(st.sampled_from(["\n", "\r\n", "\r", "\r\r\n"]), min_size=8, max_size=8)


@st.composite
def _files(draw: st.DrawFn) -> str:
    """A file's text: few different lines, so that edits meet equal ones, under line ends of every kind."""
    lines, endings = draw(LINES), draw(ENDINGS)
    last = draw(st.sampled_from(["", "end"]))
    return (
        draw(st.sampled_from(["", "---\nx: y\n---\n", "---\r\nx: y\r\n---\r\n"]))
        + "".join(line + ending for line, ending in zip(lines, endings, strict=False))
        + last
    )


FILES = st.one_of(_files(), st.text())


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


@pytest.mark.parametrize(
    ("text", "addition", "expected"),
    [
        ("a\n", "b", "a\nb\n"),
        ("a\n", "b\n", "a\nb\n"),
        ("a", "b", "a\nb"),
        ("a", "b\n", "a\nb\n"),
        ("", "b", "b"),
        ("", "b\r\n", "b\n"),
        ("a\r\n", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\r\nb", "c", "a\r\nb\r\nc"),
        ("a\n", "b\r\nc", "a\nb\nc\n"),
        ("a\r\nb\n", "c", "a\r\nb\nc\n"),  # as many of each: \n
        ("a\n", "\nb", "a\n\nb\n"),
        ("a\r", "b", "a\r\nb"),
        ("a", "", "a"),
        ("a\n", "", "a\n"),
    ],
)
def test_appended_lines_follow_the_last(text: str, addition: str, expected: str) -> None:
    assert append(text, addition) == expected


@pytest.mark.parametrize(
    ("text", "addition", "expected"),
    [
        ("a\n", "b", "b\na\n"),
        ("", "b", "b\n"),
        ("---\nx: y\n---\na\n", "b", "---\nx: y\n---\nb\na\n"),
        ("---\r\nx: y\r\n---\r\na\r\n", "b\nc", "---\r\nx: y\r\n---\r\nb\r\nc\r\na\r\n"),
        ("---\nx: y\n---", "b", "---\nx: y\n---\nb\n"),
        ("---\nx: y\n---", "", "---\nx: y\n---"),
        ("---\r\nx: y\r\n---", "b", "---\r\nx: y\r\n---\r\nb\r\n"),
        ("---\nnever closed", "b", "b\n---\nnever closed"),
        ("a", "", "a"),
    ],
)
def test_prepended_lines_come_first_but_behind_the_frontmatter(text: str, addition: str, expected: str) -> None:
    assert prepend(text, addition) == expected


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n"),
        ("a\r\nb\r\nc\r\n", "a\nB\nc\n", "a\r\nB\r\nc\r\n"),
        ("a\nb\r\nc\n", "a\nb\nC\n", "a\nb\r\nC\n"),  # a line that stays keeps its odd end
        ("a\r\nb\nc\r\n", "x\nb\nc\n", "x\r\nb\nc\r\n"),
        ("a\n", "b", "b\n"),  # the final line end stays
        ("a", "b", "b"),
        ("a", "b\n", "b\n"),  # one that is asked for comes
        ("a\n", "", ""),
        ("", "b", "b"),
        ("a\r\n", "b\r\nc", "b\r\nc\r\n"),
        ("a\r\r\nb\n", "a\nb\n", "a\r\r\nb\n"),
    ],
)
def test_rewriting_keeps_the_line_ends_of_lines_that_stay(text: str, new: str, expected: str) -> None:
    assert rewrite(text, new) == expected


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("", "\n"),
        ("a", "\n"),
        ("a\n", "\n"),
        ("a\r\n", "\r\n"),
        ("a\r\nb\n", "\n"),
        ("a\r\nb\nc\r\n", "\r\n"),
        ("\r", "\n"),
    ],
)
def test_a_text_has_the_line_end_of_most_of_its_lines(text: str, ending: str) -> None:
    assert line_end(text) == ending


@given(FILES)
@example("a\r\r\n")
def test_plain_text_is_plain_already(text: str) -> None:
    assert "\r\n" not in to_plain(text)
    assert to_plain(text).count("\n") == text.count("\n")
    assert to_plain(text).replace("\r", "") == text.replace("\r", "")


@given(FILES, FILES)
def test_appending_keeps_all_that_was_there(text: str, addition: str) -> None:
    result = append(text, addition)
    assert result.startswith(text)
    added = to_plain(addition)
    if addition:
        assert to_plain(result).rstrip("\r\n").endswith(added.rstrip("\r\n"))
        assert result.endswith("\n") == (text.endswith("\n") or addition.endswith("\n"))
    else:
        assert result == text


@given(FILES, FILES)
def test_prepending_keeps_the_frontmatter_first_and_the_body_last(text: str, addition: str) -> None:
    result = prepend(text, addition)
    top = parse_frontmatter(to_plain(text)).end
    # Counted in line ends, which to_plain keeps in number.
    breaks = to_plain(text)[:top].count("\n")
    head = "".join(line + "\n" for line in text.split("\n")[:breaks])
    if top and not to_plain(text)[:top].endswith("\n"):
        head = text
    assert result.startswith(head)
    assert result.endswith(text[len(head) :])
    if not addition:
        assert result == text
    else:
        middle = result[len(head) : len(result) - len(text[len(head) :])]
        assert to_plain(middle).strip("\r\n") == to_plain(addition).strip("\r\n")
        assert middle.endswith("\n")


@given(FILES)
@example("a\r\r\nb\r\n")
def test_rewriting_a_text_with_itself_changes_nothing(text: str) -> None:
    assert rewrite(text, to_plain(text)) == text


@given(FILES, FILES)
@example("a\r\n", "b\r")
def test_a_rewritten_text_says_what_was_asked_for(text: str, new: str) -> None:
    expected = _ended(new) if text.endswith("\n") else new
    assert to_plain(rewrite(text, new)) == to_plain(expected)


@given(FILES, FILES, FILES)
def test_rewriting_leaves_the_lines_before_and_behind_the_change_as_they_are(head: str, old: str, new: str) -> None:
    head, tail = head + "=\r\n", "=\n=\r\n=\r\n"
    result = rewrite(head + old + "\n" + tail, to_plain(head) + new + "\n" + to_plain(tail))
    assert result.startswith(head)
    assert result.endswith(tail)
