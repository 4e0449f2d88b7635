"""The functions of texts and of regular expressions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from vaultwire.bases.errors import MOST_TEXT, NANOSECONDS_A_STEP, CellError, check_count, checked_text
from vaultwire.bases.functions.arguments import Function, argument, text, whole
from vaultwire.bases.regexps import found_in, parted, replaced
from vaultwire.bases.row import Row
from vaultwire.bases.texts import text_of
from vaultwire.bases.values import Regexp, Value

Made = TypeVar("Made")

_WORD = re.compile(r"\S+")


def _counted(row: Row, run: Callable[[], Made]) -> Made:
    """Run a regular expression. The processor time that it takes counts as steps of the row."""
    start = time.thread_time_ns()
    try:
        return run()
    finally:
        row.budget.spend((time.thread_time_ns() - start) // NANOSECONDS_A_STEP)


def _contains(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    return text(arguments, 0) in text_of(of)


def _contains_all(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    return all(text_of(each) in text_of(of) for each in arguments)


def _contains_any(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    return any(text_of(each) in text_of(of) for each in arguments)


def _repeat(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    count = whole(arguments, 0, 0, "repeat")
    if count < 0:
        raise CellError(f"Invalid count value: {count}")
    if count * len(text_of(of)) > MOST_TEXT:
        raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
    return text_of(of) * count


def _replace(of: Value, arguments: Sequence[Value], row: Row) -> Value:
    pattern, replacement = argument(arguments, 0), text(arguments, 1)
    if isinstance(pattern, Regexp):
        return _counted(row, lambda: replaced(pattern, text_of(of), replacement))
    whole_text, wanted = text_of(of), text_of(pattern)
    found = whole_text.count(wanted)
    if len(whole_text) + found * len(replacement) > MOST_TEXT:
        raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
    return whole_text.replace(wanted, replacement)


def _slice(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    found = text_of(of)
    return found[whole(arguments, 0, 0, "slice") : whole(arguments, 1, len(found), "slice")]


def _split(of: Value, arguments: Sequence[Value], row: Row) -> Value:
    separator = argument(arguments, 0)
    found = text_of(of)
    if separator is None:
        parts = [found]
    elif isinstance(separator, Regexp):
        parts = _counted(row, lambda: parted(separator, found))
    else:
        check_count(found.count(text_of(separator)))
        parts = found.split(text_of(separator)) if text_of(separator) else list(found)
    check_count(len(parts))
    row.budget.spend(len(parts) // 10)
    row.budget.take(len(found) + 50 * len(parts))
    most = whole(arguments, 1, len(parts), "split")
    return parts[:most] if most >= 0 else parts


def _title(of: Value, _: Sequence[Value], __: Row) -> Value:
    return _WORD.sub(lambda word: word[0][0].upper() + word[0][1:].lower(), text_of(of))


def _matches(of: Value, arguments: Sequence[Value], row: Row) -> Value:
    return isinstance(of, Regexp) and _counted(row, lambda: found_in(of, text(arguments, 0)))


STRING: Mapping[str, Function] = {
    "contains": _contains,
    "containsAll": _contains_all,
    "containsAny": _contains_any,
    "endsWith": lambda of, arguments, _: text_of(of).endswith(text(arguments, 0)),
    "lower": lambda of, _, __: checked_text(text_of(of).lower()),
    "repeat": _repeat,
    "replace": _replace,
    "reverse": lambda of, _, __: text_of(of)[::-1],
    "slice": _slice,
    "split": _split,
    "startsWith": lambda of, arguments, _: text_of(of).startswith(text(arguments, 0)),
    "title": _title,
    "trim": lambda of, _, __: text_of(of).strip(),
    "upper": lambda of, _, __: checked_text(text_of(of).upper()),
}
REGEXP: Mapping[str, Function] = {"matches": _matches}
