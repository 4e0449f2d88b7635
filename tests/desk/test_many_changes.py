"""Many changes that wait: how often each is compared, and how often its text is told. Counted, with a page and a plugin."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType

from websockets.sync.client import connect
from websockets.typing import Origin

from support.editor_door import PATIENCE, EditorDoor
from support.vaults import write_vault
from vaultwire.desk.plugin_endpoint import OBSIDIAN
from vaultwire.editor.proposals import REFUSED
from vaultwire.markdown.diffs import unified

MANY = 60
TEXT = "a line of many\n" * 100


def test_each_change_is_compared_once_and_its_text_told_once(tmp_path: Path) -> None:
    door = EditorDoor(write_vault(tmp_path / "vault", "=== Note.md\ntext\n"))
    own = f"127.0.0.1:{door.port}"
    page_at = f"ws://{own}{door.desk.path}".replace("/desk/?", "/desk/socket?")
    plugin_at = f"ws://{own}/plugin?key={door.plugin.token}"
    compared = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal compared
        compared += event == "call" and frame.f_code is unified.__code__

    with (
        connect(page_at, origin=Origin(f"http://{own}"), proxy=None) as page,
        connect(plugin_at, origin=Origin(OBSIDIAN), proxy=None) as plugin,
    ):
        assert page.recv(PATIENCE) == "[]"
        assert json.loads(plugin.recv(PATIENCE))["type"] == "hello"
        assert json.loads(plugin.recv(PATIENCE))["changes"] == []
        told = ""
        for number in range(MANY):
            sys.setprofile(count)
            door.propose(f"{number}.md", TEXT, f"{TEXT}{number}\n")
            sys.setprofile(None)
            told += str(page.recv(PATIENCE))
            assert len(json.loads(plugin.recv(PATIENCE))["changes"]) == number + 1
        assert compared <= 2 * MANY  # for pages, and for the plugin
        assert told.count(json.dumps(TEXT)[1:-1]) == MANY
        assert [len(change) for change in json.loads(told[told.rindex("[{") :])] == [1] * (MANY - 1) + [5]
        for left in range(MANY, 0, -1):
            sys.setprofile(count)
            door.proposals.decide(door.proposals.waiting[0].id, REFUSED)
            sys.setprofile(None)
            assert len(json.loads(page.recv(PATIENCE))) == left - 1
            plugin.recv(PATIENCE)
        assert compared <= 2 * MANY
    # A page that is opened later is told all of it.
    door.propose("new.md", TEXT, "new\n")
    with connect(page_at, origin=Origin(f"http://{own}"), proxy=None) as page:
        assert json.loads(page.recv(PATIENCE))[0]["new"] == "new\n"
    door.close()
