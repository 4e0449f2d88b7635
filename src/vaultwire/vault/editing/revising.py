"""Editing notes that exist: targeted edits, diffs, properties and tasks.

How a text changes is decided by ``plans.targeted_edits`` and ``markdown``. Here a note's bytes become text and back, and
values that callers write as text become properties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from vaultwire.markdown import edits
from vaultwire.markdown.canvas import CanvasEdit, CanvasEditError, NotACanvasError, edit_canvas
from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, remove_properties, set_properties, written_properties
from vaultwire.markdown.property_values import other_spelling, read_text
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.changes.change import Step, Write
from vaultwire.vault.days import parse_day
from vaultwire.vault.disk.contents import edited_bytes, to_bytes
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.editing.workbench import Asked, Done, Match, Workbench
from vaultwire.vault.errors import AMBIGUOUS_TARGET, INVALID_ARGUMENTS, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.links.note_lookup import locate_canvas, locate_file
from vaultwire.vault.plans.context import Plan, PlanContext, decode_note, with_bom
from vaultwire.vault.plans.heading_links import follow_headings
from vaultwire.vault.plans.targeted_edits import Edit, apply_edits
from vaultwire.vault.plans.task_edits import EditedTask, TaskEdit, edit_tasks, parse_mark
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath, asking

if TYPE_CHECKING:
    from vaultwire.bases.base_edits import ViewEdit
    from vaultwire.vault.base_queries.running import BaseSource

ValueKind: TypeAlias = Literal["auto", "text", "number", "checkbox", "list", "empty"]
"""What a text given for a property is; ``auto`` takes what YAML reads in it, and the property's type in the vault."""

_BOOLEANS = {"true": True, "false": False}
# Types whose values are text in YAML, also where they look like a number or a date.
_TEXT_TYPES = ("text", "date", "datetime")
_NOTHING_MORE = Asked()
_NO_EDITS = 'edits is missing: {"edits": [{"action": "append", "content": "…"}]}.'


class GivenProperty(NamedTuple):
    """A property as a caller gives it. ``kind`` says what texts in its value are: those of JSON are ``text``."""

    name: str
    value: PropertyValue
    kind: ValueKind


class GivenTask(NamedTuple):
    """A task as a caller names it, and what it should become: ``status`` as for ``parse_mark``, ``due`` a day or ``none``.

    ``status`` and ``due`` are None for what stays.
    """

    path: str
    text: str
    line: int | None
    status: str | None
    due: str | None


class SetTask(NamedTuple):
    """A task that was edited, as it is now."""

    path: VaultPath
    task: EditedTask


class Revised(NamedTuple):
    """A note that was edited: its bytes before, and the change."""

    path: VaultPath
    before: bytes
    done: Done


