"""The operators between two values, and the functions of Dataview, by its documentation.

Most functions take a list in place of a value, and then give a list.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_FLOOR, Decimal
from operator import eq, ne
from typing import Any, Final, NamedTuple, TypeAlias

from vaultwire.bases.evaluation import ARITHMETIC, ORDERS
from vaultwire.bases.row import Host
from vaultwire.bases.value_functions import found_in, parted, replaced, replaced_text
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
    joined_duration,
    moved,
    parse_date,
    scaled,
)
from vaultwire.dataview.pages import Page, Vault, day_in
from vaultwire.dataview.parser import parse_duration
from vaultwire.dataview.values import (
    Embed,
    TextSettings,
    between,
    equal,
    format_duration,
    format_luxon,
    is_list,
    is_truthy,
    order_key,
    parse_luxon,
    text_of,
    type_of,
)

_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"=": eq, "!=": ne, **ORDERS}


def apply(operator: str, left: Value, right: Value, host: Host, texts: TextSettings) -> Value:
    """Return what an operator gives. Raises CellError for two types that it does not join."""
    if operator in _ORDERS:
        if isinstance(left, str) and isinstance(right, str) and operator in ("=", "!="):
            return (left == right) is (operator == "=")
        return _ORDERS[operator](order_key(left, host), order_key(right, host))
    if operator in "&|":
        return (is_truthy(left) and is_truthy(right)) if operator == "&" else (is_truthy(left) or is_truthy(right))
    if (
        isinstance(left, (int, float))
        and isinstance(right, (int, float))
        and "boolean" not in (type_of(left), type_of(right))
    ):
        return ARITHMETIC[operator](left, right)
    if left is None and right is None:
        return None
    if operator == "+" and (isinstance(left, str) or isinstance(right, str)):
        return checked_text(text_of(left, texts) + text_of(right, texts))
    value = _ADDING[operator](left, right) if operator in _ADDING else _of_product(operator, left, right)
    if value is NotImplemented:
        raise CellError(f"No implementation found for '{type_of(left)} {operator} {type_of(right)}'")
    result: Value = value
    return result


def _plus(left: Value, right: Value) -> Any:
    if isinstance(left, Date) or isinstance(right, Date):
        return _moved(left, right, 1) if isinstance(left, Date) else _moved(right, left, 1)
    if isinstance(left, Duration) and isinstance(right, Duration):
        return joined_duration(left, right)
    if is_list(left) and is_list(right) and isinstance(left, Sequence) and isinstance(right, Sequence):
        check_count(len(left) + len(right))
        return [*left, *right]
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return {**left, **right}
    return NotImplemented


def _minus(left: Value, right: Value) -> Any:
    if isinstance(left, Date) and isinstance(right, Date):
        return between(left, right)
    if isinstance(left, Date):
        return _moved(left, right, -1)
    if isinstance(left, Duration) and isinstance(right, Duration):
        return joined_duration(left, right, -1)
    return None if left is None and isinstance(right, Date) else NotImplemented


_ADDING: Final[Mapping[str, Callable[[Value, Value], Any]]] = {"+": _plus, "-": _minus}


def _moved(date: Value, by: Value, sign: int) -> Any:
    if by is None:
        return None
    if not isinstance(by, Duration) or not isinstance(date, Date):
        return NotImplemented
    return moved(date, by, sign)


def _of_product(operator: str, left: Value, right: Value) -> Any:
    if operator == "*" and isinstance(left, (int, float)):
        left, right = right, left
    if not isinstance(right, (int, float)) or isinstance(right, bool) or operator == "%":
        return NotImplemented
    if isinstance(left, Duration):
        return scaled(left, right if operator == "*" else math.inf if right == 0 else 1 / right)
    if isinstance(left, str) and operator == "*" and math.isfinite(right):
        if right * len(left) > MOST_TEXT:
            raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
        return left * int(right)
    return NotImplemented


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


OfItem: TypeAlias = Callable[[Value], Value]
"""What a lambda gives for an item."""
# What a letter in ``Entry.takes`` stands for. Booleans are no numbers here, though Python takes them for such.
_KINDS: Final[Mapping[str, Any]] = {
    "t": str,
    "n": (int, float),
    "d": Date,
    "u": Duration,
    "l": Link,
    "o": Mapping,
    "v": list,
}
_MANY = 10_000


class Entry(NamedTuple):
    """A function, and the arguments that it takes. It raises CellError.

    ``takes`` has a letter for each argument: ``t`` text, ``n`` number, ``d`` date, ``u`` duration, ``l`` link, ``o`` object,
    ``v`` list, ``*`` anything. A null for a small letter gives null; for a capital the function gets it. Those after ``?`` may
    be left out; ``+`` stands for any more. ``lists``: places of the arguments that may be lists of what is taken: the result
    is a list then. With ``has_frame`` the frame comes before the arguments.
    """

    compute: Callable[..., Value]
    takes: str
    lists: tuple[int, ...] = ()
    has_frame: bool = False

    @property
    def least(self) -> int:
        """The number of arguments at least."""
        return len(self.takes.partition("?")[0].rstrip("+"))

    @property
    def most(self) -> int:
        """The number of arguments at most."""
        return _MANY if self.takes.endswith("+") else len(self.takes.replace("?", ""))


def call(name: str, arguments: Sequence[Value], frame: Frame) -> Value:
    """Return what a function gives. Raises CellError for arguments that it does not take."""
    frame.budget.spend()
    return _apply(name, FUNCTIONS[name], arguments, frame)


def _apply(name: str, entry: Entry, arguments: Sequence[Value], frame: Frame) -> Value:
    # Of lists of several lengths the shortest one counts.
    columns = {
        place: column
        for place in entry.lists
        if place < len(arguments) and isinstance(column := arguments[place], Sequence) and is_list(column)
    }
    if columns:
        results: list[Value] = []
        for number in range(min(map(len, columns.values()))):
            frame.budget.spend()
            own = [columns[place][number] if place in columns else each for place, each in enumerate(arguments)]
            results.append(_apply(name, entry, own, frame))
        return frame.budget.made(results)
    pairs = [*zip(entry.takes.replace("?", "").rstrip("+"), arguments, strict=False)]
    if any(value is None and kind.islower() for kind, value in pairs):
        return None
    if not all(_is_of(kind.lower(), value) for kind, value in pairs):
        raise _wrong(name, arguments)
    own_frame = (frame,) if entry.has_frame else ()
    return frame.budget.made(entry.compute(*own_frame, *arguments))


def _is_of(kind: str, value: Value) -> bool:
    if kind == "*" or value is None:
        return True
    if kind == "v":
        return is_list(value)
    return isinstance(value, _KINDS[kind]) and not (kind == "n" and isinstance(value, bool))


def _wrong(name: str, arguments: Sequence[Value]) -> CellError:
    return CellError(f"No implementation of '{name}' found for arguments: {', '.join(map(type_of, arguments))}")


# ---------------------------------------------------------------------- constructors


def _object(*arguments: Value) -> Value:
    if len(arguments) % 2:
        raise CellError("object() needs a value for each name")
    if not all(isinstance(name, str) for name in arguments[::2]):
        raise CellError("object() needs texts for names")
    return {str(name): value for name, value in zip(arguments[::2], arguments[1::2], strict=True)}


def _date(frame: Frame, value: Value, *form: Value) -> Value:
    zone = frame.shared.vault.zone
    if form:
        at = parse_luxon(text_of(value), text_of(form[0]), zone) if value is not None and form[0] is not None else None
        return None if at is None else Date(at, has_time=bool(at.hour or at.minute or at.second))
    if isinstance(value, Date) or value is None:
        return value
    if isinstance(value, str):
        return parse_date(value, zone) if re.match(r"\d{4}-\d{2}(?!\d)", value) else None
    if not isinstance(value, Link):
        raise _wrong("date", [value])
    named = next(
        (day for text in (value.display, value.linktext) if text and (day := day_in(text, zone)) is not None), None
    )
    if named is not None:
        return named
    path = frame.shared.vault.notes.resolve(value.linktext, value.source)
    file = Page(frame.shared.vault, path).get("file") if path else None
    return file.get("day") if isinstance(file, Mapping) else None


def _duration(value: Value) -> Value:
    if isinstance(value, str):
        return parse_duration(value)
    if value is None or isinstance(value, Duration):
        return value
    raise _wrong("dur", [value])


_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def _number(value: Value) -> Value:
    if value is None or _is_of("n", value):
        return value
    if not isinstance(value, str):
        raise _wrong("number", [value])
    match = _NUMBER.search(value)
    return None if match is None else float(match[0])


def _link(frame: Frame, to: Value, shown: Value = None) -> Value:
    if to is None:
        return None
    display = None if shown is None else text_of(shown, frame.shared.vault.texts)
    if isinstance(to, Link):
        return to if display is None else type(to)(to.linktext, display, to.source)
    if not isinstance(to, str):
        raise _wrong("link", [to])
    this = frame.shared.this
    return Link(to, display, this.path if this else "")


def _embed(link: Link, is_embed: Value = True) -> Value:
    kind = Embed if is_truthy(is_embed) else Link
    return kind(link.linktext, link.display, link.source)


def _elink(url: str, shown: Value = None) -> Value:
    return checked_text(f"[{url if shown is None else text_of(shown)}]({url})")


# ---------------------------------------------------------------------- numbers


def _whole(compute: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(compute(value)) if math.isfinite(value) else value


def _round(value: float, digits: float | None = None) -> Value:
    places = max(0, min(int(digits), 15)) if digits is not None and math.isfinite(digits) else 0
    if not math.isfinite(value):
        return value
    # Halves go up, as in JavaScript.
    step = Decimal(1).scaleb(-places)
    return float(((Decimal(repr(float(value))) / step + Decimal("0.5")).to_integral_value(ROUND_FLOOR)) * step)


def _spread(arguments: Sequence[Value]) -> Sequence[Value]:
    only = arguments[0] if len(arguments) == 1 else None
    return only if isinstance(only, Sequence) and not isinstance(only, str) else arguments


def _extreme(choose: Callable[..., Value]) -> Callable[..., Value]:
    def extreme(frame: Frame, *arguments: Value) -> Value:
        values = [value for value in _spread(arguments) if value is not None]
        frame.budget.spend(len(values))
        return choose(values, key=lambda value: order_key(value, frame.shared.vault.notes), default=None)

    return extreme


def _reduced(frame: Frame, values: Sequence[Value], operator: str) -> Value:
    if operator not in _REDUCERS:
        raise CellError("reduce() takes one of + - * / & |, or a lambda of two names")
    result: Value = values[0] if values else None
    for value in values[1:]:
        frame.budget.spend()
        result = frame.budget.made(apply(operator, result, value, frame.shared.vault.notes, frame.shared.vault.texts))
    return result


_REDUCERS: Final = frozenset("+-*/&|")


def _average(frame: Frame, values: Sequence[Value]) -> Value:
    total = _reduced(frame, values, "+")
    return apply("/", total, float(len(values)), frame.shared.vault.notes, frame.shared.vault.texts) if values else None


def _of_list(compute: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function of a list; any other value is the result itself."""

    def of_list(frame: Frame, values: Value, *more: Value) -> Value:
        return compute(frame, values, *more) if is_list(values) else values

    return of_list


