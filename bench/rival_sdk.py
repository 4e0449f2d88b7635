"""The rival: a server on the official Python SDK (``mcp``), with its low-level API, the faster of its two.

It lists the same tools as we do, and a no-op. Two of them work: ``noop``, and a ``read_note`` that opens a file and
sends its text, without any of our checks. So a difference comes from the SDK, not from the tool.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

_NOOP = {
    "name": "noop",
    "title": "No-op",
    "description": "Return at once.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 100, "description": "Anything."}},
        "required": ["text"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}


def make_server(vault: Path, catalog: Path | None) -> Server[Any]:
    """Return a server over a folder of notes that lists the tools described in ``catalog``, and the no-op."""
    described = [*(json.loads(catalog.read_text(encoding="utf-8")) if catalog else ()), _NOOP]
    tools = [types.Tool.model_validate(tool) for tool in described]

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = params.arguments or {}
        data: dict[str, Any]
        if params.name == "read_note":
            text = (vault / arguments["path"]).read_text(encoding="utf-8")
            data = {"path": arguments["path"], "content": text}
        elif params.name == "noop":
            text = arguments["text"]
            data = {"text": text}
        else:
            raise ValueError(params.name)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=data)

    return Server("rival", version="0", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    """Serve the vault and the catalog named on the command line."""
    server = make_server(Path(sys.argv[1]), Path(sys.argv[2]))
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
