"""Edits of a client's file in any of its formats, each checked: read again, the new text differs by our entry alone."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vaultwire.client_setup.clients import OUR_MEMBERS, BrokenFileError, Format, NotEditableError, SetupError
from vaultwire.markdown.json_edits import Member, members

# Edits of JSON and JSONC files: an entry is put in, renewed or removed, and no other character changes.
#
# Comments and trailing commas become spaces of the same length. What is left is JSON with every value at its old place.

_TOKENS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|(,)(?=[ \t\r\n]*[}\]])')
_NOT_SPACE = re.compile(r"[^\r\n\t ]")
_SPACES = " \t\r\n"
_INDENTED = re.compile(r"\n([ \t]+)[^ \t\r\n]")
_COLON = re.compile(r'"(?:[^"\\\n]|\\.)*"([ \t]*:[ \t]*)')
_USUAL_INDENT = "  "


class _Object(NamedTuple):
    """An object in a text: from its brace to behind the other one, with its members."""

    start: int
    end: int
    members: list[Member]

    def last(self, key: str) -> int | None:
        """Return the number of the member of a key; of several, the last one counts."""
        return next((number for number in reversed(range(len(self.members))) if self.members[number].key == key), None)


def _read_json(text: str, *, comments: bool) -> Any:
    """Return what a text says; an empty one is an empty object. Raises BrokenFileError."""
    if not text.strip(_SPACES):
        return {}
    try:
        # Constants as text: NaN is not equal to itself, and edits are checked by comparing.
        return json.loads(_plain(text) if comments else text, parse_constant=str)
    except json.JSONDecodeError as error:
        raise BrokenFileError(_words(error), error.lineno, error.colno) from None


def _write_json(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with a value at a path of keys; objects on the way that are not there are made."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip(_SPACES):
        return text + f"{json.dumps(_nested(keys, value), ensure_ascii=False, indent=_USUAL_INDENT)}\n".replace(
            "\n", newline
        )
    plain = _plain(text)
    here = _object_at(plain, _first(plain))
    for depth, key in enumerate(keys):
        number = here.last(key)
        if number is None:
            style = _style_of(plain, here, newline)
            return _with_member(text, here, style.member(key, _nested(keys[depth + 1 :], value)), style)
        member = here.members[number]
        if depth == len(keys) - 1:
            written = _style_of(plain, here, newline).written(value)
            return text[: member.value_start] + written + text[member.end :]
        if not isinstance(member.value, dict):
            raise NotEditableError(_no_object(text, key, member))
        here = _object_at(plain, member.value_start)
    raise AssertionError(keys)


def _remove_json(text: str, keys: Sequence[str]) -> str:
    """Return the text without the member at a path of keys, which must be there."""
    plain = _plain(text)
    here = _object_at(plain, _first(plain))
    for key in keys[:-1]:
        number = here.last(key)
        assert number is not None
        here = _object_at(plain, here.members[number].value_start)
    number = here.last(keys[-1])
    assert number is not None
    member = here.members[number]
    previous_end = here.members[number - 1].end if number else here.start + 1
    start, end = member.start, member.end
    while start > previous_end and text[start - 1] in _SPACES:  # with its line break, but not with a comment before it
        start -= 1
    comma = _past_comments(text, end)
    has_comma = text[comma : comma + 1] == ","
    rest = text[end:comma] + text[comma + 1 :] if has_comma else text[end:]
    is_behind_comment = text[start - 1] != plain[start - 1] and not text[:start].endswith("*/")
    if is_behind_comment and not rest.lstrip(" \t").startswith(("\n", "\r")):
        start = member.start  # that comment ends with the line break
    if has_comma:
        return text[:start] + rest
    if number:  # the last one: the comma before it goes, too
        before = _past_comments(text, previous_end)
        return text[:before] + text[before + 1 : start] + text[end:]
    tail = here.end - 1
    if not text[end:tail].strip(_SPACES) and not text[here.start + 1 : start].strip(_SPACES):
        return text[: here.start + 1] + text[tail:]
    return text[:start] + text[end:]


def _with_member(text: str, here: _Object, member: str, style: _Style) -> str:
    """Return the text with another member behind the last one of an object, and behind the comments there."""
    tail = here.end - 1
    place = tail
    while text[place - 1] in _SPACES:
        place -= 1
    if not here.members:
        closing = text[place:tail] if "\n" in text[place:tail] else style.newline + style.outer
        return text[:place] + (f"{style.lead}{member}{closing}" if style.in_lines else member) + text[tail:]
    end = here.members[-1].end
    comma = _past_comments(text, end)
    if text[comma : comma + 1] == ",":  # a trailing comma: ours gets one, too
        return f"{text[:place]}{style.lead}{member},{text[place:]}"
    if not style.in_lines:
        return f"{text[:end]},{style.lead}{member}{text[end:]}"
    return f"{text[:end]},{text[end:place]}{style.lead}{member}{text[place:]}"


class _Style(NamedTuple):
    """How a new member is laid out: what comes before it, and how its own lines begin."""

    in_lines: bool
    lead: str
    indent: str
    outer: str
    unit: str
    newline: str
    colon: str

    def written(self, value: Any) -> str:
        """Return a value as it stands in the file."""
        if not self.in_lines:
            return json.dumps(value, ensure_ascii=False, separators=(", ", ": ") if self.colon != ":" else (",", ":"))
        return json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + self.indent)

    def member(self, key: str, value: Any) -> str:
        """Return a member as it stands in the file."""
        return f"{json.dumps(key)}{': ' if self.in_lines else self.colon}{self.written(value)}"


def _style_of(plain: str, here: _Object, newline: str) -> _Style:
    """Return the layout of an object's members; one without members is laid out as the file is."""
    unit = _INDENTED.search(plain)
    colon = _COLON.search(plain)
    outer = _indent_of(plain, here.start)
    if here.members:
        gaps = plain[here.start : here.members[0].start] + plain[here.members[-1].end : here.end]
        in_lines = "\n" in gaps
        indent = _indent_of(plain, here.members[-1].start)
    else:
        in_lines = "\n" in plain.strip(_SPACES) or not plain.strip("{}" + _SPACES)
        indent = outer + (unit[1] if unit else _USUAL_INDENT)
    spaced = colon[1] if colon else ": "
    lead = newline + indent if in_lines else "" if spaced == ":" else " "
    return _Style(in_lines, lead, indent, outer, unit[1] if unit else _USUAL_INDENT, newline, spaced)


