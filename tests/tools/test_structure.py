"""The tools on how notes are built and hang together: what they say to a model and to a program."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from support.calls import load_tools
from support.schemas import hold_to
from support.vaults import open_vault, write_vault
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.toolkit.registry import Failure, Outcome, invoke
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

VAULT = """
=== Home.md
---
tags: [start]
---
# Home
See [[Garden#Plan|the plan]] and [[Nowhere]]. ![[plan.png]]
## Tasks
- [ ] water
- [x] plant #garden/log
=== Garden.md
# Garden
## Plan
Back to [[Home]]. #garden
=== plan.png
"""
TOOLS = {tool.name: tool for tool in load_tools()}
DESCRIPTIONS = {description["name"]: description for description in load_catalog()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


@lru_cache(maxsize=1)
def opened(root: Path) -> Vault:
    """Return one vault for all calls of a test: a caller's cursors are its own."""
    return open_vault(root)


def call(root: Path, name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return a tool's text and data; the data fits its schema."""
    outcome = invoke(TOOLS[name], DESCRIPTIONS[name], arguments, opened(root), NO_PROGRESS)
    assert isinstance(outcome, Outcome), outcome
    hold_to(outcome.data, DESCRIPTIONS[name]["outputSchema"])
    (text,) = outcome.texts
    return text, outcome.data


def test_links_are_shown_with_what_they_lead_to(root: Path) -> None:
    text, data = call(root, "list_links", path="Home")
    assert text.splitlines() == [
        "Home.md has 3 links, 1 unresolved:",
        "5: Garden#Plan → Garden.md",
        "5: Nowhere → (nothing of that name)",
        "5: plan.png → plan.png",
    ]
    assert data["unresolved"] == 1
    assert data["links"][0]["display"] == "the plan"
    assert "target" not in data["links"][1]
    assert data["links"][2]["embed"]


def test_backlinks_are_shown_with_their_lines(root: Path) -> None:
    text, data = call(root, "list_links", path="[[Home]]", what="in")
    assert text == "1 link to Home.md:\nGarden.md:3: Back to [[Home]]. #garden"
    assert data["backlinks"] == [{"path": "Garden.md", "line": 3, "text": "Back to [[Home]]. #garden", "embed": False}]


ATTACHMENTS = """
=== a.md
![[plan.png|100]] and [the plan](Pictures/plan.png "t")
[[Paper.PDF#page=3]] and [[plan]]
=== b.md
---
cover: "[[Pictures/plan.png]]"
---
\ufeff![[paper.pdf]] ![[x.png]]
=== plan.md
=== Pictures/plan.png
=== Paper.pdf
=== A/x.png
=== B/x.png
"""


@pytest.mark.parametrize(
    ("name", "path", "lines"),
    [
        ("Pictures/plan.png", "Pictures/plan.png", [("a.md", 1, True), ("a.md", 1, False), ("b.md", 2, False)]),
        ("PLAN.png", "Pictures/plan.png", [("a.md", 1, True), ("a.md", 1, False), ("b.md", 2, False)]),
        ("![[plan.png|100]]", "Pictures/plan.png", [("a.md", 1, True), ("a.md", 1, False), ("b.md", 2, False)]),
        ("paper.pdf#page=3", "Paper.pdf", [("a.md", 2, False), ("b.md", 4, True)]),
        ("plan", "plan.md", [("a.md", 2, False)]),
        ("A/x.png", "A/x.png", [("b.md", 4, True)]),
        ("B/x.png", "B/x.png", []),
    ],
)
def test_an_attachment_has_backlinks_too(
    tmp_path: Path, name: str, path: str, lines: list[tuple[str, int, bool]]
) -> None:
    _, data = call(write_vault(tmp_path, ATTACHMENTS), "list_links", path=name, what="in")
    assert data["path"] == path
    assert [(link["path"], link["line"], link["embed"]) for link in data["backlinks"]] == lines


@pytest.mark.parametrize(("name", "code"), [("x.png", "AMBIGUOUS_NAME"), ("y.png", "FILE_NOT_FOUND")])
def test_an_attachment_that_is_none_or_several_is_said(tmp_path: Path, name: str, code: str) -> None:
    vault = open_vault(write_vault(tmp_path, ATTACHMENTS))
    outcome = invoke(TOOLS["list_links"], DESCRIPTIONS["list_links"], {"path": name, "what": "in"}, vault, NO_PROGRESS)
    assert isinstance(outcome, Failure)
    assert outcome.code == code


def test_the_line_of_a_link_is_as_the_note_has_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf\xe9 [[x]]\r\n\n  caf\xc3\xa9 [[x]] \xff\r\r\nlast [[x]]")
    _, data = call(write_vault(tmp_path, "=== x.md\n"), "list_links", path="x", what="in")
    assert [(link["line"], link["text"]) for link in data["backlinks"]] == [
        (1, "\ufffd [[x]]"), (3, "caf\u00e9 [[x]] \ufffd"), (4, "last [[x]]"),
    ]  # fmt: skip


def test_a_note_nobody_links_to_has_no_backlinks(tmp_path: Path) -> None:
    text, data = call(write_vault(tmp_path, "=== A.md\nalone\n"), "list_links", path="A", what="in")
    assert (text, data["total"]) == ("0 links to A.md.", 0)


def test_tags_are_counted_with_those_above_them(root: Path) -> None:
    text, data = call(root, "vault_overview", what="tags")
    assert text.splitlines() == ["3 tags in use:", "#garden (2)", "#garden/log (1)", "#start (1)"]
    assert data["tags"][0] == {"tag": "garden", "notes": 2}


def test_pages_of_links_hold_every_link_once(root: Path) -> None:
    seen = []
    cursor: dict[str, str] = {}
    while True:
        _, data = call(root, "list_links", path="Home", limit=2, **cursor)
        seen += [link["link"] for link in data["links"]]
        if "next_cursor" not in data:
            break
        cursor = {"cursor": data["next_cursor"]}
    assert seen == ["Garden#Plan", "Nowhere", "plan.png"]


@pytest.mark.parametrize("what", ["out", "in"])
def test_a_note_that_is_not_there_is_said(root: Path, what: str) -> None:
    asked = {"path": "Nobody", "what": what}
    outcome = invoke(TOOLS["list_links"], DESCRIPTIONS["list_links"], asked, open_vault(root), NO_PROGRESS)
    assert isinstance(outcome, Failure)
    assert outcome.code == "FILE_NOT_FOUND"
