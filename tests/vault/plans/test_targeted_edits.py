"""Surgical edits: what each action does to each target, which edits are refused, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.refusals import refusal
from vaultwire.markdown.diffs import nearest
from vaultwire.markdown.edits import append, line_end, prepend, to_plain
from vaultwire.markdown.parse import parse_note
from vaultwire.vault.editing.revising import apply_diff
from vaultwire.vault.errors import AMBIGUOUS_TARGET, INVALID_ARGUMENTS, SECTION_NOT_FOUND, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.links.sections import parse_structure, section_span
from vaultwire.vault.plans.targeted_edits import Action, Edit, apply_edits
from vaultwire.vault.value_types import VaultPath

PATH = VaultPath("Note.md")
CRLF = "\r\n"


def edited(text: str, *edits: Edit) -> str:
    return apply_edits(PATH, text, list(edits))


Case = tuple[str, Edit, str]


def check(text: str, edit: Edit, expected: str) -> None:
    """Check an edit, also as it is in a file with other line ends and in one that lacks the last."""
    assert edited(text, edit) == expected
    assert edited(text.replace("\n", CRLF), edit) == expected.replace("\n", CRLF)
    if text.endswith("\n") and text.rstrip("\n") + "\n" == text and edit.action != "delete":
        assert edited(text[:-1], edit) in (expected, expected.removesuffix("\n"))


def test_an_underlined_heading_is_in_the_outline_and_a_section_of_its_own() -> None:
    note = parse_structure(PATH, "Top\n===\na\n\nSub: *one*\ntwo\n---\nb\n# Last\n%%\n# no\n%%\n")
    assert [(entry.level, entry.text, entry.line, entry.last_line) for entry in note.outline] == [
        (1, "Top", 1, 8),
        (2, "Sub: *one* two", 5, 8),
        (1, "Last", 9, 12),
    ]
    assert section_span(note, "Top#sub one two") == (5, 8)


def ids(cases: list[Case]) -> list[str]:
    return [f"{case[1].action} {case[1].content!r} in {case[0]!r}" for case in cases]


BODY = [
    ("---\nx: y\n---\na\n", Edit("append", "b"), "---\nx: y\n---\na\nb\n"),
    ("---\nx: y\n---\na\n", Edit("append", "b", body=True), "---\nx: y\n---\na\nb\n"),
    ("---\nx: y\n---\na\n", Edit("prepend", "b"), "---\nx: y\n---\nb\na\n"),
    ("---\nx: y\n---\na\n", Edit("replace", "b\nc", body=True), "---\nx: y\n---\nb\nc\n"),
    ("---\nx: y\n---\na\n", Edit("replace", "", body=True), "---\nx: y\n---\n"),
    ("---\nx: y\n---\na\n", Edit("delete", body=True), "---\nx: y\n---\n"),
    ("---\nx: y\n---", Edit("replace", "b", body=True), "---\nx: y\n---\nb"),
    ("---\nx: y\n---", Edit("delete", body=True), "---\nx: y\n---"),
    ("a\n", Edit("replace", "---\nx: y\n---\nb", body=True), "---\nx: y\n---\nb\n"),
    ("", Edit("replace", "b", body=True), "b"),
    ("", Edit("delete", body=True), ""),
]


@pytest.mark.parametrize(("text", "edit", "expected"), BODY, ids=ids(BODY))
def test_the_body_is_all_behind_the_frontmatter(text: str, edit: Edit, expected: str) -> None:
    check(text, edit, expected)


PLAN = "top\n\n# A\n\na\n\n## A1\n\n- x\n- y\n\n# B\n```\n# no heading\n```\n\n\n# C\n"
SECTIONS = [
    # append: behind the last line that is not blank, those of sections below it included
    (PLAN, Edit("append", "new", section="B"), PLAN.replace("```\n\n\n# C", "```\nnew\n\n\n# C")),
    (PLAN, Edit("append", "- z", section="A"), PLAN.replace("- y\n", "- y\n- z\n")),
    (PLAN, Edit("append", "- z", section="A#A1"), PLAN.replace("- y\n", "- y\n- z\n")),
    (PLAN, Edit("append", "new", section="c"), PLAN + "new\n"),
    (PLAN, Edit("append", "\nnew\n", section="C"), PLAN + "\nnew\n"),
    (PLAN, Edit("append", "", section="C"), PLAN),
    ("# A\n# B\n", Edit("append", "new", section="A"), "# A\nnew\n# B\n"),
    ("# A\n\n\n# B\n", Edit("append", "new", section="A"), "# A\nnew\n\n\n# B\n"),
    ("# A\na\n\n", Edit("append", "b", section="A"), "# A\na\nb\n\n"),
    # ... set apart from a block that would swallow it
    (PLAN, Edit("append", "new", section="A"), PLAN.replace("- y\n", "- y\n\nnew\n")),
    ("# A\n> q\n", Edit("append", "new", section="A"), "# A\n> q\n\nnew\n"),
    ("# A\n> q\n", Edit("append", "> r", section="A"), "# A\n> q\n> r\n"),
    ("# A\n| a |\n|---|\n", Edit("append", "| b |", section="A"), "# A\n| a |\n|---|\n| b |\n"),
    ("# A\n| a |\n|---|\n", Edit("append", "new", section="A"), "# A\n| a |\n|---|\n\nnew\n"),
    ("# A\na\n", Edit("append", "| b |\n|---|", section="A"), "# A\na\n\n| b |\n|---|\n"),
    ("# A\na ^id\n", Edit("append", "new", section="A"), "# A\na ^id\n\nnew\n"),
    ("# A\n> q\n\n^id\n", Edit("append", "- new", section="A"), "# A\n> q\n\n^id\n\n- new\n"),
    ("# A\n- a ^id\n", Edit("append", "- b", section="A"), "# A\n- a ^id\n- b\n"),
    ("# A\na\n\n***\n", Edit("append", "new", section="A"), "# A\na\n\n***\nnew\n"),
    # ... and from a line that would underline it, or an underlined heading it would become a part of
    ("# A\nb\n---\n", Edit("prepend", "new", section="A"), "# A\nnew\n\nb\n---\n"),
    ("# A\n\nText\n\n---\n", Edit("prepend", "new", section="A"), "# A\nnew\n\nText\n\n---\n"),
    ("# A\na\n", Edit("append", "===", section="A"), "# A\na\n\n===\n"),
    ("# A\na\n", Edit("append", "B\n---", section="A"), "# A\na\n\nB\n---\n"),
    ("# A\n- a\n", Edit("append", "---", section="A"), "# A\n- a\n---\n"),
    # an underlined heading has two lines, and its text may have more
    ("A\n===\na\n\nB\n---\nb\n", Edit("append", "new", section="A"), "A\n===\na\n\nB\n---\nb\nnew\n"),
    ("A\n===\na\n\nB\n===\nb\n", Edit("append", "new", section="A"), "A\n===\na\nnew\n\nB\n===\nb\n"),
    ("A\n===\nB\n===\nb\n", Edit("append", "new", section="A"), "A\n===\nnew\n\nB\n===\nb\n"),
    ("A\n===\na\n", Edit("prepend", "new", section="A"), "A\n===\nnew\na\n"),
    ("A\nB\n---\n", Edit("append", "new", section="A B"), "A\nB\n---\nnew\n"),
    ("A\n===\na\n\nB\n===\n", Edit("replace", "new", section="A"), "A\n===\nnew\n\nB\n===\n"),
    ("A\n===\na\n\nB\n===\n", Edit("replace", "A\n===\nnew", section="A"), "A\n===\nnew\n\nB\n===\n"),
    ("A\n===\na\n\nB\n===\n", Edit("delete", section="A"), "B\n===\n"),
    # prepend: right below the heading
    (PLAN, Edit("prepend", "new", section="A"), PLAN.replace("# A\n\n", "# A\nnew\n\n")),
    (PLAN, Edit("prepend", "new", section="C"), PLAN + "new\n"),
    ("# A\na\n", Edit("prepend", "new", section="A"), "# A\nnew\na\n"),
    ("# A\na\n", Edit("prepend", "- new", section="A"), "# A\n- new\n\na\n"),
    ("# A\na\n", Edit("prepend", "new ^id", section="A"), "# A\nnew ^id\n\na\n"),
    ("# A\n- a\n", Edit("prepend", "- new\n  more", section="A"), "# A\n- new\n  more\n- a\n"),
    # replace: what is below the heading, but for the blank lines around
    (PLAN, Edit("replace", "new", section="A1"), PLAN.replace("- x\n- y", "new")),
    (PLAN, Edit("replace", "new", section="A"), PLAN.replace("a\n\n## A1\n\n- x\n- y\n", "new\n")),
    (PLAN, Edit("replace", "\nnew\n\n", section="B"), PLAN.replace("```\n# no heading\n```\n\n\n", "\nnew\n\n")),
    (PLAN, Edit("replace", "new", section="C"), PLAN + "new\n"),
    (PLAN, Edit("replace", "# B\nnew", section="B"), PLAN.replace("```\n# no heading\n```", "new")),
    ("# A\n\na\n\n# B\n", Edit("replace", "# A\n\nnew\n\n", section="A"), "# A\n\nnew\n\n# B\n"),
    ("# A\n\na\n\n# B\n", Edit("replace", "", section="A"), "# A\n\n# B\n"),
    ("# A\n\na\n\n# B\n", Edit("replace", "# A", section="A"), "# A\n\n# B\n"),
    ("# A\n\n\n# B\n", Edit("replace", "new", section="A"), "# A\nnew\n\n\n# B\n"),
    # delete: the heading too, up to the next
    (PLAN, Edit("delete", section="A"), PLAN.replace(PLAN[PLAN.index("# A") : PLAN.index("# B")], "")),
    (PLAN, Edit("delete", section="A1"), PLAN.replace("## A1\n\n- x\n- y\n\n", "")),
    (PLAN, Edit("delete", section="C"), PLAN.removesuffix("# C\n")),
    ("---\nx: y\n---\n# A\n", Edit("delete", section="A"), "---\nx: y\n---\n"),
    # which heading is meant
    ("# a#b\n", Edit("append", "new", section="a#b"), "# a#b\nnew\n"),
    ("# C# and D\n", Edit("append", "new", section="C# and D"), "# C# and D\nnew\n"),
    ("## A\n", Edit("append", "new", section="## A"), "## A\nnew\n"),
    ("# A\n# B\n## C\n# A\n## C\n", Edit("append", "new", section="A#C"), "# A\n# B\n## C\n# A\n## C\nnew\n"),
    ("# A\n## B\n", Edit("append", "new", section="#A#B"), "# A\n## B\nnew\n"),
    ("# A\n## A\n", Edit("prepend", "new", section="A#A"), "# A\n## A\nnew\n"),
    ("# A\na\n# A\nb\n", Edit("append", "new", section="A", occurrence=1), "# A\na\nnew\n# A\nb\n"),
    ("# A\na\n# A\nb\n", Edit("append", "new", section="A", occurrence=2), "# A\na\n# A\nb\nnew\n"),
    ("# A\n", Edit("append", "new", section="A", occurrence=1), "# A\nnew\n"),
]


@pytest.mark.parametrize(("text", "edit", "expected"), SECTIONS, ids=ids(SECTIONS))
def test_a_section_is_edited_below_its_heading(text: str, edit: Edit, expected: str) -> None:
    check(text, edit, expected)


LIST = "- a\n- b ^b\n  more\n  - c ^c\n\n    deep\n- d\n"
BLOCKS = [
    # append and prepend: beside the block, apart from it
    ("a ^x\n", Edit("append", "new", section="^x"), "a ^x\n\nnew\n"),
    ("a ^x\n\nb\n", Edit("append", "new", section="^x"), "a ^x\n\nnew\n\nb\n"),
    ("a ^x\n> b\n", Edit("append", "> new", section="^x"), "a ^x\n> new\n\n> b\n"),
    ("p\n\na\nb ^x\n", Edit("prepend", "new", section="^X"), "p\n\nnew\n\na\nb ^x\n"),
    ("---\nx: y\n---\na ^x\n", Edit("prepend", "new", section="^x"), "---\nx: y\n---\nnew\n\na ^x\n"),
    ("# H\na ^x\n# I\n", Edit("prepend", "new", section="^x"), "# H\nnew\n\na ^x\n# I\n"),
    ("# H\na ^x\n# I\n", Edit("append", "new", section="^x"), "# H\na ^x\n\nnew\n# I\n"),
    ("> q\n\n^x\n\nb\n", Edit("append", "new", section="^x"), "> q\n\n^x\n\nnew\n\nb\n"),
    ("> q ^x\n", Edit("append", "> new", section="^x"), "> q ^x\n>\n> new\n"),
    (LIST, Edit("append", "- new", section="^b"), LIST.replace("- d", "- new\n- d")),
    (LIST, Edit("prepend", "- new", section="^b"), LIST.replace("- b", "- new\n- b")),
    (LIST, Edit("append", "new", section="^b"), LIST.replace("- d", "- new\n- d")),
    (LIST, Edit("prepend", "- new\n  text", section="^c"), LIST.replace("  - c", "  - new\n    text\n  - c")),
    (LIST, Edit("append", "  - new", section="^c"), LIST.replace("- d", "  - new\n- d")),
    # replace: the block's text; its id stays
    ("a\nb ^x\n\nc\n", Edit("replace", "new", section="^x"), "new ^x\n\nc\n"),
    ("a ^x\n", Edit("replace", "new ^x\n", section="^x"), "new ^x\n"),
    ("a ^x\n", Edit("replace", "p\n\nq", section="^x"), "p\n\nq ^x\n"),
    ("a ^x\n", Edit("replace", "```\ncode\n```", section="^x"), "```\ncode\n```\n\n^x\n"),
    ("a ^x\n", Edit("replace", "# new", section="^x"), "# new\n\n^x\n"),
    ("a ^x\n", Edit("replace", "| a |\n|---|\n| b |", section="^x"), "| a |\n|---|\n| b |\n\n^x\n"),
    ("a ^x\n", Edit("replace", "- new\n  - sub", section="^x"), "- new ^x\n  - sub\n"),
    ("a ^x\n", Edit("replace", "* * *", section="^x"), "* * *\n\n^x\n"),
    ("a ^x\n", Edit("replace", "---\nnew\n---", section="^x"), "---\nnew\n---\n\n^x\n"),
    ("> q\n> r ^x\n", Edit("replace", "new\n\nmore", section="^x"), "> new\n>\n> more ^x\n"),
    ("> q\n> ^x\n", Edit("replace", "> new", section="^x"), "> new\n> ^x\n"),
    ("> q\n\n^x\n", Edit("replace", "> new", section="^x"), "> new\n\n^x\n"),
    ("a\n^x\n", Edit("replace", "```\nnew\n```", section="^x"), "```\nnew\n```\n\n^x\n"),
    ("a\n^x\n", Edit("replace", "| a |\n|---|\n| b |", section="^x"), "| a |\n|---|\n| b |\n\n^x\n"),
    ("a\n^x\n", Edit("replace", "new", section="^x"), "new\n^x\n"),
    ("```\na\n```\n\n^x\n", Edit("replace", "new", section="^x"), "new\n\n^x\n"),
    ("^x\n\na\n", Edit("replace", "new", section="^x"), "new ^x\n\na\n"),
    (LIST, Edit("replace", "new", section="^b"), LIST.replace("b ^b\n  more", "new ^b")),
    (LIST, Edit("replace", "- new\n  text", section="^b"), LIST.replace("b ^b\n  more", "new\n  text ^b")),
    (LIST, Edit("replace", "new\ntext", section="^c"), LIST.replace("c ^c\n\n    deep", "new\n    text ^c")),
    (LIST, Edit("replace", "- new", section="^c"), LIST.replace("c ^c\n\n    deep", "new ^c")),
    (LIST, Edit("replace", "  - [ ] new", section="^c"), LIST.replace("c ^c\n\n    deep", "[ ] new ^c")),
    ("- [ ] a ^x\n", Edit("replace", "new", section="^x"), "- [ ] new ^x\n"),
    ("- [ ] a ^x\n", Edit("replace", "- [x] new", section="^x"), "- [x] new ^x\n"),
    ("- [ ] a ^x\n", Edit("replace", "new\nmore", section="^x"), "- [ ] new\n  more ^x\n"),
    ("- a ^x\n", Edit("replace", "- new\n  ```\n  c\n  ```", section="^x"), "- new ^x\n  ```\n  c\n  ```\n"),
    ("12. a ^x\n", Edit("replace", "new\nmore", section="^x"), "12. new\n    more ^x\n"),
    ("- a\n  ^x\n  - b\n", Edit("replace", "new", section="^x"), "- new\n  ^x\n  - b\n"),
    ("- a\n- b\n  - c\n\n^x\n", Edit("replace", "- new", section="^x"), "- new\n\n^x\n"),
    # delete: the block with its id, an item with what is nested in it
    ("p\n\na\nb ^x\n\nc\n", Edit("delete", section="^x"), "p\n\n\nc\n"),
    ("> q\n\n^x\n\nc\n", Edit("delete", section="^x"), "\nc\n"),
    (LIST, Edit("delete", section="^b"), "- a\n- d\n"),
    (LIST, Edit("delete", section="^c"), "- a\n- b ^b\n  more\n- d\n"),
    ("p\n\n- a\n- b\n  - c\n\n^x\n", Edit("delete", section="^x"), "p\n\n"),
    ("* s\n\n- a\n- b\n\n^x\n", Edit("delete", section="^x"), "* s\n\n"),
    ("- s\n\n---\n\n- b\n\n^x\n", Edit("delete", section="^x"), "- s\n\n---\n\n"),
    ("- a ^x\n\n---\n\n  - b\n", Edit("delete", section="^x"), "\n---\n\n  - b\n"),
    ("- a\n- b\n\n  ^x\n", Edit("delete", section="^x"), "- a\n"),
    ("- a\n- b\n^x\n", Edit("delete", section="^x"), "- a\n"),
    ("- a ^x\n\n b\n", Edit("delete", section="^x"), "\n b\n"),
    ("- a ^x\n\n  b\n", Edit("delete", section="^x"), ""),
    ("a ^x\n\nb ^X\n", Edit("delete", section="^x", occurrence=2), "a ^x\n\n"),
]


@pytest.mark.parametrize(("text", "edit", "expected"), BLOCKS, ids=ids(BLOCKS))
def test_a_block_is_edited_as_a_whole_and_keeps_its_id(text: str, edit: Edit, expected: str) -> None:
    check(text, edit, expected)
    if edit.action == "replace":
        assert [found.name for found in parse_note(expected).block_ids].count((edit.section or "")[1:]) == 1


LINES = [
    ("a\nb\nc\n", Edit("append", "new", lines="2"), "a\nb\nnew\nc\n"),
    ("a\nb\nc\n", Edit("append", "new", lines="1-"), "a\nb\nc\nnew\n"),
    ("a\nb\nc\n", Edit("prepend", "new", lines="2-3"), "a\nnew\nb\nc\n"),
    ("a\nb\nc\n", Edit("replace", "new\nnew", lines="1-2"), "new\nnew\nc\n"),
    ("a\nb\nc\n", Edit("replace", "", lines="2"), "a\nc\n"),
    ("a\nb\nc\n", Edit("replace", "\n", lines="2"), "a\n\nc\n"),
    ("a\nb\nc\n", Edit("delete", lines="2-"), "a\n"),
    ("---\nx: y\n---\na\n", Edit("replace", "x: z", lines="2"), "---\nx: z\n---\na\n"),
    ("", Edit("replace", "new", lines="1"), "new"),
]


@pytest.mark.parametrize(("text", "edit", "expected"), LINES, ids=ids(LINES))
def test_lines_are_edited_as_they_stand(text: str, edit: Edit, expected: str) -> None:
    check(text, edit, expected)


TEXTS = [
    ("a one b\n", Edit("append", "!", text="one"), "a one! b\n"),
    ("a one b\n", Edit("prepend", "!", text="one"), "a !one b\n"),
    ("a one b\n", Edit("replace", "two\ntwo", text="one"), "a two\ntwo b\n"),
    ("a one b\n", Edit("replace", "", text=" one"), "a b\n"),
    ("a one b\n", Edit("delete", text="one "), "a b\n"),
    ("a\nb\nc\n", Edit("replace", "x\ny", text="a\nb"), "x\ny\nc\n"),
    ("a\nb\nc\n", Edit("delete", text="\nb"), "a\nc\n"),
    ("a\nb\nc\n", Edit("delete", text="b\r\n"), "a\nc\n"),
    ("a\nb\n", Edit("append", "c\n", text="b\n"), "a\nb\nc\n"),
    (
        "- Copy is late.\n",
        Edit("append", "- Host is slow.", text="- Copy is late."),
        "- Copy is late.\n- Host is slow.\n",
    ),
    ("a\nb\n", Edit("append", "\nx", text="a"), "a\nx\nb\n"),  # with the line end that was needed once
    ("a\nb\n", Edit("append", "\n\nx\n", text="a"), "a\n\nx\nb\n"),
    ("a\nb\n", Edit("append", "\n", text="a"), "a\n\nb\n"),
    ("a\nb\n", Edit("prepend", "x\n\n", text="b"), "a\nx\n\nb\n"),
    ("- a\n\t- b\n", Edit("append", "- c\n- d", text="- b"), "- a\n\t- b\n\t- c\n\t- d\n"),
    ("a\na b\na\n", Edit("append", "x", text="a", every=True), "a\nx\nax b\na\nx\n"),
    ("one one\n", Edit("replace", "x", text="one", every=True), "x x\n"),
    ("aaa\n", Edit("replace", "x", text="aa", every=True), "xa\n"),
    ("aaa\n", Edit("replace", "x", text="aa", occurrence=2), "ax\n"),
    ("---\nx: y\n---\n", Edit("replace", "z", text="y"), "---\nx: z\n---\n"),
]


@pytest.mark.parametrize(("text", "edit", "expected"), TEXTS, ids=ids(TEXTS))
def test_a_text_is_edited_character_by_character(text: str, edit: Edit, expected: str) -> None:
    assert edited(text, edit) == expected
    assert edited(text.replace("\n", CRLF), edit) == expected.replace("\n", CRLF)


UNENDED = [
    ("a\nb", [Edit("append", "x", lines="2")], "a\nb\nx"),
    ("a\nb", [Edit("append", "x\n", lines="2")], "a\nb\nx\n"),
    ("a\nb", [Edit("append", "x"), Edit("append", "y")], "a\nb\nx\ny"),
    ("a\nb", [Edit("append", "x\n"), Edit("append", "y")], "a\nb\nx\ny"),
    ("a\nb", [Edit("replace", "x", lines="2"), Edit("append", "y")], "a\nx\ny"),
    ("a\nb", [Edit("replace", "x\n", lines="2")], "a\nx"),
    ("a\nb", [Edit("replace", "\n", lines="2")], "a\n\n"),
    ("a\nb", [Edit("delete", lines="2")], "a\n"),  # the line end before it is line 1's
    ("a\nb", [Edit("delete", lines="1")], "b"),
    ("# A", [Edit("append", "x", section="A")], "# A\nx"),
    ("# A\na", [Edit("replace", "x", section="A")], "# A\nx"),
    ("a ^x", [Edit("replace", "x", section="^x")], "x ^x"),
    ("---\nx: y\n---", [Edit("prepend", "a"), Edit("append", "b")], "---\nx: y\n---\na\nb"),
]


@pytest.mark.parametrize(("text", "edits", "expected"), UNENDED)
def test_a_text_without_a_final_line_end_gets_none_that_is_not_asked_for(
    text: str, edits: list[Edit], expected: str
) -> None:
    assert edited(text, *edits) == expected


def test_edits_are_aimed_at_the_text_as_it_was() -> None:
    text = "# A\na\n# B\nb one\n"
    edits = [Edit("append", "x\ny", section="A"), Edit("delete", lines="3"), Edit("replace", "two", text="one")]
    assert edited(text, *edits) == "# A\na\nx\ny\nb two\n"
    assert edited(text, *edits[::-1]) == "# A\na\nx\ny\nb two\n"


def test_insertions_at_one_place_come_in_order() -> None:
    edits = [Edit("append", "1", section="A"), Edit("append", "2"), Edit("append", "3", lines="2")]
    assert edited("# A\na\n", *edits) == "# A\na\n1\n2\n3\n"


def test_an_insertion_may_stand_at_either_end_of_a_span_that_changes() -> None:
    edits = [Edit("replace", "B", lines="2"), Edit("append", "y", lines="2"), Edit("prepend", "x", lines="2")]
    assert edited("a\nb\nc\n", *edits) == "a\nx\nB\ny\nc\n"


OVERLAPS = [
    (Edit("replace", "x", section="A"), Edit("delete", lines="3")),
    (Edit("delete", section="A"), Edit("append", "x", section="A1")),
    (Edit("delete", lines="2"), Edit("delete", lines="2")),
    (Edit("replace", "x", text="one two"), Edit("replace", "y", text="two three")),
    (Edit("replace", "x", body=True), Edit("replace", "y", text="two")),
    (Edit("replace", "x", text="one two"), Edit("append", "y", text="one")),
]


@pytest.mark.parametrize("edits", OVERLAPS)
@pytest.mark.parametrize("turned", [False, True])
def test_edits_that_overlap_are_refused_by_name(edits: tuple[Edit, Edit], turned: bool) -> None:
    error = refusal(edited, "# A\none two three\n## A1\na\n# B\n", *(edits[::-1] if turned else edits))
    assert error.code == INVALID_ARGUMENTS
    assert sorted(error.details["edits"]) == [1, 2]
    assert "overlap" in error.message
    for edit in edits:
        assert f"({edit.action} " in error.message


def test_of_several_edits_one_that_is_refused_is_named() -> None:
    error = refusal(edited, "a\n", Edit("append", "x"), Edit("append", "x", section="Z"))
    assert error.code == SECTION_NOT_FOUND
    assert error.message.startswith("Edit 2 of 2: ")
    assert error.details["edit"] == 2


WRONG = [
    (Edit("replace", "x"), "needs a target"),
    (Edit("delete"), "needs a target"),
    (Edit("insert", "x"), "action"),  # type: ignore[arg-type]  # what a schema does not keep out
    (Edit("append", "x", section="A", lines="1"), "section and lines"),
    (Edit("append", "x", text="A", body=True), "text and body"),
    (Edit("append", "x", section=""), "section: it is empty"),
    (Edit("append", "x", lines=" "), "lines: it is empty"),
    (Edit("delete", text=""), "text: it is empty"),
    (Edit("delete", "x", lines="1"), "delete takes none"),
    (Edit("replace", lines="1"), "needs it"),
    (Edit("append", "x", lines="1", occurrence=1), "occurrence"),
    (Edit("append", "x", section="A", occurrence=-1), "occurrence"),
    (Edit("append", "x", section="A", occurrence=2), "has 1 sections"),
    (Edit("append", "x", text="a", occurrence=9), "occurrence"),
    (Edit("append", "x", text="a", occurrence=1, every=True), "occurrence"),
    (Edit("append", "x", section="A", every=True), "every"),
    (Edit("replace", "x", property="p"), "properties"),
    (Edit("append", "x", lines="1-9"), "lines 1 to 2"),
    (Edit("append", "x", lines="0"), "lines 1 to 2"),
    (Edit("append", "x", lines="two"), "expected such as"),
]


@pytest.mark.parametrize(("edit", "fault"), WRONG, ids=[case[1] for case in WRONG])
def test_an_edit_that_makes_no_sense_is_refused(edit: Edit, fault: str) -> None:
    error = refusal(edited, "# A\na\n", edit)
    assert error.code == INVALID_ARGUMENTS
    assert fault in error.message


def test_no_edits_are_refused() -> None:
    assert refusal(edited, "a").code == INVALID_ARGUMENTS


def test_a_block_is_not_left_with_an_id_and_no_text() -> None:
    assert refusal(edited, "a ^x", Edit("replace", " \n", section="^x")).code == INVALID_ARGUMENTS


@pytest.mark.parametrize("action", ["replace", "prepend"])
def test_a_body_is_not_given_a_second_frontmatter(action: str) -> None:
    edit = Edit(action, "---\nx: y\n---\nb", body=True)  # type: ignore[arg-type]
    assert refusal(edited, "---\nx: y\n---\na", edit).code == INVALID_ARGUMENTS


def test_an_edit_of_one_of_several_sections_is_refused_with_all_of_them() -> None:
    text = "# Work\n## Log\na\n# Home\n## Log\nb\n"
    error = refusal(edited, text, Edit("append", "x", section="Log"))
    assert error.code == AMBIGUOUS_TARGET
    assert "1. line 2: 'Work#Log', 2. line 5: 'Home#Log'" in error.message
    assert error.details["lines"] == [2, 5]
    assert section_span(parse_structure(PATH, text), "Log") == (2, 3)  # a reader gets the first


def test_an_edit_of_one_of_several_texts_is_refused_with_all_of_them() -> None:
    error = refusal(edited, "one\r\nno\r\nan onest one\r\n", Edit("delete", text="one"))
    assert error.code == AMBIGUOUS_TARGET
    assert "3 texts 'one': 1. line 1: 'one', 2. line 3: 'an onest one', 3. line 3: 'an onest one'" in error.message


def test_an_edit_of_one_of_several_blocks_is_refused_with_all_of_them() -> None:
    error = refusal(edited, "a ^x\n\nb ^x\n", Edit("delete", section="^x"))
    assert error.code == AMBIGUOUS_TARGET
    assert "1. line 1: 'a ^x', 2. line 3: 'b ^x'" in error.message


def test_of_very_many_matches_the_first_are_named() -> None:
    error = refusal(edited, "a\n" * 500, Edit("delete", text="a"))
    assert "500 texts" in error.message
    assert "and 480 more" in error.message
    assert len(error.message) < 1000


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [("zebra", ""), ("Second  line", "in line 2: 'a second line'"), ("line\nend", "in line 2"), (" ^", "")],
)
def test_a_text_that_is_not_there_is_refused_with_one_that_is_like_it(wanted: str, hint: str) -> None:
    error = refusal(edited, "first\na second line\n end\n", Edit("delete", text=wanted))
    assert error.code == TEXT_NOT_FOUND
    assert hint in error.message
    assert bool(hint) == ("Except for case" in error.message)


def test_headings_and_block_ids_in_code_are_no_targets() -> None:
    text = "```\n# A\na ^x\n```\n"
    assert refusal(edited, text, Edit("delete", section="A")).code == SECTION_NOT_FOUND
    assert refusal(edited, text, Edit("delete", section="^x")).code == SECTION_NOT_FOUND


def test_properties_are_changed_behind_all_else_by_whoever_can() -> None:
    def change(text: str, edit: Edit) -> str:
        return text.replace("x: y", f"{edit.property}: {edit.content}")

    text = "---\nx: y\n---\nx: y\n"
    edits = [Edit("replace", "z", property="p"), Edit("replace", "b", body=True)]
    assert apply_edits(PATH, text, edits, change) == "---\np: z\n---\nb\n"
    error = refusal(apply_edits, PATH, text, [edits[0], Edit("replace", "w: y", lines="2")], change)
    assert error.code == INVALID_ARGUMENTS
    assert error.details["edits"] == [2, 1]


@pytest.mark.parametrize(
    ("diff", "code"),
    [
        ("nothing", INVALID_ARGUMENTS),
        ("@@ @@\n-c\n+d", TEXT_NOT_FOUND),
        ("@@ @@\n-a\n+d", AMBIGUOUS_TARGET),
    ],
)
def test_a_diff_that_does_not_fit_is_refused(diff: str, code: str) -> None:
    assert refusal(apply_diff, PATH, "a\nb\na\n", diff).code == code


def test_a_diff_that_fits_is_applied() -> None:
    assert apply_diff(PATH, "a\r\nb\r\n", "@@ @@\n a\n-b\n+c\n") == "a\r\nc\r\n"


@pytest.mark.parametrize(
    ("subpath", "expected"),
    [("^b", (2, 6)), ("^c", (4, 6)), ("^list", (1, 9)), ("^p", (11, 12))],
)
def test_a_reader_gets_an_item_with_those_nested_in_it_and_a_list_with_its_items(
    subpath: str, expected: tuple[int, int]
) -> None:
    text = LIST + "\n^list\n\np\nq ^p\n"
    assert section_span(parse_structure(PATH, text), subpath, text) == expected


# ---------------------------------------------------------------------- nothing else changes

PIECES = [
    "a",
    "b c",
    "",
    " \t",
    "# H",
    "## H",
    "- x ^i",
    "  - y",
    "> q",
    "^i",
    "```",
    "| t |",
    "|---|",
    "a\rb",
    "é \\",
    "---",
    "* * *",
    "-",
    "<!--",
    "$$",
    "- [ ] t",
    "\t- k ^i",
    "> - [ ] t ^i",
    "| r | ^i",
    "  > ^i",
]
ENDS = ["\n", "\n", "\r\n", "\r\r\n"]
texts = st.builds(
    lambda top, lines, last: top + "".join(line + end for line, end in lines) + last,
    st.sampled_from(["", "---\nx: y\n---\n", "---\r\nx: 'y' # c\r\n---\r\n"]),
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(ENDS)), max_size=12),
    st.sampled_from(["", "end", "\t", "# H", "x ^i"]),
)
contents = st.lists(st.sampled_from([*PIECES, "new"]), max_size=4).map("\n".join)
aims = st.one_of(
    st.fixed_dictionaries({"section": st.sampled_from(["H", "H#H", "^i"]), "occurrence": st.integers(1, 3)}),
    st.tuples(st.integers(1, 8), st.integers(0, 3)).map(lambda each: {"lines": f"{each[0]}-{each[0] + each[1]}"}),
    st.fixed_dictionaries(
        {"text": st.sampled_from(["a", "b c\n", "\n\n", "q", "x ^i\n  - y"]), "occurrence": st.integers(1, 3)}
    ),
    st.just({"body": True}),
)
edits = st.builds(
    lambda action, content, aim: Edit(action, None if action == "delete" else content, **aim),
    st.sampled_from(["append", "prepend", "replace", "delete"]),
    contents,
    aims,
)


def outcome(text: str, *several: Edit) -> str | None:
    """Return what becomes of the text, None if the edits are refused."""
    try:
        return edited(text, *several)
    except VaultError:
        return None


@given(texts, edits)
def test_an_edit_means_the_same_in_every_file_of_the_same_plain_text(text: str, edit: Edit) -> None:
    result = outcome(text, edit)
    plain = outcome(to_plain(text), edit)
    assert (result is None) == (plain is None)
    if result is not None:
        assert to_plain(result) == plain


@st.composite
def files_of_unlike_lines(draw: st.DrawFn) -> tuple[str, str, list[str]]:
    """A file's text, its frontmatter, and its other lines: each told from all others by the blanks at its end."""
    top = draw(st.sampled_from(["", "---\nx: y\n---\n", "---\r\nx: 'y' # c\r\n---\r\n"]))
    lines = [
        piece + format(number, "b").replace("0", " ").replace("1", "\t") + end
        for number, (piece, end) in enumerate(
            draw(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(ENDS)), max_size=12)), 1
        )
    ]
    return top + "".join(lines) + draw(st.sampled_from(["", "end"])), top, lines


