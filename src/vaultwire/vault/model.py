"""The words of the engine as types. Nothing here touches a disk."""

from __future__ import annotations

from typing import NamedTuple, NewType, Protocol

from vaultwire.markdown.model import ParsedNote

VaultPath = NewType("VaultPath", str)
"""Vault-relative, ``/`` between parts, extension included, spelt as on disk. Made by ``vault.paths`` and the walk only."""


class NoteStat(NamedTuple):
    """A note's file facts. ``modified_ns`` is nanoseconds since the epoch, ``inode`` the file system's number for it."""

    path: VaultPath
    size: int
    modified_ns: int
    inode: int


class Note(NamedTuple):
    """A note as read: its text has no BOM and ``\\n`` line ends, whatever the file has."""

    path: VaultPath
    text: str
    etag: str
    size: int
    modified_ns: int
    problems: list[str]


class Written(NamedTuple):
    """What a write did. ``changed`` is False when the file already held exactly that."""

    path: VaultPath
    etag: str
    size: int
    created: bool
    changed: bool


class Deleted(NamedTuple):
    """What a delete did. ``trash_path`` is where the note lies now, None if it is gone for good."""

    path: VaultPath
    trash_path: str | None


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
    """A heading and the last line of its section, which is the one before the next heading of its level or above."""

    level: int
    text: str
    line: int
    last_line: int


class Structure(NamedTuple):
    """How a note is built: its parts, its headings with the extent of their sections, and how many lines it has."""

    path: VaultPath
    parsed: ParsedNote
    outline: list[OutlineEntry]
    lines: int


class TagCount(NamedTuple):
    """A tag as first written, and how many notes have it or one below it."""

    tag: str
    notes: int


class Listing(NamedTuple):
    """One page of a listing in path order, how many notes there are in all, and whether some follow this page."""

    notes: list[NoteStat]
    total: int
    has_more: bool


class Progress(Protocol):
    """How long work hears that nobody waits for it any more, and says how far it got."""

    def check(self) -> None:
        """Raise ``Stopped`` if the caller cancelled or the deadline passed. Cheap: call it once a note."""

    def report(self, done: int, total: int, message: str) -> None:
        """Say how far the work is."""


class NoProgress:
    """For callers that neither cancel nor listen."""

    def check(self) -> None:
        """Never stops."""

    def report(self, done: int, total: int, message: str) -> None:
        """Say it to nobody."""


NO_PROGRESS: Progress = NoProgress()
