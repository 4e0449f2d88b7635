"""The ``obsidian_*`` tools on the vault and the app, and the whole family in the order in which clients see it.

Offered only on request. Docstrings of tools are product text: a model reads them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, TypedDict, cast

from vaultwire.bases.comparing import shown_text
from vaultwire.bases.values import MOST_KEPT_BYTES
from vaultwire.toolkit.phrases import counted, text_blocks
from vaultwire.toolkit.registry import AnyTool, Bounds, Folder, Limit, Name, Open, OptionalName, Outcome
from vaultwire.tools.base_views import markdown_head, markdown_row, separated
from vaultwire.tools.obsidian_cli import notes
from vaultwire.tools.obsidian_cli.notes import (
    CreatedNote,
    FileName,
    FilePath,
    Obsidian,
    app_tool,
    base_source,
    created,
    listed,
    optional_target,
    target,
)
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, is_note, parse_set_folder, sort_key
from vaultwire.vault.editing.revising import GivenProperty
from vaultwire.vault.editing.writing import Made
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, TOO_LARGE, VaultError
from vaultwire.vault.plans.creating import NewNote
from vaultwire.vault.settings.obsidian_settings import CONFIG_FOLDER, CachedFile
from vaultwire.vault.value_types import Hit, Progress
from vaultwire.vault.vault import Vault

# ---------------------------------------------------------------------- search, tags, properties in use

# More notes than a vault has.
_MAX_SEARCHED = 1000
_MAX_LINE_CHARACTERS = 200


class Files(TypedDict):
    """Files, in path order."""

    files: Annotated[list[str], "Paths in the vault"]


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


class PropertyCount(TypedDict):
    """A property in use."""

    name: Annotated[str, "Its name"]
    notes: Annotated[int, "How many notes have it"]


class PropertyCounts(TypedDict):
    """The properties in use."""

    properties: Annotated[list[PropertyCount], "In alphabetical order"]


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
    vault = obsidian.vault
    result = vault.search(
        f"match-case:({query})" if case else query, path, 0, _MAX_SEARCHED, progress, exact_total=True
    )
    hits = sorted(result.hits, key=lambda hit: sort_key(hit.path))[:limit]
    files = [FoundFile(path=hit.path, matches=_whole_lines(vault, hit, progress)) for hit in hits]
    rest = f", {len(files)} shown:" if len(files) < result.total else ":" if files else "."
    lines = [f"{counted(result.total, 'note')} found{rest}"]
    for file in files:
        lines += [file["path"], *(f"  {match['line']}: {match['text']}" for match in file["matches"])]
    return Outcome(["\n".join(lines)], FoundFiles(files=files, total=result.total))


def _whole_lines(vault: Vault, hit: Hit, progress: Progress) -> list[FoundLine]:
    """Return whole lines of a hit: the engine cuts long lines around the match, the app does not.

    Of a canvas, return the text of cards: its lines are JSON.
    """
    lines: Sequence[tuple[int, str]] = hit.lines
    if is_note(hit.path):
        whole = vault.read(hit.path, progress).text.split("\n") if lines else []
        lines = [(number, whole[number - 1]) for number, _ in lines if number <= len(whole)]
    return [FoundLine(line=number, text=_shown_line(text)) for number, text in lines]


def _shown_line(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _MAX_LINE_CHARACTERS else text[:_MAX_LINE_CHARACTERS] + "…"


@app_tool(title="Tags in Obsidian", read_only=True)
def obsidian_tags(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[TagNames]:
    """List the tags in use in the vault, or those of one note.

    Args:
        file: Only the tags of the note of this name.
        path: Only the tags of the note at this exact path.
    """
    vault = obsidian.vault
    note = optional_target(vault, file, path, progress)
    if note is not None:
        tags = sorted(vault.structure(note, progress).parsed.tags, key=sort_key)
    else:
        tags = sorted((each.tag for each in vault.overview.count_tags("", progress)), key=sort_key)
    return Outcome([listed("tag", [f"#{tag}" for tag in tags])], TagNames(tags=tags))


@app_tool(title="Notes with a tag in Obsidian", read_only=True)
def obsidian_tag(obsidian: Obsidian, progress: Progress, /, name: Annotated[str, Bounds(1, 200)]) -> Outcome[Files]:
    """List the notes that have a tag, or one below it.

    Args:
        name: The tag, with or without "#".
    """
    tagged = obsidian.vault.overview.tagged([name], every=True, folder="", progress=progress).all(progress)
    if not tagged:
        raise VaultError(FILE_NOT_FOUND, f"No note has the tag {'#' + name.lstrip('#')!r}.")
    files: list[str] = sorted((each.path for each in tagged), key=sort_key)
    return Outcome([listed("note", files)], Files(files=files))


@app_tool(title="Properties in use in Obsidian", read_only=True)
def obsidian_properties(obsidian: Obsidian, progress: Progress, /) -> Outcome[PropertyCounts]:
    """List the names of the properties in use in the vault, each with how many notes have it."""
    properties = obsidian.vault.overview.properties("", "", progress)
    used = [
        PropertyCount(name=each.name, notes=each.notes)
        for each in sorted(properties, key=lambda each: sort_key(each.name))
    ]
    lines = [f"{each['name']} ({each['notes']})" for each in used]
    return Outcome([listed("property", lines)], PropertyCounts(properties=used))


# ---------------------------------------------------------------------- templates and bookmarks


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


@app_tool(title="Templates in Obsidian", read_only=True)
def obsidian_templates(obsidian: Obsidian, progress: Progress, /) -> Outcome[Names]:
    """List the templates in the person's templates folder."""
    names = template_names(obsidian.vault, template_folder(obsidian.vault), progress)
    return Outcome([listed("template", names)], Names(names=names))


