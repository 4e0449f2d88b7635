"""Reads ``.obsidian/workspace.json``: the active note and the open notes of the app. It has no cursor and no selection.

Obsidian writes the file a moment after its layout changes. The file is not documented: unexpected content is ignored.

While the person has paused sharing in our plugin, nothing is read: the plugin's settings in the vault say so also when the
plugin is not connected yet. They do not count without the plugin: nobody could end the pause.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from vaultwire.editor.state import NOTHING, EditorState, Selection
from vaultwire.vault.settings.obsidian_settings import CONFIG_FOLDER, CachedFile

# Deeper than any layout of windows, splits and tabs.
_MAX_DEPTH = 50


class Workspace(NamedTuple):
    """The active file (``""`` for none) and the open files, as paths in the vault."""

    active: str
    tabs: tuple[str, ...]


class WorkspaceWatcher:
    """Sets an editor's state from the file. Call ``look`` as often as a person would notice; it costs one ``stat``."""

    def __init__(self, root: str, state: EditorState) -> None:
        """``root`` is the vault's folder."""
        config = os.path.join(root, CONFIG_FOLDER)
        self._file = CachedFile(os.path.join(config, "workspace.json"))
        self._settings = CachedFile(os.path.join(config, "plugins", "vaultwire", "data.json"))
        self._plugin = os.path.join(config, "plugins", "vaultwire", "manifest.json")
        self._was_paused = False
        self._state = state
        self._text: str | None = None
        self._active: str | None = None

    def look(self) -> None:
        """Update the state. An unchanged active note is not set again: others may know the cursor in it."""
        if self._is_paused():
            self._text = self._active = None
            self._state.open_tabs(())
            self._state.select(NOTHING)
            return
        text = self._file.content().text
        if text == self._text:
            return
        self._text = text
        workspace = None if text is None else read_workspace(text)
        if workspace is None:
            return
        self._state.open_tabs(workspace.tabs)
        if workspace.active != self._active:
            self._active = workspace.active
            self._state.select(Selection(workspace.active))

    def _is_paused(self) -> bool:
        settings = self._settings.content()
        try:
            said = json.loads(settings.text or "")
        except (ValueError, RecursionError):
            # The file is gone, or is being written at this moment: a pause must not end for that moment.
            self._was_paused = self._was_paused and (settings.text is not None or bool(settings.problem))
        else:
            self._was_paused = isinstance(said, dict) and said.get("paused") is True
        return self._was_paused and os.path.exists(self._plugin)


def read_workspace(text: str) -> Workspace | None:
    """Return the content of the file, None if it cannot be understood."""
    try:
        layout = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(layout, dict):
        return None
    files = dict(_leaves(layout.get("main"), 0))
    active = layout.get("active")
    front = files.get(active, "") if isinstance(active, str) else ""
    if not front:  # a graph or a sidebar is active: the person saw the last opened file
        latest = layout.get("lastOpenFiles")
        candidates = [path for path in latest if isinstance(path, str)] if isinstance(latest, list) else []
        open_files = set(files.values())
        front = next((path for path in candidates if path in open_files), next(iter(files.values()), ""))
    return Workspace(front, tuple(dict.fromkeys(files.values())))


def _leaves(part: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the id and the file of every leaf that shows a file."""
    if not isinstance(part, dict) or depth > _MAX_DEPTH:
        return
    state = part.get("state")
    if part.get("type") == "leaf" and isinstance(state, dict):
        inner = state.get("state")
        path = inner.get("file") if isinstance(inner, dict) else None
        if isinstance(path, str) and path and isinstance(part.get("id"), str):
            yield part["id"], path
    children = part.get("children")
    for child in children if isinstance(children, list) else []:
        yield from _leaves(child, depth + 1)
