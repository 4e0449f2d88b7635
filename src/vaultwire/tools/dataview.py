"""The tool that answers queries of Dataview, and the results of a note's own queries. Docstrings here are product text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from typing import Annotated, Any, NotRequired, TypedDict, cast

from vaultwire.bases.base_blocks import query_blocks
from vaultwire.bases.comparing import to_json as base_json
from vaultwire.bases.row import Host
from vaultwire.bases.values import Duration, Link, Value
from vaultwire.dataview.running import Result, ResultRow
from vaultwire.dataview.values import NOTHING, duration_text, length_ms, shown, shown_link
from vaultwire.toolkit.phrases import BYTES_A_TOKEN, counted
from vaultwire.toolkit.registry import Bounds, Cursor, Limit, Open, OptionalName, Outcome, page_of, tool
from vaultwire.tools.base_views import fitting, markdown_head, markdown_row
from vaultwire.vault.errors import VaultError
from vaultwire.vault.listed import Listed
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

# What the memory of a result counts for a row until its last page is read.
_ROW_BYTES = 600
# The results of the queries of one note, with the note.
_MOST_BLOCKS, _MOST_INLINE = 20, 100
_MOST_BLOCK_ROWS = 50
_MOST_BLOCK_BYTES = 8_000


class Cells(TypedDict):
    """Values by column."""

    Task: Annotated[NotRequired[str], "For example: the text of a task"]


class DataviewRow(TypedDict):
    """A row."""

    path: Annotated[NotRequired[str], "Its note; absent for a group"]
    values: Annotated[Cells, Open(), "By column: numbers, booleans, ISO dates, texts, lists, links"]
    line: Annotated[NotRequired[int], "Of a task: its line in the note, from 1"]
    mark: Annotated[NotRequired[str], "Of a task: what is in its box"]
    depth: Annotated[NotRequired[int], "Of a task: how deep it stands in another one of the result"]
    group: Annotated[NotRequired[str], "Of a task: its group"]


class QueriedDataview(TypedDict):
    """One page of what a query gives."""

    type: Annotated[str, "table, list, task or calendar"]
    columns: list[str]
    rows: list[DataviewRow]
    total: Annotated[int, "Rows on all pages together"]
    problems: Annotated[list[str], "What failed. Rows that failed are left out"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(
    title="Query Dataview",
    category="bases",
    listed="named",
    time_class="search",
    read_only=True,
    rare=("this", "max_tokens"),
)
def query_dataview(
    vault: Vault,
    progress: Progress,
    /,
    query: Annotated[str, Bounds(1, 10_000)],
    this: OptionalName = "",
    limit: Limit = 100,
    max_tokens: Annotated[int, Bounds(100, 100_000)] = 4000,
    cursor: Cursor = None,
) -> Outcome[QueriedDataview]:
    """Run a query of the Dataview plugin (DQL): TABLE, LIST, TASK or CALENDAR.

    It sees properties, inline fields (key:: value), file.* fields, tasks and lists. Works without the app and the plugin.
    JavaScript (dataviewjs) is not run.

    Example: {"query": "TABLE rating, file.mtime FROM #book AND -\\"Archive\\" WHERE rating >= 4 SORT rating DESC LIMIT 10"}.

    Args:
        query: "LIST FROM #project WHERE !completed SORT file.name", "TASK WHERE !completed GROUP BY file.link"
        this: The note that stands for this, and for [[]].
        max_tokens: Return fewer rows if they would take more tokens than this, roughly counted.
    """
    page = page_of(
        vault,
        ("query_dataview", query, this),
        cursor,
        limit,
        lambda: _listed(vault.dataview.query(query, this, progress)),
        progress,
    )
    result: Result = page.facts
    texts = fitting([_cells(row) for row in page.items], max_tokens * BYTES_A_TOKEN)
    page.items, page.end = page.items[: len(texts)], page.offset + len(texts)
    lines = [f"{result.type.upper()}: {counted(page.total, 'row')}{page.text}"]
    lines += [f"Problem: {problem}" for problem in result.problems]
    lines += _lines(result, page.items)
    return page.outcome(_data(result, page.items, page.total, vault.bases.host(progress)), lines)


def _listed(result: Result) -> Listed[ResultRow]:
    size = _ROW_BYTES * len(result.rows)
    return Listed(
        range(len(result.rows)), lambda numbers, _: [result.rows[number] for number in numbers], result, size=size
    )


def _cells(row: ResultRow) -> list[str]:
    return [_shown(row, cell) for cell in row.cells]


def _shown(row: ResultRow, cell: Value) -> str:
    """Return the text of a cell. The note itself is shown by its path, with which a model can act."""
    if isinstance(cell, Link) and row.path and cell.linktext == row.path:
        return row.path
    return NOTHING if cell is None else shown(cell)


def _lines(result: Result, rows: Sequence[ResultRow]) -> list[str]:
    if not rows:
        return []
    if result.type == "task":
        return _task_lines(rows)
    if result.type == "list":
        return [f"- {': '.join(' '.join(text.split()) for text in _cells(row))}" for row in rows]
    return [*markdown_head(result.columns), *(markdown_row(_cells(row)) for row in rows)]


def _task_lines(rows: Sequence[ResultRow]) -> list[str]:
    lines: list[str] = []
    for group, members in groupby(rows, key=_group):
        lines += [f"## {group}"] if group else []
        for row in members:
            box = "" if row.status is None else f"[{row.status}] "
            text = " ".join(shown(row.cells[0]).split())
            lines.append(f"{'  ' * row.depth}- {box}{text} ({row.path}:{row.line})")
    return lines


def _group(row: ResultRow) -> str:
    return " / ".join(NOTHING if key is None else shown(key) for key in row.groups)


def _data(result: Result, rows: Sequence[ResultRow], total: int, host: Host) -> QueriedDataview:
    data_rows: list[DataviewRow] = []
    names = _distinct(result)
    for row in rows:
        values = {name: _to_json(cell, host) for name, cell in zip(names, row.cells, strict=True)}
        each = DataviewRow(values=cast("Cells", values))
        if row.path:
            each["path"] = row.path
        if result.type == "task":
            each["line"], each["depth"] = row.line, row.depth
            if row.status is not None:
                each["mark"] = row.status
            if row.groups:
                each["group"] = _group(row)
        data_rows.append(each)
    return QueriedDataview(type=result.type, columns=names, rows=data_rows, total=total, problems=list(result.problems))


def _distinct(result: Result) -> list[str]:
    """Return the names of the columns, a second one of a name with a number. Only the text of tasks is called ``Task``."""
    names: dict[str, None] = {}
    for name in result.columns:
        count, own = 1, name
        while own in names or (own == "Task" and result.type != "task"):
            count += 1
            own = f"{name} ({count})"
        names[own] = None
    return [*names]


def _to_json(value: Value, host: Host) -> Any:
    if isinstance(value, Duration):
        return {"milliseconds": length_ms(value), "text": duration_text(value)}
    if isinstance(value, Link):
        return {**base_json(value, host), "display": shown_link(value)}
    if isinstance(value, dict):
        return {name: _to_json(part, host) for name, part in value.items()}
    if isinstance(value, list):
        return [_to_json(part, host) for part in value]
    return base_json(value, host)


# ---------------------------------------------------------------------- the queries of a note


def note_queries(vault: Vault, path: str, text: str, progress: Progress) -> list[str]:
    """Return what the ``dataview`` blocks of a note show, one text a block, and its inline queries: the person sees it all.

    A query that cannot be read says why. Scripts (``dataviewjs``) are named, and not run.
    """
    texts: list[str] = []
    blocks = query_blocks(text, "dataview")
    for block in blocks[:_MOST_BLOCKS]:
        head = f"Query on line {block.line - 1} of {path}:"
        try:
            result = vault.dataview.query(block.text, path, progress)
        except VaultError as error:
            texts.append(f"{head}\n{error.message}")
            continue
        rows = result.rows[:_MOST_BLOCK_ROWS]
        rows = rows[: len(fitting([_cells(row) for row in rows], _MOST_BLOCK_BYTES))]
        lines = [head, *(f"Problem: {problem}" for problem in result.problems), *_lines(result, rows)]
        lines += [] if result.rows else ["No results."]
        if len(rows) < len(result.rows):
            lines.append(f"{counted(len(result.rows) - len(rows), 'more row')}: query_dataview shows them.")
        texts.append("\n".join(lines))
    if len(blocks) > _MOST_BLOCKS:
        texts.append(f"{counted(len(blocks) - _MOST_BLOCKS, 'more query')}: query_dataview runs them.")
    inline = [
        f"- line {line}, = {expression}: {'; '.join(result.problems) or ' '.join(_cells(row)[0] for row in result.rows)}"
        for line, expression, result in islice(vault.dataview.inline(text, path, progress), _MOST_INLINE)
    ]
    texts += ["\n".join((f"Inline queries of {path}:", *inline))] if inline else []
    scripts = query_blocks(text, "dataviewjs")
    if scripts:
        lines_of = ", ".join(str(block.line - 1) for block in scripts)
        texts.append(
            f"{counted(len(scripts), 'script')} (dataviewjs) on line {lines_of}: scripts of notes are not run."
        )
    return texts
