"""The columns of a list of notes: properties, and what every note has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.vault.insights.listing import columns_of
from vaultwire.vault.value_types import VaultPath

NOTE = VaultPath("Folder/Name.md")


BOTH = ["title", "description"]
CASES: list[tuple[str, list[str], dict[str, Any]]] = [
    ("---\nstatus: open\ndue: 2026-01-02\n---\n", ["Status", "due", "x"], {"Status": "open", "due": "2026-01-02"}),
    ("---\ntags: [a, b]\nempty:\nn: 3\n---\n", ["tags", "empty", "n"], {"tags": ["a", "b"], "empty": None, "n": 3}),
    ("# First\n\nThe *text*\ngoes on.\n\nMore.", BOTH, {"title": "First", "description": "The *text* goes on."}),
    ("First\n===\n> [!note] Said\n> here\n", BOTH, {"title": "First", "description": "Said here"}),
    ("---\ntitle: T\ndescription: D\n---\n# H\ntext", BOTH, {"title": "T", "description": "D"}),
    ("## Steps\n\n# Late", ["title"], {"title": "Name"}),
    ("---\nsummary: S\n---\n# H\ntext", ["description"], {"description": "S"}),
    ("```\ncode\n```\n\n| a |\n|---|\n\n---\n\n- [ ] do it\n- and", BOTH, {"title": "Name", "description": "do it"}),
    ("%% not\nthis %%\n\n<b>x</b>\n\nthis", ["description"], {"description": "this"}),
    ("", BOTH, {"title": "Name"}),
    ("x" * 500, ["description"], {"description": "x" * 159 + "…"}),
]


@pytest.mark.parametrize(("text", "names", "found"), CASES)
def test_a_column_is_what_the_note_says(text: str, names: list[str], found: dict[str, Any]) -> None:
    assert columns_of(NOTE, text, names) == found


def test_columns_of_notes_are_those_of_their_files_now(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== A.md\n---\ns: 1\n---\n=== B.md\ntext\n"))
    paths = [VaultPath("A.md"), VaultPath("B.md"), VaultPath("Gone.md")]
    assert vault.overview.columns(paths, ["s", "description"]) == [{"s": 1}, {"description": "text"}, {}]
    (tmp_path / "A.md").write_text("---\ns: 2\n---\n")
    assert vault.overview.columns(paths[:1], ["s"]) == [{"s": 2}]
