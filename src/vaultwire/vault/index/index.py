"""The index: catalog and text index, kept up to date with the files. It holds derived data only: deleting it loses nothing.

Text is only ever shown as it is in the file at that moment. How it is kept up to date: ``freshness``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeAlias, TypeVar

from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.disk.files import Files
from vaultwire.vault.index import catalog_queries, summaries
from vaultwire.vault.index.catalog import Catalog
from vaultwire.vault.index.catalog_queries import NoteNames
from vaultwire.vault.index.freshness import Freshness, OnChange, Patience
from vaultwire.vault.index.index_folder import IndexFolder, IndexParts
from vaultwire.vault.index.link_graph import LinkGraph, latest_graph
from vaultwire.vault.index.rows import Rows, new_memory, remembered
from vaultwire.vault.index.searching import Lacks, Page, Place, Searches
from vaultwire.vault.index.summaries import FolderFiles, Misfits, SharedWords, Suspects
from vaultwire.vault.index.updater import IndexUpdater
from vaultwire.vault.listed import Keys, Listed
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

Resolve: TypeAlias = Callable[[VaultPath, list[Link]], list[VaultPath | None]]
"""Returns the path that each link of a note leads to, None for a broken link."""


class Index:
    """Answers questions about the vault. Answers are true of the files at call time, or of the last event of a watch.

    ``folder`` limits an answer to the notes below it. A call may have to wait until all files are checked: it calls
    ``progress.report`` meanwhile, and ``progress.check``, which raises when the call should stop. Notes that the vault's
    own rules exclude are in ``notes``, ``named``, ``paths``, ``files_after``, ``links_asking``, ``resolver``,
    ``notes_with`` and ``notes_with_queries``, and in ``tasks`` of one note; no other answer has them.
    """

    def __init__(self, files: Files, folder: IndexFolder, excludes: Callable[[], Excludes]) -> None:
        self._files = files
        self._folder = folder
        self._fresh = Freshness(files, folder, excludes, self._open)
        self._ask = self._fresh.ask

    def _open(self, parts: IndexParts, updater: IndexUpdater) -> None:
        """Begin with an index that was opened: nothing that was remembered of another one holds."""
        self._searches = Searches(self._files, parts, updater)
        self._memory, self._names = new_memory(), NoteNames()
        self._graph: tuple[int, LinkGraph] | None = None

    def _remember(self, query: Callable[..., _Answer], progress: Progress, *arguments: Any) -> _Answer:
        """Return the answer of a query, which is worth remembering."""
        question = (query, *arguments)
        return self._ask(
            lambda catalog: remembered(self._memory, question, catalog, lambda: query(catalog, *arguments)), progress
        )

    def _list(
        self,
        find: Callable[..., Keys],
        read: Callable[[Catalog, Sequence[Any]], list[_Answer]],
        progress: Progress,
        *arguments: Any,
    ) -> Listed[_Answer]:
        """Return the results that ``find`` names. ``read`` reads a page of them."""
        keys = self._remember(find, progress, *arguments)
        return Listed(keys, lambda part, reader: self._ask(lambda catalog: read(catalog, part), reader))

    # ------------------------------------------------------------------ answers

    def notes(self, folder: VaultPath | None, progress: Progress) -> Listed[NoteStat]:
        """Return every note, in path order."""
        return self._list(catalog_queries.notes, catalog_queries.to_stats, progress, folder)

    def named(self, names: Collection[str], progress: Progress) -> list[VaultPath] | None:
        """Return every file, note or attachment, of one of these names, in any case; None instead of waiting for long."""
        if self._fresh.will_be_checked:
            return None
        return self._ask(lambda catalog: catalog_queries.named(catalog, names), progress)

    def files_after(self, after: str, limit: int, progress: Progress) -> list[NoteStat] | None:
        """Return ``limit`` files after a path, in path order: notes and attachments; None instead of waiting for long."""
        if self._fresh.will_be_checked:
            return None
        return self._ask(lambda catalog: catalog_queries.files_after(catalog, after, limit), progress)

    def recent(self, folder: VaultPath | None, limit: int, progress: Progress) -> tuple[list[NoteStat], int]:
        """Return the latest changed notes, the latest first, and the number of all notes."""
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
        """Return ``limit`` notes that match, best first, and the number of all that match.

        Counting may end early; with ``exact_total`` it does not. ``kept``: of a page of the same query, to go on in the same
        state of the index. Raises VaultError (CURSOR_EXPIRED) if the index was built again since.

        While a vault's text is indexed for the first time, of the notes indexed so far; ``Found.so_far`` says how many. After
        many notes have changed, of the notes as far as the index has them; ``Found.lacks_changes`` says so. No other answer
        leaves notes out: the others wait, but not for the text.
        """

        def answer(_: Catalog) -> Found:
            lacks = Lacks(patience.is_over, patience.is_over and self._fresh.lacks_changes)
            return self._searches.page(query, folder, Page(offset, limit, exact_total), progress, lacks, kept)

        patience = Patience(progress, self._fresh.can_answer_in_part)
        return self._ask(answer, patience, text=True)

    def search_each(
        self, queries: Sequence[Query], folder: VaultPath | None, limit: int, progress: Progress
    ) -> list[Found]:
        """Return the first page for each query, as ``search`` does, but without looking for changes.

        For a few more searches right after one; with a ``limit`` of 0 only to count.
        """
        page = Page(0, limit)
        return self._ask(
            lambda _: [self._searches.page(query, folder, page, progress) for query in queries], progress, check=False
        )

    def explain(self, query: Query, folder: VaultPath | None, path: VaultPath, progress: Progress) -> Place | None:
        """Return the place of a note among the results of a search, and the parts of its score; None if it is no result.

        For use right after the search, in the state of which it answers.
        """
        return self._ask(lambda _: self._searches.explain(query, folder, path, progress), progress, check=False)

    def is_excluded(self, path: VaultPath, progress: Progress) -> bool:
        """Tell whether the vault's rules exclude a file from searches."""
        return self._ask(lambda catalog: (known := catalog.known(path)) is not None and known.is_excluded, progress)

    def find(self, conditions: NoteFilter, folder: VaultPath | None, progress: Progress) -> Listed[NamedNote]:
        """Return the notes that meet the conditions, in the order asked for."""
        return self._list(catalog_queries.find, catalog_queries.to_notes, progress, self._names, conditions, folder)

    def properties(self, name: str, folder: VaultPath | None, progress: Progress) -> list[PropertyKinds]:
        """Return the properties in use, most used first; with a ``name``, in any case, only that one."""
        return self._remember(summaries.properties, progress, name, folder)

    def property_values(self, name: str, folder: VaultPath | None, progress: Progress) -> list[ValueUse]:
        """Return the values of a property (its name in any case), most used first; those of a list one by one."""
        return self._remember(summaries.property_values, progress, name, folder)

    def tasks(
        self, conditions: TaskFilter, path: VaultPath | None, folder: VaultPath | None, progress: Progress
    ) -> Listed[TaskPlace]:
        """Return the tasks that meet the conditions, in path and line order, or by their due dates (``TaskFilter.by_due``).

        With a ``path``, only the tasks of that note, even if the vault's rules exclude it.
        """
        return self._list(summaries.tasks, summaries.to_tasks, progress, conditions, path, folder)

    def stats(self, limit: int, progress: Progress) -> VaultStats:
        """Return statistics of the vault, with ``limit`` of the largest folders and of the problems."""
        stats = self._remember(summaries.stats, progress, limit)
        # The system's own message names the folder at which it failed, and that folder may be hidden in this run.
        unwatched = "the system refuses" if self._fresh.unwatched and self._files.hides_some else self._fresh.unwatched
        return stats._replace(is_watched=self._fresh.is_watched, unwatched=unwatched, unkept=self._folder.problem)

    def suspects(self, folder: VaultPath | None, misfits: Misfits, progress: Progress) -> Suspects:
        """Return the notes and canvases that may have a fault (``vault.links.checks``)."""

        def answer(catalog: Catalog) -> Suspects:
            graph = self._latest_graph(catalog, progress)
            lost_parts = remembered(
                self._memory, (summaries.with_lost_parts,), catalog, lambda: summaries.with_lost_parts(catalog)
            )
            return summaries.suspects(catalog, graph, lost_parts, folder, misfits)

        return self._ask(answer, progress)

    def paths(self, progress: Progress) -> list[VaultPath]:
        """Return every file a link may lead to, notes and attachments, in path order."""
        return self._ask(catalog_queries.paths, progress)

    def attachments(self, folder: VaultPath | None, progress: Progress) -> list[NoteStat]:
        """Return the attachments that the vault's rules do not exclude, in path order."""
        return self._remember(catalog_queries.attachments, progress, folder)

    def tagged(
        self, tags: Sequence[str], folder: VaultPath | None, progress: Progress, *, every: bool
    ) -> Listed[Tagged]:
        """Return the notes that have every one of the tags, or any of them, in path order. ``a/b`` counts as ``a``, too."""
        return self._list(catalog_queries.tagged, catalog_queries.to_tagged, progress, (*tags,), folder, every)

    def notes_with(self, tag: str, name: str, progress: Progress) -> tuple[list[VaultPath], list[VaultPath]]:
        """Return the notes that have the tag, or one below it, or else the property, for changes to all that have it.

        First those that the vault's rules do not exclude, then those that they exclude, both in path order. Either ``tag``
        or ``name`` is empty.
        """
        return self._ask(lambda catalog: catalog_queries.notes_with(catalog, tag, name), progress)

    def notes_with_queries(self, progress: Progress) -> list[VaultPath]:
        """Return the notes that may have a code block that asks for notes (``may_hold_queries``), in path order."""
        return self._ask(catalog_queries.notes_with_queries, progress)

    def count_tags(self, folder: VaultPath | None, progress: Progress) -> list[TagCount]:
        """Return the tags in use and their parent tags, each with its number of notes, children included; most used first."""
        return self._remember(catalog_queries.count_tags, progress, folder)

    def incoming(self, path: VaultPath, progress: Progress) -> list[tuple[VaultPath, Link]]:
        """Return every link in another note that leads to the file, in path and line order."""
        return self._ask(lambda catalog: catalog_queries.incoming(catalog, path), progress)

    def listing_version(self, progress: Progress) -> Hashable:
        """Return a value that differs once a file has come, gone or been renamed."""
        return self._ask(catalog_queries.listing_version, progress)

    def lost_files(self, progress: Progress) -> int:
        """Return a count that grows when files have gone, or may not be seen any more."""
        return self._ask(Catalog.lost_files, progress)

    def links_asking(
        self, names: Collection[str], below: Collection[VaultPath], progress: Progress
    ) -> list[tuple[VaultPath, str]]:
        """Return note and linktext of every link that asks for one of the names (``link_name``), and of every link in
        the notes and below the folders given. Links in notes that the vault's rules exclude count, too.
        """
        return self._ask(lambda catalog: catalog_queries.links_asking(catalog, names, below), progress)

    def resolver(self, progress: Progress) -> Resolve:
        """Return what resolves links, of one note or of very many: it does not look for changes each time."""
        self._ask(lambda _: None, progress)

        def resolve(source: VaultPath, links: list[Link]) -> list[VaultPath | None]:
            return self._ask(lambda catalog: catalog_queries.resolve_all(catalog, source, links), progress, check=False)

        return resolve

    def link_graph(self, progress: Progress) -> LinkGraph:
        """Return the graph of all links; the same object as long as nothing changes."""
        return self._ask(lambda catalog: self._latest_graph(catalog, progress), progress)

    def _latest_graph(self, catalog: Catalog, progress: Progress) -> LinkGraph:
        self._graph = latest = latest_graph(catalog, self._graph, progress)
        return latest[1]

    def rows(self, progress: Progress, *, has_inline_fields: bool = True) -> Rows:
        """Bring the index up to date, and return what answers the questions of one query of a base.

        Where no watch reports changes, each of its hundreds of questions would look at all files of the vault. Without
        ``has_inline_fields``, properties are those of the frontmatter alone.
        """
        self._ask(lambda _: None, progress)
        return Rows(partial(self._ask, check=False), self._memory, has_inline_fields=has_inline_fields)

    # ------------------------------------------------------------------ about many notes at once

    def folders(self, folder: VaultPath | None, progress: Progress) -> list[FolderFiles]:
        """Return the folders that hold files, with what is right in each, in path order."""
        return self._remember(summaries.folders, progress, folder)

    def shared_words(self, path: VaultPath, text: str, progress: Progress) -> SharedWords:
        """Return the rare words that the note at ``path``, whose text is given, shares with others.

        A note that has just changed may be missing until the index has its words, 0.3 seconds after the last change.
        """
        return self._ask(
            lambda catalog: summaries.shared_words(catalog, self._searches.newest_text(), path, text, progress),
            progress,
            text=True,
        )

    def stats_of_notes(self, folder: VaultPath | None, progress: Progress) -> list[NoteStat]:
        """Return every note, in path order. They take 250 bytes each in memory."""
        return self._ask(lambda catalog: catalog_queries.stats_of_notes(catalog, folder), progress)

    def searched(self, progress: Progress) -> Collection[VaultPath]:
        """Return the paths of the notes that searches look into."""
        return self._remember(summaries.searched, progress)

    def names_and_aliases(self, progress: Progress) -> list[tuple[str, VaultPath]]:
        """Return the names of all notes, without ``.md``, and attachments, and all aliases, each with its file's path."""
        return self._ask(summaries.names_and_aliases, progress)

    def same_content(self, progress: Progress) -> list[list[NoteStat]]:
        """Return the notes that have the same bytes as others, by groups, in path order; no empty notes."""
        return self._remember(summaries.same_content, progress)

    # ------------------------------------------------------------------ freshness

    def queue_changes(self, paths: Iterable[str], folders: Iterable[str] = ()) -> None:
        """Note that this process has just changed these files, and files anywhere below these folders.

        The next call re-reads them, or before it the watch loop. This one never raises, never waits and reads nothing: the
        change is made already, and no failure of the index may make it look failed.
        """
        self._fresh.queued.add(paths, folders)

    def building(self) -> str:
        """Say how far the first build is, nothing once it has ended. Does not wait."""
        return self._fresh.building()

    def hold_changes(self) -> AbstractContextManager[None]:
        """While the block runs, do not apply what a watch sees: a large change would have to share its time with that."""
        return self._fresh.queued.held()

    def run_watch_loop(self, on_change: OnChange | None = None) -> None:
        """Watch the files and apply what changes, until ``close``, on the caller's thread.

        Where files cannot be watched, it tries again from time to time. ``on_change`` is called on that
        thread: for the whole vault as soon as the index is up to date, then whenever the index has applied changes,
        whichever program made them, once a burst is over.
        """
        self._fresh.run_watch_loop(on_change)

    @property
    def folder(self) -> str | None:
        """The folder in which it is kept; None for memory."""
        return self._folder.folder

    def report(self, progress: Progress = NO_PROGRESS) -> IndexReport:
        """Check all files and return how the index is stored."""
        return self._fresh.report(progress)

    def close(self) -> None:
        """End the watch loop. Safe from any thread."""
        self._fresh.close()
