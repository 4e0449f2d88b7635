"""Tools by category, and the sets of tools that a server lists. Only names, so that listing needs no tool's code."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

CATEGORIES = {
    "search": ("search_notes", "find_notes", "search_by_tags"),
    "read": ("read_notes", "list_notes", "read_note", "read_many", "daily_note", "get_outline", "recent_notes"),
    "write": (
        "create_note",
        "edit_note",
        "append_daily_note",
        "delete_note",
        "write_note",
        "insert_template",
    ),
    "attachments": ("list_attachments", "add_attachment"),
    "canvases": ("read_canvas", "edit_canvas"),
    "bases": ("query_base", "set_properties_in_view", "create_note_in_view", "edit_base", "create_base"),
    "links": ("list_links", "list_backlinks", "graph", "related_notes", "fix_links"),
    "tags and properties": (
        "set_properties",
        "rename",
        "list_tags",
        "list_properties",
        "remove_properties",
        "rename_tag",
        "rename_property",
    ),
    "organize": ("move_notes", "move_note", "rename_heading", "merge_notes", "extract_section"),
    "history": ("list_changes", "undo_changes", "show_change", "undo_change", "restore_note", "pending_changes"),
    "tasks": ("list_tasks", "set_task"),
    "overview": ("vault_overview", "check_notes", "vault_guide", "vault_stats", "find_duplicates"),
    "web": ("web_search",),
    "tools": ("more_tools", "search_tools", "list_tool_categories"),
}
"""Every tool is in one category, whose name is a word that a model looks for."""

MORE, SEARCH = "more_tools", "search_tools"
WEB = "web_search"
DISCOVERY = CATEGORIES["tools"]
OUTSIDE = (*DISCOVERY, WEB)
"""Tools that use no vault."""

CORE_SIZE, STANDARD_SIZE, ALL_SIZE = "core", "standard", "all"
SIZES = (CORE_SIZE, STANDARD_SIZE, ALL_SIZE)

# The tools that most conversations need.
CORE = ("search_notes", "read_notes", "create_note", "edit_note", "append_daily_note", MORE)
# Between them they do what people ask for. The others are rare, or do a part of what one of these does.
STANDARD = (
    "search_notes",
    "find_notes",
    "read_notes",
    "list_links",
    "vault_overview",
    "list_tasks",
    "check_notes",
    "create_note",
    "append_daily_note",
    "edit_note",
    "set_properties",
    "move_notes",
    "rename",
    "delete_note",
    "list_changes",
    "undo_changes",
    MORE,
)

COVERS: dict[str, tuple[str, ...]] = {
    "read_notes": ("read_note", "read_many", "get_outline", "daily_note"),
    "vault_overview": ("list_tags", "list_properties", "vault_stats"),
    "move_notes": ("move_note",),
    "rename": ("rename_tag", "rename_property", "rename_heading"),
    "undo_changes": ("undo_change",),
}
"""The tools whose work another one does. Rules and limits for one of these hold for the tool that covers it."""

# The tools that do the work of others with some arguments only: by argument, and its value or None for any; with no argument's
# name, in each call.
_ALSO: dict[str, tuple[tuple[str, str | None, str], ...]] = {
    "list_links": (
        ("what", "in", "list_backlinks"),
        ("what", "related", "related_notes"),
        *(("what", what, "graph") for what in ("neighbours", "path", "unresolved", "orphans", "dead_ends", "hubs")),
    ),
    "create_note": (("if_exists", "append", "write_note"), ("if_exists", "overwrite", "write_note")),
    "set_properties": (("remove", None, "remove_properties"),),
    "list_changes": (("change", None, "show_change"),),
    "vault_guide": (("", None, "read_note"),),
    "query_base": (("", None, "find_notes"),),
    "set_properties_in_view": (("", None, "set_properties"),),
    "create_note_in_view": (("", None, "create_note"),),
}
_COVERED = frozenset(
    {
        *(name for names in COVERS.values() for name in names),
        *(name for uses in _ALSO.values() for _, _, name in uses if name not in STANDARD),
        *("search_by_tags", "recent_notes", "list_notes"),  # find_notes has always done what they do
        # Like set_properties and create_note, and for those who know query_base.
        *("set_properties_in_view", "create_note_in_view", "edit_base", "create_base"),
    }
)


ALWAYS_DONE = {
    tool: names for tool, uses in _ALSO.items() if (names := tuple(name for argument, _, name in uses if not argument))
}
"""The tools whose work others do in each call."""


def also_used(tool: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the tools whose work a call does besides its own tool's, because of these arguments."""
    return [
        name
        for argument, value, name in _ALSO.get(tool, ())
        if not argument or (arguments.get(argument) == value if value is not None else arguments.get(argument))
    ]


