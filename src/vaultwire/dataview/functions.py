"""The functions of Dataview, by its documentation. Most take a list in place of a value, and then give a list."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_FLOOR, Decimal
from typing import Final, NamedTuple, TypeAlias

from vaultwire.bases.functions.on_values import found_in, parted, replaced
from vaultwire.bases.values import (
    MOST_TEXT,
    Budget,
    CellError,
    Date,
    Duration,
    Link,
    Regexp,
    Value,
    check_count,
    checked_text,
    day_of,
    joined,
    parse_date,
)
from vaultwire.dataview.luxon_format import format_duration, format_luxon, parse_luxon
from vaultwire.dataview.operators import apply
from vaultwire.dataview.pages import Page, Vault, day_in
from vaultwire.dataview.parser import parse_duration
from vaultwire.dataview.values import Embed, equal, is_list, is_truthy, order_key, text_of, type_of


@dataclass(slots=True)
class Shared:
    """What all rows of a query share. ``this``: the note around the query, if there is one."""

    vault: Vault
    now: datetime
    this: Page | None = None


@dataclass(slots=True)
class Frame:
    """What an expression is evaluated with: the fields of a row, and what it may still do."""

    shared: Shared
    names: Mapping[str, Value]
    budget: Budget = field(default_factory=Budget)


Function: TypeAlias = Callable[[Sequence[Value], Frame], Value]
"""A function. Raises CellError."""
OfItem: TypeAlias = Callable[[Value], Value]
"""What a lambda gives for an item."""


class Entry(NamedTuple):
    """A function, how many arguments it takes, and which of them may be lists of what it takes."""

    function: Function
    least: int
    most: int
    vectorized: tuple[int, ...] = ()


_MANY = 1000


def call(name: str, arguments: Sequence[Value], frame: Frame) -> Value:
    """Return what a function gives. Raises CellError for arguments that it does not take."""
    frame.budget.spend()
    return _apply(name, FUNCTIONS[name], arguments, frame)


def _apply(name: str, entry: Entry, arguments: Sequence[Value], frame: Frame) -> Value:
    lists = [place for place in entry.vectorized if place < len(arguments) and is_list(arguments[place])]
    if not lists:
        return frame.budget.made(entry.function(arguments, frame))
    # Of lists of several lengths the shortest one counts.
    columns = {place: argument for place in lists if isinstance(argument := arguments[place], Sequence)}
    results: list[Value] = []
    for number in range(min(map(len, columns.values()))):
        frame.budget.spend()
        own = [columns[place][number] if place in columns else each for place, each in enumerate(arguments)]
        results.append(_apply(name, entry, own, frame))
    return frame.budget.made(results)


def _wrong(name: str, arguments: Sequence[Value]) -> CellError:
    return CellError(f"No implementation of '{name}' found for arguments: {', '.join(map(type_of, arguments))}")


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number_function(name: str, compute: Callable[[float], float]) -> Function:
    def function(arguments: Sequence[Value], _: Frame) -> Value:
        value = arguments[0]
        if value is None:
            return None
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise _wrong(name, arguments)
        return compute(value) if math.isfinite(value) else value

    return function


def _text_function(name: str, compute: Callable[..., Value], texts: int = 1) -> Function:
    """Return a function of so many texts: null if one of them is null."""

    def function(arguments: Sequence[Value], _: Frame) -> Value:
        if any(argument is None for argument in arguments):
            return None
        if not all(isinstance(argument, str) for argument in arguments[:texts]):
            raise _wrong(name, arguments)
        return compute(*arguments)

    return function


# ---------------------------------------------------------------------- constructors


def _object(arguments: Sequence[Value], _: Frame) -> Value:
    if len(arguments) % 2:
        raise CellError("object() needs a value for each name")
    names = [*arguments[::2]]
    if not all(isinstance(name, str) for name in names):
        raise CellError("object() needs texts for names")
    return {str(name): value for name, value in zip(names, arguments[1::2], strict=True)}


def _date(arguments: Sequence[Value], frame: Frame) -> Value:
    value, zone = arguments[0], frame.shared.vault.zone
    if len(arguments) > 1:
        form = arguments[1]
        at = parse_luxon(text_of(value), text_of(form), zone) if value is not None and form is not None else None
        return None if at is None else Date(at, has_time=bool(at.hour or at.minute or at.second))
    if isinstance(value, Date) or value is None:
        return value
    if isinstance(value, str):
        return parse_date(value, zone) if re.match(r"\d{4}-\d{2}(?!\d)", value) else None
    if not isinstance(value, Link):
        raise _wrong("date", arguments)
    named = next(
        (day for text in (value.display, value.linktext) if text and (day := day_in(text, zone)) is not None), None
    )
    if named is not None:
        return named
    path = frame.shared.vault.notes.resolve(value.linktext, value.source)
    file = Page(frame.shared.vault, path).get("file") if path else None
    return file.get("day") if isinstance(file, Mapping) else None


def _duration(arguments: Sequence[Value], _: Frame) -> Value:
    value = arguments[0]
    if isinstance(value, str):
        return parse_duration(value)
    if value is None or isinstance(value, Duration):
        return value
    raise _wrong("dur", arguments)


_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def _number(arguments: Sequence[Value], _: Frame) -> Value:
    value = arguments[0]
    if value is None or _is_number(value):
        return value
    if not isinstance(value, str):
        raise _wrong("number", arguments)
    found = _NUMBER.search(value)
    return None if found is None else float(found[0])


def _link(arguments: Sequence[Value], frame: Frame) -> Value:
    to, shown = arguments[0], arguments[1] if len(arguments) > 1 else None
    if to is None:
        return None
    display = None if shown is None else text_of(shown)
    if isinstance(to, Link):
        return to if display is None else type(to)(to.linktext, display, to.source)
    if not isinstance(to, str):
        raise _wrong("link", arguments)
    this = frame.shared.this
    return Link(to, display, this.path if this else "")


def _embed(arguments: Sequence[Value], _: Frame) -> Value:
    link = arguments[0]
    if link is None:
        return None
    if not isinstance(link, Link):
        raise _wrong("embed", arguments)
    kind = Embed if len(arguments) == 1 or is_truthy(arguments[1]) else Link
    return kind(link.linktext, link.display, link.source)


def _elink(arguments: Sequence[Value], _: Frame) -> Value:
    url, shown = arguments[0], arguments[1] if len(arguments) > 1 else None
    if url is None:
        return None
    if not isinstance(url, str):
        raise _wrong("elink", arguments)
    return checked_text(f"[{url if shown is None else text_of(shown)}]({url})")


# ---------------------------------------------------------------------- numbers


def _round(arguments: Sequence[Value], _: Frame) -> Value:
    value, digits = arguments[0], arguments[1] if len(arguments) > 1 else None
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not (digits is None or _is_number(digits)):
        raise _wrong("round", arguments)
    places = max(0, min(int(digits), 15)) if isinstance(digits, (int, float)) and math.isfinite(digits) else 0
    if not math.isfinite(value):
        return value
    # Halves go up, as in JavaScript.
    step = Decimal(1).scaleb(-places)
    return float(((Decimal(repr(float(value))) / step + Decimal("0.5")).to_integral_value(ROUND_FLOOR)) * step)


def _spread(arguments: Sequence[Value]) -> Sequence[Value]:
    only = arguments[0] if len(arguments) == 1 else None
    return only if isinstance(only, Sequence) and not isinstance(only, str) else arguments


def _extreme(sign: int) -> Function:
    def function(arguments: Sequence[Value], frame: Frame) -> Value:
        notes = frame.shared.vault.notes
        values = [value for value in _spread(arguments) if value is not None]
        frame.budget.spend(len(values))
        if not values:
            return None
        return (min if sign < 0 else max)(values, key=lambda value: order_key(value, notes))

    return function


_REDUCERS: Final = frozenset("+-*/&|")


def _reduced(values: Value, operator: Value, frame: Frame) -> Value:
    if values is None or operator is None:
        return None
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise _wrong("reduce", [values, operator])
    if operator not in _REDUCERS:
        raise CellError("reduce() takes one of + - * / & |, or a lambda of two names")
    result: Value = values[0] if values else None
    for value in values[1:]:
        frame.budget.spend()
        result = frame.budget.made(apply(str(operator), result, value, frame.shared.vault.notes))
    return result


def _sum(operator: str) -> Function:
    def function(arguments: Sequence[Value], frame: Frame) -> Value:
        return _reduced(arguments[0], operator, frame) if is_list(arguments[0]) else arguments[0]

    return function


def _average(arguments: Sequence[Value], frame: Frame) -> Value:
    values = arguments[0]
    if not isinstance(values, Sequence) or isinstance(values, str):
        return values
    total = _reduced(values, "+", frame)
    return apply("/", total, float(len(values)), frame.shared.vault.notes) if values else None


# ---------------------------------------------------------------------- lists and texts


def _contains(*, is_exact: bool, ignores_case: bool) -> Function:
    def holds(container: Value, value: Value, frame: Frame) -> bool:
        frame.budget.spend()
        if isinstance(container, Sequence) and not isinstance(container, str):
            if is_exact:
                return any(equal(each, value, frame.shared.vault.notes) for each in container)
            return any(holds(each, value, frame) for each in container)
        if isinstance(container, str) and isinstance(value, str):
            return value.casefold() in container.casefold() if ignores_case else value in container
        if isinstance(container, Mapping) and isinstance(value, str):
            return value in container
        return equal(container, value, frame.shared.vault.notes)

    return lambda arguments, frame: holds(arguments[0], arguments[1], frame)


def _has_word(text: str, word: str) -> bool:
    return found_in(Regexp(rf"\b{re.escape(word)}\b", "i"), text)


def _extract(arguments: Sequence[Value], _: Frame) -> Value:
    of = arguments[0]
    if of is not None and not isinstance(of, Mapping):
        raise _wrong("extract", arguments)
    if not all(isinstance(name, str) for name in arguments[1:]):
        raise CellError("extract() needs texts for names")
    return {str(name): of.get(str(name)) if of is not None else None for name in arguments[1:]}


def _length(arguments: Sequence[Value], _: Frame) -> Value:
    value = arguments[0]
    if value is None:
        return 0
    if isinstance(value, (str, Mapping, Sequence)):
        return len(value)
    raise _wrong("length", arguments)


def _reverse(arguments: Sequence[Value], _: Frame) -> Value:
    value = arguments[0]
    if isinstance(value, str):
        return value[::-1]
    return [*reversed(value)] if isinstance(value, Sequence) else value


def _sort(arguments: Sequence[Value], frame: Frame) -> Value:
    values = arguments[0]
    if not isinstance(values, Sequence) or isinstance(values, str):
        return values
    frame.budget.spend(len(values))
    return sorted(values, key=lambda value: order_key(value, frame.shared.vault.notes))


def _join(arguments: Sequence[Value], _: Frame) -> Value:
    values, separator = arguments[0], arguments[1] if len(arguments) > 1 else None
    if not isinstance(values, Sequence) or isinstance(values, str):
        return text_of(values)
    return joined(", " if separator is None else text_of(separator), map(text_of, values), MOST_TEXT)


def _flat(arguments: Sequence[Value], frame: Frame) -> Value:
    depth = arguments[1] if len(arguments) > 1 else 1
    values = arguments[0]
    if not isinstance(values, Sequence) or isinstance(values, str):
        return values
    for _ in range(int(depth) if isinstance(depth, (int, float)) and 0 <= depth <= _MANY else 1):
        if not any(map(is_list, values)):
            break
        flatter: list[Value] = []
        for value in values:
            flatter += value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
            check_count(len(flatter))
        frame.budget.spend(len(flatter))
        values = flatter
    return [*values]


def _place(arguments: Sequence[Value], number: int, default: int | None) -> int | None:
    value = arguments[number] if len(arguments) > number else None
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else default


def _slice(arguments: Sequence[Value], _: Frame) -> Value:
    values = arguments[0]
    if not isinstance(values, Sequence) or isinstance(values, str):
        return values
    return [*values[_place(arguments, 1, 0) : _place(arguments, 2, None)]]


def _substring(arguments: Sequence[Value], _: Frame) -> Value:
    text = arguments[0]
    if text is None:
        return None
    if not isinstance(text, str):
        raise _wrong("substring", arguments)
    start, end = _place(arguments, 1, 0) or 0, _place(arguments, 2, len(text))
    bounds = sorted(max(0, min(len(text), place or 0)) for place in (start, end))
    return text[bounds[0] : bounds[1]]


def _truncate(arguments: Sequence[Value], _: Frame) -> Value:
    text, suffix = arguments[0], arguments[2] if len(arguments) > 2 else "..."  # noqa: PLR2004 - the third one
    length = _place(arguments, 1, None)
    if text is None or length is None:
        return text
    if not isinstance(text, str) or not isinstance(suffix, str):
        raise _wrong("truncate", arguments)
    return text if len(text) <= length else text[: max(0, length - len(suffix))] + suffix


def _padded(*, on_left: bool) -> Function:
    def function(arguments: Sequence[Value], _: Frame) -> Value:
        text, padding = arguments[0], arguments[2] if len(arguments) > 2 else " "  # noqa: PLR2004 - the third one
        length = _place(arguments, 1, None)
        if text is None or length is None or padding is None:
            return None
        if not isinstance(text, str) or not isinstance(padding, str):
            raise _wrong("padleft" if on_left else "padright", arguments)
        if length > MOST_TEXT:
            raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
        lacking = length - len(text)
        if lacking <= 0 or not padding:
            return text
        fill = (padding * (lacking // len(padding) + 1))[:lacking]
        return fill + text if on_left else text + fill

    return function


def _split(arguments: Sequence[Value], _: Frame) -> Value:
    text, delimiter = arguments[0], arguments[1]
    if text is None or delimiter is None:
        return None
    if not isinstance(text, str) or not isinstance(delimiter, str):
        raise _wrong("split", arguments)
    parts = parted(Regexp(delimiter), text)
    return [*parts[: _place(arguments, 2, None)]]


def _matches(pattern: str, text: str) -> bool:
    anchored = pattern if pattern.startswith("^") or pattern.endswith("$") else f"^(?:{pattern})$"
    return found_in(Regexp(anchored), text)


def _regex(name: str, compute: Callable[[str, str], bool]) -> Function:
    def function(arguments: Sequence[Value], _: Frame) -> Value:
        pattern, text = arguments
        if pattern is None or text is None:
            return False
        if not isinstance(pattern, str) or not isinstance(text, str):
            raise _wrong(name, arguments)
        return compute(pattern, text)

    return function


# ---------------------------------------------------------------------- other


def _choice(arguments: Sequence[Value], _: Frame) -> Value:
    return arguments[1] if is_truthy(arguments[0]) else arguments[2]


def _default(arguments: Sequence[Value], _: Frame) -> Value:
    return arguments[1] if arguments[0] is None else arguments[0]


def _hash(arguments: Sequence[Value], _: Frame) -> Value:
    text = "\0".join(map(text_of, arguments))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big")


def _on_date(name: str, compute: Callable[[Date], Value]) -> Function:
    def function(arguments: Sequence[Value], _: Frame) -> Value:
        value = arguments[0]
        if value is None:
            return None
        if not isinstance(value, Date):
            raise _wrong(name, arguments)
        return compute(value)

    return function


def _dateformat(arguments: Sequence[Value], _: Frame) -> Value:
    value, form = arguments
    if value is None:
        return None
    if not isinstance(value, Date) or not isinstance(form, str):
        raise _wrong("dateformat", arguments)
    return checked_text(format_luxon(form, value.at))


def _durationformat(arguments: Sequence[Value], _: Frame) -> Value:
    value, form = arguments
    if value is None:
        return None
    if not isinstance(value, Duration) or not isinstance(form, str):
        raise _wrong("durationformat", arguments)
    return checked_text(format_duration(form, value.months, value.days * 86_400_000 + value.milliseconds))


_CURRENCIES: Final = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "CNY": "CN¥", "KRW": "₩"}


def _currencyformat(arguments: Sequence[Value], _: Frame) -> Value:
    value, code = arguments[0], arguments[1] if len(arguments) > 1 else "USD"
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not isinstance(code, str):
        raise _wrong("currencyformat", arguments)
    sign = _CURRENCIES.get(code.upper(), f"{code.upper()}\u00a0")
    digits = 0 if code.upper() in ("JPY", "KRW") else 2
    return f"{'-' if value < 0 else ''}{sign}{abs(value):,.{digits}f}" if math.isfinite(value) else None


def _meta(arguments: Sequence[Value], _: Frame) -> Value:
    link = arguments[0]
    if not isinstance(link, Link):
        raise _wrong("meta", arguments)
    path, _mark, subpath = link.linktext.partition("#")
    kind = "file" if not subpath else "block" if subpath.startswith("^") else "header"
    return {
        "display": link.display,
        "embed": isinstance(link, Embed),
        "path": path,
        "subpath": subpath.removeprefix("^") or None,
        "type": kind,
    }


def _some(quantifier: Callable[..., bool], *, is_negated: bool = False) -> Function:
    return lambda arguments, _: quantifier(map(is_truthy, _spread(arguments))) is not is_negated


def _unique(values: Value, frame: Frame) -> Value:
    if not isinstance(values, Sequence) or isinstance(values, str):
        return values
    frame.budget.spend(len(values))
    first: dict[object, Value] = {}
    for value in values:
        first.setdefault(order_key(value, frame.shared.vault.notes), value)
    return [*first.values()]


def _replaced_text(text: str, old: str, new: str) -> str:
    count = text.count(old)
    if len(text) + count * (len(new) - len(old)) > MOST_TEXT:
        raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
    return text.replace(old, new)


FUNCTIONS: Final[Mapping[str, Entry]] = {
    "object": Entry(_object, 0, _MANY),
    **dict.fromkeys(("list", "array"), Entry(lambda arguments, _: [*arguments], 0, _MANY)),
    "date": Entry(_date, 1, 2, (0,)),
    "dur": Entry(_duration, 1, 1, (0,)),
    "number": Entry(_number, 1, 1, (0,)),
    "string": Entry(lambda arguments, _: checked_text(text_of(arguments[0])), 1, 1),
    "link": Entry(_link, 1, 2, (0, 1)),
    "embed": Entry(_embed, 1, 2, (0,)),
    "elink": Entry(_elink, 1, 2, (0,)),
    "typeof": Entry(lambda arguments, _: type_of(arguments[0]), 1, 1),
    "round": Entry(_round, 1, 2, (0,)),
    "trunc": Entry(_number_function("trunc", lambda value: float(math.trunc(value))), 1, 1, (0,)),
    "floor": Entry(_number_function("floor", lambda value: float(math.floor(value))), 1, 1, (0,)),
    "ceil": Entry(_number_function("ceil", lambda value: float(math.ceil(value))), 1, 1, (0,)),
    "min": Entry(_extreme(-1), 0, _MANY),
    "max": Entry(_extreme(1), 0, _MANY),
    "sum": Entry(_sum("+"), 1, 1),
    "product": Entry(_sum("*"), 1, 1),
    "reduce": Entry(lambda arguments, frame: _reduced(arguments[0], arguments[1], frame), 2, 2, (1,)),
    "average": Entry(_average, 1, 1),
    "contains": Entry(_contains(is_exact=False, ignores_case=False), 2, 2, (1,)),
    "icontains": Entry(_contains(is_exact=False, ignores_case=True), 2, 2, (1,)),
    "econtains": Entry(_contains(is_exact=True, ignores_case=False), 2, 2, (1,)),
    "containsword": Entry(_text_function("containsword", _has_word, 2), 2, 2, (0, 1)),
    "extract": Entry(_extract, 1, _MANY, (0,)),
    "sort": Entry(_sort, 1, 1),
    "reverse": Entry(_reverse, 1, 1),
    "length": Entry(_length, 1, 1),
    "nonnull": Entry(lambda arguments, _: [each for each in _spread(arguments) if each is not None], 0, _MANY),
    "all": Entry(_some(all), 0, _MANY),
    "any": Entry(_some(any), 0, _MANY),
    "none": Entry(_some(any, is_negated=True), 0, _MANY),
    "join": Entry(_join, 1, 2),
    "unique": Entry(lambda arguments, frame: _unique(arguments[0], frame), 1, 1),
    "flat": Entry(_flat, 1, 2),
    "slice": Entry(_slice, 1, 3),
    "regextest": Entry(_regex("regextest", lambda pattern, text: found_in(Regexp(pattern), text)), 2, 2, (0, 1)),
    "regexmatch": Entry(_regex("regexmatch", _matches), 2, 2, (0, 1)),
    "regexreplace": Entry(
        _text_function("regexreplace", lambda text, pattern, by: replaced(Regexp(pattern, "g"), text, by), 3),
        3,
        3,
        (0, 1, 2),
    ),
    "replace": Entry(_text_function("replace", _replaced_text, 3), 3, 3, (0, 1, 2)),
    "lower": Entry(_text_function("lower", lambda text: text.lower()), 1, 1, (0,)),
    "upper": Entry(_text_function("upper", lambda text: text.upper()), 1, 1, (0,)),
    "split": Entry(_split, 2, 3),
    "startswith": Entry(_text_function("startswith", lambda text, start: text.startswith(start), 2), 2, 2, (0, 1)),
    "endswith": Entry(_text_function("endswith", lambda text, end: text.endswith(end), 2), 2, 2, (0, 1)),
    "padleft": Entry(_padded(on_left=True), 2, 3, (0, 1, 2)),
    "padright": Entry(_padded(on_left=False), 2, 3, (0, 1, 2)),
    "substring": Entry(_substring, 2, 3, (0,)),
    "truncate": Entry(_truncate, 2, 3, (0,)),
    "default": Entry(_default, 2, 2, (0, 1)),
    "ldefault": Entry(_default, 2, 2),
    "choice": Entry(_choice, 3, 3, (0,)),
    "hash": Entry(_hash, 1, 3),
    "striptime": Entry(_on_date("striptime", day_of), 1, 1, (0,)),
    "dateformat": Entry(_dateformat, 2, 2, (0,)),
    "durationformat": Entry(_durationformat, 2, 2, (0,)),
    "currencyformat": Entry(_currencyformat, 1, 2, (0,)),
    "localtime": Entry(_on_date("localtime", lambda date: date), 1, 1, (0,)),
    "meta": Entry(_meta, 1, 1, (0,)),
}
"""The functions by name."""


# ---------------------------------------------------------------------- with a lambda


def _by(sign: int) -> Callable[[Sequence[Value], OfItem, Frame], Value]:
    def function(items: Sequence[Value], of_item: OfItem, frame: Frame) -> Value:
        pairs = [(key, item) for item in items if (key := of_item(item)) is not None]
        if not pairs:
            return items[0] if items else None
        notes = frame.shared.vault.notes
        return (min if sign < 0 else max)(pairs, key=lambda pair: order_key(pair[0], notes))[1]

    return function


OVER_ITEMS: Final[Mapping[str, Callable[[Sequence[Value], OfItem, Frame], Value]]] = {
    "map": lambda items, of_item, _: [of_item(item) for item in items],
    "filter": lambda items, of_item, _: [item for item in items if is_truthy(of_item(item))],
    "any": lambda items, of_item, _: any(is_truthy(of_item(item)) for item in items),
    "all": lambda items, of_item, _: all(is_truthy(of_item(item)) for item in items),
    "none": lambda items, of_item, _: not any(is_truthy(of_item(item)) for item in items),
    "minby": _by(-1),
    "maxby": _by(1),
    "sort": lambda items, of_item, frame: sorted(
        items, key=lambda item: order_key(of_item(item), frame.shared.vault.notes)
    ),
}
"""The functions whose last argument is a lambda of one item."""
FUNCTION_NAMES: Final = frozenset((*FUNCTIONS, *OVER_ITEMS))
