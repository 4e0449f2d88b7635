"""Edits a base: its filters, formulas, names and views. What an edit does not name stays as it is, to the byte.

An edit is a part of a base in the base's own words: a map is merged into what is there, ``None`` removes, and anything else
takes the place of what was there. Filters and grouping are replaced whole: half of a filter means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vaultwire.bases.base import (
    Base,
    Broken,
    Expression,
    Filter,
    Group,
    NotABaseError,
    View,
    conditions,
    place_of_name,
    read_base,
)
from vaultwire.bases.evaluation import DEFAULT_SUMMARIES, default_summary
from vaultwire.bases.functions import FILE_FIELDS, GLOBALS, METHOD_NAMES
from vaultwire.bases.parser import (
    ITEM_NAMES,
    ROOTS,
    Binary,
    Call,
    ListLiteral,
    Literal,
    Member,
    Name,
    Node,
    Unary,
    children,
    field_of,
    nodes_of,
    property_of,
    to_text,
)
from vaultwire.markdown.yaml_core import NotYamlError, PropertyValue, read_yaml
from vaultwire.markdown.yaml_edits import NotEditedError, rewritten

PARTS = ("filters", "formulas", "properties", "summaries")
"""The parts of a base that an edit of the base as a whole may name."""

_WHOLE = frozenset(("filters", "groupBy"))
_MOST_DEEP = 30
_NO_VALUES: Mapping[str, PropertyValue] = {}


class BaseEditError(ValueError):
    """The edit does not fit the base, or would break it. The message says why, and what would be right."""


class ViewEdit(NamedTuple):
    """An edit of one view: its name, and what changes in it. A view that there is not needs a ``type``, and is added.

    ``place``: its number afterwards, from 1; 0 leaves it where it is.
    """

    name: str
    changes: Mapping[str, PropertyValue] = _NO_VALUES
    new_name: str = ""
    is_removed: bool = False
    place: int = 0


def edit_base(text: str, changes: Mapping[str, PropertyValue], views: Sequence[ViewEdit]) -> str:
    """Return a base with the edits, one after the other. Raises BaseEditError, and NotABaseError for what is none before."""
    before = read_base(text)
    _check_depth([changes, *(edit.changes for edit in views)])
    unknown = [name for name in changes if name not in PARTS]
    if unknown:
        hint = " Views are given by name, each with its own changes." if "views" in unknown else ""
        raise BaseEditError(f"A base has {', '.join(PARTS)} and views, not {unknown[0]!r}.{hint}")
    values = read_yaml(text.replace("\r\n", "\n"), 1).values
    new_values = _merged(values, changes)
    if views:
        shown = _edited_views(_list(values.get("views")), views)
        new_values["views"] = [view.value for view in shown]
        if not shown:
            raise BaseEditError("The edit would remove the last view: a base shows at least one.")
    after = _written(text, new_values)
    _check(before, after)
    return after


def new_base(changes: Mapping[str, PropertyValue], views: Sequence[ViewEdit]) -> str:
    """Return the text of a new base; without views, it has one table. A view without a type is one. Raises BaseEditError."""
    names = [view.name for view in views]
    for place, name in enumerate(names):
        if place_of_name(names[:place], name) is not None:
            raise BaseEditError(f"There are two views {name!r}: give each a name of its own.")
    typed = [view._replace(changes={"type": "table", **view.changes}) for view in views or [ViewEdit("Table")]]
    return edit_base("", changes, typed)


def _merged(old: PropertyValue, changes: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return a map with changes in it. A map within that is left without entries goes."""
    merged = dict(old) if isinstance(old, dict) else {}
    for name, value in changes.items():
        new = value
        if isinstance(value, dict) and name not in _WHOLE:
            new = _merged(merged.get(name), value) or None
        if new is None:
            merged.pop(name, None)
        else:
            merged[name] = new
    return merged


def renamed_views(text: str, views: Sequence[ViewEdit]) -> Callable[[str], str | None]:
    """Return what gives the new name of a view for the one in a link; None if the link may stay. Raises BaseEditError."""
    old = _list(read_yaml(text.replace("\r\n", "\n"), 1).values.get("views"))
    after = {view.place: view.value for view in _edited_views(old, views)}

    def new_name(name: str) -> str | None:
        place = place_of_name(_names(old), name)
        if place is None or place not in after:
            return None
        before, now = (_view_name(each, place + 1) for each in (old[place], after[place]))
        return now if now != before else None

    return new_name


