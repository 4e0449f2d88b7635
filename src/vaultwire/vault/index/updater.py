"""The index updater: finds out which files changed, reads them, and writes catalog and text index.

It does not watch the disk and does not decide when to look: ``freshness`` does.

The catalog comes first, in small transactions. It answers all but searches for text. The text index follows, because it takes
longer: each note's text is read again, with a commit after some of them. The catalog marks what the text index still lacks, and
searches read those notes themselves. So a process that is killed at any moment leaves marks, and the next process finishes
the work.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias

from vaultwire.bases.base_blocks import may_hold_queries
from vaultwire.markdown.offsets import tags_and_above
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.markdown.properties import Frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.disk.walk import ListedNames
from vaultwire.vault.errors import NOT_READ, VaultError
from vaultwire.vault.index import catalog_queries
from vaultwire.vault.index.catalog import (
    FIRST_INLINE_FIELD,
    IN_LIST,
    NO_FACTS,
    NOT_INDEXABLE,
    PENDING,
    UNREAD,
    Catalog,
    Facts,
    FileRow,
    KnownFile,
    Record,
)
from vaultwire.vault.index.catalog_queries import count_notes
from vaultwire.vault.index.index_folder import IndexParts
from vaultwire.vault.index.search_plan import BODY, MatchAll
from vaultwire.vault.index.text_index import Fields, NoteFacts, TextDocument, give_back_memory, to_fields
from vaultwire.vault.index.words import (
    NgramFilter,
    folded_parts,
    folded_words,
    has_endless_piece,
    has_too_many_words,
    without_encoded,
    word_parts,
)
from vaultwire.vault.links.faults import may_have_faults
from vaultwire.vault.links.link_resolver import link_name
from vaultwire.vault.search.filters import EMPTY_VALUES, scalars_as_texts
from vaultwire.vault.search.note_parts import (
    is_searchable,
    parse_searchable,
    read_searchable,
    searchable_text,
    with_inline_fields,
)
from vaultwire.vault.search.terms import fold_case, strip_diacritics
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat, Progress, VaultPath
from vaultwire.vault.visibility.excludes import Excludes

# Reads a note and turns it into what catalog and text index store of it. ``updater`` decides which notes to read, and when.

# Turns a parsed note into rows of the catalog's tables. Pure. ``catalog`` puts the note's id before each row.

# One encoder for all: ``json.dumps`` with arguments makes a new one for each call.
_to_json = json.JSONEncoder(ensure_ascii=False, default=str).encode


def to_facts(path: VaultPath, parsed: ParsedNote, properties: Frontmatter | None = None) -> Facts:
    """Return the rows for the tables ``schema.FACTS``, without the note's id.

    ``properties``: those of the note with its inline fields after them; None for those of the note alone.
    """
    above: dict[str, str] = {}
    for tag in tags_and_above(parsed.tags):
        above.setdefault(fold(tag), tag)
    # Of names that differ only in case the first one counts, as for ``Frontmatter.value``.
    properties = properties or parsed.frontmatter
    values = properties.values
    in_frontmatter = len(parsed.frontmatter.values)
    named: dict[str, list[tuple[int, str]]] = {}
    for place, name in enumerate(values):
        place += 0 if place < in_frontmatter else FIRST_INLINE_FIELD  # noqa: PLW2901
        named.setdefault(fold(name), []).append((place, name))
    return (
        [
            (
                place,
                link.line,
                link_name(path, link.linktext),
                link.linktext,
                link.display,
                link.is_embed + 2 * link.is_markdown,
            )
            for place, link in enumerate(parsed.links)
        ],
        [*enumerate(parsed.tags)],
        [*above.items()],
        [(place, fold(alias), alias) for place, alias in enumerate(parsed.frontmatter.texts("aliases"))],
        [
            (
                place,
                folded,
                name,
                _value_to_json(values[name]),
                _written(properties, [each for _, each in names]),
            )
            for folded, names in named.items()
            for place, name in names[:1]
        ],
        _tasks(parsed),
        _outline(parsed),
    )


def _written(frontmatter: Frontmatter, names: list[str]) -> str | None:
    """Return what ``schema`` says of ``written``, of the properties of these names."""
    if len(names) == 1 and frontmatter.written[names[0]] == scalars_as_texts(frontmatter.values[names[0]]):
        return None
    values = [(frontmatter.values[name], frontmatter.written[name]) for name in names]
    return _to_json([(value is None, value in EMPTY_VALUES, texts) for value, texts in values])


def _value_to_json(value: PropertyValue) -> str:
    """Return a property's value as JSON. For each list the encoder would make another encoder, in 3 us."""
    return f"[{', '.join(map(_value_to_json, value))}]" if isinstance(value, list) else _to_json(value)


