"""Several vaults behind one set of methods: which one is meant, when each is opened and tended, and that nothing crosses."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.calls import load_tools
from support.refusals import refusal
from support.toolsets import PATIENCE, toolset_of
from support.vaults import open_vault, write_vault
from support.waiting import wait_for
from vaultwire.protocol.dialects import STRUCTURED
from vaultwire.protocol.events import Peer, Request
from vaultwire.protocol.jsonrpc import INTERNAL_ERROR
from vaultwire.protocol.revisions import LATEST_HANDSHAKE
from vaultwire.server.handlers import Handlers
from vaultwire.server.results import Refusal, Result, to_refusal
from vaultwire.server.vaults import Vaults
from vaultwire.server.workers import Job
from vaultwire.toolkit.catalog import OUTSIDE, load_catalog
from vaultwire.trust.policy import Policy
from vaultwire.vault.errors import INVALID_ARGUMENTS, SERVER_BUSY, VAULT_NOT_FOUND, VaultError
from vaultwire.vault.value_types import NoProgress
from vaultwire.vault.vault import Vault

NAMES = ("Work", "Home")


class Nobody(NoProgress):
    """A client that can be asked nothing."""

    capabilities: Mapping[str, Any] = {}


class Opened:
    """Openers that count, over folders that are there."""

    def __init__(self, folder: Path, names: tuple[str, ...] = NAMES) -> None:
        self.order: list[str] = []
        self.loads = 0
        self.by_name: dict[str, Vault] = {}
        self.vaults = Vaults({name: self._opener(folder, name) for name in names}, self._load)

    def _load(self) -> None:
        self.loads += 1

    def _opener(self, folder: Path, name: str) -> Callable[[], Vault]:
        (folder / name).mkdir()

        def open_it() -> Vault:
            self.order.append(name)
            self.by_name[name] = open_vault(folder / name)
            return self.by_name[name]

        return open_it


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return Opened(tmp_path)


# ---------------------------------------------------------------------- which one


def test_a_single_vault_leaves_the_arguments_to_the_tool(tmp_path: Path) -> None:
    alone = Opened(tmp_path, ("Work",)).vaults
    for arguments in ({}, {"vault": "Home"}, {"change": 1}):
        assert alone.pick(arguments) == ("Work", arguments)


@pytest.mark.parametrize(
    ("arguments", "picked"),
    [
        ({}, ("Work", {})),
        ({"path": "x"}, ("Work", {"path": "x"})),
        ({"vault": "Home", "path": "x"}, ("Home", {"path": "x"})),
        ({"vault": "hOME"}, ("Home", {})),
        ({"vault": "Home", "change": 1}, ("Home", {"change": 1})),
        ({"vault": 5}, ("Work", {"vault": 5})),  # which the schema refuses
    ],
)
def test_the_vault_is_taken_out_of_the_arguments(opened: Opened, arguments: Any, picked: Any) -> None:
    assert opened.vaults.pick(arguments) == picked


def test_a_vault_that_is_away_is_no_fault_of_the_parameters() -> None:
    error = VaultError(SERVER_BUSY, "Nothing was changed: the database does not answer.", retryAfter=5)
    told = to_refusal(error, Request(1, "resources/list", {}, LATEST_HANDSHAKE, Peer()))
    assert told.message == "SERVER_BUSY: Nothing was changed: the database does not answer."
    assert (told.code, told.data) == (INTERNAL_ERROR, {"errorCode": "SERVER_BUSY", "retryAfter": 5})


@pytest.mark.parametrize("name", ["", "Wor", "Work ", "Nowhere", "x" * 5000])
def test_an_unknown_name_is_refused_with_those_there_are(opened: Opened, name: str) -> None:
    error = refusal(opened.vaults.pick, {"vault": name})
    assert error.code == VAULT_NOT_FOUND
    assert "'Work', 'Home'" in error.message
    assert error.details == {"vaults": ["Work", "Home"]}
    assert len(error.message) < 300


def test_the_number_of_a_change_needs_the_name_of_its_vault(opened: Opened) -> None:
    error = refusal(opened.vaults.pick, {"change": 1})
    assert error.code == INVALID_ARGUMENTS
    assert "'Work', 'Home'" in error.message


# ---------------------------------------------------------------------- opening and tending


def test_a_vault_is_opened_when_it_is_first_used(opened: Opened) -> None:
    assert (opened.order, opened.loads) == ([], 0)
    opened.vaults.get("Home")
    assert opened.order == ["Home"]
    opened.vaults.get("Work")
    opened.vaults.get("Home")
    opened.vaults.load()
    assert (opened.order, opened.loads) == (["Home", "Work"], 1)


def test_many_threads_get_the_same_vault(opened: Opened) -> None:
    barrier = threading.Barrier(16)

    def get(number: int) -> Vault:
        barrier.wait()
        return opened.vaults.get(NAMES[number % 2])

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(get, range(16)))
    assert {id(vault) for vault in found[::2]} == {id(opened.by_name["Work"])}
    assert {id(vault) for vault in found[1::2]} == {id(opened.by_name["Home"])}
    assert (sorted(opened.order), opened.loads) == (["Home", "Work"], 1)


@contextmanager
def tending(vaults: Vaults) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=vaults.run_index_updaters)
    thread.start()
    try:
        yield thread
    finally:
        vaults.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def is_tended(vault: Vault) -> bool:
    """Wait until the vault is watched."""
    wait_for(lambda: vault.overview.stats(1).is_watched)
    return True


@pytest.mark.parametrize("is_used_before", [True, False])
def test_each_vault_is_tended_from_its_first_use_on(opened: Opened, is_used_before: bool) -> None:
    if is_used_before:
        opened.vaults.get("Home")
    with tending(opened.vaults):
        assert is_tended(opened.vaults.get("Work"))
        assert is_tended(opened.vaults.get("Home"))
    assert not any(thread.name == "vaultwire-tending" for thread in threading.enumerate())


def test_a_vault_that_nobody_uses_is_not_opened_to_be_tended(opened: Opened) -> None:
    with tending(opened.vaults):
        assert is_tended(opened.vaults.get("Work"))
    assert opened.order == ["Work"]


def test_a_vault_first_used_after_the_end_is_not_tended(opened: Opened) -> None:
    with tending(opened.vaults):
        pass
    assert not opened.vaults.get("Home").overview.stats(1).is_watched
    assert not any(thread.name == "vaultwire-tending" for thread in threading.enumerate())


# ---------------------------------------------------------------------- nothing crosses

# The same names in both vaults, so that whatever is handed to the wrong one finds something there.
MARKED = """
=== Note.md
---
tags: [{mark}-tag]
{mark}-property: {mark} value
---
# {mark} heading
{mark} text, the same words. [[Plan]] ^{mark}-block
- [ ] {mark} task
=== Folder/Plan.md
{mark} plan, the same words. [[Note]]
=== Folder/Same.md
the same words
=== Prompts/Ask.md
{mark} prompt
=== Templates/Template.md
{mark} template
"""
MARKS = {"Work": "workmark", "Home": "homemark"}
TOOLS = {tool["name"]: tool for tool in load_catalog() if tool["name"] not in OUTSIDE}
METHODS = ("resources/read", "resources/list", "prompts/get", "completion/complete")
# Drawn more often: those that give etags out and take them back.
HANDED_BACK = ("read_note", "write_note")


class Both:
    """Two vaults behind the real tools, and all that they ever handed out."""

    def __init__(self, folder: Path, *, read_first: bool) -> None:
        self.roots = {name: write_vault(folder / name, MARKED.replace("{mark}", mark)) for name, mark in MARKS.items()}
        self.handlers = Handlers(
            toolset_of(load_tools()),
            {name: self._opener(name, read_first) for name in self.roots},
            Policy(),
            prompts_folder="Prompts",
        )
        self._peer = Peer()
        self.given: dict[str, list[str]] = {"etag": ["nothing"], "cursor": ["0", "1"]}

    def _opener(self, name: str, read_first: bool) -> Callable[[], Vault]:
        others = [*{*NAMES} - {name}]
        return lambda: Vault(open_vault(self.roots[name], read_first=read_first)._bench, name, others)

    def ask(self, method: str, params: dict[str, Any]) -> Result | Refusal:
        answer = self.handlers.handle(Request(1, method, params, LATEST_HANDSHAKE, self._peer), STRUCTURED)
        if isinstance(answer, Job):
            answer = answer.run(Nobody())
        assert isinstance(answer, Result | Refusal)
        if isinstance(answer, Result):
            self._keep(answer.value)
        return answer

    def _keep(self, value: Any) -> None:
        """Remember everything that a client hands back."""
        if isinstance(value, list):
            for item in value:
                self._keep(item)
        if isinstance(value, dict):
            for key, item in value.items():
                kept = {"etag": "etag", "next_cursor": "cursor", "nextCursor": "cursor"}.get(key)
                if kept and item not in self.given[kept]:
                    self.given[kept].append(item)
                self._keep(item)

    def draw_argument(self, draw: st.DataObject, name: str, schema: dict[str, Any], mark: str) -> Any:
        if schema["type"] == "array":
            return [self.draw_argument(draw, name, schema["items"], mark) for _ in range(draw.draw(st.integers(1, 2)))]
        if schema["type"] == "object":
            return {
                inner: self.draw_argument(draw, inner, its, mark)
                for inner, its in schema["properties"].items()
                if inner in schema.get("required", ()) or draw.draw(st.booleans())
            }
        if schema["type"] == "boolean":
            return draw.draw(st.booleans())
        if schema["type"] == "integer":
            return draw.draw(st.integers(1, 6))
        if "enum" in schema:
            return draw.draw(st.sampled_from(schema["enum"]))
        texts = {
            "if_match": self.given["etag"],
            "cursor": self.given["cursor"],
            "query": ["mark", "same words", f"[{mark}-property]", "tag:#mark", "/m.rk/"],
            "folder": ["", "Folder"],
            "content": [f"{mark} new", "the same words"],
            "heading": [f"{mark} heading"],
            "section": [f"{mark} heading"],
            "day": ["2026-03-31"],
        }.get(name)
        return draw.draw(st.sampled_from(texts or ["Note", "Folder/Plan.md", "Same", "New", f"{mark} text", mark]))

    def draw_params(self, draw: st.DataObject, method: str, vault: str) -> dict[str, Any]:
        mark = MARKS[vault]
        if method in TOOLS:
            schema = TOOLS[method]["inputSchema"]
            arguments = {
                name: self.draw_argument(draw, name, its, mark)
                for name, its in schema["properties"].items()
                if name in schema["required"] or draw.draw(st.integers(0, 3)) == 0
            }
            if vault != "Work" or "change" in arguments or draw.draw(st.booleans()):
                arguments["vault"] = vault
            return {"name": method, "arguments": arguments}
        root = f"obsidian://vault/{vault}/"
        match method:
            case "resources/read":
                return {"uri": root + draw.draw(st.sampled_from(["Note.md", "Folder/Plan.md", "../Work/Note.md"]))}
            case "resources/list":
                return {"cursor": root}
            case "prompts/get":
                ours = {"name": "summarize_note", "arguments": {"path": "Note", "vault": vault}}
                return draw.draw(st.sampled_from([ours, {"name": f"{vault.lower()}__ask"}]))
        reference = {"type": "ref/resource", "uri": "obsidian://vault/{vault}/{+path}"}
        context = {"arguments": {"vault": vault}}
        return {"ref": reference, "argument": {"name": "path", "value": ""}, "context": context}


@pytest.mark.parametrize("read_first", [False, True])
@settings(max_examples=15)
@given(draw=st.data())
def test_what_is_in_one_vault_is_in_no_answer_about_another_and_in_no_file_of_it(
    tmp_path_factory: pytest.TempPathFactory, read_first: bool, draw: st.DataObject
) -> None:
    both = Both(tmp_path_factory.mktemp("both"), read_first=read_first)
    for _ in range(20):
        vault = draw.draw(st.sampled_from(NAMES))
        (other,) = {*NAMES} - {vault}
        method = draw.draw(st.sampled_from([*TOOLS, *METHODS, *HANDED_BACK * 8]))
        params = both.draw_params(draw, method, vault)
        answer = both.ask("tools/call" if method in TOOLS else method, params)
        said = answer.value if isinstance(answer, Result) else [answer.message, answer.data]
        assert MARKS[other] not in json.dumps(said, default=str), (method, params)
    for name, root in both.roots.items():
        (other,) = {*NAMES} - {name}
        for path in root.rglob("*"):
            assert MARKS[other] not in path.name
            assert not path.is_file() or MARKS[other].encode() not in path.read_bytes(), path


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return Both(tmp_path, read_first=True)


def called(both: Both, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = both.ask("tools/call", {"name": tool, "arguments": arguments})
    assert isinstance(answer, Result)
    return answer.value


def test_a_note_read_in_one_vault_is_not_read_in_another(both: Both) -> None:
    called(both, "read_note", path="Note")
    edit = {"path": "Note", "content": "more", "mode": "append"}
    assert called(both, "write_note", **edit, vault="Home")["_meta"]["errorCode"] == "NOT_READ"
    assert not called(both, "write_note", **edit)["isError"]


def test_an_etag_of_one_vault_is_stale_in_another_and_tells_nothing_of_it(both: Both) -> None:
    etag = called(both, "read_note", path="Note")["structuredContent"]["etag"]
    called(both, "read_note", path="Note", vault="Home")
    edit = {"path": "Note", "content": "more", "mode": "append", "if_match": etag}
    failed = called(both, "write_note", **edit, vault="Home")
    assert failed["_meta"]["errorCode"] == "STALE_EDIT"
    assert MARKS["Work"] not in json.dumps(failed)


def test_a_change_of_one_vault_is_not_taken_back_in_another(both: Both) -> None:
    called(both, "write_note", path="New", content="one", vault="Home")
    before = both.roots["Home"].joinpath("New.md").read_bytes()
    for change in ({"change": 1}, {"change": "1"}, {"id": 1}, {"number": "1"}, {"change": 1, "vault": None}):
        assert called(both, "undo_changes", **change)["_meta"]["errorCode"] == INVALID_ARGUMENTS
    assert called(both, "undo_changes", changes=[1], vault="Work")["isError"]
    assert both.roots["Home"].joinpath("New.md").read_bytes() == before
    assert not called(both, "undo_changes", changes=[1], vault="Home")["isError"]
    assert not both.roots["Home"].joinpath("New.md").exists()


def test_a_missing_note_says_in_which_vault_it_was_looked_for(both: Both) -> None:
    text = called(both, "read_note", path="Nowhere", vault="Home")["content"][0]["text"]
    assert "'Home'" in text
    assert "'Work'" not in text


def test_vault_stats_name_the_vault_and_those_beside_it(both: Both) -> None:
    stats = called(both, "vault_overview", vault="Home")
    assert stats["structuredContent"]["stats"]["name"] == "Home"
    assert "'Work'" in stats["content"][0]["text"]
