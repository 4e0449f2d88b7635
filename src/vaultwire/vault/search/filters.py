"""Filters on notes by their facts: name, tags, properties, times; and on tasks. Parses a caller's text; an index applies them.

A condition on a property says the same as search's ``[name:value]`` (``search.matching``), but typed: it compares numbers
with numbers, dates with dates, texts with texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from vaultwire.markdown.properties import property_type
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.days import Days, parse_days
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.search.query import NUMBER

Sort: TypeAlias = Literal["relevance", "path", "name", "modified", "size"]

_CONDITION = re.compile(
    r"""\s*(?P<missing>!)?\s*
    (?: "(?P<quoted>[^"]+)" | (?P<name>[^"=<>!]+?) )\s*
    (?: (?P<sign>!=|<=|>=|==?|<|>)\s*
        (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)' | (?P<plain>(?![=<>~]).*?) )\s*
    )?\Z""",
    re.VERBOSE | re.DOTALL,
)
_FORMS = "'status' (is there), '!status' (is not), or 'status=done' (also !=, <, <=, >, >=)"
_DATE = re.compile(r"(\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)?)(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?\Z", re.ASCII)
_YEAR = re.compile(r"\d{4}\Z", re.ASCII)
# Completes a date that says less: it means its first moment.
_FIRST_MOMENT = "0000-01-01T00:00:00"
_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|[^\[\]]*)?\]\]\Z")
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_AGO = re.compile(r"(\d{1,5}) ?(m|min|h|d|w)\Z", re.ASCII)
_MINUTES = {"m": 1, "min": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_CLOCK = re.compile(r"\d\d?:\d\d\Z", re.ASCII)
_IN_WORDS = re.compile(r"(.+?) (before|after|until|since|is) (.+)", re.IGNORECASE | re.DOTALL)
_SIGNS = {"before": "<", "after": ">", "until": "<=", "since": ">=", "is": "="}
_FAR = 2**63 - 1  # nanoseconds, 64 bits, until the year 2262: any later time is later than all files
EMPTY_VALUES: Final[tuple[PropertyValue, ...]] = (None, "", [], {})


class Condition(NamedTuple):
    """A condition on one property. ``sign`` is "" if the property must be there, "!" if it must not.

    ``text`` is folded. ``number`` and ``date`` are what the text means, if it is a number or date. A date is as exact as
    it was given, so that a month covers its days.
    """

    name: str
    sign: str
    text: str = ""
    number: float | None = None
    date: str = ""

    @property
    def is_negated(self) -> bool:
        """Whether the filter passes the notes without a value that ``accepts`` is true of, also those without the property."""
        return self.sign in ("!", "!=")

    def accepts(self, value: PropertyValue) -> bool:
        """Tell whether the value, or an element of it, fulfils the comparison; for ``!=``, whether it equals the value."""
        if self.sign in ("", "!"):
            return True
        if not self.text:
            return value in EMPTY_VALUES
        return any(self._accepts(scalar) for scalar in _scalars(value))

    def _accepts(self, value: bool | float | str) -> bool:
        is_equality = self.sign in ("=", "!=")
        if isinstance(value, bool):
            return is_equality and self.text == ("true" if value else "false")
        if not isinstance(value, str):
            return self.number is not None and self._is_side(value, self.number)
        text = value.strip()
        if self.number is not None and NUMBER.match(text):
            return self._is_side(float(text), self.number)
        if self.date and (found := _DATE.match(text)) is not None:
            moment = found[1].replace(" ", "T")
            return self._is_side((moment + _FIRST_MOMENT[len(moment) :])[: len(self.date)], self.date)
        if is_equality:
            return _plain(text) == self.text
        return not self.date and self.number is None and self._is_side(_plain(text), self.text)

    def _is_side(self, value: float | str, limit: float | str) -> bool:
        sign = self.sign
        if sign in ("=", "!="):
            return value == limit
        if sign[0] == "<":
            return value < limit or (sign == "<=" and value == limit)  # type: ignore[operator] # both of one type
        return value > limit or (sign == ">=" and value == limit)  # type: ignore[operator]


class NoteFilter(NamedTuple):
    """Which notes to find: all that is given must be true. Times are nanoseconds since the epoch; ``from`` is inclusive."""

    name: str = ""
    alias: str = ""
    tags: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    modified_from: int | None = None
    modified_until: int | None = None
    sort: Sort = "relevance"


# What each word for tasks says of whether they are done.
_STATUS_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("todo", "to do", "open", "undone", "incomplete", "pending", "not done"), False),
    **dict.fromkeys(("done", "closed", "complete", "completed", "finished"), True),
    **dict.fromkeys(("any", "all"), None),
}


class TaskFilter(NamedTuple):
    """Which tasks to find. ``mark`` is the character in their box, None for any; ``is_done`` None for both.

    ``tag``, or a tag below it, stands in the task itself. For ``text`` neither case nor diacritics matter. ``has_due`` None
    means with and without a due date; ``due_from`` and ``due_until`` are the first and last such date, empty for no bound.
    """

    mark: str | None = None
    is_done: bool | None = None
    tag: str = ""
    text: str = ""
    has_due: bool | None = None
    due_from: str = ""
    due_until: str = ""
    by_due: bool = False
    """In order of their due dates, those without one last; else in path and line order."""
    not_below: str = ""
    """Without the notes below this folder; empty for none."""

    def accepts_due(self, due: str) -> bool:
        """Tell whether a task with this due date, as ISO 8601, is one of these; ``""`` is none."""
        if self.has_due is not None and self.has_due is not bool(due):
            return False
        return self.due_from <= due and (not self.due_until or due <= self.due_until)


def parse_task_status(text: str) -> TaskFilter:
    """Return the filter for a status: ``todo``, ``done``, ``any``, or a mark. Raises VaultError (INVALID_ARGUMENTS).

    Every mark except a space means done, as for search's ``task-done:`` (``vault.search.note_parts``).
    """
    word = text.strip().lower()
    if word in _STATUS_WORDS:
        return TaskFilter(is_done=_STATUS_WORDS[word])
    mark = text[1:-1] if len(text) > 1 and text[0] + text[-1] == "[]" else text
    if len(mark) != 1:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"status: expected 'todo', 'done', 'any', or one mark such as '/' or '-', got {text!r}.",
            argument="status",
        )
    return TaskFilter(mark=mark)


class NoteFilterText(NamedTuple):
    """A note filter as a caller writes it; ``parse_conditions`` and ``parse_time`` say how."""

    name: str = ""
    alias: str = ""
    tags: Sequence[str] = ()
    properties: Sequence[str] = ()
    modified_after: str = ""
    modified_before: str = ""
    sort: Sort = "relevance"


def parse_note_filter(asked: NoteFilterText, parse: Callable[[str], Days]) -> NoteFilter:
    """Return the filter; ``parse`` is as for ``parse_conditions``. Raises VaultError that names the argument."""
    now = datetime.now(UTC).astimezone()
    return NoteFilter(
        asked.name,
        asked.alias,
        tuple(asked.tags),
        parse_conditions(asked.properties, parse),
        parse_time(asked.modified_after, "modified_after", now) if asked.modified_after else None,
        parse_time(asked.modified_before, "modified_before", now) if asked.modified_before else None,
        asked.sort,
    )


def parse_conditions(texts: Sequence[str], parse: Callable[[str], Days]) -> tuple[Condition, ...]:
    """Return the conditions. ``parse`` reads a day or longer time, as ``parse_days``.

    Raises VaultError (INVALID_ARGUMENTS) for a text that is no condition.
    """
    return tuple(_parse_condition(text, parse) for text in texts)


def _parse_condition(text: str, parse: Callable[[str], Days]) -> Condition:
    match = _CONDITION.match(text)
    if match is None:
        raise _wrong(text, f"expected {_FORMS}; text with signs in it goes in double quotes")
    name = (match["quoted"] or match["name"]).strip()
    sign = (match["sign"] or "").replace("==", "=")
    if not name:
        raise _wrong(text, f"the property's name is missing; expected {_FORMS}")
    if not sign:
        before, colon, after = name.partition(":")
        if colon and not match["quoted"]:
            raise _wrong(text, f"to compare with a value write '{before.strip()}={after.strip()}'")
        words = None if match["quoted"] else _IN_WORDS.fullmatch(name)
        if words is not None:
            meant = f"{words[1]}{_SIGNS[words[2].lower()]}{words[3]}"
            raise _wrong(text, f"to compare write {meant!r}; the name of a property goes in double quotes")
        return Condition(fold(name), match["missing"] or "")
    if match["missing"]:
        raise _wrong(text, f"'!' before a name means that it is not there; write '{name}!={match['plain'] or '…'}'")
    quoted = match["double"] if match["double"] is not None else match["single"]
    value = match["plain"] if quoted is None else quoted
    if not value.strip() and sign not in ("=", "!="):
        raise _wrong(text, f"there is no value after {sign}")
    condition = Condition(fold(name), sign, _plain(value.strip()))
    if quoted is not None or not value:
        return condition
    condition = _typed(condition, value, parse)
    if sign in ("=", "!=") or condition.number is not None or condition.date:
        return condition
    compared = match["name"] or f'"{name}"'
    raise VaultError(
        INVALID_ARGUMENTS,
        f"properties: {value!r} in {text!r} is neither a date nor a number. Write {parse('today').first}, today or +7. "
        f'To compare as text, quote it: {compared}{sign}"{value}".',
        argument="properties",
    )


def _typed(condition: Condition, value: str, parse: Callable[[str], Days]) -> Condition:
    """Return the condition with its value as a number or date, if it is one."""
    if NUMBER.match(value):
        condition = condition._replace(number=float(value))
    match = _DATE.match(value)
    if match is not None:
        return condition._replace(date=match[1].replace(" ", "T"))
    if _YEAR.match(value):
        return condition._replace(date=value)
    is_equality = condition.sign in ("=", "!=")
    # To be equal to "this week" can only mean these words. A number without a sign is not a day.
    if (is_equality and condition.text not in _DAYS) or (condition.number is not None and value[0] not in "+-"):
        return condition
    try:
        days = parse(value)
    except VaultError:
        return condition
    return condition._replace(date=(days.first if condition.sign in ("<", ">=") else days.last).isoformat())


def _wrong(text: str, reason: str) -> VaultError:
    return VaultError(INVALID_ARGUMENTS, f"properties: {text!r} is no condition: {reason}.", argument="properties")


def parse_time(text: str, argument: str, now: datetime) -> int:
    """Return a time as nanoseconds since the epoch: of an ISO date or time, ``14:30``, ``7d`` for 7 days ago, or where the
    days that ``parse_days`` reads begin: ``today``, ``last week``, ``2026-01``.

    Days, and dates without a time zone, are in the time zone of ``now``. Raises VaultError (INVALID_ARGUMENTS).
    """
    cleaned = text.strip().lower()
    ago = _AGO.match(cleaned)
    try:
        if ago is not None:
            moment = now - timedelta(minutes=int(ago[1]) * _MINUTES[ago[2]])
        elif _CLOCK.match(cleaned):
            moment = datetime.fromisoformat(f"{now.date()}T{cleaned:0>5}")
        else:
            try:
                moment = datetime.fromisoformat(cleaned.upper())
            except ValueError:
                moment = datetime.combine(parse_days(cleaned, now.date()).first, datetime.min.time())
        return max(-_FAR, min(round(moment.timestamp()) * 1_000_000_000, _FAR))
    except (VaultError, ValueError, OverflowError, OSError):  # the latter two: a year that the system does not know
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{argument}: expected a date ('2026-01-31'), a time ('2026-01-31T18:00', '18:00'), 'today', 'yesterday', or how "
            f"long ago ('30m', '12h', '7d', '4w'), got {text!r}.",
            argument=argument,
        ) from None


def _scalars(value: PropertyValue) -> Iterator[bool | float | str]:
    """Yield the scalars of a value, also those within lists and maps."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _scalars(inner)
    elif value is not None:
        yield value


def scalar_texts(value: PropertyValue) -> list[str]:
    """Return a value's scalars as a person would write them; one empty text for a value without scalars."""
    return scalars_as_texts(value) or [""]


def scalars_as_texts(value: PropertyValue) -> list[str]:
    """Return a value's scalars as a person would write them; nothing for a value without scalars."""
    return [("true" if scalar else "false") if isinstance(scalar, bool) else str(scalar) for scalar in _scalars(value)]


def property_types(name: str, values: Sequence[PropertyValue], declared: Mapping[str, str]) -> list[str]:
    """Return the types of a property's values, each once. An empty value counts only if all are empty."""
    filled = [value for value in values if value is not None] or values
    return list(dict.fromkeys(property_type(name, value, declared) for value in filled))


def _plain(text: str) -> str:
    """Return the form of a text that is compared: folded, of a link its path."""
    link = _LINK.match(text)
    return fold(link[1] if link else text)