def _outline(parsed: ParsedNote) -> list[tuple[str, str]]:
    """Return the headings and the block ids as JSON; nothing if there are none."""
    headings = [(heading.level, heading.text) for heading in parsed.headings]
    names = [block.name for block in parsed.block_ids]
    return [(_to_json(headings), _to_json(names))] if headings or names else []


def _tasks(parsed: ParsedNote) -> list[tuple[int, str, str, str, str | None, bool]]:
    """Return line, mark, heading above, text and plain text of each task, and whether it is open."""
    rows = []
    headings = iter(parsed.headings)
    above, following = "", next(headings, None)
    for task in parsed.tasks:
        while following is not None and following.line < task.line:
            above, following = following.text, next(headings, None)
        plain = None if task.text.isascii() else strip_diacritics(fold_case(task.text))
        rows.append((task.line, task.mark, above, task.text, plain, not task.mark.strip()))
    return rows


# Clocks of file systems tick every 4 ms (ext4) to 2 s (FAT). A file that is read so soon after its last change may change
# again without a new time.
_RACY_NS = 2_000_000_000
# A shorter text cannot have too many words, so they need not be counted.
_LONG = 400_000
_NOT_INDEXED = "cannot be indexed ({}): its text is searched, its links, tags and properties are not known"


def read_note(files: Files, stat: NoteStat, known_digest: int | None, *, is_excluded: bool) -> Record:
    """Read a file for the catalog. If its digest is the known one, the record says nothing else of it."""
    if not is_searchable(stat.path):
        return Record(stat, is_note=False, is_excluded=is_excluded)
    try:
        data = _data(files, stat.path)
    except VaultError as error:
        return unreadable(stat, error.message, is_excluded=is_excluded)
    is_racy = time.time_ns() - stat.modified_ns < _RACY_NS
    digest = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)
    record = Record(stat, is_note(stat.path), is_excluded, PENDING, digest, is_racy)
    if digest == known_digest:
        return record
    try:
        return _parsed(record, searchable_text(stat.path, data), has_inline_fields=files.has_inline_fields)
    except Exception as error:  # noqa: BLE001 - if one note breaks its reader, the others must stay searchable
        problem = _NOT_INDEXED.format(type(error).__name__)
        return record._replace(state=NOT_INDEXABLE, problem=problem, facts=NO_FACTS)


def facts_of_notes(catalog: Catalog, ids: Collection[int]) -> dict[int, NoteFacts]:
    """Return what the catalog knows of these notes: to parse each again would take as long as all the rest."""
    facts = {note_id: NoteFacts([], [], [], [], has_tasks=False) for note_id in ids}
    joined = [json.dumps([*ids])]

    def rows(columns: str, rest: str) -> list[tuple[Any, ...]]:
        return catalog.rows(f"SELECT {columns} FROM {rest}", joined)

    for note_id, alias in rows("note, spelling", f"aliases WHERE note {IN_LIST} ORDER BY note, place"):
        facts[note_id].aliases.append(alias)
    for note_id, tag in rows("note, tag", f"tags WHERE note {IN_LIST} ORDER BY note, place"):
        facts[note_id].tags.append(tag)
    for note_id, name in rows("note, spelling", f"properties WHERE note {IN_LIST} ORDER BY note, place"):
        facts[note_id].properties.append(name)
    for note_id, headings in rows("note, headings", f"outlines WHERE note {IN_LIST}"):
        facts[note_id].headings.extend(text for _, text in json.loads(headings))
    with_tasks = f"files WHERE id {IN_LIST} AND (open_tasks IS NOT NULL OR done_tasks IS NOT NULL)"
    for (note_id,) in rows("id", with_tasks):
        facts[note_id] = facts[note_id]._replace(has_tasks=True)
    return facts


