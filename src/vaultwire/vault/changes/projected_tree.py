"""The files of a vault as they will be after some steps, for planning and checking the next steps; paths through many moves;
steps made on the files as they are now.

Nothing is changed here.
"""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vaultwire.markdown.parsed_note import Span
from vaultwire.vault.changes.change import Move, Step, Write, follow
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, lies_in
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import VaultPath

# The paths of files through a series of moves, forwards and backwards. A series may have thousands of moves.
#
# A path is looked up by itself and the folders above it; so a lookup does not depend on how many moves there are.


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
        numbers = [number for by_path in (self._to, self._from) if (number := _last(by_path, path, end)) is not None]
        return max(numbers, default=None)

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
        earliest = None
        for place in _above(path):
            numbers = self._from.get(place)
            if numbers and numbers[-1] >= start:
                number = numbers[bisect_left(numbers, start)]
                earliest = number if earliest is None else min(earliest, number)
        return earliest


def _last(by_path: dict[str, list[int]], path: VaultPath, end: int | None) -> int | None:
    latest = None
    for place in _above(path):
        numbers = by_path.get(place)
        at = 0 if not numbers else len(numbers) if end is None else bisect_left(numbers, end)
        if numbers and at:
            latest = numbers[at - 1] if latest is None else max(latest, numbers[at - 1])
    return latest


def _above(path: str) -> Iterator[str]:
    """Yield a path and every folder above it."""
    yield path
    while (end := path.rfind("/")) > 0:
        path = path[:end]
        yield path


class _Source(NamedTuple):
    """Where a file comes from: from the disk, where its path is ``origin`` now, or from a step that gave it ``content``."""

    origin: VaultPath | None
    content: Content | None = None


class ProjectedTree:
    """The files of a vault as they will be after the steps added so far."""

    def __init__(self, files: Files) -> None:
        self._files = files.with_pending(None)
        self._moves = MovePaths()
        self._count = 0  # of moves
        # With the number of moves before each write, ascending: in one change, a path may mean several files.
        self._written: dict[VaultPath, list[tuple[int, Content | None]]] = {}

    def add(self, step: Step) -> None:
        """Add a step as if it were taken."""
        if isinstance(step, Move):
            self._moves.add(self._count, step)
            self._count += 1
        else:
            self._written.setdefault(step.path, []).append((self._count, step.new))

    def origin(self, path: VaultPath) -> VaultPath | None:
        """Return the path on the disk now of the file that will be at ``path``; None if there is none on the disk."""
        return self._source(path).origin

    def later(self, place: VaultPath) -> VaultPath:
        """Return the path that a file on the disk will have."""
        return self._moves.after(place)

    def places(self, place: VaultPath) -> list[VaultPath]:
        """Return the paths that a file on the disk has one after the other; the first is the one it has now."""
        return [place, *(path for _, path in self._moves.places_after(place))]

    def exists(self, path: VaultPath) -> bool:
        """Tell whether a file, folder or link will be at the path."""
        source = self._source(path)
        if source.origin is None:
            return source.content is not None
        return os.path.lexists(self._files.entry_path(source.origin))

    def is_folder(self, path: VaultPath) -> bool:
        """Tell whether a folder will be at the path; a link to a folder counts as a link."""
        origin = self.origin(path)
        if origin is None:
            return False
        return os.path.isdir(self._files.entry_path(origin)) and not self._files.is_link(origin)

    def is_link(self, path: VaultPath) -> bool:
        """Tell whether a link will be at the path."""
        origin = self.origin(path)
        return origin is not None and self._files.is_link(origin)

    def holds(self, path: VaultPath, content: Content) -> bool:
        """Tell whether the file at the path will hold exactly these bytes. Raises OSError."""
        source = self._source(path)
        if source.origin is None:
            return source.content == content
        return self._files.holds(self._files.real_path(source.origin), content)

    def read(self, path: VaultPath) -> bytes | None:
        """Return the bytes of the file that will be at the path, None if no file will be there.

        Raises VaultError as ``Files.read`` does, but not FILE_NOT_FOUND.
        """
        source = self._source(path)
        if source.origin is None:
            return None if source.content is None else source.content.data
        if not os.path.isfile(self._files.real_path(source.origin)):
            return None
        return self._files.read(source.origin).data

    def content(self, path: VaultPath) -> Content | None:
        """Return the content of the file that will be at the path as ``read`` returns its bytes, without holding these."""
        source = self._source(path)
        if source.origin is None:
            return source.content
        data = self.read(path)
        return None if data is None else self._files.content_of(source.origin, data)

    def is_respelling(self, move: Move) -> bool:
        """Tell whether a move only changes the case or Unicode form of a name, and the disk takes both for the same file."""
        if fold(move.source) != fold(move.target) or move.source.rpartition("/")[0] != move.target.rpartition("/")[0]:
            return False
        source, target = self.origin(move.source), self.origin(move.target)
        return (
            source is not None and target is not None and is_same_entry(*map(self._files.entry_path, (source, target)))
        )

    def _source(self, path: VaultPath) -> _Source:
        end = self._count  # only the moves before this one, and the writes before it, are looked at
        while True:
            last = self._moves.last_at(path, end)
            writes = self._written.get(path, [])
            at = bisect_right(writes, end, key=lambda write: write[0])
            if at and (last is None or writes[at - 1][0] > last):
                return _Source(None, writes[at - 1][1])
            if last is None:
                return _Source(path)
            move = self._moves[last]
            if not lies_in(path, move.target):
                return _Source(None)
            path = follow(path, move.target, move.source)
            end = last


