"""What is printed. Names come from vaults, clients and servers: what in them would give the terminal orders is spelt out.

A terminal takes control characters in a file's name as its own: they set its title, move the cursor over what was printed
before, or answer as if somebody had typed. The only module of the room that prints, so nothing gets past it.
"""

from __future__ import annotations

import os
import sys

# C0 (but the tab), DEL and C1, which some terminals take like ESC and a letter; what ends a line; lone surrogates, which
# stand for bytes that are no UTF-8; and what turns the direction of the text after it, so that a name reads as another.
_CONTROLS = (*range(9), *range(10, 32), *range(127, 160), 0x2028, 0x2029, *range(0xD800, 0xE000))
_TURNS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ORDERS = (*_CONTROLS, *_TURNS)
_AS_TEXT = {ord("\n"): r"\n", ord("\r"): r"\r"}


def say(*lines: str, to_stderr: bool = False, flush: bool = False) -> None:
    """Print the lines. A line break within one is spelt out as well: no name makes a line of its own."""
    for line in lines:
        _print(plain(line), to_stderr=to_stderr, flush=flush)


def complain(words: str) -> None:
    """Print a line about what is wrong on stderr."""
    say(f"vaultwire: {words}", to_stderr=True, flush=True)


def say_data(text: str) -> None:
    """Print JSON, or TOML whose strings are JSON's: it stays the same data, also where not all characters can be printed."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        import json  # noqa: PLC0415 - for such a terminal only

        text = "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text)
    _print(plain_data(text), to_stderr=False, flush=False)


def say_styled(*parts: tuple[str, str]) -> None:
    """Print a line of texts, each in its style, where the terminal wants styles (https://no-color.org)."""
    is_styled = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    line = "".join(
        f"\x1b[{style}m{plain(text)}\x1b[0m" if is_styled and style else plain(text) for text, style in parts
    )
    _print(line, to_stderr=False, flush=False)


def plain(text: str) -> str:
    r"""Return the text with everything that would give the terminal orders spelt out, such as ``\x1b``."""
    if text.isprintable():
        return text
    return text.translate(_spelt())


def plain_data(text: str) -> str:
    r"""Return JSON with the same in its strings spelt as JSON does, such as ``\u009b``. Its own line breaks stay."""
    if text.isprintable():
        return text
    return text.translate({number: f"\\u{number:04x}" for number in _ORDERS if number != ord("\n")})


def _spelt() -> dict[int, str]:
    return {number: f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" for number in _ORDERS} | _AS_TEXT  # noqa: PLR2004


def _print(line: str, *, to_stderr: bool, flush: bool) -> None:
    stream = sys.stderr if to_stderr else sys.stdout
    if stream is None:  # started without a terminal, as Windows does with pythonw
        return
    encoding = stream.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=flush)
