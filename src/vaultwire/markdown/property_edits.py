"""Edits of properties: (text, edit) → text. Only the lines of the named properties change; every other byte stays.

Text is the file's own, without byte order mark, as in ``edits``. Each edit is parsed again before it is returned: the
property has its new value and all others are as before. Broken frontmatter is never changed. ``property_values`` finds a
property, ``property_values`` writes its value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from vaultwire.markdown.diffs import common_ends
from vaultwire.markdown.edits import line_end, to_plain
from vaultwire.markdown.offsets import Replacement, apply_replacements
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_values import (
    Block,
    Item,
    Property,
    PropertyEditError,
    WrittenFloat,
    WrittenInt,
    as_text,
    block_text,
    checked,
    one_line,
    read_block,
    same_value,
    written_name,
)
from vaultwire.markdown.yaml_core import PropertyValue, plain_scalar

__all__ = ["PropertyEditError", "remove_properties", "rename_property", "set_properties", "written_properties"]

_EMPTY_LINES = compile_pattern(r"\A(?:[ \t]*+\r*+\n)++")
_COMMENT = compile_pattern(r"[ \t]*+#.*+\r?\n\Z")
_INDENT = "  "  # of list items and block texts, as Obsidian writes them


def set_properties(
    text: str,
    values: Mapping[str, PropertyValue],
    types: Mapping[str, str] | None,
    check: Callable[[], None] = lambda: None,
    untyped: Collection[str] = (),
    source: str = "",
) -> str:
    """Return the text with properties set. ``types`` is what the vault declares, by folded name; None accepts any value, for
    values that come from another note. ``untyped`` properties get a text in place of a number, true or false, where they
    have a text in quotes, unless the vault declares the type of what they get. ``source`` is another note's text: a new
    property that has the same value there gets the lines that it has there.

    A property that exists, in any case of letters, keeps its place, name, quotes, kind of list and comment; items of a
    list that stay keep their lines. New properties come last in the block, which is made if there is none. An unchanged
    value changes nothing. ``check`` is called before each property and may raise to stop. Raises PropertyEditError for
    broken frontmatter, a value of the wrong type, and a property that cannot be changed without changing another.
    """
    block = read_block(text)
    if len({name.casefold() for name in values}) < len(values):
        raise PropertyEditError("a property is named twice; upper and lower case are one name")
    new: dict[str, PropertyValue] = {}
    for name, value in values.items():
        check()
        there = block.find(name)
        if there is None:
            new[name] = value if types is None else checked(name, value, None, types)
        elif not same_value(block.values[there], value):
            new_value = value if types is None else checked(name, value, block.values[there], types)
            is_declared = (types or {}).get(name.casefold()) in ("number", "checkbox") and not isinstance(value, str)
            if name in untyped and not is_declared and _is_quoted(block, there):
                new_value = as_text(new_value)
            if not same_value(block.values[there], new_value):
                text = _replaced(text, block, block.property(there), new_value)
                block = read_block(text)
    return _added(text, block, new, _lines_in(source, new)) if new else text


def written_properties(text: str) -> dict[str, PropertyValue]:
    """Return a note's properties; numbers are written again as they are spelt there, where each has its place."""
    try:
        block = read_block(text)
    except PropertyEditError:
        return parse_frontmatter(to_plain(text)).values

    def spelt(value: PropertyValue, place: Item | Property) -> PropertyValue:
        written = text[place.start : place.end]
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or place.style
            or plain_scalar(written) != value
        ):
            return value
        number = (WrittenInt if isinstance(value, int) else WrittenFloat)(value)
        number.written = written
        return number

    values = dict(block.values)
    for name, position in zip(block.values, block.properties, strict=True):
        value = values[name]
        if position is not None and isinstance(value, list) and len(value) == len(position.items):
            values[name] = [*map(spelt, value, position.items)]
        elif position is not None:
            values[name] = spelt(value, position)
    return values


def remove_properties(text: str, names: Iterable[str], check: Callable[[], None] = lambda: None) -> str:
    """Return the text without these properties, their lines and the comments indented below them. Missing ones are ignored.

    The block goes with its last property, unless it holds something else, or was empty before ``set_properties`` filled
    it: then a single blank line follows the property. Raises PropertyEditError for broken frontmatter, and for an anchor
    that other properties use.
    """
    block = read_block(text)
    for name in names:
        check()
        there = block.find(name)
        if there is not None:
            text = _without(text, block, block.property(there))
            block = read_block(text)
    return text


