"""What keeps a client's file from being written."""

from __future__ import annotations


class SetupError(Exception):
    """A client cannot be set up; the message is for a person: what is wrong, and what would be right."""


class BrokenFileError(SetupError):
    """A client's file cannot be read as what it should be. Nothing was written."""

    def __init__(self, words: str, line: int, column: int) -> None:
        """Remember what is wrong, and where; lines and columns count from 1."""
        super().__init__(f"line {line}, column {column}: {words}")
        self.line, self.column = line, column


class NotEditableError(SetupError):
    """A file is valid, but written in a form in which our entry cannot be put without changing other bytes."""
