"""A file whose reading does not end, as one on a share or in a cloud may be: nobody else waits for it."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.serving import PATIENCE, Reply, Serving, stage
from support.wire import STATELESS_REVISION, envelope

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pipe that looks like a file")

MCP = {"content_type": "application/json", "accept": "application/json, text/event-stream"}


def call(server: Serving, file: Path, name: str) -> Reply:
    """Have a tool read a file, over MCP, as a client of this name."""
    meta: dict[str, Any] = envelope()
    meta["io.modelcontextprotocol/clientInfo"]["name"] = name
    params = {"name": "wait", "arguments": {"fifo": str(file)}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    routing = {"mcp_protocol_version": STATELESS_REVISION, "mcp_method": "tools/call", "mcp_name": "wait"}
    return server.request("POST", "/mcp", body, **MCP, **routing)


def test_a_file_whose_reading_hangs_holds_up_no_other_client(tmp_path: Path) -> None:
    file, hanging = tmp_path / "file", tmp_path / "hanging"
    file.write_text("here")
    os.mkfifo(hanging)
    with stage(tmp_path, "--seconds", "60") as server, ThreadPoolExecutor(4) as threads:
        for _ in range(50):  # so that the tool is known to be quick
            assert b"here" in call(server, file, "a").body
        stuck = [threads.submit(call, server, hanging, "a") for _ in range(4)]
        # Opening it to write waits until somebody reads it: each of them does by now.
        pipe = os.open(hanging, os.O_WRONLY)
        for _ in range(20):
            assert b"here" in call(server, file, "b").body
            assert server.request("GET", "/health").status == 200
            assert server.call("wait", {"fifo": str(file)}).json["success"] is True
        assert not any(each.done() for each in stuck)
        os.write(pipe, b"at last")
        os.close(pipe)
        assert all(each.result(PATIENCE).status == 200 for each in stuck)
