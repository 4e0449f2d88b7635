"""Arguments against a tool's input schema: which one, what was expected, what came.

Covers exactly the JSON Schema keywords ``toolkit.schema`` writes; a test holds it to the ``jsonschema`` library on random
arguments. That library itself costs 150 ms to import, which the first call of every session would pay.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

# Enough of a wrong value to recognise it.
_MAX_SHOWN = 60
# Problems told of one call: a caller that sees these will see the rest after mending them. And of names that are no
# arguments, of one object.
_MOST_PROBLEMS = 20
_MOST_UNKNOWN = 5


def check_arguments(schema: dict[str, Any], arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments, whole-number floats made integers, and the problems found; no problem means they fit.

    Of a great many problems the first are told: looking on would take as long as the arguments are many.
    """
    known = _glances.get(id(schema)) or _glance(schema)
    _, required, tests = known
    for name in required:
        if name not in arguments:
            break
    else:
        for name, value in arguments.items():
            test = tests.get(name)
            if test is None or not test(value):
                break
        else:
            return arguments, []
    problems: list[str] = []
    checked = _check_object("", schema, arguments, problems)
    if len(problems) >= _MOST_PROBLEMS:
        problems.append("there may be more; these are the first")
    return checked, problems


# What most arguments are is seen by tests made once from their schema, in a fraction of the time that it takes to say what
# is wrong. By the schema's identity, which it keeps as long as it is known here.
_glances: dict[int, tuple[dict[str, Any], Sequence[str], dict[str, Callable[[Any], bool]]]] = {}
# More than there are tools, for whoever makes schemas without end.
_MOST_GLANCES = 1000


def _glance(schema: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str], dict[str, Callable[[Any], bool]]]:
    """Return the schema, what is required by it, and what tells at a glance of which argument that it fits."""
    if len(_glances) >= _MOST_GLANCES:
        _glances.clear()
    tests = {name: test for name, inner in schema["properties"].items() if (test := _make_test(inner)) is not None}
    made = _glances[id(schema)] = schema, schema.get("required", ()), tests
    return made


def _make_test(schema: dict[str, Any]) -> Callable[[Any], bool] | None:
    """Return what tells whether a value fits a schema; None for one that takes a closer look."""
    kind = schema.get("type")
    if kind == "string":
        least, most = schema.get("minLength", 0), schema.get("maxLength", sys.maxsize)
        allowed: frozenset[str] | None = frozenset(schema["enum"]) if "enum" in schema else None
        return lambda value: (
            type(value) is str
            and least <= len(value) <= most
            and value.isascii()
            and (allowed is None or value in allowed)
        )
    if kind == "integer":
        least, most = schema.get("minimum", -sys.maxsize), schema.get("maximum", sys.maxsize)
        return lambda value: type(value) is int and least <= value <= most
    if kind == "boolean":
        return lambda value: type(value) is bool
    return None


def _check_object(name: str, schema: dict[str, Any], value: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    """Return the checked members of an object that stands in the arguments under ``name``; that of all has none."""
    prefix = f"{name}." if name else ""
    properties: dict[str, dict[str, Any]] = schema["properties"]
    problems += [
        f"{prefix + member!r} is missing (expected {_expected(properties[member])})"
        for member in schema.get("required", ())
        if member not in value
    ]
    checked: dict[str, Any] = {}
    owner = f" of {name!r}" if name else ""
    unknown = 0
    for member, inner in value.items():
        if member in properties:
            checked[member] = _check(prefix + member, properties[member], inner, problems)
            continue
        unknown += 1
        if unknown <= _MOST_UNKNOWN:
            problems.append(f"{_shown(member)} is not an argument{owner} (there are: {', '.join(properties)})")
    if unknown > _MOST_UNKNOWN:
        problems.append(f"{unknown - _MOST_UNKNOWN} more names are not arguments{owner}")
    return checked


def _check(name: str, schema: dict[str, Any], value: Any, problems: list[str]) -> Any:
    if schema["type"] == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON Schema: 5.0 is an integer
    if not _fits(schema, value):
        problems.append(f"{name!r} must be {_expected(schema)}, got {_shown(value)}")
    elif isinstance(value, str) and not value.isascii() and (place := _half_pair(value)):
        problems.append(
            f"{name!r} must be a text; its character {place} is half of a surrogate pair, which no text holds"
        )
    elif schema["type"] == "array":
        checked = []
        for position, item in enumerate(value):
            if len(problems) >= _MOST_PROBLEMS:
                break
            checked.append(_check(f"{name}[{position}]", schema["items"], item, problems))
        return checked
    elif schema["type"] == "object":
        return _check_object(name, schema, value, problems)
    return value


def _half_pair(text: str) -> int:
    """Return which character is half of a surrogate pair, 0 if none is: JSON can spell it, no file and no index can hold it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start + 1
    return 0


def _fits(schema: dict[str, Any], value: Any) -> bool:
    match schema["type"]:
        case "string":
            return (
                isinstance(value, str)
                and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
                and ("enum" not in schema or value in schema["enum"])
            )
        case "integer":
            return (
                isinstance(value, int)
                and not isinstance(value, bool)
                and schema.get("minimum", value) <= value <= schema.get("maximum", value)
            )
        case "boolean":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list) and schema.get("minItems", 0) <= len(value) <= schema.get(
                "maxItems", len(value)
            )
    raise NotImplementedError(schema["type"])


def _expected(schema: dict[str, Any]) -> str:
    match schema["type"]:
        case "string" if "enum" in schema:
            return "one of " + ", ".join(map(repr, schema["enum"]))
        case "string":
            return "a text" + _range(
                schema, "minLength", "maxLength", " of {} to {} characters", " of at least {} character"
            )
        case "integer":
            return "an integer" + _range(schema, "minimum", "maximum", " from {} to {}", " of at least {}")
        case "boolean":
            return "true or false"
        case "object":
            return "an object with " + ", ".join(map(repr, schema.get("required") or schema["properties"]))
        case "array":
            return "a list" + _range(schema, "minItems", "maxItems", " of {} to {} items", " of at least {} item")
    raise NotImplementedError(schema["type"])


def _range(schema: dict[str, Any], least: str, most: str, both: str, one: str) -> str:
    if most in schema:
        return both.format(schema.get(least, 0), schema[most])
    return one.format(schema[least]) if least in schema else ""


def _shown(value: Any) -> str:
    """Return the value as a caller would recognise it, cut to size."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "an object"
        case str() if len(value) > _MAX_SHOWN:
            return f"{value[:_MAX_SHOWN]!r}… ({len(value)} characters)"
        case float() | int() | str():
            return repr(value)[: 2 * _MAX_SHOWN]
    return type(value).__name__
