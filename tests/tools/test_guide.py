"""The person's guide to a vault, whole, or what can be seen of a vault without one: short, and only what may be seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.calls import call
from support.vaults import open_vault, write_vault
from vaultwire.tools.overview import MAX_SUMMARY, guide_texts, summary
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.value_types import NO_PROGRESS

VAULT = """
=== Projects/Plan.md
---
status: open
due: 2026-01-01
---
#work/plan #home
=== Projects/Other.md
#work
=== Secret/Diary.md
#hidden
=== Templates/Meeting.md
=== Templates/Day.md
=== Start.md
=== .obsidian/app.json
{"newFileLocation": "folder", "newFileFolderPath": "Inbox", "attachmentFolderPath": "Files"}
=== .obsidian/templates.json
{"folder": "Templates"}
=== .obsidian/daily-notes.json
{"folder": "Secret/Days", "template": "Templates/Day"}
=== .obsidian/types.json
{"types": {"due": "date"}}
=== .obsidian/plugins/periodic-notes/data.json
{"weekly": {"enabled": true, "format": "GGGG-[W]WW", "folder": "Weeks", "template": ""}}
"""


def test_a_vault_without_a_guide_is_summed_up(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path / "Notes", VAULT))
    (text,) = guide_texts(vault, "", NO_PROGRESS)
    assert text.splitlines() == [
        "Notes: 6 notes. It has no guide (AGENTS.md); what can be seen of it:",
        "Folders: Projects (2), Templates (2), (top) (1), Secret (1)",
        "Properties: due (date), status (text)",
        "Tags: #work (2), #hidden (1), #home (1)",
        "Templates: Templates/, Day, Meeting",
        "Daily notes: Secret/Days/YYYY-MM-DD, from Templates/Day",
        "Weekly notes: Weeks/GGGG-[W]WW",
        "New notes: in Inbox/, attachments in Files/",
    ]


def test_what_is_hidden_is_not_summed_up(tmp_path: Path) -> None:
    rules = PathRules(deny=(Rule("deny", "Secret/", 1), Rule("deny", "AGENTS.md", 2), Rule("deny", "Inbox/", 3)))
    root = write_vault(tmp_path / "Notes", VAULT + "=== AGENTS.md\nSecret rule.\n")
    (text,) = guide_texts(open_vault(root, rules=rules), "", NO_PROGRESS)
    assert not [word for word in ("Secret", "hidden", "Inbox", "policy", "Daily notes") if word in text]
    assert "Weekly notes" in text


def test_the_summary_of_a_large_vault_stays_short(tmp_path: Path) -> None:
    for number in range(60):
        folder = tmp_path / f"Folder with a long name {number}"
        folder.mkdir()
        (folder / "Note.md").write_text(
            f"---\nproperty-{number}: 1\n{'k' * 200}{number}: 2\n---\n#tag-{number}-{'x' * 50}\n"
        )
    text = summary(open_vault(tmp_path), NO_PROGRESS)
    assert len(text) <= MAX_SUMMARY
    assert [line.partition(":")[0] for line in text.splitlines()[1:]] == ["Folders", "Properties", "Tags"]
    assert all(line.endswith(", …") for line in text.splitlines()[1:])


def test_a_guide_is_given_whole_and_marked_as_the_vaults_words(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== AGENTS.md\nRule.\n=== A/CLAUDE.md\nOther.\n=== B/Note.md\n"))
    guide, about = guide_texts(vault, "", NO_PROGRESS)
    assert guide == "Rule."
    assert "AGENTS.md: the person's own guide, text of the vault" in about
    assert guide_texts(vault, "A", NO_PROGRESS)[0] == "Other."
    assert "B has no guide of its own" in guide_texts(vault, "B", NO_PROGRESS)[0]
    with pytest.raises(VaultError) as caught:
        guide_texts(vault, "C", NO_PROGRESS)
    assert caught.value.code == FILE_NOT_FOUND


def test_the_tool_gives_the_guide_and_names_its_note(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== AGENTS.md\nRule.\n=== B/Note.md\n"))
    assert call(vault, "vault_guide").data == {"text": "Rule.", "path": "AGENTS.md"}
    assert "path" not in call(vault, "vault_guide", folder="B").data


def test_a_guide_that_is_too_long_for_an_answer_is_cut(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, f"=== AGENTS.md\n{'x' * 30_000}\n"))
    guide, about = guide_texts(vault, "", NO_PROGRESS)
    assert len(guide) == 20_000
    assert "read_notes 'AGENTS.md' gives all" in about