def rename_property(text: str, old: str, new: str) -> str:
    """Return the text with a property renamed to ``new``; its value, its place and the quotes around its name stay.

    Raises PropertyEditError for broken frontmatter, if there is no ``old``, or if another property is called ``new``.
    """
    block = read_block(text)
    there = block.find(old)
    if there is None:
        raise PropertyEditError(f"there is no property {old!r}")
    if there == new:
        return text
    taken = [key for key in block.values if key != there and key.casefold() == new.casefold()]
    if taken:
        raise PropertyEditError(f"there is a property {taken[0]!r} already; {there!r} needs another name")
    found = block.property(there)
    edit = Replacement(found.key_start, found.key_end, written_name(new, found.key_style))
    wanted = {new if key == there else key: value for key, value in block.values.items()}
    return _proven(text, block, [apply_replacements(text, [edit])], wanted, there)


def _is_quoted(block: Block, name: str) -> bool:
    """Tell whether a property is a text in quotes, or a list of such texts."""
    found = block.properties[list(block.values).index(name)]
    styles = [] if found is None else [item.style for item in found.items] or [found.style]
    return bool(styles) and {*styles} <= {"'", '"'}


def _proven(text: str, block: Block, results: Iterable[str], expected: dict[str, PropertyValue], name: str) -> str:
    """Return the first of the results that has the properties wanted, in this order, and the same body."""
    body = to_plain(text[block.end :])
    for result in results:
        plain = to_plain(result)
        read = parse_frontmatter(plain)
        if (
            not read.problems
            and plain[read.end :] == body
            and list(read.values) == list(expected)
            and same_value(read.values, expected)
        ):
            return result
    raise PropertyEditError(
        f"{name!r} cannot be changed so without changing what else the frontmatter says; edit its lines instead"
    )


def _added(text: str, block: Block, values: dict[str, PropertyValue], sources: Mapping[str, list[str]]) -> str:
    """Return the text with new properties; ``sources`` are the lines of those that another note has so."""
    column = next((found.column for found in block.properties if found is not None), 0)
    ending = _ending_above(text, block.closing) if block.end else line_end(text)

    def result(sources: Mapping[str, list[str]]) -> str:
        lines: list[str] = []
        for name, value in values.items():
            head, tail = _written(value, "", " " * column + _INDENT)
            lines += sources.get(name) or [f"{' ' * column}{written_name(name)}:{head and ' '}{head}", *tail]
        if not block.end:
            lines = ["---", *lines, "---"]
        elif block.start == block.closing:
            lines.append("")  # tells ``remove_properties`` to leave an empty block
        return text[: block.closing] + "".join(line + ending for line in lines) + text[block.closing :]

    ways = (result(each) for each in ([sources, {}] if sources else [{}]))
    return _proven(text, block, ways, block.values | values, next(iter(values)))


def _lines_in(source: str, values: Mapping[str, PropertyValue]) -> dict[str, list[str]]:
    """Return the lines of those properties that a text has with the same value, and the comments right above them."""
    try:
        block = read_block(source)
    except PropertyEditError:
        return {}
    plain: dict[str, list[str]] = {}
    for name, place in zip(block.values, block.properties, strict=True):
        if place is None or name not in values or not same_value(values[name], block.values[name]):
            continue
        top = place.top
        while (above := source.rfind("\n", 0, top - 1) + 1) >= block.start and _COMMENT.match(source, above, top):
            top = above
        plain[name] = to_plain(source[top : place.bottom]).removesuffix("\n").split("\n")
    return plain


def _without(text: str, block: Block, place: Property) -> str:
    _refuse_needed(block, place)
    deeper = re.compile(rf"(?:[ ]{{{place.column + 1}}}[ \t]*#[^\n]*\n)*")
    comments = deeper.match(text, place.bottom)
    bottom = place.bottom if comments is None else comments.end()
    before, behind = text[block.start : place.top], text[bottom : block.closing]
    top, rest = text[: block.start], text[block.closing :]
    body = text[block.end :]
    if not before and behind in ("\n", "\r\n"):
        results = [top + rest]
    elif before or behind:
        # Blank lines below would become part of a text above that keeps them at its end (``|+``): then they go, too.
        results = [top + before + behind + rest, top + before + _EMPTY_LINES.sub("", behind, count=1) + rest]
    else:
        below = parse_frontmatter(to_plain(body))
        results = [top + rest if below.end or below.problems else body]  # the body must not become frontmatter
    wanted = {key: value for key, value in block.values.items() if key != place.name}
    return _proven(text, block, results, wanted, place.name)


def _replaced(text: str, block: Block, place: Property, value: PropertyValue) -> str:
    _refuse_needed(block, place)
    results = (apply_replacements(text, edits) for edits in _ways(text, block, place, value))
    return _proven(text, block, results, block.values | {place.name: value}, place.name)


def _refuse_needed(block: Block, place: Property) -> None:
    """Raise PropertyEditError if other properties refer to an anchor in this one."""
    for name, other in zip(block.values, block.properties, strict=True):
        if other is not None and other is not place and (needed := place.anchors & other.aliases):
            anchor = min(needed)
            raise PropertyEditError(
                f"line {place.line}: {place.name!r} holds &{anchor}, and {name!r} uses it as *{anchor}"
            )


