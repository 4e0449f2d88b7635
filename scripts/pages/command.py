"""The program behind ``make generate``: writes the files that are generated. ``--check`` names stale ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.pages import clients_page, configuration_page, tools_page
from scripts.pages.schema import declared_tools, describe

from vaultwire import tools
from vaultwire.app.engine import make_outside
from vaultwire.obsidian.command import Backend
from vaultwire.toolkit.catalog import APP_CATALOG, CATALOG
from vaultwire.tools.obsidian_cli.family import make_family

_ROOT = Path(__file__).resolve().parents[2]
_DOCS = _ROOT / "docs"


def main() -> int:
    """Write the files, or with ``--check`` name the stale ones; the exit code is their number."""
    descriptions = [describe(tool) for tool in declared_tools(tools, make_outside())]
    family = [describe(tool) for tool in make_family(Backend)]
    stale = 0
    # The catalogs come first: the examples on the tools' page are calls of the tools that they list.
    pages: tuple[tuple[Path, Callable[[], str]], ...] = (
        (Path(CATALOG), lambda: _catalog_text(descriptions)),
        (Path(APP_CATALOG), lambda: _catalog_text(family)),
        (_DOCS / "clients.md", clients_page.page_text),
        (_DOCS / "tools.md", lambda: tools_page.page_text(descriptions)),
        (_DOCS / "configuration.md", configuration_page.page_text),
    )
    for path, made in pages:
        text = made()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if "--check" in sys.argv:
            print(f"stale: {path.relative_to(_ROOT)} (run make generate)")
        else:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"written: {path.relative_to(_ROOT)}")
    return stale if "--check" in sys.argv else 0


def _catalog_text(descriptions: list[dict[str, Any]]) -> str:
    """Return the catalog with a line for each tool: it is read at each start, and nobody edits it."""
    lines = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in descriptions)
    return "[\n" + ",\n".join(lines) + "\n]\n"
