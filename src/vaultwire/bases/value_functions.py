"""The functions of texts, regular expressions, lists, objects, numbers, dates and durations."""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

import regex  # type: ignore[import-untyped]

from vaultwire.bases.comparing import compare, equal, is_empty, is_last, key_bytes, sort_key
from vaultwire.bases.moment_format import format_moment
from vaultwire.bases.row import Row
from vaultwire.bases.values import (
    MOST_ITEMS,
    MOST_TEXT,
    NANOSECONDS_A_STEP,
    REGEXP_SECONDS,
    CellError,
    Date,
    Duration,
    Regexp,
    Value,
    check_count,
    checked_text,
    day_of,
    humanized,
    joined,
    number_text,
    relative,
    text_of,
    total_ms,
    type_name,
)
from vaultwire.markdown.patterns import javascript_pieces

# Reads the arguments of a function.

Function: TypeAlias = Callable[[Value, Sequence[Value], Row], Value]
"""A function: the value before the dot (None for a global one), its arguments, the row. Raises CellError."""


def argument(arguments: Sequence[Value], place: int) -> Value:
    """Return an argument, null if it is not there."""
    return arguments[place] if place < len(arguments) else None


def text(arguments: Sequence[Value], place: int) -> str:
    """Return an argument as text."""
    return text_of(argument(arguments, place))


def number(value: Value, function: str) -> float:
    """Return a number. Raises CellError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CellError(f"{function} needs a number, not {type_name(value)}")
    return value


def whole(arguments: Sequence[Value], place: int, default: int, function: str) -> int:
    """Return an argument as a whole number, as JavaScript cuts it; ``default`` if it is not there."""
    value = argument(arguments, place)
    if value is None:
        return default
    found = number(value, function)
    return 0 if math.isnan(found) else int(max(-(2**53), min(2**53, found)))


def items(value: Value) -> Sequence[Value]:
    """Return the items of a list; anything else is a list of it, null an empty one."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return [] if value is None else [value]


def is_list(value: Value) -> bool:
    """Tell whether a value is a list."""
    return isinstance(value, Sequence) and not isinstance(value, (str, Mapping))


# Regular expressions of JavaScript, run by the ``regex`` package: it ends a search that takes too long.

_MOST_PATTERN = 2_000
_FLAGS = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL, "g": 0, "u": 0, "y": 0, "d": 0}
_REFERENCE = regex.compile(r"\$(?:(\$)|(&)|(\d{1,2})|<([^>]+)>)")


def found_in(pattern: Regexp, text: str) -> bool:
    """Tell whether the pattern is somewhere in a text. Raises CellError."""
    return _run(lambda: _compiled(pattern).search(text, timeout=REGEXP_SECONDS)) is not None


def replaced(pattern: Regexp, text: str, replacement: str) -> str:
    """Replace what matches: all with the flag ``g``, else the first. ``$1`` is a group, ``$&`` all. Raises CellError."""

    def written(match: Any) -> str:
        return str(_REFERENCE.sub(lambda reference: _referred(reference, match), replacement))

    count = 0 if "g" in pattern.flags else 1
    made = _run(lambda: _compiled(pattern).sub(written, text, count=count, timeout=REGEXP_SECONDS))
    return checked_text(str(made))


def replaced_text(text: str, old: str, new: str) -> str:
    """Replace one text by another wherever it is. Raises CellError for a result that is too long, before it is made."""
    if len(text) + text.count(old) * (len(new) - len(old)) > MOST_TEXT:
        raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
    return text.replace(old, new)


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


def _referred(reference: Any, match: Any) -> str:
    dollar, whole, number, name = reference.groups()
    if dollar:
        return "$"
    if whole:
        return str(match[0])
    count = len(match.groups())
    if number and int(number) > count and len(number) > 1:  # two figures may be a group and a figure
        number, after = number[0], number[1]
    else:
        after = ""
    if number and not 1 <= int(number) <= count:
        return str(reference[0])
    try:
        group = match[int(number) if number else name]
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


Made = TypeVar("Made")

_WORD = re.compile(r"\S+")


