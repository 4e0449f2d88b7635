"""Two changes of one text joined: what conflict copies, proposals, undo and edits of a note that has changed have in common.

``join`` knows what a text consists of: properties by name, lists and tags as sets, lines, tasks as whole lines, tables by
cell, prose by words; canvases and bases by element. What both changed alike stands once. What both changed differently is a
``Clash``, with both versions in the text until someone chooses. ``revert`` undoes a change among later ones.

Texts are the files' own, with their byte order mark. Lines end with ``\\n``; a carriage return is part of its line.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from vaultwire.markdown.diffs import Difference, common_ends, differences, lines_of
from vaultwire.markdown.edits import line_end, to_plain
from vaultwire.markdown.merging import items_of, same_item
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, remove_properties, set_properties, written_properties
from vaultwire.markdown.property_values import one_line, same_value
from vaultwire.markdown.yaml_core import NotYamlError, PropertyValue, read_yaml
from vaultwire.markdown.yaml_edits import NotEditedError, rewritten

Form: TypeAlias = Literal["note", "canvas", "base", "text"]
Choice: TypeAlias = Literal["mine", "theirs", "both"]


_BOM = "\ufeff"


class Conflict(NamedTuple):
    """A change cannot be undone: these lines of the present text were changed later."""

    spans: list[Span]


class Clash(NamedTuple):
    """What both changed differently. ``what``: lines, a property or an element (of a canvas or base), by its name.

    ``base``: how it was before, None if that is not known; an empty text is one that is not there. ``span``: its lines in the
    joined text, from 1, where both versions stand; for a property or element, where it is.
    """

    what: Literal["lines", "property", "element"]
    name: str
    base: str | None
    mine: str
    theirs: str
    span: Span


class Joined(NamedTuple):
    """Two changes together. Clashes count from 0, in this order; those that were chosen are in it, too (``open``)."""

    text: str
    clashes: list[Clash]
    chosen: Mapping[int, Choice] = {}

    @property
    def open(self) -> dict[int, Clash]:
        """The clashes that nobody has decided, by their numbers."""
        return {number: clash for number, clash in enumerate(self.clashes) if number not in self.chosen}


def join(
    base: str | None,
    mine: str,
    theirs: str,
    form: Form = "note",
    choices: Mapping[int, Choice] | None = None,
    *,
    doubtful: Collection[str] = (),
) -> Joined:
    """Return both changes of ``base`` in one text, which begins as ``mine`` where order does not matter otherwise.

    Without a base, only what is the same or stands in one of them alone is joined. ``choices`` say what becomes of a clash,
    by its number. The line ends are those of ``mine``. ``doubtful``: lines of the base that may be an addition of one side,
    without their ends; where the other side has another line instead, that is a clash.
    """
    chosen = dict(choices or {})
    if theirs == mine:
        return Joined(mine, [], chosen)
    if not doubtful and base in (mine, theirs):
        return Joined(theirs if mine == base else mine, [], chosen)
    if mine.startswith(_BOM) or theirs.startswith(_BOM):
        texts = [None if each is None else each.removeprefix(_BOM) for each in (base, mine, theirs)]
        plain = join(texts[0], texts[1] or "", texts[2] or "", form, choices, doubtful=doubtful)
        return plain._replace(text=_BOM * mine.startswith(_BOM) + plain.text)
    ending = line_end(mine)
    if mine.count("\r\n") in (0, mine.count("\n")):  # else a line that stays keeps its own
        base, theirs = None if base is None else _with_ends(base, ending), _with_ends(theirs, ending)
    decider = _Decider(chosen, doubtful)
    if form in ("canvas", "base"):
        joined = _join_elements(base, mine, theirs, form, decider)
        if joined is not None:
            return Joined(joined, decider.clashes, chosen)
        decider = _Decider(chosen, doubtful)
    if form == "note":
        joined = _join_note(base, mine, theirs, decider)
        if joined is not None:
            return Joined(joined, decider.clashes, chosen)
        decider = _Decider(chosen, doubtful)
    return Joined(_join_texts(base, mine, theirs, decider), decider.clashes, chosen)


def form_of(path: str) -> Form:
    """Return how a file of this name is joined."""
    ending = path.rpartition(".")[2].lower()
    return {"md": "note", "canvas": "canvas", "base": "base"}.get(ending, "text")  # type: ignore[return-value]


def _with_ends(text: str, ending: str) -> str:
    return to_plain(text).replace("\n", ending) if ending != "\n" or "\r" in text else text


class _Decider:
    """Collects the clashes of one join, and knows what was chosen."""

    def __init__(self, choices: Mapping[int, Choice], doubtful: Collection[str] = ()) -> None:
        self._choices = choices
        self.doubtful = doubtful
        self.clashes: list[Clash] = []

    def add(self, clash: Clash) -> Choice | None:
        self.clashes.append(clash)
        return self._choices.get(len(self.clashes) - 1)


# ---------------------------------------------------------------------- notes


def _join_note(base: str | None, mine: str, theirs: str, decider: _Decider) -> str | None:
    """Return a note joined: its properties by name, then its body. None where properties cannot be read or written."""
    texts = [mine, theirs, *([] if base is None else [base])]
    if any(parse_frontmatter(to_plain(text)).problems for text in texts):
        return None
    heads = [_head(text) for text in texts]
    if not any(heads):
        return _join_texts(base, mine, theirs, decider)
    before = None if base is None else heads[2]
    try:
        head = _join_properties(before, heads[0], heads[1], decider)
    except PropertyEditError:
        return None
    bodies = [text[len(each) :] for text, each in zip(texts, heads, strict=True)]
    count = head.count("\n")
    body = _join_texts(None if base is None else bodies[2], bodies[0], bodies[1], decider, count)
    return head + body


def _head(text: str) -> str:
    """Return a text's frontmatter with both its lines of hyphens."""
    end = parse_frontmatter(to_plain(text)).end
    lines = to_plain(text)[:end].count("\n")
    return "".join(lines_of(text)[: lines + (not to_plain(text)[:end].endswith("\n") and end > 0)])


