"""``docs/team.md``: commands are understood, files are valid, the server does what they say."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from support.certificates import make_certificate
from support.serving import Serving
from support.vaults import write_vault
from vaultwire.cli.commands import make_parser
from vaultwire.trust.keys import Keys

ROOT = Path(__file__).resolve().parents[2]
TEAM = (ROOT / "docs" / "team.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = TEAM) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


LINES = [line for block in blocks("sh") for line in block.replace("\\\n", " ").splitlines()]
OURS = [line for line in LINES if line.startswith("vaultwire ")]
OURS += [line.replace("docker compose run --rm ", "") for line in LINES if "run --rm vaultwire " in line]
PEOPLE = ("anna", "ben", "carla", "dan", "nightly-script")


def test_the_pages_show_commands() -> None:
    assert len(OURS) >= 18


@pytest.mark.parametrize("line", OURS)
def test_a_command_is_understood(line: str) -> None:
    make_parser().parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize("line", [line for line in LINES if line not in OURS])
def test_another_command_is_one_that_a_shell_can_read(line: str) -> None:
    assert not subprocess.run(["sh", "-n", "-c", line], check=False).returncode
    if line.startswith("docker compose") and "vaultwire" in line:
        compose = yaml.safe_load((ROOT / "packaging" / "container" / "compose.yaml").read_text(encoding="utf-8"))
        assert "vaultwire" in compose["services"]


def test_the_variables_are_those_of_the_compose_file() -> None:
    compose = (ROOT / "packaging" / "container" / "compose.yaml").read_text(encoding="utf-8")
    (exported,) = (line for line in LINES if line.startswith("export VAULTWIRE_NOTES"))
    assert set(re.findall(r"(\w+)=", exported)) == set(re.findall(r"\$\{(VAULTWIRE_\w+)", compose))


def test_the_server_of_the_page_tells_the_five_people_apart(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "Notes", "=== Plan.md\nhello\n=== Board/Pay.md\nhello\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(blocks("toml")[0], encoding="utf-8")
    assert set(tomllib.loads(policy.read_text(encoding="utf-8"))["clients"]) <= set(PEOPLE)
    assert [line.split()[-1] for line in OURS if line.startswith("vaultwire keys issue")][:5] == list(PEOPLE)
    keys = {name: Keys(str(tmp_path / "state" / "keys")).issue(name) for name in PEOPLE}
    (line,) = (line for line in OURS if line.startswith("vaultwire service install") and "--policy" in line)
    given = [word.replace("~", str(tmp_path)) for word in shlex.split(line)[3:]]
    for name in ("--vault", "--port"):  # those of the test instead
        at = given.index(name)
        del given[at : at + 2]
    with Serving(vault, *given, VAULTWIRE_STATE=str(tmp_path / "state")) as server:

        def call(tool: str, arguments: dict[str, str], **headers: str) -> str:
            reply = server.call(tool, arguments, host="notes.example.org", **headers)
            return reply.body.decode() if reply.status != 401 else "401"

        assert call("search_notes", {"query": "hello"}) == "401"
        for key in keys.values():
            found = call("search_notes", {"query": "hello"}, authorization=f"Bearer {key}")
            assert "Plan.md" in found
            assert "Pay" not in found
        plan = {"path": "Plan.md"}
        for name in ("dan", "nightly-script"):
            assert "POLICY_DENIED" in call("delete_note", plan, authorization=f"Bearer {keys[name]}")
        assert "trash" in call("delete_note", plan, authorization=f"Bearer {keys['anna']}")
    for line in (line for line in OURS if line.startswith("vaultwire audit")):
        words = [word.replace("~", str(tmp_path)) for word in shlex.split(line)[1:]]
        done = subprocess.run([sys.executable, "-m", "vaultwire", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_entry_for_clients_is_json_with_the_address_of_the_page() -> None:
    (entry,) = blocks("json")
    server = json.loads(entry)["mcpServers"]["notes"]
    assert server["url"] == "https://notes.example.org/mcp"
    assert f'notes {server["url"]} --header "Authorization: Bearer KEY"' in TEAM


@pytest.mark.skipif(shutil.which("nginx") is None, reason="this computer has no nginx")
def test_nginx_takes_its_file(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    server = blocks("nginx")[0].replace("/etc/ssl/notes.pem", certificate).replace("/etc/ssl/notes.key", key)
    log = f"pid {tmp_path}/pid; error_log stderr;"
    (tmp_path / "nginx.conf").write_text(f"{log} events {{}}\nhttp {{ access_log off;\n{server}}}\n")
    checked = subprocess.run(
        ["nginx", "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.skipif(shutil.which("caddy") is None, reason="this computer has no caddy")
def test_caddy_takes_its_file(tmp_path: Path) -> None:
    (tmp_path / "Caddyfile").write_text(blocks("caddyfile")[0])
    checked = subprocess.run(
        ["caddy", "adapt", "--config", tmp_path / "Caddyfile", "--validate"],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
