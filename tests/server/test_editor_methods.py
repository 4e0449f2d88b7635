"""The editor's methods without a socket: whatever a client sends, every request is answered once and nothing is raised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vaults import open_vault, write_vault
from vaultwire.editor import EditorState, Proposals
from vaultwire.server.editor_methods import TOOLS, Bridge, ClientPaths, Peer

NAMES = st.sampled_from([tool["name"] for tool in TOOLS] + ["executeCode", ""])
TEXTS = st.sampled_from(["Note.md", "/Note.md", "file:///x", "..", "a\0b", "\ud800", "%", ""]) | st.text(max_size=10)
VALUES = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(st.integers(), max_size=2)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["uri", "filePath", "tab_name", "new_file_path", "new_file_contents", "startLine", "path"]), VALUES
)
METHODS = st.sampled_from(
    [
        "initialize",
        "initialized",
        "tools/list",
        "tools/call",
        "files/read",
        "workspace/selection",
        "resources/list",
        "ping",
        "x",
    ]
)
PARAMS = VALUES | ARGUMENTS | st.fixed_dictionaries({"name": NAMES, "arguments": ARGUMENTS | VALUES})
MESSAGES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": METHODS, "params": PARAMS, "id": st.integers()}
)


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Bridge:
    root = write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\n[[Nowhere]]\n")
    vault = open_vault(root)
    return Bridge(
        lambda: vault,
        ClientPaths(str(root)),
        EditorState(),
        Proposals(lambda: vault.holding),
        lambda _path, _line: False,
    )


def talk(bridge: Bridge, frames: list[bytes]) -> list[Any]:
    """Send frames from a client that then leaves; return what it was sent."""
    sent: list[Any] = []

    def send(message: dict[str, Any]) -> None:
        json.dumps(message, ensure_ascii=False).encode()  # what no frame can hold
        sent.append(message)

    peer = Peer(send, lambda: None)
    bridge.join(peer)
    for frame in frames:
        bridge.receive(peer, frame)
    bridge.leave(peer)
    return sent


@given(messages=st.lists(MESSAGES, max_size=4, unique_by=lambda message: int(message["id"])))
def test_every_request_is_answered_once(bridge: Bridge, messages: list[Any]) -> None:
    sent = talk(bridge, [json.dumps(message).encode() for message in messages])
    json.dumps(sent)
    answers = [message for message in sent if "id" in message]
    refused = [message["id"] for message in messages if not isinstance(message["params"], (dict, type(None)))]
    wanted = sorted(message["id"] for message in messages)
    assert sorted(answer["id"] for answer in answers if answer["id"] is not None) == wanted
    assert all("error" in answer for answer in answers if answer["id"] in refused)
    assert bridge.proposals.waiting == []


@given(frame=st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_no_bytes_bring_it_down(bridge: Bridge, frame: bytes) -> None:
    assert all("error" in message or "result" in message for message in talk(bridge, [frame]))


def test_paths_in_the_vault_are_known_however_a_client_writes_them(tmp_path: Path) -> None:
    (tmp_path / "My 100% Note.md").touch()
    shapes = ClientPaths(str(tmp_path))
    place = tmp_path / "My 100% Note.md"
    for given_path in (str(place), place.as_uri(), f"file://{place}", f"file://localhost{place}", "/My 100% Note.md"):
        assert shapes.vault_path(given_path) == "My 100% Note.md"
    assert shapes.vault_path("My 100% Note.md") == "My 100% Note.md"
    up = "/.." * len(tmp_path.parts)
    for outside in (
        "/etc/passwd",
        "../x.md",
        f"{tmp_path}s/x.md",
        "file:///etc/passwd",
        f"{up}/etc/passwd",
        "a/../../x",
    ):
        assert shapes.vault_path(outside) is None
    assert shapes.vault_path(f"{tmp_path}/New.md") == "New.md"
