"""The port of the index: what the engine asks of it. It holds derived data only: deleting an index loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from vaultwire.markdown.parsed_note import Link
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.index.rows import Rows, Survey
from vaultwire.vault.link_graph import LinkGraph
from vaultwire.vault.listed import Listed, PathKeys
from vaultwire.vault.search.filters import NoteFilter, TaskFilter
from vaultwire.vault.search.query import Query
from vaultwire.vault.value_types import (
    Found,
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

OnChange: TypeAlias = Callable[[Collection[str], Collection[str]], object]
"""Hears of files that may have changed, and of folders below which some may have; ``""`` is the whole vault."""


Misfits: TypeAlias = Mapping[str, Callable[[PropertyValue], bool]]
"""By folded name of a property: tells whether a value is of the wrong type."""


Resolve: TypeAlias = Callable[[VaultPath, list[Link]], list[VaultPath | None]]
"""Returns the path that each link of a note leads to, None for a broken link."""


class Index(Protocol):
    """Answers questions about the vault. Answers are true of the files at call time, or of the last event of a watch.

    ``folder`` limits an answer to the notes below it. A call may have to wait until all files are checked: it calls
    ``progress.report`` meanwhile, and ``progress.check``, which raises when the call should stop. Notes that the vault's
    own rules exclude are in ``notes``, ``named``, ``paths``, ``files_after``, ``links_asking``, ``resolver``,
    ``notes_with`` and ``notes_with_queries``, and in ``tasks`` of one note; no other answer has them.
    """

    def notes(self, folder: VaultPath | None, progress: Progress) -> Listed[NoteStat]:
        """Return every note, in path order."""

    def named(self, names: Collection[str], progress: Progress) -> list[VaultPath] | None:
        """Return every file, note or attachment, of one of these names, in any case; None instead of waiting for long."""

    def files_after(self, after: str, limit: int, progress: Progress) -> list[NoteStat] | None:
        """Return ``limit`` files after a path, in path order: notes and attachments; None instead of waiting for long."""

    def recent(self, folder: VaultPath | None, limit: int, progress: Progress) -> tuple[list[NoteStat], int]:
        """Return the latest changed notes, the latest first, and the number of all notes."""

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

    def search_each(
        self, queries: Sequence[Query], folder: VaultPath | None, limit: int, progress: Progress
    ) -> list[Found]:
        """Return the first page for each query, as ``search`` does, but without looking for changes.

        For a few more searches right after one; with a ``limit`` of 0 only to count.
        """

    def find(self, wanted: NoteFilter, folder: VaultPath | None, progress: Progress) -> Listed[NamedNote]:
        """Return the notes that meet the conditions, in the order asked for."""

    def properties(self, name: str, folder: VaultPath | None, progress: Progress) -> list[PropertyKinds]:
        """Return the properties in use, most used first; with a ``name``, in any case, only that one."""

    def property_values(self, name: str, folder: VaultPath | None, progress: Progress) -> list[ValueUse]:
        """Return the values of a property (its name in any case), most used first; those of a list one by one."""

    def tasks(
        self, wanted: TaskFilter, path: VaultPath | None, folder: VaultPath | None, progress: Progress
    ) -> Listed[TaskPlace]:
        """Return the tasks that meet the conditions, in path and line order, or by their due dates (``TaskFilter.by_due``).

        With a ``path``, only the tasks of that note, even if the vault's rules exclude it.
        """

    def stats(self, limit: int, progress: Progress) -> VaultStats:
        """Return statistics of the vault, with ``limit`` of the largest folders and of the problems."""

    def paths(self, progress: Progress) -> list[VaultPath]:
        """Return every file a link may lead to, notes and attachments, in path order."""

    def tagged(
        self, tags: Sequence[str], folder: VaultPath | None, progress: Progress, *, every: bool
    ) -> Listed[Tagged]:
        """Return the notes that have every one of the tags, or any of them, in path order. ``a/b`` counts as ``a``, too."""

    def notes_with(self, tag: str, name: str, progress: Progress) -> tuple[list[VaultPath], list[VaultPath]]:
        """Return the notes that have the tag, or one below it, or else the property, for changes to all that have it.

        First those that the vault's rules do not exclude, then those that they exclude, both in path order. Either ``tag``
        or ``name`` is empty.
        """

    def notes_with_queries(self, progress: Progress) -> list[VaultPath]:
        """Return the notes that may have a code block that asks for notes (``may_hold_queries``), in path order."""

    def count_tags(self, folder: VaultPath | None, progress: Progress) -> list[TagCount]:
        """Return the tags in use and their parent tags, each with its number of notes, children included; most used first."""

    def incoming(self, path: VaultPath, progress: Progress) -> list[tuple[VaultPath, Link]]:
        """Return every link in another note that leads to the file, in path and line order."""

    def links_asking(
        self, names: Collection[str], below: Collection[VaultPath], progress: Progress
    ) -> list[tuple[VaultPath, str]]:
        """Return note and linktext of every link that asks for one of the names (``link_name``), and of every link in
        the notes and below the folders given. Links in notes that the vault's rules exclude count, too.
        """

    def resolver(self, progress: Progress) -> Resolve:
        """Return what resolves links, of one note or of very many: it does not look for changes each time."""

    def suspects(
        self, folder: VaultPath | None, misfits: Misfits, progress: Progress
    ) -> tuple[PathKeys, Sequence[int]]:
        """Return every note and canvas that is checked for faults (``vault.links.checks``), in path order, and the numbers
        of those that may have one.
        """

    @property
    def survey(self) -> Survey:
        """Answers about many notes at once."""

    @property
    def rows(self) -> Rows:
        """Answers for queries of bases."""

    def link_graph(self, progress: Progress) -> LinkGraph:
        """Return the graph of all links; the same object as long as nothing changes."""

    def listing_version(self, progress: Progress) -> Hashable:
        """Return a value that differs once a file has come, gone or been renamed."""

    def lost_files(self, progress: Progress) -> int:
        """Return a count that grows when files have gone, or may not be seen any more."""

    def building(self) -> str:
        """Say how far the first build is, nothing once it has ended. Does not wait."""

    def hold_changes(self) -> AbstractContextManager[object]:
        """While the block runs, do not apply what a watch sees: a large change would have to share its time with that."""

    def queue_changes(self, paths: Iterable[str], folders: Iterable[str] = ()) -> None:
        """Note that this process has just changed these files, and files anywhere below these folders.

        The next call re-reads them. This one never raises, never waits and reads nothing: the change is made already, and
        no failure of the index may make it look failed.
        """

    def run_watch_loop(self, on_change: OnChange | None = None) -> None:
        """Watch the files and apply what changes, until ``close``, on the caller's thread.

        Where files cannot be watched, it tries again from time to time. ``on_change`` is called on that
        thread: for the whole vault as soon as the index is up to date, then whenever the index has applied changes,
        whichever program made them, once a burst is over.
        """

    def close(self) -> None:
        """End the watch loop. Safe from any thread."""
