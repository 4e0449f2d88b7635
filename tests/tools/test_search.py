"""Searches that find few notes or none: what they show instead, what they say, and that strict answers stay as they are."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from bench.questions import ask, copy_notes, score
from bench.random_queries import QueryMaker

from support.random_notes import NoteMaker
from support.stores import BACKENDS, MAX_BYTES, Backend, open_stored
from support.vaults import open_vault, write_vault
from vaultwire.tools.search import search_notes
from vaultwire.vault.asking import rank
from vaultwire.vault.disk.files import FileBytes, Files
from vaultwire.vault.errors import VaultError
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.note_parts import searchable_text
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS, Hit, VaultPath
from vaultwire.vault.vault import Vault

FILLER = "".join(
    f"=== Log/{number}.md\nhow do i go to a shop between two days, and with a note\n" for number in range(8)
)
VAULT = f"""
=== Sync/Conflicts.md
---
description: how two versions are merged
---
# Conflicts
To resolve conflicts, choose a version on one of the devices.
=== Sync/Devices.md
How to add devices.
=== Publish/Custom domains.md
Publish a site with a custom domain.
=== Publish/Long page.md
How to publish: a site. With custom fields; domains are another matter.
=== Projects/Website relaunch.md
---
status: active
---
New pages.
{FILLER}"""


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return open_vault(write_vault(tmp_path_factory.mktemp("vault"), VAULT))


def answer(vault: Vault, query: str, **options: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the lines of the answer that are no lines of notes, and the data."""
    outcome = search_notes(vault, NO_PROGRESS, query, **options)
    return [line for line in outcome.texts[0].split("\n") if not line.startswith("  ")], dict(outcome.data)


def test_words_find_the_notes_with_most_and_rarest_of_them(vault: Vault) -> None:
    lines, data = answer(vault, "resolve sync conflicts between phones")
    assert lines[0] == "0 of 13 notes match 'resolve sync conflicts between phones'."
    assert lines[1] == "(No note has all words; these have most of them. In no note: sync, phones.)"
    assert lines[2] == "Sync/Conflicts.md (lacks: between)"
    assert data["partial_matches"][0]["missing"] == ["between"]
    assert (data["notes"], data["total"], data["absent_words"]) == ([], 0, ["sync", "phones"])
    assert "next_cursor" not in data


def test_a_note_without_a_word_is_shown_beside_those_with_all(vault: Vault) -> None:
    lines, data = answer(vault, "publish site custom domain matter")
    assert lines[0] == "1 of 13 notes matches 'publish site custom domain matter':"
    assert lines[1] == '(Notes with "lacks" do not have all words.)'
    assert lines[2:] == ["Publish/Custom domains.md (lacks: matter)", "Publish/Long page.md"]
    assert [note["path"] for note in data["notes"]] == ["Publish/Long page.md"]
    assert [(note["path"], note["missing"]) for note in data["partial_matches"]] == [
        ("Publish/Custom domains.md", ["matter"])
    ]
    assert (data["total"], data["total_is_exact"]) == (1, True)


def test_more_of_the_words_come_before_a_higher_score() -> None:
    often, anna, both = (Hit(VaultPath(path), score, 1, []) for path, score in (("a", 300), ("b", 100), ("c", 90)))
    assert sorted([(often, 0.6), (both, 1.0), (anna, 0.75)], key=rank) == [(both, 1.0), (anna, 0.75), (often, 0.6)]


def test_few_words_that_a_note_has_are_enough(vault: Vault) -> None:
    lines, data = answer(vault, "custom fields")
    assert lines == ["1 of 13 notes matches 'custom fields':", "Publish/Long page.md"]
    assert "partial_matches" not in data


@pytest.mark.parametrize("query", ["resolve zebras -conflicts", "resolve zebras path:Publish", "zebras OR lions", "-a"])
def test_other_conditions_are_always_met(vault: Vault, query: str) -> None:
    assert "partial_matches" not in answer(vault, query)[1]


def test_notes_with_most_words_meet_the_other_conditions(vault: Vault) -> None:
    data = answer(vault, "custom domain zebras path:Publish -matter")[1]
    assert [note["path"] for note in data["partial_matches"]] == ["Publish/Custom domains.md"]


def test_in_a_folder_only_its_notes_count(vault: Vault) -> None:
    lines, data = answer(vault, "custom domain conflicts", folder="Publish")
    assert lines[1] == "(No note has all words; these have most of them. In no note of this folder: conflicts.)"
    assert {note["path"] for note in data["partial_matches"]} == {"Publish/Custom domains.md", "Publish/Long page.md"}


def test_punctuation_around_words_keeps_no_note_away(vault: Vault) -> None:
    lines, data = answer(vault, "resolve, conflicts?")
    assert lines == ["1 of 13 notes matches 'resolve, conflicts?':", "Sync/Conflicts.md"]
    assert data["total"] == 1
    lines, data = answer(vault, "resolve?")
    assert lines[1:] == ["No note matches exactly. Best of those with most words:", "Sync/Conflicts.md"]
    assert "missing" not in data["partial_matches"][0]


def test_one_word_in_no_note_is_said_once(vault: Vault) -> None:
    assert answer(vault, "zebra") == (
        ["0 of 13 notes match 'zebra'."],
        {"notes": [], "total": 0, "total_is_exact": True, "notes_searched": 13, "notes_skipped": 0},
    )


