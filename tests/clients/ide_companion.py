"""The real Gemini CLI at our door for it: how it finds an editor, what it takes in, and what it makes of decisions.

``make clients``; no test by itself. What runs is the client's own code for editors, without its terminal and without an
account. ``VAULTWIRE_GEMINI_MODULES`` names the folder npm has installed it in, in the version of ``package-lock.json``,
``VAULTWIRE_NODE_MODULES`` the one with a Node.js to run it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from support.companion_stage import Stage
from support.vaults import write_vault
from vaultwire.editor import NOTHING, Position, Selection
from vaultwire.server.ide_companion import Bounds

NODE = str(Path(os.environ["VAULTWIRE_NODE_MODULES"]).resolve() / ".bin" / "node")
BUNDLE = str(Path(os.environ["VAULTWIRE_GEMINI_MODULES"]).resolve() / "@google" / "gemini-cli" / "bundle")
BOUNDS = Bounds(quiet=0.0, look=0.05, lost=0.5)
DRIVER = str(Path(__file__).parent / "gemini" / "driver.mjs")


class Gemini:
    """The client, started in a folder."""

    def __init__(self, folder: Path, home: Path, **environment: str) -> None:
        self._process = subprocess.Popen(
            [NODE, DRIVER, BUNDLE],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            # In a container it would look for editors outside, unless it came over SSH.
            env={**os.environ, "HOME": str(home), "SSH_CONNECTION": "1", **environment},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def tell(self, **told: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()

    def see(self, name: str) -> Any:
        """Return the next of what it sees that has this name."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            seen = json.loads(line)
            if name in seen:
                return seen if name == "status" else seen[name]
        raise AssertionError(f"it ended without {name}")

    def files(self) -> list[tuple[str, bool]]:
        """Return the files of the next context it takes in, and whether each is the active one."""
        return [
            (Path(file["path"]).name, file["isActive"]) for file in self.see("context")["workspaceState"]["openFiles"]
        ]

    def wait(self) -> int:
        return self._process.wait(60)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(tmp_path / "files"))
    made = Stage(
        write_vault(tmp_path / "vault", "=== Note.md\none\n=== Sub/Plan.md\ntwo\n"), tmp_path / "files", BOUNDS
    )
    yield made
    made.close()


@pytest.mark.parametrize("folder", ["", "Sub"])
def test_it_finds_the_vault_from_any_terminal_and_sees_what_is_in_front(
    stage: Stage, tmp_path: Path, folder: str
) -> None:
    stage.state.open_tabs(["Sub/Plan.md", "Note.md"])
    stage.state.select(Selection("Note.md", "on", Position(0, 0), Position(0, 2)))
    with Gemini(stage.root / folder, tmp_path) as client:
        context = client.see("context")["workspaceState"]["openFiles"][0]
        assert context["cursor"] == {"line": 1, "character": 3}
        assert context["selectedText"] == "on"
        assert client.see("editor") == "Obsidian"
        stage.state.select(Selection("Sub/Plan.md"))
        assert client.files() == [("Plan.md", True), ("Note.md", False)]
        stage.state.select(NOTHING)
        assert client.files() == [("Plan.md", False), ("Note.md", False)]


def test_of_several_editors_it_takes_the_one_named_in_its_terminal(stage: Stage, tmp_path: Path) -> None:
    stage.state.select(Selection("Note.md"))
    other = Stage(stage.root, tmp_path / "files", BOUNDS)
    try:
        other.state.select(Selection("Sub/Plan.md"))
        for meant, name in ((stage, "Note.md"), (other, "Plan.md")):
            with Gemini(stage.root, tmp_path, GEMINI_CLI_IDE_SERVER_PORT=str(meant.port)) as client:
                assert client.files() == [(name, True)]
    finally:
        other.close()


def test_elsewhere_it_does_not_connect(stage: Stage, tmp_path: Path) -> None:
    with Gemini(tmp_path, tmp_path) as client:
        assert client.see("status")["status"] == "disconnected"


def test_it_makes_of_decisions_what_the_person_decided(stage: Stage, tmp_path: Path) -> None:
    with Gemini(stage.root, tmp_path) as client:
        assert client.see("status") == {"editor": "Obsidian", "status": "connected", "diffs": True}
        path = stage.path("Note.md")
        for text, decided in (
            ("person's\n", {"status": "accepted", "content": "person's\n"}),
            (None, {"status": "rejected"}),
            ("", {"status": "rejected"}),
        ):
            client.tell(open=path, text="new\n")
            stage.wait_for(lambda: len(stage.proposals.waiting) == 1)
            stage.decide(text)
            assert client.see("decided") == decided
        for outcome, decided in (
            ("accepted", {"status": "accepted", "content": "new\n"}),
            ("rejected", {"status": "rejected"}),
        ):
            client.tell(open=path, text="new\n")
            stage.wait_for(lambda: len(stage.proposals.waiting) == 1)
            client.tell(answer=path, outcome=outcome)
            assert client.see("decided") == decided
            assert stage.proposals.waiting == []


def test_its_end_takes_back_what_it_laid_before_the_person(stage: Stage, tmp_path: Path) -> None:
    for how in ("leave", "killed"):
        with Gemini(stage.root, tmp_path) as client:
            assert client.see("status")["status"] == "connected"
            client.tell(open=stage.path("Note.md"), text="new\n")
            stage.wait_for(lambda: len(stage.proposals.waiting) == 1)
            if how == "leave":
                client.tell(leave=True)
                assert client.see("status")["status"] == "disconnected"
        stage.wait_for(lambda: not stage.proposals.waiting)


def test_the_end_of_the_bridge_is_a_rejection(stage: Stage, tmp_path: Path) -> None:
    with Gemini(stage.root, tmp_path) as client:
        assert client.see("status")["status"] == "connected"
        client.tell(open=stage.path("Note.md"), text="new\n")
        stage.wait_for(lambda: len(stage.proposals.waiting) == 1)
        stage.close()
        assert client.see("decided") == {"status": "rejected"}
        assert client.see("status")["status"] == "disconnected"
