"""What links to headings and blocks say after these were renamed: in notes, properties, canvases and bases.

A link still leads to the same heading or block. One that does so as it is stays as it is. Nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TypeAlias

from vaultwire.markdown.base_files import Kind
from vaultwire.markdown.canvas import FileNode
from vaultwire.markdown.link_spans import LinkSpan, NewLink
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.contents import patched
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import SECTION_NOT_FOUND, VaultError
from vaultwire.vault.links.link_resolver import LinkResolver, file_names_for, link_names_to, linkpath_of
from vaultwire.vault.links.sections import Sections
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.plans.link_rewriting import RewrittenLinks, rewrite_bytes, rewrite_files
from vaultwire.vault.value_types import OutlineEntry, Progress, Structure, VaultPath

NewSubpath: TypeAlias = Callable[[str], str | None]
"""A function from a link's subpath (the part after ``#``) to the new one; None if the subpath may stay."""

# What Obsidian leaves out of a link to a heading (engine facts 2.1, stripHeadingForLink).
_NOT_IN_LINKS = re.compile(r"(?:[:#|^\\\r\n]|%%|\[\[|\]\]|\s)+")


def new_heading_subpaths(
    before: Structure, after: Structure, ambiguous: Callable[[int, str], VaultError]
) -> NewSubpath:
    """Return the function for links to a note's headings, which are the same in the same order before and after.

    Links get the text as Obsidian writes it there, without ``: # | ^ \\ %% [[ ]]``. Where that would lead to another
    heading, they get the chain of the headings above it. Where no link can lead to a heading any more, the error that
    ``ambiguous`` makes of the heading's line before and the link's subpath is raised.
    """
    old, new = _Headings(before), _Headings(after)

    def new_subpath(subpath: str) -> str | None:
        if subpath.startswith("^") or not subpath:
            return None
        number = old.number(subpath)
        if number is None or new.number(subpath) == number:
            return None
        line = after.outline[number].line if number < len(after.outline) else 0
        chain = [each for each in after.outline if each.line <= line <= each.last_line]
        for form in _forms(subpath, old, new, chain):
            if new.number(form) == number:
                return form
        raise ambiguous(before.outline[number].line, subpath)

    return new_subpath


def with_heading_links(
    context: PlanContext, edits: list[Write], renamed: Mapping[VaultPath, NewSubpath]
) -> RewrittenLinks:
    """Return the edits of notes, and with them every link in the vault to a heading or block that they rename.

    ``renamed`` has the new subpaths for each edited note that needs some. Notes that the vault's rules exclude are
    rewritten as well.
    """
    found = RewrittenLinks([], [], [])
    if not renamed:
        return found._replace(writes=edits)
    index, progress = context.index, context.progress
    paths = index.paths(progress)
    names = {name for path in renamed for name in link_names_to(path)}
    rules = _HeadingLinks(paths, names, renamed, progress)
    sources = {
        source
        for source, text in index.links_asking(names, [], progress)
        if "#" in text and rules.target(source, linkpath_of(text)) in renamed
    }
    for edit in edits:
        progress.check()
        if edit.old is not None and edit.new is not None and (edit.path in renamed or edit.path in sources):
            before, after = edit.old.data, rewrite_bytes(edit.new.data, edit.path, rules, found)
            edit = Write(edit.path, edit.old, patched(edit.old, before, after))  # noqa: PLW2901 - with its links
        found.writes.append(edit)
    others = sources - {edit.path for edit in edits}
    rewrite_files(context, rules, dict.fromkeys(others), paths, found)
    found.links.sort()
    return found


class _HeadingLinks:
    """What links to renamed headings and blocks say (``link_rewriting.LinkRules``)."""

    def __init__(
        self,
        paths: Iterable[VaultPath],
        names: Iterable[str],
        renamed: Mapping[VaultPath, NewSubpath],
        progress: Progress,
    ) -> None:
        """``names`` are those of links that may lead to the notes in ``renamed``."""
        sought = {file for name in names for file in file_names_for(name)}
        self._targets = LinkResolver([path for path in paths if fold(path.rpartition("/")[2]) in sought])
        # Thousands of links may lead to one heading.
        self._renamed = {path: cache(new_subpath) for path, new_subpath in renamed.items()}
        self._by_fold = {fold(path): path for path in renamed}
        self._progress = progress

    def target(self, source: VaultPath, linkpath: str) -> VaultPath | None:
        """Return the file a link leads to, if that may be a note with something renamed."""
        return self._targets.resolve(source, linkpath)

    def path_after(self, path: VaultPath) -> VaultPath:
        """See ``LinkRules``. No file moves."""
        return path

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """See ``LinkRules``."""

        def new_link(span: LinkSpan) -> NewLink | None:
            new = self._new_linktext(source, span.linktext)
            return None if new is None else NewLink(new)

        return new_link

    def base_name(self, source: VaultPath) -> Callable[[Kind, str], str | None]:
        """See ``LinkRules``."""

        def new_name(kind: Kind, name: str) -> str | None:
            return self._new_linktext(source, name) if kind in ("link", "wiki") else None

        return new_name

    def node(self, node: FileNode) -> FileNode | None:
        """See ``LinkRules``."""
        new = self._new_subpath(self._by_fold.get(fold(node.file)), node.subpath.removeprefix("#"))
        return None if new is None else node._replace(subpath=f"#{new}")

    def _new_linktext(self, source: VaultPath, linktext: str) -> str | None:
        self._progress.check()
        linkpath, mark, subpath = linktext.partition("#")
        target = self.target(source, linkpath) if mark else None
        new = self._new_subpath(target, subpath)
        return None if new is None else f"{linkpath}#{new}"

    def _new_subpath(self, path: VaultPath | None, subpath: str) -> str | None:
        new_subpath = None if path is None else self._renamed.get(path)
        return None if new_subpath is None else new_subpath(subpath.strip())


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


def _linkable(heading: str) -> str:
    return _NOT_IN_LINKS.sub(" ", heading).strip()
