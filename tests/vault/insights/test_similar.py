"""Near-duplicates: tags that may be meant as one, and notes that may be one note twice."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import Stopped
from vaultwire.vault.insights.similar import SimilarNotes, similar_names, similar_tags
from vaultwire.vault.value_types import NoProgress, TagCount, VaultPath


def groups_of(*tags: str) -> list[tuple[str, list[str]]]:
    counts = [TagCount(tag, len(tags) - number) for number, tag in enumerate(tags)]
    return [(group.likeness, [each.tag for each in group.tags]) for group in similar_tags(counts)]


@pytest.mark.parametrize(
    ("tags", "groups"),
    [
        (["to-do", "to_do", "todo"], [("same letters", ["to-do", "to_do", "todo"])]),
        (["to/do", "todo"], [("same letters", ["to/do", "todo"])]),
        (["café", "cafe"], [("same letters", ["café", "cafe"])]),
        (["book", "books"], [("plural", ["book", "books"])]),
        (["entry", "entries", "boxes", "box"], [("plural", ["entry", "entries"]), ("plural", ["boxes", "box"])]),
        (["book/idea", "books/ideas"], [("plural", ["book/idea", "books/ideas"])]),
        (["meeting", "meetng"], [("spelling", ["meeting", "meetng"])]),
        (["meeting", "meeitng"], [("spelling", ["meeting", "meeitng"])]),
        (["garden", "hobby/garden"], [("nested", ["garden", "hobby/garden"])]),
        (["status", "class", "news", "new", "bus"], [("plural", ["news", "new"])]),
        (["chapter1", "chapter2", "2024/01", "01"], []),
        (["cat", "car", "work", "word"], []),
    ],
)
def test_tags_that_may_be_meant_as_one(tags: list[str], groups: list[tuple[str, list[str]]]) -> None:
    assert groups_of(*tags) == groups


@pytest.mark.parametrize(
    ("paths", "likeness"),
    [
        (["Plan.md", "Plan (1).md"], "copy name"),
        (["A/Plan.md", "plan copy 2.md"], "copy name"),
        (["Tomato soup.md", "Tomato Soup (copy).md"], "copy name"),
        (["Plan.md", "Plan (copy 2).md"], "copy name"),
        (["Plan.md", "Plan (Kopie).md"], "copy name"),
        (["Plan.md", "Plan (1st copy).md"], "copy name"),
        (["Plan.md", "Plan - Copy.md"], "copy name"),
        (["Plan.md", "Plan - Copy (2).md"], "copy name"),
        (["Plan.md", "Plan conflicted copy 2026-01-02.md"], "copy name"),
        (["Plan.md", "Plan (copying).md"], ""),
        (["Plan.md", "Copy of Plan.md"], "copy name"),
        (["Plan.md", "Plan 1.md"], "copy name"),
        (["A/Plan.md", "B/plan.md"], "same name"),
        (["Plan 1.md", "Plan 2.md"], ""),
        (["Chapter.md", *(f"Chapter {number}.md" for number in range(1, 9))], ""),
        (["2026-01-01.md", "2026-01-02.md"], ""),
        ([f"{folder}/index.md" for folder in "abcdefg"], ""),
    ],
)
def test_names_of_copies(paths: list[str], likeness: str) -> None:
    found = similar_names(map(VaultPath, paths))
    assert found == ([SimilarNotes(likeness, sorted(map(VaultPath, paths)))] if likeness else [])  # type: ignore[arg-type]


def sentences(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return [f"{' '.join(str(chance.randrange(10**6)) for _ in range(5))} is said" for _ in range(count)]


def write(root: Path, **notes: list[str]) -> Path:
    for name, lines in notes.items():
        (root / f"{name}.md").write_text("\n".join(lines))
        os.utime(root / f"{name}.md", (1_700_000_000, 1_700_000_000))  # the index need not read it again to be sure
    return root


def found_in(root: Path, *, by_text: bool, **how: Any) -> list[SimilarNotes]:
    return open_vault(root, **how).overview.similar_notes("", by_name=not by_text, by_text=by_text).all()


def test_notes_of_the_same_bytes_and_of_nearly_the_same_text(tmp_path: Path) -> None:
    one, two = sentences(1, 12), sentences(2, 12)
    root = write(tmp_path, a=one, b=one, c=[*one[:10], *two[:1]], d=[*one[:4], *two[4:]], e=two, f=[], g=[])
    assert found_in(root, by_text=False) == [SimilarNotes("same content", [VaultPath("a.md"), VaultPath("b.md")], 100)]
    assert [(group.notes, group.share) for group in found_in(root, by_text=True)] == [(["a.md", "b.md", "c.md"], 100)]


@pytest.mark.parametrize("words", [16, 50, 400])
@pytest.mark.parametrize("separator", [" ", "\n", ". ", "\n\n- "])
def test_notes_with_a_few_words_changed_are_found(tmp_path: Path, words: int, separator: str) -> None:
    chance = random.Random(f"{os.environ['VAULTWIRE_SEED']} {words} {separator}")
    text = [f"w{chance.randrange(10**6)}" for _ in range(words)]
    changed = list(text)
    for _ in range(max(1, words * 6 // 100)):
        changed[chance.randrange(words)] = f"other{chance.randrange(10**6)}"
    unlike = [f"w{chance.randrange(10**6)}" for _ in range(words)]
    for name, some in (("a", text), ("b", changed), ("c", unlike)):
        (tmp_path / f"{name}.md").write_text(separator.join(some))
    (found,) = open_vault(tmp_path).overview.similar_notes("").all()
    assert (found.likeness, found.notes) == ("similar content", ["a.md", "b.md"])
    assert 75 <= found.share < 100


def test_notes_in_a_script_without_spaces_are_compared(tmp_path: Path) -> None:
    text = "今日は庭でトマトを植えました。明日は雨が降るそうです。"
    root = write_vault(tmp_path, f"=== a.md\n{text}\n=== b.md\n{text.replace('明日', '来週')}\n")
    (found,) = open_vault(root).overview.similar_notes("").all()
    assert found.notes == ["a.md", "b.md"]


def test_what_a_template_gives_to_many_notes_makes_none_of_them_similar(tmp_path: Path) -> None:
    template = sentences(0, 4)
    root = write(tmp_path, **{f"n{number}": [*template, *sentences(number, 8)] for number in range(1, 30)})
    assert found_in(root, by_text=True) == []


def test_nothing_hidden_or_excluded_is_similar(tmp_path: Path) -> None:
    text = "\n".join(sentences(1, 9))
    root = write_vault(tmp_path, f"=== Plan.md\n{text}\n=== Secret/Plan.md\n{text}\n=== Old/Plan.md\n{text}\n")
    (root / ".obsidian").mkdir()
    (root / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["Old/"]}')
    rules = PathRules(deny=(Rule("deny", "/Secret/", 1),))
    for by_text in (False, True):
        assert found_in(root, by_text=by_text, rules=rules) == []
        assert len(found_in(root, by_text=by_text)) == (1 if by_text else 2)


def test_comparing_texts_reads_each_note_once_until_it_changes_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path, **{f"n{number}": sentences(number, 9) for number in range(50)})
    vault = open_vault(root)
    vault.overview.stats(1)
    read: list[str] = []
    whole = Files.read

    def counted(self: Files, path: VaultPath, *args: Any) -> Any:
        read.append(path)
        return whole(self, path, *args)

    monkeypatch.setattr(Files, "read", counted)
    assert vault.overview.similar_notes("", by_name=False).all() == []
    assert sorted(read) == sorted(f"n{number}.md" for number in range(50))
    read.clear()
    (root / "n7.md").write_text((root / "n8.md").read_text())
    (group,) = vault.overview.similar_notes("", by_name=False).all()
    assert group.notes == ["n7.md", "n8.md"]
    assert {*read} == {"n7.md", "n8.md"}  # one that has changed, and a pair that is compared whole

    class Gone(NoProgress):
        def check(self) -> None:
            if len(read) > 10:
                raise Stopped

    read.clear()
    with pytest.raises(Stopped):
        open_vault(root).overview.similar_notes("", Gone(), by_name=False)
    assert len(read) < 20