@given(files_of_unlike_lines(), edits)
def test_what_is_outside_an_edit_is_the_same_characters(file: tuple[str, str, list[str]], edit: Edit) -> None:
    text, top, lines = file
    result = outcome(text, edit)
    if result is None:
        return
    if not edit.lines:
        assert result.startswith(top)
    bare = [line.rstrip("\r") for line in result.split("\n")]
    kept = [line for line in lines if line.rstrip("\r\n") in bare]
    position = 0
    for line in kept:  # in order, with the line ends they had
        position = result.index(line, position) + len(line)
    if edit.action in ("append", "prepend") and edit.text is None:
        assert kept == lines


@given(texts, contents)
def test_whole_lines_that_are_put_in_have_the_line_end_of_the_note(text: str, content: str) -> None:
    result = edited(text, Edit("prepend", content + "\nnew"))
    added = result.split("\n")[to_plain(result).split("\n").index("new")]
    assert added == ("new\r" if line_end(text) == "\r\n" else "new")


@given(texts, contents)
def test_lines_are_added_to_the_body_as_to_a_whole_note(text: str, content: str) -> None:
    assert edited(text, Edit("append", content)) == append(text, content)
    if not content.startswith("---"):
        assert edited(text, Edit("prepend", content)) == prepend(text, content)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["append", "prepend", "replace", "delete"]))
    ),
    st.randoms(use_true_random=False),
)
def test_several_edits_are_made_wherever_they_stand_in_the_list(
    spans: list[tuple[int, int, str]], random: Random
) -> None:
    """Lines ``gap`` behind the span before, ``length`` of them, what to do with them: as a plain list of lines does it."""
    expected: list[str] = []
    several: list[Edit] = []
    line = 1
    for gap, length, action in spans:
        expected += map(str, range(line, line + gap))
        line += gap
        old, new = [str(number) for number in range(line, line + length)], [f"new {line}"]
        several.append(
            Edit(action, None if action == "delete" else new[0], lines=f"{line}-{line + length - 1}")  # type: ignore[arg-type]
        )
        expected += {"append": old + new, "prepend": new + old, "replace": new, "delete": []}[action]
        line += length
    expected.append("end")
    text = "".join(f"{number}\n" for number in range(1, line)) + "end\n"
    # Between two spans that touch, an append and a prepend meet at one place: there the list's order counts.
    if all(gap for gap, _, _ in spans):
        random.shuffle(several)
    assert edited(text, *several, Edit("append", "")) == "".join(line + "\n" for line in expected)


