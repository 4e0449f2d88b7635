"""Where a link leads, by Obsidian's own rules as observed. Pure: the vault's paths and one link in, a path out.

Not the same as naming a note to a tool (``vault.links.resolve``): a link always leads somewhere if it can, however many
candidates there are, and it knows the note it stands in. Aliases never resolve a link.
"""

from __future__ import annotations

from collections.abc import Iterable

from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold
from vaultwire.vault.model import VaultPath

_RELATIVE = ("./", "../")


class LinkTargets:
    """Every file a link may lead to: notes and attachments."""

    def __init__(self, paths: Iterable[VaultPath]) -> None:
        self._by_path: dict[str, list[VaultPath]] = {}
        self._by_name: dict[str, list[tuple[str, VaultPath]]] = {}
        self._shortest: dict[str, VaultPath | None] = {}  # of the files whose path ends so; found when first asked for
        # By linkpath, of those that lead to the same file from wherever they stand: a page of backlinks asks for one again
        # and again.
        self._from_anywhere: dict[str, VaultPath] = {}
        for path in sorted(paths):
            folded = fold(path)
            self._by_path.setdefault(folded, []).append(path)
            self._by_name.setdefault(folded.rsplit("/", 1)[-1], []).append((folded, path))

    def resolve(self, source: VaultPath, linkpath: str) -> VaultPath | None:
        """Return the file a link in ``source`` leads to, None if it leads nowhere.

        In this order: the note itself for an empty path; ``/`` from the root and ``./``, ``../`` from the source's folder,
        that file or none; the exact vault path; a file in the source's own folder whose path ends so; the one with the
        shortest path, as a string. Of several that are as short, the first in path order (Obsidian's own order is not
        stable there). Case and Unicode form never matter.
        """
        linkpath = linkpath.strip()
        known = self._from_anywhere.get(linkpath)
        if known is not None:
            return known
        if not linkpath:
            return source
        folder = source.rpartition("/")[0]
        if linkpath.startswith("/"):
            return self._exact(linkpath.lstrip("/"))
        if linkpath.startswith(_RELATIVE):
            absolute = _join(folder, linkpath)
            return None if absolute is None else self._exact(absolute)
        found = self._exact(linkpath)
        if found is None:
            found = self._ending(folder, linkpath)
            if sum(len(self._by_name.get(wanted.rsplit("/", 1)[-1], ())) for wanted in _spellings(linkpath)) > 1:
                return found  # which of these it is may depend on the folder
        if found is not None:
            self._from_anywhere[linkpath] = found
        return found

    def _ending(self, folder: str, linkpath: str) -> VaultPath | None:
        """Return the file whose path ends so: the one in the folder, else the one with the shortest path."""
        for wanted in _spellings(linkpath):
            name = wanted.rsplit("/", 1)[-1]
            beside = self._by_path.get(f"{fold(folder)}/{wanted}") if folder else None
            if beside:
                return beside[0]
            if wanted not in self._shortest:
                ending = [path for folded, path in self._by_name.get(name, ()) if folded.endswith("/" + wanted)]
                self._shortest[wanted] = min(ending, key=lambda path: (len(path), path), default=None)
            if self._shortest[wanted]:
                return self._shortest[wanted]
        return None

    def is_plain(self, linkpath: str) -> bool:
        """Tell whether a link leads where it does whatever note it stands in, and would whatever else there were in other
        folders: its path is whole, or only one file's path ends so. A relative one is plain.
        """
        linkpath = linkpath.strip()
        if linkpath.startswith(("/", *_RELATIVE)) or self._exact(linkpath) is not None:
            return True
        ending = {
            path
            for wanted in _spellings(linkpath)
            for folded, path in self._by_name.get(wanted.rsplit("/", 1)[-1], ())
            if folded.endswith("/" + wanted)
        }
        return len(ending) == 1

    def _exact(self, path: str) -> VaultPath | None:
        for wanted in _spellings(path):
            found = self._by_path.get(wanted)
            if found:
                spelt = [one for one in found if one in (path, path + NOTE_SUFFIX)]
                return (spelt or found)[0]
        return None


def linkpath_of(linktext: str) -> str:
    """Return a link's path: what stands before its subpath, if it has one."""
    return linktext.partition("#")[0]


def name_of(source: VaultPath, linktext: str) -> str:
    """Return the folded file name that a link in ``source`` asks for, as written; empty for a link within its own note.

    A link leads to files of this name only, with ``.md`` or without: what a catalog keeps to find links by.
    """
    linkpath = linkpath_of(linktext).strip()
    if linkpath.startswith(_RELATIVE):
        linkpath = _join(source.rpartition("/")[0], linkpath) or ""
    return fold(linkpath).rpartition("/")[2]


def names_led_to(path: VaultPath) -> tuple[str, ...]:
    """Return the names (``name_of``) of links that may lead to the file."""
    name = fold(path).rpartition("/")[2]
    return (name, name.removesuffix(NOTE_SUFFIX)) if name.endswith(NOTE_SUFFIX) else (name,)


def names_sought(name: str) -> tuple[str, ...]:
    """Return the folded file names of files that a link of this name (``name_of``) may lead to."""
    return (name, name + NOTE_SUFFIX)


def _spellings(linkpath: str) -> list[str]:
    """Return the folded paths a link may mean: one with a dot in its name is tried as it stands, then as a note's."""
    key = fold(linkpath)
    with_suffix = key + NOTE_SUFFIX
    return [key, with_suffix] if "." in key.rsplit("/", 1)[-1] else [with_suffix]


def _join(folder: str, linkpath: str) -> str | None:
    """Return a relative link's path from the root, None if it leaves the vault."""
    parts = folder.split("/") if folder else []
    for part in linkpath.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
