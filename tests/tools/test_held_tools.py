"""Every tool that changes the vault, under a policy that holds all writes: no byte changes, and answers keep their schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scripts.pages.examples import write_sample_vault
from scripts.pages.sample_calls import CALLS

from support.schemas import hold_to
from support.vaults import snapshot
from vaultwire.app import make_handlers
from vaultwire.config import make_config
from vaultwire.obsidian.command import AppVault, Backend, Command
from vaultwire.protocol.dialects import FOR_PROGRAMS
from vaultwire.protocol.events import Peer, Request
from vaultwire.protocol.revisions import LATEST_HANDSHAKE
from vaultwire.server.handlers import Handlers
from vaultwire.server.results import Result
from vaultwire.server.workers import Job
from vaultwire.toolkit.catalog import APP_CATALOG, load_catalog
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NO_PROGRESS

# Two tools reach only the app: see tests/obsidian.
CHANGING = {
    each["name"]: each
    for each in [*load_catalog(), *load_catalog(APP_CATALOG)]
    if not each["annotations"]["readOnlyHint"]
    and each["name"] not in ("more_tools", "pending_changes", "obsidian_open_note", "obsidian_eval")
    and each["name"] != "save_file"  # add_attachment with a file from the web
}
OF_APP: dict[str, dict[str, Any]] = {
    "obsidian_create_note": {"name": "Made", "content": "x"},
    "obsidian_create_in_base": {"path": "Projects.base", "name": "Made"},
    "obsidian_append_note": {"file": "Home", "content": "x"},
    "obsidian_prepend_note": {"file": "Home", "content": "x"},
    "obsidian_move_note": {"file": "Home", "to": "Archive/Home.md"},
    "obsidian_rename_note": {"file": "Home", "name": "House"},
    "obsidian_delete_note": {"file": "Home"},
    "obsidian_append_daily": {"content": "x"},
    "obsidian_prepend_daily": {"content": "x"},
    "obsidian_set_property": {"file": "Garden plan", "name": "status", "value": "done"},
    "obsidian_remove_property": {"file": "Garden plan", "name": "due"},
    "obsidian_set_task": {"file": "Garden plan", "line": 14, "status": "x"},
}


class _NoPerson:
    """A client that cannot be asked."""

    capabilities: dict[str, Any] = {}  # noqa: RUF012 - never changed

    def __getattr__(self, name: str) -> Any:
        return getattr(NO_PROGRESS, name)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTWIRE_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "Notes"
    write_sample_vault(root)
    return root


def _open(root: Path, *, holds: bool) -> Handlers:
    policy = root.parent / "policy.toml"
    policy.write_text('[[review]]\nmode = "hold"\n')
    return make_handlers(make_config(str(root), policy=str(policy) if holds else None, backend="files"))


def _call(handlers: Handlers, tool: str, arguments: dict[str, Any]) -> Result:
    peer = Peer()
    peer.name = "tests"
    params = {"name": tool, "arguments": dict(arguments)}
    answer = handlers.handle(Request(0, "tools/call", params, LATEST_HANDSHAKE, peer), FOR_PROGRAMS)
    if isinstance(answer, Job):
        answer = answer.run(_NoPerson())
    assert isinstance(answer, Result), vars(answer) if hasattr(answer, "__dict__") else answer
    return answer


@pytest.mark.parametrize("tool", CHANGING)
def test_nothing_is_written_before_the_person_accepts(tool: str, root: Path) -> None:
    sample = CALLS.get(tool)
    arguments = dict(OF_APP.get(tool, {}) if sample is None else sample.arguments)
    arguments.pop("dry_run", None)
    with closing(_open(root, holds=False)) as handlers:
        for earlier, given in () if sample is None else sample.earlier:
            _call(handlers, earlier, given)
    before = snapshot(root)
    with closing(_open(root, holds=True)) as handlers:
        answer = _call(handlers, tool, arguments)
        holding = handlers.vaults.get(handlers.vaults.names[0]).holding
        assert snapshot(root) == before
        assert answer.failed is None, answer.value
        assert "This waits for the person: proposal 1" in answer.value["content"][0]["text"]
        hold_to(answer.value["structuredContent"], CHANGING[tool]["outputSchema"])
        (proposal,) = holding.waiting()
        assert holding.accept(proposal.id).id
        assert snapshot(root) != before


@pytest.fixture
def handlers(root: Path) -> Iterator[Handlers]:
    with closing(_open(root, holds=True)) as handlers:
        yield handlers


def test_what_only_the_app_does_is_not_done(handlers: Handlers) -> None:
    """The app may write what it likes: it is not asked where a write may have to wait."""
    vault = handlers.vaults.used_by(Peer(), handlers.vaults.names[0], "obsidian_eval")
    backend = Backend(vault, AppVault(Command("/no/such/command"), vault.root))
    with pytest.raises(VaultError) as error:
        backend.evaluate("1", NO_PROGRESS)
    assert error.value.code == "POLICY_DENIED"
    assert "What the app does cannot wait" in error.value.message


def test_the_persons_own_command_is_never_held(root: Path, handlers: Handlers) -> None:
    peer = Peer()
    peer.is_person = True
    used = handlers.vaults.used_by(peer, handlers.vaults.names[0], "write_note")
    assert used.writing.write("Home", "more", "append").changed
    assert (root / "Home.md").read_text().endswith("more\n")
