"""What the person sees: the active note, the selection in it, the open tabs. Knows no wire.

``workspace``, the plugin and commands set it; the editors' doors listen to it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from vaultwire.vault.settings.obsidian_settings import CONFIG_FOLDER, CachedFile


class Position(NamedTuple):
    """A place in a note: line and character, both counted from 0, as editors count."""

    line: int
    character: int


class Selection(NamedTuple):
    """The active note and the selection in it: ``path`` is its path in the vault, ``""`` if no note is open.

    ``start`` and ``end`` are the same if nothing is selected, or the cursor is not known.
    """

    path: str
    text: str = ""
    start: Position = Position(0, 0)
    end: Position = Position(0, 0)


class Mention(NamedTuple):
    """A note, or some of its lines, that the person shows an assistant. Lines count from 1; 0 means the whole note."""

    path: str
    first_line: int = 0
    last_line: int = 0


NOTHING = Selection("")


def select_lines(path: str, text: str, first: int, last: int) -> Selection:
    """Return a selection of a note's lines, counted from 1; 0 means the whole note, with nothing selected."""
    chosen = text.split("\n")[first - 1 : last] if first else []
    if not chosen:
        return Selection(path)
    end = Position(first + len(chosen) - 2, len(chosen[-1]))
    return Selection(path, "\n".join(chosen), Position(first - 1, 0), end)


class EditorState:
    """The state of one vault's editor. Safe to use from several threads.

    ``is_private`` tells whether a path is private: no listener hears of such a note.
    """

    def __init__(self, is_private: Callable[[str], bool] = lambda _: False) -> None:
        self._is_private = is_private
        self._lock = threading.Lock()
        self._selection = NOTHING
        self._tabs: tuple[str, ...] = ()
        self._listeners: list[tuple[Callable[[Selection], None], Callable[[Mention], None], Callable[[], None]]] = []

    @property
    def selection(self) -> Selection:
        """The current selection."""
        return self._selection

    @property
    def tabs(self) -> tuple[str, ...]:
        """The paths of the open notes, with the active one."""
        return tuple(path for path in self._tabs if not self._is_private(path))

    def listen(
        self,
        on_select: Callable[[Selection], None],
        on_mention: Callable[[Mention], None] = lambda _: None,
        on_tabs: Callable[[], None] = lambda: None,
    ) -> Callable[[], None]:
        """Call these functions at changes, on the thread that makes them; return a function that ends that."""
        listener = on_select, on_mention, on_tabs
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return end

    def select(self, selection: Selection) -> None:
        """Set the selection; listeners hear of it if it is new. A private note looks to them like no note."""
        seen = NOTHING if selection.path and self._is_private(selection.path) else selection
        with self._lock:
            if seen == self._selection:
                return
            self._selection = seen
            listeners = list(self._listeners)
        for tell, _, _ in listeners:
            tell(seen)

    def open_tabs(self, paths: Sequence[str]) -> None:
        """Set the open notes; listeners hear of it if they are others than before."""
        tabs = tuple(dict.fromkeys(paths))
        with self._lock:
            if tabs == self._tabs:
                return
            self._tabs = tabs
            listeners = list(self._listeners)
        for _, _, tell in listeners:
            tell()

    def mention(self, mention: Mention) -> bool:
        """Mention a note to the listeners; False if it is private, and nobody is told."""
        if self._is_private(mention.path):
            return False
        with self._lock:
            listeners = list(self._listeners)
        for _, tell, _ in listeners:
            tell(mention)
        return True


# The app's part of it is in ``.obsidian/workspace.json``: the active note and the open notes, no cursor and no selection.
# Obsidian writes the file a moment after its layout changes. The file is not documented: unexpected content is ignored.
#
# While the person has paused sharing in our plugin, nothing is read: the plugin's settings in the vault say so also when the
# plugin is not connected yet. They do not count without the plugin: nobody could end the pause.

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
