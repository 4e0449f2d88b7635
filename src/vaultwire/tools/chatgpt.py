"""The two tools that ChatGPT's deep research and company knowledge ask for, in the form of its contract.

Source: developers.openai.com, "Building MCP servers for ChatGPT": names, arguments and fields. Each result is data, and one
text that is the same data as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, NotRequired, TypedDict

from vaultwire.toolkit.registry import AnyTool, Bounds, Outcome, ToolMaker, tool
from vaultwire.tools.read import read_note
from vaultwire.tools.search import search_notes
from vaultwire.vault.disk.paths import stem
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

PageOf = Callable[[str, str], str]

_RESULTS = 20
_MOST_TOKENS = 100_000


class SearchResult(TypedDict):
    """A note that matched."""

    id: Annotated[str, "For fetch"]
    title: Annotated[str, "The note's name"]
    url: Annotated[str, "Where a person can read it; empty if it has no address"]


class SearchResults(TypedDict):
    """Notes that matched, best first."""

    results: list[SearchResult]


class Facts(TypedDict):
    """What is known of a document besides its text."""

    modified: Annotated[str, "Last change, ISO 8601, UTC"]
    cut: Annotated[NotRequired[str], "How much of a long note the text is"]


class Document(TypedDict):
    """A whole note."""

    id: str
    title: Annotated[str, "The note's name"]
    text: Annotated[str, "The note's Markdown text"]
    url: Annotated[str, "Where a person can read it; empty if it has no address"]
    metadata: Facts


def make_search(page_of: PageOf) -> AnyTool:
    """Return the tool; ``page_of`` as in ``Outside``."""

    @tool(
        title="Search",
        category="search",
        listed="chatgpt",
        time_class="search",
        read_only=True,
        structured=True,
        same_as="search_notes",
    )
    def search(
        vault: Vault, progress: Progress, /, query: Annotated[str, Bounds(1, 1000), "Words or a question"]
    ) -> Outcome[SearchResults]:
        """Search the notes of the vault; returns their ids, titles and addresses, best first. Read one with fetch.

        Args:
            query: What to look for: words or a question, in Obsidian's search syntax if you know it.
        """
        answer = search_notes(
            vault, progress, query=query, limit=_RESULTS, max_tokens=_MOST_TOKENS, attachments=False
        ).data
        paths = [note["path"] for note in [*answer["notes"], *answer.get("partial_matches", ())]]
        results = [SearchResult(id=path, title=stem(path), url=page_of(vault.name, path)) for path in paths]
        return _answer(SearchResults(results=results))

    return search


search = ToolMaker(lambda outside: make_search(outside.page_of))


def make_fetch(page_of: PageOf) -> AnyTool:
    """Return the tool; ``page_of`` as in ``Outside``."""

    @tool(title="Fetch", category="read", listed="chatgpt", read_only=True, structured=True, same_as="read_notes")
    def fetch(
        vault: Vault,
        progress: Progress,
        /,
        id: Annotated[str, Bounds(1, 1000)],  # noqa: A002 - the contract's name
    ) -> Outcome[Document]:
        """Return the whole text of a note that search returned.

        Args:
            id: The note's id from search: its path in the vault.
        """
        note = read_note(vault, progress, path=id, max_tokens=_MOST_TOKENS).data
        facts = Facts(modified=note["modified"])
        if note.get("last_line", note["total_lines"]) < note["total_lines"]:
            facts["cut"] = f"lines 1 to {note['last_line']} of {note['total_lines']}"
        path = note["path"]
        address = page_of(vault.name, path)
        return _answer(Document(id=path, title=stem(path), text=note["content"], url=address, metadata=facts))

    return fetch


fetch = ToolMaker(lambda outside: make_fetch(outside.page_of))


def _answer(data: Any) -> Outcome[Any]:
    return Outcome([json.dumps(data, ensure_ascii=False)], data)
