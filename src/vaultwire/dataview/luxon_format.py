"""Dates and durations in the formats of Luxon, which Dataview's ``dateformat`` and ``durationformat`` take. In English.

https://moment.github.io/luxon/#/formatting?id=table-of-tokens and ``parsing``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Final

from vaultwire.bases.moment_format import MONTHS, WEEKDAYS, WRITERS
from vaultwire.bases.values import number_text

_TOKEN = re.compile(r"'(?P<quoted>[^']*)'|(?P<token>([A-Za-z])\3*)|(?P<other>.)", re.DOTALL)


def _short_offset(at: datetime) -> str:
    sign, hours, minutes = WRITERS["Z"](at)[0], *WRITERS["Z"](at)[1:].split(":")
    return f"{sign}{int(hours)}" + (f":{minutes}" if minutes != "00" else "")


# Luxon's tokens that mean what one of Moment.js does, each after a slash.
_AS_MOMENT: Final = """SSS/SSS u/SSS s/s ss/ss m/m mm/mm h/h hh/hh H/H HH/HH ZZ/Z ZZZ/ZZ a/A d/D dd/DD c/E E/E ccc/ddd EEE/ddd
    cccc/dddd EEEE/dddd L/M M/M LL/MM MM/MM LLL/MMM MMM/MMM LLLL/MMMM MMMM/MMMM y/y yy/YY yyyy/YYYY kk/GG kkkk/GGGG
    W/W WW/WW o/DDD ooo/DDDD q/Q X/X x/x"""
# Those that stand for a whole format.
_FORMATS: Final = {
    "D": "M/d/yyyy", "DD": "MMM d, yyyy", "DDD": "MMMM d, yyyy", "DDDD": "EEEE, MMMM d, yyyy",
    "t": "h:mm a", "tt": "h:mm:ss a", "T": "HH:mm", "TT": "HH:mm:ss",
    "f": "D, t", "ff": "DD, t", "fff": "DDD, t", "ffff": "DDDD, t", "F": "D, tt",
}  # fmt: skip


def _formatted(form: str, at: datetime) -> str:
    return format_luxon(form, at)


_WRITERS: Final[Mapping[str, Callable[[datetime], str]]] = {
    **{token: WRITERS[moment] for token, _, moment in (pair.partition("/") for pair in _AS_MOMENT.split())},
    **{token: partial(_formatted, form) for token, form in _FORMATS.items()},
    "S": lambda at: str(at.microsecond // 1000),
    "Z": _short_offset,
    **dict.fromkeys(("ccccc", "EEEEE"), lambda at: WRITERS["dddd"](at)[0]),
    **dict.fromkeys(("LLLLL", "MMMMM"), lambda at: WRITERS["MMMM"](at)[0]),
    "yyyyyy": lambda at: f"{at.year:06}",
    "G": lambda _: "AD",
    "qq": lambda at: f"{(at.month + 2) // 3:02}",
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
