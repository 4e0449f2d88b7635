"""The ``obsidian_*`` family: the tools that list, search and show, and all of them in the order in which clients see them.

Offered only on request. Docstrings of tools are product text: a model reads them. ``port`` has what answers them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypedDict, cast

from vaultwire.toolkit.phrases import counted, text_blocks
from vaultwire.toolkit.registry import AnyTool, Bounds, Folder, Limit, Name, Open, OptionalName, Outcome
from vaultwire.tools.obsidian_cli import notes as app_notes
from vaultwire.tools.obsidian_cli.port import FileName, FilePath, Files, Obsidian, app_tool, listed
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

# ---------------------------------------------------------------------- search, tags, properties, links, outline, tasks


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


# ---------------------------------------------------------------------- templates, bookmarks, bases, history, the app itself


class Names(TypedDict):
    """Names."""

    names: Annotated[list[str], "In alphabetical order"]


class TemplateText(TypedDict):
    """A template."""

    name: Annotated[str, "Its name"]
    content: Annotated[str, "Its text, variables as they stand"]


class Bookmark(TypedDict):
    """A bookmark."""

    type: Annotated[str, "file, folder, search, url or another word of Obsidian's"]
    title: Annotated[str, "What it is called"]
    target: Annotated[str, "The path, query or URL it stands for; may be empty"]


class Bookmarks(TypedDict):
    """The bookmarks, in the person's own order."""

    bookmarks: list[Bookmark]


# Other members are the columns.
class ShownRow(TypedDict):
    """A row as Obsidian's command gives it: the path, then a text for each column by its name."""

    path: Annotated[str, "The file's path"]


class BaseRows(TypedDict):
    """What a base shows."""

    columns: Annotated[list[str], "Names of the columns; path is the first"]
    rows: Annotated[list[Annotated[ShownRow, Open()]], "By column name, all values texts"]


class BaseViewName(TypedDict):
    """A view of a base."""

    name: Annotated[str, "Its name"]
    type: Annotated[str, "table, cards, list, map, kanban, or a plugin's"]


class BaseViews(TypedDict):
    """The views of a base, in its order."""

    views: list[BaseViewName]


class Version(TypedDict):
    """An earlier version of a note."""

    version: Annotated[int, "Its number; 1 is the latest"]
    label: Annotated[str, "When it was kept"]


class Versions(TypedDict):
    """A note's earlier versions, the latest first."""

    path: Annotated[str, "The note's path"]
    versions: list[Version]


class VersionText(TypedDict):
    """The text of an earlier version."""

    path: Annotated[str, "The note's path"]
    version: Annotated[int, "Its number"]
    content: Annotated[str, "What the note said"]


class Workspace(TypedDict):
    """The open panes and tabs of the app."""

    tree: Annotated[str, "Panes and tabs, one a line"]


class Evaluated(TypedDict):
    """The result of code."""

    result: Annotated[str, "As text"]


@app_tool(title="Templates in Obsidian", read_only=True)
def obsidian_templates(obsidian: Obsidian, progress: Progress, /) -> Outcome[Names]:
    """List the templates in the person's templates folder."""
    names = obsidian.templates(progress)
    return Outcome([listed("template", names)], Names(names=names))


@app_tool(title="Read template in Obsidian", read_only=True)
def obsidian_read_template(obsidian: Obsidian, progress: Progress, /, name: Name) -> Outcome[TemplateText]:
    """Read a template as it stands.

    Args:
        name: The template's name, as obsidian_templates lists it.
    """
    text = obsidian.template(name, progress)
    return Outcome([*text_blocks(text), f"Template {name}"], TemplateText(name=name, content=text))


@app_tool(title="Bookmarks in Obsidian", read_only=True)
def obsidian_bookmarks(obsidian: Obsidian, progress: Progress, /) -> Outcome[Bookmarks]:
    """List the person's bookmarks."""
    found = [Bookmark(type=kind, title=title, target=target) for kind, title, target in obsidian.bookmarks(progress)]
    lines = [f"{each['title']} ({each['type']}) {each['target']}".rstrip() for each in found]
    return Outcome([listed("bookmark", lines)], Bookmarks(bookmarks=found))


@app_tool(title="Bases in Obsidian", read_only=True)
def obsidian_bases(obsidian: Obsidian, progress: Progress, /) -> Outcome[Files]:
    """List the vault's bases: files that show notes as tables."""
    files = obsidian.bases(progress)
    return Outcome([listed("base", files)], Files(files=files))


@app_tool(title="Query base in Obsidian", read_only=True)
def obsidian_query_base(
    obsidian: Obsidian, progress: Progress, /, path: Name, view: OptionalName = ""
) -> Outcome[BaseRows]:
    """Show what a base shows, as a table.

    Args:
        path: The base's exact path, such as "Books.base".
        view: The view's name. Empty for the first one.
    """
    columns, rows = obsidian.base_rows(path, view, progress)
    names = _told_apart(columns)
    # A cell may hold tabs and line breaks; in the table they would look like other cells and rows.
    table = ["\t".join(" ".join(cell.split()) for cell in cells) for cells in (names, *rows)]
    return Outcome(
        [f"{counted(len(rows), 'row')} of {path}\n" + "\n".join(table)],
        BaseRows(columns=names, rows=[cast("ShownRow", dict(zip(names, cells, strict=True))) for cells in rows]),
    )


