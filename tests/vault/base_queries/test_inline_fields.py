"""Inline fields as properties, where the switch says so: bases, searches, lists of properties, renames."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.bases.values import text_of
from vaultwire.dataview.fields import FieldError, rename_field
from vaultwire.dataview.values import shown
from vaultwire.trust.policy_rules import PathRules
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.errors import VaultError
from vaultwire.vault.search.filters import NoteFilterText
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_files import PrivacyRules

VAULT = """=== A.md
---
rating: 2
---
rating:: 9
mood:: happy
Due date:: 2026-03-01
=== B.md
rating:: 7
mood:: sad
mood:: "tired", "calm"
(up:: [[A]]) [read:: true] [price:: 4.50]
- [ ] task [due:: 2026-01-01] [mood:: none of the note's]
- item [weight:: 3]
=== C.md
`rating:: 1` and text
aliases:: Other
tags:: x
=== D.md
---
rating: 7
---
=== Secret.md
---
private: true
---
rating:: 8
mood:: hidden
"""
_BASE = """
formulas:
  next: if(note["Due date"], note["Due date"] + "1d")
  double: rating * 2
views:
  - type: table
    name: All
    order: [file.name, note.rating, note.mood, formula.double, formula.next, note.up, note.price, note.weight, note.due]
"""


def _vault(root: Path, *, switch: bool = True) -> Vault:
    return open_vault(write_vault(root, VAULT), has_inline_fields=switch)


def _rows(vault: Vault, text: str = _BASE) -> list[tuple[str, ...]]:
    return [tuple(map(text_of, row.cells)) for row in vault.bases.query(BaseSource(text=text)).rows]


def _base(condition: str) -> str:
    return f"filters: {condition!r}\nviews:\n  - {{type: table, name: T, order: [file.name]}}\n"


def test_a_base_sees_inline_fields_with_the_switch(tmp_path: Path) -> None:
    """A property goes before a field; a field that is there twice is a list; fields of tasks are the task's."""
    rows = {row[0]: row[1:] for row in _rows(_vault(tmp_path))}
    assert rows["A"] == ("2", "happy", "4", "2026-03-02", "", "", "", "")
    assert rows["B"] == ("7", "sad, tired, calm", "14", "", "[[A]]", "4.5", "3", "")
    assert rows["C"][:3] == ("", "", "")
    assert rows["D"][:1] == ("7",)


def test_a_base_sees_none_without_the_switch(tmp_path: Path) -> None:
    """That is what the app does."""
    rows = {row[0]: row[1:] for row in _rows(_vault(tmp_path, switch=False))}
    assert rows["A"][:3] == ("2", "", "4")
    assert rows["B"][:3] == ("", "", "")


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("rating == 7", ["B", "D"]),
        ("rating > 1", ["A", "B", "D", "Secret"]),
        ('mood.contains("tired")', ["B"]),
        ('file.hasProperty("MOOD")', ["A", "B", "Secret"]),
        ('file.hasProperty("due")', []),
        ('up == link("A")', ["B"]),
        ("read == true", ["B"]),
        ('note["Due date"] < "2026-03-02"', ["A"]),
        ('file.hasTag("x")', []),
    ],
)
def test_filters_of_bases_see_inline_fields(tmp_path: Path, condition: str, names: list[str]) -> None:
    """By what the index answers, and file by file."""
    vault = _vault(tmp_path)
    assert [row[0] for row in _rows(vault, _base(condition))] == names
    assert [row[0] for row in _rows(vault, _base(f"{condition} && file.path.length > 0"))] == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("[rating:9]", []),
        ("[rating:7]", ["B.md", "D.md"]),
        ("[rating:>6]", ["B.md", "D.md", "Secret.md"]),
        ("[mood]", ["A.md", "B.md", "Secret.md"]),
        ("[mood:/ti.ed/]", ["B.md"]),
        ("[MOOD:calm]", ["B.md"]),
        ("[weight:3]", ["B.md"]),
        ("[due]", []),
        ("[price:4.50]", ["B.md"]),
        ("-[rating]", ["C.md"]),
    ],
)
def test_searches_see_inline_fields(tmp_path: Path, query: str, names: list[str]) -> None:
    """``[name:value]`` of a search; without the switch only what is in the frontmatter."""
    found = _vault(tmp_path).search(query, "", 0, 20)
    assert sorted(hit.path for hit in found.hits) == names


def test_filters_and_lists_of_properties_see_inline_fields(tmp_path: Path) -> None:
    """They count in the list of properties, with their values."""
    overview = _vault(tmp_path).overview
    counts = {each.name: each.notes for each in overview.properties("", "")}
    assert {name: counts.get(name) for name in ("rating", "mood", "due", "weight")} == {
        "rating": 4, "mood": 3, "due": None, "weight": 1,
    }  # fmt: skip
    assert {each.text for each in overview.property_values("mood", "")} == {"happy", "sad", "tired", "calm", "hidden"}
    asked = NoteFilterText(properties=["rating >= 7"])
    assert [note.stat.path for note in overview.find(asked, "").all()] == ["B.md", "D.md", "Secret.md"]


def test_a_field_is_no_alias_and_no_tag(tmp_path: Path) -> None:
    """Obsidian would not take it for one."""
    vault = _vault(tmp_path)
    assert vault.locate("C") == "C.md"
    with pytest.raises(VaultError):
        vault.locate("Other")
    assert vault.overview.count_tags("") == []


