"""The tool that finds notes by their facts: what it says to a model and to a program."""

from __future__ import annotations

import os
from datetime import date
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
=== Garden.md
---
aliases: [Back yard]
due: 2026-03-09
---
#outdoor #plan/wet
=== Work/Report.md
---
status: done
due: 2026-04-01
---
=== Work/Report 2.md
"""
(FIND,) = [tool for tool in load_tools() if tool.name == "find_notes"]
(DESCRIPTION,) = [description for description in load_catalog() if description["name"] == "find_notes"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_vault(tmp_path, VAULT)
    for number, path in enumerate(("Work/Report.md", "Garden.md", "Work/Report 2.md")):
        os.utime(tmp_path / path, ns=(0, (1_700_000_000 + number) * 10**9))
    return tmp_path


@lru_cache(maxsize=1)
def opened(root: Path) -> Vault:
    """Return one vault for all calls of a test: a caller's cursors are its own."""
    return open_vault(root, today=lambda: date(2026, 3, 10))


def call(root: Path, **arguments: Any) -> Outcome[Any] | Failure:
    vault = opened(root)
    return invoke(FIND, DESCRIPTION, arguments, vault, NO_PROGRESS)


def found(root: Path, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return the tool's text and data; the data fits its schema."""
    outcome = call(root, **arguments)
    assert isinstance(outcome, Outcome), outcome
    hold_to(outcome.data, DESCRIPTION["outputSchema"])
    (text,) = outcome.texts
    return text, outcome.data


def test_a_note_is_shown_with_its_time_its_tags_and_the_alias_that_matched(root: Path) -> None:
    text, data = found(root, name="back")
    assert (
        text
        == f"1 note found:\nGarden.md (alias 'Back yard')  {local_time('2023-11-14T22:13:21Z')}  #outdoor  #plan/wet"
    )
    assert data["notes"] == [
        {
            "path": "Garden.md",
            "name": "Garden",
            "modified": "2023-11-14T22:13:21Z",
            "size": (root / "Garden.md").stat().st_size,
            "tags": ["outdoor", "plan/wet"],
            "alias": "Back yard",
        }
    ]


def test_every_argument_narrows_what_is_found(root: Path) -> None:
    everything: dict[str, Any] = {
        "name": "rep",
        "folder": "Work",
        "properties": ["status=done", "due>today"],
        "modified_before": "2023-11-15T00:00Z",
        "modified_after": "2023-11-14T00:00Z",
    }
    assert [note["path"] for note in found(root, **everything)[1]["notes"]] == ["Work/Report.md"]
    for other in (
        {"name": "garden"},
        {"alias": "Back yard"},
        {"tags": ["plan"]},
        {"properties": ["due<today"]},
        {"modified_before": "2023-11-14T00:00Z"},
        {"modified_after": "2023-11-15T00:00Z"},
    ):
        assert found(root, **everything | other)[0] == "0 notes found."


def test_pages_hold_every_note_once(root: Path) -> None:
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        text, data = found(root, sort="modified", limit=2, **cursor)
        seen += [note["path"] for note in data["notes"]]
        assert data["total"] == 3
        if "next_cursor" not in data:
            break
        assert text.splitlines()[-1] == f"1 more: pass cursor {data['next_cursor']!r}."
        cursor = {"cursor": data["next_cursor"]}
    assert seen == ["Work/Report 2.md", "Garden.md", "Work/Report.md"]


def test_a_page_or_time_beyond_everything_is_empty_or_whole(root: Path) -> None:
    cursor = found(root, limit=1)[1]["next_cursor"]
    text, data = found(root, cursor=cursor.partition(".")[0] + ".999")
    assert (text, data["notes"], data["total"]) == ("3 notes found; none on this page.", [], 3)
    assert found(root, modified_after="9999-12-31")[1]["total"] == 0
    assert found(root, modified_before="9999-12-31", modified_after="0002-01-01")[1]["total"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"properties": ["status:done"]}, "INVALID_ARGUMENTS", "write 'status=done'"),
        ({"properties": ["rating>="]}, "INVALID_ARGUMENTS", "no value after >="),
        ({"modified_after": "soon"}, "INVALID_ARGUMENTS", "modified_after: expected a date"),
        ({"modified_before": "31.1.2026"}, "INVALID_ARGUMENTS", "modified_before: expected a date"),
        ({"sort": "colour"}, "INVALID_ARGUMENTS", "'sort' must be"),
        ({"cursor": "x"}, "INVALID_ARGUMENTS", "cursor: pass what the page before said, got 'x'"),
        ({"folder": "Nowhere"}, "FILE_NOT_FOUND", "no folder 'Nowhere'"),
    ],
)
def test_what_cannot_be_is_refused_with_what_would_be_right(
    root: Path, arguments: dict[str, Any], code: str, words: str
) -> None:
    outcome = call(root, **arguments)
    assert isinstance(outcome, Failure)
    assert outcome.code == code
    assert words in outcome.message
