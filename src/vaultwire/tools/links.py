"""The tool on links of every kind. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import OptionalName
from vaultwire.toolkit.paging import Cursor
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.graph import GraphFile, UnresolvedName, graph
from vaultwire.tools.related import MAX_RELATED, USUAL_RELATED, RelatedNote, related_notes
from vaultwire.tools.structure import LinkingLine, NoteLink, list_backlinks, outgoing_links
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.link_graph import Direction
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

What = Literal["out", "in", "neighbours", "path", "unresolved", "orphans", "dead_ends", "hubs", "related"]


class Links(TypedDict):
    """A page of links, of files, or of names, by what was asked."""

    path: Annotated[NotRequired[str], "The note, for out and in"]
    links: Annotated[NotRequired[list[NoteLink]], "For out: links of the note"]
    unresolved: Annotated[NotRequired[int], "For out: how many of the note's links lead nowhere"]
    backlinks: Annotated[NotRequired[list[LinkingLine]], "For in: places that link to the note"]
    files: Annotated[NotRequired[list[GraphFile]], "For neighbours, path, orphans, dead_ends and hubs"]
    names: Annotated[NotRequired[list[UnresolvedName]], "For unresolved"]
    notes: Annotated[NotRequired[list[RelatedNote]], "For related, the most related first"]
    total: Annotated[int, "How many on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(title="List links", time_class="search", read_only=True)
def list_links(
    vault: Vault,
    progress: Progress,
    /,
    path: OptionalName = "",
    what: What = "out",
    to: OptionalName = "",
    depth: Annotated[int, Bounds(1, 5)] = 1,
    direction: Direction = "both",
    limit: Annotated[int, Bounds(1, 1000), "How many to return."] = 100,
    cursor: Cursor = None,
) -> Outcome[Links]:
    """Show a note's links, the lines that link to it, its neighbours, related notes or the path to another; or the vault's
    unresolved names, orphans (no links to them), dead_ends (none in them), hubs.

    Related notes share rare words, tags or links. Links are resolved as Obsidian does. Attachments count as linked to.

    Args:
        path: The note; for "in" also an attachment. Not for questions about the vault.
        what: What to show.
        to: For path.
        depth: Of neighbours: how many links away at most.
        direction: Of neighbours and path: which links to follow.
    """
    found: Any
    if what == "out" or what == "in" or what == "related":  # noqa: PLR1714 - mypy narrows this only
        if not path or to:
            message = f'what "{what}" takes no to.' if path else f'what "{what}" needs path.'
            raise VaultError(INVALID_ARGUMENTS, message, argument="to" if path else "path")
        if what == "related":
            related = related_notes(vault, progress, path, limit if limit <= MAX_RELATED else USUAL_RELATED)
            data = Links(path=related.data["path"], notes=related.data["notes"], total=len(related.data["notes"]))
            return Outcome(related.texts, data)
        if what == "out":
            found = outgoing_links(vault, progress, path, limit, cursor)
        else:
            found = list_backlinks(vault, progress, path, limit, cursor)
        return Outcome(found.texts, found.data)
    found = graph(vault, progress, what, path or None, to or None, depth, direction, limit, cursor)
    facts: Any = dict(found.data)
    del facts["what"]
    if "unresolved" in facts:
        facts["names"] = facts.pop("unresolved")
    return Outcome(found.texts, facts)