@given(texts)
def test_replacing_a_section_with_what_it_says_changes_nothing(text: str) -> None:
    if outcome(text, Edit("append", "", section="H", occurrence=1)) is None:
        return
    found = section_span(parse_structure(PATH, to_plain(text)), "H")
    lines = to_plain(text).split("\n")[found.first - 1 : found.last]
    again = Edit("replace", "\n".join(lines) + "\n", section="H", occurrence=1)
    assert edited(text, again) == text


def test_sections_of_one_name_are_told_apart_by_the_headings_above_them() -> None:
    text = "# A\n## Plan\n## Other\n# B\n## Plan"
    error = refusal(edited, text, Edit("append", "x", section="Plan"))
    assert error.code == AMBIGUOUS_TARGET
    assert "1. line 2: 'A#Plan', 2. line 5: 'B#Plan'" in error.message


def test_texts_put_in_one_place_stand_in_the_order_in_which_they_are_given() -> None:
    edits = [Edit("append", "second in the alphabet", section="A"), Edit("append", "first", section="A")]
    assert edited("# A\nx\n# B\n", *edits) == "# A\nx\nsecond in the alphabet\nfirst\n# B\n"


NEAR = "# Plan\n\nCall Anna about the website relaunch.\n- buy seeds\n- order a basket\n"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Call Ana about the websiet relaunch", " The nearest is line 3: 'Call Anna about the website relaunch.'."),
        ("- buy seeds\n- order the basket", " The nearest to '- order the basket' is line 5: '- order a basket'."),
        ("# Plan\n- buy seeds", " Each of its lines is there, but they do not follow each other so."),
        ("Cll Anna abuot the site", " The nearest is line 3: 'Call Anna about the website relaunch.'."),
        ("quarterly tax return", ""),
        ("\n\n\n", ""),
    ],
)
def test_a_text_that_is_not_there_is_told_with_the_nearest_line(text: str, hint: str) -> None:
    error = refusal(edited, NEAR, Edit("replace", "x", text=text))
    assert error.code == TEXT_NOT_FOUND
    assert error.message.endswith(f"has no text {text!r}.{hint}")


