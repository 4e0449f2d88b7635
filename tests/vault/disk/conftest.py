"""``tmp_path`` is on the disk here, where the other tests may have their files in memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

DISK = "/var/tmp"


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        prefix="vaultwire-", dir=DISK if os.path.isdir(DISK) else None, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder).resolve()
