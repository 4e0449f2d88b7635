"""How each contract spells the same facts: the only module that knows it. Fixed by door and flag, never guessed.

One row so far, ``mcp``: the specification's own spelling. A contract that wants another spelling adds a row.
"""

from __future__ import annotations

from vaultwire.protocol import jsonrpc


class Dialect:
    """The spelling one contract asks for."""

    __slots__ = ("name", "not_initialized", "unknown_tool")

    def __init__(self, name: str, *, not_initialized: int, unknown_tool: int) -> None:
        self.name = name
        # The specification names no number for a request before the handshake; it breaks the lifecycle, so -32600.
        self.not_initialized = not_initialized
        # Specification, Tools, "Error Handling": unknown tools are protocol errors.
        self.unknown_tool = unknown_tool


MCP = Dialect("mcp", not_initialized=jsonrpc.INVALID_REQUEST, unknown_tool=jsonrpc.INVALID_PARAMS)