def read_fields(files: Files, path: VaultPath, facts: NoteFacts, ngrams: NgramFilter) -> Fields | None:
    """Read a note for the text index; None if that cannot have it. Raises VaultError if it cannot be read.

    ``facts``: of the note as it was when the catalog read it. If it has changed since, the catalog reads it again.
    """
    text = searchable_text(path, _data(files, path))
    try:
        if _has_endless_piece(text, (*facts.tags, *facts.properties)):
            return None
        fields = to_fields(path, text, facts, ngrams)
    except Exception:  # noqa: BLE001 - as above; the next check of the file says so in the catalog
        return None
    words = fields[0][BODY]
    return None if len(words) > _LONG and has_too_many_words(word_parts(words)) else fields


def unreadable(stat: NoteStat, problem: str, *, is_excluded: bool) -> Record:
    """Return the record of a file that cannot be read."""
    return Record(stat, is_note=is_note(stat.path), is_excluded=is_excluded, state=PENDING, problem=problem)


def _data(files: Files, path: VaultPath) -> bytes:
    if files.is_dataless(path):
        raise VaultError(NOT_READ, "is only in the cloud, not on this computer")
    return files.read(path).data


def _parsed(record: Record, text: str, *, has_inline_fields: bool) -> Record:
    parsed = parse_searchable(record.stat.path, text)
    properties = parsed.frontmatter
    if has_inline_fields and record.is_note:
        properties = with_inline_fields(properties, text)
    is_indexable = not (
        _has_endless_piece(text, (*parsed.tags, *properties.values))
        or (len(text) > _LONG and has_too_many_words(folded_parts(without_encoded(text))))
    )
    return record._replace(
        state=PENDING if is_indexable else NOT_INDEXABLE,
        problem=parsed.problems[0] if parsed.problems else None,
        facts=to_facts(record.stat.path, parsed, properties),
        suspect=may_have_faults(parsed),
        has_queries=may_hold_queries(text),
    )


def _has_endless_piece(text: str, names: Iterable[str]) -> bool:
    # Encoded text is left out of the words, but not of the exact values.
    return has_endless_piece("\n".join(names)) or (has_endless_piece(text) and has_endless_piece(without_encoded(text)))


# When the text index commits while many notes are put into it. Pure.
#
# Each commit writes what is in memory into a segment of its own, so the number of notes between two commits bounds the memory.
# But a search takes three times as long in eight segments as in one. tantivy merges eight segments of similar size into one
# (its ``LogMergePolicy``; all segments of up to 10,000 notes count as similar). So there are eight commits, or a multiple.

# So many segments are merged into one.
_MERGED = 8
# So many notes take 17 MB in the writer's memory, with 3 KB of text each. It must stay below 10,000: see the head.
_MAX_NOTES = 5_000
# So few notes are indexed at once: eight commits of 20 ms would take longer than what they save after a kill.
_ONE_COMMIT = 800
# Searches can have the first notes soon.
_FIRST = 2_000


