"""Other MCP servers for folders of Markdown notes, as data: how each is installed and started, and how it is asked.

Only servers that work on the files themselves, without the running app, and that the package indexes have: so that anybody can
repeat the comparison. In arguments, {path}, {word} … are filled in by ``peers_checks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

Ask: TypeAlias = tuple[str, dict[str, Any]]


class Peer(NamedTuple):
    """A server. ``bin`` is started below its environment's folder of programs, with ``options``.

    ``asks``: its tool and arguments for "search", "read", "rename", "append" and "property"; what it has no tool for is not
    there.
    ``needs``: further packages. ``node``: it needs a newer Node than many systems have.
    """

    name: str
    registry: str
    version: str
    bin: str
    options: tuple[str, ...]
    asks: Mapping[str, Ask]
    variables: Mapping[str, str] = {}
    needs: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)
    node: str = ""


OURS = "vaultwire"
OUR_ASKS: dict[str, Ask] = {
    "search": ("search_notes", {"query": "{word}"}),
    "read": ("read_notes", {"paths": ["{path}"]}),
    "rename": ("move_notes", {"paths": ["{path}"], "to": "{new}"}),
    "append": ("edit_note", {"path": "{path}", "edits": [{"action": "append", "content": "{line}"}]}),
    "property": ("set_properties", {"paths": ["{path}"], "set": {"status": "done"}}),
}
# Its name of the vault is that of the folder.
_IN = {"vault": "notes"}

PEERS = (
    Peer(
        "@bitbonsai/mcpvault",
        "npm",
        "0.16.0",
        "mcpvault",
        ("{root}",),
        {
            "search": ("search_notes", {"query": "{word}", "limit": 20}),
            "read": ("read_note", {"path": "{path}"}),
            "rename": ("move_note", {"oldPath": "{path}", "newPath": "{new}"}),
            "append": ("write_note", {"path": "{path}", "content": "{line}\n", "mode": "append"}),
            "property": ("update_frontmatter", {"path": "{path}", "frontmatter": {"status": "done"}}),
        },
    ),
    Peer(
        "obsidian-mcp",
        "npm",
        "2.0.1",
        "obsidian-mcp",
        ("serve", "--vault", "notes={root}"),
        {
            "search": ("obsidian_search_vault", {**_IN, "query": "{word}", "limit": 20}),
            "read": ("obsidian_read_note", {**_IN, "path": "{path}"}),
            "rename": ("obsidian_move_note", {**_IN, "source": "{path}", "destination": "{new}"}),
            "append": (
                "obsidian_edit_note",
                {**_IN, "path": "{path}", "operation": "append", "content": "{line}\n"},
            ),
        },
        node="22.23.3",
    ),
    Peer(
        "@modelcontextprotocol/server-filesystem",
        "npm",
        "2026.8.31",
        "mcp-server-filesystem",
        ("{root}",),
        {
            "read": ("read_text_file", {"path": "{root}/{path}"}),
            "rename": ("move_file", {"source": "{root}/{path}", "destination": "{root}/{new}"}),
        },
    ),
    Peer(
        "light-obsidian-mcp",
        "pip",
        "0.4.0",
        "light-obsidian-mcp",
        (),
        {
            "search": ("search_notes", {"query": "{word}"}),
            "read": ("read_note", {"path": "{path}"}),
            "rename": ("move_note", {"src": "{path}", "dst": "{new}"}),
        },
        {"OBSIDIAN_VAULT": "{root}"},
        needs=("mcp<2",),
    ),
    Peer(
        "knowledge-gateway",
        "pip",
        "0.12.0",
        "knowledge-gateway",
        ("--vault", "{root}"),
        {
            "search": ("search", {**_IN, "query": "{word}", "limit": 20}),
            "read": ("read_note", {**_IN, "path": "{path}"}),
            "rename": ("rename_note", {**_IN, "old_path": "{path}", "new_path": "{new}"}),
            "append": ("patch_note", {**_IN, "path": "{path}", "content": "{line}"}),
            "property": ("patch_frontmatter", {**_IN, "path": "{path}", "updates": {"status": "done"}}),
        },
    ),
    Peer(
        "markdown-vault-mcp",
        "pip",
        "5.1.0",
        "markdown-vault-mcp",
        ("serve",),
        {
            "search": ("search", {"query": "{word}", "limit": 20}),
            "read": ("read", {"path": "{path}"}),
            "rename": ("rename", {"old_path": "{path}", "new_path": "{new}", "update_links": True}),
            "append": ("append", {"path": "{path}", "content": "{line}\n"}),
        },
        {"MARKDOWN_VAULT_MCP_SOURCE_DIR": "{root}", "MARKDOWN_VAULT_MCP_READ_ONLY": "false"},
    ),
    Peer(
        "obsidian-blade-mcp",
        "pip",
        "1.1.0",
        "obsidian-blade-mcp",
        (),
        {
            "search": ("vault_search", {"query": "{word}", "limit": 20}),
            "read": ("vault_read", {"path": "{path}"}),
            "rename": ("vault_rename", {"path": "{path}", "new_name": "{new_name}", "confirm": True}),
            "append": ("vault_append", {"path": "{path}", "content": "{line}"}),
            "property": ("vault_property_set", {"path": "{path}", "name": "status", "value": "done"}),
        },
        {"OBSIDIAN_VAULT_PATH": "{root}", "OBSIDIAN_MCP_WRITES": "true"},
        python=(3, 12),
    ),
    Peer(
        "obsidian-remote-mcp",
        "pip",
        "2.1.1",
        "obsidian-remote-mcp",
        (),
        {
            "search": ("search_notes_tool", {"query": "{word}", "limit": 20}),
            "read": ("read_note_tool", {"path": "{path}"}),
            "rename": ("move_note_tool", {"from_path": "{path}", "to_path": "{new}"}),
            "append": ("append_to_note_tool", {"path": "{path}", "content": "{line}"}),
            "property": ("patch_frontmatter_tool", {"path": "{path}", "updates": {"status": "done"}}),
        },
        {"VAULT_PATH": "{root}", "ENABLE_MOVE": "true"},
        python=(3, 12),
    ),
)
