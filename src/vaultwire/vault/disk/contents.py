"""The bytes of a file before or after a change, in memory or where they can be read again.

The bytes of 70,000 notes are too many to hold at once. So a plan holds only a digest and what differs, and reads the rest
from the notes; as soon as the change is in the journal, all is read from there.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from vaultwire.vault.errors import STALE_EDIT, VaultError


class Source(Protocol):
    """Where the bytes of a content are read."""

    def read(self) -> bytes:
        """Return the bytes. Raises VaultError."""

    def damage(self) -> VaultError:
        """Return the error for bytes that are not those that were kept there."""


class Content:
    """The bytes of one file at one moment. Contents with the same bytes are equal, wherever these are."""

    __slots__ = ("_digest", "_source", "size")

    def __init__(self, source: bytes | Source, size: int = 0, digest: bytes = b"") -> None:
        """Give ``size`` and ``digest`` (``digest_of``) unless the ``source`` is the bytes themselves."""
        self._source = source
        self.size = len(source) if isinstance(source, bytes) else size
        self._digest = digest

    @property
    def digest(self) -> bytes:
        """See ``digest_of``."""
        if isinstance(self._source, bytes) and not self._digest:
            self._digest = digest_of(self._source)
        return self._digest

    @property
    def data(self) -> bytes:
        """The bytes, read from their source if they are not in memory. Raises VaultError if they are not there any more."""
        if isinstance(self._source, bytes):
            return self._source
        data = self._source.read()
        if not self.is_same(data):
            raise self._source.damage()
        return data

    def is_same(self, data: bytes) -> bool:
        """Tell whether the bytes are these. Reads nothing."""
        if isinstance(self._source, bytes):
            return self._source == data
        return len(data) == self.size and digest_of(data) == self._digest

    def keep_like(self, other: Content) -> None:
        """Read the bytes from now on where ``other``, an equal content, reads them."""
        self._digest = self.digest
        self._source = other._source

    def __eq__(self, other: object) -> bool:
        """Tell whether the bytes are the same. Reads nothing."""
        return isinstance(other, Content) and self.size == other.size and self.digest == other.digest

    def __hash__(self) -> int:
        """Return a number that is the same for the same bytes."""
        return hash(self.digest)


class Patched:
    """Bytes that are others but for a part in their middle."""

    __slots__ = ("base", "head", "middle", "tail")

    def __init__(self, base: Content, head: int, tail: int, middle: bytes) -> None:
        """``head`` and ``tail`` are how many bytes of the ``base`` stay at its beginning and its end."""
        self.base = base
        self.head = head
        self.tail = tail
        self.middle = middle

    def read(self) -> bytes:
        """See ``Source``."""
        data = self.base.data
        return data[: self.head] + self.middle + data[len(data) - self.tail :]

    def damage(self) -> VaultError:
        """See ``Source``."""
        return VaultError(STALE_EDIT, "The bytes that an edit began with have changed; plan it again.")


def digest_of(data: bytes) -> bytes:
    """Return a digest of a file's bytes. With 96 bits, no two files have the same by chance."""
    return hashlib.blake2b(data, digest_size=12).digest()


def patched(before: Content, old: bytes, new: bytes) -> Content:
    """Return the content ``new`` as what differs from ``before``, whose bytes are ``old``."""
    head = _common_prefix_length(old, new)
    tail = _common_prefix_length(old[head:][::-1], new[head:][::-1])
    middle = new[head : len(new) - tail]
    return Content(Patched(before, head, tail, middle), len(new), digest_of(new))


def patch_of(before: Content, after: Content) -> Patched:
    """Return an edit's new bytes as what differs from the old ones. Raises VaultError as ``Content.data`` does."""
    source = after._source  # noqa: SLF001 - of the same module
    if isinstance(source, Patched) and source.base is before:
        return source
    made = patched(before, before.data, after.data)._source  # noqa: SLF001
    assert isinstance(made, Patched)
    return made


def _common_prefix_length(one: bytes, other: bytes) -> int:
    """Return how many bytes both begin with. By bisection: comparing slices is done in C, comparing bytes one by one is not."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
