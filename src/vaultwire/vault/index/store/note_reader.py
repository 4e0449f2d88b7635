"""Reads a note and turns it into what catalog and text index store of it. ``updater`` decides which notes to read, and when."""

from __future__ import annotations

import hashlib
import time
from typing import NamedTuple

from vaultwire.bases.base_blocks import may_hold_queries
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.store.encoded import without_encoded
from vaultwire.vault.index.store.facts import to_facts
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.schema import NO_FACTS, NOT_INDEXABLE, PENDING, Facts
from vaultwire.vault.index.store.search_plan import BODY
from vaultwire.vault.index.store.text_index import Fields, to_fields
from vaultwire.vault.index.store.tokenizer import has_endless_piece, has_too_many_words
from vaultwire.vault.links.checks import may_have_faults
from vaultwire.vault.search.note_parts import parse_searchable, searchable_text
from vaultwire.vault.value_types import VaultPath

# Clocks of file systems tick every 4 ms (ext4) to 2 s (FAT). A file that is read so soon after its last change may change
# again without a new time.
_RACY_NS = 2_000_000_000
# A shorter note cannot have too many words, so they need not be counted.
_LONG = 400_000
_NOT_INDEXED = "cannot be indexed ({}): its text is searched, its links, tags and properties are not known"


class NoteToRead(NamedTuple):
    """A note to read: when it last changed, the digest that is known of it, whether the text index needs its fields."""

    path: VaultPath
    modified_ns: int
    known_digest: int | None
    for_text: bool


class NoteContent(NamedTuple):
    """What was read. ``facts`` is None if the digest is the known one, ``fields`` if the text index needs or gets none.

    ``suspect`` and ``has_queries``: see ``Record``.
    """

    digest: int
    is_racy: bool
    state: int
    problem: str | None
    facts: Facts | None
    fields: Fields | None
    suspect: bool = False
    has_queries: bool = False


def read_note(files: Files, note: NoteToRead, ngrams: NgramFilter) -> NoteContent | str:
    """Read a note. Return a text that says why if it cannot be read."""
    try:
        if files.is_dataless(note.path):
            return "is only in the cloud, not on this computer"
        data = files.read(note.path).data
    except VaultError as error:
        return error.message
    is_racy = time.time_ns() - note.modified_ns < _RACY_NS
    digest = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)
    if digest == note.known_digest:
        return NoteContent(digest, is_racy, PENDING, None, None, None)
    try:
        return NoteContent(digest, is_racy, *_parse(note, searchable_text(note.path, data), ngrams))
    except Exception as error:  # noqa: BLE001 - if one note breaks its reader, the others must stay searchable
        problem = _NOT_INDEXED.format(type(error).__name__)
        return NoteContent(digest, is_racy, NOT_INDEXABLE, problem, NO_FACTS, None)


def _parse(
    note: NoteToRead, text: str, ngrams: NgramFilter
) -> tuple[int, str | None, Facts, Fields | None, bool, bool]:
    """Return state, problem, facts and fields of a note, whether it is suspect, and whether it may have queries."""
    parsed = parse_searchable(note.path, text)
    # Encoded text is left out of the words, but not of the exact values.
    pieces = (without_encoded(text), *parsed.tags, *parsed.frontmatter.values)
    state = NOT_INDEXABLE if any(map(has_endless_piece, pieces)) else PENDING
    fields = None
    if state == PENDING and (note.for_text or len(text) > _LONG):
        fields = to_fields(note.path, text, parsed, ngrams)
        if has_too_many_words(fields[0][BODY]):
            state = NOT_INDEXABLE
    problem = parsed.problems[0] if parsed.problems else None
    facts = to_facts(note.path, parsed)
    stored = fields if state == PENDING and note.for_text else None
    return state, problem, facts, stored, may_have_faults(parsed), may_hold_queries(text)
