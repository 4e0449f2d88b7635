"""The policy's file: every rule read, everything wrong refused with its line, and each decision said with its rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.calls import DESCRIPTIONS
from vaultwire.trust.policy import Policy, ToolRules
from vaultwire.trust.policy_file import (
    TABLES,
    LoadedPolicy,
    PolicyError,
    describe,
    explain_path,
    explain_tool,
    load_policy,
    to_text,
)
from vaultwire.vault.disk.files import Files

WHOLE = """\
read_only = false
symlinks = true

[paths]
read = ["/Work/", "Public.md"]
write = ["/Work/Inbox/", ".obsidian/snippets/"]
deny = [
  "Secret/",
  "*.key.md",
  "!open.key.md",
]
types = ["md", ".PNG"]

[private]
tags = ["#private"]
properties = ["private", "status=draft"]

[sizes]
note = 1000
attachment = 2000

[tools]
deny = ["delete-note", "rename"]

[clients."Claude Desktop"]
allow = ["read_note", "search_notes"]

[clients."*"]
deny = ["search_notes"]

[network]
hosts = ["Example.org", "*.example.com"]
"""


def load(folder: Path, text: str) -> LoadedPolicy:
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    return load_policy(str(folder / "policy.toml"), DESCRIPTIONS)


@pytest.fixture
def whole(tmp_path: Path) -> LoadedPolicy:
    return load(tmp_path, WHOLE)


@pytest.mark.parametrize(
    ("path", "seen", "changed"),
    [
        ("Work/A.md", True, False),
        ("Work/Inbox/A.md", True, True),
        ("WORK/inbox/a.MD", True, True),
        ("Work/Inbox/A.png", True, True),
        ("Work/Inbox/A.pdf", False, False),
        ("Deep/public.md", True, False),
        ("Other.md", False, False),
        ("Work/Secret/A.md", False, False),
        ("Work/secret./A.md", False, False),
        ("Work/Inbox/My.KEY.md", False, False),
        ("Work/Inbox/open.key.md", True, True),
        ("Work/Inbox/.hidden/A.md", True, False),
    ],
)
def test_paths_are_decided_by_deny_then_type_then_the_lists(
    whole: LoadedPolicy, path: str, *, seen: bool, changed: bool
) -> None:
    assert whole.paths is not None
    assert whole.paths.sees(path) is seen
    assert whole.paths.may_change(path) is changed


def test_hidden_files_are_changed_only_where_a_rule_names_them(tmp_path: Path) -> None:
    for text, changed in (("", False), ('[paths]\nwrite = ["*"]', False), ('[paths]\nwrite = ["/.obsidian/"]', True)):
        rules = load(tmp_path, text).paths
        assert rules is not None
        assert rules.may_change(".obsidian/app.json") is changed
        assert rules.may_change(".git/config") is False


def test_a_folder_may_be_seen_or_not_or_that_depends(whole: LoadedPolicy) -> None:
    rules = whole.paths
    assert rules is not None
    for folder, seen in (("Work", True), ("Work/Deep", True), ("Deep", None), ("Work/Secret", False)):
        assert rules.sees_folder(folder) is seen, folder


def test_with_an_empty_policy_only_links_lead_nowhere(tmp_path: Path) -> None:
    loaded = load(tmp_path, "")
    assert loaded.paths is not None
    assert not loaded.paths.follows_links
    assert loaded.paths.sees("A.md")
    assert loaded.paths.may_change("A.md")
    assert load(tmp_path, "symlinks = true").paths is None


def test_edits_are_kept_together_only_where_the_policy_says_so(tmp_path: Path) -> None:
    assert load(tmp_path, "").write_quiet_seconds == 0
    for text, seconds in (("0", 0), ("2", 2), ("0.5", 0.5), ("60", 60)):
        loaded = load(tmp_path, f"write_quiet_seconds = {text}")
        assert loaded.write_quiet_seconds == seconds
        assert any("written together" in line for line in describe(loaded)) is (seconds > 0)


READS, WRITES = {"readOnlyHint": True}, {"readOnlyHint": False}


@pytest.mark.parametrize(
    ("tool", "clients", "allowed"),
    [
        ("read_note", ("Claude Desktop",), True),
        ("search_notes", ("Claude Desktop",), True),
        ("list_links", ("Claude Desktop",), False),
        ("list_links", ("another",), True),
        ("search_notes", ("another",), False),
        ("search_notes", (), False),
        ("delete_note", ("another",), False),
        ("rename", ("another",), False),
        ("list_links", ("another", "Claude Desktop"), False),  # what its key is called counts, too
    ],
)
def test_tools_are_allowed_by_client(
    whole: LoadedPolicy, tool: str, clients: tuple[str, ...], *, allowed: bool
) -> None:
    assert whole.policy.allows(READS, tool, *clients) is allowed
    assert (whole.policy.refusal(tool, READS, *clients) is None) is allowed


def test_deny_wins_over_allow() -> None:
    policy = Policy(tools=ToolRules(("read_note",), ("read_note",)))
    assert not policy.allows(READS, "read_note")
    assert Policy(clients={"a": ToolRules(("x",))}).allows(READS, "read_note", "b")


def test_read_only_leaves_the_tools_that_read(tmp_path: Path) -> None:
    policy = load(tmp_path, "read_only = true").policy
    assert policy.allows(READS, "read_note")
    assert "read-only" in (policy.refusal("write_note", WRITES) or "")


def test_hosts_are_those_named_and_those_below_a_star(whole: LoadedPolicy) -> None:
    for host, may in (
        ("example.org", True),
        ("EXAMPLE.ORG.", True),
        ("www.example.org", False),
        ("a.example.com", True),
        ("example.com", False),
        ("badexample.com", False),
    ):
        assert whole.policy.may_reach(host) is may, host
    assert not Policy().may_reach("example.org")


def test_sizes_are_as_said(whole: LoadedPolicy, tmp_path: Path) -> None:
    assert (whole.note_bytes, whole.attachment_bytes) == (1000, 2000)
    assert whole.paths is not None
    assert load(tmp_path, WHOLE.replace("note = 1000", "note = 999")).paths.stamp != whole.paths.stamp  # type: ignore[union-attr]


def test_the_stamp_is_of_what_may_be_seen(whole: LoadedPolicy, tmp_path: Path) -> None:
    assert whole.paths is not None
    for old, new, is_other in (
        ("Secret/", "Private/", True),
        ("Public.md", "Open.md", True),
        ('".PNG"', '".pdf"', True),
        ("symlinks = true", "symlinks = false", True),
        ("status=draft", "status=done", True),
        ("/Work/Inbox/", "/Work/Out/", False),
        ("delete-note", "move-notes", False),
        ("read_only = false", "read_only = true", False),
    ):
        changed = load(tmp_path, WHOLE.replace(old, new)).paths
        assert changed is not None
        assert (changed.stamp != whole.paths.stamp) is is_other, old
    assert Files(str(tmp_path), 1).stamp == ""


WRONG = [
    ("read_onyl = true", 1, "unknown 'read_onyl'; did you mean 'read_only'?"),
    ("\n\n[path]\ndeny = []", 3, "unknown 'path'; did you mean 'paths'?"),
    ('[paths]\n\ndenied = ["x"]', 3, "unknown 'denied' in [paths]; did you mean 'deny'?"),
    ('[paths]\nxyz = ["x"]', 2, "unknown 'xyz' in [paths]; there are read, write, deny, types"),
    ("read_only = 1", 1, "'read_only' must be true or false, not 1"),
    ("paths = 1", 1, "'paths' must be a table: [paths]"),
    ("write_quiet_seconds = true", 1, "'write_quiet_seconds' must be a number from 0 to 60, not True"),
    ('\nwrite_quiet_seconds = "2"', 2, "'write_quiet_seconds' must be a number from 0 to 60, not '2'"),
    ("write_quiet_seconds = -1", 1, "'write_quiet_seconds' must be a number from 0 to 60, not -1"),
    ("write_quiet_seconds = 61", 1, "'write_quiet_seconds' must be a number from 0 to 60, not 61"),
    ("write_quiet_seconds = nan", 1, "'write_quiet_seconds' must be a number from 0 to 60, not nan"),
    ('[paths]\ndeny = "Secret"', 2, "'deny' in [paths] must be a list of texts"),
    ("paths.deny = 1", 1, "'deny' in [paths] must be a list of texts"),
    ('[paths]\ndeny = [\n  "a",\n  "[[:alpha:]",\n]', 4, "deny: '[[:alpha:]': sets with"),
    ('[paths]\nread = ["a", "***/*/*x*x*x*x*x"]', 2, "read: '***/*/*x*x*x*x*x' has too many '*'"),
    ('[paths]\nwrite = ["# a"]', 2, "write: '# a' matches nothing"),
    ('[paths]\ndeny = ["  "]', 2, "'deny' in [paths] holds an empty text"),
    ('[paths]\ntypes = ["m/d"]', 2, "types: 'm/d' is not a file type"),
    ('[private]\ntags = ["a b"]', 2, "tags: 'a b' is not a tag"),
    ('[private]\nproperties = ["=x"]', 2, "properties: '=x' must be a property's name"),
    ("[sizes]\nnote = 0", 2, "'note' in [sizes] must be a number of bytes from 1 to 10485760"),
    ("[sizes]\nattachment = true", 2, "'attachment' in [sizes] must be a number"),
    ('[tools]\nallow = ["read_nope"]', 2, "allow: there is no tool 'read_nope'; did you mean 'read_note'?"),
    ('[clients.phone]\nallow = ["x"]\n', 2, "allow: there is no tool 'x'; see docs/tools.md"),
    ('[clients.phone]\nallowed = ["read_note"]\n', 2, "unknown 'allowed' in [clients.phone]; did you mean 'allow'?"),
    ("[clients]\nphone = 1\n", 2, "'phone' must be a table: [clients.\"phone\"]"),
    ('[network]\nhosts = ["https://x"]', 2, "hosts: 'https://x' is not a host"),
    ("read_only = true\n[paths\n", 2, "is not TOML:"),
    ('read_only = true\na = "\n', 2, "is not TOML:"),
    ("read_only = true\nread_only = true\n", 2, "is not TOML:"),
]


@pytest.mark.parametrize(("text", "line", "problem"), WRONG)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(PolicyError) as raised:
        load(tmp_path, text)
    said = str(raised.value)
    assert said.startswith(f"{tmp_path / 'policy.toml'}:{line}: {problem}")
    assert "\n" not in said


def test_a_file_that_cannot_be_read_is_no_policy(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot read the policy"):
        load_policy(str(tmp_path / "none.toml"), DESCRIPTIONS)
    (tmp_path / "bytes.toml").write_bytes(b"read_only = true\n# \xff\n")
    with pytest.raises(PolicyError, match=r"bytes\.toml:2: is not UTF-8"):
        load_policy(str(tmp_path / "bytes.toml"), DESCRIPTIONS)


@pytest.mark.parametrize(
    ("path", "changes", "said"),
    [
        ("Work/Secret/A.md", False, 'it is denied: deny has "Secret/" (PLACE:8)'),
        ("Work/A.md", False, 'it may be read: read has "/Work/" (PLACE:5)'),
        ("Other.md", False, "it is not among the files that may be read"),
        ("Work/A.md", True, "it is not among the files that may be written"),
        ("Work/Inbox/A.md", True, 'it may be written: write has "/Work/Inbox/" (PLACE:6)'),
        ("Work/A.pdf", False, "its type is not one of md, png"),
    ],
)
def test_each_decision_names_its_rule(whole: LoadedPolicy, path: str, *, changes: bool, said: str) -> None:
    reason = explain_path(whole, path, changes=changes)
    assert to_text(whole, reason) == said.replace("PLACE", whole.path)


def test_each_decision_about_a_tool_names_its_table(whole: LoadedPolicy) -> None:
    assert explain_tool(whole, "delete_note", WRITES, "x") == (False, "[tools] denies it", None)
    assert (
        explain_tool(whole, "list_links", READS, "Claude Desktop").text
        == '[clients."Claude Desktop"] does not name it in allow'
    )
    assert explain_tool(whole, "search_notes", READS, "x").text == '[clients."*"] denies it'
    assert explain_tool(whole, "list_links", READS, "x").is_allowed


def test_the_policies_in_the_documents_are_policies(tmp_path: Path) -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    load_policy(str(docs / "policy.example.toml"), DESCRIPTIONS)
    text, _ = re.findall(r"^```toml\n(.*?)^```", (docs / "policy.md").read_text(), re.DOTALL | re.MULTILINE)
    loaded = load(tmp_path, text)
    assert loaded.paths is not None
    assert {key for line in text.splitlines() if (key := line.partition(" = ")[0]) != line} >= {
        key for keys in TABLES.values() for key in keys if key not in (*TABLES, "clients", "review")
    }


def test_a_policy_is_told_in_words(whole: LoadedPolicy) -> None:
    told_lines = describe(whole)
    assert "deny: Secret/, *.key.md, !open.key.md" in told_lines
    assert "tools for any other client, too: all, but not search_notes" in told_lines
    assert told_lines[-1] == "tools may connect to example.org, *.example.com"


def test_a_policy_that_ends_too_early_is_at_fault_in_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"policy\.toml:3: is not TOML"):
        load(tmp_path, "read_only = true\n[paths]\ndeny = [")
