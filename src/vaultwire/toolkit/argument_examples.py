"""Examples of right arguments, so that an error can show one: from a tool's docstring, its schema, and what the caller gave."""

from __future__ import annotations

import json

from vaultwire.toolkit.arguments import check_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Schema: TypeAlias = dict[str, Any]

# A text that is longer is not repeated.
_LONGEST = 60
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
    "heading": "Tasks",
    "lines": "10-20",
    "day": "today",
    "tags": "work",
    "tag": "work",
    "properties": "status=done",
    "name": "status",
    "old": "work",
    "new": "projects",
    "tool": "merge_notes",
    "names": "status",
    "value": "done",
    "content": "Some text",
    "modified_after": "2026-01-31",
    "modified_before": "2026-01-31",
    "template": "Meeting",
}


def example_of(schema: Schema, given: dict[str, Any], description: str = "") -> dict[str, Any]:
    """Return arguments that the schema accepts: those that are needed and those that were given, short.

    If the tool's ``description`` has an example, its arguments are shown, and nothing is added that may not go with them.
    """
    properties: dict[str, Schema] = schema["properties"]
    said = _said(description)
    if said:
        kept = [name for name in _KEPT if name in given and (name != "if_match" or {"path", "paths"} & said.keys())]
        shown = [name for name in properties if name in said or name in kept]
        return {name: _given_or(said.get(name), name, properties[name], given) for name in shown}
    shown = [name for name in properties if name in schema["required"] or name in given]
    if set(shown) <= {*schema["required"], *_KEPT}:  # what to do may be in a list that the schema does not require
        shown += [
            name
            for name, inner in properties.items()
            if name not in shown and inner.get("items", {}).get("type") == "object"
        ]
    return {name: _given_or(None, name, properties[name], given) for name in shown}


def _said(description: str) -> dict[str, Any]:
    """Return the arguments in the example of a docstring; empty if it has none."""
    example = description.partition(_EXAMPLE)[2]
    return json.JSONDecoder().raw_decode(example)[0] if example else {}


def _given_or(said: Any, name: str, schema: Schema, given: dict[str, Any]) -> Any:
    """Return the value that was given, if it is right and short; else the one of the docstring or one of our own."""
    if name in given and _is_short(given[name]) and not check_value(schema, given[name]):
        return given[name]
    return _example(name, schema) if said is None else said


def _is_short(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 1 and _is_short(value[0])
    return len(value) <= _LONGEST if isinstance(value, str) else isinstance(value, int)


def _example(name: str, schema: Schema) -> Any:
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
