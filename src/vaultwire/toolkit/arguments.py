"""The check of arguments against a tool's input schema, with messages that say what was expected, what came, and what is right.

It knows exactly the JSON Schema keywords that ``scripts/pages/schema.py`` writes. A test compares it with the ``jsonschema``
library on random arguments. That library takes 150 ms to import, which the first call of every session would wait for.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping
    from typing import Any, TypeAlias

    Schema: TypeAlias = dict[str, Any]


# ---------------------------------------------------------------------- other names of arguments
#
# What models call them that know another server or program. A tool lists an argument by one name, and its schema knows no
# other. ``read_arguments`` takes one of these names where the tool has exactly one argument that it can mean. What a name
# means never depends on the value.

_NEW_NAMES = ("new_path", "new_name", "destination", "destination_path", "dest", "target", "target_path", "new")
_COUNTS = ("count", "max", "n", "num_results", "page_size", "top_k", "top")
# Of an edit: the text that is there, and the text that takes its place. One of each says without any action that the text
# is replaced.
_OLD_TEXTS = ("old_text", "old_string", "old_str", "old", "find")
_NEW_TEXTS = ("new_text", "new_string", "new_str", "new", "replace_with", "replacement")

OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "path": (
        *("note", "file", "name", "title", "note_path", "note_name", "note_title", "file_path", "file_name"),
        *("source", "source_path", "old_path", "from", "uri"),
    ),
    "file": ("note", "note_name", "file_name"),
    "paths": (
        *("path", "notes", "note", "files", "file", "note_paths", "file_paths", "names", "name"),
        *("source", "sources", "source_path", "old_path", "from"),
    ),
    "to": (*_NEW_NAMES, "new_title", "new_heading"),
    "remove": ("names", "delete", "unset"),
    "changes": ("change", "id", "ids", "number", "change_id", "change_number", "numbers"),
    "if_exists": ("on_collision", "on_conflict", "mode"),
    "tool": ("name", "tool_name"),
    "arguments": ("args", "params", "parameters", "input"),
    "source": ("from", "path", "source_path", "url", "file", "file_path"),
    "embed_in": ("note", "embed", "insert_into", "into"),
    "target": ("into", "to", "target_path", "destination"),
    "old": ("from", "old_name", "old_tag", "tag", "name", "property", "heading", "section", "old_heading"),
    "new": ("to", "new_name", "new_tag", "new_property", "new_heading"),
    "query": ("q", "text", "search", "search_query", "keywords", "term", "pattern"),
    "name": ("query", "q", "key", "property"),
    "alias": ("aliases",),
    "properties": ("property", "props", "frontmatter", "metadata", "set"),
    "tags": ("tag",),
    "tag": ("tags",),
    "section": ("heading", "header", "section_name", "under"),
    "lines": ("line", "line_range", "range"),
    "line": ("line_number",),
    "part": ("what",),
    "what": ("kind", "type", "direction"),
    "day": ("date", "period"),
    "content": ("text", "body", "markdown", *_NEW_TEXTS),
    "text": (*_OLD_TEXTS, "query"),
    "edits": ("edit", "operations"),
    "diff": ("patch",),
    "action": ("operation", "op"),
    "every": ("replace_all", "all"),
    "folder": ("directory", "dir", "folder_path", "in_folder"),
    "limit": (*_COUNTS, "max_results"),
    "max_results": (*_COUNTS, "limit"),
    "modified_after": ("since", "after"),
    "modified_before": ("until", "before"),
    "sort": ("sort_by", "order_by"),
    "due": ("due_date", "deadline"),
    "tasks": ("task",),
    "template": ("template_name", "template_path"),
    "data": ("base64", "content"),
    "where": ("position",),
    "change": ("id", "number", "change_id", "change_number"),
    "version": ("number",),
    "if_match": ("etag",),
    "dry_run": ("preview",),
    "cursor": ("next_cursor", "page_token"),
    "vault": ("vault_name",),
}
"""The other names of each argument."""

OTHER_VALUES: dict[str, tuple[str, ...]] = {
    "in": ("backlinks", "backlink", "incoming", "inbound", "inlinks"),
    "out": ("outgoing", "outbound", "outlinks", "forward"),
    "neighbours": ("neighbors",),
    "unresolved": ("broken", "missing"),
}
"""What models say for a choice of an argument, where the tool has that choice."""

# Names of arguments that mean one note.
_ONE = frozenset(("path", "note", "file", "name", "notepath", "filepath", "notename", "source", "sourcepath"))
_LONGEST_NAME = 40
# Words that are shorter are too similar to each other.
_LEAST_LETTERS = 4


def meanings(name: str, arguments: Collection[str]) -> list[str]:
    """Return which of a tool's arguments a name can mean that is none of them: the same in another spelling, or its own."""
    plain = _plain(name)
    same = [argument for argument in arguments if _plain(argument) == plain]
    return same or [argument for argument in _MEANT.get(plain, ()) if argument in arguments]


