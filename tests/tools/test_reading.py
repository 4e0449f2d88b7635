"""Reading notes: parts, sections, blocks, lines, long ones, several. Who has read a part gets an etag that says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.calls import load_tools
from support.schemas import hold_to
from support.vaults import open_vault, write_vault
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.toolkit.registry import Failure, Outcome, invoke
from vaultwire.vault.value_types import NO_PROGRESS

NOTE = """=== Plan.md
---
tags: [plan]
---
# Spring: sowing!
Beans.
## Tools
A spade. ^spade

- rake ^rake
- hoe
## Tools
A second section of that name.
# Autumn
## Tools
A basket.
"""
TOOLS = {tool.name: tool for tool in load_tools()}
DESCRIPTIONS = {description["name"]: description for description in load_catalog()}
DESCRIPTION = DESCRIPTIONS["read_note"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, NOTE)


def invoked(root: Path, **arguments: Any) -> Outcome[Any] | Failure:
    return invoke(TOOLS["read_note"], DESCRIPTION, arguments, open_vault(root), NO_PROGRESS)


def read(root: Path, **arguments: Any) -> dict[str, Any]:
    """Return the data of a successful read; it fits the tool's schema."""
    outcome = invoked(root, **arguments)
    assert isinstance(outcome, Outcome), outcome
    hold_to(outcome.data, DESCRIPTION["outputSchema"])
    data: dict[str, Any] = outcome.data
    return data


def test_the_whole_note_comes_with_its_etag_and_extent(root: Path) -> None:
    data = read(root, path="Plan")
    assert data["content"] == NOTE.partition("\n")[2]
    assert (data["first_line"], data["last_line"], data["total_lines"]) == (1, 15, 15)
    assert data["etag"]


@pytest.mark.parametrize(
    ("section", "first", "last"),
    [
        ("Autumn", 13, 15),
        ("autumn", 13, 15),
        ("Spring sowing", 4, 12),  # punctuation counts as spaces
        ("#Tools", 6, 10),  # the first of that name
        ("Autumn#Tools", 14, 15),
        ("^spade", 7, 7),
        ("^RAKE", 9, 9),
    ],
)
def test_a_section_is_read_with_its_heading_and_what_is_below(root: Path, section: str, first: int, last: int) -> None:
    data = read(root, path="Plan", section=section)
    assert (data["first_line"], data["last_line"]) == (first, last)
    assert data["content"] == "".join(line + "\n" for line in NOTE.split("\n")[first : last + 1])
    assert data["etag"].endswith("-part")


@pytest.mark.parametrize(("lines", "first", "last"), [("4-5", 4, 5), ("14-", 14, 15), ("5", 5, 5), ("15-99", 15, 15)])
def test_lines_are_read_as_asked(root: Path, lines: str, first: int, last: int) -> None:
    data = read(root, path="Plan", lines=lines)
    assert (data["first_line"], data["last_line"], data["total_lines"]) == (first, last, 15)
    assert data["etag"].endswith("-part")


@pytest.mark.parametrize("lines", ["0", "5-4", "16", "x", "-3", "1-2-3", "1,2"])
def test_a_range_that_is_none_is_refused(root: Path, lines: str) -> None:
    outcome = invoked(root, path="Plan", lines=lines)
    assert isinstance(outcome, Failure)
    assert outcome.code == "INVALID_ARGUMENTS"
    assert repr(lines) in outcome.message


@pytest.mark.parametrize(
    ("section", "hint"), [("Winter", "'Autumn'"), ("Autumn#Beans", "'Autumn'"), ("^nail", "^spade, ^rake")]
)
def test_a_section_that_is_not_there_is_refused_with_those_that_are(root: Path, section: str, hint: str) -> None:
    outcome = invoked(root, path="Plan", section=section)
    assert isinstance(outcome, Failure)
    assert outcome.code == "SECTION_NOT_FOUND"
    assert hint in outcome.message


def test_section_and_lines_together_are_refused(root: Path) -> None:
    outcome = invoked(root, path="Plan", section="Autumn", lines="1-2")
    assert isinstance(outcome, Failure)
    assert outcome.code == "INVALID_ARGUMENTS"


def test_a_long_note_is_read_piece_by_piece_and_nothing_is_missed(tmp_path: Path) -> None:
    text = "".join(f"line {number} of many\n" for number in range(1, 501))
    root = write_vault(tmp_path, f"=== Long.md\n{text}")
    pieces = []
    lines = "1-"
    while True:
        outcome = invoked(root, path="Long", lines=lines, max_tokens=750)
        assert isinstance(outcome, Outcome)
        pieces.append(outcome.data["content"])
        assert len(pieces[-1].encode()) <= 3000
        if outcome.data["last_line"] == 500:
            break
        lines = f"{outcome.data['last_line'] + 1}-500"
        assert f"read on with lines '{lines}'" in outcome.texts[-1]
    assert "".join(pieces) == text
    assert len(pieces) > 2


