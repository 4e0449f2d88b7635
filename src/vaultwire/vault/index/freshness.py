"""Freshness: when the index is brought up to date with the files, by calls and by the watch loop; and what is queued for it.

Where the vault is watched (``run_watch_loop``), changes are applied as they happen, and a call finds them applied. Where it
is not watched, each call checks all files first. A broken index is built again.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias, TypeVar

from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.watch import Changes, Unwatchable, Watch
from vaultwire.vault.errors import Stopped, VaultError
from vaultwire.vault.index import catalog_queries
from vaultwire.vault.index.catalog import Catalog
from vaultwire.vault.index.index_folder import IndexFolder, IndexParts, is_broken
from vaultwire.vault.index.updater import IndexUpdater
from vaultwire.vault.value_types import NO_PROGRESS, Confirmation, IndexReport, NoProgress, Progress
from vaultwire.vault.visibility.excludes import Excludes

_Answer = TypeVar("_Answer")

OnChange: TypeAlias = Callable[[Collection[str], Collection[str]], object]
"""Hears of files that may have changed, and of folders below which some may have; ``""`` is the whole vault."""

# Changes come in bursts. The text index gets them when nothing has changed for so long.
_QUIET_SECONDS = 0.3
STALE_SECONDS = 300.0
"""So often all files are checked again, as soon as nothing has changed for a moment.

