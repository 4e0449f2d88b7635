"""A part of what was done to a file: its bytes without some hunks, and an edited text with the file's own line ends.

Pure functions. Hunks are those of ``hunks_of``; lines end with ``\\n``, so the lines of bytes are those of their plain text.
"""

from __future__ import annotations

from collections.abc import Collection

from vaultwire.markdown.diffs import differences, lines_of
from vaultwire.review.diff import hunks_of
from vaultwire.vault.disk.note_text import plain_text, to_bytes

_BOM = b"\xef\xbb\xbf"


def hunk_count(before: bytes | None, after: bytes | None) -> int:
    """Return how many hunks a file's change has; 0 for a file that is no text."""
    if is_binary(before) or is_binary(after):
        return 0
    return len(hunks_of(plain_text(before or b""), plain_text(after or b"")))


def is_binary(data: bytes | None) -> bool:
    """Tell whether bytes are no text."""
    return data is not None and b"\0" in data


def without_hunks(before: bytes, after: bytes, undone: Collection[int]) -> bytes:
    """Return the bytes after a change with some of its hunks as they were before; without all of them, those before."""
    hunks = hunks_of(plain_text(before), plain_text(after))
    if len(set(undone)) == len(hunks):
        return before
    bom = _BOM if after.startswith(_BOM) else b""
    old, new = _lines(before.removeprefix(_BOM)), _lines(after.removeprefix(_BOM))
    result: list[bytes] = []
    position = 0
    for index, hunk in enumerate(hunks):
        if index in undone:
            result += new[position : hunk.new_start]
            result += old[hunk.start : hunk.end]
            position = hunk.new_end
    return bom + b"".join(result + new[position:])


def in_the_form_of(base: bytes, text: str) -> bytes:
    """Return a text as bytes with the BOM and the line ends of ``base``: lines that stay are byte for byte as there.

    Raises VaultError (INVALID_ARGUMENTS) for a text that no file can hold.
    """
    bom = _BOM if base.startswith(_BOM) else b""
    raw = _lines(base.removeprefix(_BOM))
    ends_crlf = sum(line.endswith(b"\r\n") for line in raw)
    is_crlf = ends_crlf * 2 > sum(line.endswith(b"\n") for line in raw)
    plain = text.replace("\r\n", "\n")
    to_bytes(plain, base)  # refuses what no file can hold
    old, new = lines_of(plain_text(base)), lines_of(plain)
    result: list[bytes] = []
    position = 0
    for each in differences(old, new):
        result += raw[position : each.start]
        added = "".join(new[each.new_start : each.new_end]).encode()
        result.append(added.replace(b"\n", b"\r\n") if is_crlf else added)
        position = each.end
    return bom + b"".join(result + raw[position:])


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
