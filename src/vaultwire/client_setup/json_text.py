"""Edits of JSON and JSONC files: an entry is put in, renewed or removed, and no other character changes.

Comments and trailing commas become spaces of the same length. What is left is JSON with every value at its old place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from vaultwire.client_setup.problems import BrokenFileError, NotEditableError
from vaultwire.markdown.json_edits import Member, members

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


def read(text: str, *, comments: bool) -> Any:
    """Return what a text says; an empty one is an empty object. Raises BrokenFileError."""
    if not text.strip(_SPACES):
        return {}
    try:
        # Constants as text: NaN is not equal to itself, and edits are checked by comparing.
        return json.loads(_plain(text) if comments else text, parse_constant=str)
    except json.JSONDecodeError as error:
        raise BrokenFileError(_words(error), error.lineno, error.colno) from None
    except ValueError:  # Python's own limit: https://docs.python.org/3/library/stdtypes.html#int-max-str-digits
        raise BrokenFileError("a number has thousands of digits", 1, 1) from None
    except RecursionError:
        raise BrokenFileError("the values are nested too deeply", 1, 1) from None


def write(text: str, keys: Sequence[str], value: Any) -> str:
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


def remove(text: str, keys: Sequence[str]) -> str:
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
