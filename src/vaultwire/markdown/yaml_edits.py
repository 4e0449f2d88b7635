"""Changes the values of a YAML text and leaves every other line as it is: comments, order, quotes, indentation.

``rewritten`` gets all values as they shall be and compares them with those there are. What is equal keeps its own text; in
lists and maps written in lines, only the entries that differ are written; within brackets on one
line, too. Afterwards the text is read again: it is returned only if it says exactly what it
should.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.property_values import PropertyEditError, block_text, one_line, same_value, written_name
from vaultwire.markdown.yaml_core import NotYamlError, PropertyValue, read_yaml
from vaultwire.markdown.yaml_tree import YamlNode, read_tree

# Which items of a list are those of another one that it shall become. It compares values and knows no text.

# More than any base has. Of more, only what is at the same place is compared, so that the time stays proportional.
_MOST_PAIRS = 2_500


def places_of(old: Sequence[PropertyValue], new: Sequence[PropertyValue]) -> list[int | None]:
    """Return for each new item the place of the old one that it keeps the text of, None for an item that is new.

    First equal items, those at the same place before others; then maps of the same ``name``; then maps that share the most;
    then what is at the same place.
    """
    places: list[int | None] = [
        number if number < len(old) and same_value(old[number], item) else None for number, item in enumerate(new)
    ]
    kept = {*places}
    free = {number: old[number] for number in range(len(old)) if number not in kept}

    def match(key: Callable[[PropertyValue], str | None]) -> None:
        by_key: dict[str | None, deque[int]] = {}
        for place, item in free.items():
            by_key.setdefault(key(item), deque()).append(place)
        for number, item in enumerate(new):
            if places[number] is None and (wanted := key(item)) is not None and by_key.get(wanted):
                places[number] = place = by_key[wanted].popleft()
                del free[place]

    match(_as_json)
    match(lambda item: _as_json(item["name"]) if isinstance(item, dict) and item.get("name") is not None else None)
    left = [number for number, place in enumerate(places) if place is None]
    all_pairs = ((number, place) for number in left for place in free)
    same_place = ((number, number) for number in left if number in free)
    pairs = [
        (-_shared(free[place], new[number]), number != place, number, place)
        for number, place in (all_pairs if len(left) * len(free) <= _MOST_PAIRS else same_place)
    ]
    for shared, is_elsewhere, number, place in sorted(pairs):
        if places[number] is None and place in free and (shared or not is_elsewhere):
            places[number] = place
            del free[place]
    return places


def _as_json(value: PropertyValue) -> str:
    return json.dumps(value, sort_keys=True)


def _shared(one: PropertyValue, other: PropertyValue) -> int:
    """Return how many entries two maps share."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return 0
    return sum(name in other and same_value(value, other[name]) for name, value in one.items())


# Writes lists and maps as YAML in lines, two spaces deeper on each level, as Obsidian writes them.


def as_block(value: PropertyValue, column: int) -> list[str]:
    """Return the rows of a value; a list or map has at least one entry. Raises PropertyEditError for what YAML cannot hold."""
    if isinstance(value, dict):
        return [row for name, each in value.items() for row in entry_lines(name, each, column)]
    if isinstance(value, list):
        return [row for each in value for row in item_lines(each, column)]
    return [" " * column + one_line(value)]


def entry_lines(name: str, value: PropertyValue, column: int) -> list[str]:
    """Return the rows of an entry of a map. Raises PropertyEditError."""
    head = f"{' ' * column}{written_name(name)}:"
    if isinstance(value, (dict, list)) and value:
        return [head, *as_block(value, column + 2)]
    first, *more = text_lines(value, column + 2)
    return [f"{head} {first}", *more]


def item_lines(value: PropertyValue, column: int) -> list[str]:
    """Return the rows of an item of a list. Raises PropertyEditError."""
    rows = as_block(value, column + 2) if isinstance(value, (dict, list)) and value else text_lines(value, column + 2)
    return [f"{' ' * column}- {rows[0].lstrip(' ')}", *rows[1:]]


def text_lines(value: PropertyValue, column: int, quote: str = "") -> list[str]:
    """Return a value that stands behind a colon or dash; a text of several lines has rows below. Raises PropertyEditError."""
    rows = block_text(value, " " * column) if isinstance(value, str) and "\n" in value and not quote else None
    return rows or [one_line(value, quote)]


# Writes a list or map in brackets again, on one line: ``[a, "b"]``. What stays in it keeps its text and its space.


