"""Rules that name tools: none is got round by a tool that does the same work under another name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.vaults import write_vault
from support.wire import Server
from vaultwire.toolkit.tool_sets import COVERS, MORE
from vaultwire.trust.policy import Policy, ToolRules
from vaultwire.trust.rates import Rates, TooOften

READS = {"readOnlyHint": True}


@pytest.mark.parametrize(("tool", "covered"), [(tool, each) for tool, names in COVERS.items() for each in names])
def test_a_rule_about_a_tool_holds_for_those_that_do_its_work(tool: str, covered: str) -> None:
    assert not ToolRules(deny=(covered,)).allows(tool)
    assert ToolRules(allow=(covered,)).allows(tool) is (len(COVERS[tool]) == 1)
    assert ToolRules(allow=COVERS[tool]).allows(tool)
    assert not ToolRules(allow=COVERS[tool], deny=(covered,)).allows(tool)


@pytest.mark.parametrize("tool", COVERS)
def test_to_name_a_tool_is_to_name_all_whose_work_it_does(tool: str) -> None:
    for each in (tool, *COVERS[tool]):
        assert ToolRules(allow=(tool,)).allows(each)
        assert not ToolRules(deny=(tool,)).allows(each)
        assert ToolRules(allow=("*",)).allows(each)


def test_a_pattern_allows_a_tool_only_if_it_allows_all_whose_work_it_does() -> None:
    rules = ToolRules(allow=("read_*",))
    assert [rules.allows(name) for name in ("read_note", "read_many", "read_notes", "get_outline")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_more_tools_may_be_called_unless_it_is_denied() -> None:
    changes = {"readOnlyHint": False}
    assert Policy(tools=ToolRules(allow=("search_notes",))).allows(changes, MORE)
    assert Policy(read_only=True).allows(changes, MORE)
    assert not Policy(tools=ToolRules(deny=(MORE,))).allows(changes, MORE)


def test_a_limit_of_one_tool_counts_the_calls_of_the_other() -> None:
    rates = Rates({"read_note": 2}, lambda: 0.0)
    rates.count("a", "read_notes", changes=False, also=["read_note"])
    rates.count("a", "read_note", changes=False)
    with pytest.raises(TooOften):
        rates.count("a", "read_notes", changes=False, also=["read_note"])
    rates.count("b", "read_notes", changes=False, also=["read_note"])


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== A.md\nSee [[B]]. #tag\n=== B.md\nText.\n")


def opened(vault: Path, *options: str, rules: str = "") -> Server:
    if rules:
        (vault.parent / "policy.toml").write_text(rules)
        options = (*options, "--policy", str(vault.parent / "policy.toml"))
    return Server(vault, *options)


def code_of(result: dict[str, Any]) -> str:
    return str(result["_meta"].get("errorCode", ""))


DENIED: list[tuple[str, str, dict[str, Any]]] = [
    ("read_note", "read_notes", {"paths": ["A"]}),
    ("daily_note", "read_notes", {"paths": ["today"]}),
    ("list_tags", "vault_overview", {"what": "tags"}),
    ("move_note", "move_notes", {"paths": ["A"], "to": "C"}),
    ("rename_tag", "rename", {"what": "tag", "old": "tag", "new": "new"}),
    ("undo_change", "undo_changes", {"changes": [1]}),
    ("list_backlinks", "list_links", {"path": "B", "what": "in"}),
    ("list_backlinks", "list_links", {"path": "B", "what": "IN"}),
    ("graph", "list_links", {"what": "hubs"}),
    ("show_change", "list_changes", {"change": 1}),
    ("show_change", "list_changes", {"id": "1"}),
    ("remove_properties", "set_properties", {"paths": ["A"], "remove": ["x"]}),
    ("write_note", "create_note", {"path": "A", "content": "x", "if_exists": "append"}),
    ("write_note", "create_note", {"path": "A", "content": "x", "mode": "Overwrite"}),
]


@pytest.mark.parametrize(("denied", "tool", "arguments"), DENIED)
@pytest.mark.parametrize("through", [True, False], ids=["through more_tools", "called"])
def test_an_old_rule_lets_nothing_through_by_a_new_name(
    vault: Path, denied: str, tool: str, arguments: dict[str, Any], through: bool
) -> None:
    before = {path.name: path.read_bytes() for path in vault.glob("*.md")}
    with opened(vault, rules=f'[tools]\ndeny = ["{denied}"]\n') as server:
        server.open("2025-11-25")
        call = (MORE, {"tool": tool, "arguments": arguments}) if through else (tool, arguments)
        result = server.call(call[0], **call[1])
        assert (result["isError"], code_of(result)) == (True, "POLICY_DENIED")
    assert {path.name: path.read_bytes() for path in vault.glob("*.md")} == before


@pytest.mark.parametrize(("removed", "tool", "arguments"), DENIED)
def test_a_tool_that_was_removed_does_not_run_by_a_new_name(
    vault: Path, removed: str, tool: str, arguments: dict[str, Any]
) -> None:
    with opened(vault, "--no-tool", removed) as server:
        server.open("2025-11-25")
        answer = server.request("tools/call", {"name": tool, "arguments": arguments})
        assert "error" in answer or code_of(answer["result"]) == "POLICY_DENIED"


def test_what_else_the_tool_does_is_still_allowed(vault: Path) -> None:
    with opened(vault, rules='[tools]\ndeny = ["list_backlinks", "write_note"]\n') as server:
        server.open("2025-11-25")
        assert not server.call("list_links", path="A")["isError"]
        assert not server.call("create_note", path="C", content="x")["isError"]


@pytest.mark.parametrize("how", ["policy", "option"])
def test_where_a_tool_may_not_be_used_those_that_may_are_listed_in_its_place(vault: Path, how: str) -> None:
    rules = '[tools]\ndeny = ["daily_note"]\n' if how == "policy" else ""
    with opened(vault, *(["--no-tool", "daily_note"] if not rules else []), rules=rules) as server:
        instructions = server.open("2025-11-25")["instructions"]
        names = {tool["name"] for tool in server.request("tools/list")["result"]["tools"]}
        assert {"read_note", "read_many", "get_outline", MORE} <= names
        assert not {"read_notes", "daily_note"} & names
        assert "daily_note" not in instructions
        answer = server.request("tools/call", {"name": "read_notes", "arguments": {"paths": ["A"]}})
        assert "error" in answer or answer["result"]["isError"]


@pytest.mark.parametrize("how", ["policy", "option"])
def test_a_guide_is_given_to_those_only_who_may_read_notes(vault: Path, how: str) -> None:
    write_vault(vault, "=== AGENTS.md\nRoot rule.\n=== Sub/AGENTS.md\nSub rule.\n")
    rules, options = ('[tools]\ndeny = ["read_note"]\n', ()) if how == "policy" else ("", ("--no-tool", "read_note"))
    with opened(vault, *options, rules=rules) as server:
        server.open("2025-11-25")
        told = [server.call("vault_guide"), server.call("create_note", path="Sub/New", content="x")]
    assert "Root rule" not in repr(told[0])
    assert ("Sub rule" in repr(told[1]), told[1].get("isError", False)) == (False, False)


def test_more_tools_is_denied_as_any_tool_is(vault: Path) -> None:
    with opened(vault, rules=f'[tools]\ndeny = ["{MORE}"]\n') as server:
        instructions = server.open("2025-11-25")["instructions"]
        assert MORE not in instructions
        names = {tool["name"] for tool in server.request("tools/list")["result"]["tools"]}
        assert MORE not in names
        result = server.call(MORE, tool="read_note", arguments={"path": "A"})
        assert code_of(result) == "POLICY_DENIED"


def test_more_tools_shows_and_runs_only_what_is_allowed(vault: Path) -> None:
    with opened(vault, "--read-only") as server:
        server.open("2025-11-25")
        text = server.call(MORE)["content"][0]["text"]
        assert "merge_notes" not in text
        assert "read_note" in text
        result = server.call(MORE, tool="merge_notes", arguments={"source": "A", "target": "B"})
        assert code_of(result) == "POLICY_DENIED"
