"""Canvases as a model sees them: nodes and edges as text, edits as one change, links in cards that follow moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.calls import call, refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, STALE_EDIT
from vaultwire.vault.vault import Vault

VAULT = """
=== Boards/Plan.canvas
{
\t"nodes":[
\t\t{"id":"a","type":"text","text":"First\\nsee [[Note]]","x":-10,"y":0,"width":250,"height":60,"color":"4"},
\t\t{"id":"b","type":"file","file":"Notes/Note.md","subpath":"#Top","x":0,"y":100,"width":400,"height":400},
\t\t{"id":"c","type":"link","url":"https://example.org","x":0,"y":0,"width":1,"height":1},
\t\t{"id":"d","type":"group","label":"Ideas","x":0,"y":0,"width":1,"height":1}
\t],
\t"edges":[
\t\t{"id":"e","fromNode":"a","toNode":"b","label":"leads to"},
\t\t{"id":"f","fromNode":"b","fromEnd":"arrow","toNode":"c","toEnd":"none"}
\t]
}
=== Notes/Note.md
# Top
=== Notes/photo.png
x
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def vault(root: Path) -> Vault:
    return open_vault(root)


def nodes(root: Path) -> dict[str, Any]:
    return {node["id"]: node for node in json.loads((root / "Boards" / "Plan.canvas").read_text())["nodes"]}


@pytest.mark.parametrize("name", ["Boards/Plan.canvas", "Plan.canvas", "Plan", "[[Plan.canvas]]"])
def test_a_canvas_is_read_as_text(vault: Vault, name: str) -> None:
    outcome = call(vault, "read_canvas", path=name)
    assert outcome.texts[0].splitlines() == [
        f"(Boards/Plan.canvas, 4 nodes, 2 edges, etag {outcome.data['etag']})",
        "[a] text color 4: First",
        "    see [[Note]]",
        "[b] file: Notes/Note.md#Top",
        "[c] link: https://example.org",
        "[d] group: Ideas",
        "[e] edge a -> b: leads to",
        "[f] edge b <- c",
    ]
    assert outcome.data["nodes"][0] == {"id": "a", "type": "text", "text": "First\nsee [[Note]]", "color": "4"}


def test_positions_are_shown_on_request_and_many_nodes_are_cut(vault: Vault) -> None:
    outcome = call(vault, "read_canvas", path="Plan", positions=True, limit=1)
    assert "[a] text at -10,0 size 250x60 color 4: First" in outcome.texts[0]
    assert "There are 3 more nodes" in outcome.texts[0]
    assert (len(outcome.data["nodes"]), outcome.data["node_count"]) == (1, 4)


def test_edits_are_one_change_that_can_be_taken_back(root: Path, vault: Vault) -> None:
    before = snapshot(root)
    etag = call(vault, "read_canvas", path="Plan").data["etag"]
    edits = [
        {"action": "set", "id": "a", "text": "Changed", "color": ""},
        {"action": "add", "id": "new", "file": "photo.png"},
        {"action": "add", "label": ""},
        {"action": "connect", "from": "a", "to": "new", "label": "shows", "from_side": "right"},
        {"action": "remove", "id": "c"},
    ]
    outcome = call(vault, "edit_canvas", path="Plan", edits=edits, if_match=etag)
    found = nodes(root)
    assert (found["a"]["text"], "color" in found["a"]) == ("Changed", False)
    assert found["new"]["file"] == "Notes/photo.png"
    assert found[outcome.data["added"][1]]["type"] == "group"
    read = call(vault, "read_canvas", path="Plan")
    assert read.data["etag"] == outcome.data["etag"]
    assert f"[{outcome.data['added'][2]}] edge a -> new: shows" in read.texts[0]
    assert "c" not in found
    assert '"fromSide":"right"' in (root / "Boards" / "Plan.canvas").read_text()
    assert refusal(vault, "edit_canvas", path="Plan", edits=edits, if_match=etag)[0] == STALE_EDIT
    call(vault, "undo_changes", changes=[outcome.data["change"]])
    assert snapshot(root) == before


def test_a_file_is_named_as_elsewhere_and_must_be_there(root: Path, vault: Vault) -> None:
    call(vault, "edit_canvas", path="Plan", edits=[{"action": "add", "id": "n", "file": "Note#Top"}])
    assert (nodes(root)["n"]["file"], nodes(root)["n"]["subpath"]) == ("Notes/Note.md", "#Top")
    call(vault, "edit_canvas", path="Plan", edits=[{"action": "set", "id": "b", "file": "photo.png"}])
    assert (nodes(root)["b"]["file"], "subpath" in nodes(root)["b"]) == ("Notes/photo.png", False)
    edits = [{"action": "add", "file": "Nothing"}]
    assert refusal(vault, "edit_canvas", path="Plan", edits=edits)[0] == FILE_NOT_FOUND


def test_links_in_a_new_card_follow_moves(root: Path, vault: Vault) -> None:
    edits = [{"action": "add", "id": "n", "text": "[[Note]]"}, {"action": "add", "id": "m", "file": "Note"}]
    call(vault, "edit_canvas", path="Plan", edits=edits)
    call(vault, "move_notes", paths=["Note"], to="Moved/Other")
    found = nodes(root)
    assert (found["n"]["text"], found["m"]["file"]) == ("[[Other]]", "Moved/Other.md")


def test_other_files_and_wrong_edits_are_refused(root: Path, vault: Vault) -> None:
    before = snapshot(root)
    add = [{"action": "add", "text": "x"}]
    assert refusal(vault, "edit_canvas", path="Note.md", edits=add)[0] == INVALID_ARGUMENTS
    assert refusal(vault, "edit_canvas", path="Nothing", edits=add)[0] == FILE_NOT_FOUND
    code, message = refusal(vault, "edit_canvas", path="Plan", edits=[{"action": "set", "id": "z", "text": "x"}])
    assert (code, "there is no node 'z'. Nodes: 'a', 'b', 'c', 'd'" in message) == (INVALID_ARGUMENTS, True)
    assert snapshot(root) == before
    (root / "Boards" / "Plan.canvas").write_text("{")
    assert refusal(vault, "edit_canvas", path="Plan", edits=add)[0] == INVALID_ARGUMENTS
    assert refusal(vault, "read_canvas", path="Plan")[0] == INVALID_ARGUMENTS