No watch reports memory-mapped writes, changes on network volumes (macOS), and events that the kernel dropped under load.
"""
# A call that finds the index broken so often fails: its own two attempts, and those that others rebuilt meanwhile.
_MAX_ATTEMPTS = 5
# How soon to watch again after a watch has died.
_RETRY_SECONDS = 5.0
# Seconds between two looks of a waiting search at how far the text index is.
_POLL_SECONDS = 0.05
# A search waits so long for the whole index. Vaults of a thousand notes are indexed within it.
_PATIENCE_SECONDS = 1.0
# Changes that do not stop coming are reported this often all the same.
_LONGEST_SECONDS = 3.0
# So many files are compared with the catalog at once: a caller that stops meanwhile loses no more of this work.
_BATCH = 5_000


class Freshness:
    """Keeps one vault's index up to date in this process, and asks it questions."""

    def __init__(
        self,
        files: Files,
        folder: IndexFolder,
        excludes: Callable[[], Excludes],
        on_open: Callable[[IndexParts, IndexUpdater], None],
    ) -> None:
        """``on_open`` is called at once, and again whenever the index is replaced by a new one."""
        self._files = files
        self._folder = folder
        self._excludes = excludes
        self._on_open = on_open
        self._watch: Watch | None = None
        self._has_watch_loop = False
        self._text_builder: threading.Thread | None = None
        self._rebuilds = 0  # since the index last was sound
        self._reporter = ChangeReporter(None)
        self.queued = QueuedChanges()
        self._closing = threading.Event()
        self._checked_at = 0.0  # when the watch loop last began to check all files
        self.unwatched = ""
        """Why the vault is not watched."""
        self._open()

    def _open(self) -> None:
        """Open the index or begin a new one. The first check of all files tells whether it is sound."""
        self.parts: IndexParts = self._folder.open()
        self._updater = IndexUpdater(self._files, self.parts, self._excludes)
        self._is_checked = False
        self._on_open(self.parts, self._updater)

    @property
    def is_watched(self) -> bool:
        """Whether a watch reports changes."""
        return self._watch is not None and self._watch.is_alive

    @property
    def will_be_checked(self) -> bool:
        """Whether the watch loop is about to check all files for the first time."""
        return self._has_watch_loop and not self._is_checked

    def ask(
        self,
        question: Callable[[Catalog], _Answer],
        progress: Progress,
        *,
        check: bool = True,
        text: bool = False,
    ) -> _Answer:
        """Bring the catalog up to date, with ``text`` also the text index, and return the answer.

        A broken index is built again; if that breaks too, in memory.
        """
        if text:
            progress = _TwoStages(progress)
        for attempt in range(_MAX_ATTEMPTS):
            parts = self.parts
            try:
                if check:
                    with suppress(StillBuilding):
                        self._bring_up_to_date(progress)
                        if text:
                            self._bring_text_up_to_date(progress)
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
            if self.parts is not parts:
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
        if self._is_checked and self.is_watched and not self.queued:
            return
        with self._updater.working(progress):
            if not (self._is_checked and self.is_watched):
                self._updater.check_all(progress)
                self._is_checked = True
            self.queued.apply(self._updater, progress)

    def _bring_text_up_to_date(self, progress: Progress) -> None:
        """Wait until the text index lacks few notes. Where no watch loop brings it up to date, do so."""
        reported = -1
        while True:
            if not self.is_watched and self._flush(progress):
                return
            if not (self._updater.lacks_many() or (self._updater.is_flushing and not self.is_watched)):
                return
            progress.check()
            # To count them is to look at every file, and only a commit changes their number.
            if (commits := self.parts.catalog.meta("commits")) != reported:
                reported = commits
                so_far = catalog_queries.indexed_so_far(self.parts.catalog)
                if so_far is not None:
                    progress.report(*so_far, f"indexing: {so_far.indexed:,} of {so_far.notes:,} notes")
            self._closing.wait(_POLL_SECONDS)

    def _flush(self, progress: Progress) -> bool:
        is_done = self._updater.flush(progress)
        if is_done:
            self._rebuilds = 0
        return is_done

    @property
    def lacks_changes(self) -> bool:
        """Whether many changes are not in the index yet, beside those of a first build."""
        is_built = not catalog_queries.is_under_way(self.parts.catalog)
        return bool(self.queued) or (is_built and self._updater.lacks_many())

    def can_answer_in_part(self) -> bool:
        """Tell whether a search can be answered before the first build has ended, or before many changes are applied."""
        if not self._has_watch_loop:  # the call builds the index itself, and nobody else would finish that
            return False
        catalog = self.parts.catalog
        if catalog_queries.is_under_way(catalog):
            return catalog_queries.has_some(catalog)
        return self._is_checked and self.is_watched

    def building(self) -> str:
        """Say how far the first build is, nothing once it has ended."""
        with suppress(sqlite3.Error):  # what is broken is for the next question to find out
            what = "text" if self._is_checked else "names, links and properties"
            so_far = catalog_queries.indexed_so_far(self.parts.catalog, has_text=self._is_checked)
            if so_far is not None:
                return f"(Indexed the {what} of {so_far.indexed:,} of {so_far.notes:,} notes so far.)"
        return ""

    def report(self, progress: Progress) -> IndexReport:
        """Check all files and return how the index is stored."""
        started = time.perf_counter()
        self.ask(lambda _: None, progress)
        seconds = time.perf_counter() - started
        not_watched = ""
        try:
            Watch(self._files.root).close()
        except Unwatchable as reason:
            not_watched = str(reason)
        return IndexReport(self._folder.folder, self._folder.problem, seconds, not_watched)

    # ------------------------------------------------------------------ the watch loop

    def run_watch_loop(self, on_change: OnChange | None) -> None:
        """Watch the files and apply what changes, until ``close`` (``Index.run_watch_loop``)."""
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
                self._closing.wait(STALE_SECONDS if watch is None else _RETRY_SECONDS)
        except Stopped:
            return
        finally:
            self._watch = None  # from now on each call checks all files itself
            if self._text_builder is not None:
                self._text_builder.join()

    def _run_watch(self, watch: Watch | None) -> None:
        """Apply what a watch reports as long as it lives."""
        if self.is_closed and watch is not None:
            watch.close()
        while True:
            try:
                self._checked_at = time.monotonic()
                self.ask(lambda _: None, UntilClosed(self._closing))
                self._reporter.report_all()
                if watch is None:
                    self.ask(lambda _: None, UntilClosed(self._closing), text=True)
                self._build_text()
                while watch is not None and watch.is_alive:
                    self._watch_once(watch)
            except VaultError:  # the vault is gone, and each call says so until it is back
                self._is_checked = False
            if watch is None or not watch.is_alive:
                return
            watch.wait(_RETRY_SECONDS)

    def _watch_once(self, watch: Watch) -> None:
        """Wait for changes and apply them; when there are none, flush the text index or check all files."""
        has_pending = self.ask(lambda catalog: catalog.has_pending(), NO_PROGRESS, check=False)
        is_in_burst = has_pending or self._reporter.has_news or not self.queued.is_empty
        seconds = max(0.0, self._checked_at + STALE_SECONDS - time.monotonic())
        changes = self._next_changes(watch, _QUIET_SECONDS if is_in_burst else seconds)
        if self.is_closed:
            return
        self.queued.add(changes.paths, changes.rescan)
        until_closed = UntilClosed(self._closing)
        if changes.settings_changed and self.ask(lambda _: self._updater.has_new_rules(), NO_PROGRESS, check=False):
            self._is_checked = False
            self.ask(lambda _: None, until_closed)
        elif self.queued:
            self.ask(lambda _: self.queued.apply(self._updater, until_closed), NO_PROGRESS, check=False)
        elif any(changes):
            pass  # held back
        elif has_pending and not self._updater.lacks_many():
            self.ask(lambda _: self._flush(until_closed), NO_PROGRESS, check=False)
        elif not is_in_burst:
            self._checked_at = time.monotonic()
            self.ask(lambda _: self._updater.check_all_in_background(until_closed), NO_PROGRESS, check=False)
            self._reporter.report_all()
        self._build_text()
        self._reporter.add(changes.paths, ("",) if changes.settings_changed else changes.rescan)
        self._reporter.report(is_quiet=not any(changes))

    def _build_text(self) -> None:
        """If the text index lacks many notes, have it get them on a thread of its own: the watch loop must go on."""
        builder = self._text_builder
        if (builder is None or not builder.is_alive()) and self._updater.lacks_many():
            self._text_builder = threading.Thread(target=self._run_text_builder, name="text index")
            self._text_builder.start()

    def _run_text_builder(self) -> None:
        with suppress(Stopped, VaultError):
            self.ask(lambda _: self._flush(UntilClosed(self._closing)), UntilClosed(self._closing), check=False)

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