def _counted(row: Row, run: Callable[[], Made]) -> Made:
    """Run a regular expression. The processor time that it takes counts as steps of the row."""
    start = time.thread_time_ns()
    try:
        return run()
    finally:
        row.budget.spend((time.thread_time_ns() - start) // NANOSECONDS_A_STEP)


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
    return replaced_text(text_of(of), text_of(pattern), replacement)


def _slice(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    found = text_of(of)
    return found[whole(arguments, 0, 0, "slice") : whole(arguments, 1, len(found), "slice")]


def _split(of: Value, arguments: Sequence[Value], row: Row) -> Value:
    separator = argument(arguments, 0)
    whole_text = text_of(of)
    if separator is None:
        parts = [whole_text]
    elif isinstance(separator, Regexp):
        parts = _counted(row, lambda: parted(separator, whole_text))
    else:
        check_count(whole_text.count(text_of(separator)))
        parts = whole_text.split(text_of(separator)) if text_of(separator) else list(whole_text)
    check_count(len(parts))
    row.budget.spend(len(parts) // 10)
    row.budget.take(len(whole_text) + 50 * len(parts))
    most = whole(arguments, 1, len(parts), "split")
    return parts[:most] if most >= 0 else parts


def _title(of: Value, _: Sequence[Value], __: Row) -> Value:
    return _WORD.sub(lambda word: word[0][0].upper() + word[0][1:].lower(), text_of(of))


def _matches(of: Value, arguments: Sequence[Value], row: Row) -> Value:
    return isinstance(of, Regexp) and _counted(row, lambda: found_in(of, text(arguments, 0)))


STRING: Mapping[str, Function] = {
    "contains": lambda of, arguments, _: text(arguments, 0) in text_of(of),
    "containsAll": lambda of, arguments, _: all(text_of(each) in text_of(of) for each in arguments),
    "containsAny": lambda of, arguments, _: any(text_of(each) in text_of(of) for each in arguments),
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


# The functions of lists and objects. ``filter``, ``map`` and ``reduce`` are in ``evaluation``: they evaluate for each item.


def has(values: Sequence[Value], value: Value, row: Row) -> bool:
    """Tell whether an item of a list is equal to a value."""
    row.budget.spend(len(values) // 4 + 1)
    return any(equal(each, value, row.host, row.zone) for each in values)


def _flat(of: Value, _: Sequence[Value], row: Row) -> Value:
    """Put the items of lists within a list into it; lists within those stay, as in JavaScript."""
    flat: list[Value] = []
    for each in items(of):
        row.budget.spend()
        flat += items(each) if is_list(each) else [each]
        check_count(len(flat))
    return flat


def _unique(of: Value, _: Sequence[Value], row: Row) -> Value:
    by_key: dict[tuple[str, str], Value] = {}
    for item in items(of):
        row.budget.spend()
        text = text_of(item)
        if not isinstance(item, str):
            row.budget.take(len(text))
        by_key.setdefault((type_name(item), text), item)
    return list(by_key.values())


def _sort(of: Value, _: Sequence[Value], row: Row) -> Value:
    row.budget.spend(len(items(of)))

    def key(value: Value) -> Any:
        made = sort_key(value)
        row.budget.take(key_bytes(made))
        return made

    present = sorted((each for each in items(of) if not is_last(each)), key=key)
    return [*present, *(each for each in items(of) if is_last(each))]


def _slice_of_list(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    found = items(of)
    return list(found[whole(arguments, 0, 0, "slice") : whole(arguments, 1, len(found), "slice")])


def _join(of: Value, arguments: Sequence[Value], row: Row) -> Value:
    row.budget.spend(len(items(of)))
    between = "," if argument(arguments, 0) is None else text(arguments, 0)
    check_count(len(items(of)))
    return joined(between, map(text_of, items(of)), MOST_TEXT)


def _of_numbers(name: str, compute: Callable[[Sequence[float]], float], *, is_sum: bool = False) -> Function:
    """Return a function of the numbers in a list, without empty items; null for none, unless it is a sum."""

    def computed(of: Value, _: Sequence[Value], __: Row) -> Value:
        found = [number(each, name) for each in items(of) if not is_empty(each)]
        return compute(found) if found or is_sum else None

    return computed


def _extreme(sign: int, kinds: tuple[type, ...]) -> Function:
    def chosen(of: Value, _: Sequence[Value], row: Row) -> Value:
        best: Value = None
        for item in items(of):
            row.budget.spend()
            if not isinstance(item, kinds) or isinstance(item, bool):
                continue
            order = None if best is None else compare(item, best, row.zone)
            if best is None or (order is not None and order * sign > 0):
                best = item
        return best

    return chosen


LIST: Mapping[str, Function] = {
    "contains": lambda of, arguments, row: has(items(of), argument(arguments, 0), row),
    "containsAll": lambda of, arguments, row: all(has(items(of), each, row) for each in arguments),
    "containsAny": lambda of, arguments, row: any(has(items(of), each, row) for each in arguments),
    "flat": _flat,
    "join": _join,
    "reverse": lambda of, _, __: list(reversed(items(of))),
    "slice": _slice_of_list,
    "sort": _sort,
    "unique": _unique,
    **dict.fromkeys(("mean", "average"), _of_numbers("mean", lambda found: math.fsum(found) / len(found))),
    "median": _of_numbers("median", statistics.median),
    "stddev": _of_numbers("stddev", statistics.pstdev),
    "sum": _of_numbers("sum", math.fsum, is_sum=True),
    "min": _extreme(-1, (int, float, Date)),
    "max": _extreme(1, (int, float, Date)),
    "earliest": _extreme(-1, (Date,)),
    "latest": _extreme(1, (Date,)),
}


OBJECT: Mapping[str, Function] = {
    "keys": lambda of, _, __: list(of) if isinstance(of, Mapping) else [],
    "values": lambda of, _, __: list(of.values()) if isinstance(of, Mapping) else [],
}


# The functions of numbers, dates and durations.

_MOST_DIGITS = 100
_LARGEST_FIXED = 1e21
_MOST_FORMAT = 1000


def _number(of: Value) -> float:
    assert isinstance(of, (int, float)), "the table calls it for numbers only"
    return of


def _whole(change: Callable[[float], int]) -> Function:
    def changed(of: Value, _: Sequence[Value], __: Row) -> Value:
        number = _number(of)
        return change(number) if math.isfinite(number) else number

    return changed


def _round(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    number = _number(of)
    digits = whole(arguments, 0, 0, "round")
    if not math.isfinite(number) or abs(digits) > _MOST_DIGITS:
        return number
    if digits == 0:
        return math.floor(number + 0.5)
    factor = 10.0**digits
    scaled = number * factor
    return math.floor(scaled + 0.5) / factor if math.isfinite(scaled) else number


def _to_fixed(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    digits = whole(arguments, 0, 0, "toFixed")
    if not 0 <= digits <= _MOST_DIGITS:
        raise CellError("toFixed() digits argument must be between 0 and 100")
    number = _number(of)
    if not math.isfinite(number) or abs(number) >= _LARGEST_FIXED:
        return number_text(number)
    return str(Decimal(number).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))


NUMBER: Mapping[str, Function] = {
    "abs": lambda of, _, __: abs(_number(of)),
    "ceil": _whole(math.ceil),
    "floor": _whole(math.floor),
    "round": _round,
    "toFixed": _to_fixed,
}


def _date(of: Value) -> Date:
    assert isinstance(of, Date), "the table calls it for dates only"
    return of


def _format(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    # Without a format, or with an empty one, Moment.js writes ISO 8601 with the offset.
    form = text(arguments, 0)[:_MOST_FORMAT] or "YYYY-MM-DDTHH:mm:ssZ"
    return format_moment(form, _date(of).at)


DATE: Mapping[str, Function] = {
    "date": lambda of, _, __: day_of(_date(of)),
    "format": _format,
    "time": lambda of, _, __: f"{_date(of).at:%H:%M:%S}",
    "relative": lambda of, _, row: relative(_date(of), row.query.now),
}
DATE_FIELDS: Mapping[str, Callable[[Date], Value]] = {
    **{name: attrgetter(f"at.{name}") for name in ("year", "month", "day", "hour", "minute", "second")},
    "millisecond": lambda date: date.at.microsecond // 1000,
}


def _duration(of: Value) -> Duration:
    assert isinstance(of, Duration), "the table calls it for durations only"
    return of


DURATION: Mapping[str, Function] = {
    "humanize": lambda of, _, __: humanized(_duration(of)),
}
# The whole duration in each unit, not a part of it.
DURATION_FIELDS: Mapping[str, Callable[[Duration], Value]] = {
    "days": lambda duration: total_ms(duration) / 86_400_000,
    "hours": lambda duration: total_ms(duration) / 3_600_000,
    "minutes": lambda duration: total_ms(duration) / 60_000,
    "seconds": lambda duration: total_ms(duration) / 1_000,
    "milliseconds": total_ms,
}
