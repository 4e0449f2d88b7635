"""Tells a listener where the watch has seen changes, once a burst of them is over. Not what has changed there."""

from __future__ import annotations

import time
from collections.abc import Iterable

from vaultwire.vault.index.port import OnChange

# Changes that do not stop coming are reported this often all the same.
_LONGEST_SECONDS = 3.0


class ChangeReporter:
    """The changes of one vault that are not reported yet. For the thread of the watch loop."""

    def __init__(self, on_change: OnChange | None) -> None:
        self._on_change = on_change
        self._paths: set[str] = set()
        self._folders: set[str] = set()
        self._since = 0.0

    @property
    def has_news(self) -> bool:
        """Whether something is to be reported."""
        return bool(self._paths or self._folders)

    def add(self, paths: Iterable[str], folders: Iterable[str]) -> None:
        """Take note that these files, and files below these folders, may have changed; ``""`` is the whole vault."""
        if self._on_change is None:
            return
        if not self.has_news:
            self._since = time.monotonic()
        self._paths.update(paths)
        self._folders.update(folders)

    def report_all(self) -> None:
        """Report that anything in the vault may have changed."""
        self.add((), ("",))
        self.report(is_quiet=True)

    def report(self, *, is_quiet: bool) -> None:
        """Report what there is, if nothing has changed for a moment or the first of it is some seconds old."""
        if self._on_change is None or not self.has_news:
            return
        if not is_quiet and time.monotonic() - self._since < _LONGEST_SECONDS:
            return
        paths, folders = self._paths, self._folders
        self._paths, self._folders = set(), set()
        self._on_change(paths, folders)
