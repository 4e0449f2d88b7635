"""The end of a call whose change waits for the person, and what a caller is told of others that wait."""

from __future__ import annotations

from vaultwire.vault.changes.change import Author, Step, files_of, paths_of
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.review_mode import Held
from vaultwire.vault.holding.words import named

_NAMED = 5


def hold(holding: Holding, author: Author, steps: list[Step], undoes: tuple[int, ...]) -> Held:
    """Keep a change as a proposal; return what ends the call. Raises VaultError: as ``Holding.hold``."""
    also = waiting_on(holding, steps)
    proposal = holding.hold("write", author, steps, undoes)
    words = (
        f"This waits for the person: proposal {proposal.id} ({named(files_of(proposal.steps))}). Nothing was written yet. "
        "Do not write it again; pending_changes shows what waits."
    )
    return Held(" ".join([words, *also]))


def waiting_on(holding: Holding, steps: list[Step]) -> list[str]:
    """Return what a caller is told of proposals that wait and concern a file of these steps: none or one sentence."""
    paths = {fold(path) for step in steps for path in paths_of(step)}
    try:
        waiting = [
            str(each.id)
            for each in holding.visible(holding.waiting())
            if not paths.isdisjoint(fold(path) for step in each.steps for path in paths_of(step))
        ]
    except (OSError, VaultError):  # only a hint
        return []
    if not waiting:
        return []
    more = f" and {len(waiting) - _NAMED} more" if len(waiting) > _NAMED else ""
    one = len(waiting) == 1
    which = (
        f"Proposal{'' if one else 's'} {', '.join(waiting[:_NAMED])}{more} on the same file still "
        f"wait{'s' if one else ''} for the person; this was made from the text on the disk."
    )
    return [which]
