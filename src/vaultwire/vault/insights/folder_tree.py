"""The tree of a vault's folders with counts, cut to a depth and a number of folders. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vaultwire.vault.index.survey import FolderFiles


class Branch(NamedTuple):
    """A folder of the tree: its path (``""`` is the vault's root), and what is right in it and in it and all below.

    ``folders`` is how many folders are right in it, ``unshown`` how many of these the tree does not show.
    """

    folder: str
    depth: int
    notes: int
    notes_below: int
    attachments_below: int
    folders: int
    unshown: int


def folder_tree(found: Iterable[FolderFiles], root: str, depth: int, limit: int) -> list[Branch]:
    """Return the folders from ``root`` down to a depth, each before those in it, in path order; at most ``limit``.

    Where there are more, whole levels are left out from the deepest on; of the level that does not fit, the folders with the
    most notes are shown. Every count includes the folders that are not shown.
    """
    own: dict[str, FolderFiles] = {}
    below: dict[str, list[int]] = {root: [0, 0]}  # notes, attachments
    children: dict[str, set[str]] = {root: set()}
    for each in found:
        own[each.folder] = each
        folder = each.folder
        while True:
            counts = below.setdefault(folder, [0, 0])
            counts[0] += each.notes
            counts[1] += each.attachments
            children.setdefault(folder, set())
            if folder == root:
                break
            above = folder.rpartition("/")[0]
            children.setdefault(above, set()).add(folder)
            folder = above
    shown = _shown(root, depth, limit, children, below)
    return [
        Branch(
            folder,
            _depth_of(folder, root),
            own[folder].notes if folder in own else 0,
            below[folder][0],
            below[folder][1],
            len(children[folder]),
            sum(child not in shown for child in children[folder]),
        )
        for folder in sorted(shown, key=lambda path: path.split("/") if path else [])
    ]


def _shown(root: str, depth: int, limit: int, children: dict[str, set[str]], below: dict[str, list[int]]) -> set[str]:
    """Return the folders that fit: level by level, of the last level those with the most notes."""
    shown = {root}
    level = [root]
    for _ in range(depth):
        level = [child for folder in level for child in children[folder]]
        level.sort(key=lambda folder: (-below[folder][0], -below[folder][1], folder))
        shown.update(level[: max(limit - len(shown), 0)])
        if not level or len(shown) >= limit:
            break
    return shown


def _depth_of(folder: str, root: str) -> int:
    inside = folder[len(root) :].strip("/")
    return inside.count("/") + 1 if inside else 0
