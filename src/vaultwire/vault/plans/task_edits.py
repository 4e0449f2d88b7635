"""Edits of tasks in one note's text: their marks and due dates. Pure. All other characters stay.

How dates are written in a task is in ``markdown.task_fields``.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from vaultwire.markdown.edits import line_end, to_plain
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Task
from vaultwire.markdown.task_fields import first_fields, with_date, without_date, without_ids
from vaultwire.vault.days import later
from vaultwire.vault.disk.paths import NOTE_SUFFIX, lies_in
from vaultwire.vault.errors import AMBIGUOUS_TARGET, INVALID_ARGUMENTS, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.plans.targeted_edits import MAX_PLACES, shortened
from vaultwire.vault.settings.obsidian_settings import Settings, parse_moment
from vaultwire.vault.value_types import VaultPath

# The next one of a task that repeats, as the Tasks plugin makes it. Pure.
#
# The plugin reads a rule by the words of the library rrule, and asks that for the first day behind the one that it counts from.
# Rules that would end some day (``for 3 times``, ``until``), and words that the plugin would pass over, are not read here.

TASKS_PLUGIN = "obsidian-tasks-plugin"
_WEEKDAY = (
    r"mo(?:n(?:day)?)?|tu(?:e(?:s(?:day)?)?)?|we(?:d(?:n(?:esday)?)?)?|th(?:u(?:r(?:sday)?)?)?|fr(?:i(?:day)?)?"
    r"|sa(?:t(?:urday)?)?|su(?:n(?:day)?)?"
)
_MONTH = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
_DAYS = ("mo", "tu", "we", "th", "fr", "sa", "su")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NTH = r"(?:(?P<word>first|second|third|last)|(?P<number>[1-9]\d{0,2})(?:th|nd|rd|st))(?P<last> last)?"
_AND = r"(?: ?, ?(?:and |or )?| (?:and|or) )"
_RULE = re.compile(
    rf"every(?: (?P<step>[1-9]\d{{0,2}}))? (?:(?P<unit>day|week|month|year)s?|(?P<weekdays>weekdays?)"
    rf"|(?P<days>(?:{_WEEKDAY})(?:{_AND}(?:{_WEEKDAY}))*)|(?P<months>(?:{_MONTH})(?:{_AND}(?:{_MONTH}))*))"
    r"(?: (?:(?:on|in)(?: the)?|the) (?P<on>.+?))?(?P<when_done> when done)?",
    re.ASCII,
)
_ITEM = re.compile(
    rf"(?:{_NTH}(?: (?P<nth_day>{_WEEKDAY})| days?)?|(?P<day>{_WEEKDAY})|(?P<weekdays>weekdays?)|(?P<month>{_MONTH}))"
    rf"(?:{_AND}| (?:the|on|in) |\Z)",
    re.ASCII,
)
# A day in the name of a note, as the plugin finds it.
_DAY_IN_NAME = re.compile(r"(\d{4})(-?)(\d{2})\2(\d{2})", re.ASCII)
_NUMBERS = {"first": 1, "second": 2, "third": 3, "last": -1}
_WEEKDAYS = tuple((0, day) for day in range(5))
# How many days are looked at: the next 29 February may be eight years away. Where there is none, the rule says no day.
_FURTHEST = 3_000


class Rule(NamedTuple):
    """Every ``step`` days, weeks, months or years; of these, the days that fit all that is said.

    ``days`` are days of the week (Monday is 0), each with which of the month it is (0: all, -1: the last). ``month_days`` are
    counted from 1, or from the end (-1).
    """

    step: int
    unit: str
    when_done: bool = False
    days: tuple[tuple[int, int], ...] = ()
    month_days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()


def parse_rule(text: str) -> Rule | None:
    """Return the rule that a text says; None if it is not one that is computed here."""
    found = _RULE.fullmatch(" ".join(text.lower().split()))
    if found is None or (found["on"] and (found["unit"] == "day" or found["weekdays"] or found["days"])):
        return None
    unit = found["unit"] or ("year" if found["months"] else "week")
    rule = Rule(int(found["step"] or 1), unit, found["when_done"] is not None)
    if found["weekdays"]:
        return rule._replace(days=_WEEKDAYS)
    if found["days"]:
        return rule._replace(days=tuple((0, _DAYS.index(day[:2])) for day in re.split(_AND, found["days"])))
    if found["months"]:
        rule = rule._replace(months=tuple(_MONTHS.index(month[:3]) + 1 for month in re.split(_AND, found["months"])))
    return _with_items(rule, found["on"]) if found["on"] else rule


def _with_items(rule: Rule, text: str) -> Rule | None:
    """Return a rule with the days and months that stand behind ``on``."""
    position = 0
    while position < len(text):
        item = _ITEM.match(text, position)
        if item is None:
            return None
        position = item.end()
        nth = _NUMBERS[item["word"]] if item["word"] else int(item["number"] or 0)
        if item["last"]:
            if item["word"] in ("first", "last"):
                return None
            nth = -nth
        if nth and not item["nth_day"]:
            rule = rule._replace(month_days=(*rule.month_days, nth))
        elif item["month"]:
            rule = rule._replace(months=(*rule.months, _MONTHS.index(item["month"][:3]) + 1))
        else:
            day = item["nth_day"] or item["day"]
            rule = rule._replace(days=(*rule.days, *(((nth, _DAYS.index(day[:2])),) if day else _WEEKDAYS)))
    is_counted = rule.month_days or any(nth for nth, _ in rule.days)
    if (rule.unit == "week" and is_counted) or (rule.unit == "year" and not rule.months):
        return None
    return rule


def next_day(rule: Rule, start: date) -> date | None:
    """Return the first day behind ``start`` that a rule says, None if there is none.

    Of a month that lacks the day, a rule that says no day has the last; one that says it has none.
    """
    if not (rule.days or rule.month_days or rule.months):
        return later(start, rule.step, rule.unit)
    if not (rule.days or rule.month_days):
        rule = rule._replace(
            **({"days": ((0, start.weekday()),)} if rule.unit == "week" else {"month_days": (start.day,)})
        )
    days = (start + timedelta(number) for number in range(1, _FURTHEST))
    return next((day for day in days if _fits(rule, start, day)), None)


def _fits(rule: Rule, start: date, day: date) -> bool:
    if rule.unit == "week":
        passed = (day - start + timedelta(start.weekday() - day.weekday())).days // 7
    else:
        passed = day.year - start.year
        if rule.unit == "month":
            passed = passed * 12 + day.month - start.month
    if passed % rule.step or (rule.months and day.month not in rule.months):
        return False
    before_end = monthrange(day.year, day.month)[1] - day.day
    if rule.month_days and not {day.day, -1 - before_end}.intersection(rule.month_days):
        return False
    places = (0, (day.day - 1) // 7 + 1, -1 - before_end // 7)
    return not rule.days or any((place, day.weekday()) in rule.days for place in places)


def day_of_name(path: VaultPath, settings: Settings) -> date | None:
    """Return the day for which a note's tasks without dates are scheduled, by the note's name; None if there is none."""
    if not settings.tasks_day_of_name or TASKS_PLUGIN not in settings.community_plugins:
        return None
    folder, _, name = path.rpartition("/")
    folders = settings.tasks_name_folders
    if folders and not any(lies_in(folder, chosen.strip("/")) for chosen in folders):
        return None
    name = name.removesuffix(NOTE_SUFFIX)
    if settings.tasks_name_format and (day := parse_moment(settings.tasks_name_format, name)) is not None:
        return day
    in_name = _DAY_IN_NAME.search(name)
    try:
        return date(int(in_name[1]), int(in_name[3]), int(in_name[4])) if in_name else None
    except ValueError:  # no such day
        return None


def next_task(text: str, today: date, settings: Settings, day_of_name: date | None = None) -> str | None:
    """Return the text of the task that follows a recurring one, done today; None if its rule is not computed.

    ``day_of_name``: the day for which it is scheduled if it has no dates of its own. All its dates come as many days later as
    the one that the rule counts from; with ``when done`` that is counted from today. A task without dates comes again as it is.
    """
    fields = first_fields(text)
    rule = parse_rule(fields.get("recurrence", ""))
    if rule is None:
        return None
    drops_scheduled = settings.tasks_remove_scheduled_date
    counted = ("due", "start", "scheduled") if drops_scheduled else ("due", "scheduled", "start")
    is_inline = settings.tasks_format == "dataview"
    text = without_ids(without_date(text, "done", "cancelled"))
    if TASKS_PLUGIN in settings.community_plugins:
        text = without_date(text, "created")
        if settings.tasks_set_created_date:
            text = with_date(text, "created", today.isoformat(), inline=is_inline)
    elif "created" in fields:
        text = with_date(text, "created", today.isoformat())
    try:
        dates = {name: date.fromisoformat(fields[name]) for name in counted if name in fields}
        if not dates and day_of_name is not None:
            dates = {"scheduled": day_of_name}
        start = next(iter(dates.values()), today)
        day = next_day(rule, today if rule.when_done else start)
        if day is None:
            return None
        for name, old in dates.items():
            text = with_date(text, name, (old + (day - start)).isoformat(), inline=is_inline)
    except (ValueError, OverflowError):  # no such day
        return None
    return without_date(text, "scheduled") if drops_scheduled and len(dates) > 1 else text


_TO_DO = " "
_MARKS = {"done": "x", "todo": _TO_DO}


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
    computed (``parse_rule``) is not ended: it stays as it is.

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
            notices.append(f"{path}: {shortened(new.strip())!r} is done, and its line is removed, as its 🏁 says.")
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
    what = f"{path}: {shortened(without_ids(text).strip())!r} repeats ({first_fields(text)['recurrence']})."
    if following is not None:
        where = "below" if settings.tasks_next_below else "above"
        return f"{what} The next one is on the line {where} it: {shortened(following.strip())!r}."
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
    sought = _compared(edit.text)
    matching = [task for task in tasks if sought in _compared(task.text)]
    there = [task for task in matching if task.line == edit.line]
    same = [task for task in matching if _compared(task.text) == sought] or matching
    if there or (sought and len(same) == 1):
        return (there or same)[0]
    if sought and same:
        raise VaultError(
            AMBIGUOUS_TARGET,
            f"{path} has {len(same)} tasks {shortened(edit.text)!r}: {_places(same)}. Give line too, or more of the text.",
            path=path,
            lines=[task.line for task in same[:MAX_PLACES]],
        )
    which = f"task {shortened(edit.text)!r}" if sought else f"task on line {edit.line}"
    others = f"Its tasks: {_places(tasks)}." if tasks else "It has no tasks at all."
    raise VaultError(TEXT_NOT_FOUND, f"{path} has no {which}. {others}", path=path)


def _places(tasks: list[Task]) -> str:
    places = "; ".join(f"line {task.line}: {shortened(task.text)!r}" for task in tasks[:MAX_PLACES])
    return places + (f" and {len(tasks) - MAX_PLACES} more" if len(tasks) > MAX_PLACES else "")


def _compared(text: str) -> str:
    return " ".join(text.split()).casefold()
