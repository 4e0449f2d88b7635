"""The end of a call whose change waits for the person, and what a caller is told of others that wait."""

from __future__ import annotations

from collections.abc import Mapping

from vaultwire.vault.changes.change import Author, Step, files_of, paths_of
from vaultwire.vault.disk.files import NOTHING_PENDING, Pending
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.review_mode import Held
from vaultwire.vault.holding.words import named
from vaultwire.vault.value_types import VaultPath

_NAMED = 5


def hold(
    holding: Holding, author: Author, steps: list[Step], own: Mapping[VaultPath, Pending], undoes: tuple[int, ...]
) -> Held:
    """Keep a change as a proposal; return what ends the call. ``own``: what the caller has changed by others that wait.

    Raises VaultError: as ``Holding.hold``.
    """
    also = waiting_on(holding, steps, own)
    proposal = holding.hold("write", author, steps, undoes)
    words = (
        f"This waits for the person: proposal {proposal.id} ({named(files_of(proposal.steps))}). Nothing was written yet. "
        "Do not write it again; pending_changes shows what waits."
    )
    return Held(" ".join([words, *also]))


def waiting_on(holding: Holding, steps: list[Step], own: Mapping[VaultPath, Pending] = NOTHING_PENDING) -> list[str]:
    """Return what a caller is told of proposals that wait and concern a file of these steps: a sentence or two at most."""
    paths = [path for step in steps for path in paths_of(step)]
    built_on = sorted({number for path in paths if path in own for number in own[path].proposals})
    folded = {fold(path) for path in paths}
    try:
        others = [
            each.id
            for each in holding.visible(holding.waiting())
            if each.id not in built_on
            and not folded.isdisjoint(fold(path) for step in each.steps for path in paths_of(step))
        ]
    except (OSError, VaultError):  # only a hint
        others = []
    told = []
    if built_on:
        told.append(f"It builds on your {_numbered(built_on)}.")
    if others:
        told.append(
            f"On the same file, {_numbered(others)} wait{'s' if len(others) == 1 else ''} for the person, too; "
            "this was made without."
        )
    return told


def _numbered(proposals: list[int]) -> str:
    more = f" and {len(proposals) - _NAMED} more" if len(proposals) > _NAMED else ""
    return f"proposal{'' if len(proposals) == 1 else 's'} {', '.join(map(str, proposals[:_NAMED]))}{more}"
