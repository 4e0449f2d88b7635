"""``vaultwire call``: any tool by its name, with its arguments as ``key=value``."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from vaultwire.cli.command import CHANGE_CODES, NOTES, command
from vaultwire.cli.suggestions import did_you_mean
from vaultwire.cli.terminal import complain, has_reader, say, say_rows, say_styled
from vaultwire.cli.vault_commands.calling import DONE, Calls, FailedCallError, add_options, run, say_answer
from vaultwire.cli.vault_commands.wording import for_caller
from vaultwire.config import ConfigError
from vaultwire.toolkit.arguments import meanings
from vaultwire.toolkit.catalog import OUTSIDE, former_name_hint, load_catalog

_ARGUMENT = re.compile(r"([A-Za-z_]\w*)(=|@)(.*)", re.DOTALL)
_STDIN = "-"
_JSON_TYPES = ("integer", "number", "boolean", "object")


def _add_call(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="its name, such as list_links; without one: list all")
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="KEY=VALUE",
        help="an argument of the tool; a list is JSON or the key given again; KEY@FILE takes a file's text, KEY@- stdin's",
    )
    parser.add_argument("--arguments", dest="shows", action="store_true", help="print what the tool does and takes")
    add_options(parser, changes=True)


@command(
    "call",
    NOTES,
    "call any tool that assistants have",
    "vaultwire call",
    "vaultwire call list_links --arguments",
    "vaultwire call list_links path='Garden plan' what=in --json",
    "vaultwire call create_note path=Idea content@idea.md",
    options=_add_call,
    codes=CHANGE_CODES,
)
def call(options: argparse.Namespace) -> int:
    """Call a tool and print its answer, or print the tools."""
    if options.tool is None:
        _say_tools()
        return DONE
    if options.shows:
        _say_tool({each["name"]: each for each in load_catalog()}, options.tool)
        return DONE

    def work(calls: Calls) -> int:
        name = options.tool.replace("-", "_")
        description = _find(calls.descriptions, name)
        arguments = read_arguments(name, description["inputSchema"]["properties"], options.arguments)
        try:
            say_answer(options, *calls.call(name, **arguments))
        except FailedCallError as error:
            complain(for_caller(error.text))
            return error.exit_code
        return DONE

    return run(options, work, several=True)


def read_arguments(tool: str, schemas: Mapping[str, Any], given: list[str]) -> dict[str, Any]:
    """Return a tool's arguments from ``key=value`` texts, each of the type that the schema wants. Raises ConfigError."""
    values: dict[str, list[str]] = {}
    for each in given:
        found = _ARGUMENT.fullmatch(each)
        if found is None:
            raise ConfigError(f"{each!r} is not an argument: write KEY=VALUE, such as {next(iter(schemas), 'path')}=…")
        name, sign, value = found.groups()
        meant = [] if name in schemas else meanings(name, schemas)
        name = meant[0] if len(meant) == 1 else name
        if name not in schemas:
            there_are = ", ".join(schemas) or "none"
            raise ConfigError(f"{tool} takes no {name!r}{did_you_mean(name, schemas)} (there are: {there_are})")
        values.setdefault(name, []).append(_file_text(value) if sign == "@" else value)
    return {name: _to_value(name, schemas[name], each) for name, each in values.items()}


def _to_value(name: str, schema: Mapping[str, Any], given: list[str]) -> Any:
    if schema.get("type") == "array":
        return _to_list(name, schema.get("items", {}), given)
    if len(given) > 1:
        raise ConfigError(f"{name} is given {len(given)} times, and takes one value")
    return _to_single(name, schema, given[0])


def _to_list(name: str, items: Mapping[str, Any], given: list[str]) -> list[Any]:
    """Return a list: one text of JSON, or a value for each time that the key was given."""
    if len(given) == 1 and given[0].lstrip().startswith("["):
        try:
            value = json.loads(given[0])
        except ValueError:
            pass  # a single item such as [[Note]]
        else:
            if items.get("type") != "string" or all(isinstance(each, str) for each in value):
                return list(value)
    return [_to_single(name, items, each) for each in given]


def _to_single(name: str, schema: Mapping[str, Any], given: str) -> Any:
    if schema.get("type") not in _JSON_TYPES:
        return given
    try:
        return json.loads(given)
    except ValueError:
        right = {"boolean": "true or false", "object": "JSON such as '{\"action\": …}'"}.get(schema["type"], "a number")
        raise ConfigError(f"{name} takes {right}, got {given[:60]!r}") from None


def _file_text(path: str) -> str:
    try:
        if path == _STDIN:
            return sys.stdin.buffer.read().decode("utf-8")
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8, so it is no text for a note") from None


def _find(descriptions: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    if name not in descriptions:
        near = former_name_hint(name) or did_you_mean(name, descriptions)
        raise ConfigError(f"there is no tool {name!r}{near or '. vaultwire call lists them'}")
    return descriptions[name]


def _say_tools() -> None:
    tools = [each for each in load_catalog() if each["name"] not in OUTSIDE]
    say_rows([((each["name"], "1"), (_first_sentence(each["description"]), "")) for each in tools])
    if has_reader():
        say("", "vaultwire call TOOL --arguments prints what a tool does and takes.")


def _first_sentence(text: str) -> str:
    return re.split(r"[.:]\s", text.replace("\n", " "), maxsplit=1)[0].removesuffix(".")


def _say_tool(descriptions: Mapping[str, dict[str, Any]], given: str) -> None:
    description = _find(descriptions, given.replace("-", "_"))
    say_styled((description["name"], "1"), (f"  {description['title']}", ""))
    say(*description["description"].split("\n"), "")
    required = description["inputSchema"].get("required", ())
    for name, schema in description["inputSchema"]["properties"].items():
        say_styled((f"{name}=", "1"), (_to_words(schema), ""), (" (required)" if name in required else "", "31"))
        if "description" in schema:
            say(f"    {schema['description']}")


def _to_words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    if schema["type"] == "array":
        return f"{_to_words(schema['items'])} …"
    return {"object": "JSON", "boolean": "true|false", "string": "text"}.get(schema["type"], str(schema["type"]))
