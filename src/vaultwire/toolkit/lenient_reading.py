"""The lenient reading of arguments: where the strict check fails, what can mean only one thing is read as this.

Clients' models send a number as text, one value for a list, a list as JSON in a text, an object for a list of pairs, or an
argument by another name. The schema stays strict, and what passes it is never touched. Each value is read alone: it is taken
where exactly one of its readings passes the strict check, and otherwise left as it came, for the check to tell what is wrong.
Nothing that was given is dropped, except null for an argument that may be left out.
"""

from __future__ import annotations

import json

from vaultwire.toolkit.arguments import check_arguments, check_value, chosen, is_one, is_replacing, meanings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any, TypeAlias

    Schema: TypeAlias = dict[str, Any]

# Marks an argument that an HTTP header repeats (2026-07-28). The header was compared with what the client sent, and programs
# on the way decide by it: under another name, or in JSON within a text, the argument would pass without it.
_IN_HEADERS = "x-mcp-header"
# JSON in a text is read up to these bounds, which are above those of any real call: a value needs more memory than its text.
_LONGEST_JSON = 1_000_000
_MOST_VALUES = 50_000
# The items of a longer list, or members of a larger object, are not read one by one: this runs where messages are received.
_MOST_ITEMS = 200
_MOST_MEMBERS = 50
# An item that is given without its list says at least so much: what it is about, and what is to be done.
_LEAST_MEMBERS = 2
_LARGEST_NUMBER = 10**18
_BOOLEANS = {"true": True, "false": False}
# The members of an object that names something and gives its value; a list of these is also written as one object.
_NAME, _VALUE, _VALUES = "name", "value", "values"
# Conditions on properties, such as "status=done"; also written as an object of names and values.
_CONDITIONS = "properties"
_SIGNS = frozenset('!=<>"')


