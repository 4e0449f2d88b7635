"""What the person has decided about changes, as the log of decisions says: which are kept, and which parts were undone."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from vaultwire.vault.holding.decisions import Decision, DecisionLog


class UndonePart(NamedTuple):
    """A part of a change that was undone, by another change: one file, or one hunk of it."""

    file: int
    hunk: int | None
    by: int


class Kept:
    """Which parts of one change are kept. A later decision about a larger part replaces those about its parts."""

    def __init__(self) -> None:
        self._whole = False
        self._parts: dict[tuple[int, int | None], bool] = {}

    def set(self, file: int | None, hunk: int | None, *, is_kept: bool) -> None:
        """Keep a part, or keep it no longer; ``file`` None: all of the change."""
        if file is None:
            self._whole = is_kept
            self._parts.clear()
            return
        if hunk is None:
            self._parts = {part: kept for part, kept in self._parts.items() if part[0] != file}
        self._parts[file, hunk] = is_kept

    def has(self, file: int, hunk: int | None) -> bool:
        """Tell whether a part is kept."""
        return self._parts.get((file, hunk), self._parts.get((file, None), self._whole))

    @property
    def is_whole(self) -> bool:
        """Whether all of the change is kept."""
        return self._whole and all(self._parts.values())


class Marks:
    """The decisions of one vault, read on as they are added. For one thread at a time."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log
        self._position = 0
        self._kept: dict[int, Kept] = defaultdict(Kept)
        self._undone: dict[int, list[UndonePart]] = {}
        self._of_part: dict[int, int] = {}

    def read_on(self) -> set[int]:
        """Read the decisions that were added, and return the changes that they concern. Raises OSError."""
        found, self._position = self._log.since(self._position)
        for decision in found:
            self._add(decision)
        return {each.change for each in found if each.change is not None}

    def _add(self, decision: Decision) -> None:
        if decision.change is None:
            return
        if decision.kind in ("kept", "unkept"):
            self._kept[decision.change].set(decision.file, decision.hunk, is_kept=decision.kind == "kept")
        elif decision.kind == "undone" and decision.file is not None and decision.by is not None:
            part = UndonePart(decision.file, decision.hunk, decision.by)
            self._undone.setdefault(decision.change, []).append(part)
            self._of_part[decision.by] = decision.change

    def kept(self, change: int) -> Kept:
        """Return which parts of a change are kept."""
        return self._kept.get(change) or Kept()

    def undone(self, change: int) -> list[UndonePart]:
        """Return the parts of a change that were undone, whether their undo still holds or not."""
        return self._undone.get(change, [])

    def undid_part_of(self, change: int) -> int | None:
        """Return the change of which this one undid a part, None if it did not."""
        return self._of_part.get(change)
