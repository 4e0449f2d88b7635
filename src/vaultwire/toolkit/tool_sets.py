"""Tools by category, and the sets of tools that a server lists. Only names, so that listing needs no tool's code."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

CATEGORIES = {
    "search": ("search_notes", "find_notes", "search_by_tags"),
    "read": ("list_notes", "read_note", "read_many", "daily_note", "get_outline", "recent_notes"),
    "write": (
        "write_note",
        "create_note",
        "edit_note",
        "append_daily_note",
        "insert_template",
        "add_attachment",
        "delete_note",
    ),
    "links": ("list_links", "list_backlinks", "graph"),
    "tags and properties": (
        "list_tags",
        "list_properties",
        "set_properties",
        "remove_properties",
        "rename_tag",
        "rename_property",
    ),
    "organize": ("move_note", "rename_heading", "merge_notes", "extract_section"),
    "history": ("list_changes", "show_change", "undo_change", "restore_note"),
    "overview": ("list_tasks", "check_notes", "vault_stats"),
    "web": ("web_search",),
    "tools": ("search_tools", "list_tool_categories"),
}
"""Every tool is in one category, whose name is a word that a model looks for."""

SEARCH = "search_tools"
WEB = "web_search"
DISCOVERY = CATEGORIES["tools"]
OUTSIDE = (*DISCOVERY, WEB)
"""Tools that use no vault."""

CORE_SIZE, STANDARD_SIZE, ALL_SIZE = "core", "standard", "all"
SIZES = (CORE_SIZE, STANDARD_SIZE, ALL_SIZE)

# The tools that most conversations need, and those that find the others: a fifth of the tokens of the whole list.
CORE = (
    "search_notes",
    "list_notes",
    "read_note",
    "create_note",
    "edit_note",
    "append_daily_note",
    *DISCOVERY,
)


class Choice:
    """The tools that a server has, and those that it lists to every client. All that it has can be called."""

    __slots__ = ("_also", "_size", "_without")

    def __init__(self, size: str = STANDARD_SIZE, also: Collection[str] = (), without: Collection[str] = ()) -> None:
        """Take a size of list. The tools ``also`` are listed in addition, the tools ``without`` do not exist."""
        self._size = size
        self._also = frozenset(also)
        self._without = frozenset(without)

    def has(self, tool: str) -> bool:
        """Tell whether the server has the tool."""
        return tool not in self._without

    def lists(self, tool: str) -> bool:
        """Tell whether the tool is listed to every client."""
        if tool in self._without:
            return False
        if tool in self._also or self._size == ALL_SIZE:
            return True
        # If all other tools are listed, there is nothing to discover.
        return tool in CORE if self._size == CORE_SIZE else tool not in DISCOVERY

    @property
    def can_grow(self) -> bool:
        """Whether the list of a client may grow: some tools are not listed, and ``search_tools`` can show them."""
        rest = {name for names in CATEGORIES.values() for name in names}.difference(DISCOVERY)
        return self.lists(SEARCH) and any(self.has(name) and not self.lists(name) for name in rest)


def category_of(tool: str) -> str:
    """Return the category of a tool; ``other`` for one that is not ours."""
    return next((category for category, tools in CATEGORIES.items() if tool in tools), "other")
