"""A window of Obsidian for the tests in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chromium import Tab, open_tab
from support.obsidian_stage import serve_stage


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the origin of a server that has the stand-in and the plugin."""
    with serve_stage(tmp_path_factory.mktemp("site")) as origin:
        yield origin


@pytest.fixture
def blank(site: str, tmp_path: Path) -> Iterator[Tab]:
    """Yield Obsidian without the plugin."""
    with open_tab() as tab:
        tab.go(f"{site}/stand_in.html")
        yield tab
