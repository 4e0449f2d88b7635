"""The paths of files through a series of moves, forwards and backwards. A series may have thousands of moves.

A path is looked up by itself and the folders above it; so a lookup does not depend on how many moves there are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from vaultwire.vault.changes.change import Move, follow
from vaultwire.vault.value_types import VaultPath


class MovePaths:
    """A series of moves. Each has a number; the numbers ascend."""

    def __init__(self, moves: Iterable[tuple[int, Move]] = ()) -> None:
        self._moves: dict[int, Move] = {}
        self._from: dict[str, list[int]] = {}
        self._to: dict[str, list[int]] = {}
        for number, move in moves:
            self.add(number, move)

    def add(self, number: int, move: Move) -> None:
        """Add the next move."""
        self._moves[number] = move
        self._from.setdefault(move.source, []).append(number)
        self._to.setdefault(move.target, []).append(number)

    def after(self, path: VaultPath, start: int = 0) -> VaultPath:
        """Return the path of a file after the moves from number ``start`` on."""
        return next((place for _, place in [*self.places_after(path, start)][-1:]), path)

    def before(self, path: VaultPath, end: int | None = None) -> VaultPath:
        """Return the path that a file had before the moves whose number is lower than ``end``; None for all moves."""
        return next((place for _, place in [*self.places_before(path, end)][-1:]), path)

    def places_after(self, path: VaultPath, start: int = 0) -> Iterator[tuple[int, VaultPath]]:
        """Yield the number of each move that moves a file, and the file's path after it."""
        while (number := self._next(path, start)) is not None:
            move = self._moves[number]
            path = follow(path, move.source, move.target)
            yield number, path
            start = number + 1

    def places_before(self, path: VaultPath, end: int | None = None) -> Iterator[tuple[int, VaultPath]]:
        """Yield the number of each move that has moved a file, the last first, and the file's path before it."""
        while (number := _last(self._to, path, end)) is not None:
            move = self._moves[number]
            path = follow(path, move.target, move.source)
            yield number, path
            end = number

    def last_at(self, path: VaultPath, end: int | None = None) -> int | None:
        """Return the number of the last move to or from a path or a folder above it, with a number lower than ``end``."""
        found = [number for by_path in (self._to, self._from) if (number := _last(by_path, path, end)) is not None]
        return max(found, default=None)

    def away_from(self, path: VaultPath) -> list[Move]:
        """Return the moves of exactly this path."""
        return [self._moves[number] for number in self._from.get(path, ())]

    def __getitem__(self, number: int) -> Move:
        """Return a move by its number."""
        return self._moves[number]

    def __bool__(self) -> bool:
        """Tell whether there are any moves."""
        return bool(self._moves)

    def _next(self, path: VaultPath, start: int) -> int | None:
        found = None
        for each in _above(path):
            numbers = self._from.get(each)
            if numbers and numbers[-1] >= start:
                number = numbers[bisect_left(numbers, start)]
                found = number if found is None else min(found, number)
        return found


def _last(by_path: dict[str, list[int]], path: VaultPath, end: int | None) -> int | None:
    found = None
    for each in _above(path):
        numbers = by_path.get(each)
        at = 0 if not numbers else len(numbers) if end is None else bisect_left(numbers, end)
        if numbers and at:
            found = numbers[at - 1] if found is None else max(found, numbers[at - 1])
    return found


def _above(path: str) -> Iterator[str]:
    """Yield a path and every folder above it."""
    yield path
    while (end := path.rfind("/")) > 0:
        path = path[:end]
        yield path
