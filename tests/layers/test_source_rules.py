"""Rules about the source that no import shows: who prints, who exits, who opens files, who starts threads, how long."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "vaultwire"
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

# What may be called, and by whom (module or room).
ONLY = {
    # What comes from outside is made harmless for the terminal there.
    "print": ("cli/terminal.py",),
    "input": (),
    "exit": ("__main__.py",),
    "sys.exit": ("__main__.py",),
    "os._exit": (),
    # vault/settings/obsidian_settings.py: Obsidian's settings are no notes, lie where no note may, and may be linked from
    # outside the vault.
    # vault/changes/journal_segments.py: the journal of changes, which lies outside of the vault.
    # trust/policy_file.py: what the person allows.
    # trust/keys.py: fingerprints of keys, in the state folder.
    # trust/chained_log.py: the log of what was asked, which lies outside of the vault.
    # obsidian/known_vaults.py: the desktop app's list of vaults, which lies outside of them.
    # cli/connect.py: the key to show a server, from a file the person names.
    # obsidian/companion.py: the companion plugin, into the settings of the person's Obsidian.
    # transports/lock_file.py: how clients find the editors' socket, in their own folder and in ours.
    # vault/disk/process_lock.py: files that stand for locks, outside of the vault, and since when Linux runs, below /proc.
    # vault/disk/mounts.py, vault/disk/watch.py: what Linux says of mounts and limits below /proc.
    "open": (
        "vault/disk/files.py",
        "vault/settings/obsidian_settings.py",
        "vault/changes/journal_segments.py",
        "vault/disk/process_lock.py",
        "vault/disk/mounts.py",
        "vault/disk/watch.py",
        "toolkit/catalog.py",
        "trust/keys.py",
        "trust/chained_log.py",
        "trust/policy_file.py",
        "transports/lock_file.py",
        "obsidian/known_vaults.py",
        "cli/connect.py",
        "cli/demo.py",
    ),
    "os.open": (
        "vault/disk/files.py",
        "vault/disk/file_operations.py",
        "vault/disk/process_lock.py",
        "vault/changes/journal_segments.py",
        "trust/keys.py",
        "trust/chained_log.py",
        "transports/lock_file.py",
        "transports/stdio.py",
        "obsidian/plugin_files.py",
        "cli/commands.py",
    ),
    # transports/relay/upstream.py: listening to what the server behind a relay says unasked.
    # transports/editor_socket/, app/editors.py: what goes on beside the editors' socket: following the app, telling news.
    # app/companion_door.py: the HTTP server of another editors' protocol beside that socket, and telling its news.
    # transports/oauth.py: the fetching of an issuer's keys, which must hold up neither the event loop nor the end.
    # vault/index/store/updater.py: the text index's commit, while the catalog is worked on.
    "threading.Thread": (
        "server/dispatcher.py",
        "server/work_queue.py",
        "server/workers.py",
        "server/http/one_shot.py",
        "server/vaults.py",
        "app/companion_door.py",
        "app/editors.py",
        "transports/editor_socket/",
        "transports/oauth.py",
        "transports/relay/upstream.py",
        "vault/index/store/updater.py",
    ),
    "subprocess.Popen": ("cli/stdio_client.py", "obsidian/command.py"),
    "time.sleep": ("vault/disk/file_operations.py", "vault/disk/process_lock.py"),
}
BANNED_NAMES = ("utils", "common", "shared", "helpers", "core")
BANNED_CLASSES = ("Manager", "Service", "Helper", "Base")
MAX_LINES = 400
PROTOCOL_DATES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


def calls(module: str) -> Iterator[str]:
    """Yield the dotted name of everything a module calls."""
    for node in ast.walk(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def broken_rules(module: str, called: Iterator[str]) -> list[str]:
    return [name for name in called if name in ONLY and not module.startswith(ONLY[name] or ("nobody",))]


@pytest.mark.parametrize("module", MODULES)
def test_only_who_may_prints_exits_opens_files_and_starts_threads(module: str) -> None:
    assert broken_rules(module, calls(module)) == []


def test_the_rule_sees_a_sinner() -> None:
    assert broken_rules("vault/vault.py", iter(["print", "open", "len"])) == ["print", "open"]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_opens_with_what_lives_in_it(module: str) -> None:
    assert ast.get_docstring(ast.parse((PACKAGE / module).read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_short_and_well_named(module: str) -> None:
    source = (PACKAGE / module).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MAX_LINES
    assert not set(Path(module).with_suffix("").parts) & set(BANNED_NAMES)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            assert not node.name.endswith(BANNED_CLASSES), node.name


@pytest.mark.parametrize("module", MODULES)
def test_only_revisions_compares_protocol_dates(module: str) -> None:
    if module == "protocol/revisions.py":
        return
    for node in ast.walk(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            assert not any(date in ast.unparse(node) for date in PROTOCOL_DATES), f"line {node.lineno}"
