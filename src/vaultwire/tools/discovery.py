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
from vaultwire.toolkit.registry import Bounds, Client, Outcome, tool
from vaultwire.toolkit.tool_sets import CATEGORIES, category_of
from vaultwire.vault.vault import Vault

# The weight of a word of the query, by where it is found.
_IN_NAME, _IN_TITLE, _IN_DESCRIPTION = 5, 3, 1
_SHORTEST_STEM = 4  # "links" finds "link" and the other way round; "a" does not find "add"


class FoundTool(TypedDict):
    """A tool that may be called."""

    name: Annotated[str, "Its name, to call it by"]
    category: Annotated[str, "What it belongs to"]
    summary: Annotated[NotRequired[str], "What it does, in a sentence; not with detail_level name"]
    description: Annotated[NotRequired[str], "All that is said of it; with detail_level full"]
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


@tool(title="Search tools", read_only=True)
def search_tools(
    _vault: Vault,
    client: Client,
    /,
    query: Annotated[str, Bounds(0, 200)] = "",
    category: Annotated[str, Bounds(0, 50)] = "",
    detail_level: Literal["name", "summary", "full"] = "full",
    limit: Annotated[int, Bounds(1, 50)] = 5,
) -> Outcome[FoundTools]:
    """Find the tool for a task. This server may have more tools than it lists; those found can be called right away.

    Args:
        query: What the tool should do, in a few words, such as "rename tag". Empty for all.
        category: Only tools of this category (see list_tool_categories). Empty for any.
        detail_level: "name", "summary" (a sentence each) or "full" (description and arguments, enough to call it).
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
    words = _words(query)
    wanted = category.strip().lower()
    ranked: list[tuple[int, int, dict[str, Any]]] = []
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
            sum(weight for weight, text in places if any(_is_like(word, each) for each in text)) for word in words
        ]
        hits = sum(1 for count in counts if count)
        if hits or not words:
            ranked.append((-hits, -sum(counts), description))
    return [description for _, _, description in sorted(ranked, key=lambda each: each[:2])]


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
        found["summary"] = re.split(r"(?<=[.!?])\s", description["description"], maxsplit=1)[0]
    if detail_level == "full":
        found["description"] = description["description"]
        found["input_schema"] = json.dumps(description["inputSchema"], ensure_ascii=False)
    return found


def _to_text(found: FoundTool) -> str:
    if "description" in found:
        return f"\n{found['name']} ({found['category']}): {found['description']}\nArguments: {found['input_schema']}"
    return f"{found['name']} ({found['category']})" + (f": {found['summary']}" if "summary" in found else "")
