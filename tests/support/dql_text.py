"""Queries of Dataview written as text again, for tests that read what they wrote."""

from __future__ import annotations

from vaultwire.dataview.parser import parse_query
from vaultwire.dataview.tree import (
    BothSources,
    Column,
    Command,
    FolderSource,
    Group,
    Limit,
    LinkLiteral,
    LinkSource,
    Node,
    NotSource,
    Query,
    Sort,
    Source,
    TagSource,
    Where,
    expression_text,
    quoted,
)


def parse_expression(text: str) -> Node:
    """Return the tree of an expression, as a list shows it. Raises QueryProblem."""
    return parse_query(f"LIST {text}").columns[0].expression


def to_text(query: Query) -> str:
    """Return a query as text, one clause a line. Reading it again gives the same tree."""
    head = query.type.upper() + ("" if query.has_id else " WITHOUT ID")
    if query.type == "list":
        head += "".join(f" {expression_text(column.expression)}" for column in query.columns)
    elif query.columns:
        head += f" {', '.join(map(_column_text, query.columns))}"
    lines = [head]
    if query.source is not None:
        lines.append(f"FROM {_source_text(query.source)}")
    return "\n".join([*lines, *map(_command_text, query.commands)])


def _column_text(column: Column) -> str:
    text = expression_text(column.expression)
    return text if column.name == text else f"{text} AS {quoted(column.name)}"


def _command_text(command: Command) -> str:
    if isinstance(command, Where):
        return f"WHERE {expression_text(command.condition)}"
    if isinstance(command, Sort):
        keys = (f"{expression_text(key)}{' DESC' if is_last_first else ''}" for key, is_last_first in command.keys)
        return f"SORT {', '.join(keys)}"
    if isinstance(command, Limit):
        return f"LIMIT {expression_text(command.count)}"
    return f"{'GROUP BY' if isinstance(command, Group) else 'FLATTEN'} {_column_text(command.by)}"


def _source_text(source: Source) -> str:
    if isinstance(source, TagSource):
        return source.tag
    if isinstance(source, FolderSource):
        return quoted(source.path)
    if isinstance(source, LinkSource):
        link = expression_text(LinkLiteral(source.linktext))
        return f"outgoing({link})" if source.is_outgoing else link
    if isinstance(source, NotSource):
        inner = _source_text(source.of)
        return f"-({inner})" if isinstance(source.of, BothSources) else f"-{inner}"
    right = _source_text(source.right)
    right = f"({right})" if isinstance(source.right, BothSources) else right
    return f"{_source_text(source.left)} {'and' if source.operator == '&' else 'or'} {right}"
