"""The index updater: finds out which files changed, reads them, and writes catalog and text index.

It does not watch the disk and does not decide when to look: ``stored_index`` does.

The catalog comes first, in small transactions. The text index follows, because its commits cost more. The catalog marks
what the text index still lacks, and searches read those notes themselves. So a process that is killed at any moment leaves
marks, and the next process finishes the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.disk.walk import ListedNames
from vaultwire.vault.index.store import first_build
from vaultwire.vault.index.store.allocator import give_back_memory
from vaultwire.vault.index.store.catalog_queries import count_notes
from vaultwire.vault.index.store.changed_files import Change, ChangedFiles, IndexedNotes
from vaultwire.vault.index.store.commit_schedule import commit_points, shown_points
from vaultwire.vault.index.store.encoded import without_encoded
from vaultwire.vault.index.store.index_folder import IndexParts
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.note_reader import NoteToRead, read_note
from vaultwire.vault.index.store.schema import PENDING, UNREAD, FileRow, KnownFile, Record
from vaultwire.vault.index.store.text_index import Fields, TextDocument
from vaultwire.vault.index.store.tokenizer import folded_words
from vaultwire.vault.search.note_parts import is_searchable, read_searchable
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat, Progress, VaultPath
from vaultwire.vault.visibility.excludes import Excludes

# More changes than this go into the text index at once; fewer wait for the next flush.
_MANY = 200
# Changes to this share of all notes count as a rebuild: the vocabulary is then read from the text index, at 0.04 ms for each
# note there is. Adding the words of one note takes 0.15 ms.
_REBUILD_SHARE = 0.25
# So many notes tell which n-grams most words hold, about as well as ten times as many do.
_SAMPLE = 50
# Seconds between two looks whether a waiting caller is still there.
_POLL_SECONDS = 0.05
_EXCLUDES = "excludes"


class _Found(NamedTuple):
    """What the updater found in a file: the record for the catalog (None if the catalog has it), fields for the text index."""

    record: Record | None
    is_racy: bool = False
    fields: Fields | None = None


class IndexUpdater:
    """Updates one vault's index in this process. Safe to call from several threads: one works, the others wait."""

    def __init__(self, files: Files, parts: IndexParts, excludes: Callable[[], Excludes]) -> None:
        self._files = files
        self._catalog, self._text, self._words, self._process_lock = parts
        self._excludes = excludes
        self._lock = threading.RLock()
        self._is_committing = False
        self._has_rebuilt = False
        self._done = self._total = 0  # progress of the work, for those who wait for it
        self._place = (0, 0)  # what was done before it, and the total, if it is a part of more
        self.committed: int | None = None
        """The catalog's count of text index commits after the last commit made here: this process has that one loaded."""

    # ------------------------------------------------------------------ finding changes

    def check_all(self, progress: Progress) -> None:
        """Check every file and apply what changed. One process at a time: what one has read, the others need not read."""
        lock = self._process_lock
        with self.working(progress), lock.held(progress) if lock else nullcontext():
            rules = self._excludes()
            self._check_folder("", rules, progress)
            if self.has_new_rules():
                self._catalog.set_meta(_EXCLUDES, rules.stamp)

    def check_all_in_background(self, progress: Progress) -> None:
        """Check every file as ``check_all`` does, but make callers wait only while changes are applied."""
        if self.has_new_rules():
            self.check_all(progress)
            return
        changed, lost = self._changes_below("", self._excludes(), progress)
        if changed or lost:
            # Each is checked again: others may have changed it meanwhile, and have applied that.
            self.check([*changed.paths, *lost], progress=progress)

    def has_new_rules(self) -> bool:
        """Tell whether other notes may be excluded than when all files were checked last."""
        return self._excludes().stamp != (self._catalog.meta(_EXCLUDES) or "")

    def check_part(self, paths: Iterable[str], done: int, total: int, progress: Progress) -> None:
        """Check these files as ``check`` does. They are a part of so many, of which so many are done: for the progress."""
        with self.working(progress):
            self._place = (done, total)
            try:
                self.check(paths, (), progress)
            finally:
                self._place = (0, 0)

    def changed_below(self, folder: str, progress: Progress) -> list[str]:
        """Return the files below a folder that are new, changed or gone. Does not apply them."""
        with self.working(progress):
            changed, lost = self._changes_below(folder, self._excludes(), progress)
            return [*changed.paths, *lost]

    def check(self, paths: Iterable[str], folders: Iterable[str] = (), progress: Progress = NO_PROGRESS) -> None:
        """Check these files, and all files below these folders, and apply what changed."""
        with self.working(progress):
            rules = self._excludes()
            changed, lost = ChangedFiles(), list[str]()
            names = ListedNames(self._files.root)  # after a rename from "a" to "A", some disks still find "a"
            for path in set(paths):
                progress.check()
                stat = self._files.look_at(VaultPath(path)) if names.have(path) else None
                known = self._catalog.known(path)
                if stat is None:
                    lost += [path] if known else []
                elif must_be_read(stat, known, rules):
                    changed.add(stat, known)
            self._apply_changes(changed, lost, rules, progress)
            for folder in sorted(set(folders)):
                self._check_folder(folder, rules, progress)

    def _check_folder(self, start: str, rules: Excludes, progress: Progress) -> None:
        changed, lost = self._changes_below(start, rules, progress)
        self._apply_changes(changed, lost, rules, progress)

    def _changes_below(self, start: str, rules: Excludes, progress: Progress) -> tuple[ChangedFiles, list[str]]:
        """Return the files below a folder that are new or changed, and the paths of those that are gone."""
        changed, lost = ChangedFiles(), list[str]()
        gone = {folder for folder in self._catalog.folders() if not start or f"{folder}/".startswith(f"{start}/")}
        for folder, stats in self._files.walk_folders(VaultPath(start) if start else None):
            progress.check()
            gone.discard(folder)
            if rules.is_empty and self._catalog.is_folder_unchanged(folder, stats):
                continue
            known = self._catalog.folder(folder)
            for stat in stats:
                was = known.pop(stat.path, None)
                if must_be_read(stat, was, rules):
                    changed.add(stat, was)
            lost += known
        for folder in gone:
            lost += self._catalog.folder(folder)
        return changed, lost

    @contextmanager
    def working(self, progress: Progress) -> Iterator[None]:
        """Hold the updater's lock. While waiting for it, report the progress of the thread that has it."""
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            progress.check()
            if self._total:
                self._report(progress)
        try:
            yield
        finally:
            self._lock.release()

    def _report(self, progress: Progress) -> None:
        before, all_files = self._place
        done, total = before + self._done, max(all_files, self._total)
        progress.report(done, total, f"indexing: {done:,} of {total:,} files")

    @contextmanager
    def _unlocked(self) -> Iterator[None]:
        """Let other threads use the catalog meanwhile, but not the text index. No effect where the lock is held twice."""
        self._is_committing = True
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()
            self._is_committing = False

    # ------------------------------------------------------------------ applying changes

    def _apply_changes(self, changed: ChangedFiles, lost: list[str], rules: Excludes, progress: Progress) -> None:
        """Write to the catalog what new and changed files hold, and remove lost files; many go to the text index, too."""
        if lost:
            self._catalog.forget(lost)
        self._done, self._total = 0, len(changed)
        try:
            if len(changed) > _MANY and self._start_writing():
                self._apply_many(changed, rules, progress)
            else:
                for batch in changed.batches():
                    self._apply_batch(batch, NgramFilter(), rules, progress, for_text=False)
        finally:
            self._done = self._total = 0

    def _apply_many(self, changed: ChangedFiles, rules: Excludes, progress: Progress) -> None:
        """Apply changes to so many files that they go to the text index at once. Needs the right to write it."""
        is_rebuild = self._is_rebuild(len(changed))
        points = commit_points(self._total) if is_rebuild else [self._total]
        shown = shown_points(points)
        notes = [path for path in sorted(changed.paths) if is_searchable(path) and not rules.hides(path)]
        if len(points) > 1 and self._catalog.is_empty():
            first_build.begin(self._catalog, len(notes))
        is_writing = True
        indexed = IndexedNotes()
        try:
            ngrams = self._ngram_filter(notes)
            del notes
            with self._catalog.without_sql_indexes() if is_rebuild else nullcontext():
                for batch in changed.batches(points):
                    rows = self._apply_batch(batch, ngrams, rules, progress, for_text=is_writing)
                    for row, each, is_new in rows if is_writing else ():
                        self._put(row, each.fields, is_new=is_new, adds_words=not is_rebuild)
                        indexed.add(row)
                    if is_writing and self._done in shown:
                        is_last = self._done == self._total
                        self._commit(indexed, [], is_rebuild=is_rebuild, is_last=is_last)
                        indexed.clear()
                        # If another process takes the right to write now, the other notes wait for the next flush.
                        is_writing = is_last or self._text.start_writing()
                    elif is_writing and self._done in points:
                        give_back_memory()  # of the commit before: 20 MB
                        self._text.save()
        finally:
            self._text.stop_writing()
            give_back_memory()  # of this batch: 30 to 50 MB that small blocks would hold until the process ends
            self._has_rebuilt |= is_rebuild

    def _apply_batch(
        self, batch: list[Change], ngrams: NgramFilter, rules: Excludes, progress: Progress, *, for_text: bool
    ) -> list[tuple[FileRow, _Found, bool]]:
        """Read files and write to the catalog what they hold. Return the notes that the text index lacks, as below."""
        self._report(progress)
        found = []
        for change in batch:
            progress.check()
            found.append(self._read(change, ngrams, hidden=rules.hides(change[0].path), for_text=for_text))
        rows = self._write_to_catalog(found, batch)
        self._done += len(batch)
        return rows

    def _read(self, change: Change, ngrams: NgramFilter, *, hidden: bool, for_text: bool) -> _Found:
        """Read a changed file. A file that cannot be read gives nothing to write if the catalog says so already."""
        stat, known = change
        if not is_searchable(stat.path):
            return _Found(Record(stat, is_note=False, hidden=hidden))
        digest = known.digest if known is not None and known.hidden == hidden else None
        note = NoteToRead(stat.path, stat.modified_ns, digest, for_text and not hidden)
        content = read_note(self._files, note, ngrams)
        if isinstance(content, str):
            return _Found(None if digest == UNREAD else _unreadable(stat, content, hidden=hidden))
        if content.facts is None:
            return _Found(None, content.is_racy)
        digest, is_racy, state, problem, facts, fields, *flags = content
        record = Record(stat, is_note(stat.path), hidden, state, digest, is_racy, problem, facts, *flags)
        return _Found(record, is_racy, fields)

    def _write_to_catalog(self, found: list[_Found], batch: list[Change]) -> list[tuple[FileRow, _Found, bool]]:
        """Write what was found. Return the notes the text index lacks, each with whether it is new there."""
        touched = [
            (stat, each.is_racy)
            for (stat, known), each in zip(batch, found, strict=True)
            if each.record is None and (known is None or (*stat[1:], each.is_racy) != known[:4])
        ]
        if touched:
            self._catalog.touch(touched)
        new = [(each.record, each) for each in found if each.record is not None]
        if not new:
            return []
        ids, first_new = self._catalog.store(record for record, _ in new)
        return [
            (
                FileRow(note_id, record.stat, record.is_note, record.hidden, record.state, record.digest),
                each,
                note_id >= first_new,
            )
            for note_id, (record, each) in zip(ids, new, strict=True)
            if record.state == PENDING
        ]

    def _is_rebuild(self, count: int) -> bool:
        """Tell whether so many changed notes hold most of the words there will be."""
        return count > max(_MANY, _REBUILD_SHARE * count_notes(self._catalog, None))

    def _start_writing(self) -> bool:
        """Take the right to write the text index; False if another process or thread has it."""
        return not self._is_committing and self._text.start_writing()

    def _ngram_filter(self, paths: list[VaultPath]) -> NgramFilter:
        """Return the n-gram filter of the text index, learned from these notes if there is none. Needs the right to write."""
        ngrams = self._words.ngrams()
        if ngrams is None:
            texts = (read_searchable(self._files, path) for path in paths[:: len(paths) // _SAMPLE + 1])
            ngrams = self._words.learn_ngrams(folded_words(without_encoded(text)) for text in texts if text is not None)
        return ngrams

    def _put(self, row: FileRow, fields: Fields | None, *, is_new: bool = False, adds_words: bool) -> None:
        """Put a note into the text index and its words into the vocabulary; take it out if it is hidden or has no fields."""
        if row.hidden or fields is None:
            self._text.remove(row.id)
            return
        document = TextDocument(row.id, *fields)
        self._text.put(document, is_new=is_new)
        if adds_words:
            self._words.add(document)

    def flush(self, progress: Progress = NO_PROGRESS) -> bool:
        """Bring the text index up to the catalog. Return False if another process or thread is writing it."""
        with self.working(progress):
            is_done = self._flush(progress)
            if is_done:
                first_build.end(self._catalog)
            if self._has_rebuilt:  # not sooner: until the check of all files has ended, its lists are in memory
                self._has_rebuilt = False
                self._catalog.release_memory()
                give_back_memory()
            return is_done

    def _flush(self, progress: Progress) -> bool:
        rows = [row for row in self._catalog.not_indexed() if row.state == PENDING]
        gone = self._catalog.gone()
        if not (rows or gone):
            return True
        if not self._start_writing():
            return False
        try:
            for note_id in gone:
                self._text.remove(note_id)
            is_rebuild = self._is_rebuild(len(rows))
            ngrams = self._ngram_filter([row.stat.path for row in rows if not row.hidden])
            for number, row in enumerate(rows):
                progress.check()
                # Without the known digest: the text index needs the fields even if the note has not changed.
                note = NoteToRead(row.stat.path, row.stat.modified_ns, None, not row.hidden)
                content = read_note(self._files, note, ngrams)
                if isinstance(content, str):  # unreadable now: each later check tries it again
                    self._catalog.store([_unreadable(row.stat, content, hidden=row.hidden)])
                    rows[number] = row._replace(digest=UNREAD)
                fields = None if isinstance(content, str) else content.fields
                self._put(row, fields, adds_words=not is_rebuild)
            self._commit(IndexedNotes(rows), gone, is_rebuild=is_rebuild, unlocks=True)
        finally:
            self._text.stop_writing()
        return True

    def _commit(
        self,
        indexed: IndexedNotes,
        gone: list[int],
        *,
        is_rebuild: bool,
        is_last: bool = True,
        unlocks: bool = False,
    ) -> None:
        """Commit the text index. ``is_rebuild``: read the whole vocabulary from it. ``is_last``: no other commit follows soon.

        ``unlocks``: let other threads work meanwhile. Notes that they change keep their marks in the catalog.
        """
        with self._unlocked() if unlocks else nullcontext():  # 20 ms, mostly waiting for the disk
            self._text.commit()
        if is_rebuild and is_last:
            # Now: merging and reading all words at once would take twice the memory.
            self._catalog.empty_caches()
            give_back_memory()
            self._text.stop_writing()
            give_back_memory()
        with self._catalog.writing():
            committed = self._catalog.mark_indexed(indexed, gone)
            if is_rebuild:
                self._words.replace_all(self._text.words)
            else:
                self._words.store()
        self.committed = committed


def must_be_read(stat: NoteStat, known: KnownFile | None, rules: Excludes) -> bool:
    """Tell whether the file is new, differs from what is known, or is hidden by other rules than before."""
    return (
        known is None
        or known.is_racy
        or (stat.size, stat.modified_ns, stat.stamp) != known[:3]
        or rules.hides(stat.path) != known.hidden
        or (known.digest == UNREAD and is_searchable(stat.path))  # permissions and clouds change no time
    )


def _unreadable(stat: NoteStat, problem: str, *, hidden: bool) -> Record:
    return Record(stat, is_note=is_note(stat.path), hidden=hidden, state=PENDING, problem=problem)