def test_notes_with_a_small_part_of_the_words_are_left_out(vault: Vault) -> None:
    lines, data = answer(vault, "zebras lions tigers bears note")
    assert lines[1:] == ["(In no note: zebras, lions, tigers, bears.)"]
    assert "partial_matches" not in data


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("status:active", "Hint: status: is no operator; for a property write [status:active]."),
        ("resolv*", "Hint: * is no wildcard; write resolv: words are found inside longer ones, too."),
        ("conflicts AND resolve", "Hint: AND is searched as a word: leave it out, all words must occur."),
        ("websiet relaunch", "Did you mean the note Projects/Website relaunch.md?"),
    ],
)
def test_one_line_says_what_would_be_right(vault: Vault, query: str, line: str) -> None:
    lines, data = answer(vault, query)
    assert lines[1] == line
    assert (data.get("hints", []) == []) is not line.startswith("Hint")


def test_enough_results_need_no_help(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "".join(f"=== {number}.md\nred AND blue\n" for number in range(30))))
    lines, data = answer(vault, "red AND blue")
    assert lines[1] == "0.md"
    assert "hints" not in data


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    notes = "".join(f"=== {number}.md\nred apple {'x' * 150}\n" for number in range(30))
    lines, data = answer(open_vault(write_vault(tmp_path, f"=== filler.md\n{notes}")), "red apple pear", max_tokens=100)
    assert len(data["partial_matches"]) == 2
    assert lines[-1] == "8 more: give a larger max_tokens."
    assert "next_cursor" not in data


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_help_adds_notes_and_changes_no_result(backend: Backend, tmp_path: Path) -> None:
    chance = random.Random(f"{os.environ['VAULTWIRE_SEED']} {backend.__name__}")
    root = tmp_path / "vault"
    paths = NoteMaker(chance).write(root, 60)
    texts = {path: searchable_text(path, (root / path).read_bytes()) for path in paths}
    vault, _, _ = open_stored(root, None, backend, 4 * MAX_BYTES)
    maker = QueryMaker(chance, list(texts.items()))
    helped = 0
    for _ in range(60):
        query = " ".join(maker.word() for _ in range(chance.randint(1, 6)))
        query += chance.choice(["", "", " zzqq", " -zzqq", f" -{maker.word()}", ' "zz qq"'])
        try:
            parse_query(query)
        except VaultError:
            continue
        found = vault.search(query, "", 0, 10)
        help_given = vault.search_help(query, "", 10, found)
        if help_given is None:
            continue
        helped += 1
        assert [hit for hit in help_given.hits if hit in found.hits] == found.hits, query
        assert len(help_given.hits) <= 10
        for hit in help_given.hits:
            matcher = [parse_query(f'"{word}"' if " " in word else word) for word in hit.missing]
            assert all(Matcher(each).match(hit.path, texts[hit.path]) is None for each in matcher), (query, hit)
        assert all(vault.search(f'"{word}"', "", 0, 1).total == 0 for word in help_given.absent), query
    assert helped


class Counting(Files):
    """Files that count how often they are read."""

    reads = 0

    def read(self, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        self.reads += 1
        return super().read(path, max_bytes)


def test_help_reads_a_bounded_number_of_notes(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "".join(f"=== {n}.md\nred apple {n % 7} tree {n}\n" for n in range(300)))
    for path in root.iterdir():
        os.utime(path, (0, 0))  # notes that have just changed are read again
    files = Counting(str(root), MAX_BYTES)
    vault, _, _ = open_stored(root, None, files=files)
    found = vault.search("red apples on trees", "", 0, 10)
    files.reads = 0
    given = vault.search_help("red apple 3 pears", "", 10, found)
    assert given is not None
    assert len(given.hits) == 10
    assert files.reads <= 30


NOTES = """
=== Backups.md
---
description: How to save copies of your notes, so that nothing is lost.
tags: [safety]
---
Keep copies of all notes on a second disk. A copy that nobody has tested is none.
=== Bread.md
---
description: A recipe for sourdough with rye.
---
Mix rye flour and water. The sourdough needs a day.
=== Tyres.md
---
description: When to change the tyres of the car?
---
Change them in October, and again in April. The car stands in the yard.
=== Meeting.md
Notes of all: who was there, what to do next.
=== Plans.md
A car, a second house, all the bread of the town.
"""


def test_a_bench_asks_the_descriptions_of_notes(tmp_path: Path) -> None:
    source = write_vault(tmp_path / "vault", NOTES)
    questions = copy_notes(source, tmp_path / "copy")
    assert list(questions) == ["Backups.md", "Bread.md", "Tyres.md"]
    assert "tags: [safety]" in (tmp_path / "copy/Backups.md").read_text(encoding="utf-8")
    assert not any("description" in note.read_text(encoding="utf-8") for note in (tmp_path / "copy").iterdir())
    answered = ask(open_vault(tmp_path / "copy"), questions)
    assert [each.place for each in answered] == [1, 1, 1]
    assert score(answered) == (1.0, 1.0, 1.0)
    partly = score([each._replace(place=place) for each, place in zip(answered, (1, 4, None), strict=True)])
    assert partly == pytest.approx((1 / 3, 2 / 3, (1 + 1 / 4) / 3))
