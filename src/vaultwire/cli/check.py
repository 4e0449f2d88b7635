"""``vaultwire check``: print what is broken in a vault, one line for each fault, as compilers do; and fix what can be."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from vaultwire.cli.command import CHECK_CODES, NOTES, command
from vaultwire.cli.progress import ProgressLine
from vaultwire.cli.terminal import complain, say_data, say_styled
from vaultwire.cli.vault_commands import calling
from vaultwire.cli.vault_commands.calling import for_person
from vaultwire.config import ConfigError, make_config
from vaultwire.toolkit.phrases import counted
from vaultwire.vault.errors import VaultError

if TYPE_CHECKING:
    from vaultwire.app.findings import Findings
    from vaultwire.vault.links.checks import Finding

ERROR_STYLE, WARNING_STYLE = "31", "33"


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("note", nargs="?", metavar="NOTE", help="path or name of one note (else: all)")
    parser.add_argument(
        "--fix", action="store_true", help="correct links to a mistyped or moved name, where only one note can be meant"
    )
    calling.add_options(parser, changes=True, dry_run=True)


@command(
    "check",
    NOTES,
    "find what is broken in one note or in all notes",
    "vaultwire check",
    "vaultwire check --fix --dry-run",
    options=_add_options,
    codes=CHECK_CODES,
)
def run(options: argparse.Namespace) -> int:
    """Print the faults of one note or of all notes; return 1 if there are any (left), else 0. Raises ConfigError."""
    config = make_config(options.vault, policy=options.policy)
    if len(config.vaults) > 1:
        raise ConfigError("give one vault: this command works with one at a time")
    if options.dry_run and not options.fix:
        raise ConfigError("--dry-run shows what --fix would change: give both")
    from vaultwire.app.findings import examine_note, examine_vault  # noqa: PLC0415 - the engine: not for other commands

    try:
        with ProgressLine() as progress:
            note = options.note
            findings = examine_note(config, note, progress) if note else examine_vault(config, progress)
    except VaultError as error:
        complain(for_person(error.message))
        return calling.NOT_FOUND
    if options.fix:
        from vaultwire.cli.vault_commands.notes import fix  # noqa: PLC0415 - only where it is asked for

        return fix(options, findings.faults)
    if options.json:
        say_data(json.dumps([_to_json(*fault) for fault in findings.faults], indent=2, ensure_ascii=False))
    else:
        for path, finding in findings.faults:
            _say(path, finding)
        say_styled((summary(findings), "1"))
    return calling.NOT_FOUND if findings.faults else calling.DONE


def summary(findings: Findings) -> str:
    """Return how many problems there are: in the same words for ``check`` and ``doctor``."""
    line = f"{counted(len(findings.faults), 'problem')} in {counted(findings.checked, 'file')}"
    if not findings.faults:
        return line
    return f"{line}: {counted(len(findings.errors), 'error')}, {counted(len(findings.warnings), 'warning')}"


def to_line(path: str, finding: Finding) -> str:
    """Return a fault as one line for a person."""
    return f"{path}: {finding.message}" if finding.line == 1 else f"{path}: line {finding.line}: {finding.message}"


def _say(path: str, finding: Finding) -> None:
    style = ERROR_STYLE if finding.is_error else WARNING_STYLE
    say_styled(
        (path, "1"),
        (f":{finding.line}:{finding.column}: ", "2"),
        (finding.kind, style),
        (f": {finding.message}", ""),
    )


def _to_json(path: str, finding: Finding) -> dict[str, Any]:
    severity = "error" if finding.is_error else "warning"
    return {"path": path, "severity": severity, **finding._asdict()}
