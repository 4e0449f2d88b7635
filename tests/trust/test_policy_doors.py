"""A policy at the doors: what it hides comes out of none of them, and what is wrong with it is said before one opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.command_line import run_command as run
from support.serving import Serving
from support.vaults import snapshot, write_vault
from support.wire import REVISIONS, Server
from vaultwire.toolkit.catalog import load_catalog

MARK = "QXZ"
VAULT = """
=== Open.md
---
tags: [work]
---
See [[Plan]] and [[Diary]]. Apples.
=== Prompts/Ask.md
What of {{topic}}?
=== Prompts/Plot.md
---
private: true
---
QXZ prompt
=== Secret QXZ/Plan.md
---
tags: [QXZtag]
aliases: [QXZalias]
QXZproperty: QXZvalue
---
# QXZ heading
Apples QXZ and [[Open]]
- [ ] QXZ task
=== Diary.md
---
private: true
QXZproperty: 1
---
Apples, QXZ.
"""
POLICY = """
[paths]
deny = ["Secret*/"]
[private]
properties = ["private"]
[tools]
deny = ["delete_note"]
[clients.tests]
deny = ["vault_overview"]
"""
# What a client may ask without knowing a hidden name.
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("search_notes", {"query": "apples"}),
    ("search_notes", {"query": "q"}),
    ("find_notes", {}),
    ("find_notes", {"name": "p"}),
    ("list_notes", {}),
    ("vault_overview", {"what": "tags"}),
    ("find_notes", {"sort": "modified"}),
    ("vault_overview", {"what": "properties"}),
    ("list_tasks", {}),
    ("search_by_tags", {"tags": ["work"]}),
    ("list_changes", {}),
    ("list_links", {"what": "unresolved"}),
    ("list_links", {"what": "orphans"}),
    ("list_links", {"what": "neighbours", "path": "Open.md"}),
    ("list_links", {"path": "Open.md"}),
    ("list_links", {"path": "Open.md", "what": "in"}),
    ("read_note", {"path": "Open.md"}),
    ("read_note", {"path": "Plan"}),
    ("read_note", {"path": "Diary.md"}),
    ("read_notes", {"paths": ["Plan", "Diary", "Open"]}),
    ("read_notes", {"paths": ["Plan"], "part": "outline"}),
    ("move_notes", {"paths": ["Plan"], "to": "Other.md"}),
    ("write_note", {"path": "Diary.md", "content": "x", "mode": "overwrite"}),
    ("insert_template", {"path": "Open.md", "template": "Plan"}),
    ("undo_changes", {"changes": [1]}),
    # The same under other names, or in another form: no way past a rule.
    ("read_note", {"file": "Plan"}),
    ("read_note", {"name": "Diary.md", "heading": "x"}),
    ("read_note", {"notePath": "Plan"}),
    ("read_notes", {"paths": '["Plan", "Diary", "Open"]'}),
    ("read_notes", {"notes": "Diary"}),
    ("search_by_tags", {"tag": "work"}),
    ("list_tasks", {"note": "Plan", "limit": "5"}),
    ("find_notes", {"query": "p"}),
    ("move_notes", {"source": "Diary.md", "new_path": "Other.md"}),
    ("edit_note", {"note": "Diary.md", "old_text": "Apples", "new_text": "Pears"}),
    ("set_properties", {"file": "Diary.md", "properties": {"status": "done"}}),
    ("insert_template", {"note": "Open.md", "template_name": "Plan"}),
    ("undo_changes", {"id": "1"}),
]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    place = tmp_path / "policy.toml"
    place.write_text(POLICY)
    return place


def test_nothing_hidden_comes_over_stdio(vault: Path, policy: Path) -> None:
    before = snapshot(vault)
    with Server(vault, "--policy", str(policy), "--prompts", "Prompts") as server:
        said = [server.open("2025-11-25")]
        said += [server.request("tools/call", {"name": tool, "arguments": given}) for tool, given in ASKED]
        said += [server.request(method) for method in ("resources/list", "resources/templates/list", "prompts/list")]
        for path in ("Diary.md", "Prompts/Plot.md", "Secret/Plan.md"):
            answer = server.request("resources/read", {"uri": f"obsidian://vault/vault/{path}"})
            assert answer["error"]["code"] == -32002
            said.append(answer)
        said.append(server.request("prompts/get", {"name": "find_related", "arguments": {"path": "Open"}}))
        for value in ("", "q", "p"):
            reference = {"type": "ref/prompt", "name": "find_related"}
            argument = {"name": "path", "value": value}
            said.append(server.request("completion/complete", {"ref": reference, "argument": argument}))
        code, _, errors = server.close()
    assert code == 0
    assert "Prompts/Ask.md" in json.dumps(said)
    assert MARK not in json.dumps(said)
    assert MARK not in errors.decode()
    assert snapshot(vault) == before


WRITES: list[tuple[str, dict[str, Any]]] = [
    ("write_note", {"path": "Inbox/../Closed/New.md", "content": "x"}),
    ("write_note", {"file": "Closed/New.md", "text": "x"}),
    ("create_note", {"notePath": "Closed/New.md"}),
    ("move_notes", {"paths": ["Inbox/A.md"], "to": "Closed/A.md"}),
    ("move_notes", {"paths": ["Inbox/A.md"], "new_path": "Closed/A.md"}),
    ("move_notes", {"from": "Closed/B.md", "destination": "Inbox/B.md"}),
    ("edit_note", {"note": "Closed/B.md", "edits": '[{"action": "append", "content": "x"}]'}),
    ("edit_note", {"note": "Closed/B.md", "action": "append", "content": "x"}),
    ("set_properties", {"file": "Closed/B.md", "properties": {"status": "done"}}),
    ("set_properties", {"file": "Closed/B.md", "unset": "status"}),
    ("merge_notes", {"from": "Inbox/A.md", "into": "Closed/B.md"}),
    ("extract_section", {"note": "Inbox/A.md", "heading": "H", "target": "Closed/New.md"}),
    ("delete_note", {"note": "Closed/B.md"}),
]


def test_what_may_not_be_changed_is_not_changed_under_another_name(vault: Path, policy: Path) -> None:
    policy.write_text('[paths]\nwrite = ["/Inbox/"]\n')
    write_vault(vault, "=== Inbox/A.md\n# H\ntext\n=== Closed/B.md\n---\nstatus: new\n---\ntext\n")
    before = snapshot(vault)
    with Server(vault, "--policy", str(policy)) as server:
        server.open("2025-11-25")
        for tool, given in WRITES:
            result = server.request("tools/call", {"name": tool, "arguments": given})["result"]
            assert result["_meta"]["errorCode"] in ("POLICY_DENIED", "PATH_OUTSIDE_VAULT"), (tool, given, result)
        assert snapshot(vault) == before
        assert not server.call("move_notes", paths=["Inbox/A.md"], new_path="Inbox/C.md")["isError"]
    assert (vault / "Inbox/C.md").exists()


def test_nothing_hidden_comes_over_rest(vault: Path, policy: Path) -> None:
    with Serving(vault, "--policy", str(policy), "--prompts", "Prompts", "--metrics") as server:
        said = [server.call(tool, given).body for tool, given in ASKED]
        said += [server.request("GET", path).body for path in ("/bridge/v1/tools", "/health", "/metrics")]
        assert b"Prompts/Ask.md" in b"".join(said)
        assert MARK.encode() not in b"".join(said)
        _, output, errors = server.end(15)
    assert MARK not in output + errors


def names_of(server: Server) -> set[str]:
    return {tool["name"] for tool in server.request("tools/list")["result"]["tools"]}


def test_tools_are_those_of_the_client(vault: Path, policy: Path) -> None:
    with Server(vault, "--policy", str(policy)) as server:
        server.open("2025-11-25")  # as a client named "tests"
        with Server(vault) as free:
            free.open("2025-11-25")
            assert names_of(free) - names_of(server) == {"delete_note", "vault_overview"}
            assert names_of(server) <= names_of(free)
        for name in ("delete_note", "vault_overview"):
            result = server.request("tools/call", {"name": name, "arguments": {"path": "Open.md"}})["result"]
            assert result["isError"]
            assert result["_meta"]["errorCode"] == "POLICY_DENIED"
        unknown = server.request("tools/call", {"name": "nothing", "arguments": {}})
        assert "vault_overview" not in unknown["error"]["message"]
    with Serving(vault, "--policy", str(policy)) as other:
        assert other.call("vault_overview", {}).status == 200
        assert "POLICY_DENIED" in other.call("delete_note", {"path": "Open.md"}).json["content"][0]["text"]


def test_a_policy_may_make_a_run_read_only(vault: Path, policy: Path) -> None:
    policy.write_text("read_only = true\n")
    with Server(vault, "--policy", str(policy)) as server:
        assert "read-only" in server.open("2025-11-25")["instructions"]
        hints = {each["name"]: each["annotations"]["readOnlyHint"] for each in load_catalog()}
        assert "read_notes" in names_of(server)
        assert all(hints[name] for name in names_of(server) - {"more_tools"})


def test_sizes_hold_at_the_door(vault: Path, policy: Path) -> None:
    policy.write_text("[sizes]\nnote = 100\nattachment = 10\n")
    (vault / "x.pdf").write_bytes(b"x" * 20)
    with Server(vault, "--policy", str(policy)) as server:
        server.open("2025-11-25")
        result = server.call("write_note", path="Long.md", content="x" * 101)
        assert result["_meta"]["errorCode"] == "TOO_LARGE"
        answer = server.request("resources/read", {"uri": "obsidian://vault/vault/x.pdf"})
        assert answer["error"]["data"]["errorCode"] == "TOO_LARGE"


# ---------------------------------------------------------------------- the command line


@pytest.mark.parametrize("command", ["stdio", "serve"])
def test_with_a_wrong_policy_nothing_is_served(vault: Path, policy: Path, command: str) -> None:
    policy.write_text("[paths]\ndenny = []\n")
    for finished in (
        run(command, "--vault", str(vault), "--policy", str(policy)),
        run(command, "--vault", str(vault), VAULTWIRE_POLICY=str(policy)),
    ):
        assert (finished.returncode, finished.stdout) == (2, "")
        assert finished.stderr == f"vaultwire: {policy}:2: unknown 'denny' in [paths]; did you mean 'deny'?\n"


def test_check_says_what_a_policy_comes_to_or_what_is_wrong(policy: Path) -> None:
    finished = run("policy", "check", str(policy))
    assert finished.returncode == 0
    assert "- deny: Secret*/\n" in finished.stdout
    policy.write_text("x = 1\n")
    finished = run("policy", "check", str(policy))
    assert (finished.returncode, finished.stdout) == (1, "")
    assert f"{policy}:1: unknown 'x'" in finished.stderr


def test_explain_names_the_rule_that_decides(vault: Path, policy: Path) -> None:
    def explain(*arguments: str) -> tuple[int, str]:
        finished = run("policy", "explain", "--policy", str(policy), *arguments)
        return finished.returncode, finished.stdout

    code, said = explain("read_note", "Secret/Plan.md")
    assert code == 1
    assert said.splitlines()[0] == "read_note Secret/Plan.md: not allowed"
    assert f'it is denied: deny has "Secret*/" ({policy}:3)' in said
    code, said = explain("delete-note", "Open.md")
    assert (code, "- the tool: [tools] denies it" in said) == (1, True)
    assert explain("read_note", "Diary.md")[0] == 0
    code, said = explain("read_note", "Diary.md", "--vault", str(vault))
    assert (code, "private by its text" in said) == (1, True)
    assert explain("read_note", "Open.md", "--vault", str(vault))[0] == 0
    assert explain("vault_overview", "Open.md", "--client", "tests")[0] == 1
    assert run("policy", "explain", "--policy", str(policy), "no_tool", "Open.md").returncode == 2
    assert run("policy", "explain", "--policy", str(policy), "read_note", "../x.md").returncode == 2


def test_doctor_and_the_clients_entry_name_the_policy(vault: Path, policy: Path) -> None:
    given = ["--vault", str(vault), "--policy", str(policy)]
    assert f"Policy\n  {policy}\n" in run("doctor", *given).stdout
    entry = json.loads(run("client-config", "cursor", *given).stdout)
    assert entry["mcpServers"]["vaultwire"]["args"][-2:] == ["--policy", str(policy)]


# ---------------------------------------------------------------------- what is offered besides tools


def offered(server: Server, root: str) -> dict[str, Any]:
    """Return what each request besides tools answers: its result, or its error."""
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "resources": ("resources/list", {}),
        "read": ("resources/read", {"uri": f"{root}Open.md"}),
        "read missing": ("resources/read", {"uri": f"{root}None.md"}),
        "prompts": ("prompts/list", {}),
        "summary": ("prompts/get", {"name": "summarize_note", "arguments": {"path": "Open"}}),
        "review": ("prompts/get", {"name": "daily_review"}),
    }
    references = {"note": ("ref/prompt", "name", "summarize_note", "path")}
    if root.startswith("obsidian://vault/vault/"):
        references["file"] = ("ref/resource", "uri", f"{root}{{+path}}", "path")
        references["tag"] = ("ref/prompt", "name", "sort", "tag")
        references["property"] = ("ref/prompt", "name", "sort", "property")
        references["base"] = ("ref/prompt", "name", "show", "base")
        asked["prompt"] = ("prompts/get", {"name": "sort", "arguments": {"tag": "x", "property": "x"}})
    for name, (kind, key, value, argument) in references.items():
        reference = {"type": kind, key: value}
        asked[name] = ("completion/complete", {"ref": reference, "argument": {"name": argument, "value": ""}})
    answers = {name: server.request(method, params) for name, (method, params) in asked.items()}
    return {name: answer.get("result", answer.get("error")) for name, answer in answers.items()}


def names_in(answer: dict[str, Any]) -> set[str]:
    """Return what a list of resources, prompts or completions names."""
    if "completion" in answer:
        return set(answer["completion"]["values"])
    (names,) = ({each["name"] for each in answer[kind]} for kind in ("resources", "prompts") if kind in answer)
    return names


@pytest.fixture
def offering(vault: Path) -> Path:
    (vault / "Prompts" / "Sort.md").write_text("Sort the zebras by {{tag}} and {{property}}")
    (vault / "Prompts" / "Show.md").write_text("Show {{base}}")
    (vault / "Zoo.base").write_text("views:\n  - {type: table, name: All}\n")
    (vault / "Open.md").write_text("---\ntags: [work]\nstatus: x\n---\nThe zebras.")
    return vault


@pytest.mark.parametrize("revision", REVISIONS)
def test_who_may_not_read_notes_gets_no_text_of_them_by_another_way(
    offering: Path, policy: Path, revision: str
) -> None:
    policy.write_text('[clients.tests]\nallow = ["list_*", "search_*"]\n')
    with Server(offering, "--policy", str(policy), "--prompts", "Prompts") as server:
        server.open(revision)
        said = offered(server, "obsidian://vault/vault/")
    assert "zebra" not in json.dumps(said)
    for name in ("read", "read missing", "summary", "review", "prompt"):
        assert said[name]["data"]["errorCode"] == "POLICY_DENIED"
        assert "does not allow read_note" in said[name]["message"]
    assert said["read"]["message"] == said["read missing"]["message"]
    assert names_in(said["prompts"]) == names_in(said["tag"]) == set()
    assert "Open.md" in names_in(said["resources"]) & names_in(said["file"])


@pytest.mark.parametrize("revision", REVISIONS)
def test_who_may_not_list_notes_gets_no_list_by_another_way(offering: Path, policy: Path, revision: str) -> None:
    policy.write_text('[tools]\ndeny = ["list_notes", "vault_overview"]\n')
    with Server(offering, "--policy", str(policy), "--prompts", "Prompts") as server:
        server.open(revision)
        said = offered(server, "obsidian://vault/vault/")
    for name in ("resources", "file", "note", "tag", "base"):
        assert names_in(said[name]) == set(), name
    assert said["review"]["data"]["errorCode"] == "POLICY_DENIED"
    assert names_in(said["prompts"]) == {
        "summarize_note",
        "find_related",
        "prepare_meeting",
        "ask",
        "plot",
        "sort",
        "show",
    }
    assert names_in(said["property"]) == set()
    assert "zebras" in json.dumps(said["read"])
    assert "zebras" in json.dumps(said["summary"])


def test_of_several_vaults_the_same_is_offered(offering: Path, policy: Path, tmp_path: Path) -> None:
    policy.write_text('[tools]\ndeny = ["read_note", "list_notes"]\n')
    other = write_vault(tmp_path / "other", "=== Zebra.md\nzebra\n")
    with Server(offering, "--vault", str(other), "--policy", str(policy), "--prompts", "Prompts") as server:
        server.open("2025-11-25")
        said = offered(server, "obsidian://vault/other/")
    assert "zebra" not in json.dumps(said).lower()
