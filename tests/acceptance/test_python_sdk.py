"""The official Python SDK as the client, in each of its modes: it connects, lists the tools and calls every one of them.

What it accepts is what most assistants accept; where it is laxer than the specification, the other rooms are not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, StdioServerParameters

from support.vaults import write_vault

MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}

CALLS: dict[str, dict[str, Any]] = {
    "search_notes": {"query": "fox"},
    "list_notes": {"folder": "Projects"},
    "read_note": {"path": "Alpha"},
    "write_note": {"path": "New.md", "content": "hello"},
    "delete_note": {"path": "New.md"},
    "search_by_tags": {"tags": ["project"]},
    "get_outline": {"path": "Alpha"},
    "list_links": {"path": "Alpha"},
    "list_backlinks": {"path": "Other"},
    "list_tags": {},
    "recent_notes": {"limit": 1},
}


@pytest.fixture
def server(tmp_path: Path) -> StdioServerParameters:
    write_vault(tmp_path, "=== Projects/Alpha.md\nThe fox. #project\n=== Other.md\nNothing.\n")
    return StdioServerParameters(command=sys.executable, args=["-m", "vaultwire", "stdio", "--vault", str(tmp_path)])


@pytest.mark.parametrize("mode", MODES)
def test_the_client_lists_and_calls_every_tool(server: StdioServerParameters, mode: str) -> None:
    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            assert client.protocol_version == MODES[mode]
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == [*CALLS]
            schemas = {tool.name: tool.output_schema for tool in listed.tools}
            for name, arguments in CALLS.items():
                result = await client.call_tool(name, arguments)
                assert not result.is_error, (name, result)
                assert result.content
                schema = schemas[name]
                assert schema is not None
                jsonschema.validate(result.structured_content, schema)

    anyio.run(converse)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_knows_who_it_talks_to(server: StdioServerParameters, mode: str) -> None:
    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            assert client.server_info is not None
            assert client.server_info.name == "vaultwire"
            assert client.instructions
            assert client.server_capabilities.tools is not None

    anyio.run(converse)


@pytest.mark.parametrize("mode", MODES)
def test_failures_reach_the_client_as_results(server: StdioServerParameters, mode: str) -> None:
    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            missing = await client.call_tool("read_note", {"path": "Nowhere"})
            assert missing.is_error
            assert "FILE_NOT_FOUND" in str(missing.content)
            wrong = await client.call_tool("read_note", {"path": 5})
            assert wrong.is_error
            assert "'path' must be a text" in str(wrong.content)

    anyio.run(converse)


@pytest.mark.parametrize("mode", MODES)
def test_progress_reaches_the_client(server: StdioServerParameters, mode: str) -> None:
    came: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        came.append((progress, total, message))

    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            await client.call_tool("search_notes", {"query": "fox"}, progress_callback=note)

    anyio.run(converse)
    assert came == [(0, 2, "0 of 2 notes")]
