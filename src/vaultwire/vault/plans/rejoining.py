"""What links say once two notes have become one, or a part of one has become a note: ``relinking``'s rule, and subpaths.

A link to a heading or block leads to the note that has it then. Pure: the vault's paths and a note's structure come in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from vaultwire.markdown.canvas import FileNode
from vaultwire.markdown.link_spans import LinkSpan, NewLink
from vaultwire.markdown.parsed_note import Span
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import VaultError
from vaultwire.vault.links.resolution import linkpath_of, names_led_to
from vaultwire.vault.links.sections import Sections
from vaultwire.vault.model import Progress, Structure, VaultPath
from vaultwire.vault.plans.relinking import Moves


class Merging(Moves):
    """Links when ``source`` becomes a part of ``target``; of its block ids, ``ids`` have new names (by folded old name)."""

    def __init__(
        self,
        paths: Iterable[VaultPath],
        source: VaultPath,
        target: VaultPath,
        new_link_format: str,
        ids: Mapping[str, str],
        progress: Progress,
    ) -> None:
        super().__init__(paths, {source: target}, None, new_link_format, None, progress)
        self._source = source
        self._ids = ids

    def concerns(self, note: VaultPath, linktext: str) -> bool:
        """Tell whether a link of a note must be written anew."""
        return self.new_target(note, linktext) is not None or self._new_subpath(note, linktext) is not None

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """Return what says of each link in ``source`` what it says afterwards."""
        inherited = super().decide(source)

        def new_link(span: LinkSpan) -> NewLink | None:
            new = inherited(span)
            subpath = self._new_subpath(source, span.linktext)
            if subpath is None:
                return new
            linkpath = linkpath_of(span.linktext if new is None else new.linktext)
            return NewLink(f"{linkpath}#{subpath}", None if new is None else new.display)

        return new_link

    def node(self, node: FileNode) -> FileNode | None:
        """Return what a canvas shows instead of a file, None if that has not moved."""
        new = super().node(node)
        if new is None or new.file == node.file:
            return new
        subpath = self._renamed(node.subpath.removeprefix("#"))
        return new if subpath is None else new._replace(subpath=f"#{subpath}")

    def _new_subpath(self, note: VaultPath, linktext: str) -> str | None:
        linkpath, _, subpath = linktext.partition("#")
        renamed = self._renamed(subpath)
        return renamed if renamed is not None and self._before.resolve(note, linkpath) == self._source else None

    def _renamed(self, subpath: str) -> str | None:
        above, mark, last = subpath.strip().rpartition("#")
        new = self._ids.get(fold(last[1:])) if last.startswith("^") else None
        return None if new is None else f"{above}{mark}^{new}"


class Extraction(Moves):
    """Links when some lines of ``origin`` become the note ``new``, which is not there yet."""

    def __init__(
        self,
        paths: Iterable[VaultPath],
        origin: VaultPath,
        new: VaultPath,
        new_link_format: str,
        built: tuple[Structure, Structure],
        span: Span,
        progress: Progress,
    ) -> None:
        """``built`` is the structure of the note as it is, and of the part, which begins on its second line there.

        ``span`` are the part's lines in the note.
        """
        super().__init__(paths, {}, None, new_link_format, None, progress, [new])
        self._affected |= {*names_led_to(origin)}
        self._origin = origin
        self._new = new
        self._whole, self._part = map(Sections, built)
        self._span = span
        self._subpaths: dict[str, str | None] = {}

    def concerns(self, note: VaultPath, linktext: str) -> bool:
        """Tell whether a link of a note must be written anew."""
        return self.new_target(note, linktext) is not None or self._subpath_to_part(note, linktext) is not None

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """Return what says of each link in ``source``, but for those in the part, what it says afterwards."""
        inherited = super().decide(source)

        def new_link(span: LinkSpan) -> NewLink | None:
            subpath = self._subpath_to_part(source, span.linktext)
            return inherited(span) if subpath is None else self._written(source, span, self._new, subpath)

        return new_link

    def decide_in_part(self, span: LinkSpan) -> NewLink | None:
        """Return what a link in the part says afterwards, None if it stays."""
        self._progress.check()
        linkpath, _, subpath = span.linktext.partition("#")
        target = self._before.resolve(self._origin, linkpath)
        if target is None:
            return None
        inside = self._subpath_to_part(self._origin, span.linktext)
        if inside is not None and not linkpath.strip():
            return None if inside == subpath.strip() else NewLink(f"#{inside}")
        if inside is not None:
            target = self._new
        # In another folder, which of several files of a name is meant is not for chance to decide.
        is_same_folder = self._origin.rpartition("/")[0] == self._new.rpartition("/")[0]
        is_worse = not self._after.is_plain(linkpath) and (not is_same_folder or self._before.is_plain(linkpath))
        leads = bool(linkpath.strip()) and self._after.resolve(self._new, linkpath) == target and not is_worse
        if leads and inside in (None, subpath.strip()):
            return None
        return self._written(self._new, span, target, subpath if inside is None else inside)

    def leads(self, linktext: str) -> bool:
        """Tell whether a link in the old note leads to the new one."""
        return self._after.resolve(self._origin, linkpath_of(linktext)) == self._new

    def gained_in_part(self, linktexts: Iterable[str]) -> Iterator[tuple[VaultPath, str, VaultPath]]:
        """Yield those links of the part that led nowhere and lead to a file from the new note."""
        for linktext in linktexts:
            linkpath = linkpath_of(linktext)
            if self._before.resolve(self._origin, linkpath) is None:
                found = self._after.resolve(self._new, linkpath)
                if found is not None:
                    yield self._new, linktext, found

    def node(self, node: FileNode) -> FileNode | None:
        """Return what a canvas shows instead of a heading or block that is in the part."""
        if fold(node.file) != fold(self._origin):
            return None
        subpath = self._in_part(node.subpath.removeprefix("#"))
        return None if subpath is None else FileNode(self._new, f"#{subpath}")

    def _written(self, source: VaultPath, span: LinkSpan, target: VaultPath, subpath: str) -> NewLink:
        linkpath = linkpath_of(span.linktext).strip()
        if not linkpath and span.is_markdown:
            linkpath = self._origin  # so that ".md" is written, as Obsidian writes it in a new Markdown link
        old = f"{linkpath}#{subpath}" if subpath else linkpath
        return NewLink(self.linktext(source, old, target, span))

    def _subpath_to_part(self, note: VaultPath, linktext: str) -> str | None:
        linkpath, _, subpath = linktext.partition("#")
        if not subpath.strip() or self._before.resolve(note, linkpath) != self._origin:
            return None
        return self._in_part(subpath)

    def _in_part(self, subpath: str) -> str | None:
        """Return what names a heading or block of the part in the new note, None for what is not in it."""
        subpath = subpath.strip()
        if subpath not in self._subpaths:
            self._subpaths[subpath] = self._find_in_part(subpath)
        return self._subpaths[subpath]

    def _find_in_part(self, subpath: str) -> str | None:
        line = _line_of(self._whole, subpath)
        if line is None or not self._span.first <= line <= self._span.last:
            return None
        parts = subpath.split("#")
        # Headings above that stay behind cannot be named any more.
        chains = ["#".join(parts[number:]) for number in range(len(parts))]
        wanted = line - self._span.first + 2
        return next((chain for chain in chains if _line_of(self._part, chain) == wanted), parts[-1])


def _line_of(note: Sections, subpath: str) -> int | None:
    """Return the line of the heading or block that a subpath leads to, None if it leads to none."""
    last = subpath.rpartition("#")[2].strip()
    try:
        return note.block_ids(last)[0].line if last.startswith("^") else note.headings(subpath)[0].line
    except VaultError:
        return None
