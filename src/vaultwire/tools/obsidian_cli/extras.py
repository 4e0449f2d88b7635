"""The ``obsidian_*`` tools on templates, bookmarks, bases and history, and those on the app itself.

Docstrings here are product text: a model reads them. ``port`` has what answers them.
"""

from __future__ import annotations

from typing import Annotated, TypedDict, cast

from vaultwire.toolkit.phrases import counted, text_blocks
from vaultwire.toolkit.registry import Bounds, Name, Open, OptionalName, Outcome
from vaultwire.tools.obsidian_cli.port import FileName, FilePath, Files, Obsidian, app_tool, listed
from vaultwire.vault.value_types import Progress


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
