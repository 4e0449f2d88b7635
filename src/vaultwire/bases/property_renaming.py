"""Renames a property in a base: in filters, formulas, columns, sorting, groups and summaries. Every other byte stays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from vaultwire.bases.functions.table import LAMBDAS
from vaultwire.bases.ids import normal_id
from vaultwire.bases.lexer import end_of_token
from vaultwire.bases.parser import SyntaxProblem, children, parse
from vaultwire.bases.tree import Call, Index, Literal, Member, Name, Node
from vaultwire.markdown.offsets import Replacement, apply_replacements, line_starts
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.property_values import one_line
from vaultwire.markdown.yaml_core import NotYamlError
from vaultwire.markdown.yaml_tree import YamlNode, read_tree

_IDENTIFIER = compile_pattern(r"[^\W\d][\w$]*+")
# Settings of views that name a property.
_ID_SETTINGS = frozenset(("image", "coordinates", "markerIcon", "markerColor"))
_ID_MAPS = frozenset(("summaries", "columnSize"))
_OWN = frozenset(("file", "this", "note", "property", "formula"))
_ITEMS = frozenset(("value", "index", "acc"))
_MOST = 200_000


class NotRenamedError(ValueError):
    """A base names the property, and it cannot be renamed there without changing anything else."""


class _Scalar(NamedTuple):
    """A text of the YAML that may name the property, and what it becomes."""

    node: YamlNode
    renamed: str
    in_flow: bool


def rename_in_base(text: str, old: str, new: str) -> str:
    """Return a base in which a property has another name; the same text if it does not name it.

    Raises NotRenamedError for a base that cannot be read, and where the new name cannot be written.
    """
    if _IDENTIFIER.fullmatch(old) and old.casefold() not in text.casefold():
        return text
    if "\r\n" in text:  # positions in YAML count such a line end as one character
        if text.count("\n") != text.count("\r\n"):
            raise NotRenamedError("mixes line ends of Windows and of other systems")
        return rename_in_base(text.replace("\r\n", "\n"), old, new).replace("\n", "\r\n")
    if len(text) > _MOST:
        raise NotRenamedError(f"has more than {_MOST:,} characters")
    root = _tree(text)
    changed = [each for each in _scalars(root, old, new) if each.renamed != _value(each.node)]
    if not changed:
        return text
    starts = line_starts(text)

    def offset(place: tuple[int, int]) -> int:
        return starts[place[0]] + place[1]

    edits = [
        Replacement(offset(each.node.start), offset(each.node.end), _written(each, text, offset)) for each in changed
    ]
    after = apply_replacements(text, sorted(edits, key=lambda edit: edit.start))
    wanted = {each.node.start: each.renamed for each in changed}
    expected = [wanted.get(node.start, _value(node)) for node in _all(root)]
    # Only the texts that were to change have changed, and they say what they should.
    if [_value(node) for node in _all(_tree(after))] != expected:
        raise NotRenamedError("holds the name in a form that cannot hold the new one")
    return after


def rename_in_expression(text: str, old: str, new: str) -> str:
    """Return an expression in which a property has another name. One that cannot be read stays as it is."""
    try:
        root = parse(text)
    except SyntaxProblem:
        return text
    edits: dict[int, Replacement] = {}
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, in_lambda = waiting.pop()
        edit = _edit(node, text, old, new, in_lambda=in_lambda)
        if edit is not None:
            edits[edit.start] = edit
        if isinstance(node, Call):
            of = [node.function.of] if isinstance(node.function, Member) else []
            inside = in_lambda or node.function.name in LAMBDAS
            waiting += [*((each, in_lambda) for each in of), *((each, inside) for each in node.arguments)]
        else:
            waiting += [(each, in_lambda) for each in children(node)]
    return apply_replacements(text, [edits[start] for start in sorted(edits)])


def _edit(node: Node, text: str, old: str, new: str, *, in_lambda: bool) -> Replacement | None:
    """Return the edit of a node that names the property itself."""
    is_plain = _IDENTIFIER.fullmatch(new) is not None
    if isinstance(node, Name):
        is_own = node.name in _OWN or (in_lambda and node.name in _ITEMS)
        if is_own or node.name.casefold() != old.casefold():
            return None
        can_stand_alone = is_plain and new not in (*_OWN, *_ITEMS, "true", "false", "null")
        written = new if can_stand_alone else f"note[{json.dumps(new, ensure_ascii=False)}]"
        return Replacement(node.start, end_of_token(text, node.start), written)
    if isinstance(node, Member) and _has_properties(node.of) and node.name.casefold() == old.casefold():
        if is_plain:
            return Replacement(node.start, end_of_token(text, node.start), new)
        dot = text.rindex(".", 0, node.start)
        return Replacement(dot, end_of_token(text, node.start), f"[{json.dumps(new, ensure_ascii=False)}]")
    literal = node.index if isinstance(node, Index) and _has_properties(node.of) else None
    if isinstance(node, Call) and isinstance(node.function, Member) and node.function.name == "hasProperty":
        literal = node.arguments[0] if node.arguments else None
    if not isinstance(literal, Literal) or str(literal.value).casefold() != old.casefold():
        return None
    end = end_of_token(text, literal.start)
    quote = text[literal.start]
    inner = json.dumps(new, ensure_ascii=False)[1:-1]
    inner = inner.replace('\\"', '"').replace("'", "\\'") if quote == "'" else inner
    return Replacement(literal.start, end, f"{quote}{inner}{quote}")


def _has_properties(node: Node) -> bool:
    """Tell whether the fields of a value are properties: ``note``, ``this``, ``file.properties``."""
    if isinstance(node, Member):
        return node.name == "properties"
    return isinstance(node, Name) and node.name in ("note", "property", "this")


def _rename_id(written: str, old: str, new: str) -> str:
    found = normal_id(written)
    if not found.startswith("note.") or found[5:].casefold() != old.casefold():
        return written
    is_bare = written.strip().casefold() == old.casefold() and normal_id(new) == f"note.{new}"
    return new if is_bare else f"note.{new}"


def _tree(text: str) -> YamlNode | None:
    try:
        return read_tree(text)
    except NotYamlError as error:
        raise NotRenamedError(f"is not YAML: {error}") from None


def _value(node: YamlNode) -> str:
    value: str = getattr(node.event, "value", "")
    return value


def _all(root: YamlNode | None) -> Iterator[YamlNode]:
    """Yield all texts, in their order."""
    return (node for node in _nodes(root) if node.kind == "ScalarEvent")


def _nodes(root: YamlNode | None) -> Iterator[YamlNode]:
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.inner)


def _pairs(node: YamlNode | None) -> Iterator[tuple[YamlNode, YamlNode]]:
    if node is not None and node.kind == "MappingStartEvent":
        yield from zip(node.inner[::2], node.inner[1::2], strict=True)


def _scalars(root: YamlNode | None, old: str, new: str) -> Iterator[_Scalar]:
    """Yield every text of the base that may name a property."""

    def expression(node: YamlNode) -> _Scalar:
        return _Scalar(node, rename_in_expression(_value(node), old, new), _in_flow(root, node))

    def property_id(node: YamlNode) -> _Scalar:
        return _Scalar(node, _rename_id(_value(node), old, new), _in_flow(root, node))

    for key, value in _pairs(root):
        name = _value(key)
        if name == "filters":
            yield from map(expression, _texts(value))
        elif name in ("formulas", "summaries"):
            yield from (expression(each) for _, each in _pairs(value) if each.kind == "ScalarEvent")
        elif name == "properties":
            yield from (property_id(each) for each, _ in _pairs(value))
        elif name == "views":
            for view in value.inner:
                yield from _in_view(view, expression, property_id)


def _in_view(
    view: YamlNode, expression: Callable[[YamlNode], _Scalar], property_id: Callable[[YamlNode], _Scalar]
) -> Iterator[_Scalar]:
    for key, value in _pairs(view):
        name = _value(key)
        if name == "filters":
            yield from map(expression, _texts(value))
        elif name == "order" or name in _ID_SETTINGS:
            yield from map(property_id, _texts(value))
        elif name in _ID_MAPS:
            yield from (property_id(each) for each, _ in _pairs(value))
        elif name in ("sort", "groupBy"):
            each_sort = value.inner if value.kind == "SequenceStartEvent" else [value]
            for each in each_sort:
                if each.kind == "ScalarEvent":
                    yield property_id(each)
                yield from (property_id(its) for what, its in _pairs(each) if _value(what) in ("property", "column"))


def _texts(node: YamlNode) -> Iterator[YamlNode]:
    """Yield the texts in a filter or list, at any depth, without the names of maps."""
    if node.kind == "ScalarEvent":
        yield node
    inner = node.inner[1::2] if node.kind == "MappingStartEvent" else node.inner
    for each in inner:
        yield from _texts(each)


def _in_flow(root: YamlNode | None, node: YamlNode) -> bool:
    """Tell whether a node is within ``[…]`` or ``{…}``, where commas and brackets end a text without quotes."""
    return any(
        each.style() in "[{" and each.start <= node.start < each.end
        for each in _nodes(root)
        if each.kind.endswith("StartEvent")
    )


def _written(scalar: _Scalar, text: str, offset: Callable[[tuple[int, int]], int]) -> str:
    """Return the YAML of a text in the style that it had. Raises NotRenamedError for a folded text."""
    style = scalar.node.style()
    if style in ("", "'", '"'):
        return one_line(scalar.renamed, style, 1 if scalar.in_flow else 0)
    raw = text[offset(scalar.node.start) : offset(scalar.node.end)]
    head, *lines = raw.split("\n")
    indent = next((line[: len(line) - len(line.lstrip(" "))] for line in lines if line.strip()), "")
    before = [line.removeprefix(indent) for line in lines]
    if style != "|" or "\n".join(before).rstrip("\n") != _value(scalar.node).rstrip("\n"):
        raise NotRenamedError("holds the name in a folded text (>): write that formula on one line")
    after = scalar.renamed.rstrip("\n").split("\n")
    count = len(_value(scalar.node).rstrip("\n").split("\n"))
    return "\n".join([head, *(f"{indent}{line}" if line else line for line in after), *lines[count:]])
