"""Tools that find notes: by text, by facts, by tags. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from vaultwire.toolkit.phrases import add_facts, counted, iso_time, local_time, rough_tokens, shortened
from vaultwire.toolkit.registry import Bounds, Cursor, Folder, Limit, Outcome, page_of, page_text, position_of, tool
from vaultwire.tools.attachments import attachments_instead
from vaultwire.tools.explained import (
    ExplainedSearch,
    PartOfScore,
    by_its_meaning,
    sum_of,
    to_explained,
    to_part,
    why_lines,
    why_together,
)
from vaultwire.vault import value_types
from vaultwire.vault.disk.paths import stem
from vaultwire.vault.insights.listing import Unmet
from vaultwire.vault.search.filters import NoteFilterText, Sort, scalar_texts
from vaultwire.vault.value_types import Coverage, Found, Hit, NearNotes, Progress, VaultPath, Why
from vaultwire.vault.vault import Vault

if TYPE_CHECKING:
    from vaultwire.vault.asking import Asked, SearchHelp
    from vaultwire.vault.attachment_texts.attachment_texts import AttachmentHit


_WORDS_SHOWN = 5  # of those that a note lacks
# Attachments shown beside a full page of notes. Where there are fewer notes, they have the room.
_ATTACHMENTS = 3


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
    meaning: Annotated[NotRequired[int], "How near the note is in meaning, in percent, if it was found by that"]


class MatchingAttachment(TypedDict):
    """A PDF or text file that matched."""

    path: Annotated[str, "Path in the vault"]
    kind: Annotated[str, '"pdf" or "text"']
    score: Annotated[int, "How well it matches, compared with other attachments"]
    page: Annotated[NotRequired[int], "Of a PDF: the page that matches best, from 1"]
    more_pages: Annotated[NotRequired[list[int]], "The first of the other pages that match"]
    matches: Annotated[list[MatchingLine], "The best lines of that page; read_notes counts lines in the same way"]
    missing: Annotated[NotRequired[list[str]], "Words of the question that it lacks"]
    parts: Annotated[NotRequired[list[PartOfScore]], "With explain: what makes the score"]


class SoFar(TypedDict):
    """How many notes are indexed."""

    indexed: Annotated[int, "Notes that could be found"]
    notes: Annotated[int, "Notes in the vault"]


class EmbeddedSoFar(TypedDict):
    """How many notes can be found by meaning."""

    embedded: Annotated[int, "Notes that could be found by meaning"]
    notes: Annotated[int, "Notes in the vault"]
    problem: Annotated[NotRequired[str], "Why not more are about to be"]


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
    by_meaning: Annotated[
        NotRequired[EmbeddedSoFar],
        "The search was by meaning, too: notes has all that was found, in one order; total is of those with the words",
    ]
    explained: Annotated[NotRequired[ExplainedSearch], "What explain asks for"]
    attachments: Annotated[NotRequired[list[MatchingAttachment]], "PDFs and text files that match, on the first page"]
    attachments_total: Annotated[NotRequired[int], "How many of them match in all"]
    attachments_unread: Annotated[NotRequired[int], "Attachments whose text is not read yet"]
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


@tool(
    title="Search notes",
    category="search",
    listed="core",
    time_class="search",
    read_only=True,
    rare=("exact_total", "max_tokens", "meaning", "attachments", "explain"),
    plain=("query",),
)
def search_notes(
    vault: Vault,
    progress: Progress,
    /,
    query: Annotated[str, Bounds(1, 1000)],
    folder: Folder = "",
    limit: Limit = 10,
    max_tokens: Annotated[int, Bounds(100, 100_000)] = 4000,
    exact_total: bool = False,
    meaning: Literal["auto", "only", "off"] = "auto",
    attachments: bool = True,
    explain: Annotated[str, Bounds(0, 1000)] = "",
    cursor: Cursor = None,
) -> Outcome[FoundNotes]:
    """Search texts and names of notes, canvases, PDFs; best first, with lines. Obsidian's syntax: all words must occur;
    "phrase", -not, OR, ( ), /regex/; operators before a word, "phrase" or (group): file: path: content: tag: line: block:
    section: task: task-todo: task-done: match-case:; [property], [property:value], [property:>5], [property:null].

    PDFs and text files that match come after the notes, with their page.
    Words are found in any case, also inside longer words; a phrase matches full words only. If no note has all words, those
    with most are shown. Questions count without their little words. line: block: and section: find all in one of these; tag:
    finds the tags below it, too. Also [name:"whole value"], [name:A OR B]. Quote text that holds brackets or looks like an
    operator. Examples: meeting (work OR meetup) -personal | tag:#project line:(call mum) | [status:draft] path:"Daily notes".

    Args:
        query: What to look for.
        max_tokens: Return fewer notes if their lines would take more tokens than this, roughly counted.
        exact_total: Count all notes that match, also where that takes long.
        meaning: Where a model is set up: "auto" finds notes of the same meaning, too, for a question or plain words; "only"
            finds by meaning alone.
        attachments: Also search the text of PDFs and text files.
        explain: "hits" for why each is where it is; or a note, for why it is where it is, or is not found.
    """
    if meaning == "only":
        near = vault.near(query, folder, progress, only=True)
        assert near is not None
        hits = near.with_words((), ())[:limit]
        lines, data = _by_meaning(query, near, hits, max_tokens)
        if explain:
            lines += _why_by_meaning(vault, query, folder, near, hits, explain, data, progress)
        return Outcome(["\n".join(lines)], data)
    key, offset = position_of(cursor)
    asked = None if cursor else vault.ask(query, folder, limit, progress, exact_total=exact_total)
    result = (
        asked.result
        if asked
        else vault.search(query, folder, offset, limit, progress, key=key, exact_total=exact_total)
    )
    has_room = not cursor and (asked or not (result.has_more or result.lacks_changes))
    near = vault.near(query, folder, progress, only=False) if meaning == "auto" and has_room else None
    help_texts = asked.help if asked else None if cursor else vault.search_help(query, folder, limit, result, progress)
    found = (result, asked, help_texts)
    together: list[Hit] = []
    if near is not None and near.hits:
        hits = help_texts.hits if help_texts else result.hits
        together = near.with_words(hits, help_texts.absent if help_texts else ())
        lines, data = _by_meaning(query, near, together[:limit], max_tokens, result)
    else:
        lines, data, end = _by_words(query, folder, found, offset, max_tokens)
        if near is not None:
            data["by_meaning"], trouble = embedded_so_far(near.coverage)
            lines[1:1] = trouble
        if end is not None:
            data["next_cursor"] = f"{key or vault.keep_found(query, folder, result)}.{end}"
            lines.append(f"{_more(result, end)}: pass cursor '{data['next_cursor']}'.")
    if explain and not cursor:
        lines += _why(vault, query, folder, found, explain, data, progress, near if together else None, together)
    if attachments and not cursor:
        most = max(_ATTACHMENTS, limit - len(data["notes"]) - len(data.get("partial_matches", ())))
        lines += _attachments(vault, query, folder, most, data, progress, explains=bool(explain))
    return Outcome(["\n".join(lines)], data)


def _by_words(
    query: str, folder: str, found: tuple[Found, Asked | None, SearchHelp | None], offset: int, max_tokens: int
) -> tuple[list[str], FoundNotes, int | None]:
    """Return the answer of a search by words, and the offset of the next page, None if there is none."""
    result, asked, help_texts = found
    hits = help_texts.hits if help_texts else result.hits
    body = _as_text(hits, max_tokens)
    data = FoundNotes(
        notes=[_to_found(hit) for hit in hits[: len(body)] if hit in result.hits],
        total=result.total,
        total_is_exact=result.total_is_exact,
        notes_searched=result.searched,
        notes_skipped=result.skipped,
    )
    if result.so_far:
        data["indexed_so_far"] = SoFar(indexed=result.so_far.indexed, notes=result.so_far.notes)
    if result.lacks_changes:
        data["changes_pending"] = True
    place = ":" if asked and body else page_text(offset, len(body), result.total) if result.total else "."
    lines = _counted(result, query, place)
    if help_texts:
        lines += _explained(help_texts, folder, has_some=bool(result.hits))
        partial = [_to_found(hit) for hit in hits[: len(body)] if hit not in result.hits]
        add_facts(data, partial_matches=partial, absent_words=help_texts.absent, hints=help_texts.hints)
    lines += body
    if help_texts and len(body) < len(hits):
        lines.append(f"{len(hits) - len(body)} more: give a larger max_tokens.")
    elif result.has_more or len(body) < len(hits):
        return lines, data, result.ends[len(body) - 1] if body else offset
    return lines, data, None


def _why(
    vault: Vault,
    query: str,
    folder: str,
    found: tuple[Found, Asked | None, SearchHelp | None],
    explain: str,
    data: FoundNotes,
    progress: Progress,
    near: NearNotes | None = None,
    together: Sequence[Hit] = (),
) -> list[str]:
    """Return why the notes are where they are, one a line; put it into the data.

    ``near``, ``together``: the notes near in meaning, and those of both orders, where the search was by meaning, too.
    """
    explained = vault.explain_search(query, folder, found, "" if explain == "hits" else explain, progress)
    shown = len(data["notes"]) + len(data.get("partial_matches", ()))
    hits = explained.hits[:shown] if near is None else why_together(explained.hits, near, together[:shown])
    data["explained"] = ExplainedSearch(notes=[to_explained(why) for why in hits], left_out=explained.left_out)
    lines = ["Why:", *why_lines(hits)]
    if near is not None:
        data["explained"]["by_meaning"] = True
    if explained.left_out:
        lines.append(f"  (left out: {', '.join(explained.left_out)})")
    if explained.note is not None:
        hit = vault.place_by_meaning(query, folder, explained.note.path, progress)
        note = explained.note._replace(reasons=(*by_its_meaning(hit), *explained.note.reasons))
        if near is not None:
            whys = why_together([*explained.hits, explained.note], near, together)
            note = next((why for why in whys if why.path == note.path), note)
        data["explained"]["note"] = to_explained(note)
        lines += why_lines([note])
    return lines


def _why_by_meaning(
    vault: Vault,
    query: str,
    folder: str,
    near: NearNotes,
    hits: Sequence[Hit],
    explain: str,
    data: FoundNotes,
    progress: Progress,
) -> list[str]:
    """Return why notes are where they are in a search by meaning alone; put it into the data."""
    whys = why_together((), near, hits[: len(data["notes"])])
    data["explained"] = ExplainedSearch(notes=[*map(to_explained, whys)], left_out=[], by_meaning=True)
    lines = ["Why:", *why_lines(whys)]
    if explain != "hits":
        path = vault.locate(explain, progress)
        hit = vault.place_by_meaning(query, folder, path, progress)
        reasons = by_its_meaning(hit) or [
            "it is not found by meaning: it has no vectors yet, or does not meet the conditions"
        ]
        note = next((why for why in why_together((), near, hits) if why.path == path), None)
        note = note or Why(path, 0, 0.0, (), tuple(reasons))
        data["explained"]["note"] = to_explained(note)
        lines += why_lines([note._replace(reasons=tuple(reasons))])
    return lines


def _by_meaning(
    query: str, near: NearNotes, hits: list[Hit], max_tokens: int, result: Found | None = None
) -> tuple[list[str], FoundNotes]:
    """Return the answer of a search by meaning, and by words if there is a ``result`` of that."""
    likeness: dict[str, float] = {each.path: each.likeness for each in near.hits}
    coverage = near.coverage
    body = _as_text(hits, max_tokens)
    notes = [_to_found(hit) for hit in hits[: len(body)]]
    for note in notes:
        if note["path"] in likeness:
            note["meaning"] = round(100 * likeness[note["path"]])
    so_far, so_far_lines = embedded_so_far(coverage)
    found = f"{counted(len(hits), 'note')} near {query!r}" if result is None else _counted(result, query, "")[0]
    how = "" if result is None else "; with those of the same meaning, the best first"
    lines = [f"{found}{how}{':' if body else '.'}", *so_far_lines]
    data = FoundNotes(
        notes=notes,
        total=len(hits) if result is None else result.total,
        total_is_exact=result is None or result.total_is_exact,
        notes_searched=coverage.embedded if result is None else result.searched,
        notes_skipped=0 if result is None else result.skipped,
        by_meaning=so_far,
    )
    if len(body) < len(hits):
        body.append(f"{len(hits) - len(body)} more: give a larger max_tokens.")
    return [*lines, *body], data


def embedded_so_far(coverage: Coverage) -> tuple[EmbeddedSoFar, list[str]]:
    """Return how many notes can be found by meaning, for programs and in words; no words if all can."""
    data = EmbeddedSoFar(embedded=coverage.embedded, notes=coverage.notes)
    lines: list[str] = []
    if coverage.embedded < coverage.notes:
        lines.append(f"(By meaning, {coverage.embedded} of {counted(coverage.notes, 'note')} can be found so far.)")
    if coverage.problem:
        data["problem"] = coverage.problem
        lines.append(f"(Search by meaning does not work: {coverage.problem}.)")
    return data, lines


def _attachments(
    vault: Vault, query: str, folder: str, most: int, data: FoundNotes, progress: Progress, *, explains: bool
) -> list[str]:
    """Return what is said of attachments that match, nothing if none does; put them into the data."""
    result = vault.search_attachments(query, folder, most, progress)
    if result is None:
        return []
    lines: list[str] = []
    if result.hits:
        data["attachments"] = [_to_attachment(hit) for hit in result.hits]
        data["attachments_total"] = result.total
        verb = "matches" if result.total == 1 else "match"
        lines.append(f"{counted(result.total, 'attachment')} {verb}:")
        for hit, attachment in zip(result.hits, data["attachments"], strict=True):
            lines += _attachment_lines(hit)
            if explains:
                attachment["parts"] = [*map(to_part, hit.parts)]
                lines.append(f"  why: {sum_of(hit)}")
    if result.total > len(result.hits):
        lines.append(f"{result.total - len(result.hits)} more attachments: give a larger limit.")
    if result.unread:
        data["attachments_unread"] = result.unread
        lines.append(f"({counted(result.unread, 'attachment')} not read yet; a running server reads them)")
    return lines


def _attachment_lines(hit: AttachmentHit) -> list[str]:
    place = f", page {hit.page} of {hit.pages}" if hit.page else ""
    more = f" (also {', '.join(map(str, hit.more_pages))})" if hit.more_pages else ""
    lacks = f" (lacks: {_listed(hit.missing)})" if hit.missing else ""
    return [f"{hit.path}{place}{more}{lacks}", *[f"  {number}: {line}" for number, line in hit.lines]]


def _to_attachment(hit: AttachmentHit) -> MatchingAttachment:
    matches: list[MatchingLine] = [{"line": number, "text": text} for number, text in hit.lines]
    attachment = MatchingAttachment(path=hit.path, kind=hit.kind, score=round(hit.score), matches=matches)
    add_facts(attachment, page=hit.page, more_pages=hit.more_pages, missing=[*hit.missing])
    return attachment


def _counted(hits: Found, query: str, place: str) -> list[str]:
    """Return how many notes match, and why there may be more."""
    verb = "matches" if hits.total == 1 else "match"
    least = "" if hits.total_is_exact else "At least "
    lines = [f"{least}{hits.total} of {counted(hits.searched, 'note')} {verb} {query!r}{place}"]
    if hits.lacks_changes:
        lines.append("(Not all changed notes are indexed yet: other notes may match. Search again later.)")
    if hits.skipped:
        lines.append(f"({counted(hits.skipped, 'note')} could not be read)")
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


def _explained(help_texts: SearchHelp, folder: str, *, has_some: bool) -> list[str]:
    """Return what is said of a search that found few notes or none, before its results."""
    lines = [f"Hint: {hint}." for hint in help_texts.hints]
    lines += [f"Did you mean the note {path}?" for path in help_texts.names]
    notes: list[str] = []
    if has_some and any(hit.missing for hit in help_texts.hits):
        notes.append('Notes with "lacks" do not have all words.')
    elif help_texts.hits and (help_texts.absent or all(hit.missing for hit in help_texts.hits)):
        notes.append("No note has all words; these have most of them.")
    elif help_texts.hits and not has_some:
        lines.append("No note matches exactly. Best of those with most words:")
    if help_texts.absent:
        notes.append(f"In no note{' of this folder' if folder else ''}: {_listed(help_texts.absent)}.")
    return [*lines, f"({' '.join(notes)})"] if notes else lines


def _more(hits: Found, end: int) -> str:
    """Return what the next page has, after the first ``end`` results."""
    if hits.read_so_far:
        return f"{hits.read_so_far.read:,} of {hits.read_so_far.candidates:,} notes were read so far. To read on"
    return f"{hits.total - end} more" if hits.total_is_exact else "More"


def _to_found(hit: Hit) -> FoundNote:
    matches: list[MatchingLine] = [{"line": number, "text": text} for number, text in hit.lines]
    note = FoundNote(path=hit.path, score=round(hit.score), match_count=hit.matches, matches=matches)
    add_facts(note, missing=[*hit.missing])
    return note


@tool(title="Search by tags", category="search", listed="named", time_class="search", read_only=True)
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


# ---------------------------------------------------------------------- by facts

Name = Annotated[str, Bounds(0, 200)]
Time = Annotated[str, Bounds(0, 40)]
# Beside notes a longer list of other files helps nobody.
_MOST_FILES = 20


class Column(TypedDict):
    """One thing that a note has."""

    name: Annotated[str, "As in show"]
    values: Annotated[list[str], "Its value, or those of a list; empty for a property without a value"]


class NamedNote(TypedDict):
    """A note that was found."""

    path: Annotated[str, "Path in the vault"]
    name: Annotated[str, "Its name"]
    alias: Annotated[NotRequired[str], "The alias that matches the name asked for, if the name itself does not"]
    modified: Annotated[str, "Last change, ISO 8601, UTC"]
    size: Annotated[int, "Bytes"]
    tags: Annotated[list[str], "All tags of the note, without #"]
    columns: Annotated[NotRequired[list[Column]], "What show asks for and the note has"]


class NamedNotes(TypedDict):
    """A page of notes."""

    notes: list[NamedNote]
    total: Annotated[int, "Notes that match, on all pages together"]
    files: Annotated[NotRequired[list[str]], "Bases and canvases of that name, if only a name was asked for"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(
    title="Find notes",
    category="search",
    listed="standard",
    time_class="search",
    read_only=True,
    rare=("alias",),
    plain=("modified_before", "sort"),
)
def find_notes(
    vault: Vault,
    progress: Progress,
    /,
    name: Name = "",
    alias: Name = "",
    tags: Annotated[list[Annotated[str, Bounds(1, 200)]] | None, Bounds(0, 50)] = None,
    properties: Annotated[list[Annotated[str, Bounds(1, 500)]] | None, Bounds(0, 50)] = None,
    modified_after: Time = "",
    modified_before: Time = "",
    folder: Folder = "",
    sort: Sort = "relevance",
    show: Annotated[list[Annotated[str, Bounds(1, 200)]] | None, Bounds(0, 10)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Outcome[NamedNotes]:
    """Find notes by name, tags, properties and dates, not by text.

    Without conditions, all are listed. All conditions must hold. "status!=done" finds notes without the property, too;
    "status=" those where it is empty. Names match by their beginning, by words or parts of words, and, if none does, with
    typing errors or by the letters of an abbreviation. Numbers compare with numbers, dates with dates, texts with texts; a
    list has the values of its items. Put double quotes around names or values with signs in them, or to mean text. Times
    without a time zone are this computer's.

    Args:
        name: Also a part of it, or an alias.
        alias: An alias, whole. Case does not matter.
        tags: All of these, or tags below them.
        properties: All of these: "status" (is there), "!status", "status=done", "rating>=4", "due<today".
        modified_after: "2026-01-31", "today", or how long ago: "12h", "7d".
        modified_before: Written the same way.
        sort: The best names first, or "modified" (latest first), "size" (largest first), "path", "name".
        show: Columns: properties, "title", "description".
    """
    asked = NoteFilterText(
        name, alias, tuple(tags or ()), tuple(properties or ()), modified_after, modified_before, sort
    )
    page = page_of(
        vault,
        ("find_notes", asked, folder),
        cursor,
        limit,
        lambda: vault.overview.find(asked, folder, progress),
        progress,
    )
    notes = [_to_named(note) for note in page.items]
    data = NamedNotes(notes=notes, total=page.total)
    others: list[str] = []
    if name.strip() and not cursor and asked._replace(sort="relevance") == NoteFilterText(name):
        others = [*vault.overview.bases_and_canvases(name, folder, progress)[:_MOST_FILES]]
    if others:
        data["files"] = others
    lines = [f"{counted(page.total, 'note')} found{page.text}"]
    if show and notes:
        add_columns(vault, notes, show, progress)
        lines.append(" | ".join(["path", *show]))
        lines += [" | ".join([note["path"], *(_cell(note, name) for name in show)]) for note in notes]
        return page.outcome(data, [*lines, *others])
    for note in notes:
        alias = f" (alias {note['alias']!r})" if "alias" in note else ""
        lines.append(
            "  ".join([f"{note['path']}{alias}", local_time(note["modified"]), *(f"#{tag}" for tag in note["tags"])])
        )
    lines += others
    if not page.total:
        lines += [_unmet_text(unmet) for unmet in vault.overview.unmet(asked, progress)]
    if folder and not page.total and asked._replace(sort=NoteFilterText().sort) == NoteFilterText():
        lines += attachments_instead(vault, folder, progress)
    return page.outcome(data, lines)


def _unmet_text(unmet: Unmet) -> str:
    there = ", ".join(f"#{each}" if unmet.kind == "tag" else each for each in map(shortened, unmet.there))
    if unmet.kind == "value":
        return f"No note has this value. {unmet.name} has: {there}."
    what = f"the tag #{unmet.name}" if unmet.kind == "tag" else f"the property {unmet.name!r}"
    return f"No note has {what}." + (f" Similar: {there}." if there else "")


def add_columns(vault: Vault, notes: list[NamedNote], show: Sequence[str], progress: Progress) -> None:
    """Put the columns asked for into the notes. A name that no property has may be a fact of every file."""
    found = vault.overview.columns([VaultPath(note["path"]) for note in notes], show, progress)
    for note, its in zip(notes, found, strict=True):
        facts = {
            "modified": [note["modified"]],
            "size": [str(note["size"])],
            "tags": note["tags"],
            "name": [note["name"]],
        }
        columns: list[Column] = []
        for name in show:
            fact = facts.get(name.lower())
            if fact is not None:
                columns.append(Column(name=name, values=fact))
            elif name in its:
                columns.append(Column(name=name, values=[] if its[name] is None else scalar_texts(its[name])))
        note["columns"] = columns


def _cell(note: NamedNote, name: str) -> str:
    values = next((column["values"] for column in note.get("columns", ()) if column["name"] == name), [])
    return shortened(", ".join(" ".join(value.split()) for value in values)).replace("|", "\\|")


def _to_named(hit: value_types.NamedNote) -> NamedNote:
    stat = hit.stat
    note = NamedNote(
        path=stat.path, name=stem(stat.path), modified=iso_time(stat.modified_ns), size=stat.size, tags=hit.tags
    )
    if hit.alias is not None:
        note["alias"] = hit.alias
    return note
