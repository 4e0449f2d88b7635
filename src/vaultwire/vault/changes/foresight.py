"""What the vault will hold once some steps are taken: asked while later steps are planned or checked. Changes nothing."""

from __future__ import annotations

import os
from typing import NamedTuple

from vaultwire.vault.changes.change import Move, Step, Write, follow
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, lies_in
from vaultwire.vault.value_types import VaultPath


class _Traced(NamedTuple):
    """Where a file comes from: from the disk, where it is ``origin`` now, or else from a step that gave it ``data``."""

    origin: VaultPath | None
    data: bytes | None = None


class Foresight:
    """The files of a vault as they will be behind the steps added so far."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._moves: list[Move] = []
        # Under the number of moves before: a path may mean several files in the course of a change.
        self._written: dict[tuple[int, VaultPath], bytes | None] = {}

    def add(self, step: Step) -> None:
        """Take the step for taken."""
        if isinstance(step, Move):
            self._moves.append(step)
        else:
            self._written[len(self._moves), step.path] = step.after

    def origin(self, path: VaultPath) -> VaultPath | None:
        """Return where on the disk is now what will be at the path; None if that is no file of now."""
        return self._trace(path).origin

    def later(self, place: VaultPath) -> VaultPath:
        """Return where what is at a place on the disk now will be."""
        for move in self._moves:
            place = follow(place, move.source, move.target)
        return place

    def exists(self, path: VaultPath) -> bool:
        """Tell whether there will be a file, folder or link at the path."""
        traced = self._trace(path)
        if traced.origin is None:
            return traced.data is not None
        return os.path.lexists(self._files.entry_path(traced.origin))

    def is_folder(self, path: VaultPath) -> bool:
        """Tell whether a folder will be there; a link to one is a link."""
        origin = self.origin(path)
        if origin is None:
            return False
        return os.path.isdir(self._files.entry_path(origin)) and not self._files.is_link(origin)

    def is_link(self, path: VaultPath) -> bool:
        """Tell whether a link will be there."""
        origin = self.origin(path)
        return origin is not None and self._files.is_link(origin)

    def holds(self, path: VaultPath, data: bytes) -> bool:
        """Tell whether the file at the path will hold exactly these bytes. Raises OSError."""
        traced = self._trace(path)
        if traced.origin is None:
            return traced.data == data
        return self._files.holds(self._files.real_path(traced.origin), data)

    def read(self, path: VaultPath) -> bytes | None:
        """Return the bytes of the file that will be at the path, None if there will be none.

        Raises VaultError as ``Files.read`` does but for FILE_NOT_FOUND.
        """
        traced = self._trace(path)
        if traced.origin is None:
            return traced.data
        if not os.path.isfile(self._files.real_path(traced.origin)):
            return None
        return self._files.read(traced.origin).data

    def is_respelling(self, move: Move) -> bool:
        """Tell whether a move changes nothing but case or Unicode form of a name under which the disk finds the same file."""
        if fold(move.source) != fold(move.target) or move.source.rpartition("/")[0] != move.target.rpartition("/")[0]:
            return False
        source, target = self.origin(move.source), self.origin(move.target)
        return (
            source is not None and target is not None and is_same_entry(*map(self._files.entry_path, (source, target)))
        )

    def _trace(self, path: VaultPath) -> _Traced:
        for number in range(len(self._moves), -1, -1):
            if (number, path) in self._written:
                return _Traced(None, self._written[number, path])
            if number == 0:
                break
            move = self._moves[number - 1]
            if lies_in(path, move.target):
                path = follow(path, move.target, move.source)
            elif lies_in(path, move.source):
                return _Traced(None)
        return _Traced(path)


def is_same_entry(one: str, other: str) -> bool:
    """Tell whether two names are spellings of the only one that is there, in one folder. Hard links are two names."""
    try:
        if os.path.dirname(one) != os.path.dirname(other) or not os.path.samestat(os.lstat(one), os.lstat(other)):
            return False
        names = os.listdir(os.path.dirname(one))
    except OSError:
        return False
    return not {os.path.basename(one), os.path.basename(other)} <= set(names)


def without_aliases(files: Files, steps: list[Step]) -> list[Step]:
    """Return the steps with one path for each file: a note that is a link to another has the same bytes as that one.

    A plan edits both, each made from the same bytes; the second could only fail. What stays is the edit under the file's own
    path. Raises VaultError as ``Files.place`` does.
    """
    foresight = Foresight(files)
    origins: list[VaultPath | None] = []
    paths_of_place: dict[str, list[VaultPath]] = {}
    for step in steps:
        origin = None
        if isinstance(step, Write) and step.before is not None and step.after is not None:
            origin = foresight.origin(step.path)
        origins.append(origin)
        if origin is not None:
            paths_of_place.setdefault(files.real_path(origin), []).append(origin)
        foresight.add(step)
    chosen = {
        place: next((path for path in paths if files.entry_path(path) == place), paths[0])
        for place, paths in paths_of_place.items()
    }
    return [
        step
        for step, origin in zip(steps, origins, strict=True)
        if origin is None or chosen[files.real_path(origin)] == origin
    ]


def tidied(steps: list[Step]) -> list[Step]:
    """Return the steps without those that do nothing, and each run of writes of one file as one."""
    found: list[Step] = []
    places: dict[VaultPath, int] = {}  # of the writes whose paths still mean the same files
    for step in steps:
        if isinstance(step, Move):
            if step.source != step.target:
                for path in [path for path in places if lies_in(path, step.source) or lies_in(path, step.target)]:
                    del places[path]
                found.append(step)
            continue
        number = places.get(step.path)
        earlier = None if number is None else found[number]
        if number is not None and isinstance(earlier, Write) and earlier.after == step.before:
            found[number] = Write(step.path, earlier.before, step.after)
        else:
            places[step.path] = len(found)
            found.append(step)
    return [step for step in found if isinstance(step, Move) or step.before != step.after]
