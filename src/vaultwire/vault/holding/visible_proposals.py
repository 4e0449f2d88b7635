"""Which proposals a run may see if some of the vault is hidden from it: those that concern nothing hidden, now or then.

As with changes on record (``changes.visible_changes``), a proposal of which a part is hidden is not there at all.
"""

from __future__ import annotations

import os

from vaultwire.vault.changes.change import Step, Write, paths_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.proposals import Proposal
from vaultwire.vault.value_types import VaultPath


def may_be_seen(files: Files, proposal: Proposal) -> bool:
    """Tell whether a run may see a proposal. A file outside the vault is not seen."""
    if proposal.outside:
        return False
    try:
        return all(_may_be_seen(files, step) for step in proposal.steps)
    except VaultError:  # its bytes cannot be read, so they may be private
        return False


def _may_be_seen(files: Files, step: Step) -> bool:
    if not all(_sees(files, path) for path in paths_of(step)):
        return False
    if not isinstance(step, Write) or not files.hides_private_notes:
        return True
    contents = [content for content in (step.old, step.new) if content is not None]
    return not any(files.is_private(step.path, content.data) for content in contents)


def _sees(files: Files, path: VaultPath) -> bool:
    if lies_in(path, TRASH):
        return True  # its former path is checked as well
    if os.path.lexists(files.entry_path(path)):
        return files.is_taken(path)
    return files.may_be_seen(path)
