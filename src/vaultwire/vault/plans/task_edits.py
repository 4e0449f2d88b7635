"""Edits of tasks in one note's text: their marks and due dates. Pure. All other characters stay.

How dates are written in a task is in ``markdown.task_fields``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from vaultwire.markdown.edits import line_end, to_plain
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Task
from vaultwire.markdown.task_fields import first_fields, with_date, without_date, without_ids
from vaultwire.vault.errors import AMBIGUOUS_TARGET, INVALID_ARGUMENTS, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.plans.recurring_tasks import TASKS_PLUGIN, day_of_name, next_task
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

_TO_DO = " "
_MARKS = {"done": "x", "todo": _TO_DO}
# How many tasks an error lists for the caller to choose from, and how many characters of each.
_MAX_PLACES = 20
_MAX_SHOWN = 80


class TaskEdit(NamedTuple):
    """Which task, and what it becomes. ``text`` is in its text, ``line`` tells equal tasks apart; one of them is enough.

    ``mark`` is None to leave it; ``due`` is None to leave it, and ``""`` to remove it.
    """

    text: str
    line: int | None
    mark: str | None
    due: str | None


class EditedTask(NamedTuple):
    """A task as it is now."""

    line: int
    mark: str
    text: str


def parse_mark(status: str) -> str:
    """Return the mark of a status: ``done``, ``todo``, or a mark. Raises VaultError (INVALID_ARGUMENTS)."""
    mark = _MARKS.get(status.strip().lower(), status)
    if len(mark) != 1 or not mark.isprintable() or mark in "[]":
        raise VaultError(
            INVALID_ARGUMENTS,
            f"status: expected 'done', 'todo', or one mark such as '/' or '-', got {status!r}.",
            argument="status",
        )
    return mark


def edit_tasks(
    path: VaultPath, text: str, edits: Sequence[TaskEdit], settings: Settings, today: date
) -> tuple[str, list[EditedTask], list[str]]:
    """Return the text with its tasks edited, the tasks in the order of the edits, and what the caller should know.

    Marks, dates and the next one of a task that repeats are as the Tasks plugin would write them, and a task that says that it
    is deleted when it is done (🏁) is. A task whose rule is not
    computed (``recurring_tasks``) is not ended: it stays as it is.

    ``text`` is the file's own, without BOM. Raises VaultError: TEXT_NOT_FOUND, AMBIGUOUS_TARGET, INVALID_ARGUMENTS.
    """
    tasks = parse_note(to_plain(text)).tasks
    lines = text.split("\n")
    edited: list[EditedTask] = []
    notices: list[str] = []
    nexts: dict[int, str] = {}
    removed: set[int] = set()
    for edit in edits:
        task = _find(path, tasks, edit)
        if any(each.line == task.line for each in edited):
            raise VaultError(INVALID_ARGUMENTS, f"{path}: the task on line {task.line} is given twice.", path=path)
        before, _, rest = lines[task.line - 1].partition(f"[{task.mark}]")
        ending = rest[len(rest.rstrip("\r")) :]
        rest = rest.removesuffix(ending)
        mark = task.mark if edit.mark is None else edit.mark
        new = _edited(rest, task, edit, settings, today.isoformat())
        if _ends(task, mark, settings) and "recurrence" in first_fields(task.text) and _is_tasks(task.text, settings):
            following = next_task(new, today, settings, day_of_name(path, settings))
            if following is None:
                mark, new = task.mark, rest
            else:
                nexts[task.line] = f"{before}[{_next_mark(mark, settings)}]{following}" + line_end(text)[:-1]
            notices.append(_about_recurrence(path, new, following, settings))
        if _ends(task, mark, settings) and _is_removed_when_done(task.text, settings):
            removed.add(task.line)
            notices.append(f"{path}: {_shortened(new.strip())!r} is done, and its line is removed, as its 🏁 says.")
        lines[task.line - 1] = f"{before}[{mark}]{new}{ending}"
        edited.append(EditedTask(task.line, mark, new.strip()))
    whole = _with_changed_lines(lines, nexts, removed, settings)
    return whole, [_moved(task, nexts, removed, settings) for task in edited], notices


def _with_changed_lines(lines: list[str], nexts: dict[int, str], removed: set[int], settings: Settings) -> str:
    """Return the lines as one text, with the next one of each recurring task above or below it, without the removed ones."""
    both: list[str] = []
    for number, line in enumerate(lines, 1):
        own = [] if number in removed else [line]
        following = [nexts[number]] if number in nexts else []
        both += own + following if settings.tasks_next_below else following + own
    return "\n".join(both)


def _moved(task: EditedTask, nexts: dict[int, str], removed: set[int], settings: Settings) -> EditedTask:
    added = sum(number + settings.tasks_next_below <= task.line for number in nexts)
    return task._replace(line=task.line + added - sum(number < task.line for number in removed))


def _is_removed_when_done(text: str, settings: Settings) -> bool:
    says_so = first_fields(text).get("on_completion", "").lower() == "delete"
    return says_so and TASKS_PLUGIN in settings.community_plugins and _is_tasks(text, settings)


def _about_recurrence(path: VaultPath, text: str, following: str | None, settings: Settings) -> str:
    what = f"{path}: {_shortened(without_ids(text).strip())!r} repeats ({first_fields(text)['recurrence']})."
    if following is not None:
        where = "below" if settings.tasks_next_below else "above"
        return f"{what} The next one is on the line {where} it: {_shortened(following.strip())!r}."
    return (
        f"{what} It stays as it is, because vaultwire cannot say when such a task comes next. Tick it in Obsidian, or give it "
        "its next due date; to end it, take its rule out first."
    )


def _ends(task: Task, mark: str, settings: Settings) -> bool:
    return _type(mark, settings) == "DONE" != _type(task.mark, settings)


def _type(mark: str, settings: Settings) -> str:
    """Return what a mark means to the Tasks plugin, which takes one that it does not know for a task to do."""
    return settings.tasks_statuses[mark].type if mark in settings.tasks_statuses else "TODO"


def _next_mark(mark: str, settings: Settings) -> str:
    """Return the mark of the next one of a recurring task: in the cycle of marks, the first to do, else in progress."""
    statuses = settings.tasks_statuses
    cycle = []
    for _ in range(len(statuses) + 1):
        mark = statuses[mark].next if mark in statuses else "x"
        cycle.append(mark)
    return next((each for kind in ("TODO", "IN_PROGRESS") for each in cycle if _type(each, settings) == kind), _TO_DO)


def _edited(rest: str, task: Task, edit: TaskEdit, settings: Settings, today: str) -> str:
    """Return what stands behind a task's box."""
    lead = rest[: len(rest) - len(rest.lstrip(" \t"))]
    text = rest[len(lead) :]
    is_inline = settings.tasks_format == "dataview"
    if edit.due is not None:
        text = with_date(text, "due", edit.due, inline=is_inline) if edit.due else without_date(text, "due")
    if edit.mark is not None and edit.mark != task.mark:
        is_dated = _is_tasks(text, settings)
        for name, kind, is_set in (
            ("done", "DONE", settings.tasks_set_done_date),
            ("cancelled", "CANCELLED", settings.tasks_set_cancelled_date),
        ):
            if _type(edit.mark, settings) != kind:
                text = without_date(text, name)
            elif _type(task.mark, settings) != kind and is_set and is_dated:
                text = with_date(text, name, today, inline=is_inline)
    return (lead or " ") + text if text != rest[len(lead) :] else rest


