"""How sync programs name conflict copies, and which names are people's own."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from vaultwire.vault.disk.conflict_copies import RULES, ConflictCopy, conflict_copies, is_version_of
from vaultwire.vault.value_types import VaultPath

ICLOUD = "/Users/ann/Library/Mobile Documents/iCloud~md~obsidian/Documents/Notes"
ONEDRIVE = "C:\\Users\\Ann\\OneDrive\\Notes"
GOOGLE = "/Users/ann/Library/CloudStorage/GoogleDrive-ann@example.org/My Drive/Notes"
PLAIN = "/home/ann/Notes"


def copies(paths: Sequence[str], root: str = PLAIN) -> list[ConflictCopy]:
    return conflict_copies([VaultPath(path) for path in paths], root)


# copy, original, program, date, device
NAMES = [
    (
        "2026-03-12 (Conflicted copy ThinkPad-T14-G5 202603121129).md",
        "2026-03-12.md",
        "Obsidian Sync",
        "2026-03-12 11:29",
    ),
    (
        "A/Plan (old) (Conflicted copy Ann (home) 202603121129).md",
        "A/Plan (old).md",
        "Obsidian Sync",
        "2026-03-12 11:29",
    ),
    ("Plan.sync-conflict-20250926-224656-C5H6PTH.md", "Plan.md", "Syncthing", "2025-09-26 22:46:56"),
    ("Plan.sync-conflict-20250926-224656.md", "Plan.md", "Syncthing", "2025-09-26 22:46:56"),
    ("Board.sync-conflict-20250926-224656-C5H6PTH.canvas", "Board.canvas", "Syncthing", "2025-09-26 22:46:56"),
    ("v1.sync-conflict-20250926-224656-C5H6PTH.2", "v1.2", "Syncthing", "2025-09-26 22:46:56"),
    ("my-data (conflicted copy 2018-04-10 093612).md", "my-data.md", "Nextcloud", "2018-04-10 09:36:12"),
    ("Plan (conflicted copy Ann Lee 2018-04-10 093612).md", "Plan.md", "Nextcloud", "2018-04-10 09:36:12"),
    ("Plan_conflict-20180220-141213.md", "Plan.md", "Nextcloud", "2018-02-20 14:12:13"),
    ("Plan_conflict-ann-20180220-141213.md", "Plan.md", "Nextcloud", "2018-02-20 14:12:13"),
    ("Plan (Ann's conflicted copy 2026-01-02).md", "Plan.md", "Dropbox", "2026-01-02"),
    ("Plan (James\u2019 conflicted copy 2026-01-02).md", "Plan.md", "Dropbox", "2026-01-02"),
    ("Plan (Ann's conflicted copy 2026-01-02 (1)).md", "Plan.md", "Dropbox", "2026-01-02"),
    ("Plan (Ann's conflicted copy).md", "Plan.md", "Dropbox", ""),
    ("Plan (conflicting copy).md", "Plan.md", "Dropbox", ""),
    ("Plan.Conflict.md", "Plan.md", "Resilio Sync", ""),
    ("Plan.Conflict2.md", "Plan.md", "Resilio Sync", ""),
    ("Plan-DESKTOP-AB12CD3.md", "Plan.md", "OneDrive", ""),
    ("Plan-LAPTOP-AB12CD34-2.md", "Plan.md", "OneDrive", ""),
    ("my-plan-my-host-safeBackup-0001.md", "my-plan.md", "OneDrive", ""),
    ("Plan (conflict 2026-07-27 12-30-45).md", "Plan.md", "OneDrive", "2026-07-27 12:30:45"),
    ("Plan.md.orig", "Plan.md", "Git", ""),
    ("Plan_REMOTE_4711.md", "Plan.md", "Git", ""),
    ("Plan (saved meanwhile, 4711-2).md", "Plan.md", "vaultwire", ""),
]


@pytest.mark.parametrize(("copy", "original", "program", "date"), NAMES, ids=[name[0] for name in NAMES])
def test_a_programs_own_name_is_a_copy_of_the_file_that_is_there(
    copy: str, original: str, program: str, date: str
) -> None:
    (found,) = copies([original, copy, "Other.md"])
    assert (found.path, found.original, found.program, found.date) == (copy, original, program, date)
    assert found.has_original
    assert found.is_certain


def test_the_device_is_read_from_the_name() -> None:
    names = {
        "Plan (Conflicted copy ThinkPad-T14-G5 202603121129).md": "ThinkPad-T14-G5",
        "Plan.sync-conflict-20250926-224656-C5H6PTH.md": "C5H6PTH",
        "Plan (Ann's conflicted copy 2026-01-02).md": "Ann",
        "Plan-DESKTOP-AB12CD3.md": "DESKTOP-AB12CD3",
        "Plan-my-host-safeBackup-0003.md": "my-host",
        "Plan.Conflict.md": "",
    }
    assert {copy.path: copy.device for copy in copies(["Plan.md", *names])} == names


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Plan 2.md",
            "Plan (1).md",
            "Plan (copy).md",
            "Plan copy.md",
            "Copy of Plan.md",
            "Plan - Copy.md",
            "Plan-B.md",
        ),
        *(
            "Plan (conflict).md",
            "Conflicts.md",
            "Plan.conflict.md",
            "Plan conflict.md",
            "Plan_LOCAL.md",
            "Plan-Desktop.md",
        ),
        *("Plan (Conflicted copy).txt", "Plan.original.md", "Plan.sync-conflict-2025-C5H6PTH.md", "Plan-MacBook.md"),
    ],
)
def test_names_that_people_give_are_no_copies(name: str) -> None:
    assert copies(["Plan.md", "Conflict.md", name]) == []


@pytest.mark.parametrize(
    ("root", "name", "program"),
    [
        (ICLOUD, "Plan 2.md", "iCloud"),
        (GOOGLE, "Plan (1).md", "Google Drive"),
        (ONEDRIVE, "Plan-MacBook Pro de Charlyne-2.md", "OneDrive"),
    ],
)
def test_a_persons_name_is_a_possible_copy_in_that_programs_folder_alone(root: str, name: str, program: str) -> None:
    (found,) = copies(["Plan.md", name], root)
    assert (found.program, found.original, found.is_certain) == (program, "Plan.md", False)
    assert copies([name], root) == []  # nothing to be a copy of
    for other in {ICLOUD, GOOGLE, ONEDRIVE, PLAIN} - {root}:
        assert copies(["Plan.md", name], other) == []


def test_only_likely_versions_of_one_text_are_alike() -> None:
    plan = "# Plan\n- [ ] a\n- [ ] b\n- [ ] c\n"
    assert is_version_of(plan + "- [ ] d\n", plan)
    assert is_version_of("a", "a\nb")
    assert not is_version_of("# Plan 2\nAnother year\nother things\nand more", plan)
    assert not is_version_of("one", "two")
    assert not is_version_of("", "two")


def test_a_copy_without_its_original_is_named_only_if_its_name_has_a_date() -> None:
    (found,) = copies(["Plan.sync-conflict-20250926-224656-C5H6PTH.md", "Plan.Conflict.md", "A_LOCAL_5.md"])
    assert (found.original, found.has_original) == ("Plan.md", False)
    assert "moved or deleted" in found.words


def test_a_copy_of_a_copy_belongs_to_the_file_that_is_there() -> None:
    name = "Plan (Ann's conflicted copy 2026-01-02).sync-conflict-20250926-224656-C5H6PTH.md"
    (found,) = copies(["Plan.md", name])
    assert found.original == "Plan.md"
    assert found.program == "Syncthing"


def test_case_and_unicode_form_of_the_original_do_not_matter() -> None:
    (found,) = copies(["plan.md", "Plan.Conflict.md"])  # Resilio makes it because of the case
    assert found.original == "plan.md"


def test_no_date_that_is_none() -> None:
    (found,) = copies(["Plan.md", "Plan.sync-conflict-20259926-224656-C5H6PTH.md"])
    assert found.date == ""


def test_no_file_is_its_own_copy_and_each_has_one_reading() -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    parts = [
        "Plan",
        " 2",
        " (1)",
        ".Conflict",
        "-x-safeBackup-0001",
        " (conflicted copy 2018-04-10 093612)",
        ".orig",
        "_LOCAL_1",
    ]
    for _ in range(300):
        names = {"".join(chance.choices(parts, k=chance.randrange(1, 5))) + ".md" for _ in range(6)}
        found = copies(sorted(names), chance.choice([PLAIN, ICLOUD, GOOGLE, ONEDRIVE]))
        assert len({copy.path for copy in found}) == len(found), seed
        assert all(copy.path != copy.original for copy in found), seed
        assert all((copy.original in names) is copy.has_original for copy in found), seed


def test_each_rule_says_its_source() -> None:
    assert all(rule.source for rule in RULES)
