"""The tree of a YAML text, and where each of its texts stands, to the character.

``yaml_core`` has the values. Line ends are ``\\n``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from vaultwire.markdown.offsets import line_starts
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import Frontmatter, property_parts
from vaultwire.markdown.yaml_core import NotYamlError, with_stand_ins, yaml_events

if TYPE_CHECKING:
    import re

    from yaml import Event


class YamlNode:
    """A node and the nodes in it; a map has names and values in turn. Positions are (row, column), from 0.

    ``kind`` is the name of its event's class: PyYAML is imported only when it is needed. ``target`` is the node that an alias
    repeats, of any other node itself.
    """

    __slots__ = ("aliases", "anchors", "end", "event", "inner", "kind", "start", "target")

    def __init__(self, event: Event, kind: str) -> None:
        self.event = event
        self.kind = kind
        self.start = _place(event.start_mark)
        self.end = _place(event.end_mark)
        self.inner: list[YamlNode] = []
        self.target = self
        self.anchors: set[str] = set()  # also those of inner nodes, for keys and values of the root map
        self.aliases: set[str] = set()

    def style(self) -> str:
        """Return the style, empty for a text without one: ``'`` ``"`` ``|`` ``>`` of texts, ``[`` ``-`` of lists, ``{`` ``:``
        of maps, ``*`` of an alias.
        """
        if self.kind == "AliasEvent":
            return "*"
        if self.kind == "ScalarEvent":
            return self.event.style or ""  # type: ignore[attr-defined]
        is_flow = self.event.flow_style  # type: ignore[attr-defined]
        return ("[" if is_flow else "-") if self.kind == "SequenceStartEvent" else "{" if is_flow else ":"


def read_tree(yaml: str) -> YamlNode | None:
    """Return the root of the first document; None if there is none. Raises NotYamlError."""
    return _read_any(yaml)[0]


def _read_any(yaml: str) -> tuple[YamlNode | None, str]:
    """Return the root, and the text as it was read: libyaml refuses a tab between a dash and its text."""
    try:
        return _read(yaml), yaml
    except NotYamlError:
        spaced = yaml.replace("\t", " ")  # moves nothing
        return _read(spaced), spaced


def _read(yaml: str) -> YamlNode | None:
    root: YamlNode | None = None
    path: list[YamlNode] = []  # the lists and maps that are open
    anchored: dict[str, YamlNode] = {}
    for event in yaml_events(yaml, 2):
        kind = type(event).__name__
        if kind in ("SequenceEndEvent", "MappingEndEvent"):
            node = path.pop()
            # The end mark of a block is only where the next token begins: take the end of its last item.
            node.end = _place(event.end_mark) if node.style() in "[{" else node.inner[-1].end
            continue
        if kind not in ("ScalarEvent", "AliasEvent", "SequenceStartEvent", "MappingStartEvent"):
            continue
        node = YamlNode(event, kind)
        anchor: str | None = event.anchor  # type: ignore[attr-defined]
        if anchor is not None:
            if kind != "AliasEvent":
                anchored[anchor] = node
            elif anchor in anchored:
                node.target = anchored[anchor]
            else:
                raise NotYamlError(node.start[0] + 2, f"there is no &{anchor} before *{anchor}")
            if path:
                owner = path[1] if len(path) > 1 else node
                (owner.aliases if kind == "AliasEvent" else owner.anchors).add(anchor)
        if path:
            path[-1].inner.append(node)
        root = root or node
        if kind.endswith("StartEvent"):
            path.append(node)
    return root


def _place(mark: Any) -> tuple[int, int]:  # two classes, one for each parser of PyYAML
    return mark.line, mark.column


def texts_in(node: YamlNode) -> Iterator[YamlNode]:
    """Yield the texts of a value, at any depth and in their order, without the names of maps."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if inner.kind == "ScalarEvent":
            yield inner
        waiting += reversed(inner.inner[1::2] if inner.kind == "MappingStartEvent" else inner.inner)


class Scalar(NamedTuple):
    """A text as it stands in YAML: its style (a quote, ``|`` or ``>``, or empty), what it says, and where that stands.

    ``start`` to ``end`` is its source without anchor and type. ``places`` are the offsets of each character of ``text``, and
    of its end.
    """

    style: str
    start: int
    end: int
    text: str
    places: list[int]


class YamlText:
    """A text that is YAML from ``start`` to ``end``, its tree, and the offsets of its nodes. Raises NotYamlError."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        self._text = text
        yaml = text[start:end]
        self.root, as_read = _read_any(yaml)
        self._as_read = text if as_read is yaml else f"{text[:start]}{as_read}{text[start + len(yaml) :]}"
        self._starts = [start + place for place in line_starts(yaml)]
        self._first_line = text.count("\n", 0, start) + 1

    def offset(self, place: tuple[int, int]) -> int:
        """Return the offset of a node's ``start`` or ``end``."""
        return self._starts[place[0]] + place[1]

    def line(self, node: YamlNode) -> int:
        """Return the line of the text on which a node begins, from 1."""
        return self._first_line + node.start[0]

    def extent(self, node: YamlNode) -> tuple[int, int]:
        """Return where a node begins and ends, with its anchor and type."""
        return self.offset(node.start), self.offset(node.end)

    def scalar(self, node: YamlNode) -> Scalar | None:
        """Return where the text of a node stands; None for a form in which that is not known."""
        begin, end = self.extent(node)
        style = node.style()
        start = _NODE_PROPERTIES.match(self._as_read, begin, end).end()  # type: ignore[union-attr] # matches anything
        value: str = node.event.value  # type: ignore[attr-defined]
        if style in ("|", ">"):
            text, places = _in_lines(self._as_read, start, end, value, is_folded=style == ">")
        else:
            quotes = len(style)
            text, places = _unfolded(self._as_read, start + quotes, end - quotes, style)
        if with_stand_ins(text) != with_stand_ins(value):
            return None
        if self._as_read is not self._text:
            written = (self._text[place : place + 1] for place in places)
            text = "".join("\t" if tab == "\t" else character for tab, character in zip(written, text, strict=False))
        return Scalar(style, start, end, text, places)


