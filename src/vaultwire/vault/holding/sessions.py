"""What a session sees of its own proposals and delayed writes, and what it is told of the person's decisions.

What it has proposed and what waits is there already for it, so that its changes build on each other. What is not certain is
left out, so that the session sees the disk: a proposal that cannot be made any more. A decision is told once, with the
session's next result.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Move, Step, follow, paths_of
from vaultwire.vault.changes.projected_tree import ProjectedTree
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.files import Files, Pending
from vaultwire.vault.disk.paths import lies_in
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.proposals import Decision, DecisionLog, Proposal
from vaultwire.vault.holding.words import brief
from vaultwire.vault.value_types import VaultPath


class OwnProposals:
    """What waits of one session, for one call: looked at once, when the first file is, and once more under the vault's lock."""

    def __init__(self, caller: Caller, holding: Holding, files: Files) -> None:
        self._caller = caller
        self._holding = holding
        self._files = files
        self._changed: dict[VaultPath, Pending] | None = None

    def changed(self) -> Mapping[VaultPath, Pending]:
        """See ``PendingFiles``."""
        if self._changed is None:
            self._changed = {}
            if self._caller.told is not None or self._caller.lasting:  # else it has proposed nothing
                try:
                    self._add_all(ProjectedTree(self._files))
                except (OSError, VaultError):  # they cannot be read: then this session sees the disk
                    self._changed = {}
        return self._changed

    def forget(self) -> None:
        """Look at them again: another call of this session may have added some."""
        self._changed = None

    def _add_all(self, tree: ProjectedTree) -> None:
        delayed = [each for each in self._holding.proposals.delayed() if each.state == "waiting"]
        waiting = [each for each in self._holding.waiting() if each.kind == "write"]
        own = [each for each in [*delayed, *waiting] if is_of(each.author, self._caller)]
        steps: list[Step] = []
        for proposal in self._holding.visible(own):
            now = self._holding.rebased(proposal, tree=tree)
            if now.overlaps:
                tree = ProjectedTree(self._files)  # without the steps of this one
                for step in steps:
                    tree.add(step)
                continue
            steps += now.steps
            self._add(tree, proposal, self._paths(tree, now.steps))

    def _paths(self, tree: ProjectedTree, steps: Sequence[Step]) -> dict[VaultPath, bool]:
        """Return the paths that steps free or take, also of all in a folder that they move; and which are of folders."""
        assert self._changed is not None
        paths = dict.fromkeys((path for step in steps for path in paths_of(step)), False)
        for move in [step for step in steps if isinstance(step, Move)]:
            for path in [path for path in self._changed if lies_in(path, move.source)]:
                paths |= dict.fromkeys((path, follow(path, *move)), self._changed[path].is_folder)
        for folder in [path for path in paths if tree.is_folder(path)]:
            for inner, files in self._files.walk_folders(tree.origin(folder)):
                paths |= dict.fromkeys(tree.places(VaultPath(inner)), True)
                for file in files:
                    paths |= dict.fromkeys(tree.places(file.path), False)
        return paths

    def _add(self, tree: ProjectedTree, proposal: Proposal, paths: Mapping[VaultPath, bool]) -> None:
        assert self._changed is not None
        for path, is_folder in paths.items():
            before = self._changed[path].proposals if path in self._changed else ()
            numbers = before if proposal.kind == "delayed" else (*before, proposal.id)
            origin = tree.origin(path)
            content = None if origin is not None else tree.content(path)
            if proposal.kind == "delayed" and content is not None:
                content = Content(content.data)  # its row may go at any moment
            self._changed[path] = Pending(content, numbers, proposal.time_ns, origin, is_folder=is_folder)


def is_of(author: Author | Decision, caller: Caller) -> bool:
    """Tell whether something is of a session, or of a client that has none and is known again."""
    if caller.lasting:
        return author.session.startswith(caller.lasting) and author.client == caller.client
    return author.session == caller.session


# Tells a session once what the person decided about its changes and proposals, with its next result.

_MOST = 6_000
# What was decided longer ago is not told to a client that comes again: it would not know any more what is meant.
_RECENT_NS = 30 * 86_400 * 1_000_000_000
_HEAD = "What the person decided since your last call:"
_OTHER_HEAD = "Since your last call:"


def expect_news(caller: Caller, holding: Holding) -> None:
    """Have a session told from now on what the person decides. Called before its first change or proposal is made."""
    if caller.told is None and not caller.lasting:
        try:
            caller.told = holding.decisions.end()
        except OSError:  # then all of the log is read once; no decision in it concerns a new session
            caller.told = 0


def news_for(caller: Caller, holding: Holding) -> str:
    """Return what this session is to be told now, "" for nothing. One look at the log's size while nothing is decided.

    No look for a session that has changed nothing: there is nothing to decide, and the file would be asked in each call.
    """
    if caller.told is None and not caller.lasting:
        return ""
    log = holding.decisions
    try:
        end = log.end()
        if caller.told is None:
            caller.told = _told_before(caller, log)
        caller.told = min(caller.told, end)  # somebody may have removed the log
        if caller.told == end:
            return ""
        decisions, caller.told = log.since(caller.told)
    except OSError:
        return ""
    oldest = time.time_ns() - _RECENT_NS
    recent = [
        decision for decision in decisions if decision.text and decision.kind != "told" and decision.time_ns >= oldest
    ]
    concerning = [decision for decision in recent if is_of(decision, caller)]
    texts = _texts(_seen(caller, holding, concerning))
    if not texts:
        return ""
    if caller.lasting:
        _keep(caller, log)
    news = "\n".join(texts)
    if len(news) > _MOST:
        news = f"{news[:_MOST]}\n… (there is more: pending_changes lists all proposals, list_changes what was undone)"
    is_decided = any(decision.kind != "offered" for decision in concerning)
    return f"{_HEAD if is_decided else _OTHER_HEAD}\n{news}"


def _seen(caller: Caller, holding: Holding, decisions: Sequence[Decision]) -> list[Decision]:
    """Return the decisions without what this session may not see: names of notes, and the person's text in differences."""
    try:
        may_tell = holding.may_tell(decisions)
    except (OSError, VaultError):
        may_tell = [False] * len(decisions)
    return [
        decision
        if may and (caller.may_read_notes or not _quotes(decision))
        else decision._replace(text=brief(decision))
        for decision, may in zip(decisions, may_tell, strict=True)
    ]


def _quotes(decision: Decision) -> bool:
    """Tell whether the text of a decision has lines of a note."""
    return decision.kind == "edited" or decision.hunk is not None


def _told_before(caller: Caller, log: DecisionLog) -> int:
    """Return the position up to which a client was told before this program started. Raises OSError."""
    for decision in reversed(log.all()):
        if decision.kind == "told" and is_of(decision, caller):
            return int(decision.text) if decision.text.isdecimal() else 0
    return 0


def _keep(caller: Caller, log: DecisionLog) -> None:
    """Keep on disk what the client was told, so that it is not told again after a restart."""
    try:
        log.add(Decision("told", caller.session, caller.client, text=str(caller.told)))
    except OSError:  # a full disk: it is told twice
        pass


def _texts(decisions: Iterable[Decision]) -> list[str]:
    """Return what is told, without what a later decision repeats: a proposal is decided once."""
    latest: dict[object, str] = {}
    for number, decision in enumerate(decisions):
        latest[number if decision.proposal is None else ("proposal", decision.proposal)] = decision.text
    return list(latest.values())