def test_hidden_notes_are_nowhere(tmp_path: Path) -> None:
    """A field of a note that the policy hides is in no row, list or count."""
    write_vault(tmp_path, VAULT)
    rules = PathRules(privacy=PrivacyRules(properties={"private": None}))
    vault = open_vault(tmp_path, rules=rules, has_inline_fields=True)
    assert [row[0] for row in _rows(vault, _base("mood"))] == ["A", "B"]
    assert "hidden" not in repr(vault.overview.property_values("mood", ""))
    assert [hit.path for hit in vault.search("[rating:8]", "", 0, 20).hits] == []


@pytest.mark.parametrize("switch", [True, False])
@pytest.mark.parametrize(
    ("line", "is_there"),
    [
        ("private:: true", False),
        ("x [Private:: yes] y", False),
        ("- [ ] task (private:: 1)", False),
        ("status:: draft", False),
        ("private:: no", True),
        ("private::", True),
        ("status:: done", True),
        ("`private:: true`", True),
        ("private: true", True),
    ],
)
def test_an_inline_field_makes_a_note_private(tmp_path: Path, line: str, is_there: bool, switch: bool) -> None:
    """As the property of its name would, with the switch and without: who writes it means it."""
    write_vault(tmp_path, f"=== N.md\ntext\n\n{line}\n=== O.md\n")
    rules = PathRules(privacy=PrivacyRules(properties={"private": None, "status": "draft"}))
    vault = open_vault(tmp_path, rules=rules, has_inline_fields=switch)
    assert ("N.md" in vault.overview.paths()) is is_there


@pytest.mark.parametrize("query", ["TABLE rating, mood, weight, price, up", "LIST WHERE rating = 7", "TASK"])
def test_dataview_gives_the_same_with_and_without_the_switch(tmp_path: Path, query: str) -> None:
    """It reads fields with their text, by its own rules: of a property and a field of one name it has both values."""
    write_vault(tmp_path, VAULT)
    with_it, without = (
        open_vault(tmp_path, has_inline_fields=switch).dataview.query(query) for switch in (True, False)
    )
    assert shown([list(row.cells) for row in with_it.rows]) == shown([list(row.cells) for row in without.rows])


def test_a_change_of_a_field_is_seen(tmp_path: Path) -> None:
    """The index follows the text."""
    vault = _vault(tmp_path)
    assert [row[0] for row in _rows(vault, _base("weight == 3"))] == ["B"]
    path = tmp_path / "B.md"
    path.write_text(path.read_text().replace("weight:: 3", "weight:: 44"))
    assert _rows(vault, _base("weight == 3")) == []
    assert [row[0] for row in _rows(vault, _base("weight == 44"))] == ["B"]


# ---------------------------------------------------------------------- renames


def test_to_rename_a_property_renames_its_fields(tmp_path: Path) -> None:
    """In every note, byte for byte; fields of tasks stay."""
    vault = _vault(tmp_path)
    (tmp_path / "W.md").write_bytes(b"x\r\n**Mood**:: fine\r\n(mood:: so so)\r\n")
    vault.arranging.rename_property("mood", "feeling", NO_PROGRESS, dry_run=False)
    assert (tmp_path / "A.md").read_text().endswith("rating:: 9\nfeeling:: happy\nDue date:: 2026-03-01\n")
    changed = (tmp_path / "B.md").read_text()
    assert 'feeling:: sad\nfeeling:: "tired", "calm"\n' in changed
    assert "[mood:: none of the note's]" in changed
    assert (tmp_path / "W.md").read_bytes() == b"x\r\n**feeling**:: fine\r\n(feeling:: so so)\r\n"


def test_a_rename_to_a_name_that_is_there_is_refused(tmp_path: Path) -> None:
    """As a property or as a field; no note is changed."""
    vault = _vault(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.md")}
    for new in ("rating", "weight"):
        with pytest.raises(VaultError, match="already"):
            vault.arranging.rename_property("mood", new, NO_PROGRESS, dry_run=False)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.md")} == before


@pytest.mark.parametrize("new", ["a::b", "a]b", "x\ny", "", "(", "`a`"])
def test_a_name_that_would_not_be_read_is_refused(new: str) -> None:
    """The text says afterwards what it said, under the new name."""
    with pytest.raises(FieldError):
        rename_field("mood:: a\n[mood:: b]\n", "mood", new)


# ---------------------------------------------------------------------- the switch


@pytest.mark.parametrize(("said", "names"), [("true", "B"), ("0", ""), ("", "")])
def test_the_command_reads_the_switch(tmp_path: Path, said: str, names: str) -> None:
    """Both kinds of index are kept side by side."""
    write_vault(tmp_path / "vault", VAULT + f"=== T.base\n{_base('weight == 3')}")
    command = [sys.executable, "-m", "vaultwire", "base", "T", "--vault", str(tmp_path / "vault"), "--format", "tsv"]
    folders = {name: str(tmp_path / name) for name in ("VAULTWIRE_CACHE", "VAULTWIRE_STATE")}
    for switch in (said, "false", said):
        environment = {**os.environ, **folders, "VAULTWIRE_INLINE_FIELDS": switch}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.stderr == "" or not names
        rows = done.stdout.split("\n")[1:]
        assert [row for row in rows if row and not row.startswith("(")] == ([names] if names and switch == said else [])


def test_a_word_that_is_neither_yes_nor_no_is_refused(tmp_path: Path) -> None:
    """The error says what would be right."""
    environment = {**os.environ, "VAULTWIRE_INLINE_FIELDS": "maybe"}
    command = [sys.executable, "-m", "vaultwire", "base", "T", "--vault", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "VAULTWIRE_INLINE_FIELDS must be true or false" in done.stderr
