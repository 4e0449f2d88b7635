"""The tool that finds notes by their facts, not their text. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import Folder, Limit
from vaultwire.toolkit.paging import Cursor, page_of
from vaultwire.toolkit.phrases import counted, iso_time
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.vault import value_types
from vaultwire.vault.disk.paths import stem
from vaultwire.vault.search.filters import NoteFilterText, Sort
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

Name = Annotated[str, Bounds(0, 200)]
Time = Annotated[str, Bounds(0, 40)]


class NamedNote(TypedDict):
    """A note that was found."""

    path: Annotated[str, "Path in the vault"]
    name: Annotated[str, "Its name"]
    alias: Annotated[NotRequired[str], "The alias that matches the name asked for, if the name itself does not"]
    modified: Annotated[str, "Last change, ISO 8601, UTC"]
    size: Annotated[int, "Bytes"]
    tags: Annotated[list[str], "All tags of the note, without #"]


class NamedNotes(TypedDict):
    """A page of notes."""

    notes: list[NamedNote]
    total: Annotated[int, "Notes that match, on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(title="Find notes", time_class="search", read_only=True)
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
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Outcome[NamedNotes]:
    """Find notes by name, alias, tags, properties and time of change, not by their text (that is search_notes).

    All conditions given must hold; with none, all notes are listed. Names match by their beginning, by words or parts of
    words, and, if none does, with typing errors or by the letters of an abbreviation.

    Conditions on properties: "status" (the note has it), "!status" (it has not), "status=done" (also within a list; case
    does not matter), "status!=done" (also notes without it), "rating>=4", "due<2026-01-01" (also >, <=, and the words
    today, yesterday, tomorrow), "month=2026-01" (any day of it), "status=" (empty). Numbers compare with numbers, dates
    with dates, texts with texts. Put double quotes around names or values with signs in them, or to mean text.

    Args:
        name: Name or alias of a note, or a part of it, without folder and ".md".
        alias: An alias, whole. Case does not matter.
        tags: Tags that a note must all have, with or without "#"; "project" covers "project/alpha".
        properties: Conditions, all of which must hold, such as ["status=done", "rating>=4"].
        modified_after: Only notes changed then or later: "2026-01-31", "2026-01-31T18:00", "today", "yesterday", or how
            long ago: "12h", "7d", "4w". Without a time zone it is this computer's. For a date of creation ask for a
            property, if the vault has one.
        modified_before: Only notes changed before; written the same way.
        sort: "relevance" (the best names first; by path if no name is given), "path", "name", "modified" (the latest
            first) or "size" (the largest first).
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
    lines = [f"{counted(page.total, 'note')} found{page.text}"]
    for note in notes:
        alias = f" (alias {note['alias']!r})" if "alias" in note else ""
        lines.append("  ".join([f"{note['modified']}  {note['path']}{alias}", *(f"#{tag}" for tag in note["tags"])]))
    return page.outcome(NamedNotes(notes=notes, total=page.total), lines)


def _to_named(found: value_types.NamedNote) -> NamedNote:
    stat = found.stat
    note = NamedNote(
        path=stat.path, name=stem(stat.path), modified=iso_time(stat.modified_ns), size=stat.size, tags=found.tags
    )
    if found.alias is not None:
        note["alias"] = found.alias
    return note
