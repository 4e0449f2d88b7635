"""Rules that name tools: none is got round by a tool that does the same work under another name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.vaults import write_vault
from support.wire import Server
from vaultwire.toolkit.catalog import FORMER_NAMES, MORE, load_catalog
from vaultwire.trust.limits import Rates, TooOften
from vaultwire.trust.policy import Policy, ToolRules
from vaultwire.trust.policy_file import PolicyError, load_policy

READS = {"readOnlyHint": True}


@pytest.mark.parametrize(("named", "other"), [("read_notes", "read_note"), ("read_note", "read_notes")])
def test_a_rule_about_one_name_of_a_job_holds_for_the_other(named: str, other: str) -> None:
    assert not ToolRules(deny=(named,)).allows(other)
    assert ToolRules(allow=(named,)).allows(other)
    assert not ToolRules(allow=("*",), deny=(named,)).allows(other)


@pytest.mark.parametrize("former", FORMER_NAMES)
@pytest.mark.parametrize(
    "rule", ['[tools]\ndeny = ["{}"]', '[tools]\nallow = ["{}"]', '[[review]]\nmode = "hold"\ntools = ["{}"]']
)
def test_a_rule_that_names_a_former_tool_is_an_error_that_names_the_tool_of_now(
    tmp_path: Path, former: str, rule: str
) -> None:
    tools = [each["name"] for each in load_catalog()]
    assert FORMER_NAMES[former] in tools
    (tmp_path / "policy.toml").write_text(rule.format(former))
    with pytest.raises(PolicyError, match=rf"no tool '{former}'; {FORMER_NAMES[former]} does its work now"):
        load_policy(str(tmp_path / "policy.toml"), tools)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (
            '[tools]\ndeny = ["rename_*"]',
            "'rename_*' fits rename_tag, a former tool; rename does its work now: name rename",
        ),
        ('[clients.me]\ndeny = ["move-*", "move_notes"]', ""),
        ('[tools]\ndeny = ["*_note"]', "name read_notes, too"),
        ('[tools]\nallow = ["rename_*"]', ""),  # it allows less than it did
        ('[[review]]\nmode = "hold"\ntools = ["undo_c*e"]', "undo_changes does its work now"),
        ('[[review]]\nmode = "hold"\ntools = ["undo_c*"]', ""),
    ],
)
def test_a_pattern_that_fitted_a_former_tool_is_never_looser_than_it_was(
    tmp_path: Path, rule: str, complaint: str
) -> None:
    (tmp_path / "policy.toml").write_text(rule)
    tools = [each["name"] for each in load_catalog()]
    if not complaint:
        load_policy(str(tmp_path / "policy.toml"), tools)
        return
    with pytest.raises(PolicyError) as refused:
        load_policy(str(tmp_path / "policy.toml"), tools)
    assert complaint in str(refused.value)


def test_more_tools_may_be_called_unless_it_is_denied() -> None:
    changes = {"readOnlyHint": False}
    assert Policy(tools=ToolRules(allow=("search_notes",))).allows(changes, MORE)
    assert Policy(read_only=True).allows(changes, MORE)
    assert not Policy(tools=ToolRules(deny=(MORE,))).allows(changes, MORE)


def test_a_limit_of_one_tool_counts_the_calls_of_the_other() -> None:
    rates = Rates({"read_note": 2}, lambda: 0.0)
    rates.count(("a", ""), "read_notes", changes=False, also=["read_note"])
    rates.count(("a", ""), "read_note", changes=False)
    with pytest.raises(TooOften):
        rates.count(("a", ""), "read_notes", changes=False, also=["read_note"])
    rates.count(("b", ""), "read_notes", changes=False, also=["read_note"])


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
    ("read_notes", "read_note", {"path": "A"}),
    ("read_note", "list_changes", {"change": 1}),
    ("read_note", "list_changes", {"id": "1"}),
    ("read_note", "vault_guide", {}),
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
    with opened(vault, rules='[tools]\ndeny = ["write_note"]\n') as server:
        server.open("2025-11-25")
        assert not server.call("create_note", path="C", content="x")["isError"]


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
