"""A vault at a glance, as plain dicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support.vaults import open_vault, snapshot, write_vault
from vaultwire.review.glance import Glance, lay_out
from vaultwire.trust.audit import Audit, ChainedLog, records
from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.vault import Vault

NOTES = """
=== Plan.md
---
status: draft
---
# The plan
Meet <b>Anna</b> about the garden. [[Anna]] [[Gone]]
=== People/Anna.md
Anna has a garden. See [[Plan#The plan|the plan]].
=== People/Bert.md
Nothing here.
"""


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path / "Notes", NOTES))


def test_a_search_marks_its_words_in_parts_of_plain_text(vault: Vault) -> None:
    found = Glance(vault).search("anna GARDEN -nothing")
    assert {note["path"] for note in found["notes"]} == {"Plan.md", "People/Anna.md"}
    plan = next(note for note in found["notes"] if note["path"] == "Plan.md")
    line = plan["lines"][0]
    assert "".join(part["t"] for part in line["parts"]) == "Meet <b>Anna</b> about the garden. [[Anna]] [[Gone]]"
    assert [part["t"] for part in line["parts"] if part["mark"]] == ["Anna", "garden", "Anna"]
    assert line["href"] == "#/Notes/note/Plan.md?line=5"


def test_an_unfinished_query_says_what_is_wrong_in_words(vault: Vault) -> None:
    for query in ('"anna', "(anna", "[status:", "/[/", "tag:", "a" * 2000):
        found = Glance(vault).search(query)
        assert found["problem"], query
        assert found["notes"] == []


def test_an_empty_query_shows_the_notes_that_changed_last(vault: Vault) -> None:
    found = Glance(vault).search(" ")
    assert found["is_recent"]
    assert found["total"] == 3


def test_a_note_has_its_tree_links_and_backlinks_with_their_lines(vault: Vault) -> None:
    note = Glance(vault).note("Plan.md")
    assert note["name"] == "Plan"
    assert note["tree"][0][1] == {"class": "properties"}
    assert note["tree"][1] == ["h1", {"data-line": 4}, ["The plan"]]
    assert [(link["path"], link["href"]) for link in note["links"]] == [
        ("People/Anna.md", "#/Notes/note/People/Anna.md"),
        (None, None),
    ]
    assert note["backlinks"] == [
        {
            "path": "People/Anna.md",
            "line": 1,
            "href": "#/Notes/note/People/Anna.md?line=1",
            "text": "Anna has a garden. See [[Plan#The plan|the plan]].",
        }
    ]


def test_a_note_that_is_not_there_is_an_error(vault: Vault) -> None:
    with pytest.raises(VaultError) as raised:
        Glance(vault).note("../secret.md")
    assert raised.value.code != ""
    with pytest.raises(VaultError) as raised:
        Glance(vault).note("Nope.md")
    assert raised.value.code == FILE_NOT_FOUND


def test_the_graph_has_each_note_once_and_the_links_between_them(vault: Vault) -> None:
    graph = Glance(vault).graph()
    paths = [node[0] for node in graph["nodes"]]
    assert paths == ["People/Anna.md", "People/Bert.md", "Plan.md"]
    assert graph["folders"] == ["", "People"]
    ends = iter(graph["edges"])
    assert {(paths[a], paths[b]) for a, b in zip(ends, ends, strict=True)} == {
        ("Plan.md", "People/Anna.md"),
        ("People/Anna.md", "Plan.md"),
    }


def test_the_same_vault_is_drawn_the_same_and_no_two_notes_in_one_place() -> None:
    folders = [number % 7 for number in range(2_000)]
    links = [(number, number * 7 % 2_000) for number in range(2_000)] + [(0, number) for number in range(500)]
    points = lay_out(folders, links)
    assert points == lay_out(folders, links)
    assert len(set(points)) > 1_950
    assert all(abs(x) < 10_000 and abs(y) < 10_000 for x, y in points)
    assert lay_out([], []) == []


def test_activity_counts_what_each_client_wrote(vault: Vault) -> None:
    caller = Caller("Claude Code")
    mine = vault.used_by(caller, "create_note")
    for path in ("People/Carl.md", "New.md"):
        mine.writing.write(path, "x", "create")
    told = Glance(vault).activity()
    assert len(told["days"]) == 7
    today = datetime.now().astimezone().date().isoformat()
    assert told["written"]["clients"] == [{"name": "Claude Code", "total": 2, "days": {today: 2}}]
    assert told["written"]["folders"] == [{"folder": "", "count": 1}, {"folder": "People", "count": 1}]
    assert told["read"] is None
    assert "--audit" in told["note"]


def test_activity_counts_reads_from_the_audit_log(vault: Vault) -> None:
    now = datetime.now().astimezone().isoformat()

    def records(since: datetime) -> Iterable[Mapping[str, Any]]:
        assert since.tzinfo is not None
        call = {"type": "request", "timestamp": now, "client": "Cursor", "arguments": {"path": "People/Anna.md"}}
        return [
            {**call, "tool_name": "read_note"},
            {**call, "tool_name": "write_note"},
            {"type": "response", "tool_name": "read_note"},
            {"type": "request", "tool_name": "read_note", "timestamp": "no time", "arguments": 1},
            {**call, "timestamp": "2020-01-01T00:00:00Z", "tool_name": "read_note"},
        ]

    told = Glance(vault, records).activity()
    assert told["read"]["folders"] == [{"folder": "People", "count": 1}]
    assert told["read"]["clients"][0]["name"] == "Cursor"


def test_problems_come_by_kind_with_note_and_line(vault: Vault) -> None:
    told = Glance(vault).problems()
    assert [group["kind"] for group in told["kinds"]] == ["unresolved-link"]
    problem = told["kinds"][0]["problems"][0]
    assert (problem["path"], problem["line"]) == ("Plan.md", 5)
    assert problem["href"] == "#/Notes/note/Plan.md?line=5"
    assert told["next"] is None


def test_problems_come_in_pages_that_miss_none(tmp_path: Path) -> None:
    for number in range(30):
        write_vault(tmp_path, f"=== n{number:02}.md\n[[gone {number}]]\n")
    glance = Glance(open_vault(tmp_path))
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        told = glance.problems(offset, 7)
        found += [problem["path"] for group in told["kinds"] for problem in group["problems"]]
        offset = told["next"]
    assert found == [f"n{number:02}.md" for number in range(30)]


def test_looking_changes_nothing_and_gives_json(vault: Vault) -> None:
    before = snapshot(Path(vault.root))
    glance = Glance(vault)
    for answer in (glance.search("a"), glance.note("Plan"), glance.graph(), glance.activity(), glance.problems()):
        json.dumps(answer)
    assert snapshot(Path(vault.root)) == before


def test_reads_of_a_real_audit_log_are_counted(vault: Vault, tmp_path: Path) -> None:
    log = ChainedLog(str(tmp_path / "log" / "audit.jsonl"))
    log.prepare()
    audit = Audit(log, pytest.fail)
    call = {"name": "read_note", "arguments": {"path": "People/Anna.md"}}
    audit.end(audit.begin("tools/call", call, "Cursor", "", "read_note"), None)
    told = Glance(vault, lambda since: records(log.path, since.timestamp())).activity()
    assert told["read"]["folders"] == [{"folder": "People", "count": 1}]
    assert [client["name"] for client in told["read"]["clients"]] == ["Cursor"]


def test_an_audit_log_that_is_gone_has_no_reads(vault: Vault, tmp_path: Path) -> None:
    told = Glance(vault, lambda since: records(str(tmp_path / "none.jsonl"), since.timestamp())).activity()
    assert told["read"]["total"] == 0
