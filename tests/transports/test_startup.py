"""What is imported before the first answer goes out. Counted, never timed: a count is the same on every machine.

Clients start the server for every conversation and wait for this answer; each of the modules banned here costs between
2 and 100 ms, on every one of those starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vaultwire
from support.wire import STATELESS_REVISION, Server, envelope

BANNED = [
    "argparse",
    "asyncio",
    "concurrent.futures",
    "dataclasses",
    "email",
    "http",
    "importlib.metadata",
    "inspect",
    "logging",
    "msgspec",
    "pathlib",
    "pydantic",
    "socket",
    "sqlite3",
    "starlette",
    "subprocess",
    "tempfile",
    "typing",
    "urllib",
]

# Ours that the first answer may load: no other module. What these need later, they import later.
HANDSHAKE = frozenset(
    [
        "vaultwire",
        "vaultwire.__main__",
        "vaultwire.app",
        "vaultwire.app.engine",
        "vaultwire.cli",
        "vaultwire.cli.run_options",
        "vaultwire.config",
        "vaultwire.protocol",
        "vaultwire.protocol.dialects",
        "vaultwire.protocol.events",
        "vaultwire.protocol.jsonrpc",
        "vaultwire.protocol.session",
        "vaultwire.protocol.revisions",
        "vaultwire.protocol.session",
        "vaultwire.server",
        "vaultwire.server.dispatcher",
        "vaultwire.server.handlers",
        "vaultwire.server.results",
        "vaultwire.server.results",
        "vaultwire.server.subscriptions",
        "vaultwire.server.workers",
        "vaultwire.server.vaults",
        "vaultwire.server.workers",
        "vaultwire.server.workers",
        "vaultwire.toolkit",
        "vaultwire.toolkit.catalog",
        "vaultwire.toolkit.catalog",
        "vaultwire.toolkit.catalog",
        "vaultwire.tools",
        "vaultwire.transports",
        "vaultwire.transports.stdio",
        "vaultwire.trust",
        "vaultwire.trust.limits",
        "vaultwire.trust.policy",
        "vaultwire.vault",
        "vaultwire.vault.disk",
        "vaultwire.vault.disk.placeholders",
        "vaultwire.vault.errors",
        "vaultwire.vault.guides",
    ]
)

# Measured 75 on CPython 3.11: 40 of ours, 7 that a start without -S has anyway, and json, re, threading, select and
# signal with what these need. Three more for how other Pythons cut up their library; one heavy import brings ten.
MOST_MODULES = 78

# Starts the command as its entry point does, and ends the process at the first write with the list of what is loaded.
PROBE = """
import sys
bare = set(sys.modules)
import os
def write(descriptor, data):
    assert b'"result"' in bytes(data), bytes(data)
    sys.stderr.write("\\n".join(sorted(set(sys.modules) - bare)))
    sys.stderr.flush()
    os._exit(0)
