"""A view of a base as a page of Markdown, for clients that read resources. The tool that queries bases is in ``bases``."""

from __future__ import annotations

import re

from vaultwire.bases.comparing import shown_text
from vaultwire.toolkit.phrases import counted
from vaultwire.tools.base_tables import fitting, made_rows, markdown_tables, path_row, with_paths
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.disk.paths import BASE_SUFFIX
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

_VIEW_MARK = re.compile(re.escape(BASE_SUFFIX) + "#", re.IGNORECASE | re.ASCII)
# A client puts a whole resource before its model: so many rows are 25,000 tokens.
_MOST_ROWS = 1000
_MOST_BYTES = 100_000


def split_view(path: str) -> tuple[str, str] | None:
    """Return the base and the view that ``File.base#View`` names; an empty view means the first. None for another path."""
    mark = _VIEW_MARK.search(path)
    return None if mark is None else (path[: mark.end() - 1], path[mark.end() :])


def first_view(vault: Vault, base: VaultPath, progress: Progress) -> str | None:
    """Return the name of a base's first view; None for a file that is no base, and for a view without a name."""
    try:
        return vault.bases.views(BaseSource(base), progress)[0].name or None
    except VaultError:
        return None


def view_page(vault: Vault, base: VaultPath, view: str, progress: Progress) -> str:
    """Return the rows of a view as Markdown tables, with its groups and summaries.

    A page that would be too long for a model ends earlier and says so. Raises VaultError: FILE_NOT_FOUND for a view that
    the base does not have, and as ``Bases.query`` does.
    """
    try:
        result = vault.bases.query(BaseSource(base), view, progress=progress)
    except VaultError as error:
        raise VaultError(FILE_NOT_FOUND, str(error)) if error.details.get("argument") == "view" else error from None
    names, place = with_paths(result.columns)
    rows = made_rows(result, range(min(len(result.rows), _MOST_ROWS)), progress)
    texts = fitting([path_row(row.path, row.cells, place) for row in rows], _MOST_BYTES)
    lines = [f"# {base}: {result.view.name}", "", counted(len(result.rows), "row")]
    lines += ["", *markdown_tables(result, rows[: len(texts)], names, texts)]
    if len(texts) < len(result.rows):
        lines += ["", f"{counted(len(result.rows) - len(texts), 'more row')}: query_base shows them."]
    named = {column.id: column.name for column in result.columns}
    summed = [f"- {named.get(each, each)}: {shown_text(value)}" for each, value in result.summaries.items()]
    lines += ["", *summed] if summed else []
    lines += [f"- Problem: {problem}" for problem in result.problems]
    return "\n".join(lines) + "\n"