_ABSENT: Any = object()


def _join_properties(base: str | None, mine: str, theirs: str, decider: _Decider) -> str:
    """Return a head joined. Lines do if they say what the properties should be; else mine is edited."""
    wanted, clashes = _wanted_properties(base, mine, theirs, decider)
    if not clashes:
        lines = _Lines(base, mine, theirs)
        if not any(isinstance(piece, _Both) for piece in lines.pieces):
            text = "".join(piece for piece in lines.pieces if isinstance(piece, str))
            read = parse_frontmatter(to_plain(text))
            if not read.problems and same_value(read.values, wanted) and _head(text) == text:
                return text
        lost = _comments(theirs) - _comments(mine) - _comments(base or "")
        if lost:
            raise PropertyEditError("comments among the properties would be lost")
    now = parse_frontmatter(to_plain(mine)).values
    names = {name.casefold() for name in wanted}
    head = remove_properties(mine, [name for name in now if name.casefold() not in names])
    return set_properties(head, wanted, None, source=to_plain(theirs)) if wanted else head


def _comments(head: str) -> Counter[str]:
    return Counter(line.strip() for line in head.split("\n") if line.lstrip().startswith("#"))


def _wanted_properties(
    base: str | None, mine: str, theirs: str, decider: _Decider
) -> tuple[dict[str, PropertyValue], int]:
    """Return what the properties should be, and how many clash."""
    sides = [{} if head is None else _by_name(head) for head in (base, mine, theirs)]
    wanted: dict[str, PropertyValue] = {}
    lines = parse_frontmatter(to_plain(mine)).lines
    before = len(decider.clashes)
    for key in dict.fromkeys([*sides[1], *sides[2]]):
        name = (sides[1].get(key) or sides[2][key])[0]
        old, own, other = (side[key][1] if key in side else _ABSENT for side in sides)
        value = _three_values(old if base is not None else None, own, other, key, has_base=base is not None)
        if value is _CLASHING:
            line = min(lines.get(name, [1])) if lines.get(name) else 1
            shown = [None if each is None else _say(each) for each in (old if base is not None else None, own, other)]
            clash = Clash("property", name, shown[0], shown[1] or "", shown[2] or "", Span(line, line))
            choice = decider.add(clash)
            both = [*items_of(own), *(each for each in items_of(other) if each not in items_of(own))]
            present = own if own is not _ABSENT else _ABSENT
            value = (
                other if choice == "theirs" else both if choice == "both" and _ABSENT not in (own, other) else present
            )
            if choice == "both" and present is _ABSENT:
                value = other
        if value is not _ABSENT:
            wanted[name] = value
    return wanted, len(decider.clashes) - before


