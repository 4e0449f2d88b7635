"""Tools that find tools, so that not all have to be listed to a model. Docstrings here are product text.

Tools that were found are listed to that client from then on, if its list can change; they can be called either way.
``tool_sets`` has the categories.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Client, Open, Outcome, tool
from vaultwire.toolkit.tool_sets import CATEGORIES, DISCOVERY, category_of, is_covered
from vaultwire.vault.errors import VaultError
from vaultwire.vault.vault import Vault

# The weight of a word of the query, by where it is found.
_IN_NAME, _IN_TITLE, _IN_DESCRIPTION = 5, 3, 1
_SHORTEST_STEM = 4  # "links" finds "link" and the other way round; "a" does not find "add"
_MOST_SUMMARY = 110  # characters of a sentence in a short answer
TOOL_NOT_FOUND = "TOOL_NOT_FOUND"

# What people and models say, and what the tools' texts say for it.
_SYNONYMS = {
    **dict.fromkeys(("image", "images", "photo", "photos", "file", "files", "upload", "pdf", "audio"), "attachment"),
    **dict.fromkeys(("picture", "pictures", "screenshot", "recording", "media", "embed"), "attachment"),
    **dict.fromkeys(("revert", "rollback", "restore", "recover", "undelete"), "undo"),
    **dict.fromkeys(("remove", "trash", "erase"), "delete"),
    **dict.fromkeys(("todo", "todos", "checkbox", "checkboxes", "checklist"), "task"),
    **dict.fromkeys(("frontmatter", "metadata", "yaml", "field", "fields", "attribute"), "properties"),
    **dict.fromkeys(("hashtag", "hashtags", "label", "labels"), "tags"),
    **dict.fromkeys(("directory", "directories", "tree"), "folder"),
    **dict.fromkeys(("journal", "diary", "day", "today", "yesterday"), "daily"),
    **dict.fromkeys(("combine", "join", "duplicate", "duplicates"), "merge"),
    **dict.fromkeys(("split", "divide", "extract", "separate"), "section"),
    **dict.fromkeys(("modify", "update", "replace", "patch", "change"), "edit"),
    **dict.fromkeys(("add", "new", "make", "save", "write"), "create"),
    **dict.fromkeys(("backlink", "backlinks", "mention", "mentions", "reference", "references", "related"), "links"),
    **dict.fromkeys(("broken", "validate", "lint", "problems"), "check"),
    **dict.fromkeys(("history", "diff", "log", "version", "versions"), "changes"),
    **dict.fromkeys(("internet", "online", "google"), "web"),
    **dict.fromkeys(("count", "numbers", "statistics", "size"), "stats"),
    **dict.fromkeys(("query", "grep", "lookup", "locate"), "find"),
    **dict.fromkeys(("relocate", "reorganize", "archive"), "move"),
    **dict.fromkeys(("append", "insert"), "add"),
}


# Words of a question that are in the texts of most tools, or of none.
_SMALL_WORDS = frozenset(
    ("a", "an", "the", "and", "two", "of", "in", "on", "to", "for", "with", "my", "all", "how", "do", "i")
)


class FoundTool(TypedDict):
    """A tool that may be called."""

    name: Annotated[str, "Its name, to call it by"]
    category: Annotated[str, "What it belongs to"]
    summary: Annotated[NotRequired[str], "What it does, in a sentence; not with detail_level name"]
    description: Annotated[NotRequired[str], "All that is said of it; with detail_level full"]
    arguments: Annotated[NotRequired[list[str]], "Its arguments, those first that it needs; with summary"]
    input_schema: Annotated[NotRequired[str], "JSON Schema of its arguments, as text; with detail_level full"]


class FoundTools(TypedDict):
    """Tools that match."""

    tools: list[FoundTool]
    total: Annotated[int, "Tools that match, with those not returned"]
    listed: Annotated[bool, "Whether tools/list has them from now on; they can be called either way"]


class Category(TypedDict):
    """Tools that belong together."""

    category: Annotated[str, "Its name"]
    tool_count: Annotated[int, "How many tools it has"]
    tools: Annotated[list[str], "Their names"]


class Categories(TypedDict):
    """All tools by category."""

    categories: list[Category]
    total: Annotated[int, "Tools in all categories together"]


class Arguments(TypedDict):
    """Arguments of a tool; which ones depends on the tool."""

    path: NotRequired[str]


@tool(title="More tools", destructive=True)
def more_tools(
    _vault: Vault,
    client: Client,
    /,
    tool: Annotated[str, Bounds(0, 200)] = "",
    arguments: Annotated[Arguments | None, Open()] = None,  # noqa: ARG001 - for the tool that runs in its place
) -> Outcome[FoundTools]:
    """Run an unlisted tool: query_base, set_task, merge_notes, extract_section, insert_template, add_attachment,
    list_attachments, edit_canvas, fix_links, find_duplicates, vault_guide.

    Args:
        tool: Left out: lists them.
        arguments: Its arguments.
    """
    # A call that names a tool does not come here: the server runs that tool in its place.
    offered, listed = client.tools(), client.listed()
    if tool:
        found = _search([each for each in offered if each["name"] not in DISCOVERY], tool.replace("_", " "), "")[:5]
        names = "\n".join(_to_text(_to_found(each, "summary")) for each in found)
        near = f" Near to it:\n{names}" if found else " Without tool, more_tools lists what there is."
        raise VaultError(
            TOOL_NOT_FOUND, f"There is no tool {tool[:80]!r}.{near}", tools=[each["name"] for each in found]
        )
    rest = [each for each in offered if each["name"] not in (*listed, *DISCOVERY)]
    shown = [_to_found(each, "summary") for each in rest if not is_covered(each["name"])]
    others = [each["name"] for each in rest if is_covered(each["name"])]
    lines = [f"{counted(len(shown), 'unlisted tool')}; run one with more_tools(tool, arguments):"]
    lines += map(_to_text, shown)
    if others:
        lines.append(f"Others do parts of these: {', '.join(others)}")
    return Outcome(["\n".join(lines)], FoundTools(tools=shown, total=len(rest), listed=False))


@tool(title="Search tools", read_only=True)
def search_tools(
    _vault: Vault,
    client: Client,
    /,
    query: Annotated[str, Bounds(0, 200)] = "",
    category: Annotated[str, Bounds(0, 50)] = "",
    detail_level: Literal["name", "summary", "full"] = "summary",
    limit: Annotated[int, Bounds(1, 50)] = 5,
) -> Outcome[FoundTools]:
    """Find the tool for a task. This server may have more tools than it lists; those found can be called right away, or
    through more_tools.

    Args:
        query: What the tool should do, in a few words, such as "rename tag". Empty for all.
        category: Only tools of this category (see list_tool_categories). Empty for any.
        detail_level: "name", "summary" (a sentence and the names of the arguments) or "full" (all that is said of them).
        limit: How many tools to return, best first.
    """
    offered = client.tools()
    found = _search(offered, query, category)
    shown = found[:limit]
    is_listed = bool(shown) and client.show([each["name"] for each in shown])
    data = FoundTools(tools=[_to_found(each, detail_level) for each in shown], total=len(found), listed=is_listed)
    head = f"{counted(len(found), 'tool')} found"
    if not found:
        head += f". Categories: {', '.join(each['category'] for each in _categories(offered))}"
    elif len(shown) < len(found):
        head += f", the best {len(shown)} of them here"
    return Outcome(["\n".join([head, *(_to_text(each) for each in data["tools"])])], data)


@tool(title="List tool categories", read_only=True)
def list_tool_categories(
    _vault: Vault, client: Client, /, category: Annotated[str, Bounds(0, 50)] = ""
) -> Outcome[Categories]:
    """List what this server's tools are about, and each category's tools by name, also those not listed elsewhere.

    Args:
        category: Only this category. Empty for all.
    """
    wanted = category.strip().lower()
    categories = [each for each in _categories(client.tools()) if wanted in ("", each["category"])]
    total = sum(each["tool_count"] for each in categories)
    lines = [f"{counted(total, 'tool')} in all"]
    lines += [f"{each['category']}: {', '.join(each['tools'])}" for each in categories]
    return Outcome(["\n".join(lines)], Categories(categories=categories, total=total))


def _search(offered: Iterable[dict[str, Any]], query: str, category: str) -> list[dict[str, Any]]:
    """Return the tools that match a word of the query, best first: those with most words, in the places of most weight."""
    words = [word for word in _words(query) if word not in _SMALL_WORDS]
    wanted = category.strip().lower()
    ranked: list[tuple[int, bool, int, dict[str, Any]]] = []
    for description in offered:
        own = category_of(description["name"])
        if wanted not in ("", own):
            continue
        places = (
            (_IN_NAME, _words(description["name"] + " " + own)),
            (_IN_TITLE, _words(description["title"])),
            (_IN_DESCRIPTION, _words(description["description"])),
        )
        counts = [
            max(
                sum(weight for weight, text in places if any(_is_like(said, each) for each in text))
                for said in {word, _SYNONYMS.get(word, word)}
            )
            for word in words
        ]
        hits = sum(1 for count in counts if count)
        if hits or not words:
            ranked.append((-hits, is_covered(description["name"]), -sum(counts), description))
    return [description for *_, description in sorted(ranked, key=lambda each: each[:3])]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _is_like(word: str, other: str) -> bool:
    return word == other or (
        min(len(word), len(other)) >= _SHORTEST_STEM and word[:_SHORTEST_STEM] == other[:_SHORTEST_STEM]
    )


def _categories(offered: Iterable[dict[str, Any]]) -> list[Category]:
    by_category: dict[str, list[str]] = {category: [] for category in CATEGORIES}
    for description in offered:
        by_category.setdefault(category_of(description["name"]), []).append(description["name"])
    return [Category(category=name, tool_count=len(tools), tools=tools) for name, tools in by_category.items() if tools]


def _to_found(description: dict[str, Any], detail_level: str) -> FoundTool:
    found = FoundTool(name=description["name"], category=category_of(description["name"]))
    if detail_level != "name":
        found["summary"] = _summary(description)
    if detail_level == "summary":
        found["arguments"] = _arguments(description)
    if detail_level == "full":
        found["description"] = description["description"]
        found["input_schema"] = json.dumps(description["inputSchema"], ensure_ascii=False)
    return found


def _to_text(found: FoundTool) -> str:
    if "description" in found:
        return f"\n{found['name']} ({found['category']}): {found['description']}\nArguments: {found['input_schema']}"
    if "arguments" in found:
        return f"{found['name']}({', '.join(found['arguments'])}): {found['summary']}"
    return f"{found['name']} ({found['category']})"


def _summary(description: dict[str, Any]) -> str:
    """Return the first sentence about a tool, cut if it is long."""
    first = re.split(r"(?<=[.!?:;])\s", description["description"], maxsplit=1)[0].rstrip(":;")
    return first if len(first) <= _MOST_SUMMARY else first[:_MOST_SUMMARY].rpartition(" ")[0] + " …"


def _arguments(description: dict[str, Any]) -> list[str]:
    """Return the names of a tool's arguments, with a question mark where they may be left out."""
    return _members(description["inputSchema"])


def _members(schema: dict[str, Any]) -> list[str]:
    """Return the names of an object's members, those first that it needs; of a list of objects also what these hold."""
    required = schema["required"]
    others = [name for name in schema["properties"] if name not in required]
    named = {**dict.fromkeys(required, ""), **dict.fromkeys(others, "?")}
    return [f"{name}{mark}{_held(schema['properties'][name])}" for name, mark in named.items()]


def _held(schema: dict[str, Any]) -> str:
    items = schema.get("items", {})
    return f": [{{{', '.join(_members(items))}}}]" if items.get("type") == "object" else ""
