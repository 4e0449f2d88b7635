"""Inline fields of notes (``key:: value``, ``[key:: value]``, ``(key:: value)``), and items of lists with theirs.

The rules are those of Dataview's pages on metadata. A field in code is none. What was looked up in the program itself: a line
with a field in brackets is no ``key:: value`` line; fields of tasks belong to the task alone, those of other items also to
the note; a note with one name several times has a list of the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, tzinfo
from typing import Final, NamedTuple

from vaultwire.bases.values import Link, Value, parse_date
from vaultwire.dataview.parser import CONSTANTS, LINK, NUMBER, TEXT, parse_duration, to_link, unescaped
from vaultwire.dataview.values import Embed
from vaultwire.markdown.block_tree import BlockTree, Node
from vaultwire.markdown.edits import MixedLineEndsError, edited_plain
from vaultwire.markdown.inline import line_tags, read_inline
from vaultwire.markdown.offsets import Replacement, apply_replacements, line_starts
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import Frontmatter
from vaultwire.markdown.task_fields import task_fields
from vaultwire.markdown.yaml_core import PropertyValue

_CLOSING: Final = {"[": "]", "(": ")"}
# A longer line is data, not text that a person wrote.
_MOST_LINE = 32_768
# What stands around a name to make it bold or the like is no part of it.
_FULL_LINE = compile_pattern(r"[^\w]*+(?P<key>[\w][\w\s/-]*+)(?P<after>[*~`_]*+)\Z")
_ITEM = compile_pattern(r"[ \t>]*+(?P<mark>[-+*]|[0-9]{1,9}[.)])[ \t]++(?:\[(?P<status>.)\](?=[ \t]|\Z)[ \t]*+)?")
_BLOCK_ID = compile_pattern(r"(?:\A|[ \t])\^(?P<id>[A-Za-z0-9-]+)[ \t]*+\Z")
_NOT_IN_NAMES = re.compile(r"[^\w\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff/-]")
_CODE = compile_pattern(r"(?<![`\\])(`++)(.+?)(?<!`)\1(?!`)")
_PROSE = frozenset(("paragraph", "heading", "table"))
# The fields that a task's signs mean, by the name that this program has for them elsewhere.
_SHORTHANDS: Final = {
    "due": "due",
    "done": "completion",
    "created": "created",
    "start": "start",
    "scheduled": "scheduled",
}


class InlineField(NamedTuple):
    """A field: its name and value as written, its line (from 1), and the columns of all of it and of the value.

    ``bracket``: what opens it, empty for a field that is a line of its own.
    """

    name: str
    value: str
    line: int
    start: int
    end: int
    value_start: int
    bracket: str


class ListItem(NamedTuple):
    """An item of a list. ``line`` counts from 1; ``parent`` is the line of the item that it stands in, 0 for none.

    ``status`` is None for an item that is no task. ``text`` has no marker and no box; its lines are joined by ``\\n``.
    """

    line: int
    line_count: int
    mark: str
    status: str | None
    text: str
    parent: int
    section: str
    block_id: str
    fields: tuple[tuple[str, str], ...]
    children: tuple[int, ...]

    @property
    def tags(self) -> list[str]:
        """Return the tags in its text, with ``#``."""
        return [f"#{tag}" for tag in line_tags(read_inline(self.text)[0])]


class NoteFields(NamedTuple):
    """What Dataview reads of a note beside its properties: its fields as written, and the items of its lists in order."""

    fields: tuple[tuple[str, str], ...] = ()
    items: tuple[ListItem, ...] = ()


NO_FIELDS = NoteFields()


def canonical(name: str) -> str:
    """Return the name by which queries know a field: small letters, ``-`` for spaces, no other signs."""
    return _NOT_IN_NAMES.sub("", re.sub(r"\s+", "-", name.strip().lower()))


def may_have_fields(text: str) -> bool:
    """Tell whether a note may have inline fields."""
    return "::" in text


# ---------------------------------------------------------------------- finding


