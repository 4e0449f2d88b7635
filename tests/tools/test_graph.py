"""The tool on how a vault hangs together: what it says to a model and to a program, and which questions it refuses."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from support.calls import load_tools
from support.schemas import hold_to
from support.vaults import open_vault, write_vault
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.toolkit.registry import Failure, Outcome, invoke
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

VAULT = """
=== Home.md
[[Garden]] [[Nowhere]]
=== Garden.md
[[Shed]] ![[plan.png]]
[[nowhere#b]]
=== Shed.md
[[Home]]
=== Log.md
[[Shed]]
=== Alone.md
=== plan.png
"""
(LIST_LINKS,) = [tool for tool in load_tools() if tool.name == "list_links"]
(DESCRIPTION,) = [description for description in load_catalog() if description["name"] == "list_links"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


@lru_cache(maxsize=1)
def opened(root: Path) -> Vault:
    """Return one vault for all calls of a test: a caller's cursors are its own."""
    return open_vault(root)


def invoked(root: Path, what: str, **arguments: Any) -> Outcome[Any] | Failure:
    return invoke(LIST_LINKS, DESCRIPTION, {"what": what, **arguments}, opened(root), NO_PROGRESS)


def ask(root: Path, what: str, **arguments: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the lines and data of an answer; the data fits the tool's schema."""
    outcome = invoked(root, what, **arguments)
    assert isinstance(outcome, Outcome), outcome
    hold_to(outcome.data, DESCRIPTION["outputSchema"])
    (text,) = outcome.texts
    return text.splitlines(), outcome.data


ANSWERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "neighbours": (
        {"path": "[[Garden]]"},
        ["3 files within 1 link of Garden.md:", "← Home.md", "→ Shed.md", "→ plan.png"],
    ),
    "neighbours, farther": (
        {"path": "Garden", "depth": 2, "direction": "out"},
        [
            "3 files within 2 links of Garden.md:",
            "1: Garden.md → Shed.md",
            "1: Garden.md → plan.png",
            "2: Shed.md → Home.md",
        ],
    ),
    "path": (
        {"path": "Log", "to": "Garden"},
        ["2 links from Log.md to Garden.md:", "Log.md", "→ Shed.md", "← Garden.md"],
    ),
    "path, one way": (
        {"path": "Log", "to": "Garden", "direction": "out"},
        ["3 links from Log.md to Garden.md:", "Log.md", "→ Shed.md", "→ Home.md", "→ Garden.md"],
    ),
    "path, none that way": (
        {"path": "Garden", "to": "Log", "direction": "out"},
        ['No chain of links connects Garden.md with Log.md. Try direction "both".'],
    ),
    "path, none": ({"path": "Alone", "to": "Log"}, ["No chain of links connects Alone.md with Log.md."]),
    "unresolved": ({}, ["2 links to 1 name no file has:", "nowhere (2): Garden.md:2, Home.md:1"]),
    "orphans": ({}, ["2 notes no other note links to:", "Alone.md", "Log.md"]),
    "dead_ends": ({}, ["1 note without links to files:", "Alone.md"]),
    "hubs": (
        {},
        [
            "3 notes that others link to, the most linked first:",
            "Shed.md (2)",
            "Garden.md (1)",
            "Home.md (1)",
        ],
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_each_question_has_its_answer(root: Path, case: str) -> None:
    arguments, lines = ANSWERS[case]
    said, data = ask(root, case.partition(",")[0], **arguments)
    assert said == lines
    assert data["total"] == len(data["files"] if "files" in data else data["names"])


def test_a_program_is_told_distances_directions_and_places(root: Path) -> None:
    assert ask(root, "neighbours", path="Garden")[1]["files"][0] == {
        "path": "Home.md",
        "distance": 1,
        "via": "Garden.md",
        "direction": "in",
    }
    assert ask(root, "path", path="Log", to="Garden")[1] == {
        "files": [
            {"path": "Log.md", "distance": 0},
            {"path": "Shed.md", "distance": 1, "via": "Log.md", "direction": "out"},
            {"path": "Garden.md", "distance": 2, "via": "Shed.md", "direction": "in"},
        ],
        "total": 3,
    }
    assert ask(root, "hubs")[1]["files"][0] == {"path": "Shed.md", "linked_by": 2}
    assert ask(root, "unresolved")[1] == {
        "names": [
            {
                "name": "nowhere",
                "links": 2,
                "places": [{"path": "Garden.md", "line": 2}, {"path": "Home.md", "line": 1}],
            }
        ],
        "total": 1,
    }


def test_a_name_wanted_in_many_places_shows_the_first_and_counts_the_rest(tmp_path: Path) -> None:
    lines, data = ask(write_vault(tmp_path, "=== A.md\n" + "[[gone]]\n" * 23), "unresolved")
    assert lines[1].endswith("A.md:20 and 3 more")
    assert (data["names"][0]["links"], len(data["names"][0]["places"])) == (23, 20)


@pytest.mark.parametrize("case", [case for case in ANSWERS if "none" not in case])
def test_pages_hold_every_file_once(root: Path, case: str) -> None:
    what, arguments = case.partition(",")[0], ANSWERS[case][0]
    key = "names" if what == "unresolved" else "files"
    whole = ask(root, what, **arguments)[1][key]
    seen: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        _, data = ask(root, what, **arguments, limit=1, **cursor)
        assert data["total"] == len(whole)
        seen += data[key]
        if "next_cursor" not in data:
            break
        cursor = {"cursor": data["next_cursor"]}
    assert seen == whole


WRONG = [
    ("neighbours", {}, "INVALID_ARGUMENTS", 'what "neighbours" needs path.'),
    ("neighbours", {"path": "Home", "to": "Shed"}, "INVALID_ARGUMENTS", "needs path; leave out to."),
    ("path", {"path": "Home"}, "INVALID_ARGUMENTS", 'what "path" needs path and to; to is missing.'),
    ("path", {"to": "Home"}, "INVALID_ARGUMENTS", "needs path and to; path is missing."),
    ("orphans", {"path": "Home"}, "INVALID_ARGUMENTS", "takes neither path nor to; leave out path."),
    ("hubs", {"cursor": "x"}, "INVALID_ARGUMENTS", "cursor: pass what the page before said"),
    ("neighbours", {"path": "Nobody"}, "FILE_NOT_FOUND", "Nobody"),
    ("path", {"path": "Home", "to": "Nobody"}, "FILE_NOT_FOUND", "Nobody"),
    ("neighbours", {"path": "Home", "depth": 6}, "INVALID_ARGUMENTS", "from 1 to 5"),
    ("friends", {}, "INVALID_ARGUMENTS", "'neighbours'"),
]


@pytest.mark.parametrize(("what", "arguments", "code", "words"), WRONG)
def test_a_question_that_makes_no_sense_is_refused(
    root: Path, what: str, arguments: dict[str, Any], code: str, words: str
) -> None:
    outcome = invoked(root, what, **arguments)
    assert isinstance(outcome, Failure)
    assert outcome.code == code
    assert words in outcome.message
