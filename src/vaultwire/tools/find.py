"""The tool that finds notes by their facts, not their text. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.paging import Cursor, page_of
from vaultwire.toolkit.phrases import counted, iso_time, local_time, shortened
from vaultwire.toolkit.registry import Bounds, Folder, Limit, Outcome, tool
from vaultwire.tools.attachments import attachments_instead
from vaultwire.vault import value_types
from vaultwire.vault.disk.paths import stem
from vaultwire.vault.insights.unmet_conditions import Unmet
from vaultwire.vault.search.filters import NoteFilterText, Sort, scalar_texts
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

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


def _to_named(found: value_types.NamedNote) -> NamedNote:
    stat = found.stat
    note = NamedNote(
        path=stat.path, name=stem(stat.path), modified=iso_time(stat.modified_ns), size=stat.size, tags=found.tags
    )
    if found.alias is not None:
        note["alias"] = found.alias
    return note