class QueuedChanges:
    """Files and folders to check at the next call. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Files, and folders with a "/" behind. Each with a count that says when it was added.
        self._queued: dict[str, int] = {}
        self._count = 0
        self._holders = 0

    def __bool__(self) -> bool:
        """Tell whether there is something to apply now."""
        return bool(self._queued) and not self._holders

    @property
    def is_empty(self) -> bool:
        """Whether nothing is queued, nor has to wait (see ``held``)."""
        return not self._queued

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let what is queued wait while the block runs, as if nothing were queued.

        A large change makes tens of thousands of system calls. Beside a thread that parses the files it has written so far,
        each of them waits up to 5 ms for Python's lock: the change would take three times as long.
        """
        with self._lock:
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1

    def add(self, paths: Iterable[str], folders: Iterable[str]) -> None:
        """Add files, and files anywhere below these folders."""
        with self._lock:
            self._count += 1
            self._queued |= dict.fromkeys(paths, self._count)
            self._queued |= dict.fromkeys((f"{folder}/" for folder in folders), self._count)

    def apply(self, updater: IndexUpdater, progress: Progress) -> None:
        """Check files and folders, some at a time, and forget them. What was not checked, or was added again, stays.

        ``progress`` may stop it after each batch: the next call goes on from there.
        """
        with updater.working(progress):
            with self._lock:
                folders = {path: when for path, when in self._queued.items() if path.endswith("/")}
            for folder, when in folders.items():
                below = updater.changed_below(folder[:-1], progress)
                with self._lock:
                    self._queued = dict.fromkeys(below, self._count) | self._queued
                self._forget({folder: when})
            with self._lock:
                queued = [(path, when) for path, when in self._queued.items() if not path.endswith("/")]
            for start in range(0, len(queued), _BATCH):
                batch = dict(queued[start : start + _BATCH])
                updater.check_part(batch, start, len(queued), progress)
                self._forget(batch)

    def _forget(self, checked: dict[str, int]) -> None:
        """Forget what was checked. Not sooner: other calls wait meanwhile."""
        with self._lock:
            self._queued = {path: when for path, when in self._queued.items() if when != checked.get(path)}


