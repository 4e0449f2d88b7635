"""The tool that shows the vault as a whole. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, cast

from vaultwire.toolkit.argument_types import Folder
from vaultwire.toolkit.paging import Cursor
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.overview import UsedProperty, UsedValue, VaultNumbers, list_properties, vault_stats
from vaultwire.tools.structure import UsedTag, list_tags
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class Branch(TypedDict):
    """A folder of the tree."""

    folder: Annotated[str, "Path in the vault; empty for its top"]
    notes: Annotated[int, "Notes directly in it"]
    notes_below: Annotated[int, "Notes in it and in all folders below"]
    attachments_below: Annotated[int, "Attachments in it and in all folders below"]
    folders: Annotated[int, "Folders directly in it"]
    unshown: Annotated[int, "How many of these are not shown"]


class Overview(TypedDict):
    """What was asked of the vault."""

    folders: Annotated[NotRequired[list[Branch]], "The tree of folders: each before those in it"]
    tags: Annotated[NotRequired[list[UsedTag]], "Tags in use, most used first"]
    properties: Annotated[NotRequired[list[UsedProperty]], "Properties in use, or the one asked for"]
    values: Annotated[NotRequired[list[UsedValue]], "Values of the property asked for, most used first"]
    stats: Annotated[NotRequired[VaultNumbers], "The vault in numbers"]
    total: Annotated[NotRequired[int], "Tags, properties or values on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(title="Vault overview", time_class="search", read_only=True)
def vault_overview(
    vault: Vault,
    progress: Progress,
    /,
    what: Literal["folders", "tags", "properties", "values", "stats"] = "stats",
    name: Annotated[str, Bounds(0, 200)] = "",
    folder: Folder = "",
    depth: Annotated[int, Bounds(1, 20)] = 2,
    limit: Annotated[int, Bounds(1, 1000), "How many to return."] = 100,
    cursor: Cursor = None,
) -> Outcome[Overview]:
    """Show the folder tree, tags or properties in use, a property's values, or numbers and problems.

    Args:
        what: What to show: the vault in numbers ("stats"), or what is in use.
        name: The property, for values.
        depth: Of folders.
    """
    if bool(name) is not (what == "values"):
        raise VaultError(
            INVALID_ARGUMENTS, 'vault_overview: give name, a property\'s, with what "values".', argument="name"
        )
    if what == "tags":
        tags = list_tags(vault, progress, folder, limit, cursor)
        return Outcome(tags.texts, cast("Overview", tags.data))
    if what in ("properties", "values"):
        used = list_properties(vault, progress, name, folder, limit, cursor)
        return Outcome(used.texts, cast("Overview", used.data))
    if what == "folders":
        return _folders(vault, progress, folder, depth, limit)
    stats = vault_stats(vault, progress, limit)
    return Outcome(stats.texts, Overview(stats=stats.data))


def _folders(vault: Vault, progress: Progress, folder: str, depth: int, limit: int) -> Outcome[Overview]:
    tree = vault.overview.folder_tree(folder, depth, limit, progress)
    lines = []
    for each in tree:
        name = each.folder if not each.depth else each.folder.rpartition("/")[2]
        counts = [counted(each.notes_below, "note")]
        counts += [f"{each.notes} directly in it"] if each.folders and each.notes else []
        counts += [counted(each.attachments_below, "attachment")] if each.attachments_below else []
        counts += [f"{counted(each.unshown, 'folder')} not shown"] if each.unshown else []
        lines.append(f"{'  ' * each.depth}{name or '(top)'}{'/' if name else ''}  {', '.join(counts)}")
    if any(each.unshown for each in tree):
        lines.append("To see more, pass folder or a larger limit.")
    branches = [
        Branch(
            folder=each.folder,
            notes=each.notes,
            notes_below=each.notes_below,
            attachments_below=each.attachments_below,
            folders=each.folders,
            unshown=each.unshown,
        )
        for each in tree
    ]
    return Outcome(["\n".join(lines)], Overview(folders=branches))
