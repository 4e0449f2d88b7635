"""What a note's file holds, as catalog and text index keep it. Which files are read, and when, is ``upkeep``'s matter."""

from __future__ import annotations

import hashlib
import time
from typing import NamedTuple

from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.store.facts import to_facts
from vaultwire.vault.index.store.grams import Grams
from vaultwire.vault.index.store.plan import BODY
from vaultwire.vault.index.store.schema import NO_FACTS, PENDING, READ_EACH_TIME, Facts
from vaultwire.vault.index.store.text import Fields, to_fields
from vaultwire.vault.index.store.words import has_endless_piece, has_too_many_words
from vaultwire.vault.search.searchable import parse_searchable, searchable_text
from vaultwire.vault.value_types import VaultPath

# Clocks of file systems tick every 4 ms (ext4) to 2 s (FAT): a file read so soon after its last change may change again
# without a new time.
_RACY_NS = 2_000_000_000
# A note that is shorter has no more words than may be, so they need not be counted.
_LONG = 400_000
_NOT_INDEXED = "cannot be indexed ({}): its text is searched, its links, tags and properties are not known"


class ToRead(NamedTuple):
    """A note to be read: when it was changed last, the digest of what is known of it, and whether for the text index too."""

    path: VaultPath
    modified_ns: int
    known: int | None
    for_text: bool


class Reading(NamedTuple):
    """What a note's file holds. ``facts`` is None if its digest is the one known, ``fields`` if none are to be kept."""

    digest: int
    is_racy: bool
    state: int
    problem: str | None
    facts: Facts | None
    fields: Fields | None


def read_note(files: Files, wanted: ToRead, grams: Grams) -> Reading | str:
    """Return what the file holds, or why it cannot be read. ``grams`` are those of the text index."""
    try:
        if files.is_dataless(wanted.path):
            return "is only in the cloud, not on this computer"
        data = files.read(wanted.path).data
    except VaultError as error:
        return error.message
    is_racy = time.time_ns() - wanted.modified_ns < _RACY_NS
    digest = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)
    if digest == wanted.known:
        return Reading(digest, is_racy, PENDING, None, None, None)
    try:
        state, problem, facts, fields = _looked_into(wanted, searchable_text(wanted.path, data), grams)
    except Exception as error:  # noqa: BLE001 - whatever one note does to its reader, the others stay searchable
        state, problem, facts, fields = READ_EACH_TIME, _NOT_INDEXED.format(type(error).__name__), NO_FACTS, None
    return Reading(digest, is_racy, state, problem, facts, fields)


def _looked_into(wanted: ToRead, text: str, grams: Grams) -> tuple[int, str | None, Facts, Fields | None]:
    parsed = parse_searchable(wanted.path, text)
    state = READ_EACH_TIME if has_endless_piece(text) else PENDING
    fields = None
    if state == PENDING and (wanted.for_text or len(text) > _LONG):
        fields = to_fields(wanted.path, text, parsed, grams)
        if has_too_many_words(fields[0][BODY]):
            state = READ_EACH_TIME
    problem = parsed.problems[0] if parsed.problems else None
    return state, problem, to_facts(wanted.path, parsed), fields if state == PENDING and wanted.for_text else None
