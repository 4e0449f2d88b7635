"""``--backend``: the family is there when it is asked for, and nothing is different when it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from scripts.pages.schema import describe

from support.obsidian_app import Computer
from support.serving import Serving
from support.wire import Server
from vaultwire.cli import main
from vaultwire.obsidian.command import Backend
from vaultwire.toolkit.catalog import APP_CATALOG, EVAL, load_catalog
from vaultwire.tools.obsidian_cli.family import make_family

ROOT = Path(__file__).resolve().parents[2]
FAMILY = {tool.name: describe(tool) for tool in make_family(Backend)}


@contextmanager
def server(notes: Path, *options: str) -> Iterator[Server]:
    with Server(notes, "--structured", *options) as opened:
        opened.open("2025-11-25")
        yield opened


def listed(opened: Server) -> list[str]:
    return [tool["name"] for tool in opened.request("tools/list")["result"]["tools"]]


def data(opened: Server, tool: str, **arguments: Any) -> Any:
    return opened.call(tool, **arguments)["structuredContent"]


def code(opened: Server, tool: str, **arguments: Any) -> Any:
    result = opened.call(tool, **arguments)
    assert result["isError"]
    return result["_meta"]["errorCode"]


def test_without_the_option_nothing_is_different(computer: Computer, notes: Path) -> None:
    with server(notes) as opened:
        assert listed(opened)
        assert not set(listed(opened)) & set(FAMILY)


@pytest.mark.parametrize("choice", ["files", "auto"])
def test_the_family_works_without_the_app(computer: Computer, notes: Path, choice: str) -> None:
    with server(notes, "--backend", choice) as opened:
        assert set(FAMILY) - set(listed(opened)) == {EVAL}
        assert data(opened, "obsidian_create_note", name="New", content="text") == {"path": "New.md", "created": True}
        assert data(opened, "obsidian_read_note", file="new") == {"path": "New.md", "content": "text"}
        assert code(opened, "obsidian_open_note", file="New") == "OBSIDIAN_NOT_RUNNING"
        assert code(opened, "obsidian_read_note", file="Same") == "AMBIGUOUS_NAME"
        assert "undo_changes" in listed(opened)
    assert (notes / "New.md").read_text() == "text"


def test_the_app_that_runs_is_used(running: Computer, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_OBSIDIAN", running.command)
    with server(notes, "--backend", "auto") as opened:
        assert data(opened, "obsidian_open_note", file="Home") == {"path": "Home.md"}
        running.stop_app()
        assert code(opened, "obsidian_open_note", file="Home") == "OBSIDIAN_NOT_RUNNING"
        assert data(opened, "obsidian_outline", file="Home")["headings"]
    assert [call[1] for call in running.calls()] == ["vault", "open"]


def test_the_app_alone_says_when_it_does_not_run(computer: Computer, notes: Path) -> None:
    computer.know(notes)
    with server(notes, "--backend", "app") as opened:
        assert code(opened, "obsidian_outline", file="Home") == "OBSIDIAN_NOT_RUNNING"
        assert "Home" in str(opened.call("read_note", path="Home"))


def test_read_only_holds_for_the_family(computer: Computer, notes: Path) -> None:
    with server(notes, "--backend", "files", "--read-only") as opened:
        names = set(listed(opened)) & set(FAMILY)
        assert names == {name for name, each in FAMILY.items() if each["annotations"]["readOnlyHint"]}
        assert code(opened, "obsidian_append_note", file="Home", content="x") == "POLICY_DENIED"


@pytest.mark.parametrize(
    ("rules", "is_offered"),
    [
        ("[tools]\nallow = ['*', 'obsidian_eval']\n", True),
        ("[tools]\nallow = ['*']\n", False),
        ("[tools]\nallow = ['obsidian_*']\n", False),
        ("[clients.someone]\nallow = ['obsidian_eval']\n", False),
        ("read_only = false\n", False),
    ],
)
def test_code_runs_only_if_the_policy_names_it(
    computer: Computer, notes: Path, tmp_path: Path, rules: str, is_offered: bool
) -> None:
    (tmp_path / "policy.toml").write_text(rules)
    with server(notes, "--backend", "files", "--policy", str(tmp_path / "policy.toml")) as opened:
        assert (EVAL in listed(opened)) is is_offered
        if is_offered:
            assert code(opened, EVAL, code="1") == "OBSIDIAN_NOT_RUNNING"
        else:
            asked = opened.request("tools/call", {"name": EVAL, "arguments": {"code": "1"}})
            assert asked.get("error", asked.get("result", {}).get("isError"))


def test_a_choice_that_is_none_is_refused(notes: Path) -> None:
    with Server(notes, "--backend", "cloud") as opened:
        exit_code, _, errors = opened.close()
        assert exit_code == 2
        assert b"auto" in errors


def test_what_is_listed_is_what_the_code_says() -> None:
    assert load_catalog(APP_CATALOG) == [*FAMILY.values()]


def test_schemas_stay_inside_what_every_client_accepts() -> None:
    ours = {each["name"] for each in load_catalog()}
    for name, each in FAMILY.items():
        assert name not in ours
        assert len(each["description"]) > 20
        for side in ("inputSchema", "outputSchema"):
            jsonschema.Draft7Validator.check_schema(each[side])
            jsonschema.Draft202012Validator.check_schema(each[side])
            assert each[side]["additionalProperties"] is False
            assert "anyOf" not in json.dumps(each[side])


def test_the_page_lists_every_tool() -> None:
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(obsidian_\w+)` \|", page, re.MULTILINE) == [*FAMILY]


def test_each_vault_has_its_own_backend(
    running: Computer, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Other").mkdir()
    (tmp_path / "Other" / "Home.md").write_text("- [ ] Other\n")
    monkeypatch.setenv("VAULTWIRE_OBSIDIAN", running.command)
    with server(notes, "--vault", str(tmp_path / "Other"), "--backend", "auto") as opened:
        assert data(opened, "obsidian_tasks", file="Home")["total"] == 2
        assert data(opened, "obsidian_tasks", file="Home", vault="Other")["total"] == 1
        assert data(opened, "obsidian_open_note", file="Home") == {"path": "Home.md"}
        assert code(opened, "obsidian_open_note", file="Home", vault="Other") == "OBSIDIAN_NOT_RUNNING"
    assert [call[1] for call in running.calls()] == ["vault", "open"]


def test_a_client_s_entry_has_the_option(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["client-config", "cursor", "--vault", str(notes), "--backend", "auto"]) == 0
    assert json.loads(capsys.readouterr().out)["mcpServers"]["vaultwire"]["args"][-2:] == ["--backend", "auto"]


def test_the_family_is_there_over_http(running: Computer, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_OBSIDIAN", running.command)
    with Serving(notes, "--backend", "app") as served:
        assert "Tasks" in str(served.call("obsidian_outline", {"file": "Home"}).json["content"])
        assert "tabs" in str(served.call("obsidian_workspace", {}).json["content"])
    assert [call[1] for call in running.calls()] == ["vault", "workspace"]
