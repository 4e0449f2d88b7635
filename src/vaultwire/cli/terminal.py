"""Prints to the terminal, with control characters escaped. The only module of this room that prints.

Names come from vaults, clients and servers. A terminal obeys control characters in them: they set its title, move the cursor
over earlier lines, or make it answer as if somebody had typed.
"""

from __future__ import annotations

import os
import sys

# C0 (but the tab), DEL, and C1, which some terminals take like ESC and a letter; line ends; lone surrogates, which stand
# for bytes that are no UTF-8. And characters that turn the direction of text, so that one name looks like another.
_CONTROLS = (*range(9), *range(10, 32), *range(127, 160), 0x2028, 0x2029, *range(0xD800, 0xE000))
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ESCAPED = (*_CONTROLS, *_DIRECTIONS)
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
        import json  # noqa: PLC0415 - for such a terminal only

        text = "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text)
    _print(plain_data(text), to_stderr=False, flush=False)


def say_styled(*parts: tuple[str, str]) -> None:
    """Print one line of texts, each with its style if the terminal has styles (https://no-color.org)."""
    is_styled = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    line = "".join(
        f"\x1b[{style}m{plain(text)}\x1b[0m" if is_styled and style else plain(text) for text, style in parts
    )
    _print(line, to_stderr=False, flush=False)


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
