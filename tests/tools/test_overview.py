"""The tools that show what a vault holds as a whole: what they say to a model and to a program."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from support.calls import load_tools
from support.schemas import hold_to
from support.vaults import open_vault, write_vault
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.toolkit.phrases import local_time
from vaultwire.toolkit.registry import Failure, Outcome, invoke
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

VAULT = """
=== Home.md
---
Status: done
size: 4
tags: [start]
---
# Home
- [ ] water [[Garden]]
- [x] dig #garden/log
=== Sub/Garden.md
---
status: [done, open]
size: large
day:
---
- [/] plan
=== Sub/plan.pdf
=== .obsidian/types.json
{"types": {"day": "date"}}
"""
TOOLS = {tool.name: tool for tool in load_tools()}
DESCRIPTIONS = {description["name"]: description for description in load_catalog()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "Notes", VAULT)


@lru_cache(maxsize=1)
def opened(root: Path) -> Vault:
    """Return one vault for all calls of a test: a caller's cursors are its own."""
    return open_vault(root)


def call(root: Path, name: str, /, **arguments: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the lines of a tool's text, and its data, which fits its schema."""
    outcome = invoke(TOOLS[name], DESCRIPTIONS[name], arguments, opened(root), NO_PROGRESS)
    assert isinstance(outcome, Outcome), outcome
    hold_to(outcome.data, DESCRIPTIONS[name]["outputSchema"])
    (text,) = outcome.texts
    return text.splitlines(), outcome.data


def test_properties_are_listed_with_types_and_counts(root: Path) -> None:
    lines, data = call(root, "vault_overview", what="properties")
    assert lines == [
        "4 properties in use:",
        "size: text or number (2 notes)",
        "Status: text or multitext (2 notes)",
        "day: date (1 note)",
        "tags: tags (1 note)",
    ]
    assert data["properties"][2] == {"name": "day", "types": ["date"], "notes": 1}
    assert "values" not in data


def test_the_values_of_a_property_are_listed_one_by_one(root: Path) -> None:
    lines, data = call(root, "vault_overview", what="values", name="status")
    assert lines == ["Status: text or multitext (2 notes)", "2 values:", "  done (2)", "  open (1)"]
    assert data["values"] == [{"value": "done", "notes": 2}, {"value": "open", "notes": 1}]
    lines, _ = call(root, "vault_overview", what="values", name="day", folder="Sub")
    assert lines == ["day: date (1 note)", "1 value:", "  (empty) (1)"]
    lines, data = call(root, "vault_overview", what="values", name="nothing")
    assert (lines, data["total"]) == (["No note has the property 'nothing'."], 0)


def test_a_long_value_is_cut(tmp_path: Path) -> None:
    _, data = call(
        write_vault(tmp_path, f"=== A.md\n---\na: {'x' * 300}\n---\n"), "vault_overview", what="values", name="a"
    )
    assert data["values"][0]["value"] == "x" * 199 + "…"


@pytest.mark.parametrize("arguments", [{}, {"name": "status"}])
def test_pages_of_properties_and_values_hold_each_once(root: Path, arguments: dict[str, str]) -> None:
    kind = "values" if arguments else "properties"
    _, whole = call(root, "vault_overview", what=kind, **arguments)
    seen: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        _, data = call(root, "vault_overview", what=kind, limit=1, **arguments, **cursor)
        assert data["total"] == whole["total"]
        seen += data[kind]
        if "next_cursor" not in data:
            break
        cursor = {"cursor": data["next_cursor"]}
    assert seen == whole[kind]


def test_tasks_to_do_are_listed_below_their_notes(root: Path) -> None:
    lines, data = call(root, "list_tasks")
    assert lines == ["1 task:", "Home.md", "  7: [ ] water [[Garden]]  (# Home)"]
    assert data["tasks"] == [{"path": "Home.md", "line": 7, "mark": " ", "text": "water [[Garden]]", "heading": "Home"}]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"status": "any"}, [("Home.md", 7), ("Home.md", 8), ("Sub/Garden.md", 6)]),
        ({"status": "done"}, [("Home.md", 8), ("Sub/Garden.md", 6)]),
        ({"status": "/"}, [("Sub/Garden.md", 6)]),
        ({"status": "any", "tag": "garden"}, [("Home.md", 8)]),
        ({"status": "any", "path": "[[Garden]]"}, [("Sub/Garden.md", 6)]),
        ({"status": "any", "folder": "Sub"}, [("Sub/Garden.md", 6)]),
        ({"status": "any", "text": "WATER"}, [("Home.md", 7)]),
    ],
)
def test_arguments_narrow_which_tasks_are_listed(
    root: Path, arguments: dict[str, str], expected: list[tuple[str, int]]
) -> None:
    _, data = call(root, "list_tasks", **arguments)
    assert [(task["path"], task["line"]) for task in data["tasks"]] == expected
    assert data["total"] == len(expected)