@app_tool(title="Read template in Obsidian", read_only=True)
def obsidian_read_template(obsidian: Obsidian, progress: Progress, /, name: Name) -> Outcome[TemplateText]:
    """Read a template as it stands.

    Args:
        name: The template's name, as obsidian_templates lists it.
    """
    folder = template_folder(obsidian.vault)
    names = {fold(each): each for each in template_names(obsidian.vault, folder, progress)}
    found = names.get(fold(name.strip().removesuffix(NOTE_SUFFIX)))
    if found is None:
        known = ", ".join(names.values()) or "none"
        raise VaultError(FILE_NOT_FOUND, f"There is no template {name!r} (templates: {known}).", name=name)
    text = obsidian.vault.read(f"{folder}/{found}{NOTE_SUFFIX}", progress).text
    return Outcome([*text_blocks(text), f"Template {name}"], TemplateText(name=name, content=text))


def template_folder(vault: Vault) -> str:
    """Return the folder of templates. Raises VaultError (FILE_NOT_FOUND) if the settings name none."""
    folder = parse_set_folder(vault.settings.template_folder, "Template folder location")
    if folder is None:
        raise VaultError(FILE_NOT_FOUND, "No template folder is set in Obsidian (Settings, Templates).")
    return folder


def template_names(vault: Vault, folder: str, progress: Progress) -> list[str]:
    """Return the names of the templates in a folder, as the app shows them."""
    notes = vault.overview.list_notes(folder, progress).all(progress)
    return sorted((each.path[len(folder) + 1 : -len(NOTE_SUFFIX)] for each in notes), key=sort_key)


@app_tool(title="Bookmarks in Obsidian", read_only=True)
def obsidian_bookmarks(obsidian: Obsidian, progress: Progress, /) -> Outcome[Bookmarks]:
    """List the person's bookmarks."""
    bookmarks = bookmarks_of(obsidian.vault, progress)
    lines = [f"{each['title']} ({each['type']}) {each['target']}".rstrip() for each in bookmarks]
    return Outcome([listed("bookmark", lines)], Bookmarks(bookmarks=bookmarks))


