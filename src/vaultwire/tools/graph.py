"""The tool on the graph of links. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from vaultwire.toolkit.paging import Cursor, page_of
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.link_graph import Direction, LinkGraph, Neighbour, Unresolved
from vaultwire.vault.listed import Listed, listed
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

    def find() -> Listed[Any]:
        if what == "neighbours":
            start = vault.locate(path or "", progress)
            return vault.overview.link_graph(progress).neighbours(start, depth, direction, progress)
        if what == "path":
            start, end = vault.locate(path or "", progress), vault.locate(to or "", progress)
            way = vault.overview.link_graph(progress).path_between(start, end, direction, progress)
            # The first step is the note itself.
            return listed([] if way is None else [Neighbour(start, 0, start, "out"), *way], (start, end))
        return _whole_graph(vault.overview.link_graph(progress), what)

    page = page_of(vault, ("graph", what, path, to, depth, direction), cursor, limit, find, progress)
    data = GraphAnswer(what=what, total=page.total)
    if what == "path" and not page.total:
        hint = "" if direction == "both" else ' Try direction "both".'
        start, end = page.facts
        return Outcome([f"No chain of links connects {start} with {end}.{hint}"], {**data, "files": []})
    if what == "unresolved":
        data["unresolved"] = [_name(each) for each in page.items]
        lines = [_places_line(each) for each in data["unresolved"]]
    else:
        data["files"] = [_file(what, each) for each in page.items]
        lines = [_line(what, each, depth) for each in data["files"]]
    return page.outcome(data, [_head(what, page.total, page.facts, depth) + page.text, *lines])


def _whole_graph(links: LinkGraph, what: What) -> Listed[Any]:
    """Return the answer about the whole vault."""
    if what == "unresolved":
        names = links.unresolved()
        return listed(names, sum(len(each.places) for each in names))
    keys = links.hubs() if what == "hubs" else links.orphans() if what == "orphans" else links.dead_ends()
    return Listed(keys, lambda part, _: list(part))


def _head(what: What, total: int, facts: Any, depth: int) -> str:
    """Return the headline. ``facts``: see the ``find`` of the tool."""
    match what:
        case "neighbours":
            return f"{counted(total, 'file')} within {counted(depth, 'link')} of {facts}"
        case "path":
            return f"{counted(total - 1, 'link')} from {facts[0]} to {facts[1]}"
        case "unresolved":
            return f"{counted(facts, 'link')} to {counted(total, 'name')} no file has"
        case "hubs":
            return f"{counted(total, 'note')} that others link to, the most linked first"
        case "orphans":
            return f"{counted(total, 'note')} no other note links to"
        case "dead_ends":
            return f"{counted(total, 'note')} without links to files"


def _name(each: Unresolved) -> UnresolvedName:
    places = [LinkPlace(path=note, line=line) for note, line in each.places[:_MAX_PLACES]]
    return UnresolvedName(name=each.name, links=len(each.places), places=places)


def _places_line(each: UnresolvedName) -> str:
    rest = each["links"] - len(each["places"])
    shown = ", ".join(f"{place['path']}:{place['line']}" for place in each["places"])
    return f"{each['name']} ({each['links']}): {shown}" + (f" and {rest} more" if rest else "")


def _check(what: What, path: str | None, to: str | None) -> None:
    """Raise VaultError unless exactly the notes that the question needs are given."""
    needed = {"neighbours": ["path"], "path": ["path", "to"]}.get(what, [])
    given = [name for name, value in (("path", path), ("to", to)) if value is not None]
    if given != needed:
        missing = [name for name in needed if name not in given]
        wanted = f"needs {' and '.join(needed)}" if needed else "takes neither path nor to"
        surplus = [name for name in given if name not in needed]
        problem = f"; {missing[0]} is missing" if missing and given else ""
        problem = problem if missing else f"; leave out {' and '.join(surplus)}"
        raise VaultError(
            INVALID_ARGUMENTS,
            f'what "{what}" {wanted}{problem}.',
            argument=next(iter({*given} ^ {*needed})),
        )


def _file(what: What, each: Any) -> GraphFile:
    if what == "hubs":
        path, notes = each
        return GraphFile(path=path, linked_by=notes)
    if not isinstance(each, Neighbour):
        return GraphFile(path=each)
    if not each.distance:
        return GraphFile(path=each.path, distance=0)
    return GraphFile(path=each.path, distance=each.distance, via=each.via, direction=each.direction)


def _line(what: What, each: GraphFile, depth: int) -> str:
    if "linked_by" in each:
        return f"{each['path']} ({each['linked_by']})"
    if "direction" not in each:
        return each["path"]
    line = f"{_ARROWS[each['direction']]} {each['path']}"
    return f"{each['distance']}: {each['via']} {line}" if what == "neighbours" and depth > 1 else line
