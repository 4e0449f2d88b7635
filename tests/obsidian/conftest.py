"""A vault, and a computer on which the app may run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.obsidian_app import NOTES, Computer
from support.vaults import write_vault


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "Notes", NOTES)


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Computer]:
    with tempfile.TemporaryDirectory(prefix="vw-") as folder:  # short: a socket's path may have 104 characters
        made = Computer(Path(folder), monkeypatch)
        yield made
        made.stop_app()


@pytest.fixture
def running(computer: Computer, notes: Path) -> Computer:
    """A computer on which the app runs and knows the vault."""
    computer.know(notes)
    computer.start_app()
    return computer
