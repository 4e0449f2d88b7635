"""Dates and durations in the formats of Luxon, which Dataview's ``dateformat`` and ``durationformat`` take. In English.

https://moment.github.io/luxon/#/formatting?id=table-of-tokens and ``parsing``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from vaultwire.bases.moment_format import MONTHS, WEEKDAYS
from vaultwire.bases.values import number_text

_TOKEN = re.compile(r"'(?P<quoted>[^']*)'|(?P<token>([A-Za-z])\3*)|(?P<other>.)", re.DOTALL)


def _offset(at: datetime, separator: str, *, is_short: bool = False) -> str:
    minutes = int((at.utcoffset() or timedelta(0)).total_seconds() // 60)
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    if is_short:
        return f"{sign}{hours}" + (f":{rest:02}" if rest else "")
    return f"{sign}{hours:02}{separator}{rest:02}"


def _hour(at: datetime) -> int:
    return at.hour % 12 or 12


def _meridiem(at: datetime) -> str:
    return "AM" if at.hour < 12 else "PM"  # noqa: PLR2004 - noon


def _weekday(at: datetime) -> str:
    return WEEKDAYS[at.isoweekday() % 7]


def _month(at: datetime) -> str:
    return MONTHS[at.month - 1]


def _ms(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


_WRITERS: Final[Mapping[str, Callable[[datetime], str]]] = {
    "S": lambda at: str(at.microsecond // 1000),
    "SSS": lambda at: f"{at.microsecond // 1000:03}",
    "u": lambda at: f"{at.microsecond // 1000:03}",
    "s": lambda at: str(at.second),
    "ss": lambda at: f"{at.second:02}",
    "m": lambda at: str(at.minute),
    "mm": lambda at: f"{at.minute:02}",
    "h": lambda at: str(_hour(at)),
    "hh": lambda at: f"{_hour(at):02}",
    "H": lambda at: str(at.hour),
    "HH": lambda at: f"{at.hour:02}",
    "Z": lambda at: _offset(at, "", is_short=True),
    "ZZ": lambda at: _offset(at, ":"),
    "ZZZ": lambda at: _offset(at, ""),
    "a": _meridiem,
    "d": lambda at: str(at.day),
    "dd": lambda at: f"{at.day:02}",
    **dict.fromkeys(("c", "E"), lambda at: str(at.isoweekday())),
    **dict.fromkeys(("ccc", "EEE"), lambda at: _weekday(at)[:3]),
    **dict.fromkeys(("cccc", "EEEE"), _weekday),
    **dict.fromkeys(("ccccc", "EEEEE"), lambda at: _weekday(at)[:1]),
    **dict.fromkeys(("L", "M"), lambda at: str(at.month)),
    **dict.fromkeys(("LL", "MM"), lambda at: f"{at.month:02}"),
    **dict.fromkeys(("LLL", "MMM"), lambda at: _month(at)[:3]),
    **dict.fromkeys(("LLLL", "MMMM"), _month),
    **dict.fromkeys(("LLLLL", "MMMMM"), lambda at: _month(at)[:1]),
    "y": lambda at: str(at.year),
    "yy": lambda at: f"{at.year % 100:02}",
    "yyyy": lambda at: f"{at.year:04}",
    "yyyyyy": lambda at: f"{at.year:06}",
    "G": lambda _: "AD",
    "kk": lambda at: f"{at.isocalendar().year % 100:02}",
    "kkkk": lambda at: f"{at.isocalendar().year:04}",
    "W": lambda at: str(at.isocalendar().week),
    "WW": lambda at: f"{at.isocalendar().week:02}",
    "o": lambda at: str(at.timetuple().tm_yday),
    "ooo": lambda at: f"{at.timetuple().tm_yday:03}",
    "q": lambda at: str((at.month + 2) // 3),
    "qq": lambda at: f"{(at.month + 2) // 3:02}",
    "D": lambda at: format_luxon("M/d/yyyy", at),
    "DD": lambda at: format_luxon("MMM d, yyyy", at),
    "DDD": lambda at: format_luxon("MMMM d, yyyy", at),
    "DDDD": lambda at: format_luxon("EEEE, MMMM d, yyyy", at),
    "t": lambda at: format_luxon("h:mm a", at),
    "tt": lambda at: format_luxon("h:mm:ss a", at),
    "T": lambda at: format_luxon("HH:mm", at),
    "TT": lambda at: format_luxon("HH:mm:ss", at),
    "f": lambda at: format_luxon("M/d/yyyy, h:mm a", at),
    "ff": lambda at: format_luxon("MMM d, yyyy, h:mm a", at),
    "fff": lambda at: format_luxon("MMMM d, yyyy, h:mm a", at),
    "ffff": lambda at: format_luxon("EEEE, MMMM d, yyyy, h:mm a", at),
    "F": lambda at: format_luxon("M/d/yyyy, h:mm:ss a", at),
    "X": lambda at: str(_ms(at) // 1000),
    "x": lambda at: str(_ms(at)),
}


def format_luxon(form: str, at: datetime) -> str:
    """Return the time in the format. Letters that are no token stay; text in single quotes stays without them."""

    def written(match: re.Match[str]) -> str:
        if match["quoted"] is not None:
            return str(match["quoted"])
        writer = _WRITERS.get(match["token"] or "")
        return match[0] if writer is None else writer(at)

    return _TOKEN.sub(written, form)


_DIGITS: Final = {
    "yyyy": (r"\d{4}", "year"), "yy": (r"\d{2}", "short_year"), "y": (r"\d{1,6}", "year"),
    **dict.fromkeys(("M", "L", "MM", "LL"), (r"\d{1,2}", "month")),
    **dict.fromkeys(("d", "dd"), (r"\d{1,2}", "day")), **dict.fromkeys(("H", "HH"), (r"\d{1,2}", "hour")),
    **dict.fromkeys(("h", "hh"), (r"\d{1,2}", "hour12")), **dict.fromkeys(("m", "mm"), (r"\d{1,2}", "minute")),
    **dict.fromkeys(("s", "ss"), (r"\d{1,2}", "second")), "SSS": (r"\d{3}", "ms"), "S": (r"\d{1,3}", "ms"),
    "x": (r"-?\d{1,15}", "unix_ms"), "X": (r"-?\d{1,12}", "unix"), "a": (r"[AaPp][Mm]", "meridiem"),
    **dict.fromkeys(("MMMM", "LLLL"), ("|".join(MONTHS), "month_name")),
    **dict.fromkeys(("MMM", "LLL"), ("|".join(name[:3] for name in MONTHS), "month_name")),
    **dict.fromkeys(("EEEE", "cccc"), ("|".join(WEEKDAYS), "")), **dict.fromkeys(("EEE", "ccc"), ("[A-Za-z]{3}", "")),
}  # fmt: skip
# Longer formats say no date.
_MOST_FORMAT = 100


def parse_luxon(text: str, form: str, zone: tzinfo) -> datetime | None:
    """Return the local time that a text says in the format; None if it says none, and for tokens that are not read."""
    names: list[str] = []
    pattern = ""
    if len(form) > _MOST_FORMAT or len(text) > _MOST_FORMAT:
        return None
    for match in _TOKEN.finditer(form):
        if match["token"] is None:
            pattern += re.escape(match["quoted"] if match["quoted"] is not None else match["other"])
            continue
        digits, name = _DIGITS.get(match["token"], ("", "unknown"))
        if name == "unknown":
            return None
        names.append(name)
        pattern += f"({digits})"
    found = re.fullmatch(pattern, text, re.IGNORECASE)
    return None if found is None else _moment(dict(zip(names, found.groups(), strict=True)), zone)


# Luxon's cut-off: 60 is 2060, 61 is 1961.
_CENTURY: Final = 2000
_LAST_OF_CENTURY: Final = 60


def _moment(parts: Mapping[str, str], zone: tzinfo) -> datetime | None:
    try:
        if "unix_ms" in parts or "unix" in parts:
            ms = int(parts.get("unix_ms") or int(parts["unix"]) * 1000)
            return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).astimezone(zone)
        year = int(parts.get("year", 0))
        if not year:
            short = int(parts["short_year"])
            year = short + (_CENTURY if short <= _LAST_OF_CENTURY else _CENTURY - 100)
        month = int(parts.get("month", 1))
        if "month_name" in parts:
            name = parts["month_name"].casefold()[:3]
            month = next(number for number, each in enumerate(MONTHS, 1) if each.casefold().startswith(name))
        hour = int(parts.get("hour", 0))
        if "hour12" in parts:
            hour = int(parts["hour12"]) % 12 + (12 if parts.get("meridiem", "am").lower() == "pm" else 0)
        minute, second, ms = (int(parts.get(name, 0)) for name in ("minute", "second", "ms"))
        return datetime(year, month, int(parts.get("day", 1)), hour, minute, second, ms * 1000, zone)
    except (ValueError, OverflowError, KeyError):
        return None


_DURATION_UNITS: Final = (
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("S", 1),
)
_YEAR_MS: Final = 31_536_000_000
_MONTH_MS: Final = 2_592_000_000
# A word with a letter that is no unit stays as it is.
_DURATION_TOKEN = re.compile(
    r"'(?P<quoted>[^']*)'|(?P<word>[A-Za-z]*[^yMwdhmsS\W\d_][A-Za-z]*)|(?P<token>([yMwdhmsS])\4*)", re.DOTALL
)


def format_duration(form: str, months: int, ms: float) -> str:
    """Return a length of so many months and milliseconds in the format; its largest units take what they can."""
    units = {match["token"][0] for match in _DURATION_TOKEN.finditer(form) if match["token"]}
    sign, months, ms = ("-", -months, -ms) if months < 0 or ms < 0 else ("", months, ms)
    years, months = divmod(months, 12)
    amounts: dict[str, float] = {}
    if "y" in units:
        more, ms = divmod(ms, _YEAR_MS)
        amounts["y"] = years + more
    elif "M" in units:
        months += years * 12
    else:
        ms += years * _YEAR_MS
    if "M" in units:
        more, ms = divmod(ms, _MONTH_MS)
        amounts["M"] = months + more
    else:
        ms += months * _MONTH_MS
    for unit, length in _DURATION_UNITS:
        if unit in units:
            amounts[unit], ms = divmod(ms, length)

    def written(match: re.Match[str]) -> str:
        if match["token"] is None:
            return str(match["word"] if match["quoted"] is None else match["quoted"])
        return sign + number_text(amounts[match["token"][0]]).rjust(len(match["token"]), "0")

    return _DURATION_TOKEN.sub(written, form)
