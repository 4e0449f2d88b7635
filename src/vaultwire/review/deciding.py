"""What the person decides: keep, undo, accept, refuse; of one item, a part of it, or many. Each decision is logged.

The journal comes first, then the log of decisions. If the program dies between them, no note is lost: the next look shows
the change as made or undone, and only a mark or the words to the agent are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vaultwire.review.entries import Entry, Timeline, counted, summary
from vaultwire.review.undoing import Undoing, done, hunk_count, in_the_form_of, whole_or_hunk, without_hunks
from vaultwire.vault.changes.change import Move, Step, Write, diff_of, files_of
from vaultwire.vault.changes.rebasing import Overlap, Rebased
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.errors import INVALID_ARGUMENTS, STALE_EDIT, VaultError
from vaultwire.vault.holding.holding import overlapping
from vaultwire.vault.holding.proposals import Decision, DecisionKind, Proposal
from vaultwire.vault.vault import Vault

# Of the index of a file. Python refuses to read numbers of thousands of digits.
_MAX_DIGITS = 9
_ACTIONS = ("keep", "unkeep", "undo", "move_back", "accept", "refuse")


class Deciding:
    """The decisions of one vault."""

    def __init__(self, vault: Vault, timeline: Timeline, undoing: Undoing) -> None:
        self._vault = vault
        self._timeline = timeline
        self._undoing = undoing

    def decide(
        self,
        entry: Entry,
        action: str,
        part: tuple[int | None, int | None],
        edited: Mapping[str, str],
        reason: str,
        *,
        basis: str,
        dry_run: bool,
    ) -> dict[str, Any]:
        """Decide one item; ``part``: a file of it, and a hunk of that; ``basis``: what was shown. Raises VaultError."""
        _check_action(action)
        file, hunk = part
        if file is None and hunk is not None:
            raise VaultError(INVALID_ARGUMENTS, "A hunk is one of a file: give file, too.", argument="file")
        if action in ("accept", "refuse"):
            proposal = _proposal_of(entry, action)
            if action == "accept" and file is not None:
                return self._accept_part(proposal, file, hunk, basis, dry_run=dry_run)
            if file is not None:
                message = "A proposal is refused as a whole. Accept what is right of it first, then refuse the rest."
                raise VaultError(INVALID_ARGUMENTS, message, argument="file")
            if action == "refuse":
                return self._refuse(proposal, reason, dry_run=dry_run)
            return self._accept(entry, proposal, edited, basis, dry_run=dry_run)
        _change_of(entry, action)
        if action == "move_back":
            return self._undoing.move_back(entry, dry_run=dry_run)
        if action == "undo":
            if file is None:
                return self._undoing.undo([entry], dry_run=dry_run)
            return self._undoing.undo_part(entry, file, hunk, dry_run=dry_run)
        return self._keep([entry], part, is_kept=action == "keep", dry_run=dry_run)

    def decide_many(self, entries: Sequence[Entry], action: str, reason: str, *, dry_run: bool) -> dict[str, Any]:
        """Decide several items: all of them, or none if one of them stands in the way. Raises VaultError."""
        _check_action(action)
        if action == "move_back":
            raise VaultError(INVALID_ARGUMENTS, "Changes are moved back one by one.", argument="action")
        if not entries:
            return done("There is nothing to decide.")
        if action in ("keep", "unkeep", "undo"):
            for entry in entries:
                _change_of(entry, action)
            if action == "undo":
                return self._undoing.undo(entries, dry_run=dry_run)
            return self._keep(entries, (None, None), is_kept=action == "keep", dry_run=dry_run)
        return self._decide_proposals(entries, action, reason, dry_run=dry_run)

    # ------------------------------------------------------------------ keeping

    def _keep(
        self, entries: Sequence[Entry], part: tuple[int | None, int | None], *, is_kept: bool, dry_run: bool
    ) -> dict[str, Any]:
        kind: DecisionKind = "kept" if is_kept else "unkept"
        decisions = []
        for entry in entries:
            author = entry.author
            number = entry.change.id if entry.change is not None else 0
            file, hunk = part
            if file is not None:
                detailed = next(self._vault.reviewing.detailed([number]))
                whole_or_hunk(detailed, file, hunk)
            decisions.append(Decision(kind, author.session, author.client, change=number, file=file, hunk=hunk))
            if file is not None and is_kept and self._is_all_decided(entry, file, hunk):
                decisions.append(Decision(kind, author.session, author.client, change=number))
        if not dry_run:
            self._vault.holding.decisions.add(*decisions)
        named = (
            f"change {entries[0].change.id if entries[0].change else 0}"
            if len(entries) == 1
            else counted(len(entries), "change")
        )
        what = named if part[0] is None else f"a part of {named}"
        return done(f"{'Kept' if is_kept else 'Marked as not looked at:'} {what}.")

    def _is_all_decided(self, entry: Entry, file: int, hunk: int | None) -> bool:
        """Tell whether all parts of a change are kept or undone once this part is kept, too."""
        number = entry.change.id if entry.change is not None else 0
        detailed = next(self._vault.reviewing.detailed([number]))
        undone = {(part.file, part.hunk) for part in entry.parts}
        for index, step in enumerate(detailed.steps):
            count = hunk_count(step.before, step.after) if isinstance(step, Write) else 0
            for each in range(count) if count else [None]:
                is_this = index == file and hunk in (None, each)
                is_undone = bool(undone & {(index, each), (index, None)})
                if not is_this and not is_undone and not self._timeline.kept(number, index, each):
                    return False
        return True

    # ------------------------------------------------------------------ proposals

    def diff(self, entry: Entry) -> str:
        """Return what accepting a proposal would change now, as a unified diff. Raises VaultError for what is none."""
        if entry.proposal is None:
            raise VaultError(INVALID_ARGUMENTS, f"Change {entry.id[1:]} is made already.", argument="id")
        now = self._timeline.rebased(entry)
        return diff_of(entry.proposal.steps if now is None else now.steps)

    def _accept(
        self, entry: Entry, proposal: Proposal, edited: Mapping[str, str], basis: str, *, dry_run: bool
    ) -> dict[str, Any]:
        now = self._timeline.rebased(entry)
        texts = edited_bytes(proposal, now, edited)
        if dry_run:
            obstacle = None if now is None else self._vault.holding.obstacle(proposal, now, texts)
            if obstacle is not None:
                raise obstacle
            return done(f"Accepting proposal {proposal.id} would {summary(entry.files, is_wish=True)}.", entry.files)
        made = self._vault.holding.accept(proposal.id, texts, basis=basis)
        how = " as edited" if texts else ""
        if made.id:
            ending = f": change {made.id}."
        elif proposal.kind == "diff":
            ending = ". Its client writes the file now; its change is listed as soon as it has."
        else:
            ending = "; its files are like that already."
        return done(f"Accepted proposal {proposal.id}{how}{ending}", made.files, made)

    def _accept_part(
        self, proposal: Proposal, file: int, hunk: int | None, basis: str, *, dry_run: bool
    ) -> dict[str, Any]:
        if proposal.kind == "diff" or proposal.undoes:
            what = "the diff of an editor" if proposal.kind == "diff" else "an undo"
            raise VaultError(INVALID_ARGUMENTS, f"This is {what}: accept all of it, or edit it.", argument="file")

        def divide(now: Rebased) -> tuple[list[Step], list[Step]]:
            return divided(proposal.id, now, file, hunk)

        if dry_run:
            files = files_of(tuple(divide(self._vault.holding.rebased(proposal))[0]))
            return done(f"This would {summary(files, is_wish=True)}; the rest waits on.", files)
        made, rest = self._vault.holding.accept_part(proposal.id, divide, basis)
        waits = "" if rest is None else f" The rest waits as proposal {rest.id}."
        answer = done(f"Accepted a part of proposal {proposal.id}: change {made.id}.{waits}", made.files, made)
        return {**answer, "rest": None if rest is None else f"p{rest.id}"}

    def _refuse(self, proposal: Proposal, reason: str, *, dry_run: bool) -> dict[str, Any]:
        if dry_run:
            return done(f"Refusing proposal {proposal.id} changes no file; its agent is told.")
        self._vault.holding.refuse(proposal.id, reason)
        return done(f"Refused proposal {proposal.id}.")

    def _decide_proposals(self, entries: Sequence[Entry], action: str, reason: str, *, dry_run: bool) -> dict[str, Any]:
        entries = sorted(entries, key=lambda entry: entry.key, reverse=True)
        proposals = [(entry, _proposal_of(entry, action)) for entry in entries]
        stale = self._stale_together(proposals) if action == "accept" else {}
        if stale:
            conflicts = [
                {"id": entry.id, "words": stale[entry.id].message, "changes": []}
                for entry, _ in proposals
                if entry.id in stale
            ]
            possible = [entry.id for entry in entries if entry.id not in stale]
            message = f"{len(stale)} of {len(entries)} proposals cannot be accepted, so none was."
            if not dry_run:
                raise VaultError(STALE_EDIT, message, conflicts=conflicts, possible=possible, files=[])
            return {**done(message), "conflicts": conflicts, "possible": possible}
        results = [
            self._refuse(proposal, reason, dry_run=dry_run)
            if action == "refuse"
            else done("", entry.files)  # one by one, a later one may need an older one
            if dry_run
            else self._accept(entry, proposal, {}, "", dry_run=False)
            for entry, proposal in reversed(proposals)  # the oldest first
        ]
        files = [file for result in results for file in result["files"]]
        verb = {"accept": "Accepted", "refuse": "Refused"}[action]
        verb = f"Would have {verb.lower()}" if dry_run else verb
        return {**done(f"{verb} {counted(len(results), 'proposal')}."), "files": files}

    def _stale_together(self, proposals: Sequence[tuple[Entry, Proposal]]) -> dict[str, VaultError]:
        """Return why some cannot be accepted once the older ones were, by their ids."""
        stale: dict[str, VaultError] = {}
        made: list[Step] = []
        holding = self._vault.holding
        for entry, proposal in reversed(proposals):
            tree = self._vault.reviewing.tree()
            for step in made:
                tree.add(step)
            if proposal.outside:
                continue
            now = holding.rebased(proposal, tree=tree)
            obstacle = holding.obstacle(proposal, now)
            if obstacle is not None:
                stale[entry.id] = obstacle
            elif proposal.kind == "write":  # a client writes a diff itself, later
                made += now.steps
        return stale


def divided(number: int, now: Rebased, file: int, hunk: int | None) -> tuple[list[Step], list[Step]]:
    """Return the steps that make one file or hunk of a proposal, and those of the rest. Raises VaultError."""
    steps = list(now.steps)
    if not 0 <= file < len(steps):
        raise VaultError(
            INVALID_ARGUMENTS, f"Proposal {number} has no file {file}; they count from 0.", argument="file"
        )
    step = steps[file]
    if any(isinstance(each, Move) for each in steps) and any(isinstance(each, Write) for each in steps):
        message = f"Links follow what proposal {number} moves, so it is accepted as a whole."
        raise VaultError(INVALID_ARGUMENTS, message, argument="file")
    if file in now.overlaps:
        raise overlapping(number, [now.overlaps[file]])
    if hunk is None or isinstance(step, Move) or step.old is None or step.new is None:
        return [step], [*steps[:file], *steps[file + 1 :]]
    count = hunk_count(step.before, step.after)
    if not 0 <= hunk < count:
        message = f"There is no hunk {hunk} in {step.path!r}; it has {count}, from 0 on."
        raise VaultError(INVALID_ARGUMENTS, message, argument="hunk")
    part = Content(without_hunks(step.old.data, step.new.data, set(range(count)) - {hunk}))
    return [Write(step.path, step.old, part)], [*steps[:file], Write(step.path, part, step.new), *steps[file + 1 :]]


def text_to_accept(step: Write, overlap: Overlap | None) -> bytes | None:
    """Return the bytes that the person begins with when they edit a step: with both versions where these overlap."""
    return overlap.both if overlap is not None and overlap.both is not None else step.after


def edited_bytes(proposal: Proposal, now: Rebased | None, edited: Mapping[str, str]) -> dict[int, bytes]:
    """Return the person's texts as bytes by the index of their step, without those that change nothing.

    ``now``: what accepting it does; line ends and BOM are those of the file as it is. Raises VaultError (INVALID_ARGUMENTS).
    """
    texts: dict[int, bytes] = {}
    for name, text in edited.items():
        index = int(name) if name.isascii() and name.isdecimal() and len(name) <= _MAX_DIGITS else -1
        step = proposal.steps[index] if 0 <= index < len(proposal.steps) else None
        if not isinstance(step, Write) or step.new is None:
            raise VaultError(
                INVALID_ARGUMENTS, f"File {name!r} of the proposal has no text to edit.", argument="edited"
            )
        overlap = None if now is None else now.overlaps.get(index)
        made = step if now is None or overlap is not None else now.steps[index]
        assert isinstance(made, Write)
        begun = text_to_accept(made, overlap) or b""
        data = in_the_form_of(begun if overlap is not None else made.before or begun, text)
        if data != begun or overlap is not None:
            texts[index] = data
    return texts


def _check_action(action: str) -> None:
    if action not in _ACTIONS:
        raise VaultError(INVALID_ARGUMENTS, f"{action!r} is no action: give {', '.join(_ACTIONS)}.", argument="action")


def _change_of(entry: Entry, action: str) -> None:
    if entry.change is not None:
        if action == "keep" and entry.change.undone_by is not None:
            message = (
                f"Change {entry.change.id} was undone by change {entry.change.undone_by}; there is nothing to keep."
            )
            raise VaultError(INVALID_ARGUMENTS, message, argument="id")
        return
    number = entry.proposal.id if entry.proposal is not None else 0
    state = "waits: accept or refuse it" if entry.waits else f"was {entry.state}; it changed nothing"
    raise VaultError(INVALID_ARGUMENTS, f"Proposal {number} {state}.", argument="action")


def _proposal_of(entry: Entry, action: str) -> Proposal:
    if entry.proposal is None:
        message = f"Change {entry.change.id if entry.change else 0} is made already: keep or undo it."
        raise VaultError(INVALID_ARGUMENTS, message, argument="action")
    if not entry.waits:
        was = entry.state if entry.change is None else "accepted"
        raise VaultError(
            INVALID_ARGUMENTS,
            f"Proposal {entry.proposal.id} was {was} already; there is nothing to {action}.",
            argument="id",
        )
    return entry.proposal
