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
from vaultwire.vault.plans.recurring_tasks import next_task
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

_DONE, _TO_DO = "x", " "
_MARKS = {"done": _DONE, "todo": _TO_DO}
_TASKS_PLUGIN = "obsidian-tasks-plugin"
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

    Of a task that repeats and is done now, the next one is added, if its rule is a plain one (``recurring_tasks``).

    ``text`` is the file's own, without BOM. Raises VaultError: TEXT_NOT_FOUND, AMBIGUOUS_TARGET, INVALID_ARGUMENTS.
    """
    tasks = parse_note(to_plain(text)).tasks
    lines = text.split("\n")
    edited: list[EditedTask] = []
    notices: list[str] = []
    nexts: dict[int, str] = {}
    for edit in edits:
        task = _find(path, tasks, edit)
        if any(each.line == task.line for each in edited):
            raise VaultError(INVALID_ARGUMENTS, f"{path}: the task on line {task.line} is given twice.", path=path)
        before, _, rest = lines[task.line - 1].partition(f"[{task.mark}]")
        ending = rest[len(rest.rstrip("\r")) :]
        rest = _edited(rest.removesuffix(ending), task, edit, settings, today.isoformat())
        mark = task.mark if edit.mark is None else edit.mark
        lines[task.line - 1] = f"{before}[{mark}]{rest}{ending}"
        edited.append(EditedTask(task.line, mark, rest.strip()))
        if _is_completed(task, edit) and "recurrence" in first_fields(task.text):
            following = next_task(rest, today)
            if following is not None:
                nexts[task.line] = f"{before}[{_TO_DO}]{following}" + line_end(text)[:-1]
            notices.append(_about_recurrence(path, rest, following))
    return _with_nexts(lines, nexts), [_moved(each, nexts) for each in edited], notices


def _with_nexts(lines: list[str], nexts: dict[int, str]) -> str:
    """Return the lines as one text, with the next one of each recurring task above it, where the Tasks plugin puts it."""
    return "\n".join(
        each for number, line in enumerate(lines, 1) for each in (nexts.get(number), line) if each is not None
    )


def _moved(task: EditedTask, nexts: dict[int, str]) -> EditedTask:
    return task._replace(line=task.line + sum(number <= task.line for number in nexts))


def _about_recurrence(path: VaultPath, text: str, following: str | None) -> str:
    what = f"{path}: {_shortened(without_ids(text).strip())!r} repeats ({first_fields(text)['recurrence']})."
    if following is not None:
        return f"{what} The next one is on the line above it: {_shortened(following.strip())!r}."
    return (
        f"{what} It is done now, and no next one was made, because the rule is not a plain one: the Tasks plugin makes it when "
        "the task is ticked in Obsidian. To keep it going here, set it to todo again with its next due date."
    )


def _is_completed(task: Task, edit: TaskEdit) -> bool:
    return edit.mark in ("x", "X") and task.mark not in ("x", "X")


def _edited(rest: str, task: Task, edit: TaskEdit, settings: Settings, today: str) -> str:
    """Return what stands behind a task's box."""
    lead = rest[: len(rest) - len(rest.lstrip(" \t"))]
    text = rest[len(lead) :]
    is_inline = settings.tasks_format == "dataview"
    if edit.due is not None:
        text = with_date(text, "due", edit.due, inline=is_inline) if edit.due else without_date(text, "due")
    if edit.mark == _TO_DO and task.mark != _TO_DO:
        text = without_date(text, "done", "cancelled")
    elif _is_completed(task, edit) and _has_done_dates(text, settings):
        text = with_date(text, "done", today, inline=is_inline)
    return (lead or " ") + text if text != rest[len(lead) :] else rest


def _has_done_dates(text: str, settings: Settings) -> bool:
    """Tell whether the Tasks plugin would write the day on which this task is done.

    It would unless its settings say otherwise, for each task that its global filter takes. Where it is not switched on, a
    task with dates shows that the person uses it, or writes as it does.
    """
    if not settings.tasks_set_done_date:
        return False
    if _TASKS_PLUGIN in settings.community_plugins:
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
