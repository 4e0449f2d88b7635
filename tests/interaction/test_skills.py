"""The Skills extension of MCP: what a client finds, reads and can check, and what of a vault stays hidden."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interaction.conftest import EVERY_REVISION, ONE_OF_EACH, Door, at
from support.http_wire import Client
from support.proofs import proves
from support.vaults import write_vault
from support.wire import STATELESS_REVISION
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.skills import bundled_skills

SKILLS = "io.modelcontextprotocol/skills"
DECLARED: dict[str, Any] = {"extensions": {SKILLS: {}}}
WITH_EXTENSIONS = at(*ONE_OF_EACH[1:], Door("stdio", STATELESS_REVISION))
OURS = [f"skill://{skill.name}/SKILL.md" for skill in bundled_skills()]
OF_VAULT = """
=== Skills/standup/SKILL.md
---
name: standup
description: Write the standup. Use when asked for it.
metadata: {version: 2, day: 2026-01-01}
---
See [the form](form.md).
=== Skills/standup/form.md
The form.
=== Skills/standup/deep/x y.txt
deep
=== Skills/standup/.hidden.md
hidden
=== Skills/other-name/SKILL.md
---
name: another
description: Its folder has another name.
---
=== Skills/Upper/SKILL.md
---
name: Upper
description: Upper case.
---
=== Skills/no-description/SKILL.md
---
name: no-description
---
=== Skills/no-frontmatter/SKILL.md
text
=== Skills/not-a-number/SKILL.md
---
name: not-a-number
description: It has a number that JSON lacks.
x: .nan
---
=== Skills/private/SKILL.md
---
name: private
description: A secret.
---
=== Skills/loose.md
no skill
=== Skills/.git/SKILL.md
---
name: git
description: hidden
---
=== Elsewhere/outside/SKILL.md
---
name: outside
description: Not in the folder.
---
"""


def listed(client: Client) -> list[dict[str, Any]]:
    """Return the entries of all pages."""
    entries: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    while True:
        result = client.request("skills/list", params)["result"]
        entries += result["skills"]
        if "nextCursor" not in result:
            return entries
        params = {"cursor": result["nextCursor"]}


def read(client: Client, uri: str) -> bytes:
    (contents,) = client.request("resources/read", {"uri": uri})["result"]["contents"]
    assert contents["uri"] == uri
    return contents["text"].encode() if "text" in contents else base64.b64decode(contents["blob"])


def check(client: Client, entry: dict[str, Any]) -> None:
    """Do what a host must do before it loads a skill: size and digest of each file, and the frontmatter field by field."""
    assert entry["resources"][0]["uri"] == entry["uri"]
    uris = [file["uri"] for file in entry["resources"]]
    assert len(set(uris)) == len(uris)
    for file in entry["resources"]:
        data = read(client, file["uri"])
        assert file["size"] == len(data)
        assert file["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert file["uri"].startswith(entry["uri"].removesuffix("SKILL.md"))
    assert parse_frontmatter(read(client, entry["uri"]).decode()).values == entry["frontmatter"]
    assert entry["uri"].split("/")[-2] == entry["frontmatter"]["name"]


@EVERY_REVISION
@proves(
    "SEP-2640: the server declares the extension; where a revision has no extensions, there are none of its methods"
)
def test_the_extension_is_declared_and_served(reach_shared: Callable[..., Client], revision: str) -> None:
    client = reach_shared(DECLARED)
    if revision < "2025-06-18":
        assert "extensions" not in client.opened["capabilities"]
        assert client.request("skills/list")["error"]["code"] == -32601
        return
    every = {SKILLS, "io.modelcontextprotocol/tasks", "io.modelcontextprotocol/ui"}
    told = client.opened["capabilities"]["extensions"]
    assert set(told) == (every if revision == STATELESS_REVISION else {SKILLS})
    assert "resources" in client.opened["capabilities"]
    result = client.request("skills/list")["result"]
    assert [entry["uri"] for entry in result["skills"]] == OURS
    one = client.request("skills/get", {"uri": OURS[0]})["result"]
    assert one["skill"] == result["skills"][0]
    for each in (result, one):
        if revision == STATELESS_REVISION:
            assert (each["resultType"], each["cacheScope"]) == ("complete", "private")
            assert each["ttlMs"] > 0
        else:
            assert not {"resultType", "ttlMs", "cacheScope"} & set(each)
    undeclared = reach_shared({}).opened["capabilities"]
    assert set(undeclared.get("extensions", {})) == (every if revision == STATELESS_REVISION else set())


@WITH_EXTENSIONS
@proves("SEP-2640: every file of an entry is a resource with that size and digest; frontmatter is verbatim")
def test_a_host_can_check_every_skill(reach_shared: Callable[..., Client]) -> None:
    client = reach_shared(DECLARED)
    for entry in listed(client):
        check(client, entry)


@WITH_EXTENSIONS
@pytest.mark.parametrize(
    "uri",
    [
        "skill://unknown/SKILL.md",
        "skill://vaultwire-notes",
        "skill://vaultwire-notes/",
        "skill://vaultwire-markdown/references/bases.md",
        "skill://vaultwire-notes/../vaultwire-tidy/SKILL.md",
        "skill://vault/standup/SKILL.md",
        "obsidian://vault/v/Note.md",
        "",
        3,
        None,
    ],
)
@proves("SEP-2640: skills/get of what is no skill is -32602")
def test_what_is_no_skill_is_refused(reach_shared: Callable[..., Client], uri: object) -> None:
    client = reach_shared(DECLARED)
    error = client.request("skills/get", {"uri": uri})["error"]
    assert error["code"] == -32602
    assert error["message"]


@WITH_EXTENSIONS
@pytest.mark.parametrize(
    "uri", ["skill://vaultwire-notes/none.md", "skill://vaultwire-notes/../skill.py", "skill://x", "skill://"]
)
def test_what_is_no_file_of_a_skill_cannot_be_read(reach_shared: Callable[..., Client], uri: str) -> None:
    assert reach_shared(DECLARED).request("resources/read", {"uri": uri})["error"]["code"] == -32602


@WITH_EXTENSIONS
def test_a_cursor_that_no_page_gave_is_refused(reach_shared: Callable[..., Client]) -> None:
    for cursor in (3, "", "x"):
        assert reach_shared(DECLARED).request("skills/list", {"cursor": cursor})["error"]["code"] == -32602


@at(Door("stdio", "2025-11-25"))
@pytest.mark.parametrize("dialect", ["filesystem", "secure", "obsidian-cli"])
@proves("ours: a contract has no methods and no resources but its own")
def test_contracts_have_no_skills(connect: Callable[..., Client], dialect: str) -> None:
    client = connect("--dialect", dialect, "--skills-folder", "Skills", capabilities=DECLARED)
    assert "extensions" not in client.opened["capabilities"]
    assert client.request("skills/list")["error"]["code"] == -32601
    assert "error" in client.request("resources/read", {"uri": OURS[0]})


@pytest.fixture
def serve(vault: Path, connect: Callable[..., Client]) -> Callable[..., Client]:
    """Return a function that serves a vault with skills."""
    write_vault(vault, OF_VAULT)
    (vault / "Skills" / "standup" / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\xff")
    (vault / "Skills" / "marked").mkdir()  # a byte order mark hides the frontmatter from a host
    (vault / "Skills" / "marked" / "SKILL.md").write_bytes(b"\xef\xbb\xbf---\nname: marked\ndescription: x\n---\n")
    (vault / "Skills" / "standup" / "mark.md").write_bytes(b"\xef\xbb\xbfa mark\r\n")
    return lambda *options: connect(*options, capabilities=DECLARED)


@WITH_EXTENSIONS
@proves("ours: the skills of a vault are served if that is asked for, whole, and only those in form")
def test_the_skills_of_a_vault_are_served(serve: Callable[..., Client], vault: Path) -> None:
    client = serve("--skills-folder", "Skills")
    entries = {entry["uri"]: entry for entry in listed(client)}
    assert sorted(entries) == sorted([*OURS, "skill://vault/private/SKILL.md", "skill://vault/standup/SKILL.md"])
    entry = entries["skill://vault/standup/SKILL.md"]
    files = [file["uri"].removeprefix("skill://vault/standup/") for file in entry["resources"]]
    assert files == ["SKILL.md", "deep/x%20y.txt", "form.md", "mark.md", "picture.png"]
    assert entry["frontmatter"]["metadata"] == {"version": 2, "day": "2026-01-01"}
    check(client, entry)
    assert client.request("skills/get", {"uri": entry["uri"]})["result"]["skill"] == entry
    (vault / "Skills" / "standup" / "form.md").write_text("Another form.")
    changed = client.request("skills/get", {"uri": entry["uri"]})["result"]["skill"]
    assert changed != entry
    check(client, changed)
    for path in ("standup/.hidden.md", ".git/SKILL.md", "loose.md", "standup/../loose.md", "other-name/SKILL.md"):
        assert "error" in client.request("resources/read", {"uri": f"skill://vault/{path}"})


@WITH_EXTENSIONS
def test_without_the_option_nothing_of_a_vault_is_a_skill(serve: Callable[..., Client]) -> None:
    client = serve()
    assert [entry["uri"] for entry in listed(client)] == OURS
    assert "error" in client.request("resources/read", {"uri": "skill://vault/standup/SKILL.md"})


@WITH_EXTENSIONS
@proves("ours: what a policy hides is in no skill")
def test_a_policy_decides_what_of_a_vault_is_a_skill(serve: Callable[..., Client], tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\ndeny = ["/Skills/private/", "/Skills/standup/form.md"]\n')
    client = serve("--skills-folder", "Skills", "--policy", str(policy))
    (entry,) = [each for each in listed(client) if each["uri"].startswith("skill://vault/")]
    assert "form.md" not in str(entry)
    check(client, entry)
    for path in ("private/SKILL.md", "standup/form.md"):
        assert "error" in client.request("resources/read", {"uri": f"skill://vault/{path}"})
    assert "error" in client.request("skills/get", {"uri": "skill://vault/private/SKILL.md"})


@WITH_EXTENSIONS
@pytest.mark.parametrize("tool", ["read_note", "list_notes"])
def test_who_may_not_read_and_list_notes_gets_no_skill_of_them(
    serve: Callable[..., Client], tmp_path: Path, tool: str
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(f'[tools]\ndeny = ["{tool}"]\n')
    client = serve("--skills-folder", "Skills", "--policy", str(policy))
    assert [entry["uri"] for entry in listed(client)] == OURS
    check(client, listed(client)[0])
    assert "error" in client.request("resources/read", {"uri": "skill://vault/standup/SKILL.md"})


@WITH_EXTENSIONS
@proves("SEP-2640: at most 512 files and 16 MiB a skill; an entry is never split across pages")
def test_bounds_and_pages(serve: Callable[..., Client], vault: Path) -> None:
    text = "---\nname: %s\ndescription: One of many.\n---\n"
    for number in range(30):
        write_vault(vault, f"=== Skills/many-{number:02}/SKILL.md\n{text % f'many-{number:02}'}")
    for name, count in (("most", 512), ("too-many", 513)):
        write_vault(vault, f"=== Skills/{name}/SKILL.md\n{text % name}")
        for number in range(count - 1):
            (vault / "Skills" / name / f"{number:03}.md").write_text("x")
    for name, extra in (("full", 0), ("too-large", 1)):
        skill = text % name
        write_vault(vault, f"=== Skills/{name}/SKILL.md\n{skill}")
        for part in range(4):
            size = 4 * 1024 * 1024 - (len(skill) - extra if part == 0 else 0)
            (vault / "Skills" / name / f"{part}.bin").write_bytes(bytes(size))
    client = serve("--skills-folder", "Skills")
    first = client.request("skills/list")["result"]
    assert len(first["skills"]) <= 20
    assert "nextCursor" in first
    entries = listed(client)
    names = [entry["frontmatter"]["name"] for entry in entries]
    assert len(set(names)) == len(names)
    assert {"full", "most", "many-00", "many-29"} <= set(names)
    assert not {"too-many", "too-large"} & set(names)
    (most,) = [entry for entry in entries if entry["frontmatter"]["name"] == "most"]
    assert len(most["resources"]) == 512


@WITH_EXTENSIONS
def test_of_several_vaults_each_skill_names_its_own(serve: Callable[..., Client], tmp_path: Path) -> None:
    other = write_vault(
        tmp_path / "Second one", "=== Skills/standup/SKILL.md\n---\nname: standup\ndescription: Other.\n---\n"
    )
    client = serve("--vault", f"two words={other}", "--skills-folder", "Skills")
    uris = [entry["uri"] for entry in listed(client) if entry["uri"].startswith("skill://vault/")]
    assert "skill://vault/two%20words/standup/SKILL.md" in uris
    assert len([uri for uri in uris if uri.endswith("/standup/SKILL.md")]) == 2
    for entry in listed(client):
        check(client, entry)
