"""The tools that change notes by what a base shows. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict, cast

from vaultwire.bases.base_edits import ViewEdit
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.toolkit.argument_types import DryRun, IfMatch, Name, OptionalName
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Open, Outcome, tool
from vaultwire.tools.changes import ChangedNote, change_texts, to_changed, to_changed_note
from vaultwire.tools.making import MadeFile, made_outcome
from vaultwire.tools.revising import Values, to_given
from vaultwire.vault.base_queries.bases import check_understood
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.editing.revising import GivenProperty
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.plans.creating import NewNote
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

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


@tool(title="Set properties in a view of a base", time_class="search", destructive=True)
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
    found = vault.bases.query(BaseSource(base, block), view, this=this, progress=progress)
    check_understood(found.problems_of_rows)
    paths = [path for path in found.rows.paths() if is_note(path)]
    if not paths:
        raise VaultError(
            INVALID_ARGUMENTS,
            " ".join([f"The view {found.view.name!r} shows no note. Nothing was changed.", *found.problems]),
            base=base,
        )
    given = to_given(set or {})
    revised = vault.revising.revise_properties(paths, given, remove or [], None, progress, dry_run=dry_run)
    where = f"{counted(len(paths), 'note')} of the view {found.view.name!r}"
    what = [f"{counted(len(given), 'property')} of {where} set"] if given else []
    what += [f"removed {', '.join(remove)} from {where}"] if remove else []
    others = len(found.rows) - len(paths)
    what += [f"left {counted(others, 'other file')} as they are"] if others else []
    what += [f"problem: {problem}" for problem in found.problems]
    data = cast("ChangedNote", {**to_changed(revised[0].done), "path": revised[0].path})
    return Outcome(change_texts(revised[0].done, "; ".join(what), data), data)


@tool(title="Create a note in a view of a base")
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
    wanted = vault.bases.new_note(BaseSource(base, block), view, progress)
    own = {fold(each) for each in properties or {}}
    given = [GivenProperty(each, value, "text") for each, value in wanted.properties.items() if fold(each) not in own]
    given += to_given(properties or {})
    text = vault.revising.with_properties(content, given, progress) if given else content
    path = name if "/" in name or wanted.folder is None else f"{wanted.folder}/{name}"
    made = vault.making.create(NewNote(path, text, template, "", "number"), progress, dry_run=dry_run)
    why = [] if dry_run else vault.bases.explain(BaseSource(base, block), view, made.path, progress=progress).dropped_by
    missing = f". It is not in the view: {'; '.join(why)}" if why else ""
    return made_outcome(made, f"created {made.path}{missing}")


@tool(title="Edit base", destructive=True)
def edit_base(
    vault: Vault,
    progress: Progress,
    /,
    base: Name,
    block: Block = 0,
    set: Parts | None = None,  # noqa: A002 - a model's word for it
    views: Views | None = None,
    if_match: IfMatch = None,
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
    changes, edits = _to_values(set), _to_edits(views or [])
    revised = vault.revising.edit_base(BaseSource(base, block), changes, edits, if_match, progress, dry_run=dry_run)
    data = to_changed_note(revised.done, revised.path, revised.before)
    where = f"block {block} of {revised.path}" if block else revised.path
    return Outcome(change_texts(revised.done, f"edited {where} (etag {data.get('etag')})", data), data)


@tool(title="Create base", destructive=True)
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
    made = vault.making.create_base(path, search, changes, edits, progress, dry_run=dry_run)
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
