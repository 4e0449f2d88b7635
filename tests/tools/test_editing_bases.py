"""Bases that are edited and made by tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.calls import call, refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.errors import NOTE_EXISTS, STALE_EDIT
from vaultwire.vault.vault import Vault

VAULT = """=== Books/Dune.md
---
status: open
tags: [book]
---
=== Books.base
# mine
filters: file.hasTag("book")
views:
  - type: table # first
    name: All
    zoom: 2
=== Note.md
Text before.

> [!info]
> ```base
> views:
>   # one
>   - type: table
>     name: In quote
> ```

- item
  ~~~base
  filters: 'file.ext == "md"'
  ~~~
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


@pytest.fixture
def vault(root: Path) -> Vault:
    return open_vault(root)


def test_a_base_gets_a_view_and_keeps_all_else(vault: Vault, root: Path) -> None:
    before = snapshot(root)
    view = {"name": "Open", "set": {"type": "cards", "filters": 'status == "open"', "order": ["file.name"]}, "place": 1}
    dry = call(vault, "edit_base", base="Books", views=[view], dry_run=True)
    assert '+    filters: status == "open"' in dry.data["diff"]
    assert snapshot(root) == before
    done = call(vault, "edit_base", base="Books", views=[view], if_match=dry.data.get("etag") and None)
    assert (root / "Books.base").read_text() == (
        '# mine\nfilters: file.hasTag("book")\nviews:\n  - type: cards\n    name: Open\n    filters: status == "open"\n'
        "    order:\n      - file.name\n  - type: table # first\n    name: All\n    zoom: 2\n"
    )
    assert done.data["path"] == "Books.base"
    assert call(vault, "query_base", base="Books").data["view"] == "Open"
    call(vault, "undo_changes", changes=[done.data["change"]])
    assert snapshot(root) == before


def test_blocks_of_notes_are_edited_in_their_place(vault: Vault, root: Path) -> None:
    call(vault, "edit_base", base="Note", block=1, views=[{"name": "In quote", "set": {"limit": 3}}])
    call(vault, "edit_base", base="Note", block=2, set={"filters": "file.size > 1", "formulas": {"a": "b +\nc"}})
    text = (root / "Note.md").read_text()
    assert ">   # one\n>   - type: table\n>     name: In quote\n>     limit: 3\n> ```\n" in text
    assert "- item\n  ~~~base\n  filters: 'file.size > 1'\n  formulas:\n    a: |-\n      b +\n      c\n  ~~~\n" in text
    assert text.startswith("Text before.\n\n> [!info]\n> ```base\n> views:\n")


def test_a_block_keeps_line_ends_of_windows(vault: Vault, root: Path) -> None:
    (root / "Note.md").write_bytes((root / "Note.md").read_bytes().replace(b"\n", b"\r\n"))
    call(vault, "edit_base", base="Note", block=1, views=[{"name": "In quote", "set": {"limit": 3}}])
    data = (root / "Note.md").read_bytes()
    assert b">     limit: 3\r\n> ```\r\n" in data
    assert data.count(b"\n") == data.count(b"\r\n")


def test_what_would_not_work_changes_nothing(vault: Vault, root: Path) -> None:
    before = snapshot(root)
    etag = call(vault, "edit_base", base="Books", set={"formulas": {"a": "1"}}, dry_run=True).data["etag"]
    assert "cannot be read" in refusal(vault, "edit_base", base="Books", set={"filters": "status =="})[1]
    assert (
        "has no view 'Al'" in refusal(vault, "edit_base", base="Books", views=[{"name": "Al", "set": {"limit": 1}}])[1]
    )
    assert "Say what to set" in refusal(vault, "edit_base", base="Books")[1]
    assert "no block 3" in refusal(vault, "edit_base", base="Note", block=3, set={"filters": "a"})[1]
    assert "is no base" in refusal(vault, "edit_base", base="Dune", set={"filters": "a"})[1]
    assert refusal(vault, "edit_base", base="Books", set={"filters": "a"}, if_match=etag)[0] == STALE_EDIT
    assert snapshot(root) == before


def test_what_means_nothing_is_a_notice(vault: Vault) -> None:
    done = call(vault, "edit_base", base="Books", set={"formulas": {"a": "statsu + 1", "b": "status + 1"}})
    (notice,) = done.data["notices"]
    assert "statsu" in notice


def test_a_base_is_made_from_a_search(vault: Vault, root: Path) -> None:
    made = call(vault, "create_base", path="Bases/Open", search="tag:#book [status:open]")
    assert made.data["path"] == "Bases/Open.base"
    assert (root / "Bases/Open.base").read_text() == (
        'filters:\n  and:\n    - file.ext == "md"\n    - file.hasTag("book")\n'
        '    - status.toString().lower().contains("open")\nviews:\n  - type: table\n    name: Table\n'
    )
    assert [row["path"] for row in call(vault, "query_base", base="Bases/Open").data["rows"]] == ["Books/Dune.md"]
    call(vault, "undo_changes", changes=[made.data["change"]])
    assert not (root / "Bases").exists()


def test_a_base_is_made_from_filters_and_views(vault: Vault) -> None:
    views = [{"name": "Wall", "set": {"type": "cards"}}, {"name": "List", "set": {"type": "list"}}]
    call(vault, "create_base", path="Wall.base", set={"filters": 'file.hasTag("book")'}, views=views)
    assert call(vault, "query_base", base="Wall").data["views"] == ["Wall", "List"]


def test_a_name_that_no_link_can_have_is_a_notice(vault: Vault) -> None:
    made = call(vault, "create_base", path="Nr #1", set={"filters": "a"})
    assert made.data["notices"] == ["Links cannot name this base: its name has #."]


