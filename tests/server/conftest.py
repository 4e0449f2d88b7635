"""A stage of test tools, and the vault they ignore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.toolsets import Stage
from support.vaults import open_vault
from vaultwire.vault.vault import Vault


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.open_all()


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(tmp_path)
