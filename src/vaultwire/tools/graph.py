"""The tool on the graph of links. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from vaultwire.toolkit.paging import Cursor, offset_of, page_outcome, page_text
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.link_graph import Direction, LinkGraph, Neighbour
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

Name = Annotated[str | None, Bounds(1, 1000)]
What = Literal["neighbours", "path", "unresolved", "orphans", "dead_ends", "hubs"]

_ARROWS: dict[Direction, str] = {"out": "→", "in": "←", "both": "↔"}
# Places shown of one name; search_notes finds the others.
_MAX_PLACES = 20


class GraphFile(TypedDict):
    """A note, or an attachment among neighbours."""

    path: Annotated[str, "Path in the vault"]
    distance: Annotated[NotRequired[int], "Links between it and the note asked about"]
    via: Annotated[NotRequired[str], "The file before it on the way"]
    direction: Annotated[
        NotRequired[Direction], "out: the file before it links to it; in: it links to that; both: either to the other"
    ]
    linked_by: Annotated[NotRequired[int], "Notes that link to it"]


class LinkPlace(TypedDict):
    """Where a link stands."""

    path: Annotated[str, "Path of the note"]
    line: Annotated[int, "Line number in the note, from 1"]


class UnresolvedName(TypedDict):
    """A name that links ask for and no file has."""

    name: Annotated[str, "As the links have it, without heading or block"]
    links: Annotated[int, "Links that ask for it"]
    places: Annotated[list[LinkPlace], "The first of them"]


class GraphAnswer(TypedDict):
    """A page of the answer: files, or names for unresolved."""

    what: Annotated[str, "What was asked"]
    files: Annotated[
        NotRequired[list[GraphFile]], "All but unresolved; for path in the order of the way, both ends in it"
    ]
    unresolved: Annotated[NotRequired[list[UnresolvedName]], "Only for unresolved"]
    total: Annotated[int, "Files or names on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(title="Link graph", time_class="search", read_only=True)
def graph(
    vault: Vault,
    progress: Progress,
    /,
    what: What,
    path: Name = None,
    to: Name = None,
    depth: Annotated[int, Bounds(1, 5)] = 1,
    direction: Direction = "both",
    limit: Annotated[int, Bounds(1, 1000)] = 100,
    cursor: Cursor = None,
) -> Outcome[GraphAnswer]:
    """Answer how notes are connected by links: around one note, between two, or in the whole vault.

    Attachments count as linked to; a note's links to itself and the notes Obsidian excludes do not count. For the links of
    one note with their lines use list_links and list_backlinks.

    Args:
        what: "neighbours" of a note; a shortest "path" over links from one note to another; "unresolved": names that links
            ask for and no file has, with the places; "orphans": notes no other note links to; "dead_ends": notes that
            link to no file; "hubs": the notes most others link to.
        path: For neighbours and path: the note to start from, named as for read_note.
        to: For path: the note to reach.
        depth: For neighbours: how many links away at most.
        direction: For neighbours and path: follow links either way ("both"), only forwards ("out") or only
            backwards ("in").
        limit: How many files or names to return.
    """
    _check(what, path, to)
    offset = offset_of(cursor)
    data = GraphAnswer(what=what, total=0)
    if what == "neighbours":
        found = vault.locate(path or "", progress)
        page, total = vault.overview.link_graph(progress).neighbours(found, depth, direction, offset, limit, progress)
        data["files"] = [_file(each) for each in page]
        head = f"{counted(total, 'file')} within {counted(depth, 'link')} of {found}"
        lines = [_line(each, depth) for each in page]
    elif what == "path":
        start, end = vault.locate(path or "", progress), vault.locate(to or "", progress)
        way = vault.overview.link_graph(progress).path_between(start, end, direction, progress)
        if way is None:
            hint = "" if direction == "both" else ' Try direction "both".'
            return Outcome([f"No way over links leads from {start} to {end}.{hint}"], {**data, "files": []})
        files = [GraphFile(path=start, distance=0), *map(_file, way)]
        data["files"], total = files[offset : offset + limit], len(files)
        head = f"{counted(len(way), 'link')} from {start} to {end}"
        lines = [start, *(f"{_ARROWS[each.direction]} {each.path}" for each in way)][offset : offset + limit]
    else:
        head, lines, total = _whole_graph(
            vault.overview.link_graph(progress), what, slice(offset, offset + limit), data
        )
    data["total"] = total
    count = len(lines)
    lines.insert(0, head + page_text(offset, count, total))
    return page_outcome(data, lines, offset + count, total)


def _whole_graph(links: LinkGraph, what: What, page: slice, data: GraphAnswer) -> tuple[str, list[str], int]:
    """Return headline, lines and total of an answer about the whole vault, and put its page into the data."""
    if what == "unresolved":
        names = links.unresolved()
        data["unresolved"] = []
        lines = []
        for each in names[page]:
            places = [LinkPlace(path=note, line=line) for note, line in each.places[:_MAX_PLACES]]
            data["unresolved"].append(UnresolvedName(name=each.name, links=len(each.places), places=places))
            more = f" and {len(each.places) - len(places)} more" if len(places) < len(each.places) else ""
            shown = ", ".join(f"{place['path']}:{place['line']}" for place in places)
            lines.append(f"{each.name} ({len(each.places)}): {shown}{more}")
        count = sum(len(each.places) for each in names)
        return f"{counted(count, 'link')} to {counted(len(names), 'name')} no file has", lines, len(names)
    if what == "hubs":
        hubs = links.hubs()
        data["files"] = [GraphFile(path=each.path, linked_by=each.notes) for each in hubs[page]]
        lines = [f"{each.path} ({each.notes})" for each in hubs[page]]
        return f"{counted(len(hubs), 'note')} that others link to, the most linked first", lines, len(hubs)
    paths = links.orphans() if what == "orphans" else links.dead_ends()
    data["files"] = [GraphFile(path=each) for each in paths[page]]
    ending = " no other note links to" if what == "orphans" else " without links to files"
    return counted(len(paths), "note") + ending, list(paths[page]), len(paths)


def _check(what: What, path: str | None, to: str | None) -> None:
    """Raise VaultError unless exactly the notes that the question needs are given."""
    needed = {"neighbours": ["path"], "path": ["path", "to"]}.get(what, [])
    given = [name for name, value in (("path", path), ("to", to)) if value is not None]
    if given != needed:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"graph: {what!r} takes {' and '.join(needed) or 'neither path nor to'}, got "
            f"{' and '.join(given) or 'neither'}.",
            argument=next(iter({*given} ^ {*needed})),
        )


def _file(each: Neighbour) -> GraphFile:
    return GraphFile(path=each.path, distance=each.distance, via=each.via, direction=each.direction)


def _line(each: Neighbour, depth: int) -> str:
    arrow = _ARROWS[each.direction]
    return f"{arrow} {each.path}" if depth == 1 else f"{each.distance}: {each.via} {arrow} {each.path}"
