"""ChatGPT's tools: the fields of its contract, who is listed them, and whose rights they need."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.certificates import make_certificate
from support.file_server import response, serving_files
from support.vaults import open_vault, write_vault
from support.wire import Server
from vaultwire.app.engine import AttachmentSources
from vaultwire.toolkit.arguments import read_arguments
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.toolkit.registry import Failure, invoke
from vaultwire.tools.edit import make_save_file
from vaultwire.transports.attachment_download import Downloader
from vaultwire.trust.policy import Policy
from vaultwire.vault.value_types import NO_PROGRESS, Progress

PAIR = ["search", "fetch"]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
NOTES = """=== Garden/Tomatoes.md
---
tags: [garden]
---
# Tomatoes
Water them in the morning. Ünïcode stays.
=== Other.md
Nothing of it.
=== Long.md
""" + "".join(f"line {number} of a long note with some words\n" for number in range(20_000))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "notes", NOTES)


def as_client(server: Server, name: str) -> None:
    """Do the handshake under a name."""
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    server.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params})
    server.receive()
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


def ask(server: Server, method: str, **params: Any) -> Any:
    server.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return server.receive()["result"]


def listed(server: Server) -> dict[str, Any]:
    return {tool["name"]: tool for tool in ask(server, "tools/list")["tools"]}


@pytest.mark.parametrize(
    ("client", "options", "is_listed"),
    [
        ("openai-mcp", [], True),
        ("ChatGPT", [], True),
        ("claude-ai", [], False),
        ("my-chatgpt-clone", [], False),
        ("claude-ai", ["--profile", "chatgpt"], True),
        ("claude-ai", ["--tools", "all"], True),
        ("openai-mcp", ["--no-tool", "search_notes"], False),
        ("openai-mcp", ["--dialect", "filesystem"], False),
    ],
)
def test_the_pair_is_listed_to_clients_of_that_name_and_by_a_profile(
    notes: Path, client: str, options: list[str], is_listed: bool
) -> None:
    with Server(notes, *options) as server:
        as_client(server, client)
        tools = listed(server)
        assert ("search" in tools) is is_listed
        assert len({"search_notes", "search-vault"} & tools.keys()) == ("--no-tool" not in options)


def test_the_list_says_their_arguments_their_results_and_that_they_only_read(notes: Path) -> None:
    with Server(notes) as server:
        as_client(server, "openai-mcp")
        tools = listed(server)
    for name, argument in zip(PAIR, ["query", "id"], strict=True):
        assert [*tools[name]["inputSchema"]["properties"]] == tools[name]["inputSchema"]["required"] == [argument]
        assert tools[name]["annotations"]["readOnlyHint"] is True
        assert tools[name]["outputSchema"]["type"] == "object"


def test_a_note_is_searched_and_fetched_as_data_and_as_the_same_json(notes: Path) -> None:
    with Server(notes) as server:
        as_client(server, "openai-mcp")
        found = ask(server, "tools/call", name="search", arguments={"query": "When do I water tomatoes?"})
        result = {"id": "Garden/Tomatoes.md", "title": "Tomatoes", "url": ""}
        assert found["structuredContent"] == {"results": [result]}
        fetched = ask(server, "tools/call", name="fetch", arguments={"id": result["id"]})
        data = fetched["structuredContent"]
        assert {**data, "metadata": None} == {**result, "text": (notes / result["id"]).read_text(), "metadata": None}
        assert [*data["metadata"]] == ["modified"]
        for answer in (found, fetched):
            assert [json.loads(block["text"]) for block in answer["content"]] == [answer["structuredContent"]]


def test_a_long_note_is_cut_and_says_so_and_nothing_is_an_empty_list(notes: Path) -> None:
    with Server(notes) as server:
        as_client(server, "openai-mcp")
        data = ask(server, "tools/call", name="fetch", arguments={"id": "Long.md"})["structuredContent"]
        assert data["metadata"]["cut"] == f"lines 1 to {data['text'].count(chr(10))} of 20000"
        none = ask(server, "tools/call", name="search", arguments={"query": "zzzqqq"})
        assert none["structuredContent"] == {"results": []}
        missing = ask(server, "tools/call", name="fetch", arguments={"id": "Nothing.md"})
        assert missing["isError"] is True
        assert "Nothing.md" in missing["content"][0]["text"]


def test_more_tools_neither_names_nor_runs_them(notes: Path) -> None:
    with Server(notes) as server:
        as_client(server, "claude-ai")
        for arguments in ({}, {"tool": "search", "arguments": {"query": "tomatoes"}}):
            text = ask(server, "tools/call", name="more_tools", arguments=arguments)["content"][0]["text"]
            assert "\nsearch(" not in text
            assert "fetch(" not in text


# ---------------------------------------------------------------------- files of a chat


class FromHere:
    """Sources as a run has them, whose hosts are at this computer."""

    def __init__(self, folder: Path, port: int, certificate: str) -> None:
        policy = Policy(attachment_hosts=("localhost",))
        self.folder = str(folder)
        self._local = AttachmentSources([self.folder], [], policy)
        self._web = Downloader(
            policy.may_fetch_from,
            may_connect_to=lambda _: True,
            tls=ssl.create_default_context(cafile=certificate),
            port=port,
        )

    def read(self, source: str, name: str, max_bytes: int, progress: Progress) -> bytes:
        sources = self._web.fetch if "://" in source else self._local.read
        return sources(source, name, max_bytes, progress)


def save(notes: Path, sources: FromHere, **arguments: Any) -> Any:
    description = next(each for each in load_catalog() if each["name"] == "save_file")
    return invoke(make_save_file(sources), description, arguments, open_vault(notes), NO_PROGRESS)


@pytest.fixture
def sources(tmp_path: Path) -> Iterator[FromHere]:
    certificate = make_certificate(tmp_path)
    with serving_files(certificate, lambda _: iter([response(PNG)])) as web:
        yield FromHere(tmp_path, web.port, certificate[0])


def of_chat(url: str = "https://localhost/file-1?sig=x", **more: str) -> dict[str, str]:
    return {"download_url": url, "file_id": "file-1", **more}


def test_a_file_of_the_chat_is_saved_under_its_own_name_and_shown(notes: Path, sources: FromHere) -> None:
    file = of_chat(file_name="Plan of beds.png", mime_type="image/png", size="12")
    outcome = save(notes, sources, file=file, embed_in="Garden/Tomatoes")
    assert outcome.data["path"].endswith("Plan of beds.png")
    assert (notes / outcome.data["path"]).read_bytes() == PNG
    assert "![[Plan of beds.png]]" in (notes / "Garden" / "Tomatoes.md").read_text()


@pytest.mark.parametrize("name", ["../../../x.png", "C:\\Users\\x.png", "/etc/x.png", "Garden/x.png"])
def test_the_name_that_a_chat_gives_chooses_no_folder(notes: Path, sources: FromHere, name: str) -> None:
    assert save(notes, sources, file=of_chat(file_name=name)).data["path"] == "x.png"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://evil.example/x.png", "NETWORK_BLOCKED"),
        ("http://localhost/x.png", "INVALID_ARGUMENTS"),
        ("cert.pem", "INVALID_ARGUMENTS"),  # a file of this computer, which add_attachment might take
        ("file:///etc/passwd", "INVALID_ARGUMENTS"),
    ],
)
def test_nothing_else_than_an_allowed_host_is_asked(notes: Path, sources: FromHere, url: str, code: str) -> None:
    before = sorted(notes.rglob("*"))
    outcome = save(notes, sources, file=of_chat(url, file_name="x.png"))
    assert isinstance(outcome, Failure)
    assert outcome.code == code
    assert sorted(notes.rglob("*")) == before


@pytest.mark.parametrize("wrong", [{"download_url": 3}, {"download_url": None}, {"file_id": []}, {"file_name": 3}])
def test_a_file_of_another_form_is_refused_with_what_is_wrong(
    notes: Path, sources: FromHere, wrong: dict[str, Any]
) -> None:
    refused = save(notes, sources, file={**of_chat(), **wrong})
    assert isinstance(refused, Failure)
    assert f"'file.{next(iter(wrong))}' must be a text" in refused.message


def test_what_a_chat_leaves_out_may_be_null() -> None:
    schema = next(each for each in load_catalog() if each["name"] == "save_file")["inputSchema"]
    given = {"file": {**of_chat(), "mime_type": None, "another": None}}
    assert read_arguments(schema, given)[0]["file"] == {**of_chat(), "another": None}
    assert read_arguments(schema, given)[1] == []


def test_the_list_names_the_argument_that_chatgpt_fills_in(notes: Path) -> None:
    with Server(notes) as server:
        as_client(server, "openai-mcp")
        tool = listed(server)["save_file"]
        assert tool["_meta"] == {"openai/fileParams": ["file"]}
        file = tool["inputSchema"]["properties"]["file"]
        assert file["required"] == ["download_url", "file_id"]
        assert {"mime_type", "file_name"} < file["properties"].keys()
        refused = ask(server, "tools/call", name="save_file", arguments={"file": of_chat(file_name="x.png")})
        assert "--attachments-from https://" in refused["content"][0]["text"]
    with Server(notes, "--read-only") as server:
        as_client(server, "openai-mcp")
        assert "save_file" not in listed(server)
