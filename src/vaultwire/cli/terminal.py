"""Prints to the terminal, with control characters escaped. The only module of this room that prints.

Names come from vaults, clients and servers. A terminal obeys control characters in them: they set its title, move the cursor
over earlier lines, or make it answer as if somebody had typed.
"""

from __future__ import annotations

import json
import os
import sys
import time
import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self, TypeAlias

    from vaultwire.vault.value_types import Confirmation

    Styled: TypeAlias = tuple[str, str]
    """A text and its style: the numbers of an SGR sequence, empty for none."""

# C0 (but the tab), DEL, and C1, which some terminals take like ESC and a letter; line ends; lone surrogates, which stand
# for bytes that are no UTF-8. And characters that turn the direction of text, so that one name looks like another.
_CONTROLS = (*range(9), *range(10, 32), *range(127, 160), 0x2028, 0x2029, *range(0xD800, 0xE000))
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ESCAPED = (*_CONTROLS, *_DIRECTIONS)
# A column of fewer characters shows nothing that can be recognised.
_LEAST_COLUMN = 12
_DIFF_STYLES = {"+": "32", "-": "31", "@": "36"}
_AS_TEXT = {ord("\n"): r"\n", ord("\r"): r"\r"}


def say(*lines: str, to_stderr: bool = False, flush: bool = False) -> None:
    """Print the lines. A line break inside a line is escaped, too."""
    for line in lines:
        _print(plain(line), to_stderr=to_stderr, flush=flush)


def complain(words: str) -> None:
    """Print an error on stderr."""
    say(f"vaultwire: {words}", to_stderr=True, flush=True)


def say_data(text: str) -> None:
    """Print JSON, or TOML with JSON's strings. It stays the same data where the terminal cannot print all characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text)
    _print(plain_data(text), to_stderr=False, flush=False)


def say_json(data: object) -> None:
    """Print data as JSON for programs, in lines that a person can read, too."""
    say_data(json.dumps(data, indent=2, ensure_ascii=False))


def say_styled(*parts: Styled) -> None:
    """Print one line of texts, each with its style if the terminal has styles (https://no-color.org)."""
    is_styled = has_reader() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    line = "".join(
        f"\x1b[{style}m{plain(text)}\x1b[0m" if is_styled and style and text else plain(text) for text, style in parts
    )
    _print(line, to_stderr=False, flush=False)


def say_lines(text: str) -> None:
    """Print a text of several lines for a person, also one who reads it through a pipe (``| less -R``)."""
    for line in text.removesuffix("\n").split("\n"):
        _print(plain(line.removesuffix("\r")), to_stderr=False, flush=False)


def say_text(text: str) -> None:
    """Print a file's own text: as ``say_lines`` to a terminal, into a pipe or file as it is."""
    if has_reader():
        say_lines(text)
    elif sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))


def say_diff(diff: str) -> None:
    """Print a unified diff, each line in the style of what it says."""
    for line in diff.rstrip("\n").split("\n"):
        is_name = line.startswith(("+++ ", "--- "))
        say_styled((line, "1" if is_name else _DIFF_STYLES.get(line[:1], "")))


def say_rows(rows: Iterable[Sequence[Styled]], shortened: int = -1) -> None:
    """Print rows of cells: on a terminal in columns, the column ``shortened`` cut to its width; else with tabs between them.

    A negative ``shortened`` counts from the last column.
    """
    if not has_reader():
        for row in rows:
            _print("\t".join(plain(text).replace("\t", " ") for text, _ in row), to_stderr=False, flush=False)
        return
    cells = [[(plain(text).replace("\t", " "), style) for text, style in row] for row in rows]
    if not cells:
        return
    widths = [max(cells_of(row[column][0]) for row in cells) for column in range(len(cells[0]))]
    shortened %= len(widths)
    others = sum(widths) - widths[shortened] + 2 * (len(widths) - 1)
    widths[shortened] = max(min(widths[shortened], width() - others), _LEAST_COLUMN)
    for row in cells:
        parts: list[Styled] = []
        for column, (text, style) in enumerate(row):
            shown = cut(text, widths[column])
            is_last = column == len(row) - 1
            parts += [(shown, style), ("" if is_last else " " * (widths[column] - cells_of(shown) + 2), "")]
        say_styled(*parts)


def has_reader() -> bool:
    """Tell whether a person reads the output at a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def width() -> int:
    """Return how many characters fit on a line of the terminal."""
    import shutil  # noqa: PLC0415 - few commands need it

    return max(shutil.get_terminal_size().columns, _LEAST_COLUMN)


def cells_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


def cut(text: str, columns: int) -> str:
    """Return the text, cut with an ellipsis if it takes more columns."""
    if cells_of(text) <= columns:
        return text
    kept: list[str] = []
    left = columns - 1
    for each in text:
        left -= cells_of(each)
        if left < 0:
            break
        kept.append(each)
    return "".join(kept) + "…"


def plain(text: str) -> str:
    r"""Return the text with control characters escaped, such as ``\x1b``."""
    if text.isprintable():
        return text
    return text.translate(_escapes())


def plain_data(text: str) -> str:
    r"""Return JSON with the same characters escaped as JSON does, such as ``\u009b``. Its own line breaks stay."""
    if text.isprintable():
        return text
    return text.translate({number: f"\\u{number:04x}" for number in _ESCAPED if number != ord("\n")})


def _escapes() -> dict[int, str]:
    return {number: f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" for number in _ESCAPED} | _AS_TEXT  # noqa: PLR2004


def _print(line: str, *, to_stderr: bool, flush: bool) -> None:
    stream = sys.stderr if to_stderr else sys.stdout
    if stream is None:  # started without a terminal, as Windows does with pythonw
        return
    encoding = stream.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=flush)


# ---------------------------------------------------------------------- progress

# Work that ends sooner shows nothing; a line that changes more often cannot be read.
_FIRST_SECONDS, _EVERY_SECONDS = 0.4, 0.1


class ProgressLine:
    """The progress of one command on stderr, on one line that is removed at the end. A ``vault.value_types.Progress``."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + _FIRST_SECONDS
        self._has_line = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def check(self) -> None:
        """Go on: Ctrl-C ends the command."""

    def confirm(self, question: Confirmation) -> None:
        """Ask nobody: this is for work that changes nothing."""

    def report(self, done: int, total: int, message: str) -> None:
        """Show how far the work is."""
        now = time.monotonic()
        if not self._is_shown or now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        share = f"{100 * done // total:3} % " if total else ""
        line = plain(share + message)[: width() - 1]
        self._has_line = True
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line, so that other text can be printed."""
        if self._has_line:
            self._has_line = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
