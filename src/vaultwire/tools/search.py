"""Tools that find notes. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import Folder, Limit
from vaultwire.toolkit.paging import Cursor, page_of, page_text, position_of
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.vault.value_types import Found, Hit, Progress
from vaultwire.vault.vault import Vault

# English has about four bytes a token, scripts of three bytes a character about three. Each model counts differently.
_BYTES_A_TOKEN = 4


class MatchingLine(TypedDict):
    """A line that matched."""

    line: Annotated[int, "Line number in the note or canvas, from 1"]
    text: Annotated[str, "The line, cut if it is long; of a canvas the text of the card that begins there"]


class FoundNote(TypedDict):
    """A note or canvas that matched."""

    path: Annotated[str, "Path in the vault"]
    score: Annotated[int, "How well it matches; larger is better"]
    match_count: Annotated[int, "Lines that match; 0 if only the name does"]
    matches: Annotated[list[MatchingLine], "The first matching lines"]


class SoFar(TypedDict):
    """How many notes are indexed."""

    indexed: Annotated[int, "Notes that could be found"]
    notes: Annotated[int, "Notes in the vault"]


class FoundNotes(TypedDict):
    """A page of search results."""

    notes: list[FoundNote]
    total: Annotated[int, "Notes that match, on all pages together"]
    total_is_exact: Annotated[bool, "False: at least total notes match; exact_total counts them all"]
    notes_searched: Annotated[int, "Notes and canvases looked at"]
    notes_skipped: Annotated[int, "Those that could not be read"]
    indexed_so_far: Annotated[
        NotRequired[SoFar], "The vault is being indexed for the first time: other notes may match, search again later"
    ]
    changes_pending: Annotated[
        NotRequired[bool],
        "True: many notes have just changed and are being indexed: other notes may match, search again later",
    ]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


class TaggedNote(TypedDict):
    """A note and its tags."""

    path: Annotated[str, "Path in the vault"]
    tags: Annotated[list[str], "All tags of the note, without #"]


class TaggedNotes(TypedDict):
    """A page of notes found by tags."""

    notes: list[TaggedNote]
    total: Annotated[int, "Notes that match, on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(title="Search notes", time_class="search", read_only=True)
def search_notes(
    vault: Vault,
    progress: Progress,
    /,
    query: Annotated[str, Bounds(1, 1000)],
    folder: Folder = "",
    limit: Limit = 10,
    max_tokens: Annotated[int, Bounds(100, 100_000)] = 4000,
    exact_total: bool = False,
    cursor: Cursor = None,
) -> Outcome[FoundNotes]:
    """Search texts and names of notes and canvases; best first, with matching lines. Obsidian's syntax: all words must occur;
    "phrase", -not, OR, ( ), /regex/; operators before a word, "phrase" or (group): file: path: content: tag: line: block:
    section: task: task-todo: task-done: match-case:; [property], [property:value], [property:>5], [property:null].

    Words are found in any case, also inside longer words; a phrase matches full words only. line: block: and section: find all
    in one of these; tag: finds the tags below it, too. [name:"whole value"] and [name:A OR B] are possible. Quote text that
    holds brackets or looks like an operator. Examples: meeting (work OR meetup) -personal | tag:#project line:(call mum) |
    [status:draft] path:"Daily notes".

    Args:
        query: What to look for.
        max_tokens: Return fewer notes if their lines would take more tokens than this, roughly counted.
        exact_total: Count all notes that match, also where that takes long.
    """
    key, offset = position_of(cursor)
    found = vault.search(query, folder, offset, limit, progress, key=key, exact_total=exact_total)
    shown: list[FoundNote] = []
    body: list[str] = []
    left = max_tokens * _BYTES_A_TOKEN
    for hit in found.hits:
        unshown = hit.matches - len(hit.lines)
        head = f"{hit.path} (+{counted(unshown, 'more line')})" if unshown > 0 else hit.path
        text = "\n".join([head, *[f"  {number}: {line}" for number, line in hit.lines]])
        left -= len(text.encode()) - len(hit.lines)
        if left < 0 and shown:
            break
        body.append(text)
        shown.append(_to_found(hit))
    data = FoundNotes(
        notes=shown,
        total=found.total,
        total_is_exact=found.total_is_exact,
        notes_searched=found.searched,
        notes_skipped=found.skipped,
    )
    verb = "matches" if found.total == 1 else "match"
    least = "" if found.total_is_exact else "At least "
    place = page_text(offset, len(shown), found.total)
    lines = [f"{least}{found.total} of {counted(found.searched, 'note')} {verb} {query!r}{place}"]
    if found.so_far:
        data["indexed_so_far"] = SoFar(indexed=found.so_far.indexed, notes=found.so_far.notes)
        lines.append(
            f"({found.so_far.indexed:,} of {found.so_far.notes:,} notes are indexed so far. Search again later.)"
        )
    if found.lacks_changes:
        data["changes_pending"] = True
        lines.append("(Not all changed notes are indexed yet: other notes may match. Search again later.)")
    if found.skipped:
        lines.append(f"({counted(found.skipped, 'note')} could not be read)")
    lines += body
    if found.has_more or len(shown) < len(found.hits):
        key = key or vault.keep_found(query, folder, found)
        end = found.ends[len(shown) - 1] if shown else offset
        data["next_cursor"] = f"{key}.{end}"
        lines.append(f"{_more(found, end)}: pass cursor '{key}.{end}'.")
    return Outcome(["\n".join(lines)], data)


def _more(found: Found, end: int) -> str:
    """Return what the next page has, after the first ``end`` results."""
    if found.read_so_far:
        return f"{found.read_so_far.read:,} of {found.read_so_far.candidates:,} notes were read so far. To read on"
    return f"{found.total - end} more" if found.total_is_exact else "More"


def _to_found(hit: Hit) -> FoundNote:
    matches: list[MatchingLine] = [{"line": number, "text": text} for number, text in hit.lines]
    return {"path": hit.path, "score": round(hit.score), "match_count": hit.matches, "matches": matches}


@tool(title="Search by tags", time_class="search", read_only=True)
def search_by_tags(
    vault: Vault,
    progress: Progress,
    /,
    tags: Annotated[list[Annotated[str, Bounds(1, 200)]], Bounds(1, 50)],
    match: Literal["all", "any"] = "all",
    folder: Folder = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Outcome[TaggedNotes]:
    """Find the notes that have certain tags, in the frontmatter or in the text.

    Case does not matter, "#" may be left out, and a tag covers the tags below it: "project" finds "project/alpha".

    Args:
        tags: Tags to look for.
        match: "all" for notes that have every tag, "any" for notes that have at least one.
    """
    page = page_of(
        vault,
        ("search_by_tags", tuple(tags), match, folder),
        cursor,
        limit,
        lambda: vault.overview.tagged(tags, every=match == "all", folder=folder, progress=progress),
        progress,
    )
    data = TaggedNotes(notes=[TaggedNote(path=note.path, tags=note.tags) for note in page.items], total=page.total)
    wanted = (" and " if match == "all" else " or ").join("#" + tag.removeprefix("#") for tag in tags)
    verb = "has" if page.total == 1 else "have"
    lines = [f"{counted(page.total, 'note')} {verb} {wanted}{page.text}"]
    lines += [f"{note.path}  {' '.join('#' + tag for tag in note.tags)}" for note in page.items]
    return page.outcome(data, lines)
