"""Rows of bases as text: Markdown for a model, CSV and others for people and programs; and a view as a page, for clients
that read resources. The tools are in ``bases``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from vaultwire.toolkit.phrases import counted
from vaultwire.vault.disk.paths import BASE_SUFFIX
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

if TYPE_CHECKING:  # the language of bases: every first call would wait for it
    from vaultwire.bases.values import Value
    from vaultwire.vault.base_queries.running import BaseResult, Column, ResultRow

_MOST_CELL = 300
# An answer of ten times as much as the longest that a client may ask for.
_MOST_PAGE_BYTES = 4_000_000
# What stands for a file in a column of its own; the path tells more.
_NAMING = ("file.path", "file.file", "file.name")


def with_paths(columns: Sequence[Column]) -> tuple[list[str], int]:
    """Return the names of the columns with one for the path, and the place of that one: that of the file's name, or first.

    The column that names the file is shown as its path, with which a model can act. A place of -1 puts it before the others.
    """
    for naming in _NAMING:
        for place, column in enumerate(columns):
            if column.id == naming:
                names = [each.name for each in columns]
                names[place] = "path"
                return names, place
    return ["path", *(each.name for each in columns)], -1


def path_row(path: str, cells: Sequence[Value], place: int) -> list[str]:
    """Return the texts of a row, with the path where ``with_paths`` said."""
    from vaultwire.bases.comparing import shown_text  # noqa: PLC0415 - see the head, here and below

    texts = [shown_text(each) for each in cells]
    if place < 0:
        return [path, *texts]
    texts[place] = path
    return texts


def markdown_row(texts: Iterable[str]) -> str:
    """Return a row of a Markdown table. Line breaks become spaces; a long text is cut."""
    return f"| {' | '.join(map(_markdown_cell, texts))} |"


def markdown_head(names: Sequence[str]) -> list[str]:
    """Return the two first lines of a Markdown table."""
    return [markdown_row(names), f"|{'---|' * len(names)}"]


def made_rows(result: BaseResult, numbers: Iterable[int], progress: Progress) -> list[ResultRow]:
    """Return rows of a result by their numbers: the first of them, where all would take too much memory."""
    return result.rows.page(numbers, _MOST_PAGE_BYTES, progress)


def fitting(rows: list[list[str]], most_bytes: int) -> list[list[str]]:
    """Return the first rows, as far as their Markdown takes no more bytes; at least one."""
    for number, row in enumerate(rows):
        most_bytes -= len(markdown_row(row).encode())
        if most_bytes < 0 and number:
            return rows[:number]
    return rows


def markdown_tables(
    result: BaseResult, rows: Sequence[ResultRow], names: Sequence[str], texts: Sequence[Sequence[str]]
) -> list[str]:
    """Return rows of a result as the lines of Markdown tables, one under the heading of each group. ``texts``: their cells."""
    if not rows:
        return []
    if not result.groups:
        return [*markdown_head(names), *map(markdown_row, texts)]
    lines: list[str] = []
    for group, each in groupby(zip(rows, texts, strict=True), key=lambda pair: pair[0].group):
        found = result.groups[group]
        lines += [f"## {found.text or 'None'} ({found.count})", *markdown_head(names)]
        lines += [markdown_row(row) for _, row in each]
    return lines


def _markdown_cell(text: str) -> str:
    flat = " ".join(text.split())
    flat = flat if len(flat) <= _MOST_CELL else f"{flat[: _MOST_CELL - 1]}…"
    return flat.replace("\\", "\\\\").replace("|", "\\|")


def separated(rows: Iterable[Sequence[str]], separator: str) -> str:
    """Return rows as CSV (RFC 4180), or with tabs. Lines end with a line feed."""
    written = io.StringIO()
    csv.writer(written, delimiter=separator, lineterminator="\n").writerows(rows)
    return written.getvalue()


def json_text(value: Any) -> str:
    """Return the text of a cell that is JSON (``bases.comparing``)."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        from vaultwire.bases.values import number_text  # noqa: PLC0415

        return number_text(value)
    if isinstance(value, list):
        return ", ".join(map(json_text, value))
    if not isinstance(value, dict):
        return str(value)
    if "error" in value:
        return f"Error: {value['error']}"
    named = next((value[name] for name in ("display", "text", "image", "path") if name in value), None)
    return (
        json_text(named) if named is not None else ", ".join(f"{name}: {json_text(its)}" for name, its in value.items())
    )


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
    from vaultwire.vault.base_queries.running import BaseSource  # noqa: PLC0415

    try:
        return vault.bases.views(BaseSource(base), progress)[0].name or None
    except VaultError:
        return None


def view_page(vault: Vault, base: VaultPath, view: str, progress: Progress) -> str:
    """Return the rows of a view as Markdown tables, with its groups and summaries.

    A page that would be too long for a model ends earlier and says so. Raises VaultError: FILE_NOT_FOUND for a view that
    the base does not have, and as ``Bases.query`` does.
    """
    from vaultwire.bases.comparing import shown_text  # noqa: PLC0415
    from vaultwire.vault.base_queries.running import BaseSource  # noqa: PLC0415

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
