"""Tools on bases: query them, change notes by what they show, edit them. Docstrings here are product text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict, cast

from vaultwire.bases.base_edits import ViewEdit
from vaultwire.bases.comparing import shown_text, to_json
from vaultwire.bases.row import Host
from vaultwire.bases.values import ErrorValue
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.toolkit.phrases import BYTES_A_TOKEN, counted
from vaultwire.toolkit.registry import (
    Also,
    Bounds,
    Cursor,
    DryRun,
    IfMatch,
    Limit,
    Merge,
    Name,
    Open,
    OptionalName,
    Outcome,
    page_of,
    tool,
)
from vaultwire.tools.base_views import fitting, made_rows, markdown_tables, path_row, with_paths
from vaultwire.tools.changes import ChangedNote, change_texts, match_of, to_changed, to_changed_note
from vaultwire.tools.edit import MadeFile, Values, made_outcome, to_given
from vaultwire.vault.base_queries.bases import check_understood
from vaultwire.vault.base_queries.running import BaseResult, BaseSource, Explanation, ResultRow
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.editing.revising import GivenProperty
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.listed import Listed
from vaultwire.vault.plans.creating import NewNote
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

_MOST_YAML = 50_000


class BaseColumn(TypedDict):
    """A column."""

    id: Annotated[str, "note.x, file.x or formula.x"]
    name: Annotated[str, "What a person sees"]


# A name with a dot is no field of a class.
Cells = TypedDict("Cells", {"file.name": NotRequired[Annotated[str, "For example: the file's name"]]})
"""Values by column id."""


class BaseRow(TypedDict):
    """A file with its cells."""

    path: Annotated[str, "Path in the vault"]
    values: Annotated[Cells, Open(), "By column id: numbers, booleans, ISO dates, texts, lists, links, errors"]
    group: Annotated[NotRequired[str], "The group it is in"]


class QueriedBase(TypedDict):
    """What a view shows: one page of it."""

    view: Annotated[str, "The view's name"]
    type: Annotated[str, "table, cards, list, map, kanban, or a plugin's"]
    views: Annotated[list[str], "All views of the base"]
    columns: list[BaseColumn]
    rows: list[BaseRow]
    total: Annotated[int, "Rows on all pages together"]
    matches: Annotated[int, "Files that match, before the view's own limit"]
    summaries: Annotated[Cells, Open(), "By column id"]
    problems: Annotated[list[str], "What failed or was not understood. Rows may be missing then"]
    why: Annotated[NotRequired[list[str]], "For explain: what each filter and formula gave"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(
    title="Query base",
    category="bases",
    time_class="search",
    read_only=True,
    also=(Also("find_notes"),),
    rare=("block", "this", "max_tokens"),
)
def query_base(
    vault: Vault,
    progress: Progress,
    /,
    base: OptionalName = "",
    view: OptionalName = "",
    block: Annotated[int, Bounds(0, 1000)] = 0,
    yaml: Annotated[str, Bounds(0, _MOST_YAML)] = "",
    this: OptionalName = "",
    explain: OptionalName = "",
    limit: Limit = 50,
    max_tokens: Annotated[int, Bounds(100, 100_000)] = 4000,
    cursor: Cursor = None,
) -> Outcome[QueriedBase]:
    """Show a view of an Obsidian base as a table.

    It has the view's rows with their formulas, groups and summaries. Works without the app, for .base files, base blocks in
    notes, and a base given as yaml. Filters and formulas are those of Obsidian's Bases, such as
    status == "open" && file.hasTag("work").

    Args:
        base: The .base file: path or name. For a block: its note.
        view: Its name; the first one if empty.
        block: Number of the base block in that note, from 1.
        yaml: The text of a base, instead of a file: filters, formulas, views.
        this: The note that stands for this in filters, if not the base's own file.
        explain: A note: say why it is in the view or not.
        max_tokens: Return fewer rows if they would take more tokens than this, roughly counted.
    """
    if bool(base) == bool(yaml):
        raise VaultError(INVALID_ARGUMENTS, "Give either base, a file, or yaml, the text of a base.", argument="base")
    source = BaseSource("" if yaml else base, block, yaml)
    if explain:
        return _explained(vault, vault.bases.explain(source, view, explain, this=this, progress=progress), progress)

    def rows() -> Listed[ResultRow]:
        result = vault.bases.query(source, view, this=this, progress=progress)
        return Listed(range(len(result.rows)), lambda numbers, progress: made_rows(result, numbers, progress), result)

    page = page_of(vault, ("query_base", source, view, this), cursor, limit, rows, progress)
    result: BaseResult = page.facts
    names, place = with_paths(result.columns)
    texts = fitting([path_row(row.path, row.cells, place) for row in page.items], max_tokens * BYTES_A_TOKEN)
    page.items, page.end = page.items[: len(texts)], page.offset + len(texts)
    shown = counted(page.total, "row")
    more = f" of {counted(result.total, 'file')}" if result.total != page.total else ""
    lines = [f"View {result.view.name!r} ({result.view.type}): {shown}{more}{page.text}"]
    lines += [f"Problem: {problem}" for problem in result.problems]
    lines += markdown_tables(result, page.items, names, texts)
    if result.summaries and page.end == page.total:
        named = {column.id: column.name for column in result.columns}
        lines += [f"{named.get(each, each)}: {shown_text(value)}" for each, value in result.summaries.items()]
    data = _data(result, page.items, vault.bases.host(progress), page.total)
    data["problems"] += _failed_cells(result, page.items)
    return page.outcome(data, lines)


def _failed_cells(result: BaseResult, rows: Sequence[ResultRow]) -> list[str]:
    """Say in which columns cells of these rows are errors; the text shows them in the cells."""
    failed: dict[str, tuple[str, int]] = {}
    for row in rows:
        for column, cell in zip(result.columns, row.cells, strict=True):
            if isinstance(cell, ErrorValue):
                first, count = failed.get(column.id, (cell.message, 0))
                failed[column.id] = first, count + 1
    return [
        f"The column {column!r} failed in {counted(count, 'row')} of these: {message}"
        for column, (message, count) in failed.items()
    ]


def _data(result: BaseResult, rows: Sequence[ResultRow], host: Host, total: int) -> QueriedBase:
    data_rows: list[BaseRow] = []
    for row in rows:
        values = {column.id: to_json(cell, host) for column, cell in zip(result.columns, row.cells, strict=True)}
        each = BaseRow(path=row.path, values=cast("Cells", values))
        if row.group >= 0:
            each["group"] = result.groups[row.group].text or "None"
        data_rows.append(each)
    return QueriedBase(
        view=result.view.name,
        type=result.view.type,
        views=[each.name for each in result.base.views],
        columns=[BaseColumn(id=column.id, name=column.name) for column in result.columns],
        rows=data_rows,
        total=total,
        matches=result.total,
        summaries=cast("Cells", {name: to_json(value, host) for name, value in result.summaries.items()}),
        problems=list(result.problems),
    )


def _explained(vault: Vault, why: Explanation, progress: Progress) -> Outcome[QueriedBase]:
    """Say what each filter and formula gave for one note."""
    is_in = "is in" if why.is_in else "is not in"
    lines = [f"{why.path} {is_in} the view {why.view.name!r}."]
    lines += [f"Problem: {each}" for each in why.problems]
    lines += [f"Dropped by: {each}" for each in why.dropped_by]
    reasons = [
        f"{'  ' * each.depth}{'yes' if each.holds else 'no '}  {each.text}  ({each.of})"
        + ("" if each.text in ("and", "or", "not") else f" = {shown_text(each.value) or 'empty'}")
        for each in why.filters
    ]
    reasons += [f"formula.{each.name} = {shown_text(each.value) or 'empty'}" for each in why.formulas]
    host = vault.bases.host(progress)
    values = {f"formula.{each.name}": to_json(each.value, host) for each in why.formulas}
    data = QueriedBase(
        view=why.view.name,
        type=why.view.type,
        views=[],
        columns=[BaseColumn(id=f"formula.{each.name}", name=each.name) for each in why.formulas],
        rows=[BaseRow(path=why.path, values=cast("Cells", values))],
        total=int(why.is_in),
        matches=int(why.is_in),
        summaries=Cells(),
        problems=list(why.problems),
        why=[*why.dropped_by, *reasons],
    )
    return Outcome(["\n".join([*lines, *reasons])], data)


# ---------------------------------------------------------------------- changing

Block = Annotated[int, Bounds(0, 1000)]


class BaseFormulas(TypedDict):
    """An example of formulas; there may be any others."""

    total: NotRequired[str]


class BasePart(TypedDict):
    """Parts of a base; filters, properties and summaries, too."""

    formulas: NotRequired[Annotated[BaseFormulas, Open()]]


class ViewPart(TypedDict):
    """Parts of a view; filters, sort, groupBy, summaries and options of its type, too."""

    type: NotRequired[str]
    order: Annotated[NotRequired[list[str]], "Columns"]
    limit: NotRequired[int]


class ViewChange(TypedDict):
    """A view, and what changes in it. A new view needs a type."""

    name: Annotated[Name, "Its name"]
    set: Annotated[NotRequired[Annotated[ViewPart, Open()]], "As in the .base file; null removes a key"]
    new_name: Annotated[NotRequired[Name], "To rename it"]
    remove: Annotated[NotRequired[bool], "To remove it"]
    place: Annotated[NotRequired[Annotated[int, Bounds(1, 500)]], "Its number among the views"]


Parts = Annotated[BasePart, Open()]
Views = Annotated[list[ViewChange], Bounds(1, 100)]


@tool(
    title="Set properties in a view of a base",
    category="bases",
    listed="named",
    time_class="search",
    destructive=True,
    also=(Also("set_properties"),),
)
def set_properties_in_view(
    vault: Vault,
    progress: Progress,
    /,
    base: Name,
    view: OptionalName = "",
    block: Block = 0,
    this: OptionalName = "",
    set: Values | None = None,  # noqa: A002 - a model's word for it
    remove: Annotated[list[Name] | None, Bounds(1, 100)] = None,
    dry_run: DryRun = False,
) -> Outcome[ChangedNote]:
    """Set or remove properties of all notes that a view of a base shows.

    All notes are changed as one change, or none. Files that are no notes are left as they are.

    Example: {"base": "Tasks", "view": "Overdue", "set": {"status": "late"}}.

    Args:
        base: The .base file: path or name. For a block: its note.
        view: Its name; the first one if empty.
        block: Number of the base block in that note, from 1.
        this: The note that stands for this in filters, if not the base's own file.
        set: {"status": "done", "tags": ["a"]}
        remove: Names.
    """
    if not (set or remove):
        raise VaultError(INVALID_ARGUMENTS, "Say what to set, or what to remove.", argument="set")
    result = vault.bases.query(BaseSource(base, block), view, this=this, progress=progress)
    check_understood(result.problems_of_rows)
    paths = [path for path in result.rows.paths() if is_note(path)]
    if not paths:
        raise VaultError(
            INVALID_ARGUMENTS,
            " ".join([f"The view {result.view.name!r} shows no note. Nothing was changed.", *result.problems]),
            base=base,
        )
    given = to_given(set or {})
    revised = vault.revising.revise_properties(paths, given, remove or [], None, progress, dry_run=dry_run)
    where = f"{counted(len(paths), 'note')} of the view {result.view.name!r}"
    what = [f"{counted(len(given), 'property')} of {where} set"] if given else []
    what += [f"removed {', '.join(remove)} from {where}"] if remove else []
    others = len(result.rows) - len(paths)
    what += [f"left {counted(others, 'other file')} as they are"] if others else []
    what += [f"problem: {problem}" for problem in result.problems]
    data = cast("ChangedNote", {**to_changed(revised[0].done), "path": revised[0].path})
    return Outcome(change_texts(revised[0].done, "; ".join(what), data), data)


@tool(title="Create a note in a view of a base", category="bases", listed="named", also=(Also("create_note"),))
def create_note_in_view(
    vault: Vault,
    progress: Progress,
    /,
    base: Name,
    view: OptionalName = "",
    block: Block = 0,
    name: Name = "Untitled",
    content: str = "",
    properties: Values | None = None,
    template: OptionalName = "",
    dry_run: DryRun = False,
) -> Outcome[MadeFile]:
    """Create a note that a view of a base shows.

    It gets the properties, tags and folder that the filters of the base and the view ask for. Filters within "or" and "not" add
    nothing. A name that is taken gets a number.

    Example: {"base": "Books", "view": "To read", "name": "Emma"}.

    Args:
        base: The .base file: path or name. For a block: its note.
        view: Its name; the first one if empty.
        block: Number of the base block in that note, from 1.
        name: Its name, or "Folder/Name".
        content: Markdown text; with a template, it comes below the template's.
        properties: More of them, or other values: {"status": "open", "tags": ["a"]}
        template: Name of a note in the person's templates folder.
    """
    new_note = vault.bases.new_note(BaseSource(base, block), view, progress)
    own = {fold(each) for each in properties or {}}
    given = [GivenProperty(each, value, "text") for each, value in new_note.properties.items() if fold(each) not in own]
    given += to_given(properties or {})
    text = vault.revising.with_properties(content, given, progress) if given else content
    path = name if "/" in name or new_note.folder is None else f"{new_note.folder}/{name}"

    def missing(path: VaultPath, text: str) -> list[str]:
        why = vault.bases.missing_from(BaseSource(base, block), view, path, text, progress)
        return [f"The new note is not in the view: {'; '.join(why)}."] if why else []

    made = vault.writing.create(NewNote(path, text, template, "", "number"), progress, dry_run=dry_run, remarks=missing)
    return made_outcome(made, f"created {made.path}")


@tool(title="Edit base", category="bases", listed="named", destructive=True, rare=("merge",))
def edit_base(
    vault: Vault,
    progress: Progress,
    /,
    base: Name,
    block: Block = 0,
    set: Parts | None = None,  # noqa: A002 - a model's word for it
    views: Views | None = None,
    if_match: IfMatch = None,
    merge: Merge = False,
    dry_run: DryRun = False,
) -> Outcome[ChangedNote]:
    """Change filters, formulas and views of a base.

    All else stays, comments and unknown keys, too. Keys are those of the .base file. null removes one. Filters are replaced
    whole. A base that would not work is refused.

    Examples: {"set": {"formulas": {"late": "due < today()", "old": null}}} | {"views": [{"name": "All", "new_name": "Every"}]}.

    Example: {"base": "Books", "views": [{"name": "Late", "set": {"type": "table", "filters": "due < today()",
    "sort": [{"property": "due", "direction": "ASC"}]}}]}.

    Args:
        base: The .base file: path or name. For a block: its note.
        block: Number of the base block in that note, from 1.
        set: {"filters": {"and": ["file.hasTag('book')", "status != 'done'"]}}
        views: Views to add, change, rename, remove or move.
    """
    if not (set or views):
        raise VaultError(INVALID_ARGUMENTS, "Say what to set in the base, or which views to change.", argument="set")
    changes, edits, match = _to_values(set), _to_edits(views or []), match_of(if_match, merge=merge)
    revised = vault.revising.edit_base(BaseSource(base, block), changes, edits, match, progress, dry_run=dry_run)
    data = to_changed_note(revised.done, revised.path, revised.before)
    where = f"block {block} of {revised.path}" if block else revised.path
    return Outcome(change_texts(revised.done, f"edited {where} (etag {data.get('etag')})", data), data)


@tool(title="Create base", category="bases", listed="named", destructive=True)
def create_base(
    vault: Vault,
    progress: Progress,
    /,
    path: Name,
    search: Annotated[str, Bounds(0, 1000)] = "",
    set: Parts | None = None,  # noqa: A002 - a model's word for it
    views: Views | None = None,
    dry_run: DryRun = False,
) -> Outcome[MadeFile]:
    """Make a .base file: from filters, or from a search.

    Without views it shows a table of the notes' names.

    Example: {"path": "Books", "search": "tag:#book [status:open]", "views": [{"name": "By due", "set": {"order": ["due"]}}]}.

    Args:
        path: "Name" or "Folder/Name".
        search: As for search_notes, with file:, path:, tag: and [property:value]. A base cannot filter by words of the text.
        set: {"filters": {"and": ["file.hasTag('book')"]}, "formulas": {"late": "due < today()"}}
        views: Tables, unless their type is another.
    """
    changes, edits = _to_values(set), _to_edits(views or [])
    made = vault.writing.create_base(path, search, changes, edits, progress, dry_run=dry_run)
    return made_outcome(made, f"created {made.path}")


def _to_values(given: BasePart | ViewPart | None) -> dict[str, PropertyValue]:
    return cast("dict[str, PropertyValue]", dict(given or {}))


def _to_edits(views: Sequence[ViewChange]) -> list[ViewEdit]:
    return [
        ViewEdit(
            each["name"],
            _to_values(each.get("set")),
            each.get("new_name", ""),
            each.get("remove", False),
            each.get("place", 0),
        )
        for each in views
    ]