class Revising:
    """The edits of one caller in the notes of one vault."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def edit(
        self,
        name: str,
        edits: Sequence[Edit],
        diff: str,
        if_match: Match,
        progress: Progress,
        *,
        dry_run: bool,
        keeps_frontmatter: bool = False,
    ) -> Revised:
        """Make all the edits, or apply a unified diff; exactly one of the two is given. See ``targeted_edits.Edit``.

        Raises VaultError: those of ``locate``, ``Workbench.edit``, ``apply_edits`` and ``apply_diff``; NOT_UTF8.
        """
        if bool(edits) is bool(diff):
            message = "Give edits or a diff, not both." if diff else _NO_EDITS
            raise VaultError(INVALID_ARGUMENTS, message, argument="edits")

        notices: list[str] = []

        def change(path: VaultPath, text: str) -> str:
            if diff:
                return apply_diff(path, text, diff, progress)
            return apply_edits(path, text, list(edits), self._change_property, progress, notices)

        asked = Asked(keeps_frontmatter=keeps_frontmatter)
        (revised,) = self._revise([name], change, if_match, progress, notices, asked=asked, dry_run=dry_run)
        return revised

    def revise_properties(
        self,
        names: Sequence[str],
        given: Sequence[GivenProperty],
        removed: Sequence[str],
        if_match: Match,
        progress: Progress,
        *,
        dry_run: bool,
    ) -> list[Revised]:
        """Set and remove properties of notes, in one change; every other byte stays. See ``markdown.property_edits``."""
        types, values = self._types(), self._values(given, progress)
        untyped = {entry.name for entry in given if entry.kind not in ("number", "checkbox")}
        numbers = [name for name in untyped if isinstance(values[name], (int, float))]
        notices: list[str] = []

        def change(path: VaultPath, text: str) -> str:
            changed = set_properties(text, values, types, progress.check, untyped) if values else text
            if not removed and not numbers:
                return changed
            read = parse_frontmatter(to_plain(changed))
            kept = [name for name in numbers if isinstance(read.value(name), str) and types.get(fold(name)) != "text"]
            notices.extend(f"{path}: {name} was a text in quotes, and still is one." for name in kept)
            there = {fold(name) for name in read.values}
            absent = [repr(name) for name in removed if fold(name) not in there]
            if absent:
                notices.append(f"{path} has no property {' or '.join(absent)}.")
            return remove_properties(changed, removed, progress.check)

        return self._revise(names, change, if_match, progress, notices, dry_run=dry_run)

    def revise_inline_fields(
        self,
        names: Sequence[str],
        given: Sequence[GivenProperty],
        removed: Sequence[str],
        if_match: Match,
        progress: Progress,
        *,
        dry_run: bool,
    ) -> list[Revised]:
        """Set and remove inline fields of notes, in one change; every other byte stays. See ``dataview.fields``.

        Raises VaultError: INVALID_ARGUMENTS for a field that a note does not have, or has several times.
        """
        from vaultwire.dataview.fields import FieldError, edited_fields, remove_field, set_field  # noqa: PLC0415 - few edits need it

        def change(path: VaultPath, text: str) -> str:
            def edit(plain: str) -> str:
                for each in given:
                    plain = set_field(plain, each.name, _field_text(each.value))
                for name in removed:
                    plain = remove_field(plain, name)
                return plain

            try:
                return edited_fields(text, edit)
            except FieldError as error:
                raise VaultError(INVALID_ARGUMENTS, f"{path} {error}.", path=path) from None

        return self._revise(names, change, if_match, progress, dry_run=dry_run)

    def with_properties(self, text: str, given: Sequence[GivenProperty], progress: Progress) -> str:
        """Return the text of a new note with these properties."""
        try:
            return set_properties(text, self._values(given, progress), self._types(), progress.check)
        except PropertyEditError as error:
            raise VaultError(INVALID_ARGUMENTS, f"properties: {error}", argument="properties") from None

    def _values(self, given: Sequence[GivenProperty], progress: Progress) -> dict[str, PropertyValue]:
        types = self._types()
        values: dict[str, PropertyValue] = {}
        names: set[str] = set()
        for entry in asking(progress, given):
            if fold(entry.name) in names:
                raise VaultError(
                    INVALID_ARGUMENTS, f"properties: {entry.name!r} is given twice.", argument="properties"
                )
            names.add(fold(entry.name))
            values[entry.name] = to_value(entry, types, self._bench.now().date())
        return values

    def edit_canvas(
        self, name: str, edits: Sequence[CanvasEdit], if_match: str | None, progress: Progress, *, dry_run: bool
    ) -> tuple[Revised, list[str]]:
        """Make all the edits of a canvas; every other byte stays. Return also the ids of what was added.

        The files of file nodes are named as for ``locate_file``. Raises VaultError: INVALID_ARGUMENTS for a file that is no
        canvas and for an edit that cannot be made; those of ``locate_file`` and ``Workbench.read``.
        """
        added: list[str] = []

        def change(text: str) -> str:
            edited = edit_canvas(text, located)
            added.extend(edited.added)
            return edited.text

        with self._bench.locked(progress) as context:
            path = locate_canvas(context.files, context.index, name, progress)
            before = self._bench.read(path, if_match)
            located = [_located(context, edit) for edit in edits]
            try:
                after = edited_bytes(before, change)
            except NotACanvasError as error:
                raise VaultError(INVALID_ARGUMENTS, f"{path!r} cannot be edited: it {error}.", path=path) from None
            except CanvasEditError as error:
                raise VaultError(INVALID_ARGUMENTS, f"{path!r} was not changed: {error}", path=path) from None
            except UnicodeEncodeError:
                raise VaultError(INVALID_ARGUMENTS, "An edit holds half of a surrogate pair.", path=path) from None
            done = self._bench.finish([Write(path, before, after)], [], progress, dry_run=dry_run)
            return Revised(path, before, done), added

    def edit_base(
        self,
        source: BaseSource,
        changes: Mapping[str, PropertyValue],
        views: Sequence[ViewEdit],
        if_match: str | None,
        progress: Progress,
        *,
        dry_run: bool,
    ) -> Revised:
        """Edit a ``.base`` file or a base block of a note; all that the edits do not name stays. See ``bases.base_edits``.

        Links and embeds with the name of a view (``![[Name.base#View]]``) follow where the view gets another name.

        What is wrong in the base afterwards and was not before is a notice. Raises VaultError: INVALID_ARGUMENTS for what
        cannot be edited so; those of ``locate_base``, ``locate`` and ``Workbench.read``.
        """
        from vaultwire.vault.base_queries.bases import locate_base  # noqa: PLC0415 - most callers have no base
        from vaultwire.vault.editing.base_texts import BaseText  # noqa: PLC0415

        with self._bench.locked(progress) as context:
            if source.block:
                path = context.locate(source.path)
            else:
                path = locate_base(context.files, context.index, source.path, progress)
            before = self._bench.read(path, if_match)
            edited = BaseText(source.block, changes, views)
            after = edited_bytes(before, lambda text: edited.edit(path, text))
            plan = Plan(steps=[Write(path, before, after)])
            follow_headings(context, plan, edited.new_subpaths(path))
            names = {each.name.casefold() for each in context.index.properties("", None, progress)}
            notices = [
                *edited.notices(names),
                *(f"{each}: links were not looked at: {why}" for each, why in plan.skipped),
            ]
            asked = Asked(f"Renaming {edited.renames} in {path!r}", named=(path,)) if edited.renames else Asked()
            done = self._bench.finish(plan.steps, notices, progress, dry_run=dry_run, asked=asked)
            return Revised(path, before, done)

    def set_tasks(
        self, given: Sequence[GivenTask], if_match: str | None, progress: Progress, *, dry_run: bool
    ) -> tuple[list[SetTask], Done]:
        """Set marks and due dates of tasks, in one change; every other byte stays. See ``task_edits.edit_tasks``.

        A task is named by its text, or by its line: the answer tells which task stood there. ``if_match`` is for tasks of
        one note. Raises VaultError as ``edit`` does.
        """
        today = self._bench.now().date()
        edits = [self._to_edit(each, today) for each in given]
        with self._bench.locked(progress) as context:
            notes: dict[VaultPath, list[TaskEdit]] = {}
            for each, edit in zip(asking(progress, given), edits, strict=True):
                notes.setdefault(context.locate(each.path), []).append(edit)
            if if_match is not None and len(notes) > 1:
                raise VaultError(INVALID_ARGUMENTS, "if_match: it is for the tasks of one note.", argument="if_match")
            steps: list[Step] = []
            found: list[SetTask] = []
            notices: list[str] = []
            for path, of_note in notes.items():
                before = self._bench.read(path, if_match)
                text = decode_note(path, before)
                new, tasks, remarks = edit_tasks(path, text, of_note, context.settings, today)
                steps.append(Write(path, before, with_bom(to_bytes(new, before), before)))
                found += [SetTask(path, task) for task in tasks]
                notices += remarks
            return found, self._bench.finish(steps, notices, progress, dry_run=dry_run)

    def _to_edit(self, given: GivenTask, today: date) -> TaskEdit:
        if given.status is None and given.due is None:
            raise VaultError(INVALID_ARGUMENTS, "tasks: give status or due, or both.", argument="tasks")
        if not given.text.strip() and given.line is None:
            raise VaultError(INVALID_ARGUMENTS, "tasks: give the task's text, or its line as listed.", argument="tasks")
        mark = None if given.status is None else parse_mark(given.status)
        due = given.due if given.due is None else given.due.strip()
        if due is not None:
            due = "" if due.lower() in ("", "none") else parse_day(due, today).isoformat()
        return TaskEdit(given.text, given.line, mark, due)

    def _revise(
        self,
        names: Sequence[str],
        change: Callable[[VaultPath, str], str],
        if_match: Match,
        progress: Progress,
        notices: Sequence[str] = (),
        *,
        asked: Asked = _NOTHING_MORE,
        dry_run: bool,
    ) -> list[Revised]:
        """Change the texts of notes in one change. ``change`` may add to the ``notices``."""
        before: dict[VaultPath, bytes] = {}
        merges: list[str] = []
        steps: list[Step] = []
        with self._bench.locked(progress) as context:
            for name in asking(progress, names):
                path = context.locate(name)
                if path in before:
                    continue
                edited = self._bench.edit(path, if_match, partial(_changed_note, path, change))
                before[path] = edited.before
                merges += edited.notices
                steps.append(Write(path, edited.before, edited.after))
            done = self._bench.finish(steps, [*notices, *merges], progress, dry_run=dry_run, asked=asked)
        return [Revised(path, old, done) for path, old in before.items()]

    def _change_property(self, text: str, edit: Edit) -> str:
        """Make one edit of a property: append and prepend add to a list, delete takes the property away."""
        name = edit.property or ""
        if edit.action == "delete":
            return remove_properties(text, [name])
        types = self._types()
        kind: ValueKind = "auto" if edit.action == "replace" else "list"
        value = to_value(GivenProperty(name, edit.content or "", kind), types, self._bench.now().date())
        if edit.action != "replace":
            current = _current_value(text, name)
            items = current if isinstance(current, list) else [] if current is None else [current]
            added = value if isinstance(value, list) else []
            value = [*items, *added] if edit.action == "append" else [*added, *items]
        return set_properties(text, {name: value}, types, untyped=(name,))

    def _types(self) -> Mapping[str, str]:
        return self._bench.settings.get().property_types


def _changed_note(path: VaultPath, change: Callable[[VaultPath, str], str], data: bytes) -> bytes:
    try:
        text = change(path, decode_note(path, data))
    except PropertyEditError as error:
        raise VaultError(INVALID_ARGUMENTS, f"{path}: {error}", path=path) from None
    return with_bom(to_bytes(text, data), data)


def apply_diff(path: VaultPath, text: str, diff: str, progress: Progress = NO_PROGRESS) -> str:
    """Return the text with a unified diff applied, as ``patches.apply_diff`` does.

    Raises VaultError: TEXT_NOT_FOUND and AMBIGUOUS_TARGET for a hunk without a place or with several, INVALID_ARGUMENTS
    for what is no diff.
    """
    try:
        return edits.apply_diff(text, diff, progress.check)
    except edits.NoPlaceError as error:
        raise VaultError(TEXT_NOT_FOUND, f"{path}: {error}", path=path) from None
    except edits.AmbiguousPlaceError as error:
        raise VaultError(AMBIGUOUS_TARGET, f"{path}: {error}", path=path, lines=error.lines) from None
    except edits.DiffError as error:
        raise VaultError(INVALID_ARGUMENTS, f"diff: {error}", argument="diff") from None


def to_value(given: GivenProperty, types: Mapping[str, str], today: date) -> PropertyValue:
    """Return the value that a property gets. Raises VaultError (INVALID_ARGUMENTS) for text that is not of its kind.

    A text becomes a number, true or false only where that is written as the text is (``read_text``). A date may be given as
    ``parse_day`` reads it: "tomorrow", "+7".
    """
    name, value, kind = given
    if kind == "empty":
        return None
    if isinstance(value, list):
        return value if kind == "text" else [*map(_item, value)]
    if not isinstance(value, str):
        return [value] if kind == "list" and value is not None else value
    declared = types.get(fold(name))
    if declared == "date" and kind in ("auto", "text"):
        return _day(value, today)
    if kind == "text" or (kind == "auto" and declared in _TEXT_TYPES):
        return value
    if kind == "checkbox":
        if value.lower() not in _BOOLEANS:
            raise VaultError(INVALID_ARGUMENTS, f"{name}: {value!r} is neither true nor false.", property=name)
        return _BOOLEANS[value.lower()]
    read = read_text(value)
    if kind == "number" and (isinstance(read, bool) or not isinstance(read, (int, float))):
        message = f"{name}: expected a number, not {value!r}{other_spelling('number', value)}."
        raise VaultError(INVALID_ARGUMENTS, message, property=name)
    return [_item(value)] if kind == "list" else read


def _day(text: str, today: date) -> str:
    """Return a day in the form of dates in properties; a text that is none as it is, for the check of the type."""
    try:
        return parse_day(text, today).isoformat()
    except VaultError:
        return text


def _item(value: PropertyValue) -> PropertyValue:
    """Return an item of a list: a text, or the number that it spells."""
    read = read_text(value) if isinstance(value, str) else value
    return value if isinstance(read, bool) else read


def _current_value(text: str, name: str) -> PropertyValue:
    """Return the value of the property that ``set_properties`` would set: one with this spelling before one in another case."""
    values = written_properties(text)
    if name in values:
        return values[name]
    return next((value for key, value in values.items() if fold(key) == fold(name)), None)


def _located(context: PlanContext, edit: CanvasEdit) -> CanvasEdit:
    """Return the edit with the path of the file that it names, and the heading or block after ``#`` as its subpath."""
    named = edit.fields.get("file")
    if named is None:
        return edit
    name, mark, subpath = named.partition("#")
    path = locate_file(context.files, context.index, name, context.progress)
    return edit._replace(fields={**edit.fields, "file": path, "subpath": mark + subpath if subpath else None})


def _field_text(value: PropertyValue) -> str:
    """Return a value as it is written in an inline field: true and false in small letters, a list with commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(_field_text, value))
    return "" if value is None else str(value)
