"""The page docs/tools.md: what each tool does, its arguments down to the last field, and one call with its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.pages.examples import run_examples
from scripts.pages.sample_calls import CALLS, NOT_SHOWN

from vaultwire.toolkit.catalog import CATEGORIES, lean_text, standard_set

# A bound that only keeps nonsense out says nothing to a reader.
_MUCH = 10_000_000
_INTRODUCTION = """\
# Tools

What an assistant can do through vaultwire. `make generate` writes this page from the tools' own code, and the example of each
tool from a real call, so neither is out of date: `make check` tests it.

- [The standard set](#the-standard-set): {standard} tools. Clients list these.
- [All others, by subject](#all-others-by-subject): {others} tools. They can be called by their names, or with `more_tools`.

`--tools core` lists only {core}.
`--tools all` lists every tool. `search` and `fetch` are what ChatGPT's deep research asks for: its clients are listed them
too, others with `--profile chatgpt`, and `more_tools` has neither. [Configuration](configuration.md) has all options,
[policy.md](policy.md) says how to allow and deny single tools, and [the error codes](configuration.md#error-codes) say what to
do when a call fails.
[comparison.md](comparison.md) compares vaultwire with other servers.

## How to read this page

- **Arguments** of an object stand below it: `edits[].action` is the field `action` of each object in the list `edits`.
- **Example**: the arguments of a call, and the text that the assistant gets. All examples use the same small vault, and each
  starts with a fresh copy of it. Times are replaced by fixed ones.
- **The data of a result**, for programs: with `--structured` a client lists its schema, field by field, and gets it beside the
  text; REST and the contracts send it, too. Every result also has `_meta.executionTime` (milliseconds) and `_meta.timestamp`
  (ISO 8601, UTC).
- A client lists only the first paragraph of a description, and the arguments that are needed often: a list costs tokens in
  every conversation. The others are accepted, too.

Arguments are checked strictly. Where that fails, what can mean only one thing is accepted: a number or boolean as text, one
value for a list, an object for a list of names and values (`"properties": {{"status": "done", "tags": ["a"]}}`), a list or
object as JSON in a text, one edit without its list, null for an argument that may be left out, and an argument by another
usual name (`heading` for `section`, `date` for `day`, `new_path` for `to`, `old_text` and `new_text` for an edit). What can
mean several things is refused, and the error shows an example of what would be right.
"""


def page_text(descriptions: Sequence[Mapping[str, Any]]) -> str:
    """Return the page's text."""
    examples = run_examples()
    by_name = {each["name"]: each for each in descriptions}
    core = ", ".join(f"`{name}`" for name in standard_set("core"))
    standard = len(_standard(descriptions))
    parts = [
        _INTRODUCTION.format(standard=standard, others=len(by_name) - standard, core=core),
        *_contents(descriptions),
    ]
    for description in descriptions:
        parts += _tool(description, examples)
    return "\n".join(parts)


def _standard(descriptions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [each for each in descriptions if each["listed"] in ("core", "standard")]


def _contents(descriptions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "## The standard set\n"
    yield "| tool | what it does |\n|---|---|"
    standard = _standard(descriptions)
    yield from map(_row, standard)
    yield "\n## All others, by subject\n"
    yield "| subject | tool | what it does |\n|---|---|---|"
    for category in CATEGORIES:
        title = category
        for each in descriptions:
            if each["category"] == category and each not in standard:
                yield f"| {title} {_row(each)}"
                title = ""
    yield ""


def _row(description: Mapping[str, Any]) -> str:
    name = description["name"]
    return f"| [`{name}`](#{name}) | {_cell(_first_sentence(description['description']))} |"


def _first_sentence(text: str) -> str:
    """Return the beginning of a description, up to the first full stop, colon or semicolon."""
    return re.split(r"[.:;] ", lean_text(text), maxsplit=1)[0].removesuffix(".") + "."


def _tool(description: Mapping[str, Any], examples: Mapping[str, str]) -> Iterator[str]:
    name, schema = description["name"], description["inputSchema"]
    yield f"## {name}\n"
    yield f"{description['description']}\n"
    yield f"{_effect(description['annotations'])}\n"
    if schema["properties"]:
        yield "| argument | type | default | |\n|---|---|---|---|"
        yield from _argument_rows(schema, "")
    else:
        yield "It takes no arguments."
    yield ""
    yield from _example(name, examples)


def _effect(annotations: Mapping[str, Any]) -> str:
    """Return what the annotations say, in words."""
    if annotations["readOnlyHint"]:
        words = "Reads only (`readOnlyHint`)."
    elif annotations["destructiveHint"]:
        words = "Changes the vault, and may replace or remove text (`destructiveHint`)."
    else:
        words = "Changes the vault, but only adds to it."
    if annotations["idempotentHint"] and not annotations["readOnlyHint"]:
        words += " The same call again changes nothing more (`idempotentHint`)."
    if annotations["openWorldHint"]:
        words += " Reaches beyond the vault (`openWorldHint`)."
    return words


def _argument_rows(schema: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield a row of the table for each field, and below an object or a list of objects those of its own fields."""
    for name, field in schema["properties"].items():
        default = f"`{json.dumps(field['default'])}`" if "default" in field else ""
        if name in schema["required"]:
            default = "required"
        yield f"| `{prefix}{name}` | {type_text(field)} | {default} | {_cell(field.get('description', ''))} |"
        inner = field.get("items", field)
        if inner["type"] == "object" and not inner["additionalProperties"]:
            yield from _argument_rows(inner, f"{prefix}{name}{'[]' if 'items' in field else ''}.")


def _example(name: str, examples: Mapping[str, str]) -> Iterator[str]:
    if name not in examples:
        if name in NOT_SHOWN:
            yield f"{NOT_SHOWN[name]}\n"
        return
    call = CALLS[name]
    yield "Example" + (f", after {_earlier(call.earlier)}" if call.earlier else "") + ":\n"
    yield f"```json\n{_shortened(json.dumps(call.arguments, ensure_ascii=False))}\n```\n"
    answer = examples[name].rstrip("\n")
    fence = "````" if "```" in answer else "```"
    yield f"{fence}text\n{answer}\n{fence}\n"


def _earlier(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    return " and ".join(f"a call of `{tool}`" for tool, _ in calls)


def _shortened(text: str) -> str:
    """Break long arguments: a line for each, and one for each object of a list."""
    if len(text) <= 100:  # noqa: PLR2004 - what a page shows in one line
        return text
    lines = []
    for name, value in json.loads(text).items():
        items = value if isinstance(value, list) and isinstance(value[0], dict) else []
        listed = ",\n    ".join(json.dumps(each, ensure_ascii=False) for each in items)
        shown = f"[\n    {listed}\n  ]" if items else json.dumps(value, ensure_ascii=False)
        lines.append(f"  {json.dumps(name)}: {shown}")
    return "{\n" + ",\n".join(lines) + "\n}"


def type_text(schema: Mapping[str, Any]) -> str:
    """Return a schema's type in words."""
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if schema["type"] == "array":
        most = f", at most {schema['maxItems']}" if "maxItems" in schema else ""
        return f"list of {type_text(schema['items'])}s{most}"
    if schema["type"] == "object" and schema.get("additionalProperties"):
        return "object with any names"
    if schema.get("maximum", 0) >= _MUCH:
        return "integer" if schema["minimum"] < 0 else f"integer, {schema['minimum']} or more"
    if "maximum" in schema:
        return f"integer, {schema['minimum']} to {schema['maximum']}"
    return str(schema["type"])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
