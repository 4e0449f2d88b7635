"""The bytes of a file before or after a change, in memory or where they can be read again; their etag, and their text.

The bytes of 70,000 notes are too many to hold at once. So a plan holds only a digest and what differs, and reads the rest
from the notes; as soon as a large change is in the journal, all is read from there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Protocol

from vaultwire.markdown.edits import to_plain
from vaultwire.vault.errors import INVALID_ARGUMENTS, STALE_EDIT, VaultError


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

    def hold(self) -> None:
        """Keep the bytes in memory from now on. Raises VaultError as ``data`` does."""
        self._digest, self._source = self.digest, self.data

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


# Etags: fingerprints of a file's content, which a read returns and an edit may require.


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


# A note's bytes as plain text, for searches, the index and excerpts; and new text as bytes. No Markdown is parsed here.

_BOM = "\ufeff"


def plain_text(data: bytes) -> str:
    """Return the text without BOM and with ``\\n`` line ends; bytes that are not UTF-8 become U+FFFD."""
    return to_plain(data.decode("utf-8-sig", "replace"))


def first_invalid_byte(data: bytes) -> int | None:
    """Return the position of the first byte that is not UTF-8, None if there is none."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def edited_bytes(data: bytes, edit: Callable[[str], str]) -> bytes:
    """Return a note's bytes with its text edited; ``edit`` gets the text without BOM and with the file's own line ends.

    Bytes that are not UTF-8 stay as they are.
    """
    text = data.decode("utf-8", "surrogateescape")
    bom = _BOM if text.startswith(_BOM) else ""
    return (bom + edit(text.removeprefix(bom))).encode("utf-8", "surrogateescape")


def to_bytes(text: str, before: bytes = b"") -> bytes:
    """Return the bytes of a note's new text; ``before`` are its old bytes.

    Raises VaultError (INVALID_ARGUMENTS) for a text that no file can hold, and for one that other programs take for binary.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        reason = f"character {error.start + 1} is half of a surrogate pair, which no file can hold"
        raise VaultError(INVALID_ARGUMENTS, f"The new text's {reason}.") from None
    if data.count(0) > before.count(0):
        place = text.index("\0") + 1
        raise VaultError(
            INVALID_ARGUMENTS, f"The new text's character {place} is a NUL, which is no text. Leave it out."
        )
    return data