def chosen(value: str, choices: Iterable[str]) -> list[str]:
    """Return the choices that a text can mean: the same in another spelling, or what it says of it."""
    plain = _plain(value)
    return [each for each in choices if plain in (_plain(each), *map(_plain, OTHER_VALUES.get(each, ())))]


def is_one(name: str, value: object) -> bool:
    """Tell whether a list's argument, under this name, is one text: that of a note, which may hold commas."""
    return _plain(name) in _ONE and isinstance(value, str) and not value.lstrip().startswith('["')


def is_replacing(names: Iterable[str]) -> bool:
    """Tell whether the names of an edit say that one text is replaced by another."""
    given = {_plain(name) for name in names}
    return not given.isdisjoint(map(_plain, _OLD_TEXTS)) and not given.isdisjoint(map(_plain, _NEW_TEXTS))


def nearest(name: str, arguments: Iterable[str]) -> str | None:
    """Return the argument that a name may be a misspelling of; None if there is none, or more than one."""
    plain = _plain(name)
    near = [argument for argument in arguments if _is_near(plain, _plain(argument))]
    return near[0] if len(near) == 1 else None


def _plain(name: str) -> str:
    """Return a name without what tells spellings apart: newPath, new-path, new_path. Empty for what no argument is called."""
    if len(name) > _LONGEST_NAME:
        return ""
    return name.replace("_", "").replace("-", "").replace(" ", "").casefold()


def _is_near(one: str, other: str) -> bool:
    """Tell whether two words differ in one place only: a letter more, less or another, or two swapped."""
    shorter, longer = sorted((one, other), key=len)
    if len(longer) - len(shorter) > 1 or len(shorter) < _LEAST_LETTERS:
        return False
    start = next((at for at, letter in enumerate(shorter) if letter != longer[at]), len(shorter))
    rest = shorter[start:]
    end = next((at for at in range(len(rest)) if rest[-1 - at] != longer[-1 - at]), len(rest))
    return start + end >= len(longer) - (2 if sorted(shorter) == sorted(longer) else 1)


_MEANT: dict[str, list[str]] = {}
for _argument, _names in OTHER_NAMES.items():
    for _name in _names:
        _MEANT.setdefault(_plain(_name), []).append(_argument)


# ---------------------------------------------------------------------- the check

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
    is_open = schema.get("additionalProperties") is True
    is_record = not is_open or bool(schema.get("required"))  # else the members of an open object are examples
    owner = f" of {name!r}" if name else ""
    unknown = 0
    for member, inner in value.items():
        if member in properties and is_record:
            checked[member] = _check(prefix + member, properties[member], inner, problems)
        elif is_open:
            problems += [f"{prefix + member!r} must hold whole characters only"] if _holds_half_pair(inner) else []
            checked[member] = inner
        elif (unknown := unknown + 1) <= _MOST_UNKNOWN:
            hint = _hint(member, properties, value)
            told = ", ".join(each for each in properties if each not in untold)
            problems.append(f"{_shown(member)} is not an argument{owner}{hint} (there are: {told})")
    if unknown > _MOST_UNKNOWN:
        problems.append(f"{unknown - _MOST_UNKNOWN} more names are not arguments{owner}")
    return checked


def _hint(name: str, properties: Collection[str], args: Container[str]) -> str:
    """Return words about which argument may be meant by a name that is none; empty if nobody can tell."""
    meant = meanings(name, properties)
    if len(meant) == 1:
        return f"; it means {meant[0]!r}, which is given, too" if meant[0] in args else f"; did you mean {meant[0]!r}?"
    near = nearest(name, properties)
    return "" if near is None or near in args else f"; did you mean {near!r}?"


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
        case None | bool():
            return json.dumps(value)
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "an object"
        case str() if len(value) > _MAX_SHOWN:
            return f"{value[:_MAX_SHOWN]!r}… ({len(value)} characters)"
        case float() | int() | str():
            return repr(value)[: 2 * _MAX_SHOWN]
    return type(value).__name__


