"""What fails in a view, so that no answer hides it: expressions that cannot be read, and those that give errors for files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from vaultwire.bases.base import Base, Broken, Expression, View
from vaultwire.bases.functions.table import GLOBALS, METHOD_NAMES
from vaultwire.bases.parser import Call, Index, Literal, Member, Name, Node, children
from vaultwire.bases.summaries import DEFAULT_SUMMARIES, default_summary
from vaultwire.bases.values import no_function
from vaultwire.vault.base_queries.uses import conditions, property_ids

FILTER, FORMULA, SORTING, GROUPING, SUMMARY = "The filter", "The formula", "Sorting by", "Grouping by", "The summary of"


class Failures:
    """The failures of one view. Those of its text are known from the start; those of files are added while it runs."""

    def __init__(self, base: Base, view: View) -> None:
        self._base = base
        filters = [
            (FILTER, each.text, each.expression) for each in (*conditions(base.filter), *conditions(view.filter))
        ]
        seen: set[str] = set()
        of_rows = dict(_failures_of_text(base, filters, [], seen))
        named = [each.removeprefix("formula.") for each in property_ids(view) if each.startswith("formula.")]
        own = [
            (SUMMARY, column, base.summaries[name]) for column, name in view.summaries.items() if name in base.summaries
        ]
        self._of_text = of_rows | dict(_failures_of_text(base, own, named, seen)) | dict(_unknown_summaries(base, view))
        self._of_files: dict[tuple[str, str], tuple[str, str, int]] = {}
        # What is wrong with the order counts where a limit leaves only the first files.
        self.of_rows = [*base.problems, *_in_words(of_rows if view.limit is None else self._of_text)]
        """What was not understood of those parts that say which files the view shows, in words."""

    def add(self, of: str, text: str, message: str, path: str) -> None:
        """Add a failure for one file; "" is for all together. ``of``: a word above; ``text``: the expression or the id."""
        first, at, count = self._of_files.get((of, text), (message, path, 0))
        self._of_files[of, text] = first, at, count + 1

    @property
    def all(self) -> list[str]:
        """All that was not understood or failed, in words. Cells say themselves that they failed."""
        failed: dict[tuple[str, str], str] = {}
        for place, (message, path, count) in self._of_files.items():
            files = f" for {path!r}" if count == 1 else f" for {count} files, first {path!r}"
            failed[place] = f"failed{files if path else ''}: {message}"
        return [*self._base.problems, *_in_words(failed | self._of_text)]


_Wrong: TypeAlias = tuple[tuple[str, str], str]
"""Where something is wrong: of what, and its text; and what is wrong."""


def _in_words(wrong: Mapping[tuple[str, str], str]) -> Iterator[str]:
    return (f"{of} {text!r} {what}" for (of, text), what in wrong.items())


def _unknown_summaries(base: Base, view: View) -> Iterator[_Wrong]:
    for column, name in view.summaries.items():
        if name not in base.summaries and default_summary(name) is None:
            known = ", ".join((*base.summaries, *DEFAULT_SUMMARIES))
            yield (SUMMARY, column), f"is {name!r}, which there is not. There are: {known}."


def _failures_of_text(
    base: Base, expressions: Sequence[tuple[str, str, Expression]], formulas: Sequence[str], seen: set[str]
) -> Iterator[_Wrong]:
    """Yield what fails for every file, in expressions and in the formulas that they need. ``seen``: formulas known before."""
    waiting = [*expressions]
    named = [*formulas]
    while waiting or named:
        for formula in named:
            if formula in seen:
                continue
            seen.add(formula)
            if formula in base.formulas:
                waiting.append((FORMULA, formula, base.formulas[formula]))
            else:
                yield (FORMULA, formula), f"is not there. There are: {', '.join(base.formulas) or 'none'}."
        named = []
        for of, text, expression in waiting:
            if isinstance(expression, Broken):
                yield (of, text), f"cannot be read: {expression.message} {expression.words}".rstrip()
                continue
            wrong, needed = _unknown(expression)
            named += needed
            if wrong:
                yield (of, text), f"fails: {wrong}"
        waiting = []


def _unknown(expression: Node) -> tuple[str, list[str]]:
    """Return the error of the first function that no value has ("" if all are known), and the formulas that are asked for."""
    wrong = ""
    formulas: list[str] = []
    waiting: list[Node] = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call):
            name, is_global = node.function.name, isinstance(node.function, Name)
            if name not in (GLOBALS if is_global else METHOD_NAMES):
                wrong = wrong or str(no_function(name))
            waiting += node.arguments if isinstance(node.function, Name) else (node.function.of, *node.arguments)
            continue
        if isinstance(node, (Member, Index)) and isinstance(node.of, Name) and node.of.name == "formula":
            index = node.index if isinstance(node, Index) else None
            if isinstance(node, Member):
                formulas.append(node.name)
            elif isinstance(index, Literal) and isinstance(index.value, str):
                formulas.append(index.value)
        waiting += children(node)
    return wrong, formulas
