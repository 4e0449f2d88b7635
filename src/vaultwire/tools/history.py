"""Tools on changes: those on record, to list, show, undo and restore, those that wait, and conflicts that sync left.

Docstrings here are product text: a model reads them.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, cast

from vaultwire.markdown.three_way import Clash
from vaultwire.toolkit.phrases import MAX_FILES_SHOWN, add_facts, counted, iso_time, local_time, shortened
from vaultwire.toolkit.registry import Also, Bounds, DryRun, Folder, OptionalName, Outcome, tool
from vaultwire.tools.changes import (
    Changed,
    TouchedFile,
    change_texts,
    cut,
    to_changed,
    to_touched,
)
from vaultwire.vault.changes.change import Change, diff_of, files_of
from vaultwire.vault.disk.conflict_copies import ConflictCopy
from vaultwire.vault.editing.conflicts import Conflicting, MarkedFile
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.holding.proposals import Decision, Proposal
from vaultwire.vault.holding.words import named
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

# The tool on conflicts that sync programs and Git left. Docstrings here are product text: a model reads them.

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
        return _listed(*vault.conflicts.all(folder, progress))
    found = vault.conflicts.join(path, choose or [], if_match, progress, dry_run=dry_run)
    clashes = [*found.joined.open.values()]
    changed = _NOTHING if found.done is None else to_changed(found.done)
    facts = {
        "path": found.path,
        "compared_with": found.base,
        "clashes": [_to_clash(clash) for clash in clashes[:_MOST_CLASHES]],
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
    lines = [
        f"{copy.path}: {copy.made}, of {copy.original}{'' if copy.has_original else ', which is not there any more'}"
        for copy in copies[:_MOST_COPIES]
    ]
    more = len(copies) - len(lines)
    lines += [f"… and {more} more; pass folder."] if more > 0 else []
    if marked:
        lines.append(f"Git's conflict marks are in {counted(len(marked), 'file')}:")
        lines += [f"{path}: line {', '.join(map(str, at))}" for path, at in marked[:_MOST_COPIES]]
    return Outcome(["\n".join([head, *lines])], data)


def _to_clash(clash: Clash) -> ListedClash:
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


Since = Annotated[str, Bounds(0, 40)]


class ListedChange(TypedDict):
    """A change of the vault."""

    change: Annotated[int, "Its number"]
    time: Annotated[str, "When, ISO 8601, UTC"]
    client: Annotated[str, "Which client made it, as it calls itself"]
    tool: Annotated[str, "With which tool"]
    files: Annotated[list[TouchedFile], "The first files it changed"]
    file_count: Annotated[int, "How many files in all"]
    undoes: Annotated[NotRequired[int], "The change that it undid; the latest of several"]
    undoes_also: Annotated[NotRequired[list[int]], "The others that it undid"]
    undone_by: Annotated[NotRequired[int], "The change that took it back"]
    left: Annotated[
        list[str], "Files that could not be put back when it failed half-way, because somebody had changed them"
    ]


class ListedChanges(TypedDict):
    """Changes, the latest first."""

    changes: list[ListedChange]
    diff: Annotated[NotRequired[str], "Of the one change asked for: what it changed, as a unified diff"]
    next_before: Annotated[NotRequired[int], "Pass as before for earlier ones; absent if there are none"]


class Undone(Changed):
    """What was undone, as one change."""

    undone: Annotated[list[ListedChange], "The changes that were undone, the latest first; not all if they are many"]
    undone_count: Annotated[int, "How many in all"]


@tool(
    title="List changes",
    category="history",
    listed="standard",
    read_only=True,
    also=(Also("read_notes", "change"),),
    plain=("path", "change", "since", "before"),
)
def list_changes(
    vault: Vault,
    progress: Progress,
    /,
    path: Annotated[str, Bounds(0, 1000)] = "",
    change: Annotated[int | None, Bounds(1, 2**53)] = None,
    since: Since = "",
    limit: Annotated[int, Bounds(1, 1000)] = 20,
    before: Annotated[int | None, Bounds(1, 2**53)] = None,
) -> Outcome[ListedChanges]:
    """List the changes made by clients, latest first, or show one.

    What the person changed in Obsidian itself is not in it.

    Args:
        path: Only of this note or folder.
        change: Show this one.
        since: Only made since: "1h", "today", "14:30", "2026-01-31T18:00".
        limit: How many to return.
        before: Only before this number.
    """
    if change is not None:
        detailed = vault.history.show(change)
        listed, diff = _to_listed(detailed.change), cut(diff_of(detailed.steps))
        return Outcome([_line(listed), diff], ListedChanges(changes=[listed], diff=diff))
    changes = vault.history.latest(path, limit + 1, before, since, progress)
    shown = [_to_listed(change) for change in changes[:limit]]
    data = ListedChanges(changes=shown)
    of = (f" of {path!r}" if path else "") + (f" since {since}" if since else "")
    none = f"No changes{of}{' before ' + str(before) if before else ''} on record."
    lines = [f"{counted(len(shown), 'change')}, the latest first:" if shown else none]
    lines += [_line(change) for change in shown]
    if len(changes) > limit:
        data["next_before"] = shown[-1]["change"]
        lines.append(f"There are earlier ones: pass before {shown[-1]['change']}.")
    return Outcome(["\n".join(lines)], data)


@tool(title="Undo changes", category="history", listed="standard", destructive=True, plain=("changes",))
def undo_changes(
    vault: Vault,
    progress: Progress,
    /,
    changes: Annotated[list[Annotated[int, Bounds(1, 2**53)]] | None, Bounds(1, 1000)] = None,
    since: Since = "",
    dry_run: DryRun = False,
) -> Outcome[Undone]:
    """Undo changes, also deletes: all or none. Later edits elsewhere stay.

    Whichever client made them, and as one change, which can be undone itself. Where later edits touched the same lines, nothing
    is undone, and the error names the changes in the way and those that can be undone without them.

    Example: {"changes": [4]}.

    Args:
        changes: Numbers.
        since: Or all since "1h", "today", "14:30".
    """
    undone = vault.history.undo(changes or [], since, progress, dry_run=dry_run)
    listed = [_to_listed(change) for change in undone.changes[:MAX_FILES_SHOWN]]
    data = Undone(**to_changed(undone.done), undone=listed, undone_count=len(undone.changes))
    if not undone.changes:
        return Outcome([f"Nothing to undo: no change made since {since} still holds."], data)
    head, *rest = change_texts(undone.done, f"{counted(len(undone.changes), 'change')} undone", data)
    if len(undone.changes) == 1:
        return Outcome([head, *rest], data)
    lines = ["The changes:", *map(_line, listed)]
    lines += [f"… and {len(undone.changes) - len(listed)} more."] if len(undone.changes) > len(listed) else []
    return Outcome(["\n".join([head, *lines]), *rest], data)


@tool(title="Restore note", category="history")
def restore_note(
    vault: Vault,
    progress: Progress,
    /,
    path: Annotated[str, Bounds(0, 1000)] = "",
    change: Annotated[int | None, Bounds(1, 2**53)] = None,
    to: Annotated[str, Bounds(0, 1000)] = "",
    dry_run: DryRun = False,
) -> Outcome[Changed]:
    """Bring back a deleted note.

    It is taken from the vault's .trash or, if it is not there, from the journal. It never overwrites: if there is
    a note of that name by now, give another with "to".

    Example: {"path": "Projects/Plan.md"}.

    Args:
        path: The path the note had, or its path in .trash (".trash/Note.md").
        change: Number of the change that deleted it, if the path alone is not enough.
        to: Path to bring it back to; a name alone keeps the folder. Empty for the path it had.
    """
    done = vault.history.restore(path, change, to, progress, dry_run=dry_run)
    data = to_changed(done)
    back = ", ".join(file.get("to", file["path"]) for file in data["files"])
    return Outcome(change_texts(done, f"brought back {back}", data), data)


def _to_listed(change: Change) -> ListedChange:
    listed = ListedChange(
        change=change.id,
        time=iso_time(change.time_ns),
        client=change.author.client,
        tool=change.author.tool,
        files=[to_touched(file) for file in change.files[:MAX_FILES_SHOWN]],
        file_count=len(change.files),
        left=list(change.unrestored),
    )
    first, *others = change.undoes or (None,)
    add_facts(listed, undoes=first, undoes_also=others, undone_by=change.undone_by)
    return listed


def _line(change: ListedChange) -> str:
    first = change["files"][0] if change["files"] else None
    what = f"{first['action']} {first['path']}" + (f" → {first['to']}" if "to" in first else "") if first else ""
    more = f" and {change['file_count'] - 1} more" if change["file_count"] > 1 else ""
    undone = f" (undone by {change['undone_by']})" if "undone_by" in change else ""
    numbers = [change["undoes"], *change.get("undoes_also", [])] if "undoes" in change else []
    undoes = f" (undoes {', '.join(map(str, numbers))})" if numbers else ""
    by = f" by {change['client']}" if change["client"] else ""
    return f"{change['change']}  {local_time(change['time'])}  {change['tool']}{by}: {what}{more}{undoes}{undone}"


# ---------------------------------------------------------------------- what waits


class ListedProposal(TypedDict):
    """A change that waits for the person, or that they decided."""

    proposal: Annotated[int, "Its number"]
    time: Annotated[str, "When it was made, ISO 8601, UTC"]
    state: Annotated[str, "waiting, accepted, refused or withdrawn"]
    tool: Annotated[str, "With which tool"]
    files: Annotated[list[TouchedFile], "The first files it is about"]
    file_count: Annotated[int, "How many files in all"]
    reason: Annotated[str, 'Why it was refused or withdrawn; "" if nobody said']
    is_edited: Annotated[bool, "Whether the person changed it before they accepted it"]
    change: Annotated[NotRequired[int], "The change that it became"]


class UndoneChange(TypedDict):
    """A change of this client that the person undid."""

    change: Annotated[int, "Its number"]
    undone_by: Annotated[int, "The change that undid it"]
    is_part: Annotated[bool, "Whether only a part of it was undone"]
    files: Annotated[list[TouchedFile], "The first files it was about"]
    file_count: Annotated[int, "How many files in all"]


class ListedProposals(TypedDict):
    """Proposals of this client, the latest first."""

    proposals: list[ListedProposal]
    waiting: Annotated[int, "How many wait in all"]
    undone: Annotated[list[UndoneChange], "Changes that the person undid, the latest first; only without before"]
    withdrawn: Annotated[list[int], "Those that were given up now"]
    next_before: Annotated[NotRequired[int], "Pass as before for earlier ones; absent if there are none"]


@tool(title="Pending changes", category="history", idempotent=True)
def pending_changes(
    vault: Vault,
    _: Progress,
    /,
    withdraw: Annotated[list[Annotated[int, Bounds(1, 2**53)]] | None, Bounds(1, 100)] = None,
    limit: Annotated[int, Bounds(1, 200)] = 20,
    before: Annotated[int | None, Bounds(1, 2**53)] = None,
) -> Outcome[ListedProposals]:
    """List your changes that wait for the person.

    With what the person decided and why, the latest first.

    Args:
        withdraw: Give up these of your own that wait.
        limit: How many to return.
        before: Only before this number.
    """
    withdrawn = [vault.pending.withdraw(number).id for number in dict.fromkeys(withdraw or ())]
    proposals, unreadable = vault.pending.own()
    listed = [each for each in reversed(proposals) if before is None or each.id < before]
    shown = listed[:limit]
    waiting = sum(each.state == "waiting" for each in proposals)
    undone = [] if before is not None else vault.pending.undone(limit)
    data = ListedProposals(
        proposals=[_to_proposed(each) for each in shown],
        waiting=waiting,
        undone=[_to_undone(change, decision) for change, decision in undone],
        withdrawn=withdrawn,
    )
    lines = [f"{counted(waiting, 'change')} of yours {'waits' if waiting == 1 else 'wait'} for the person."]
    if withdrawn:
        lines.append(f"Withdrawn: {', '.join(map(str, withdrawn))}.")
    lines += [_proposed_line(each) for each in shown]
    lines += [
        f"The person undid {'a part of ' if decision.file is not None else ''}change {change.id} ({named(change.files)}) "
        f"with change {decision.by}."
        for change, decision in undone
    ]
    if unreadable:
        lines.append(f"{counted(unreadable, 'proposal')} cannot be read; the person can look at the files.")
    if len(listed) > limit:
        data["next_before"] = shown[-1].id
        lines.append(f"There are earlier ones: pass before {shown[-1].id}.")
    return Outcome(["\n".join(lines)], data)


def _to_proposed(proposal: Proposal) -> ListedProposal:
    files = files_of(proposal.steps)
    listed = ListedProposal(
        proposal=proposal.id,
        time=iso_time(proposal.time_ns),
        state=proposal.state,
        tool=proposal.author.tool,
        files=[to_touched(file) for file in files[:MAX_FILES_SHOWN]],
        file_count=len(files),
        reason=proposal.reason,
        is_edited=proposal.is_edited,
    )
    add_facts(listed, change=proposal.change)
    return listed


def _to_undone(change: Change, decision: Decision) -> UndoneChange:
    return UndoneChange(
        change=change.id,
        undone_by=decision.by or 0,
        is_part=decision.file is not None,
        files=[to_touched(file) for file in change.files[:MAX_FILES_SHOWN]],
        file_count=len(change.files),
    )


def _proposed_line(proposal: Proposal) -> str:
    edited = " with edits" if proposal.is_edited else ""
    change = f" as change {proposal.change}" if proposal.change is not None else ""
    reason = f" ({proposal.reason!r})" if proposal.reason else ""
    what = named(files_of(proposal.steps))
    return f"{proposal.id}  {local_time(iso_time(proposal.time_ns))}  {proposal.state}{edited}{change}{reason}: {what}"
