"""How far long work is, on one line of the terminal that is written over and removed at the end. Nothing in a pipe."""

from __future__ import annotations

import sys
import time
from typing import Self

from vaultwire.cli.terminal import plain, width
from vaultwire.vault.value_types import Confirmation

# Work that ends sooner shows nothing; a line that changes more often cannot be read.
_FIRST_SECONDS, _EVERY_SECONDS = 0.4, 0.1


class ProgressLine:
    """The progress of one command on stderr. A ``vault.value_types.Progress``."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + _FIRST_SECONDS
        self._has_line = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def check(self) -> None:
        """Go on: Ctrl-C ends the command."""

    def confirm(self, question: Confirmation) -> None:
        """Ask nobody: this is for work that changes nothing."""

    def report(self, done: int, total: int, message: str) -> None:
        """Show how far the work is."""
        now = time.monotonic()
        if not self._is_shown or now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        share = f"{100 * done // total:3} % " if total else ""
        line = plain(share + message)[: width() - 1]
        self._has_line = True
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line, so that other text can be printed."""
        if self._has_line:
            self._has_line = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