def test_of_a_long_line_the_part_is_shown_that_is_like_the_text() -> None:
    line = (
        "water the garden and feed the cat " * 10
        + "then call Anna about the relaunch of the site "
        + "and rest a bit " * 10
    )
    message = refusal(edited, f"one\n{line}\n", Edit("delete", text="call Ana about the relanch")).message
    assert "The nearest is line 2: '…" in message
    assert "call Anna about the relaunch of the site" in message
    assert len(message) < 200


def test_the_nearest_line_is_sought_in_a_bounded_part_of_a_note() -> None:
    class Lines:
        read = 0

        def __iter__(self) -> Iterator[str]:
            while True:
                self.read += 1
                yield "word " * 20

    lines = Lines()
    assert nearest("something else", lines) == []
    assert lines.read < 2_000


@given(
    st.lists(st.sampled_from(["- a", "\t- b", "  c", "d e", "", "# f", "> g  "]), min_size=1, max_size=5),
    st.integers(0, 4),
    st.integers(0, 2),
    st.sampled_from([("", ""), ("\n", ""), ("", "\n")]),
    st.sampled_from(["append", "prepend"]),
    st.sampled_from(["new", "new\n", "new\nlines", "- new"]),
)
def test_what_is_added_beside_whole_lines_is_lines(
    lines: list[str], first: int, more: int, ends: tuple[str, str], action: Action, content: str
) -> None:
    """Every run of lines of a note, with or without the line ends around it."""
    body = [f"{line}{number}" for number, line in enumerate(lines)]  # each is there once
    chosen = body[first : first + 1 + more]
    assume(chosen)
    around = (ends[0] if first else "", ends[1])
    notices: list[str] = []
    edit = Edit(action, content, text=around[0] + "\n".join(chosen) + around[1])
    result = apply_edits(PATH, "\n".join(body) + "\n", [edit], notices=notices)
    at = first + len(chosen) if action == "append" else first
    assert result.split("\n") == [*body[:at], *content.removesuffix("\n").split("\n"), *body[at:], ""]
    assert notices == ["Added on a line of its own."]


def test_what_is_added_within_a_line_is_told_so() -> None:
    notices: list[str] = []
    edits = [Edit("append", "!", text="one"), Edit("prepend", "x", text="b", every=True)]
    assert apply_edits(PATH, "one two\nb\nab\n", edits, notices=notices) == "one! two\nx\nb\naxb\n"
    assert notices == [
        "Added within the line, right after the text.",
        "Added on a line of its own and within the line, right before the text.",
    ]