def commit_points(notes: int) -> list[int]:
    """Return after how many notes each commit comes. The last one comes after all of them."""
    if notes <= _ONE_COMMIT:
        return [notes]
    commits = _MERGED * -(-notes // (_MERGED * _MAX_NOTES))
    first = min(_FIRST, notes // commits)
    return [first + (notes - first) * number // (commits - 1) for number in range(commits)]


# The files that the index updater has to read, in little memory: 16 MB for 100,000, where a tuple for each takes 37 MB.

# Files in one transaction: other writers wait 0.1 s at most, and what was read takes 5 MB.
_BATCH = 250
# Bytes of notes in one transaction: what was read waits in memory, up to 150 bytes for each byte of a note.
_BATCH_BYTES = 2_000_000

Change: TypeAlias = tuple[NoteStat, KnownFile | None]
"""A file as it is now, and what the catalog knows of it."""


class ChangedFiles:
    """New and changed files, each with what the catalog knows of it."""

    def __init__(self) -> None:
        self.paths: list[VaultPath] = []
        self._numbers = array("q")  # size, time and stamp of each
        self._known: dict[VaultPath, KnownFile] = {}

    def __len__(self) -> int:
        return len(self.paths)

    def add(self, stat: NoteStat, known: KnownFile | None) -> None:
        """Add a file."""
        self.paths.append(stat.path)
        self._numbers.extend(stat[1:])
        if known is not None:
            self._known[stat.path] = known

    def batches(self) -> Iterator[list[Change]]:
        """Yield all of them in path order, in parts, each for one transaction.

        In path order, because search shows notes of equal rank in the order in which they were indexed.
        """
        batch: list[Change] = []
        size = 0
        last = len(self)
        places = sorted(range(last), key=self.paths.__getitem__, reverse=True)
        for number in range(1, last + 1):
            place = places.pop()
            path = self.paths[place]
            stat = NoteStat(path, *self._numbers[3 * place : 3 * place + 3])
            batch.append((stat, self._known.get(path)))
            size += stat.size if is_note(path) else 0
            if len(batch) == _BATCH or size > _BATCH_BYTES or number == last:
                yield batch
                batch, size = [], 0


# Searches do not read more notes than this themselves: they wait for the text index.
MOST_READ = 200
# Changes to this share of all notes count as a rebuild: the vocabulary is then read from the text index, at 0.04 ms for each
# note there is. Adding the words of one note takes 0.15 ms.
_REBUILD_SHARE = 0.25
# So many notes tell which n-grams most words hold, about as well as ten times as many do.
_SAMPLE = 50
# Seconds between two looks whether a waiting caller is still there.
_POLL_SECONDS = 0.05
# Notes between two reports of how far the text index is.
_REPORT_EVERY = 50
_EXCLUDES = "excludes"


class IndexUpdater:
    """Updates one vault's index in this process. Safe to call from several threads: one works, the others wait."""

    def __init__(self, files: Files, parts: IndexParts, excludes: Callable[[], Excludes]) -> None:
        self._files = files
        self._catalog, self._text, self._words, self._process_lock = parts
        self._excludes = excludes
        self._lock = threading.RLock()
        self._flushing = threading.Lock()
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

    # ------------------------------------------------------------------ applying changes

    def _apply_changes(self, changed: ChangedFiles, lost: list[str], rules: Excludes, progress: Progress) -> None:
        """Write to the catalog what new and changed files hold, and remove lost files."""
        if lost:
            self._catalog.forget(lost)
        self._done, self._total = 0, len(changed)
        is_large = self._total > MOST_READ
        if is_large and self._catalog.is_empty():
            notes = sum(is_searchable(path) and not rules.is_excluded(path) for path in changed.paths)
            catalog_queries.begin(self._catalog, notes)
        try:
            with self._catalog.without_sql_indexes() if is_large else nullcontext():
                for batch in changed.batches():
                    self._report(progress)
                    self._apply_batch(batch, rules, progress)
                    self._done += len(batch)
        finally:
            self._done = self._total = 0
            if is_large:
                self._catalog.release_memory()
                give_back_memory()  # of this batch: 30 to 50 MB that small blocks would hold until the process ends

    def _apply_batch(self, batch: list[Change], rules: Excludes, progress: Progress) -> None:
        """Read files and write to the catalog what they hold."""
        records: list[Record] = []
        touched: list[tuple[NoteStat, bool]] = []
        for stat, known in batch:
            progress.check()
            is_excluded = rules.is_excluded(stat.path)
            known_digest = known.digest if known is not None and known.is_excluded == is_excluded else None
            record = read_note(self._files, stat, known_digest, is_excluded=is_excluded)
            if record.digest != known_digest or not is_searchable(stat.path):
                records.append(record)
            elif known is not None and (*stat[1:], record.is_racy) != known[:4]:
                touched.append((stat, record.is_racy))
        if touched:
            self._catalog.touch(touched)
        if records:
            self._catalog.store(records)

    # ------------------------------------------------------------------ the text index

    def lacks_many(self) -> bool:
        """Tell whether the text index lacks so many notes that a search should not read them one by one."""
        return self._catalog.count_pending(MOST_READ + 1) > MOST_READ

    @property
    def is_flushing(self) -> bool:
        """Whether a thread of this process is bringing the text index up to the catalog."""
        return self._flushing.locked()

    def flush(self, progress: Progress = NO_PROGRESS) -> bool:
        """Bring the text index up to the catalog. Return False if another process or thread is writing it.

        Other threads change the catalog meanwhile. Notes that they change keep their marks. What is committed when
        ``progress`` stops it, or when the process is killed, is not read again.
        """
        if not self._flushing.acquire(blocking=False):
            return False
        try:
            total = self._catalog.count_pending()
            is_done = self._flush(total, progress)
            if is_done:
                catalog_queries.end(self._catalog)
            if total > MOST_READ:
                self._catalog.release_memory()
                give_back_memory()
            return is_done
        finally:
            self._flushing.release()

    def _flush(self, total: int, progress: Progress) -> bool:
        gone = self._catalog.gone()
        if not (total or gone):
            return True
        if not self._text.start_writing():
            return False
        try:
            is_new = not self._text.search(MatchAll(), (), 0, 1).total
            is_rebuild = total > max(MOST_READ, _REBUILD_SHARE * count_notes(self._catalog, None))
            for note_id in gone:
                self._text.remove(note_id)
            ngrams = self._ngram_filter(total)
            last = done = 0
            for point in commit_points(total) if is_rebuild else [total]:
                rows = self._catalog.pending_after(last, point - done)
                facts: dict[int, NoteFacts] = {}
                for number, row in enumerate(rows):
                    progress.check()
                    if total > MOST_READ and number % _REPORT_EVERY == 0:
                        progress.report(done + number, total, f"indexing: {done + number:,} of {total:,} notes")
                    if number % _BATCH == 0:
                        facts = facts_of_notes(self._catalog, [each.id for each in rows[number : number + _BATCH]])
                    self._put(row, facts[row.id], ngrams, is_new=is_new, adds_words=not is_rebuild)
                last, done = rows[-1].id if rows else last, point
                self._commit(rows, gone, is_rebuild=is_rebuild, is_last=done == total)
                gone = []
        finally:
            self._text.stop_writing()
        return True

    def _ngram_filter(self, total: int) -> NgramFilter:
        """Return the n-gram filter of the text index, learned from some notes if there is none. Needs the right to write."""
        ngrams = self._words.ngrams()
        if ngrams is None:
            paths = self._catalog.some_pending(total // _SAMPLE + 1)
            texts = (read_searchable(self._files, path) for path in paths)
            ngrams = self._words.learn_ngrams(folded_words(without_encoded(text)) for text in texts if text is not None)
        return ngrams

    def _put(self, row: FileRow, facts: NoteFacts, ngrams: NgramFilter, *, is_new: bool, adds_words: bool) -> None:
        """Put a note into the text index and its words into the vocabulary; take it out if it is excluded or has no fields."""
        fields = None
        if not row.is_excluded:
            try:
                fields = read_fields(self._files, row.stat.path, facts, ngrams)
            except VaultError as error:  # unreadable now: each later check tries it again
                if row.digest != UNREAD:
                    self._mark_unreadable(row, error.message)
        if fields is None:
            self._text.remove(row.id)
            return
        document = TextDocument(row.id, *fields)
        self._text.put(document, is_new=is_new)
        if adds_words:
            self._words.add(document)

    def _mark_unreadable(self, row: FileRow, problem: str) -> None:
        with self.working(NO_PROGRESS):  # another thread may know better meanwhile
            known = self._catalog.known(row.stat.path)
            if known is not None and known[:3] == row.stat[1:] and known.digest == row.digest:
                self._catalog.store([unreadable(row.stat, problem, is_excluded=row.is_excluded)])

    def _commit(self, rows: list[FileRow], gone: list[int], *, is_rebuild: bool, is_last: bool) -> None:
        """Commit the text index, and mark in the catalog what it has. ``is_rebuild``: read the whole vocabulary from it."""
        self._text.commit()
        if is_rebuild:
            give_back_memory()
            if is_last:
                # Now: merging and reading all words at once would take twice the memory.
                self._catalog.empty_caches()
                self._text.stop_writing()
                give_back_memory()
        with self._catalog.writing():
            committed = self._catalog.mark_indexed(rows, gone)
            if is_rebuild:
                self._words.replace_all(self._text.words)
            else:
                self._words.store()
        self.committed = committed


def must_be_read(stat: NoteStat, known: KnownFile | None, rules: Excludes) -> bool:
    """Tell whether the file is new, differs from what is known, or is excluded by other rules than before."""
    return (
        known is None
        or known.is_racy
        or (stat.size, stat.modified_ns, stat.stamp) != known[:3]
        or rules.is_excluded(stat.path) != known.is_excluded
        or (known.digest == UNREAD and is_searchable(stat.path))  # permissions and clouds change no time
    )