def _by_name(head: str) -> dict[str, tuple[str, PropertyValue]]:
    return {name.casefold(): (name, value) for name, value in written_properties(head).items()}


def _say(value: PropertyValue) -> str:
    return "" if value is _ABSENT else one_line(value)


_CLASHING: Any = object()


def _three_values(old: PropertyValue, own: PropertyValue, other: PropertyValue, key: str, *, has_base: bool) -> Any:
    """Return what a value becomes: _ABSENT for none, _CLASHING where both changed it differently."""
    if _same(own, other):
        return own
    if has_base and _same(other, old):
        return own
    if has_base and _same(own, old):
        return other
    if not has_base and (own is _ABSENT or other is _ABSENT):
        return own if other is _ABSENT else other
    if own is _ABSENT or other is _ABSENT:
        return _CLASHING
    if isinstance(own, list) or isinstance(other, list):
        if not all(isinstance(each, (str, int, float, type(None))) for each in [*items_of(own), *items_of(other)]):
            return _CLASHING
        return _join_sets(items_of(old) if has_base and old is not _ABSENT else [], items_of(own), items_of(other), key)
    return _CLASHING


def _same(one: PropertyValue, other: PropertyValue) -> bool:
    if one is _ABSENT or other is _ABSENT:
        return one is other
    return same_value(one, other)


def _join_sets(
    old: list[PropertyValue], own: list[PropertyValue], other: list[PropertyValue], name: str
) -> list[PropertyValue]:
    def has(items: list[PropertyValue], item: PropertyValue) -> bool:
        return any(same_item(name, each, item) for each in items)

    kept = [item for item in own if has(other, item) or not has(old, item)]
    return kept + [item for item in other if not has(own, item) and not has(old, item)]


# ---------------------------------------------------------------------- lines


class _Both(NamedTuple):
    """Lines that both changed differently, by their texts."""

    base: str | None
    mine: str
    theirs: str


def _join_texts(base: str | None, mine: str, theirs: str, decider: _Decider, lines_before: int = 0) -> str:
    """Return texts joined by lines, with both versions of what clashes. A line end at the end is joined for itself."""
    ending = line_end(mine)
    lines = _Lines(
        None if base is None else _ended(base, ending), _ended(mine, ending), _ended(theirs, ending), decider.doubtful
    )
    text: list[str] = []
    line = lines_before + 1
    for piece in lines.pieces:
        if isinstance(piece, _Both):
            both = piece.mine + piece.theirs
            choice = decider.add(Clash("lines", "", *piece, Span(line, max(line, line + both.count("\n") - 1))))
            text.append({"mine": piece.mine, "theirs": piece.theirs}.get(choice or "both", both))
        else:
            text.append(piece)
        line += text[-1].count("\n")
    decided_by = mine or theirs
    if base and theirs and _is_ended(base) != _is_ended(theirs):
        decided_by = theirs
    return "".join(text) if _is_ended(decided_by) else "".join(text).removesuffix(ending)


def _ended(text: str, ending: str) -> str:
    return text if _is_ended(text) else text + ending


def _is_ended(text: str) -> bool:
    return not text or text.endswith("\n")


