"""Links that follow headings and blocks when these get another name: in notes, properties, canvases and bases.

A link still leads to the same heading or block afterwards; one that would do so as it is stays as it is. Nothing is
written here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

from vaultwire.markdown.base_files import Kind, base_edits
from vaultwire.markdown.canvas import FileNode, canvas_edits
from vaultwire.markdown.link_spans import LinkSpan, NewLink
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import SECTION_NOT_FOUND, VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.link_resolver import LinkResolver, file_names_for, link_names_to, linkpath_of
from vaultwire.vault.links.sections import Sections
from vaultwire.vault.plans.relinking import (
    BASE_SUFFIX,
    LinkChange,
    is_looked_into,
    rewrite_bytes,
    rewrite_file,
    rewrite_other,
    rewriting_note,
)
from vaultwire.vault.value_types import OutlineEntry, Problem, Progress, Structure, VaultPath

NewSubpath: TypeAlias = Callable[[str], str | None]
"""From what stands behind ``#`` in a link to what has to stand there afterwards, None if it may stay."""

# What Obsidian leaves out of a link to a heading (engine facts 2.1, stripHeadingForLink).
_NOT_IN_LINKS = re.compile(r"(?:[:#|^\\\r\n]|%%|\[\[|\]\]|\s)+")


class Followed(NamedTuple):
    """The edits with all links following, those of more files among them, and the links that are rewritten.

    ``left`` are files whose links could not be looked at.
    """

    writes: list[Write]
    links: list[LinkChange]
    left: list[Problem]


def follow_headings(before: Structure, after: Structure, untellable: Callable[[int, str], VaultError]) -> NewSubpath:
    """Return how links to a note's headings follow, which are the same ones in the same order before and after.

    Links get the text as Obsidian writes it there, without ``: # | ^ \\ %% [[ ]]``; where that would lead to another
    heading, the chain of those above it. Where no link can lead to a heading any more, ``untellable`` says what is
    raised, given the heading's line before and the link's subpath.
    """
    old, new = _Headings(before), _Headings(after)
    chains = _chains(after.outline)

    def new_subpath(subpath: str) -> str | None:
        if subpath.startswith("^") or not subpath:
            return None
        number = old.number(subpath)
        if number is None or new.number(subpath) == number:
            return None
        for form in _forms(subpath, old, new, chains.get(number, [])):
            if new.number(form) == number:
                return form
        raise untellable(before.outline[number].line, subpath)

    return new_subpath


def follow(
    files: Files, index: Index, edits: list[Write], renamed: Mapping[VaultPath, NewSubpath], progress: Progress
) -> Followed:
    """Return the edits of notes with every link to a heading or block ``renamed`` in them following, here and elsewhere.

    ``renamed`` are notes among those edited. Notes that the vault's rules exclude are looked into as well.
    """
    followed = Followed([], [], [])
    if not renamed:
        return followed._replace(writes=edits)
    paths = index.paths(progress)
    names = {name for path in renamed for name in link_names_to(path)}
    links = _Links(paths, names, renamed, progress)
    edited = {write.path for write in edits}
    sources = {
        source
        for source, text in index.links_asking(names, [], progress)
        if "#" in text and links.target(source, linkpath_of(text)) in renamed
    }
    for edit in edits:
        progress.check()
        path, _, after = edit
        if after is not None and (path in renamed or path in sources):
            rewrite = rewriting_note(path, links.decide(path), followed.left)
            after = rewrite_bytes(after, path, path, rewrite, followed.links)
        followed.writes.append(edit._replace(after=after))
    for path in sorted(sources - edited):
        progress.check()
        rewrite = rewriting_note(path, links.decide(path), followed.left)
        _add(followed, rewrite_file(files, path, path, rewrite, followed.links))
    for path in filter(is_looked_into, paths):
        progress.check()
        if path.lower().endswith(BASE_SUFFIX):
            rewrite = partial(base_edits, decide=links.base_name(path))
        else:
            rewrite = partial(canvas_edits, of_node=links.node, of_link=links.decide(path))
        _add(followed, rewrite_other(files, path, path, rewrite, followed.links, followed.left))
    followed.links.sort()
    return followed


def _add(followed: Followed, write: Write | None) -> None:
    if write is not None:
        followed.writes.append(write)


