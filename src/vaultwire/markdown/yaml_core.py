"""YAML as Obsidian reads it (npm ``yaml`` 2.7: YAML 1.2, core schema): the meaning of a scalar, and the reader of any form.

The reader makes values of PyYAML's events itself. PyYAML's own constructor follows YAML 1.1 (``yes`` is true, ``012`` is
ten, dates are objects), accepts a name that is there twice, and calls itself for each level of nesting. ``properties`` finds
the block in a note, and reads the forms that Obsidian writes without this module.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from yaml import Event, ScalarEvent


PropertyValue: TypeAlias = "bool | int | float | str | list[PropertyValue] | dict[str, PropertyValue] | None"

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BEGINS_NUMBER = frozenset("+-.0123456789")
# Python refuses to read integers of more than 4,300 digits, and no property's number has as many as this.
_MAX_NUMBER = 300
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_ODD_FLOATS = {
    **dict.fromkeys(("+.inf", "+.Inf", "+.INF", ".inf", ".Inf", ".INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_CORE_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))

# Characters that libyaml refuses or takes for line ends, and Obsidian's parser accepts. Stand-ins from the last private plane,
# which no font uses, take their place while libyaml reads.
_UNREADABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_STAND_IN = re.compile("[\U00100000-\U0010ffff]")
_SHIFT = 0x100000
# A blank line may hold tabs; libyaml takes them for indentation.
_TABBED_BLANK = re.compile(r"^ *\t[ \t]*$", re.MULTILINE)

# Deeper than any person nests, and far below the limit of Python's own recursion (json, repr).
_MAX_DEPTH = 100
# How many characters aliases may add to a note: `billion laughs` doubles with every line.
_MAX_COPIED = 10_000
# Words in the messages of libyaml and PyYAML, and what to do about them.
_REASONS = (
    ("mapping values are not allowed", "a text with ': ' in it needs quotes"),
    ("cannot start any token", "a text that begins with @, ` or % needs quotes"),
)


class Properties(NamedTuple):
    """The properties of a block: each one's value, and its scalars as texts with the line of each."""

    values: dict[str, PropertyValue]
    texts: dict[str, list[str]]
    lines: dict[str, list[int]]
    problems: list[str]


class NotYamlError(ValueError):
    """The text is not YAML, or Obsidian would not read it. The message begins with the line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")


def plain_scalar(text: str) -> bool | int | float | str | None:
    """Return the value of a scalar without quotes in the core schema (YAML 1.2.2, 10.3.2); with leading zeros it is decimal."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _BEGINS_NUMBER or len(text) > _MAX_NUMBER:
        return text
    if _INTEGER.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if _BASED.match(text):
        return int(text[2:], 8 if text[1] == "o" else 16)
    return _ODD_FLOATS.get(text, text)


