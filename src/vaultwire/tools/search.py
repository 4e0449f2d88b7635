"""Tools that find notes. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import Folder, Limit
from vaultwire.toolkit.paging import Cursor, page_of, page_text, position_of
from vaultwire.toolkit.phrases import counted, rough_tokens
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.vault.value_types import Found, Hit, Progress
from vaultwire.vault.vault import Vault

if TYPE_CHECKING:
    from vaultwire.vault.search_help import SearchHelp

_WORDS_SHOWN = 5  # of those that a note lacks


class MatchingLine(TypedDict):
    """A line that matched."""

    line: Annotated[int, "Line number in the note or canvas, from 1"]
    text: Annotated[str, "The line, cut if it is long; of a canvas the text of the card that begins there"]


class FoundNote(TypedDict):
    """A note or canvas that matched."""

    path: Annotated[str, "Path in the vault"]
    score: Annotated[int, "How well it matches; larger is better"]
    match_count: Annotated[int, "Lines that match; 0 if only the name does"]
    matches: Annotated[list[MatchingLine], "The best matching lines"]
    missing: Annotated[NotRequired[list[str]], "Words of the query that the note lacks"]


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
    partial_matches: Annotated[
        NotRequired[list[FoundNote]],
        "Where few notes or none match: notes with most of the words; missing are the others",
    ]
    absent_words: Annotated[NotRequired[list[str]], "Words of the query that are in no note"]
    hints: Annotated[NotRequired[list[str]], "How to write what the query seems to mean"]
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

    Words are found in any case, also inside longer words; a phrase matches full words only. If no note has all words, those
    with most are shown. A question or sentence counts without its little words. line: block: and section: find all in one of
    these; tag: finds the tags below it, too. [name:"whole value"] and [name:A OR B] are possible. Quote text that holds
    brackets or looks like an operator. Examples: meeting (work OR meetup) -personal |
    tag:#project line:(call mum) | [status:draft] path:"Daily notes".

    Args:
        query: What to look for.
        max_tokens: Return fewer notes if their lines would take more tokens than this, roughly counted.
        exact_total: Count all notes that match, also where that takes long.
    """
    key, offset = position_of(cursor)
    asked = None if cursor else vault.ask(query, folder, limit, progress, exact_total=exact_total)
    found = (
        asked.found if asked else vault.search(query, folder, offset, limit, progress, key=key, exact_total=exact_total)
    )
    given = asked.help if asked else None if cursor else vault.search_help(query, folder, limit, found, progress)
    hits = given.hits if given else found.hits
    body = _as_text(hits, max_tokens)
    data = FoundNotes(
        notes=[_to_found(hit) for hit in hits[: len(body)] if hit in found.hits],
        total=found.total,
        total_is_exact=found.total_is_exact,
        notes_searched=found.searched,
        notes_skipped=found.skipped,
    )
    if found.so_far:
        data["indexed_so_far"] = SoFar(indexed=found.so_far.indexed, notes=found.so_far.notes)
    if found.lacks_changes:
        data["changes_pending"] = True
    place = ":" if asked and body else page_text(offset, len(body), found.total) if found.total else "."
    lines = _counted(found, query, place)
    if given:
        lines += _explained(given, folder, has_some=bool(found.hits))
        if partial := [_to_found(hit) for hit in hits[: len(body)] if hit not in found.hits]:
            data["partial_matches"] = partial
        if given.absent:
            data["absent_words"] = given.absent
        if given.hints:
            data["hints"] = given.hints
    lines += body
    if given and len(body) < len(hits):
        lines.append(f"{len(hits) - len(body)} more: give a larger max_tokens.")
    elif found.has_more or len(body) < len(hits):
        key = key or vault.keep_found(query, folder, found)
        end = found.ends[len(body) - 1] if body else offset
        data["next_cursor"] = f"{key}.{end}"
        lines.append(f"{_more(found, end)}: pass cursor '{key}.{end}'.")
    return Outcome(["\n".join(lines)], data)


def _counted(found: Found, query: str, place: str) -> list[str]:
    """Return how many notes match, and why there may be more."""
    verb = "matches" if found.total == 1 else "match"
    least = "" if found.total_is_exact else "At least "
    lines = [f"{least}{found.total} of {counted(found.searched, 'note')} {verb} {query!r}{place}"]
    if found.lacks_changes:
        lines.append("(Not all changed notes are indexed yet: other notes may match. Search again later.)")
    if found.skipped:
        lines.append(f"({counted(found.skipped, 'note')} could not be read)")
    return lines


def _as_text(hits: list[Hit], max_tokens: int) -> list[str]:
    """Return the first of the notes with their lines, as far as they take no more tokens; at least one."""
    texts: list[str] = []
    left = max_tokens
    for hit in hits:
        missing = f" (lacks: {_listed(hit.missing)})" if hit.missing else ""
        unshown = hit.matches - len(hit.lines)
        more = f" (+{unshown} more lines)" if unshown > 0 else ""
        text = "\n".join([f"{hit.path}{missing}{more}", *[f"  {number}: {line}" for number, line in hit.lines]])
        left -= rough_tokens(text)
        if left < 0 and texts:
            break
        texts.append(text)
    return texts


def _listed(words: Sequence[str]) -> str:
    return ", ".join([*words[:_WORDS_SHOWN], "…"] if len(words) > _WORDS_SHOWN else words)


def _explained(given: SearchHelp, folder: str, *, has_some: bool) -> list[str]:
    """Return what is said of a search that found few notes or none, before its results."""
    lines = [f"Hint: {hint}." for hint in given.hints]
    lines += [f"Did you mean the note {path}?" for path in given.names]
    notes: list[str] = []
    if has_some and any(hit.missing for hit in given.hits):
        notes.append('Notes with "lacks" do not have all words.')
    elif given.hits and (given.absent or all(hit.missing for hit in given.hits)):
        notes.append("No note has all words; these have most of them.")
    elif given.hits and not has_some:
        lines.append("No note matches exactly. Best of those with most words:")
    if given.absent:
        notes.append(f"In no note{' of this folder' if folder else ''}: {_listed(given.absent)}.")
    return [*lines, f"({' '.join(notes)})"] if notes else lines


def _more(found: Found, end: int) -> str:
    """Return what the next page has, after the first ``end`` results."""
    if found.read_so_far:
        return f"{found.read_so_far.read:,} of {found.read_so_far.candidates:,} notes were read so far. To read on"
    return f"{found.total - end} more" if found.total_is_exact else "More"


def _to_found(hit: Hit) -> FoundNote:
    matches: list[MatchingLine] = [{"line": number, "text": text} for number, text in hit.lines]
    note = FoundNote(path=hit.path, score=round(hit.score), match_count=hit.matches, matches=matches)
    if hit.missing:
        note["missing"] = list(hit.missing)
    return note


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