def in_brackets(line: str, node: YamlNode, old: PropertyValue, new: PropertyValue) -> str | None:
    """Return the YAML of a list or map with a new value; ``line`` is the row that it stands on. None if it has several rows.

    The caller reads what it gets: a name without a value, as in ``{a}``, cannot get one here. Raises PropertyEditError.
    """
    if node.start[0] != node.end[0] or line[node.start[1] : node.start[1] + 1] not in ("[", "{"):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        names = [*(name for name in old if name in new), *(name for name in new if name not in old)]
        known = {name: place for place, name in enumerate(old)}
        places = [known.get(name) for name in names]
        heads = ["" if name in known else f"{written_name(name, in_flow=True)}: " for name in names]
        return _written(line, node, places, heads, [*old.values()], [new[name] for name in names])
    if isinstance(old, list) and isinstance(new, list):
        return _written(line, node, places_of(old, new), [""] * len(new), old, new)
    return None


def _written(
    line: str,
    node: YamlNode,
    places: Sequence[int | None],
    heads: Sequence[str],
    old: Sequence[PropertyValue],
    new: Sequence[PropertyValue],
) -> str | None:
    """Return the text of new values, each of which was at a place before or has a head: the name of a new entry."""
    is_map = node.kind == "MappingStartEvent"
    values = node.inner[1::2] if is_map else node.inner
    firsts = node.inner[::2] if is_map else node.inner
    if not old or not new or len(values) != len(old):
        return None
    pieces: list[str] = []
    for place, head, value in zip(places, heads, new, strict=True):
        if place is None:
            pieces.append(head + one_line(value, "", 1))
            continue
        each = values[place]
        before = line[firsts[place].start[1] : each.start[1]]
        kept = line[each.start[1] : each.end[1]] if same_value(old[place], value) else None
        kept = kept if kept is not None else in_brackets(line, each, old[place], value)
        quote = each.style() if each.style() in ("'", '"') else ""
        pieces.append(before + (kept if kept is not None else one_line(value, quote, 1)))
    ends = [node.start[1] + 1, *(each.end[1] for each in values)]
    gaps = [line[end : first.start[1]] for end, first in zip(ends, firsts, strict=False)]
    closing = line[ends[-1] : node.end[1]]
    if places != [*range(len(old))]:  # what is between the entries went with some of them
        gaps = [gaps[0], *[gaps[1] if len(gaps) > 1 else ", "] * (len(pieces) - 1)]
    return line[node.start[1]] + "".join(gap + piece for gap, piece in zip(gaps, pieces, strict=True)) + closing


_MAP, _LIST = "MappingStartEvent", "SequenceStartEvent"
_COLON = compile_pattern(r"[ \t]*+:")
_COMMENT_MARK = compile_pattern(r"(?<!\S)#")
# What stands above a text in lines: "|", ">-", "|2 # comment".
_TEXT_MARK = compile_pattern(r"[|>][-+0-9]*+(?P<comment>[ \t]++#.*+)\Z")


class NotEditedError(ValueError):
    """The text cannot be changed without changing anything else. The message says why, for "It …"."""


def rewritten(text: str, values: Mapping[str, PropertyValue]) -> str:
    """Return a YAML text with these values. A comment above an entry goes with it. Raises NotEditedError."""
    if "\r\n" in text:  # positions in YAML count such a line end as one character
        if text.count("\n") != text.count("\r\n"):
            raise NotEditedError("mixes line ends of Windows and of other systems")
        return rewritten(text.replace("\r\n", "\n"), values).replace("\n", "\r\n")
    try:
        before = read_yaml(text, 1)
        root = read_tree(text)
    except NotYamlError as error:
        raise NotEditedError(f"is not YAML: {error}") from None
    if before.problems:
        raise NotEditedError(f"has something that cannot be read: {before.problems[0]}")
    if same_value(before.values, dict(values)):
        return text
    try:
        after = _Editor(text).document(root, before.values, values)
    except PropertyEditError as error:
        raise NotEditedError(f"cannot hold the change: {error}") from None
    # A text in lines on the last row may need the line end that the file did not have.
    said = next((each for each in (after, f"{after}\n") if _says(each, values)), None)
    if said is None:
        raise NotEditedError(
            "is written in a form that cannot hold the change, such as with anchors (&) and aliases (*)"
        )
    return said


def _says(text: str, values: Mapping[str, PropertyValue]) -> bool:
    try:
        return same_value(read_yaml(text, 1).values, dict(values))
    except NotYamlError:
        return False


class _Entry(NamedTuple):
    """An entry of a list or map: its rows in the text, with the comments above it, and the nodes of its name and value."""

    first: int
    end: int
    key: YamlNode | None
    value: YamlNode


