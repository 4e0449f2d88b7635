"""The tool that finds faults in notes. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import Folder, Limit, OptionalName
from vaultwire.toolkit.paging import Cursor, page_outcome, position_of
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Outcome, tool
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.checks import KINDS
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

_KINDS = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"


class FoundFault(TypedDict):
    """Something wrong in a file."""

    path: Annotated[str, "Path in the vault"]
    line: Annotated[int, "Line number, from 1"]
    column: Annotated[int, "Character on the line, from 1"]
    kind: Annotated[str, _KINDS]
    severity: Literal["error", "warning"]
    message: Annotated[str, "What is wrong"]


class CheckedNotes(TypedDict):
    """What is wrong, in path and line order."""

    faults: list[FoundFault]
    files_checked: Annotated[int, "Files checked for this page"]
    files_total: Annotated[int, "Notes, canvases and bases in all"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor to check the rest; absent at the end"]


@tool(title="Check notes", time_class="search", read_only=True)
def check_notes(
    vault: Vault,
    progress: Progress,
    /,
    path: OptionalName = "",
    folder: Folder = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Outcome[CheckedNotes]:
    """Find what is broken in a note or folder: links, embeds, frontmatter, property types, tags.

    Links and embeds that lead nowhere, links to headings and blocks that are not there, broken frontmatter, properties of a
    wrong type, invalid tags, block ids used twice, broken canvases, bases with unknown names or without rows. Use it after
    larger edits. A link to a note that the person means to write one day is listed too. The last file's faults are all
    listed, up to 1,000.

    Args:
        path: Only of this note.
    """
    if path and (folder or cursor):
        raise VaultError(INVALID_ARGUMENTS, "path: give a path or a folder, not both.", argument="path")
    key, offset = position_of(cursor)
    if path:
        found, findings = vault.check(path, progress)
        files, position, total = [(found, findings)], 1, 1
        where: str = found
    else:
        question = ("check_notes", folder)
        lost = vault.lost_files(progress)
        suspects = vault.paged.get(key, question, lost) if key else vault.files_to_check(folder, progress)
        files, position, total = vault.check_all(suspects, offset, limit, progress)
        if position < total and not key:
            key = vault.paged.keep(question, suspects, suspects.size, lost)
        faulty = sum(1 for _, findings in files if findings)
        where = f"{faulty} of {counted(total, 'file')}" if faulty else counted(total, "file")
    faults = [
        FoundFault(
            path=found,
            line=finding.line,
            column=finding.column,
            kind=finding.kind,
            severity="error" if finding.is_error else "warning",
            message=finding.message,
        )
        for found, findings in files
        for finding in findings
    ]
    data = CheckedNotes(faults=faults, files_checked=position - offset, files_total=total)
    head = f"{counted(len(faults), 'fault')} in {where}"
    if offset or position < total:
        which = "First" if not offset else "Next" if position < total else "Last"
        shown = f"{which} {counted(len(faults), 'fault')}" if faults else "No further faults"
        head = f"{shown} ({position} of {counted(total, 'file')} checked)"
    lines = [f"{head}{':' if faults else '.'}"]
    lines += [f"{fault['path']}:{fault['line']}: {fault['kind']}: {fault['message']}" for fault in faults]
    more = f"To check the other {counted(total - position, 'file')}"
    return page_outcome(data, lines, position, total, key, more)
