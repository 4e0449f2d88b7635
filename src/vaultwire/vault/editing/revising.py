"""Editing notes that exist: targeted edits, diffs, properties and tasks.

How a text changes is decided by ``plans.targeted_edits`` and ``markdown``. Here a note's bytes become text and back, and
values that callers write as text become properties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.bases.base_edits import ViewEdit
from vaultwire.markdown import patches
from vaultwire.markdown.canvas import NotACanvasError
from vaultwire.markdown.canvas_edits import CanvasEdit, CanvasEditError, edit_canvas
from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, remove_properties, set_properties
from vaultwire.markdown.yaml_core import PropertyValue, plain_scalar
from vaultwire.vault.base_queries.results import BaseSource
from vaultwire.vault.base_queries.sources import locate_base
from vaultwire.vault.changes.change import Step, Write
from vaultwire.vault.days import parse_day
from vaultwire.vault.disk.note_text import edited_bytes, to_bytes
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.editing.base_texts import BaseText
from vaultwire.vault.editing.workbench import Asked, Done, Workbench
from vaultwire.vault.errors import AMBIGUOUS_TARGET, INVALID_ARGUMENTS, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.links.note_lookup import locate_canvas, locate_file
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.plans.heading_links import with_heading_links
from vaultwire.vault.plans.note_text import decode_note, with_bom
from vaultwire.vault.plans.targeted_edits import Edit, apply_edits
from vaultwire.vault.plans.task_edits import EditedTask, TaskEdit, edit_tasks, parse_mark
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath, asking

ValueKind: TypeAlias = Literal["auto", "text", "number", "checkbox", "list", "empty"]
"""What a value written as text is; ``auto`` takes the property's type in the vault."""

_BOOLEANS = {"true": True, "false": False}
# Types whose values are text in YAML, also where they look like a number or a date.
_TEXT_TYPES = ("text", "date", "datetime")
_NO_EDITS = 'edits is missing: {"edits": [{"action": "append", "content": "…"}]}.'


class GivenProperty(NamedTuple):
    """A property as a caller gives it: one value or several, as text."""

    name: str
    value: str | None
    values: list[str] | None
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
        if_match: str | None,
        progress: Progress,
        *,
        dry_run: bool,
    ) -> Revised:
        """Make all the edits, or apply a unified diff; exactly one of the two is given. See ``targeted_edits.Edit``.

        Raises VaultError: those of ``locate``, ``Workbench.read``, ``apply_edits`` and ``apply_diff``; NOT_UTF8.
        """
        if bool(edits) is bool(diff):
            message = "Give edits or a diff, not both." if diff else _NO_EDITS
            raise VaultError(INVALID_ARGUMENTS, message, argument="edits")

        def change(path: VaultPath, text: str) -> str:
            if diff:
                return apply_diff(path, text, diff, progress)
            return apply_edits(path, text, list(edits), self._change_property, progress)

        (revised,) = self._revise([name], change, if_match, progress, dry_run=dry_run)
        return revised

    def revise_properties(
        self,
        names: Sequence[str],
        given: Sequence[GivenProperty],
        removed: Sequence[str],
        if_match: str | None,
        progress: Progress,
        *,
        dry_run: bool,
    ) -> list[Revised]:
        """Set and remove properties of notes, in one change; every other byte stays. See ``markdown.property_edits``."""
        types, values = self._types(), self._values(given, progress)
        notices: list[str] = []

        def change(path: VaultPath, text: str) -> str:
            changed = set_properties(text, values, types, progress.check) if values else text
            if not removed:
                return changed
            there = {fold(name) for name in parse_frontmatter(to_plain(changed)).values}
            absent = [repr(name) for name in removed if fold(name) not in there]
            if absent:
                notices.append(f"{path} has no property {' or '.join(absent)}.")
            return remove_properties(changed, removed, progress.check)

        return self._revise(names, change, if_match, progress, notices, dry_run=dry_run)

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
        for each in asking(progress, given):
            if fold(each.name) in names:
                raise VaultError(INVALID_ARGUMENTS, f"properties: {each.name!r} is given twice.", argument="properties")
            names.add(fold(each.name))
            values[each.name] = to_value(each, types, self._bench.now().date())
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
        with self._bench.locked(progress) as context:
            if source.block:
                path = context.locate(source.path)
            else:
                path = locate_base(context.files, context.index, source.path, progress)
            before = self._bench.read(path, if_match)
            edited = BaseText(source.block, changes, views)
            after = edited_bytes(before, lambda text: edited.edit(path, text))
            writes, _, skipped = with_heading_links(context, [Write(path, before, after)], edited.new_subpaths(path))
            names = {each.name.casefold() for each in context.index.properties("", None, progress)}
            notices = [*edited.notices(names), *(f"{each}: links were not looked at: {why}" for each, why in skipped)]
            asked = Asked(f"Renaming {edited.renames} in {path!r}", named=(path,)) if edited.renames else Asked()
            done = self._bench.finish(writes, notices, progress, dry_run=dry_run, asked=asked)
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
        if_match: str | None,
        progress: Progress,
        notices: Sequence[str] = (),
        *,
        dry_run: bool,
    ) -> list[Revised]:
        """Change the texts of notes in one change. ``change`` may add to the ``notices``."""
        before: dict[VaultPath, bytes] = {}
        steps: list[Step] = []
        with self._bench.locked(progress) as context:
            for name in asking(progress, names):
                path = context.locate(name)
                if path in before:
                    continue
                before[path] = self._bench.read(path, if_match)
                try:
                    new = change(path, decode_note(path, before[path]))
                except PropertyEditError as error:
                    raise VaultError(INVALID_ARGUMENTS, f"{path}: {error}", path=path) from None
                steps.append(Write(path, before[path], with_bom(to_bytes(new, before[path]), before[path])))
            done = self._bench.finish(steps, notices, progress, dry_run=dry_run)
        return [Revised(path, old, done) for path, old in before.items()]

    def _change_property(self, text: str, edit: Edit) -> str:
        """Make one edit of a property: append and prepend add to a list, delete takes the property away."""
        name = edit.property or ""
        if edit.action == "delete":
            return remove_properties(text, [name])
        types = self._types()
        value = to_value(GivenProperty(name, edit.content or "", None, "auto"), types, self._bench.now().date())
        if edit.action != "replace":
            current = _current_value(text, name)
            items = current if isinstance(current, list) else [] if current is None else [current]
            added = value if isinstance(value, list) else [value]
            value = [*items, *added] if edit.action == "append" else [*added, *items]
        return set_properties(text, {name: value}, types)

    def _types(self) -> Mapping[str, str]:
        return self._bench.settings.get().property_types