class _View(NamedTuple):
    """A view while edits are made, and its place before them; None for a new one."""

    value: PropertyValue
    place: int | None


def _edited_views(old: Sequence[PropertyValue], edits: Sequence[ViewEdit]) -> list[_View]:
    views = [_View(value, place) for place, value in enumerate(old)]
    for edit in edits:
        _edit_view(views, edit)
    return views


def _edit_view(views: list[_View], edit: ViewEdit) -> None:
    names = _names([view.value for view in views])
    place = place_of_name(names, edit.name)
    _check_names(names, edit, place)
    if place is None:
        if "type" not in edit.changes or edit.is_removed or edit.new_name:
            raise BaseEditError(
                f"The base has no view {edit.name!r}. {_known(names)} A new view needs a type: table, cards, list."
            )
        head: dict[str, PropertyValue] = {"type": edit.changes["type"], "name": edit.name}
        views.append(_View(_merged(head, edit.changes), None))
        place = len(views) - 1
    elif edit.is_removed:
        views.pop(place)
        return
    else:
        views[place] = views[place]._replace(value=_merged(views[place].value, edit.changes))
    if edit.new_name and edit.new_name != edit.name:
        views[place] = views[place]._replace(value=_merged(views[place].value, {"name": edit.new_name}))
    if edit.place:
        if edit.place > len(views):
            raise BaseEditError(f"The base has {len(views)} views, so none can be number {edit.place}.")
        views.insert(edit.place - 1, views.pop(place))


def _check_names(names: Sequence[str], edit: ViewEdit, place: int | None) -> None:
    """Raise BaseEditError for a name that a view cannot get."""
    now = edit.name if place is None else names[place]
    if edit.changes.get("name", now) != now:
        raise BaseEditError(f"Rename the view {edit.name!r} by new_name: then the links that name it follow.")
    new = edit.new_name or ("" if place is not None else edit.name)
    if len(new.splitlines()) > 1 or new != new.strip():
        raise BaseEditError(f"The name of a view is one line of text without spaces around it, not {new!r}.")
    is_renamed = place is not None and edit.new_name and edit.new_name != edit.name
    if is_renamed and place_of_name(names, edit.new_name) not in (None, place):
        raise BaseEditError(f"The base has a view {edit.new_name!r} already.")


def _check_depth(values: Sequence[PropertyValue | Mapping[str, PropertyValue]]) -> None:
    waiting: list[tuple[object, int]] = [(each, 0) for each in values]
    while waiting:
        each, depth = waiting.pop()
        inner = each.values() if isinstance(each, Mapping) else each if isinstance(each, list) else ()
        if inner and depth > _MOST_DEEP:
            raise BaseEditError(f"The edit has lists and objects more than {_MOST_DEEP} levels deep.")
        waiting += [(item, depth + 1) for item in inner]


def _names(views: Sequence[PropertyValue]) -> list[str]:
    """Return the names of views. A view without a name is ``View`` and its number."""
    return [_view_name(view, number) for number, view in enumerate(views, 1)]


def _view_name(view: PropertyValue, number: int) -> str:
    name = view.get("name") if isinstance(view, dict) else None
    return str(name) if isinstance(name, (str, int, float)) and name != "" else f"View {number}"


def _known(names: Sequence[str]) -> str:
    return f"It has {', '.join(map(repr, names[:20]))}." if names else "It has none."


def _list(value: PropertyValue) -> list[PropertyValue]:
    if value is not None and not isinstance(value, list):
        raise BaseEditError("The views of this base are no list: write them again by hand first.")
    return value or []


def _written(text: str, values: Mapping[str, PropertyValue]) -> str:
    try:
        return rewritten(text, values)
    except NotEditedError as error:
        raise BaseEditError(f"The base {error}. Nothing was changed.") from None


