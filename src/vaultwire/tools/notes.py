"""Tools that list, write and delete notes; ``tools.reading`` reads them.

Docstrings here are product text: a model reads them.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.paging import Cursor, page_of
from vaultwire.toolkit.phrases import MAX_FILES_TOLD, add_other_files, counted, iso_time
from vaultwire.toolkit.registry import AllowBroken, Bounds, DryRun, IfMatch, Limit, Name, NoteName, Outcome, tool
from vaultwire.tools.attachments import attachments_instead
from vaultwire.tools.changes import change_texts, how_to_undo, to_changed
from vaultwire.vault.value_types import Progress, VaultPath, WriteMode
from vaultwire.vault.vault import Vault


class NoteFacts(TypedDict):
    """One note of a listing."""

    path: Annotated[str, "Path in the vault"]
    size: Annotated[int, "Bytes"]
    modified: Annotated[str, "Last change, ISO 8601, UTC"]


class ListedNotes(TypedDict):
    """A page of notes."""

    notes: list[NoteFacts]
    total: Annotated[int, "Notes in the vault or folder, on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


class WrittenNote(TypedDict):
    """What a write did."""

    path: Annotated[str, "Path in the vault"]
    created: Annotated[bool, "Whether the note is new"]
    changed: Annotated[bool, "False if the note held exactly this already, or for a dry run: nothing was written"]
    etag: Annotated[str, "Fingerprint of the note as it is now; of a dry run, as it would be"]
    size: Annotated[int, "Bytes"]
    also_edited: Annotated[NotRequired[list[str]], "The first of the other files edited, where links changed"]
    also_edited_count: Annotated[NotRequired[int], "How many other files in all; absent if none"]
    change: Annotated[
        NotRequired[int], "Number of the change, for list_changes and undo_changes; absent if nothing changed"
    ]
    diff: Annotated[NotRequired[str], "Of a dry run: what would change"]


class DeletedNote(TypedDict):
    """What a delete did."""

    path: Annotated[str, "Path the note had"]
    permanent: Annotated[bool, "Whether it was deleted permanently"]
    trash_path: Annotated[NotRequired[str], "Where it is now; absent if it was deleted permanently"]
    changed: Annotated[bool, "Whether it was deleted; false for a dry run"]
    change: Annotated[NotRequired[int], "Number of the change, for list_changes and undo_changes; absent for a dry run"]
    diff: Annotated[NotRequired[str], "Of a dry run: what would change"]


@tool(title="List notes", category="read", listed="named", time_class="search", read_only=True)
def list_notes(
    vault: Vault,
    progress: Progress,
    /,
    folder: Annotated[str, Bounds(0, 1000)] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Outcome[ListedNotes]:
    """List the notes of the vault or of one folder, subfolders included, in path order.

    Use it to see how a vault is organised. To find notes about something, use search_notes instead.

    Args:
        folder: Folder in the vault, such as "Projects". Empty for the whole vault.
    """
    page = page_of(
        vault, ("list_notes", folder), cursor, limit, lambda: vault.overview.list_notes(folder, progress), progress
    )
    where = f"in {folder}" if folder else "in the vault"
    data: ListedNotes = {
        "notes": [
            {"path": note.path, "size": note.size, "modified": iso_time(note.modified_ns)} for note in page.items
        ],
        "total": page.total,
    }
    lines = [f"{counted(page.total, 'note')} {where}{page.text}", *(note.path for note in page.items)]
    return page.outcome(data, lines + ([] if page.total else attachments_instead(vault, folder, progress)))


@tool(title="Write note", category="write", listed="named", destructive=True)
def write_note(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    content: str,
    mode: WriteMode = "create",
    if_match: IfMatch = None,
    allow_broken: AllowBroken = False,
    dry_run: DryRun = False,
) -> Outcome[WrittenNote]:
    """Make a note, add to one, or replace one's text. Missing folders are made.

    By default only a new note is made: if it exists, nothing happens and an error says so. Prefer append or prepend to
    overwrite; before overwrite, read the note and pass its etag. A note keeps its line ends and the rest of its bytes.
    A new note is named as for create_note: a name alone is refused if a note elsewhere has it.

    Args:
        path: Where: "Name", "Folder/Name" or "/Name"; ".md" may be left out. For append and prepend any name that
            read_note takes.
        content: Markdown text.
        mode: "create" a new note, "append" lines at the end, "prepend" lines at the top (below the frontmatter), or
            "overwrite" the whole text, making the note if it is not there.
        if_match: Etag from read_note. The write happens only if the note still is what was read.
    """
    written = vault.writing.write(
        path, content, mode, if_match, progress, dry_run=dry_run, keeps_frontmatter=not allow_broken
    )
    done = "Created" if written.created else "Wrote" if written.changed else "Left unchanged (it has this text already)"
    changed = to_changed(written.done)
    data: WrittenNote = {
        "path": written.path,
        "created": written.created,
        "changed": changed["changed"],
        "etag": written.etag,
        "size": written.size,
    }
    others = add_other_files(data, written.also)
    if "diff" in changed:
        data["diff"] = changed["diff"]
        return Outcome(change_texts(written.done, f"{done.lower()} {written.path}", changed), data)
    text = f"{done}: {written.path} ({counted(written.size, 'byte')}, etag {written.etag})"
    if "change" in changed:
        data["change"] = changed["change"]
        text += f". {how_to_undo(changed['change'])}"
    return Outcome(["\n".join([text + others, *written.done.notices])], data)


@tool(title="Delete note", category="write", listed="standard", destructive=True, plain=("path",))
def delete_note(
    vault: Vault,
    progress: Progress,
    /,
    path: Name,
    permanent: bool = False,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[DeletedNote]:
    """Move a note or attachment to the vault's .trash, or delete it permanently.

    Args:
        path: The note, named as for read_notes. To delete permanently, its whole path.
        permanent: Only if the person asked for it.
        if_match: Etag from read_notes. The note is changed only if it still is what was read.
    """
    lost = vault.links_lost(path, progress)
    deleted = vault.writing.delete(path, permanent=permanent, if_match=if_match, progress=progress, dry_run=dry_run)
    changed = to_changed(deleted.done)
    data = DeletedNote(path=deleted.path, permanent=deleted.trash_path is None, changed=changed["changed"])
    done, would = f"Deleted permanently: {deleted.path}", f"deleted {deleted.path} permanently"
    if deleted.trash_path is not None:
        data["trash_path"] = deleted.trash_path
        done, would = (f"{moved} {deleted.path} to {deleted.trash_path}" for moved in ("Moved", "moved"))
    if "diff" in changed:
        data["diff"] = changed["diff"]
        head, *diff = change_texts(deleted.done, would, changed)
        return Outcome([head + _lost_text(lost, "would lead"), *diff], data)
    data["change"] = changed["change"]
    text = f"{done}. {how_to_undo(changed['change'])}"
    return Outcome([text + _lost_text(lost, "now lead" if len(lost) > 1 else "now leads")], data)


def _lost_text(lost: list[tuple[VaultPath, int]], lead: str) -> str:
    """Return a line that tells of the links that lead nowhere; empty if there are none."""
    if not lost:
        return ""
    places = list(dict.fromkeys(f"{source}:{line}" for source, line in lost))
    shown = ", ".join(places[:MAX_FILES_TOLD]) + (", …" if len(places) > MAX_FILES_TOLD else "")
    notes = counted(len({source for source, _ in lost}), "note")
    return f"\n{counted(len(lost), 'link')} in {notes} {lead} nowhere: {shown}."