def inline_fields(text: str) -> list[InlineField]:
    """Return all inline fields of a note whose line ends are ``\\n``, in their order; those of list items, too."""
    if not may_have_fields(text):
        return []
    return [field for _, fields in _field_lines(BlockTree(text)) for field in fields]


def note_fields(text: str) -> NoteFields:
    """Return the fields of a note and the items of its lists."""
    tree = BlockTree(text)
    own: list[tuple[str, str]] = []
    by_line: dict[int, list[InlineField]] = {}
    items = [*_items(tree)]
    in_items = {line for item in items for line in range(item.line, item.line + item.line_count)}
    if may_have_fields(text):
        for number, fields in _field_lines(tree):
            by_line[number] = fields
            if number not in in_items:
                own += [(field.name, field.value) for field in fields]
    made = [_with_fields(item, by_line) for item in items]
    hoisted = [pair for item in made if item.status is None for pair in item.fields]
    return NoteFields((*own, *hoisted), tuple(made))


def inline_queries(text: str, prefix: str) -> list[tuple[int, str]]:
    """Return the inline queries of a note, such as `` `= this.due` ``: line (from 1) and expression. ``prefix``: the ``=``."""
    codes = [(number, code[2].strip()) for number, line in _prose(BlockTree(text)) for code in _CODE.finditer(line)]
    return [(number, code.removeprefix(prefix).strip()) for number, code in codes if code.startswith(prefix)]


def _field_lines(tree: BlockTree) -> Iterator[tuple[int, list[InlineField]]]:
    """Yield each line with fields."""
    return ((number, fields) for number, line in _prose(tree) if (fields := line_fields(line, number)))


def _prose(tree: BlockTree) -> Iterator[tuple[int, str]]:
    """Yield the lines of paragraphs, headings and tables, in quotes and items, too; each with its number."""
    waiting = [tree.root]
    while waiting:
        node = waiting.pop()
        if node.kind in _PROSE:
            yield from ((number, tree.lines[number - 1]) for number in range(node.first, node.last + 1))
        waiting += reversed(node.children)


def line_fields(line: str, number: int = 1) -> list[InlineField]:
    """Return the fields of one line: those in brackets, else the one that the line is."""
    if "::" not in line or len(line) > _MOST_LINE:
        return []
    prose = read_inline(line)[0] if "`" in line or "%%" in line else line
    fields = sorted(_bracketed(line, prose, number), key=lambda field: field.start)
    return fields or [*_full_line(line, prose, number)]


def _bracketed(line: str, prose: str, number: int) -> Iterator[InlineField]:
    for opening, closing in _CLOSING.items():
        start = line.find(opening)
        while start >= 0:
            after = start + 1
            separator = line.find("::", after)
            name = line[after:separator].strip() if separator >= 0 else ""
            if name and not set(name) & set("[]()") and prose.startswith("::", separator):
                end = _closing(line, separator + 2, opening, closing)
                if end >= 0:
                    value = line[separator + 2 : end]
                    value_start = separator + 2 + len(value) - len(value.lstrip())
                    yield InlineField(name, value.strip(), number, start, end + 1, value_start, opening)
                    after = end + 1
            elif separator < 0:
                break
            start = line.find(opening, after)


def _closing(line: str, start: int, opening: str, closing: str) -> int:
    depth, at = 0, start
    while at < len(line):
        sign = line[at]
        if sign == "\\":
            at += 1
        elif sign == opening:
            depth += 1
        elif sign == closing:
            depth -= 1
            if depth < 0:
                return at
        at += 1
    return -1


def _full_line(line: str, prose: str, number: int) -> Iterator[InlineField]:
    item = _ITEM.match(line)
    if item is not None and item["status"] is not None:
        return
    separator = line.find("::")
    begin = 0 if item is None else item.end()
    key = _FULL_LINE.match(line[begin:separator])
    if key is None or not prose.startswith("::", separator):
        return
    value = line[separator + 2 :]
    value_start = separator + 2 + len(value) - len(value.lstrip())
    start = begin + len(line[begin:separator]) - len(line[begin:separator].lstrip(" \t>"))
    yield InlineField(key["key"].strip(), value.strip(), number, start, len(line.rstrip()), value_start, "")


