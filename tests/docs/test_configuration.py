"""docs/configuration.md says of options, variables, files, rules and error codes what the program does."""

from __future__ import annotations

import ast
import fnmatch
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.pages.configuration_facts import (
    ALSO_IN_POLICY,
    CACHE,
    OWN_FILES,
    POLICY_KEYS,
    READ_SETTINGS,
    STATE,
    UserFolder,
)
from scripts.pages.environment import VARIABLES
from scripts.pages.error_codes import ERROR_CODES

from support.serving import Serving
from support.vaults import write_vault
from vaultwire import config
from vaultwire.cli.command_spec import specs_of
from vaultwire.cli.commands import make_parser
from vaultwire.trust.policy_file import TABLES
from vaultwire.trust.policy_rules import ReviewRule
from vaultwire.vault.settings.obsidian_settings import KEYS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "src" / "vaultwire").rglob("*.py"))}
SECTIONS = dict(
    zip(re.findall(r"^## (.*)$", PAGE, re.MULTILINE), re.split(r"^## .*$", PAGE, flags=re.MULTILINE)[1:], strict=True)
)
# Constants that look like error codes. CANCELLED is a status in the audit log.
NO_CODES = {"CANCELLED"}


def test_every_command_and_option_is_on_the_page() -> None:
    for spec in specs_of(make_parser()):
        assert not spec.words or f"#### vaultwire {spec.line}\n" in PAGE
        for option in spec.options:
            assert "-h" in option.spellings or re.search(rf"[`, ]{re.escape(option.spellings[-1])}[` ,]", PAGE), option


def test_an_option_stands_with_its_default_its_variable_and_its_rule() -> None:
    rows = re.findall(r"^\| `(--?[\w-]+).*$", PAGE, re.MULTILINE)
    assert set(ALSO_IN_POLICY) <= set(rows)
    assert set(ALSO_IN_POLICY.values()) <= set(POLICY_KEYS)
    assert re.search(r"^\| `--vault .*\| `VAULTWIRE_VAULT` \|$", PAGE, re.MULTILINE)
    assert re.search(r"^\| `--tools .*\| `standard` \|", PAGE, re.MULTILINE)
    assert re.search(r"^\| `--read-only` \|.*`read_only` \|$", PAGE, re.MULTILINE)


def test_the_page_has_the_variables_of_ours_that_the_source_reads_and_no_others() -> None:
    everything = [*SOURCES.values(), *(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.js"))]
    read = {name for text in everything for name in re.findall(r"VAULTWIRE_[A-Z_]*[A-Z]", text)}
    assert set(re.findall(r"VAULTWIRE_[A-Z_]*[A-Z]", PAGE)) == read
    assert {each.name for each in VARIABLES if each.name.startswith("VAULTWIRE_")} == read


def test_the_page_has_every_other_variable_that_the_source_reads() -> None:
    named = {each.name for each in VARIABLES}
    reading = re.compile(r"(?:environ\.get|environ\[|\bget|_xdg_folder)[(\[]?\(?\"([A-Z][A-Z_]{1,})\"")
    read = {name for text in SOURCES.values() for name in reading.findall(text)}
    assert read - named == set()
    assert all(re.search(rf"[\"']{name}[\"']", "".join(SOURCES.values())) for name in named)


@pytest.mark.parametrize(("platform", "system"), [("linux", "linux"), ("darwin", "macos"), ("win32", "windows")])
def test_the_folders_are_where_the_page_says(platform: str, system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("LOCALAPPDATA", "%LOCALAPPDATA%")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)

    def stated(folder: UserFolder) -> str:
        return str(getattr(folder, system)).replace("\\", "/")

    found = [folder.replace("\\", "/") for folder in config._user_folders()]
    assert found == [stated(CACHE), stated(STATE)]


def test_the_program_leaves_no_file_that_the_page_does_not_name(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "Notes", "=== Garden.md\nTomatoes.\n")
    (vault / ".obsidian").mkdir()
    folders = {name: tmp_path / name for name in OWN_FILES}
    own = {"VAULTWIRE_CACHE": str(folders["cache"]), "VAULTWIRE_STATE": str(folders["state"])}
    environment = {**os.environ, **own, "HOME": str(tmp_path)}
    for command in (
        ["call", "create_note", "path=X", "content=y", "--vault", str(vault)],
        ["search", "tomatoes", "--vault", str(vault)],
        ["keys", "issue", "phone"],
        ["keys", "issue", "laptop", "--desk"],
        ["plugin", "install", "--vault", str(vault)],
    ):
        subprocess.run([sys.executable, "-m", "vaultwire", *command], env=environment, check=True, capture_output=True)
    desk = [sys.executable, "-m", "vaultwire", "desk", "--no-browser", "--vault", str(vault)]
    with subprocess.Popen(desk, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
    with Serving(vault, "--ide", HOME=str(tmp_path), **own) as server:
        assert server.process.stdout is not None
        assert b"/ide list" in server.process.stdout.readline()  # the editor is ready after the server
        for is_used in (True, False):
            link = subprocess.run(desk, env=environment, check=True, capture_output=True, text=True).stdout.split()[-1]
            assert not is_used or server.request("GET", link.removeprefix(server.url)).status == 303
        left = {name: list(files_below(folder)) for name, folder in folders.items()}
    for name, files in OWN_FILES.items():
        assert left[name]
        for path in left[name]:
            assert any(fnmatch.fnmatch(path, f"{each.pattern}*") for each in files), path
        for each in files:
            assert any(fnmatch.fnmatch(path, f"{each.pattern}*") for path in left[name]), each.pattern


def files_below(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if not path.is_dir():
            yield path.relative_to(folder).as_posix()


def test_the_page_has_the_settings_of_obsidian_that_are_read() -> None:
    assert {name.removeprefix(".obsidian/") for name in READ_SETTINGS} == {*KEYS, "workspace.json"}


def test_the_page_has_every_key_of_the_policy_file() -> None:
    keys = {key for key in TABLES[""] if key not in TABLES and key != "clients"}
    keys |= {f"{table}.{key}" for table, members in TABLES.items() if table for key in members}
    keys |= {f"review.{key}" for key in ReviewRule._fields}
    keys -= {"review"}
    keys |= {f'clients."NAME".{key}' for key in TABLES["tools"]}
    assert set(POLICY_KEYS) == keys
    assert all(f"| `{key}` |" in SECTIONS["Keys of the policy file"] for key in keys)


def test_the_page_has_every_error_code_of_the_source_and_no_others() -> None:
    listed = [each.code for codes in ERROR_CODES.values() for each in codes]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(codes_in_source()) - NO_CODES
    assert all(f"| `{code}` |" in SECTIONS["Error codes"] for code in listed)


def codes_in_source() -> Iterator[str]:
    """Yield error codes: constants whose value is a name in capitals, and what stands where a code stands."""
    for text in SOURCES.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
                yield from code_of(node.value)
            elif isinstance(node, ast.Call) and node.args and getattr(node.func, "id", "") in ("VaultError", "Failure"):
                yield from code_of(node.args[0])
            elif isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "errorCode":
                        yield from code_of(value)


def code_of(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = re.fullmatch(r"[A-Z][A-Z0-9]{4,}(_[A-Z0-9]+)*|[A-Z0-9]+(_[A-Z0-9]+)+", node.value)
        if found and not node.value.startswith("VAULTWIRE_"):
            yield node.value