def _is_tasks(text: str, settings: Settings) -> bool:
    """Tell whether a task is one for the Tasks plugin: each one that its global filter takes.

    Where it is not switched on, a task with dates shows that the person uses it, or writes as it does.
    """
    if TASKS_PLUGIN in settings.community_plugins:
        return settings.tasks_filter in text
    return bool(first_fields(text))


def _find(path: VaultPath, tasks: list[Task], edit: TaskEdit) -> Task:
    """Return the task that an edit names. A line that has another text by now is no hindrance if one task has the text."""
    wanted = _compared(edit.text)
    found = [task for task in tasks if wanted in _compared(task.text)]
    there = [task for task in found if task.line == edit.line]
    same = [task for task in found if _compared(task.text) == wanted] or found
    if there or (wanted and len(same) == 1):
        return (there or same)[0]
    if wanted and same:
        raise VaultError(
            AMBIGUOUS_TARGET,
            f"{path} has {len(same)} tasks {_shortened(edit.text)!r}: {_places(same)}. Give line too, or more of the text.",
            path=path,
            lines=[task.line for task in same[:_MAX_PLACES]],
        )
    which = f"task {_shortened(edit.text)!r}" if wanted else f"task on line {edit.line}"
    others = f"Its tasks: {_places(tasks)}." if tasks else "It has no tasks at all."
    raise VaultError(TEXT_NOT_FOUND, f"{path} has no {which}. {others}", path=path)


def _places(tasks: list[Task]) -> str:
    shown = "; ".join(f"line {task.line}: {_shortened(task.text)!r}" for task in tasks[:_MAX_PLACES])
    return shown + (f" and {len(tasks) - _MAX_PLACES} more" if len(tasks) > _MAX_PLACES else "")


def _compared(text: str) -> str:
    return " ".join(text.split()).casefold()


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
