"""The tool that queries bases. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict, cast

from vaultwire.bases.comparing import shown_text, to_json
from vaultwire.bases.row import Host
from vaultwire.bases.values import ErrorValue
from vaultwire.toolkit.argument_types import Limit
from vaultwire.toolkit.paging import Cursor, page_of
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Open, Outcome, tool
from vaultwire.tools.base_tables import fitting, made_rows, markdown_tables, path_row, with_paths
from vaultwire.vault.base_queries.running import BaseResult, BaseSource, Explanation, ResultRow
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.listed import ItemKeys, Listed
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

# The usual text has so many bytes for each token.
_BYTES_A_TOKEN = 4
_MOST_YAML = 50_000

Name = Annotated[str, Bounds(0, 1000)]


class BaseColumn(TypedDict):
    """A column."""

    id: Annotated[str, "note.x, file.x or formula.x"]
    name: Annotated[str, "What a person sees"]


# A name with a dot is no field of a class.
Cells = TypedDict("Cells", {"file.name": NotRequired[Annotated[str, "For example: the file's name"]]})
"""Values by column id."""


class BaseRow(TypedDict):
    """A file with its cells."""

    path: Annotated[str, "Path in the vault"]
    values: Annotated[Cells, Open(), "By column id: numbers, booleans, ISO dates, texts, lists, links, errors"]
    group: Annotated[NotRequired[str], "The group it is in"]


class QueriedBase(TypedDict):
    """What a view shows: one page of it."""

    view: Annotated[str, "The view's name"]
    type: Annotated[str, "table, cards, list, map, kanban, or a plugin's"]
    views: Annotated[list[str], "All views of the base"]
    columns: list[BaseColumn]
    rows: list[BaseRow]
    total: Annotated[int, "Rows on all pages together"]
    matches: Annotated[int, "Files that match, before the view's own limit"]
    summaries: Annotated[Cells, Open(), "By column id"]
    problems: Annotated[list[str], "What failed or was not understood. Rows may be missing then"]
    why: Annotated[NotRequired[list[str]], "For explain: what each filter and formula gave"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(title="Query base", time_class="search", read_only=True)
def query_base(
    vault: Vault,
    progress: Progress,
    /,
    base: Name = "",
    view: Name = "",
    block: Annotated[int, Bounds(0, 1000)] = 0,
    yaml: Annotated[str, Bounds(0, _MOST_YAML)] = "",
    this: Name = "",
    explain: Name = "",
    limit: Limit = 50,
    max_tokens: Annotated[int, Bounds(100, 100_000)] = 4000,
    cursor: Cursor = None,
) -> Outcome[QueriedBase]:
    """Show a view of an Obsidian base as a table.

    It has the view's rows with their formulas, groups and summaries. Works without the app, for .base files, base blocks in
    notes, and a base given as yaml. Filters and formulas are those of Obsidian's Bases, such as
    status == "open" && file.hasTag("work").

    Args:
        base: The .base file: path or name. For a block: its note.
        view: Its name; the first one if empty.
        block: Number of the base block in that note, from 1.
        yaml: The text of a base, instead of a file: filters, formulas, views.
        this: The note that stands for this in filters, if not the base's own file.
        explain: A note: say why it is in the view or not.
        max_tokens: Return fewer rows if they would take more tokens than this, roughly counted.
    """
    if bool(base) == bool(yaml):
        raise VaultError(INVALID_ARGUMENTS, "Give either base, a file, or yaml, the text of a base.", argument="base")
    source = BaseSource("" if yaml else base, block, yaml)
    if explain:
        return _explained(vault, vault.bases.explain(source, view, explain, this=this, progress=progress), progress)
    page = page_of(
        vault,
        ("query_base", source, view, this),
        cursor,
        limit,
        lambda: _rows(vault.bases.query(source, view, this=this, progress=progress)),
        progress,
    )
    result: BaseResult = page.facts
    names, place = with_paths(result.columns)
    texts = fitting([path_row(row.path, row.cells, place) for row in page.items], max_tokens * _BYTES_A_TOKEN)
    page.items, page.end = page.items[: len(texts)], page.offset + len(texts)
    shown = counted(page.total, "row")
    more = f" of {counted(result.total, 'file')}" if result.total != page.total else ""
    lines = [f"View {result.view.name!r} ({result.view.type}): {shown}{more}{page.text}"]
    lines += [f"Problem: {problem}" for problem in result.problems]
    lines += markdown_tables(result, page.items, names, texts)
    if result.summaries and page.end == page.total:
        named = {column.id: column.name for column in result.columns}
        lines += [f"{named.get(each, each)}: {shown_text(value)}" for each, value in result.summaries.items()]
    data = _data(result, page.items, vault.bases.host(progress), page.total)
    data["problems"] += _failed_cells(result, page.items)
    return page.outcome(data, lines)


def _failed_cells(result: BaseResult, rows: Sequence[ResultRow]) -> list[str]:
    """Say in which columns cells of these rows are errors; the text shows them in the cells."""
    failed: dict[str, tuple[str, int]] = {}
    for row in rows:
        for column, cell in zip(result.columns, row.cells, strict=True):
            if isinstance(cell, ErrorValue):
                first, count = failed.get(column.id, (cell.message, 0))
                failed[column.id] = first, count + 1
    return [
        f"The column {column!r} failed in {counted(count, 'row')} of these: {message}"
        for column, (message, count) in failed.items()
    ]


def _rows(result: BaseResult) -> Listed[ResultRow]:
    return Listed(
        ItemKeys(range(len(result.rows))), lambda numbers, progress: made_rows(result, numbers, progress), result
    )


def _data(result: BaseResult, rows: Sequence[ResultRow], host: Host, total: int) -> QueriedBase:
    shown: list[BaseRow] = []
    for row in rows:
        values = {column.id: to_json(cell, host) for column, cell in zip(result.columns, row.cells, strict=True)}
        each = BaseRow(path=row.path, values=cast("Cells", values))
        if row.group >= 0:
            each["group"] = result.groups[row.group].text or "None"
        shown.append(each)
    return QueriedBase(
        view=result.view.name,
        type=result.view.type,
        views=[each.name for each in result.base.views],
        columns=[BaseColumn(id=column.id, name=column.name) for column in result.columns],
        rows=shown,
        total=total,
        matches=result.total,
        summaries=cast("Cells", {name: to_json(value, host) for name, value in result.summaries.items()}),
        problems=list(result.problems),
    )


def _explained(vault: Vault, why: Explanation, progress: Progress) -> Outcome[QueriedBase]:
    """Say what each filter and formula gave for one note."""
    is_in = "is in" if why.is_in else "is not in"
    lines = [f"{why.path} {is_in} the view {why.view.name!r}."]
    lines += [f"Problem: {each}" for each in why.problems]
    lines += [f"Dropped by: {each}" for each in why.dropped_by]
    given = [
        f"{'  ' * each.depth}{'yes' if each.holds else 'no '}  {each.text}  ({each.of})"
        + ("" if each.text in ("and", "or", "not") else f" = {shown_text(each.value) or 'empty'}")
        for each in why.filters
    ]
    given += [f"formula.{each.name} = {shown_text(each.value) or 'empty'}" for each in why.formulas]
    host = vault.bases.host(progress)
    values = {f"formula.{each.name}": to_json(each.value, host) for each in why.formulas}
    data = QueriedBase(
        view=why.view.name,
        type=why.view.type,
        views=[],
        columns=[BaseColumn(id=f"formula.{each.name}", name=each.name) for each in why.formulas],
        rows=[BaseRow(path=why.path, values=cast("Cells", values))],
        total=int(why.is_in),
        matches=int(why.is_in),
        summaries=Cells(),
        problems=list(why.problems),
        why=[*why.dropped_by, *given],
    )
    return Outcome(["\n".join([*lines, *given])], data)