def bookmarks_of(vault: Vault, progress: Progress) -> list[Bookmark]:
    """Return the bookmarks of a vault, in the person's own order; without those that could name hidden notes."""
    bookmarks = _bookmarks_in(app_setting(vault, "bookmarks").get("items"))
    if not vault.hides_some:
        return bookmarks
    visible = set(map(str, vault.overview.paths(progress)))
    return [each for each in bookmarks if each["type"] == "file" and each["target"].partition("#")[0] in visible]


def app_setting(vault: Vault, name: str) -> dict[str, Any]:
    """Return what a file of the app's settings in the vault says, such as ``bookmarks``; nothing if it cannot be read."""
    text = CachedFile(f"{vault.root}/{CONFIG_FOLDER}/{name}.json").content().text
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _bookmarks_in(items: Any) -> list[Bookmark]:
    """Return the bookmarks of Obsidian's list, also those in groups."""
    bookmarks: list[Bookmark] = []
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        if item.get("type") == "group":
            bookmarks += _bookmarks_in(item.get("items"))
            continue
        place = _first_text(item.get(key) for key in ("path", "query", "url")) + _first_text([item.get("subpath")])
        title = _first_text([item.get("title")]) or place
        bookmarks.append(Bookmark(type=_first_text([item.get("type")]), title=title, target=place))
    return bookmarks


def _first_text(values: Iterable[Any]) -> str:
    return next((value for value in values if isinstance(value, str)), "")


# ---------------------------------------------------------------------- bases


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


@app_tool(title="Bases in Obsidian", read_only=True)
def obsidian_bases(obsidian: Obsidian, progress: Progress, /) -> Outcome[Files]:
    """List the vault's bases: files that show notes as tables."""
    paths = obsidian.vault.overview.paths(progress)
    files: list[str] = sorted((path for path in paths if path.lower().endswith(".base")), key=sort_key)
    return Outcome([listed("base", files)], Files(files=files))


@app_tool(title="Query base in Obsidian", read_only=True)
def obsidian_query_base(
    obsidian: Obsidian,
    progress: Progress,
    /,
    path: Name,
    view: OptionalName = "",
    format: Literal["table", "json", "csv", "tsv", "md", "paths"] = "table",  # noqa: A002 - the app's word for it
) -> Outcome[BaseRows]:
    """Show what a base shows, as a table.

    Args:
        path: The base's exact path, such as "Books.base".
        view: The view's name. Empty for the first one.
        format: How the text has the rows, as in the app's base:query; json is an array of objects.
    """
    names, rows = base_table(obsidian.vault, base_source(obsidian.vault, path), view, progress)
    return Outcome(
        [f"{counted(len(rows), 'row')} of {path}\n" + rows_text(format, names, rows)],
        BaseRows(columns=names, rows=[cast("ShownRow", dict(zip(names, cells, strict=True))) for cells in rows]),
    )


def base_table(vault: Vault, base: BaseSource, view: str, progress: Progress) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, ``path`` first, and the rows of a base's view, as texts. Raises VaultError."""
    result = vault.bases.query(base, view, progress=progress)
    if not result.rows and result.problems:
        raise VaultError(INVALID_ARGUMENTS, result.problems[0], path=base.path)
    kept_rows = result.rows.page(range(len(result.rows)), MOST_KEPT_BYTES, progress)
    if len(kept_rows) < len(result.rows):
        message = f"The rows of {base.path!r} need more than {MOST_KEPT_BYTES // 1_000_000} MB."
        raise VaultError(TOO_LARGE, message, path=base.path)
    names = _told_apart(["path", *(column.name for column in result.columns)])
    return names, [[row.path, *map(shown_text, row.cells)] for row in kept_rows]


