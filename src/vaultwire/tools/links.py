"""Tools on links: of one note, between two, in the whole vault, and those to fix. Docstrings here are product text."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from vaultwire.toolkit.phrases import add_facts, counted, shortened
from vaultwire.toolkit.registry import Bounds, Cursor, DryRun, Folder, Name, OptionalName, Outcome, page_of, tool
from vaultwire.tools.changes import Changed, change_texts, to_changed
from vaultwire.tools.search import EmbeddedSoFar, embedded_so_far
from vaultwire.vault.editing.arranging import Fixed, GivenFix
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.index.link_graph import Direction, LinkGraph, Neighbour, Unresolved
from vaultwire.vault.insights.similar import SuggestedLink
from vaultwire.vault.listed import Listed, listed
from vaultwire.vault.value_types import OutgoingLink, Progress, Related
from vaultwire.vault.vault import Vault

What = Literal["out", "in", "neighbours", "path", "unresolved", "orphans", "dead_ends", "hubs", "related", "suggested"]

# The notes that each question needs; one that is not here is about the whole vault.
_NEEDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("out", "in", "related", "suggested", "neighbours"), ("path",)),
    "path": ("path", "to"),
}
_ARROWS: dict[Direction, str] = {"out": "→", "in": "←", "both": "↔"}
_LINKS = {"out": "the note links to it", "in": "it links to the note", "both": "they link to each other"}
# Places shown of one name; search_notes finds the others.
_MAX_PLACES = 20
# More notes than these have little in common with a note; the second number is shown where more are asked for.
_MAX_RELATED, _USUAL_RELATED = 20, 8


class NoteLink(TypedDict):
    """A link of a note."""

    link: Annotated[str, "As written: name and, behind #, heading or block"]
    target: Annotated[NotRequired[str], "File it leads to; absent if there is none of that name"]
    line: Annotated[int, "Line number in the note, from 1"]
    display: Annotated[NotRequired[str], "What a reader sees instead of the name"]
    embed: Annotated[bool, "Whether the target is shown in place"]


class LinkingLine(TypedDict):
    """A place that links to a note or attachment."""

    path: Annotated[str, "Note that links here"]
    line: Annotated[int, "Line number in that note, from 1"]
    text: Annotated[str, "The line, cut if it is long"]
    embed: Annotated[bool, "Whether it shows the note or attachment in place"]


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


class RelatedNote(TypedDict):
    """A related note, and why."""

    path: Annotated[str, "Path in the vault"]
    score: Annotated[int, "How much the two have in common; for comparing"]
    words: Annotated[NotRequired[list[str]], "Rare words that both have, the rarest first"]
    tags: Annotated[NotRequired[list[str]], "Rare tags that both have"]
    both_link_to: Annotated[NotRequired[list[str]], "Files that both link to"]
    linked_by: Annotated[NotRequired[list[str]], "Notes that link to both"]
    link: Annotated[NotRequired[str], 'A link between the two: "out" from the note asked about, "in" to it, or "both"']


class PlaceForLink(TypedDict):
    """Where in the note a link would fit."""

    line: Annotated[int, "Line number in the note, from 1"]
    heading: Annotated[NotRequired[str], "The heading above it"]
    name: Annotated[NotRequired[str], "The other note's name or alias as it stands there, without a link"]


class NoteToLink(TypedDict):
    """A note to link with, why, and where."""

    path: Annotated[str, "Path in the vault"]
    reasons: Annotated[list[str], "What speaks for it"]
    meaning: Annotated[NotRequired[int], "How near it is in meaning, in percent, if that speaks for it"]
    place: Annotated[NotRequired[PlaceForLink], "Where a link to it fits; absent if no line is better than another"]


class Links(TypedDict):
    """A page of links, of files, or of names, by what was asked."""

    path: Annotated[NotRequired[str], "The note, for out and in"]
    links: Annotated[NotRequired[list[NoteLink]], "For out: links of the note"]
    unresolved: Annotated[NotRequired[int], "For out: how many of the note's links lead nowhere"]
    backlinks: Annotated[NotRequired[list[LinkingLine]], "For in: places that link to the note"]
    files: Annotated[NotRequired[list[GraphFile]], "For neighbours, path, orphans, dead_ends and hubs"]
    names: Annotated[NotRequired[list[UnresolvedName]], "For unresolved"]
    notes: Annotated[NotRequired[list[RelatedNote]], "For related, the most related first"]
    suggested: Annotated[NotRequired[list[NoteToLink]], "For suggested, the best first"]
    by_meaning: Annotated[NotRequired[EmbeddedSoFar], "For suggested: how many notes could be found by meaning"]
    total: Annotated[int, "How many on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(
    title="List links",
    category="links",
    listed="standard",
    time_class="search",
    read_only=True,
    rare=("depth", "direction"),
    plain=("path", "what", "to"),
)
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
    """Show a note's links, lines linking to it, neighbours, related or suggested notes, a path to another; or the vault's
    unresolved names, orphans (no links in), dead_ends (none out), hubs.

    Related notes share rare words, tags or links. Suggested are notes that it is not linked with and might be, each with the
    line where the link fits: its text names them, they are related, or, with a model, near in meaning. Links are
    resolved as Obsidian does. Attachments count as linked to.

    Args:
        path: The note; for "in" also an attachment. Not for questions about the vault.
        what: What to show.
        to: For path.
        depth: Of neighbours: how many links away at most.
        direction: Of neighbours and path: which links to follow.
    """
    _check(what, path, to)
    if what == "out":
        return _links_of(vault, path, limit, cursor, progress)
    if what == "in":
        return _links_to(vault, path, limit, cursor, progress)
    if what in ("related", "suggested"):
        show = _related_to if what == "related" else _suggested_for
        return show(vault, path, limit if limit <= _MAX_RELATED else _USUAL_RELATED, progress)

    def find() -> Listed[Any]:
        if what == "neighbours":
            start = vault.locate(path, progress)
            return vault.overview.link_graph(progress).neighbours(start, depth, direction, progress)
        if what == "path":
            start, end = vault.locate(path, progress), vault.locate(to, progress)
            way = vault.overview.link_graph(progress).path_between(start, end, direction, progress)
            # The first step is the note itself.
            return listed([] if way is None else [Neighbour(start, 0, start, "out"), *way], (start, end))
        return _whole_graph(vault.overview.link_graph(progress), what)

    page = page_of(vault, ("list_links", what, path, to, depth, direction), cursor, limit, find, progress)
    data = Links(total=page.total)
    if what == "path" and not page.total:
        hint = "" if direction == "both" else ' Try direction "both".'
        start, end = page.facts
        return Outcome([f"No chain of links connects {start} with {end}.{hint}"], Links(files=[], total=0))
    if what == "unresolved":
        data["names"] = [_to_name(each) for each in page.items]
        lines = [_places_line(each) for each in data["names"]]
    else:
        data["files"] = [_to_file(what, each) for each in page.items]
        lines = [_line(what, each, depth) for each in data["files"]]
    return page.outcome(data, [_head(what, page.total, page.facts, depth) + page.text, *lines])


def _check(what: What, path: str, to: str) -> None:
    """Raise VaultError unless exactly the notes that the question needs are given."""
    needed = _NEEDED.get(what, ())
    named = [name for name, value in (("path", path), ("to", to)) if value]
    if named != [*needed]:
        missing = [name for name in needed if name not in named]
        surplus = [name for name in named if name not in needed]
        needs = f"needs {' and '.join(needed)}" if needed else "takes neither path nor to"
        problem = f"; leave out {' and '.join(surplus)}" if not missing else ""
        problem = f"; {missing[0]} is missing" if missing and named else problem
        raise VaultError(
            INVALID_ARGUMENTS, f'what "{what}" {needs}{problem}.', argument=next(iter({*named} ^ {*needed}))
        )


# ---------------------------------------------------------------------- of one note


def _links_of(vault: Vault, path: str, limit: int, cursor: str | None, progress: Progress) -> Outcome[Links]:
    def find() -> Listed[OutgoingLink]:
        note, links = vault.links(path, progress)
        return listed(links, (note, sum(link.target is None for link in links)))

    page = page_of(vault, ("list_links", path), cursor, limit, find, progress)
    note, unresolved = page.facts
    data = Links(path=note, links=[_to_link(link) for link in page.items], total=page.total, unresolved=unresolved)
    lines = [f"{note} has {counted(page.total, 'link')}, {unresolved} unresolved{page.text}"]
    lines += [f"{link.line}: {link.linktext} → {link.target or '(nothing of that name)'}" for link in page.items]
    return page.outcome(data, lines)


def _to_link(link: OutgoingLink) -> NoteLink:
    entry = NoteLink(link=link.linktext, line=link.line, embed=link.is_embed)
    add_facts(entry, target=link.target, display=link.display)
    return entry


def _links_to(vault: Vault, path: str, limit: int, cursor: str | None, progress: Progress) -> Outcome[Links]:
    question = ("list_links", "in", path)
    page = page_of(vault, question, cursor, limit, lambda: vault.backlinks(path, progress), progress)
    backlinks = [
        LinkingLine(path=link.source, line=link.line, text=shortened(link.text), embed=link.is_embed)
        for link in page.items
    ]
    lines = [f"{counted(page.total, 'link')} to {page.facts}{page.text}"]
    lines += [f"{link['path']}:{link['line']}: {link['text']}" for link in backlinks]
    return page.outcome(Links(path=page.facts, backlinks=backlinks, total=page.total), lines)


def _related_to(vault: Vault, path: str, limit: int, progress: Progress) -> Outcome[Links]:
    """Return the notes that have most in common with a note, and what that is.

    Words, tags and files that many notes share count little. Languages written without spaces are compared by tags and
    links only.
    """
    note, related = vault.overview.related(path, limit, progress)
    lines = [f"{counted(len(related), 'note')} related to {note}{':' if related else '.'}"]
    lines += [f"{each.path}: {'; '.join(_reasons(each))}" for each in related]
    data = Links(path=note, notes=[_to_related(each) for each in related], total=len(related))
    return Outcome(["\n".join(lines)], data)


def _reasons(related: Related) -> list[str]:
    reasons = [_LINKS[related.link]] if related.link else []
    both = [*(f"#{tag}" for tag in related.tags), *related.words]
    reasons += ["both have " + ", ".join(both)] if both else []
    reasons += ["both link to " + ", ".join(related.both_link_to)] if related.both_link_to else []
    reasons += ["linked together in " + ", ".join(related.linked_by)] if related.linked_by else []
    return reasons


def _to_related(related: Related) -> RelatedNote:
    note = RelatedNote(path=related.path, score=round(related.score))
    add_facts(note, words=related.words, tags=related.tags, both_link_to=[*related.both_link_to])
    add_facts(note, linked_by=[*related.linked_by], link=related.link)
    return note


def _suggested_for(vault: Vault, path: str, limit: int, progress: Progress) -> Outcome[Links]:
    """Return the notes that a note might be linked with, why, and where in it."""
    note, suggested = vault.overview.suggested_links(path, limit, progress)
    data = Links(path=note, suggested=[_to_note_to_link(each) for each in suggested], total=len(suggested))
    lines = [f"{counted(len(suggested), 'note')} to link with {note}{':' if suggested else '.'}"]
    if vault.meaning is not None:
        data["by_meaning"], so_far = embedded_so_far(vault.meaning.coverage(progress))
        lines += so_far
    for each in data["suggested"]:
        where = ""
        if place := each.get("place"):
            heading = f", below {place['heading']!r}" if "heading" in place else ""
            where = f"line {place['line']}{heading}: "
        lines.append(f"{each['path']}: {where}{'; '.join(each['reasons'])}")
    return Outcome(["\n".join(lines)], data)


def _to_note_to_link(suggested: SuggestedLink) -> NoteToLink:
    place = suggested.place
    reasons = [f"the text names it: {place.name}"] if place is not None and place.name else []
    reasons += [] if suggested.related is None else _reasons(suggested.related)
    reasons += [] if suggested.likeness is None else [f"{suggested.likeness:.0%} near in meaning"]
    entry = NoteToLink(path=suggested.path, reasons=reasons)
    if suggested.likeness is not None:
        entry["meaning"] = round(100 * suggested.likeness)
    if place is not None:
        entry["place"] = PlaceForLink(line=place.line)
        if place.heading:
            entry["place"]["heading"] = place.heading
        if place.name:
            entry["place"]["name"] = place.name
    return entry


# ---------------------------------------------------------------------- the graph


def _whole_graph(links: LinkGraph, what: What) -> Listed[Any]:
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
    return f"{counted(total, 'note')} without links to files"


def _to_name(name: Unresolved) -> UnresolvedName:
    places = [LinkPlace(path=note, line=line) for note, line in name.places[:_MAX_PLACES]]
    return UnresolvedName(name=name.name, links=len(name.places), places=places)


def _places_line(name: UnresolvedName) -> str:
    rest = name["links"] - len(name["places"])
    places = ", ".join(f"{place['path']}:{place['line']}" for place in name["places"])
    return f"{name['name']} ({name['links']}): {places}" + (f" and {rest} more" if rest else "")


def _to_file(what: What, item: Any) -> GraphFile:
    if what == "hubs":
        path, notes = item
        return GraphFile(path=path, linked_by=notes)
    if not isinstance(item, Neighbour):
        return GraphFile(path=item)
    if not item.distance:
        return GraphFile(path=item.path, distance=0)
    return GraphFile(path=item.path, distance=item.distance, via=item.via, direction=item.direction)


def _line(what: What, file: GraphFile, depth: int) -> str:
    if "linked_by" in file:
        return f"{file['path']} ({file['linked_by']})"
    if "direction" not in file:
        return file["path"]
    line = f"{_ARROWS[file['direction']]} {file['path']}"
    return f"{file['distance']}: {file['via']} {line}" if what == "neighbours" and depth > 1 else line


# ---------------------------------------------------------------------- fixing

# Links that an answer names, and links left over that it names.
_MAX_LINKS, _MAX_LEFT = 200, 50

FixOfLink = TypedDict(
    "FixOfLink",
    {
        "path": Annotated[
            NotRequired[OptionalName], "The note or canvas; left out: every note where the link leads nowhere"
        ],
        "from": Annotated[Name, 'The link as it is now, such as "Old name" or "[[Old name#Part]]"'],
        "to": Annotated[Name, 'What it should be: "Right name", "Folder/Name#Part", or "#Part" alone'],
    },
)


class FixedLink(TypedDict):
    """A link that was rewritten."""

    path: Annotated[str, "The file"]
    line: Annotated[int, "Line number, from 1"]
    old: Annotated[str, "The link before"]
    new: Annotated[str, "The link now; of a dry run, as it would be"]


class FixedLinks(Changed):
    """What was fixed."""

    links: Annotated[list[FixedLink], "The first links"]
    link_count: Annotated[int, "How many links in all"]
    left: Annotated[
        list[str], "With suggested: the first links that lead nowhere and were left, because nothing is sure"
    ]
    left_count: Annotated[int, "How many in all"]


@tool(title="Fix links", category="links", destructive=True, time_class="search")
def fix_links(
    vault: Vault,
    progress: Progress,
    /,
    fixes: Annotated[list[FixOfLink] | None, Bounds(1, 500)] = None,
    suggested: bool = False,
    path: OptionalName = "",
    folder: Folder = "",
    dry_run: DryRun = False,
) -> Outcome[FixedLinks]:
    """Fix broken links in many notes as one change: those given, or all of which it is sure what was meant (a typing error,
    another case, a note that moved). All happen or none; one undo takes them back. check_notes lists broken links.

    Example: {"fixes": [{"from": "Old name", "to": "Right name"}]}.

    Args:
        fixes: The links and what they should be. Display texts and headings stay unless "to" has a heading.
        suggested: Fix all that are sure instead. A link that may mean two notes, or a note to be written one day, is left.
        path: With suggested, only in this note or canvas.
        folder: With suggested, only in notes below this folder.
    """
    if bool(fixes) is suggested or ((path or folder) and not suggested) or (path and folder):
        raise VaultError(
            INVALID_ARGUMENTS,
            'Give either fixes, such as [{"from": "Old name", "to": "Right name"}], or suggested true.',
            argument="fixes",
        )
    if suggested:
        fixed = vault.arranging.fix_suggested(path, folder, progress, dry_run=dry_run)
    else:
        given = [GivenFix(each.get("path", ""), each["from"], each["to"]) for each in fixes or ()]
        fixed = vault.arranging.fix_links(given, progress, dry_run=dry_run)
    return _outcome(fixed)


def _outcome(fixed: Fixed) -> Outcome[FixedLinks]:
    links, left = fixed.plan.links, [f"{path}:{finding.line}: {finding.message}" for path, finding in fixed.left]
    data = FixedLinks(
        **to_changed(fixed.done),
        links=[FixedLink(path=each.path, line=each.line, old=each.old, new=each.new) for each in links[:_MAX_LINKS]],
        link_count=len(links) + fixed.done.unread,
        left=left[:_MAX_LEFT],
        left_count=len(left),
    )
    texts = change_texts(fixed.done, f"{counted(data['link_count'], 'link')} fixed", data)
    lines = [f"{each['path']}:{each['line']}: {each['old']} → {each['new']}" for each in data["links"]]
    lines += [f"… and {data['link_count'] - len(lines)} more."] if data["link_count"] > len(lines) else []
    if left:
        lines += [f"{counted(len(left), 'broken link')} left, because it is not sure what was meant:", *data["left"]]
        lines += [f"… and {len(left) - _MAX_LEFT} more."] if len(left) > _MAX_LEFT else []
    return Outcome([*texts, "\n".join(lines)] if lines else texts, data)