def test_the_etag_of_a_note_that_is_cut_says_so(tmp_path: Path) -> None:
    data = read(write_vault(tmp_path, "=== Long.md\n" + "word " * 1000), path="Long", max_tokens=250)
    assert len(data["content"]) == 1000
    assert data["etag"].endswith("-part")


@pytest.mark.parametrize("letter", ["a", "é", "界", "\U0001f600"])
def test_a_note_is_cut_by_its_tokens_in_every_script(tmp_path: Path, letter: str) -> None:
    root = write_vault(tmp_path, "=== Long.md\n" + (letter * 99 + "\n") * 2000)
    for tokens in (250, 251, 999, 12_500):
        content = read(root, path="Long", max_tokens=tokens)["content"]
        line = len(letter.encode()) * 99 + 1
        assert tokens * 4 - line < len(content.encode()) <= tokens * 4
        assert content.endswith("\n")
    assert read(root, path="Long")["content"] == content


def test_a_cut_inside_a_line_is_said(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "=== Long.md\n" + "x" * 5000 + "\nend\n")
    outcome = invoked(root, path="Long", max_tokens=250)
    assert isinstance(outcome, Outcome)
    assert "Cut inside line 1 at 250 tokens" in outcome.texts[-1]


def test_a_note_without_a_line_end_at_its_end_is_read_whole_by_its_lines(tmp_path: Path) -> None:
    data = read(write_vault(tmp_path, "=== A.md\none\ntwo"), path="A", lines="1-2")
    assert data["content"] == "one\ntwo"
    assert data["etag"]


# ---------------------------------------------------------------------- outline and frontmatter


def test_the_outline_of_a_note_is_its_headings_with_their_lines(root: Path) -> None:
    data = read(root, path="Plan", part="outline")
    assert data["content"].splitlines() == [
        "# Spring: sowing!  (4-12)",
        "## Tools  (6-10)",
        "## Tools  (11-12)",
        "# Autumn  (13-15)",
        "## Tools  (14-15)",
    ]
    assert data["total_lines"] == 15
    assert not {"first_line", "last_line"} & set(data)


def test_the_frontmatter_of_a_note_is_read_as_written(root: Path) -> None:
    data = read(root, path="Plan", part="frontmatter")
    assert data["content"] == "---\ntags: [plan]\n---\n"
    assert (data["first_line"], data["last_line"]) == (1, 3)
    assert data["etag"].endswith("-part")


def test_a_part_that_is_not_there_is_said(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "=== A.md\ntext\n")
    for part, words in (("outline", "has no headings"), ("frontmatter", "has no frontmatter")):
        outcome = invoked(root, path="A", part=part)
        assert isinstance(outcome, Outcome)
        assert words in outcome.texts[0]
        assert outcome.data["content"] == ""
        assert outcome.data["etag"].endswith("-part")


def test_a_long_outline_is_cut_between_headings(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "=== A.md\n" + "# A heading\n" * 500)
    outcome = invoked(root, path="A", part="outline", max_tokens=250)
    assert isinstance(outcome, Outcome)
    assert len(outcome.data["content"]) <= 1000
    assert outcome.data["content"].endswith(")\n")
    assert "Cut at 250 tokens" in outcome.texts[-1]


@pytest.mark.parametrize("part", ["outline", "frontmatter"])
@pytest.mark.parametrize("other", [{"section": "Autumn"}, {"lines": "1-2"}, {"section": "Autumn", "lines": "1-2"}])
def test_a_part_and_a_section_or_lines_are_refused(root: Path, part: str, other: dict[str, str]) -> None:
    outcome = invoked(root, path="Plan", part=part, **other)
    assert isinstance(outcome, Failure)
    assert outcome.code == "INVALID_ARGUMENTS"
    assert f"part {part!r}" in outcome.message


def test_a_megabyte_is_not_handed_out_unasked(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "=== Long.md\n" + "a line of it\n" * 80_000)
    outcome = invoked(root, path="Long")
    assert isinstance(outcome, Outcome)
    assert sum(map(len, outcome.texts)) < 51_000
    assert f"read on with lines '{outcome.data['last_line'] + 1}-80000'" in outcome.texts[-1]
    assert len(read(root, path="Long", max_tokens=2_500_000)["content"]) == 80_000 * 13


