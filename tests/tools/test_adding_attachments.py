"""Attachments that are added from folders and hosts that the person allowed, and shown in a note in the same change."""

from __future__ import annotations

import argparse
import base64
import sys
from pathlib import Path
from typing import Any

import pytest

from support.calls import DESCRIPTIONS, call, refusal
from support.schemas import hold_to
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.app.engine import AttachmentSources, make_policy
from vaultwire.cli.run_options import add_limits, read_limits
from vaultwire.config import make_config
from vaultwire.toolkit.registry import Failure, Outcome, invoke
from vaultwire.tools.edit import make_add_attachment
from vaultwire.trust.policy import Policy
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NETWORK_BLOCKED,
    POLICY_DENIED,
    SECTION_NOT_FOUND,
    STALE_EDIT,
    TOO_LARGE,
)
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)

VAULT = """
=== Trip.md
# Trip

## Pictures

The first day.

## Costs
=== Sub/Old.md
![[photo.png]]
=== Sub/photo.png
old
=== .obsidian/app.json
{"attachmentFolderPath": "Files"}
"""
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="links as POSIX has them")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def vault(root: Path) -> Vault:
    return open_vault(root)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Down loads"
    (folder / "below" / ".hidden").mkdir(parents=True)
    for path in ("beach.png", "below/sea.png", "below/.hidden/secret.png", ".secret.png", "../outside.png"):
        (folder / path).write_bytes(PNG)
    return folder


def add(vault: Vault, folder: Path | None = None, policy: Policy | None = None, **arguments: Any) -> Any:
    sources = AttachmentSources([str(folder)] if folder else [], [vault.root], policy or Policy())
    return invoke(make_add_attachment(sources), DESCRIPTIONS["add_attachment"], arguments, vault, NO_PROGRESS)


def added(vault: Vault, folder: Path | None = None, **arguments: Any) -> Outcome[Any]:
    outcome = add(vault, folder, **arguments)
    assert isinstance(outcome, Outcome), outcome
    hold_to(outcome.data, DESCRIPTIONS["add_attachment"]["outputSchema"])
    return outcome


def code_of(outcome: Any) -> str:
    assert isinstance(outcome, Failure), outcome
    return outcome.code


def test_a_file_of_an_allowed_folder_is_added(root: Path, vault: Vault, folder: Path) -> None:
    for source in ("beach.png", str(folder / "below" / "sea.png"), "below/sea.png"):
        assert added(vault, folder, source=source).data["path"].startswith("Files/")
    assert sorted(path.name for path in (root / "Files").iterdir()) == ["beach.png", "sea 1.png", "sea.png"]
    assert (root / "Files" / "beach.png").read_bytes() == PNG
    assert added(vault, folder, source="beach.png", name="Sub/x.png").data["path"] == "Sub/x.png"


def test_a_file_outside_is_refused_whether_it_is_there_or_not(root: Path, vault: Vault, folder: Path) -> None:
    before = snapshot(root)
    outside, none = str(folder.parent / "outside.png"), str(folder.parent / "nothere.png")
    for source in (outside, none, "../outside.png", str(folder / ".." / "outside.png"), str(folder / ".secret.png")):
        assert code_of(add(vault, folder, source=source)) == POLICY_DENIED
    refused, missing = (add(vault, folder, source=source).message for source in (outside, none))
    assert refused.replace("outside.png", "nothere.png") == missing
    assert code_of(add(vault, folder, source="below/.hidden/secret.png")) == POLICY_DENIED
    assert code_of(add(vault, folder, source="none.png")) == FILE_NOT_FOUND
    assert snapshot(root) == before


@posix_only
def test_a_link_out_of_the_folder_is_refused(vault: Vault, folder: Path) -> None:
    (folder / "link.png").symlink_to(folder.parent / "outside.png")
    (folder / "way").symlink_to(folder.parent)
    (folder / "inside.png").symlink_to(folder / "below" / "sea.png")
    for source in ("link.png", "way/outside.png", str(folder / "link.png"), str(folder / "way" / "outside.png")):
        assert code_of(add(vault, folder, source=source)) in (FILE_NOT_FOUND, POLICY_DENIED)
    assert added(vault, folder, source="inside.png").data["path"] == "Files/inside.png"


