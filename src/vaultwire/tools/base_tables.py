"""Rows of bases as text: Markdown for a model, CSV and others for people and programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from vaultwire.bases.comparing import shown_text
from vaultwire.bases.values import Value, number_text
from vaultwire.vault.base_queries.running import BaseResult, Column, ResultRow
from vaultwire.vault.value_types import Progress

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