# ---------------------------------------------------------------------- several at once


def read_several(root: Path, *paths: str, **arguments: Any) -> tuple[list[str], dict[str, Any]]:
    """Return texts and data of a reading of several notes; the data fits the tool's schema."""
    given = {"paths": list(paths), **arguments}
    outcome = invoke(TOOLS["read_notes"], DESCRIPTIONS["read_notes"], given, open_vault(root), NO_PROGRESS)
    assert isinstance(outcome, Outcome), outcome
    hold_to(outcome.data, DESCRIPTIONS["read_notes"]["outputSchema"])
    return outcome.texts, outcome.data


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """Return a vault of notes of 100, 900 and 5000 characters, and two of one name."""
    sizes = {"Short": 100, "Middle": 900, "Long": 5000}
    notes = "".join(f"=== {name}.md\n" + "123456789\n" * (size // 10) for name, size in sizes.items())
    return write_vault(tmp_path, notes + "=== a/Twice.md\n=== b/Twice.md\n")


def test_several_notes_come_in_the_order_asked_for_each_with_its_etag(shelf: Path) -> None:
    texts, data = read_several(shelf, "[[Middle]]", "Short.md")
    assert [note["path"] for note in data["notes"]] == ["Middle.md", "Short.md"]
    assert [note["etag"] for note in data["notes"]] == [
        open_vault(shelf).read(name).etag for name in ("Middle", "Short")
    ]
    assert (data["read"], data["cut"]) == (2, 0)
    assert texts[0] == "2 of 2 notes read."
    assert texts[1].startswith("(Middle.md, 900 bytes, etag ")
    assert texts[1].endswith("123456789\n")


def test_one_that_cannot_be_read_is_said_in_its_place_and_stops_no_other(shelf: Path) -> None:
    texts, data = read_several(shelf, "Nobody", "Short", "Twice", "../out", "Middle")
    assert [note.get("error") for note in data["notes"]] == [
        "FILE_NOT_FOUND", None, "AMBIGUOUS_NAME", "PATH_OUTSIDE_VAULT", None,
    ]  # fmt: skip
    assert [note["name"] for note in data["notes"]] == ["Nobody", "Short", "Twice", "../out", "Middle"]
    assert data["read"] == 2
    assert texts[0] == "2 of 5 notes read."
    assert "a/Twice.md" in texts[3]
    assert "a/Twice.md" in data["notes"][2]["message"]


SHARES = [
    # most bytes, how many of Short (100), Middle (900), Long (5000) are shown
    (6000, [100, 900, 5000]),
    (2000, [100, 900, 1000]),
    (1500, [100, 700, 700]),
    (1000, [100, 440, 440]),
]


@pytest.mark.parametrize(("most", "shown"), SHARES)
def test_what_short_notes_leave_goes_to_the_long_ones(shelf: Path, most: int, shown: list[int]) -> None:
    texts, data = read_several(shelf, "Long", "Short", "Middle", max_tokens=most // 4)
    notes = {note["name"]: note for note in data["notes"]}
    assert [len(notes[name]["content"]) for name in ("Short", "Middle", "Long")] == shown
    for name, size in {"Short": 100, "Middle": 900, "Long": 5000}.items():
        note = notes[name]
        assert note["etag"].endswith("-part") is (len(note["content"]) < size)
        assert note["total_lines"] == size // 10
        assert note["last_line"] == len(note["content"]) // 10
    if shown[2] < 5000:
        assert f"read on with lines '{shown[2] // 10 + 1}-500' of read_note" in texts[1]


def test_fifty_notes_stay_within_the_limit_and_more_are_refused(tmp_path: Path) -> None:
    write_vault(tmp_path, "".join(f"=== {number}.md\n" + "x" * 5000 + "\n" for number in range(51)))
    _, data = read_several(tmp_path, *(str(number) for number in range(50)))
    assert sum(len(note["content"]) for note in data["notes"]) == 50_000
    assert data["cut"] == 50
    for paths in ([], [str(number) for number in range(51)]):
        outcome = invoke(
            TOOLS["read_notes"], DESCRIPTIONS["read_notes"], {"paths": paths}, open_vault(tmp_path), NO_PROGRESS
        )
        assert isinstance(outcome, Failure)
        assert outcome.code == "INVALID_ARGUMENTS"


BOARD = """{
\t"nodes":[
\t\t{"id":"a","type":"text","text":"Sow beans\\nin May","x":0,"y":0,"width":1,"height":1},
\t\t{"id":"b","type":"text","text":"Reap","x":0,"y":0,"width":1,"height":1}
\t],
\t"edges":[]
}
"""


@pytest.mark.parametrize("name", ["Boards/Year.canvas", "year.CANVAS", "[[Year.canvas]]"])
def test_a_canvas_that_a_search_finds_is_read_at_the_line_it_is_found_on(tmp_path: Path, name: str) -> None:
    write_vault(tmp_path, f"=== Boards/Year.canvas\n{BOARD}=== Year.md\nbeans\n")
    vault = open_vault(tmp_path)
    found = invoke(TOOLS["search_notes"], DESCRIPTIONS["search_notes"], {"query": "beans may"}, vault, NO_PROGRESS)
    assert isinstance(found, Outcome)
    assert [(note["path"], note["matches"]) for note in found.data["notes"]] == [
        ("Boards/Year.canvas", [{"line": 3, "text": "Sow beans in May"}])
    ]
    data = read(tmp_path, path=name, lines="3")
    assert (data["path"], data["content"]) == ("Boards/Year.canvas", BOARD.split("\n")[2] + "\n")
    assert read(tmp_path, path=name)["content"] == BOARD


@pytest.mark.parametrize("tool", ["list_links", "edit_note"])
def test_a_canvas_is_no_note_otherwise(tmp_path: Path, tool: str) -> None:
    write_vault(tmp_path, f"=== Year.canvas\n{BOARD}")
    more = {"edits": [{"action": "delete", "lines": "1"}]} if tool == "edit_note" else {}
    arguments = {"path": "Year.canvas", **more}
    outcome = invoke(TOOLS[tool], DESCRIPTIONS[tool], arguments, open_vault(tmp_path), NO_PROGRESS)
    assert isinstance(outcome, Failure)
    assert outcome.code == "FILE_NOT_FOUND"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("[[Plan#Tools]]", (6, 10)),
        ("[[Plan#Tools|the tools]]", (6, 10)),
        ("![[Plan#^rake]]", (9, 9)),
        ("Plan#Autumn#Tools", (14, 15)),
        ("Plan.md#autumn", (13, 15)),
        ("[[Plan]]", (1, 15)),
        ("Plan#", (1, 15)),
    ],
)
def test_a_name_with_a_heading_or_block_reads_that_part(root: Path, name: str, expected: tuple[int, int]) -> None:
    data = read(root, path=name)
    assert (data["first_line"], data["last_line"]) == expected
    many = invoke(TOOLS["read_notes"], DESCRIPTIONS["read_notes"], {"paths": [name]}, open_vault(root), NO_PROGRESS)
    assert isinstance(many, Outcome)
    assert many.data["notes"][0]["content"] == data["content"]
    assert many.data["notes"][0]["etag"] == data["etag"]


def test_an_outline_of_a_part_has_the_headings_in_it(root: Path) -> None:
    assert read(root, path="[[Plan#Autumn]]", part="outline")["content"] == "# Autumn  (13-15)\n## Tools  (14-15)\n"
    for part in ("outline", "frontmatter"):
        assert isinstance(invoked(root, path="[[Plan#No such]]", part=part), Failure)


def test_a_sign_in_a_notes_own_name_begins_no_part(root: Path) -> None:
    (root / "C# notes.md").write_text("# A\n# Plan\n")
    assert read(root, path="C# notes")["total_lines"] == read(root, path="C# notes")["last_line"] == 2
    assert read(root, path="C# notes#Plan")["content"] == "# Plan\n"
    assert read(root, path="[[C# notes#Plan]]")["content"] == "# Plan\n"


def test_a_part_beside_another_part_is_asked_back(root: Path) -> None:
    assert read(root, path="Plan#Tools", section="Tools")["first_line"] == 6
    for other in ({"section": "Autumn"}, {"lines": "1-2"}):
        failure = invoked(root, path="Plan#Tools", **other)
        assert isinstance(failure, Failure)
        assert failure.code == "INVALID_ARGUMENTS"
        assert "'Plan.md'" in failure.message


def test_a_heading_that_is_not_there_is_an_error_with_near_ones(root: Path) -> None:
    failure = invoked(root, path="[[Plan#Autum]]")
    assert isinstance(failure, Failure)
    assert failure.code == "SECTION_NOT_FOUND"
    assert "Did you mean 'Autumn'? Its headings are: " in failure.message
    (root / "Long.md").write_text("".join(f"## Chapter {number}\n" for number in range(200)) + "## Harvest\n")
    failure = invoked(root, path="Long", section="Havrest")
    assert isinstance(failure, Failure)
    assert failure.message == "Long.md has no section 'Havrest'. Did you mean 'Harvest'? It has 201 headings."
