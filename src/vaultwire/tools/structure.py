"""Tools on the structure of a note, its links, and tags; ``tools.links`` has all links. Docstrings here are product text."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import Folder, Limit, Name, NoteName
from vaultwire.toolkit.paging import Cursor, page_of
from vaultwire.toolkit.phrases import counted, iso_time, local_time, shortened
from vaultwire.toolkit.registry import Outcome, tool
from vaultwire.vault.listed import Listed, listed
from vaultwire.vault.value_types import OutgoingLink, Progress
from vaultwire.vault.vault import Vault


class OutlineHeading(TypedDict):
    """A heading of an outline."""

    level: Annotated[int, "1 to 6"]
    text: Annotated[str, "The heading"]
    line: Annotated[int, "Line number in the note, from 1"]
    last_line: Annotated[int, "Last line of its section"]


class Outline(TypedDict):
    """A note's structure."""

    path: Annotated[str, "Path in the vault"]
    headings: list[OutlineHeading]
    tags: Annotated[list[str], "Tags of the note, without #"]
    links: Annotated[int, "How many links the note has"]
    tasks_open: Annotated[int, "Tasks to do"]
    tasks_done: Annotated[int, "Tasks done"]
    lines: Annotated[int, "Lines of the note"]


class NoteLink(TypedDict):
    """A link of a note."""

    link: Annotated[str, "As written: name and, behind #, heading or block"]
    target: Annotated[NotRequired[str], "File it leads to; absent if there is none of that name"]
    line: Annotated[int, "Line number in the note, from 1"]
    display: Annotated[NotRequired[str], "What a reader sees instead of the name"]
    embed: Annotated[bool, "Whether the target is shown in place"]