def scalar_text(value: bool | float | str, written: str) -> str:
    """Return a scalar as a reader expects it: ``true``, ``12``, ``0.5``; a whole float stays as written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and (value.is_integer() or not math.isfinite(value)):
        return written
    return str(value)


def read_yaml(text: str, first: int) -> Properties:
    """Return the properties of any YAML; ``first`` is the number of its first line. The last value of a name counts.

    Raises NotYamlError where Obsidian would read nothing, for more than 100 levels, and for aliases that add more than
    10,000 characters. A name that is there twice is only a problem.
    """
    builder = _Builder(first, has_stand_ins=_UNREADABLE.search(text) is not None)
    for event in yaml_events(text, first):
        builder.take(event)
    return builder.properties()


def yaml_events(text: str, first: int) -> Iterator[Event]:
    """Yield PyYAML's events of any YAML; their marks count lines and columns of ``text`` from 0.

    Characters that libyaml does not read are replaced by stand-ins in the events. Raises NotYamlError.
    """
    # The import takes 44 ms, and most notes need none.
    from yaml import SafeLoader, YAMLError, parse  # noqa: PLC0415

    try:
        from yaml import CSafeLoader as loader  # noqa: N813, PLC0415
    except ImportError:  # built without libyaml: the same events, a hundred times slower
        loader = SafeLoader  # type: ignore[assignment,misc]
    readable = with_stand_ins(_TABBED_BLANK.sub("", text))
    try:
        yield from parse(readable, Loader=loader)
    except YAMLError as error:
        lines = text.rstrip().split("\n")
        mark = getattr(error, "problem_mark", None)
        number = min(mark.line if mark else 0, len(lines) - 1)
        raise NotYamlError(first + number, _reason(error, lines[number])) from None


def with_stand_ins(text: str) -> str:
    """Return a text as the parser has it: with stand-ins for characters that libyaml does not read."""
    return _UNREADABLE.sub(lambda found: chr(ord(found[0]) + _SHIFT), text)


def _reason(error: Exception, line: str) -> str:
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "a tab cannot indent YAML"
    said = str(getattr(error, "problem", None) or error)
    return next((reason for words, reason in _REASONS if words in said), said)


class _Level:
    """A list or map that is not complete yet."""

    __slots__ = ("anchor", "container", "key", "line", "size", "texts")

    def __init__(
        self, container: list[PropertyValue] | dict[str, PropertyValue], anchor: str | None, line: int
    ) -> None:
        self.container = container
        self.anchor = anchor
        self.line = line
        self.key: str | None = None  # the name in a map whose value comes next
        self.size = 0  # the size of all before it; ``texts``: their number before it
        self.texts = 0


class _Anchor(NamedTuple):
    value: PropertyValue
    size: int
    texts: list[str]


class _Builder:
    """Makes values of events, on a stack of its own and without recursion."""

    def __init__(self, first: int, *, has_stand_ins: bool) -> None:
        self._first = first
        self._has_stand_ins = has_stand_ins
        self._stack: list[_Level] = []
        self._anchors: dict[str, _Anchor] = {}
        self._root: PropertyValue = None
        self._root_line = first
        self._documents = 0
        self._size = 0  # characters and containers so far, copies included
        self._copied = 0
        self._texts: list[str] = []  # of the property being read
        self._lines: list[int] = []
        self._read = Properties({}, {}, {}, [])

    def properties(self) -> Properties:
        """Return what was read."""
        if isinstance(self._root, dict):
            return self._read._replace(values=self._root)
        if self._root is None:
            return self._read
        raise NotYamlError(self._root_line, "expected 'name: value'")

    def take(self, event: Event) -> None:
        """Read one event. Raises NotYamlError."""
        # By name: PyYAML is imported only when it is needed.
        kind = type(event).__name__
        line = self._first + (event.start_mark.line if event.start_mark else 0)
        if kind == "ScalarEvent":
            self._take_scalar(event, line)  # type: ignore[arg-type]
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self._stack) >= _MAX_DEPTH:
                raise NotYamlError(line, f"nested more than {_MAX_DEPTH} levels deep")
            level = _Level({} if kind == "MappingStartEvent" else [], event.anchor, line)  # type: ignore[attr-defined]
            level.size, level.texts = self._size, len(self._texts)
            self._size += 1
            self._stack.append(level)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            level = self._stack.pop()
            if level.anchor is not None:
                self._anchors[level.anchor] = _Anchor(
                    level.container, self._size - level.size, self._texts[level.texts :]
                )
            if self._expects_key():  # a map or list as a name: its scalars are no values
                del self._texts[level.texts :], self._lines[level.texts :]
            self._place(level.container, level.line)
        elif kind == "AliasEvent":
            self._take_alias(event.anchor, line)  # type: ignore[attr-defined]
        elif kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                raise NotYamlError(line, "the block holds more than one YAML document")

    def _take_scalar(self, event: ScalarEvent, line: int) -> None:
        text: str = event.value
        if self._has_stand_ins:
            text = _STAND_IN.sub(lambda found: chr(ord(found[0]) - _SHIFT), text)
        is_typed = event.implicit[0] if event.tag is None else event.tag in _CORE_TAGS
        value = plain_scalar(text) if is_typed else text
        size = 1 + len(text)
        texts = [] if value is None else [scalar_text(value, text)]
        self._size += size
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor(value, size, texts)
        self._add_texts(texts, line)
        self._place(value, line)

    def _take_alias(self, name: str, line: int) -> None:
        anchor = self._anchors.get(name)
        if anchor is None:
            raise NotYamlError(line, f"there is no &{name} before *{name}")
        self._copied += anchor.size
        self._size += anchor.size
        if self._copied > _MAX_COPIED:
            raise NotYamlError(line, f"aliases add more than {_MAX_COPIED} characters")
        self._add_texts(anchor.texts, line)
        self._place(anchor.value, line)

    def _add_texts(self, texts: list[str], line: int) -> None:
        if not self._expects_key():
            self._texts += texts
            self._lines += [line] * len(texts)

    def _expects_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].key is None and isinstance(self._stack[-1].container, dict)

    def _place(self, value: PropertyValue, line: int) -> None:
        if not self._stack:
            self._root, self._root_line = value, line
            return
        level = self._stack[-1]
        if isinstance(level.container, list):
            level.container.append(value)
        elif level.key is None:
            level.key = key = _key(value)
            if not isinstance(value, str):
                self._size += len(key)
            is_property = len(self._stack) == 1
            if key in level.container:
                what = "property " if is_property else ""
                self._read.problems.append(f"line {line}: {what}{key!r} is there twice")
            if is_property:
                self._texts = self._read.texts[key] = []
                self._lines = self._read.lines[key] = []
        else:
            level.container[level.key] = value
            level.key = None


def _key(value: PropertyValue) -> str:
    """Return the name that a value other than a text makes, as in JavaScript: ``012`` is ``12``, null is empty."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return f"[ {', '.join(map(_key, value))} ]"
    if isinstance(value, dict):
        pairs = (name if inner is None else f"{name}: {_key(inner)}" for name, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    return scalar_text(value, str(value))
