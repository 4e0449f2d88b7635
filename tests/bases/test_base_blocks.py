"""Bases in the code blocks of notes: where they are, and edits that change no other byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultwire.bases.base_blocks import (
    Block,
    BlockError,
    base_blocks,
    edit_block,
    edit_blocks,
    may_hold_queries,
    query_blocks,
)
from vaultwire.markdown.edits import to_plain


def _added(block: Block) -> str:
    return f"{block.text}\nnew: 1" if block.text else "new: 1"


@pytest.mark.parametrize(
    ("note", "after"),
    [
        ("```base\na: 1  \n  \nb: 2\t\n```  \n", "```base\na: 1  \n  \nb: 2\t\nnew: 1\n```  \n"),
        ("> ```base\n> a: 1  \n>\n>  \n> ```\n", "> ```base\n> a: 1  \n>\n>  \n> new: 1\n> ```\n"),
        ("- x\n  ~~~base\n  a: 1 \n\n \n  b: 1\n  ~~~\n", "- x\n  ~~~base\n  a: 1 \n\n \n  b: 1\n  new: 1\n  ~~~\n"),
        ("1. ```base\n   a: 1\n   ```\n2. x\n", "1. ```base\n   a: 1\n   new: 1\n   ```\n2. x\n"),
        ("> - ```base\n>   a: 1\n>   ```\n", "> - ```base\n>   a: 1\n>   new: 1\n>   ```\n"),
        ("```base\na: |\n    ```\n  b\n```\n", "```base\na: |\n    ```\n  b\nnew: 1\n```\n"),
        ("```base\n```\n", "```base\nnew: 1\n```\n"),
        ("```base\na: 1", "```base\na: 1\nnew: 1"),
        ("```base\na: 1\n", "```base\na: 1\nnew: 1\n"),
    ],
)
def test_an_edit_writes_its_own_lines_only(note: str, after: str) -> None:
    assert edit_block(note, 1, _added) == after
    windows = note.replace("\n", "\r\n")
    assert edit_block(windows, 1, _added) == after.replace("\n", "\r\n")


def test_a_blank_line_at_the_end_of_a_block_stays() -> None:
    note = "```base\na: 1\n\n```\n"
    assert edit_block(note, 1, lambda block: block.text.replace("1", "2")) == "```base\na: 2\n\n```\n"


@pytest.mark.parametrize("mark", ["```", "~~~", "  ````"])
def test_a_text_that_would_end_its_block_is_refused(mark: str) -> None:
    note = f"{mark.strip()}base\na: 1\n{mark.strip()}\n"
    with pytest.raises(BlockError, match="would end the base block"):
        edit_block(note, 1, lambda _: f"a: |\n{mark}\n  b")


def test_line_ends_that_were_converted_twice_are_refused() -> None:
    note = "```base\r\r\na: 1\r\r\n```\r\r\n"
    assert len(base_blocks(to_plain(note))) == 1
    with pytest.raises(BlockError, match="mixes line ends"):
        edit_block(note, 1, _added)


def test_a_block_without_a_change_may_have_lines_that_begin_otherwise() -> None:
    note = "> ```base\n>a: 1\n> b: 2\n> ```\n\n```base\nc: 1\n```\n"
    after = edit_blocks(note, lambda block: block.text.replace("c", "d"))
    assert after == note.replace("c: 1", "d: 1")
    with pytest.raises(BlockError, match="block 1 that do not begin alike"):
        edit_blocks(note, _added)


_LINES = st.lists(st.sampled_from(["a: 1", "b:  2  ", "", "  ", "c: |", "  x", "# c", "\td"]), max_size=6)
_PREFIXES = st.sampled_from(["", "> ", ">", "> > ", "  ", "\t"])


@settings(max_examples=200)
@given(st.lists(st.tuples(_PREFIXES, st.sampled_from(["```", "~~~~"]), _LINES), min_size=1, max_size=3), st.data())
def test_lines_that_stay_are_kept_to_the_byte(blocks: list[tuple[str, str, list[str]]], data: st.DataObject) -> None:
    note = "".join(
        "".join(f"{line}\n" for line in ["text  ", "", *(f"{prefix}{row}" for row in [f"{mark}base", *rows, mark]), ""])
        for prefix, mark, rows in blocks
    )
    found = base_blocks(note)
    if not found:
        return
    number = data.draw(st.integers(1, len(found)))
    place = data.draw(st.integers(0, found[number - 1].size))

    def edit(block: Block) -> str:
        lines = block.text.split("\n") if found[number - 1].size else []
        return "\n".join([*lines[:place], "new: 1", *lines[place:]])

    after = edit_block(note, number, edit).split("\n")
    changed = [row for row, line in enumerate(after) if line.endswith("new: 1")]
    assert len(changed) == 1
    assert [*after[: changed[0]], *after[changed[0] + 1 :]] == note.split("\n")


@pytest.mark.parametrize("marks", ["`", "`~", "~~~a"])
def test_a_long_text_of_marks_is_looked_through_once(marks: str) -> None:
    """Looked through from each of its marks, it would take an hour."""
    text = marks * 1_000_000
    assert not may_hold_queries(text)
    assert may_hold_queries(f"{text}\n- ```base\n")


def test_queries_of_a_language() -> None:
    """Those in quotes, too, with their lines; blocks of other languages are none."""
    note = "```dataview\nLIST\n```\n> ```dataview\n> TASK\n> ```\n```dataviewjs\nx\n```\n"
    assert [(block.line, block.text) for block in query_blocks(note, "dataview")] == [(2, "LIST"), (5, "TASK")]
