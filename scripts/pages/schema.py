"""Descriptions of tools: the type hints and docstring of a function become its entry in ``tools/list``.

It runs ahead of time (``scripts/generate.py``), and for tools of tests. The schemas use a small common core of JSON Schema
that every client accepts: no union, ``$ref``, ``anyOf`` or empty object. The handlers add ``$schema``, because its value
depends on the client's revision.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import types
import typing
from typing import Any

from vaultwire.toolkit.catalog import CATEGORIES
from vaultwire.toolkit.registry import SAID_ONCE, AnyTool, Bounds, Open, Outcome, Outside, Tool, ToolMaker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from vaultwire.toolkit.registry import Description

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}  # fractions: in results only
_BOUNDS_KEYWORDS = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
}
_ARGUMENT = re.compile(r"(\w+): (.*)")


def describe(tool: AnyTool) -> Description:
    """Return the tool as clients see it. Raises TypeError for a hint or docstring that does not fit into a schema."""
    hints = typing.get_type_hints(tool.function, include_extras=True)
    text, argument_texts = _split_docstring(tool)
    parameters = list(inspect.signature(tool.function).parameters.values())[2:]  # behind vault and progress
    properties = {
        parameter.name: _property(hints[parameter.name], argument_texts.get(parameter.name), parameter.default)
        for parameter in parameters
    }
    undescribed = [name for name, schema in properties.items() if "description" not in schema]
    if undescribed or not argument_texts.keys() <= properties.keys():
        raise TypeError(
            f"{tool.name}: no description of {undescribed}, the docstring describes {sorted(argument_texts)}"
        )
    required = [parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty]
    (output,) = typing.get_args(hints["return"]) or (None,)
    if typing.get_origin(hints["return"]) is not Outcome or not typing.is_typeddict(output):
        raise TypeError(f"{tool.name}: returns {hints['return']}, expected Outcome of a TypedDict")
    plain = sorted({*tool.declared.get("plain", ()), *_said_once(properties)})
    return {
        "name": tool.name,
        "title": tool.title,
        "description": text,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        "outputSchema": _schema(output),
        "annotations": {"title": tool.title, **tool.annotations},
        **tool.declared,
        **({"plain": plain} if plain else {}),
    }


def declared_tools(package: ModuleType, outside: Outside) -> list[AnyTool]:
    """Return the tools that the modules of a package declare, in the order in which they are listed.

    That is: the standard set first, then by category, within one in the order of the modules and their text.
    """
    tools: list[AnyTool] = []
    for name in sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.ispkg):
        module = importlib.import_module(f"{package.__name__}.{name}")
        made = (each.make(outside) if isinstance(each, ToolMaker) else each for each in vars(module).values())
        tools += [each for each in made if isinstance(each, Tool) and each.declared["module"] == module.__name__]
    return sorted(tools, key=_place)


def _place(tool: AnyTool) -> tuple[bool, int]:
    declared = tool.declared
    return declared["listed"] not in ("core", "standard"), CATEGORIES.index(declared["category"])


def _said_once(properties: Description) -> set[str]:
    """Return the names of the arguments, and members of them, whose description is said once for all tools."""
    inner = [each.get("items", each).get("properties", {}) for each in properties.values()]
    own = {name for name, each in properties.items() if each.get("description") in SAID_ONCE}
    return own.union(*map(_said_once, inner))


def _split_docstring(tool: AnyTool) -> tuple[str, dict[str, str]]:
    """Return the description and the text of each argument, without the line breaks in paragraphs."""
    text, _, arguments = (inspect.getdoc(tool.function) or "").partition("\n\nArgs:\n")
    texts: dict[str, str] = {}
    name = ""
    for line in arguments.splitlines():
        start = _ARGUMENT.fullmatch(line.strip())
        if start is not None and line.startswith("    ") and not line.startswith("     "):
            name = start[1]
            texts[name] = start[2]
        elif line.strip():
            if not name or not line.startswith(" "):
                raise TypeError(f"{tool.name}: {line.strip()!r} has no place behind Args")
            texts[name] += " " + line.strip()
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")), texts


def _property(hint: Any, description: str | None, default: Any) -> Description:
    """Return the schema of an argument; its description is the docstring's, else that of its type."""
    schema = _schema(_without_none(hint))
    if schema["type"] == "number":
        raise TypeError(f"{hint!r}: arguments are whole numbers")
    if description is not None:
        schema["description"] = description
    if default is not inspect.Parameter.empty and default is not None:
        schema["default"] = default
    return schema


def _without_none(hint: Any) -> Any:
    """Return ``X`` for ``X | None``: an optional argument may be left out, but is never null."""
    if typing.get_origin(hint) is typing.Annotated:
        inner, *extras = typing.get_args(hint)
        return typing.Annotated[(_without_none(inner), *extras)]
    if typing.get_origin(hint) in (types.UnionType, typing.Union):  # Annotated[X, …] | None is the latter
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        if len(parts) != 1:
            raise TypeError(f"no schema for {hint}: not every client accepts a union")
        return parts[0]
    return hint


def _schema(hint: Any) -> Description:
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        inner, *extras = typing.get_args(hint)
        schema = _schema(inner)
        for extra in extras:
            if isinstance(extra, Bounds):
                least, most = _BOUNDS_KEYWORDS[schema["type"]]
                schema |= {least: extra.least, most: extra.most}
            elif isinstance(extra, Open):
                schema["additionalProperties"] = True
            else:
                schema["description"] = extra
        return schema
    if origin is typing.NotRequired:
        return _schema(typing.get_args(hint)[0])
    if origin is typing.Literal:
        return {"type": "string", "enum": list(typing.get_args(hint))}
    if origin is list:
        return {"type": "array", "items": _schema(typing.get_args(hint)[0])}
    if typing.is_typeddict(hint):
        fields = typing.get_type_hints(hint, include_extras=True)
        # __required_keys__ does not see NotRequired in a module with postponed annotations (Python issue 97727).
        optional = {name for name, field in fields.items() if _is_not_required(field)}
        return {
            "type": "object",
            "properties": {name: _schema(field) for name, field in fields.items()},
            "required": [name for name in fields if name not in optional],
            "additionalProperties": False,
        }
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    raise TypeError(f"no schema for {hint!r}")


def _is_not_required(hint: Any) -> bool:
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    return typing.get_origin(hint) is typing.NotRequired