def is_same_entry(one: str, other: str) -> bool:
    """Tell whether two paths are spellings of one directory entry. Two hard links are two entries."""
    try:
        if os.path.dirname(one) != os.path.dirname(other) or not os.path.samestat(os.lstat(one), os.lstat(other)):
            return False
        names = os.listdir(os.path.dirname(one))
    except OSError:
        return False
    return not {os.path.basename(one), os.path.basename(other)} <= set(names)


def without_aliases(files: Files, steps: list[Step]) -> list[Step]:
    """Return the steps with one edit for each file, under the file's own path.

    A note that is a symbolic link to another note has that note's bytes. A plan edits both, each from the same bytes; the
    second edit could only fail. Raises VaultError as ``Files.place`` does.
    """
    tree = ProjectedTree(files)
    origins: list[VaultPath | None] = []
    paths_of_place: dict[str, list[VaultPath]] = {}
    for step in steps:
        origin = None
        if isinstance(step, Write) and step.old is not None and step.new is not None:
            origin = tree.origin(step.path)
        origins.append(origin)
        if origin is not None:
            paths_of_place.setdefault(files.real_path(origin), []).append(origin)
        tree.add(step)
    chosen = {
        place: next((path for path in paths if files.entry_path(path) == place), paths[0])
        for place, paths in paths_of_place.items()
    }
    return [
        step
        for step, origin in zip(steps, origins, strict=True)
        if origin is None or chosen[files.real_path(origin)] == origin
    ]


def simplified(steps: list[Step]) -> list[Step]:
    """Return the steps without those that do nothing, and with successive writes of one file joined."""
    needed: list[Step] = []
    places: dict[VaultPath, int] = {}  # of each write in found whose path still means the same file
    for step in steps:
        if isinstance(step, Move):
            if step.source != step.target:
                for path in [path for path in places if lies_in(path, step.source) or lies_in(path, step.target)]:
                    del places[path]
                needed.append(step)
            continue
        number = places.get(step.path)
        earlier = None if number is None else needed[number]
        if number is not None and isinstance(earlier, Write) and earlier.new == step.old:
            needed[number] = Write(step.path, earlier.old, step.new)
        else:
            places[step.path] = len(needed)
            needed.append(step)
    return [step for step in needed if isinstance(step, Move) or step.old != step.new]


# Steps that were made from files as they were, made on the files as they are now: what accepting a proposal does.
#
# An edit is joined with what was changed since (``markdown.three_way``); it conflicts only where both changed the same words,
# the same task, cell, property or element. Nothing is written here: ``rebase`` looks, and the person sees what it found before
# it is executed.


class Overlap(NamedTuple):
    """Why a step cannot be made now. ``both``: the text with both versions where they overlap, at ``lines``; None for none."""

    reason: str
    both: bytes | None = None
    lines: tuple[Span, ...] = ()


