"""The tool that checks notes, memory, and the sources of a wiki. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Cursor, Folder, Limit, OptionalName, Outcome, page_outcome, position_of, tool
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.faults import KINDS
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

if TYPE_CHECKING:
    from vaultwire.vault.links.faults import Finding

_KINDS = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}; with what, others"


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
    files_total: Annotated[int, "Notes, canvases, bases and conflict copies in all"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor to check the rest; absent at the end"]


@tool(
    title="Check notes",
    category="overview",
    listed="standard",
    time_class="search",
    read_only=True,
    rare=("what",),
    plain=("path",),
)
def check_notes(
    vault: Vault,
    progress: Progress,
    /,
    path: OptionalName = "",
    folder: Folder = "",
    what: Literal["notes", "memory", "sources"] = "notes",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Outcome[CheckedNotes]:
    """Find what is broken in a note or folder: links, embeds, frontmatter, property types, tags.

    Links and embeds that lead nowhere, links to headings and blocks that are not there, broken frontmatter, properties of a
    wrong type, invalid tags, block ids used twice, broken canvases, bases with unknown names or without rows, conflicts that
    a sync program or Git left. Use it after larger edits. A link to a note that the person means to write one day is listed
    too. The last file's faults are all listed, up to 1,000.

    Args:
        path: Only of this note.
        what: "memory": undated, duplicate, differing and superseded entries, dead links. "sources": claims of notes tagged
            subject or entity, or of this note, without a link to a source that resolves.
    """
    if path and (folder or cursor):
        raise VaultError(INVALID_ARGUMENTS, "path: give a path or a folder, not both.", argument="path")
    if what != "notes":
        return _check_other(vault, progress, path, folder, limit, of_memory=what == "memory")
    key, offset = position_of(cursor)
    if path:
        file, findings = vault.check(path, progress)
        files, position, total = [(file, findings)], 1, 1
        where: str = file
    else:
        question = ("check_notes", folder)
        lost = vault.lost_files(progress)
        suspects = vault.paged.get(key, question, lost) if key else vault.files_to_check(folder, progress)
        files, position, total = vault.check_all(suspects, offset, limit, progress)
        if position < total and not key:
            key = vault.paged.keep(question, suspects, suspects.size, lost)
        faulty = sum(1 for _, findings in files if findings)
        where = f"{faulty} of {counted(total, 'file')}" if faulty else counted(total, "file")
    faults = _to_faults(files)
    data = CheckedNotes(faults=faults, files_checked=position - offset, files_total=total)
    head = f"{counted(len(faults), 'fault')} in {where}"
    if offset or position < total:
        which = "First" if not offset else "Next" if position < total else "Last"
        shown = f"{which} {counted(len(faults), 'fault')}" if faults else "No further faults"
        head = f"{shown} ({position} of {counted(total, 'file')} checked)"
    lines = [f"{head}{':' if faults else '.'}"]
    lines += _fault_lines(faults)
    more = f"To check the other {counted(total - position, 'file')}"
    return page_outcome(data, lines, position, total, key, more)


def _to_faults(files: Iterable[tuple[str, Sequence[Finding]]]) -> list[FoundFault]:
    return [
        FoundFault(
            path=file,
            line=finding.line,
            column=finding.column,
            kind=finding.kind,
            severity="error" if finding.is_error else "warning",
            message=finding.message,
        )
        for file, findings in files
        for finding in findings
    ]


def _fault_lines(faults: Iterable[FoundFault]) -> list[str]:
    return [f"{fault['path']}:{fault['line']}: {fault['kind']}: {fault['message']}" for fault in faults]


def _check_other(
    vault: Vault, progress: Progress, path: str, folder: str, limit: int, *, of_memory: bool
) -> Outcome[CheckedNotes]:
    """Check memory, or the sources of wiki notes."""
    from vaultwire.memory import checks  # noqa: PLC0415 - few calls need it

    files = (checks.check_memory if of_memory else checks.check_sources)(vault, path, folder, progress)
    faults = _to_faults(files)
    data = CheckedNotes(faults=faults[:limit], files_checked=len(files), files_total=len(files))
    lines = [f"{counted(len(faults), 'fault')} in {counted(len(files), 'note')}{':' if faults else '.'}"]
    lines += _fault_lines(faults[:limit])
    if len(faults) > limit:
        lines.append(f"{len(faults) - limit} more: give a larger limit, or a path.")
    return Outcome(["\n".join(lines)], data)