# ---------------------------------------------------------------------- examples, for errors

# In a docstring, what stands before the arguments of a whole call. It is for tools of which the schema does not say enough.
_EXAMPLE = "Example: "
# Arguments that are kept beside those of such an example: they go with all others, and say what must not be lost.
_KEPT = ("dry_run", "if_match", "vault")
# Members of an object that an example shows although they may be left out: without them it would say nothing.
_TELLING = ("value", "content")
_TEXTS = {
    "path": "Projects/Plan",
    "file": "Plan",
    "paths": "Projects/Plan",
    "to": "Archive/Plan",
    "source": "Draft",
    "target": "Plan",
    "query": "garden",
    "folder": "Projects",
    "section": "Tasks",
    "lines": "10-20",
    "day": "today",
    "tags": "work",
    "tag": "work",
    "properties": "status=done",
    "name": "status",
    "old": "work",
    "new": "projects",
    "tool": "merge_notes",
    "value": "done",
    "content": "Some text",
    "modified_after": "2026-01-31",
    "modified_before": "2026-01-31",
    "template": "Meeting",
}


def example_of(schema: dict[str, Any], passed: dict[str, Any], description: str = "") -> dict[str, Any]:
    """Return arguments that the schema accepts: those that are needed and those that were given, short.

    If the tool's ``description`` has an example, its arguments are shown, and nothing is added that may not go with them.
    """
    properties: dict[str, Any] = schema["properties"]
    said = _said(description)
    if said:
        kept = [name for name in _KEPT if name in passed and (name != "if_match" or {"path", "paths"} & said.keys())]
        listed = [name for name in properties if name in said or name in kept]
        return {name: _given_or(said.get(name), name, properties[name], passed) for name in listed}
    listed = [name for name in properties if name in schema["required"] or name in passed]
    if set(listed) <= {*schema["required"], *_KEPT}:  # what to do may be in a list that the schema does not require
        listed += [
            name
            for name, inner in properties.items()
            if name not in listed and inner.get("items", {}).get("type") == "object"
        ]
    return {name: _given_or(None, name, properties[name], passed) for name in listed}


def _said(description: str) -> dict[str, Any]:
    """Return the arguments in the example of a docstring; empty if it has none."""
    example = description.partition(_EXAMPLE)[2]
    return json.JSONDecoder().raw_decode(example)[0] if example else {}


def _given_or(said: Any, name: str, schema: dict[str, Any], passed: dict[str, Any]) -> Any:
    """Return the value that was given, if it is right and short; else the one of the docstring or one of our own."""
    if name in passed and _is_short(passed[name]) and not check_value(schema, passed[name]):
        return passed[name]
    return _example(name, schema) if said is None else said