class Rebased(NamedTuple):
    """Steps on the files as they are now, one for each step; where ``overlaps`` says why not, the step as it was.

    ``basis`` differs once a file that they touch has other bytes: what the person saw, and what is executed, has one basis.
    ``is_moved_on``: some step is not what it was.
    """

    steps: tuple[Step, ...]
    overlaps: dict[int, Overlap]
    basis: str
    is_moved_on: bool


def rebase(
    tree: ProjectedTree,
    steps: Sequence[Step],
    path_now: Callable[[VaultPath], VaultPath] = lambda path: path,
    edited: Mapping[int, bytes] | None = None,
) -> Rebased:
    """Return steps as they can be made on a tree, and add them to it.

    ``path_now``: where a file is that is not at its path any more. ``edited``: what the person wrote, having seen the files as
    they are now, by the index of the step. Raises OSError.
    """
    basis = hashlib.blake2b(digest_size=12)
    made: list[Step] = []
    overlaps: dict[int, Overlap] = {}
    for index, step in enumerate(steps):
        if isinstance(step, Move):
            now_step: Step | Overlap = _moved(tree, step)
            basis.update(f"{step.source}\0{step.target}\0{isinstance(now_step, Overlap)}\0".encode())
        else:
            path = path_now(step.path) if step.old is not None and not tree.exists(step.path) else step.path
            try:
                now = tree.content(path)
            except VaultError as error:  # too large, or it may not be read
                now, now_step = None, Overlap(error.message)
            else:
                now_step = _written(tree, step, path, now, (edited or {}).get(index))
            basis.update(f"{path}\0{'' if now is None else now.digest.hex()}\0".encode())
        if isinstance(now_step, Overlap):
            overlaps[index] = now_step
            now_step = step
        made.append(now_step)
        tree.add(now_step)
    return Rebased(tuple(made), overlaps, basis.hexdigest(), tuple(made) != tuple(steps))


def _moved(tree: ProjectedTree, step: Move) -> Step | Overlap:
    if not tree.exists(step.source):
        return Overlap(f"{step.source!r} is not there any more")
    is_free = not tree.exists(step.target) or tree.is_respelling(step)
    return step if is_free else Overlap(f"there is another {step.target!r} by now")


def _written(
    tree: ProjectedTree, step: Write, path: VaultPath, now: Content | None, text: bytes | None
) -> Step | Overlap:
    if text is not None:
        return Write(path, now, text)
    if now is None and tree.exists(path):
        return Overlap(f"{path!r} is no file")
    if now == step.new:
        return Write(path, now, now)
    if now == step.old:
        return step if path == step.path else Write(path, step.old, step.new)
    if step.new is None:
        return Overlap(f"{path!r}, which it deletes, was changed since")
    if now is None:
        return Overlap(f"{path!r} is not there", step.new.data)
    return _merged(path, now, step.old, step.new)


def _merged(path: VaultPath, now: Content, old: Content | None, new: Content) -> Step | Overlap:
    try:
        mine, base, theirs = (content.data.decode() for content in (now, old or Content(b""), new))
    except UnicodeDecodeError:
        return Overlap(f"{path!r} is no text and was changed since")
    from vaultwire.markdown.three_way import form_of, join  # noqa: PLC0415 - few changes need it

    joined = join(base, mine, theirs, form_of(path))
    if not joined.clashes and old is not None:
        return Write(path, now, joined.text.encode())
    named = [clash.name for clash in joined.clashes if clash.what != "lines"]
    if named:  # of two values one stands in the text
        joined = join(base, mine, theirs, "text")
    data, spans = joined.text.encode(), tuple(clash.span for clash in joined.clashes) or (Span(1, 1),)
    if old is None:
        return Overlap(f"there is another {path!r} by now", data, spans)
    if named:
        return Overlap(f"{', '.join(named)} in {path!r} was changed since, too", data, spans)
    lines = ", ".join(_words(span) for span in spans)
    return Overlap(f"the same lines of {path!r} were changed since (line {lines})", data, spans)


def _words(span: Span) -> str:
    return f"{span.first}" if span.first == span.last else f"{span.first}-{span.last}"
