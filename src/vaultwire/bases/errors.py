"""The errors of a cell, in the app's words where they are known, and the limits of one."""

from __future__ import annotations

from dataclasses import dataclass

# More than a person's formula needs: a cell that does more ends with an error instead of keeping everyone waiting.
MOST_STEPS = 50_000
MOST_TEXT = 200_000
MOST_ITEMS = 20_000
REGEXP_SECONDS = 0.05
# All regular expressions of a row together have half a second.
NANOSECONDS_A_STEP = 10_000


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


@dataclass(slots=True)
class Budget:
    """What one cell may still do."""

    steps: int = MOST_STEPS

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises CellError when they are used up."""
        self.steps -= steps
        if self.steps < 0:
            raise CellError("This formula takes too long.")


def checked_text(text: str) -> str:
    """Return the text. Raises CellError if it is too long."""
    if len(text) > MOST_TEXT:
        raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
    return text


def check_count(count: float) -> None:
    """Raise CellError for a list that would be too long."""
    if count > MOST_ITEMS:
        raise CellError(f"This list has more than {MOST_ITEMS:,} items.")