def _items(tree: BlockTree) -> Iterator[ListItem]:
    headings = sorted(
        (node.first, _heading(tree.lines[node.first - 1])) for node in tree.root.children if node.kind == "heading"
    )
    waiting: list[tuple[Node, int]] = [(tree.root, 0)]
    while waiting:
        node, parent = waiting.pop()
        if node.kind == "item":
            item = _item(tree, node, parent, headings)
            if item is not None:
                yield item
                parent = item.line
        waiting += [(child, parent) for child in reversed(node.children)]


def _heading(line: str) -> str:
    return line.strip().lstrip("#").strip().rstrip("#").strip()


def _item(tree: BlockTree, node: Node, parent: int, headings: list[tuple[int, str]]) -> ListItem | None:
    opening = _ITEM.match(tree.lines[node.first - 1])
    if opening is None:
        return None
    nested = next((child.first for child in node.children if child.kind == "item"), node.last + 1)
    last = max(nested - 1, node.first)
    while last > node.first and not tree.lines[last - 1].strip(" \t>"):
        last -= 1
    lines = [tree.lines[node.first - 1][opening.end() :], *tree.lines[node.first : last]]
    text = "\n".join(line.strip() for line in lines)
    block_id = _BLOCK_ID.search(text)
    section = next((name for line, name in reversed(headings) if line < node.first), "")
    children = tuple(child.first for child in node.children if child.kind == "item")
    return ListItem(
        node.first, last - node.first + 1, opening["mark"], opening["status"], text, parent, section,
        "" if block_id is None else block_id["id"], (), children,
    )  # fmt: skip


def _with_fields(item: ListItem, by_line: dict[int, list[InlineField]]) -> ListItem:
    fields = [
        (field.name, field.value)
        for number in range(item.line, item.line + item.line_count)
        for field in by_line.get(number, ())
    ]
    if item.status is not None:
        named = {canonical(name) for name, _ in fields}
        signs = ((_SHORTHANDS[each.name], each.value) for each in task_fields(item.text) if each.name in _SHORTHANDS)
        fields += [(name, value) for name, value in signs if name not in named]
    return item._replace(fields=tuple(fields)) if fields else item


# ---------------------------------------------------------------------- values

_WORD = compile_pattern(r"true|false|True|False|null")
_TAG = compile_pattern(r"#[\w/-]++")
_DATE = compile_pattern(
    r"\d{4}-\d{2}(?:-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{3})?)?(?:Z|[+-]\d{2}:?\d{2})?)?)?(?![\d-])"
)
_DURATION = compile_pattern(
    r"-?[0-9]++(?:\.[0-9]++)?\s*+[A-Za-z]++(?:(?:\s*+,\s*+|\s*+)[0-9]++(?:\.[0-9]++)?\s*+[A-Za-z]++)*+"
)
_COMMA = compile_pattern(r"\s*+,\s*+")
_MOST_VALUES = 1000


def inline_value(text: str, source: str, zone: tzinfo) -> Value:
    """Return the value of an inline field: of several things between commas a list, of other text the text itself."""
    pieces = _pieces(text, source, zone)
    if not pieces:
        return text or None
    return [value for _, value in pieces] if len(pieces) > 1 else pieces[0][1]


def _pieces(text: str, source: str, zone: tzinfo) -> list[tuple[str, Value]]:
    """Return the things between commas, as written and as values; none if some of them are only text."""
    pieces: list[tuple[str, Value]] = []
    at = 0
    while at < len(text) and len(pieces) < _MOST_VALUES:
        atom = _atom(text, at, source, zone)
        if atom is None:
            return []
        value, end = atom
        pieces.append((text[at:end], value))
        if end == len(text):
            return pieces
        comma = _COMMA.match(text, end)
        if comma is None or comma.end() == len(text):
            return []
        at = comma.end()
    return []


