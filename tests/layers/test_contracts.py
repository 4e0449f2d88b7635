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
    ("Rooms import inwards only", "protocol/session.py", "import vaultwire.tools.edit"),
    ("Rooms import inwards only", "review/diff/words.py", "import vaultwire.toolkit.registry"),
    ("Rooms import inwards only", "vault/vault.py", "import vaultwire.review.diff.rows"),
    ("Rooms import inwards only", "transports/rest.py", "import vaultwire.desk.access"),
    ("Rooms import inwards only", "review/__init__.py", "import vaultwire.desk.access"),
    ("What a person reviews knows only the engine", "review/diff/words.py", "import vaultwire.installation"),
    ("The engine and the tools are synchronous", "review/diff/words.py", "import asyncio"),
    ("Differences for people", "review/diff/words.py", "import vaultwire.review.diff.rows"),
    ("Rooms import inwards only", "tools/notes.py", "import vaultwire.trust.policy"),
    ("Rooms import inwards only", "server/handlers.py", "import vaultwire.transports.stdio"),
    ("Rooms import inwards only", "app.py", "import vaultwire.cli"),
    ("The protocol and Markdown rooms do no I/O", "protocol/session.py", "import time"),
    ("The protocol and Markdown rooms do no I/O", "markdown/edits.py", "import os"),
    ("The engine and the tools are synchronous", "vault/disk/files.py", "import asyncio"),
    ("The engine and the tools are synchronous", "tools/search.py", "import socket"),
    (
        "Only the index knows how text is indexed",
        "vault/vault.py",
        "import tantivy",
    ),
    ("The rooms of the engine import inwards only", "vault/disk/walk.py", "import vaultwire.vault.links.note_lookup"),
    ("The rooms of the engine import inwards only", "vault/search/terms.py", "import vaultwire.vault.index.index"),
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
        "vault/visibility/excludes.py",
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
    ("Searches", "vault/search/terms.py", "import vaultwire.vault.search.query"),
    ("Names and links", "vault/links/link_resolver.py", "import vaultwire.vault.links.note_lookup"),
    ("What may be seen", "vault/visibility/excludes.py", "import vaultwire.vault.visibility.visible_files"),
    ("Changes", "vault/changes/change.py", "import vaultwire.vault.changes.journal"),
    ("Insights", "vault/insights/listing.py", "import vaultwire.vault.insights.similar"),
    ("Plans", "vault/plans/targeted_edits.py", "import vaultwire.vault.plans.moving"),
    ("Editing", "vault/editing/workbench.py", "import vaultwire.vault.editing.writing"),
    ("The toolkit", "toolkit/catalog.py", "import vaultwire.toolkit.registry"),
    ("The set-up of clients", "client_setup/clients.py", "import vaultwire.client_setup.installing"),
    ("Rooms import inwards only", "client_setup/clients.py", "import vaultwire.app.engine"),
    ("The server", "server/results.py", "import vaultwire.server.workers"),
    ("The server", "server/results.py", "import vaultwire.server.apps"),
    (
        "Only tools and those who list or run them know the toolkit",
        "trust/policy.py",
        "import vaultwire.toolkit.registry",
    ),
    ("No transport imports another", "transports/second.py", "import vaultwire.transports.stdio"),
    ("Only the command line and the composition root see", "transports/stdio.py", "import vaultwire.config"),
]


def lint(folder: Path, *options: str) -> tuple[bool, str]:
    """Return whether the contracts hold for the package below a folder, and what the linter says."""
    finished = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.returncode == 0, finished.stdout + finished.stderr


def copied(folder: Path) -> Path:
    """Return the package in a copy, in which the linter works."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder / "src" / "vaultwire"


def test_the_contracts_hold(tmp_path: Path) -> None:
    copied(tmp_path)
    kept, report = lint(tmp_path, "--no-cache")
    assert kept, report
    assert "0 broken" in report


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the linter says of a package with all sins, on one line for each contract, by the contract's name."""
    folder = tmp_path_factory.mktemp("package")
    package = copied(folder)
    for _, module, sin in SINS:
        path = package / module
        text = path.read_text(encoding="utf-8") if path.exists() else '"""A module."""\n'
        path.write_text(f"{text}\n{sin}\n", encoding="utf-8")
    kept, report = lint(folder)
    assert not kept
    headed = re.split(r"\n(?=[^\n]+\n-+\n)", report)
    return {part.partition("\n")[0]: " ".join(part.split()) for part in headed}


@pytest.mark.parametrize(("contract", "module", "sin"), SINS)
def test_a_forbidden_import_breaks_its_contract(reports: dict[str, str], contract: str, module: str, sin: str) -> None:
    """It is told of by itself, not only as the first step of a longer way."""
    (report,) = [text for name, text in reports.items() if name.startswith(contract)]
    sinner = re.escape("vaultwire." + module.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
    imported = re.escape(sin.removeprefix("import "))
    assert re.search(rf"- {sinner} -> {imported} \(l\.\d+\)(?! {imported} ->)", report), report


def test_a_module_without_a_room_breaks_the_contract_of_rooms(tmp_path: Path) -> None:
    (copied(tmp_path) / "helpers.py").write_text('"""A module."""\n', encoding="utf-8")
    kept, report = lint(tmp_path)
    assert not kept
    assert "helpers" in report
