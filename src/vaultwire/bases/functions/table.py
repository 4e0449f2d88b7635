"""All functions by the type that has them."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from vaultwire.bases.comparing import is_empty, is_truthy, number_in, target
from vaultwire.bases.functions.arguments import Function, argument, is_list, text
from vaultwire.bases.functions.files import FILE, LINK, to_link
from vaultwire.bases.functions.on_values import DATE, DURATION, LIST, NUMBER, OBJECT, REGEXP, STRING
from vaultwire.bases.row import Row
from vaultwire.bases.values import (
    CellError,
    Date,
    Duration,
    File,
    Html,
    Icon,
    Image,
    Link,
    Value,
    cannot_parse,
    checked_text,
    day_of,
    from_ms,
    parse_date,
    parse_duration,
    text_of,
    to_ms,
    type_name,
)

# The functions that need no value before a dot, and those of any value.


def _date(_: Value, arguments: Sequence[Value], row: Row) -> Value:
    value = argument(arguments, 0)
    if value is None or isinstance(value, Date):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return from_ms(value, row.zone)
    found = parse_date(text_of(value), row.zone)
    if found is None:
        raise cannot_parse(text_of(value), "date")
    return found


def _duration(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    value = argument(arguments, 0)
    if value is None or isinstance(value, Duration):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Duration(milliseconds=value)
    found = parse_duration(text_of(value))
    if found is None:
        raise cannot_parse(text_of(value), "duration")
    return found


def _file(_: Value, arguments: Sequence[Value], row: Row) -> Value:
    found = to_link(argument(arguments, 0), row)
    path = None if found is None else target(found, row.host)
    return None if path is None else File(path)


def _link(_: Value, arguments: Sequence[Value], row: Row) -> Value:
    found = to_link(argument(arguments, 0), row)
    display = argument(arguments, 1)
    if found is None:
        return None
    shown = None if display is None else text_of(display)
    if isinstance(found, File):
        return Link(found.path, shown)
    return Link(found.linktext, found.display if shown is None else shown, found.source)


def _image(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    value = argument(arguments, 0)
    return None if value is None else Image(value if isinstance(value, (Link, File)) else text_of(value))


def _list(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    value = argument(arguments, 0)
    return value if is_list(value) else [value]


def _number(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    value = argument(arguments, 0)
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, Date):
        return to_ms(value)
    if not isinstance(value, str):
        raise CellError(f"Unable to parse {type_name(value)} as a number.")
    found = number_in(value)
    if found is None:
        raise cannot_parse(value, "number")
    return found


def _extreme(*, is_largest: bool) -> Function:
    def chosen(_: Value, arguments: Sequence[Value], __: Row) -> Value:
        found = list(arguments[0]) if len(arguments) == 1 and is_list(arguments[0]) else list(arguments)  # type: ignore[arg-type]
        for each in found:
            if isinstance(each, bool) or not isinstance(each, (int, float)):
                raise CellError(f"{'max' if is_largest else 'min'} needs numbers, not {type_name(each)}")
        values = [each for each in found if isinstance(each, (int, float))]
        if any(map(math.isnan, values)):
            return math.nan
        if not values:
            return -math.inf if is_largest else math.inf
        return max(values) if is_largest else min(values)

    return chosen


def _escape(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    return checked_text(html.escape(text(arguments, 0)).replace("&#x27;", "&#39;"))


GLOBAL: Mapping[str, Function] = {
    "escapeHTML": _escape,
    "date": _date,
    "duration": _duration,
    "file": _file,
    "html": lambda _, arguments, __: Html(text(arguments, 0)),
    "image": _image,
    "icon": lambda _, arguments, __: Icon(text(arguments, 0)),
    "link": _link,
    "list": _list,
    "max": _extreme(is_largest=True),
    "min": _extreme(is_largest=False),
    "now": lambda _, __, row: Date(row.query.now),
    "number": _number,
    "today": lambda _, __, row: day_of(Date(row.query.now)),
    "random": lambda _, __, row: row.query.random.random(),
}
# It evaluates only the branch that it takes: see ``evaluation``.
CHOICE = "if"


def _is_type(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    return type_name(of).casefold() == text(arguments, 0).strip().casefold()


ANY: Mapping[str, Function] = {
    "isTruthy": lambda of, _, __: is_truthy(of),
    "isType": _is_type,
    "toString": lambda of, _, __: checked_text(text_of(of)),
    # The app offers "is empty" for properties of every type, checkboxes too.
    "isEmpty": lambda of, _, __: is_empty(of) or (isinstance(of, float) and math.isnan(of)),
}


# What a list's function evaluates for each item, with ``value`` and ``index``, ``reduce`` with ``acc``, too.
LAMBDAS = ("filter", "map", "reduce")
METHODS: Mapping[str, Mapping[str, Function]] = {
    "String": STRING,
    "Number": NUMBER,
    "Date": DATE,
    "Duration": DURATION,
    "List": LIST,
    "Object": OBJECT,
    "Link": LINK,
    "File": FILE,
    "Regexp": REGEXP,
}
GLOBALS: tuple[str, ...] = (*GLOBAL, CHOICE)
METHOD_NAMES = frozenset((*ANY, *LAMBDAS, *(name for functions in METHODS.values() for name in functions)))


def method(name: str, type_name: str) -> Function | None:
    """Return a function of a type, or of any type; None if there is none."""
    return METHODS.get(type_name, {}).get(name) or ANY.get(name)