def with_inline_fields(frontmatter: Frontmatter, text: str) -> Frontmatter:
    """Return a note's properties with its inline fields after them, each as YAML would have its value.

    Where a name is in both (in any case of letters), the property counts. A field that the note has several times is a
    list. Fields of tasks are the task's, and not here. Of ``lines`` there are none for fields.
    """
    if not may_have_fields(text):
        return frontmatter
    values, written = dict(frontmatter.values), dict(frontmatter.written)
    taken = {name.casefold() for name in values}
    spelling: dict[str, str] = {}
    for name, value in note_fields(text).fields:
        folded = name.casefold()
        if folded in taken:
            continue
        parsed, texts = _yaml_value(value)
        first = spelling.setdefault(folded, name)
        if first not in values:
            values[first], written[first] = parsed, texts
        else:
            values[first] = [*_listed(values[first]), *_listed(parsed)]
            written[first] = [*written[first], *texts]
    return frontmatter._replace(values=values, written=written)


def _yaml_value(text: str) -> tuple[PropertyValue, list[str]]:
    """Return the value that a field would have as a property, and its scalars as texts; null has none."""
    values: list[PropertyValue] = []
    texts: list[str] = []
    for piece, value in _pieces(text, "", UTC):
        if isinstance(value, float):
            values.append(value if "." in piece else int(value))
        else:  # dates, durations and links are texts in YAML
            values.append(value if value is None or isinstance(value, (bool, str)) else piece)
        if value is not None:
            texts.append(value if isinstance(value, str) else piece)
    if not values:
        return (text, [text]) if text else (None, [])
    return (values if len(values) > 1 else values[0]), texts


def _listed(value: PropertyValue) -> list[PropertyValue]:
    return value if isinstance(value, list) else [value]


def _atom(text: str, at: int, source: str, zone: tzinfo) -> tuple[Value, int] | None:
    if (date := _DATE.match(text, at)) is not None and (day := parse_date(date[0], zone)) is not None:
        return day, date.end()
    length = _DURATION.match(text, at)
    if length is not None and (duration := parse_duration(length[0])) is not None:
        return duration, length.end()
    if (quoted := TEXT.match(text, at)) is not None:
        return unescaped(quoted[1]), quoted.end()
    if (tag := _TAG.match(text, at)) is not None:
        return tag[0], tag.end()
    if (link := LINK.match(text, at)) is not None:
        return _to_link(link, source), link.end()
    if (word := _WORD.match(text, at)) is not None:
        return CONSTANTS[word[0]], word.end()
    number = NUMBER.match(text, at)
    return None if number is None else (float(number[0]), number.end())


def _to_link(match: re.Match[str], source: str) -> Link:
    link = to_link(match)
    return (Embed if link.is_embed else Link)(link.linktext, link.display, source)


def property_value(raw: object, source: str, zone: tzinfo, depth: int = 0) -> Value:
    """Return the value of a property as YAML has it: a text that says a date, a duration or a link is one."""
    if isinstance(raw, str):
        text = raw.strip()
        if (link := LINK.fullmatch(text)) is not None:
            return _to_link(link, source)
        if _DATE.fullmatch(text) and (date := parse_date(text, zone)) is not None:
            return date
        duration = parse_duration(text) if text[:1].isdigit() or text[:1] == "-" else None
        return raw if duration is None else duration
    if raw is None or isinstance(raw, (bool, int, float)):
        return raw
    if isinstance(raw, list) and depth < _MOST_DEEP:
        return [property_value(item, source, zone, depth + 1) for item in raw]
    if isinstance(raw, dict) and depth < _MOST_DEEP:
        return {str(name): property_value(value, source, zone, depth + 1) for name, value in raw.items()}
    return None


_MOST_DEEP = 20

# ---------------------------------------------------------------------- editing


class FieldError(ValueError):
    """A field cannot be set or removed. The message says why, for "Note.md …"."""


