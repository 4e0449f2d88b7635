"""A client that may change notes and not read them is told names and counts: no answer of any tool has text of a note."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.calls import load_tools
from support.schemas import hold_to
from support.vaults import open_vault, write_vault
from vaultwire.server.call_runner import run_tool
from vaultwire.server.results import Result
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.toolkit.registry import Outcome
from vaultwire.vault.caller import Caller
from vaultwire.vault.value_types import NoProgress

CANARY = "xylophone"
VAULT = f"""
=== A.md
---
status: {CANARY} one
tags: [{CANARY}]
broken: [[{CANARY}
---
# {CANARY} heading
{CANARY} text, [[No {CANARY}]] and [[B]]
## {CANARY} heading
- [ ] {CANARY} task ^id1
- {CANARY} item
=== B.md
---
status: {CANARY} two
---
# {CANARY} part
{CANARY} text
- [ ] {CANARY} task
=== C.md
{CANARY} in C [[B#{CANARY} part]]
=== C.Conflict.md
{CANARY} in the copy
=== B.Conflict.md
---
status: {CANARY} two
---
# {CANARY} part
{CANARY} text
- [ ] {CANARY} task
{CANARY} added
=== Memory/M.md
- 2026-01-01 tea is nice {CANARY} ^m1
- 2026-01-01 {CANARY} two ^m2
=== Templates/T.md
{CANARY} template {{{{title}}}}
=== Board.canvas
{{"nodes": [{{"id": "n1", "type": "text", "text": "{CANARY} card", "x": 0, "y": 0, "width": 9, "height": 9}}], "edges": []}}
=== Q.base
filters: file.ext == "md"
formulas:
  f: '"{CANARY}"'
views:
  - type: table
    name: V
"""
# For each tool that changes something: calls that succeed, and calls that fail, on what is there.
CALLS: dict[str, list[dict[str, Any]]] = {
    "create_note": [
        {"path": "New", "template": "T"},
        {"path": "B", "content": "x"},
        {"path": "B", "content": "x", "if_exists": "append"},
        {"path": "B", "content": "x", "if_exists": "overwrite"},
        {"path": "New", "template": "No such"},
        {"path": "New#Part", "content": "x"},
    ],
    "append_daily_note": [{"content": "x"}, {"content": "x", "section": "No such"}],
    "edit_note": [
        {"path": "B", "edits": [{"action": "append", "content": "x"}]},
        {"path": "B", "edits": [{"action": "delete", "body": True}]},
        {"path": "B", "edits": [{"action": "replace", "text": "no such text", "content": "x"}]},
        {"path": "A", "edits": [{"action": "replace", "text": "text", "content": "x"}]},
        {"path": "A", "edits": [{"action": "replace", "text": "e", "content": "x"}]},
        {"path": "A", "edits": [{"action": "delete", "section": "No such"}]},
        {"path": "A", "edits": [{"action": "delete", "section": "^nope"}]},
        {"path": "A", "edits": [{"action": "delete", "lines": "99-100"}]},
        {"path": "A", "edits": [{"action": "append", "property": "tags", "content": "y"}]},
        {"path": "B", "edits": [{"action": "append", "property": "status", "content": "y"}]},
        {"path": "B", "diff": "--- a\n+++ b\n@@ -1,2 +1,2 @@\n no such\n-line\n+other\n"},
        {"path": "B", "edits": [{"action": "append", "content": "x"}], "if_match": "0" * 24},
        {"path": "Q.base", "edits": [{"action": "append", "content": "x: ["}]},
    ],
    "set_properties": [
        {"paths": ["B"], "set": {"status": "done"}},
        {"paths": ["A"], "set": {"status": "done"}},
        {"paths": ["B"], "remove": ["status", "nope"]},
        {"paths": ["B"], "set": {"tags": 5}},
    ],
    "remember": [
        {"text": "a new fact"},
        {"text": "tea is nice"},
        {"text": "tea is nice", "replaces": "M"},
        {"text": "x", "replaces": "nope"},
    ],
    "forget": [{"name": "M#^m1"}, {"name": "M"}, {"name": "nope"}],
    "set_task": [
        {"tasks": [{"path": "B", "text": "task", "status": "done"}]},
        {"tasks": [{"path": "A", "text": "no such task", "status": "done"}]},
        {"tasks": [{"path": "A", "line": 1, "status": "done"}]},
        {"tasks": [{"path": "B", "text": "task", "due": "nonsense"}]},
    ],
    "move_notes": [{"paths": ["B"], "to": "Sub/"}, {"paths": ["B"], "to": "C"}, {"paths": ["No such"], "to": "Sub/"}],
    "rename": [
        {"what": "heading", "path": "B", "old": "No such", "new": "x"},
        {"what": "property", "old": "status", "new": "state"},
        {"what": "property", "old": "status", "new": "tags"},
        {"what": "tag", "old": "nope", "new": "x"},
    ],
    "delete_note": [{"path": "B"}, {"path": "B#Part"}],
    "undo_changes": [{"changes": [1]}, {"changes": [99]}, {"since": "1h"}],
    "merge_notes": [{"source": "B", "target": "C"}, {"source": "B", "target": "B"}],
    "extract_section": [
        {"path": "B", "section": "part", "to": "Part"},
        {"path": "B", "lines": "1-3", "to": "Part"},
        {"path": "B", "section": "nope", "to": "Part"},
    ],
    "insert_template": [{"template": "T", "path": "B"}, {"template": "Nope", "path": "B"}],
    "add_attachment": [{"source": "/nope.png"}],
    "save_file": [
        {"file": {"download_url": "https://files.example/x.png", "file_id": "1"}},
        {"file": {"download_url": "http://files.example/x.png", "file_id": "1"}},
    ],
    "edit_canvas": [
        {"path": "Board.canvas", "edits": [{"action": "remove", "id": "n1"}]},
        {"path": "Board.canvas", "edits": [{"action": "remove", "id": "nope"}]},
    ],
    "set_properties_in_view": [{"base": "Q", "set": {"status": "x"}}, {"base": "Q", "view": "Nope", "set": {"a": 1}}],
    "create_note_in_view": [{"base": "Q", "name": "Made"}, {"base": "Q", "view": "Nope", "name": "Made"}],
    "edit_base": [
        {"base": "Q", "set": {"formulas": {"g": "1"}}},
        {"base": "Q", "views": [{"name": "Nope", "remove": True}]},
        {"base": "Q", "set": {"filters": "no such("}},
    ],
    "create_base": [{"path": "Q"}, {"path": "R", "search": "[status:x]"}, {"path": "R", "search": "words"}],
    "resolve_conflicts": [
        {},
        {"path": "B.Conflict.md"},
        {"path": "C.Conflict.md"},
        {"path": "C.Conflict.md", "choose": ["both"]},
        {"path": "C.Conflict.md", "choose": ["both", "mine"]},
        {"path": "A"},
    ],
    "restore_note": [{"path": "Gone"}, {"path": "B"}],
    "write_note": [{"path": "B", "content": "x"}, {"path": "B", "content": "x", "mode": "overwrite"}],
    "fix_links": [
        {"suggested": True},
        {"fixes": [{"path": "C", "from": "B", "to": "A"}]},
        {"fixes": [{"path": "C", "from": "No such", "to": "A"}]},
        {"fixes": [{"path": "C", "from": "B", "to": "B#No such"}]},
    ],
}
DESCRIPTIONS = {each["name"]: each for each in load_catalog()}
TOOLS = {tool.name: tool for tool in load_tools()}
CHANGING = [
    name
    for name, each in DESCRIPTIONS.items()
    if not each["annotations"]["readOnlyHint"] and name not in ("more_tools", "pending_changes")
]


class Silent(NoProgress):
    """A client that can be asked nothing."""

    capabilities: dict[str, Any] = {}  # noqa: RUF012


class Words:
    """Keeps all that is answered, in every form there is."""

    view = None

    def __init__(self) -> None:
        self.failed = False
        self.data: Any = None

    def result(self, outcome: Outcome[Any], _: Any) -> Result:
        self.data = outcome.data
        return Result({"all": [outcome.texts, outcome.data, list(outcome.more)]})

    def failure(self, code: str, message: str, details: Any) -> Result:
        self.failed = True
        return Result({"all": [code, message, details]})


def ask(vault: Any, tool: str, arguments: dict[str, Any], *, may_read: bool) -> tuple[Words, str]:
    caller = Caller("agent")
    caller.may_read_notes = may_read
    words: Any = Words()
    client: Any = Silent()
    used = vault.used_by(caller, tool)
    answer: Any = run_tool(TOOLS[tool], DESCRIPTIONS[tool], arguments, used, words, "", client)
    return words, json.dumps(answer.value, default=str, ensure_ascii=False)


def test_every_tool_that_changes_something_is_called() -> None:
    assert set(CALLS) == set(CHANGING)


@pytest.mark.parametrize("tool", CHANGING)
def test_no_answer_has_text_of_a_note(tmp_path: Path, tool: str) -> None:
    seen = 0
    takes_dry_run = "dry_run" in DESCRIPTIONS[tool]["inputSchema"]["properties"]
    for number, arguments in enumerate(CALLS[tool]):
        for dry_run in (True, False) if takes_dry_run else (False,):
            given = {**arguments, **({"dry_run": True} if dry_run else {})}
            answers = {}
            for may_read in (True, False) if dry_run or not takes_dry_run else (False,):
                place = f"{number} {dry_run} {may_read}"
                root = write_vault(tmp_path / place, VAULT)
                (root / ".obsidian").mkdir()
                (root / ".obsidian" / "templates.json").write_text('{"folder": "Templates"}')
                vault = open_vault(root, state=tmp_path / f"state of {place}")
                ask(vault, "edit_note", {"path": "C", "edits": [{"action": "delete", "body": True}]}, may_read=True)
                answers[may_read] = ask(vault, tool, given, may_read=may_read)
                vault.close()
            words, told = answers[False]
            assert CANARY not in told.lower(), given
            if True in answers:
                assert words.failed == answers[True][0].failed, given
                seen += CANARY in answers[True][1].lower()
            if not words.failed:
                hold_to(words.data, DESCRIPTIONS[tool]["outputSchema"])
    assert seen or tool != "edit_note"  # a reader is told