def _plain(text: str) -> str:
    """Return the text with spaces in place of comments and trailing commas."""

    def without(token: re.Match[str]) -> str:
        return token[0] if token[0].startswith('"') else _NOT_SPACE.sub(" ", token[0])

    plain = _TOKENS.sub(without, text)
    return _TRAILING_COMMA.sub(lambda found: " " if found[1] else found[0], plain)


def _first(plain: str) -> int:
    return len(plain) - len(plain.lstrip(_SPACES))


def _object_at(plain: str, start: int) -> _Object:
    end = json.JSONDecoder(strict=False).raw_decode(plain, start)[1]
    return _Object(start, end, members(plain, start))


def _indent_of(plain: str, place: int) -> str:
    """Return the spaces with which the line of a place begins."""
    line = plain[plain.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _nested(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _past_comments(text: str, place: int) -> int:
    """Return the next place that has neither a space nor a comment. ``place`` is in no string."""
    while place < len(text):
        if text[place] in _SPACES:
            place += 1
            continue
        token = _TOKENS.match(text, place) if text[place] == "/" else None
        if token is None:
            break
        place = token.end()
    return place


def _no_object(text: str, key: str, member: Member) -> str:
    line = text.count("\n", 0, member.value_start) + 1
    return f"line {line}: {key!r} must be an object, with braces, to have servers in it"


def _words(error: json.JSONDecodeError) -> str:
    return error.msg[0].lower() + error.msg[1:].removesuffix(" at")


# Edits of TOML files: our own table, such as ``[mcp_servers.vaultwire]``, is put in, renewed or removed as whole lines.
#
# A table in another form (inline, dotted keys, a value of ours over several lines) is refused: the caller reads the new text
# and compares.

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NOT_LINE_END = re.compile(r"[^\n]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Strings of four kinds, and comments.
_TOML_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|#[^\n]*", re.DOTALL
)


def _read_toml(text: str) -> Any:
    """Return what a text says. Raises BrokenFileError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line, column = (int(place[1]), int(place[2])) if place else (text.count("\n") + 1, 1)
        words = str(error).partition(" (at ")[0]
        raise BrokenFileError(words[0].lower() + words[1:], line, column) from None


def _write_toml(text: str, keys: Sequence[str], value: Mapping[str, Any], *, is_there: bool) -> str:
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


def _remove_toml(text: str, keys: Sequence[str]) -> str:
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
    masked = _TOML_TOKENS.sub(lambda token: _NOT_LINE_END.sub("x", token[0]), text)
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


def read(text: str, form: Format) -> dict[str, Any]:
    """Return what a file says. Raises BrokenFileError if it is not valid, SetupError if it has no names and values."""
    found = _parse(text, form)
    if not isinstance(found, dict):
        raise SetupError("the file holds a list or a single value. It must have names with values, as an object has")
    return found


def entry_in(data: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """Return what is at a path of keys, None for nothing."""
    here: Any = data
    for key in keys:
        if not isinstance(here, Mapping) or key not in here:
            return None
        here = here[key]
    return here


def with_entry(text: str, form: Format, keys: Sequence[str], entry: Mapping[str, Any] | list[Any]) -> str:
    """Return the text with an entry at a path of keys. Raises SetupError if that cannot be done without other changes."""
    expected = copy.deepcopy(read(text, form))
    here = expected
    for depth, key in enumerate(keys[:-1]):
        inner = here.setdefault(key, {})
        if not isinstance(inner, dict):
            raise NotEditableError(f"{'.'.join(keys[: depth + 1])} must have names with values, to have servers in it")
        here = inner
    is_there = keys[-1] in here
    here[keys[-1]] = copy.deepcopy(entry)
    if form == "toml" and not isinstance(entry, list):
        return _checked(_write_toml(text, keys, entry, is_there=is_there), form, expected)
    return _checked(_write_json(text, keys, entry), form, expected)


def without_entry(text: str, form: Format, keys: Sequence[str], *, containers: int = 0) -> str:
    """Return the text without the entry at a path of keys, and without so many objects around it, if they are empty then."""
    expected = copy.deepcopy(read(text, form))
    del entry_in(expected, keys[:-1])[keys[-1]]
    remove = _remove_toml if form == "toml" else _remove_json
    new = remove(text, keys)
    for depth in range(len(keys) - 1, len(keys) - 1 - containers, -1):
        parent = entry_in(read(new, form), keys[: depth - 1])
        if not isinstance(parent, dict) or parent.get(keys[depth - 1]) != {}:
            break
        new = remove(new, keys[:depth])
    for depth in range(len(keys) - 1, 0, -1):
        # An object that is empty now may be written as such, or be gone.
        parent = entry_in(expected, keys[: depth - 1])
        found = entry_in(read(new, form), keys[:depth])
        if parent[keys[depth - 1]] == {} and found is None:
            del parent[keys[depth - 1]]
    return _checked(new, form, expected)


def _parse(text: str, form: Format) -> Any:
    """Return what a text says. Raises BrokenFileError."""
    try:
        return _read_toml(text) if form == "toml" else _read_json(text, comments=form == "jsonc")
    except ValueError:  # Python's own limit: https://docs.python.org/3/library/stdtypes.html#int-max-str-digits
        raise BrokenFileError("a number has thousands of digits", 1, 1) from None
    except RecursionError:
        raise BrokenFileError("the values are nested too deeply", 1, 1) from None


def _checked(text: str, form: Format, expected: Mapping[str, Any]) -> str:
    """Return the text if it says what is expected. Raises NotEditableError."""
    try:
        is_right = _same(_parse(text, form), expected)
    except BrokenFileError:
        is_right = False
    if not is_right:
        raise NotEditableError("the file is written in a way in which only a person can put the entry in safely")
    return text


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same, also in type: 1, 1.0 and true are equal to Python; and in the order of keys."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and (one == other or (one != one and other != other))  # noqa: PLR0124 - NaN
