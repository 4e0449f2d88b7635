"""The tool that shows the vault as a whole. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, cast

from vaultwire.toolkit.argument_types import Folder
from vaultwire.toolkit.paging import Cursor
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.overview import NotesOfFolder, UsedProperty, UsedValue, VaultNumbers, list_properties, vault_stats
from vaultwire.tools.structure import UsedTag, list_tags
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class Overview(TypedDict):
    """What was asked of the vault."""

    folders: Annotated[NotRequired[list[NotesOfFolder]], "Folders with the most notes right in them"]
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
    limit: Annotated[int, Bounds(1, 1000), "How many to return."] = 100,
    cursor: Cursor = None,
) -> Outcome[Overview]:
    """Show the vault's folders, tags or properties in use, a property's values, or numbers and problems.

    Args:
        what: What to show: the vault in numbers ("stats"), or what is in use.
        name: The property, for values.
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
    stats = vault_stats(vault, progress, limit)
    if what == "stats":
        return Outcome(stats.texts, Overview(stats=stats.data))
    folders = stats.data["largest_folders"]
    lines = [f"{counted(each['notes'], 'note')} in {each['folder'] or '(top)'}" for each in folders]
    return Outcome(["\n".join([f"{counted(len(folders), 'folder')} with notes:", *lines])], Overview(folders=folders))
