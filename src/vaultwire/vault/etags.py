"""Fingerprints of what a file holds: what a read hands out and an edit may ask for."""

from __future__ import annotations

import hashlib


def etag_of(data: bytes) -> str:
    """Return a short fingerprint of a file's bytes; 96 bits, so two texts of one note never share it by chance."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()
