"""The tool that runs the others, so that not all have to be listed to a model. Docstrings here are product text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, NotRequired, TypedDict

from vaultwire.toolkit.catalog import MORE, PROFILES, former_name_hint
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Client, Open, Outcome, tool
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
    summary: Annotated[str, "What it does, in a sentence"]
    arguments: Annotated[list[str], "Its arguments, those first that it needs"]


class FoundTools(TypedDict):
    """Tools that are not listed."""

    tools: list[FoundTool]
    total: Annotated[int, "How many there are, with those that others do a part of"]


class Arguments(TypedDict):
    """Arguments of a tool; which ones depends on the tool."""

    path: NotRequired[str]


@tool(title="More tools", category="tools", listed="core", destructive=True, plain=("arguments",))
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
    offered = [each for each in client.tools() if each["listed"] not in PROFILES]
    listed = client.listed()
    if tool:
        hits = _search([each for each in offered if each["name"] != MORE], tool.replace("_", " "))[:5]
        names = "\n".join(_to_text(_to_found(each)) for each in hits)
        near = f" Near to it:\n{names}" if hits else " Without tool, more_tools lists what there is."
        message = f"There is no tool {tool[:80]!r}{former_name_hint(tool)}.{near}"
        raise VaultError(TOOL_NOT_FOUND, message, tools=[each["name"] for each in hits])
    rest = [each for each in offered if each["name"] not in (*listed, MORE)]
    unlisted = [_to_found(each) for each in rest if each["listed"] != "named"]
    others = [each["name"] for each in rest if each["listed"] == "named"]
    lines = [f"{counted(len(unlisted), 'unlisted tool')}; run one with more_tools(tool, arguments):"]
    lines += map(_to_text, unlisted)
    if others:
        lines.append(f"Others do parts of these: {', '.join(others)}")
    return Outcome(["\n".join(lines)], FoundTools(tools=unlisted, total=len(rest)))


def _search(offered: Iterable[dict[str, Any]], query: str) -> list[dict[str, Any]]:
    """Return the tools that match a word of the query, best first: those with most words, in the places of most weight."""
    words = [word for word in _words(query) if word not in _SMALL_WORDS]
    ranked: list[tuple[int, bool, int, dict[str, Any]]] = []
    for description in offered:
        places = (
            (_IN_NAME, _words(f"{description['name']} {description['category']}")),
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
        if hits:
            ranked.append((-hits, description["listed"] == "named", -sum(counts), description))
    return [description for *_, description in sorted(ranked, key=lambda each: each[:3])]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _is_like(word: str, other: str) -> bool:
    return word == other or (
        min(len(word), len(other)) >= _SHORTEST_STEM and word[:_SHORTEST_STEM] == other[:_SHORTEST_STEM]
    )


def _to_found(description: dict[str, Any]) -> FoundTool:
    return FoundTool(
        name=description["name"],
        category=description["category"],
        summary=_summary(description),
        arguments=_members(description["inputSchema"]),
    )


def _to_text(found: FoundTool) -> str:
    return f"{found['name']}({', '.join(found['arguments'])}): {found['summary']}"


def _summary(description: dict[str, Any]) -> str:
    first = re.split(r"(?<=[.!?:;])\s", description["description"], maxsplit=1)[0].rstrip(":;")
    return first if len(first) <= _MOST_SUMMARY else first[:_MOST_SUMMARY].rpartition(" ")[0] + " …"


def _members(schema: dict[str, Any]) -> list[str]:
    """Return the names of an object's members, those first that it needs; of a list of objects also what these hold."""
    required = schema["required"]
    others = [name for name in schema["properties"] if name not in required]
    named = {**dict.fromkeys(required, ""), **dict.fromkeys(others, "?")}
    return [f"{name}{mark}{_held(schema['properties'][name])}" for name, mark in named.items()]


def _held(schema: dict[str, Any]) -> str:
    items = schema.get("items", {})
    return f": [{{{', '.join(_members(items))}}}]" if items.get("type") == "object" else ""