def rows_text(form: str, names: list[str], rows: list[list[str]]) -> str:
    """Return rows as the app's ``base:query`` prints them; the first column is the path."""
    if form == "json":
        objects = [dict(zip(names, cells, strict=True)) for cells in rows]
        return json.dumps(objects, ensure_ascii=False, indent=2)
    if form in ("csv", "tsv"):
        return separated([names, *rows], "," if form == "csv" else "\t").rstrip("\n")
    if form == "md":
        return "\n".join([*markdown_head(names), *map(markdown_row, rows)])
    if form == "paths":
        return "\n".join(cells[0] for cells in rows)
    # A cell may hold tabs and line breaks; in the table they would look like other cells and rows.
    return "\n".join("\t".join(" ".join(cell.split()) for cell in cells) for cells in (names, *rows))


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
        path: The base's path, such as "Books.base", or its name.
    """
    is_path = path.lower().endswith(".base")
    source = base_source(obsidian.vault, path) if is_path else BaseSource(path)
    found = obsidian.vault.bases.views(source, progress)
    views = [BaseViewName(name=view.name, type=view.type) for view in found]
    return Outcome(["\n".join(f"{each['name']}\t{each['type']}" for each in views)], BaseViews(views=views))


@app_tool(title="Create note in a base in Obsidian")
def obsidian_create_in_base(
    obsidian: Obsidian, progress: Progress, /, path: Name, name: Name, view: OptionalName = "", content: str = ""
) -> Outcome[CreatedNote]:
    """Create a note that a base shows, with the properties that its filters ask for. A name that is taken gets a number.

    Args:
        path: The base's exact path, such as "Books.base".
        name: Note name (without .md extension) or exact path
        view: The view's name. Empty for the first one.
        content: Initial note content (markdown)
    """
    vault = obsidian.vault
    return created("Created", create_in_base(vault, base_source(vault, path), view, name, content, progress))


def create_in_base(vault: Vault, base: BaseSource, view: str, name: str, content: str, progress: Progress) -> Made:
    """Create a note with the properties that the filters of a base's view ask for. Raises VaultError."""
    wanted = vault.bases.new_note(base, view, progress)
    given = [GivenProperty(each, value, "text") for each, value in wanted.properties.items()]
    text = vault.revising.with_properties(content, given, progress) if given else content
    place = name if "/" in name or wanted.folder is None else f"{wanted.folder}/{name}"
    return vault.writing.create(NewNote(place, text, "", "", "number"), progress, dry_run=False)


# ---------------------------------------------------------------------- what the app knows


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


@app_tool(title="History of a note in Obsidian", read_only=True)
def obsidian_history(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Versions]:
    """List the earlier versions of a note: those of the app's file recovery, or without the app those in our journal."""
    note = target(obsidian.vault, file, path, progress)
    versions = [Version(version=number, label=label) for number, label in obsidian.history(note, progress)]
    lines = [f"{each['version']}: {each['label']}" for each in versions]
    return Outcome([f"{note} has {listed('version', lines)}"], Versions(path=note, versions=versions))


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
    note = target(obsidian.vault, file, path, progress)
    text = obsidian.version(note, version, progress)
    texts = [*text_blocks(text), f"Version {version} of {note}"]
    return Outcome(texts, VersionText(path=note, version=version, content=text))


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
    notes.obsidian_create_note,
    obsidian_create_in_base,
    notes.obsidian_read_note,
    notes.obsidian_append_note,
    notes.obsidian_prepend_note,
    notes.obsidian_move_note,
    notes.obsidian_rename_note,
    notes.obsidian_delete_note,
    notes.obsidian_open_note,
    notes.obsidian_read_daily,
    notes.obsidian_append_daily,
    notes.obsidian_prepend_daily,
    obsidian_search,
    obsidian_tags,
    obsidian_tag,
    notes.obsidian_note_properties,
    obsidian_properties,
    notes.obsidian_set_property,
    notes.obsidian_remove_property,
    notes.obsidian_links,
    notes.obsidian_backlinks,
    notes.obsidian_outline,
    notes.obsidian_tasks,
    notes.obsidian_set_task,
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
