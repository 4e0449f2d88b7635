"""What a session has proposed and what waits: for that session, it is there already, so that its changes build on each other.

What is not certain is left out, so that the session sees the disk: a proposal that cannot be made any more, and one that moves
a folder.
"""

from __future__ import annotations

from collections.abc import Mapping

from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Move, Step, paths_of
from vaultwire.vault.changes.projected_tree import ProjectedTree
from vaultwire.vault.disk.files import Files, Pending
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.decisions import Decision
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.proposals import Proposal
from vaultwire.vault.value_types import VaultPath


class OwnProposals:
    """The proposals of one session that wait, for one call: looked at once, when the first file is."""

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

    def _add_all(self, tree: ProjectedTree) -> None:
        own = [each for each in self._holding.waiting() if each.kind == "write" and is_of(each.author, self._caller)]
        steps: list[Step] = []
        for proposal in self._holding.visible(own):
            now = self._holding.rebased(proposal, tree=tree)
            if now.overlaps or any(isinstance(step, Move) and tree.is_folder(step.target) for step in now.steps):
                tree = ProjectedTree(self._files)  # without the steps of this one
                for step in steps:
                    tree.add(step)
                continue
            steps += now.steps
            self._add(tree, proposal, dict.fromkeys(path for step in now.steps for path in paths_of(step)))

    def _add(self, tree: ProjectedTree, proposal: Proposal, paths: Mapping[VaultPath, None]) -> None:
        assert self._changed is not None
        for path in paths:
            before = self._changed[path].proposals if path in self._changed else ()
            try:
                self._changed[path] = Pending(tree.content(path), (*before, proposal.id), proposal.time_ns)
            except VaultError:  # an attachment that is too large to read
                self._changed.pop(path, None)


def is_of(author: Author | Decision, caller: Caller) -> bool:
    """Tell whether something is of a session, or of a client that has none and is known again."""
    if caller.lasting:
        return author.session.startswith(caller.lasting) and author.client == caller.client
    return author.session == caller.session
