"""Tools that show the vault as a whole. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, cast

from vaultwire.markdown.task_fields import first_fields
from vaultwire.toolkit.argument_types import Folder, Limit
from vaultwire.toolkit.paging import Cursor, page_of
from vaultwire.toolkit.phrases import counted, iso_time, local_time, shortened
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.vault.listed import Listed, listed
from vaultwire.vault.search.filters import TaskFilter, parse_task_status
from vaultwire.vault.value_types import Progress, PropertyUse, TaskPlace, ValueUse
from vaultwire.vault.vault import Vault


class UsedProperty(TypedDict):
    """A property in use."""

    name: Annotated[str, "Its name"]
    types: Annotated[
        list[str],
        "text, multitext (a list), number, checkbox, date, datetime, tags, aliases or unknown; several if notes disagree",
    ]
    notes: Annotated[int, "Notes that have it"]


class UsedValue(TypedDict):
    """A value of a property."""

    value: Annotated[str, "The value as text, cut if it is long; empty where the property has none"]
    notes: Annotated[int, "Notes that have it"]


class UsedProperties(TypedDict):
    """A page of properties, or of the values of one."""

    properties: list[UsedProperty]
    values: Annotated[NotRequired[list[UsedValue]], "Values of the property asked for, most used first"]
    total: Annotated[int, "Properties, or values of the one asked for, on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


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


class AttachmentKind(TypedDict):
    """The attachments of one kind."""

    extension: Annotated[str, "Without dot, in small letters; empty for files without one"]
    files: Annotated[int, "How many there are"]
    bytes: Annotated[int, "Their bytes together"]


class NotesOfFolder(TypedDict):
    """The notes of one folder."""

    folder: Annotated[str, "Path in the vault; empty for its top"]
    notes: Annotated[int, "Notes directly in it"]
    bytes: Annotated[int, "Their bytes together"]


class NoteProblem(TypedDict):
    """A note that cannot be read, or not in all."""

    path: Annotated[str, "Path in the vault"]
    problem: Annotated[str, "What is wrong"]


class VaultNumbers(TypedDict):
    """A vault in numbers."""

    name: Annotated[str, "Name of the vault"]
    notes: Annotated[int, "Notes, without those excluded"]
    note_bytes: Annotated[int, "Their bytes together"]
    excluded_notes: Annotated[int, "Notes that the vault's settings keep out of searches and lists"]
    modified: Annotated[NotRequired[str], "Last change of a note, ISO 8601, UTC; absent if there is none"]
    attachments: Annotated[list[AttachmentKind], "Other files by kind, the most frequent first"]
    links: Annotated[int, "Links in all notes"]
    tags: Annotated[int, "Different tags, with those above them"]
    properties: Annotated[int, "Different properties"]
    tasks_open: Annotated[int, "Tasks to do"]
    tasks_done: Annotated[int, "Tasks done"]
    largest_folders: Annotated[list[NotesOfFolder], "Folders with the most notes right in them"]
    unreadable_notes: Annotated[int, "Notes that could not be read and are in no search"]
    notes_with_problems: Annotated[int, "Notes with something that could not be read, such as broken frontmatter"]
    problems: Annotated[list[NoteProblem], "The first of both"]
    watched: Annotated[
        bool, "Whether the index follows changes as they happen; if not, each call looks at all files first"
    ]
    notices: Annotated[list[str], "Why the vault is not watched, or the index not kept"]


@tool(title="List properties", time_class="search", read_only=True)
def list_properties(
    vault: Vault,
    progress: Progress,
    /,
    name: Annotated[str, Bounds(0, 200)] = "",
    folder: Folder = "",
    limit: Limit = 200,
    cursor: Cursor = None,
) -> Outcome[UsedProperties]:
    """List the properties (frontmatter) in use, most used first, with their types; or the values of one property.

    Use it before find_notes or a search by property, to see what there is to ask for.

    Args:
        name: Show the values of this property, those of lists one by one. Empty for all properties.
        folder: Count only notes below this folder. Empty for the whole vault.
        limit: How many properties or values to return.
    """
    if name:
        return _values(vault, progress, name, folder, limit, cursor)

    def find() -> Listed[PropertyUse]:
        return listed(vault.overview.properties("", folder, progress))

    page = page_of(vault, ("list_properties", folder), cursor, limit, find, progress)
    data = UsedProperties(properties=_used(page.items), total=page.total)
    lines = [f"{counted(page.total, 'property')} in use{page.text}", *map(_line, data["properties"])]
    return page.outcome(data, lines)


def _values(
    vault: Vault, progress: Progress, name: str, folder: str, limit: int, cursor: str | None
) -> Outcome[UsedProperties]:
    """Return a page of the values of one property."""

    def find() -> Listed[ValueUse]:
        used = vault.overview.properties(name, folder, progress)
        return listed(vault.overview.property_values(name, folder, progress), used)

    page = page_of(vault, ("list_properties", name, folder), cursor, limit, find, progress)
    data = UsedProperties(
        properties=_used(page.facts),
        values=[UsedValue(value=shortened(value.text), notes=value.notes) for value in page.items],
        total=page.total,
    )
    lines = [*map(_line, data["properties"])] or [f"No note has the property {name!r}."]
    lines += [f"{counted(page.total, 'value')}{page.text}"] if page.total else []
    lines += [f"  {shortened(value.text) or '(empty)'} ({value.notes})" for value in page.items]
    return page.outcome(data, lines)


def _used(found: list[PropertyUse]) -> list[UsedProperty]:
    return [UsedProperty(name=each.name, types=each.types, notes=each.notes) for each in found]


def _line(used: UsedProperty) -> str:
    return f"{used['name']}: {' or '.join(used['types'])} ({counted(used['notes'], 'note')})"


@tool(title="List tasks", time_class="search", read_only=True)
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
    wanted = vault.overview.due(due) if due.strip() else TaskFilter()
    asked = parse_task_status(status)
    wanted = wanted._replace(mark=asked.mark, is_done=asked.is_done, text=text, tag=tag, by_due=sort == "due")
    wanted = wanted if path else vault.overview.without_templates(wanted, folder)
    page = page_of(
        vault,
        ("list_tasks", wanted, path, folder),
        cursor,
        limit,
        lambda: vault.overview.tasks(wanted, path, folder, progress),
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
    if place.heading:
        task["heading"] = place.heading
    fields = {name: value for name, value in first_fields(place.text).items() if name in ListedTask.__annotations__}
    return cast("ListedTask", {**task, **fields})  # mypy wants each name spelt out


@tool(title="Vault statistics", time_class="search", read_only=True)
def vault_stats(
    vault: Vault, progress: Progress, /, limit: Annotated[int, Bounds(1, 1000)] = 10
) -> Outcome[VaultNumbers]:
    """Show the vault in numbers: notes, attachments, links, tags, properties, tasks, largest folders, and problems.

    Args:
        limit: How many of the largest folders, and how many of the notes with problems, to return.
    """
    found = vault.overview.stats(limit, progress)
    notices = [f"The vault is not watched: {found.unwatched}"] if found.unwatched else []
    notices += [f"The index is not kept: {found.unkept}"] if found.unkept else []
    notices += [f"Other vaults served here: {', '.join(map(repr, vault.others))}."] if vault.others else []
    data = VaultNumbers(
        name=vault.name,
        notes=found.notes,
        note_bytes=found.size,
        excluded_notes=found.excluded,
        attachments=[
            AttachmentKind(extension=kind.extension, files=kind.files, bytes=kind.size) for kind in found.attachments
        ],
        links=found.links,
        tags=found.tags,
        properties=found.properties,
        tasks_open=found.tasks_open,
        tasks_done=found.tasks_done,
        largest_folders=[
            NotesOfFolder(folder=each.folder, notes=each.notes, bytes=each.size) for each in found.folders
        ],
        unreadable_notes=found.unreadable,
        notes_with_problems=found.odd,
        problems=[NoteProblem(path=problem.path, problem=problem.text) for problem in found.problems],
        watched=found.is_watched,
        notices=notices,
    )
    lines = [f"{vault.name}: {counted(found.notes, 'note')}, {counted(found.size, 'byte')}"]
    if found.modified_ns is not None:
        data["modified"] = iso_time(found.modified_ns)
        lines[0] += f", last changed {local_time(data['modified'])}"
    if found.excluded:
        lines.append(f"{counted(found.excluded, 'more note')} excluded by the vault's settings")
    files = sum(kind.files for kind in found.attachments)
    kinds = ", ".join(f"{kind.files} {kind.extension or 'without extension'}" for kind in found.attachments)
    lines.append(counted(files, "attachment") + (f": {kinds}" if files else ""))
    lines.append(
        f"{counted(found.links, 'link')}, {counted(found.tags, 'tag')}, {counted(found.properties, 'property')}"
    )
    lines.append(f"{counted(found.tasks_open, 'task')} to do, {found.tasks_done} done")
    lines += [f"  {counted(each.notes, 'note')} in {each.folder or '(top)'}" for each in found.folders]
    if found.problems:
        lines.append(f"{counted(found.unreadable, 'note')} cannot be read, {found.odd} not in all:")
        lines += [f"  {problem.path}: {problem.text}" for problem in found.problems]
    lines.append(
        "The index follows changes as they happen." if found.is_watched else "Each call looks at all files first."
    )
    return Outcome(["\n".join([*lines, *notices])], data)
