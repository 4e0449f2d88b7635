"""The ``obsidian_*`` tools that list and search: search, tags, properties, links, outline, tasks.

Docstrings here are product text: a model reads them. ``port`` has what answers them.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Folder, Limit, Outcome
from vaultwire.tools.obsidian_cli.port import FileName, FilePath, Files, Obsidian, app_tool, listed
from vaultwire.vault.value_types import Progress, VaultPath


class FoundLine(TypedDict):
    """A line that matched."""

    line: Annotated[int, "Line number in the note, from 1"]
    text: Annotated[str, "The line, cut if it is long"]


class FoundFile(TypedDict):
    """A note that matched."""

    path: Annotated[str, "Path in the vault"]
    matches: Annotated[list[FoundLine], "The first lines that match; none if only the name does"]


class FoundFiles(TypedDict):
    """The notes that match, in path order."""

    files: list[FoundFile]
    total: Annotated[int, "Notes that match in all"]


class TagNames(TypedDict):
    """Tags."""

    tags: Annotated[list[str], "Without #, in alphabetical order"]


class Property(TypedDict):
    """A property of a note."""

    name: Annotated[str, "Its name"]
    values: Annotated[list[str], "Its values as text: several of a list, none if it is empty"]


class Properties(TypedDict):
    """A note's properties."""

    path: Annotated[str, "The note's path"]
    properties: list[Property]


class PropertyCount(TypedDict):
    """A property in use."""

    name: Annotated[str, "Its name"]
    notes: Annotated[int, "How many notes have it"]


class PropertyCounts(TypedDict):
    """The properties in use."""

    properties: Annotated[list[PropertyCount], "In alphabetical order"]


class LeadingLink(TypedDict):
    """Where a link leads."""

    target: Annotated[str, "Path of the file, or the name that no file has"]
    resolved: Annotated[bool, "Whether there is such a file"]


class Links(TypedDict):
    """A note's outgoing links."""

    path: Annotated[str, "The note's path"]
    links: Annotated[list[LeadingLink], "Each place once, in alphabetical order"]


class LinkingNote(TypedDict):
    """A note that links to another."""

    path: Annotated[str, "Path in the vault"]
    count: Annotated[int, "How many of its links lead there"]


class Backlinks(TypedDict):
    """A note's backlinks."""

    path: Annotated[str, "The note's path"]
    backlinks: Annotated[list[LinkingNote], "In path order"]
    total: Annotated[int, "Links in all"]


class OutlineHeading(TypedDict):
    """A heading."""

    level: Annotated[int, "1 to 6"]
    heading: Annotated[str, "Its text"]
    line: Annotated[int, "Line number, from 1"]


class Outline(TypedDict):
    """A note's headings."""

    path: Annotated[str, "The note's path"]
    headings: list[OutlineHeading]


class TaskFound(TypedDict):
    """A task."""

    path: Annotated[str, "The note it is in"]
    line: Annotated[int, "Line number, from 1"]
    status: Annotated[str, "The character in its box; a space if it is to do"]
    text: Annotated[str, "Its text"]


class Tasks(TypedDict):
    """Tasks, in path and line order."""

    tasks: list[TaskFound]
    total: Annotated[int, "Tasks in all"]


@app_tool(title="Search in Obsidian", read_only=True)
def obsidian_search(
    obsidian: Obsidian,
    progress: Progress,
    /,
    query: Annotated[str, Bounds(1, 1000)],
    path: Folder = "",
    limit: Limit = 20,
    case: bool = False,
) -> Outcome[FoundFiles]:
    """Search names and text of all notes with Obsidian's search syntax. Results are in path order.

    Args:
        query: What to look for, such as: meeting tag:#work -private
        path: Search only below this folder. Empty for the whole vault.
        case: Whether upper and lower case differ.
    """
    hits, total = obsidian.search(query, path, limit, progress, case=case)
    files = [
        FoundFile(path=each, matches=[FoundLine(line=at, text=text) for at, text in lines]) for each, lines in hits
    ]
    shown = [
        f"{counted(total, 'note')} found" + (f", {len(files)} shown:" if len(files) < total else ":" if files else ".")
    ]
    for file in files:
        shown += [file["path"], *(f"  {match['line']}: {match['text']}" for match in file["matches"])]
    return Outcome(["\n".join(shown)], FoundFiles(files=files, total=total))


