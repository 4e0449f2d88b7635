"""The tool that finds notes by their facts, not their text. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import Folder, Limit
from vaultwire.toolkit.paging import Cursor, page_of
from vaultwire.toolkit.phrases import counted, iso_time, local_time
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
    """Find notes by name, tags, properties and dates, not by text. Without conditions, all are listed.

    All conditions must hold. "status!=done" finds notes without the property, too; "status=" those where it is empty.
    Names match by their beginning, by words or parts of words, and, if none does, with typing errors or by the letters of an
    abbreviation. Numbers compare with numbers, dates with dates, texts with texts; a list has the values of its items. Put
    double quotes around names or values with signs in them, or to mean text. Times without a time zone are this computer's.

    Args:
        name: Also a part of it, or an alias.
        alias: An alias, whole. Case does not matter.
        tags: All of these, or tags below them.
        properties: All of these: "status" (is there), "!status", "status=done", "rating>=4", "due<today", "month=2026-01".
        modified_after: "2026-01-31", "today", or how long ago: "12h", "7d".
        modified_before: Written the same way.
        sort: The best names first, or "modified" (latest first), "size" (largest first), "path", "name".
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
        lines.append(
            "  ".join([f"{local_time(note['modified'])}  {note['path']}{alias}", *(f"#{tag}" for tag in note["tags"])])
        )
    return page.outcome(NamedNotes(notes=notes, total=page.total), lines)


def _to_named(found: value_types.NamedNote) -> NamedNote:
    stat = found.stat
    note = NamedNote(
        path=stat.path, name=stem(stat.path), modified=iso_time(stat.modified_ns), size=stat.size, tags=found.tags
    )
    if found.alias is not None:
        note["alias"] = found.alias
    return note