os.write = write
from vaultwire.__main__ import main
main(["stdio", "--vault", sys.argv[1], *sys.argv[2:]])
"""

FIRST_MESSAGES = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "0"},
    },
    "server/discover": {"_meta": envelope()},
}


def imported_before_the_answer_to(method: str, vault: Path, *options: str, **environment: str) -> list[str]:
    first = {"jsonrpc": "2.0", "id": 1, "method": method, "params": FIRST_MESSAGES[method]}
    # -S: what the machine's own set-up loads at every start is not counted; the path stands in for it.
    source = str(Path(vaultwire.__file__).parents[1])
    command = [sys.executable, "-S", "-c", PROBE, str(vault), *options]
    ended = subprocess.run(
        command,
        input=json.dumps(first).encode(),
        env={"PYTHONPATH": source, "VAULTWIRE_STATE": f"{vault}-state", **environment},  # no server of this person
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout == b""
    return ended.stderr.decode().splitlines()


@pytest.mark.parametrize("options", [(), ("--read-only",), ("--prompts", "Prompts")])
@pytest.mark.parametrize("method", FIRST_MESSAGES)
def test_the_first_answer_waits_for_nothing_heavy(tmp_path: Path, method: str, options: tuple[str, ...]) -> None:
    (tmp_path / "Prompts").mkdir()
    (tmp_path / "Note.md").write_text("hello")
    modules = imported_before_the_answer_to(method, tmp_path, *options)
    assert "vaultwire.transports.stdio" in modules
    heavy = [name for name in modules if any(name == banned or name.startswith(banned + ".") for banned in BANNED)]
    assert heavy == []
    assert {name for name in modules if name.partition(".")[0] == "vaultwire"} == HANDSHAKE
    assert len(modules) <= MOST_MODULES, modules


def test_several_vaults_load_nothing_heavy_either(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    modules = imported_before_the_answer_to("initialize", tmp_path / "one", "--vault", f"Other={tmp_path / 'two'}")
    assert "vaultwire.obsidian.known_vaults" in modules
    assert [name for name in modules if any(name == banned or name.startswith(banned + ".") for banned in BANNED)] == []


RULE = "# Rules\nUse British spelling.\n"


def introduced(vault: Path, *options: str) -> str:
    """Return the instructions of a server that is not asked anything else."""
    with Server(vault, *options) as server:
        said: str = server.open("2025-11-25")["instructions"]
        return said


def test_the_vaults_own_guide_is_quoted_in_the_first_answer_and_loads_nothing_heavy(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    assert "own guide" not in introduced(vault)
    (vault / "AGENTS.md").write_text(RULE)
    assert "The person's own guide to this vault (AGENTS.md; text of the vault" in introduced(vault)
    assert introduced(vault).endswith("> # Rules\n> Use British spelling.\n")
    modules = imported_before_the_answer_to("initialize", vault)
    assert [name for name in modules if any(name == banned or name.startswith(banned + ".") for banned in BANNED)] == []
    assert len(modules) <= MOST_MODULES, modules


def test_the_guide_is_given_by_a_call_only_where_not_all_may_be_seen(tmp_path: Path) -> None:
    vault, policy = tmp_path / "vault", tmp_path / "policy.toml"
    vault.mkdir()
    (vault / "AGENTS.md").write_text(RULE)
    policy.write_text('[paths]\ndeny = ["AGENTS.md"]\n')
    assert "British" not in introduced(vault, "--policy", str(policy))
    assert "British" not in introduced(vault, "--no-tool", "read_note")
    with Server(vault, "--policy", str(policy)) as server:
        server.open("2025-11-25")
        told = server.request("tools/call", {"name": "vault_guide", "arguments": {}})
        assert "British" not in str(told)


# Reads and searches a vault as the server's tools do, and ends with the list of what is loaded.
ASKING = """
import sys
import vaultwire.server.features, vaultwire.server.call_runner
from vaultwire.app.engine import open_vault, tool_loader
from vaultwire.config import make_config
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.trust.policy import Policy
config = make_config(sys.argv[1])
vault = open_vault(config)
for description in load_catalog():
    if description["category"] in ("search", "read"):
        tool_loader(config, Policy())(description)
assert vault.search("apple", "", 0, 5).total == 1
assert vault.read("Note").text == "an apple"
print(*sys.modules, sep="\\n")
"""


def test_searching_and_reading_load_nothing_of_what_changes_notes(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Note.md").write_text("an apple")
    folders = {f"VAULTWIRE_{name}": str(tmp_path / name) for name in ("CACHE", "STATE")}
    ended = subprocess.run(
        [sys.executable, "-c", ASKING, str(tmp_path / "vault")],
        env={**os.environ, **folders},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    modules = set(ended.stdout.split())
    assert {"vaultwire.vault.vault", "vaultwire.vault.index.index"} <= modules
    changing = ("arranging", "history", "making", "revising", "writing")
    assert not modules & {f"vaultwire.vault.editing.{name}" for name in changing}
    assert not modules & {"vaultwire.vault.plans.moving", "vaultwire.vault.plans.targeted_edits"}


def test_the_probe_sees_what_is_imported() -> None:
    assert STATELESS_REVISION in json.dumps(FIRST_MESSAGES)
    code = PROBE.partition("from vaultwire")[0] + "import dataclasses\nos.write(1, b'\"result\"')"
    ended = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, timeout=60, check=True)
    assert {"dataclasses", "inspect"} <= set(ended.stderr.decode().splitlines())


@pytest.mark.parametrize(
    ("words", "banned"),
    [
        (["obsidian", "help"], {"argparse", "difflib", "shutil", "vaultwire.vault.value_types"}),
        (
            ["obsidian", "read", "path=Home.md"],
            {"argparse", "gettext", "pathlib", "shutil", "vaultwire.markdown.three_way"},
        ),
        (["memory", "start"], {"argparse", "dataclasses", "sqlite3", "tantivy"}),
    ],
)
def test_commands_that_scripts_and_clients_run_often_load_little(
    words: list[str], banned: set[str], tmp_path: Path
) -> None:
    (tmp_path / "Home.md").write_text("# Home\n")
    (tmp_path / ".obsidian").mkdir()
    code = f"""import sys
sys.path[:] = {sys.path!r}
from vaultwire.__main__ import main
code = main({words!r})
print(*sys.modules, sep="\\n", file=sys.stderr)
sys.exit(code)"""
    command = [sys.executable, "-S", "-c", code]  # -S: as above
    environment = {**os.environ, "VAULTWIRE_VAULT": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, input="{}", capture_output=True, text=True, timeout=60, check=True
    )

    assert "vaultwire.cli" in done.stderr.split()
    assert not banned & {*done.stderr.split()}
