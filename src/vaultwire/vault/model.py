"""The words of the engine as types. Nothing here touches a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, NewType, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:  # a policy is read before the first answer, and needs no more of this than paths
    from collections.abc import Iterable, Iterator
    from datetime import date

    from vaultwire.markdown.model import ParsedNote
    from vaultwire.markdown.yaml_core import PropertyValue

VaultPath = NewType("VaultPath", str)
"""Vault-relative, ``/`` between parts, extension included, spelt as on disk. Made by ``vault.disk.paths`` and the walk only."""

WriteMode: TypeAlias = Literal["create", "overwrite", "append", "prepend"]
"""What writing a note does with the text that is there."""


class NoteStat(NamedTuple):
    """A note's file facts. ``modified_ns`` is nanoseconds since the epoch; ``stamp`` see ``walk.stamp_of``."""

    path: VaultPath
    size: int
    modified_ns: int
    stamp: int


class Note(NamedTuple):
    """A note as read: its text has no BOM and ``\\n`` line ends, whatever the file has."""

    path: VaultPath
    text: str
    etag: str
    size: int
    modified_ns: int
    problems: list[str]


class Written(NamedTuple):
    """What a write did. ``changed`` is False when the file already held exactly that; ``change`` is its number, or 0.

    ``also`` are the other files it edited, so that their links lead where they did.
    """

    path: VaultPath
    etag: str
    size: int
    created: bool
    changed: bool
    change: int
    also: list[VaultPath]


class Placed(NamedTuple):
    """A note that was made, written or moved; ``also`` are the other files that were edited so that links lead to the same.

    ``is_new``: the note was not there before.
    """

    path: VaultPath
    is_new: bool
    also: list[VaultPath]


class Deleted(NamedTuple):
    """What a delete did. ``trash_path`` is where the note lies now, None if it is gone for good; ``change`` its number."""

    path: VaultPath
    trash_path: str | None
    change: int


class Line(NamedTuple):
    """One line of a note that matched; ``number`` counts from 1 in the whole file."""

    number: int
    text: str


class Hit(NamedTuple):
    """One note a search found. ``matches`` counts every matching line, ``lines`` holds the first few."""

    path: VaultPath
    score: float
    matches: int
    lines: list[Line]


class Found(NamedTuple):
    """One page of a search: ``total`` notes match, ``searched`` were looked at, ``skipped`` could not be read."""

    hits: list[Hit]
    total: int
    searched: int
    skipped: int


class Tagged(NamedTuple):
    """A note and its tags as written, without ``#``, each once."""

    path: VaultPath
    tags: list[str]


class OutgoingLink(NamedTuple):
    """A link of a note, as written, and the file it leads to; None if there is none of that name."""

    linktext: str
    display: str
    line: int
    is_embed: bool
    target: VaultPath | None


class Backlink(NamedTuple):
    """A link that leads to a note: where it stands, and the line it stands on."""

    source: VaultPath
    line: int
    text: str
    is_embed: bool


class OutlineEntry(NamedTuple):
    """A heading and the last line of its section, which is the one before the next heading of its level or above.

    ``more`` is how many lines the heading has besides its first: an underlined one has one at least.
    """

    level: int
    text: str
    line: int
    last_line: int
    more: int = 0


class Structure(NamedTuple):
    """How a note is built: its parts, its headings with the extent of their sections, and how many lines it has."""

    path: VaultPath
    parsed: ParsedNote
    outline: list[OutlineEntry]
    lines: int


class DailyNote(NamedTuple):
    """The note of a day: where it is or would be, and the daily notes nearest to it that are there.

    ``template`` is the note a new one is made from, None if the settings name none that is there.
    """

    day: date
    path: VaultPath
    exists: bool
    previous: VaultPath | None
    following: VaultPath | None
    template: VaultPath | None


class TagCount(NamedTuple):
    """A tag as first written, and how many notes have it or one below it."""

    tag: str
    notes: int


class NamedNote(NamedTuple):
    """A note that was looked for by its facts. ``alias`` is the one that matched, as written; None if its name did."""

    stat: NoteStat
    alias: str | None
    tags: list[str]


class PropertyKinds(NamedTuple):
    """A property in use: its name as written, a value of each kind it has, most used first, and how many notes have it."""

    name: str
    values: list[PropertyValue]
    notes: int


class PropertyUse(NamedTuple):
    """A property in use, the types of its values, and how many notes have it. Several types: notes do not agree."""

    name: str
    types: list[str]
    notes: int


class ValueUse(NamedTuple):
    """A value of a property, as text, and how many notes have it; ``""`` where a property has no value."""

    text: str
    notes: int


class TaskPlace(NamedTuple):
    """A task and where it stands: the note, the line, the heading above it (empty if there is none)."""

    path: VaultPath
    line: int
    mark: str
    text: str
    heading: str


class FileKind(NamedTuple):
    """How many files of one extension there are (empty for those without), and their bytes."""

    extension: str
    files: int
    size: int


class FolderSize(NamedTuple):
    """How many notes lie right in a folder (``""`` is the vault's own), and their bytes."""

    folder: str
    notes: int
    size: int


class Problem(NamedTuple):
    """What is odd about a note, or why it cannot be read."""

    path: VaultPath
    text: str


class VaultStats(NamedTuple):
    """A vault in numbers. Notes that its own rules exclude are counted as ``excluded`` and nowhere else.

    ``unreadable`` notes could not be read, ``odd`` ones not in all. ``folders``, the largest first, and ``problems`` are
    the first few. ``unkept`` says why the index is not kept, ``unwatched`` why each call looks at all files; empty if that
    is not so.
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
    unwatched: tuple[str, ...] = ()
    unkept: str = ""


class Listing(NamedTuple):
    """One page of a listing in path order, how many notes there are in all, and whether some follow this page."""

    notes: list[NoteStat]
    total: int
    has_more: bool


class IndexReport(NamedTuple):
    """How an index is kept: its folder (None: in memory, and why), the seconds one look over the vault took, and why the
    vault cannot be watched, empty if it can.
    """

    folder: str | None
    not_kept: str
    seconds: float
    not_watched: str


class Confirmation(NamedTuple):
    """A question to a person before a change is made. Another plan has another ``key``, the same plan the same."""

    key: str
    message: str


class Progress(Protocol):
    """How long work hears that nobody waits for it any more, says how far it got, and asks before it goes on."""

    def check(self) -> None:
        """Raise ``Stopped`` if the caller cancelled or the deadline passed. Cheap: call it once a note."""

    def report(self, done: int, total: int, message: str) -> None:
        """Say how far the work is."""

    def confirm(self, question: Confirmation) -> None:
        """Have the person agree, where there is one who can be asked; returns if they do, or if there is none.

        Raises an exception of the caller's own where they have not agreed. Nothing may be changed before, and the plan is
        made again afterwards: call it inside ``held``, which is left while the person thinks.
        """


class NoProgress:
    """For callers that neither cancel nor listen, and where nobody can be asked."""

    def check(self) -> None:
        """Never stops."""

    def report(self, done: int, total: int, message: str) -> None:
        """Say it to nobody."""

    def confirm(self, question: Confirmation) -> None:
        """Ask nobody."""


NO_PROGRESS: Progress = NoProgress()

_Item = TypeVar("_Item")


def asking(progress: Progress, items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield the items, and ask before each whether to go on: for loops over what may be very many."""
    for item in items:
        progress.check()
        yield item
