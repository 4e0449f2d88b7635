"""Tools that look for faults and for what is there twice. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from vaultwire.toolkit.paging import Cursor, page_of, page_outcome, position_of
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Folder, Limit, OptionalName, Outcome, tool
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.insights.similar import SimilarNotes, SimilarTags
from vaultwire.vault.links.faults import KINDS
from vaultwire.vault.listed import Listed, listed
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


@tool(title="Check notes", category="overview", listed="standard", time_class="search", read_only=True, plain=("path",))
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


# ---------------------------------------------------------------------- duplicates

# Notes of a group that are named; hundreds may have the same text.
_MAX_NAMED = 10
_COMPARED = {
    "notes": ["names", "content", "likeness of text"],
    "names": ["names", "content"],
    "text": ["likeness of text"],
    "tags": ["spelling"],
}


class CountedTag(TypedDict):
    """A tag and how many notes have it."""

    tag: Annotated[str, "The tag, without #"]
    notes: Annotated[int, "How many notes have it or a tag below it"]


class Duplicates(TypedDict):
    """Notes or tags that may be one."""

    likeness: Annotated[
        str,
        'Of notes: "same content", "similar content", "copy name" or "same name"; of tags: "same letters", "plural", '
        '"spelling" or "nested"',
    ]
    share: Annotated[NotRequired[int], "Of notes: percent of the text that they share, as far as it is known"]
    notes: Annotated[NotRequired[list[str]], "The first notes of the group"]
    note_count: Annotated[NotRequired[int], "How many notes the group has"]
    tags: Annotated[NotRequired[list[CountedTag]], "The tags of the group, the most used first"]


class FoundDuplicates(TypedDict):
    """A page of groups, the surest first."""

    groups: list[Duplicates]
    total: Annotated[int, "Groups on all pages together"]
    compared: Annotated[list[str], "What was compared"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(title="Find duplicates", category="overview", time_class="search", read_only=True)
def find_duplicates(
    vault: Vault,
    progress: Progress,
    /,
    what: Literal["notes", "names", "text", "tags"] = "notes",
    folder: Folder = "",
    limit: Annotated[int, Bounds(1, 1000), "How many groups to return."] = 50,
    cursor: Cursor = None,
) -> Outcome[FoundDuplicates]:
    """Find near-duplicate notes or tags, to merge or clean up: copies, conflicted copies, notes of the same name or text; tags
    that differ in plural, hyphens, nesting or a typing error. It changes nothing.

    Args:
        what: "notes" compares names, content and the likeness of texts; it reads all notes, as "text" does, 0.4 ms each.
            "names" leaves the texts out.
    """

    def find() -> Listed[SimilarNotes | SimilarTags]:
        if what == "tags":
            return listed(vault.overview.similar_tags(folder, progress))
        return listed(
            vault.overview.similar_notes(folder, progress, by_name=what != "text", by_text=what != "names").all(
                progress
            )
        )

    page = page_of(vault, ("find_duplicates", what, folder), cursor, limit, find, progress)
    kind = "tags" if what == "tags" else "notes"
    compared = _COMPARED[what]
    said = f"{', '.join(compared[:-1])} and {compared[-1]}" if len(compared) > 1 else compared[0]
    lines = [f"{counted(page.total, 'group')} of {kind} that may be one, by their {said}{page.text}"]
    groups = [_to_group(each) for each in page.items]
    lines += [_line(group) for group in groups]
    if groups:
        lines.append(
            'The person decides which mean the same. rename with what "tag" joins two.'
            if what == "tags"
            else "Read them before you change any. merge_notes joins two; delete_note moves one to the trash."
        )
    return page.outcome(FoundDuplicates(groups=groups, total=page.total, compared=compared), lines)


def _to_group(found: SimilarNotes | SimilarTags) -> Duplicates:
    if isinstance(found, SimilarTags):
        tags = [CountedTag(tag=each.tag, notes=each.notes) for each in found.tags]
        return Duplicates(likeness=found.likeness, tags=tags)
    group = Duplicates(likeness=found.likeness, notes=[*found.notes[:_MAX_NAMED]], note_count=len(found.notes))
    if found.share:
        group["share"] = found.share
    return group


def _line(group: Duplicates) -> str:
    if "tags" in group:
        return f"{group['likeness']}: " + ", ".join(f"#{each['tag']} ({each['notes']})" for each in group["tags"])
    share = f" ({group['share']} %)" if group["likeness"] == "similar content" else ""
    more = group["note_count"] - len(group["notes"])
    return f"{group['likeness']}{share}: {', '.join(group['notes'])}{f' and {more} more' if more else ''}"
