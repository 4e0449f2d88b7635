"""Conflict copies and conflict marks among what is wrong in a vault, and where copies do not count as notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.vault.errors import VaultError
from vaultwire.vault.links.faults import CONFLICT_COPY, CONFLICT_MARKS
from vaultwire.vault.vault import Vault

COPY = "Plan.sync-conflict-20250926-224656-C5H6PTH.md"
VAULT = f"""=== Plan.md
---
aliases: [Big plan]
---
# Plan
one
two
three
=== {COPY}
---
aliases: [Big plan]
---
# Plan
one
two
=== 2026-03-12.md
day
=== 2026-03-12 (Conflicted copy Pad 202603121129).md
day!
=== A/picture.Conflict.png
x
=== A/picture.png
y
=== Lost.sync-conflict-20250926-224656-C5H6PTH.md
lost
=== Plan 2.md
# Plan
one
two
three
"""


def found(vault: Vault, kind: str, folder: str = "") -> dict[str, str]:
    checked = vault.check_all(vault.files_to_check(folder), 0, 1000)
    return {path: each.message for path, findings in checked.found for each in findings if each.kind == kind}


def test_copies_are_named_with_what_they_are_copies_of(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT))
    copies = found(vault, CONFLICT_COPY)
    assert sorted(copies) == [
        "2026-03-12 (Conflicted copy Pad 202603121129).md",
        "A/picture.Conflict.png",
        "Lost.sync-conflict-20250926-224656-C5H6PTH.md",
        COPY,
    ]
    assert copies[COPY] == (
        "a copy that Syncthing made on 2025-09-26 22:46:56, device or person C5H6PTH: 'Plan.md' was changed in two places. "
        "resolve_conflicts joins them"
    )
    assert "'Lost.md', which is not there any more" in copies["Lost.sync-conflict-20250926-224656-C5H6PTH.md"]
    assert list(found(vault, CONFLICT_COPY, "A")) == ["A/picture.Conflict.png"]
    assert [each.kind for each in vault.check(COPY)[1]] == [CONFLICT_COPY]
    assert vault.check("Plan.md")[1] == []


def test_pages_of_a_check_give_each_copy_once(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT))
    suspects = vault.files_to_check("")
    paths, position = [], 0
    while True:
        page = vault.check_all(suspects, position, 1)
        paths += [path for path, _ in page.found]
        assert page.total == suspects.notes.total + 4
        if (position := page.position) == page.total:
            break
    assert len(paths) == len(set(paths)) == 4


def test_possible_copies_count_in_the_programs_folder_if_the_texts_are_alike(tmp_path: Path) -> None:
    root = tmp_path / "Mobile Documents" / "Notes"
    root.mkdir(parents=True)
    write_vault(root, VAULT + "=== Plan 3.md\n# Next year\nwholly\nother\nthings\n")
    assert "Plan 2.md" in found(open_vault(root), CONFLICT_COPY)
    assert "Plan 3.md" not in found(open_vault(root), CONFLICT_COPY)


def test_copies_are_no_duplicates_and_no_daily_notes(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT))
    groups = vault.overview.similar_notes("").all()
    assert not any("onflict" in path for group in groups for path in group.notes)
    assert any({"Plan.md", "Plan 2.md"} <= {*group.notes} for group in groups)  # people's own copies are
    assert vault.overview.periodic_note("2026-03-13").previous == "2026-03-12.md"


def test_a_copy_is_not_suggested_in_place_of_its_original(tmp_path: Path) -> None:
    root = write_vault(tmp_path, VAULT + "=== Link.md\n[[Big plann]] [[Plann]]\n")
    first, second = open_vault(root).check("Link.md")[1]
    assert [each.linktext for each in first.suggestions] == ["Plan"]
    assert COPY.removesuffix(".md") not in [each.linktext for each in second.suggestions]
    with pytest.raises(VaultError) as error:
        open_vault(root).read("Plans")
    assert COPY not in str(error.value)


MARKS = """# Note
<<<<<<< HEAD
mine
=======
theirs
>>>>>>> origin/main
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (MARKS, [2]),
        (MARKS.replace("\n", "\r\n"), [2]),
        (MARKS + MARKS, [2, 8]),
        (MARKS.replace("=======\n", "||||||| 1a2b\nbase\n=======\n"), [2]),
        ("<<<<<<<\na\n=======\n>>>>>>>", [1]),
        (f"````\n{MARKS}````\n", []),  # a text on Git
        (MARKS.replace("mine", "```\nmine\n```"), [2]),
        ("# Note\n=======\ntext\n", []),
        ("<<<<<<< HEAD\nmine\n>>>>>>> x\n", []),
        ("<<<<<<<<\na\n=======\nb\n>>>>>>>>\n", []),
        (" <<<<<<< HEAD\na\n=======\nb\n >>>>>>> x\n", []),
    ],
)
def test_conflicts_that_git_left_are_found(tmp_path: Path, text: str, lines: list[int]) -> None:
    (tmp_path / "Note.md").write_bytes(text.encode())
    vault = open_vault(tmp_path)
    checked = vault.check_all(vault.files_to_check(""), 0, 1000)
    assert [each.line for _, findings in checked.found for each in findings if each.kind == CONFLICT_MARKS] == lines
