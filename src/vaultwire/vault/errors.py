"""The errors of the engine. A code in words identifies each; every protocol maps it to a number of its own."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VAULT_NOT_FOUND = "VAULT_NOT_FOUND"
FILE_NOT_FOUND = "FILE_NOT_FOUND"
AMBIGUOUS_NAME = "AMBIGUOUS_NAME"
NOTE_EXISTS = "NOTE_EXISTS"
STALE_EDIT = "STALE_EDIT"
PERMISSION_DENIED = "PERMISSION_DENIED"
PATH_OUTSIDE_VAULT = "PATH_OUTSIDE_VAULT"
TOO_LARGE = "TOO_LARGE"
TIMEOUT = "TIMEOUT"
INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
CURSOR_EXPIRED = "CURSOR_EXPIRED"
NOT_READ = "NOT_READ"
NOT_UTF8 = "NOT_UTF8"
SECTION_NOT_FOUND = "SECTION_NOT_FOUND"
WRITE_FAILED = "WRITE_FAILED"
JOURNAL_FAILED = "JOURNAL_FAILED"
TOO_MANY_WAITING = "TOO_MANY_WAITING"
UNDO_CONFLICT = "UNDO_CONFLICT"
POLICY_DENIED = "POLICY_DENIED"
AMBIGUOUS_TARGET = "AMBIGUOUS_TARGET"
TEXT_NOT_FOUND = "TEXT_NOT_FOUND"
NETWORK_BLOCKED = "NETWORK_BLOCKED"
WEB_FAILED = "WEB_FAILED"
NOT_INSTALLED = "NOT_INSTALLED"
CANNOT_SHOW = "CANNOT_SHOW"
OBSIDIAN_NOT_RUNNING = "OBSIDIAN_NOT_RUNNING"
OBSIDIAN_FAILED = "OBSIDIAN_FAILED"
SERVER_BUSY = "SERVER_BUSY"


class VaultError(Exception):
    """An error that says what was wrong and what would be right. ``details`` are facts for programs."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class Stopped(Exception):  # noqa: N818 - asked for by the caller, not an error
    """The work ended early, because its caller cancelled it or its deadline passed. Nothing was changed."""