# ---------------------------------------------------------------------- lists and texts


def _contains(*, is_exact: bool, ignores_case: bool) -> Callable[..., Value]:
    def holds(frame: Frame, container: Value, value: Value) -> bool:
        frame.budget.spend()
        if isinstance(container, Sequence) and not isinstance(container, str):
            if is_exact:
                return any(equal(each, value, frame.shared.vault.notes) for each in container)
            return any(holds(frame, each, value) for each in container)
        if isinstance(container, str) and isinstance(value, str):
            return value.casefold() in container.casefold() if ignores_case else value in container
        if isinstance(container, Mapping) and isinstance(value, str):
            return value in container
        return equal(container, value, frame.shared.vault.notes)

    return holds


def _has_word(text: str, word: str) -> bool:
    return found_in(Regexp(rf"\b{re.escape(word)}\b", "i"), text)


def _extract(of: Mapping[str, Value] | None, *names: Value) -> Value:
    if not all(isinstance(name, str) for name in names):
        raise CellError("extract() needs texts for names")
    return {str(name): of.get(str(name)) if of is not None else None for name in names}


def _length(value: Value) -> Value:
    if value is None or isinstance(value, (str, Mapping, Sequence)):
        return 0 if value is None else len(value)
    raise _wrong("length", [value])