def _ways(text: str, block: Block, place: Property, value: PropertyValue) -> Iterator[list[Replacement]]:
    """Yield the edits that may set a value; the one that keeps most of the old text comes first."""
    old = block.values[place.name]
    if isinstance(value, list) and isinstance(old, list) and value and place.items:
        yield [_flow_items(place, old, value) if place.style == "[" else _block_items(text, place, old, value)]
    quote = place.style if place.style in ("'", '"') else ""
    if isinstance(value, str) and "\n" in value:
        yield _whole(text, place, *_written(value, quote, " " * place.column + _INDENT))
    if isinstance(value, list) and value and (place.style != "[" or not place.items):  # every empty list is written []
        yield _whole(text, place, *_written(value, quote, " " * place.column + _INDENT))
    else:
        yield _whole(text, place, "" if value is None else one_line(value, quote), [])


def _written(value: PropertyValue, quote: str, indent: str) -> tuple[str, list[str]]:
    """Return a value as Obsidian writes it: the text behind the colon, and the lines below."""
    if value is None:
        return "", []
    if isinstance(value, list) and value:
        return "", [f"{indent}- {one_line(item, quote)}" for item in value]
    if isinstance(value, str) and (lines := block_text(value, indent)):
        return lines[0], lines[1:]
    return one_line(value, quote), []


def _whole(text: str, place: Property, head: str, tail: list[str]) -> list[Replacement]:
    """Return the edits that replace the whole old value; a comment behind it stays, behind ``head``."""
    key_line = _line_end(text, place.colon)
    ending = _ending_above(text, text.index("\n", key_line) + 1)
    below = "".join(ending + line for line in tail)
    gap_and_head = head and " " + head
    if place.start > key_line:
        top = text.rindex("\n", 0, place.start) + 1
        return [
            Replacement(place.colon, place.colon, gap_and_head),
            Replacement(key_line, key_line, below),
            Replacement(top, place.bottom, ""),
        ]
    line = _line_end(text, place.end)
    if head and place.start > place.colon:
        return [Replacement(place.start, place.end, head), Replacement(line, line, below)]
    return [Replacement(place.colon, place.end, gap_and_head), Replacement(line, line, below)]


def _line_end(text: str, offset: int) -> int:
    """Return where the line of an offset ends, without its line end."""
    end = text.index("\n", offset)  # the closing mark stands on a later line
    while end > offset and text[end - 1] == "\r":
        end -= 1
    return end


def _ending_above(text: str, offset: int) -> str:
    """Return the line end of the line above an offset, a line's start: a new line gets the line end of the line before it."""
    return "\r\n" if text.endswith("\r\n", 0, offset) else "\n"


def _quote(place: Property, old: list[PropertyValue]) -> str:
    """Return the quote around every text of a list; empty if they differ."""
    styles = {item.style for item, value in zip(place.items, old, strict=True) if isinstance(value, str)}
    return min(styles) if styles in ({"'"}, {'"'}) else ""


def _flow_items(place: Property, old: list[PropertyValue], new: list[PropertyValue]) -> Replacement:
    head, tail = common_ends(old, new, same_value)
    first, behind = head, len(old) - tail  # of the old items that go
    written = ", ".join(one_line(item, _quote(place, old), 1) for item in new[head : len(new) - tail])
    items = place.items
    if written and first < behind:
        return Replacement(items[first].start, items[behind - 1].end, written)
    if written and first:
        return Replacement(items[first - 1].end, items[first - 1].end, ", " + written)
    if written:
        return Replacement(items[0].start, items[0].start, written + ", ")
    if tail:
        return Replacement(items[first].start, items[behind].start, "")
    return Replacement(items[first - 1].end, items[-1].end, "")


def _block_items(text: str, place: Property, old: list[PropertyValue], new: list[PropertyValue]) -> Replacement:
    head, tail = common_ends(old, new, same_value)
    first, behind = head, len(old) - tail
    items = place.items
    mark = re.compile(r" *-[ \t]*").match(text, items[0].top)
    assert mark is not None
    # Keep the gap between dash and value, if the value is on the dash's line.
    dash = mark[0] if items[0].start == mark.end() and mark[0][-1] != "-" else mark[0].rstrip(" \t") + " "
    lines = [dash + one_line(item, _quote(place, old)) for item in new[head : len(new) - tail]]
    start = items[first].top if first < behind else items[first - 1].bottom if first else items[0].top
    end = items[behind - 1].bottom if first < behind else start
    ending = _ending_above(text, end if end > items[0].top else items[0].bottom)
    return Replacement(start, end, "".join(line + ending for line in lines))