class _Lines:
    """Three texts compared by lines. ``pieces`` are the joined text in order: text, and what both changed differently."""

    def __init__(self, base: str | None, mine: str, theirs: str, doubtful: Collection[str] = ()) -> None:
        self.pieces: list[str | _Both] = []
        self._doubtful = doubtful
        if base is None:
            self._compare_two(lines_of(mine), lines_of(theirs))
        else:
            self._compare_three(lines_of(base), lines_of(mine), lines_of(theirs))

    def _compare_two(self, mine: list[str], theirs: list[str]) -> None:
        position = 0
        for each in differences(mine, theirs):
            self.pieces.append("".join(mine[position : each.start]))
            own, other = mine[each.start : each.end], theirs[each.new_start : each.new_end]
            if own and other:
                self.pieces.append(_Both(None, "".join(own), "".join(other)))
            else:
                self.pieces.append("".join(own or other))
            position = each.end
        self.pieces.append("".join(mine[position:]))

    def _compare_three(self, base: list[str], mine: list[str], theirs: list[str]) -> None:
        position = 0
        for group in _groups(differences(base, mine), differences(base, theirs), apart=False):
            start, end = min(each.start for each, _ in group), max(each.end for each, _ in group)
            own = _changed_lines(base, mine, [each for each, is_mine in group if is_mine], start, end)
            other = _changed_lines(base, theirs, [each for each, is_mine in group if not is_mine], start, end)
            self.pieces.append("".join(base[position:start]))
            if self._may_be_two(base[start:end], own, other):
                sides = ["".join(base[start:end] if lines is None else lines) for lines in (own, other)]
                self.pieces.append(_Both("".join(base[start:end]), *sides))
            elif own is None or other is None or own == other:
                self.pieces.append("".join(own if own is not None else other or []))
            elif start == end:
                self.pieces.append("".join(_both_added(own, other)))
            elif all(each.new_start == each.new_end for each, _ in group):  # both only removed lines
                gone = {line for each, _ in group for line in range(each.start, each.end)}
                self.pieces.append("".join(base[line] for line in range(start, end) if line not in gone))
            elif len(own) == len(other) == end - start:
                self._line_by_line(base[start:end], own, other)
            elif (lines := _replaced_alike(base[start:end], own, other)) is not None:
                self.pieces.append("".join(lines))
            else:
                self.pieces.append(_Both("".join(base[start:end]), "".join(own), "".join(other)))
            position = end
        self.pieces.append("".join(base[position:]))

    def _may_be_two(self, base: list[str], own: list[str] | None, other: list[str] | None) -> bool:
        """Tell whether a doubtful line stands in one side alone."""
        return bool(self._doubtful) and any(
            line.strip() in self._doubtful and (own is None or line in own) is not (other is None or line in other)
            for line in base
        )

    def _line_by_line(self, base: list[str], mine: list[str], theirs: list[str]) -> None:
        """Add lines that both changed, one for one; lines that clash and follow each other are one clash."""
        clash: list[tuple[str, str, str]] = []
        for before, own, other in zip(base, mine, theirs, strict=True):
            line = _join_line(before, own, other)
            if line is None:
                clash.append((before, own, other))
                continue
            self._end_clash(clash)
            self.pieces.append(line)
        self._end_clash(clash)

    def _end_clash(self, clash: list[tuple[str, str, str]]) -> None:
        if clash:
            self.pieces.append(_Both(*("".join(side) for side in zip(*clash, strict=True))))
            clash.clear()


# Lines that open or close something: a second one is no repetition.
_STRUCTURE = re.compile(r"\s*(?:>\s?)*(?:`{3,}|~{3,}|\$\$|<|%%|[-*_](?:\s*[-*_]){2,}\s*$|\|?[\s:|]*-[-\s:|]*$|\^)")


def _both_added(mine: list[str], theirs: list[str]) -> list[str]:
    """Return lines that both added at one place: those of both once, then those of ``theirs`` alone."""
    if any(_STRUCTURE.match(line) for line in [*mine, *theirs]):
        return [*mine, *theirs]
    left = Counter(mine)
    added: list[str] = []
    empty_line: list[str] = []
    for line in theirs:
        if not line.strip():
            empty_line = [line]
        elif left[line] > 0:
            left[line] -= 1
            empty_line = []
        else:
            added += [*empty_line, line] if added or (mine and mine[-1].strip()) else [line]
            empty_line = []
    return [*mine, *added]