def _sort(frame: Frame, values: Sequence[Value]) -> Value:
    frame.budget.spend(len(values))
    return sorted(values, key=lambda value: order_key(value, frame.shared.vault.notes))


def _join(frame: Frame, values: Value, separator: Value = None) -> Value:
    texts = frame.shared.vault.texts
    if not isinstance(values, Sequence) or isinstance(values, str):
        return text_of(values, texts)
    by = ", " if separator is None else text_of(separator, texts)
    return joined(by, (text_of(value, texts) for value in values), MOST_TEXT)


def _flat(frame: Frame, values: Sequence[Value], depth: Value = 1) -> Value:
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


def _place(value: Value, default: int | None) -> int | None:
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else default


def _substring(text: str, start: Value, end: Value = None) -> Value:
    places = (_place(start, 0) or 0, _place(end, len(text)) or 0)
    first, last = sorted(max(0, min(len(text), place)) for place in places)
    return text[first:last]


def _truncate(text: str, length: Value, suffix: str = "...") -> Value:
    most = _place(length, None)
    return text if most is None or len(text) <= most else text[: max(0, most - len(suffix))] + suffix


def _padding(text: str, length: Value, padding: str) -> str:
    """Return what a text lacks to this length."""
    lacking = (_place(length, None) or 0) - len(text)
    if lacking + len(text) > MOST_TEXT:
        raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
    return (padding * (lacking // len(padding) + 1))[:lacking] if lacking > 0 and padding else ""


def _matches(pattern: str | None, text: str | None) -> bool:
    if pattern is None or text is None:
        return False
    anchored = pattern if pattern.startswith("^") or pattern.endswith("$") else f"^(?:{pattern})$"
    return found_in(Regexp(anchored), text)


# ---------------------------------------------------------------------- other


def _hash(*arguments: Value) -> Value:
    text = "\0".join(map(text_of, arguments))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big")


def _durationformat(value: Duration, form: str) -> Value:
    return checked_text(format_duration(form, value.months, value.days * 86_400_000 + value.milliseconds))


_CURRENCIES: Final = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "CNY": "CN¥", "KRW": "₩"}


def _currencyformat(value: float, code: str = "USD") -> Value:
    sign = _CURRENCIES.get(code.upper(), f"{code.upper()}\u00a0")
    digits = 0 if code.upper() in ("JPY", "KRW") else 2
    return f"{'-' if value < 0 else ''}{sign}{abs(value):,.{digits}f}" if math.isfinite(value) else None


def _meta(link: Link | None) -> Value:
    if link is None:
        raise _wrong("meta", [link])
    path, _mark, subpath = link.linktext.partition("#")
    kind = "file" if not subpath else "block" if subpath.startswith("^") else "header"
    return {
        "display": link.display,
        "embed": isinstance(link, Embed),
        "path": path,
        "subpath": subpath.removeprefix("^") or None,
        "type": kind,
    }


def _some(quantifier: Callable[..., bool], *, is_negated: bool = False) -> Callable[..., Value]:
    return lambda *arguments: quantifier(map(is_truthy, _spread(arguments))) is not is_negated


def _unique(frame: Frame, values: Sequence[Value]) -> Value:
    frame.budget.spend(len(values))
    first: dict[object, Value] = {}
    for value in values:
        first.setdefault(order_key(value, frame.shared.vault.notes), value)
    return [*first.values()]


def _default(value: Value, otherwise: Value) -> Value:
    return otherwise if value is None else value


FUNCTIONS: Final[Mapping[str, Entry]] = {
    "object": Entry(_object, "+"),
    **dict.fromkeys(("list", "array"), Entry(lambda *values: [*values], "+")),
    "date": Entry(_date, "*?*", (0,), has_frame=True),
    "dur": Entry(_duration, "*", (0,)),
    "number": Entry(_number, "*", (0,)),
    "string": Entry(lambda frame, value: checked_text(text_of(value, frame.shared.vault.texts)), "*", has_frame=True),
    "link": Entry(_link, "*?*", (0, 1), has_frame=True),
    "embed": Entry(_embed, "l?*", (0,)),
    "elink": Entry(_elink, "t?*", (0,)),
    "typeof": Entry(type_of, "*"),
    "round": Entry(_round, "n?N", (0,)),
    "trunc": Entry(_whole(math.trunc), "n", (0,)),
    "floor": Entry(_whole(math.floor), "n", (0,)),
    "ceil": Entry(_whole(math.ceil), "n", (0,)),
    "min": Entry(_extreme(min), "+", has_frame=True),
    "max": Entry(_extreme(max), "+", has_frame=True),
    "sum": Entry(_of_list(lambda frame, values: _reduced(frame, values, "+")), "*", has_frame=True),
    "product": Entry(_of_list(lambda frame, values: _reduced(frame, values, "*")), "*", has_frame=True),
    "reduce": Entry(_reduced, "vt", (1,), has_frame=True),
    "average": Entry(_of_list(_average), "*", has_frame=True),
    "contains": Entry(_contains(is_exact=False, ignores_case=False), "**", (1,), has_frame=True),
    "icontains": Entry(_contains(is_exact=False, ignores_case=True), "**", (1,), has_frame=True),
    "econtains": Entry(_contains(is_exact=True, ignores_case=False), "**", (1,), has_frame=True),
    "containsword": Entry(_has_word, "tt", (0, 1)),
    "extract": Entry(_extract, "O+", (0,)),
    "sort": Entry(_of_list(_sort), "*", has_frame=True),
    "reverse": Entry(lambda value: value[::-1] if isinstance(value, str) or is_list(value) else value, "*"),
    "length": Entry(_length, "*"),
    "nonnull": Entry(lambda *values: [each for each in _spread(values) if each is not None], "+"),
    "all": Entry(_some(all), "+"),
    "any": Entry(_some(any), "+"),
    "none": Entry(_some(any, is_negated=True), "+"),
    "join": Entry(_join, "*?*", has_frame=True),
    "unique": Entry(_of_list(_unique), "*", has_frame=True),
    "flat": Entry(_of_list(_flat), "*?*", has_frame=True),
    "slice": Entry(
        _of_list(lambda _, values, *ends: [*values][slice(*(_place(end, None) for end in (*ends, None)[:2]))]),
        "*?**",
        has_frame=True,
    ),
    "regextest": Entry(
        lambda pattern, text: None not in (pattern, text) and found_in(Regexp(pattern), text), "TT", (0, 1)
    ),
    "regexmatch": Entry(_matches, "TT", (0, 1)),
    "regexreplace": Entry(lambda text, pattern, by: replaced(Regexp(pattern, "g"), text, by), "ttt", (0, 1, 2)),
    "replace": Entry(replaced_text, "ttt", (0, 1, 2)),
    "lower": Entry(str.lower, "t", (0,)),
    "upper": Entry(str.upper, "t", (0,)),
    "split": Entry(lambda text, by, most=None: [*parted(Regexp(by), text)][: _place(most, None)], "tt?*"),
    "startswith": Entry(str.startswith, "tt", (0, 1)),
    "endswith": Entry(str.endswith, "tt", (0, 1)),
    "padleft": Entry(lambda text, length, by=" ": _padding(text, length, by) + text, "tn?t", (0, 1, 2)),
    "padright": Entry(lambda text, length, by=" ": text + _padding(text, length, by), "tn?t", (0, 1, 2)),
    "substring": Entry(_substring, "t*?*", (0,)),
    "truncate": Entry(_truncate, "t*?t", (0,)),
    "default": Entry(_default, "**", (0, 1)),
    "ldefault": Entry(_default, "**"),
    "choice": Entry(lambda condition, then, otherwise: then if is_truthy(condition) else otherwise, "***", (0,)),
    "hash": Entry(_hash, "*?**"),
    "striptime": Entry(day_of, "d", (0,)),
    "dateformat": Entry(lambda value, form: checked_text(format_luxon(form, value.at)), "dt", (0,)),
    "durationformat": Entry(_durationformat, "ut", (0,)),
    "currencyformat": Entry(_currencyformat, "n?t", (0,)),
    "localtime": Entry(lambda date: date, "d", (0,)),
    "meta": Entry(_meta, "L", (0,)),
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
