"""The tool on what waits for the person. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.phrases import MAX_FILES_SHOWN, counted, iso_time, local_time
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.changes import TouchedFile, to_touched
from vaultwire.vault.changes.change import Change, files_of
from vaultwire.vault.holding.decisions import Decision
from vaultwire.vault.holding.proposals import Proposal
from vaultwire.vault.holding.words import named
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


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
    found = [each for each in reversed(proposals) if before is None or each.id < before]
    shown = found[:limit]
    waiting = sum(each.state == "waiting" for each in proposals)
    undone = [] if before is not None else vault.pending.undone(limit)
    data = ListedProposals(
        proposals=[_to_listed(each) for each in shown],
        waiting=waiting,
        undone=[_to_undone(change, decision) for change, decision in undone],
        withdrawn=withdrawn,
    )
    lines = [f"{counted(waiting, 'change')} of yours {'waits' if waiting == 1 else 'wait'} for the person."]
    if withdrawn:
        lines.append(f"Withdrawn: {', '.join(map(str, withdrawn))}.")
    lines += [_line(each) for each in shown]
    lines += [
        f"The person undid {'a part of ' if decision.file is not None else ''}change {change.id} ({named(change.files)}) "
        f"with change {decision.by}."
        for change, decision in undone
    ]
    if unreadable:
        lines.append(f"{counted(unreadable, 'proposal')} cannot be read; the person can look at the files.")
    if len(found) > limit:
        data["next_before"] = shown[-1].id
        lines.append(f"There are earlier ones: pass before {shown[-1].id}.")
    return Outcome(["\n".join(lines)], data)


def _to_listed(proposal: Proposal) -> ListedProposal:
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
    if proposal.change is not None:
        listed["change"] = proposal.change
    return listed


def _to_undone(change: Change, decision: Decision) -> UndoneChange:
    return UndoneChange(
        change=change.id,
        undone_by=decision.by or 0,
        is_part=decision.file is not None,
        files=[to_touched(file) for file in change.files[:MAX_FILES_SHOWN]],
        file_count=len(change.files),
    )


def _line(proposal: Proposal) -> str:
    edited = " with edits" if proposal.is_edited else ""
    change = f" as change {proposal.change}" if proposal.change is not None else ""
    reason = f" ({proposal.reason!r})" if proposal.reason else ""
    what = named(files_of(proposal.steps))
    return f"{proposal.id}  {local_time(iso_time(proposal.time_ns))}  {proposal.state}{edited}{change}{reason}: {what}"
