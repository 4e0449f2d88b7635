"""The index: catalog and text index, kept up to date with the files. Implements ``vault.index.port.Index``.

Where the vault is watched (``run_watch_loop``), changes are applied as they happen, and a call finds them applied. Where it
is not watched, each call checks all files first. Text is only ever shown as it is in the file at that moment.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TypeVar

from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.watch import Changes, Unwatchable, Watch
from vaultwire.vault.errors import Stopped, VaultError
from vaultwire.vault.index.port import Misfits, OnChange, Resolve
from vaultwire.vault.index.store import catalog_queries, first_build, note_finder, summaries, suspects
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.change_reporter import ChangeReporter
from vaultwire.vault.index.store.first_build import Patience, StillBuilding
from vaultwire.vault.index.store.index_folder import IndexFolder, IndexParts, is_broken
from vaultwire.vault.index.store.link_graph_builder import GraphKeeper
from vaultwire.vault.index.store.note_finder import NoteNames
from vaultwire.vault.index.store.queued_changes import QueuedChanges
from vaultwire.vault.index.store.remembered import Answers
from vaultwire.vault.index.store.row_queries import StoredRows
from vaultwire.vault.index.store.searching import Lacks, Page, Searches
from vaultwire.vault.index.store.surveying import StoredSurvey
from vaultwire.vault.index.store.until_closed import UntilClosed
from vaultwire.vault.index.store.updater import IndexUpdater
from vaultwire.vault.link_graph import LinkGraph
from vaultwire.vault.listed import Listed, PathKeys
from vaultwire.vault.search.filters import NoteFilter, TaskFilter
from vaultwire.vault.search.query import Query
from vaultwire.vault.value_types import (
    NO_PROGRESS,
    Found,
    IndexReport,
    KeptResults,
    NamedNote,
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
from vaultwire.vault.visibility.excludes import Excludes

_Answer = TypeVar("_Answer")

# Changes come in bursts. The text index gets them when nothing has changed for so long.
_QUIET_SECONDS = 0.3
# After so long without changes all files are checked again. No watch reports memory-mapped writes, changes on network
# volumes (macOS), and events that the kernel dropped under load.
_LONG_SECONDS = 300.0
# A call that finds the index broken so often fails: its own two attempts, and those that others rebuilt meanwhile.
_MAX_ATTEMPTS = 5
# How soon to watch again after a watch has died.
_RETRY_SECONDS = 5.0


class StoredIndex:
    """One vault's index in this process. For what each answer is see the port."""

    def __init__(self, files: Files, folder: IndexFolder, excludes: Callable[[], Excludes]) -> None:
        self._files = files
        self._folder = folder
        self._excludes = excludes
        self._watch: Watch | None = None
        self._has_watch_loop = False
        self._rebuilds = 0  # since the index last was sound
        self._reporter = ChangeReporter(None)
        self._queued = QueuedChanges()
        self._closing = threading.Event()
        self.unwatched = ""  # why the vault is not watched
        self._open()

    def _open(self) -> None:
        """Open the index or begin a new one. The first check of all files tells whether it is sound."""
        self._parts: IndexParts = self._folder.open()
        self._updater = IndexUpdater(self._files, self._parts, self._excludes)
        self._searches = Searches(self._files, self._parts, self._updater)
        self._answers, self._names, self._graph = Answers(self._ask), NoteNames(), GraphKeeper()
        self.rows = StoredRows(self._ask, self._answers, partial(self._ask, check=False))
        self._is_checked = False

    # ------------------------------------------------------------------ answers

    def notes(self, folder: VaultPath | None, progress: Progress) -> Listed[NoteStat]:
        """See the port."""
        find = partial(catalog_queries.notes, folder=folder)
        return self._answers.listed(("notes", folder), find, catalog_queries.to_stats, progress)

    def named(self, names: Collection[str], progress: Progress) -> list[VaultPath] | None:
        """See the port."""
        if self._has_watch_loop and not self._is_checked:
            return None
        return self._ask(lambda catalog: catalog_queries.named(catalog, names), progress)

    def files_after(self, after: str, limit: int, progress: Progress) -> list[NoteStat] | None:
        """See the port."""
        if self._has_watch_loop and not self._is_checked:
            return None
        return self._ask(lambda catalog: catalog_queries.files_after(catalog, after, limit), progress)

    def recent(self, folder: VaultPath | None, limit: int, progress: Progress) -> tuple[list[NoteStat], int]:
        """See the port."""
        return self._ask(lambda catalog: catalog_queries.recent(catalog, folder, limit), progress)

    def search(
        self,
        query: Query,
        folder: VaultPath | None,
        offset: int,
        limit: int,
        progress: Progress,
        kept: KeptResults | None = None,
        *,
        exact_total: bool = False,
    ) -> Found:
        """See the port."""

        def answer(_: Catalog) -> Found:
            lacks = Lacks(patience.is_over, patience.is_over and bool(self._queued))
            return self._searches.page(query, folder, Page(offset, limit, exact_total), progress, lacks, kept)

        patience = Patience(progress, self._can_answer_in_part)
        return self._ask(answer, patience)

    def search_each(
        self, queries: Sequence[Query], folder: VaultPath | None, limit: int, progress: Progress
    ) -> list[Found]:
        """See the port."""
        page = Page(0, limit)
        return self._ask(
            lambda _: [self._searches.page(query, folder, page, progress) for query in queries], progress, check=False
        )

    @property
    def survey(self) -> StoredSurvey:
        """See the port."""
        return StoredSurvey(self._ask, self._answers, self._searches.newest_text)

    def _can_answer_in_part(self) -> bool:
        """Tell whether a search can be answered before the first build or many changes are applied."""
        if self._is_checked and self._is_watched:
            return bool(self._queued)
        # Without a watch loop the call builds the index itself, and nobody else would finish that.
        return self._has_watch_loop and first_build.has_some(self._parts.catalog)

    def find(self, wanted: NoteFilter, folder: VaultPath | None, progress: Progress) -> Listed[NamedNote]:
        """See the port."""
        find = partial(note_finder.find, names=self._names, wanted=wanted, folder=folder)
        return self._answers.listed((wanted, folder), find, note_finder.to_notes, progress)

    def properties(self, name: str, folder: VaultPath | None, progress: Progress) -> list[PropertyKinds]:
        """See the port."""
        return self._answers.remember("properties", summaries.properties, (name, folder), progress)

    def property_values(self, name: str, folder: VaultPath | None, progress: Progress) -> list[ValueUse]:
        """See the port."""
        return self._answers.remember("values", summaries.property_values, (name, folder), progress)

    def tasks(
        self, wanted: TaskFilter, path: VaultPath | None, folder: VaultPath | None, progress: Progress
    ) -> Listed[TaskPlace]:
        """See the port."""
        find = partial(summaries.tasks, wanted=wanted, path=path, folder=folder)
        return self._answers.listed((wanted, path, folder), find, summaries.to_tasks, progress)

    def stats(self, limit: int, progress: Progress) -> VaultStats:
        """See the port."""
        found = self._answers.remember("stats", summaries.stats, (limit,), progress)
        # The system's own message names the folder at which it failed, and that folder may be hidden in this run.
        unwatched = "the system refuses" if self.unwatched and self._files.hides_some else self.unwatched
        return found._replace(is_watched=self._is_watched, unwatched=unwatched, unkept=self._folder.problem)

    def suspects(self, folder: VaultPath | None, misfits: Misfits, progress: Progress) -> tuple[PathKeys, array[int]]:
        """See the port."""
        graph = self.link_graph(progress)
        lost_parts = self._answers.remember("lost parts", suspects.with_lost_parts, (), progress)
        return self._ask(lambda catalog: suspects.suspects(catalog, graph, lost_parts, folder, misfits), progress)

    def paths(self, progress: Progress) -> list[VaultPath]:
        """See the port."""
        return self._ask(catalog_queries.paths, progress)

    def tagged(
        self, tags: Sequence[str], folder: VaultPath | None, progress: Progress, *, every: bool
    ) -> Listed[Tagged]:
        """See the port."""
        find = partial(catalog_queries.tagged, tags=tags, folder=folder, every=every)
        return self._answers.listed(("tagged", *tags, folder, every), find, catalog_queries.to_tagged, progress)

    def notes_with(self, tag: str, name: str, progress: Progress) -> tuple[list[VaultPath], list[VaultPath]]:
        """See the port."""
        return self._ask(lambda catalog: catalog_queries.notes_with(catalog, tag, name), progress)

    def notes_with_queries(self, progress: Progress) -> list[VaultPath]:
        """See the port."""
        return self._ask(catalog_queries.notes_with_queries, progress)

    def count_tags(self, folder: VaultPath | None, progress: Progress) -> list[TagCount]:
        """See the port."""
        return self._answers.remember("tags", catalog_queries.count_tags, (folder,), progress)

    def incoming(self, path: VaultPath, progress: Progress) -> list[tuple[VaultPath, Link]]:
        """See the port."""
        return self._ask(lambda catalog: catalog_queries.incoming(catalog, path), progress)

    def listing_version(self, progress: Progress) -> Hashable:
        """See the port."""
        return self._ask(catalog_queries.listing_version, progress)

    def lost_files(self, progress: Progress) -> int:
        """See the port."""
        return self._ask(Catalog.lost_files, progress)

    def links_asking(
        self, names: Collection[str], below: Collection[VaultPath], progress: Progress
    ) -> list[tuple[VaultPath, str]]:
        """See the port."""
        return self._ask(lambda catalog: catalog_queries.links_asking(catalog, names, below), progress)

    def resolver(self, progress: Progress) -> Resolve:
        """See the port."""
        self._ask(lambda _: None, progress)

        def resolve(source: VaultPath, links: list[Link]) -> list[VaultPath | None]:
            return self._ask(lambda catalog: catalog_queries.resolve_all(catalog, source, links), progress, check=False)

        return resolve

    def link_graph(self, progress: Progress) -> LinkGraph:
        """See the port."""
        return self._ask(lambda catalog: self._graph.get(catalog, progress), progress)

    # ------------------------------------------------------------------ freshness

    def queue_changes(self, paths: Iterable[str], folders: Iterable[str] = ()) -> None:
        """See the port. Where the vault is watched, the watch loop mostly applies the change before the next call does."""
        self._queued.add(paths, folders)

    def hold_changes(self) -> AbstractContextManager[None]:
        """See the port."""
        return self._queued.held()

    def run_watch_loop(self, on_change: OnChange | None = None) -> None:
        """See the port."""
        self._has_watch_loop = True
        self._reporter = ChangeReporter(on_change)
        try:
            while not self.is_closed:
                # Under the lock: a check of all files that began before the watch would have to be repeated.
                with self._updater.working(UntilClosed(self._closing)):
                    watch, self.unwatched = None, ""
                    try:
                        watch = Watch(self._files.root)
                    except Unwatchable as reason:
                        self.unwatched = str(reason)
                    # The watch does not report what changed before it was there.
                    self._is_checked = False
                    self._watch = watch
                self._run_watch(watch)
                # The vault was moved, its drive is gone, or nothing there can be watched.
                self._closing.wait(_LONG_SECONDS if watch is None else _RETRY_SECONDS)
        except Stopped:
            return
        finally:
            self._watch = None  # from now on each call checks all files itself

    def _run_watch(self, watch: Watch | None) -> None:
        """Apply what a watch reports as long as it lives."""
        if self.is_closed and watch is not None:
            watch.close()
        while True:
            try:
                self._ask(lambda _: None, UntilClosed(self._closing))
                self._reporter.report_all()
                while watch is not None and watch.is_alive:
                    self._watch_once(watch)
            except VaultError:  # the vault is gone, and each call says so until it is back
                self._is_checked = False
            if watch is None or not watch.is_alive:
                return
            watch.wait(_RETRY_SECONDS)

    def _watch_once(self, watch: Watch) -> None:
        """Wait for changes and apply them; when there are none, flush the text index or check all files."""
        has_pending = self._ask(lambda catalog: catalog.has_pending(), NO_PROGRESS, check=False)
        is_in_burst = has_pending or self._reporter.has_news or not self._queued.is_empty
        changes = self._next_changes(watch, _QUIET_SECONDS if is_in_burst else _LONG_SECONDS)
        if self.is_closed:
            return
        self._queued.add(changes.paths, changes.rescan)
        if changes.settings_changed and self._ask(lambda _: self._updater.has_new_rules(), NO_PROGRESS, check=False):
            self._is_checked = False
            self._ask(lambda _: None, UntilClosed(self._closing))
        elif self._queued:
            self._ask(lambda _: self._queued.apply(self._updater, UntilClosed(self._closing)), NO_PROGRESS, check=False)
        elif any(changes):
            pass  # held back
        elif has_pending:
            self._ask(lambda _: self._updater.flush(UntilClosed(self._closing)), NO_PROGRESS, check=False)
        elif not is_in_burst:
            self._ask(
                lambda _: self._updater.check_all_in_background(UntilClosed(self._closing)), NO_PROGRESS, check=False
            )
            self._reporter.report_all()
        self._reporter.add(changes.paths, ("",) if changes.settings_changed else changes.rescan)
        self._reporter.report(is_quiet=not any(changes))

    def _next_changes(self, watch: Watch, seconds: float) -> Changes:
        """Return the next changes as soon as there are any; none after so many seconds.

        The watch also wakes for hidden files: for each temporary file that we write beside a note, for each click in
        Obsidian. These are not changes, and the wait goes on.
        """
        until = time.monotonic() + seconds
        while True:
            changes = watch.wait(until - time.monotonic())
            if any(changes) or self.is_closed or not watch.is_alive or time.monotonic() >= until:
                return changes

    def _ask(self, question: Callable[[Catalog], _Answer], progress: Progress, *, check: bool = True) -> _Answer:
        """Bring the index up to date and return the answer. A broken index is rebuilt; if that breaks too, in memory."""
        for attempt in range(_MAX_ATTEMPTS):
            parts = self._parts
            try:
                if check:
                    with suppress(StillBuilding):
                        self._bring_up_to_date(progress)
                return question(parts.catalog)
            except Exception as error:
                if attempt == _MAX_ATTEMPTS - 1 or not is_broken(error):
                    raise
                self._rebuild(parts, error, progress, is_repeated=attempt > 0)
            check = True
        raise AssertionError  # the last attempt returns or raises

    def _rebuild(self, parts: IndexParts, error: Exception, progress: Progress, *, is_repeated: bool) -> None:
        """Replace a broken index by a new one, in memory where the new one breaks too, for example on a full disk.

        ``is_repeated``: the caller has met a broken index before.
        """
        with self._updater.working(progress):
            if self._parts is not parts:
                return  # another call has rebuilt it
            if self._rebuilds or is_repeated:
                self._folder.keep_in_memory(error)
            else:
                try:
                    self._folder.wipe(parts)
                except OSError as refused:  # no room even for a folder
                    self._folder.keep_in_memory(refused)
            self._rebuilds += 1
            self._open()

    def _bring_up_to_date(self, progress: Progress) -> None:
        if self._is_checked and self._is_watched and not self._queued:
            return
        with self._updater.working(progress):
            if not (self._is_checked and self._is_watched):
                self._updater.check_all(progress)
                self._updater.flush(progress)
                self._is_checked = True
                self._rebuilds = 0
            self._queued.apply(self._updater, progress)

    def report(self, progress: Progress = NO_PROGRESS) -> IndexReport:
        """Check all files and return how the index is stored."""
        started = time.perf_counter()
        self._ask(lambda _: None, progress)
        seconds = time.perf_counter() - started
        not_watched = ""
        try:
            Watch(self._files.root).close()
        except Unwatchable as reason:
            not_watched = str(reason)
        return IndexReport(self._folder.folder, self._folder.problem, seconds, not_watched)

    @property
    def _is_watched(self) -> bool:
        return self._watch is not None and self._watch.is_alive

    def close(self) -> None:
        """End the watch loop. Safe from any thread."""
        self._closing.set()
        watch = self._watch
        if watch is not None:
            watch.close()

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closing.is_set()
