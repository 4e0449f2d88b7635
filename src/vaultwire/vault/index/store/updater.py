"""Keeping catalog and text index true of the files: seeing what changed, reading it, writing it down.

First the catalog, in small transactions, then the text index, whose commits are dearer: what it still lacks is marked in the
catalog, and searches read those notes themselves. A process killed anywhere in between leaves marks for the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from typing import NamedTuple, TypeAlias

from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.index.store.index_folder import IndexParts
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.note_reader import NoteContent, NoteToRead
from vaultwire.vault.index.store.reading_ahead import Second, read_all
from vaultwire.vault.index.store.schema import PENDING, UNREAD, KnownFile, Record, Row
from vaultwire.vault.index.store.search_plan import BODY, PATH
from vaultwire.vault.index.store.text_index import Fields, TextDocument
from vaultwire.vault.index.store.tokenizer import folded_words
from vaultwire.vault.model import NO_PROGRESS, NoteStat, Progress, VaultPath
from vaultwire.vault.search.searched import is_searched, read_searched
from vaultwire.vault.visibility.excludes import Excludes

# More than so many go into the text index on the way.
_MANY = 200
# From such a part of all notes on, all words in use are found out anew: adding a note's takes 0.15 ms, that 0.04 for each
# note there is.
_ANEW = 0.25
# Files of one transaction: others who want to write wait 0.1 s at most.
_BATCH = 500
# And bytes of them: what is found in notes waits in memory until a batch is written down, up to 150 bytes for each byte.
_BATCH_BYTES = 2_000_000
# So many notes tell which ngrams very many words hold, about as well as ten times as many do.
_SAMPLE = 50
# How often waiting looks whether the caller is still there.
_PATIENCE = 0.05
_EXCLUDES = "excludes"

Change: TypeAlias = tuple[NoteStat, KnownFile | None]


class _Found(NamedTuple):
    """What a file holds: what the catalog gets of it, None if that is there already; and what the text index does."""

    record: Record | None
    is_racy: bool = False
    fields: Fields | None = None


class IndexUpdater:
    """The upkeep of one vault's index by this process. Safe to call from several threads: one works, the others wait."""

    def __init__(
        self,
        files: Files,
        parts: IndexParts,
        excludes: Callable[[], Excludes],
    ) -> None:
        self._files = files
        self._catalog, self._text, self._words, self._process_lock = parts
        self._excludes = excludes
        self._lock = threading.RLock()
        self._is_committing = False
        self._done = self._total = 0  # how far the work is, for those who wait for it
        self.committed: int | None = None
        """How many commits of the text index there were with the last one made here, which needs no taking up."""

    # ------------------------------------------------------------------ seeing

    def check_all(self, progress: Progress) -> None:
        """Look at every file and take up what changed, one process at a time: what one has read, the others need not."""
        with self.working(progress), self._process_lock.held(progress):
            rules = self._excludes()
            self._check_folders("", rules, progress)
            if rules.stamp != (self._catalog.meta(_EXCLUDES) or ""):
                self._catalog.set_meta(_EXCLUDES, rules.stamp)

    def look_over(self, progress: Progress) -> None:
        """Look at every file as ``check_all`` does, but keep others waiting only while what changed is taken up."""
        rules = self._excludes()
        if rules.stamp != (self._catalog.meta(_EXCLUDES) or ""):
            self.check_all(progress)
            return
        changed, lost = self._changes_below("", rules, progress)
        if changed or lost:
            # Each is looked at anew: others may have changed it meanwhile, and taken it up.
            self.check([*(stat.path for stat, _ in changed), *lost], progress=progress)

    def check(self, paths: Iterable[str], folders: Iterable[str] = (), progress: Progress = NO_PROGRESS) -> None:
        """Look at these files, and at all files below these folders, and take up what changed."""
        with self.working(progress):
            rules = self._excludes()
            changed: list[Change] = []
            lost: list[str] = []
            for path in sorted(set(paths)):
                progress.check()
                stat, known = self._files.look_at(VaultPath(path)), self._catalog.known(path)
                if stat is None:
                    lost += [path] if known else []
                elif _is_other(stat, known, rules):
                    changed.append((stat, known))
            self._take_up(changed, lost, rules, progress)
            for folder in sorted(set(folders)):
                self._check_folders(folder, rules, progress)

    def _check_folders(self, start: str, rules: Excludes, progress: Progress) -> None:
        """Look at the files below one folder."""
        with closing(Second(self._files)) as second:
            changed, lost = self._changes_below(start, rules, progress, second)
            self._take_up(changed, lost, rules, progress, second)

    def _changes_below(
        self, start: str, rules: Excludes, progress: Progress, second: Second | None = None
    ) -> tuple[list[Change], list[str]]:
        """Return the files below one folder that are new or changed, in path order, and those that are gone."""
        changed: list[Change] = []
        lost: list[str] = []
        gone = {folder for folder in self._catalog.folders() if not start or f"{folder}/".startswith(f"{start}/")}
        for folder, stats in self._files.walk_folders(VaultPath(start) if start else None):
            progress.check()
            gone.discard(folder)
            if rules.is_empty and self._catalog.is_folder_unchanged(folder, stats):
                continue
            known = self._catalog.folder(folder)
            for stat in stats:
                was = known.pop(stat.path, None)
                if _is_other(stat, was, rules):
                    changed.append((stat, was))
            if second is not None:
                second.expect(len(changed))
            lost += known
        for folder in gone:
            lost += self._catalog.folder(folder)
        # Notes that rank alike are shown in the order in which they were taken up.
        changed.sort(key=lambda change: change[0].path)
        return changed, lost

    @contextmanager
    def working(self, progress: Progress) -> Iterator[None]:
        """Be the one that works, waiting for whoever does."""
        while not self._lock.acquire(timeout=_PATIENCE):
            progress.check()
            if self._total:
                progress.report(self._done, self._total, f"indexing: {self._done} of {self._total} files")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _unlocked(self) -> Iterator[None]:
        """Let others work meanwhile, but for the text index; not where this is part of something larger."""
        self._is_committing = True
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()
            self._is_committing = False

    # ------------------------------------------------------------------ taking up

    def _take_up(
        self, changed: list[Change], lost: list[str], rules: Excludes, progress: Progress, second: Second | None = None
    ) -> None:
        """Write down what files hold that are new or changed, and that others are gone."""
        if lost:
            self._catalog.forget(lost)
        # So many are put into the text index on the way; few wait for the next flush, which reads them again.
        is_many = len(changed) > _MANY and self._start_writing()
        is_anew = is_many and self._is_most(len(changed))
        taken: list[Row] = []
        self._done, self._total = 0, len(changed)
        try:
            wanted = [
                _to_read(stat, known, rules, for_text=is_many) for stat, known in changed if is_searched(stat.path)
            ]
            ngrams = self._ngram_filter(wanted) if is_many else NgramFilter()
            with self._catalog.without_sql_indexes() if is_anew else nullcontext():
                with closing(read_all(self._files, wanted, _BATCH, ngrams, second)) as readings:
                    for batch in _batches(changed):
                        progress.report(self._done, self._total, f"indexing: {self._done} of {self._total} files")
                        found = []
                        for stat, known in batch:
                            progress.check()
                            reading = next(readings) if is_searched(stat.path) else None
                            found.append(_found(stat, known, reading, hidden=rules.hides(stat.path)))
                        rows = self._write_down(found, batch)
                        if is_many:
                            for row, read, is_new in rows:
                                self._put(row, read.fields, is_new=is_new, adds_words=not is_anew)
                                taken.append(row)
                        self._done += len(found)
                if is_many:
                    self._commit(taken, [], is_anew=is_anew)
        finally:
            self._done = self._total = 0
            if is_many:
                self._text.stop_writing()

    def _write_down(self, found: list[_Found], batch: list[Change]) -> list[tuple[Row, _Found, bool]]:
        """Write into the catalog what was found; return the notes the text index lacks, and whether it has no version."""
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
                Row(note_id, record.stat, record.is_note, record.hidden, record.state, record.digest),
                each,
                note_id >= first_new,
            )
            for note_id, (record, each) in zip(ids, new, strict=True)
            if record.state == PENDING
        ]

    def _is_most(self, count: int) -> bool:
        """Tell whether so many notes to take up hold most of the words there will be."""
        return count > max(_MANY, _ANEW * (self._catalog.meta("searched") or 0))

    def _start_writing(self) -> bool:
        """Take the right to write the text index; False if another process or thread has it."""
        return not self._is_committing and self._text.start_writing()

    def _ngram_filter(self, notes: Sequence[NoteToRead]) -> NgramFilter:
        """Return the ngrams of the text index, which may be written; what begins with these notes learns from them."""
        ngrams = self._words.ngrams()
        if ngrams is None:
            kept = [note.path for note in notes if note.for_text]
            texts = (read_searched(self._files, path) for path in kept[:: len(kept) // _SAMPLE + 1])
            ngrams = self._words.learn_ngrams(folded_words(text) for text in texts if text is not None)
        return ngrams

    def _put(self, row: Row, fields: Fields | None, *, is_new: bool = False, adds_words: bool) -> None:
        """Have the text index take up a note, if there is anything to take, and its words with it."""
        if row.hidden or fields is None:
            self._text.remove(row.id)
            return
        document = TextDocument(row.id, *fields)
        self._text.put(document, is_new=is_new)
        if adds_words:
            self._words.add(document)

    def flush(self, progress: Progress = NO_PROGRESS) -> bool:
        """Bring the text index up to the catalog. Return False if another process or thread is at it."""
        with self.working(progress):
            rows = [row for row in self._catalog.not_indexed() if row.state == PENDING]
            gone = self._catalog.gone()
            if not (rows or gone):
                return True
            if not self._start_writing():
                return False
            try:
                for note_id in gone:
                    self._text.remove(note_id)
                is_anew = self._is_most(len(rows))
                # What is known of them does not matter: the text index has to have them.
                notes = [NoteToRead(row.stat.path, row.stat.modified_ns, None, not row.hidden) for row in rows]
                with closing(read_all(self._files, notes, _BATCH, self._ngram_filter(notes))) as readings:
                    for number, (row, reading) in enumerate(zip(rows, readings, strict=True)):
                        progress.check()
                        if isinstance(reading, str):  # not now: looked at again at each occasion
                            self._catalog.store([_unreadable(row.stat, reading, hidden=row.hidden)])
                            rows[number] = row._replace(digest=UNREAD)
                        fields = None if isinstance(reading, str) else reading.fields
                        self._put(row, fields, adds_words=not is_anew)
                self._commit(rows, gone, is_anew=is_anew, rests=True)
            finally:
                self._text.stop_writing()
            return True

    def _commit(self, taken: list[Row], gone: list[int], *, is_anew: bool, rests: bool = False) -> None:
        """Commit what was put and removed. ``is_anew``: so much that all words in use are found out anew.

        ``rests``: who wants to work in the meantime may. What that changes in the catalog stays not_indexed there.
        """
        if not is_anew:
            with self._unlocked() if rests else nullcontext():  # 20 ms, mostly of waiting for the disk
                self._text.commit()
        with self._catalog.writing():
            if is_anew:
                # Half a second for 10,000 notes, and without Python: the catalog's own work is done meanwhile.
                with _meanwhile(self._text.commit):
                    committed = self._catalog.mark_indexed(taken, gone)
                    self._catalog.index()
                self._words.begin_anew(self._text.words(BODY), self._text.words(PATH))
            else:
                committed = self._catalog.mark_indexed(taken, gone)
            self._words.store()
        self.committed = committed


@contextmanager
def _meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Have work done on another thread, and wait for its end. Raises what it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            raised.append(error)

    thread = threading.Thread(target=run, name="vaultwire-commit", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if raised:
        raise raised[0]


def _batches(changed: list[Change]) -> Iterator[list[Change]]:
    """Yield the changes in parts, each for one transaction."""
    start = size = 0
    for number, (stat, _) in enumerate(changed):
        size += stat.size if is_note(stat.path) else 0
        if number + 1 - start == _BATCH or size > _BATCH_BYTES:
            yield changed[start : number + 1]
            start, size = number + 1, 0
    if start < len(changed):
        yield changed[start:]


def _is_other(stat: NoteStat, known: KnownFile | None, rules: Excludes) -> bool:
    """Tell whether the file has to be read: it is new, or not what it was, or hidden by other rules than before."""
    return (
        known is None
        or known.is_racy
        or (stat.size, stat.modified_ns, stat.stamp) != known[:3]
        or rules.hides(stat.path) != known.hidden
        or (known.digest == UNREAD and is_searched(stat.path))  # permissions and clouds change no time
    )


def _to_read(stat: NoteStat, known: KnownFile | None, rules: Excludes, *, for_text: bool) -> NoteToRead:
    hidden = rules.hides(stat.path)
    return NoteToRead(stat.path, stat.modified_ns, _same(known, hidden=hidden), for_text and not hidden)


def _same(known: KnownFile | None, *, hidden: bool) -> int | None:
    """Return the digest of what need not be written down again."""
    return known.digest if known is not None and known.hidden == hidden else None


def _found(stat: NoteStat, known: KnownFile | None, reading: NoteContent | str | None, *, hidden: bool) -> _Found:
    """Return what there is to write down of a file; of one that cannot be read nothing, if that is known."""
    if reading is None:
        return _Found(Record(stat, is_note=False, hidden=hidden))
    if isinstance(reading, str):
        return _Found(None if _same(known, hidden=hidden) == UNREAD else _unreadable(stat, reading, hidden=hidden))
    digest, is_racy, state, problem, facts, fields = reading
    if facts is None:
        return _Found(None, is_racy)
    return _Found(Record(stat, is_note(stat.path), hidden, state, digest, is_racy, problem, facts), is_racy, fields)


def _unreadable(stat: NoteStat, problem: str, *, hidden: bool) -> Record:
    return Record(stat, is_note=is_note(stat.path), hidden=hidden, state=PENDING, problem=problem)
