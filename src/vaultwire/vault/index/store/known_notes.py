"""Which notes have a property or a task that a search asks for, by the catalog alone: no note is read for it.

What matches is decided by ``vault.search.matching``, from the texts that the catalog has of properties and tasks.
"""

from __future__ import annotations

import json
import re
from array import array
from typing import Any

from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.note_finder import from_stored
from vaultwire.vault.index.store.schema import IN_LIST, IS_ASCII
from vaultwire.vault.index.store.search_plan import exact_value
from vaultwire.vault.search.filters import EMPTY_VALUES, scalars_as_texts
from vaultwire.vault.search.matching import Matcher, required_text
from vaultwire.vault.search.note_parts import Value
from vaultwire.vault.search.query import And, Expression, Or, Property, Within
from vaultwire.vault.search.terms import Text
from vaultwire.vault.search.text_forms import TextForms, fold_case, strip_diacritics
from vaultwire.vault.value_types import Progress

_WILD = re.compile("[%_/]")
# To compare more values or tasks than these takes longer than to read the notes that are shown.
_MOST_COMPARED = 20_000
_CHECK_EVERY = 1000


class KnownNotes:
    """What one catalog knows for one search."""

    def __init__(self, catalog: Catalog, matcher: Matcher, progress: Progress) -> None:
        self._catalog = catalog
        self._matcher = matcher
        self._progress = progress
        self.is_used = False
        """Whether an answer was given: it is of the catalog as it was then."""

    def with_property(self, wanted: Property) -> array[int] | None:
        """Return the ids of the notes with the property and its value, None if there are too many values to compare."""
        names = _plain_names(wanted.name)
        if names is None or wanted.value is None:
            return None
        ids: set[int] = set()
        for (name,) in self._catalog.rows("SELECT DISTINCT name FROM property_counts"):
            if exact_value(name) not in names:
                continue
            values = self._catalog.rows(
                "SELECT DISTINCT value, written FROM properties WHERE name = ? LIMIT ?", (name, _MOST_COMPARED)
            )
            if len(values) == _MOST_COMPARED:
                return None
            accepted: tuple[list[str], list[str]] = ([], [])
            for number, (value, written) in enumerate(values):
                if number % _CHECK_EVERY == 0:
                    self._progress.check()
                if any(self._matcher.accepts(wanted.value, each) for each in _values(name, value, written)):
                    accepted[written is not None].append(value if written is None else written)
            for test, stored in zip(("written IS NULL AND value", "written"), accepted, strict=True):
                statement = f"SELECT note FROM properties WHERE name = ? AND {test} {IN_LIST}"
                rows = self._catalog.rows(statement, (name, json.dumps(stored))) if stored else []
                ids.update(note_id for (note_id,) in rows)
        return self._answer(ids)

    def with_task(self, wanted: Within) -> array[int] | None:
        """Return the ids of the notes with a task that matches, None if there are too many tasks to compare."""
        if wanted.part == And(()):  # any task
            lines = {"task-todo": ("open_tasks",), "task-done": ("done_tasks",)}
            places = lines.get(wanted.operator, ("open_tasks", "done_tasks"))
            rows = [
                row
                for place in places
                for row in self._catalog.rows(f"SELECT id FROM files WHERE {place} IS NOT NULL AND NOT hidden")
            ]
            return self._answer({note_id for (note_id,) in rows})
        tests, values = ["1"], list[Any]()
        if wanted.operator != "task":
            tests.append("is_open = ?")
            values.append(wanted.operator == "task-todo")
        # SQLite folds the case of ASCII only; a task with other characters is compared here.
        required = required_text(wanted.part)
        sought = strip_diacritics(fold_case(required.text)) if required else ""
        is_ascii = IS_ASCII.format("text")
        if sought and sought.isascii():
            tests.append(f"(text LIKE ? ESCAPE '/' OR NOT {is_ascii})")
            values.append("%" + _WILD.sub(r"/\g<0>", sought) + "%")
        is_decided = (  # by SQLite, where the task is ASCII
            isinstance(wanted.part, Text)
            and bool(sought)
            and sought.isascii()
            and not (wanted.part.match_case or wanted.part.full_words)
        )
        compared = f"iif({is_ascii}, NULL, text)" if is_decided else "text"
        rows = self._catalog.rows(
            f"SELECT DISTINCT note, {compared} FROM tasks WHERE {' AND '.join(tests)} LIMIT ?",
            (*values, _MOST_COMPARED),
        )
        if len(rows) == _MOST_COMPARED:
            return None
        ids: set[int] = set()
        for number, (note_id, text) in enumerate(rows):
            if number % _CHECK_EVERY == 0:
                self._progress.check()
            if text is None or (note_id not in ids and self._matcher.is_in_piece(wanted.part, TextForms(text))):
                ids.add(note_id)
        return self._answer(ids)

    def _answer(self, ids: set[int]) -> array[int]:
        self.is_used = True
        return array("q", sorted(ids))


def _plain_names(name: Expression) -> set[str] | None:
    """Return the names that are asked for, as the text index has them; None if it is a pattern, or their case matters."""
    if isinstance(name, Or):
        parts = [_plain_names(part) for part in name.parts]
        return None if None in parts else {text for part in parts for text in part or ()}
    return {exact_value(name.text)} if isinstance(name, Text) and not name.match_case else None


def _values(name: str, value: str, written: str | None) -> list[Value]:
    """Return a property's value as search compares it; several where a note has names that differ only in case."""
    if written is None:
        plain = from_stored(value)
        variants: list[Any] = [[plain is None, plain in EMPTY_VALUES, scalars_as_texts(plain)]]
    else:
        variants = json.loads(written)
    return [
        Value(TextForms(name), [TextForms(text) for text in texts], is_null, is_empty)
        for is_null, is_empty, texts in variants
    ]
