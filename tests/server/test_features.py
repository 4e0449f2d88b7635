"""Resources, prompts and completions as a client sees them: fields by revision, caching, and how what is wrong is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.connection import Peer
from support.toolsets import PATIENCE, Stage
from support.vaults import open_vault, write_vault
from support.wire import REVISIONS, STATELESS_REVISION
from vaultwire.protocol import events
from vaultwire.protocol.dialects import MCP
from vaultwire.protocol.events import Request
from vaultwire.protocol.revisions import LATEST_HANDSHAKE
from vaultwire.server import features
from vaultwire.server.results import Refusal
from vaultwire.server.workers import Job
from vaultwire.trust.policy import Policy, ToolRules
from vaultwire.vault.errors import Stopped
from vaultwire.vault.value_types import NoProgress
from vaultwire.vault.vault import Vault

ROOT = "obsidian://vault/v/"
TEMPLATE = {"type": "ref/resource", "uri": ROOT + "{+path}"}
VIEWS = {"type": "ref/resource", "uri": ROOT + "{+base}{#view}"}
SUMMARIZE = {"type": "ref/prompt", "name": "summarize_note"}
METHODS: dict[str, dict[str, Any]] = {
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": ROOT + "Note.md"},
    "prompts/list": {},
    "prompts/get": {"name": "summarize_note", "arguments": {"path": "Note"}},
    "completion/complete": {"ref": TEMPLATE, "argument": {"name": "path", "value": "N"}},
}
CACHED = {"resources/list": 0, "resources/templates/list": 3_600_000, "resources/read": 0, "prompts/list": 0}


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path / "v", "=== Note.md\nhello\n=== a b.png\n"))


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("method", METHODS)
def test_only_2026_07_28_is_told_how_long_an_answer_may_be_kept(
    stage: Stage, vault: Vault, method: str, revision: str
) -> None:
    with Peer(stage, vault, revision) as peer:
        result = peer.request(method, METHODS[method])["result"]
        assert (result.get("resultType") == "complete") is (revision == STATELESS_REVISION)
        if revision == STATELESS_REVISION and method in CACHED:
            assert (result["ttlMs"], result["cacheScope"]) == (CACHED[method], "private")
        else:
            assert not {"ttlMs", "cacheScope"} & set(result)


@pytest.mark.parametrize("policy", [Policy(), Policy(read_only=True)])
def test_nothing_here_changes_a_vault_so_no_policy_forbids_it(stage: Stage, vault: Vault, policy: Policy) -> None:
    with Peer(stage, vault, policy=policy) as peer:
        for method, params in METHODS.items():
            assert "result" in peer.request(method, params)


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_is_listed_has_the_fields_its_revision_knows(stage: Stage, vault: Vault, revision: str) -> None:
    has_titles = revision >= "2025-06-18"
    with Peer(stage, vault, revision) as peer:
        (note, picture) = peer.request("resources/list")["result"]["resources"]
        assert set(note) == {"uri", "name", "mimeType", "size"} | ({"title", "annotations"} if has_titles else set())
        assert (note["uri"], note["name"], note["size"]) == (ROOT + "Note.md", "Note.md", 6)
        assert (picture["uri"], picture["mimeType"]) == (ROOT + "a%20b.png", "image/png")
        file, view = peer.request("resources/templates/list")["result"]["resourceTemplates"]
        assert set(file) == {"uriTemplate", "name", "description"} | ({"title"} if has_titles else set())
        assert set(view) == set(file) | {"mimeType"}
        assert (file["uriTemplate"], view["uriTemplate"]) == (ROOT + "{+path}", VIEWS["uri"])
        for prompt in peer.request("prompts/list")["result"]["prompts"]:
            assert set(prompt) == {"name", "description", "arguments"} | ({"title"} if has_titles else set())
            for argument in prompt["arguments"]:
                assert set(argument) == {"name", "description", "required"}
        if has_titles:
            assert note["title"] == "Note"
            assert note["annotations"]["lastModified"].endswith("Z")


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_page_names_the_next_until_there_is_none(
    stage: Stage, vault: Vault, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(features, "RESOURCES_PER_PAGE", size)
    with Peer(stage, vault) as peer:
        result = peer.request("resources/list", {"cursor": None})["result"]
        if size >= 2:
            assert "nextCursor" not in result
            return
        assert [resource["name"] for resource in result["resources"]] == ["Note.md"]
        result = peer.request("resources/list", {"cursor": result["nextCursor"]})["result"]
        assert [resource["name"] for resource in result["resources"]] == ["a b.png"]
        assert "nextCursor" not in result


# ---------------------------------------------------------------------- errors

MISSING_RESOURCES = ["Nowhere.md", "%FF", "Note", "Folder/Note.md"]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("path", MISSING_RESOURCES)
def test_a_resource_that_is_not_there_has_the_number_of_its_revision(
    stage: Stage, vault: Vault, path: str, revision: str
) -> None:
    with Peer(stage, vault, revision) as peer:
        error = peer.request("resources/read", {"uri": ROOT + path})["error"]
        assert error["code"] == (-32602 if revision == STATELESS_REVISION else -32002)
        assert (error["data"]["uri"], error["data"]["errorCode"]) == (ROOT + path, "FILE_NOT_FOUND")


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("path", "code"), [("../v/Note.md", "PATH_OUTSIDE_VAULT"), (".obsidian/app.json", "PERMISSION_DENIED")]
)
def test_a_refused_resource_is_wrong_parameters_in_every_revision(
    stage: Stage, vault: Vault, path: str, code: str, revision: str
) -> None:
    with Peer(stage, vault, revision) as peer:
        error = peer.request("resources/read", {"uri": ROOT + path})["error"]
        assert (error["code"], error["data"]["errorCode"]) == (-32602, code)
        assert error["data"]["uri"] == ROOT + path


MALFORMED: list[tuple[str, dict[str, Any], str]] = [
    ("resources/list", {"cursor": 1}, "cursor must be a string, got a number"),
    ("resources/list", {"cursor": "nonsense"}, "cursor must be the nextCursor of an earlier answer"),
    ("resources/templates/list", {"cursor": "x"}, "cursor: this list has one page"),
    ("resources/read", {}, "uri must be a string, got nothing"),
    ("resources/read", {"uri": None}, "uri must be a string, got null"),
    ("resources/read", {"uri": ["x"]}, "uri must be a string, got an array"),
    ("prompts/list", {"cursor": "x"}, "cursor: this list has one page"),
    ("prompts/get", {}, "name must be a string, got nothing"),
    ("prompts/get", {"name": "nonsense"}, "Unknown prompt: 'nonsense' (there are: summarize_note, "),
    ("prompts/get", {"name": "x" * 1000}, f"Unknown prompt: {'x' * 80!r} (there are: summarize_note, "),
    ("prompts/get", {"name": "summarize_note"}, "prompt 'summarize_note' needs 'path'"),
    ("prompts/get", {"name": "summarize_note", "arguments": []}, "arguments must be an object, got an array"),
    ("prompts/get", {"name": "summarize_note", "arguments": {"path": 5}}, "path must be a string, got a number"),
    ("prompts/get", {"name": "summarize_note", "arguments": {"path": "Nowhere"}}, "No note is named 'Nowhere'"),
    (
        "prompts/get",
        {"name": "daily_review", "arguments": {"date": "x"}},
        "'x' is not a date I understand. Give 'today'",
    ),
    ("completion/complete", {}, "ref must be an object, got nothing"),
    ("completion/complete", {"ref": TEMPLATE}, "argument must be an object, got nothing"),
    ("completion/complete", {"ref": TEMPLATE, "argument": {"name": "path"}}, "argument.value must be a string"),
    ("completion/complete", {"ref": TEMPLATE, "argument": {"value": ""}}, "argument.name must be a string"),
    (
        "completion/complete",
        {"ref": TEMPLATE, "argument": {"name": "x", "value": ""}},
        "argument.name: there is no 'x' (there are: path)",
    ),
    (
        "completion/complete",
        {"ref": {"type": "ref/tool"}, "argument": {"name": "x", "value": ""}},
        "ref.type must be 'ref/prompt' or 'ref/resource'",
    ),
    (
        "completion/complete",
        {"ref": {"type": "ref/resource"}, "argument": {"name": "x", "value": ""}},
        "ref.uri must be a string, got nothing",
    ),
    (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "file:///{path}"}, "argument": {"name": "path", "value": ""}},
        f"ref.uri: the templates are '{ROOT}{{+path}}' and '{ROOT}{{+base}}{{#view}}'",
    ),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "path", "value": ""}},
        "Unknown prompt: 'x'",
    ),
]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("method", "params", "reason"), MALFORMED)
def test_what_makes_no_sense_is_told_what_would(
    stage: Stage, vault: Vault, method: str, params: dict[str, Any], reason: str, revision: str
) -> None:
    with Peer(stage, vault, revision) as peer:
        error = peer.request(method, params)["error"]
        assert error["code"] == -32602
        assert error["message"].startswith("Invalid params: " + reason)
        assert error["data"]["errorCode"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/list", {"cursor": ROOT + "\ud800"}),
        ("resources/read", {"uri": ROOT + "\ud800.md"}),
        ("resources/read", {"uri": "obsidian://vault/\ud800/x"}),
        ("prompts/get", {"name": "\ud800"}),
        ("prompts/get", {"name": "find_related", "arguments": {"path": "\ud800", "\ud801": ""}}),
        ("completion/complete", {"ref": TEMPLATE, "argument": {"name": "path", "value": "\ud800"}}),
        ("completion/complete", {"ref": TEMPLATE, "argument": {"name": "\ud800", "value": ""}}),
    ],
)
def test_half_a_character_crashes_nothing(stage: Stage, vault: Vault, method: str, params: dict[str, Any]) -> None:
    with Peer(stage, vault) as peer:
        answer = peer.request(method, params)
        assert "result" in answer or answer["error"]["code"] in (-32602, -32002)


@pytest.mark.parametrize("method", METHODS)
def test_a_vault_that_is_gone_is_nobodys_parameter(stage: Stage, tmp_path: Path, method: str) -> None:
    root = tmp_path / "v"
    root.mkdir()
    vault = open_vault(root)
    root.rmdir()
    if method in ("resources/templates/list", "prompts/list"):
        return  # say nothing of what is in the vault
    with Peer(stage, vault) as peer:
        error = peer.request(method, METHODS[method])["error"]
        expected = (-32002, "FILE_NOT_FOUND") if method == "resources/read" else (-32603, "VAULT_NOT_FOUND")
        assert (error["code"], error["data"]["errorCode"]) == expected
        assert str(tmp_path) not in str(error)


def test_what_crashes_is_an_internal_error_and_the_next_request_is_answered(
    stage: Stage, vault: Vault, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(features, "RESOURCES_PER_PAGE", "many")
    with Peer(stage, vault) as peer:
        error = peer.request("resources/list")["error"]
        assert (error["code"], error["data"]) == (-32603, {"errorCode": "INTERNAL"})
        assert "resources/list failed inside the server" in error["message"]
        assert "result" in peer.request("prompts/list")
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("method", METHODS)
def test_each_request_is_a_reading_job_with_a_deadline(stage: Stage, vault: Vault, method: str) -> None:
    request = Request(1, method, METHODS[method], LATEST_HANDSHAKE, events.Peer())
    job = Peer(stage, vault).handlers.handle(request, MCP)
    assert isinstance(job, Job)
    assert job.name == method
    assert job.seconds == PATIENCE
    assert not job.changes_vault
    late = job.give_up("TIMEOUT", "too late")
    assert isinstance(late, Refusal)
    assert (late.code, late.message, late.data) == (-32603, "too late", {"errorCode": "TIMEOUT"})


@pytest.mark.parametrize("method", ["resources/list", "prompts/get", "completion/complete"])
def test_work_that_nobody_waits_for_ends(stage: Stage, vault: Vault, method: str) -> None:
    class Cancelled(NoProgress):
        def check(self) -> None:
            raise Stopped

    params = {"name": "daily_review"} if method == "prompts/get" else METHODS[method]
    job = Peer(stage, vault).handlers.handle(Request(1, method, params, LATEST_HANDSHAKE, events.Peer()), MCP)
    assert isinstance(job, Job)
    with pytest.raises(Stopped):
        job.run(Cancelled())


# ---------------------------------------------------------------------- completion


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("context", [{}, {"context": {"arguments": {"path": "x"}}}, {"context": None}, {"context": []}])
@pytest.mark.parametrize(
    ("reference", "values"), [(TEMPLATE, ["Note.md"]), (SUMMARIZE, ["Note.md"])], ids=["template", "prompt"]
)
def test_values_are_offered_whatever_the_context_says(
    stage: Stage, vault: Vault, reference: dict[str, Any], values: list[str], context: dict[str, Any], revision: str
) -> None:
    params = {"ref": reference, "argument": {"name": "path", "value": "no"}, **context}
    with Peer(stage, vault, revision) as peer:
        result = peer.request("completion/complete", params)["result"]
        assert result["completion"] == {"values": values, "total": 1, "hasMore": False}


@pytest.mark.parametrize("files", [99, 100, 101])
def test_at_most_a_hundred_values_are_sent(stage: Stage, tmp_path: Path, files: int) -> None:
    root = write_vault(tmp_path / "v", "".join(f"=== {number}.md\n" for number in range(files)))
    with Peer(stage, open_vault(root)) as peer:
        params = {"ref": TEMPLATE, "argument": {"name": "path", "value": ""}}
        completion = peer.request("completion/complete", params)["result"]["completion"]
        assert len(completion["values"]) == min(files, 100)
        assert (completion["total"], completion["hasMore"]) == (files, files > 100)


# ---------------------------------------------------------------------- views of bases


@pytest.fixture
def books(tmp_path: Path) -> Vault:
    text = (
        "=== A.md\n=== Books.base\nviews: [{type: table, name: To read}, {type: cards, name: Read}]\n=== No.base\n5\n"
    )
    return open_vault(write_vault(tmp_path / "v", text))


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_a_base_shows_first_is_listed_behind_it(stage: Stage, books: Vault, revision: str) -> None:
    with Peer(stage, books, revision) as peer:
        listed = peer.request("resources/list")["result"]["resources"]
        assert [each["name"] for each in listed] == ["A.md", "Books.base", "Books.base#To read", "No.base"]
        view = listed[2]
        has_title = {"title"} if revision >= "2025-06-18" else set()
        assert set(view) == {"uri", "name", "description", "mimeType"} | has_title
        assert (view["uri"], view["mimeType"]) == (ROOT + "Books.base#To%20read", "text/markdown")
        (content,) = peer.request("resources/read", {"uri": view["uri"]})["result"]["contents"]
        assert content["uri"] == view["uri"]
        assert content["mimeType"] == "text/markdown"
        assert "| A.md |" in content["text"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_variables_of_a_view_are_completed_one_after_the_other(stage: Stage, books: Vault, revision: str) -> None:
    with Peer(stage, books, revision) as peer:

        def offered(name: str, value: str, **filled_in: str) -> list[str]:
            params = {"ref": VIEWS, "argument": {"name": name, "value": value}, "context": {"arguments": filled_in}}
            values: list[str] = peer.request("completion/complete", params)["result"]["completion"]["values"]
            return values

        assert offered("base", "boo") == ["Books.base"]
        assert offered("view", "", base="Books.base") == ["To read", "Read"]
        assert offered("view", "") == []


@pytest.mark.parametrize("spelt", ["Books.base#To%20read", "Books.b%61se%23To read"])
def test_who_may_not_query_bases_reads_no_view_and_hears_no_name_of_one(stage: Stage, books: Vault, spelt: str) -> None:
    with Peer(stage, books, policy=Policy(tools=ToolRules(deny=("query_base",)))) as peer:
        listed = peer.request("resources/list")["result"]["resources"]
        assert [each["name"] for each in listed] == ["A.md", "Books.base", "No.base"]
        error = peer.request("resources/read", {"uri": ROOT + spelt})["error"]
        assert error["data"]["errorCode"] == "POLICY_DENIED"
        params = {"ref": VIEWS, "argument": {"name": "view", "value": ""}, "context": {"arguments": {"base": "Books"}}}
        assert peer.request("completion/complete", params)["result"]["completion"]["values"] == []
        assert "result" in peer.request("resources/read", {"uri": ROOT + "Books.base"})
