"""What a note's file holds, as catalog and text index keep it. Which files are read, and when, is said in ``updater``."""

from __future__ import annotations

import hashlib
import time
from typing import NamedTuple

from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.store.facts import to_facts
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.schema import NO_FACTS, NOT_INDEXABLE, PENDING, Facts
from vaultwire.vault.index.store.search_plan import BODY
from vaultwire.vault.index.store.text_index import Fields, to_fields
from vaultwire.vault.index.store.tokenizer import has_endless_piece, has_too_many_words
from vaultwire.vault.model import VaultPath
from vaultwire.vault.search.searched import parse_searched, searched_text

# Clocks of file systems tick every 4 ms (ext4) to 2 s (FAT): a file read so soon after its last change may change again
# without a new time.
_RACY_NS = 2_000_000_000
# A note that is shorter has no more words than may be, so they need not be counted.
_LONG = 400_000
_NOT_INDEXED = "cannot be indexed ({}): its text is searched, its links, tags and properties are not known"


class NoteToRead(NamedTuple):
    """A note to be read: when it was changed last, the digest of what is known of it, and whether for the text index too."""

    path: VaultPath
    modified_ns: int
    known: int | None
    for_text: bool


class NoteContent(NamedTuple):
    """What a note's file holds. ``facts`` is None if its digest is the one known, ``fields`` if none are to be kept."""

    digest: int
    is_racy: bool
    state: int
    problem: str | None
    facts: Facts | None
    fields: Fields | None


def read_note(files: Files, wanted: NoteToRead, ngrams: NgramFilter) -> NoteContent | str:
    """Return what the file holds, or why it cannot be read. ``ngrams`` are those of the text index."""
    try:
        if files.is_dataless(wanted.path):
            return "is only in the cloud, not on this computer"
        data = files.read(wanted.path).data
    except VaultError as error:
        return error.message
    is_racy = time.time_ns() - wanted.modified_ns < _RACY_NS
    digest = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)
    if digest == wanted.known:
        return NoteContent(digest, is_racy, PENDING, None, None, None)
    try:
        state, problem, facts, fields = _looked_into(wanted, searched_text(wanted.path, data), ngrams)
    except Exception as error:  # noqa: BLE001 - whatever one note does to its reader, the others stay searchable
        state, problem, facts, fields = NOT_INDEXABLE, _NOT_INDEXED.format(type(error).__name__), NO_FACTS, None
    return NoteContent(digest, is_racy, state, problem, facts, fields)


def _looked_into(wanted: NoteToRead, text: str, ngrams: NgramFilter) -> tuple[int, str | None, Facts, Fields | None]:
    parsed = parse_searched(wanted.path, text)
    state = NOT_INDEXABLE if has_endless_piece(text) else PENDING
    fields = None
    if state == PENDING and (wanted.for_text or len(text) > _LONG):
        fields = to_fields(wanted.path, text, parsed, ngrams)
        if has_too_many_words(fields[0][BODY]):
            state = NOT_INDEXABLE
    problem = parsed.problems[0] if parsed.problems else None
    return state, problem, to_facts(wanted.path, parsed), fields if state == PENDING and wanted.for_text else None