@posix_only
def test_an_allowed_folder_may_be_named_through_a_link(vault: Vault, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(folder)
    assert added(vault, tmp_path / "short", source=str(tmp_path / "short" / "beach.png")).data["created"]
    assert added(vault, folder, source=str(tmp_path / "short" / "beach.png")).data["created"]


def test_a_file_that_is_too_large_or_of_another_type_is_refused(root: Path, vault: Vault, folder: Path) -> None:
    (folder / "large.png").write_bytes(PNG + bytes(6_000_000))
    (folder / "program.png").write_bytes(b"\x7fELF")
    (folder / "notes.txt").write_text("private\n")
    assert code_of(add(vault, folder, source="large.png")) == TOO_LARGE
    assert code_of(add(vault, folder, source="program.png")) == INVALID_ARGUMENTS
    assert code_of(add(vault, folder, source="notes.txt")) == INVALID_ARGUMENTS
    assert not (root / "Files").exists()


def test_nothing_is_allowed_by_default(vault: Vault, folder: Path) -> None:
    code, message = refusal(vault, "add_attachment", source=str(folder / "beach.png"))
    assert (code, "--attachments-from FOLDER" in message) == (POLICY_DENIED, True)
    code, message = refusal(vault, "add_attachment", source="https://example.org/a.png")
    assert (code, "--attachments-from https://HOST" in message) == (POLICY_DENIED, True)
    allowing = Policy(attachment_hosts=("example.com",))
    assert code_of(add(vault, policy=allowing, source="https://example.org/a.png")) == NETWORK_BLOCKED
    assert code_of(add(vault, policy=allowing, source="http://example.com/a.png")) == INVALID_ARGUMENTS
    assert code_of(add(vault, folder, source="https://example.com/a.png")) == POLICY_DENIED


def test_a_source_in_the_vault_is_told_to_be_there(vault: Vault, folder: Path) -> None:
    for allowed in (None, folder):
        failure = add(vault, allowed, source="Sub/photo.png")
        assert code_of(failure) == INVALID_ARGUMENTS
        assert failure.message == "Sub/photo.png is in the vault already. To show it: edit_note with ![[photo.png]]."


def test_data_or_a_source_is_needed_and_not_both(vault: Vault) -> None:
    data = base64.b64encode(PNG).decode()
    given: list[dict[str, Any]] = [{}, {"name": "x.png"}, {"data": data}]
    for arguments in (*given, {"name": "x.png", "data": data, "source": "x.png"}):
        assert refusal(vault, "add_attachment", **arguments)[0] == INVALID_ARGUMENTS


def test_an_attachment_is_shown_in_a_note_in_the_same_change(root: Path, vault: Vault, folder: Path) -> None:
    before = snapshot(root)
    outcome = added(vault, folder, source="beach.png", embed_in="Trip", section="Pictures")
    assert (root / "Trip.md").read_text() == ("# Trip\n\n## Pictures\n\nThe first day.\n![[beach.png]]\n\n## Costs\n")
    assert "showed it in Trip.md; the link to it is ![[beach.png]]" in outcome.texts[0]
    assert [file["path"] for file in outcome.data["files"]] == ["Files/beach.png", "Trip.md"]
    call(vault, "undo_changes", changes=[outcome.data["change"]])
    assert snapshot(root) == before


def test_a_dry_run_of_it_changes_nothing(root: Path, vault: Vault, folder: Path) -> None:
    before = snapshot(root)
    outcome = added(vault, folder, source="beach.png", embed_in="Trip", dry_run=True)
    assert "+![[beach.png]]" in outcome.data["diff"]
    assert snapshot(root) == before
    assert call(vault, "list_changes").data["changes"] == []


def test_a_name_that_links_use_for_another_file_is_numbered(root: Path, vault: Vault, folder: Path) -> None:
    (folder / "photo.png").write_bytes(PNG)
    outcome = added(vault, folder, source="photo.png", embed_in="Sub/Old")
    assert (root / "Sub" / "Old.md").read_text() == "![[photo.png]]\n![[photo 1.png]]\n"
    assert len(outcome.data["files"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"embed_in": "None"}, FILE_NOT_FOUND),
        ({"embed_in": "Trip", "if_match": "0" * 24}, STALE_EDIT),
        ({"embed_in": "Trip", "section": "Plan#None"}, SECTION_NOT_FOUND),
    ],
)
def test_where_it_cannot_be_shown_it_is_not_saved(
    root: Path, vault: Vault, folder: Path, arguments: dict[str, Any], code: str
) -> None:
    before = snapshot(root)
    assert code_of(add(vault, folder, source="beach.png", **arguments)) == code
    assert snapshot(root) == before


def test_the_command_line_allows_folders_and_hosts(root: Path, folder: Path) -> None:
    options = argparse.ArgumentParser()
    add_limits(options)
    given = ["--attachments-from", str(folder), "--attachments-from", "https://Upload.Wikimedia.org/"]
    limits = read_limits(options.parse_args(given))
    assert limits is not None
    assert limits.attachments_from == (str(folder), "https://upload.wikimedia.org")
    config = make_config(str(root), limits=limits)
    policy = make_policy(config)
    assert (policy.may_fetch_from("upload.wikimedia.org"), policy.may_fetch_from("wikimedia.org")) == (True, False)
    assert not policy.may_reach("upload.wikimedia.org")
    assert limits.attachment_folders == [str(folder)]


def test_what_lies_in_the_vault_is_outside_of_any_folder(root: Path, vault: Vault) -> None:
    (root / "Sub" / "there.png").write_bytes(PNG)
    codes = {
        code_of(add(vault, root.parent, source=source))
        for name in ("Sub/there.png", "Sub/missing.png")
        for source in (f"{root.name}/{name}", str(root / name), f"{root.name}/Sub/../{name}")
    }
    assert codes == {POLICY_DENIED}
