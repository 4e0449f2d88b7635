"""What is offered while a person types a value: which, in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.tools.resources import Meaning, completions, meaning_of
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

VAULT = """
=== Plan.md
---
tags: [garden, Project/alpha]
status: open
Due: 2026-01-01
---
=== Archive/Old plan.md
---
status: done
---
#garden
=== Planning/Notes.md
#project #garden
=== Planning/Deep/er/Übung.md
=== plan.png
=== Nothing.pdf
"""


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path, VAULT))


OFFERED: dict[tuple[Meaning, str], list[str]] = {
    # at the start of the path, of the name, within the name, anywhere
    ("file", "plan"): [
        "Plan.md",
        "Planning/Deep/er/Übung.md",
        "Planning/Notes.md",
        "plan.png",
        "Archive/Old plan.md",
    ],
    ("note", "plan"): ["Plan.md", "Planning/Deep/er/Übung.md", "Planning/Notes.md", "Archive/Old plan.md"],
    ("note", "note"): ["Planning/Notes.md"],
    ("note", "PLANNING/N"): ["Planning/Notes.md"],
    ("note", "u\u0308b"): ["Planning/Deep/er/Übung.md"],
    ("note", "deep"): ["Planning/Deep/er/Übung.md"],
    ("note", "nowhere"): [],
    ("note", ""): ["Archive/Old plan.md", "Plan.md", "Planning/Deep/er/Übung.md", "Planning/Notes.md"],
    ("folder", ""): ["Archive", "Planning", "Planning/Deep", "Planning/Deep/er"],
    ("folder", "e"): ["Planning/Deep/er", "Archive", "Planning/Deep"],
    ("tag", ""): ["garden", "Project", "Project/alpha"],
    ("tag", "al"): ["Project/alpha"],
    ("tag", "#PRO"): ["#Project", "#Project/alpha"],
    ("property", ""): ["status", "Due", "tags"],
    ("property", "d"): ["Due"],
    ("text", ""): [],
    ("text", "plan"): [],
}


@pytest.mark.parametrize(("meaning", "value"), OFFERED, ids=str)
def test_what_fits_is_offered_best_first(vault: Vault, meaning: Meaning, value: str) -> None:
    assert completions(vault, meaning, value, NO_PROGRESS) == OFFERED[meaning, value]


def test_notes_are_offered_before_attachments_that_fit_as_well(vault: Vault) -> None:
    assert completions(vault, "file", "", NO_PROGRESS)[-2:] == ["Nothing.pdf", "plan.png"]
    assert completions(vault, "file", "n", NO_PROGRESS)[0] == "Nothing.pdf"


@pytest.mark.parametrize(
    ("name", "meaning"), [("path", "note"), ("Note", "note"), ("TAG", "tag"), ("property", "property"), ("who", "text")]
)
def test_an_arguments_name_says_what_it_means(name: str, meaning: str) -> None:
    assert meaning_of(name) == meaning


def test_a_note_nobody_can_read_does_not_stop_the_property_names(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Large.md\n---\nlarge: 1\n---\n" + "x" * 100 + "\n=== Small.md\n---\nsmall: 1\n---\n")
    assert completions(open_vault(tmp_path, max_bytes=100), "property", "", NO_PROGRESS) == ["small"]


def test_bases_are_offered_without_those_that_are_hidden(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "=== Books.base\n=== Lists/Old books.base\n=== Secret/Books too.base\n=== Books.md\n")
    vault = open_vault(root, rules=PathRules(deny=(Rule("deny", "Secret/", 1),)))
    assert meaning_of("base") == "base"
    assert completions(vault, "base", "books", NO_PROGRESS) == ["Books.base", "Lists/Old books.base"]
    assert completions(vault, "base", "too", NO_PROGRESS) == []


def test_views_are_those_of_the_base_that_is_filled_in(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        "=== Books.base\nviews: [{type: table, name: To read}, {type: cards, name: Read}]\n=== Broken.base\nviews: 5\n",
    )
    vault = open_vault(tmp_path)
    assert meaning_of("View") == "view"

    def offered(value: str, **filled_in: str) -> list[str]:
        return completions(vault, "view", value, NO_PROGRESS, filled_in)

    assert offered("", base="Books.base") == ["To read", "Read"]
    assert offered("re", base="books") == ["Read", "To read"]
    assert offered("") == offered("", base="Nowhere") == offered("", base="../x") == []
    assert offered("", base="Broken.base") in ([], ["Table"])
