"""Edits of YAML files: an entry is put in, renewed or removed as whole lines, and no other character changes.

The YAML library says where each value stands. Every edit is checked by the caller, who reads the new text and compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from vaultwire.client_setup.problems import BrokenFileError, NotEditableError

_USUAL_INDENT = 2
# Values that aliases add. No settings of a client have so many.
_MOST_COPIES = 10_000
_NULL = "tag:yaml.org,2002:null"


class _Member(NamedTuple):
    """A key of a mapping and its value."""

    key: str
    key_node: yaml.Node
    value: yaml.Node


def read(text: str) -> Any:
    """Return what a text says; an empty one is an empty mapping. Raises BrokenFileError."""
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            _check_aliases(root)
            found = None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise BrokenFileError(error.problem or error.context or "this is not YAML", line, column) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        raise BrokenFileError(error.reason, before.count("\n") + 1, error.position - before.rfind("\n")) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BrokenFileError(str(error) or "the values are nested too deeply", 1, 1) from None
    return {} if found is None else found


def _check_aliases(root: yaml.Node | None) -> None:
    """Raise BrokenFileError where aliases of aliases stand for so many values that nobody could compare them."""
    sizes: dict[int, int] = {}

    def expanded(node: yaml.Node) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 1  # should it be in itself
            members = node.value if isinstance(node, yaml.CollectionNode) else []
            nodes = [each for member in members for each in (member if isinstance(member, tuple) else (member,))]
            sizes[id(node)] = 1 + sum(map(expanded, nodes))
        return sizes[id(node)]

    if root is not None and expanded(root) > len(sizes) + _MOST_COPIES:
        raise BrokenFileError(f"its aliases stand for more than {_MOST_COPIES} values", 1, 1)


def write(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with a value at a path of keys: a container and a name in it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    container, name = keys
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    here = _member(root, container)
    if here is None:
        if isinstance(root, yaml.MappingNode) and root.flow_style:
            return _in_flow(text, root, container, {name: value})
        lines = _lines({container: {name: value}}, 0)
        ends = not text or text.endswith("\n")
        return f"{text}{'' if ends else newline}{newline.join(lines)}{newline if ends else ''}"
    node = here.value
    if not isinstance(node, yaml.MappingNode) and node.tag != _NULL:
        line = node.start_mark.line + 1
        raise NotEditableError(f"line {line}: {container!r} must be a mapping, with a name and a value on each line")
    old = _member(node, name)
    if isinstance(node, yaml.MappingNode) and node.flow_style:
        if old is None:
            return _in_flow(text, node, name, value)
        return text[: old.value.start_mark.index] + _flow(value) + text[old.value.end_mark.index :]
    if old is not None:
        start, end = _line_start(text, old), _end(text, old.value)
        lines = _lines({name: value}, old.key_node.start_mark.column)
        return text[:start] + newline.join(lines) + _last_line_end(text, start, end) + text[end:]
    indent = here.key_node.start_mark.column + _USUAL_INDENT
    if isinstance(node, yaml.MappingNode) and node.value:
        indent = node.value[0][0].start_mark.column
    place = _end(text, node if isinstance(node, yaml.MappingNode) and node.value else here.key_node)
    lines = _lines({name: value}, indent)
    ends = text[:place].endswith("\n")
    return f"{text[:place]}{'' if ends else newline}{newline.join(lines)}{newline if ends else ''}{text[place:]}"


def remove(text: str, keys: Sequence[str]) -> str:
    """Return the text without the member at a path of one or two keys, which must be there."""
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    for key in keys[:-1]:
        inner = _member(node, key)
        assert inner is not None
        node = inner.value
    member = _member(node, keys[-1])
    assert isinstance(node, yaml.MappingNode)
    assert member is not None
    if node.flow_style:
        return _without_flow(text, node, member)
    start, end = _line_start(text, member), _end(text, member.value)
    if end == len(text) and not text.endswith("\n"):
        start -= 2 if text[:start].endswith("\r\n") else 1 if start else 0
    return text[:start] + text[end:]


def _member(node: yaml.Node | None, key: str) -> _Member | None:
    """Return the member of a key; of several, the last one counts."""
    found = node.value if isinstance(node, yaml.MappingNode) else []
    for key_node, value in reversed(found):
        if key_node.value == key:
            return _Member(key, key_node, value)
    return None


def _line_start(text: str, member: _Member) -> int:
    """Return where the line of a key begins. Raises NotEditableError if something else is before it."""
    place = member.key_node.start_mark.index
    start = text.rfind("\n", 0, place) + 1
    if text[start:place].strip(" "):
        raise NotEditableError(
            f"line {member.key_node.start_mark.line + 1}: {member.key!r} shares its line with another value"
        )
    return start


def _end(text: str, node: yaml.Node) -> int:
    """Return where the last line of a value ends, comment and line end included.

    The library ends a block where the next one begins, so the end is that of the last value in it.
    """
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
        if isinstance(last, tuple) and node.tag == _NULL and node.start_mark.index == node.end_mark.index:
            node = last[0]  # a key without a value
    place: int = node.end_mark.index
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return place if text[:place].endswith("\n") else _line_end(text, place)
    return _line_end(text, place)


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end + 1


def _last_line_end(text: str, start: int, end: int) -> str:
    lines = text[start:end]
    return "\r\n" if lines.endswith("\r\n") else "\n" if lines.endswith("\n") else ""


def _lines(value: Mapping[str, Any], indent: int) -> list[str]:
    text: str = yaml.safe_dump(
        dict(value), sort_keys=False, allow_unicode=True, default_flow_style=False, width=float("inf")
    )
    return [" " * indent + line for line in text.removesuffix("\n").split("\n")]


def _flow(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _in_flow(text: str, node: yaml.MappingNode, key: str, value: Any) -> str:
    """Return the text with a first member in a mapping that is written in braces."""
    place = node.start_mark.index + 1
    return f"{text[:place]}{_flow(key)}: {_flow(value)}{', ' if node.value else ''}{text[place:]}"


def _without_flow(text: str, node: yaml.MappingNode, member: _Member) -> str:
    ends = [value.end_mark.index for _, value in node.value]
    starts = [key.start_mark.index for key, _ in node.value]
    number = starts.index(member.key_node.start_mark.index)
    if number + 1 < len(starts):
        return text[: starts[number]] + text[starts[number + 1] :]
    start = ends[number - 1] if number else starts[number]
    return text[:start] + text[ends[number] :]
