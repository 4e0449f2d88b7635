"""The tool on conflicts that sync programs and Git left. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, cast

from vaultwire.markdown.three_way import Clash
from vaultwire.toolkit.phrases import counted, shortened
from vaultwire.toolkit.registry import Also, Bounds, DryRun, Folder, OptionalName, Outcome, tool
from vaultwire.tools.changes import Changed, change_texts, to_changed
from vaultwire.vault.disk.conflict_copies import ConflictCopy
from vaultwire.vault.editing.conflicts import Conflicting, MarkedFile
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

_MOST_COPIES = 200
_MOST_CLASHES = 100
_MOST_CHARACTERS = 2_000
_NOTHING = Changed(changed=False, files=[], file_count=0, notices=[])


class ListedCopy(TypedDict):
    """A copy that a sync program made because a file was changed in two places."""

    path: Annotated[str, "Path of the copy in the vault"]
    original: Annotated[str, "Path of the file that it is a copy of"]
    has_original: Annotated[bool, "Whether that file is there; if not, there is nothing to join"]
    program: Annotated[str, "Which program made it"]
    date: Annotated[str, "When, in the time of that device; empty if the name does not say"]
    device: Annotated[str, "Which device or person; empty if the name does not say"]


class ListedMarks(TypedDict):
    """A file with both versions in its own text, between marks that Git left."""

    path: Annotated[str, "Path in the vault"]
    lines: Annotated[list[int], "Where each conflict begins, from 1"]


class ListedClash(TypedDict):
    """What both versions changed differently."""

    what: Annotated[str, '"lines", "property", or "element" of a canvas or base']
    name: Annotated[str, "Of a property or element"]
    line: Annotated[int, "Where it is in the joined text, from 1"]
    base: Annotated[NotRequired[str], "How it was before; absent if that is not known"]
    mine: Annotated[str, "In the original; empty if it is not there"]
    theirs: Annotated[str, "In the copy; empty if it is not there"]


class ResolvedConflicts(Changed):
    """The copies of a vault, or one conflict and what its join changed."""

    copies: Annotated[NotRequired[list[ListedCopy]], "The first copies, in path order"]
    total: Annotated[NotRequired[int], "How many copies there are"]
    marked: Annotated[
        NotRequired[list[ListedMarks]], "The first files with Git's conflict marks; joined by their path, too"
    ]
    path: Annotated[NotRequired[str], "The file that holds both versions after the join"]
    compared_with: Annotated[
        NotRequired[str], "The earlier version that both are compared with; empty if none is known"
    ]
    clashes: Annotated[
        NotRequired[list[ListedClash]], "What both changed differently, in order; choose says what becomes of it"
    ]
    etag: Annotated[NotRequired[str], "Fingerprint of both versions: pass it as if_match with choose"]


@tool(
    title="Resolve conflicts",
    category="history",
    time_class="search",
    destructive=True,
    also=(Also("read_notes", "path"), Also("edit_note", "path"), Also("delete_note", "path")),
    plain=("path",),
)
def resolve_conflicts(
    vault: Vault,
    progress: Progress,
    /,
    path: OptionalName = "",
    folder: Folder = "",
    choose: Annotated[list[Literal["mine", "theirs", "both"]] | None, Bounds(1, 1000)] = None,
    if_match: Annotated[str | None, Bounds(1, 100)] = None,
    dry_run: DryRun = False,
) -> Outcome[ResolvedConflicts]:
    """List copies that sync programs made of notes changed on two devices, and files with Git's conflict marks, or join one.

    Works for Obsidian Sync, iCloud, Dropbox, OneDrive, Google Drive, Syncthing, Nextcloud, Resilio Sync and Git. Properties
    are joined by name, lists and tags as sets, tables by cell, prose by words. Call it with dry_run first, which shows what
    would change. Nothing is written while both versions changed the same place differently: show the person each such clash,
    and pass what they choose. The copy goes to the trash with the same change, and one undo brings both back.

    Example: {"path": "Plan (Conflicted copy Pad 202603121129).md"}.

    Args:
        path: A copy, the note it belongs to, or a file with marks. Empty to list them.
        folder: List the copies below it.
        choose: For each clash, in order; one for all.
        if_match: The etag that came with the clashes.
    """
    if path and folder:
        raise VaultError(INVALID_ARGUMENTS, "path: give a path or a folder, not both.", argument="path")
    if not path:
        if choose:
            raise VaultError(INVALID_ARGUMENTS, "path: name the copy to join.", argument="path")
        return _listed(vault.conflicts.copies(folder, progress), vault.conflicts.marked(folder, progress))
    found = vault.conflicts.join(path, choose or [], if_match, progress, dry_run=dry_run)
    clashes = [*found.joined.open.values()]
    changed = _NOTHING if found.done is None else to_changed(found.done)
    facts = {
        "path": found.path,
        "compared_with": found.base,
        "clashes": [_to_listed(clash) for clash in clashes[:_MOST_CLASHES]],
        "etag": found.etag,
    }
    data = cast("ResolvedConflicts", {**changed, **facts})  # mypy wants optional fields spelt out
    if found.done is None:
        return Outcome(_clash_texts(found, clashes), data)
    what = f"both versions of {found.path} joined" + (f", {found.copy.path} to the trash" if found.copy else "")
    texts = change_texts(found.done, what, changed)
    return Outcome([f"{texts[0]}\n{_compared(found)}", *texts[1:]], data)


def _listed(copies: list[ConflictCopy], marked: list[MarkedFile]) -> Outcome[ResolvedConflicts]:
    shown = [
        ListedCopy(
            path=copy.path,
            original=copy.original,
            has_original=copy.has_original,
            program=copy.program,
            date=copy.date,
            device=copy.device,
        )
        for copy in copies[:_MOST_COPIES]
    ]
    marks = [ListedMarks(path=path, lines=lines) for path, lines in marked[:_MOST_COPIES]]
    data = cast("ResolvedConflicts", {**_NOTHING, "copies": shown, "total": len(copies), "marked": marks})
    head = f"{counted(len(copies), 'conflict copy')}{':' if copies else '.'}"
    lines = [f"{copy.path}: {copy.made}, of {copy.original}" + _gone(copy) for copy in copies[:_MOST_COPIES]]
    more = len(copies) - len(lines)
    lines += [f"… and {more} more; pass folder."] if more > 0 else []
    if marked:
        lines.append(f"Git's conflict marks are in {counted(len(marked), 'file')}:")
        lines += [f"{path}: line {', '.join(map(str, at))}" for path, at in marked[:_MOST_COPIES]]
    return Outcome(["\n".join([head, *lines])], data)


def _gone(copy: ConflictCopy) -> str:
    return "" if copy.has_original else ", which is not there any more"


def _to_listed(clash: Clash) -> ListedClash:
    listed = ListedClash(
        what=clash.what,
        name=clash.name,
        line=clash.span.first,
        mine=_cut(clash.mine),
        theirs=_cut(clash.theirs),
    )
    if clash.base is not None:
        listed["base"] = _cut(clash.base)
    return listed


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _compared(found: Conflicting) -> str:
    return (
        f"Compared with {found.base}." if found.base else "No earlier version is known, so nothing counts as removed."
    )


def _clash_texts(found: Conflicting, clashes: list[Clash]) -> list[str]:
    place = counted(len(clashes), "place")
    head = f"Both versions of {found.path} changed {place} differently. Nothing was written."
    lines = [head, _compared(found)]
    for number, clash in enumerate(clashes[:_MOST_CLASHES], 1):
        where = clash.name or f"line {clash.span.first}"
        lines += [f"{number}. {where}", f"   mine: {shortened(clash.mine.strip()) or '(not there)'}"]
        lines += [f"   theirs: {shortened(clash.theirs.strip()) or '(not there)'}"]
    lines.append('Give choose with "mine", "theirs" or "both" for each in this order, or one for all.')
    return ["\n".join(lines)]