@app_tool(title="Tags in Obsidian", read_only=True)
def obsidian_tags(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[TagNames]:
    """List the tags in use in the vault, or those of one note.

    Args:
        file: Only the tags of the note of this name.
        path: Only the tags of the note at this exact path.
    """
    tags = obsidian.tags(_optional(obsidian, file, path, progress), progress)
    return Outcome([listed("tag", [f"#{tag}" for tag in tags])], TagNames(tags=tags))


@app_tool(title="Notes with a tag in Obsidian", read_only=True)
def obsidian_tag(obsidian: Obsidian, progress: Progress, /, name: Annotated[str, Bounds(1, 200)]) -> Outcome[Files]:
    """List the notes that have a tag, or one below it.

    Args:
        name: The tag, with or without "#".
    """
    files = obsidian.tagged(name, progress)
    return Outcome([listed("note", files)], Files(files=files))


@app_tool(title="Properties of a note in Obsidian", read_only=True)
def obsidian_note_properties(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Properties]:
    """Show the properties of a note."""
    found = obsidian.target(file, path, progress)
    properties = [Property(name=name, values=values) for name, values in obsidian.properties(found, progress)]
    lines = [f"{each['name']}: {', '.join(each['values'])}".rstrip() for each in properties]
    return Outcome([f"{found} has {listed('property', lines)}"], Properties(path=found, properties=properties))


@app_tool(title="Properties in use in Obsidian", read_only=True)
def obsidian_properties(obsidian: Obsidian, progress: Progress, /) -> Outcome[PropertyCounts]:
    """List the names of the properties in use in the vault, each with how many notes have it."""
    used = [PropertyCount(name=name, notes=notes) for name, notes in obsidian.property_names(progress)]
    lines = [f"{each['name']} ({each['notes']})" for each in used]
    return Outcome([listed("property", lines)], PropertyCounts(properties=used))


@app_tool(title="Links of a note in Obsidian", read_only=True)
def obsidian_links(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Links]:
    """List where the links of a note lead."""
    found = obsidian.target(file, path, progress)
    links = [LeadingLink(target=target, resolved=is_file) for target, is_file in obsidian.links(found, progress)]
    lines = [each["target"] + ("" if each["resolved"] else " (no such file)") for each in links]
    return Outcome([f"{found} has {listed('link', lines)}"], Links(path=found, links=links))


@app_tool(title="Backlinks of a note in Obsidian", read_only=True)
def obsidian_backlinks(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Backlinks]:
    """List the notes that link to a note."""
    found = obsidian.target(file, path, progress)
    linking = [LinkingNote(path=note, count=count) for note, count in obsidian.backlinks(found, progress)]
    total = sum(each["count"] for each in linking)
    lines = [f"{each['path']} ({each['count']})" for each in linking]
    data = Backlinks(path=found, backlinks=linking, total=total)
    return Outcome([f"To {found} link {listed('note', lines)}"], data)


@app_tool(title="Outline of a note in Obsidian", read_only=True)
def obsidian_outline(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Outline]:
    """Show the headings of a note."""
    found = obsidian.target(file, path, progress)
    headings = [
        OutlineHeading(level=level, heading=text, line=line) for level, text, line in obsidian.outline(found, progress)
    ]
    lines = [f"{each['line']}: {'#' * each['level']} {each['heading']}" for each in headings]
    return Outcome([f"{found} has {listed('heading', lines)}"], Outline(path=found, headings=headings))


@app_tool(title="Tasks in Obsidian", read_only=True)
def obsidian_tasks(
    obsidian: Obsidian,
    progress: Progress,
    /,
    file: FileName = "",
    path: FilePath = "",
    status: Literal["any", "todo", "done"] = "any",
    limit: Limit = 100,
) -> Outcome[Tasks]:
    """List the tasks of the vault, or of one note. A task is done if its box holds anything but a space.

    Args:
        file: Only the tasks of the note of this name.
        path: Only the tasks of the note at this exact path.
        status: Which tasks.
        limit: How many to return.
    """
    wanted = {"any": (True, False), "todo": (False,), "done": (True,)}[status]
    note = _optional(obsidian, file, path, progress)
    found = [
        TaskFound(path=each, line=line, status=mark, text=text)
        for each, line, mark, text in obsidian.tasks(note, progress)
        if (mark != " ") in wanted
    ]
    lines = [f"{each['path']}:{each['line']}: [{each['status']}] {each['text']}" for each in found[:limit]]
    more = f"\n… and {len(found) - limit} more." if len(found) > limit else ""
    data = Tasks(tasks=found[:limit], total=len(found))
    return Outcome([listed("task", lines, len(found)) + more], data)


@app_tool(title="Set task in Obsidian", destructive=True, idempotent=True)
def obsidian_set_task(
    obsidian: Obsidian,
    progress: Progress,
    /,
    line: Annotated[int, Bounds(1, 10_000_000)],
    status: Annotated[str, Bounds(1, 1)] = "x",
    file: FileName = "",
    path: FilePath = "",
) -> Outcome[TaskFound]:
    """Mark a task as done, as to do, or with any other character in its box.

    Args:
        line: The line it stands on, as obsidian_tasks lists it.
        status: "x" for done, a space for to do, or another character.
    """
    found = obsidian.target(file, path, progress)
    text = obsidian.set_task(found, line, status, progress)
    return Outcome([f"{found}:{line}: [{status}] {text}"], TaskFound(path=found, line=line, status=status, text=text))


def _optional(obsidian: Obsidian, file: str, path: str, progress: Progress) -> VaultPath | None:
    return obsidian.target(file, path, progress) if file.strip() or path.strip() else None
