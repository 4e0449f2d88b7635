"""News for open pages: they go on after an error, and end when the browser was signed out."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest

from support.desk import Desk
from support.serving import Serving
from support.vaults import write_vault
from vaultwire.config import state_folder
from vaultwire.desk.access import sign_out
from vaultwire.desk.http_endpoint import Events
from vaultwire.desk.running import desk_folder
from vaultwire.vault.errors import JOURNAL_FAILED, VaultError


async def _counts(_: str) -> dict[str, Any]:
    return {"waiting": 1, "unreviewed": 2}


def test_pages_are_told_of_changes_after_a_look_that_failed() -> None:
    looks = iter([0, OSError(), VaultError(JOURNAL_FAILED, "x"), 1])

    async def look() -> dict[str, Hashable]:
        found = next(looks, 1)
        if isinstance(found, Exception):
            raise found
        return {"vault": found}

    async def run() -> bytes:
        events, told = Events(look, _counts), asyncio.Event()
        sent: list[bytes] = []

        async def send(data: bytes) -> None:
            sent.append(data)
            if data.startswith(b"event"):
                told.set()

        serving = asyncio.ensure_future(events.serve(send))
        await told.wait()
        events.close()
        await serving
        return b"".join(sent)

    assert b'"waiting": 1' in asyncio.run(asyncio.wait_for(run(), 30))


def test_a_page_is_open_only_once_changes_are_looked_for() -> None:
    async def run() -> None:
        stamps, asked, first = ["before"], asyncio.Event(), asyncio.Event()
        opened, told = asyncio.Event(), asyncio.Event()
        sent: list[bytes] = []

        async def look() -> dict[str, Hashable]:
            found = stamps[0]
            asked.set()
            await first.wait()
            return {"vault": found}

        events = Events(look, _counts)

        async def send(data: bytes) -> None:
            sent.append(data)
            (told if data.startswith(b"event") else opened).set()

        serving = asyncio.ensure_future(events.serve(send))
        await asked.wait()
        assert sent == []  # what the page asks for now may change before the first look
        first.set()
        await opened.wait()
        stamps[0] = "after"
        await told.wait()
        events.close()
        await serving

    asyncio.run(asyncio.wait_for(run(), 30))


def test_a_browser_that_was_signed_out_hears_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "own state"))
    vault = write_vault(tmp_path / "vault", "=== Plan.md\none\n")
    with Serving(vault) as server, Desk(server, vault).events() as news:
        assert sign_out(desk_folder(state_folder())) == 1
        edits = [{"action": "replace", "text": "one", "content": "1"}]
        assert server.call("edit_note", {"path": "Plan.md", "edits": edits}).json["success"]
        assert list(news) == []