def _check(before: Base, text: str) -> None:
    """Raise BaseEditError for a base that has a problem or a broken expression that it had not before."""
    try:
        after = read_base(text)
    except (NotABaseError, NotYamlError) as error:
        raise BaseEditError(f"{error} Nothing was changed.") from None
    known = {*before.problems, *(each.text for each in _broken(before))}
    for problem in after.problems:
        if problem not in known:
            raise BaseEditError(f"{problem[:1].upper()}{problem[1:]}. Nothing was changed.")
    for each in _broken(after):
        if each.text not in known:
            raise BaseEditError(
                f"{each.text!r} cannot be read: {f'{each.message} {each.words}'.strip()} Nothing was changed."
            )


def _broken(base: Base) -> list[Broken]:
    """Return the expressions of a base that cannot be read."""
    filters = conditions(base.filter, *(view.filter for view in base.views))
    expressions = (*base.formulas.values(), *base.summaries.values(), *(each.expression for each in filters))
    return [each for each in expressions if isinstance(each, Broken)]


# What is wrong in a base: expressions that cannot be read, names that mean nothing, formulas that need themselves.

_LINE = re.compile(r"line (\d+)")
# Names with a meaning of their own; some only within functions of lists, which is not looked into.
_OWN = ROOTS | ITEM_NAMES | {"values"}

# Obsidian's own properties mean something though no note has them yet.
_WELL_KNOWN = frozenset(("tags", "aliases", "cssclasses"))


class BaseProblem(NamedTuple):
    """Something wrong: the line of the file, and what is wrong there. ``is_error``: nothing of the base can be shown."""

    line: int
    message: str
    is_error: bool = False


def check_base(text: str, first_line: int, properties: Collection[str]) -> list[BaseProblem]:
    """Return what is wrong in a base. ``properties``: the names, in small letters, of those that the vault's notes have."""
    try:
        base = read_base(text, first_line)
    except NotABaseError as error:
        found = _LINE.search(str(error))
        return [BaseProblem(int(found[1]) if found else first_line, str(error), is_error=True)]
    checker = _Checker(text, first_line, base, properties)
    return sorted(dict.fromkeys([*(BaseProblem(first_line, each) for each in base.problems), *checker.problems()]))


class _Checker:
    """Checks one base."""

    def __init__(self, text: str, first_line: int, base: Base, properties: Collection[str]) -> None:
        self._lines = text.split("\n")
        self._first = first_line
        self._base = base
        self._properties = properties

    def problems(self) -> Iterator[BaseProblem]:
        """Yield all problems."""
        base = self._base
        for name, expression in (*base.formulas.items(), *base.summaries.items()):
            yield from self._in_expression(expression, name)
        for name in _circles(base.formulas):
            yield self._at(f"{name}:", f"The formula {name!r} needs itself, so it has no value.")
        for condition in conditions(base.filter, *(view.filter for view in base.views)):
            yield from self._in_expression(condition.expression, condition.text)
        for view in base.views:
            yield from self._in_view(view)

    def _at(self, text: str, message: str) -> BaseProblem:
        """Return a problem on the first line that has a text; on the base's first line if none has it."""
        wanted = text.split("\n", maxsplit=1)[0].strip()
        number = next((number for number, line in enumerate(self._lines) if wanted and wanted in line), 0)
        return BaseProblem(self._first + number, message)

    def _in_view(self, view: View) -> Iterator[BaseProblem]:
        where = f"The view {view.name!r}"
        sorted_by = [each.property for each in view.sort]
        grouped = [view.group_by.property] if view.group_by else []
        for each in dict.fromkeys([*view.order, *sorted_by, *grouped, *view.summaries]):
            kind, _, name = each.partition(".")
            why = self._unknown(kind, name)
            if why:
                yield self._at(name, f"{where} names {each}: {why}")
        for column, name in view.summaries.items():
            if name not in self._base.summaries and default_summary(name) is None:
                known = ", ".join((*self._base.summaries, *DEFAULT_SUMMARIES))
                yield self._at(
                    name, f"{where} has the summary {name!r} of {column}, which there is not. There are: {known}."
                )
        if view.type == "kanban" and view.group_by is None:
            yield self._at(
                view.name, f"{where} is a kanban board without groupBy: say which property makes its columns."
            )

    def _in_expression(self, expression: Expression, place: str) -> Iterator[BaseProblem]:
        if isinstance(expression, Broken):
            yield self._at(expression.text or place, f"{expression.text!r} cannot be read. {expression.words}")
            return
        waiting: list[Node] = [expression]
        while waiting:
            node = waiting.pop()
            why, inner = self._wrong(node)
            waiting += inner
            if why:
                yield self._at(to_text(node) if to_text(node) in "\n".join(self._lines) else place, why)

    def _wrong(self, node: Node) -> tuple[str, Iterable[Node]]:
        """Return what is wrong with a node itself, and the nodes within it that are still to be checked."""
        if isinstance(node, Call):
            name = node.function.name
            if isinstance(node.function, Name):
                return ("" if name in GLOBALS else f"There is no function {name}()."), node.arguments
            wrong = "" if name in METHOD_NAMES else f"No value has a function {name}()."
            return wrong, (node.function.of, *node.arguments)
        field = field_of(node)
        if field is not None:
            return self._unknown(*field), ()
        if isinstance(node, Name):
            return ("" if node.name in _OWN else self._unknown("note", node.name)), ()
        return "", children(node)

    def _unknown(self, kind: str, name: str) -> str:
        """Return why there is no such property or field; "" if there is one."""
        if kind == "formula":
            known = ", ".join(self._base.formulas) or "none"
            return "" if name in self._base.formulas else f"There is no formula {name!r}. There are: {known}."
        if kind == "file":
            fields = ", ".join(FILE_FIELDS)
            return "" if name.split(".", maxsplit=1)[0] in FILE_FIELDS else f"A file has no {name!r}. It has: {fields}."
        is_there = name.casefold() in _WELL_KNOWN or name.casefold() in self._properties
        return "" if is_there else f"No note has the property {name!r}."


