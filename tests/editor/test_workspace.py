"""What the app's own record of its windows tells, and how a state follows it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.editor import (
    EditorState,
    Mention,
    Position,
    Selection,
    Workspace,
    WorkspaceWatcher,
    read_workspace,
)


def leaf(id_: str, file: str | None, kind: str = "markdown") -> dict[str, Any]:
    state = {"file": file, "mode": "source"} if file else {}
    return {"id": id_, "type": "leaf", "state": {"type": kind, "state": state}}


def layout(*leaves: dict[str, Any], active: str = "", latest: tuple[str, ...] = ()) -> dict[str, Any]:
    tabs = {"id": "t", "type": "tabs", "children": list(leaves)}
    split = {"id": "s", "type": "split", "direction": "vertical", "children": [tabs]}
    return {"main": split, "left": {}, "active": active, "lastOpenFiles": list(latest)}


A, B = leaf("1", "A.md"), leaf("2", "Folder/B.md")
GRAPH = leaf("3", None, "graph")


@pytest.mark.parametrize(
    ("given", "active", "tabs"),
    [
        (layout(A, B, active="2"), "Folder/B.md", ("A.md", "Folder/B.md")),
        (
            layout(A, B, GRAPH, active="3", latest=("Gone.md", "Folder/B.md", "A.md")),
            "Folder/B.md",
            ("A.md", "Folder/B.md"),
        ),
        (layout(A, GRAPH, active="3"), "A.md", ("A.md",)),
        (layout(GRAPH, active="3", latest=("A.md",)), "", ()),
        (layout(A, leaf("4", "A.md"), active="4"), "A.md", ("A.md",)),
        ({}, "", ()),
    ],
    ids=["active", "graph in front", "nothing opened lately", "no file", "twice", "empty"],
)
def test_the_note_in_front_is_the_active_leafs_or_the_latest(given: Any, active: str, tabs: tuple[str, ...]) -> None:
    assert read_workspace(json.dumps(given)) == Workspace(active, tabs)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["main", "active", "lastOpenFiles", "children", "state", "file", "type", "id"]), inner
            )
        ),
    )
)
def test_nothing_that_may_stand_there_is_more_than_passed_over(value: Any) -> None:
    found = read_workspace(json.dumps(value))
    assert found is None or isinstance(found.active, str)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "[" * 100_000])
def test_what_is_no_layout_tells_nothing(text: str) -> None:
    assert read_workspace(text) is None


def write(vault: Path, *args: Any, **kwargs: Any) -> None:
    place = vault / ".obsidian" / "workspace.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(layout(*args, **kwargs)))
    os.utime(place, ns=(1, 1 + len(place.read_bytes())))  # old enough to be kept


def test_a_state_follows_the_file(tmp_path: Path) -> None:
    state = EditorState()
    told: list[Selection] = []
    end = state.listen(told.append, lambda _: None)
    following = WorkspaceWatcher(str(tmp_path), state)
    following.look()
    assert told == []
    write(tmp_path, A, B, active="1")
    following.look()
    following.look()
    assert told == [Selection("A.md")]
    assert state.tabs == ("A.md", "Folder/B.md")
    # Others know more: it is not told again while it stays in front.
    precise = Selection("A.md", "x", Position(1, 0), Position(1, 1))
    state.select(precise)
    write(tmp_path, A, leaf("2", "Folder/C.md"), active="1")
    following.look()
    assert state.selection == precise
    (tmp_path / ".obsidian" / "workspace.json").write_text("{")
    following.look()
    assert state.selection == precise
    end()
    state.select(Selection(""))
    assert told == [Selection("A.md"), precise]


def test_a_private_note_is_nobodys_business() -> None:
    state = EditorState(lambda path: path.startswith("Private/"))
    told: list[object] = []
    state.listen(told.append, told.append)
    state.select(Selection("Open.md"))
    state.select(Selection("Private/Diary.md", "secret"))
    state.open_tabs(["Private/Diary.md", "Open.md"])
    assert told == [Selection("Open.md"), Selection("")]
    assert state.tabs == ("Open.md",)
    assert not state.mention(Mention("Private/Diary.md"))
    assert state.mention(Mention("Open.md", 1, 2))
    assert told[2:] == [Mention("Open.md", 1, 2)]


@pytest.mark.parametrize(
    ("settings", "is_installed", "path"),
    [
        ('{"paused": true}', True, ""),
        ('{"paused": true}', False, "A.md"),
        ('{"paused": false}', True, "A.md"),
        ('{"paused": 1}', True, "A.md"),
        ("{", True, "A.md"),
        ("[]", True, "A.md"),
        ("", True, "A.md"),
    ],
)
def test_a_pause_of_our_plugin_holds_while_it_is_not_connected(
    tmp_path: Path, settings: str, is_installed: bool, path: str
) -> None:
    folder = tmp_path / ".obsidian" / "plugins" / "vaultwire"
    folder.mkdir(parents=True)
    (tmp_path / ".obsidian" / "workspace.json").write_text(json.dumps(layout(A, B, active="1")))
    (folder / "data.json").write_text(settings)
    if is_installed:
        (folder / "manifest.json").write_text("{}")
    state = EditorState()
    watcher = WorkspaceWatcher(str(tmp_path), state)
    watcher.look()
    assert (state.selection.path, state.tabs) == (path, ("A.md", "Folder/B.md") if path else ())
    (folder / "data.json").write_text('{"paused": false, "length": "another"}')
    watcher.look()
    assert state.selection == Selection("A.md")
    (folder / "data.json").write_text('{"paused": true}')
    (folder / "manifest.json").write_text("{}")
    watcher.look()
    assert (state.selection, state.tabs) == (Selection(""), ())
    for half in ("", '{"pau'):  # Obsidian does not replace the file in one step
        (folder / "data.json").write_text(half)
        watcher.look()
        assert state.selection == Selection("")
    (folder / "data.json").unlink()
    watcher.look()
    assert state.selection == Selection("A.md")
