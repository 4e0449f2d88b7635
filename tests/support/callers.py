"""Callers of long work, as tests need them."""

from __future__ import annotations

from vaultwire.vault.errors import Stopped
from vaultwire.vault.value_types import NoProgress


class StopsAfter(NoProgress):
    """A caller that hears how far the work is, and goes away after so many checks."""

    def __init__(self, checks: int) -> None:
        self.left = checks
        self.reports: list[tuple[int, int]] = []

    def check(self) -> None:
        """Raise Stopped once there were so many checks."""
        self.left -= 1
        if self.left < 0:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        """Keep the report."""
        self.reports.append((done, total))
