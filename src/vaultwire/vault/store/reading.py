"""What a note's file holds, as catalog and text index keep it. Which files are read, and when, is ``upkeep``'s matter."""

from __future__ import annotations

import hashlib
import time
from typing import NamedTuple

from vaultwire.markdown.parse import parse_note
from vaultwire.vault.errors import VaultError
from vaultwire.vault.files import Files
from vaultwire.vault.model import VaultPath
from vaultwire.vault.plain import plain_text
from vaultwire.vault.store.facts import to_facts
from vaultwire.vault.store.grams import Grams
from vaultwire.vault.store.schema import PENDING, READ_EACH_TIME, Facts
from vaultwire.vault.store.text import Fields, to_fields
from vaultwire.vault.store.words import has_endless_piece

# Clocks of file systems tick every 4 ms (ext4) to 2 s (FAT): a file read so soon after its last change may change again
# without a new time.
_RACY_NS = 2_000_000_000


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
    text = plain_text(data)
    parsed = parse_note(text)
    state = READ_EACH_TIME if has_endless_piece(text) else PENDING
    fields = to_fields(wanted.path, text, parsed, grams) if wanted.for_text and state == PENDING else None
    problem = parsed.problems[0] if parsed.problems else None
    return Reading(digest, is_racy, state, problem, to_facts(wanted.path, parsed), fields)
