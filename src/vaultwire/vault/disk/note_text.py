"""A note's bytes as plain text, for searches, the index and excerpts; and new text as bytes. No Markdown is parsed here."""

from __future__ import annotations

from collections.abc import Callable

from vaultwire.markdown.edits import to_plain
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

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
