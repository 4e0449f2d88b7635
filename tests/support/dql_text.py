"""Queries of Dataview written as text again, for tests that read what they wrote."""

from __future__ import annotations

from decimal import Decimal

from vaultwire.bases.values import Duration
from vaultwire.dataview.parser import (
    IDENTIFIER,
    LEVELS,
    Applied,
    Binary,
    BothSources,
    Call,
    Column,
    Command,
    DateLiteral,
    FolderSource,
    Index,
    Lambda,
    LinkLiteral,
    LinkSource,
    Literal,
    Name,
    Node,
    Not,
    NotSource,
    Query,
    Source,
    TagSource,
    parse_query,
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
    if command.word == "SORT":
        keys = zip(command.columns, command.is_descending, strict=True)
        return f"SORT {', '.join(expression_text(key.expression) + ' DESC' * is_last for key, is_last in keys)}"
    (column,) = command.columns
    has_name = command.word in ("GROUP BY", "FLATTEN")
    return f"{command.word} {_column_text(column) if has_name else expression_text(column.expression)}"


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


def expression_text(node: Node, least: int = 0) -> str:
    """Return an expression as text. ``least``: how closely the operator around it binds."""
    if isinstance(node, Literal):
        return _constant(node.value)
    if isinstance(node, DateLiteral):
        return f"date({node.text})"
    if isinstance(node, LinkLiteral):
        shown = "" if node.display is None else "|" + node.display
        return f"{'!' if node.is_embed else ''}[[{node.linktext.replace('|', chr(92) + '|')}{shown}]]"
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Call) and node.name == "list":
        text = ", ".join(map(expression_text, node.arguments))
        # Two brackets without a space would be a link.
        return f"[ {text} ]" if text.startswith("[") else f"[{text}]"
    if isinstance(node, Call) and node.name == "object":
        texts = [*map(expression_text, node.arguments)]
        return "{ " + ", ".join(map(": ".join, zip(texts[::2], texts[1::2], strict=True))) + " }"
    if isinstance(node, Call):
        return f"{node.name}({', '.join(map(expression_text, node.arguments))})"
    if isinstance(node, Lambda):
        return f"(({', '.join(node.parameters)}) => {expression_text(node.body)})"
    if isinstance(node, Applied):
        return f"{expression_text(node.function)}({', '.join(map(expression_text, node.arguments))})"
    if isinstance(node, Index):
        return _index_text(node)
    if isinstance(node, Not):
        inner = expression_text(node.operand)
        # A link behind the sign would be an embed.
        return f"!({inner})" if isinstance(node.operand, Binary) or inner.startswith("[[") else f"!{inner}"
    level = LEVELS[node.operator]
    operator = {"&": "and", "|": "or"}.get(node.operator, node.operator)
    # Operators of one level go from left to right.
    text = f"{expression_text(node.left, level - 1)} {operator} {expression_text(node.right, level)}"
    return f"({text})" if level <= least else text


def _index_text(node: Index) -> str:
    of = expression_text(node.of)
    needs_brackets = isinstance(node.of, (Binary, Not)) or (
        isinstance(node.of, Literal) and isinstance(node.of.value, float)
    )
    of = f"({of})" if needs_brackets else of
    name = node.index.value if isinstance(node.index, Literal) else None
    if isinstance(name, str):
        return f"{of}.{name}" if IDENTIFIER.fullmatch(name) else f"{of}[{quoted(name)}]"
    return f"{of}[{expression_text(node.index)}]"


def _constant(value: bool | float | str | Duration | None) -> str:
    if isinstance(value, Duration):
        return f"dur({_duration_parts(value)})"
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0")


def quoted(text: str) -> str:
    """Return a text in quotation marks."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _duration_parts(duration: Duration) -> str:
    parts = ((duration.months, "months"), (duration.days, "days"), (duration.milliseconds / 1000, "seconds"))
    texts = [f"{_constant(float(amount))} {unit}" for amount, unit in parts if amount]
    return ", ".join(texts) or "0 seconds"
