"""Headings and blocks get other names: the line itself, and every form of link that leads there."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.memory_text import MemoryText
from support.stores import open_stored
from support.vaults import write_vault
from vaultwire.markdown.offsets import MOST_MARKS
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import VaultError
from vaultwire.vault.plans.context import Plan, PlanContext
from vaultwire.vault.plans.heading_links import plan_rename_block, plan_rename_heading
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath


def renamed(root: Path, path: str, old: str, new: str) -> Plan:
    """Plan the rename of a heading, or with ``^`` of a block, and carry it out."""
    files = Files(str(root), MAX_NOTE_BYTES)
    index = open_stored(root, None, MemoryText, MAX_NOTE_BYTES)[1]
    plan = plan_rename_block if old.startswith("^") else plan_rename_heading
    try:
        made = plan(PlanContext(files, index, Settings()), VaultPath(path), old, new)
    finally:
        index.close()
    for step in made.steps:
        assert isinstance(step, Write)
        assert (root / step.path).read_bytes() == step.before
        assert step.after is not None
        (root / step.path).write_bytes(step.after)
    return made


# What stands in In.md before and after `Old: part` in A/Note.md is `New: [part] #1`.
HEADING_LINKS = [
    ("[[Note#Old: part]]", "[[Note#New [part] 1]]"),
    ("[[note#old part|x]]", "[[note#New [part] 1|x]]"),
    ("![[A/Note.md#Old part]]", "![[A/Note.md#New [part] 1]]"),
    ("[[Note#Top#Old part]]", "[[Note#Top#New [part] 1]]"),
    ("[[Note#Old part#Below]]", "[[Note#New [part] 1#Below]]"),
    ("[x](Note.md#Old%20part)", "[x](Note.md#New%20[part]%201)"),
    ("[x](<A/Note.md#Old part> 't')", "[x](<A/Note.md#New [part] 1> 't')"),
    ("| a |\n|---|\n| [[Note#Old part\\|x]] |", "| a |\n|---|\n| [[Note#New [part] 1\\|x]] |"),
    ('---\nup: "[[Note#Old part]]"\n---', '---\nup: "[[Note#New [part] 1]]"\n---'),
    *[
        (kept, kept)
        for kept in (
            "[[Note]] [[Note#Top]] [[Note#Below]] [[Note#Top#Below]] [[Note#^old]] [[Note#]]",
            "[[Note#Old]] [[Other#Old part]] [[#Old part]] `[[Note#Old part]]`",
        )
    ],
]


@pytest.mark.parametrize(("before", "after"), HEADING_LINKS)
def test_a_heading_is_renamed(tmp_path: Path, before: str, after: str) -> None:
    write_vault(tmp_path, "=== Other.md\n# Old part\n")
    (tmp_path / "A").mkdir()
    note = "\ufeff# Top\r\ntext [[#Old part]]\r\n##   Old: part ##  \r\n[[Note#Old: part]]\r\n### Below\r\n^old"
    (tmp_path / "A/Note.md").write_bytes(note.encode())
    (tmp_path / "In.md").write_bytes(before.encode())
    renamed(tmp_path, "A/Note.md", "Top#old part", "New: [part] #1")
    assert (tmp_path / "In.md").read_bytes().decode() == after
    assert (tmp_path / "A/Note.md").read_bytes().decode() == (
        "\ufeff# Top\r\ntext [[#New [part] 1]]\r\n##   New: [part] #1 ##  \r\n[[Note#New [part] 1]]\r\n### Below\r\n^old"
    )


def test_an_underlined_heading_is_renamed_and_keeps_its_line(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== In.md\n[[Note#Old]] [x](Note.md\n'#Old') [y](\nNote.md#Old)\n")
    (tmp_path / "Note.md").write_bytes(b"# Top\r\n  Old  \r\n======\r\ntext\r\n\r\n---\r\n")
    renamed(tmp_path, "Note.md", "Old", "New name")
    assert (tmp_path / "Note.md").read_bytes() == b"# Top\r\n  New name  \r\n======\r\ntext\r\n\r\n---\r\n"
    assert (tmp_path / "In.md").read_text() == "[[Note#New name]] [x](Note.md\n'#Old') [y](\nNote.md#New%20name)\n"


def test_a_heading_over_several_lines_is_not_renamed_and_the_reason_is_said(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\nOld\nname\n---\n")
    with pytest.raises(VaultError, match=r"over several lines \(1-3\).*Put its text on one line first"):
        renamed(tmp_path, "Note.md", "Old name", "New")


@pytest.mark.parametrize("text", ["- x", "> x", "# x", "***", "```", "    "])
def test_a_text_that_ends_an_underlined_heading_is_refused(tmp_path: Path, text: str) -> None:
    write_vault(tmp_path, "=== Note.md\nOld\n===\ntext\n")
    with pytest.raises(VaultError, match="cannot have the text"):
        renamed(tmp_path, "Note.md", "Old", text)


def test_links_to_other_headings_of_the_old_or_new_name_keep_leading_there(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        """
=== Note.md
# A
## One
# B
## One
## Two
=== In.md
[[Note#One]] [[Note#A#One]] [[Note#B#One]] [[Note#Two]] [[Note#B#Two]]
""",
    )
    renamed(tmp_path, "Note.md", "A#One", "Two")
    assert (
        tmp_path / "In.md"
    ).read_text() == "[[Note#Two]] [[Note#A#Two]] [[Note#B#One]] [[Note#B#Two]] [[Note#B#Two]]\n"


def test_a_heading_whose_links_lead_there_all_the_same_changes_no_link(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\n# One, two\n=== In.md\n[[Note#One, two]]\n")
    assert renamed(tmp_path, "Note.md", "One two", "One: TWO").links == []
    assert (tmp_path / "Note.md").read_text() == "# One: TWO\n"


def test_a_canvas_follows_a_heading(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\n# Old\n")
    canvas = (
        '{"nodes":[{"file":"Note.md","subpath":"#Old"},{"file":"Note.md"},'
        '{"text":"[[Note#Old]]"},{"file":"X.md","subpath":"#Old"}]}'
    )
    (tmp_path / "c.canvas").write_text(canvas)
    (tmp_path / "d.canvas").write_text("{")
    made = renamed(tmp_path, "Note.md", "Old", "New")
    assert (tmp_path / "c.canvas").read_text() == canvas.replace("#Old", "#New", 2)
    assert [problem.path for problem in made.skipped] == ["d.canvas"]


def test_a_base_follows_a_heading_and_a_block(tmp_path: Path) -> None:
    base = 'filters: file.hasLink("Note#Old") || file.hasLink("Other#Old")\nviews:\n  - name: "[[Note#^old]]"\n'
    write_vault(tmp_path, "=== Note.md\n# Old\ntext ^old\n=== Other.md\n# Old\n")
    (tmp_path / "b.base").write_text(base)
    (tmp_path / "c.base").write_text('a: [ "[[Note#Old]]"\n')
    made = renamed(tmp_path, "Note.md", "Old", "New: name")
    assert (tmp_path / "b.base").read_text() == base.replace("Note#Old", "Note#New name")
    assert [problem.path for problem in made.skipped] == ["c.base"]
    renamed(tmp_path, "Note.md", "^old", "^new")
    assert (tmp_path / "b.base").read_text() == base.replace("Note#Old", "Note#New name").replace("^old", "^new")


def test_what_is_not_looked_into_for_links_is_told_of(tmp_path: Path) -> None:
    lines = ("^" * 1000 + "\n") * (MOST_MARKS // 500)
    write_vault(tmp_path, f"=== Note.md\n# Old\n=== Long.md\n[[Note#Old]]\n{lines}[[Note#Old]]\n")
    made = renamed(tmp_path, "Note.md", "Old", "New")
    assert [problem.path for problem in made.skipped] == ["Long.md"]
    assert (tmp_path / "Long.md").read_text() == f"[[Note#New]]\n{lines}[[Note#Old]]\n"


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a #", "a\rb", "#"])
def test_a_text_that_is_no_headings_is_refused(tmp_path: Path, text: str) -> None:
    write_vault(tmp_path, "=== Note.md\n# Old\ntext\n\n[[x]]\n# Other\n")
    with pytest.raises(VaultError, match="cannot have the text"):
        renamed(tmp_path, "Note.md", "Old", text)


def test_a_text_that_would_make_a_heading_unreachable_is_refused(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\n# One\n# Two\n=== In.md\n[[Note#Two]]\n")
    with pytest.raises(VaultError, match="another heading"):
        renamed(tmp_path, "Note.md", "Two", "One")


# What stands in In.md before and after ^old in Note.md is ^new-1.
BLOCK_LINKS = [
    ("[[Note#^old]]", "[[Note#^new-1]]"),
    ("![[Note#^OLD|x]]", "![[Note#^new-1|x]]"),
    ("[x](Note.md#^old)", "[x](Note.md#^new-1)"),
    ("| a |\n|---|\n| [[Note#^old\\|x]] |", "| a |\n|---|\n| [[Note#^new-1\\|x]] |"),
    ('---\nup: "[[Note#^old]]"\n---', '---\nup: "[[Note#^new-1]]"\n---'),
    ("[[Note#^older]] [[Note#old]] [[Other#^old]] `[[Note#^old]]`",) * 2,
]


@pytest.mark.parametrize(("before", "after"), BLOCK_LINKS)
def test_a_block_is_renamed(tmp_path: Path, before: str, after: str) -> None:
    write_vault(tmp_path, "=== Other.md\nx ^old\n")
    (tmp_path / "Note.md").write_bytes(b"# ^old\r\ntext ^old [[#^old]] ^old \r\n\r\ny ^older\r\n")
    (tmp_path / "In.md").write_bytes(before.encode())
    renamed(tmp_path, "Note.md", "^Old", "^new-1")
    assert (tmp_path / "In.md").read_bytes().decode() == after
    assert (tmp_path / "Note.md").read_bytes() == b"# ^old\r\ntext ^old [[#^new-1]] ^new-1 \r\n\r\ny ^older\r\n"


@pytest.mark.parametrize(("old", "new"), [("^old", "^a b"), ("^old", "^"), ("^old", "^Taken"), ("^none", "^x")])
def test_a_block_id_that_is_none_or_taken_is_refused(tmp_path: Path, old: str, new: str) -> None:
    write_vault(tmp_path, "=== Note.md\nx ^old\n\ny ^taken\n")
    with pytest.raises(VaultError):
        renamed(tmp_path, "Note.md", old, new)
