"""Write the files that are generated: the tools' catalog and page, and the manual page. ``--check`` names stale ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from vaultwire.app.engine import load_tools
from vaultwire.cli.man_page import man_page
from vaultwire.obsidian.files_backend import FilesBackend
from vaultwire.toolkit.catalog import APP_CATALOG, CATALOG
from vaultwire.toolkit.schema import describe
from vaultwire.tools.obsidian_cli.family import make_family

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tools.md"
MAN_PAGE = ROOT / "docs" / "vaultwire.1"

INTRODUCTION = """\
# Tools

What a model can do through vaultwire. Generated from the tools' own code by `make generate`; a test fails when it is
stale. Every result also carries `_meta.executionTime` (milliseconds) and `_meta.timestamp` (ISO 8601, UTC).

The first 17, up to `more_tools`, are the standard set: they are listed to clients, in a shorter form than here (the first
paragraph of each, and the arguments that are needed often). All others can be called, too, by their names or with
`more_tools`; `--tools all` lists them. What a tool returns is text; with `--structured`, and in REST and the contracts, the
data described here comes with it.

Arguments are checked strictly. Where that fails, what can mean only one thing is taken: a number or boolean as text, one
value for a list, an object for a list of names and values (`"properties": {"status": "done", "tags": ["a"]}`), a list or
object as JSON in a text, one edit without its list, null for an argument that may be left out, and an argument by another
usual name (`heading` for `section`, `date` for `day`, `new_path` for `to`, `old_text` and `new_text` for an edit). What can
mean several things is refused, and the error shows an example of what would be right.
"""


def catalog_text(descriptions: list[dict[str, Any]]) -> str:
    """Return the catalog file's text."""
    return json.dumps(descriptions, indent=1, ensure_ascii=False) + "\n"


def page_text(descriptions: list[dict[str, Any]]) -> str:
    """Return the documentation page's text."""
    parts = [INTRODUCTION]
    for description in descriptions:
        flags = [name.removesuffix("Hint") for name, value in description["annotations"].items() if value is True]
        parts.append(
            f"## {description['name']}\n\n{description['description']}\n\nAnnotations: {', '.join(flags) or 'none'}.\n"
        )
        parts.append("| argument | type | default | |\n|---|---|---|---|")
        required = description["inputSchema"]["required"]
        for name, schema in description["inputSchema"]["properties"].items():
            default = (
                "required" if name in required else f"`{json.dumps(schema['default'])}`" if "default" in schema else ""
            )
            parts.append(f"| `{name}` | {type_text(schema)} | {default} | {schema['description']} |")
        parts.append("\nReturns:\n")
        parts += field_lines(description["outputSchema"], "")
        parts.append("")
    return "\n".join(parts)


def field_lines(schema: dict[str, Any], indent: str) -> list[str]:
    """Return one list item per field of an object, nested objects below their field."""
    lines = []
    for name, field in schema["properties"].items():
        optional = "" if name in schema["required"] else ", not always there"
        text = field.get("description")
        lines.append(f"{indent}- `{name}` ({type_text(field)}{optional})" + (f": {text}" if text else ""))
        inner = field.get("items", field)
        if inner["type"] == "object":
            lines += field_lines(inner, indent + "  ")
    return lines


def type_text(schema: dict[str, Any]) -> str:
    """Return a schema's type in words."""
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if schema["type"] == "array":
        return f"list of {type_text(schema['items'])}s"
    if "maximum" in schema:
        return f"integer, {schema['minimum']} to {schema['maximum']}"
    return str(schema["type"])


def main() -> int:
    """Write the files, or with ``--check`` name the stale ones; the exit code is their number."""
    descriptions = [describe(tool) for tool in load_tools()]
    family = [describe(tool) for tool in make_family(FilesBackend)]
    stale = 0
    for path, text in (
        (Path(CATALOG), catalog_text(descriptions)),
        (Path(APP_CATALOG), catalog_text(family)),
        (PAGE, page_text(descriptions)),
        (MAN_PAGE, man_page()),
    ):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if "--check" in sys.argv:
            print(f"stale: {path.relative_to(ROOT)} (run make generate)")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    return stale if "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
