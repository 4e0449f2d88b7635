"""The check of arguments against a tool's input schema, with messages that say what was expected and what came.

It knows exactly the JSON Schema keywords that ``toolkit.schema`` writes. A test compares it with the ``jsonschema`` library on
random arguments. That library takes 150 ms to import, which the first call of every session would wait for.
``lenient_reading`` reads what does not pass.
"""

from __future__ import annotations

from vaultwire.toolkit.other_names import meanings, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container
    from typing import Any

# Characters of a wrong value that a message repeats: enough to recognise it.
_MAX_SHOWN = 60
# Problems that are told of one call: a caller that corrects these gets the rest with the next call. Likewise for names in
# one object that are not arguments.
_MOST_PROBLEMS = 20
_MOST_UNKNOWN = 5


def check_arguments(
    schema: dict[str, Any], arguments: dict[str, Any], untold: Collection[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments with whole-number floats as integers, and the problems found; no problem means that they fit.

    ``untold`` are names of arguments that a message does not list.

    Only the first problems are told: to look for all would take as long as the arguments are many.
    """
    problems: list[str] = []
    checked = _check_object("", schema, arguments, problems, untold)
    if len(problems) >= _MOST_PROBLEMS:
        problems.append("there may be more; these are the first")
    return checked, problems


def check_value(schema: dict[str, Any], value: Any) -> list[str]:
    """Return the problems of one argument's value."""
    problems: list[str] = []
    _check("", schema, value, problems)
    return problems


def _check_object(
    name: str, schema: dict[str, Any], value: dict[str, Any], problems: list[str], untold: Collection[str] = ()
) -> dict[str, Any]:
    """Return the checked members of the object that is the argument ``name``; empty for the arguments as a whole."""
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
        if schema.get("additionalProperties") is True:
            problems += [f"{prefix + member!r} must hold whole characters only"] if _holds_half_pair(inner) else []
            checked[member] = inner
            continue
        if member in properties:
            checked[member] = _check(prefix + member, properties[member], inner, problems)
            continue
        unknown += 1
        if unknown <= _MOST_UNKNOWN:
            hint = _hint(member, properties, value)
            told = ", ".join(each for each in properties if each not in untold)
            problems.append(f"{_shown(member)} is not an argument{owner}{hint} (there are: {told})")
    if unknown > _MOST_UNKNOWN:
        problems.append(f"{unknown - _MOST_UNKNOWN} more names are not arguments{owner}")
    return checked


def _hint(name: str, properties: Collection[str], given: Container[str]) -> str:
    """Return words about which argument may be meant by a name that is none; empty if nobody can tell."""
    meant = meanings(name, properties)
    if len(meant) == 1:
        return f"; it means {meant[0]!r}, which is given, too" if meant[0] in given else f"; did you mean {meant[0]!r}?"
    near = nearest(name, properties)
    return "" if near is None or near in given else f"; did you mean {near!r}?"


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
    """Return which character, counted from 1, is half of a surrogate pair; 0 if none is.

    JSON can spell one, but no file and no index can hold it.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start + 1
    return 0


def _holds_half_pair(value: Any) -> bool:
    """Tell whether a text in a value of any kind holds half of a surrogate pair."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str) and not each.isascii() and _half_pair(each):
            return True
        waiting += each if isinstance(each, list) else [*each, *each.values()] if isinstance(each, dict) else ()
    return False


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
        case "object" if schema.get("additionalProperties") is True:
            return "an object of names and values"
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
    """Return the value in words, shortened, so that the caller recognises it."""
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
