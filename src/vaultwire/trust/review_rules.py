"""The rules for changes that the person wants to see first: a planned change in, and what is done with it out. Pure.

``policy_file`` reads them; ``vault.holding.review_mode`` is what the engine knows of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from vaultwire.toolkit.tool_sets import all_work, with_covered
from vaultwire.vault.disk.paths import fold, lies_in
from vaultwire.vault.holding.review_mode import Mode, PlannedChange

MODES: tuple[Mode, ...] = ("record", "ask", "hold")
"""The modes, the strictest last."""
_ANY = "*"


class ReviewRule(NamedTuple):
    """One table: its mode, and the conditions, which must all be met. None for a condition that is not given."""

    mode: Mode
    clients: tuple[str, ...] | None = None
    folders: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    above_notes: int | None = None
    above_bytes: int | None = None

    def matches(self, planned: PlannedChange) -> bool:
        """Tell whether all conditions are met but for ``clients``."""
        if self.above_notes is not None and planned.notes <= self.above_notes:
            return False
        if self.above_bytes is not None and planned.written <= self.above_bytes:
            return False
        if self.tools is not None and not _names_one(with_covered(self.tools), all_work(planned.tool)):
            return False
        return self.folders is None or any(_touches(path, folder) for path in planned.paths for folder in self.folders)

    def names(self, client: str) -> bool:
        """Tell whether the rule names this client."""
        return self.clients is not None and client in self.clients

    def is_for(self, client: str) -> bool:
        """Tell whether the rule holds for this client."""
        return self.clients is None or _ANY in self.clients or client in self.clients


class ReviewRules:
    """The rules of one policy in their order. The first that matches decides; where none does, the change is recorded."""

    def __init__(self, rules: Sequence[ReviewRule]) -> None:
        self.rules = tuple(rules)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that they name."""
        return tuple({folder: None for rule in self.rules for folder in rule.folders or ()})

    @property
    def can_hold(self) -> bool:
        """Whether any change can be held by them."""
        return any(rule.mode != "record" for rule in self.rules)

    def mode(self, planned: PlannedChange) -> Mode:
        """Return what is done with a change.

        With a principal, the name that the client gives itself can only make it stricter: it can choose any name.
        """
        matching = [rule for rule in self.rules if rule.matches(planned)]
        name = planned.principal or planned.client
        found: list[Mode] = [rule.mode for rule in matching if rule.is_for(name)][:1]
        if planned.principal:
            found += [rule.mode for rule in matching if rule.names(planned.client)][:1]
        return max(found, key=MODES.index, default="record")


def _names_one(names: Sequence[str], tools: Sequence[str]) -> bool:
    return any(fnmatchcase(tool, name) for tool in tools for name in names)


def _touches(path: str, folder: str) -> bool:
    """Tell whether a file lies in the folder, or a folder that moves holds it."""
    path, folder = fold(path), fold(folder)
    return not folder or lies_in(path, folder) or lies_in(folder, path)
