"""The index: catalog and text index, kept up to date with the files. Implements ``vault.index.port.Index``.

Text is only ever shown as it is in the file at that moment. How it is kept up to date: ``freshness``.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TypeVar

from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.disk.files import Files
from vaultwire.vault.index.port import Misfits, OnChange, Resolve
from vaultwire.vault.index.store import catalog_queries, summaries
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.catalog_queries import NoteNames
from vaultwire.vault.index.store.freshness import Freshness, Opened, Patience
from vaultwire.vault.index.store.index_folder import IndexFolder
from vaultwire.vault.index.store.link_graph_builder import GraphKeeper
from vaultwire.vault.index.store.row_queries import Answers, StoredRows
from vaultwire.vault.index.store.searching import Lacks, Page, Searches
from vaultwire.vault.index.store.summaries import StoredSurvey
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


class StoredIndex:
    """One vault's index in this process. For what each answer is see the port."""

    def __init__(self, files: Files, folder: IndexFolder, excludes: Callable[[], Excludes]) -> None:
        self._files = files
        self._folder = folder
        self._fresh = Freshness(files, folder, excludes, self._open)

    def _ask(
        self, question: Callable[[Catalog], _Answer], progress: Progress, *, check: bool = True, text: bool = False
    ) -> _Answer:
        return self._fresh.ask(question, progress, check=check, text=text)

    def _open(self, opened: Opened) -> None:
        """Begin with an index that was opened: nothing that was remembered of another one holds."""
        self._searches = Searches(self._files, *opened)
        self._answers, self._names, self._graph = Answers(self._ask), NoteNames(), GraphKeeper()
        self.rows = StoredRows(self._ask, self._answers, partial(self._ask, check=False))

    # ------------------------------------------------------------------ answers

    def notes(self, folder: VaultPath | None, progress: Progress) -> Listed[NoteStat]:
        """See the port."""
        find = partial(catalog_queries.notes, folder=folder)
        return self._answers.listed(("notes", folder), find, catalog_queries.to_stats, progress)

    def named(self, names: Collection[str], progress: Progress) -> list[VaultPath] | None:
        """See the port."""
        if self._fresh.will_be_checked:
            return None
        return self._ask(lambda catalog: catalog_queries.named(catalog, names), progress)

    def files_after(self, after: str, limit: int, progress: Progress) -> list[NoteStat] | None:
        """See the port."""
        if self._fresh.will_be_checked:
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
            lacks = Lacks(patience.is_over, patience.is_over and self._fresh.lacks_changes)
            return self._searches.page(query, folder, Page(offset, limit, exact_total), progress, lacks, kept)

        patience = Patience(progress, self._fresh.can_answer_in_part)
        return self._ask(answer, patience, text=True)

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

    def find(self, wanted: NoteFilter, folder: VaultPath | None, progress: Progress) -> Listed[NamedNote]:
        """See the port."""
        find = partial(catalog_queries.find, names=self._names, wanted=wanted, folder=folder)
        return self._answers.listed((wanted, folder), find, catalog_queries.to_notes, progress)

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
        unwatched = "the system refuses" if self._fresh.unwatched and self._files.hides_some else self._fresh.unwatched
        return found._replace(is_watched=self._fresh.is_watched, unwatched=unwatched, unkept=self._folder.problem)

    def suspects(self, folder: VaultPath | None, misfits: Misfits, progress: Progress) -> tuple[PathKeys, array[int]]:
        """See the port."""
        graph = self.link_graph(progress)
        lost_parts = self._answers.remember("lost parts", summaries.with_lost_parts, (), progress)
        return self._ask(lambda catalog: summaries.suspects(catalog, graph, lost_parts, folder, misfits), progress)

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
        self._fresh.queued.add(paths, folders)

    def building(self) -> str:
        """See the port."""
        return self._fresh.building()

    def hold_changes(self) -> AbstractContextManager[None]:
        """See the port."""
        return self._fresh.queued.held()

    def run_watch_loop(self, on_change: OnChange | None = None) -> None:
        """See the port."""
        self._fresh.run_watch_loop(on_change)

    def report(self, progress: Progress = NO_PROGRESS) -> IndexReport:
        """Check all files and return how the index is stored."""
        return self._fresh.report(progress)

    def close(self) -> None:
        """End the watch loop. Safe from any thread."""
        self._fresh.close()