def _circles(formulas: Mapping[str, Expression]) -> list[str]:
    """Return the formulas that need themselves, right away or through others."""
    needs = {name: _needed(expression) & formulas.keys() for name, expression in formulas.items()}
    in_circles: list[str] = []
    for name, first in needs.items():
        reached: set[str] = set()
        waiting = [*first]
        while waiting:
            name_needed = waiting.pop()
            if name_needed not in reached:
                reached.add(name_needed)
                waiting += needs[name_needed]
        if name in reached:
            in_circles.append(name)
    return in_circles


def _needed(expression: Expression) -> set[str]:
    nodes = () if isinstance(expression, Broken) else nodes_of(expression)
    return {field[1] for node in nodes if (field := field_of(node)) is not None and field[0] == "formula"}


# What a new note needs to be in a view: the properties, tags and folder that its filters ask for.
#
# Filters that are joined by ``or`` or ``not`` tell nothing: the note may meet one of several, or none. An app of the version
# 1.9.4 and later does the same with equality and with "has property" (its release notes).


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


def _all_of(condition: Filter | None) -> Iterator[Node]:
    """Yield the expressions that must all hold."""
    if isinstance(condition, Group):
        if condition.kind == "and":
            for each in condition.filters:
                yield from _all_of(each)
    elif condition is not None and not isinstance(condition.expression, Broken):
        waiting: list[Node] = [condition.expression]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Binary) and node.operator == "&&":
                waiting += (node.right, node.left)
            else:
                yield node


def _equality(node: Binary, asked: _Asked) -> None:
    for side, other in ((node.left, node.right), (node.right, node.left)):
        constant = _constant(other)
        field, name = field_of(side), property_of(side)
        if field == ("file", "tags"):
            if isinstance(constant, list):
                asked.tags += [each.removeprefix("#") for each in constant if isinstance(each, str)]
        elif field == ("file", "folder"):
            if isinstance(constant, str):
                asked.folders.append(constant.strip("/"))
        elif name and (constant is not None or (isinstance(other, Literal) and other.value is None)):
            asked.give(name, constant)  # an empty property equals null


def _call(function: Member, arguments: tuple[Node, ...], asked: _Asked) -> None:
    texts = [each.value for each in arguments if isinstance(each, Literal) and isinstance(each.value, str)]
    if len(texts) != len(arguments) or not texts:
        return
    if not (isinstance(function.of, Name) and function.of.name == "file"):
        is_tags = field_of(function.of) == ("file", "tags") or property_of(function.of) == "tags"
        if function.name == "contains" and is_tags:
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
