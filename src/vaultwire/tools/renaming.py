"""The tools that move and rename whatever has a name. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from vaultwire.toolkit.argument_types import DryRun, IfMatch, Name, OptionalName
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.arranging import Moved, move_note, rename_heading, rename_property, rename_tag
from vaultwire.tools.changes import Changed, change_texts, to_changed
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class RenamedThing(Changed):
    """What was renamed."""

    path: Annotated[NotRequired[str], "Of a heading or block: the note"]
    links: Annotated[NotRequired[int], "Of a heading or block: how many links were rewritten"]
    places: Annotated[NotRequired[int], "Of a tag or property: how many places were changed"]


@tool(title="Move or rename notes", destructive=True, time_class="search")
def move_notes(
    vault: Vault,
    progress: Progress,
    /,
    paths: Annotated[list[Name], Bounds(1, 1000)],
    to: Name,
    dry_run: DryRun = False,
) -> Outcome[Moved]:
    """Move or rename a note, attachment or folder, or move several to a folder; links follow.

    All of it happens or nothing, as one change. A folder moved to "Yard/" goes into Yard if that is there;
    else it becomes Yard.

    Args:
        paths: What to move.
        to: "New name" renames in place, "Archive/" moves, "Archive/New name" both, "/New name" is the top.
    """
    if len(paths) == 1:
        return move_note(vault, progress, paths[0], to, dry_run)
    plan, done = vault.arranging.move_all(paths, to, progress, dry_run=dry_run)
    folder = plan.target.rpartition("/")[0]
    data = Moved(**to_changed(done), path=folder, moved_files=plan.files, links=len(plan.links) + done.unread)
    what = f"moved {counted(plan.files, 'file')} to {folder or 'the top'}, {counted(data['links'], 'link')} rewritten"
    return Outcome(change_texts(done, what, data), data)


@tool(title="Rename", destructive=True, time_class="search")
def rename(
    vault: Vault,
    progress: Progress,
    /,
    what: Literal["tag", "property", "heading", "block"],
    old: Name,
    new: Name,
    path: OptionalName = "",
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[RenamedThing]:
    """Rename a tag or property in all notes, or a heading or block id and the links to it.

    Tags below a tag are renamed with it. To rename a note use move_notes. Renaming to a tag in use merges the two.

    Args:
        what: What to rename.
        old: Its name now.
        new: Its new name.
        path: The note of a heading or block.
    """
    in_note = what in ("heading", "block")
    if bool(path) is not in_note or (if_match and not in_note):
        raise VaultError(
            INVALID_ARGUMENTS,
            f"rename: {what!r} {'needs path, the note' if in_note else 'is renamed in all notes, so it takes no path'}.",
            argument="path",
        )
    done: Outcome[Any]
    if what == "tag":
        done = rename_tag(vault, progress, old, new, dry_run)
    elif what == "property":
        done = rename_property(vault, progress, old, new, dry_run)
    else:
        mark = "^" if what == "block" and not old.startswith("^") else ""
        done = rename_heading(vault, progress, path, mark + old, new, if_match, dry_run)
    return done
