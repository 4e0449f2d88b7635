"""``vaultwire obsidian`` while a server of the vault runs: the server answers, with nothing else than without it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support.serving import Serving
from support.vaults import write_vault
from vaultwire.desk.running import CODE_HEADER, Announcement, Running, desk_folder, find, new_code

VAULT = """
=== Home.md
---
tags: [a]
---
- [ ] Water the tomatoes
[[Plan]] and [[Missing]]
=== Plan.md
# First
## Second
=== Folder/Deep.md
deep
=== All.base
views:
  - type: table
    name: All
"""
READING = [
    ["read", "path=Home.md"],
    ["files"],
    ["folders"],
    ["links", "file=Home"],
    ["backlinks", "file=Plan", "counts"],
    ["unresolved", "verbose"],
    ["tags", "counts"],
    ["tasks", "format=json"],
    ["outline", "file=Plan"],
    ["search", "query=tomatoes"],
    ["base:query", "path=All.base", "format=csv"],
    ["vault"],
    ["read", "file=Nothing"],
    ["property:read", "name=x", "file=Home"],
]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


def run(vault: Path, *words: str, **environment: str) -> tuple[int, str, str, set[str]]:
    """Return the exit code, what is printed, and the modules of ours that were loaded for it."""
    code = """import os, sys
from vaultwire.__main__ import main
code = main(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    print(*sys.modules, file=file)
sys.exit(code)"""
    loaded = vault.parent / "loaded.txt"
    done = subprocess.run(
        [sys.executable, "-c", code, str(loaded), "obsidian", "--vault", str(vault), *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr, set(loaded.read_text().split())


def was_here(modules: set[str]) -> bool:
    return "vaultwire.vault.vault" in modules


def test_a_server_gives_the_same_answers_and_the_command_loads_no_engine(vault: Path) -> None:
    alone = [run(vault, *words) for words in READING]
    with Serving(vault):
        served = [run(vault, *words) for words in READING]

    assert [answer[:3] for answer in served] == [answer[:3] for answer in alone]
    assert all(was_here(answer[3]) for answer in alone)
    assert not any(was_here(answer[3]) for answer in served)


def test_a_change_by_a_server_is_a_persons_and_can_be_undone(vault: Path) -> None:
    with Serving(vault):
        assert run(vault, "append", "path=Plan.md", "content=More")[:2] == (0, "Appended to: Plan.md\n")
        assert not was_here(run(vault, "create", "name=New", "content=x")[3])
    assert (vault / "Plan.md").read_text() == "# First\n## Second\nMore\n"

    ours = [sys.executable, "-m", "vaultwire"]
    changes = subprocess.run(
        [*ours, "changes", "--json", "--vault", str(vault)], capture_output=True, text=True, timeout=60, check=True
    )
    assert changes.stdout.count('"client": "command-line"') == 2
    undo = [*ours, "undo", "--since", "1h", "--yes", "--vault", str(vault)]
    subprocess.run(undo, capture_output=True, timeout=60, check=True)
    assert (vault / "Plan.md").read_text() == "# First\n## Second\n"
    assert not (vault / "New.md").exists()


def test_other_settings_than_the_servers_are_kept_to(vault: Path) -> None:
    policy = vault.parent / "policy.toml"
    policy.write_text('[tools]\ndeny = ["edit_note"]\n')
    words = ("append", "path=Plan.md", "content=More")
    with Serving(vault):
        denied = run(vault, *words, VAULTWIRE_POLICY=str(policy))
        read_only = run(vault, *words, VAULTWIRE_READ_ONLY="1")
    assert denied[0] == read_only[0] == 1
    assert was_here(denied[3])
    assert was_here(read_only[3])
    assert (vault / "Plan.md").read_text() == "# First\n## Second\n"

    with Serving(vault, "--read-only"):
        done = run(vault, *words)
    assert done[:2] == (0, "Appended to: Plan.md\n")
    assert was_here(done[3])
    with Serving(vault, "--policy", str(policy)):
        done = run(vault, *words)
    assert done[:2] == (0, "Appended to: Plan.md\n")
    assert was_here(done[3])


def test_only_a_fresh_code_of_this_server_lets_a_command_in(vault: Path) -> None:
    body = json.dumps({"words": ["read", "path=Home.md"], "vault": str(vault), "settings": []}).encode()
    with Serving(vault) as server:
        folder = desk_folder(os.environ["VAULTWIRE_STATE"])
        running = find(folder, [str(vault)])
        assert running is not None
        own = running.server
        origin = {"Origin": f"http://127.0.0.1:{server.port}"}

        def ask(code: str, headers: dict[str, str] = origin, body: bytes = body) -> int:
            return server.request("POST", "/desk/command", body, **{CODE_HEADER: code, **headers}).status

        assert ask("") == 403
        assert ask("x" * 500) == 403
        assert ask(new_code(folder, "another")) == 403
        assert ask(new_code(folder, own), {}) == 403
        assert ask(new_code(folder, own), {"Origin": "http://evil.example"}) == 403
        code = new_code(folder, own)
        assert ask(code) == 409
        assert ask(code) == 403
        for wrong in (b"", b"[]", b"{", b'{"words": 1}', b'{"words": ["read"], "vault": ["a"]}', b"\xff"):
            assert ask(new_code(folder, own), body=wrong) == 409


def test_a_server_that_ends_before_it_answers_is_told_and_the_command_is_not_run_twice(vault: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer_nothing() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)

        ending = threading.Thread(target=answer_nothing)
        ending.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        announcement = Announcement(desk_folder(os.environ["VAULTWIRE_STATE"]), Running("0" * 16, url, (str(vault),)))
        announcement.begin()
        try:
            code, out, err, _ = run(vault, "append", "path=Plan.md", "content=More")
        finally:
            announcement.end()
            ending.join()
    assert (code, out) == (2, "")
    assert "gave no answer" in err
    assert (vault / "Plan.md").read_text() == "# First\n## Second\n"


def test_where_no_server_is_any_more_the_command_runs_by_itself(vault: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    announcement = Announcement(desk_folder(os.environ["VAULTWIRE_STATE"]), Running("0" * 16, url, (str(vault),)))
    announcement.begin()
    try:
        assert run(vault, "read", "path=Folder/Deep.md")[:3] == (0, "deep\n\n", "")
    finally:
        announcement.end()