def property_nodes(
    plain: str, frontmatter: Frontmatter, holding: re.Pattern[str]
) -> Iterator[tuple[str, YamlNode, YamlText]]:
    """Yield name and value of each property of a note, and the text that they are nodes of.

    A block that as a whole is not YAML is read property by property, as its values are; only those that match ``holding``.
    """
    start, end = plain.index("\n") + 1, plain.rfind("\n", 0, frontmatter.end - 1) + 1
    try:
        parts = [YamlText(plain, start, end)]
    except NotYamlError:
        parts = []
        for _, first, last in property_parts(plain[start:end]):
            try:
                parts += (
                    [YamlText(plain, start + first, start + last)]
                    if holding.search(plain, start + first, start + last)
                    else []
                )
            except NotYamlError:
                continue
    for part in parts:
        if part.root is not None and part.root.kind == "MappingStartEvent":
            for key, value in zip(part.root.inner[::2], part.root.inner[1::2], strict=True):
                if key.target.kind == "ScalarEvent":
                    yield key.target.event.value, value, part  # type: ignore[attr-defined]


# A node's anchor and type, which may stand before its text.
_NODE_PROPERTIES = compile_pattern(r"(?:[&!][^ \t\n]*+(?:[ \t\n]++(?:#.*+[ \t\n]++)*+|\Z))*+")
# A line break within a text means a space, an empty line a line break (YAML 1.2.2, 6.5 "Line folding").
_FOLD = r"[ \t]*+(?:\n[ \t]*+)++"
_PIECES = {
    '"': compile_pattern(
        rf"\\(?:\n[ \t]*+)++|{_FOLD}|[ \t]++|\\(?:x[0-9a-fA-F]{{2}}|u[0-9a-fA-F]{{4}}|U[0-9a-fA-F]{{8}}|.)|[^\\ \t\n]++"
    ),
    "'": compile_pattern(rf"{_FOLD}|[ \t]++|''|[^' \t\n]++"),
    "": compile_pattern(rf"{_FOLD}|[ \t]++|[^ \t\n]++"),
}
# YAML 1.2.2, 5.7 "Escaped characters": those that mean another character than themselves.
_ESCAPES = dict(zip("0abt\tnvfreN_LP", "\0\a\b\t\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))


def _unfolded(text: str, start: int, end: int, style: str) -> tuple[str, list[int]]:
    """Return what the source of a text in quotes, or without, means, with the offset of each character and of the end."""
    said: list[str] = []
    places: list[int] = []
    for piece in _PIECES[style].finditer(text, start, end):
        written = piece[0]
        breaks = written.count("\n")
        if breaks:
            meaning = " " if breaks == 1 and written[0] != "\\" else "\n" * (breaks - 1)
        elif style == '"' and written[0] == "\\":
            code = written[2:]
            meaning = chr(int(code, 16)) if code else _ESCAPES.get(written[1], written[1])
        elif style == "'" and written == "''":
            meaning = "'"
        else:
            said.append(written)
            places += range(*piece.span())
            continue
        said.append(meaning)
        places += [piece.start()] * len(meaning)
    return "".join(said), [*places, end]


def _in_lines(text: str, start: int, end: int, value: str, *, is_folded: bool) -> tuple[str, list[int]]:
    """Return what lines below ``|`` or ``>`` mean, as ``_unfolded`` does (YAML 1.2.2, 8.1).

    ``value`` tells how far they are indented, and how many of the last line breaks count.
    """
    offset = text.find("\n", start, end) + 1 or end
    lines = text[offset:end].split("\n")
    if not value.strip():
        lines = [*takewhile(lambda line: not line.strip(" \t"), lines)] or [""]
    indent = _indent(lines) - _indent(value.split("\n"))
    said: list[str] = []
    places: list[int] = []
    breaks: list[int] = []  # the end of the last line with text, and those of the empty ones after it
    was_deep = True  # no line of text stands before, or one that is indented further
    for line in lines:
        behind = offset + len(line)
        is_empty = not line.strip(" \t") and ("\t" in line or len(line) <= indent)
        if not is_empty and line[:indent].strip(" "):
            break  # a comment
        if not is_empty:
            is_deep = line[indent] in " \t"
            if is_folded and not was_deep and not is_deep:
                said.append("\n" * (len(breaks) - 1) or " ")
                places += breaks[1:] or breaks
            else:
                said.append("\n" * len(breaks))
                places += breaks
            said.append(line[indent:])
            places += range(offset + indent, behind)
            breaks, was_deep = [], is_deep
        breaks.append(behind)
        offset = behind + 1
    text_read = "".join([*said, "\n" * len(breaks)])
    places += [*breaks, end]
    is_all = not text_read[len(value) :].strip("\n")
    return text_read[: len(value)] if is_all else text_read, places[: len(value) + 1]


def _indent(lines: list[str]) -> int:
    """Return how far the first line with a text is indented; if there is none, how long the longest empty one is."""
    longest = max((len(line) for line in lines if "\t" not in line), default=0)
    return next((len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" \t")), longest)
