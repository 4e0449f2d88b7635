"""What a new note needs to be in a view: the properties, tags and folder that its filters ask for.

Filters that are joined by ``or`` or ``not`` tell nothing: the note may meet one of several, or none. An app of the version
1.9.4 and later does the same with equality and with "has property" (its release notes).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vaultwire.bases.base import Base, Broken, Filter, Group, View
from vaultwire.bases.tree import Binary, Call, Index, ListLiteral, Literal, Member, Name, Node
from vaultwire.markdown.yaml_core import PropertyValue


@dataclass(slots=True)
class NewNoteInView:
    """Properties by name, tags among them; ``folder`` is None where the filters do not say one."""

    properties: dict[str, PropertyValue] = field(default_factory=dict)
    folder: str | None = None


def new_note_in(base: Base, view: View) -> NewNoteInView:
    """Return what a new note needs to meet the filters of a base and of its view, as far as they say it."""
    found = NewNoteInView()
    tags: list[str] = []
    for node in (*_all_of(base.filter), *_all_of(view.filter)):
        if isinstance(node, Binary) and node.operator == "==":
            _equality(node, found)
        elif isinstance(node, Call) and isinstance(node.function, Member):
            _call(node.function, node.arguments, found, tags)
    if tags:
        given = found.properties.get("tags")
        found.properties["tags"] = list(dict.fromkeys([*(given if isinstance(given, list) else []), *tags]))
    return found


def _all_of(wanted: Filter | None) -> Iterator[Node]:
    """Yield the expressions that must all hold."""
    if isinstance(wanted, Group):
        if wanted.kind == "and":
            for each in wanted.filters:
                yield from _all_of(each)
    elif wanted is not None and not isinstance(wanted.expression, Broken):
        waiting: list[Node] = [wanted.expression]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Binary) and node.operator == "&&":
                waiting += (node.right, node.left)
            else:
                yield node


def _equality(node: Binary, found: NewNoteInView) -> None:
    for side, other in ((node.left, node.right), (node.right, node.left)):
        name, is_constant = property_name(side), isinstance(other, (Literal, ListLiteral))
        if name and is_constant:
            found.properties.setdefault(name, _constant(other))
        elif isinstance(side, Member) and side.name == "folder" and _is_file(side.of) and isinstance(other, Literal):
            found.folder = _folder(str(other.value), found.folder)


def _call(function: Member, arguments: tuple[Node, ...], found: NewNoteInView, tags: list[str]) -> None:
    texts = [each.value for each in arguments if isinstance(each, Literal) and isinstance(each.value, str)]
    if len(texts) != len(arguments) or not texts:
        return
    if not _is_file(function.of):
        if function.name == "contains" and property_name(function.of) in ("tags", "file.tags"):
            tags.append(texts[0].removeprefix("#"))
    elif function.name == "inFolder":
        found.folder = _folder(texts[0], found.folder)
    elif function.name == "hasProperty":
        found.properties.setdefault(texts[0], None)
    elif function.name == "hasTag" and len(texts) == 1:
        tags.append(texts[0].removeprefix("#"))


def _is_file(node: Node) -> bool:
    return isinstance(node, Name) and node.name == "file"


def _folder(text: str, before: str | None) -> str:
    """Return the deeper of two folders: both filters must hold."""
    folder = text.strip("/")
    return before if before is not None and len(before) > len(folder) else folder


def property_name(node: Node) -> str:
    """Return the name of the note's property that an expression is; "" if it is none."""
    if isinstance(node, Name):
        return "" if node.name in ("file", "this", "note", "property", "formula") else node.name
    if isinstance(node, Member) and _is_file(node.of) and node.name == "tags":
        return "file.tags"
    if isinstance(node, Index) and isinstance(node.index, Literal) and isinstance(node.index.value, str):
        of, name = node.of, node.index.value
    elif isinstance(node, Member):
        of, name = node.of, node.name
    else:
        return ""
    return name if isinstance(of, Name) and of.name in ("note", "property") else ""


def _constant(node: Node) -> PropertyValue:
    if isinstance(node, ListLiteral):
        return [_constant(each) for each in node.items]
    value = node.value if isinstance(node, Literal) else None
    return int(value) if isinstance(value, float) and value.is_integer() else value