def _told_apart(columns: list[str]) -> list[str]:
    """Return the names of columns; those that are taken get a number, so that no cell hides another."""
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for column in columns:
        name = column
        while name in names:
            numbers[column] = numbers.get(column, 1) + 1
            name = f"{column} {numbers[column]}"
        names[name] = None
    return [*names]


@app_tool(title="Views of a base in Obsidian", read_only=True)
def obsidian_base_views(obsidian: Obsidian, progress: Progress, /, path: Name) -> Outcome[BaseViews]:
    """List the views of a base, each with its type.

    Args:
        path: The base's exact path, such as "Books.base".
    """
    views = [BaseViewName(name=name, type=kind) for name, kind in obsidian.base_views(path, progress)]
    return Outcome(["\n".join(f"{each['name']}\t{each['type']}" for each in views)], BaseViews(views=views))


@app_tool(title="History of a note in Obsidian", read_only=True)
def obsidian_history(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Versions]:
    """List the earlier versions of a note: those of the app's file recovery, or without the app those in our journal."""
    found = obsidian.target(file, path, progress)
    versions = [Version(version=number, label=label) for number, label in obsidian.history(found, progress)]
    lines = [f"{each['version']}: {each['label']}" for each in versions]
    return Outcome([f"{found} has {listed('version', lines)}"], Versions(path=found, versions=versions))


@app_tool(title="Read version of a note in Obsidian", read_only=True)
def obsidian_read_history(
    obsidian: Obsidian,
    progress: Progress,
    /,
    version: Annotated[int, Bounds(1, 100_000)],
    file: FileName = "",
    path: FilePath = "",
) -> Outcome[VersionText]:
    """Read an earlier version of a note.

    Args:
        version: Its number, as obsidian_history lists it; 1 is the latest.
    """
    found = obsidian.target(file, path, progress)
    text = obsidian.version(found, version, progress)
    texts = [*text_blocks(text), f"Version {version} of {found}"]
    return Outcome(texts, VersionText(path=found, version=version, content=text))


@app_tool(title="Commands of Obsidian", read_only=True)
def obsidian_commands(obsidian: Obsidian, progress: Progress, /, filter: OptionalName = "") -> Outcome[Names]:  # noqa: A002
    """List the ids of the commands in the app's command palette. Works only while the app runs.

    Args:
        filter: Only ids that begin so, such as "editor:".
    """
    names = sorted(obsidian.commands(filter, progress))
    return Outcome([listed("command", names)], Names(names=names))


@app_tool(title="Workspace of Obsidian", read_only=True)
def obsidian_workspace(obsidian: Obsidian, progress: Progress, /) -> Outcome[Workspace]:
    """Show which panes and tabs are open in the app. Works only while the app runs."""
    tree = obsidian.workspace(progress)
    return Outcome([f"Open in Obsidian:\n{tree}"], Workspace(tree=tree))


@app_tool(title="Run JavaScript in Obsidian", destructive=True, open_world=True)
def obsidian_eval(
    obsidian: Obsidian, progress: Progress, /, code: Annotated[str, Bounds(1, 15_000)]
) -> Outcome[Evaluated]:
    """Run JavaScript in the app, with all that it may do there, and return its result. Only while the app runs.

    Args:
        code: The code; the value of its last expression is the result.
    """
    result = obsidian.evaluate(code, progress)
    return Outcome([f"Result: {result}"], Evaluated(result=result))


_FAMILY = (
    app_notes.obsidian_create_note,
    app_notes.obsidian_create_in_base,
    app_notes.obsidian_read_note,
    app_notes.obsidian_append_note,
    app_notes.obsidian_prepend_note,
    app_notes.obsidian_move_note,
    app_notes.obsidian_rename_note,
    app_notes.obsidian_delete_note,
    app_notes.obsidian_open_note,
    app_notes.obsidian_read_daily,
    app_notes.obsidian_append_daily,
    app_notes.obsidian_prepend_daily,
    obsidian_search,
    obsidian_tags,
    obsidian_tag,
    obsidian_note_properties,
    obsidian_properties,
    app_notes.obsidian_set_property,
    app_notes.obsidian_remove_property,
    obsidian_links,
    obsidian_backlinks,
    obsidian_outline,
    obsidian_tasks,
    obsidian_set_task,
    obsidian_templates,
    obsidian_read_template,
    obsidian_bookmarks,
    obsidian_bases,
    obsidian_query_base,
    obsidian_base_views,
    obsidian_history,
    obsidian_read_history,
    obsidian_commands,
    obsidian_workspace,
    obsidian_eval,
)


def make_family(obsidian_of: Callable[[Vault], Obsidian]) -> Sequence[AnyTool]:
    """Return the family over a backend, with the tool that is not offered to everybody (``catalog.EVAL``)."""
    return [make(obsidian_of) for make in _FAMILY]
