"""Edits of TOML files: the table of an entry, such as ``[mcp_servers.vaultwire]``, is put in, renewed or removed as text.

A table written in another form (inline, or with dotted keys) is refused. Every edit is checked by the caller, who reads the
new text and compares.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vaultwire.client_setup.clients import OUR_MEMBERS
from vaultwire.client_setup.problems import BrokenFileError, NotEditableError

# Strings of four kinds, and comments.
_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|#[^\n]*", re.DOTALL
)
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class _Statement(NamedTuple):
    """A header, or a key with its value: whole lines, with the path of its table and its key, none for a header."""

    start: int
    end: int
    table: tuple[str, ...]
    key: str | None


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


def write(text: str, keys: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return the text with a table at a path of keys: a new one at the end; in one that is there only our keys change."""
    newline = "\r\n" if "\r\n" in text else "\n"
    path = tuple(keys)
    ours = [each for each in _statements(text) if each.table[: len(path)] == path]
    header = next((each for each in ours if each.key is None and each.table == path), None)
    lines = [f"{_key(key)} = {_value(each)}" for key, each in value.items() if key in OUR_MEMBERS]
    if header is None:
        if ours or _is_there(text, path):
            raise NotEditableError(f"{path[-1]!r} is written there in a form that only a person can change safely")
        table = newline.join([f"[{'.'.join(map(_key, path))}]", *lines])
        if not text:
            return table + newline
        ends = text.endswith("\n")
        return f"{text}{'' if ends else newline}{newline}{table}{newline if ends else ''}"
    edits = [(each.start, each.end, "") for each in ours if _is_ours(each, path)]
    added = newline.join(lines)
    last = max((end for _, end, _ in edits), default=0)
    is_last = header.end == len(text) or (
        last == len(text) and not text[header.end : min(start for start, _, _ in edits)]
    )
    if not text[: header.end].endswith("\n"):
        added = newline + added
    if not is_last or text.endswith("\n"):
        added += newline
    for start, end, new in sorted([*edits, (header.end, header.end, added)], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def remove(text: str, keys: Sequence[str]) -> str:
    """Return the text without a table and the tables below it, and without the empty line before it."""
    path = tuple(keys)
    ours = [each for each in _statements(text) if each.table[: len(path)] == path]
    kept = text
    for each in reversed(ours):
        start = _before_empty_line(text, each.start) if each.key is None else each.start
        kept = kept[:start] + kept[each.end :]
    if ours[-1].end == len(text) and not text.endswith("\n"):  # the file had no line end at its end, and has none then
        kept = kept.removesuffix("\n").removesuffix("\r")
    return kept


def _before_empty_line(text: str, start: int) -> int:
    for empty in ("\r\n", "\n"):
        if text[:start].endswith(empty) and (text[: start - len(empty)].endswith("\n") or start == len(empty)):
            return start - len(empty)
    return start


def _is_there(text: str, path: tuple[str, ...]) -> bool:
    here: Any = tomllib.loads(text)
    for key in path:
        if not isinstance(here, dict) or key not in here:
            return False
        here = here[key]
    return True


def _is_ours(each: _Statement, path: tuple[str, ...]) -> bool:
    """Tell whether a statement says how the server is reached: a key of its table, or a table below it of such a name."""
    if each.table == path:
        return each.key in OUR_MEMBERS
    return each.table[len(path)] in OUR_MEMBERS


def _statements(text: str) -> Iterator[_Statement]:
    """Yield the headers and keys of a valid text. Comments and empty lines between them belong to none."""
    masked = _TOKENS.sub(lambda token: (" " if token[0][0] == "#" else "x") * len(token[0]), text)
    table: tuple[str, ...] = ()
    end = 0
    while end < len(text):
        start, end = end, _line_end(masked, end)
        while _depth(masked[start:end]) > 0 and end < len(text):  # an array of several lines
            end = _line_end(masked, end)
        statement = masked[start:end].strip()
        if statement.startswith("["):
            table = _path_of(text[start:end])
            yield _Statement(start, end, table, None)
        elif statement:
            yield _Statement(start, end, table, next(iter(tomllib.loads(text[start:end]))))


def _depth(masked: str) -> int:
    return sum(masked.count(each) for each in "[{") - sum(masked.count(each) for each in "]}")


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end + 1


def _path_of(header: str) -> tuple[str, ...]:
    here: Any = tomllib.loads(header)
    path = []
    while here:
        key, here = next(iter(here.items()))
        path.append(key)
        here = here[0] if isinstance(here, list) else here
    return tuple(path)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    """Return a value in TOML. A JSON string is also a TOML string, but for DEL and unless it has surrogate pairs."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
