"""The index: catalog and text index together, kept true of the files. Fills ``vault.index.port.Index``.

Where the vault is watched (``tend``), changes are taken up as they happen and a call finds them done; where it is not, each
call looks at all files first. Text is only ever shown as it is in the file by then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from vaultwire.markdown.model import Link
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.watch import Changes, Watch, open_watch
from vaultwire.vault.errors import Stopped, VaultError
from vaultwire.vault.index.store import finding, linking, lookup, overview
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.home import Home, Parts, is_broken
from vaultwire.vault.index.store.searching import Search, Snapshot
from vaultwire.vault.index.store.upkeep import Upkeep
from vaultwire.vault.link_graph import LinkGraph
from vaultwire.vault.model import (
    NO_PROGRESS,
    Found,
    IndexReport,
    NamedNote,
    NoProgress,
    NoteStat,
    Progress,
    PropertyKinds,
    TagCount,
    Tagged,
    TaskPlace,
    ValueUse,
    VaultPath,
    VaultStats,
)
from vaultwire.vault.search.finding import Wanted, WantedTasks
from vaultwire.vault.search.query import Query
from vaultwire.vault.visibility.excludes import Excludes

_Answer = TypeVar("_Answer")

# What is changed comes in bursts; the text index takes up one that has been over for so long.
_QUIET_SECONDS = 0.3
# So long after the last news all files are looked at again: memory-mapped writes, network volumes on macOS and a kernel
# that lost events under load are reported by no watch.
_LONG_SECONDS = 300.0
# A call that finds the index broken so often gives up: its own two tries, and those that others rebuilt meanwhile.
_MOST_TRIES = 5
# How soon to try again when a watch has died.
_RETRY_SECONDS = 5.0


class StoredIndex:
    """One vault's index in this process."""

    def __init__(self, files: Files, home: Home, excludes: Callable[[], Excludes]) -> None:
        self._files = files
        self._home = home
        self._excludes = excludes
        self._watch: Watch | None = None
        self._is_tended = False
        self._on_true: Callable[[], None] | None = None  # see tend
        self._breaks = 0  # how often it was begun anew since it last was sound
        self._touching = threading.Lock()
        # Changed by this process, not yet taken up: files, and folders with a "/" behind; each with when, as a count.
        self._touched: dict[str, int] = {}
        self._touches = 0
        self._closing = threading.Event()
        self.unwatched: list[str] = []  # why the vault is not watched
        self._open()

    def _open(self) -> None:
        """Open the index, or begin a new one; until it was looked over once it is not known to be sound."""
        self._parts: Parts = self._home.open()
        self._upkeep = Upkeep(self._files, self._parts, self._excludes)
        self._snapshot: Snapshot | None = None
        self._names: tuple[int, finding.NoteNames] | None = None
        self._tags: tuple[int, list[TagCount]] | None = None
        self._graph: tuple[int, LinkGraph] | None = None  # with the catalog's count of changes
        self._is_checked = False

    # ------------------------------------------------------------------ answers

    def notes(self, folder: VaultPath | None, progress: Progress) -> list[NoteStat]:
        """Return every note, in path order."""
        return self._ask(lambda catalog: lookup.notes(catalog, folder), progress)

    def named(self, names: Collection[str], progress: Progress) -> list[VaultPath] | None:
        """Return every note whose file name is one of these, whatever the case; None instead of waiting for long."""
        if self._is_tended and not self._is_checked:
            return None
        return self._ask(lambda catalog: lookup.named(catalog, names), progress)

    def recent(self, folder: VaultPath | None, limit: int, progress: Progress) -> tuple[list[NoteStat], int]:
        """Return the notes changed last, the latest first, and how many there are in all."""
        return self._ask(
            lambda catalog: (lookup.recent(catalog, folder, limit), lookup.count_notes(catalog, folder)),
            progress,
        )

    def search(self, query: Query, folder: VaultPath | None, offset: int, limit: int, progress: Progress) -> Found:
        """Return ``limit`` notes that match, best first, and how many match in all."""

        def answer(catalog: Catalog) -> Found:
            snapshot = self._take_up_commits(catalog)
            return Search(self._files, self._parts, query, progress).run(snapshot, folder, offset, limit)

        return self._ask(answer, progress)

    def find(
        self, wanted: Wanted, folder: VaultPath | None, offset: int, limit: int, progress: Progress
    ) -> tuple[list[NamedNote], int]:
        """Return ``limit`` notes that are as wanted, in the order wanted, and how many are in all."""

        def answer(catalog: Catalog) -> tuple[list[NamedNote], int]:
            return finding.find(catalog, lambda: self._names_in(catalog), wanted, folder, offset, limit)

        return self._ask(answer, progress)

    def _names_in(self, catalog: Catalog) -> finding.NoteNames:
        changes = catalog.changes()
        kept = self._names
        if kept is None or kept[0] != changes:
            kept = self._names = (changes, finding.NoteNames(catalog))
        return kept[1]

    def properties(self, name: str, folder: VaultPath | None, progress: Progress) -> list[PropertyKinds]:
        """Return the properties in use, most used first; only the one of that name, if it is given."""
        return self._ask(lambda catalog: overview.properties(catalog, name, folder), progress)

    def property_values(self, name: str, folder: VaultPath | None, progress: Progress) -> list[ValueUse]:
        """Return the values of a property, most used first."""
        return self._ask(lambda catalog: overview.property_values(catalog, name, folder), progress)

    def tasks(
        self,
        wanted: WantedTasks,
        path: VaultPath | None,
        folder: VaultPath | None,
        offset: int,
        limit: int,
        progress: Progress,
    ) -> tuple[list[TaskPlace], int]:
        """Return ``limit`` tasks that are as wanted, in path and line order, and how many are in all."""
        return self._ask(lambda catalog: overview.tasks(catalog, wanted, path, folder, offset, limit), progress)

    def stats(self, limit: int, progress: Progress) -> VaultStats:
        """Return the vault in numbers, with ``limit`` of the largest folders and of the problems."""
        found = self._ask(lambda catalog: overview.stats(catalog, limit), progress)
        # A system's own words name the folder at which it failed, which may be hidden in this run.
        reasons = ["the system refuses"] * bool(self.unwatched) if self._files.hides_some else self.unwatched
        return found._replace(is_watched=self._is_watched, unwatched=tuple(reasons), unkept=self._home.problem)

    def paths(self, progress: Progress) -> list[VaultPath]:
        """Return every file a link may lead to, notes and attachments, in path order."""
        return self._ask(lookup.paths, progress)

    def tagged(self, tags: Sequence[str], folder: VaultPath | None, progress: Progress, *, every: bool) -> list[Tagged]:
        """Return the notes that have every one of the tags, or any of them, in path order."""
        return self._ask(lambda catalog: lookup.tagged(catalog, tags, folder, every=every), progress)

    def excluded_with(self, tag: str, name: str, progress: Progress) -> list[VaultPath]:
        """Return the excluded notes that have the tag, or one below it, or else the property, in path order."""
        return self._ask(lambda catalog: lookup.excluded_with(catalog, tag, name), progress)

    def count_tags(self, folder: VaultPath | None, progress: Progress) -> list[TagCount]:
        """Return the tags in use and those above them, most used first."""

        def answer(catalog: Catalog) -> list[TagCount]:
            if folder is not None:
                return lookup.count_tags(catalog, folder)
            changes = catalog.changes()
            kept = self._tags
            if kept is None or kept[0] != changes:
                kept = self._tags = (changes, lookup.count_tags(catalog, None))
            return kept[1]

        return self._ask(answer, progress)

    def incoming(self, path: VaultPath, progress: Progress) -> list[tuple[VaultPath, Link]]:
        """Return every link in another note that leads to the file, in path and line order."""
        return self._ask(lambda catalog: lookup.incoming(catalog, path), progress)

    def links_asking(
        self, names: Collection[str], below: Collection[VaultPath], progress: Progress
    ) -> list[tuple[VaultPath, str]]:
        """Return note and linktext of every link of one of the names, and of every link in the notes and folders given."""
        return self._ask(lambda catalog: lookup.links_asking(catalog, names, below), progress)

    def resolve_all(self, source: VaultPath, links: list[Link], progress: Progress) -> list[VaultPath | None]:
        """Return where each link of a note leads, None if nowhere."""
        return self._ask(lambda catalog: lookup.resolve_all(catalog, source, links), progress)

    def link_graph(self, progress: Progress) -> LinkGraph:
        """Return how all notes are linked; the same object as long as nothing changes."""

        def answer(catalog: Catalog) -> LinkGraph:
            changes = catalog.changes()  # asked first: a change that comes in between is taken up by the next call
            kept = self._graph
            if kept is None or kept[0] != changes:
                kept = self._graph = (changes, linking.link_graph(catalog, progress))
            return kept[1]

        return self._ask(answer, progress)

    def _take_up_commits(self, catalog: Catalog) -> Snapshot:
        """Return what the text index lacks, read before its commits are taken up: what comes in between is just not shown."""
        version = catalog.version()
        snapshot = self._snapshot
        if snapshot is None or snapshot.version != version:
            latest = Snapshot.of(catalog, version)
            if snapshot is None or snapshot.commits != latest.commits:
                if latest.commits != self._upkeep.committed:
                    self._parts.text.refresh()
                self._parts.words.refresh()
            snapshot = self._snapshot = latest
        return snapshot

    # ------------------------------------------------------------------ freshness

    def take_up(self, paths: Iterable[str], folders: Iterable[str] = ()) -> None:
        """Note files that this process has just changed: the next call takes them up, watched or not. See the port.

        Where they are watched, the tending thread mostly is earlier: it hears of them too.
        """
        with self._touching:
            self._touches += 1
            self._touched |= dict.fromkeys(paths, self._touches)
            self._touched |= dict.fromkeys((f"{folder}/" for folder in folders), self._touches)

    def _take_up_touched(self) -> None:
        with self._touching:
            touched = dict(self._touched)
        if touched:
            folders = [path[:-1] for path in touched if path.endswith("/")]
            self._upkeep.check([path for path in touched if not path.endswith("/")], folders)
            # Only now, so that whoever comes meanwhile waits, and what could not be taken up is tried again; and not
            # what was changed again meanwhile.
            with self._touching:
                self._touched = {path: when for path, when in self._touched.items() if when != touched.get(path)}

    def tend(self, on_true: Callable[[], None] | None = None) -> None:
        """Watch the files and take up what changes, until ``close``. See the port."""
        self._is_tended = True
        self._on_true = on_true
        try:
            while not self.is_closed:
                # While nobody looks at files, who would look at all of them, in vain: watched they are looked at anew.
                with self._upkeep.working(_UntilClosed(self)):
                    reasons: list[str] = []
                    watch = open_watch(self._files.root, reasons)
                    self.unwatched = reasons
                    # What changed before the watch was there, it does not report.
                    self._is_checked = False
                    self._watch = watch
                self._tend_by(watch)
                # The vault was moved, its drive is gone, or nothing there can be watched.
                self._closing.wait(_LONG_SECONDS if watch is None else _RETRY_SECONDS)
        except Stopped:
            return
        finally:
            self._watch = None  # whatever ended this: from now on each call looks for itself

    def _tend_by(self, watch: Watch | None) -> None:
        """Take up what a watch reports as long as it lives."""
        if self.is_closed and watch is not None:
            watch.close()
        while True:
            try:
                self._ask(lambda _: None, _UntilClosed(self))
                on_true, self._on_true = self._on_true, None
                if on_true is not None:
                    on_true()
                while watch is not None and watch.is_alive:
                    self._tend_once(watch)
            except VaultError:  # the vault is gone, and each call says so until it is back
                self._is_checked = False
            if watch is None or not watch.is_alive:
                return
            watch.wait(_RETRY_SECONDS)

    def _tend_once(self, watch: Watch) -> None:
        is_behind = self._ask(lambda catalog: catalog.is_behind(), NO_PROGRESS, check=False)
        changes = self._news(watch, _QUIET_SECONDS if is_behind else _LONG_SECONDS)
        if self.is_closed:
            return
        if changes.settings_changed or "" in changes.rescan:
            self._is_checked = False
            self._ask(lambda _: None, _UntilClosed(self))
        elif changes.paths or changes.rescan:
            self._ask(lambda _: self._upkeep.check(changes.paths, changes.rescan), NO_PROGRESS, check=False)
        elif not is_behind:
            self._ask(lambda _: self._upkeep.look_over(_UntilClosed(self)), NO_PROGRESS, check=False)
        else:
            self._ask(lambda _: self._upkeep.flush(_UntilClosed(self)), NO_PROGRESS, check=False)

    def _news(self, watch: Watch, seconds: float) -> Changes:
        """Return what changes, as soon as anything does, or nothing after so many seconds.

        The watch hears of hidden files, too: of each that we write first beside a note, of each click in Obsidian.
        """
        until = time.monotonic() + seconds
        while True:
            changes = watch.wait(until - time.monotonic())
            if any(changes) or self.is_closed or not watch.is_alive or time.monotonic() >= until:
                return changes

    def _ask(self, question: Callable[[Catalog], _Answer], progress: Progress, *, check: bool = True) -> _Answer:
        """Return the answer from an index that is true of the files. A broken one is rebuilt, then kept in memory."""
        for tries in range(_MOST_TRIES):
            parts = self._parts
            try:
                if check:
                    self._make_true(progress)
                return question(parts.catalog)
            except Exception as error:
                if tries == _MOST_TRIES - 1 or not is_broken(error):
                    raise
                self._begin_anew(parts, error, progress, is_lasting=tries > 0)
            check = True
        raise AssertionError  # the last one returns or raises

    def _begin_anew(self, parts: Parts, error: Exception, progress: Progress, *, is_lasting: bool) -> None:
        """Rebuild a broken index; where the new one breaks too, on a full disk say, in memory.

        ``is_lasting``: the caller has come to a broken one before.
        """
        with self._upkeep.working(progress):
            if self._parts is not parts:
                return  # another call has
            if self._breaks or is_lasting:
                self._home.keep_in_memory(error)
            else:
                try:
                    self._home.wipe(parts)
                except OSError as refused:  # there is not even room for a folder
                    self._home.keep_in_memory(refused)
            self._breaks += 1
            self._open()

    def _make_true(self, progress: Progress) -> None:
        if self._is_true:
            return
        with self._upkeep.working(progress):
            if not (self._is_checked and self._is_watched):
                self._upkeep.check_all(progress)
                self._upkeep.flush(progress)
                self._is_checked = True
                self._breaks = 0
            self._take_up_touched()

    def report(self) -> IndexReport:
        """Look the vault over and return how the index is kept."""
        started = time.perf_counter()
        self._ask(lambda _: None, NO_PROGRESS)
        seconds = time.perf_counter() - started
        reasons: list[str] = []
        watch = open_watch(self._files.root, reasons)
        if watch is not None:
            watch.close()
        return IndexReport(self._home.folder, self._home.problem, seconds, "; ".join(reasons))

    @property
    def _is_true(self) -> bool:
        return self._is_checked and self._is_watched and not self._touched

    @property
    def _is_watched(self) -> bool:
        return self._watch is not None and self._watch.is_alive

    def close(self) -> None:
        """Stop tending and give up the files. Safe from any thread."""
        self._closing.set()
        watch = self._watch
        if watch is not None:
            watch.close()

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closing.is_set()


class _UntilClosed(NoProgress):
    """Progress of work that nobody waits for and that ends with the index."""

    def __init__(self, index: StoredIndex) -> None:
        self._index = index

    def check(self) -> None:
        """Raise Stopped once the index is closed."""
        if self._index.is_closed:
            raise Stopped
