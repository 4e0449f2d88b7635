"""A note's bytes as text for an edit, and back: its byte order mark (BOM) stays, and bytes that are not UTF-8 are refused.

What is read only, for a search or a preview, is in ``disk.contents``.
"""

from __future__ import annotations

from vaultwire.markdown.merging import content_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOT_UTF8, VaultError
from vaultwire.vault.value_types import VaultPath

BOM = "\ufeff"


def read_text(files: Files, path: VaultPath) -> tuple[bytes, str]:
    """Return a note's bytes and its text, as ``decode_note`` does. Raises VaultError as ``Files.read`` does, and NOT_UTF8."""
    data = files.read(path).data
    return data, decode_note(path, data)


def decode_note(path: VaultPath, data: bytes) -> str:
    """Return a note's text with its own line ends and without BOM. Raises VaultError (NOT_UTF8)."""
    try:
        return data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        raise VaultError(
            NOT_UTF8,
            f"{path!r} is not UTF-8 (byte {error.start}), so an edit could destroy text. Convert it to UTF-8 first.",
            path=path,
        ) from None


def with_bom(data: bytes, before: bytes) -> bytes:
    """Return a note's new bytes with a BOM if the note had one ``before``."""
    bom = BOM.encode()
    return bom + data if before.startswith(bom) else data


def check_same_content(before: list[str], after: list[str], path: VaultPath) -> None:
    """Check that texts hold the same headings, links, tags, tasks and block ids in all. Raises VaultError."""
    if content_of(before) != content_of(after):
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{path!r}: the text would not mean the same: something that is open there, such as a code block, a comment or "
            "HTML, would take in the lines behind it, or be cut in two. Close it first, or choose other lines.",
            path=path,
        )