def test_a_page_of_tasks_says_where_the_next_begins(root: Path) -> None:
    lines, data = call(root, "list_tasks", status="any", limit=2)
    key = data["next_cursor"].partition(".")[0]
    assert (lines[0], lines[-1]) == ("3 tasks, numbers 1 to 2:", f"1 more: pass cursor {data['next_cursor']!r}.")
    _, data = call(root, "list_tasks", status="any", limit=2, cursor=data["next_cursor"])
    assert [task["path"] for task in data["tasks"]] == ["Sub/Garden.md"]
    assert "next_cursor" not in data
    lines, _ = call(root, "list_tasks", status="any", cursor=f"{key}.{'9' * 20}")
    assert lines == ["3 tasks; none on this page."]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"status": "opened"}, "INVALID_ARGUMENTS"),
        ({"path": "Nobody"}, "FILE_NOT_FOUND"),
        ({"folder": "No"}, "FILE_NOT_FOUND"),
    ],
)
def test_tasks_of_what_is_not_there_are_refused(root: Path, arguments: dict[str, str], code: str) -> None:
    outcome = invoke(TOOLS["list_tasks"], DESCRIPTIONS["list_tasks"], arguments, open_vault(root), NO_PROGRESS)
    assert isinstance(outcome, Failure)
    assert outcome.code == code


def test_the_vault_is_shown_in_numbers(root: Path) -> None:
    for path in ("Home.md", "Sub/Garden.md"):
        os.utime(root / path, ns=(0, 1_800_000_000 * 10**9))
    size = sum((root / path).stat().st_size for path in ("Home.md", "Sub/Garden.md"))
    lines, answer = call(root, "vault_overview")
    data = answer["stats"]
    assert lines == [
        f"Notes: 2 notes, {size} bytes, last changed {local_time('2027-01-15T08:00:00Z')}",
        "1 attachment: 1 pdf",
        "1 link, 3 tags, 4 properties",
        "1 task to do, 2 done",
        "  1 note in (top)",
        "  1 note in Sub",
        "Each call looks at all files first.",
    ]
    assert data["attachments"] == [{"extension": "pdf", "files": 1, "bytes": 0}]
    assert data["largest_folders"][1] == {
        "folder": "Sub",
        "notes": 1,
        "bytes": (root / "Sub" / "Garden.md").stat().st_size,
    }
    assert (data["watched"], data["notices"], data["problems"]) == (False, [], [])


def test_notes_that_cannot_be_read_or_are_excluded_are_said(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        "=== Bad.md\n---\na: [\n---\n=== Big.md\n" + "x" * 200 + "\n=== Old/A.md\n=== .vaultwireignore\nOld/\n",
    )
    outcome = invoke(
        TOOLS["vault_overview"], DESCRIPTIONS["vault_overview"], {}, open_vault(tmp_path, max_bytes=100), NO_PROGRESS
    )
    assert isinstance(outcome, Outcome)
    data = outcome.data["stats"]
    assert (data["notes"], data["excluded_notes"], data["unreadable_notes"], data["notes_with_problems"]) == (
        2,
        1,
        1,
        1,
    )
    assert [problem["path"] for problem in data["problems"]] == ["Big.md", "Bad.md"]
    assert "1 more note excluded by the vault's settings" in outcome.texts[0]
    assert "1 note cannot be read, 1 not in all:" in outcome.texts[0]


def test_an_empty_vault_has_no_last_change(tmp_path: Path) -> None:
    lines, answer = call(tmp_path, "vault_overview")
    data = answer["stats"]
    assert "modified" not in data
    assert lines[1] == "0 attachments"


def test_whole_numbers_are_shown_as_such_and_counted_together(tmp_path: Path) -> None:
    values = ["8", "8.0", "[8, 8.0, 2.5]", "'8.0'", "1e3"]
    text = "".join(f"=== {number}.md\n---\np: {value}\n---\n" for number, value in enumerate(values))
    found = call(write_vault(tmp_path, text), "vault_overview", what="values", name="p")[1]["values"]
    assert {each["value"]: each["notes"] for each in found} == {"8": 3, "2.5": 1, "8.0": 1, "1000": 1}
