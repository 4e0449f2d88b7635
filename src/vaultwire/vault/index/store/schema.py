"""The catalog's tables and indexes, and the tuples that go in and come out. Statements are in the modules beside it."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from vaultwire.vault.value_types import NoteStat

# Part of the cache folder's name. Raise it when the tables change, or what is read from notes: a catalog of another format is
# never opened or migrated. A new one is built, and the old one is deleted.
FORMAT = 16

# The state of a note: the text index has it; it does not have this version yet; it cannot have it, so each search reads
# the file.
INDEXED, PENDING, NOT_INDEXABLE = range(3)

UNREAD = 0
"""The digest of a file that was not read or could not be."""

IN_LIST = "IN (SELECT value FROM json_each(?))"
"""A condition with any number of values: the parameter is their list as JSON."""

IS_ASCII = "length({0}) = length(CAST({0} AS BLOB))"
"""A condition on a column's text, in half the time of a pattern: SQLite folds the case of ASCII only."""

_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_TIME = "[0-9][0-9]:[0-9][0-9]"
KIND = (
    f"CASE WHEN value GLOB '\"{_DAY}\"' THEN 'day'"
    f" WHEN value GLOB '\"{_DAY}T{_TIME}\"' OR value GLOB '\"{_DAY}T{_TIME}:[0-9][0-9]\"' THEN 'time'"
    " WHEN value GLOB '[-0-9NI]*' THEN 'number' WHEN value IN ('true', 'false') THEN 'truth'"
    " ELSE substr(value, 1, 1) END"
)
"""The kind of a property's value. Values of one kind have one type (``markdown.properties.property_type``)."""

# ``meta`` has its rows apart from its index of names: some values have a megabyte, which a search for other names would read.
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
    problem TEXT,
    suspect INTEGER NOT NULL,
    has_queries INTEGER NOT NULL,
    open_tasks TEXT,
    done_tasks TEXT
);

CREATE TABLE gone (id INTEGER PRIMARY KEY);

CREATE TABLE changed (number INTEGER NOT NULL, path TEXT NOT NULL, id INTEGER NOT NULL, is_listed INTEGER NOT NULL);

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
    value TEXT NOT NULL, written TEXT, PRIMARY KEY (note, place)) WITHOUT ROWID;

CREATE TABLE property_counts (name TEXT NOT NULL, kind TEXT NOT NULL, example TEXT NOT NULL, notes INTEGER NOT NULL,
    PRIMARY KEY (name, kind)) WITHOUT ROWID;

CREATE TABLE counts (what TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE tasks (note INTEGER NOT NULL, line INTEGER NOT NULL, mark TEXT NOT NULL, heading TEXT NOT NULL,
    text TEXT NOT NULL, is_open INTEGER NOT NULL, PRIMARY KEY (note, line)) WITHOUT ROWID;

CREATE TABLE outlines (note INTEGER PRIMARY KEY, headings TEXT NOT NULL, block_ids TEXT NOT NULL);

CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL, of_paths INTEGER NOT NULL);
"""

# Apart from the tables: a first build creates them after all rows are inserted, which takes a third of the time.
INDEXES = {
    "files_folder": "files (folder, is_note, hidden, size)",
    "files_name": "files (name, path, is_note, hidden)",
    "files_size": "files (size DESC, path) WHERE is_note AND NOT hidden",
    "files_state": "files (state) WHERE state > 0",
    "files_latest": "files (modified DESC, path) WHERE is_note AND NOT hidden",
    "files_visible": "files (path) WHERE is_note AND NOT hidden",
    "files_canvases": "files (path) WHERE NOT is_note AND NOT hidden AND digest <> 0",
    "files_hidden": "files (id) WHERE hidden",
    "files_problem": "files (id) WHERE problem IS NOT NULL",
    "files_suspect": "files (path) WHERE suspect",
    "files_queries": "files (path) WHERE has_queries",
    "files_open_tasks": "files (path, open_tasks) WHERE open_tasks IS NOT NULL AND NOT hidden",
    "files_done_tasks": "files (path, done_tasks) WHERE done_tasks IS NOT NULL AND NOT hidden",
    "files_attachments": "files (name, size) WHERE NOT is_note AND NOT hidden",
    "links_name": "links (name)",
    "tagged_note": "tagged (note)",
    "properties_value": "properties (name, value, written, note)",
}

# ``written`` is NULL where the texts of a property are those of its value. Else it has them as JSON, for each name in the note
# that differs from this one only in case: whether it has no value, whether that is empty, and the texts, as in ``1.20``.

# ``tag_counts``, ``property_counts`` and ``counts`` (links, open and done tasks) count what notes have that are not hidden. To
# count it in 100,000 notes takes 0.2 s. An ``example`` is a value that some note has or had. ``open_tasks`` and ``done_tasks``
# have the lines of a note's tasks, with commas: a list of 180,000 tasks is made of them in 15 ms, of the tasks in 140.

# The tables of a note's facts: what was read from it. ``tagged`` has each tag and its parent tags, of notes that are not
# hidden. ``outlines`` has what links to a part may name, as JSON: level and text of each heading, and the block ids. Callers
# that need more of them read the note.
FACTS = ("links", "tags", "tagged", "aliases", "properties", "tasks", "outlines")

Facts: TypeAlias = tuple[list[tuple[Any, ...]], ...]
"""A note's rows for each of these tables, without the note's id."""

NO_FACTS: Facts = tuple([] for _ in FACTS)
"""The facts of a note that could not be parsed."""


class Record(NamedTuple):
    """All that the catalog stores of one file. ``facts`` is None for an attachment and for a note that cannot be read.

    A canvas is an attachment with a digest: the text index has it, and it has no facts.

    ``suspect``: whether its own text may have a fault (``vault.links.checks``), whatever its links lead to.

    ``has_queries``: it may have a code block that asks for notes, such as a base (``may_hold_queries``).

    ``is_racy``: it was read so soon after its last change that another change may not show in its time.
    """

    stat: NoteStat
    is_note: bool
    hidden: bool = False
    state: int = INDEXED
    digest: int = UNREAD
    is_racy: bool = False
    problem: str | None = None
    facts: Facts | None = None
    suspect: bool = False
    has_queries: bool = False


class KnownFile(NamedTuple):
    """What the catalog knows of a file, to tell whether the file must be read again."""

    size: int
    modified_ns: int
    stamp: int
    is_racy: bool
    hidden: bool
    digest: int


class FileRow(NamedTuple):
    """A row of the table ``files``."""

    id: int
    stat: NoteStat
    is_note: bool
    hidden: bool
    state: int
    digest: int
