"""The tools on tasks: list them, tick them off, set their dates. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, cast

from vaultwire.markdown.task_fields import first_fields
from vaultwire.toolkit.phrases import add_facts, counted
from vaultwire.toolkit.registry import Bounds, Cursor, DryRun, Folder, IfMatch, Limit, NoteName, Outcome, page_of, tool
from vaultwire.tools.changes import Changed, change_texts, to_changed
from vaultwire.vault.editing.revising import GivenTask
from vaultwire.vault.search.filters import TaskFilter, parse_task_status
from vaultwire.vault.value_types import Progress, TaskPlace
from vaultwire.vault.vault import Vault


class ListedTask(TypedDict):
    """A task."""

    path: Annotated[str, "Path of its note"]
    line: Annotated[int, "Line number in the note, from 1"]
    mark: Annotated[str, "What is in its box: a space if it is to do, often x if it is done"]
    text: Annotated[str, "The task"]
    heading: Annotated[NotRequired[str], "Heading it is under; absent if there is none"]
    due: Annotated[NotRequired[str], "Due date, ISO 8601; this and those below are absent where the task has none"]
    scheduled: Annotated[NotRequired[str], "Day it is planned for"]
    start: Annotated[NotRequired[str], "Day it can begin"]
    done: Annotated[NotRequired[str], "Day it was done"]
    priority: Annotated[NotRequired[str], "highest, high, medium, low or lowest"]
    recurrence: Annotated[NotRequired[str], "How it repeats, such as every week"]


class ListedTasks(TypedDict):
    """A page of tasks."""

    tasks: list[ListedTask]
    total: Annotated[int, "Tasks that match, on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


class TaskToSet(TypedDict):
    """A task, and what it becomes: give status or due, or both."""

    path: NoteName
    text: Annotated[
        NotRequired[Annotated[str, Bounds(1, 10_000)]], "Its text as listed, or a part that only it has in the note"
    ]
    line: Annotated[
        NotRequired[Annotated[int, Bounds(1, 10_000_000)]], "Its line as listed: alone, or if several have this text"
    ]
    status: Annotated[NotRequired[Annotated[str, Bounds(1, 10)]], '"done", "todo", or one mark such as "/" or "-"']
    due: Annotated[
        NotRequired[Annotated[str, Bounds(1, 100)]],
        'Its due date, such as "2026-11-30", "today" or "+7"; "none" removes it',
    ]


class TaskAsSet(TypedDict):
    """A task as it is now."""

    path: Annotated[str, "Path of its note"]
    line: Annotated[int, "Line number in the note, from 1"]
    mark: Annotated[str, "What is in its box"]
    text: Annotated[str, "The task"]


class TasksAsSet(Changed):
    """What was changed, and the tasks."""

    tasks: list[TaskAsSet]


@tool(
    title="List tasks",
    category="tasks",
    listed="standard",
    time_class="search",
    read_only=True,
    plain=("text", "tag", "path", "sort"),
)
def list_tasks(
    vault: Vault,
    progress: Progress,
    /,
    status: Annotated[str, Bounds(1, 10)] = "todo",
    text: Annotated[str, Bounds(0, 200)] = "",
    tag: Annotated[str, Bounds(0, 200)] = "",
    path: Annotated[str, Bounds(0, 1000)] = "",
    folder: Folder = "",
    due: Annotated[str, Bounds(0, 100)] = "",
    sort: Literal["path", "due"] = "path",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Outcome[ListedTasks]:
    """List tasks ("- [ ] …") with note, line and heading.

    A task is done if its box holds anything but a space. Dates are those of the Tasks plugin (📅) and of Dataview ([due:: …]).

    Args:
        status: "todo", "done", "any" or a mark ("/").
        text: Only tasks with it.
        tag: Only tasks with it.
        path: Only of this note.
        due: "overdue", "this week", "<=+7", "none".
        sort: "due": soonest first.
    """
    conditions = vault.overview.due(due) if due.strip() else TaskFilter()
    asked = parse_task_status(status)
    conditions = conditions._replace(mark=asked.mark, is_done=asked.is_done, text=text, tag=tag, by_due=sort == "due")
    conditions = conditions if path else vault.overview.without_templates(conditions, folder)
    page = page_of(
        vault,
        ("list_tasks", conditions, path, folder),
        cursor,
        limit,
        lambda: vault.overview.tasks(conditions, path, folder, progress),
        progress,
    )
    tasks = [_to_listed(place) for place in page.items]
    lines = [f"{counted(page.total, 'task')}{page.text}"]
    before = ""
    for place in page.items:
        if place.path != before:
            lines.append(place.path)
            before = place.path
        lines.append(
            f"  {place.line}: [{place.mark}] {place.text}" + (f"  (# {place.heading})" if place.heading else "")
        )
    return page.outcome(ListedTasks(tasks=tasks, total=page.total), lines)


def _to_listed(place: TaskPlace) -> ListedTask:
    task = ListedTask(path=place.path, line=place.line, mark=place.mark, text=place.text)
    add_facts(task, heading=place.heading)
    fields = {name: value for name, value in first_fields(place.text).items() if name in ListedTask.__annotations__}
    return cast("ListedTask", {**task, **fields})  # mypy wants each name spelt out


@tool(title="Set tasks", category="tasks", destructive=True)
def set_task(
    vault: Vault,
    progress: Progress,
    /,
    tasks: Annotated[list[TaskToSet], Bounds(1, 200)],
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[TasksAsSet]:
    """Tick tasks off, reopen them, or set their due dates: one or many, in one change. All else in their lines stays.

    A task that is done gets the day if the person uses the Tasks plugin or the task has dates; one that is reopened loses it.
    Of one that repeats ("every 2 weeks") the next is added; one whose rule is not known stays, and the answer says so.

    Example: {"tasks": [{"path": "Inbox", "text": "call mum", "status": "done"}]}.

    Args:
        tasks: Which tasks, and what each becomes.
    """
    given = [
        GivenTask(each["path"], each.get("text", ""), each.get("line"), each.get("status"), each.get("due"))
        for each in tasks
    ]
    found, done = vault.revising.set_tasks(given, if_match, progress, dry_run=dry_run)
    shown = [TaskAsSet(path=path, line=task.line, mark=task.mark, text=task.text) for path, task in found]
    changed = to_changed(done)
    data = cast("TasksAsSet", {**changed, "tasks": shown})  # mypy wants optional fields spelt out
    lines = [f"{task['path']}:{task['line']}: [{task['mark']}] {task['text']}" for task in shown]
    head, *rest = change_texts(done, f"{counted(len(shown), 'task')} set", changed)
    return Outcome(["\n".join([head, *lines]), *rest], data)
