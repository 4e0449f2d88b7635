"""Templates: what their variables become, which template a name means, and what a note is with one in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.vaults import write_vault
from vaultwire.markdown import edits
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    PATH_OUTSIDE_VAULT,
    SECTION_NOT_FOUND,
    VaultError,
)
from vaultwire.vault.plans.creating import below, fill, find_template, insert, with_content
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

NOW = datetime(2024, 1, 5, 21, 7, 3, tzinfo=UTC)
NOTE = VaultPath("Note.md")

FILLED = [
    # a template, and what it becomes in the note "Trip" on January 5th, 2024, at 21:07:03
    ("# {{title}}", "# Trip"),
    ("{{date}} {{time}}", "2024-01-05 21:07"),
    ("{{date:YYYY}}/{{date:MMMM Do}}", "2024/January 5th"),
    ("{{time:h:mm:ss A}}", "9:07:03 PM"),
    ("{{time:YYYY-MM-DD}} {{date:HH:mm}}", "2024-01-05 21:07"),
    ("{{date:[Week] ww, dddd}}", "Week 01, Friday"),
    ("{{date:X}}", "1704488823"),
    ("{{Title}} {{DATE}} {{Time:HH}}", "Trip 2024-01-05 21"),
    ("{{date:}}", "2024-01-05"),
    ('date: "{{date}}"', 'date: "2024-01-05"'),
    ("{{{title}}}", "{Trip}"),
    # no variables
    ("{{ title }} {{date :YYYY}} {{ time}}", "{{ title }} {{date :YYYY}} {{ time}}"),
    ("{{title:x}} {{titles}} {{date+1d}} {{yesterday}}", "{{title:x}} {{titles}} {{date+1d}} {{yesterday}}"),
    ("{title} {{title} {{date:YYYY\n}}", "{title} {{title} {{date:YYYY\n}}"),
    ("<% tp.file.title %> {{}}", "<% tp.file.title %> {{}}"),
    ("", ""),
]


@pytest.mark.parametrize(("template", "text"), FILLED)
def test_a_templates_variables_are_filled_in(template: str, text: str) -> None:
    assert fill(template, "Trip", NOW, Settings()) == text


def test_the_settings_formats_are_those_of_date_and_time() -> None:
    settings = Settings(template_date_format="D.M.YYYY", template_time_format="h A")
    assert fill("{{date}} {{time}} {{date:YY}}", "Trip", NOW, settings) == "5.1.2024 9 PM 24"


def test_what_is_filled_in_is_not_looked_at_again() -> None:
    assert fill("{{title}} {{date}}", "{{date}} \\1", NOW, Settings()) == "{{date}} \\1 2024-01-05"


PIECES = st.lists(
    st.text(max_size=12) | st.sampled_from(["{{title}}", "{{date}}", "{{", "}}", "{{date:", "\r\n", "\ufeff", "\t "]),
    max_size=12,
).map("".join)


@given(text=PIECES)
def test_filling_leaves_every_other_character_as_it_was(text: str) -> None:
    filled = fill(text, "\0", NOW, Settings(template_date_format="[\0]", template_time_format="[\0]"))
    kept = re.split(r"(?i)\{\{(?:title|(?:date|time)(?::[^{}\r\n]*)?)\}\}", text)
    position = 0
    for part in kept:
        found = filled.find(part, position)
        assert found >= position
        position = found + len(part)
    if "{{" not in text:
        assert filled == text


# ---------------------------------------------------------------------- into a note

INSERTED: list[tuple[str, str, Callable[[str, str], str], str]] = [
    # a note, a template, where, and the note with the template in it
    ("one\n", "two\n", edits.append, "one\ntwo\n"),
    ("one", "two", edits.append, "one\ntwo"),
    ("one\r\n", "two\nthree", edits.append, "one\r\ntwo\r\nthree\r\n"),
    ("one\n", "two\r\n", edits.append, "one\ntwo\n"),
    ("---\na: 1\n---\none\n", "two\n", edits.prepend, "---\na: 1\n---\ntwo\none\n"),
    ("", "---\na: 1 # why\n---\nbody\n", edits.append, "---\na: 1 # why\n---\nbody\n"),
    ("one\n", "---\na: 'x'\n---\nbody\n", edits.append, "---\na: 'x'\n---\none\nbody\n"),
    ("one\n", "---\na: 'x'\n---\nbody\n", edits.prepend, "---\na: 'x'\n---\nbody\none\n"),
    ("one\r\n", "---\na: 1\n---\n", edits.append, "---\r\na: 1\r\n---\r\none\r\n"),
    ("one\n", "---\n---\n---\nrule\n", edits.prepend, "---\nrule\none\n"),
    ("---\na: 1\n---\none\n", "---\na: 2\n---\ntwo\n", edits.append, "---\na: 1\n---\none\ntwo\n"),
    ("---\nA: 1\n---\n", "---\na: 2\n---\n", edits.append, "---\nA: 1\n---\n"),
    ("---\ntags: [x, y]\n---\n", "---\ntags: [y]\n---\n", edits.append, "---\ntags: [x, y]\n---\n"),
    ("---\ntags: x\n---\n", "---\ntags: [y]\n---\n", edits.append, "---\ntags: x\n---\n"),  # a text is no list
    ("---\na: 1\n---\n", "---\na:\n---\n", edits.append, "---\na: 1\n---\n"),
]


@pytest.mark.parametrize(("note", "template", "place", "text"), INSERTED)
def test_a_template_goes_into_a_note(note: str, template: str, place: Callable[[str, str], str], text: str) -> None:
    assert insert(note, template, place) == text


MERGED = [
    # the note's properties, the template's, and those of both
    ("tags: [draft]", "category: test\ntags: [test]", {"tags": ["draft", "test"], "category": "test"}),
    ("tags:\n  - a\n  - b", "tags:\n  - b\n  - c", {"tags": ["a", "b", "c"]}),
    ("aliases: [N]", "aliases: [M]", {"aliases": ["N", "M"]}),
    ("Status: done", "status: open\ndue: 2024-01-05", {"Status": "done", "due": "2024-01-05"}),
    ("due:", "due: 2024-01-05", {"due": "2024-01-05"}),
    ("a: 1", "topic:", {"a": 1, "topic": None}),
    ("a: 1", "b: true\nc: 2.5", {"a": 1, "b": True, "c": 2.5}),
]


@pytest.mark.parametrize(("own", "brought", "both"), MERGED)
def test_inserting_merges_properties_and_the_notes_own_stay(own: str, brought: str, both: dict[str, object]) -> None:
    text = insert(f"---\n{own}\n---\nbody\n", f"---\n{brought}\n---\nmore\n")
    assert parse_frontmatter(text).values == both
    assert text.endswith("---\nbody\nmore\n")


def test_a_template_whose_properties_cannot_be_read_is_refused() -> None:
    with pytest.raises(VaultError) as caught:
        insert("---\na: 1\n---\n", "---\na: [\n---\n")
    assert caught.value.code == INVALID_ARGUMENTS
    assert "template" in caught.value.message


def test_a_note_whose_properties_are_broken_is_left_alone() -> None:
    with pytest.raises(VaultError) as caught:
        insert("---\na: [\n---\n", "---\nb: 1\n---\n")
    assert caught.value.code == INVALID_ARGUMENTS


BELOW = [
    # a note, a heading, and the note with "- new" below it
    ("## Log\n- old\n", "Log", "## Log\n- old\n- new\n"),
    ("## Log\n- old", "Log", "## Log\n- old\n- new"),
    ("## Log\n\n## Next\n", "Log", "## Log\n- new\n\n## Next\n"),
    ("## Log\n- old\n\n\n## Next\ntext\n", "log", "## Log\n- old\n- new\n\n\n## Next\ntext\n"),
    ("## Log\r\n- old\r\n\r\n## Next\r\n", "Log", "## Log\r\n- old\r\n- new\r\n\r\n## Next\r\n"),
    ("## Log\n### Sub\n- old\n## Next\n", "Log", "## Log\n### Sub\n- old\n- new\n## Next\n"),
    ("# A\n## Log\n# B\n## Log\n", "B#Log", "# A\n## Log\n# B\n## Log\n- new\n"),
    ("## Log\n- old  \n", "## Log", "## Log\n- old  \n- new\n"),
    ("---\na: 1\n---\n## Log\n", "Log", "---\na: 1\n---\n## Log\n- new\n"),
    ("```\n## Log\n```\n", "Log", "```\n## Log\n```\n\n## Log\n- new\n"),
    ("text\n", "Log", "text\n\n## Log\n- new\n"),
    ("text", "Log", "text\n\n## Log\n- new"),
    ("text\n\n", "### Log", "text\n\n### Log\n- new\n"),
    ("text\r\n", "Log", "text\r\n\r\n## Log\r\n- new\r\n"),
    ("", "Log", "## Log\n- new\n"),
]


@pytest.mark.parametrize(("note", "heading", "text"), BELOW)
def test_lines_go_to_the_end_of_a_headings_section_which_is_made_if_missing(note: str, heading: str, text: str) -> None:
    assert below(heading, NOTE)(note, "- new") == text


@given(note=st.text(alphabet="# Log\n\r-`x", max_size=40), heading=st.sampled_from(["Log", "x", "L#x"]))
def test_adding_below_a_heading_leaves_every_other_character(note: str, heading: str) -> None:
    try:
        text = below(heading, NOTE)(note, "\0")
    except VaultError:  # a chain that is not there
        assume(False)
    head, _, tail = text.partition("\0")
    kept = tail.removeprefix("\r\n") if tail.startswith("\r\n") else tail.removeprefix("\n")
    assert note.endswith(kept)
    assert head.startswith(note[: len(note) - len(kept)].removesuffix("\n").removesuffix("\r"))


@pytest.mark.parametrize(
    ("heading", "code"),
    [
        ("A#B", SECTION_NOT_FOUND),
        ("^block", SECTION_NOT_FOUND),
        ("a\nb", INVALID_ARGUMENTS),
        ("## ", INVALID_ARGUMENTS),
    ],
)
def test_what_cannot_be_made_as_a_heading_is_refused(heading: str, code: str) -> None:
    with pytest.raises(VaultError) as caught:
        below(heading, NOTE)("text\n", "new")
    assert caught.value.code == code


def test_nothing_to_add_makes_no_heading() -> None:
    assert below("Log", NOTE)("text\n", "") == "text\n"


# ---------------------------------------------------------------------- found by name

TEMPLATES = """
=== Meta/Templates/Meeting.md
=== Meta/Templates/Work/Meeting.md
=== Meta/Templates/Work/Review.md
=== Meta/Templates/A/Same.md
=== Meta/Templates/B/Same.md
=== Notes/Other.md
"""


@pytest.mark.parametrize("folder", ["Meta/Templates", "/Meta/Templates/", "meta\\templates"])
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Meeting", "Meta/Templates/Meeting.md"),
        ("meeting.md", "Meta/Templates/Meeting.md"),
        ("Work/Meeting", "Meta/Templates/Work/Meeting.md"),
        ("Review", "Meta/Templates/Work/Review.md"),
        ("Meta/Templates/Work/Meeting.md", "Meta/Templates/Work/Meeting.md"),
        ("[[Review]]", "Meta/Templates/Work/Review.md"),
    ],
)
def test_a_template_is_found_by_its_name_in_the_folder(tmp_path: Path, folder: str, name: str, path: str) -> None:
    files = Files(str(write_vault(tmp_path, TEMPLATES)), 1000)
    assert find_template(files, Settings(template_folder=folder), name) == path


@pytest.mark.parametrize(
    ("folder", "name", "code", "told"),
    [
        ("Meta/Templates", "Other", FILE_NOT_FOUND, "There are: Meeting, A/Same, B/Same, Work/Meeting, Work/Review."),
        ("Meta/Templates", "Notes/Other", FILE_NOT_FOUND, "Work/Review"),
        ("Meta/Templates", "Same", AMBIGUOUS_NAME, "Meta/Templates/A/Same.md"),
        ("Meta/Templates", "../../Notes/Other", PATH_OUTSIDE_VAULT, "'..'"),
        ("Gone", "Meeting", FILE_NOT_FOUND, "There are none"),
        ("../Out", "Meeting", PATH_OUTSIDE_VAULT, "Template folder location"),
        ("", "Meeting", FILE_NOT_FOUND, "no template folder"),
    ],
)
def test_what_is_no_template_is_told_with_those_there_are(
    tmp_path: Path, folder: str, name: str, code: str, told: str
) -> None:
    files = Files(str(write_vault(tmp_path, TEMPLATES)), 1000)
    with pytest.raises(VaultError) as caught:
        find_template(files, Settings(template_folder=folder), name)
    assert caught.value.code == code
    assert told in caught.value.message


@pytest.mark.parametrize("folder", ["", "/"])
@pytest.mark.parametrize("name", ["Notes/Other", "notes/other.md", "[[Notes/Other]]"])
def test_without_a_folder_any_notes_path_is_a_templates(tmp_path: Path, folder: str, name: str) -> None:
    files = Files(str(write_vault(tmp_path, TEMPLATES)), 1000)
    assert find_template(files, Settings(template_folder=folder), name) == "Notes/Other.md"


OVER = [
    # a template, a new note's content, and the note: the template's lines stay, what is given is set or added
    (
        "---\n# far\nstatus: open # of 3\nabout: >-\n  two\nver: 1.20\n\ntags: ['a']\n---\n# T\n",
        '---\nstatus: done\ntags: [b]\nzip: "01234"\n---\nbody\n',
        "---\n# far\nstatus: done # of 3\nabout: >-\n  two\nver: 1.20\n\ntags: ['a', 'b']\nzip: \"01234\"\n---\n# T\nbody\n",
    ),
    (
        "---\na: 1\n---\nT\n",
        "---\n# why\nb: |\n  x\n  y\n# no\nc: [1.20, 'd']\n---\n",
        "---\na: 1\n# why\nb: |\n  x\n  y\n# no\nc: [1.20, 'd']\n---\nT\n",
    ),
    ("---\na: 1\n---\n", "---\na: 2.50\nb:\n---\n", "---\na: 2.50\nb:\n---\n"),
    ("---\na: 1\n---\n", "---\na:\n---\n", "---\na: 1\n---\n"),
    ("---\r\na: 1 # x\r\n---\r\n", "---\nb: 2 # y\n---\n", "---\r\na: 1 # x\r\nb: 2 # y\r\n---\r\n"),
    ("T\n", "---\na: 1 # x\n---\nbody\n", "---\na: 1 # x\n---\nT\nbody\n"),
    ("", "---\na: 1 # x\n---\n", "---\na: 1 # x\n---\n"),
    ("---\na: 1\n---\n", "body", "---\na: 1\n---\nbody\n"),
    ("---\na: 1\n---\n", "---\nb: &x [1]\nc: *x\n---\n", "---\na: 1\nb: &x [1]\nc: *x\n---\n"),
    ("---\nb: 0\n---\n", "---\nb: &x 1\nc: *x\n---\n", "---\nb: 1\nc: 1\n---\n"),
]


@pytest.mark.parametrize(("template", "content", "note"), OVER)
def test_a_new_notes_properties_change_no_other_line_of_its_template(template: str, content: str, note: str) -> None:
    assert with_content(template, content) == note


@given(
    st.lists(
        st.sampled_from(["# c", "b: >-\n  x\n  y", 'd: "01"', "e: [f, 'g']", "h: 1.50 # i", "", "j:"]), unique=True
    )
)
def test_every_line_of_a_template_stays_in_its_place_when_properties_are_given(lines: list[str]) -> None:
    template = "".join(line + "\n" for line in ["---", *lines, "z: 0", "---", "T"])
    added = "---\nk: 'l' # m\n---\n"
    assert with_content(template, added) == template.replace("z: 0\n", "z: 0\nk: 'l' # m\n")
    assert insert(added, template).startswith("---\nk: 'l' # m\n")
    assert all(line in insert(added, template) for line in lines if line != "# c")


@pytest.mark.parametrize(
    ("template", "content"), [("---\na: [\n---\n", "---\nb: 1\n---\n"), ("---\na: 1\n---\n", "---\nb: [\n---\n")]
)
def test_properties_that_cannot_be_read_are_not_put_together(template: str, content: str) -> None:
    with pytest.raises(VaultError, match=r"The (template|content)'s properties cannot be read"):
        with_content(template, content)
