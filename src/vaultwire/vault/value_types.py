"""The value types of the engine: vault paths, what its functions return, and progress. No behaviour, no I/O.

The structure of a parsed note is in ``markdown.parsed_note``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, NamedTuple, NewType, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:  # a policy is read before the first answer, and needs only paths of this module
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from datetime import date
    from typing import Any

    from vaultwire.markdown.parsed_note import ParsedNote
    from vaultwire.markdown.yaml_core import PropertyValue

VaultPath = NewType("VaultPath", str)
"""A path from the vault's root, with ``/`` and extension, spelt as on the disk. Only ``vault.disk`` makes them."""

WriteMode: TypeAlias = Literal["create", "overwrite", "append", "prepend"]
"""What a write does with the note's present text."""


class NoteStat(NamedTuple):
    """The file facts of a note or attachment. ``modified_ns`` is nanoseconds since the epoch; ``stamp``: ``walk.stamp_of``."""

    path: VaultPath
    size: int
    modified_ns: int
    stamp: int


class Note(NamedTuple):
    """A note as read. Its text has no BOM and ``\\n`` line ends; the file may have others.

    ``waits_as``: the session's own proposal that this text is of; 0 if it is on the disk.
    """

    path: VaultPath
    text: str
    etag: str
    size: int
    modified_ns: int
    problems: list[str]
    waits_as: int = 0


class Line(NamedTuple):
    """One matching line of a note; ``number`` counts from 1 in the whole file."""

    number: int
    text: str


class ScorePart(NamedTuple):
    """A part of a note's score: the word or phrase that gives it, where that stands, and how much it gives.

    ``where``: text, name, alias, heading, tag, file, path; or another reason in a few words. The parts of a note together are
    its score, exactly as it is ranked. ``rarity`` and ``times``: how rare the word is in that field, and how often it is there.
    """

    what: str
    where: str
    score: float
    rarity: float | None = None
    times: int | None = None


class Why(NamedTuple):
    """Why a note is where it is: its place from 1 (0: it is no result), its score, and the parts, which add up to it.

    ``reasons``: why it is no result, or comes late.
    """

    path: VaultPath
    place: int
    score: float
    parts: tuple[ScorePart, ...]
    reasons: tuple[str, ...] = ()


class Hit(NamedTuple):
    """One note that a search found, with the best of its ``matches`` lines. ``missing``: words of the query it lacks.

    ``why``: the parts of its score, where the search itself knows them.
    """

    path: VaultPath
    score: float
    matches: int
    lines: list[Line]
    missing: tuple[str, ...] = ()
    why: tuple[ScorePart, ...] = ()


class IndexedSoFar(NamedTuple):
    """How far the first build of the index is: ``indexed`` of ``notes`` notes can be found."""

    indexed: int
    notes: int


class ReadSoFar(NamedTuple):
    """How far a search is that has to read notes: ``read`` of ``candidates``, the notes that may match."""

    read: int
    candidates: int


class Found(NamedTuple):
    """One page of a search: ``total`` notes match, ``searched`` were searched, ``skipped`` could not be read.

    ``total_is_exact``: False if at least so many match. ``ends``: for each hit the offset of the page that begins behind it.
    ``has_more``: whether there may be results behind the last one. ``kept``: what the next pages go on from.
    ``so_far`` is None unless other notes are not indexed yet, and so were not searched. ``read_so_far`` is None unless the page
    is not full because there was no time to read more notes; the next page goes on. ``lacks_changes``: many notes have just
    changed, and not all of them were searched as they are now.
    """

    hits: list[Hit]
    total: int
    searched: int
    skipped: int
    total_is_exact: bool
    ends: list[int]
    has_more: bool
    kept: KeptResults
    so_far: IndexedSoFar | None = None
    read_so_far: ReadSoFar | None = None
    lacks_changes: bool = False


class KeptResults(Protocol):
    """The results of a search at one state of the index."""

    @property
    def size(self) -> int:
        """About how many bytes of memory they take."""


class Tagged(NamedTuple):
    """A note and its tags as written, without ``#``, each once."""

    path: VaultPath
    tags: list[str]


class OutgoingLink(NamedTuple):
    """A link of a note, as written, and the file that it leads to; None if it leads nowhere."""

    linktext: str
    display: str
    line: int
    is_embed: bool
    target: VaultPath | None


class Backlink(NamedTuple):
    """A link to a note: the note that has it, its line number and the text of that line."""

    source: VaultPath
    line: int
    text: str
    is_embed: bool


class OutlineEntry(NamedTuple):
    """A heading, and the last line of its section: the line before the next heading of its level or above.

    ``more`` is how many lines the heading has after its first: an underlined one has at least one.
    """

    level: int
    text: str
    line: int
    last_line: int
    more: int = 0


