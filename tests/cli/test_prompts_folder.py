"""Which folder of the vault the prompts come from: the option, the environment, and what cannot be one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.vaults import write_vault
from support.wire import envelope
from vaultwire.cli import clients
from vaultwire.cli.commands import make_parser
from vaultwire.config import ConfigError, make_config

LIST = {"jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": {"_meta": envelope()}}
OURS = 7
OPTIONS = [["--prompts", "Prompts"], ["--prompts=Prompts"], ["--read-only", "--prompts", "./Prompts/"]]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path, "=== Prompts/Mine.md\nhello\n=== Other/Yours.md\nhello\n")


def start(vault: Path, *options: str, variable: str | None = None) -> tuple[list[str], str]:
    """Start a server, list its prompts, and return the names behind ours and what it said on stderr."""
    environment = {key: value for key, value in os.environ.items() if key != "VAULTWIRE_PROMPTS"}
    if variable is not None:
        environment["VAULTWIRE_PROMPTS"] = variable
    ended = subprocess.run(
        [sys.executable, "-m", "vaultwire", "stdio", "--vault", str(vault), *options],
        input=json.dumps(LIST) + "\n",
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    prompts = json.loads(ended.stdout)["result"]["prompts"]
    return [prompt["name"] for prompt in prompts[OURS:]], ended.stderr


@pytest.mark.parametrize("options", OPTIONS)
def test_the_option_is_taken_in_every_spelling(vault: Path, options: list[str]) -> None:
    assert start(vault, *options) == (["mine"], "")


def test_the_environment_names_the_folder_and_the_option_goes_before_it(vault: Path) -> None:
    assert start(vault, variable="Prompts") == (["mine"], "")
    assert start(vault, "--prompts", "Other", variable="Prompts") == (["yours"], "")
    assert start(vault, "--prompts", "", variable="Prompts") == ([], "")
    assert start(vault, variable="") == ([], "")


def test_a_folder_that_is_not_there_yet_is_said_on_stderr_and_stops_nothing(vault: Path) -> None:
    names, errors = start(vault, "--prompts", "Nowhere")
    assert names == []
    assert errors == "vaultwire: there is no folder 'Nowhere' in the vault, so it gives no prompts yet\n"


@pytest.mark.parametrize(
    "folder", ["/", ".", "./", "..", "../other", "a/../b", ".hidden", "a/.b", "/absolute", "\\absolute", "C:/x", "c:x"]
)
def test_what_cannot_be_a_folder_in_the_vault_is_refused_at_the_start(vault: Path, folder: str) -> None:
    with pytest.raises(ConfigError, match="such as Prompts"):
        make_config(str(vault), prompts=folder)


def test_a_folder_is_kept_with_slashes_between_its_parts(vault: Path) -> None:
    assert make_config(str(vault), prompts="a\\b//c/").prompts == "a/b/c"


def test_a_clients_entry_names_the_folder(vault: Path) -> None:
    given = ["client-config", "cursor", "--vault", str(vault), "--prompts", "My prompts"]
    entry = clients.read_setup(make_parser().parse_args(given)).entry
    assert entry["args"] == ["stdio", "--vault", str(vault), "--prompts", "My prompts"]


def test_the_folder_of_skills_is_read_by_the_same_rules(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_SKILLS_FOLDER", "Of the environment")
    assert make_config(str(vault)).skills_folder == "Of the environment"
    assert make_config(str(vault), skills_folder="a\\b//c/").skills_folder == "a/b/c"
    assert make_config(str(vault), skills_folder="").skills_folder is None
    with pytest.raises(ConfigError, match="such as Skills"):
        make_config(str(vault), skills_folder="../other")
    names, errors = start(vault, "--skills-folder", "Nowhere")
    assert names == []
    assert errors == "vaultwire: there is no folder 'Nowhere' in the vault, so it gives no skills yet\n"
    given = ["client-config", "cursor", "--vault", str(vault), "--skills-folder", "My skills"]
    entry = clients.read_setup(make_parser().parse_args(given)).entry
    assert entry["args"] == ["stdio", "--vault", str(vault), "--skills-folder", "My skills"]
