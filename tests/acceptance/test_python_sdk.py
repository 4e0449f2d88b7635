"""The official Python SDK as the client, in each of its modes and over both doors: it connects, lists, and asks for all.

What it accepts is what most assistants accept; where it is laxer than the specification, the other rooms are not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import (
    EmbeddedResource,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from support.schemas import hold_to
from support.serving import Serving
from support.vaults import write_vault

MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}

CALLS: dict[str, dict[str, Any]] = {
    "search_notes": {"query": "fox"},
    "find_notes": {"name": "alpha", "properties": ["!status"]},
    "list_notes": {"folder": "Projects"},
    "read_note": {"path": "Alpha"},
    "read_notes": {"paths": ["Alpha", "Nowhere"]},
    "write_note": {"path": "New.md", "content": "hello"},
    "delete_note": {"path": "New.md"},
    "search_by_tags": {"tags": ["project"]},
    "list_links": {"path": "Alpha"},
    "list_tasks": {"status": "any"},
    "check_notes": {},
    "vault_overview": {"what": "tags"},
    "edit_note": {"path": "Alpha", "edits": [{"action": "append", "content": "The end."}]},
    "set_properties": {"path": "Alpha", "properties": [{"name": "status", "value": "new"}]},
    "create_note": {"path": "Fresh"},
    "append_daily_note": {"content": "woke up"},
    "insert_template": {"path": "Fresh", "template": "Other"},
    "add_attachment": {"name": "paper.pdf", "data": "JVBERi0xLjQK"},
    "list_attachments": {},
    "read_canvas": {"path": "Board"},
    "set_properties_in_view": {"base": "Some.base", "set": {"seen": True}, "dry_run": True},
    "create_note_in_view": {"base": "Some.base", "dry_run": True},
    "edit_base": {"base": "Some.base", "set": {"formulas": {"one": "1"}}, "dry_run": True},
    "create_base": {"path": "New", "search": "tag:#a", "dry_run": True},
    "query_base": {"yaml": "views: [{type: table, name: All}]"},
    "edit_canvas": {"path": "Board", "edits": [{"action": "add", "text": "An idea"}]},
    "move_notes": {"paths": ["Fresh"], "to": "Moved"},
    "rename": {"what": "heading", "path": "Alpha", "old": "Den", "new": "Lair"},
    "merge_notes": {"source": "Moved", "target": "Other"},
    "extract_section": {"path": "Alpha", "section": "Lair", "to": "Lair"},
    "list_changes": {},
    "undo_changes": {"changes": [13]},  # the latest: each of the tools above made one
    "restore_note": {"path": "New.md"},
}


VAULT = "=== Projects/Alpha.md\nThe fox. #project\n\n## Den\n\nHere.\n=== Other.md\nNothing.\n"

# Each door and each mode. What is the same over both doors in every mode, the calls of all tools show.
WAYS = [("stdio", "auto"), ("http", "legacy"), ("http", "2026-07-28")]

Reach = Callable[..., StdioServerParameters | str]


def over_stdio(vault: Path, *options: str) -> StdioServerParameters:
    """Return how the client starts a server. The SDK hands on few variables: the folders of the tests are named here."""
    folders = {name: os.environ[name] for name in ("VAULTWIRE_CACHE", "VAULTWIRE_STATE")}
    arguments = ["-m", "vaultwire", "stdio", "--vault", str(vault), *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=folders)


@pytest.fixture(params=["stdio", "http"])
def reach(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reach]:
    """Return a function that returns what the client is to connect to: a server with these options."""
    write_vault(tmp_path, VAULT)
    with ExitStack() as stack:

        def start(*options: str) -> StdioServerParameters | str:
            if request.param == "http":
                return f"{stack.enter_context(Serving(tmp_path, *options)).url}/mcp"
            return over_stdio(tmp_path, *options)

        yield start


@pytest.fixture(scope="module", params=["stdio", "http"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StdioServerParameters | str]:
    """Return what the client is to connect to where it changes nothing: over HTTP the same server for all tests."""
    vault = write_vault(tmp_path_factory.mktemp("shared") / "vault", VAULT)
    if request.param == "stdio":
        yield over_stdio(vault)
        return
    with Serving(vault) as serving:
        yield f"{serving.url}/mcp"


@pytest.mark.parametrize("mode", MODES)
def test_the_client_lists_and_calls_every_tool(reach: Reach, mode: str, tmp_path: Path) -> None:
    (tmp_path / "Board.canvas").write_text("{}")
    (tmp_path / "Some.base").write_text("filters: file.ext == 'md'\nviews: [{type: table, name: Notes}]")
    server = reach("--structured", "--tools", "all")

    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            assert client.protocol_version == MODES[mode]
            listed = await client.list_tools()
            assert {*CALLS} <= {tool.name for tool in listed.tools}
            schemas = {tool.name: tool.output_schema for tool in listed.tools}
            for name, arguments in CALLS.items():
                result = await client.call_tool(name, arguments)
                assert not result.is_error, (name, result)
                assert result.content
                schema = schemas[name]
                assert schema is not None
                hold_to(result.structured_content, schema)

    anyio.run(converse)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_knows_who_it_talks_to(server: StdioServerParameters | str, mode: str) -> None:
    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            assert client.server_info is not None
            assert client.server_info.name == "vaultwire"
            assert client.instructions
            said = client.server_capabilities
            for capability in (said.tools, said.resources, said.prompts, said.completions):
                assert capability is not None

    anyio.run(converse)


@pytest.mark.parametrize(("server", "mode"), WAYS, indirect=["server"])
def test_failures_reach_the_client_as_results(server: StdioServerParameters | str, mode: str) -> None:
    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            missing = await client.call_tool("read_note", {"path": "Nowhere"})
            assert missing.is_error
            assert "FILE_NOT_FOUND" in str(missing.content)
            wrong = await client.call_tool("read_note", {"path": 5.5})
            assert wrong.is_error
            assert "must be a text of 1 to 1000 characters" in str(wrong.content)

    anyio.run(converse)


@pytest.mark.parametrize(("reach", "mode"), WAYS, indirect=["reach"])
def test_progress_reaches_the_client(reach: Reach, mode: str) -> None:
    server = reach()
    came: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        came.append((progress, total, message))

    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            # A regular expression: no index helps, each note is read.
            await client.call_tool("search_notes", {"query": "/f.x/"}, progress_callback=note)

    anyio.run(converse)
    # Progress never stands still, so the search's own is not told behind that of the first scan of the vault. Once the text
    # index is there, it leaves out the note that has no f.
    assert came in ([(0, 2, "0 of 2 notes")], [(0, 1, "0 of 1 notes")], [(0, 2, "indexing: 0 of 2 files")])


@pytest.mark.parametrize(("server", "mode"), WAYS, indirect=["server"])
def test_the_client_lists_completes_and_reads_resources(server: StdioServerParameters | str, mode: str) -> None:
    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            listed = (await client.list_resources()).resources
            assert [resource.name for resource in listed] == ["Other.md", "Projects/Alpha.md"]
            for resource in listed:
                (contents,) = (await client.read_resource(resource.uri)).contents
                assert isinstance(contents, TextResourceContents)
                assert len(contents.text.encode()) == resource.size
            template, views = (await client.list_resource_templates()).resource_templates
            assert views.uri_template == template.uri_template.replace("{+path}", "{+base}{#view}")
            reference = ResourceTemplateReference(uri=template.uri_template)
            completed = await client.complete(reference, {"name": "path", "value": "alp"}, {"other": "x"})
            assert completed.completion.values == ["Projects/Alpha.md"]
            uri = template.uri_template.replace("{+path}", completed.completion.values[0])
            assert "fox" in str(await client.read_resource(uri))
            with pytest.raises(MCPError, match="Resource not found"):
                await client.read_resource(template.uri_template.replace("{+path}", "Nowhere.md"))

    anyio.run(converse)


@pytest.mark.parametrize(("reach", "mode"), WAYS, indirect=["reach"])
def test_the_client_completes_and_reads_a_view_of_a_base(reach: Reach, mode: str, tmp_path: Path) -> None:
    write_vault(tmp_path, '=== Books.base\nfilters: file.ext == "md"\nviews: [{type: table, name: "To read #1"}]\n')
    server = reach()

    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            _, views = (await client.list_resource_templates()).resource_templates
            reference = ResourceTemplateReference(uri=views.uri_template)
            base = (await client.complete(reference, {"name": "base", "value": "boo"})).completion.values
            view = await client.complete(reference, {"name": "view", "value": ""}, {"base": base[0]})
            assert (base, view.completion.values) == (["Books.base"], ["To read #1"])
            (uri,) = [each.uri for each in (await client.list_resources()).resources if "#" in str(each.uri)]
            assert str(uri).endswith("/Books.base#To%20read%20%231")
            (contents,) = (await client.read_resource(uri)).contents
            assert isinstance(contents, TextResourceContents)
            assert contents.mime_type == "text/markdown"
            assert contents.text.startswith("# Books.base: To read #1\n")

    anyio.run(converse)


@pytest.mark.parametrize(("reach", "mode"), WAYS, indirect=["reach"])
def test_the_client_lists_completes_and_gets_prompts(reach: Reach, mode: str, tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Prompts/About a tag.md\nTell me about {{tag}}.\n")
    server = reach("--prompts", "Prompts")

    async def converse() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            listed = (await client.list_prompts()).prompts
            assert [prompt.name for prompt in listed] == [
                "summarize_note",
                "daily_review",
                "find_related",
                "review_week",
                "prepare_meeting",
                "tidy_inbox",
                "map_of_content",
                "about_a_tag",
            ]
            completed = await client.complete(PromptReference(name="about_a_tag"), {"name": "tag", "value": "p"})
            assert completed.completion.values == ["project"]
            (message,) = (await client.get_prompt("about_a_tag", {"tag": "project"})).messages
            assert isinstance(message.content, TextContent)
            assert message.content.text == "Tell me about project."
            held_out = (await client.get_prompt("find_related", {"path": "Alpha"})).messages[1].content
            assert isinstance(held_out, EmbeddedResource)
            assert "fox" in str(held_out.resource)
            with pytest.raises(MCPError, match="needs 'path'"):
                await client.get_prompt("summarize_note")

    anyio.run(converse)
