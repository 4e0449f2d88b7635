"""Links that a note might have: which notes, why, and the line where the link fits; nothing that may not be seen among them."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.markdown.parse import parse_note, prose_lines
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.insights.similar import Place, SuggestedLink
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_files import PrivacyRules

COMMON = "".join(f"=== Log/{number}.md\nwe met and talked about things of the day\n" for number in range(40))
VAULT = f"""
=== Bread.md
---
aliases: [Loaf]
---
About `Oven` and [[Flour]], see also [Oven](other.md).

# Kinds
Nothing much here.

## Sour
A levain of rye, kept warm.
Ask Cafe Müller, they know.

# Tools
```
Oven
```
- the old oven is best
=== Rolls.md
The levain for rolls: rye again
=== Oven.md
hot
=== Flour.md
kinds of it
=== Index.md
[[Bread]] with levain and rye
=== People/Cafe müller.md
nothing
=== Press.md
---
aliases: [they know, It, 2024]
---
=== Cellar.md
cold
{COMMON}"""


def suggested(vault: Vault, name: str = "Bread") -> dict[str, SuggestedLink]:
    return {each.path: each for each in vault.overview.suggested_links(name, 20)[1]}


def test_a_suggestion_has_the_line_and_the_heading_where_the_link_fits(tmp_path: Path) -> None:
    found = suggested(open_vault(write_vault(tmp_path, VAULT)))
    assert {path: each.place for path, each in found.items()} == {
        "Oven.md": Place(17, "Tools", "oven"),
        "People/Cafe müller.md": Place(11, "Sour", "Cafe Müller"),
        "Press.md": Place(11, "Sour", "they know"),
        "Rolls.md": Place(10, "Sour"),
    }
    related = found["Rolls.md"].related
    assert related is not None
    assert related.words == ["levain", "rye"]
    assert found["Oven.md"].related is None


def test_linked_notes_are_not_suggested_in_either_direction(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT))
    assert not {"Flour.md", "Index.md", "Bread.md"} & suggested(vault).keys()
    assert "Bread.md" not in suggested(vault, "Index")
    assert suggested(vault, "Cellar") == {}


def test_a_note_that_only_a_tag_relates_has_no_place(tmp_path: Path) -> None:
    notes = f"=== A.md\nwords of the one #rare\n=== B.md\nother sayings #rare\n{COMMON}"
    found = suggested(open_vault(write_vault(tmp_path, notes)), "A")
    assert [(path, each.place) for path, each in found.items()] == [("B.md", None)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("The ovens glow", False),
        ("pre-oven heat", True),
        ("OVEN", True),
        ("> - [ ] clean the oven", True),
        ("| a | oven |\n| --- | --- |", True),
        ("`oven` and $oven$ and <b title='oven'>", False),
        ("    oven", False),
        ("%%\noven\n%%", False),
        ("# The oven", False),
        ("[[Oven|it]] is linked, so the oven is", False),
        ("[the oven](https://example.org)", False),
        ("oven: https://example.org/oven", True),
        ("---\ntitle: oven\n---\ntext", False),
    ],
)
def test_a_name_counts_where_a_link_could_be_written(tmp_path: Path, text: str, *, named: bool) -> None:
    root = write_vault(tmp_path, "=== Oven.md\n🔥\n=== other.md\n")
    (root / "A.md").write_text(text)
    assert ("Oven.md" in suggested(open_vault(root), "A")) is named


def test_a_name_of_many_notes_says_nothing(tmp_path: Path) -> None:
    notes = "".join(f"=== {folder}/Plan.md\nx\n" for folder in "abcd")
    vault = open_vault(write_vault(tmp_path, f"=== A.md\nthe plan\n{notes}"))
    assert suggested(vault, "A") == {}
    (tmp_path / "d" / "Plan.md").unlink()
    assert suggested(vault, "A").keys() == {"a/Plan.md", "b/Plan.md", "c/Plan.md"}


def test_what_the_vault_excludes_or_the_policy_hides_is_not_suggested_and_changes_nothing(tmp_path: Path) -> None:
    plain = suggested(open_vault(write_vault(tmp_path / "plain", VAULT)))
    hidden = """
=== Secret/Kinds.md
levain rye sourdough [[Flour]]
=== Nothing much.md
---
private: true
aliases: [Tools, oven]
---
levain rye
"""
    rules = PathRules(deny=(Rule("deny", "/Secret/", 1),), privacy=PrivacyRules([], {"private": None}))
    assert suggested(open_vault(write_vault(tmp_path / "hidden", VAULT + hidden), rules=rules)) == plain
    excluded = write_vault(tmp_path / "excluded", VAULT + "=== Old/Nothing much.md\nlevain rye\n")
    (excluded / ".vaultwireignore").write_text("Old/\n")
    assert suggested(open_vault(excluded)) == plain


PARTS = [
    *"#>-*`$%[]()|<\n\n\n    ",
    "[[a]]",
    "`x`",
    "%%",
    "```",
    "$$",
    "word",
    " ",
    "# ",
    "- ",
    "> ",
    "---\n",
    "ß",
    "\t",
]


def test_prose_lies_where_the_note_has_it() -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    for _ in range(2_000):
        text = "".join(chance.choices(PARTS, k=chance.randrange(40)))
        lines = text.split("\n")
        note = parse_note(text)
        for number, prose in prose_lines(text).items():
            line = lines[number - 1]
            assert len(prose) == len(line), (text, number)
            assert all(one in (".", " ", "\xa0", other) for one, other in zip(prose, line, strict=True)), (text, number)
            assert number not in {heading.line for heading in note.headings}, (text, number)