def _is_short(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 1 and _is_short(value[0])
    return len(value) <= _MAX_SHOWN if isinstance(value, str) else isinstance(value, int)


def _example(name: str, schema: dict[str, Any]) -> Any:
    match schema["type"]:
        case "boolean":
            return True
        case "integer":
            least = schema.get("minimum", min(1, schema.get("maximum", 1)))
            return schema.get("default", max(least, min(1, schema.get("maximum", 1))))
        case "array":
            return [_example(name, schema["items"])] * max(1, schema.get("minItems", 0))
        case "object":
            members = schema["properties"]
            is_open = schema.get("additionalProperties") is True  # its members are examples themselves
            shown = [each for each in members if is_open or each in schema["required"] or each in _TELLING]
            return {each: _example(each, members[each]) for each in shown}
    if "enum" in schema:
        return schema.get("default", schema["enum"][0])
    text = _TEXTS.get(name) or schema.get("default") or "text"
    return text[: schema.get("maxLength")].ljust(schema.get("minLength", 0), ".")


# The lenient reading of arguments: where the strict check fails, what can mean only one thing is read as this.
#
# Clients' models send a number as text, one value for a list, a list as JSON in a text, an object for a list of pairs, or an
# argument by another name. The schema stays strict, and what passes it is never touched. Each value is read alone: it is taken
# where exactly one of its readings passes the strict check, and otherwise left as it came, for the check to tell what is wrong.
# Nothing that was given is dropped, except null for an argument that may be left out.

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


def _read_object(schema: Schema, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its members read, under their real names where these are clear."""
    properties: dict[str, Schema] = schema["properties"]
    is_open = schema.get("additionalProperties") is True
    if len(arguments) > _MOST_MEMBERS or (is_open and not schema["required"]):
        return arguments
    optional = properties.keys() - schema["required"]
    arguments = {name: value for name, value in arguments.items() if value is not None or name not in optional}
    names = {} if is_open else _real_names(properties, arguments)
    read: dict[str, Any] = {}
    for member, value in arguments.items():
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


def _real_names(properties: Mapping[str, Schema], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the real name of each member that is given by another one, where it can be one only, and only this member."""
    real: dict[str, str] = {}
    for member in arguments:
        if member not in properties and len(meant := meanings(member, properties)) == 1 and meant[0] not in arguments:
            real[member] = meant[0]
    # "path" beside "name" is the one of "paths": the name is that of something else.
    real = {member: name for member, name in real.items() if member == name[:-1] or name[:-1] not in real}
    taken = list(real.values())
    return {member: name for member, name in real.items() if taken.count(name) == 1}


def _with_spread_item(properties: Mapping[str, Schema], read: dict[str, Any]) -> dict[str, Any]:
    """Return the members with those of one item put into its list: the item was given without the list around it."""
    unknown = {name: value for name, value in read.items() if name not in properties}
    lists = [name for name, schema in properties.items() if _items_of(schema)["type"] == "object"]
    if len(unknown) < _LEAST_MEMBERS or len(lists) != 1 or lists[0] in read:
        return read
    schema = properties[lists[0]]
    item = _read_object(schema["items"], unknown)
    if not _passes(schema, [item]):
        return read
    return {**{name: value for name, value in read.items() if name in properties}, lists[0]: [item]}


def _read(schema: Schema, value: Any, *, is_value: bool = False) -> Any:
    """Return the only reading of a value that fits; the value itself if it fits, or if there is none or more than one."""
    if _passes(schema, value):
        return value
    if schema["type"] == "object" and isinstance(value, dict):
        return _read_object(schema, value)
    if schema["type"] == "array" and isinstance(value, list):
        is_long = len(value) > schema.get("maxItems", _MOST_ITEMS)
        return value if is_long else _read_items(schema["items"], value, is_value=is_value)
    readings: list[Any] = []
    for reading in _readings(schema, value, is_value=is_value):
        if reading not in readings and _passes(schema, reading):
            readings.append(reading)
    return readings[0] if len(readings) == 1 else value


def _read_items(schema: Schema, values: list[Any], *, is_value: bool) -> list[Any]:
    read: list[Any] = []
    for value in values:
        item = _read(schema, value, is_value=is_value)
        pairs = [] if _is_pair(schema, value) else _pairs(schema, value)
        if pairs and all(_passes(schema, pair) for pair in pairs):
            read += [value] if _passes(schema, item) else pairs  # if it can be both, it is left as it came
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
        if (pairs := _pairs(item, value)) and (_passes(item, one) or not _is_pair(item, value)):
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
    for name, condition in value.items():
        own = condition if isinstance(condition, list) else [condition]
        typed = text_type if any(isinstance(each, str) for each in own) else {}
        texts = [_spell(each) for each in condition] if isinstance(condition, list) else []
        if isinstance(condition, list) and _VALUES in members and None not in texts:
            pairs.append({_NAME: name, _VALUES: texts, **typed})
        elif condition is None:
            pairs.append({_NAME: name})
        elif (text := _spell(condition)) is not None:
            pairs.append({_NAME: name, _VALUE: text, **typed})
        else:
            return []
    return pairs


def _conditions(tree: dict[str, Any]) -> Any:
    """Return an object of names and values as conditions: "status=done"; a value may begin with a sign of its own, ">=4"."""
    conditions: list[str] = []
    for name, value in tree.items():
        text = "" if value is None else _spell(value)
        if text is None or not _SIGNS.isdisjoint(name):
            return tree
        bare = text.lstrip("!=<>")
        if not _SIGNS.isdisjoint(bare):
            return tree
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


def _passes(schema: Schema, value: Any) -> bool:
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