class _Editor:
    """Writes one text again. Rows and columns count from 0."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [*text.split("\n"), ""]  # an empty value may end behind the last row

    def document(
        self, root: YamlNode | None, old: Mapping[str, PropertyValue], new: Mapping[str, PropertyValue]
    ) -> str:
        """Return the whole text."""
        if root is None:  # nothing, or comments alone
            head = self._text.rstrip("\n")
            return "\n".join([*([head] if head else []), *as_block(dict(new), 0), ""])
        if root.kind == _MAP and _is_in_lines(root):
            rows, end = self._block(root, dict(old), dict(new)), self._last_row(root) + 1
        else:
            self._check_holds_no_comment(root)
            mark = self._lines[root.start[0]][: root.start[1]].rstrip()  # "---"
            comment = self._comment_behind(root).strip()
            rows = [*([mark] if mark else []), *([comment] if comment else []), *as_block(dict(new), 0)]
            end = root.end[0] + 1
        return "\n".join([*self._lines[: root.start[0]], *rows, *self._lines[end:]]).removesuffix("\n")

    # ------------------------------------------------------------------ lists and maps in lines

    def _block(self, node: YamlNode, old: PropertyValue, new: PropertyValue) -> list[str]:
        """Return the rows of a list or map in lines; what stands before it on its first row is spaces."""
        if node.kind == _MAP:
            assert isinstance(old, Mapping)
            assert isinstance(new, Mapping)
            return self._map(node, old, new)
        assert isinstance(old, list)
        assert isinstance(new, list)
        return self._list(node, old, new)

    def _map(self, node: YamlNode, old: Mapping[str, PropertyValue], new: Mapping[str, PropertyValue]) -> list[str]:
        lines: list[str] = []
        names = [name for name in old if name in new]
        entries = dict(zip(old, self._entries(node), strict=True))
        for name in names:
            lines += self._changed(node, entries[name], old[name], new[name])
        for name in new:
            if name not in old:
                lines += entry_lines(name, new[name], node.start[1])
        return lines

    def _list(self, node: YamlNode, old: Sequence[PropertyValue], new: Sequence[PropertyValue]) -> list[str]:
        lines: list[str] = []
        entries = [*self._entries(node)]
        for value, place in zip(new, places_of(old, new), strict=True):
            if place is None:
                lines += item_lines(value, node.start[1])
            else:
                lines += self._changed(node, entries[place], old[place], value)
        return lines

    def _entries(self, node: YamlNode) -> Iterator[_Entry]:
        """Yield the entries of a list or map. Comments between two belong to the second, deeper ones to the first."""
        self._check_is_plain(node)
        is_map = node.kind == _MAP
        values = node.inner[1::2] if is_map else node.inner
        keys: Sequence[YamlNode | None] = node.inner[::2] if is_map else [None] * len(values)
        first = node.start[0]
        for number, (key, value) in enumerate(zip(keys, values, strict=True)):
            end = self._last_row(value) + 1
            limit = end if number == len(values) - 1 else (keys[number + 1] or values[number + 1]).start[0]
            while end < limit and self._is_comment(end) and _indent(self._lines[end]) > node.start[1]:
                end += 1
            yield _Entry(first, end, key, value)
            first = end

    def _changed(self, node: YamlNode, entry: _Entry, old: PropertyValue, new: PropertyValue) -> list[str]:
        """Return the rows of an entry with its new value."""
        rows = [self._padded(row, node) for row in range(entry.first, entry.end)]
        if same_value(old, new):
            return rows
        value = entry.value
        if not (_is_in_lines(value) and new and isinstance(new, dict if value.kind == _MAP else list)):
            return self._replaced(rows, node, entry, old, new)
        at = value.start[0] - entry.first
        inner = _joined(rows[at][: value.start[1]], self._block(value, old, new))
        return [*rows[:at], *inner, *rows[self._last_row(value) + 1 - entry.first :]]

    def _replaced(
        self, rows: list[str], node: YamlNode, entry: _Entry, old: PropertyValue, new: PropertyValue
    ) -> list[str]:
        """Return the rows of an entry whose value is written again as a whole. Comments in it go above the entry."""
        value = entry.value
        row, column = self._mark(entry, node)
        head = rows[row - entry.first][:column]
        rest, comments = self._around(value, row, column)
        above = [*rows[: row - entry.first], *(" " * node.start[1] + each for each in comments)]
        below = rows[self._last_row(value) + 1 - entry.first :]
        deeper = node.start[1] + 2
        if isinstance(new, (list, dict)) and new and value.style() not in ("[", "{"):
            if entry.key is None and not rest:
                return [*above, *item_lines(new, node.start[1]), *below]
            return [*above, head + rest, *as_block(new, deeper), *below]
        kept = in_brackets(self._lines[value.start[0]], value, old, new)
        is_kept = kept is not None and _says(f"x: {kept}\n", {"x": new})
        quote = value.style() if value.style() in ("'", '"') else ""
        first, *more = [kept] if kept is not None and is_kept else text_lines(new, deeper, quote)
        return [*above, f"{head} {first}{rest}", *more, *below]

    def _around(self, value: YamlNode, row: int, column: int) -> tuple[str, list[str]]:
        """Return the comment behind a value that goes, and those in it. Row and column are behind the colon or dash."""
        if value.start[0] == row == value.end[0]:
            rest = self._lines[row][value.end[1] if value.start != value.end else column :].rstrip()
            return rest, []
        self._check_holds_no_comment(value)
        rest = self._lines[row][column:].rstrip() if value.start[0] > row else ""
        ends = [rest if rest.lstrip().startswith("#") else "", self._comment_behind(value)]
        first, *more = [end for end in ends if end] or [""]
        return first, [*self._comments(value, row), *(each.lstrip() for each in more)]

    def _comment_behind(self, value: YamlNode) -> str:
        """Return the comment behind a value, with the space before it: of a text in lines, behind the mark above it."""
        if value.style() in ("|", ">"):
            found = _TEXT_MARK.search(self._lines[value.start[0]], value.start[1])
            return found["comment"].rstrip() if found else ""
        rest = self._lines[value.end[0]][value.end[1] :].rstrip()
        return rest if not _is_in_lines(value) and rest.lstrip().startswith("#") else ""

    def _mark(self, entry: _Entry, node: YamlNode) -> tuple[int, int]:
        """Return the place behind the colon or dash of an entry."""
        if entry.key is None:
            return self._dash_row(entry, node), node.start[1] + 1
        row, column = entry.key.end
        colon = _COLON.match(self._lines[row], column)
        if colon is None:
            raise NotEditedError(f"has a name with a question mark (?) on line {row + 1}, where the change belongs")
        return row, colon.end()

    def _dash_row(self, entry: _Entry, node: YamlNode) -> int:
        return next(
            row
            for row in range(entry.first, entry.value.start[0] + 1)
            if self._lines[row][node.start[1] :].startswith("-")
            and (row == node.start[0] or not self._lines[row][: node.start[1]].strip())
        )

    # ------------------------------------------------------------------ rows

    def _padded(self, row: int, node: YamlNode) -> str:
        """Return a row. On the first one of a list or map, only what belongs to it counts."""
        line = self._lines[row]
        return " " * node.start[1] + line[node.start[1] :] if row == node.start[0] else line

    def _last_row(self, node: YamlNode) -> int:
        """Return the last row of a value. The mark behind a text in lines stands on a row after it."""
        row, column = node.end
        if node.inner and node.style() not in "[{":
            return self._last_row(node.inner[-1])
        if node.style() in ("|", ">"):
            row -= 1 if column == 0 else 0
            while row > node.start[0] and not self._lines[row].strip():
                row -= 1
        return row

    def _is_comment(self, row: int) -> bool:
        return self._lines[row].lstrip(" ").startswith("#")

    def _comments(self, value: YamlNode, row: int) -> list[str]:
        """Return the comments on rows of their own within a value, without their indentation."""
        texts = {each for leaf in _leaves(value) for each in range(leaf.start[0], self._last_row(leaf) + 1)}
        rows = range(row + 1, self._last_row(value) + 1)
        found = (self._lines[each].strip() for each in rows if each not in texts)
        return [line for line in found if line.startswith("#")]

    # ------------------------------------------------------------------ what cannot be kept

    def _check_is_plain(self, node: YamlNode) -> None:
        """Raise NotEditedError for a list or map with a name or type of its own: its place is not that of its first entry."""
        if getattr(node.event, "anchor", None) is not None or getattr(node.event, "tag", None) is not None:
            raise NotEditedError(
                f"has an anchor (&) or a tag (!) on line {node.start[0] + 1}, where the change belongs"
            )

    def _check_holds_no_comment(self, node: YamlNode) -> None:
        """Raise NotEditedError for a comment within brackets, which would be lost."""
        if node.style() not in ("[", "{"):
            return
        first, last = node.start[0], node.end[0]
        texts = sorted((leaf.start, leaf.end) for leaf in _leaves(node))
        for row in range(first, last):
            for found in _COMMENT_MARK.finditer(self._lines[row]):
                before = bisect_right(texts, ((row, found.start()), (row + 1, 0))) - 1
                if before < 0 or texts[before][1] <= (row, found.start()):
                    raise NotEditedError(f"has a comment within brackets on line {row + 1}, where the change belongs")


def _is_in_lines(node: YamlNode) -> bool:
    return node.kind in (_MAP, _LIST) and node.style() not in ("[", "{")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _joined(prefix: str, rows: list[str]) -> list[str]:
    """Put what stands before a list or map on its first row, such as a dash, before its rows."""
    first = rows[0]
    is_free = not first[: len(prefix)].strip()
    return [prefix + (first[len(prefix) :] if is_free else first.lstrip(" ")), *rows[1:]]


def _leaves(node: YamlNode) -> Iterator[YamlNode]:
    """Yield the texts and aliases of a value."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        waiting += inner.inner
        if not inner.inner and inner.kind in ("ScalarEvent", "AliasEvent"):
            yield inner