def edited_fields(text: str, edit: Callable[[str], str]) -> str:
    """Return a note's text with an edit of its fields; its line ends stay. Raises FieldError for one that mixes them."""
    try:
        return edited_plain(text, edit)
    except MixedLineEndsError as error:
        raise FieldError(f"{error}: edit the inline field as text") from None


def set_field(text: str, name: str, value: str) -> str:
    """Return a note with the value of its inline field replaced, all else byte for byte. Line ends are ``\\n``.

    Raises FieldError where the note has no such field, or several, and for a value that would not be read as it is.
    """
    field = _only_field(text, name)
    written = value.strip()
    if "\n" in written or "\r" in written:
        raise FieldError(f"cannot have a line break in the inline field {name!r}")
    gap = "" if field.value or not written else " "
    start = line_starts(text)[field.line - 1] + field.value_start
    if gap and text[start - 1 : start].isspace():
        gap = ""
    after = apply_replacements(text, [Replacement(start, start + len(field.value), gap + written)])
    there = [each for each in inline_fields(after) if canonical(each.name) == canonical(name)]
    if [each.value for each in there] != [written]:
        raise FieldError(f"cannot hold {written!r} in the inline field {name!r}: its brackets would end it early")
    return after


def remove_field(text: str, name: str) -> str:
    """Return a note without an inline field: the bracket, or the line. Raises FieldError, as ``set_field`` does."""
    field = _only_field(text, name)
    begin = line_starts(text)[field.line - 1]
    line = text[begin:].partition("\n")[0]
    start, end = begin + field.start, begin + field.end
    if not field.bracket and not line[: field.start].strip(" \t>"):
        start, end = begin, begin + len(line) + (begin + len(line) < len(text))
    elif field.bracket and line[: field.start].endswith(" ") and line[field.end : field.end + 1] in ("", " ", ".", ","):
        start -= 1
    return apply_replacements(text, [Replacement(start, end, "")])


def rename_field(text: str, old: str, new: str) -> str:
    """Return a note with its inline fields ``old`` (in any case) called ``new``, all else byte for byte. Fields of tasks stay.

    Raises FieldError where the note has a field ``new`` already, and for a name that would not be read as it is.
    """
    tree = BlockTree(text)
    starts = line_starts(text)
    of_tasks = {
        line
        for item in _items(tree)
        if item.status is not None
        for line in range(item.line, item.line + item.line_count)
    }
    before = [field for number, fields in _field_lines(tree) if number not in of_tasks for field in fields]
    renamed = [field for field in before if field.name.casefold() == old.casefold()]
    if not renamed or all(field.name == new for field in renamed):
        return text
    taken = next((field for field in before if field.name.casefold() == new.casefold() and field not in renamed), None)
    if taken is not None:
        raise FieldError(f"has an inline field {taken.name!r} already; {old!r} needs another name")
    edits = []
    for field in renamed:
        start = text.index(field.name, starts[field.line - 1] + field.start)
        edits.append(Replacement(start, start + len(field.name), new))
    after = apply_replacements(text, edits)
    expected = [(new if field in renamed else field.name, field.value, field.line) for field in before]
    lines = {field.line for field in before}
    if expected != [(field.name, field.value, field.line) for field in inline_fields(after) if field.line in lines]:
        raise FieldError(f"cannot have {new!r} as the name of an inline field")
    return after


def _only_field(text: str, name: str) -> InlineField:
    fields = [field for field in inline_fields(text) if canonical(field.name) == canonical(name)]
    if not fields:
        raise FieldError(f"has no inline field {name!r}")
    if len(fields) > 1:
        lines = ", ".join(str(field.line) for field in fields[:10])
        raise FieldError(f"has {len(fields)} inline fields {name!r}, on lines {lines}: edit the one you mean as text")
    (field,) = fields
    for each in inline_fields(text):
        if each.line == field.line and field.value_start <= each.start < field.value_start + len(field.value):
            raise FieldError(
                f"has the inline field {each.name!r} within {name!r}: edit that line as text, so that none is lost"
            )
    return field
