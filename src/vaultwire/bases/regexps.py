"""Regular expressions of JavaScript, run by the ``regex`` package: it ends a search that takes too long."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import regex  # type: ignore[import-untyped]

from vaultwire.bases.errors import MOST_ITEMS, REGEXP_SECONDS, CellError, check_count, checked_text
from vaultwire.bases.values import Regexp
from vaultwire.markdown.javascript_patterns import javascript_pieces

_MOST_PATTERN = 2_000
_FLAGS = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL, "g": 0, "u": 0, "y": 0, "d": 0}
_REFERENCE = regex.compile(r"\$(?:(\$)|(&)|(\d{1,2})|<([^>]+)>)")


def found_in(pattern: Regexp, text: str) -> bool:
    """Tell whether the pattern is somewhere in a text. Raises CellError."""
    return _run(lambda: _compiled(pattern).search(text, timeout=REGEXP_SECONDS)) is not None


def replaced(pattern: Regexp, text: str, replacement: str) -> str:
    """Replace what matches: all with the flag ``g``, else the first. ``$1`` is a group, ``$&`` all. Raises CellError."""

    def written(found: Any) -> str:
        return str(_REFERENCE.sub(lambda reference: _referred(reference, found), replacement))

    count = 0 if "g" in pattern.flags else 1
    made = _run(lambda: _compiled(pattern).sub(written, text, count=count, timeout=REGEXP_SECONDS))
    return checked_text(str(made))


def parted(pattern: Regexp, text: str) -> list[str]:
    """Split a text where the pattern matches; its groups are parts, too, as in JavaScript. Raises CellError."""
    parts: list[str] = []
    at = begin = 0
    compiled = _compiled(pattern)
    if not text:
        return [] if _run(lambda: compiled.match(text, timeout=REGEXP_SECONDS)) else [text]
    while at < len(text):
        found = _run(lambda: compiled.search(text, at, timeout=REGEXP_SECONDS))  # noqa: B023 - called at once
        if found is None:
            break
        if found.end() == begin or (found.start() == found.end() and found.start() >= len(text)):
            at = max(at, found.start()) + 1
            if found.start() == found.end() and begin < found.start() < len(text):
                parts.append(text[begin : found.start()])
                begin = found.start()
            continue
        parts += [text[begin : found.start()], *(group or "" for group in found.groups())]
        begin = at = found.end()
        check_count(len(parts))
        if found.start() == found.end():
            at += 1
    return [*parts, text[begin:]][:MOST_ITEMS]


def _referred(reference: Any, found: Any) -> str:
    dollar, whole, number, name = reference.groups()
    if dollar:
        return "$"
    if whole:
        return str(found[0])
    count = len(found.groups())
    if number and int(number) > count and len(number) > 1:  # two figures may be a group and a figure
        number, after = number[0], number[1]
    else:
        after = ""
    if number and not 1 <= int(number) <= count:
        return str(reference[0])
    try:
        group = found[int(number) if number else name]
    except IndexError:
        return str(reference[0])
    return f"{group or ''}{after}"


def _run(search: Any) -> Any:
    try:
        return search()
    except TimeoutError:
        raise CellError("This regular expression takes too long.") from None


@lru_cache(maxsize=256)
def _compiled(pattern: Regexp) -> Any:
    if len(pattern.pattern) > _MOST_PATTERN:
        raise CellError(f"A regular expression has at most {_MOST_PATTERN:,} characters.")
    flags = regex.VERSION0
    for flag in pattern.flags:
        if flag not in _FLAGS:
            raise CellError(f'Invalid flags supplied to RegExp constructor "{pattern.flags}"')
        flags |= _FLAGS[flag]
    try:
        pieces = javascript_pieces(pattern.pattern, is_multiline="m" in pattern.flags, is_dotall="s" in pattern.flags)
        return regex.compile("".join(piece.translated for piece in pieces), flags)
    except (regex.error, RecursionError, OverflowError, ValueError) as error:
        raise CellError(f"Invalid regular expression: /{pattern.pattern[:100]}/: {error}") from None
