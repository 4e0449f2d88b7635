"""A write that leaves frontmatter nobody can read is refused where it could be read before, and told where not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.calls import call, refusal
from support.vaults import open_vault, snapshot, write_vault
from support.wire import Server
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.changes.change import Write
from vaultwire.vault.editing.workbench import Asked, broken_by
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.vault import Vault

BROKEN = "title: Q3: Planning"
VAULT = f"""=== Good.md
---
title: Old # why
tags: [a]
---
Old
=== Bad.md
---
{BROKEN}
---
Old
=== Templates/Bad.md
---
{BROKEN}
---
=== .obsidian/templates.json
{{"folder": "Templates"}}
"""
REASON = "line 2: a text with ': ' in it needs quotes"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def vault(root: Path) -> Vault:
    return open_vault(root)


def _edit(**edit: Any) -> tuple[str, dict[str, Any]]:
    return "edit_note", {"path": "Good", "edits": [{"action": "replace", **edit}]}


WHOLE = f"---\n{BROKEN}\n---\nNew\n"
WRITES: list[tuple[str, dict[str, Any]]] = [
    _edit(text="title: Old # why", content=BROKEN),
    _edit(text="Old", content="Q3: Planning", every=True),
    _edit(lines="2", content=BROKEN),
    ("edit_note", {"path": "Good", "diff": f"@@ -2 +2 @@\n-title: Old # why\n+{BROKEN}\n"}),
    ("create_note", {"path": "Good", "content": WHOLE, "if_exists": "overwrite"}),
    ("write_note", {"path": "Good", "content": WHOLE, "mode": "overwrite"}),
]


@pytest.mark.parametrize(("tool", "arguments"), WRITES)
def test_frontmatter_that_could_be_read_is_not_broken_unasked(
    root: Path, vault: Vault, tool: str, arguments: dict[str, Any]
) -> None:
    before = snapshot(root)
    code, message = refusal(vault, tool, **arguments)
    assert (code, snapshot(root)) == (INVALID_ARGUMENTS, before)
    assert message == (
        f"Good.md: the properties could not be read any more: {REASON}. Nothing was changed. "
        "Correct the text, or give allow_broken to write it all the same."
    )
    outcome = call(vault, tool, **arguments, allow_broken=True)
    assert f"The properties of Good.md cannot be read: {REASON}." in outcome.texts[0]
    assert f"\n{BROKEN}" in (root / "Good.md").read_text()


NEW: list[tuple[str, dict[str, Any]]] = [
    ("create_note", {"path": "New", "content": WHOLE}),
    ("create_note", {"path": "New", "content": "x", "template": "Bad"}),
    ("write_note", {"path": "New", "content": WHOLE}),
]


@pytest.mark.parametrize(("tool", "arguments"), NEW)
def test_a_new_note_is_written_as_it_was_given_and_its_fault_is_told(
    root: Path, vault: Vault, tool: str, arguments: dict[str, Any]
) -> None:
    for run in (call(vault, tool, **arguments, dry_run=True), call(vault, tool, **arguments)):
        assert f"The properties of New.md cannot be read: {REASON}." in run.texts[0]
    assert (root / "New.md").read_text().startswith(f"---\n{BROKEN}\n---\n")


def test_what_was_broken_before_may_be_edited_and_only_another_fault_is_told(root: Path, vault: Vault) -> None:
    outcome = call(vault, "edit_note", path="Bad", edits=[{"action": "append", "content": "x"}])
    assert outcome.data["notices"] == []
    edits = [{"action": "replace", "text": "Q3: Planning", "content": "["}]
    (notice,) = call(vault, "edit_note", path="Bad", edits=edits).data["notices"]
    assert notice.startswith("The properties of Bad.md cannot be read: line")
    edits = [{"action": "replace", "lines": "2", "content": "title: 'Q3: Planning'"}]
    assert call(vault, "edit_note", path="Bad", edits=edits).data["notices"] == []


def test_the_contract_over_a_vaults_files_writes_what_it_is_given(root: Path) -> None:
    with Server(root, "--dialect", "filesystem") as server:
        server.open("2025-11-25")
        assert "cannot be read" in server.call("write-note", **WRITES[-1][1])["content"][0]["text"]
    assert (root / "Good.md").read_text() == WHOLE


LINES = st.sampled_from(
    [
        "a: b",
        "c: d",
        "a: b: c",
        "- x",
        "  - x",
        "\td: 1",
        "e: [",
        "e: [x]",
        "'f",
        "g: 'h'",
        "i: *j",
        "@k: 1",
        "l: |",
        "---",
        "",
    ]
)
HEADS = st.lists(LINES, max_size=4).map(lambda lines: "\n".join(["---", *lines, "---", "body", ""]))


@given(HEADS, HEADS, st.booleans())
def test_exactly_what_cannot_be_read_is_refused_or_told(before: str, after: str, keeps: bool) -> None:
    problems, old = parse_frontmatter(after).problems, parse_frontmatter(before).problems
    steps = [Write(VaultPath("A.md"), before.replace("\n", "\r\n").encode(), after.encode())]
    asked = Asked(keeps_frontmatter=keeps)
    if keeps and problems and not old:
        with pytest.raises(VaultError, match="could not be read any more"):
            broken_by(steps, asked)
    else:
        assert len(broken_by(steps, asked)) == (1 if problems and problems != old else 0)