def _replaced_alike(base: list[str], mine: list[str], theirs: list[str]) -> list[str] | None:
    """Return lines that both replaced by the same ones, to which one or both added more; None if it is not so.

    An added line that is like one of the old ones may be that one changed, which the other removed.
    """
    head, tail = common_ends(mine, theirs)
    own, other = mine[head : len(mine) - tail], theirs[head : len(theirs) - tail]
    if not head + tail:
        return None
    if head + tail < len(base):
        old = [set(_WORD.findall(line)) for line in base]
        for line in [*own, *other]:
            words = set(_WORD.findall(line))
            if any(2 * len(words & each) >= min(len(words), len(each)) for each in old):
                return None
    return [*mine[:head], *_both_added(own, other), *mine[len(mine) - tail :]]


_WORD = re.compile(r"\w+")
_TASK = re.compile(r"\s*(?:>\s?)*(?:[-*+]|\d{1,9}[.)])\s+\[.\](?:\s|$)")
_ROW = re.compile(r"\s*(?:>\s?)*\|")
_CELL = re.compile(r"(?<!\\)\|")
# A word with the space behind it, a sign, or one character of a script that puts no spaces between words.
_TOKEN = re.compile(r"[\u2e80-\ud7ff\uf900-\ufaff]|[^\W\u2e80-\ud7ff\uf900-\ufaff]+[ \t]*|[^\w\s][ \t]*|\s+")


def _join_line(base: str, mine: str, theirs: str) -> str | None:
    """Return one line that both changed; None if that cannot be done."""
    if theirs in (mine, base):
        return mine
    if mine == base:
        return theirs
    if any(map(_TASK.match, (base, mine, theirs))):
        return None  # a task is done as it was worded
    if all(map(_ROW.match, (base, mine, theirs))):
        return _join_cells(*(_CELL.split(line) for line in (base, mine, theirs)))
    return _join_words(base, mine, theirs)


def _join_cells(base: list[str], mine: list[str], theirs: list[str]) -> str | None:
    if not len(base) == len(mine) == len(theirs):
        return None
    cells = []
    for old, own, other in zip(base, mine, theirs, strict=True):
        texts = [each.strip() for each in (old, own, other)]
        if texts[1] != texts[2] and texts[0] not in texts[1:]:
            return None
        cells.append(other if texts[1] == texts[0] != texts[2] else own)
    return "|".join(cells)


def _join_words(base: str, mine: str, theirs: str) -> str | None:
    """Return a line with the words that each changed, if an unchanged word is between and half of it stays in both."""
    old, own, other = (_TOKEN.findall(line) for line in (base, mine, theirs))
    ours, yours = differences(old, own), differences(old, other)
    if 2 * max(sum(each.end - each.start for each in side) for side in (ours, yours)) > len(old):
        return None
    words: list[str] = []
    position, last = 0, None
    done: list[tuple[tuple[int, ...], list[str]]] = []
    tagged = sorted(
        [*((each, own, True) for each in ours), *((each, other, False) for each in yours)], key=lambda at: at[0]
    )
    for each, new, is_mine in tagged:
        between = old[position : each.start]
        if (each[:2], new[each.new_start : each.new_end]) in done:  # both changed it alike
            continue
        done.append((each[:2], new[each.new_start : each.new_end]))
        if each.start < position or (last not in (None, is_mine) and not any(word[0].isalnum() for word in between)):
            return None
        words += [*between, *new[each.new_start : each.new_end]]
        position, last = each.end, is_mine
    return "".join([*words, *old[position:]])


# ---------------------------------------------------------------------- canvases and bases


