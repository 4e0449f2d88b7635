"""Etags: fingerprints of a file's content, which a read returns and an edit may require."""

from __future__ import annotations

from vaultwire.vault.disk.contents import digest_of


def etag_of(data: bytes) -> str:
    """Return a short fingerprint of a file's bytes."""
    return digest_of(data).hex()


# The suffix of the etag of a part of a note. It is valid for every edit, but not for overwriting the whole note.
_PART = "-part"


def part_etag(etag: str) -> str:
    """Return the etag for a part of the note with this etag."""
    return etag + _PART


def whole_etag(etag: str) -> tuple[str, bool]:
    """Return the note's own etag, and whether this one was for a part of the note."""
    return etag.removesuffix(_PART), etag.endswith(_PART)
