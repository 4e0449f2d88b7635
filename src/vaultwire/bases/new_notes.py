"""What a new note needs to be in a view: the properties, tags and folder that its filters ask for.

Filters that are joined by ``or`` or ``not`` tell nothing: the note may meet one of several, or none. An app of the version
1.9.4 and later does the same with equality and with "has property" (its release notes).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vaultwire.bases.base import Base, Broken, Filter, Group, View
from vaultwire.bases.tree import Binary, Call, Index, ListLiteral, Literal, Member, Name, Node, Unary
from vaultwire.markdown.yaml_core import PropertyValue


@dataclass(slots=True)
class NewNoteInView:
    """Properties by name, tags among them; ``folder`` is None where the filters do not say one."""

    properties: dict[str, PropertyValue] = field(default_factory=dict)
    folder: str | None = None


def new_note_in(base: Base, view: View) -> NewNoteInView:
    """Return what a new note needs to meet the filters of a base and of its view, as far as they say it.

    The first value that a property must equal counts. Names of properties that differ only in case are one property.
    """
    asked = _Asked()
    for node in (*_all_of(base.filter), *_all_of(view.filter)):
        if isinstance(node, Binary) and node.operator == "==":
            _equality(node, asked)
        elif isinstance(node, Call) and isinstance(node.function, Member):
            _call(node.function, node.arguments, asked)
    if asked.tags:
        name = next((name for name in asked.properties if name.casefold() == "tags"), "tags")
        given = asked.properties.get(name)
        texts = [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, str)]
        asked.properties[name] = list(dict.fromkeys([*texts, *asked.tags]))
    return NewNoteInView(asked.properties, _one_folder(asked.folders))


@dataclass(slots=True)
class _Asked:
    """What the filters ask for, in their order."""

    properties: dict[str, PropertyValue] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def give(self, name: str, value: PropertyValue) -> None:
        """Give a property its value, unless it has one. A filter that asks only for the property gives None."""
        known = next((known for known in self.properties if known.casefold() == name.casefold()), name)
        if self.properties.get(known) is None:
            self.properties[known] = value


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


def _equality(node: Binary, asked: _Asked) -> None:
    for side, other in ((node.left, node.right), (node.right, node.left)):
        name = property_name(side)
        if name == "file.tags":
            constant = _constant(other)
            if isinstance(constant, list):
                asked.tags += [each.removeprefix("#") for each in constant if isinstance(each, str)]
        elif name:
            constant = _constant(other)
            if constant is not None or (isinstance(other, Literal) and other.value is None):
                asked.give(name, constant)  # an empty property equals null
        elif isinstance(side, Member) and side.name == "folder" and _is_file(side.of):
            folder = _constant(other)
            if isinstance(folder, str):
                asked.folders.append(folder.strip("/"))


def _call(function: Member, arguments: tuple[Node, ...], asked: _Asked) -> None:
    texts = [each.value for each in arguments if isinstance(each, Literal) and isinstance(each.value, str)]
    if len(texts) != len(arguments) or not texts:
        return
    if not _is_file(function.of):
        if function.name == "contains" and property_name(function.of) in ("tags", "file.tags"):
            asked.tags.append(texts[0].removeprefix("#"))
    elif function.name == "inFolder":
        asked.folders += [folder] if (folder := texts[0].strip("/")) else []  # every file is in the vault's own folder
    elif function.name == "hasProperty":
        asked.give(texts[0], None)
    elif function.name == "hasTag" and len(texts) == 1:
        asked.tags.append(texts[0].removeprefix("#"))


def _one_folder(folders: list[str]) -> str | None:
    """Return the deepest folder, if it is in all others; None if no folder is asked for, or none meets all filters."""
    deepest = max(folders, key=len, default=None)
    if deepest is None or not all(f"{deepest}/".startswith(f"{folder}/") for folder in folders if folder):
        return None
    return deepest


def _is_file(node: Node) -> bool:
    return isinstance(node, Name) and node.name == "file"


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
    """Return the value that an expression is in every note; None if it is none, as ``null`` is."""
    if isinstance(node, ListLiteral):
        items = [_constant(each) for each in node.items]
        return None if None in items else items
    if isinstance(node, Unary) and node.operator == "-":
        number = _constant(node.operand)
        return -number if isinstance(number, (int, float)) and not isinstance(number, bool) else None
    value = node.value if isinstance(node, Literal) else None
    return int(value) if isinstance(value, float) and value.is_integer() else value