def _join_elements(base: str | None, mine: str, theirs: str, form: Form, decider: _Decider) -> str | None:
    """Return a canvas or base joined by its elements; None if one of the texts is no such file, or cannot be written so."""
    try:
        old, own, other = (None if text is None else _load(text, form) for text in (base, mine, theirs))
    except ValueError:
        return None
    wanted = _join_data(_ABSENT if base is None else old, own, other, "", _Elements(decider, mine, base is not None))
    if not decider.clashes:
        pieces = _Lines(base, mine, theirs).pieces
        text = "".join(piece for piece in pieces if isinstance(piece, str))
        try:
            if len(pieces) == sum(isinstance(piece, str) for piece in pieces) and _load(text, form) == wanted:
                return text
        except ValueError:
            pass
    if form == "canvas":
        return _written_canvas(wanted).replace("\n", line_end(mine))
    try:
        return rewritten(mine, wanted)
    except NotEditedError:
        return None


def _load(text: str, form: Form) -> dict[str, Any]:
    """Return what a canvas or base holds. Raises ValueError."""
    try:
        data: Any = json.loads(text or "{}") if form == "canvas" else _read_base(text)
    except (RecursionError, NotYamlError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(data, dict):
        raise ValueError("no map")  # noqa: TRY004 - of a text
    return data


def _read_base(text: str) -> dict[str, PropertyValue]:
    read = read_yaml(to_plain(text), 1)
    if read.problems:
        raise ValueError(read.problems[0])
    return read.values


class _Elements(NamedTuple):
    decider: _Decider
    text: str
    has_base: bool

    def clash(self, name: str, old: Any, own: Any, other: Any) -> Any:
        """Return what becomes of an element that both changed differently."""
        shown = [
            "" if each is _ABSENT else each if isinstance(each, str) else _as_json(each) for each in (old, own, other)
        ]
        quoted = name.rpartition("/")[2]
        line = next((number for number, each in enumerate(self.text.split("\n"), 1) if quoted and quoted in each), 1)
        base = shown[0] if self.has_base else None
        choice = self.decider.add(Clash("element", name.strip("/"), base, shown[1], shown[2], Span(line, line)))
        if choice == "theirs" or (choice == "both" and own is _ABSENT):
            return other
        if choice == "both" and isinstance(own, str) and isinstance(other, str):
            return f"{own}\n\n{other}"
        if choice == "both" and isinstance(own, list) and isinstance(other, list):
            return [*own, *(each for each in other if each not in own)]
        return own


def _join_data(old: Any, own: Any, other: Any, name: str, elements: _Elements) -> Any:
    """Return what a value of a canvas or base becomes; _ABSENT for none."""
    if _equal(own, other):
        return own
    if elements.has_base and (_equal(own, old) or _equal(other, old)):
        return other if _equal(own, old) else own
    if not elements.has_base and _ABSENT in (own, other):
        return own if other is _ABSENT else other
    if isinstance(own, dict) and isinstance(other, dict):
        return _join_maps(old if isinstance(old, dict) else {}, own, other, name, elements)
    if isinstance(own, list) and isinstance(other, list):
        before = old if isinstance(old, list) else []
        key = next(
            (key for key in ("id", "name") if all(_has_keys(items, key) for items in (before, own, other))), None
        )
        if key is not None:
            maps = [{item[key]: item for item in items} for items in (before, own, other)]
            return [*_join_maps(maps[0], maps[1], maps[2], name, elements).values()]
        if all(isinstance(item, (str, int, float)) for item in [*before, *own, *other]):
            return _join_sets(before, own, other, "")
    if isinstance(own, str) and isinstance(other, str):
        pieces = _Lines(old if isinstance(old, str) else None, own, other).pieces
        if not any(isinstance(piece, _Both) for piece in pieces):
            return "".join(piece for piece in pieces if isinstance(piece, str))
    return elements.clash(name, old, own, other)


def _join_maps(
    old: Mapping[str, Any], own: Mapping[str, Any], other: Mapping[str, Any], name: str, elements: _Elements
) -> dict[str, Any]:
    values = {
        key: _join_data(
            old.get(key, _ABSENT), own.get(key, _ABSENT), other.get(key, _ABSENT), f"{name}/{key}", elements
        )
        for key in dict.fromkeys([*own, *other])
    }
    return {key: value for key, value in values.items() if value is not _ABSENT}


def _equal(one: Any, other: Any) -> bool:
    if one is _ABSENT or other is _ABSENT:
        return one is other
    return type(one) is type(other) and bool(one == other)


def _has_keys(items: Sequence[Any], key: str) -> bool:
    """Tell whether each of the items is a map with a text of its own under a key."""
    keys = [item.get(key) for item in items if isinstance(item, dict)]
    return len(keys) == len(items) == len({each for each in keys if isinstance(each, str)})


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _written_canvas(canvas: Mapping[str, Any]) -> str:
    """Return a canvas as Obsidian writes one: each node and edge in a line."""
    parts = []
    for key, value in canvas.items():
        if isinstance(value, list) and value:
            items = ",\n".join(f"\t\t{_as_json(item)}" for item in value)
            parts.append(f"\t{_as_json(key)}:[\n{items}\n\t]")
        else:
            parts.append(f"\t{_as_json(key)}:{_as_json(value)}")
    return "{\n" + ",\n".join(parts) + "\n}"


# ---------------------------------------------------------------------- undone, and what both compare by


def revert(now: str, before: str, after: str, form: Form = "text") -> str | Conflict:
    """Return ``now`` with the change from ``before`` to ``after`` undone; later changes stay.

    There must be an unchanged line between the lines of this change and those of later ones, or they must be other properties,
    words, cells or elements than it changed (``form``, see ``join``). Else the result is a Conflict, also where someone has
    undone a part of it: they know of it, and the caller does not.
    """
    base_lines, now_lines, other_lines = lines_of(after), lines_of(now), lines_of(before)
    result: list[str] = []
    overlaps: list[Span] = []
    position, is_undone = 0, False
    for group in _groups(differences(base_lines, now_lines), differences(base_lines, other_lines), apart=True):
        start, end = min(each.start for each, _ in group), max(each.end for each, _ in group)
        mine = _changed_lines(base_lines, now_lines, [each for each, is_mine in group if is_mine], start, end)
        yours = _changed_lines(base_lines, other_lines, [each for each, is_mine in group if not is_mine], start, end)
        result += base_lines[position:start]
        if mine is None or yours is None:
            result += mine if mine is not None else yours or []
        else:
            overlaps += [_seen_at(each, len(now_lines)) for each, is_mine in group if is_mine]
            is_undone = is_undone or mine == yours
        position = end
    if not overlaps:
        return "".join([*result, *base_lines[position:]])
    joined = None if is_undone or form == "text" else join(after, now, before, form)
    return Conflict(overlaps) if joined is None or joined.clashes else joined.text


def _groups(
    ours: list[Difference], theirs: list[Difference], *, apart: bool
) -> Iterator[list[tuple[Difference, bool]]]:
    """Yield the differences of both in order, those that overlap together, each with whether it is one of ``ours``."""
    tagged = [(each, True) for each in ours] + [(each, False) for each in theirs]
    group: list[tuple[Difference, bool]] = []
    end = -1
    for each, is_mine in sorted(tagged, key=lambda pair: (pair[0].start, pair[0].end, not pair[1])):
        is_same_place = group and group[-1][0][:2] == each[:2]
        if group and not (each.start < end or (each.start == end and apart) or is_same_place):
            yield group
            group = []
        group.append((each, is_mine))
        end = max(end, each.end)
    if group:
        yield group


def _changed_lines(
    base: list[str], new: list[str], changes: list[Difference], start: int, end: int
) -> list[str] | None:
    """Return what changes make of the lines of ``base`` from ``start`` to ``end``; None if there are none."""
    if not changes:
        return None
    lines: list[str] = []
    for each in changes:
        lines += [*base[start : each.start], *new[each.new_start : each.new_end]]
        start = each.end
    return lines + base[start:end]


def _seen_at(place: Difference, total: int) -> Span:
    """Return the lines of a difference in the new text, from 1; if it has none, the line behind it or the last."""
    first = max(1, min(place.new_start + 1, total))
    return Span(first, max(first, place.new_end))