class NoteLinks(TypedDict):
    """A page of a note's links."""

    path: Annotated[str, "Path in the vault"]
    links: list[NoteLink]
    total: Annotated[int, "Links on all pages together"]
    unresolved: Annotated[int, "How many of them lead nowhere"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


class LinkingLine(TypedDict):
    """A place that links to a note or attachment."""

    path: Annotated[str, "Note that links here"]
    line: Annotated[int, "Line number in that note, from 1"]
    text: Annotated[str, "The line, cut if it is long"]
    embed: Annotated[bool, "Whether it shows the note or attachment in place"]


class Backlinks(TypedDict):
    """A page of links that lead to a note or attachment."""

    path: Annotated[str, "Path in the vault"]
    backlinks: list[LinkingLine]
    total: Annotated[int, "Links on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


class UsedTag(TypedDict):
    """A tag in use."""

    tag: Annotated[str, "Without #"]
    notes: Annotated[int, "Notes that have it or a tag below it"]


class UsedTags(TypedDict):
    """A page of tags."""

    tags: list[UsedTag]
    total: Annotated[int, "Tags on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


class RecentNote(TypedDict):
    """A note and its last change."""

    path: Annotated[str, "Path in the vault"]
    modified: Annotated[str, "Last change, ISO 8601, UTC"]


class RecentNotes(TypedDict):
    """The notes changed last."""

    notes: list[RecentNote]
    total: Annotated[int, "Notes in the vault or folder"]


@tool(title="Get outline", read_only=True)
def get_outline(vault: Vault, progress: Progress, /, path: NoteName) -> Outcome[Outline]:
    """Show how a note is built: its headings with their lines, its tags, and how many links and tasks it has.

    Use it before reading a long note.
    """
    built = vault.structure(path, progress)
    tasks = built.parsed.tasks
    done = sum(bool(task.mark.strip()) for task in tasks)  # any mark in the box, as task-done: has it
    data = Outline(
        path=built.path,
        headings=[
            OutlineHeading(level=entry.level, text=entry.text, line=entry.line, last_line=entry.last_line)
            for entry in built.outline
        ],
        tags=built.parsed.tags,
        links=len(built.parsed.links),
        tasks_open=len(tasks) - done,
        tasks_done=done,
        lines=built.lines,
    )
    facts = [counted(built.lines, "line"), counted(len(built.parsed.links), "link")]
    if tasks:
        facts.append(f"{done} of {counted(len(tasks), 'task')} done")
    if built.parsed.tags:
        facts.append(" ".join("#" + tag for tag in built.parsed.tags))
    lines = [f"{built.path}: {', '.join(facts)}"]
    lines += [f"{'  ' * (entry.level - 1)}{entry.text}  ({entry.line}-{entry.last_line})" for entry in built.outline]
    return Outcome(["\n".join(lines if built.outline else [*lines, "No headings."])], data)


def outgoing_links(vault: Vault, progress: Progress, path: str, limit: int, cursor: str | None) -> Outcome[NoteLinks]:
    """Return a page of the links and embeds of a note, and the file each leads to."""

    def find() -> Listed[OutgoingLink]:
        found, links = vault.links(path, progress)
        return listed(links, (found, sum(link.target is None for link in links)))

    page = page_of(vault, ("list_links", path), cursor, limit, find, progress)
    found, unresolved = page.facts
    shown: list[NoteLink] = []
    for link in page.items:
        entry = NoteLink(link=link.linktext, line=link.line, embed=link.is_embed)
        if link.target is not None:
            entry["target"] = link.target
        if link.display:
            entry["display"] = link.display
        shown.append(entry)
    data = NoteLinks(path=found, links=shown, total=page.total, unresolved=unresolved)
    lines = [f"{found} has {counted(page.total, 'link')}, {unresolved} unresolved{page.text}"]
    lines += [f"{link.line}: {link.linktext} → {link.target or '(nothing of that name)'}" for link in page.items]
    return page.outcome(data, lines)


@tool(title="List backlinks", time_class="search", read_only=True)
def list_backlinks(
    vault: Vault, progress: Progress, /, path: Name, limit: Limit = 100, cursor: Cursor = None
) -> Outcome[Backlinks]:
    """List where notes link to a note or to an attachment (an image, a PDF), with the line of each link.

    Args:
        path: The note, named as for read_note; or an attachment, by its path or its name with the extension ("fig.png").
        limit: How many links to return.
    """
    page = page_of(vault, ("list_backlinks", path), cursor, limit, lambda: vault.backlinks(path, progress), progress)
    shown = [
        LinkingLine(path=link.source, line=link.line, text=shortened(link.text), embed=link.is_embed)
        for link in page.items
    ]
    data = Backlinks(path=page.facts, backlinks=shown, total=page.total)
    lines = [f"{counted(page.total, 'link')} to {page.facts}{page.text}"]
    lines += [f"{link['path']}:{link['line']}: {link['text']}" for link in shown]
    return page.outcome(data, lines)


@tool(title="List tags", time_class="search", read_only=True)
def list_tags(
    vault: Vault, progress: Progress, /, folder: Folder = "", limit: Limit = 200, cursor: Cursor = None
) -> Outcome[UsedTags]:
    """List the tags in use, most used first. A tag counts the notes of the tags below it too.

    Args:
        folder: Count only below this folder. Empty for the whole vault.
        limit: How many tags to return.
    """
    page = page_of(
        vault,
        ("list_tags", folder),
        cursor,
        limit,
        lambda: listed(vault.overview.count_tags(folder, progress)),
        progress,
    )
    data = UsedTags(tags=[UsedTag(tag=tag.tag, notes=tag.notes) for tag in page.items], total=page.total)
    lines = [f"{counted(page.total, 'tag')} in use{page.text}"]
    lines += [f"#{tag.tag} ({tag.notes})" for tag in page.items]
    return page.outcome(data, lines)


@tool(title="Recent notes", time_class="search", read_only=True)
def recent_notes(vault: Vault, progress: Progress, /, folder: Folder = "", limit: Limit = 20) -> Outcome[RecentNotes]:
    """List the notes that were changed last, the latest first."""
    listing = vault.overview.recent(folder, limit, progress)
    notes = [RecentNote(path=note.path, modified=iso_time(note.modified_ns)) for note in listing.notes]
    lines = [f"The latest {len(notes)} of {counted(listing.total, 'note')}:"]
    lines += [f"{note['path']}  {local_time(note['modified'])}" for note in notes]
    return Outcome(["\n".join(lines)], RecentNotes(notes=notes, total=listing.total))
