"""What an agent is told of the person's decisions: the texts of ``Decision.text``. Bounded, because a model reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaultwire.markdown.diffs import unified
from vaultwire.vault.changes.change import Change, FileChange, Step, Write, files_of
from vaultwire.vault.disk.contents import first_invalid_byte, plain_text
from vaultwire.vault.holding.proposals import Decision, DecisionKind, Proposal

_NAMED = 5
_MOST_DIFF = 2_000
_MOST_REASON = 500
_BRIEFLY: dict[DecisionKind, str] = {
    "undone": "undid {}",
    "refused": "refused {}",
    "accepted": "accepted {}",
    "edited": "accepted {} with edits of their own",
    "kept": "kept {}",
    "unkept": "keeps {} no longer",
    "offered": "has to decide about {}",
}
_ENOUGH = "Do not write it again unless the person asks for it."


def named(files: Sequence[FileChange]) -> str:
    """Return what is done to files, in words: "edit 'Plan.md', move 'A.md' to 'B.md' and 2 more"."""
    words = [f"{file.kind} {file.path!r}" + (f" to {file.target!r}" if file.target else "") for file in files[:_NAMED]]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(words) + more


def accepted(proposal: Proposal, change: int) -> str:
    """Return what is told of a proposal that the person accepted as it was."""
    return f"The person accepted proposal {proposal.id} ({_named(proposal)}); it is change {change}."


def accepted_in_part(proposal: Proposal, made: Change, rest: int | None) -> str:
    """Return what is told of a proposal of which the person accepted a part. ``rest``: the proposal with what waits on."""
    waits = "" if rest is None else f" The rest waits as proposal {rest}."
    return f"The person accepted a part of proposal {proposal.id} ({named(made.files)}); it is change {made.id}.{waits}"


def edited(proposal: Proposal, change: int, texts: Mapping[int, bytes]) -> str:
    """Return what is told of a proposal that the person accepted with edits. ``texts``: the new bytes by index of the step."""
    diffs = [
        _diff(step.after, texts[index], step.path)
        for index, step in enumerate(proposal.steps)
        if index in texts and isinstance(step, Write)
    ]
    return (
        f"The person accepted proposal {proposal.id} ({_named(proposal)}) with edits of their own; it is change {change}. "
        f"Keep what they wrote. From your text to theirs:\n{_cut(''.join(diffs))}"
    )


def refused(proposal: Proposal, reason: str = "") -> str:
    """Return what is told of a proposal that the person refused. Nothing of it was written."""
    return (
        f"The person refused proposal {proposal.id} ({_named(proposal)}). Nothing of it was written. "
        f"{_reason(reason)}{_ENOUGH}"
    )


def undone(change: int, files: Sequence[FileChange], by: int | None) -> str:
    """Return what is told of a change that the person undid, or of those of its files that they undid.

    ``by``: the change that undid it.
    """
    return f"The person undid change {change} ({named(files)}){_by(by)}. {_ENOUGH}"


def hunk_undone(change: int, step: Step, before: bytes, after: bytes, by: int | None) -> str:
    """Return what is told of a part of a change that the person undid. ``before``, ``after``: the note around the undo."""
    (file,) = files_of((step,))
    path = file.target or file.path
    return (
        f"The person undid a part of change {change} in {path!r}{_by(by)}. {_ENOUGH} "
        f"What they undid:\n{_cut(_diff(before, after, path))}"
    )


def brief(decision: Decision) -> str:
    """Return what is told of a decision to a session that may not see what it is about: no name, and none of its text."""
    did, about = _BRIEFLY[decision.kind], f"proposal {decision.proposal}"
    if decision.kind == "undone" or decision.proposal is None:
        about = f"{'' if decision.file is None else 'a part of '}change {decision.change}"
    end = f" {_ENOUGH}" if decision.kind in ("undone", "refused") else ""
    return f"The person {did.format(about)}.{end}"


def _named(proposal: Proposal) -> str:
    return named(files_of(proposal.steps))


def _by(change: int | None) -> str:
    return "" if change is None else f" with change {change}"


def _reason(reason: str) -> str:
    reason = " ".join(reason.split())[:_MOST_REASON]
    return f"Their reason: {reason!r}. " if reason else ""


def _diff(before: bytes | None, after: bytes | None, path: str) -> str:
    if any(first_invalid_byte(data or b"") is not None for data in (before, after)):
        return f"{path!r} is not text.\n"
    return unified(plain_text(before or b""), plain_text(after or b""), path)


def _cut(diff: str) -> str:
    if len(diff) <= _MOST_DIFF:
        return diff
    return f"{diff[:_MOST_DIFF].rpartition(chr(10))[0]}\n… (the rest is left out; read the note)"
