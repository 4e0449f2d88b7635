"""The bundles of a release, once for all tests of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bundles import build


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the wheel and every bundle."""
    return build(tmp_path_factory.mktemp("release"))
