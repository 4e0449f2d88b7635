"""Encoded text in notes: drawings, pictures, keys. It is nothing that a person searches for, and its words are countless.

The text index gets a note without the inside of its encoded text. A search for a text that may lie there
looks into the bytes of these notes, and reads those that may have it. So it finds what looking into each note finds.

Encoded text is lines of letters and digits without spaces, as base64, Excalidraw's ``compressed-json``, hexadecimal numbers
and the data of ``data:`` addresses are. What has many signs between its letters is an address or the name of a heading.
Minified JSON is as countless: long pieces without a space, in which one character in six is a sign of JSON. A text with spaces
inside it is indexed.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from vaultwire.markdown.patterns import compile_pattern

_LEAST_LINE = 56  # lines of base64 have 64 characters or more, a last one may have less
_RUN = compile_pattern(r"[A-Za-z0-9+/=_-]{%d,}+(?:\n+[A-Za-z0-9+/=_-]{%d,}+)*+" % (_LEAST_LINE, _LEAST_LINE))  # noqa: UP031
_LEAST_JSON = 256
_JSON_RUN = compile_pattern(r"[!-~]{%d,}+" % _LEAST_JSON)  # noqa: UP031
_JSON_SIGN = re.compile(r'[]["{}:,]')
_LEAST_JSON_SIGNS = 6
_SIGN = re.compile(r"[+/=_-]")
# In base64 one character in 32 is a sign; in addresses and names one in six.
_LEAST_A_SIGN = 12
# A note with less of it is indexed whole: keys, checksums and a few long addresses have not many words.
_LEAST = 4096
_EDGE = 16
"""So many characters at each end of encoded text are indexed, for phrases that begin or end there."""

ANYTHING = b""
_CUT = "\n"
_LINE = re.compile(rb"[a-z0-9+/=_-]{%d}|[!-~]{%d}" % (_LEAST_LINE, _LEAST_JSON))
_STRETCH = re.compile(r"[!-~\n]{%d}" % _EDGE)  # noqa: UP031
_ALL_PLAIN = re.compile(r"[!-~\n]*")


def without_encoded(text: str) -> str:
    """Return a note's text without the inside of its encoded text; the same text if it has little of it."""
    if len(text) < _LEAST:
        return text
    runs = [run.span() for run in _RUN.finditer(text) if _is_encoded(run[0])]
    runs += [run.span() for run in _JSON_RUN.finditer(text) if _is_json(run[0])]
    runs.sort()
    if sum(end - start for start, end in runs) < _LEAST:
        return text
    pieces: list[str] = []
    kept = 0  # up to where the text is kept or left out already
    for start, end in runs:
        if end - _EDGE > max(start + _EDGE, kept):
            pieces += [text[kept : start + _EDGE], _CUT]
            kept = end - _EDGE
    return "".join(pieces) + text[kept:]


def _is_encoded(run: str) -> bool:
    return len(_SIGN.findall(run)) * _LEAST_A_SIGN <= len(run)


def _is_json(run: str) -> bool:
    return ("[" in run or "{" in run) and len(_JSON_SIGN.findall(run)) * _LEAST_JSON_SIGNS >= len(run)


def sought_inside(unaccented: str) -> bytes | None:
    """Return what to look for in notes with encoded text for a text that a search asks for, in lower case.

    None if it cannot lie in what ``without_encoded`` leaves out, nor reach into it; ``ANYTHING`` if only the search can tell.
    """
    if _ALL_PLAIN.fullmatch(unaccented) is None and _STRETCH.search(unaccented) is None:
        return None
    is_short = len(unaccented) < _EDGE and unaccented.isascii() and "\n" not in unaccented
    return unaccented.encode() if is_short else ANYTHING


def may_lie_inside(data: bytes, sought: Collection[bytes]) -> bool:
    """Tell whether one of the texts may lie in the encoded text of a note, given its bytes. It is never wrongly False.

    It takes a tenth of the time of matching the note.
    """
    if ANYTHING in sought:
        return True
    lower = data.lower()
    return any(_lies_inside(lower, text) for text in sought)


def _lies_inside(lower: bytes, text: bytes) -> bool:
    position = lower.find(text)
    while position >= 0:
        end = lower.find(b"\n", position)
        end = len(lower) if end < 0 else end
        if _LINE.search(lower, lower.rfind(b"\n", 0, position) + 1, end):
            return True
        position = lower.find(text, end)
    return False
