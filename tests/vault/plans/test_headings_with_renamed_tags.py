"""Headings that hold a tag: when the tag is renamed, links to them lead to the same heading as before."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from support.calls import attempt, call, refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.toolkit.registry import Failure
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.vault import Vault

VAULT = """
=== .obsidian/app.json
{"userIgnoreFilters": ["Archive/"]}
=== Note.md
---
tags:
  - old
  - new
---
# Top
## Plan #old
### Steps
[[#Plan #old]] and [self](#Plan%20old)
## #old/sub, later
## Other
Title #OLD
==========
=== A/Second.md
## Second #old
=== A/Note.md
## Plan #old, elsewhere
=== In.md
[[Note#Plan #old]] [[Note#Plan old|shown]] ![[/Note#Top#Plan old#Steps]] [x](Note.md#Plan%20#old)
[[Note#old sub later]] [[Note#Title old]] [[Second#second old]] [[Note#Other]] [[Note]] `[[Note#Plan old]]`
[[A/Note#Plan old, elsewhere]] [[Note#Plan]] [[Note#old]] #old
=== Archive/Old.md
[[Note#Plan old]]
=== Board.canvas
{"nodes":[{"id":"1","type":"file","file":"Note.md","subpath":"#Plan #old"},{"id":"2","text":"[[Note#Plan old]] #old"}]}
=== Notes.base
filters: file.hasLink("Note#Plan old") && file.hasTag("old")
formulas:
  a: link("A/Second#Second old")
"""

AFTER = {
    "Note.md": (
        "---\ntags:\n  - new\n---\n# Top\n## Plan #new\n### Steps\n[[#Plan new]] and [self](#Plan%20new)\n"
        "## #new/sub, later\n## Other\nTitle #new\n==========\n"
    ),
    "A/Second.md": "## Second #new\n",
    "A/Note.md": "## Plan #new, elsewhere\n",
    "In.md": (
        "[[Note#Plan new]] [[Note#Plan new|shown]] ![[/Note#Top#Plan new#Steps]] [x](Note.md#Plan%20new)\n"
        "[[Note#new/sub, later]] [[Note#Title new]] [[Second#Second new]] [[Note#Other]] [[Note]] `[[Note#Plan old]]`\n"
        "[[A/Note#Plan new, elsewhere]] [[Note#Plan]] [[Note#old]] #new\n"
    ),
    "Archive/Old.md": "[[Note#Plan new]]\n",
    "Board.canvas": (
        '{"nodes":[{"id":"1","type":"file","file":"Note.md","subpath":"#Plan new"},'
        '{"id":"2","text":"[[Note#Plan new]] #old"}]}\n'
    ),
    "Notes.base": (
        'filters: file.hasLink("Note#Plan new") && file.hasTag("new")\nformulas:\n  a: link("A/Second#Second new")\n'
    ),
}


def contents(root: Path) -> dict[str, str]:
    """Return the text of every file outside folders of settings."""
    files = (path for path in root.rglob("*") if path.is_file())
    texts = {path.relative_to(root).as_posix(): path.read_bytes().decode() for path in files}
    return {path: text for path, text in texts.items() if not path.startswith(".")}


def test_links_follow_headings_whose_tag_is_renamed(tmp_path: Path) -> None:
    before = snapshot(write_vault(tmp_path, VAULT))
    vault = open_vault(tmp_path)
    planned = call(vault, "rename", what="tag", old="old", new="new", dry_run=True)
    assert snapshot(tmp_path) == before
    done = call(vault, "rename", what="tag", old="old", new="new")
    assert contents(tmp_path) == AFTER
    assert done.data["notices"] == planned.data["notices"]
    assert "Rewrote 15 links to headings that hold the tag." in done.data["notices"]
    assert done.data["places"] == 7
    call(vault, "undo_changes", changes=[done.data["change"]])
    assert snapshot(tmp_path) == before


def test_headings_without_the_tag_leave_other_files_unread(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\n## Plan #older\n#old\n=== In.md\n[[Note#Plan older]]\n=== bad.canvas\n{")
    done = call(open_vault(tmp_path), "rename", what="tag", old="old", new="new")
    assert (done.data["file_count"], done.data["notices"]) == (1, [])


def test_a_canvas_that_cannot_be_understood_is_told_of(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\n## Plan #old\n=== bad.canvas\n{")
    (notice,) = call(open_vault(tmp_path), "rename", what="tag", old="old", new="new").data["notices"]
    assert notice.startswith("bad.canvas: links were not looked at")


def test_a_heading_no_link_could_tell_from_another_keeps_all_as_it_is(tmp_path: Path) -> None:
    before = snapshot(write_vault(tmp_path, "=== Note.md\n## Plan #new\n## Plan #old\n=== In.md\n[[Note#Plan old]]\n"))
    code, message = refusal(open_vault(tmp_path), "rename", what="tag", old="old", new="new")
    assert code == "INVALID_ARGUMENTS"
    assert "line 2 of 'Note.md'" in message
    assert "Rename that heading first" in message
    assert snapshot(tmp_path) == before


def test_a_merge_of_headings_that_nothing_links_to_is_no_matter(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\n## Plan #new\n## Plan #old\n=== In.md\n[[Note#Plan new]]\n")
    call(open_vault(tmp_path), "rename", what="tag", old="old", new="new")
    assert contents(tmp_path) == {"Note.md": "## Plan #new\n## Plan #new\n", "In.md": "[[Note#Plan new]]\n"}


def test_links_in_notes_that_may_not_be_seen_stay(tmp_path: Path) -> None:
    write_vault(
        tmp_path, "=== Note.md\n## Plan #old\n=== Secret/In.md\n[[Note#Plan old]]\n=== In.md\n[[Note#Plan old]]\n"
    )
    vault = open_vault(tmp_path, rules=PathRules(deny=(Rule("deny", "Secret/", 1),)))
    done = call(vault, "rename", what="tag", old="old", new="new")
    assert done.data["notices"] == ["Rewrote 1 link to headings that hold the tag."]
    assert contents(tmp_path) == {
        "Note.md": "## Plan #new\n",
        "Secret/In.md": "[[Note#Plan old]]\n",
        "In.md": "[[Note#Plan new]]\n",
    }


def test_a_link_in_a_note_that_may_not_be_changed_keeps_all_as_it_is(tmp_path: Path) -> None:
    before = snapshot(write_vault(tmp_path, "=== Note.md\n## Plan #old\n=== Locked/In.md\n[[Note#Plan old]]\n"))
    vault = open_vault(tmp_path, rules=PathRules(write=(Rule("write", "/Note.md", 1),)))
    assert refusal(vault, "rename", what="tag", old="old", new="new")[0] == "POLICY_DENIED"
    assert snapshot(tmp_path) == before


def test_bytes_that_are_no_text_and_ends_of_lines_stay(tmp_path: Path) -> None:
    (tmp_path / "Note.md").write_bytes(b"\xef\xbb\xbf## Plan #old\r\n\xff [[#Plan old]]\r\n")
    (tmp_path / "In.md").write_bytes(b"\xef\xbb\xbf\xff\r\n[[Note#Plan old]] \xfe")
    call(open_vault(tmp_path), "rename", what="tag", old="old", new="new")
    assert (tmp_path / "Note.md").read_bytes() == b"\xef\xbb\xbf## Plan #new\r\n\xff [[#Plan new]]\r\n"
    assert (tmp_path / "In.md").read_bytes() == b"\xef\xbb\xbf\xff\r\n[[Note#Plan new]] \xfe"


# ---------------------------------------------------------------------- at random


class Plain:
    """Where links lead, found out in another way than the engine does: line by line, for the notes made below."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self.headings = {name: self._read(text) for name, text in texts.items() if name.endswith(".md")}

    @staticmethod
    def _read(text: str) -> list[tuple[int, str]]:
        return [
            (len(found[1]), found[2]) for line in text.split("\n") if (found := re.fullmatch(r"(#{1,6}) (.+)", line))
        ]

    @staticmethod
    def _words(text: str) -> tuple[str, ...]:
        return tuple(re.sub(r"[#/,.]", " ", text).casefold().split())

    def _fitting(self, name: str, parts: list[str]) -> list[int]:
        """Return the numbers of the headings that a chain of names fits."""
        headings = self.headings[name]
        found = [number for number, (_, text) in enumerate(headings) if self._words(text) == self._words(parts[-1])]
        if len(parts) == 1:
            return found
        above = self._fitting(name, parts[:-1])
        return [number for number in found if any(number in self._below(headings, each) for each in above)]

    @staticmethod
    def _below(headings: list[tuple[int, str]], number: int) -> range:
        end = number + 1
        while end < len(headings) and headings[end][0] > headings[number][0]:
            end += 1
        return range(number + 1, end)

    def led(self) -> list[tuple[str, str, int | None]]:
        """Return of every link, in order: the file it stands in, the note it names, the number of the heading it leads to."""
        found: list[tuple[str, str, int | None]] = []
        for name, text in sorted(self.texts.items()):
            for linkpath, subpath in re.findall(r"\[\[([^#\]]*)#([^\]]*)\]\]", text):
                target = f"{linkpath or name.removesuffix('.md')}.md"
                if target not in self.headings:
                    continue
                parts = [part for part in subpath.split("#") if part.strip()]
                fits = self._fitting(target, parts) or self._fitting(target, [subpath.replace("#", " ")])
                found.append((name, target, fits[0] if fits else None))
        return found


def made_vault(chance: random.Random) -> dict[str, str]:
    """Return notes whose headings hold tags, with links to them in all spellings, and links that lead nowhere."""
    tags = ["old", "Old", "old/sub", "older", "new", "other"]
    names = ["A", "B", "C"]
    headings: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        pieces = chance.choice([["#old", "#new"], ["Plan", "Steps", *(f"#{tag}" for tag in tags)]])
        headings[name] = [
            (chance.randint(1, 3), " ".join(chance.choices(pieces, k=chance.randint(1, 3))))
            for _ in range(chance.randint(1, 5))
        ]

    def link() -> str:
        name = chance.choice(names)
        levels = headings[name]
        spelt = [text if chance.random() < 0.5 else " ".join(text.replace("#", " ").split()) for _, text in levels]
        first = chance.randrange(len(levels))
        chain = [spelt[first]]
        if chance.random() < 0.3:
            chain = ["".join(part.replace("#", "")) for part in (spelt[first], chance.choice(spelt))]
        return f"[[{name}#{'#'.join(chain)}]]"

    texts = {}
    for name in [*names, "D", "Board"]:
        lines = [f"{'#' * level} {text}" for level, text in headings.get(name, [])]
        lines += [" ".join(link() for _ in range(3)) for _ in range(chance.randint(0, 4))]
        if name in headings:
            chance.shuffle(lines)  # the order of headings changes too, so what links lead to is only known afterwards
            own = chance.choice(headings[name])[1].replace("#", " ")
            lines.append(f"[[#{own}]]")
        texts[f"{name}.md"] = "\n".join([*lines, chance.choice(["#old", "#other", ""])])
    card = {"type": "text", "text": texts.pop("Board.md")}
    texts["Board.canvas"] = json.dumps({"nodes": [card]})
    return texts


def test_at_random_every_link_leads_to_the_heading_it_led_to(tmp_path: Path) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    outcomes = {"renamed": 0, "relinked": 0, "refused": 0}
    for number in range(60):
        root = tmp_path / str(number)
        root.mkdir()
        texts = made_vault(chance)
        for name, text in texts.items():
            (root / name).write_bytes(text.encode())
        before = snapshot(root)
        vault = open_vault(root)
        new = chance.choice(["new", "other/x", "fresh", "Old"])
        said = f"vault {number}, #{new}: {texts}"
        outcome: Any = attempted(vault, new)
        if outcome is None:
            outcomes["refused"] += 1
            assert snapshot(root) == before, said
            continue
        after = contents(root)
        was, now = Plain(texts).led(), Plain(after).led()
        kept = [each for each in zip(was, now, strict=True) if each[0][2] is not None]
        assert [old for old, _ in kept] == [new for _, new in kept], said
        outcomes["renamed"] += 1
        outcomes["relinked"] += any("Rewrote" in notice for notice in outcome.data["notices"])
        if outcome.data.get("change"):
            call(vault, "undo_changes", changes=[outcome.data["change"]])
            assert snapshot(root) == before, said
    assert min(outcomes.values()) > 0, outcomes


def attempted(vault: Vault, new: str) -> Any:
    """Rename #old; None where that is refused because no link could tell a heading from another, or no note has it."""
    outcome = attempt(vault, "rename", what="tag", old="old", new=new)
    if isinstance(outcome, Failure):
        if "no note has the tag" not in outcome.message and "no link could tell" not in outcome.message:
            pytest.fail(outcome.message)
        return None
    return outcome
