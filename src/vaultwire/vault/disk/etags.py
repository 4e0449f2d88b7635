"""Fingerprints of what a file holds: what a read hands out and an edit may ask for."""

from __future__ import annotations

import hashlib


def etag_of(data: bytes) -> str:
    """Return a short fingerprint of a file's bytes; 96 bits, so two texts of one note never share it by chance."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


# Ends the etag that goes with a part of a note: good for every edit but writing over the whole.
_PART = "-part"


def part_etag(etag: str) -> str:
    """Return the etag that goes with a part of a note that has this one."""
    return etag + _PART


def whole_etag(etag: str) -> tuple[str, bool]:
    """Return the note's own etag, and whether this one went with a part of the note only."""
    return etag.removesuffix(_PART), etag.endswith(_PART)
