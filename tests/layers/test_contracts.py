"""Every import contract holds, and every one fails when it is broken: a contract nobody has seen fail is none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Contract, module that sins, and the line that is the sin.
SINS = [
    ("Rooms import inwards only", "markdown/parse.py", "import vaultwire.vault.vault"),
    ("Rooms import inwards only", "installation.py", "import vaultwire.vault.vault"),
    ("Rooms import inwards only", "vault/vault.py", "import vaultwire.toolkit.registry"),
    ("Rooms import inwards only", "protocol/session.py", "import vaultwire.tools.notes"),
    ("Rooms import inwards only", "review/diff/hunks.py", "import vaultwire.toolkit.registry"),
    ("Rooms import inwards only", "vault/vault.py", "import vaultwire.review.diff.hunks"),
    ("Rooms import inwards only", "transports/rest.py", "import vaultwire.desk.access"),
    ("Rooms import inwards only", "review/reviewer.py", "import vaultwire.desk.access"),
    ("What a person reviews knows only the engine", "review/diff/hunks.py", "import vaultwire.installation"),
    ("The engine and the tools are synchronous", "review/diff/hunks.py", "import asyncio"),
    ("Differences for people", "review/diff/hunks.py", "import vaultwire.review.diff.rows"),
    ("Rooms import inwards only", "tools/notes.py", "import vaultwire.trust.policy"),
    ("Rooms import inwards only", "server/handlers.py", "import vaultwire.transports.stdio"),
    ("Rooms import inwards only", "app.py", "import vaultwire.cli"),
    ("Rooms import inwards only", "helpers.py", ""),
    ("The protocol and Markdown rooms do no I/O", "protocol/session.py", "import time"),
    ("The protocol and Markdown rooms do no I/O", "markdown/edits.py", "import os"),
    ("The engine and the tools are synchronous", "vault/disk/files.py", "import asyncio"),
    ("The engine and the tools are synchronous", "tools/search.py", "import socket"),
    (
        "Only the composition root chooses an index and",
        "vault/vault.py",
        "import vaultwire.vault.index.store.stored_index",
    ),
    ("The rooms of the engine import inwards only", "vault/disk/walk.py", "import vaultwire.vault.links.note_lookup"),
    ("The rooms of the engine import inwards only", "vault/search/terms.py", "import vaultwire.vault.index.port"),
    (
        "The rooms of the engine import inwards only",
        "vault/settings/obsidian_settings.py",
        "import vaultwire.vault.changes.change",
    ),
    (
        "The rooms of the engine import inwards only",
        "vault/links/note_lookup.py",
        "import vaultwire.vault.plans.moving",
    ),
    (
        "The rooms of the engine import inwards only",
        "vault/visibility/gitignore.py",
        "import vaultwire.vault.editing.writing",
    ),
    ("The rooms of the engine import inwards only", "vault/changes/change.py", "import vaultwire.vault.plans.moving"),
    (
        "Queries of bases, their modules import inwards only",
        "vault/base_queries/host.py",
        "import vaultwire.vault.base_queries.running",
    ),
    ("The rooms of the engine import inwards only", "vault/plans/moving.py", "import vaultwire.vault.editing.writing"),
    ("The rooms of the engine import inwards only", "vault/editing/writing.py", "import vaultwire.vault.vault"),
    ("The vault's disk", "vault/disk/paths.py", "import vaultwire.vault.disk.files"),
    ("The language of Bases", "bases/values.py", "import vaultwire.bases.evaluation"),
    ("The vault's settings", "vault/settings/obsidian_settings.py", "import vaultwire.vault.settings.periodic_notes"),
    ("Searches", "vault/search/terms.py", "import vaultwire.vault.search.query"),
    ("Names and links", "vault/links/link_resolver.py", "import vaultwire.vault.links.note_links"),
    ("What may be seen", "vault/visibility/gitignore.py", "import vaultwire.vault.visibility.excludes"),
    ("Changes", "vault/changes/change.py", "import vaultwire.vault.changes.journal"),
    ("Insights", "vault/insights/columns.py", "import vaultwire.vault.insights.related"),
    ("Plans", "vault/plans/targeted_edits.py", "import vaultwire.vault.plans.moving"),
    ("Editing", "vault/editing/workbench.py", "import vaultwire.vault.editing.making"),
    ("The toolkit", "toolkit/tool_sets.py", "import vaultwire.toolkit.registry"),
    ("The commands on notes", "cli/vault_commands/wording.py", "import vaultwire.cli.vault_commands.calling"),
    ("The set-up of clients", "client_setup/clients.py", "import vaultwire.client_setup.installing"),
    ("Rooms import inwards only", "client_setup/places.py", "import vaultwire.app.engine"),
    ("The service managers", "service/managers.py", "import vaultwire.service.steps"),
    ("The server", "server/results.py", "import vaultwire.server.workers"),
    ("The server", "server/results.py", "import vaultwire.server.apps.views"),
    ("Views inside clients", "server/apps/composer.py", "import vaultwire.server.apps.views"),
    (
        "Only tools and those who list or run them know the toolkit",
        "trust/policy.py",
        "import vaultwire.toolkit.registry",
    ),
    ("No transport imports another", "transports/second.py", "import vaultwire.transports.stdio"),
    ("Only the command line and the composition root see", "transports/stdio.py", "import vaultwire.config"),
]


def lint(folder: Path) -> tuple[bool, str]:
    """Return whether the contracts hold for the package below a folder, and what the linter says."""
    finished = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.returncode == 0, finished.stdout + finished.stderr


@pytest.fixture
def package(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(package: Path) -> None:
    kept, report = lint(package)
    assert kept, report
    assert "0 broken" in report


@pytest.mark.parametrize(("contract", "module", "sin"), SINS)
def test_a_forbidden_import_breaks_its_contract(package: Path, contract: str, module: str, sin: str) -> None:
    path = package / "src" / "vaultwire" / module
    before = path.read_text() if path.exists() else '"""A module."""\n'
    path.write_text(f"{before}\n{sin}\n")
    kept, report = lint(package)
    assert not kept
    if module == "helpers.py":  # a module without a room is an error of the exhaustive contract, said in its own words
        assert "helpers" in report
    else:
        verdict = re.search(rf"{re.escape(contract)}[\w, ]*? (KEPT|BROKEN)", " ".join(report.split()))
        assert verdict is not None, report
        assert verdict[1] == "BROKEN", report
