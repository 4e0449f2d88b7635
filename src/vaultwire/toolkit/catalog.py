"""The catalog of the tools: their descriptions, which of them are listed and how, and their code.

The descriptions of our own tools are generated ahead of time from the tools' declarations (``catalog.json``; a test compares
it with the code). So the handshake and ``tools/list`` are answered before any tool's code is loaded: that comes with the
first call of the tool.

What is listed is the short form: what a model needs to choose and call a tool, and no more. Every byte of the list is paid for
in every conversation. What is left out there still holds: arguments are checked against the full schema.
"""

from __future__ import annotations

import json
import os
import threading
from functools import cache, cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any, TypeAlias

    Description: TypeAlias = dict[str, Any]

CATALOG = os.path.join(os.path.dirname(__file__), "catalog.json")
APP_CATALOG = os.path.join(os.path.dirname(__file__), "app_catalog.json")
EVAL = "obsidian_eval"
"""The tool that can do everything the app can: offered only where the person's rules name it."""
MORE, WEB = "more_tools", "web_search"
OUTSIDE = (MORE, WEB)
"""Tools that use no vault."""

CATEGORIES = (
    *("search", "read", "links", "overview", "tasks", "write", "tags and properties", "organize", "history"),
    *("memory", "attachments", "canvases", "bases", "web", "tools", "other"),
)
"""Every tool is in one category, whose name is a word that a model looks for. Lists are in this order."""

CORE_SIZE, STANDARD_SIZE, ALL_SIZE = "core", "standard", "all"
SIZES = (CORE_SIZE, STANDARD_SIZE, ALL_SIZE)
PROFILES = {"chatgpt": ("chatgpt", "openai"), "memory": ()}
"""Tools for one kind of client: how the names begin that such clients give themselves; none if the person has to say so.

The others are never listed them.
"""
# Which declarations each size lists. What is "optional" is there only where the person has asked for it.
_LISTED = {
    CORE_SIZE: ("core",),
    STANDARD_SIZE: ("core", "standard", "optional"),
    ALL_SIZE: ("core", "standard", "optional", "more", "named"),
}

FORMER_NAMES = {
    **dict.fromkeys(("read_many", "get_outline", "daily_note"), "read_notes"),
    **dict.fromkeys(("list_tags", "list_properties", "vault_stats"), "vault_overview"),
    **dict.fromkeys(("list_backlinks", "related_notes", "graph"), "list_links"),
    **dict.fromkeys(("rename_tag", "rename_property", "rename_heading"), "rename"),
    **dict.fromkeys(("search_tools", "list_tool_categories"), MORE),
    "move_note": "move_notes",
    "remove_properties": "set_properties",
    "recent_notes": "find_notes",
    "show_change": "list_changes",
    "undo_change": "undo_changes",
}
"""Tools that there were, and those that do their work now. Rules and calls that name one are told so."""

_KEPT = ("type", "description", "enum")
# What clients take to hold where an annotation is left out (the specification, "ToolAnnotations").
_DEFAULT_HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


@cache
def load_catalog(place: str = CATALOG) -> Sequence[Description]:
    """Return the descriptions of our own tools; with ``APP_CATALOG`` those of the ``obsidian_*`` family."""
    with open(place, encoding="utf-8") as file:
        catalog: list[Description] = json.load(file)
    return catalog


@cache
def _declared() -> Mapping[str, Description]:
    return {description["name"]: description for description in load_catalog()}


# ---------------------------------------------------------------------- which tools are listed


def standard_set(size: str = STANDARD_SIZE) -> list[str]:
    """Return the names of our own tools that most clients are listed, in the order of the list."""
    return [each["name"] for each in load_catalog() if each["listed"] in _LISTED[size] and each["listed"] != "optional"]


class ToolSelection:
    """The tools that a server has, and those that it lists to every client. All that it has can be called."""

    __slots__ = ("_also", "_profile", "_size", "_without")

    def __init__(
        self,
        size: str = STANDARD_SIZE,
        also: Collection[str] = (),
        without: Collection[str] = (),
        profile: str | None = None,
    ) -> None:
        """Take a size of list. The tools ``also`` are listed in addition, the tools ``without`` do not exist.

        ``profile``: every client is taken for one of this kind; None if their names tell.
        """
        self._size, self._profile = size, profile
        self._also = frozenset(also)
        self._without = frozenset(name for each in without for name in names_of(each))

    def has(self, tool: str) -> bool:
        """Tell whether the server has the tool."""
        return tool not in self._without

    def lists(self, tool: Description, client: str = "", authority: str = "", *, is_contract: bool = False) -> bool:
        """Tell whether the tool is listed to a client of this name, if it may use it.

        ``authority``: its key or grant, such as ``Ana through chatgpt.com``. Some clients give their name once, and then drop
        the session that it belongs to.
        ``is_contract``: to clients of a contract, and of REST. They know the tools by their names, and are listed all.
        """
        name = tool["name"]
        if not self.has(name):
            return False
        if tool["listed"] in PROFILES:
            names = (client, authority.rpartition(" through ")[2])
            is_one = any(each.casefold().startswith(PROFILES[tool["listed"]]) for each in names)
            return is_one or self._profile == tool["listed"] or name in self._also or self._size == ALL_SIZE
        if is_contract and self._size == STANDARD_SIZE:
            return bool(name != MORE)
        return name in self._also or tool["listed"] in _LISTED[self._size]