class Structure(NamedTuple):
    """The structure of a note: its parts, its headings with the extent of their sections, and its number of lines."""

    path: VaultPath
    parsed: ParsedNote
    outline: list[OutlineEntry]
    lines: int


class PeriodicNote(NamedTuple):
    """The note of a day, week …, which may not exist yet, and the nearest ones of the same ``period`` that exist.

    ``first`` is the first day. ``template`` is the template for a new one, None if the settings name none that exists.
    """

    period: str
    first: date
    path: VaultPath
    exists: bool
    previous: VaultPath | None
    following: VaultPath | None
    template: VaultPath | None


class TagCount(NamedTuple):
    """A tag as first written, and how many notes have it or a tag below it."""

    tag: str
    notes: int


class NamedNote(NamedTuple):
    """A note that a filter found. ``alias`` is the one that matched, as written; None if the name matched."""

    stat: NoteStat
    alias: str | None
    tags: list[str]


class PropertyKinds(NamedTuple):
    """A property in use: its name as written, a value of each kind it has, most used first, and how many notes have it."""

    name: str
    values: list[PropertyValue]
    notes: int


class PropertyUse(NamedTuple):
    """A property in use, the types of its values (several if notes differ), and how many notes have it."""

    name: str
    types: list[str]
    notes: int


class ValueUse(NamedTuple):
    """A value of a property, as text, and how many notes have it; ``""`` for a property without a value."""

    text: str
    notes: int


class TaskPlace(NamedTuple):
    """A task with its note, its line and the heading above it (empty if there is none)."""

    path: VaultPath
    line: int
    mark: str
    text: str
    heading: str


class FileKind(NamedTuple):
    """The number of files with one extension (or empty: without), and their bytes."""

    extension: str
    files: int
    size: int


class FolderSize(NamedTuple):
    """The number of notes right in a folder (``""`` is the vault's root), and their bytes."""

    folder: str
    notes: int
    size: int


class Problem(NamedTuple):
    """What is wrong with a file or folder, or why it cannot be read."""

    path: str
    text: str


class VaultStats(NamedTuple):
    """A vault in numbers. Notes that its own rules exclude are counted as ``excluded`` only.

    ``unreadable`` notes could not be read, ``odd`` ones only in part. ``folders`` (the largest first) and ``problems`` are
    the first few. ``unkept`` says why the index is not stored, ``unwatched`` why each call looks at all files; both are
    empty where that is not so.
    """

    notes: int
    size: int
    excluded: int
    unreadable: int
    odd: int
    links: int
    tags: int
    properties: int
    tasks_open: int
    tasks_done: int
    modified_ns: int | None
    attachments: list[FileKind]
    folders: list[FolderSize]
    problems: list[Problem]
    is_watched: bool = False
    unwatched: str = ""
    unkept: str = ""


class Listing(NamedTuple):
    """One page of a listing in path order, the total number of notes, and whether more follow this page."""

    notes: list[NoteStat]
    total: int
    has_more: bool


class IndexReport(NamedTuple):
    """How an index is stored: its folder (None: in memory, ``not_kept`` says why), the seconds that one scan of the vault
    took, and why the vault cannot be watched (empty if it can).
    """

    folder: str | None
    not_kept: str
    seconds: float
    not_watched: str


class Coverage(NamedTuple):
    """How many of the vault's notes can be found by meaning, and why not more are about to be; empty if nothing is wrong.

    ``size``: the bytes of the vectors on the disk.
    """

    embedded: int
    notes: int
    problem: str
    size: int = 0


class MeaningHit(NamedTuple):
    """A note that is near in meaning: ``likeness`` at most 1, its rank by it, from 1, and its nearest part.

    ``lines``: the first ones of that part, which goes from line ``first`` to ``last``. ``score``: what the likeness gives to
    the score of words and meaning together, compared with the other notes of the answer.
    """

    path: VaultPath
    likeness: float
    rank: int
    lines: list[Line]
    score: float = 0.0
    first: int = 0
    last: int = 0


class NearNotes(NamedTuple):
    """The notes nearest to a query in meaning, the nearest first, of those that can be found so.

    ``with_words`` puts them and the notes with the query's words into one order: of these it takes the hits, and the words that
    are in no note.
    """

    hits: list[MeaningHit]
    coverage: Coverage
    with_words: Callable[[Sequence[Hit], Collection[str]], list[Hit]]


class Related(NamedTuple):
    """A related note and why: shared words and tags, rarest first, files that both link to, notes that link to both.

    ``link``: "out" if the note asked about links to it, "in" the other way, "both", or "" for neither.
    """

    path: VaultPath
    score: float
    words: list[str]
    tags: list[str]
    both_link_to: list[VaultPath]
    linked_by: list[VaultPath]
    link: str


