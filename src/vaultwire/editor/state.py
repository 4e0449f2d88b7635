"""What the person sees: the active note, the selection in it, the open tabs. Knows no wire and no file.

``workspace``, the plugin and commands set it; the editors' doors listen to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple


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
