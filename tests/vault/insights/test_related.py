"""Related notes: found by rare words, tags and links, with the reasons; nothing that may not be seen among them."""

from __future__ import annotations

from pathlib import Path

from support.memory_text import MemoryText
from support.stores import open_stored
from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.index.text_index import TextIndex
from vaultwire.vault.value_types import NO_PROGRESS, Related, VaultPath
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_files import PrivacyRules

COMMON = "".join(f"=== Log/{number}.md\nwe met and talked about things of the day\n" for number in range(40))
VAULT = f"""
=== Bread.md
Sourdough with rye and a levain, we talked about it #baking see [[Flour]]
=== Rolls.md
The levain for rolls: rye again #other
=== Starter.md
#baking only a tag
=== Mill.md
stone mill, see [[Flour]]
=== Flour.md
kinds of it
=== Index.md
[[Bread]] [[Oven]]
=== Oven.md
hot
=== Cellar.md
nothing of it
{COMMON}"""


def related(vault: Vault, name: str = "Bread") -> dict[str, Related]:
    return {found.path: found for found in vault.overview.related(name, 20)[1]}


def test_related_notes_say_why(tmp_path: Path) -> None:
    found = related(open_vault(write_vault(tmp_path, VAULT)))
    assert found["Rolls.md"].words == ["levain", "rye"]
    assert found["Starter.md"].tags == ["baking"]
    assert found["Mill.md"].both_link_to == ["Flour.md"]
    assert found["Flour.md"].link == "out"
    assert found["Index.md"].link == "in"
    assert found["Oven.md"].linked_by == ["Index.md"]
    assert found.keys() == {"Rolls.md", "Starter.md", "Mill.md", "Flour.md", "Index.md", "Oven.md"}


def test_two_words_that_several_notes_have_relate_nothing(tmp_path: Path) -> None:
    others = "".join(f"=== Other/{n}.md\nold and write{' kept' if n == 3 else ''}\n" for n in range(4))
    found = related(open_vault(write_vault(tmp_path, f"=== Bread.md\nold, write, kept\n{others}{COMMON}")))
    assert found.keys() == {"Other/3.md"}


def test_the_same_words_count_more_in_a_short_note(tmp_path: Path) -> None:
    long = "=== Long.md\nlevain rye " + "padding of another kind entirely " * 200 + "\n"
    found = related(open_vault(write_vault(tmp_path, VAULT + long)))
    assert found["Long.md"].words == found["Rolls.md"].words
    assert found["Long.md"].score < found["Rolls.md"].score


def test_what_the_vault_excludes_or_the_policy_hides_is_not_related_and_changes_nothing(tmp_path: Path) -> None:
    plain = related(open_vault(write_vault(tmp_path / "plain", VAULT)))
    hidden = """
=== Secret/Rye.md
levain rye sourdough #baking [[Bread]] [[Flour]]
=== Dear.md
---
private: true
---
levain rye sourdough #baking [[Bread]] [[Flour]]
"""
    rules = PathRules(deny=(Rule("deny", "/Secret/", 1),), privacy=PrivacyRules([], {"private": None}))
    root = write_vault(tmp_path / "hidden", VAULT + hidden)
    assert related(open_vault(root, rules=rules)) == plain
    excluded = write_vault(tmp_path / "excluded", VAULT + "=== Old/Rye.md\nlevain rye #baking [[Bread]] [[Flour]]\n")
    write_vault(excluded, '=== .obsidian/app.json\n{"userIgnoreFilters": ["Old/"]}\n')
    assert "Old/Rye.md" not in related(open_vault(excluded))


def test_a_change_of_a_note_changes_what_is_related(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT))
    related(vault)
    (tmp_path / "Cellar.md").write_text("levain rye sourdough")
    (tmp_path / "Rolls.md").unlink()
    found = related(vault)
    assert found["Cellar.md"].words == ["levain", "rye", "sourdough"]
    assert "Rolls.md" not in found


def test_the_text_index_finds_the_words_that_looking_at_each_note_finds(tmp_path: Path) -> None:
    root = write_vault(tmp_path, VAULT)
    text = (root / "Bread.md").read_text() + " Kinds talked"
    answers = []
    for opened in (TextIndex, MemoryText):
        index = open_stored(root, None, opened)[1]
        answers.append(index.shared_words(VaultPath("Bread.md"), text, NO_PROGRESS))
        index.close()
    assert answers[0] == answers[1]
    assert dict(answers[0].words)["levain"] == ["Rolls.md"]
    assert "talked" not in dict(answers[0].words)
