"""The errors of a cell, in the app's words where they are known, and the limits of one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vaultwire.bases.values import ErrorValue, Html, Image, Link, Value

# More than a person's formula needs: a cell that does more ends with an error instead of keeping everyone waiting.
MOST_STEPS = 50_000
MOST_TEXT = 200_000
MOST_ITEMS = 20_000
REGEXP_SECONDS = 0.05
# All regular expressions of a row together have half a second.
NANOSECONDS_A_STEP = 10_000
# A query has 64 MB: 16 for the row that is computed, and 48 for all that it keeps of the others.
MOST_ROW_BYTES = 16_000_000
MOST_KEPT_BYTES = 48_000_000
# A cell that holds more cannot be shown.
MOST_CELL_BYTES = 4_000_000
_ITEM_BYTES = 64
_PLAIN_BYTES = 100


class CellError(Exception):
    """A cell has no value. The message is the app's, where it is known."""


def cannot_find(name: str, type_name: str) -> CellError:
    """Return the error of a field that values of this type do not have."""
    return CellError(f'Cannot find "{name}" on type {type_name}')


def no_function(name: str, type_name: str = "") -> CellError:
    """Return the error of a function that is not there."""
    return CellError(f'Cannot find function "{name}"' + (f" on type {type_name}" if type_name else ""))


def invalid_operator(left: str, right: str) -> CellError:
    """Return the error of an operator that the two types do not have."""
    return CellError(f"Invalid operator between {left} and {right}")


def cannot_parse(text: str, what: str) -> CellError:
    """Return the error of a text that is no number, date or duration."""
    return CellError(f'Unable to parse "{text[:100]}" as a {what}.')


class TooMuchMemoryError(Exception):
    """A query keeps more than it may: the query ends. The message says what for."""


def size_of(value: Value, most: float = MOST_KEPT_BYTES) -> int:
    """Return the bytes that a value takes, about; a part counts wherever it stands. It stops counting beyond ``most``."""
    if isinstance(value, str):
        return sys.getsizeof(value)
    if value is None or isinstance(value, (bool, int, float)):
        return _ITEM_BYTES // 2
    size = 0
    waiting: list[Value] = [value]
    while waiting and size <= most:
        each = waiting.pop()
        if each is None or isinstance(each, (bool, int, float)):
            size += _ITEM_BYTES // 2
        elif isinstance(each, str):
            size += sys.getsizeof(each)
        elif isinstance(each, Mapping):
            size += _PLAIN_BYTES
            waiting += (*each, *each.values())
        elif isinstance(each, Sequence):
            size += _PLAIN_BYTES
            waiting += each
        else:
            size += _PLAIN_BYTES
            waiting += _texts_in(each)
    return size


def _texts_in(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Link):
        return value.linktext, value.display
    if isinstance(value, Image):
        return (value.of,)
    if isinstance(value, Html):
        return (value.text,)
    return (value.message,) if isinstance(value, ErrorValue) else ()


def checked_cell(value: Value) -> Value:
    """Return the value of a cell. Raises CellError for one that is too large to be shown."""
    is_list = isinstance(value, (Sequence, Mapping)) and not isinstance(value, str)
    if is_list and size_of(value, MOST_CELL_BYTES) > MOST_CELL_BYTES:
        raise CellError(f"This value is larger than {MOST_CELL_BYTES // 1_000_000} MB.")
    return value


@dataclass(slots=True)
class Memory:
    """What a query keeps of its rows: keys that it sorts by, groups, values that are summed up."""

    most: int = MOST_KEPT_BYTES
    kept: int = 0

    def keep(self, size: int, why: str) -> None:
        """Count bytes that are kept from now on. ``why``: what keeps them, for the error. Raises TooMuchMemoryError."""
        self.kept += size
        if self.kept > self.most:
            raise TooMuchMemoryError(f"{why} needs more than {self.most // 1_000_000} MB of memory")


@dataclass(slots=True)
class Budget:
    """What one cell may still do."""

    steps: int = MOST_STEPS
    bytes: int = MOST_ROW_BYTES

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises CellError when they are used up."""
        self.steps -= steps
        if self.steps < 0:
            raise CellError("This formula takes too long.")

    def made(self, value: Value) -> Value:
        """Count the bytes of a text or list that was made, and return it. Raises CellError when too many are used."""
        if isinstance(value, str):
            self.take(len(value))
        elif isinstance(value, list):
            self.take(8 * len(value) + _ITEM_BYTES)
        return value

    def take(self, size: int) -> None:
        """Count bytes. Raises CellError when too many are used."""
        self.bytes -= size
        if self.bytes < 0:
            raise CellError(f"This formula needs more than {MOST_ROW_BYTES // 1_000_000} MB of memory.")

    def give_back(self, kept: Value, before: int, counted: int) -> int:
        """Give back what was used since ``before`` bytes were left, but for a value: what the work is at. Raises CellError.

        Values are counted only where many bytes were used since there were ``counted``; the new number is returned.
        """
        if counted - self.bytes <= MOST_CELL_BYTES:
            return counted
        self.bytes = before
        self.take(size_of(kept))
        return self.bytes


def checked_text(text: str) -> str:
    """Return the text. Raises CellError if it is too long."""
    if len(text) > MOST_TEXT:
        raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
    return text


def check_count(count: float) -> None:
    """Raise CellError for a list that would be too long."""
    if count > MOST_ITEMS:
        raise CellError(f"This list has more than {MOST_ITEMS:,} items.")