def apply_diff(path: VaultPath, text: str, diff: str, progress: Progress = NO_PROGRESS) -> str:
    """Return the text with a unified diff applied, as ``patches.apply_diff`` does.

    Raises VaultError: TEXT_NOT_FOUND and AMBIGUOUS_TARGET for a hunk without a place or with several, INVALID_ARGUMENTS
    for what is no diff.
    """
    try:
        return patches.apply_diff(text, diff, progress.check)
    except patches.NoPlaceError as error:
        raise VaultError(TEXT_NOT_FOUND, f"{path}: {error}", path=path) from None
    except patches.AmbiguousPlaceError as error:
        raise VaultError(AMBIGUOUS_TARGET, f"{path}: {error}", path=path, lines=error.lines) from None
    except patches.DiffError as error:
        raise VaultError(INVALID_ARGUMENTS, f"diff: {error}", argument="diff") from None


def given_as(name: str, value: PropertyValue) -> GivenProperty:
    """Return a property given with its type: the text "3" stays a text, whatever YAML would read in it."""
    if isinstance(value, list):
        texts = [str(each).lower() if isinstance(each, bool) else str(each) for each in value if each is not None]
        return GivenProperty(name, None, texts, "auto")
    if value is None or isinstance(value, dict):
        return GivenProperty(name, None, None, "empty")
    if isinstance(value, bool):
        return GivenProperty(name, str(value).lower(), None, "checkbox")
    return GivenProperty(name, str(value), None, "text" if isinstance(value, str) else "number")


def to_value(given: GivenProperty, types: Mapping[str, str], today: date) -> PropertyValue:
    """Return the value that a property gets. Raises VaultError (INVALID_ARGUMENTS) for text that is not of its kind.

    ``auto``: the type the vault declares for the property, else what YAML 1.2 reads in the text. A date may be given as
    ``parse_day`` reads it: "tomorrow", "+7".
    """
    if given.values is not None and given.value is not None:
        raise VaultError(INVALID_ARGUMENTS, f"{given.name}: give value or values, not both.", property=given.name)
    if given.values is not None:
        return [*map(_item, given.values)]
    text, kind = given.value, given.kind
    if kind == "empty" or text is None:
        return None
    declared = types.get(fold(given.name)) if kind == "auto" else None
    if declared == "date":
        return _day(text, today)
    if kind == "text" or declared in _TEXT_TYPES:
        return text
    if kind == "list":
        return [_item(text)]
    value = plain_scalar(text) if text else ""
    if kind == "number" and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise VaultError(INVALID_ARGUMENTS, f"{given.name}: {text!r} is no number.", property=given.name)
    if kind == "checkbox":
        if text.lower() not in _BOOLEANS:
            raise VaultError(
                INVALID_ARGUMENTS, f"{given.name}: {text!r} is neither true nor false.", property=given.name
            )
        return _BOOLEANS[text.lower()]
    return value


def _day(text: str, today: date) -> str:
    """Return a day in the form of dates in properties; a text that is none as it is, for the check of the type."""
    try:
        return parse_day(text, today).isoformat()
    except VaultError:
        return text


def _item(text: str) -> PropertyValue:
    value = plain_scalar(text) if text else text
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else text


def _current_value(text: str, name: str) -> PropertyValue:
    """Return the value of the property that ``set_properties`` would set: one with this spelling before one in another case."""
    values = parse_frontmatter(to_plain(text)).values
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
