"""The result of a change, as text and as data, for every tool that changes the vault."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict, cast

from vaultwire.toolkit.phrases import MAX_FILES_SHOWN, MAX_FILES_TOLD, counted
from vaultwire.vault.changes.change import FileChange, Write, files_of
from vaultwire.vault.changes.rendering import diff_of
from vaultwire.vault.disk.etags import etag_of
from vaultwire.vault.editing.workbench import Done

# Characters that a dry run shows: about 5,000 tokens.
MAX_DIFF_CHARACTERS = 20_000


class TouchedFile(TypedDict):
    """A file that was changed."""

    action: Annotated[str, '"create", "edit", "remove" or "move"']
    path: Annotated[str, "Path in the vault; for a move, the old path"]
    to: Annotated[NotRequired[str], "Of a move, the new path"]


class Changed(TypedDict):
    """What was changed."""

    changed: Annotated[bool, "Whether anything was changed; false for a dry run, and if nothing had to change"]
    change: Annotated[NotRequired[int], "Number of the change, for list_changes and undo_changes"]
    files: Annotated[list[TouchedFile], "The first files changed; of a dry run, those that would be"]
    file_count: Annotated[int, "How many files in all"]
    diff: Annotated[NotRequired[str], "Of a dry run: what would change"]
    notices: Annotated[list[str], "Further remarks"]


class ChangedNote(Changed):
    """What was changed in a note."""

    path: Annotated[str, "The note's path in the vault, as it is now"]
    etag: Annotated[NotRequired[str], "Fingerprint of the note as it is now; of a dry run, as it would be"]


def to_changed(done: Done) -> Changed:
    """Return the change as data."""
    files = files_of(tuple(done.steps))
    is_made = done.change is not None and bool(done.steps)
    data = Changed(
        changed=is_made,
        files=[to_touched(file) for file in files[:MAX_FILES_SHOWN]],
        file_count=len(files) + done.unread,
        notices=done.notices,
    )
    if done.change is None:
        data["diff"] = cut(diff_of(done.steps))
    elif is_made:
        data["change"] = done.change.id
    return data


def to_changed_note(done: Done, path: str, before: bytes | None = None) -> ChangedNote:
    """Return the change of a note as data; ``before`` are its bytes, for a note that did not change."""
    data = cast("ChangedNote", {**to_changed(done), "path": path})  # mypy wants optional fields spelt out
    after = [step.after for step in done.steps if isinstance(step, Write) and step.path == path]
    held = after[-1] if after else before
    if held is not None:
        data["etag"] = etag_of(held)
    return data


def to_touched(file: FileChange) -> TouchedFile:
    """Return the change of a file as data."""
    touched = TouchedFile(action=file.kind, path=file.path)
    if file.target is not None:
        touched["to"] = file.target
    return touched


def change_texts(done: Done, what: str, data: Changed) -> list[str]:
    """Return the change in words. ``what`` is the end of a sentence: "3 properties of Note.md"."""
    if not done.steps:
        facts = cast("dict[str, str]", data)
        etag = f" (etag {facts['etag']})" if "etag" in facts else ""
        already = f": {facts['path']} is so already{etag}" if "path" in facts else ""
        return ["\n".join([f"Nothing to change{already}.", *done.notices])]
    if done.change is None:
        head = f"Dry run, nothing was changed. It would change {counted(data['file_count'], 'file')}: {what}."
        return ["\n".join([head, *done.notices]), data.get("diff", "")]
    lines = [f"Done: {what}. {how_to_undo(done.change.id)}"]
    if data["file_count"] > 1:
        lines.append(f"{counted(data['file_count'], 'file')} changed:")
        told = data["files"][:MAX_FILES_TOLD]
        lines += [_line(file) for file in told]
        if data["file_count"] > len(told):
            lines.append(f"… and {data['file_count'] - len(told)} more.")
    return ["\n".join([*lines, *done.notices])]


def how_to_undo(change: int) -> str:
    """Return the call that undoes a change."""
    return f'Undo: undo_changes {{"changes":[{change}]}}'


def _line(file: TouchedFile) -> str:
    return f"  {file['action']} {file['path']}" + (f" → {file['to']}" if "to" in file else "")


def cut(diff: str) -> str:
    """Return a diff, shortened with a remark if it is too long."""
    if len(diff) <= MAX_DIFF_CHARACTERS:
        return diff
    end = diff.rfind("\n", 0, MAX_DIFF_CHARACTERS) + 1
    return f"{diff[:end]}… ({len(diff) - end} more characters)\n"