# ---------------------------------------------------------------------- which tools do the work of others


@cache
def names_of(tool: str) -> tuple[str, ...]:
    """Return all names of the tool's job, its own first. A rule or limit for one of them holds for the others, too."""
    job = _declared().get(tool, {}).get("sameAs", tool)
    others = [name for name, each in _declared().items() if job in (name, each.get("sameAs")) and name != tool]
    return (tool, *others)


def work_of(tool: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the tools whose work a call does besides its own tool's, because of these arguments."""
    return [
        name
        for name, argument, value in _declared().get(tool, {}).get("also", ())
        if not argument or (arguments.get(argument) == value if value else arguments.get(argument))
    ]


def all_work(tool: str) -> tuple[str, ...]:
    """Return the tool, and those whose work it does with some arguments."""
    return (tool, *(name for name, _, _ in _declared().get(tool, {}).get("also", ())))


def always_done(tool: str) -> tuple[str, ...]:
    """Return the tools whose work this one does in each call."""
    return tuple(work_of(tool, {}))


def former_name_hint(name: str) -> str:
    """Return the end of a message about a tool that there is not: which one does its work now; empty if there was none."""
    now = FORMER_NAMES.get(name)
    return "" if now is None else f"; {now} does its work now"


# ---------------------------------------------------------------------- the short form


def lean_text(description: str) -> str:
    """Return what is said of a tool where it is listed: the first paragraph."""
    return description.partition("\n\n")[0]


def lean_schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's input schema as it is listed."""
    return _lean(tool["inputSchema"], tool.get("rare", ()), tool.get("plain", ()))


def lean_hints(annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's annotations as they are listed: those that say more than none would."""
    hints = {name: value for name, value in annotations.items() if _DEFAULT_HINTS.get(name, value) is not value}
    hints.pop("title", None)  # the tool has it
    if hints.get("readOnlyHint"):  # the others speak of changes
        hints.pop("destructiveHint", None)
        hints.pop("idempotentHint", None)
    return hints


def _lean(schema: Mapping[str, Any], rare: Collection[str] = (), plain: Collection[str] = ()) -> dict[str, Any]:
    lean = {name: schema[name] for name in _KEPT if name in schema}
    if "items" in schema:
        lean["items"] = _lean(schema["items"], (), plain)
    if "properties" in schema:
        members = {name: each for name, each in schema["properties"].items() if name not in rare}
        lean["properties"] = {name: _lean(each, (), plain) for name, each in members.items()}
        for name, each in lean["properties"].items():
            if name in plain:
                each.pop("description", None)
        if schema.get("required"):
            lean["required"] = schema["required"]
    return lean


# ---------------------------------------------------------------------- the tools of one server


class Toolset:
    """The tools of one server: descriptions, and code (``registry.Tool``), each loaded on first use. Thread-safe."""

    def __init__(
        self, load_descriptions: Callable[[], Sequence[Description]], load_tool: Callable[[Description], Any]
    ) -> None:
        self._load_descriptions = load_descriptions
        self._load_tool = load_tool
        self._tools: dict[str, Any] = {}
        self._loading = threading.Lock()

    def over(self, vaults: Sequence[str]) -> Toolset:
        """Return the tools for these vaults. If there are several, each tool takes a vault's name, which ``Vaults`` reads."""
        if len(vaults) == 1:
            return self
        return Toolset(lambda: [_with_vault(each, vaults) for each in self.descriptions.values()], self._load_tool)

    @cached_property
    def descriptions(self) -> dict[str, Description]:
        """Every tool's description by its name, in the order in which they are listed."""
        return {description["name"]: description for description in self._load_descriptions()}

    def describe(self, name: str) -> Description | None:
        """Return a tool's description; None if there is no such tool."""
        return self.descriptions.get(name)

    def tool(self, name: str) -> Any:
        """Return a tool's code. Raises KeyError if there is no such tool.

        One thread loads at a time: two that import at once can be handed half a module (CPython 3.13.0,
        ``collections.abc``).
        """
        tool = self._tools.get(name)
        if tool is None:
            with self._loading:
                tool = self._tools[name] = self._load_tool(self.descriptions[name])
        return tool


def _with_vault(description: Description, vaults: Sequence[str]) -> Description:
    if description["name"] in OUTSIDE:
        return description
    schema = description["inputSchema"]
    vault: Description = {"type": "string", "enum": list(vaults)}
    if "change" in schema["properties"] or "changes" in schema["properties"]:
        vault["description"] = "Which vault. Needed with the number of a change, because each vault counts its own."
    else:
        vault |= {"description": "Which vault. The first one if left out.", "default": vaults[0]}
        description = {**description, "plain": [*description.get("plain", ()), "vault"]}
    return {**description, "inputSchema": {**schema, "properties": {**schema["properties"], "vault": vault}}}
