"""What an index answers for bases: conditions on files, and facts of many files at once."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable
from pathlib import Path

import pytest

from support.vaults import write_vault
from vaultwire.app.engine import open_index
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.disk.files import Files, created_ns
from vaultwire.vault.index.rows import (
    AnyOf,
    AsksFor,
    AtPath,
    Below,
    Condition,
    DirectlyIn,
    Every,
    HasExtension,
    HasProperty,
    HasValue,
    NameEndsWith,
    Not,
    Rows,
    Tagged,
)
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath

_VAULT = """
=== A.md
---
Status: open
tags: [Work/now]
up: "[[B]]"
---
[[Excluded/Secret]] [[B#Part|shown]] ![[pic.png]]
=== Sub/B.md
---
status: done
n: 2
empty:
---
#home
=== Sub/Deep/C.md
Text
=== Excluded/Secret.md
---
status: secret
tags: [work]
---
=== pic.PNG
=== board.canvas
{}
=== All.base
=== .obsidian/app.json
{"userIgnoreFilters": ["Excluded/"]}
"""
_NOTES = ["A.md", "Sub/B.md", "Sub/Deep/C.md"]
_FILES = ["A.md", "All.base", "Sub/B.md", "Sub/Deep/C.md", "board.canvas", "pic.PNG"]


def _rows(root: Path) -> Rows:
    return open_index(Files(str(write_vault(root, _VAULT)), MAX_NOTE_BYTES), None).rows(NO_PROGRESS)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Every(()), _FILES),
        (AnyOf(()), []),
        (Tagged("work"), ["A.md"]),
        (Tagged("WORK/now"), ["A.md"]),
        (Tagged("wor"), []),
        (Below("Sub"), ["Sub/B.md", "Sub/Deep/C.md"]),
        (Below("sub"), []),
        (DirectlyIn("Sub"), ["Sub/B.md"]),
        (DirectlyIn(""), ["A.md", "All.base", "board.canvas", "pic.PNG"]),
        (AtPath("A.md"), ["A.md"]),
        (AtPath("Excluded/Secret.md"), []),
        (NameEndsWith(".md"), _NOTES),
        (NameEndsWith(".png"), ["pic.PNG"]),
        (HasExtension("png"), []),
        (HasExtension("PNG"), ["pic.PNG"]),
        (HasProperty("STATUS"), ["A.md", "Sub/B.md"]),
        (HasProperty("empty"), ["Sub/B.md"]),
        (HasValue("status", ('"open"',), or_none=False), ["A.md"]),
        (HasValue("status", (), or_none=True), ["All.base", "Sub/Deep/C.md", "board.canvas", "pic.PNG"]),
        (AsksFor(("b",)), ["A.md"]),
        (Not(Tagged("work")), _FILES[1:]),
        (Every((Below("Sub"), Not(Tagged("home")))), ["Sub/Deep/C.md"]),
        (AnyOf((Tagged("home"), AtPath("A.md"))), ["A.md", "Sub/B.md"]),
    ],
)
def test_conditions_find_files_that_are_not_excluded(tmp_path: Path, wanted: Condition, found: list[str]) -> None:
    assert [file.path for file in _rows(tmp_path).find(wanted, NO_PROGRESS)] == sorted(found)


def test_facts_come_for_many_notes_at_once(tmp_path: Path) -> None:
    rows = _rows(tmp_path)
    files = {file.path: file.id for file in rows.find(Every(()), NO_PROGRESS)}
    a, b = files[VaultPath("A.md")], files[VaultPath("Sub/B.md")]
    ids = [*files.values()]
    assert rows.column("status", None, NO_PROGRESS)[a] == "open"
    assert rows.column("STATUS", [b], NO_PROGRESS) == {b: "done"}
    assert rows.properties(ids, NO_PROGRESS)[b] == {"status": "done", "n": 2, "empty": None}
    assert list(rows.properties([a], NO_PROGRESS)[a]) == ["Status", "tags", "up"]
    assert rows.tags(ids, NO_PROGRESS) == {a: ["Work/now"], b: ["home"]}
    assert rows.values("n", 10, NO_PROGRESS) == {"2": 2}
    assert rows.values("status", 2, NO_PROGRESS) is None  # there are three


def test_links_to_excluded_files_are_left_out(tmp_path: Path) -> None:
    rows = _rows(tmp_path)
    (a,) = rows.at(["A.md"], NO_PROGRESS)
    assert [(link.linktext, link.display, link.is_embed) for link in rows.links([a.id], NO_PROGRESS)[a.id]] == [
        ("B", "", False),
        ("B#Part", "shown", False),
        ("pic.png", "", True),
    ]
    for resolve in (rows.resolver(NO_PROGRESS), lambda source, path: rows.resolve(source, path, NO_PROGRESS)):
        assert resolve(VaultPath("A.md"), "B") == "Sub/B.md"
        assert resolve(VaultPath("A.md"), "pic.png") == "pic.PNG"
        assert resolve(VaultPath("A.md"), "Secret") is None
        assert resolve(VaultPath("A.md"), "Nothing") is None
    assert rows.at(["Excluded/Secret.md"], NO_PROGRESS) == []


def test_the_version_differs_after_each_change_and_only_then(tmp_path: Path) -> None:
    index = open_index(Files(str(write_vault(tmp_path, _VAULT)), MAX_NOTE_BYTES), None)

    def version() -> Hashable:
        return index.rows(NO_PROGRESS).version(NO_PROGRESS)

    first = version()
    assert version() == first
    (tmp_path / "A.md").write_text("---\nStatus: shut\n---\n")
    second = version()
    assert second != first
    os.utime(tmp_path / "Sub/B.md", (1, 1))
    assert version() != second


def test_the_time_of_creation_is_not_that_of_a_later_change(tmp_path: Path) -> None:
    before = time.time_ns()
    note = tmp_path / "A.md"
    note.write_text("text")
    os.utime(note, ns=(before + 10**12, before + 10**12))
    assert before - 10**9 <= created_ns(str(note)) <= time.time_ns() + 10**9
    with pytest.raises(OSError, match="Gone"):
        created_ns(str(tmp_path / "Gone.md"))


def test_a_file_that_is_not_there_has_no_time_of_creation(tmp_path: Path) -> None:
    files = Files(str(write_vault(tmp_path, _VAULT)), MAX_NOTE_BYTES)
    assert files.created_ns(VaultPath("A.md")) is not None
    assert files.created_ns(VaultPath("Nothing.md")) is None