def all_work(tool: str) -> tuple[str, ...]:
    """Return the tool, those that it covers, and those whose work it does with some arguments."""
    return (tool, *COVERS.get(tool, ()), *(name for _, _, name in _ALSO.get(tool, ())))


def same_work(tool: str, arguments: Any) -> list[str]:
    """Return the other tools by which a client could do the work of this call, for limits that count both."""
    covering = [name for name, covered in COVERS.items() if tool in covered]
    return [*COVERS.get(tool, ()), *covering, *(also_used(tool, arguments) if isinstance(arguments, dict) else ())]


def with_covered(names: Collection[str]) -> tuple[str, ...]:
    """Return the names and those of the tools that they cover: to name a tool in a rule is to name these, too."""
    return (*names, *(each for name in names for each in COVERS.get(name, ()) if each not in names))


def is_covered(tool: str) -> bool:
    """Tell whether a standard tool does all that this one does."""
    return tool in _COVERED


class Choice:
    """The tools that a server has, and those that it lists to every client. All that it has can be called."""

    __slots__ = ("_also", "_size", "_without")

    def __init__(self, size: str = STANDARD_SIZE, also: Collection[str] = (), without: Collection[str] = ()) -> None:
        """Take a size of list. The tools ``also`` are listed in addition, the tools ``without`` do not exist."""
        self._size = size
        self._also = frozenset(also)
        self._without = frozenset(with_covered(without))

    def has(self, tool: str) -> bool:
        """Tell whether the server has the tool, and all tools that it covers."""
        return self._without.isdisjoint((tool, *COVERS.get(tool, ())))

    def lists(self, tool: str, *, is_contract: bool = False) -> bool:
        """Tell whether the tool is listed to every client that may use it.

        ``is_contract``: to clients of a contract, and of REST. They know the tools by their names, and are listed those that
        cover no other.
        """
        if not self.has(tool):
            return False
        if tool in self._also or self._size == ALL_SIZE:
            return True
        if is_contract and self._size == STANDARD_SIZE:
            return tool not in DISCOVERY and tool not in COVERS
        if self._size == CORE_SIZE:
            return tool in CORE or (is_contract and tool == SEARCH) or self._stands_in(tool, CORE)
        return tool in STANDARD or category_of(tool) in (_OTHER, "web") or self._stands_in(tool, STANDARD)

    def _stands_in(self, tool: str, wanted: Collection[str]) -> bool:
        """Tell whether the tool is covered by one that would be listed, if the server had it."""
        return any(not self.has(name) and tool in COVERS.get(name, ()) for name in wanted)

    @property
    def can_grow(self) -> bool:
        """Whether the list of a client may grow: some tools are not listed, and ``search_tools`` can show them."""
        rest = {name for names in CATEGORIES.values() for name in names}.difference(DISCOVERY)
        return self.lists(SEARCH) and any(self.has(name) and not self.lists(name) for name in rest)


_OTHER = "other"


def category_of(tool: str) -> str:
    """Return the category of a tool; ``other`` for one that is not ours."""
    return next((category for category, tools in CATEGORIES.items() if tool in tools), _OTHER)