def read_arguments(
    schema: Schema, arguments: dict[str, Any], untold: Collection[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments as their schema wants them, and the problems found; no problem means that they fit.

    What fits strictly is returned as ``check_arguments`` returns it. With problems, the arguments are read as far as they go.
    """
    checked, problems = check_arguments(schema, arguments, untold)
    if not problems or _IN_HEADERS in str(schema):
        return checked, problems
    read = _read_object(schema, arguments)
    checked, problems = check_arguments(schema, read, untold)
    return (read if problems else checked), problems


def _read_object(schema: Schema, given: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its members read, under their real names where these are clear."""
    if len(given) > _MOST_MEMBERS or schema.get("additionalProperties") is True:
        return given
    properties: dict[str, Schema] = schema["properties"]
    optional = properties.keys() - schema["required"]
    given = {name: value for name, value in given.items() if value is not None or name not in optional}
    names = _real_names(properties, given)
    read: dict[str, Any] = {}
    for member, value in given.items():
        name = names.get(member, member)
        if name not in properties:
            read[name] = value
        elif value is not None or name not in optional:
            if name == "paths" and is_one(member, value):
                value = [value]  # noqa: PLW2901 - a path may have a comma, and "path" is one
            if name == _CONDITIONS and isinstance(value, dict) and _items_of(properties[name])["type"] == "string":
                value = _conditions(value)  # noqa: PLW2901
            read[name] = _read(properties[name], value, is_value=name in (_VALUE, _VALUES))
    if "replace" in properties.get("action", {}).get("enum", ()) and "action" not in read and is_replacing(names):
        read["action"] = "replace"
    return _with_spread_item(properties, read)


def _real_names(properties: Mapping[str, Schema], given: Mapping[str, Any]) -> dict[str, str]:
    """Return the real name of each member that is given by another one, where it can be one only, and only this member."""
    found: dict[str, str] = {}
    for member in given:
        if member not in properties and len(meant := meanings(member, properties)) == 1 and meant[0] not in given:
            found[member] = meant[0]
    # "path" beside "name" is the one of "paths": the name is that of something else.
    found = {member: name for member, name in found.items() if member == name[:-1] or name[:-1] not in found}
    taken = list(found.values())
    return {member: name for member, name in found.items() if taken.count(name) == 1}


def _with_spread_item(properties: Mapping[str, Schema], read: dict[str, Any]) -> dict[str, Any]:
    """Return the members with those of one item put into its list: the item was given without the list around it."""
    unknown = {name: value for name, value in read.items() if name not in properties}
    lists = [name for name, schema in properties.items() if _items_of(schema)["type"] == "object"]
    if len(unknown) < _LEAST_MEMBERS or len(lists) != 1 or lists[0] in read:
        return read
    schema = properties[lists[0]]
    item = _read_object(schema["items"], unknown)
    if not _fits(schema, [item]):
        return read
    return {**{name: value for name, value in read.items() if name in properties}, lists[0]: [item]}


def _read(schema: Schema, value: Any, *, is_value: bool = False) -> Any:
    """Return the only reading of a value that fits; the value itself if it fits, or if there is none or more than one."""
    if _fits(schema, value):
        return value
    if schema["type"] == "object" and isinstance(value, dict):
        return _read_object(schema, value)
    if schema["type"] == "array" and isinstance(value, list):
        is_long = len(value) > schema.get("maxItems", _MOST_ITEMS)
        return value if is_long else _read_items(schema["items"], value, is_value=is_value)
    readings: list[Any] = []
    for reading in _readings(schema, value, is_value=is_value):
        if reading not in readings and _fits(schema, reading):
            readings.append(reading)
    return readings[0] if len(readings) == 1 else value


def _read_items(schema: Schema, values: list[Any], *, is_value: bool) -> list[Any]:
    read: list[Any] = []
    for value in values:
        item = _read(schema, value, is_value=is_value)
        pairs = [] if _is_pair(schema, value) else _pairs(schema, value)
        if pairs and all(_fits(schema, pair) for pair in pairs):
            read += [value] if _fits(schema, item) else pairs  # if it can be both, it is left as it came
        else:
            read.append(item)
    return read


def _readings(schema: Schema, value: Any, *, is_value: bool) -> Iterator[Any]:
    """Yield what a value of another type can mean."""
    match schema["type"]:
        case "integer" if isinstance(value, str):
            yield _parse_json(value)
        case "boolean" if isinstance(value, str):
            yield _BOOLEANS.get(value.strip().casefold())
        case "string":
            yield from _texts(schema, value, is_value=is_value)
        case "object" if isinstance(value, str):
            if isinstance(parsed := _parse_json(value), dict):
                yield _read_object(schema, parsed)
        case "array":
            yield from _lists(schema["items"], value, is_value=is_value)


def _texts(schema: Schema, value: Any, *, is_value: bool) -> Iterator[str]:
    if "enum" in schema:
        if isinstance(value, str):
            yield from chosen(value, schema["enum"])
    # As a property's value true and 1.5 are what they are as text. Elsewhere they are a mistake: 1.10 came as 1.1.
    elif is_value or (isinstance(value, int) and not isinstance(value, bool)):
        text = _spell(value)
        if text is not None:
            yield text


def _lists(item: Schema, value: Any, *, is_value: bool) -> Iterator[list[Any]]:
    if isinstance(value, str):
        parsed = _parse_json(value)
        if isinstance(parsed, list):
            yield parsed if len(parsed) > _MOST_ITEMS else _read_items(item, parsed, is_value=is_value)
        elif isinstance(parsed, dict):
            yield from _lists(item, parsed, is_value=is_value)
        elif not isinstance(parsed, str) and "," not in value and "\n" not in value:  # these can be several values
            yield [_read(item, value)]
    elif isinstance(value, dict):
        one = _read(item, value)
        yield [one]
        # An object of a name and a value may be one pair, or a list of two. It is no list if as a pair it is only wrong.
        if (pairs := _pairs(item, value)) and (_fits(item, one) or not _is_pair(item, value)):
            yield pairs
    elif value is not None:
        yield [_read(item, value, is_value=is_value)]


def _pairs(item: Schema, value: Any) -> list[Any]:
    """Return an object as a list of objects of name and value; empty if it is not one, or if these are no such objects.

    A text of JSON is a text, also where it looks like a number.
    """
    members = item.get("properties", {})
    if item.get("required") != [_NAME] or _VALUE not in members or not isinstance(value, dict):
        return []
    if len(value) > _MOST_ITEMS:
        return []
    pairs: list[Any] = []
    text_type = {"type": "text"} if "text" in members.get("type", {}).get("enum", ()) else {}
    for name, given in value.items():
        own = given if isinstance(given, list) else [given]
        typed = text_type if any(isinstance(each, str) for each in own) else {}
        texts = [_spell(each) for each in given] if isinstance(given, list) else []
        if isinstance(given, list) and _VALUES in members and None not in texts:
            pairs.append({_NAME: name, _VALUES: texts, **typed})
        elif given is None:
            pairs.append({_NAME: name})
        elif (text := _spell(given)) is not None:
            pairs.append({_NAME: name, _VALUE: text, **typed})
        else:
            return []
    return pairs


def _conditions(given: dict[str, Any]) -> Any:
    """Return an object of names and values as conditions: "status=done"; a value may begin with a sign of its own, ">=4"."""
    conditions: list[str] = []
    for name, value in given.items():
        text = "" if value is None else _spell(value)
        if text is None or not _SIGNS.isdisjoint(name):
            return given
        bare = text.lstrip("!=<>")
        if not _SIGNS.isdisjoint(bare):
            return given
        conditions.append(f"{name}{text}" if bare != text else f"{name}={text}")
    return conditions


def _is_pair(item: Schema, value: Any) -> bool:
    """Tell whether an object has what a pair has, under whichever names: a name, and a value."""
    if not isinstance(value, dict) or len(value) > _MOST_MEMBERS:
        return False
    members = item.get("properties", {})
    names = {*value, *_real_names(members, value).values()}
    return _NAME in names and not names.isdisjoint((_VALUE, _VALUES))


def _spell(value: Any) -> str | None:
    """Return a text, number or boolean as text; None for others, and for numbers that have several spellings."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() if abs(value) < _LARGEST_NUMBER:
            return str(value)
        case float() if (text := repr(value)).replace(".", "").removeprefix("-").isdigit():
            return text.removesuffix(".0")
    return None


def _fits(schema: Schema, value: Any) -> bool:
    return not check_value(schema, value)


def _items_of(schema: Schema) -> Schema:
    items: Schema = schema.get("items", {"type": ""})
    return items


def _parse_json(text: str) -> Any:
    """Return the value that a text holds as JSON; None if it holds none, too much, or a name twice in one object."""
    if len(text) > _LONGEST_JSON or sum(map(text.count, ",[{")) > _MOST_VALUES:
        return None
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("a name is there twice")
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
