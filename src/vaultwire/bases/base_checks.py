"""What is wrong in a base: expressions that cannot be read, names that mean nothing, formulas that need themselves."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from vaultwire.bases.base import Base, Broken, Expression, Filter, Group, View
from vaultwire.bases.base_file import NotABaseError, read_base
from vaultwire.bases.functions.files import FILE_FIELDS
from vaultwire.bases.functions.table import GLOBALS, METHOD_NAMES
from vaultwire.bases.parser import children
from vaultwire.bases.printer import to_text
from vaultwire.bases.summaries import DEFAULT_SUMMARIES, default_summary
from vaultwire.bases.tree import Call, Index, Literal, Member, Name, Node

_LINE = re.compile(r"line (\d+)")
# Names with a meaning of their own; ``value``, ``index``, ``acc`` only within functions of lists, which is not looked into.
_OWN = frozenset(("file", "this", "note", "property", "formula", "value", "index", "acc", "values"))

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
        yield from self._in_filter(base.filter)
        for view in base.views:
            yield from self._in_filter(view.filter)
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

    def _in_filter(self, wanted: Filter | None) -> Iterator[BaseProblem]:
        waiting = [wanted] if wanted is not None else []
        while waiting:
            each = waiting.pop()
            if isinstance(each, Group):
                waiting += each.filters
            else:
                yield from self._in_expression(each.expression, each.text)

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
        field = _field_of(node)
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


def _field_of(node: Node) -> tuple[str, str] | None:
    """Return kind and name of ``note.x``, ``file.x``, ``formula.x`` or the same in brackets."""
    if isinstance(node, Index) and isinstance(node.index, Literal) and isinstance(node.index.value, str):
        of, name = node.of, node.index.value
    elif isinstance(node, Member):
        of, name = node.of, node.name
    else:
        return None
    if not isinstance(of, Name) or of.name not in ("note", "property", "file", "formula"):
        return None
    return ("note" if of.name == "property" else of.name), name


def _circles(formulas: Mapping[str, Expression]) -> list[str]:
    """Return the formulas that need themselves, right away or through others."""
    needs = {name: _needed(expression) & formulas.keys() for name, expression in formulas.items()}
    found: list[str] = []
    for name, first in needs.items():
        reached: set[str] = set()
        waiting = [*first]
        while waiting:
            each = waiting.pop()
            if each not in reached:
                reached.add(each)
                waiting += needs[each]
        if name in reached:
            found.append(name)
    return found


def _needed(expression: Expression) -> set[str]:
    found: set[str] = set()
    waiting: list[Node] = [] if isinstance(expression, Broken) else [expression]
    while waiting:
        node = waiting.pop()
        field = _field_of(node)
        if field is not None and field[0] == "formula":
            found.add(field[1])
        waiting += children(node)
    return found