class ChangeReporter:
    """The changes of one vault that are not reported yet. For the thread of the watch loop."""

    def __init__(self, on_change: OnChange | None) -> None:
        self._on_change = on_change
        self._paths: set[str] = set()
        self._folders: set[str] = set()
        self._since = 0.0

    @property
    def has_news(self) -> bool:
        """Whether something is to be reported."""
        return bool(self._paths or self._folders)

    def add(self, paths: Iterable[str], folders: Iterable[str]) -> None:
        """Take note that these files, and files below these folders, may have changed; ``""`` is the whole vault."""
        if self._on_change is None:
            return
        if not self.has_news:
            self._since = time.monotonic()
        self._paths.update(paths)
        self._folders.update(folders)

    def report_all(self) -> None:
        """Report that anything in the vault may have changed."""
        self.add((), ("",))
        self.report(is_quiet=True)

    def report(self, *, is_quiet: bool) -> None:
        """Report what there is, if nothing has changed for a moment or the first of it is some seconds old."""
        if self._on_change is None or not self.has_news:
            return
        if not is_quiet and time.monotonic() - self._since < _LONGEST_SECONDS:
            return
        paths, folders = self._paths, self._folders
        self._paths, self._folders = set(), set()
        self._on_change(paths, folders)


class UntilClosed(NoProgress):
    """Tells work to stop once an event is set."""

    def __init__(self, closing: threading.Event) -> None:
        self._closing = closing

    def check(self) -> None:
        """Raise Stopped once the index is closed."""
        if self._closing.is_set():
            raise Stopped


class StillBuilding(Exception):  # noqa: N818 - no error: the answer is then about the notes indexed so far
    """The first build goes on, or many changes are applied, and a search has waited long enough for it."""


class Patience:
    """Progress of a search, which need not wait for the end of the first build, or until all changes are applied."""

    def __init__(self, progress: Progress, has_some: Callable[[], bool]) -> None:
        """``has_some`` tells whether a part of the notes can be found already."""
        self._progress = progress
        self._has_some = has_some
        self._until = time.monotonic() + _PATIENCE_SECONDS
        self.is_over = False

    def check(self) -> None:
        """Raise ``StillBuilding`` if the call has waited long enough and can have a part of the notes."""
        self._progress.check()
        if time.monotonic() > self._until and self._has_some():
            self.is_over = True
            raise StillBuilding

    def report(self, done: int, total: int, message: str) -> None:
        """Report to the caller."""
        self._progress.report(done, total, message)

    def confirm(self, question: Confirmation) -> None:
        """Ask the caller."""
        self._progress.confirm(question)


class _TwoStages:
    """Progress of the catalog, then of the text index: what is reported never goes back."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._before = self._done = self._total = 0

    def check(self) -> None:
        """Ask the caller."""
        self._progress.check()

    def report(self, done: int, total: int, message: str) -> None:
        """Report to the caller."""
        if done < self._done:
            self._before += self._total
        self._done, self._total = done, total
        self._progress.report(self._before + done, self._before + total, message)

    def confirm(self, question: Confirmation) -> None:
        """Ask the caller."""
        self._progress.confirm(question)
