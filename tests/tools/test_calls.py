"""Every tool called for real: data that keeps the output schema, and text that is enough for a model by itself."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from support.calls import attempt, call
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.toolkit.phrases import iso_time
from vaultwire.toolkit.registry import Failure
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NOTE_EXISTS,
    PATH_OUTSIDE_VAULT,
    STALE_EDIT,
    Stopped,
)
from vaultwire.vault.value_types import NoProgress
from vaultwire.vault.vault import Vault

VAULT = """
=== Garden.md
---
tags: [plan]
---
Tomatoes need water.
=== Projects/Water.md
Water the garden. #plan/summer #work
=== Projects/Odd.md
---
a: b
a: c
---
=== Archive/Garden.md
Old garden.
=== Empty.md
"""


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path, VAULT))


def test_search_notes_tells_notes_lines_and_counts(vault: Vault) -> None:
    outcome = call(vault, "search_notes", query="water")
    assert [note["path"] for note in outcome.data["notes"]] == ["Projects/Water.md", "Garden.md"]
    assert outcome.data["notes"][1]["matches"] == [{"line": 4, "text": "Tomatoes need water."}]
    assert (outcome.data["total"], outcome.data["notes_searched"], outcome.data["notes_skipped"]) == (2, 5, 0)
    assert "next_cursor" not in outcome.data
    (text,) = outcome.texts
    assert text.splitlines()[0] == "2 of 5 notes match 'water':"
    assert "Projects/Water.md" in text
    assert "  4: Tomatoes need water." in text


def test_search_notes_says_when_nothing_matches(vault: Vault) -> None:
    outcome = call(vault, "search_notes", query="zebra")
    assert outcome.texts == ["0 of 5 notes match 'zebra'."]
    assert outcome.data["notes"] == []


def test_search_notes_says_how_many_lines_are_not_shown(vault: Vault) -> None:
    call(vault, "write_note", path="Many", content="zebra\n" * 9)
    assert "Many.md (+4 more lines)" in call(vault, "search_notes", query="zebra").texts[0]


def test_list_notes_lists_in_path_order(vault: Vault) -> None:
    outcome = call(vault, "list_notes")
    paths = [note["path"] for note in outcome.data["notes"]]
    assert paths == ["Archive/Garden.md", "Empty.md", "Garden.md", "Projects/Odd.md", "Projects/Water.md"]
    assert outcome.texts[0].splitlines() == ["5 notes in the vault:", *paths]
    assert call(vault, "list_notes", folder="Projects").data["total"] == 2


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_notes", {}),
        ("search_notes", {"query": "-zebra"}),
        ("search_by_tags", {"tags": ["plan", "work"], "match": "any"}),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_follow_by_cursor_until_every_note_was_shown_once(
    vault: Vault, tool: str, arguments: dict[str, Any], limit: int
) -> None:
    whole = call(vault, tool, **arguments).data["notes"]
    seen: list[Any] = []
    cursor: dict[str, str] = {}
    for _ in range(10):
        outcome = call(vault, tool, **arguments, **cursor, limit=limit)
        seen += outcome.data["notes"]
        assert len(outcome.data["notes"]) <= limit
        if "next_cursor" not in outcome.data:
            break
        cursor = {"cursor": outcome.data["next_cursor"]}
        assert repr(cursor["cursor"]) in outcome.texts[0]  # the text alone is enough to go on
    assert seen == whole


def test_a_page_of_a_search_holds_what_the_tokens_allow_and_the_next_goes_on(tmp_path: Path) -> None:
    long_line = "word " * 60
    vault = open_vault(write_vault(tmp_path, "".join(f"=== {name}.md\n{long_line}\n" for name in "abcdef")))
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        outcome = call(vault, "search_notes", query="word", max_tokens=120, **cursor)
        page = [note["path"] for note in outcome.data["notes"]]
        assert len(page) == 2  # 120 tokens are 480 bytes; a note's line is cut to 200 characters
        assert outcome.data["total"] == 6
        seen += page
        if "next_cursor" not in outcome.data:
            break
        cursor = {"cursor": outcome.data["next_cursor"]}
    assert seen == [f"{name}.md" for name in "abcdef"]


def test_search_notes_says_at_least_where_it_has_not_counted_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultwire.vault.index.searching._COUNT_SECONDS", 0.0)
    vault = open_vault(write_vault(tmp_path, "".join(f"=== {number:03}.md\nPear\n" for number in range(300))))
    first = call(vault, "search_notes", query="match-case:Pear", limit=5)
    assert first.texts[0].startswith("At least ")
    assert "of 300 notes match 'match-case:Pear', numbers 1 to 5:" in first.texts[0]
    assert first.texts[0].endswith(f"More: pass cursor '{first.data['next_cursor']}'.")
    assert first.data["total_is_exact"] is False
    assert 5 <= first.data["total"] < 300
    cursor = first.data["next_cursor"]
    second = call(vault, "search_notes", query="match-case:Pear", limit=5, cursor=cursor, exact_total=True)
    assert second.texts[0].startswith("300 of 300 notes match 'match-case:Pear', numbers 6 to 10:")
    assert second.texts[0].endswith(f"290 more: pass cursor '{second.data['next_cursor']}'.")
    assert (second.data["total"], second.data["total_is_exact"]) == (300, True)
    wrong = attempt(vault, "search_notes", query="match-case:Plum", cursor=cursor)
    assert isinstance(wrong, Failure)
    assert wrong.code == INVALID_ARGUMENTS


@pytest.mark.parametrize("cursor", ["x", "-1", "1.0", "²", "1 "])
@pytest.mark.parametrize(("tool", "arguments"), [("search_notes", {"query": "a"}), ("search_by_tags", {"tags": ["a"]})])
def test_a_cursor_nobody_gave_is_refused(vault: Vault, tool: str, arguments: dict[str, Any], cursor: str) -> None:
    failure = attempt(vault, tool, **arguments, cursor=cursor)
    assert isinstance(failure, Failure)
    assert failure.code == INVALID_ARGUMENTS
    assert "what the page before said" in failure.message


def test_a_page_behind_the_end_is_empty(vault: Vault) -> None:
    first = call(vault, "search_notes", query="water", limit=1)
    key = first.data["next_cursor"].partition(".")[0]
    outcome = call(vault, "search_notes", query="water", cursor=f"{key}.99")
    assert (outcome.data["notes"], outcome.data["total"]) == ([], 2)
    assert "none on this page" in outcome.texts[0]


def test_read_note_gives_the_text_and_the_etag_a_write_takes(vault: Vault) -> None:
    outcome = call(vault, "read_note", path="[[Water|shown]]")
    assert outcome.texts[0] == outcome.data["content"] == "Water the garden. #plan/summer #work\n"
    assert outcome.data["path"] in outcome.texts[1]
    assert outcome.data["etag"] in outcome.texts[1]
    call(vault, "write_note", path="Water", content="x", mode="append", if_match=outcome.data["etag"])


def test_read_note_tells_problems(vault: Vault) -> None:
    outcome = call(vault, "read_note", path="Odd")
    assert outcome.data["problems"] == ["line 3: property 'a' is there twice"]
    assert "property 'a' is there twice" in outcome.texts[-1]


@pytest.mark.parametrize("content", ["", "\n", " \n\t\n"])
def test_read_note_says_that_a_note_is_empty(vault: Vault, tmp_path: Path, content: str) -> None:
    (tmp_path / "Empty.md").write_text(content)
    outcome = call(vault, "read_note", path="Empty")
    assert outcome.data["content"] == content
    assert "empty" in outcome.texts[0]


def test_write_note_says_what_it_did(vault: Vault) -> None:
    created = call(vault, "write_note", path="New/Note", content="x\n")
    assert (created.data["path"], created.data["created"], created.data["changed"]) == ("New/Note.md", True, True)
    assert created.texts[0].startswith("Created: New/Note.md")
    written = call(vault, "write_note", path="New/Note", content="y", mode="append")
    assert written.texts[0].startswith("Wrote: New/Note.md")
    same = call(vault, "write_note", path="New/Note", content="x\ny\n", mode="overwrite")
    assert same.texts[0].startswith("Left unchanged")
    assert (same.data["changed"], same.data["etag"]) == (False, written.data["etag"])


def test_delete_note_says_where_the_note_is(vault: Vault) -> None:
    trashed = call(vault, "delete_note", path="Water")
    assert trashed.data == {
        "path": "Projects/Water.md",
        "permanent": False,
        "changed": True,
        "trash_path": ".trash/Water.md",
        "change": 1,
    }
    assert ".trash/Water.md" in trashed.texts[0]
    gone = call(vault, "delete_note", path="Archive/Garden.md", permanent=True)
    assert gone.data == {"path": "Archive/Garden.md", "permanent": True, "changed": True, "change": 2}
    assert "permanently" in gone.texts[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"tags": ["plan"]}, ["Garden.md", "Projects/Water.md"]),
        ({"tags": ["#PLAN/Summer"]}, ["Projects/Water.md"]),
        ({"tags": ["plan", "work"]}, ["Projects/Water.md"]),
        ({"tags": ["work", "zebra"], "match": "any"}, ["Projects/Water.md"]),
        ({"tags": ["plan"], "folder": "Projects"}, ["Projects/Water.md"]),
        ({"tags": ["zebra"]}, []),
    ],
)
def test_search_by_tags_finds_notes(vault: Vault, arguments: dict[str, Any], expected: list[str]) -> None:
    outcome = call(vault, "search_by_tags", **arguments)
    assert [note["path"] for note in outcome.data["notes"]] == expected
    assert outcome.data["total"] == len(expected)
    assert all(path in outcome.texts[0] for path in expected)


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("read_note", {"path": "nowhere"}, FILE_NOT_FOUND),
        ("read_note", {"path": "../x"}, PATH_OUTSIDE_VAULT),
        ("read_note", {}, INVALID_ARGUMENTS),
        ("read_note", {"path": "a", "odd": 1}, INVALID_ARGUMENTS),
        ("list_notes", {"folder": "nowhere"}, FILE_NOT_FOUND),
        ("list_notes", {"limit": 1001}, INVALID_ARGUMENTS),
        ("search_notes", {"query": '"open'}, INVALID_ARGUMENTS),
        ("write_note", {"path": "Garden", "content": "x"}, NOTE_EXISTS),
        ("write_note", {"path": "Garden", "content": "x", "mode": "append", "if_match": "0"}, STALE_EDIT),
        ("write_note", {"path": "Water", "content": "x", "mode": "overwrite"}, AMBIGUOUS_NAME),
        ("delete_note", {"path": "Water", "permanent": True}, INVALID_ARGUMENTS),
        ("search_by_tags", {"tags": []}, INVALID_ARGUMENTS),
    ],
)
def test_what_cannot_be_done_is_a_failure_with_a_code_and_changes_nothing(
    vault: Vault, tmp_path: Path, tool: str, arguments: dict[str, Any], code: str
) -> None:
    before = snapshot(tmp_path)
    failure = attempt(vault, tool, **arguments)
    assert isinstance(failure, Failure), failure
    assert failure.code == code
    assert failure.message.endswith((".", "?"))
    assert json.dumps(failure.details)
    assert str(tmp_path) not in failure.message
    assert snapshot(tmp_path) == before


class _Cancelled(NoProgress):
    def check(self) -> None:
        raise Stopped


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_notes", {}),
        ("search_notes", {"query": "a"}),
        ("search_by_tags", {"tags": ["a"]}),
        ("write_note", {"path": "New", "content": "x"}),
        ("delete_note", {"path": "Garden"}),
    ],
)
def test_a_cancelled_call_ends_without_an_outcome(vault: Vault, tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(Stopped):
        attempt(vault, tool, _Cancelled(), **arguments)


def test_times_are_iso_8601_in_utc() -> None:
    assert iso_time(0) == "1970-01-01T00:00:00Z"
    assert iso_time(1_700_000_000_999_999_999) == "2023-11-14T22:13:20Z"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no tzset")
@pytest.mark.parametrize(
    ("zone", "shown"), [("Europe/Berlin", "2026-07-01 18:03:00+02:00"), ("UTC", "2026-07-01 16:03:00+00:00")]
)
def test_texts_tell_the_time_of_the_persons_clock_and_data_utc(
    tmp_path: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch, zone: str, shown: str
) -> None:
    changed = datetime(2026, 7, 1, 16, 3, tzinfo=UTC).timestamp()
    for note in tmp_path.rglob("*.md"):
        os.utime(note, (changed, changed))
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for tool in ("find_notes", "vault_overview"):
            outcome = call(vault, tool)
            assert shown in outcome.texts[0]
            assert "2026-07-01T16:03:00Z" in json.dumps(outcome.data)
        call(vault, "write_note", path="Fresh", content="x")
        listed = call(vault, "list_changes")
        made = datetime.fromisoformat(listed.data["changes"][0]["time"])
        assert made.utcoffset() == timedelta(0)
        assert str(made.astimezone(ZoneInfo(zone))) in listed.texts[0]
    finally:
        monkeypatch.undo()
        time.tzset()