def test_a_base_that_cannot_be_made_is_none(vault: Vault, root: Path) -> None:
    before = snapshot(root)
    assert refusal(vault, "create_base", path="Books", search="tag:a")[0] == NOTE_EXISTS
    assert "not by words of the text" in refusal(vault, "create_base", path="New", search="some words")[1]
    assert (
        "either a search or filters"
        in refusal(vault, "create_base", path="New", search="tag:a", set={"filters": "b"})[1]
    )
    assert "cannot be read" in refusal(vault, "create_base", path="New", set={"filters": "("})[1]
    assert snapshot(root) == before


def test_a_hidden_base_is_not_there(root: Path) -> None:
    (root / "Secret").mkdir()
    (root / "Secret" / "Plans.base").write_text("views: [{type: table, name: All}]\n")
    vault = open_vault(root, rules=PathRules(deny=(Rule("deny", "Secret/", 1),)))
    hidden = refusal(vault, "edit_base", base="Plans", set={"filters": "a"})
    assert hidden == refusal(
        open_vault(write_vault(root / "other", VAULT)), "edit_base", base="Plans", set={"filters": "a"}
    )
    assert (root / "Secret" / "Plans.base").read_text() == "views: [{type: table, name: All}]\n"


# ---------------------------------------------------------------------- renames


def test_links_and_embeds_of_a_view_follow_its_new_name(vault: Vault, root: Path) -> None:
    (root / "Home.md").write_text(
        "![[Books.base#All]] and [[Books.base#all|mine]], ![[Books.base]], [b](Books.base#All)\n"
    )
    (root / "Board.canvas").write_text(
        '{"nodes":[{"id":"a","type":"file","file":"Books.base","subpath":"#All","x":0,"y":0,"width":1,"height":1}]}'
    )
    before = snapshot(root)
    done = call(vault, "edit_base", base="Books", views=[{"name": "All", "new_name": "Every book"}])
    assert (root / "Home.md").read_text() == (
        "![[Books.base#Every book]] and [[Books.base#Every book|mine]], ![[Books.base]], [b](Books.base#Every%20book)\n"
    )
    assert '"#Every book"' in (root / "Board.canvas").read_text()
    assert done.data["file_count"] == 3
    call(vault, "undo_changes", changes=[done.data["change"]])
    assert snapshot(root) == before


def test_a_name_that_links_cannot_have_is_refused_where_there_is_one(vault: Vault, root: Path) -> None:
    call(vault, "edit_base", base="Books", views=[{"name": "All", "new_name": "A|B"}])
    (root / "Home.md").write_text("![[Books.base#A|B]] [[Books.base#A]]\n")
    call(vault, "edit_base", base="Books", views=[{"name": "A|B", "new_name": "A"}])
    (_, message) = refusal(vault, "edit_base", base="Books", views=[{"name": "A", "new_name": "C|D"}])[:2]
    assert "no link can name 'C|D', because of |" in message


def test_links_follow_views_that_change_their_names(vault: Vault, root: Path) -> None:
    call(vault, "edit_base", base="Books", views=[{"name": "Wall", "set": {"type": "cards"}}])
    (root / "Home.md").write_text("![[Books.base#All]] ![[Books.base#Wall]]\n")
    names = [("All", "x"), ("Wall", "All"), ("x", "Wall")]
    call(vault, "edit_base", base="Books", views=[{"name": old, "new_name": new} for old, new in names])
    assert (root / "Home.md").read_text() == "![[Books.base#Wall]] ![[Books.base#All]]\n"


def test_a_property_is_renamed_in_base_blocks(vault: Vault, root: Path) -> None:
    (root / "Block.md").write_bytes(
        b'---\r\nstatus: open\r\n---\r\n> ```base\r\n> filters: status == "open" # soon\r\n> ```\r\n\r\n'
        b"```base\r\nviews:\r\n  - type: table\r\n    order: [file.name, note.status]\r\n```\r\nbase status\r\n"
    )
    (root / "Other.md").write_text("~~~base\nfilters: file.hasProperty('status')\n~~~\n")
    before = snapshot(root)
    done = call(vault, "rename", what="property", old="status", new="state")
    assert (root / "Block.md").read_bytes() == (
        b'---\r\nstate: open\r\n---\r\n> ```base\r\n> filters: state == "open" # soon\r\n> ```\r\n\r\n'
        b"```base\r\nviews:\r\n  - type: table\r\n    order: [file.name, note.state]\r\n```\r\nbase status\r\n"
    )
    assert (root / "Other.md").read_text() == "~~~base\nfilters: file.hasProperty('state')\n~~~\n"
    assert "1 base" in done.texts[0]
    call(vault, "undo_changes", changes=[done.data["change"]])
    assert snapshot(root) == before


@pytest.mark.parametrize("name", ['a "b', "a\\b", '"', "OR", "-x", "a'b"])
def test_blocks_that_name_a_property_with_odd_characters_are_found(vault: Vault, root: Path, name: str) -> None:
    written = json.dumps(name)
    (root / "Has.md").write_text(f"---\n{written}: 1\n---\n")
    (root / "Other.md").write_text(f"```base\nviews:\n  - order: [{written}]\n```\n")
    call(vault, "rename", what="property", old=name, new="state")
    assert (root / "Other.md").read_text() == '```base\nviews:\n  - order: ["state"]\n```\n'


def test_a_block_that_cannot_be_read_keeps_the_old_name_and_is_named(vault: Vault, root: Path) -> None:
    (root / "Other.md").write_text("```base\nfilters: [status\n```\n")
    done = call(vault, "rename", what="property", old="status", new="state")
    assert any("Other.md keeps the old name: it" in notice for notice in done.data["notices"])
    assert (root / "Other.md").read_text() == "```base\nfilters: [status\n```\n"
