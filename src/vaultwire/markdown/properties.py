"""The reader of frontmatter: where the block is, and its properties with the types that Obsidian gives them.

The forms that Obsidian itself writes (``key: scalar``, ``key: [a, b]``, block lists of scalars) are read here, by one pattern
a line. ``yaml_core`` reads a block with any other form. A block that is not YAML is read property by property, so that the
good ones count. Writing properties is not done here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vaultwire.markdown.offsets import MOST_PROPERTIES
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.yaml_core import NotYamlError, Properties, PropertyValue, plain_scalar, read_yaml, scalar_text

# The whole first line, nothing before it; the closing mark at a line start, the file's end allowed (obsidian.d.ts
# getFrontMatterInfo).
_OPENING = compile_pattern(r"---[ \t]*+\n")
_CLOSING = compile_pattern(r"\n---[ \t]*+(?:\n|\Z)")
# A person corrects the first few; a file that is not YAML at all has one on every line.
_MAX_PROBLEMS = 10

# The forms read here. The quantifiers are possessive (*+): a pattern must fail in linear time on any text. In doubt (other
# white space than space and tab, escapes that mean another character) the block is left to ``yaml_core``, which takes
# 150 us a block instead of 6, and 44 ms for its import.
_DOUBLE = r'"([^"\\]*+(?:\\["\\/][^"\\]*+)*+)"'
_SINGLE = r"'([^']*+(?:''[^']*+)*+)'"
_INDICATORS = r"""\s\-?:,\[\]{}#&*!|>'"%@`"""
_PLAIN = rf"((?:[^{_INDICATORS}]|[-?:](?=\S))[^:#]*+(?:(?::(?=\S)|(?<=\S)#)[^:#]*+)*+)"
_PLAIN_ITEM = (
    rf"((?:[^{_INDICATORS}]|-(?=[^\s,\[\]{{}}]))[^:#,\[\]{{}}]*+(?:(?::(?=[^\s,\[\]{{}}])|(?<=\S)#)[^:#,\[\]{{}}]*+)*+)"
)
_ITEM = rf"[ \t]*+(?:{_PLAIN_ITEM}|{_DOUBLE}|{_SINGLE})[ \t]*+"
_UNCAPTURED = re.sub(r"(?<!\\)\((?!\?)", "(?:", _ITEM)
_FLOW = rf"\[((?:{_UNCAPTURED}(?:,{_UNCAPTURED})*+,?+)?+[ \t]*+)\]"
# A name of more than 200 characters may be too long for YAML (1,024 up to the colon).
_KEY = rf"[^{_INDICATORS}][^:#\t\n]{{0,200}}+"
_LINE = compile_pattern(
    rf"(?:({_KEY}):|([ ]*+-))(?:[ \t]++(?:{_PLAIN}|{_DOUBLE}|{_SINGLE}|{_FLOW})?+)?+[ \t]*+(?:(?<=[ \t])#.*+)?+\Z"
)
_FLOW_ITEM = compile_pattern(_ITEM)
_ESCAPE = compile_pattern(r"\\(.)")
# The groups of a list's element. A line has two groups more before them: the name and the dash.
_PLAIN_FORM, _DOUBLE_FORM, _SINGLE_FORM = 1, 2, 3
_FLOW_FORM = 6
# A name that begins with another character is a text.
_BEGINS_TYPED = frozenset("+.0123456789~nNtTfF")

# Where a property begins in a block that is not YAML: at the start of a line that does not continue a value.
_BEGINS_PROPERTY = compile_pattern(r"^(?![ \t#\]}]|-(?:[ \t]|$)|$)", re.MULTILINE)
_HAS_NAME = compile_pattern(
    rf"""(?:{_DOUBLE}|{_SINGLE}|[^{_INDICATORS}][^:\n]*+(?::(?!\s)[^:\n]*+)*+)[ \t]*+:(?=\s|\Z)"""
)

_DATE = compile_pattern(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(?::\d\d)?)?\Z", re.ASCII)
_TYPES = frozenset(("text", "multitext", "number", "checkbox", "date", "datetime", "tags", "aliases"))
_TYPE_OF_NAME = {"tags": "tags", "aliases": "aliases", "cssclasses": "multitext"}


class Frontmatter(NamedTuple):
    """A note's properties, in file order."""

    values: dict[str, PropertyValue]
    end: int  # offset of the first character after the block; 0 where there is none
    problems: list[str]
    lines: dict[str, list[int]]  # property → the line of each of its texts, counted from 1 in the note
    written: dict[
        str, list[str]
    ]  # property → its scalars as texts, also those in lists and maps; a value of None has none

    def value(self, name: str) -> PropertyValue:
        """Return a property's value, its name in any case of letters; None if it is missing."""
        key = self._named(name)
        return None if key is None else self.values[key]

    def texts(self, name: str) -> list[str]:
        """Return a property's scalars as texts, its name in any case of letters."""
        key = self._named(name)
        return [] if key is None else self.written[key]

    def _named(self, name: str) -> str | None:
        folded = name.casefold()
        for key in self.values:
            if key.casefold() == folded:
                return key
        return None


