"""What the person sees: the note in front of them, what they have selected in it, which notes are open.

Whoever knows (``workspace``, a plugin, a command) tells ``EditorState``; whoever cares listens. Knows no wire and no file.
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
    """What is selected in the note in front: ``path`` is its path in the vault, ``""`` if no note is open.

    ``start`` and ``end`` are the same where only the cursor stands, or nobody knows where it does.
    """

    path: str
    text: str = ""
    start: Position = Position(0, 0)
    end: Position = Position(0, 0)


class Mention(NamedTuple):
    """A note, or some of its lines, that the person points out. Lines count from 1; 0 means the whole note."""

    path: str
    first_line: int = 0
    last_line: int = 0


NOTHING = Selection("")


def select_lines(path: str, text: str, first: int, last: int) -> Selection:
    """Return the selection of a note's lines, counted from 1; 0 means the whole note, in which nothing is selected."""
    chosen = text.split("\n")[first - 1 : last] if first else []
    if not chosen:
        return Selection(path)
    end = Position(first + len(chosen) - 2, len(chosen[-1]))
    return Selection(path, "\n".join(chosen), Position(first - 1, 0), end)


class EditorState:
    """The state of one vault's editor. Safe to use from several threads.

    ``is_private`` tells of a path whether it is nobody's business: such a note is shown to no listener.
    """

    def __init__(self, is_private: Callable[[str], bool] = lambda _: False) -> None:
        self._is_private = is_private
        self._lock = threading.Lock()
        self._selection = NOTHING
        self._tabs: tuple[str, ...] = ()
        self._on_select: list[Callable[[Selection], None]] = []
        self._on_mention: list[Callable[[Mention], None]] = []
        self._on_tabs: list[Callable[[], None]] = []

    @property
    def selection(self) -> Selection:
        """What is in front now."""
        return self._selection

    @property
    def tabs(self) -> tuple[str, ...]:
        """Paths of the notes that are open, the one in front among them."""
        return tuple(path for path in self._tabs if not self._is_private(path))

    def listen(
        self,
        on_select: Callable[[Selection], None],
        on_mention: Callable[[Mention], None] = lambda _: None,
        on_tabs: Callable[[], None] = lambda: None,
    ) -> Callable[[], None]:
        """Be told of changes, on the thread that makes them; return what ends that."""
        with self._lock:
            self._on_select.append(on_select)
            self._on_mention.append(on_mention)
            self._on_tabs.append(on_tabs)

        def end() -> None:
            with self._lock:
                self._on_select.remove(on_select)
                self._on_mention.remove(on_mention)
                self._on_tabs.remove(on_tabs)

        return end

    def select(self, selection: Selection) -> None:
        """Say what is in front; tells listeners if that is new. Of a private note they are told that none is open."""
        seen = NOTHING if selection.path and self._is_private(selection.path) else selection
        with self._lock:
            if seen == self._selection:
                return
            self._selection = seen
            listeners = list(self._on_select)
        for tell in listeners:
            tell(seen)

    def open_tabs(self, paths: Sequence[str]) -> None:
        """Say which notes are open; tells listeners if those are others than before."""
        tabs = tuple(dict.fromkeys(paths))
        with self._lock:
            if tabs == self._tabs:
                return
            self._tabs = tabs
            listeners = list(self._on_tabs)
        for tell in listeners:
            tell()

    def mention(self, mention: Mention) -> bool:
        """Point something out; False if that is private, and nobody is told."""
        if self._is_private(mention.path):
            return False
        with self._lock:
            listeners = list(self._on_mention)
        for tell in listeners:
            tell(mention)
        return True