class NearPart(NamedTuple):
    """A note near to another one in meaning: ``likeness`` at most 1, and the lines of the other's part that is nearest."""

    path: VaultPath
    likeness: float
    first: int
    last: int


class ByMeaning(Protocol):
    """Finds notes by meaning (``vaultwire.meaning.finding``). Where a model fails, the coverage says why."""

    def run_beside(
        self, run: Callable[[Callable[[Collection[str], Collection[str]], object]], None], on_change: Any
    ) -> None:
        """Embed notes in the background while ``run`` runs, which is called with what hears of changes."""

    def close(self) -> None:
        """End all work. Safe from any thread."""

    def coverage(self, progress: Progress) -> Coverage:
        """Return how many notes can be found by meaning."""

    def near_query(self, query: str, folder: VaultPath | None, progress: Progress, *, only: bool) -> NearNotes | None:
        """Return the notes nearest to a query; None for Obsidian's syntax, unless meaning is ``only`` what counts.

        Raises VaultError.
        """

    def place_of(self, query: str, path: VaultPath, folder: VaultPath | None, progress: Progress) -> MeaningHit | None:
        """Return a note's rank and likeness for a query among all notes; None if it is not found by meaning."""

    def near_note(self, path: VaultPath, progress: Progress) -> Iterator[NearPart]:
        """Yield the other notes, those nearest to this one first; none where it has no vectors yet."""

    def same_meaning(
        self, paths: Collection[VaultPath], progress: Progress
    ) -> list[tuple[VaultPath, VaultPath, float]]:
        """Return the pairs of these notes that say nearly the same, and how near they are, the nearest first."""


class Confirmation(NamedTuple):
    """A question to a person before a change is made. Another plan has another ``key``, the same plan the same."""

    key: str
    message: str


class Progress(Protocol):
    """How work learns that its caller no longer waits, reports how far it is, and asks the person before it goes on."""

    def check(self) -> None:
        """Raise ``Stopped`` if the caller cancelled or the deadline passed. Cheap: call it once a note."""

    def report(self, done: int, total: int, message: str) -> None:
        """Report how far the work is."""

    def confirm(self, question: Confirmation) -> None:
        """Have the person agree, where there is one who can be asked; returns if they do, or if there is none.

        Raises an exception of the caller's own where they have not agreed. Nothing may be changed before, and the plan is
        made again afterwards: call it inside ``held``, which is left while the person thinks.
        """


class NoProgress:
    """Progress for callers that neither cancel nor listen, and where nobody can be asked."""

    def check(self) -> None:
        """Never raise."""

    def report(self, done: int, total: int, message: str) -> None:
        """Do nothing."""

    def confirm(self, question: Confirmation) -> None:
        """Ask nobody."""


class Deadline(NoProgress):
    """Ends work with an error after some seconds; with none, at once where it would have to wait."""

    def __init__(self, seconds: float, error: Exception) -> None:
        self._until = time.monotonic() + seconds
        self._error = error

    def check(self) -> None:
        """Raise the error once the time is over."""
        if time.monotonic() >= self._until:
            raise self._error


NO_PROGRESS: Progress = NoProgress()

_Item = TypeVar("_Item")


_REPORT_EVERY = 200


def reporting(progress: Progress, items: Collection[_Item], doing: str) -> Iterator[_Item]:
    """Yield the items as ``asking`` does, and report after every few: for loops over files, each of which takes a while."""
    for number, item in enumerate(items):
        progress.check()
        if number % _REPORT_EVERY == 0:
            progress.report(number, len(items), f"{doing}: {number} of {len(items)} files")
        yield item


def asking(progress: Progress, items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield the items, and call ``progress.check`` before each: for loops over very many items."""
    for item in items:
        progress.check()
        yield item


class Stages:
    """The progress of a change of files in its stages: reported on one scale, a hundred times in each stage at most."""

    READING, CHECKING, RECORDING, STAGING, RENAMING, FINISHING, CLEANING, ROLLING_BACK = range(8)

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def each(self, stage: int, verb: str, items: Sequence[_Item], *, may_stop: bool = True) -> Iterator[_Item]:
        """Yield the items of a stage, and report how many are done; also ``check``, if it ``may_stop``."""
        total = len(items)
        every = max(total // 100, 10)
        for done, item in enumerate(items):
            if may_stop:
                self._progress.check()
            if done % every == every - 1:
                message = f"{verb} {done} of {total} files"
                self._progress.report(stage * total + done, (self.ROLLING_BACK + 1) * total, message)
            yield item
