"""What the language of bases asks of a vault (``bases.host.Host``), answered by the index, many files at a time.

One host serves one query. It reads what the index has of a thousand files when the first of them is asked for, and keeps the
last few such parts, so its memory does not grow with the vault. Times of creation are the only facts that it asks the disk for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from vaultwire.bases.row import FileFacts, LinkFact
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Link
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.link_graph import LinkGraph
from vaultwire.vault.index.rows import ResolveLink, RowFile, Rows, StoredLink
from vaultwire.vault.links.link_resolver import link_name, link_names_to, linkpath_of
from vaultwire.vault.search.note_parts import with_inline_fields
from vaultwire.vault.value_types import Progress, VaultPath

_Fact = TypeVar("_Fact")

# The facts of so many files are read at once: 5 ms of work, and 1 MB for links of usual notes.
_PART = 1000
_MOST_PARTS = 16
# Values of properties in memory at a time: 50 MB of short texts.
_MOST_VALUES = 500_000
# Columns are read of all notes where more files than this are rows: that is one range of an SQL index.
_MANY_ROWS = 2000
# To resolve so many links one by one takes as long as to read the names of 10,000 files.
_MOST_SINGLE = 200
# To look for backlinks one by one for so long takes as long as to read the links of 10,000 notes. It is 1 ms for a name of
# its own, and 100 ms for one that many files share and many notes link to.
_MOST_SINGLE_NS = 300_000_000
_MOST_OTHERS = 2000
# Longer names of properties and targets of links are made by formulas; what is known of them is not kept.
_MOST_NAME = 1000
_NO_PROPERTIES: Mapping[str, PropertyValue] = {}
_MS = 1e6


class VaultHost:
    """The files of a vault as one query sees them. For one thread at a time."""

    def __init__(
        self,
        index: Index,
        rows: Rows,
        files: Files,
        types: Mapping[str, str],
        progress: Progress,
        *,
        reads_creation: bool = True,
    ) -> None:
        """``rows``: those of the index, checked. ``types``: the types of properties by folded name.

        ``reads_creation``: some expression asks when files were made.
        """
        self.progress = progress
        self._index = index
        self._rows = rows
        self._files = files
        self._types = types
        self._reads_creation = reads_creation
        self._places: dict[str, int] = {}
        self._listed: Sequence[RowFile] = ()
        self._others: dict[str, RowFile | None] = {}
        self._columns: dict[str, Mapping[int, PropertyValue]] = {}  # by folded name
        self._by_name: dict[str, Mapping[int, PropertyValue]] = {}  # the same, by name as asked for
        self._properties = _Parts(lambda ids: self._rows.properties(ids, self.progress))
        self._tags = _Parts(lambda ids: self._rows.tags(ids, self.progress))
        self._links = _Parts(lambda ids: self._rows.links(ids, self.progress))
        self._resolved: dict[tuple[str, str], VaultPath | None] = {}
        self._resolver: ResolveLink | None = None
        self._backlinks_ns = 0
        self._graph: LinkGraph | None = None

    def list_files(self, listed: Sequence[RowFile]) -> None:
        """Say which files will be asked for, in this order. Others may be asked for too, one by one."""
        if any(file.path not in self._places for file in listed):
            self._columns, self._by_name = {}, {}
        self._listed = listed
        self._places = {file.path: place for place, file in enumerate(listed)}
        for parts in (self._properties, self._tags, self._links):
            parts.clear()

    def release(self) -> None:
        """Give back the memory of what can be read again."""
        self._columns, self._by_name, self._others, self._resolved = {}, {}, {}, {}
        self._resolver = self._graph = None
        for parts in (self._properties, self._tags, self._links):
            parts.clear()

    # ------------------------------------------------------------------ see bases.host.Host

    def resolve(self, linktext: str, source: str) -> str | None:
        """See ``Host``."""
        linkpath = linkpath_of(linktext).strip()
        if not linkpath:
            return source or None
        folder = source.rpartition("/")[0]
        known = self._resolved.get((folder, linkpath), ...)
        if known is not ...:
            return known
        if self._resolver is None and len(self._resolved) >= _MOST_SINGLE:
            self._resolver = self._rows.resolver(self.progress)
        at = VaultPath(source)
        resolve = self._resolver or partial(self._rows.resolve, progress=self.progress)
        target = resolve(at, linkpath)
        if len(self._resolved) >= _MOST_VALUES:
            self._resolved.clear()
        if len(linkpath) <= _MOST_NAME:
            self._resolved[folder, linkpath] = target
        return target

    def facts(self, path: str) -> FileFacts | None:
        """See ``Host``. A file without a time of creation has the time of its last change instead."""
        file = self._file(path)
        if file is None:
            return None
        modified = file.modified_ns / _MS
        if not self._reads_creation:
            return FileFacts(file.size, modified, modified)
        created = self._files.created_ns(file.path)
        return FileFacts(file.size, modified if created is None else created / _MS, modified)

    def properties(self, path: str) -> Mapping[str, PropertyValue]:
        """See ``Host``. Names are found in any case."""
        place = self._places.get(path)
        if place is not None:
            return _PropertiesOf(self, self._listed[place])
        file = self._file(path)
        return _NO_PROPERTIES if file is None else _AnyCase(self.all_properties(file))

    def tags(self, path: str) -> Sequence[str]:
        """See ``Host``."""
        return self._part_of(self._tags, path) or ()

    def links(self, path: str) -> Sequence[LinkFact]:
        """See ``Host``. The app lists links first, those of properties before those of the text, and then embeds."""
        links = self._part_of(self._links, path)
        return [] if links is None else _facts_of(links)

    def backlinks(self, path: str) -> Sequence[str]:
        """See ``Host``. A link of a file to itself is no backlink."""
        if self._file(path) is None:
            return []
        if self._graph is None and self._backlinks_ns < _MOST_SINGLE_NS:
            start = time.thread_time_ns()
            found = self._rows.backlinks(VaultPath(path), self.progress)
            self._backlinks_ns += time.thread_time_ns() - start
            return found
        if self._graph is None:
            self._graph = self._index.link_graph(self.progress)
        if path not in self._graph:
            return []
        return [near.path for near in self._graph.neighbours(VaultPath(path), 1, "in", self.progress).all()]

    def property_type(self, name: str) -> str:
        """See ``Host``."""
        return self._types.get(fold(name), "")

    # ------------------------------------------------------------------

    def all_properties(self, file: RowFile) -> Mapping[str, PropertyValue]:
        """Return all properties of a file, in their order."""
        return self._part_of(self._properties, file.path) or _NO_PROPERTIES

    def column(self, name: str) -> Mapping[int, PropertyValue]:
        """Return the values of a property of the files that are listed, by their numbers."""
        known = self._by_name.get(name)
        if known is not None:
            return known
        key = fold(name)
        column = self._columns.get(key)
        if column is None:
            ids = None if len(self._listed) > _MANY_ROWS else [listed.id for listed in self._listed]
            column = self._rows.column(key, ids, self.progress)
            if len(name) > _MOST_NAME:
                return column
            kept = sum(map(len, self._columns.values())) + len(column)
            if kept > _MOST_VALUES or len(self._columns) >= _MOST_OTHERS:
                self._columns, self._by_name = {}, {}
            self._columns[key] = column
        if len(self._by_name) >= _MOST_OTHERS:
            self._by_name = {}
        self._by_name[name] = column
        return column

    def _file(self, path: str) -> RowFile | None:
        place = self._places.get(path)
        if place is not None:
            return self._listed[place]
        if path not in self._others:
            if len(self._others) >= _MOST_OTHERS:
                self._others.clear()
            self._others[path] = next(iter(self._rows.at([path], self.progress)), None)
        return self._others[path]

    def _part_of(self, parts: _Parts[_Fact], path: str) -> _Fact | None:
        """Return a fact of a file, and have it read for those beside it in the list."""
        place = self._places.get(path)
        if place is None:
            file = self._file(path)
            return None if file is None else parts.of(path, [file]).get(file.id)
        start = place - place % _PART
        return parts.of(start, self._listed, start).get(self._listed[place].id)


class _Parts(dict[int | str, Mapping[int, _Fact]]):
    """Facts of files, by parts of the list; the last few parts are kept."""

    def __init__(self, read: Callable[[Sequence[int]], Mapping[int, _Fact]]) -> None:
        super().__init__()
        self._read = read

    def of(self, part: int | str, files: Sequence[RowFile], start: int = 0) -> Mapping[int, _Fact]:
        """Return the facts of a part: of the files from number ``start`` on."""
        known = self.get(part)
        if known is None:
            if len(self) >= _MOST_PARTS:
                self.pop(next(iter(self)), None)
            known = self[part] = self._read([file.id for file in files[start : start + _PART]])
        return known


class _PropertiesOf(Mapping[str, PropertyValue]):
    """The properties of one listed file. A property that is asked for by name is read as a column of all of them."""

    __slots__ = ("_file", "_host")

    def __init__(self, host: VaultHost, file: RowFile) -> None:
        self._host = host
        self._file = file

    def __getitem__(self, name: str) -> PropertyValue:
        return self._host.column(name)[self._file.id]

    def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
        return self._host.column(name).get(self._file.id, default)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._file.id in self._host.column(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._host.all_properties(self._file))

    def __len__(self) -> int:
        return len(self._host.all_properties(self._file))


class _AnyCase(Mapping[str, PropertyValue]):
    """The properties of one file that is not listed."""

    __slots__ = ("_names", "_values")

    def __init__(self, values: Mapping[str, PropertyValue]) -> None:
        self._values = values
        self._names = {fold(name): name for name in values}

    def __getitem__(self, name: str) -> PropertyValue:
        return self._values[self._names[fold(name)]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class NoteToBe(NamedTuple):
    """A note that is not there yet: where it would be, its text, and the time of its making, in milliseconds since 1970."""

    path: VaultPath
    text: str
    now_ms: float


class HostWithNote(VaultHost):
    """The vault as one query would see it with one more note."""

    def __init__(
        self, index: Index, rows: Rows, files: Files, types: Mapping[str, str], progress: Progress, note: NoteToBe
    ) -> None:
        super().__init__(index, rows, files, types, progress, reads_creation=True)
        self._note = note
        self._names = link_names_to(note.path)
        self._parsed = parse_note(note.text)
        self._properties_to_be = self._parsed.frontmatter
        if files.has_inline_fields:
            self._properties_to_be = with_inline_fields(self._properties_to_be, note.text)

    def resolve(self, linktext: str, source: str) -> str | None:
        """See ``Host``."""
        there = super().resolve(linktext, source)
        if there is None and link_name(VaultPath(source), linkpath_of(linktext).strip()) in self._names:
            return self._note.path
        return there

    def facts(self, path: str) -> FileFacts | None:
        """See ``Host``."""
        if path != self._note.path:
            return super().facts(path)
        now = self._note.now_ms
        return FileFacts(len(self._note.text.encode()), now, now)

    def properties(self, path: str) -> Mapping[str, PropertyValue]:
        """See ``Host``."""
        return _AnyCase(self._properties_to_be.values) if path == self._note.path else super().properties(path)

    def tags(self, path: str) -> Sequence[str]:
        """See ``Host``."""
        return self._parsed.tags if path == self._note.path else super().tags(path)

    def links(self, path: str) -> Sequence[LinkFact]:
        """See ``Host``."""
        return _facts_of(self._parsed.links) if path == self._note.path else super().links(path)

    def backlinks(self, path: str) -> Sequence[str]:
        """See ``Host``. Links that ask for the new note lead nowhere now, or would be rewritten with it."""
        if path != self._note.path:
            return super().backlinks(path)
        asking = self._index.links_asking(self._names, (), self.progress)
        sources = {source for source, linktext in asking if self.resolve(linktext, source) == path}
        return sorted(file.path for file in self._rows.at(sources, self.progress))


def _facts_of(links: Iterable[StoredLink | Link]) -> list[LinkFact]:
    """Return links as the app lists them: first those that are no embeds."""
    return [
        LinkFact(link.linktext, link.display or _display_of(link.linktext), link.is_embed)
        for link in sorted(links, key=lambda link: link.is_embed)
    ]


def _display_of(linktext: str) -> str:
    """Return what the app shows of a link without a text of its own: ``Note > Heading``."""
    return " > ".join(part for part in linktext.split("#") if part)
