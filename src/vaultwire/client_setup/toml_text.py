"""Edits of TOML files: our own table, such as ``[mcp_servers.vaultwire]``, is put in, renewed or removed as whole lines.

A table in another form (inline, dotted keys, a value of ours over several lines) is refused: the caller reads the new text
and compares.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vaultwire.client_setup.clients import OUR_MEMBERS
from vaultwire.client_setup.problems import BrokenFileError

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NOT_LINE_END = re.compile(r"[^\n]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Strings of four kinds, and comments.
_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|#[^\n]*", re.DOTALL
)


def read(text: str) -> Any:
    """Return what a text says. Raises BrokenFileError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line, column = (int(place[1]), int(place[2])) if place else (text.count("\n") + 1, 1)
        words = str(error).partition(" (at ")[0]
        raise BrokenFileError(words[0].lower() + words[1:], line, column) from None
    except ValueError:  # Python's own limit: https://docs.python.org/3/library/stdtypes.html#int-max-str-digits
        raise BrokenFileError("a number has thousands of digits", 1, 1) from None
    except RecursionError:
        raise BrokenFileError("the values are nested too deeply", 1, 1) from None


def write(text: str, keys: Sequence[str], value: Mapping[str, Any], *, is_there: bool) -> str:
    """Return the text with a table at a path of keys: a new one at the end; in one that is there only our keys change."""
    newline = "\r\n" if "\r\n" in text else "\n"
    ours = [f"{_key(key)} = {_value(each)}{newline}" for key, each in value.items() if key in OUR_MEMBERS]
    if not is_there:
        new_table = f"[{'.'.join(map(_key, keys))}]{newline}{''.join(ours)}"
        if not text:
            return new_table
        ends = text.endswith("\n")
        return f"{text}{newline}{new_table}" if ends else f"{text}{newline * 2}{new_table.removesuffix(newline)}"
    lines: list[str] = []
    depth = len(keys)
    for line, table, is_header in _lines(text):
        if table[:depth] == (*keys,) and not _is_note(line):
            member = table[depth] if len(table) > depth else "" if is_header else _key_of(line)
            if member in OUR_MEMBERS:
                continue
        lines.append(line)
        if is_header and table == (*keys,):
            lines[-1:] = [line if line.endswith("\n") else line + newline, *ours]
    new = "".join(lines)
    return new if text.endswith("\n") else new.removesuffix(newline)


def remove(text: str, keys: Sequence[str]) -> str:
    """Return the text without a table and the tables below it, and without the empty line before it."""
    lines: list[str] = []
    for line, table, is_header in _lines(text):
        if table[: len(keys)] != (*keys,) or _is_note(line):
            lines.append(line)
        elif is_header and lines and not lines[-1].strip():
            lines.pop()
    new = "".join(lines)
    # A file that had no line end at its end has none then.
    return new if text.endswith("\n") else new.removesuffix("\n").removesuffix("\r")


def _lines(text: str) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield the lines, each with the table that it is in, and whether it is the header of a table."""
    masked = _TOKENS.sub(lambda token: _NOT_LINE_END.sub("x", token[0]), text)
    table: tuple[str, ...] = ()
    for line in _LINE.finditer(text):
        is_header = masked[line.start() : line.end()].lstrip(" \t").startswith("[")
        if is_header:
            try:
                table = tuple(_path_of(tomllib.loads(line[0])))
            except tomllib.TOMLDecodeError:  # part of an array
                is_header = False
        yield line[0], table, is_header


def _is_note(line: str) -> bool:
    """Tell whether a line is empty or a comment: these stay."""
    return line.strip()[:1] in ("", "#")


def _key_of(line: str) -> str:
    """Return the key of a line, empty if it holds no key with its whole value."""
    try:
        return next(iter(tomllib.loads(line)), "")
    except tomllib.TOMLDecodeError:
        return ""


def _path_of(table: Any) -> Iterator[str]:
    while table:
        key, table = next(iter(table.items()))
        yield key
        table = table[0] if isinstance(table, list) else table


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    """Return a value in TOML. A JSON string is also a TOML string, but for DEL and unless it has surrogate pairs."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