class _Links:
    """What links to headings and blocks say afterwards."""

    def __init__(
        self,
        paths: Iterable[VaultPath],
        names: Iterable[str],
        renamed: Mapping[VaultPath, NewSubpath],
        progress: Progress,
    ) -> None:
        """``names`` are those of links that may lead to the notes ``renamed``."""
        sought = {file for name in names for file in file_names_for(name)}
        self._targets = LinkResolver([path for path in paths if fold(path.rpartition("/")[2]) in sought])
        self._renamed = renamed
        self._by_fold = {fold(path): path for path in renamed}
        self._progress = progress
        self._kept: dict[tuple[VaultPath, str], str | None] = {}

    def target(self, source: VaultPath, linkpath: str) -> VaultPath | None:
        """Return the file a link leads to, if that may be a note in which something is renamed."""
        return self._targets.resolve(source, linkpath)

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """Return what says of each link in ``source`` what it says afterwards."""

        def new_link(span: LinkSpan) -> NewLink | None:
            new = self._new_linktext(source, span.linktext)
            return None if new is None else NewLink(new)

        return new_link

    def base_name(self, source: VaultPath) -> Callable[[Kind, str], str | None]:
        """Return what says of each name in a base what stands for it afterwards."""

        def new_name(kind: Kind, name: str) -> str | None:
            return self._new_linktext(source, name) if kind in ("link", "wiki") else None

        return new_name

    def node(self, shown: FileNode) -> FileNode | None:
        """Return what a canvas shows instead of a heading or block."""
        path = self._by_fold.get(fold(shown.file))
        new = None if path is None else self._new_subpath(path, shown.subpath.removeprefix("#"))
        return None if new is None else shown._replace(subpath=f"#{new}")

    def _new_linktext(self, source: VaultPath, linktext: str) -> str | None:
        self._progress.check()
        linkpath, mark, subpath = linktext.partition("#")
        target = self.target(source, linkpath) if mark else None
        new = None if target is None else self._new_subpath(target, subpath)
        return None if new is None else f"{linkpath}#{new}"

    def _new_subpath(self, path: VaultPath, subpath: str) -> str | None:
        new_subpath = self._renamed.get(path)
        if new_subpath is None:
            return None
        key = path, subpath.strip()
        if key not in self._kept:
            self._kept[key] = new_subpath(key[1])
        return self._kept[key]


class _Headings:
    """The headings of a note by their numbers: lines above them may come and go."""

    def __init__(self, note: Structure) -> None:
        self._sections = Sections(note)
        self._numbers = {entry.line: number for number, entry in enumerate(note.outline)}
        self.texts = [entry.text for entry in note.outline]

    def number(self, subpath: str) -> int | None:
        """Return the number of the heading a subpath leads to, None if it leads to none."""
        try:
            return self._numbers[self._sections.headings(subpath)[0].line]
        except VaultError as error:
            if error.code != SECTION_NOT_FOUND:
                raise
            return None


def _forms(subpath: str, old: _Headings, new: _Headings, chain: list[OutlineEntry]) -> list[str]:
    """Return what a link to a heading may say, the best first: as it was written, then ever more of the headings above."""
    parts = subpath.split("#")
    written = []
    for depth, part in enumerate(parts):
        number = old.number("#".join(parts[: depth + 1]))
        is_same = number is None or number >= len(new.texts) or old.texts[number] == new.texts[number]
        written.append(part if is_same or number is None else _linkable(new.texts[number]))
    names = [_linkable(entry.text) for entry in chain]
    return ["#".join(written), *("#".join(names[start:]) for start in range(len(names) - 1, -1, -1))]


def _chains(outline: list[OutlineEntry]) -> dict[int, list[OutlineEntry]]:
    """Return by the number of each heading those whose sections it lies in, outermost first; its own is the last."""
    chains: dict[int, list[OutlineEntry]] = {}
    open_ones: list[OutlineEntry] = []
    for number, entry in enumerate(outline):
        while open_ones and open_ones[-1].last_line < entry.line:
            open_ones.pop()
        open_ones.append(entry)
        chains[number] = [*open_ones]
    return chains


def _linkable(heading: str) -> str:
    return _NOT_IN_LINKS.sub(" ", heading).strip()
