"""Reading a part of a note: sections, blocks, lines, and long notes. Who has read a part gets no etag to overwrite with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.vaults import open_vault, write_vault
from vaultwire.app import load_tools
from vaultwire.tools.catalog import load_catalog
from vaultwire.tools.registry import Failure, Outcome, invoke
from vaultwire.vault.model import NO_PROGRESS

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
(READ_NOTE,) = [tool for tool in load_tools() if tool.name == "read_note"]
(DESCRIPTION,) = [description for description in load_catalog() if description["name"] == "read_note"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, NOTE)


def invoked(root: Path, **arguments: Any) -> Outcome[Any] | Failure:
    return invoke(READ_NOTE, DESCRIPTION, arguments, open_vault(root), NO_PROGRESS)


def read(root: Path, **arguments: Any) -> dict[str, Any]:
    """Return the data of a successful read; it fits the tool's schema."""
    outcome = invoked(root, **arguments)
    assert isinstance(outcome, Outcome), outcome
    jsonschema.validate(outcome.data, DESCRIPTION["outputSchema"])
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
        ("Spring sowing", 4, 12),  # punctuation counts as blanks
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
    assert "etag" not in data


@pytest.mark.parametrize(("lines", "first", "last"), [("4-5", 4, 5), ("14-", 14, 15), ("5", 5, 5), ("15-99", 15, 15)])
def test_lines_are_read_as_asked(root: Path, lines: str, first: int, last: int) -> None:
    data = read(root, path="Plan", lines=lines)
    assert (data["first_line"], data["last_line"], data["total_lines"]) == (first, last, 15)
    assert "etag" not in data


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
        outcome = invoked(root, path="Long", lines=lines, max_characters=3000)
        assert isinstance(outcome, Outcome)
        pieces.append(outcome.data["content"])
        assert len(pieces[-1]) <= 3000
        if outcome.data["last_line"] == 500:
            break
        lines = f"{outcome.data['last_line'] + 1}-500"
        assert f"read on with lines '{lines}'" in outcome.texts[-1]
    assert "".join(pieces) == text
    assert len(pieces) > 2


def test_a_whole_note_that_is_cut_gives_no_etag(tmp_path: Path) -> None:
    data = read(write_vault(tmp_path, "=== Long.md\n" + "word " * 1000), path="Long", max_characters=1000)
    assert len(data["content"]) == 1000
    assert "etag" not in data


def test_a_cut_inside_a_line_is_said(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "=== Long.md\n" + "x" * 5000 + "\nend\n")
    outcome = invoked(root, path="Long", max_characters=1000)
    assert isinstance(outcome, Outcome)
    assert "Cut inside line 1 at 1000 characters" in outcome.texts[-1]


def test_a_note_without_a_line_end_at_its_end_is_read_whole_by_its_lines(tmp_path: Path) -> None:
    data = read(write_vault(tmp_path, "=== A.md\none\ntwo"), path="A", lines="1-2")
    assert data["content"] == "one\ntwo"
    assert data["etag"]
