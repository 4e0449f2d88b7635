"""The port every index fills: what the engine asks of derived state. Deleting an index loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Protocol, TypeAlias

from vaultwire.markdown.model import Link
from vaultwire.vault.link_graph import LinkGraph
from vaultwire.vault.model import (
    Found,
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
from vaultwire.vault.search.finding import Wanted, WantedTasks
from vaultwire.vault.search.query import Query

OnChange: TypeAlias = Callable[[Collection[str], Collection[str]], object]
"""Hears of files that may have changed, and of folders below which some may have; ``""`` is the whole vault."""


class Index(Protocol):
    """What is in the vault. Every answer is true of the files at call time, or at the last moment a watch could tell of.

    ``folder`` narrows to the notes below it. A call may have to wait until the vault is looked over: it says so by
    ``progress.report``, and hears by ``progress.check`` whether to go on. Notes that the vault's own rules exclude are
    there in ``notes``, ``paths``, ``resolve_all`` and ``excluded_with``; no other answer has them.
    """

    def notes(self, folder: VaultPath | None, progress: Progress) -> list[NoteStat]:
        """Return every note, in path order."""

    def named(self, names: Collection[str], progress: Progress) -> list[VaultPath] | None:
        """Return every note whose file name is one of these, whatever the case; None instead of waiting for long."""

    def recent(self, folder: VaultPath | None, limit: int, progress: Progress) -> tuple[list[NoteStat], int]:
        """Return the notes changed last, the latest first, and how many there are in all."""

    def search(self, query: Query, folder: VaultPath | None, offset: int, limit: int, progress: Progress) -> Found:
        """Return ``limit`` notes that match, best first, equals in path order, and how many match in all."""

    def find(
        self, wanted: Wanted, folder: VaultPath | None, offset: int, limit: int, progress: Progress
    ) -> tuple[list[NamedNote], int]:
        """Return ``limit`` notes that are as wanted, in the order wanted, and how many are in all."""

    def properties(self, name: str, folder: VaultPath | None, progress: Progress) -> list[PropertyKinds]:
        """Return the properties in use, most used first; only the one of that name, whatever its case, if it is given."""

    def property_values(self, name: str, folder: VaultPath | None, progress: Progress) -> list[ValueUse]:
        """Return the values of a property, whatever its case, most used first; those of a list one by one."""

    def tasks(
        self,
        wanted: WantedTasks,
        path: VaultPath | None,
        folder: VaultPath | None,
        offset: int,
        limit: int,
        progress: Progress,
    ) -> tuple[list[TaskPlace], int]:
        """Return ``limit`` tasks that are as wanted, in path and line order, and how many are in all.

        ``path`` is of the one note whose tasks count, which the vault's rules may exclude.
        """

    def stats(self, limit: int, progress: Progress) -> VaultStats:
        """Return the vault in numbers, with ``limit`` of the largest folders and of the problems."""

    def paths(self, progress: Progress) -> list[VaultPath]:
        """Return every file a link may lead to, notes and attachments, in path order."""

    def tagged(self, tags: Sequence[str], folder: VaultPath | None, progress: Progress, *, every: bool) -> list[Tagged]:
        """Return the notes that have every one of the tags, or any of them, in path order. ``a`` is there in ``a/b``."""

    def excluded_with(self, tag: str, name: str, progress: Progress) -> list[VaultPath]:
        """Return the notes that the vault's rules exclude and that have the tag, or one below it, or else the property of that
        name, in path order: for those who change what all notes have. One of both is empty.
        """

    def count_tags(self, folder: VaultPath | None, progress: Progress) -> list[TagCount]:
        """Return the tags in use and those above them, each with the notes that have it or one below; most used first."""

    def incoming(self, path: VaultPath, progress: Progress) -> list[tuple[VaultPath, Link]]:
        """Return every link in another note that leads to the file, in path and line order."""

    def links_asking(
        self, names: Collection[str], below: Collection[VaultPath], progress: Progress
    ) -> list[tuple[VaultPath, str]]:
        """Return note and linktext of every link that asks for one of the names (``links.name_of``), and of every link in
        the notes and below the folders given. Notes that the vault's rules exclude have their part: their links lead
        somewhere too.
        """

    def resolve_all(self, source: VaultPath, links: list[Link], progress: Progress) -> list[VaultPath | None]:
        """Return where each link of a note leads, None for one that leads nowhere."""

    def link_graph(self, progress: Progress) -> LinkGraph:
        """Return how all notes are linked; the same object as long as nothing changes."""

    def listing_version(self, progress: Progress) -> Hashable:
        """Return a value that differs once a file has come, gone or been renamed."""

    def queue_changes(self, paths: Iterable[str], folders: Iterable[str] = ()) -> None:
        """Hear that this process has just changed these files, and files anywhere below these folders.

        Never raises, waits for nobody and reads nothing: the change is made already, and no trouble of the index may
        make it look like a failed one. The next call takes the files up.
        """

    def run_watch_loop(self, on_ready: Callable[[], None] | None = None, on_change: OnChange | None = None) -> None:
        """Watch the files and take up what changes, until ``close``; returns at once where files cannot be watched.

        ``on_ready`` is called once, on the caller's thread, as soon as the index is true of the files. ``on_change`` is
        called on that thread whenever the index has applied changes, whichever program made them, once a burst is over.
        """

    def close(self) -> None:
        """End ``run_watch_loop``. Safe from any thread."""
