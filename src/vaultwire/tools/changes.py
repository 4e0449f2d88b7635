"""The result of a change, as text and as data, for every tool that changes the vault."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict, cast

from vaultwire.toolkit.phrases import MAX_FILES_SHOWN, MAX_FILES_TOLD, counted
from vaultwire.toolkit.registry import Description, Failure, Outcome
from vaultwire.vault.changes.change import FileChange, Write, diff_of, files_of
from vaultwire.vault.disk.contents import etag_of
from vaultwire.vault.editing.workbench import Done
from vaultwire.vault.errors import AMBIGUOUS_TARGET, INVALID_ARGUMENTS, SECTION_NOT_FOUND, TEXT_NOT_FOUND

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
    elif is_made and done.change.id:
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
    lines = [f"Done: {what}. {how_to_undo(done.change.id)}" if done.change.id else f"Done: {what}."]
    if data["file_count"] > 1:
        lines.append(f"{counted(data['file_count'], 'file')} changed:")
        lines += _file_lines(data)
    return ["\n".join([*lines, *done.notices])]


def _file_lines(data: Changed) -> list[str]:
    told = data["files"][:MAX_FILES_TOLD]
    more = data["file_count"] - len(told)
    return [*map(_line, told), *([f"… and {more} more."] if more > 0 else [])]


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


# ------------------------------------------------------------------ for a client that may not read notes

_NOT_TOLD = "This client may not read notes, so it is not told what is in them."
# Fields of a result that hold names, etags and times, and no text of a note. Numbers and yes or no are told, too.
_NAMES = {
    *("path", "to", "moved_from", "trash_path", "also_edited", "link", "name", "added", "action", "etag"),
    *("time", "client", "tool", "state", "reason"),
}
# Tools that change something, and answer with no text of a note: one lists tools, one lists names of what waits. The last runs
# code, which a person allows by name only.
_WITHOUT_TEXT = {"more_tools", "pending_changes", "obsidian_eval"}
# Errors whose messages may quote a note, and what is told instead. Those that are not here name files and numbers only.
_QUOTING = {
    SECTION_NOT_FOUND: "The note has no such part.",
    AMBIGUOUS_TARGET: "That place is in the note several times.",
    TEXT_NOT_FOUND: "That text is not in the note.",
    INVALID_ARGUMENTS: "The arguments do not fit what is there.",
    "OBSIDIAN_FAILED": "The app refused it.",
}


def without_text(answer: Outcome[Any] | Failure, description: Description) -> Outcome[Any] | Failure:
    """Return the answer of a tool that changes notes with names and counts only, for a client that may not read notes."""
    if description["annotations"]["readOnlyHint"] or description["name"] in _WITHOUT_TEXT:
        return answer
    if isinstance(answer, Failure):
        quoting = _QUOTING.get(answer.code)
        if quoting is None or "problems" in answer.details:  # those are about the arguments alone
            return answer
        details = {
            name: value
            for name, value in answer.details.items()
            if name in ("path", "argument") or isinstance(value, int)  # such as which edit it is
        }
        return Failure(answer.code, f"{quoting} {_NOT_TOLD} Nothing was changed.", details)
    data = _names_in(answer.data, set(description.get("outputSchema", {}).get("required", ())))
    return Outcome(["\n".join([_summary(data, description["title"]), *_facts(data), _NOT_TOLD])], data)


def _names_in(value: Any, required: set[str]) -> Any:
    """Return data without the texts of notes: a field that must be there is empty."""
    if isinstance(value, list):
        return [_names_in(each, required) for each in value if not isinstance(each, str)]
    if not isinstance(value, dict):
        return value if not isinstance(value, str) else ""
    return {
        name: each if name in _NAMES else _names_in(each, set())
        for name, each in value.items()
        if name in _NAMES or not isinstance(each, str) or name in required or not required
    }


def _summary(data: Any, title: str) -> str:
    if "file_count" not in data:
        return f"{title}: done."
    count = counted(data["file_count"], "file")
    if data["changed"]:
        undo = f" {how_to_undo(data['change'])}" if "change" in data else ""
        return f"{title}: done, {count} changed.{undo}"
    return f"Dry run, nothing was changed. It would change {count}." if data["file_count"] else "Nothing to change."


def _facts(data: Any) -> list[str]:
    etag = f" (etag {data['etag']})" if "etag" in data else ""
    path = [f"{data['path']}{etag}"] if "path" in data else []
    return [*path, *(_file_lines(data) if "files" in data else [])]
