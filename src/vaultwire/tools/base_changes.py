"""The tools that change notes by what a base shows. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, cast

from vaultwire.toolkit.argument_types import DryRun, Name, OptionalName
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.changes import ChangedNote, change_texts, to_changed
from vaultwire.tools.making import MadeFile, made_outcome
from vaultwire.tools.revising import Values, to_given
from vaultwire.vault.base_queries.results import BaseSource
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.editing.revising import given_as
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.plans.creating import NewNote
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

Block = Annotated[int, Bounds(0, 1000)]


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
    paths = [row.path for row in found.rows if is_note(row.path)]
    if not paths:
        raise VaultError(
            INVALID_ARGUMENTS, f"The view {found.view.name!r} shows no note. Nothing was changed.", base=base
        )
    given = to_given(set or {})
    revised = vault.revising.revise_properties(paths, given, remove or [], None, progress, dry_run=dry_run)
    where = f"{counted(len(paths), 'note')} of the view {found.view.name!r}"
    what = [f"{counted(len(given), 'property')} of {where} set"] if given else []
    what += [f"removed {', '.join(remove)} from {where}"] if remove else []
    others = len(found.rows) - len(paths)
    what += [f"left {counted(others, 'other file')} as they are"] if others else []
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
    given = [given_as(each, value) for each, value in wanted.properties.items() if fold(each) not in own]
    given += to_given(properties or {})
    text = vault.revising.with_properties(content, given, progress) if given else content
    path = name if "/" in name or wanted.folder is None else f"{wanted.folder}/{name}"
    made = vault.making.create(NewNote(path, text, template, "", "number"), progress, dry_run=dry_run)
    return made_outcome(made, f"created {made.path}")