def parse_frontmatter(text: str) -> Frontmatter:
    """Return the properties of a note whose line ends are ``\\n``. Never fails; ``problems`` says what is not YAML."""
    opening = _OPENING.match(text)
    if opening is None:
        return Frontmatter({}, 0, [], {}, {})
    start = opening.end()
    closing = _CLOSING.search(text, start - 1)
    if closing is None:
        unclosed = _HAS_NAME.match(text, start) is not None  # a rule at the top has text below
        return Frontmatter({}, 0, ["frontmatter is opened with --- and never closed"] if unclosed else [], {}, {})
    if closing.start() - start > MOST_PROPERTIES:
        problem = f"line 2: frontmatter is read up to {MOST_PROPERTIES:,} characters, and this has more"
        return Frontmatter({}, closing.end(), [problem], {}, {})
    yaml = text[start : closing.start() + 1]
    values, texts, lines, problems = _read_plain(yaml, 2) or _read_any(yaml)
    return Frontmatter(values, closing.end(), problems[:_MAX_PROBLEMS], lines, texts)


def property_type(name: str, value: PropertyValue, declared: Mapping[str, str]) -> str:
    """Return a property's type as Obsidian names it: text, multitext, number, checkbox, date, datetime, tags, aliases.

    What the vault declares (the map in ``.obsidian/types.json``, names in any case) goes before what name and value say.
    A map that nothing is declared for is ``unknown``.
    """
    folded = name.casefold()
    found = declared.get(name) or next((declared[key] for key in declared if key.casefold() == folded), None)
    if found in _TYPES:
        return found
    if folded in _TYPE_OF_NAME:
        return _TYPE_OF_NAME[folded]
    if isinstance(value, bool):
        return "checkbox"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, list):
        return "multitext"
    if isinstance(value, dict):
        return "unknown"
    date = _DATE.match(value or "")
    return "text" if date is None else "datetime" if date[1] else "date"


def _read_plain(yaml: str, first: int) -> Properties | None:
    """Return the properties of a block in the forms that Obsidian writes; None for a block in any other."""
    values, texts, lines, problems = read = Properties({}, {}, {}, [])
    key = ""
    items: list[PropertyValue] | None = None  # of the property read last, if it may have items
    indent: str | None = None
    match = _LINE.match
    for number, line in enumerate(yaml.split("\n"), first):
        parts = match(line)
        if parts is None:
            if line.lstrip(" \t")[:1] in ("", "#"):
                continue
            return None
        form = parts.lastindex or 0
        value, written = _scalar(form - 2, parts[form]) if form < _FLOW_FORM else _flow_list(parts[form])
        if parts[1] is not None:
            key = parts[1].rstrip(" ")
            if key[0] in _BEGINS_TYPED and plain_scalar(key) is not key:
                return None
            if key in values:
                problems.append(f"line {number}: property {key!r} is there twice")
            values[key], texts[key], lines[key] = value, written, [number] * len(written)
            items, indent = ([] if form == 1 else None), None
        elif items is None or form == _FLOW_FORM or parts[2] != (indent or parts[2]):
            return None
        else:
            indent = parts[2]
            values[key] = items
            items.append(value)
            texts[key] += written
            lines[key] += [number] * len(written)
    return read


def _flow_list(text: str) -> tuple[PropertyValue, list[str]]:
    items: list[PropertyValue] = []
    texts: list[str] = []
    position = 0
    while (item := _FLOW_ITEM.match(text, position)) is not None:
        form = item.lastindex or 0
        value, written = _scalar(form, item[form])
        items.append(value)
        texts += written
        position = item.end() + 1
    return items, texts


def _scalar(form: int, text: str) -> tuple[PropertyValue, list[str]]:
    """Return a scalar's value and its text in a list, which is empty if the value is None."""
    if form == _PLAIN_FORM:
        text = text.rstrip(" \t")
        value = plain_scalar(text)
        return value, [text] if value is text else [] if value is None else [scalar_text(value, text)]
    if form == _DOUBLE_FORM:
        text = _ESCAPE.sub(r"\1", text) if "\\" in text else text
    elif form == _SINGLE_FORM:
        text = text.replace("''", "'")
    else:
        return None, []
    return text, [text]


def _read_any(yaml: str) -> Properties:
    """Return the properties of a block that has other forms than those that Obsidian writes."""
    try:
        return read_yaml(yaml, 2)
    except NotYamlError as error:
        read = _read_by_property(yaml)
        if not read.problems:  # each is good alone, but not together
            read.problems.append(str(error))
        return read


def _read_by_property(yaml: str) -> Properties:
    """Return the properties that can be read one by one, of a block that cannot be read as a whole."""
    values, texts, lines, problems = read = Properties({}, {}, {}, [])
    for number, start, end in property_parts(yaml):
        part = yaml[start:end]
        try:
            # A problem takes longer to find than a good line to read: those that will not be told are not looked for.
            read_part = _read_plain(part, number) or (
                _read_named(part, number) if len(problems) < _MAX_PROBLEMS else Properties({}, {}, {}, [])
            )
        except NotYamlError as error:
            problems.append(str(error))
            continue
        problems += [f"line {number}: property {key!r} is there twice" for key in read_part.values if key in values]
        problems += read_part.problems
        values |= read_part.values
        texts |= read_part.texts
        lines |= read_part.lines
    return read


def _read_named(part: str, number: int) -> Properties:
    if _HAS_NAME.match(part) is None:
        raise NotYamlError(number, "expected 'name: value'")
    return read_yaml(part, number)


def property_parts(yaml: str) -> Iterator[tuple[int, int, int]]:
    """Yield the number of each property's first line, counted in the note, and where its lines start and end."""
    starts = [found.start() for found in _BEGINS_PROPERTY.finditer(yaml)]
    if not starts or yaml[: starts[0]].strip():
        starts.insert(0, 0)
    number, counted = 2, 0
    for start, end in zip(starts, [*starts[1:], len(yaml)], strict=True):
        number += yaml.count("\n", counted, start)
        counted = start
        yield number, start, end
