"""The catalog's tables, and what goes into and comes out of them."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from vaultwire.vault.model import NoteStat

# Part of the cache folder's name: a catalog of another shape, or of notes that were read in another way, is never opened,
# only left behind and removed.
FORMAT = 11

# What the text index has of a note: all; not this version of it yet; nothing ever, so that each search reads it.
INDEXED, PENDING, NOT_INDEXABLE = range(3)

UNREAD = 0
"""The digest of a file that was not read."""

# In ``meta`` names lie apart from values: some of those have a megabyte, which looking for any other name would read.
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value);

CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    is_note INTEGER NOT NULL,
    hidden INTEGER NOT NULL,
    state INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    is_racy INTEGER NOT NULL,
    problem TEXT
);

CREATE TABLE gone (id INTEGER PRIMARY KEY);

CREATE TABLE links (
    note INTEGER NOT NULL, place INTEGER NOT NULL, line INTEGER NOT NULL, name TEXT NOT NULL, linktext TEXT NOT NULL,
    display TEXT NOT NULL, kind INTEGER NOT NULL, PRIMARY KEY (note, place)
) WITHOUT ROWID;

CREATE TABLE tags (note INTEGER NOT NULL, place INTEGER NOT NULL, tag TEXT NOT NULL,
    PRIMARY KEY (note, place)) WITHOUT ROWID;

CREATE TABLE tagged (tag TEXT NOT NULL, note INTEGER NOT NULL, spelling TEXT NOT NULL,
    PRIMARY KEY (tag, note)) WITHOUT ROWID;

CREATE TABLE tag_counts (tag TEXT PRIMARY KEY, notes INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE aliases (note INTEGER NOT NULL, place INTEGER NOT NULL, alias TEXT NOT NULL, spelling TEXT NOT NULL,
    PRIMARY KEY (note, place)) WITHOUT ROWID;

CREATE TABLE properties (note INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, spelling TEXT NOT NULL,
    value TEXT NOT NULL, PRIMARY KEY (note, place)) WITHOUT ROWID;

CREATE TABLE tasks (note INTEGER NOT NULL, line INTEGER NOT NULL, mark TEXT NOT NULL, heading TEXT NOT NULL,
    text TEXT NOT NULL, PRIMARY KEY (note, line)) WITHOUT ROWID;

CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL, of_paths INTEGER NOT NULL);
"""

# Apart from the tables: a first build makes them when all rows are there, in a third of the time.
INDEXES = {
    "files_folder": "files (folder)",
    "files_name": "files (name)",
    "files_state": "files (state) WHERE state > 0",
    "files_modified": "files (modified) WHERE is_note AND NOT hidden",
    "files_visible": "files (path) WHERE is_note AND NOT hidden",
    "files_canvases": "files (path) WHERE NOT is_note AND NOT hidden AND digest <> 0",
    "files_hidden": "files (id) WHERE hidden",
    "files_problem": "files (id) WHERE problem IS NOT NULL",
    "links_name": "links (name)",
    "tagged_note": "tagged (note)",
    "properties_value": "properties (name, value, note)",
}

# What notes have; ``tagged`` has each tag with those above it, of notes that are not hidden. Headings and block ids are not
# here: whoever wants them has the note at hand.
FACTS = ("links", "tags", "tagged", "aliases", "properties", "tasks")

Facts: TypeAlias = tuple[list[tuple[Any, ...]], ...]
"""A note's rows of each of these tables, without its id."""

NO_FACTS: Facts = tuple([] for _ in FACTS)
"""Those of a note of which nothing is known."""


class Record(NamedTuple):
    """What is known of one file. ``facts`` is None for an attachment and for a note that cannot be read.

    A canvas is an attachment with a digest: the text index has it, and it has no facts.

    ``is_racy``: it was read so soon after its last change that a further one may not show in its time.
    """

    stat: NoteStat
    is_note: bool
    hidden: bool = False
    state: int = INDEXED
    digest: int = UNREAD
    is_racy: bool = False
    problem: str | None = None
    facts: Facts | None = None


class KnownFile(NamedTuple):
    """What tells whether a file has to be read again."""

    size: int
    modified_ns: int
    stamp: int
    is_racy: bool
    hidden: bool
    digest: int


class FileRow(NamedTuple):
    """A file as the catalog has it."""

    id: int
    stat: NoteStat
    is_note: bool
    hidden: bool
    state: int
    digest: int
