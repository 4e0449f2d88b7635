"""Reads a note and turns it into what catalog and text index store of it. ``updater`` decides which notes to read, and when."""

from __future__ import annotations

import hashlib
import time

from vaultwire.bases.base_blocks import may_hold_queries
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.errors import NOT_READ, VaultError
from vaultwire.vault.index.store.encoded import without_encoded
from vaultwire.vault.index.store.facts import to_facts
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.schema import NO_FACTS, NOT_INDEXABLE, PENDING, Record
from vaultwire.vault.index.store.search_plan import BODY
from vaultwire.vault.index.store.text_index import Fields, to_fields
from vaultwire.vault.index.store.tokenizer import folded_words, has_endless_piece, has_too_many_words
from vaultwire.vault.links.checks import may_have_faults
from vaultwire.vault.search.note_parts import is_searchable, parse_searchable, searchable_text
from vaultwire.vault.value_types import NoteStat, VaultPath

# Clocks of file systems tick every 4 ms (ext4) to 2 s (FAT). A file that is read so soon after its last change may change
# again without a new time.
_RACY_NS = 2_000_000_000
# A shorter note cannot have too many words, so they need not be counted.
_LONG = 400_000
_NOT_INDEXED = "cannot be indexed ({}): its text is searched, its links, tags and properties are not known"


def read_note(files: Files, stat: NoteStat, known_digest: int | None, *, hidden: bool) -> Record:
    """Read a file for the catalog. If its digest is the known one, the record says nothing else of it."""
    if not is_searchable(stat.path):
        return Record(stat, is_note=False, hidden=hidden)
    try:
        data = _data(files, stat.path)
    except VaultError as error:
        return unreadable(stat, error.message, hidden=hidden)
    is_racy = time.time_ns() - stat.modified_ns < _RACY_NS
    digest = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)
    record = Record(stat, is_note(stat.path), hidden, PENDING, digest, is_racy)
    if digest == known_digest:
        return record
    try:
        return _parsed(record, searchable_text(stat.path, data))
    except Exception as error:  # noqa: BLE001 - if one note breaks its reader, the others must stay searchable
        problem = _NOT_INDEXED.format(type(error).__name__)
        return record._replace(state=NOT_INDEXABLE, problem=problem, facts=NO_FACTS)


def read_fields(files: Files, path: VaultPath, ngrams: NgramFilter) -> Fields | None:
    """Read a note for the text index; None if that cannot have it. Raises VaultError if it cannot be read."""
    text = searchable_text(path, _data(files, path))
    try:
        parsed = parse_searchable(path, text)
        if _has_endless_piece(text, parsed):
            return None
        fields = to_fields(path, text, parsed, ngrams)
    except Exception:  # noqa: BLE001 - as above; the next check of the file says so in the catalog
        return None
    return None if has_too_many_words(fields[0][BODY]) else fields


def unreadable(stat: NoteStat, problem: str, *, hidden: bool) -> Record:
    """Return the record of a file that cannot be read."""
    return Record(stat, is_note=is_note(stat.path), hidden=hidden, state=PENDING, problem=problem)


def _data(files: Files, path: VaultPath) -> bytes:
    if files.is_dataless(path):
        raise VaultError(NOT_READ, "is only in the cloud, not on this computer")
    return files.read(path).data


def _parsed(record: Record, text: str) -> Record:
    parsed = parse_searchable(record.stat.path, text)
    is_indexable = not (
        _has_endless_piece(text, parsed)
        or (len(text) > _LONG and has_too_many_words(folded_words(without_encoded(text))))
    )
    return record._replace(
        state=PENDING if is_indexable else NOT_INDEXABLE,
        problem=parsed.problems[0] if parsed.problems else None,
        facts=to_facts(record.stat.path, parsed),
        suspect=may_have_faults(parsed),
        has_queries=may_hold_queries(text),
    )


def _has_endless_piece(text: str, parsed: ParsedNote) -> bool:
    # Encoded text is left out of the words, but not of the exact values.
    pieces = (without_encoded(text), *parsed.tags, *parsed.frontmatter.values)
    return any(map(has_endless_piece, pieces))
