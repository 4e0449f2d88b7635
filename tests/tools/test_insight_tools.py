"""Related notes, near-duplicates and fixes of links: what the tools say to a model and to a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.calls import call, refusal
from support.killing import tree
from support.vaults import open_vault, write_vault
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS

COMMON = "".join(f"=== Log/{number}.md\nwe met and talked\n" for number in range(40))
VAULT = f"""
=== Bread.md
Sourdough with rye and a levain #baking see [[Flour]]
=== Rolls.md
The levain for rolls: rye again #to-do
=== Flour.md
#baking #to_do
=== Rolls copy.md
not the same [[Bred]] ![[Flouer#x]] [[Later]]
{COMMON}"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


def test_related_notes_come_with_their_reasons(root: Path) -> None:
    outcome = call(open_vault(root), "list_links", path="Bread", what="related")
    lines = outcome.texts[0].split("\n")
    assert lines[0] == "2 notes related to Bread.md:"
    assert set(lines[1:]) == {
        "Flour.md: the note links to it; both have #baking",
        "Rolls.md: both have levain, rye",
    }
    (rolls,) = [note for note in outcome.data["notes"] if note["path"] == "Rolls.md"]
    assert rolls["words"] == ["levain", "rye"]
    assert call(open_vault(root), "list_links", path="Log/3", what="related").texts == ["0 notes related to Log/3.md."]
    assert refusal(open_vault(root), "list_links", path="Nowhere", what="related")[0] == FILE_NOT_FOUND


def test_duplicates_are_grouped_and_paged(root: Path) -> None:
    vault = open_vault(root)
    tags = call(vault, "find_duplicates", what="tags")
    assert tags.texts[0].split("\n")[1] == "same letters: #to-do (1), #to_do (1)"
    notes = call(vault, "find_duplicates", limit=1)
    lines = notes.texts[0].split("\n")
    assert (
        lines[0] == "2 groups of notes that may be one, by their names, content and likeness of text, numbers 1 to 1:"
    )
    assert lines[1].startswith("same content: Log/0.md, ")
    assert lines[1].endswith(" and 30 more")
    rest = call(vault, "find_duplicates", limit=1, cursor=notes.data["next_cursor"])
    assert rest.data["groups"] == [{"likeness": "copy name", "notes": ["Rolls copy.md", "Rolls.md"], "note_count": 2}]
    assert notes.data["compared"] == ["names", "content", "likeness of text"]
    text = call(vault, "find_duplicates", what="text")
    assert text.texts == ["0 groups of notes that may be one, by their likeness of text."]
    assert text.data["compared"] == ["likeness of text"]


def test_links_are_fixed_as_suggested_or_as_given(root: Path) -> None:
    vault = open_vault(root)
    before = tree(root)
    check = call(vault, "check_notes", path="Rolls copy").texts[0]
    assert "[[Bred]] leads nowhere: there is no file 'Bred'" in check
    assert "'Flouer'; did you mean [[Flour#x]]?" in check
    dry = call(vault, "fix_links", suggested=True, dry_run=True)
    assert tree(root) == before
    assert (dry.data["links"], dry.data["left_count"]) == ([], 3)  # a short name may be another note, to be written
    done = call(
        vault,
        "fix_links",
        fixes=[{"from": "[[Bred]]", "to": "Bread"}, {"path": "Rolls copy", "from": "Flouer#x", "to": "Flour"}],
    )
    assert done.texts[0].startswith('Done: 2 links fixed. Undo: undo_changes {"changes":[1]}')
    assert (root / "Rolls copy.md").read_text() == "not the same [[Bread]] ![[Flour#x]] [[Later]]\n"
    call(vault, "undo_changes", changes=[1])
    assert tree(root) == before


@pytest.mark.parametrize("arguments", [{}, {"fixes": [{"from": "a", "to": "b"}], "suggested": True}, {"folder": "Log"}])
def test_fixes_are_given_or_suggested(root: Path, arguments: dict[str, object]) -> None:
    code, message = refusal(open_vault(root), "fix_links", **arguments)
    assert code == INVALID_ARGUMENTS
    assert '{"from": "Old name", "to": "Right name"}' in message
